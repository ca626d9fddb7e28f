"""What users of an arm's dynamics may rely on, for every robot with masses."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from dynamic_arms import planar_2r
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.dynamics.model import Dynamics
from hil.errors import CommandError
from hil.kernels.emit_numpy import BLOCK
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.robot import Robot

MODELS = {name: model for name in list_names("robots") if (model := load_robot(name)).inertia is not None}
DYNAMICS = {name: Dynamics(model, point_masses=True) for name, model in MODELS.items()}
MASSLESS_TIP = "lynx6"
MOVABLE = sorted(set(DYNAMICS) - {MASSLESS_TIP})
ROBOTS, SEEDS = st.sampled_from(sorted(DYNAMICS)), st.integers(0, 2**32 - 1)


def state_of(name: str, seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, (3, *shape, MODELS[name].dof))


def test_masses_are_given_for_the_robots_that_the_sources_give_them_for() -> None:
    given = {"puma560", "lynx6", "lynx6-4axis", "al5d", "rv2aj"}
    assert set(MODELS) == given | {"planar-2r", "planar-3r", "spatial-3r", "stanford", "kuka-kr5-arc"}


@given(st.sampled_from(MOVABLE), SEEDS)
@settings(max_examples=60, deadline=None)
def test_forward_dynamics_undoes_inverse_dynamics(name: str, seed: int) -> None:
    arm, (q, qd, qdd) = DYNAMICS[name], state_of(name, seed)
    for friction in (False, True):
        tau = arm.inverse_dynamics(q, qd, qdd, friction=friction)
        assert arm.forward_dynamics(q, qd, tau, friction=friction) == pytest.approx(qdd, rel=1e-6, abs=1e-6)


@given(ROBOTS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_inverse_dynamics_is_the_sum_of_its_parts(name: str, seed: int) -> None:
    arm, (q, qd, qdd) = DYNAMICS[name], state_of(name, seed)
    parts = arm.mass_matrix(q) @ qdd + arm.coriolis_torque(q, qd) + arm.gravity_torque(q)
    assert arm.inverse_dynamics(q, qd, qdd) == pytest.approx(parts, rel=1e-9, abs=1e-9)
    rubbed = arm.inverse_dynamics(q, qd, qdd, friction=True)
    assert rubbed == pytest.approx(parts + arm.friction_torque(qd), rel=1e-9, abs=1e-9)


@given(ROBOTS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_the_mass_matrix_is_symmetric_and_positive(name: str, seed: int) -> None:
    mass = DYNAMICS[name].mass_matrix(state_of(name, seed)[0])
    assert np.array_equal(mass, mass.T)
    smallest = np.linalg.eigvalsh(mass)[0]
    assert abs(smallest) < 1e-15 if name == MASSLESS_TIP else smallest > 1e-9


@given(ROBOTS, SEEDS)
@settings(max_examples=60, deadline=None)
def test_energy_grows_by_what_the_torques_put_in(name: str, seed: int) -> None:
    arm, (q, qd, qdd) = DYNAMICS[name], state_of(name, seed)
    step = 1e-5
    ahead, behind = (sum(arm.energy(q + s * qd + s * s / 2 * qdd, qd + s * qdd)) for s in (step, -step))
    power = float(arm.inverse_dynamics(q, qd, qdd) @ qd)
    assert (ahead - behind) / (2 * step) == pytest.approx(power, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", sorted(DYNAMICS))
def test_a_batch_equals_its_single_calls_and_fills_out(name: str) -> None:
    arm, (q, qd, qdd) = DYNAMICS[name], state_of(name, 4, 5)
    calls = {
        "inverse_dynamics": (q, qd, qdd),
        "mass_matrix": (q,),
        "gravity_torque": (q,),
        "coriolis_torque": (q, qd),
        "friction_torque": (qd,),
        "forward_dynamics": (q, qd, qdd),
    }
    for call, arguments in calls.items():
        if (name, call) == (MASSLESS_TIP, "forward_dynamics"):
            qdd[:, -1] = 0.0
        batch = getattr(arm, call)(*arguments)
        singles = np.array([getattr(arm, call)(*row) for row in zip(*arguments, strict=True)])
        assert batch == pytest.approx(singles, rel=1e-7, abs=1e-9), call
        out = np.empty_like(batch)
        assert getattr(arm, call)(*arguments, out=out) is out
        assert np.array_equal(out, batch)
        small = np.empty_like(singles[0])
        assert getattr(arm, call)(*(a[0] for a in arguments), out=small) is small
        assert np.array_equal(small, singles[0])
    kinetic, potential = (np.array(part) for part in arm.energy(q, qd))
    assert kinetic.shape == potential.shape == (5,)
    assert (kinetic[2], potential[2]) == pytest.approx(arm.energy(q[2], qd[2]))


def test_a_batch_longer_than_a_block_is_complete() -> None:
    arm = Dynamics(planar_2r(), (0.0, -9.81, 0.0))
    q = np.linspace([0, 0], [6, 3], 2 * BLOCK + 3)
    assert arm.gravity_torque(q)[-1] == pytest.approx(arm.gravity_torque(q[-1]))
    assert np.isfinite(arm.gravity_torque(q)).all()


def test_no_configurations_give_no_torques() -> None:
    assert DYNAMICS["puma560"].gravity_torque(np.empty((0, 6))).shape == (0, 6)


def test_gravity_points_where_it_is_told_to() -> None:
    hanging = Dynamics(MODELS["puma560"], (0.0, 0.0, 9.81))
    q = state_of("puma560", 1)[0]
    assert hanging.gravity_torque(q) == pytest.approx(-DYNAMICS["puma560"].gravity_torque(q))
    assert Dynamics(MODELS["puma560"], (0.0, 0.0, 0.0)).gravity_torque(q) == pytest.approx(np.zeros(6))


# -- what is refused ---------------------------------------------------------------------------------------


def test_an_arm_without_masses_is_refused_with_what_to_do() -> None:
    with pytest.raises(CommandError, match=r"ur5: no source gives masses.*\[joints\.inertia\]"):
        Dynamics(load_robot("ur5"))


def test_without_tensors_only_the_weight_is_known() -> None:
    arm = Dynamics(MODELS["al5d"])
    q, _, qdd = state_of("al5d", 2)
    assert arm.gravity_torque(q) == pytest.approx(DYNAMICS["al5d"].gravity_torque(q))
    for refused in (
        lambda: arm.mass_matrix(q),
        lambda: arm.inverse_dynamics(q, q, qdd),
        lambda: arm.forward_dynamics(q, q, qdd),
        lambda: arm.energy(q, q),
    ):
        with pytest.raises(CommandError, match=r"al5d: .*no inertia tensor for base.*inertia_kg_m2"):
            refused()


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(1e-6, 10.0))
def test_a_joint_that_moves_nothing_is_left_out_and_the_others_feel_nothing_of_it(seed: int, anything: float) -> None:
    """Its acceleration is 0; theirs are those of the arm whose tip has some inertia, whatever that is."""
    arm, model = DYNAMICS[MASSLESS_TIP], MODELS[MASSLESS_TIP]
    q, qd, tau = state_of(MASSLESS_TIP, seed)
    assert arm.held_axes == ("wrist_rotate",)
    tau[4] = 0.0
    found = arm.forward_dynamics(q, qd, tau)
    assert found[4] == 0.0
    again = arm.inverse_dynamics(q, qd, found)
    assert again == pytest.approx(tau, abs=1e-9 * max(1.0, float(np.abs(found).max())))
    inertia = list(model.inertia or ())
    inertia[4] = msgspec.structs.replace(inertia[4], motor_inertia_kg_m2=anything, gear_ratio=1.0)
    geared = Dynamics(msgspec.structs.replace(model, inertia=tuple(inertia)))
    assert geared.held_axes == ()
    assert geared.forward_dynamics(q, qd, tau)[:4] == pytest.approx(found[:4], rel=1e-9, abs=1e-9)
    both = Robot(model).forward_dynamics(*(np.array([v, v]) for v in (q, qd, tau)))
    assert both == pytest.approx(np.array([found, found]), rel=1e-9, abs=1e-9)


def test_a_torque_on_a_joint_that_moves_nothing_is_refused_and_out_stays_as_it_was() -> None:
    arm, out = DYNAMICS[MASSLESS_TIP], np.full(5, 7.0)
    with pytest.raises(CommandError, match=r"a torque of 0\.5 on wrist_rotate, which moves no inertia") as caught:
        arm.forward_dynamics(np.zeros(5), np.zeros(5), np.full(5, 0.5), out=out)
    assert (caught.value.axis, caught.value.value) == ("wrist_rotate", 0.5)
    assert out.tolist() == [7.0] * 5
    with pytest.raises(CommandError, match="wrist_rotate"):
        arm.forward_dynamics(np.zeros((2, 5)), np.zeros((2, 5)), np.ones((2, 5)))
    assert all(not DYNAMICS[name].held_axes for name in MOVABLE)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused_by_joint(bad: float) -> None:
    qd = np.zeros((3, 6))
    qd[1, 3] = bad
    with pytest.raises(CommandError, match=r"qd of J4: .* is not a finite number"):
        DYNAMICS["puma560"].inverse_dynamics(np.zeros((3, 6)), qd, np.zeros((3, 6)))


def test_shapes_that_do_not_fit_are_refused() -> None:
    arm = DYNAMICS["puma560"]
    with pytest.raises(CommandError, match=r"6 joints, q of shape \(5,\)"):
        arm.gravity_torque(np.zeros(5))
    with pytest.raises(CommandError, match=r"qd has shape \(2, 6\), q has \(6,\)"):
        arm.coriolis_torque(np.zeros(6), np.zeros((2, 6)))
    with pytest.raises(CommandError, match="q has to be numbers"):
        arm.gravity_torque(["a"] * 6)
    with pytest.raises(CommandError, match="out has shape"):
        arm.mass_matrix(np.zeros(6), out=np.empty((5, 5)))
    with pytest.raises(CommandError, match="gravity"):
        Dynamics(MODELS["puma560"], (0.0, math.nan, 0.0))
    with pytest.raises(CommandError, match="no dynamics called 'levity'"):
        arm.routine("levity")

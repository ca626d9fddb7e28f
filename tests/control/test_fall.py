"""Adaptive integration, free fall and the energy book."""

import math

import msgspec
import numpy as np
import pytest
from controlled_arms import FALL, PUMA, TWO, two

from hil.control.energy import energy_book
from hil.control.experiment import Disturbance, Experiment, Integrator, Kind, Reference, free_fall
from hil.control.loop import ClosedLoop
from hil.dynamics.model import Dynamics
from hil.errors import CommandError
from hil.kernels.closed_loop import Law

pytest.importorskip("scipy")
HANGING = Reference(kind=Kind.HOLD, start=(0.0, 60.0, -60.0, 20.0, 30.0, 0.0), duration_s=5.0)
DROPPED = free_fall(
    Experiment(robot="puma560", reference=HANGING, friction=False, stops=False, rate_hz=50.0, step_s=1e-3)
)


def test_a_frictionless_fall_of_five_seconds_keeps_its_energy():
    loop = ClosedLoop(PUMA, msgspec.structs.replace(DROPPED, integrator=Integrator.ADAPTIVE))
    book = energy_book(loop, loop.trace())
    assert book.kinetic_most > 50.0
    assert book.drift < 1e-6


def test_steps_of_a_millisecond_keep_it_as_well_when_the_arm_falls_freely():
    book = energy_book(loop := ClosedLoop(PUMA, msgspec.structs.replace(DROPPED, rate_hz=1000.0)), loop.trace())
    assert book.kinetic_most > 50.0
    assert book.drift < 1e-5  # 0.27 % by plain steps


def test_the_midpoint_rule_drifts_with_the_square_of_a_step():
    drifts = []
    for step in (8e-3, 4e-3):
        fall = two(reference=Reference(kind=Kind.HOLD, start=(0.0, 20.0), duration_s=1.0), friction=False, stops=False,
                   rate_hz=125.0, step_s=step)  # fmt: skip
        loop = ClosedLoop(TWO, free_fall(fall))
        drifts.append(energy_book(loop, loop.trace(compiled=False)).drift)
    assert 3.0 < drifts[0] / drifts[1] < 10.0


def test_a_fall_onto_stops_comes_to_rest_inside_them_and_its_energy_is_known():
    fall = two(reference=Reference(kind=Kind.HOLD, start=(-100.0, 150.0), duration_s=3.0), friction=False,
               gravity_m_s2=(0.0, 9.81, 0.0))  # fmt: skip
    loop = ClosedLoop(TWO, free_fall(fall))
    trace = loop.trace(compiled=False)
    book = energy_book(loop, trace)
    assert np.abs(trace.actual).max() < np.pi + 1e-6
    assert book.dry_and_stops < -10.0
    assert book.drift < 0.01


def test_fixed_steps_drift_with_the_length_of_a_step():
    drifts = []
    for step in (2e-3, 1e-3):
        fall = two(reference=Reference(kind=Kind.HOLD, start=(0.0, 20.0), duration_s=1.0), friction=False, stops=False,
                   rate_hz=100.0, step_s=step)  # fmt: skip
        loop = ClosedLoop(TWO, free_fall(fall, plain_steps=True))
        drifts.append(energy_book(loop, loop.trace(compiled=False)).drift)
    assert drifts[1] < 0.02
    assert drifts[0] / drifts[1] == pytest.approx(2.0, rel=0.3)


def test_both_integrators_agree_the_better_the_shorter_the_step():
    base = two(
        reference=Reference(start=(0.0, 0.0), end=(30.0, -20.0), duration_s=0.2), friction=False, stops=False,
        delay_s=0.002, disturbances=(Disturbance(joint="J2", torque=3.0, from_s=0.05, until_s=0.1),), viscous=(0.4,),
        armature=(0.05,), law=Law.PID_GRAVITY, ki=(4.0,),
    )  # fmt: skip
    exact = ClosedLoop(TWO, msgspec.structs.replace(base, integrator=Integrator.ADAPTIVE)).trace()
    errors = []
    for step in (1e-3, 2.5e-4):
        done = ClosedLoop(TWO, msgspec.structs.replace(base, step_s=step)).trace(compiled=False)
        errors.append(np.abs(done.actual - exact.actual).max())
    assert errors[1] < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    rough = ClosedLoop(TWO, base).trace(compiled=False)
    assert exact.scores.cost[0] == pytest.approx(rough.scores.cost[0], rel=0.02)


def test_a_pendulum_swings_as_it_should():
    start = Reference(kind=Kind.HOLD, start=(-85.0, 0.0), duration_s=2.0)
    fall = free_fall(
        two(reference=start, friction=False, integrator=Integrator.ADAPTIVE, rate_hz=500.0, armature=(0.0, 1e9))
    )
    loop = ClosedLoop(TWO, fall)
    angle = loop.trace().actual[:, 0] + math.pi / 2
    inertia = Dynamics(TWO).mass_matrix(np.zeros(2))[0, 0]  # the second joint's motor holds it
    small = 2 * math.pi * math.sqrt(inertia / (2.0 * 9.81 * 1.0))
    period = small * (1 + math.radians(5.0) ** 2 / 16)
    crossings = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
    swing = (loop.time_s[crossings[0]] + 0.5 * loop.period_s) * 4
    assert swing == pytest.approx(period, rel=2e-3)


def test_the_book_knows_where_the_energy_went():
    thrown = Reference(start=(0.0, 0.0), end=(0.0, 0.0), start_speed=(60.0, 0.0), duration_s=0.5)
    given = two(
        reference=thrown, law=Law.PD, kp=(0.0,), kd=(0.0,), dry=(2.0, 0.0), viscous=(1.0, 0.0), step_s=2e-4,
        gravity_m_s2=(0.0, 0.0, 0.0), rate_hz=2000.0,
    )  # fmt: skip
    loop = ClosedLoop(TWO, given)
    book = energy_book(loop, loop.trace(compiled=False))
    assert book.viscous < -0.05
    assert book.dry_and_stops < -0.05
    assert book.drift < 0.01
    assert book.kinetic_start + book.viscous + book.dry_and_stops == pytest.approx(book.kinetic_end, abs=0.02)


def test_adaptive_integration_ends_with_a_word_at_a_stop():
    fall = free_fall(two(reference=Reference(kind=Kind.HOLD, start=(-100.0, 150.0), duration_s=3.0), friction=False,
                         integrator=Integrator.ADAPTIVE, rate_hz=50.0, gravity_m_s2=(0.0, 9.81, 0.0)))  # fmt: skip
    with pytest.raises(CommandError, match=r"stop.*--integrator steps"):
        ClosedLoop(TWO, fall).trace()


def test_motion_worked_out_from_torques_is_the_motion_that_gave_the_torques():
    pytest.importorskip("scipy")
    from scipy.integrate import solve_ivp

    dynamics, w = Dynamics(TWO, FALL), np.array([1.3, -2.1])

    def wanted(t: float):
        return np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)

    def change(t: float, state):
        q, qd, qdd = wanted(t)
        tau = dynamics.inverse_dynamics(q, qd, qdd)
        return np.concatenate([state[2:], dynamics.forward_dynamics(state[:2], state[2:], tau)])

    begin = np.concatenate(wanted(0.0)[:2])
    found = solve_ivp(
        change, (0.0, 0.5), begin, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=np.linspace(0, 0.5, 11)
    )
    q = np.array([wanted(t)[0] for t in found.t])
    assert np.abs(found.y[:2].T - q).max() < 1e-9

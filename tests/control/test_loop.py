"""The closed loop: what the arm does, and that both ways of running it say the same."""

import math

import msgspec
import numpy as np
import pytest
from controlled_arms import FALL, MOVE, PUMA, TWO, two

from hil.control.experiment import Bounds, Disturbance, Experiment, Kind, Reference, Speeds
from hil.control.loop import ClosedLoop
from hil.dynamics.model import Dynamics
from hil.kernels.build import fast_available
from hil.kernels.closed_loop import Law, controller_step
from hil.kernels.scalar import FLOATS


def experiment(**changes) -> Experiment:
    return msgspec.structs.replace(Experiment(robot="puma560", reference=MOVE), **changes)


def test_a_step_is_what_forward_dynamics_says():
    loop = ClosedLoop(PUMA, experiment(friction=False, stops=False))
    trace = loop.trace(compiled=False)
    dynamics = Dynamics(PUMA)
    qdd = dynamics.forward_dynamics(trace.actual[:-1], trace.speed[:-1], trace.torque[:-1])
    assert np.abs(np.diff(trace.speed, axis=0) / loop.period_s - qdd).max() < 1e-8
    assert np.abs(np.diff(trace.actual, axis=0) / loop.period_s - trace.speed[1:]).max() < 1e-9


def test_computed_torque_follows_its_reference_but_for_the_length_of_a_tick():
    errors = []
    for rate in (1000.0, 2000.0):
        done = ClosedLoop(PUMA, experiment(law=Law.COMPUTED_TORQUE, friction=False, rate_hz=rate)).trace(compiled=False)
        errors.append(float(done.scores.largest_error[0]))
    assert errors[0] < 4e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


def test_gravity_is_carried_from_the_first_moment():
    hold = experiment(reference=Reference(kind=Kind.HOLD, start=(0, 30, -30, 0, 0, 0), duration_s=0.2), friction=False)
    done = ClosedLoop(PUMA, hold).trace(compiled=False)
    assert done.scores.largest_error[0] < 1e-9
    delayed = ClosedLoop(PUMA, msgspec.structs.replace(hold, delay_s=0.02)).trace(compiled=False)
    assert delayed.scores.largest_error[0] < 1e-9
    sagging = ClosedLoop(PUMA, msgspec.structs.replace(hold, law=Law.PD)).trace(compiled=False)
    assert sagging.scores.largest_error[0] > 5e-3


def test_an_integral_takes_away_what_a_constant_torque_leaves():
    pushed = experiment(
        reference=Reference(kind=Kind.HOLD, duration_s=1.0),
        friction=False,
        rate_hz=500.0,
        step_s=2e-3,
        disturbances=(Disturbance(joint="J2", torque=20.0),),
    )
    left = ClosedLoop(PUMA, pushed).trace(compiled=False).error[-1, 1]
    law = msgspec.structs.replace(pushed, law=Law.PID_GRAVITY, ki=(30000.0, 30000.0, 3000.0, 500.0, 500.0, 500.0))
    assert abs(left) > 1e-3
    assert abs(ClosedLoop(PUMA, law).trace(compiled=False).error[-1, 1]) < abs(left) / 4.0


def test_anti_windup_keeps_the_integral_small_while_the_torque_is_at_its_limit():
    loop = ClosedLoop(PUMA, experiment(law=Law.PID, ki=(1e4,)))
    q = qd = np.zeros(6)
    wanted, limit = np.full(6, 0.5), np.full(6, 10.0)
    body = loop.controller.body
    gains = (np.full(6, 100.0).tolist(), np.zeros(6).tolist())
    given = [q.tolist(), qd.tolist(), wanted.tolist(), qd.tolist(), qd.tolist(), *gains, limit.tolist()]
    held = body(*given, [1e4] * 6, [0.1] * 6, 0.001, FLOATS)
    assert held["tau"][1] == [10.0] * 6
    assert held["integral"][1] == [0.1] * 6
    back = body(*given, [1e4] * 6, [-0.1] * 6, 0.001, FLOATS)  # the error drives it out of the limit
    assert back["integral"][1] == pytest.approx([-0.1 + 0.0005] * 6)


@pytest.mark.parametrize("law", [law for law in Law if law is not Law.SCALED_PD])
def test_a_controller_without_limits_is_the_one_with_a_limit_that_is_never_met(law):
    mechanism = ClosedLoop(TWO, two()).dynamics.mechanism
    q, qd, wanted, gains, held = [0.3, -0.4], [0.5, 0.1], [0.6, 0.2], [90.0, 40.0], [0.02, -0.05]
    kept = [[4.0, 6.0], held, 1e-3] if law.integrates else []
    given = [q, qd, wanted, [0.1, 0.2], [1.0, -2.0], gains, [8.0, 3.0]]
    limited = controller_step(law, mechanism, FALL).body(*given, [1e6, 1e6], *kept, FLOATS)
    free = controller_step(law, mechanism, FALL, limited=False).body(*given, *kept, FLOATS)
    assert free == limited
    assert max(limited["asked"][1]) > 10.0
    tight = controller_step(law, mechanism, FALL).body(*given, [5.0, 5.0], *kept, FLOATS)
    assert tight["asked"] == free["asked"] and tight["tau"] != free["tau"]


def test_dry_friction_holds_up_to_its_size_and_no_further():
    still = Reference(kind=Kind.HOLD, start=(90.0, 0.0), duration_s=0.5)
    base = Experiment(robot="two", reference=still, law=Law.PD, kp=(0.0,), kd=(0.0,), gravity_m_s2=(0.0, 0.0, 0.0))
    for torque, moves in ((1.999, False), (-1.999, False), (2.01, True)):
        push = msgspec.structs.replace(base, dry=(2.0,), disturbances=(Disturbance(joint="J1", torque=torque),))
        end = ClosedLoop(TWO, push).trace(compiled=False)
        assert bool(abs(end.actual[-1, 0] - math.pi / 2) > 1e-6) == moves
        if not moves:
            assert end.speed[-1, 0] == pytest.approx(0.0, abs=1e-12)
            assert end.reaction[-1, 0] == pytest.approx(torque, rel=1e-9)


def test_dry_friction_brings_a_moving_joint_to_rest_where_its_work_says():
    thrown = Reference(start=(0.0, 0.0), end=(0.0, 0.0), start_speed=(60.0, 0.0), duration_s=0.9)
    given = Experiment(
        robot="two", reference=thrown, law=Law.PD, kp=(0.0,), kd=(0.0,), gravity_m_s2=(0.0, 0.0, 0.0), step_s=5e-4,
        dry=(4.0, 1e3), bounds=Bounds(error=1e4),
    )  # fmt: skip
    done = ClosedLoop(TWO, given).trace(compiled=False)
    inertia = Dynamics(TWO).mass_matrix(np.zeros(2))[0, 0]  # the second joint is held by its own friction
    way = 0.5 * inertia * math.radians(60.0) ** 2 / 4.0
    assert done.actual[-1, 0] == pytest.approx(way, rel=1e-3)
    assert done.speed[-1] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert done.actual[-1, 1] == pytest.approx(0.0, abs=1e-6)


def test_a_stop_is_reached_and_not_passed():
    fall = Reference(kind=Kind.HOLD, start=(-90.0, 90.0), duration_s=2.0)
    given = Experiment(
        robot="two", reference=fall, law=Law.PD, kp=(0.0,), kd=(0.0,), gravity_m_s2=(0.0, 9.81, 0.0),
        bounds=Bounds(error=1e4, speed=1e5),
    )  # fmt: skip
    done = ClosedLoop(TWO, given).trace(compiled=False)
    assert np.abs(done.actual).max() <= math.pi + 1e-9
    assert np.abs(done.actual).max() == pytest.approx(math.pi, abs=1e-9)
    free = ClosedLoop(TWO, msgspec.structs.replace(given, stops=False)).trace(compiled=False)
    assert np.abs(free.actual).max() > math.pi + 0.1


def test_a_payload_is_felt_by_the_arm_and_known_to_the_controller_only_if_said():
    hold = experiment(
        reference=Reference(kind=Kind.HOLD, start=(0, 0, 0, 0, 0, 0), duration_s=0.3), friction=False, payload_kg=2.5
    )
    hung = ClosedLoop(PUMA, hold)
    heavier = hung.dynamics.gravity_torque(np.zeros(6)) - Dynamics(PUMA).gravity_torque(np.zeros(6))
    reach = load_tool_reach()
    assert heavier[1] == pytest.approx(2.5 * 9.81 * reach, rel=1e-12)
    assert hung.trace(compiled=False).scores.largest_error[0] > 2e-3
    known = ClosedLoop(PUMA, msgspec.structs.replace(hold, payload_known=True)).trace(compiled=False)
    assert known.scores.largest_error[0] < 1e-9


def load_tool_reach() -> float:
    import hil

    return float(hil.load_robot("puma560").forward_kinematics(np.zeros(6))[0, 3])


def test_a_delay_of_whole_ticks_uses_older_commands():
    loop = ClosedLoop(TWO, two(delay_s=0.003))
    at_once = ClosedLoop(TWO, two())
    late, early = loop.trace(compiled=False), at_once.trace(compiled=False)
    start = Dynamics(TWO, FALL).gravity_torque(np.zeros(2))
    applied = np.vstack([np.tile(start, (3, 1)), late.torque[:-4]])
    qdd = Dynamics(TWO, FALL).forward_dynamics(late.actual[:-1], late.speed[:-1], applied)
    assert np.abs(np.diff(late.speed, axis=0) * 1000.0 - qdd).max() < 1e-7
    assert late.scores.cost[0] > early.scores.cost[0]


def test_the_controller_sees_whole_steps_of_the_encoder_and_the_same_noise_for_a_seed():
    seen = ClosedLoop(TWO, two(resolution=(0.5,))).trace(compiled=False)
    steps = np.degrees(seen.measured) / 0.5
    assert np.abs(steps - np.round(steps)).max() < 1e-9
    assert np.abs(np.degrees(seen.measured - seen.actual)).max() <= 0.25 + 1e-9
    noisy = [ClosedLoop(TWO, two(noise=(0.1,), seed=seed)).trace(compiled=False) for seed in (3, 3, 4)]
    assert np.array_equal(noisy[0].measured, noisy[1].measured)
    assert not np.array_equal(noisy[0].measured, noisy[2].measured)
    spread = np.degrees((noisy[0].measured - noisy[0].actual).std())
    assert spread == pytest.approx(0.1, rel=0.1)


def test_speeds_from_differences_are_those_of_the_last_tick():
    loop = ClosedLoop(TWO, two(speeds=Speeds.DIFFERENCE, law=Law.PD, kp=(0.0,), kd=(1.0,)))
    done = loop.trace(compiled=False)
    seen = np.diff(done.measured, axis=0) / loop.period_s
    assert done.torque[1:] == pytest.approx(done.wanted_speed[1:] - seen, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kp": (0.0,), "kd": (0.0,), "law": Law.PD, "bounds": Bounds(error=5.0)}, 1),
        ({"kp": (1e5,), "kd": (1e5,), "bounds": Bounds(error=1e9, torque=1e300)}, 2),
        ({"kp": (1e5,), "kd": (1e5,), "bounds": Bounds(error=1e9, speed=1e300, torque=1e4)}, 3),
    ],
)
def test_a_run_beyond_a_bound_costs_infinity_and_says_which(changes, reason):
    done = ClosedLoop(PUMA, experiment(**changes)).trace(compiled=False)
    assert done.scores.cost[0] == math.inf
    assert done.scores.reason[0] == reason
    assert done.time_s[-1] == pytest.approx(done.scores.failed_s[0])


def test_settings_side_by_side_are_what_each_is_alone():
    loop = ClosedLoop(PUMA, experiment(reference=msgspec.structs.replace(MOVE, duration_s=0.05)))
    settings = np.repeat(loop.column[:, None], 3, axis=1)
    settings[:12] *= (0.5, 1.0, 2.0)
    together = loop.run(settings, compiled=False)
    alone = [loop.run(settings[:, i : i + 1], compiled=False) for i in range(3)]
    assert together.cost == pytest.approx([float(one.cost[0]) for one in alone], rel=1e-9)
    assert together.torque_rms == pytest.approx([float(one.torque_rms[0]) for one in alone], rel=1e-9)


@pytest.mark.skipif(not fast_available(), reason="needs the extra fast")
def test_compiled_and_plain_say_the_same():
    hard = two(
        law=Law.PID_GRAVITY, ki=(5.0,), delay_s=0.0015, rate_hz=500.0, resolution=(0.01,), noise=(0.005,),
        torque_limit=(25.0, 9.0), dry=(0.3,), viscous=(0.2,), armature=(0.1,), speeds=Speeds.DIFFERENCE,
        disturbances=(Disturbance(joint="J2", torque=3.0, from_s=0.1, until_s=0.2),),
    )  # fmt: skip
    loop = ClosedLoop(TWO, hard)
    settings = np.repeat(loop.column[:, None], 70, axis=1)
    settings[:4] *= np.linspace(0.2, 60.0, 70)
    plain, compiled = loop.run(settings, compiled=False), loop.run(settings, compiled=True)
    assert np.isinf(plain.cost).any() and np.isfinite(plain.cost).any()
    for name in ("cost", "largest_error", "torque_rms", "at_limit", "failed_s", "reason"):
        assert getattr(compiled, name) == pytest.approx(getattr(plain, name), rel=1e-6, nan_ok=True), name
    assert loop.run(settings, compiled=True, threads=2).cost.tolist() == compiled.cost.tolist()
    one, other = loop.trace(compiled=False), loop.trace(compiled=True)
    assert np.abs(one.actual - other.actual).max() < 1e-9
    for name in ("cost", "largest_error", "torque_rms", "at_limit"):
        assert getattr(other.scores, name) == pytest.approx(getattr(one.scores, name), rel=1e-9), name


@pytest.mark.skipif(not fast_available(), reason="needs the extra fast")
@pytest.mark.parametrize("speed", [200.0, 1500.0])  # 1500 degrees per second are turned by whole sines, step by step
def test_one_compiled_run_keeps_to_the_plain_one_also_where_it_ends_early(speed):
    thrown = two(
        reference=Reference(start=(0.0, 0.0), end=(0.0, 0.0), start_speed=(speed, 0.0), duration_s=0.4), law=Law.PD,
        kp=(0.0,), kd=(0.01,), friction=False, stops=False, bounds=Bounds(error=1e9, torque=1e300),
    )  # fmt: skip
    one, other = (ClosedLoop(TWO, thrown).trace(compiled=compiled) for compiled in (False, True))
    assert len(other.time_s) == 401
    for name in ("actual", "speed", "measured", "torque", "reaction"):
        assert np.abs(getattr(other, name) - getattr(one, name)).max() < 1e-9, name
    for reason, bounds in ((1, Bounds(error=20.0)), (2, Bounds(error=1e9, speed=0.9 * speed))):
        short = msgspec.structs.replace(thrown, bounds=bounds)
        one, other = (ClosedLoop(TWO, short).trace(compiled=compiled) for compiled in (False, True))
        assert one.scores.reason[0] == other.scores.reason[0] == reason
        assert one.scores.failed_s[0] == other.scores.failed_s[0]
        assert other.scores.cost[0] == math.inf
        assert np.array_equal(one.time_s, other.time_s)

"""How evenly the pulse runs during a move of constant speed, with ticks that jitter, over every phase of the frame."""

from __future__ import annotations

import functools
import random

import msgspec
import numpy as np
import pytest
from virtual_session import Session, certified, load, lynx6

from hil.motion.planner import plan_joint_move
from hil.types import Arm, Mode, Start
from hil.units import DEG
from sim.ssc32 import FRAME_S

JITTER_S = 0.002
PHASES_S = tuple(k * FRAME_S / 20 for k in range(20))
STRADDLING_S = 0.004
"""At this phase the jitter decides whether a command, four milliseconds on the line, is there before the board's next
step or after it."""
CLEAR_S = tuple(phase_s for phase_s in PHASES_S if abs(phase_s - STRADDLING_S) > 1.1 * JITTER_S)


@functools.cache
def steps_us(look_ahead_s: float, speed_deg_s: float, phase_s: float) -> tuple[float, ...]:
    """Changes of the base's pulse from frame to frame in the middle half of a long move."""
    rig = msgspec.structs.replace(lynx6(), look_ahead_s=look_ahead_s)
    start, goal = ((side * 80 * DEG, *rig.park[1:]) for side in (-1, 1))
    motion = plan_joint_move(rig, start, goal, speed_percent=speed_deg_s / 60 * 100)
    s = Session(rig, true_pose=start, board_start_s=phase_s)
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.confirm(start))
    s.tick(load(motion, certified(rig, motion)), Arm(digest=motion.digest))
    s.tick(Start(digest=motion.digest))
    rng, first_s, number = random.Random(f"{phase_s}"), s.clock.now_s(), 0
    while s.mode is Mode.STREAMING:
        number += 1
        due_s = first_s + number * rig.period_s + rng.uniform(-JITTER_S, JITTER_S)
        s.tick(after_s=due_s - s.clock.now_s())
    channel = s.settings.axes[0].channel
    begin_s, end_s = (first_s + share * motion.duration_s for share in (0.25, 0.75))
    changed = {round((t - phase_s) / FRAME_S): pulse for t, c, pulse in s.pulses if c == channel}
    at, widths = changed[min(changed)], []
    for frame in range(min(changed), max(changed) + 1):
        at = changed.get(frame, at)
        if begin_s <= frame * FRAME_S <= end_s:
            widths.append(at)
    return tuple(np.diff(widths).tolist())


def ripple(look_ahead_s: float, speed_deg_s: float, *phases_s: float) -> float:
    """Root mean square of the speed's deviation, as a share of the speed."""
    steps = np.concatenate([steps_us(look_ahead_s, speed_deg_s, phase_s) for phase_s in phases_s])
    return float(np.std(steps) / abs(np.mean(steps)))


def test_over_all_phases_the_speed_ripples_by_less_than_a_tenth() -> None:
    """Twelve microseconds a frame; half of what is left is the rounding to whole microseconds."""
    steps = steps_us(lynx6().look_ahead_s, 60.0, 0.0)
    assert abs(np.mean(steps)) == pytest.approx(12.0, rel=0.01)
    assert ripple(lynx6().look_ahead_s, 60.0, *PHASES_S) < 0.10


@pytest.mark.parametrize("phase_s", CLEAR_S)
@pytest.mark.parametrize("speed_deg_s", [30.0, 60.0])
def test_in_every_phase_but_the_unlucky_ones_nothing_is_left_but_the_rounding(
    speed_deg_s: float, phase_s: float
) -> None:
    assert ripple(lynx6().look_ahead_s, speed_deg_s, phase_s) < 0.09
    assert np.ptp(steps_us(lynx6().look_ahead_s, speed_deg_s, phase_s)) <= 2.0


def test_where_commands_straddle_the_frame_it_stays_below_a_quarter_and_the_pulse_never_stands_still() -> None:
    """There a frame sees two commands or none, by chance, and no host can know the phase of the board."""
    worst = max(PHASES_S, key=lambda phase_s: ripple(lynx6().look_ahead_s, 60.0, phase_s))
    assert worst == pytest.approx(STRADDLING_S, abs=1.5e-3)
    assert 0.10 < ripple(lynx6().look_ahead_s, 60.0, worst) < 0.25
    steps = np.abs(steps_us(lynx6().look_ahead_s, 60.0, worst))
    assert steps.min() > 0.3 * steps.mean()


def test_a_look_ahead_of_one_period_stops_and_goes() -> None:
    """Why the look-ahead is three periods: with one, a frame without a command is a frame without motion."""
    steps = np.abs(steps_us(FRAME_S, 60.0, STRADDLING_S))
    assert steps.min() == 0.0
    assert steps.max() > 1.8 * steps.mean()
    one, three = (ripple(periods * FRAME_S, 60.0, *PHASES_S) for periods in (1, 3))
    assert one > 3.0 * three

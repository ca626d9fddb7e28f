"""Is a whole motion safe on this rig? Every sample, and what lies between samples, in one vectorised pass.

The controller sees rounded positions, so hard limits, speed and clearances are judged on those. Acceleration
and jerk are judged on the samples themselves, because rounding to a microsecond alone turns 3 rad/s2 into 10;
instead the rounding error is bounded by half a step of the wire.

What the start pose does not keep, a soft limit or a clearance, may get no worse (see `hil.space.no_worse`). That holds
for this motion, from this start, and for nothing else: both stand in its certificate, and the loop compares them.
"""

from __future__ import annotations

import math

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Axis, Rig
from hil.motion.motion import Mark, Motion, ToolPath
from hil.motion.room_along import JUMP
from hil.robot import Robot
from hil.safety.chords import check_chords
from hil.safety.clearance import clearances, stop_clearances, stop_limits
from hil.safety.findings import ABSOLUTE_SLACK, MILLIMETRES, RELATIVE_SLACK, Findings, Notes, Unit, unit_of
from hil.safety.over_time import OverTime
from hil.space.body import Body
from hil.space.geometry import point_segment_distance
from hil.space.no_worse import Course, soft_course
from hil.types import Margin

__all__ = ["Findings", "check_motion"]

SOFT_SLACK = 1e-9

SENSIBLE = 1e4
"""No axis ever is further than this from zero, in rad or m; arithmetic beyond could overflow."""

WIRE_SPARE = 0.3
"""Part of a period that the line to the controller has to stay free."""

LOOK_AHEAD_MOST_S, LOOK_AHEAD_MOST_PERIODS = 0.2, 3
"""After the host dies the arm moves on for the look-ahead, so it may not be long; three periods do, or three of those
at which the controller takes targets."""

SLOW_DOWN = 30.0
"""Times that a line may be slower at its slowest place than at its best before a singularity is to blame."""

LEAST_TRAVEL_M = 1e-6
"""Travel a period below which a line counts as standing still."""

GRIP_S = 60.0
"""A servo that squeezes for longer than this runs hot."""

GRIP_STEP_M = 1e-6
"""Change of opening a period that counts as movement."""


def check_motion(rig: Rig, robot: Robot, motion: Motion, over_time: OverTime | None = None) -> Findings:
    """Judge a whole motion.

    Args:
        rig: limits, fences, shapes, rates and controller.
        robot: kinematics of `rig.robot`.
        motion: samples in the order of `rig.axes`.
        over_time: filled with the margins at all samples, for whoever wants to draw them.

    Returns:
        Refusals with the earliest failing sample per check and subject, and the tightest margins of the rest.
    """
    notes = Notes(motion, over_time)
    if not _well_formed(rig, motion, notes):
        return notes.findings()
    _timing(rig, motion, notes)
    _wire(rig, notes)
    sent = _quantise(rig, motion.samples)
    soft = _positions(rig, motion.samples, sent, notes)
    _rates(rig, motion.samples, sent, notes)
    _tool(rig, robot, motion, notes)
    body = Body(rig, robot)
    space = clearances(rig, body, motion.samples[:, : robot.dof], sent[:, : robot.dof], notes)
    rest = stop_limits(rig, motion, soft, notes)
    stop_clearances(rig, body, motion, rest, space, notes)
    check_chords(rig, robot, body, motion, space, notes)
    _grip(rig, motion, notes)
    return notes.findings()


def _well_formed(rig: Rig, motion: Motion, notes: Notes) -> bool:
    """E-01: nothing else can be asked of samples that are not finite, at no rhythm, or for other axes."""
    names = tuple(axis.name for axis in rig.axes)
    if not (math.isfinite(rig.period_s) and rig.period_s > 0.0):
        given = f"{rig.period_s * 1e3:g} ms"
        notes.refuse("E-04", "rig period", given, "above 0 ms", "Set timing.period_ms of the rig.")
        return False
    if tuple(motion.axes) != names:
        notes.refuse(
            "E-01",
            "axes",
            f"the motion is for {', '.join(motion.axes)}",
            ", ".join(names),
            "Plan the motion anew for this rig.",
        )
        return False
    samples = motion.samples
    bad = np.argwhere(~(np.abs(samples) <= SENSIBLE))
    if len(bad):
        sample, column = (int(v) for v in bad[0])
        unit = unit_of(rig.axes[column])
        notes.refuse(
            "E-01",
            f"{names[column]}, sample {sample}",
            f"position {unit.say(samples[sample, column])} is not a finite number of sensible size",
            f"{unit.say(-SENSIBLE)} to {unit.say(SENSIBLE)}",
            "Plan the motion anew; report this if it comes back.",
        )
        return False
    return True


def _timing(rig: Rig, motion: Motion, notes: Notes) -> None:
    """E-04: the rhythm and the look-ahead."""
    period_s = rig.period_s
    if motion.period_s != period_s:
        notes.refuse(
            "E-04",
            "period",
            f"the motion was sampled every {motion.period_s * 1e3:g} ms",
            f"{period_s * 1e3:g} ms",
            "Plan the motion anew for this rig.",
        )
    seconds = Unit("ms", 1e3)
    most_s = max(LOOK_AHEAD_MOST_S, LOOK_AHEAD_MOST_PERIODS * _beat_s(rig))
    nearest = f"{seconds.say(period_s)} to {seconds.say(most_s)}"
    for room_s, limit in (
        (rig.look_ahead_s - period_s, f"at least one period, {seconds.say(period_s)}"),
        (most_s - rig.look_ahead_s, f"at most {seconds.say(most_s)}"),
    ):
        notes.judge(
            "E-04",
            "look-ahead",
            [room_s],
            scale=period_s,
            unit=seconds,
            limit=limit,
            nearest=nearest,
            advice="Change timing.look_ahead_ms of the rig; two to three periods are good.",
            slack=1e-9,
            whole=True,
        )


def _beat_s(rig: Rig) -> float:
    """Time from one target on the line to the next."""
    pace = rig.controller.pace
    return rig.period_s if pace is None else pace.send_period_s


def _wire(rig: Rig, notes: Notes) -> None:
    """E-16: a move and a query fit on the line, with room to spare."""
    period_s, line_s = _beat_s(rig), rig.controller.line_time_s()
    seconds = Unit("ms", 1e3)
    notes.judge(
        "E-16",
        "line to the controller",
        [(1.0 - WIRE_SPARE) * period_s - line_s],
        scale=period_s,
        unit=seconds,
        limit=f"{seconds.say(line_s)} on the wire, {WIRE_SPARE:.0%} of {seconds.say(period_s)} kept free",
        nearest=f"a period of {seconds.say(line_s / (1.0 - WIRE_SPARE))}",
        advice="Raise the baud rate or the period.",
        whole=True,
    )


def _quantise(rig: Rig, samples: FloatArray) -> FloatArray:
    """Positions as the controller will see them; where it would clip one, the position that was asked for.

    A clipped position is inside every limit, so it would hide what was asked.
    """
    sent = np.asarray(rig.controller.quantise(samples))
    rounded = np.abs(sent - samples) <= 0.5 * rig.controller.quantum() + ABSOLUTE_SLACK
    return np.where(rounded, sent, samples)


def _positions(rig: Rig, samples: FloatArray, sent: FloatArray, notes: Notes) -> Course:
    """E-02: soft limits for what was planned; hard limits and the controller's for what will be sent.

    Gives the soft limits along the motion.
    """
    low, high = rig.controller.bounds()
    soft = soft_course(rig, samples)
    for i, axis in enumerate(rig.axes):
        unit, name = unit_of(axis), axis.name
        soft_low, soft_high = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
        for column, word, value in ((i, "lower", soft_low), (i + len(rig.axes), "upper", soft_high)):
            limit = f"{word} limit {unit.say(value)}"
            if soft.broken[column]:
                beyond = float(-soft.left[0, column])
                limit += f"; it starts {unit.say(beyond)} beyond and may go no further out"
                notes.excuse("E-02", name, limit, -beyond, unit)
            notes.judge(
                "E-02",
                name,
                soft.left[:, column] - soft.before[:, column],
                scale=soft_high - soft_low,
                unit=unit,
                limit=limit,
                nearest=unit.say(value),
                advice="Move the target inside; the soft margin stands in the rig file.",
                group=name,
                slack=SOFT_SLACK,
            )
        for lower, upper, what, advice in (
            (axis.lower, axis.upper, " (hard)", "Keep further from the hard limit: raise the soft margin."),
            (float(low[i]), float(high[i]), " of the controller", "Move the target, or calibrate anew."),
        ):
            for room, word, value in (
                (sent[:, i] - lower, "lower limit", lower),
                (upper - sent[:, i], "upper limit", upper),
            ):
                notes.judge(
                    "E-02",
                    name,
                    room,
                    scale=upper - lower,
                    unit=unit,
                    limit=f"{word}{what} {unit.say(value)}",
                    nearest=unit.say(value),
                    advice=advice,
                    group=name,
                    slack=1e-9,
                )
    return soft


def _rates(rig: Rig, samples: FloatArray, sent: FloatArray, notes: Notes) -> None:
    """E-03 and E-05: speed, acceleration, jerk, rest at both ends, and jumps."""
    period_s, count = rig.period_s, len(samples)
    quantum = rig.controller.quantum()
    padded = np.concatenate([np.repeat(samples[:1], 3, axis=0), samples, np.repeat(samples[-1:], 3, axis=0)])
    ends = np.clip(np.arange(count + 3), 0, count - 1)
    error = np.abs(rig.controller.quantise(samples) - samples)
    for i, axis in enumerate(rig.axes):
        unit, name = unit_of(axis), axis.name
        step = np.diff(sent[:, i])
        notes.judge(
            "E-03",
            name,
            axis.speed + quantum[i] / period_s - np.abs(step) / period_s,
            scale=axis.speed,
            unit=unit,
            suffix="/s",
            limit=f"speed {unit.say(axis.speed, '/s')} and one step of the wire a period",
            nearest=unit.say(axis.speed, "/s"),
            advice="Give this step more time, or a lower speed.",
            group="speed",
            samples=np.arange(1, count),
        )
        _rest(axis, samples[:, i], period_s, notes)
        for order, value, word, suffix in (
            (2, axis.acceleration, "acceleration", "/s2"),
            (3, axis.jerk, "jerk", "/s3"),
        ):
            rate = np.abs(np.diff(padded[:, i], order))[3 - order :][: count + order] / period_s**order
            rate[[1, count + order - 2]] = 0.0  # the outermost steps are judged as rest
            notes.judge(
                "E-03",
                name,
                value * (1.0 + RELATIVE_SLACK) - rate,
                scale=value,
                unit=unit,
                suffix=suffix,
                limit=f"{word} {unit.say(value, suffix)}",
                nearest=unit.say(value, suffix),
                advice="Give this step more time, or plan it with this rig's limits.",
                group=word,
                samples=ends[: count + order],
                slack=ABSOLUTE_SLACK / period_s**order,
            )
        notes.judge(
            "E-03",
            name,
            0.5 * quantum[i] - error[:, i],
            scale=float(quantum[i]),
            unit=unit,
            limit=f"rounding to the wire, half a step of {unit.say(float(quantum[i]))}",
            nearest="a position that the controller can be told",
            advice="The controller cannot be told this position; check the calibration and its pulse limits.",
            group="rounding",
        )
        notes.judge(
            "E-05",
            name,
            JUMP[axis.kind] - np.abs(np.diff(samples[:, i])),
            scale=JUMP[axis.kind],
            unit=unit,
            limit=f"step of {unit.say(JUMP[axis.kind])} between samples",
            nearest=unit.say(JUMP[axis.kind]),
            advice="The arm changes posture in mid-way: begin in the other posture, or add a joint move.",
            group="step",
            samples=np.arange(1, count),
        )


def _rest(axis: Axis, positions: FloatArray, period_s: float, notes: Notes) -> None:
    """A motion begins and ends at rest: its outermost steps are those of an axis that stood still."""
    if len(positions) < 2:
        return
    allowed = min(axis.acceleration * period_s**2, axis.jerk * period_s**3)
    unit = unit_of(axis)
    last = len(positions) - 1
    for step, sample, word in (
        (positions[1] - positions[0], 1, "start"),
        (positions[-1] - positions[-2], last, "end"),
    ):
        notes.judge(
            "E-03",
            axis.name,
            [(allowed * (1.0 + RELATIVE_SLACK) - abs(float(step))) / period_s],
            scale=allowed / period_s,
            unit=unit,
            suffix="/s",
            limit=f"at rest at the {word}: {unit.say(allowed / period_s, '/s')}",
            nearest=unit.say(allowed / period_s, "/s"),
            advice=f"The motion has to {word} at rest.",
            group=f"rest at the {word}",
            samples=np.array([sample]),
            slack=ABSOLUTE_SLACK / period_s,
        )


def _tool(rig: Rig, robot: Robot, motion: Motion, notes: Notes) -> None:
    """Tool speed, and E-06 and E-08 for lines."""
    joints = motion.samples[:, : robot.dof]
    points = robot.forward_kinematics(joints)[:, :3, 3]
    travelled = np.linalg.norm(np.diff(points, axis=0), axis=1)
    limit = rig.tool_speed_m_s
    notes.judge(
        "E-03",
        "tool",
        limit * (1.0 + RELATIVE_SLACK) - travelled / rig.period_s,
        scale=limit,
        unit=MILLIMETRES,
        suffix="/s",
        limit=f"tool speed {MILLIMETRES.say(limit, '/s')}",
        nearest=MILLIMETRES.say(limit, "/s"),
        advice="Give this step more time, or a lower speed.",
        samples=np.arange(1, len(joints)),
        slack=1e-9,
    )
    lines = [mark for mark in motion.marks if mark.kind == "line"]
    if not lines and not motion.paths:
        return
    halfway = robot.forward_kinematics(0.5 * (joints[1:] + joints[:-1]))[:, :3, 3]
    for mark in lines:
        _deviation(mark, points, halfway, notes)
        _slow_down(rig, mark, joints, travelled, notes)
    for path in motion.paths:
        _off_path(path, points, halfway, notes)


def _off_path(path: ToolPath, points: FloatArray, halfway: FloatArray, notes: Notes) -> None:
    """E-06: the tool stays on its path at every sample, and half-way between them."""
    wanted = path.points_m
    at = np.linalg.norm(points[path.first : path.last + 1] - wanted[::2], axis=1)
    here = halfway[path.first : path.last]
    before, middle, after = wanted[:-1:2], wanted[1::2], wanted[2::2]
    between = np.minimum(point_segment_distance(here, before, middle), point_segment_distance(here, middle, after))
    for away, samples, where in (
        (at, np.arange(path.first, path.last + 1), ""),
        (between, np.arange(path.first + 1, path.last + 1), " half-way there"),
    ):
        notes.judge(
            "E-06",
            "tool",
            path.tolerance_m - away,
            scale=path.tolerance_m,
            unit=MILLIMETRES,
            limit=f"{MILLIMETRES.say(path.tolerance_m)} from the path{where}",
            nearest=MILLIMETRES.say(path.tolerance_m),
            advice="Move slower along this path, or begin it in another posture.",
            group="line",
            samples=samples,
            slack=1e-9,
        )


def _deviation(mark: Mark, points: FloatArray, halfway: FloatArray, notes: Notes) -> None:
    """E-06: the tool stays on its line at every sample, and half-way between them."""
    assert mark.start_m is not None and mark.end_m is not None and mark.tolerance_m is not None
    start, end = np.array(mark.start_m), np.array(mark.end_m)
    for places, samples, where in (
        (points[mark.first : mark.last + 1], np.arange(mark.first, mark.last + 1), ""),
        (halfway[mark.first : mark.last], np.arange(mark.first + 1, mark.last + 1), " half-way there"),
    ):
        notes.judge(
            "E-06",
            "tool",
            mark.tolerance_m - point_segment_distance(places, start, end),
            scale=mark.tolerance_m,
            unit=MILLIMETRES,
            limit=f"{MILLIMETRES.say(mark.tolerance_m)} from the straight line{where}",
            nearest=MILLIMETRES.say(mark.tolerance_m),
            advice="Move slower along this line, or begin it in another posture.",
            group="line",
            samples=samples,
            slack=1e-9,
        )


def _slow_down(rig: Rig, mark: Mark, joints: FloatArray, travelled: FloatArray, notes: Notes) -> None:
    """E-08: near a singular posture joints race for little travel; only lines are held to this."""
    steps = np.abs(np.diff(joints[mark.first : mark.last + 1], axis=0))
    travel = travelled[mark.first : mark.last]
    speeds = np.array([axis.speed for axis in rig.axes[: joints.shape[1]]])
    periods = (steps / speeds).max(axis=1)
    moving = np.flatnonzero((travel > LEAST_TRAVEL_M) & (periods > 0.0))
    if not len(moving):
        return
    attainable = travel[moving] / periods[moving]
    notes.judge(
        "E-08",
        "tool",
        SLOW_DOWN - min(rig.tool_speed_m_s, float(attainable.max())) / attainable,
        scale=SLOW_DOWN,
        unit=Unit("times", 1.0),
        limit=f"at most {SLOW_DOWN:g} times slower where joints have to race",
        nearest=f"{SLOW_DOWN:g} times",
        advice="The line passes too near to a singular posture (arm straight, or tool above the base axis): "
        "lead it further away, or make this a joint move.",
        group="line",
        samples=mark.first + 1 + moving,
    )


def _grip(rig: Rig, motion: Motion, notes: Notes) -> None:
    """E-14: warn of a gripper that is closed on something for long; never a refusal."""
    if rig.gripper is None:
        return
    opening = motion.samples[:, rig.gripper]
    moved = np.flatnonzero(np.abs(np.diff(opening)) > GRIP_STEP_M) + 1
    if not len(moved):
        return
    until = np.append(moved[1:] - 1, len(opening) - 1)
    held_s = np.where(opening[moved] < opening[moved - 1], (until - moved) * motion.period_s, 0.0)
    longest = int(np.argmax(held_s))
    if held_s[longest] <= 0.0:
        return
    sample = int(moved[longest])
    notes.warn(
        Margin(
            check="E-14",
            subject=rig.axes[rig.gripper].name,
            limit=f"closed for {held_s[longest]:.3g} s, at most {GRIP_S:g} s before its servo runs hot",
            margin=GRIP_S - float(held_s[longest]),
            unit="s",
            sample=sample,
            time_s=sample * motion.period_s,
        )
    )

"""Is a whole motion safe on this rig? Every sample, and what lies between samples, in one vectorised pass.

The controller sees rounded positions, so hard limits, speed and clearances are judged on those. Acceleration
and jerk are judged on the samples themselves, because rounding to a microsecond alone turns 3 rad/s2 into 10;
instead the rounding error is bounded by half a step of the wire.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.motion import Mark, Motion
from hil.motion.stopping import stop_positions
from hil.robot import Robot
from hil.safety.body import Body, Constraint
from hil.safety.geometry import point_segment_distance
from hil.types import Margin, Record, Refusal
from hil.units import DEG, MM

RELATIVE_SLACK = 1e-6
ABSOLUTE_SLACK = 1e-12
"""Room for floating-point rounding only."""

DISTANCE_SLACK_M = 1e-9

SENSIBLE = 1e4
"""No axis ever is further than this from zero, in rad or m; arithmetic beyond could overflow."""

JUMP = {AxisKind.REVOLUTE: 10.0 * DEG, AxisKind.PRISMATIC: 20.0 * MM, AxisKind.GRIPPER: 20.0 * MM}
"""Largest step between two samples, whatever speed a rig allows: more is another posture of the arm."""

WIRE_SPARE = 0.3
"""Part of a period that the line to the controller has to stay free."""

LOOK_AHEAD_MOST_S, LOOK_AHEAD_MOST_PERIODS = 0.2, 3
"""After the host dies the arm moves on for the look-ahead, so it may not be long; three periods do."""

SLOW_DOWN = 30.0
"""Times that a line may be slower at its slowest place than at its best before a singularity is to blame."""

LEAST_TRAVEL_M = 1e-6
"""Travel a period below which a line counts as standing still."""

RESOLUTION_M = 0.5e-3
"""Clearances between samples are certain to this much."""

GRIP_S = 60.0
"""A servo that squeezes for longer than this runs hot."""

GRIP_STEP_M = 1e-6
"""Change of opening a period that counts as movement."""

PER_GROUP = 3
"""Refusals shown of each kind: the worst ones."""


class Findings(Record, frozen=True):
    """What a check of a motion found.

    Attributes:
        refusals: why it may not be sent; empty if it may.
        margins: the tightest place of each check that passed. A negative one is a warning.
    """

    refusals: tuple[Refusal, ...]
    margins: tuple[Margin, ...]


def check_motion(rig: Rig, robot: Robot, motion: Motion) -> Findings:
    """Judge a whole motion.

    Args:
        rig: limits, fences, shapes, rates and controller.
        robot: kinematics of `rig.robot`.
        motion: samples in the order of `rig.axes`.

    Returns:
        Refusals with the earliest failing sample per check and subject, and the tightest margins of the rest.
    """
    notes = _Notes(motion)
    if not _well_formed(rig, motion, notes):
        return notes.findings()
    _timing(rig, motion, notes)
    _wire(rig, notes)
    sent = _quantise(rig, motion.samples)
    _positions(rig, motion.samples, sent, notes)
    _rates(rig, motion.samples, sent, notes)
    _tool(rig, robot, motion, notes)
    body = Body(rig)
    margins = _clearances(rig, robot, body, sent, notes)
    _stops(rig, robot, body, motion, margins, notes)
    _grip(rig, motion, notes)
    return notes.findings()


class _Unit(NamedTuple):
    """How a quantity is shown: its name, and how many of it make one radian or metre."""

    name: str
    per_si: float

    def say(self, value: float, suffix: str = "") -> str:
        return f"{value * self.per_si:.4g} {self.name}{suffix}"


DEGREES, MILLIMETRES = _Unit("deg", 1.0 / DEG), _Unit("mm", 1.0 / MM)


def _unit(axis: Axis) -> _Unit:
    return DEGREES if axis.kind is AxisKind.REVOLUTE else MILLIMETRES


class _Notes:
    """Collects refusals, and of each group of checks that passed the tightest margin."""

    def __init__(self, motion: Motion) -> None:
        self._motion = motion
        self._refusals: dict[tuple[str, str], list[tuple[float, Refusal]]] = {}
        self._margins: dict[tuple[str, str], tuple[float, Margin]] = {}

    def refuse(self, check: str, subject: str, limit: str, nearest: str, advice: str) -> None:
        """A refusal of the motion as a whole."""
        refusal = Refusal(
            check=check,
            subject=subject,
            limit=limit,
            margin=-1.0,
            unit="mismatch",
            nearest_allowed=nearest,
            advice=advice,
        )
        self._refusals.setdefault((check, subject), []).append((-1.0, refusal))

    def judge(
        self,
        check: str,
        subject: str,
        margins: npt.ArrayLike,
        *,
        scale: float,
        unit: _Unit,
        limit: str,
        nearest: str,
        advice: str,
        group: str = "",
        suffix: str = "",
        samples: npt.NDArray[np.intp] | None = None,
        slack: float = ABSOLUTE_SLACK,
        whole: bool = False,
    ) -> None:
        """Refuse at the first negative margin, or note the smallest one.

        Args:
            check: requirement id.
            subject: what is judged.
            margins: what is left of the limit, shape (K,), in radians, metres, or their rates.
            scale: size of the limit, to compare margins of different units within a group.
            unit: how the user reads a margin.
            limit: the limit in words.
            nearest: the nearest allowed value in words.
            advice: what to change.
            suffix: of the unit, for rates.
            group: checks that share one line of the margins, the subject itself if empty.
            samples: sample index of each margin; all samples in order if not given.
            slack: margins down to minus this count as zero.
            whole: the margin is of the motion as a whole, not of a sample.
        """
        values = np.asarray(margins, dtype=np.float64).reshape(-1)
        if not values.size:
            return
        worst = int(np.argmin(values))
        key = (check, group or subject)

        def at(k: int) -> tuple[int | None, float | None]:
            sample = k if samples is None else int(samples[k])
            return (None, None) if whole else (sample, sample * self._motion.period_s)

        if not values[worst] >= -slack:
            first = int(np.argmax(~(values >= -slack)))
            sample, time_s = at(first)
            if worst != first:
                advice += f" Worst: sample {at(worst)[0]}, {unit.say(float(values[worst]), suffix)}."
            refusal = Refusal(
                check=check,
                subject=subject,
                limit=limit,
                margin=float(values[first]) * unit.per_si,
                unit=unit.name + suffix,
                nearest_allowed=nearest,
                advice=advice,
                sample=sample,
                time_s=time_s,
                place="" if sample is None else self._motion.place(sample),
            )
            self._refusals.setdefault(key, []).append((float(values[worst]) / scale, refusal))
            return
        part = float(values[worst]) / scale
        if key not in self._margins or part < self._margins[key][0]:
            sample, time_s = at(worst)
            margin = Margin(
                check=check,
                subject=subject,
                limit=limit,
                margin=max(float(values[worst]), 0.0) * unit.per_si,
                unit=unit.name + suffix,
                sample=sample,
                time_s=time_s,
            )
            self._margins[key] = (part, margin)

    def warn(self, margin: Margin) -> None:
        """Note a margin that stays a warning even when negative."""
        self._margins[(margin.check, margin.subject)] = (0.0, margin)

    def findings(self) -> Findings:
        """Everything, the worst few refusals of each group, margins of groups without refusals."""
        refusals = [
            refusal
            for found in self._refusals.values()
            for _, refusal in sorted(found, key=lambda pair: pair[0])[:PER_GROUP]
        ]
        margins = [margin for key, (_, margin) in self._margins.items() if key not in self._refusals]
        refusals.sort(key=lambda refusal: (-1 if refusal.sample is None else refusal.sample, refusal.check))
        return Findings(
            refusals=tuple(refusals),
            margins=tuple(sorted(margins, key=lambda m: m.check)),
        )


def _well_formed(rig: Rig, motion: Motion, notes: _Notes) -> bool:
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
    if samples.ndim != 2 or samples.shape[1] != len(names) or not len(samples):
        notes.refuse(
            "E-01",
            "samples",
            f"the motion has samples of shape {samples.shape}",
            f"one or more rows of {len(names)}",
            "Plan the motion anew for this rig.",
        )
        return False
    bad = np.argwhere(~(np.abs(samples) <= SENSIBLE))
    if len(bad):
        sample, column = (int(v) for v in bad[0])
        notes.refuse(
            "E-01",
            f"{names[column]}, sample {sample}",
            f"position {samples[sample, column]:g} is not a finite number of sensible size",
            f"-{SENSIBLE:g} to {SENSIBLE:g} rad or m",
            "Plan the motion anew; report this if it comes back.",
        )
        return False
    return True


def _timing(rig: Rig, motion: Motion, notes: _Notes) -> None:
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
    seconds = _Unit("ms", 1e3)
    most_s = max(LOOK_AHEAD_MOST_S, LOOK_AHEAD_MOST_PERIODS * period_s)
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


def _wire(rig: Rig, notes: _Notes) -> None:
    """E-16: a move and a query fit on the line, with room to spare."""
    period_s, line_s = rig.period_s, rig.controller.line_time_s()
    seconds = _Unit("ms", 1e3)
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


def _positions(rig: Rig, samples: FloatArray, sent: FloatArray, notes: _Notes) -> None:
    """E-02: soft limits for what was planned; hard limits and the controller's for what will be sent."""
    low, high = rig.controller.bounds()
    for i, axis in enumerate(rig.axes):
        unit, name = _unit(axis), axis.name
        soft_low, soft_high = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
        for values, lower, upper, what, advice in (
            (
                samples,
                soft_low,
                soft_high,
                "",
                "Move the target inside; the soft margin stands in the rig file.",
            ),
            (
                sent,
                axis.lower,
                axis.upper,
                " (hard)",
                "Keep further from the hard limit: raise the soft margin.",
            ),
            (
                sent,
                float(low[i]),
                float(high[i]),
                " of the controller",
                "Move the target, or calibrate anew.",
            ),
        ):
            for room, word, value in (
                (values[:, i] - lower, "lower limit", lower),
                (upper - values[:, i], "upper limit", upper),
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


def _rates(rig: Rig, samples: FloatArray, sent: FloatArray, notes: _Notes) -> None:
    """E-03 and E-05: speed, acceleration, jerk, rest at both ends, and jumps."""
    period_s, count = rig.period_s, len(samples)
    quantum = rig.controller.quantum()
    padded = np.concatenate([np.repeat(samples[:1], 3, axis=0), samples, np.repeat(samples[-1:], 3, axis=0)])
    ends = np.clip(np.arange(count + 3), 0, count - 1)
    error = np.abs(rig.controller.quantise(samples) - samples)
    for i, axis in enumerate(rig.axes):
        unit, name = _unit(axis), axis.name
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


def _rest(axis: Axis, positions: FloatArray, period_s: float, notes: _Notes) -> None:
    """A motion begins and ends at rest: its outermost steps are those of an axis that stood still."""
    if len(positions) < 2:
        return
    allowed = min(axis.acceleration * period_s**2, axis.jerk * period_s**3)
    unit = _unit(axis)
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


def _tool(rig: Rig, robot: Robot, motion: Motion, notes: _Notes) -> None:
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
    if not lines:
        return
    halfway = robot.forward_kinematics(0.5 * (joints[1:] + joints[:-1]))[:, :3, 3]
    for mark in lines:
        _deviation(mark, points, halfway, notes)
        _slow_down(rig, mark, joints, travelled, notes)


def _deviation(mark: Mark, points: FloatArray, halfway: FloatArray, notes: _Notes) -> None:
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


def _slow_down(rig: Rig, mark: Mark, joints: FloatArray, travelled: FloatArray, notes: _Notes) -> None:
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
        unit=_Unit("times", 1.0),
        limit=f"at most {SLOW_DOWN:g} times slower where joints have to race",
        nearest=f"{SLOW_DOWN:g} times",
        advice="The line passes too near to a singular posture (arm straight, or tool above the base axis): "
        "lead it further away, or make this a joint move.",
        group="line",
        samples=mark.first + 1 + moving,
    )


def _clearances(rig: Rig, robot: Robot, body: Body, sent: FloatArray, notes: _Notes) -> FloatArray:
    """E-09 and E-10; returns what is left of every constraint at every sample, shape (N, constraints)."""
    joints = sent[:, : robot.dof]
    margins = body.margins(robot.link_frames(joints))
    jumps = np.array([JUMP[axis.kind] for axis in rig.axes[: robot.dof]])
    lowest = margins.copy()
    lowest[1:] = np.minimum(lowest[1:], _between(robot, body, joints, margins, jumps))
    clearance = MILLIMETRES.say(body.clearance_m)
    neighbours = ", ".join("-".join(pair) for pair in rig.fences.neighbours)
    unchecked = f" (neighbours not checked: {neighbours})" if neighbours else ""
    for column, constraint in enumerate(body.constraints):
        values = lowest[:, column]
        first = int(np.argmax(values < -DISTANCE_SLACK_M))
        inside = values[first] < 0.0 <= margins[first, column]
        where = f", reached between samples {first - 1} and {first}" if inside else ""
        notes.judge(
            constraint.check,
            constraint.subject,
            values,
            scale=1.0,
            unit=MILLIMETRES,
            limit=f"clearance {clearance}{where}{unchecked if constraint.check == 'E-09' else ''}",
            nearest=f"{clearance} apart",
            advice=_evasion(constraint),
            group=constraint.group,
            slack=DISTANCE_SLACK_M,
        )
    return margins


def _between(
    robot: Robot, body: Body, joints: FloatArray, margins: FloatArray, jumps: FloatArray
) -> FloatArray:
    """Lowest margin found between each sample and the next, shape (N - 1, constraints).

    No distance can shrink faster than its shapes travel. Where the margins at both ends of a stretch do not
    outweigh the travel between, the stretch is halved, until they do or until it is below the resolution.
    Stretches with a jump are left out: they are refused anyway.
    """
    found = np.minimum(margins[:-1], margins[1:])
    k = np.flatnonzero((np.abs(np.diff(joints, axis=0)) <= jumps).all(axis=1))
    a, b, at_a, at_b = joints[k], joints[k + 1], margins[k], margins[k + 1]
    while len(k):
        travel = np.abs(b - a) @ body.travel.T
        unsure = (at_a >= 0.0) & (at_b >= 0.0) & (at_a + at_b < travel) & (travel > 2.0 * RESOLUTION_M)
        keep = unsure.any(axis=1)
        a, b, at_a, at_b, k = a[keep], b[keep], at_a[keep], at_b[keep], k[keep]
        if not len(k):
            break
        middle = 0.5 * (a + b)
        at_middle = body.margins(robot.link_frames(middle))
        np.minimum.at(found, k, at_middle)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        at_a, at_b = np.concatenate([at_a, at_middle]), np.concatenate([at_middle, at_b])
        k = np.concatenate([k, k])
    return found


def _evasion(constraint: Constraint) -> str:
    if constraint.check == "E-09":
        return "Fold the arm less here, or take another way."
    if constraint.group == "table":
        return "Keep the arm higher here: a higher target, a via point, or a steeper tool."
    return "Lead the arm round this box with a via point, or move the target."


def _stops(rig: Rig, robot: Robot, body: Body, motion: Motion, margins: FloatArray, notes: _Notes) -> None:
    """E-13: a stop from any sample ends inside the hard limits and clear, and is clear half-way there."""
    rest = stop_positions(rig, motion)
    low, high = rig.controller.bounds()
    slower = "Plan this place slower, so that a stop takes less way, or keep further away."
    for i, axis in enumerate(rig.axes):
        unit = _unit(axis)
        lower, upper = max(axis.lower, float(low[i])), min(axis.upper, float(high[i]))
        for room, word, value in (
            (rest[:, i] - lower, "lower", lower),
            (upper - rest[:, i], "upper", upper),
        ):
            notes.judge(
                "E-13",
                axis.name,
                room,
                scale=upper - lower,
                unit=unit,
                limit=f"{word} limit {unit.say(value)} after a stop from here",
                nearest=unit.say(value),
                advice=slower,
                group="limits after a stop",
                slack=1e-9,
            )
    moving = np.flatnonzero((np.abs(rest - motion.samples) > ABSOLUTE_SLACK).any(axis=1))
    if not len(moving):
        return
    joints, ends = motion.samples[moving, : robot.dof], rest[moving, : robot.dof]
    left = np.minimum(
        body.margins(robot.link_frames(ends)), body.margins(robot.link_frames(0.5 * (joints + ends)))
    )
    # Where the sample itself is refused, its stop adds nothing.
    left[margins[moving] < 0.0] = 0.0
    clearance = MILLIMETRES.say(body.clearance_m)
    for column, constraint in enumerate(body.constraints):
        notes.judge(
            "E-13",
            constraint.subject,
            left[:, column],
            scale=1.0,
            unit=MILLIMETRES,
            limit=f"clearance {clearance} during a stop from here",
            nearest=f"{clearance} apart",
            advice=slower,
            group="clearance after a stop",
            samples=moving,
            slack=DISTANCE_SLACK_M,
        )


def _grip(rig: Rig, motion: Motion, notes: _Notes) -> None:
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

"""What the arm really does behind a controller that takes fewer targets than the loop has ticks: chords of the motion.

At which samples such a driver sends depends on the line, so chords from any sample are judged: those of the usual
length and those of the longest that the driver lets happen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray, Pace
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.room_along import along
from hil.robot import Robot
from hil.safety.clearance import evasion
from hil.safety.findings import DISTANCE_SLACK_M, MILLIMETRES, RELATIVE_SLACK, Notes
from hil.space.body import Body
from hil.space.geometry import point_segment_distance
from hil.space.no_worse import Course

Ends = npt.NDArray[np.intp]

STARTS_A_CHORD = 8
"""Chords begin at every eighth of their length."""

PLACES = 8
"""Places along a chord at which speed and straightness are looked at."""

FINE = 1e-4
"""Part of a chord over which the tool's speed is taken."""


def check_chords(rig: Rig, robot: Robot, body: Body, motion: Motion, space: Course, notes: Notes) -> None:
    """E-03, E-06, E-09 and E-10 along the chords; nothing to do for a controller that takes every sample."""
    pace = rig.controller.pace
    if pace is None:
        return
    for span_s in (pace.send_period_s, pace.longest_s):
        ends = _ends(len(motion.samples), max(1, round(span_s / rig.period_s)))
        joints = np.asarray(rig.controller.quantise(motion.samples))[:, : robot.dof]
        moving = (joints[ends[:, 0]] != joints[ends[:, 1]]).any(axis=1)
        ends = ends[moving]
        if len(ends):
            _clear(body, joints, motion.samples[:, : robot.dof], ends, space, notes)
            _tool_speed(rig, robot, pace, joints, ends, notes)
            _straight(robot, motion, joints, ends, notes)
            _on_paths(robot, motion, joints, ends, notes)


def _ends(count: int, span: int) -> Ends:
    """First and last sample of every chord, shape (K, 2); the last ones end with the motion."""
    first = np.arange(0, count, max(1, span // STARTS_A_CHORD))
    return np.stack([first, np.minimum(first + span, count - 1)], axis=1)


def _clear(body: Body, joints: FloatArray, samples: FloatArray, ends: Ends, space: Course, notes: Notes) -> None:
    a, b = joints[ends[:, 0]], joints[ends[:, 1]]
    lowest = along(body, a, b, body.margins(a), body.margins(b))
    floors = space.after[ends[:, 0]]
    held = floors != 0.0
    if held.any():
        a, b = samples[ends[:, 0]], samples[ends[:, 1]]
        lowest = np.where(held, along(body, a, b, body.margins(a) - floors, body.margins(b) - floors, floors), lowest)
    clearance = MILLIMETRES.say(body.clearance_m)
    for column, constraint in enumerate(body.constraints):
        notes.judge(
            constraint.check,
            constraint.subject,
            lowest[:, column],
            scale=1.0,
            unit=MILLIMETRES,
            limit=f"clearance {clearance} on the controller's straight way to its next target",
            nearest=f"{clearance} apart",
            advice=f"{evasion(constraint)} A slower motion has shorter ways.",
            group=constraint.group,
            samples=ends[:, 0],
            slack=DISTANCE_SLACK_M,
        )


def _tool_speed(rig: Rig, robot: Robot, pace: Pace, joints: FloatArray, ends: Ends, notes: Notes) -> None:
    """Between two targets the controller goes at its own speed, not at the motion's."""
    a, way = joints[ends[:, 0]], joints[ends[:, 1]] - joints[ends[:, 0]]
    takes_s = np.maximum((np.abs(way) / np.array(pace.speeds[: robot.dof])).max(axis=1), pace.chord_s)
    fastest = np.zeros(len(ends))
    for fraction in np.linspace(0.0, 1.0 - FINE, PLACES + 1):
        here, next_to_it = (robot.forward_kinematics(a + part * way)[:, :3, 3] for part in (fraction, fraction + FINE))
        fastest = np.maximum(fastest, np.linalg.norm(next_to_it - here, axis=1) / (FINE * takes_s))
    limit = rig.tool_speed_m_s
    notes.judge(
        "E-03",
        "tool",
        limit * (1.0 + RELATIVE_SLACK) - fastest,
        scale=limit,
        unit=MILLIMETRES,
        suffix="/s",
        limit=f"tool speed {MILLIMETRES.say(limit, '/s')} at the controller's own speed between targets",
        nearest=MILLIMETRES.say(limit, "/s"),
        advice="Lower the override in the [controller] table.",
        samples=ends[:, 0],
        slack=1e-6,
    )


def _straight(robot: Robot, motion: Motion, joints: FloatArray, ends: Ends, notes: Notes) -> None:
    """E-06: a chord within a line bulges from it."""
    for mark in motion.marks:
        if mark.kind != "line":
            continue
        assert mark.start_m is not None and mark.end_m is not None and mark.tolerance_m is not None
        inside = ends[(ends[:, 0] >= mark.first) & (ends[:, 1] <= mark.last)]
        if not len(inside):
            inside = np.array([[mark.first, mark.last]])
        a, b = joints[inside[:, 0]], joints[inside[:, 1]]
        worst = np.zeros(len(inside))
        for fraction in np.linspace(0.0, 1.0, PLACES + 1):
            points = robot.forward_kinematics(a + fraction * (b - a))[:, :3, 3]
            worst = np.maximum(worst, point_segment_distance(points, np.array(mark.start_m), np.array(mark.end_m)))
        _judge(notes, mark.tolerance_m, worst, inside, "line")


def _on_paths(robot: Robot, motion: Motion, joints: FloatArray, ends: Ends, notes: Notes) -> None:
    """E-06: a chord within a path cuts its bends."""
    for path in motion.paths:
        inside = ends[(ends[:, 0] >= path.first) & (ends[:, 1] <= path.last)]
        if not len(inside):
            inside = np.array([[path.first, path.last]])
        a, b = joints[inside[:, 0]], joints[inside[:, 1]]
        worst = np.zeros(len(inside))
        for fraction in np.linspace(0.0, 1.0, PLACES + 1):
            points = robot.forward_kinematics(a + fraction * (b - a))[:, :3, 3]
            for k, (first, last) in enumerate(inside - path.first):
                way = path.points_m[2 * first : 2 * last + 1]
                worst[k] = max(worst[k], float(point_segment_distance(points[k], way[:-1], way[1:]).min()))
        _judge(notes, path.tolerance_m, worst, inside, "path")


def _judge(notes: Notes, tolerance_m: float, worst: FloatArray, inside: Ends, noun: str) -> None:
    notes.judge(
        "E-06",
        "tool",
        tolerance_m - worst,
        scale=tolerance_m,
        unit=MILLIMETRES,
        limit=f"{MILLIMETRES.say(tolerance_m)} from the {noun} on the controller's way between targets",
        nearest=MILLIMETRES.say(tolerance_m),
        advice=f"Move slower along this {noun}, so that targets lie closer, or allow more tolerance.",
        group="line",
        samples=inside[:, 0],
        slack=1e-9,
    )

"""Does the arm stay clear of itself and its surroundings: at samples, between them, and during any stop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import Motion
from hil.motion.stopping import stop_positions, stop_ramp
from hil.safety.findings import (
    ABSOLUTE_SLACK,
    DISTANCE_SLACK_M,
    MILLIMETRES,
    RELATIVE_SLACK,
    Notes,
    unit_of,
)
from hil.space.body import Body, Constraint
from hil.space.no_worse import Course, course, soft_left
from hil.units import DEG, MM

JUMP = {AxisKind.REVOLUTE: 10.0 * DEG, AxisKind.PRISMATIC: 20.0 * MM, AxisKind.GRIPPER: 20.0 * MM}
"""Largest step between two samples, whatever speed a rig allows: more is another posture of the arm."""

RESOLUTION_M = 0.5e-3
"""Clearances between samples are certain to this much."""

STOPS_AT_ONCE = 256

SLOWER = "Plan this place slower, so that a stop takes less way, or keep further away."


def clearances(rig: Rig, body: Body, samples: FloatArray, sent: FloatArray, notes: Notes) -> Course:
    """E-09 and E-10 at the samples and between them; returns what is left of every constraint along the motion."""
    margins = body.margins(sent)
    space = course(body, samples, sent, margins)
    jumps = np.array([JUMP[axis.kind] for axis in rig.axes[: sent.shape[1]]])
    lowest = space.left - space.before
    lowest[1:] = np.minimum(lowest[1:], _between(body, samples, sent, margins, space, jumps))
    clearance = MILLIMETRES.say(body.clearance_m)
    for column, constraint in enumerate(body.constraints):
        values = lowest[:, column]
        limit, advice = f"clearance {clearance}", evasion(constraint)
        if space.broken[column]:
            left = float(margins[0, column])
            limit += f"; it starts {MILLIMETRES.say(-left)} too near and may come no nearer"
            notes.excuse(constraint.check, constraint.subject, limit, left, MILLIMETRES)
        else:
            first = int(np.argmax(values < -DISTANCE_SLACK_M))
            if values[first] < 0.0 <= margins[first, column]:
                limit += f", reached between samples {first - 1} and {first}"
        notes.judge(
            constraint.check,
            constraint.subject,
            values,
            scale=1.0,
            unit=MILLIMETRES,
            limit=limit,
            nearest=f"{clearance} apart",
            advice=advice,
            group=constraint.group,
            slack=DISTANCE_SLACK_M,
        )
    return space


def _between(
    body: Body, samples: FloatArray, sent: FloatArray, margins: FloatArray, space: Course, jumps: FloatArray
) -> FloatArray:
    """Lowest margin found between each sample and the next, shape (N - 1, constraints), less its floor.

    Stretches with a jump are left out: they are refused anyway.
    """
    found = np.minimum(margins[:-1], margins[1:])
    k = np.flatnonzero((np.abs(np.diff(sent, axis=0)) <= jumps).all(axis=1))
    found[k] = along(body, sent[k], sent[k + 1], margins[k], margins[k + 1])
    held = space.after[:-1] != 0.0
    if held.any():
        found[held] = 0.0
        k = k[held[k].any(axis=1)]
        # A floor is for positions as they are asked for, so their ways are looked at, and not those of rounded ones.
        floors, here, there = space.after[k], space.left[k], body.margins(samples[k + 1])
        low = along(body, samples[k], samples[k + 1], here - floors, there - floors, floors)
        found[k] = np.where(held[k], low, found[k])
    return found


def along(
    body: Body, a: FloatArray, b: FloatArray, at_a: FloatArray, at_b: FloatArray, floors: FloatArray | None = None
) -> FloatArray:
    """Lowest margin found on straight ways in joint space, shape (N, constraints).

    No distance can shrink faster than its shapes travel. Where the margins at both ends of a way do not outweigh the
    travel between, it is halved, until they do or until the travel is below the resolution.

    Args:
        body: the arm and its surroundings.
        a: one end of each way, shape (N, joints).
        b: its other end, shape (N, joints).
        at_a: the margins at `a`, shape (N, constraints).
        at_b: those at `b`, shape (N, constraints).
        floors: what margins are less, here and at the ends, shape (N, constraints); nothing if not given.
    """
    found = np.minimum(at_a, at_b)
    k = np.arange(len(a))
    while len(k):
        travel = np.abs(b - a) @ body.travel.T
        unsure = (at_a >= 0.0) & (at_b >= 0.0) & (at_a + at_b < travel) & (travel > 2.0 * RESOLUTION_M)
        keep = unsure.any(axis=1)
        a, b, at_a, at_b, k = a[keep], b[keep], at_a[keep], at_b[keep], k[keep]
        if not len(k):
            break
        middle = 0.5 * (a + b)
        at_middle = body.margins(middle)
        if floors is not None:
            at_middle -= floors[k]
        np.minimum.at(found, k, at_middle)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        at_a, at_b = np.concatenate([at_a, at_middle]), np.concatenate([at_middle, at_b])
        k = np.concatenate([k, k])
    return found


def evasion(constraint: Constraint) -> str:
    """What to change where a constraint is not kept."""
    if constraint.check == "E-09":
        return "Fold the arm less here, or take another way."
    if constraint.group == "table":
        return "Keep the arm higher here: a higher target, a via point, or a steeper tool."
    if " inside " in constraint.subject:
        return "Keep the arm inside this box: a target further in, or another way there."
    return "Lead the arm round this box with a via point, or move the target."


def stop_limits(rig: Rig, motion: Motion, soft: Course, notes: Notes) -> FloatArray:
    """E-13: a stop from any sample ends inside the hard limits; returns where each rests, shape (N, axes).

    An axis that is beyond a soft limit goes no further out in a stop either.
    """
    rest = stop_positions(rig, motion)
    low, high = rig.controller.bounds()
    for i, axis in enumerate(rig.axes):
        unit = unit_of(axis)
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
                advice=SLOWER,
                group="limits after a stop",
                slack=1e-9,
            )
    if soft.broken.any():
        _soft_stops(rig, motion, soft, rest, notes)
    return rest


def _soft_stops(rig: Rig, motion: Motion, soft: Course, rest: FloatArray, notes: Notes) -> None:
    held = soft.after != 0.0
    velocity, acceleration = _rates(rig, motion)
    turning = (np.abs(rest - motion.samples) > ABSOLUTE_SLACK).any(axis=1)
    moving = np.flatnonzero(held.any(axis=1) & turning & _ordinary(rig, velocity, acceleration))
    left = np.zeros((len(moving), len(soft.broken)))
    for row, k in enumerate(moving.tolist()):
        beyond = soft_left(rig, stop_ramp(rig, motion.samples[k], velocity[k], acceleration[k]))
        left[row] = np.where(held[k], _worst_fall(beyond, soft.after[k]), 0.0)
    for column in np.flatnonzero(soft.broken).tolist():
        axis = rig.axes[column % len(rig.axes)]
        notes.judge(
            "E-13",
            axis.name,
            left[:, column],
            scale=axis.upper - axis.lower,
            unit=unit_of(axis),
            limit="no further beyond its soft limit during a stop from here",
            nearest="the way back",
            advice=SLOWER,
            group="soft limits during a stop",
            samples=moving,
            slack=1e-9,
        )


def _worst_fall(left: FloatArray, floor: FloatArray) -> FloatArray:
    """How far, at worst, what is left along a way falls below its floor, which rises with it; shape (limits,)."""
    best = np.maximum.accumulate(np.concatenate([floor[None, :], left]), axis=0)[:-1]
    worst: FloatArray = (left - best).min(axis=0)
    return worst


def _rates(rig: Rig, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Velocity and acceleration of every sample as differences of those sent before, shape (N, axes) each."""
    samples = motion.samples
    padded = np.concatenate([samples[:1], samples[:1], samples])
    velocity: FloatArray = (samples - padded[1:-1]) / rig.period_s
    acceleration: FloatArray = (samples - 2.0 * padded[1:-1] + padded[:-2]) / rig.period_s**2
    return velocity, acceleration


def stop_clearances(rig: Rig, body: Body, motion: Motion, rest: FloatArray, space: Course, notes: Notes) -> None:
    """E-13: a stop from any sample stays clear all the way."""
    moving = np.flatnonzero((np.abs(rest - motion.samples) > ABSOLUTE_SLACK).any(axis=1))
    left = _along_stops(rig, body, motion, rest, space, moving)
    # Where the sample itself is refused, its stop adds nothing.
    left[_fallen(space, moving)] = 0.0
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
            advice=SLOWER,
            group="clearance after a stop",
            samples=moving,
            slack=DISTANCE_SLACK_M,
        )


def _along_stops(
    rig: Rig,
    body: Body,
    motion: Motion,
    rest: FloatArray,
    space: Course,
    moving: npt.NDArray[np.intp],
) -> FloatArray:
    """Lowest margin of the stop from each of the samples `moving`, less its floor, shape (len(moving), constraints).

    Where the margins at both ends outweigh all travel between them, the ends are enough. The other stops, and
    those that turn round on their way, are walked sample by sample, save where the sample is refused anyway.
    """
    samples, count = motion.samples, body.travel.shape[1]
    velocity, acceleration = _rates(rig, motion)
    way = (rest - samples)[moving]
    floors = space.after[moving]
    at_start, at_rest = space.left[moving] - floors, body.margins(rest[moving, :count]) - floors
    doubtful = (at_start + at_rest < np.abs(way[:, :count]) @ body.travel.T).any(axis=1)
    doubtful |= (way * velocity[moving] < 0.0).any(axis=1)
    doubtful &= _ordinary(rig, velocity, acceleration)[moving] & ~_fallen(space, moving).any(axis=1)
    left = at_rest
    rows = np.flatnonzero(doubtful)
    for first in range(0, len(rows), STOPS_AT_ONCE):
        batch = rows[first : first + STOPS_AT_ONCE]
        paths = [stop_ramp(rig, samples[k], velocity[k], acceleration[k]) for k in moving[batch]]
        lengths = [len(path) for path in paths]
        margins = body.margins(np.concatenate(paths)[:, :count])
        np.minimum.at(left, np.repeat(batch, lengths), margins - np.repeat(floors[batch], lengths, axis=0))
        for row, part in zip(batch.tolist(), np.split(margins, np.cumsum(lengths)[:-1]), strict=True):
            if floors[row].any():
                left[row] = np.where(floors[row] != 0.0, _worst_fall(part, floors[row]), left[row])
    return left


def _fallen(space: Course, samples: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which constraints each of these samples does not keep, shape (len(samples), constraints)."""
    floors = space.after[samples]
    return np.asarray(space.left[samples] - floors < np.where(floors != 0.0, -DISTANCE_SLACK_M, 0.0))


def _ordinary(rig: Rig, velocity: FloatArray, acceleration: FloatArray) -> npt.NDArray[np.bool_]:
    """Samples whose speed and acceleration E-03 can have passed, shape (N,); others have no end of a stop.

    The speed of two rounded positions may differ from that of the samples by one step of the wire more.
    """
    speed = np.array([axis.speed for axis in rig.axes]) + 2.0 * rig.controller.quantum() / rig.period_s
    most = np.array([axis.acceleration for axis in rig.axes]) * (1.0 + RELATIVE_SLACK)
    slack = ABSOLUTE_SLACK / rig.period_s**2
    within = (np.abs(velocity) <= speed + slack) & (np.abs(acceleration) <= most + slack)
    return np.asarray(within.all(axis=1))

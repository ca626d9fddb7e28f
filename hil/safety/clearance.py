"""Does the arm stay clear of itself and its surroundings: at samples, between them, and during any stop."""

from __future__ import annotations

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.refusals import RIG_FILE
from hil.motion.room_along import along_stops, between, fallen, ordinary, rates_of, worst_fall
from hil.motion.stops import stop_positions, stop_ramp
from hil.safety.findings import (
    ABSOLUTE_SLACK,
    DISTANCE_SLACK_M,
    MILLIMETRES,
    Notes,
    unit_of,
)
from hil.space.body import UNMOVED_M, Body, Constraint
from hil.space.no_worse import Course, course, soft_left

SLOWER = "Plan this place slower, so that a stop takes less way, or keep further away."


def clearances(rig: Rig, body: Body, samples: FloatArray, sent: FloatArray, notes: Notes) -> Course:
    """E-09 and E-10 at the samples and between them; returns what is left of every constraint along the motion."""
    margins = body.margins(sent)
    space = course(body, samples, sent, margins)
    lowest = space.left - space.before
    lowest[1:] = np.minimum(lowest[1:], between(rig, body, samples, sent, space))
    clearance = MILLIMETRES.say(body.clearance_m)
    for column, constraint in enumerate(body.constraints):
        values = lowest[:, column]
        limit, advice = f"clearance {clearance}", evasion(constraint)
        if abs(float(margins[0, column]) - float(body.unmoved_m[column])) <= UNMOVED_M:
            advice = RIG_FILE
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
    velocity, acceleration = rates_of(rig, motion)
    turning = (np.abs(rest - motion.samples) > ABSOLUTE_SLACK).any(axis=1)
    moving = np.flatnonzero(held.any(axis=1) & turning & ordinary(rig, velocity, acceleration))
    left = np.zeros((len(moving), len(soft.broken)))
    for row, k in enumerate(moving.tolist()):
        beyond = soft_left(rig, stop_ramp(rig, motion.samples[k], velocity[k], acceleration[k]))
        left[row] = np.where(held[k], worst_fall(beyond, soft.after[k]), 0.0)
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


def stop_clearances(rig: Rig, body: Body, motion: Motion, rest: FloatArray, space: Course, notes: Notes) -> None:
    """E-13: a stop from any sample stays clear all the way."""
    moving = np.flatnonzero((np.abs(rest - motion.samples) > ABSOLUTE_SLACK).any(axis=1))
    left = along_stops(rig, body, motion, rest, space, moving)
    # Where the sample itself is refused, its stop adds nothing.
    left[fallen(space, moving)] = 0.0
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

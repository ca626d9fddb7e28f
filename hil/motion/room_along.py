"""What is left along a motion of the distances that the arm keeps: between samples, and during a stop from any of them.

Everything is less the floors of `hil.space.no_worse`, which are zero where a limit is kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import STILL, Motion
from hil.motion.stops import stop_positions, stop_ramp
from hil.space.body import Body
from hil.space.no_worse import SLACK, Course, course
from hil.units import DEG, MM

JUMP = {AxisKind.REVOLUTE: 10.0 * DEG, AxisKind.PRISMATIC: 20.0 * MM, AxisKind.GRIPPER: 20.0 * MM}
"""Largest step between two samples, whatever speed a rig allows: more is another posture of the arm."""

RESOLUTION_M = 0.5e-3
"""Clearances between samples are certain to this much."""

STOPS_AT_ONCE = 256

RELATIVE_SLACK = 1e-6
"""Room for floating-point rounding only."""


def clear(rig: Rig, body: Body, motion: Motion) -> bool:
    """Whether a motion keeps its distances, also between samples and in stops, or makes none worse than its start."""
    dof = rig.robot.dof
    samples = motion.samples[:, :dof]
    sent = np.asarray(rig.controller.quantise(motion.samples))[:, :dof]
    margins = body.margins(sent)
    space = course(body, samples, sent, margins)
    if (space.left - space.before < -SLACK).any() or (between(rig, body, samples, sent, space) < -SLACK).any():
        return False
    rest = stop_positions(rig, motion)
    moving = np.flatnonzero((np.abs(rest - motion.samples) > STILL).any(axis=1))
    return not (along_stops(rig, body, motion, rest, space, moving) < -SLACK).any()


def between(rig: Rig, body: Body, samples: FloatArray, sent: FloatArray, space: Course) -> FloatArray:
    """Lowest margin found between each sample and the next, shape (N - 1, constraints), less its floor.

    Stretches with a jump are left out: they are refused anyway.

    Args:
        rig: what its axes are.
        body: the arm and its surroundings.
        samples: positions of the joints as asked for, shape (N, n).
        sent: the same as the controller rounds them.
        space: what is left at the samples.
    """
    jumps = np.array([JUMP[axis.kind] for axis in rig.axes[: sent.shape[1]]])
    margins = body.margins(sent) if space.broken.any() else space.left
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


def worst_fall(left: FloatArray, floor: FloatArray) -> FloatArray:
    """How far, at worst, what is left along a way falls below its floor, which rises with it; shape (limits,)."""
    best = np.maximum.accumulate(np.concatenate([floor[None, :], left]), axis=0)[:-1]
    worst: FloatArray = (left - best).min(axis=0)
    return worst


def rates_of(rig: Rig, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Velocity and acceleration of every sample as differences of those sent before, shape (N, axes) each."""
    samples = motion.samples
    padded = np.concatenate([samples[:1], samples[:1], samples])
    velocity: FloatArray = (samples - padded[1:-1]) / rig.period_s
    acceleration: FloatArray = (samples - 2.0 * padded[1:-1] + padded[:-2]) / rig.period_s**2
    return velocity, acceleration


def along_stops(
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
    velocity, acceleration = rates_of(rig, motion)
    way = (rest - samples)[moving]
    floors = space.after[moving]
    at_start, at_rest = space.left[moving] - floors, body.margins(rest[moving, :count]) - floors
    doubtful = (at_start + at_rest < np.abs(way[:, :count]) @ body.travel.T).any(axis=1)
    doubtful |= (way * velocity[moving] < 0.0).any(axis=1)
    doubtful &= ordinary(rig, velocity, acceleration)[moving] & ~fallen(space, moving).any(axis=1)
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
                left[row] = np.where(floors[row] != 0.0, worst_fall(part, floors[row]), left[row])
    return left


def fallen(space: Course, samples: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which constraints each of these samples does not keep, shape (len(samples), constraints)."""
    floors = space.after[samples]
    return np.asarray(space.left[samples] - floors < np.where(floors != 0.0, -SLACK, 0.0))


def ordinary(rig: Rig, velocity: FloatArray, acceleration: FloatArray) -> npt.NDArray[np.bool_]:
    """Samples whose speed and acceleration E-03 can have passed, shape (N,); others have no end of a stop.

    The speed of two rounded positions may differ from that of the samples by one step of the wire more.
    """
    speed = np.array([axis.speed for axis in rig.axes]) + 2.0 * rig.controller.quantum() / rig.period_s
    most = np.array([axis.acceleration for axis in rig.axes]) * (1.0 + RELATIVE_SLACK)
    slack = STILL / rig.period_s**2
    within = (np.abs(velocity) <= speed + slack) & (np.abs(acceleration) <= most + slack)
    return np.asarray(within.all(axis=1))

"""A judge of distances that shares nothing with what it judges: own forward kinematics, own distances, own rules.

It reads the rig record and positions. Distances between rods are found by trying ends and crossings, those to boxes by
narrowing down, so that a slip in the product's closed forms would show.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.model.robot import JointType

TOLERANCE_M = 2e-7
"""Of the judge's own narrowing down, metres; for axes it counts as radians."""

NARROWINGS = 34
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
TOUCHING_M = 1e-7


class SpaceJudge:
    """Everything that has to stay at or above zero, for one rig.

    Attributes:
        names: of the limits, in the order of `left`.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig, fences = rig, rig.fences
        apart = [set(pair) for pair in fences.neighbours]
        shapes = rig.shapes
        self._pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(shapes)), 2)
            if shapes[i].link != shapes[j].link and {shapes[i].name, shapes[j].name} not in apart
        ]
        self._movers = [i for i, shape in enumerate(shapes) if shape.link]
        self._above = [i for i in self._movers if shapes[i].name not in fences.stands_on_table]
        self.names = [f"{axis.name} {side}" for side in ("lower", "upper") for axis in rig.axes]
        self.axes = len(self.names)
        self.names += [f"{shapes[i].name} and {shapes[j].name}" for i, j in self._pairs]
        self.names += [f"{shapes[i].name} and table" for i in self._above]
        for box in fences.keep_out:
            self.names += [f"{shapes[i].name} and {box.name or 'box'}" for i in self._movers]
        if fences.keep_in is not None:
            self.names += [f"{shapes[i].name} inside {fences.keep_in.name or 'box'}" for i in self._movers]

    def left(self, positions: FloatArray) -> FloatArray:
        """What is left of every limit, shape (N, limits), rad or m: soft limits first, then distances."""
        rig, fences = self._rig, self._rig.fences
        soft = np.array([(a.lower + a.soft_margin, a.upper - a.soft_margin) for a in rig.axes])
        columns = [*(positions - soft[:, 0]).T, *(soft[:, 1] - positions).T]
        start, end = self._placed(positions[:, : rig.robot.dof])
        radius = [shape.radius_m + fences.clearance_m for shape in rig.shapes]
        columns += [
            _rods(start[i], end[i], start[j], end[j]) - radius[i] - rig.shapes[j].radius_m for i, j in self._pairs
        ]
        columns += [np.minimum(start[i][:, 2], end[i][:, 2]) - fences.table_height_m - radius[i] for i in self._above]
        for box in fences.keep_out:
            low, high = np.array(box.lower_m), np.array(box.upper_m)
            columns += [_rod_and_box(start[i], end[i], low, high) - radius[i] for i in self._movers]
        if fences.keep_in is not None:
            low, high = np.array(fences.keep_in.lower_m), np.array(fences.keep_in.upper_m)
            for i in self._movers:
                walls = [np.concatenate([end_m - low, high - end_m], axis=1) for end_m in (start[i], end[i])]
                columns.append(np.concatenate(walls, axis=1).min(axis=1) - radius[i])
        return np.array(columns).T

    def _placed(self, joints: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        rig = self._rig
        frame = np.broadcast_to(np.array(rig.robot.base), (len(joints), 4, 4))
        frames = [frame]
        for joint, value in zip(rig.robot.joints, joints.T, strict=True):
            turning = joint.type is JointType.REVOLUTE
            theta = joint.theta_rad + (joint.sign * value if turning else 0.0 * value)
            d = joint.d_m + (0.0 * value if turning else joint.sign * value)
            c, s = np.cos(theta), np.sin(theta)
            ca, sa = math.cos(joint.alpha_rad), math.sin(joint.alpha_rad)
            step = np.zeros((len(joints), 4, 4))
            step[:, 0] = np.array([c, -s * ca, s * sa, joint.a_m * c]).T
            step[:, 1] = np.array([s, c * ca, -c * sa, joint.a_m * s]).T
            step[:, 2, 1:3], step[:, 2, 3], step[:, 3, 3] = (sa, ca), d, 1.0
            frame = frame @ step
            frames.append(frame)
        starts, ends = [], []
        for shape in rig.shapes:
            for places, point in ((starts, shape.start_m), (ends, shape.end_m)):
                places.append((frames[shape.link] @ np.array([*point, 1.0]))[:, :3])
        return starts, ends


def _point_rod(point: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    way = end - start
    size = (way * way).sum(axis=1)
    t = np.clip(((point - start) * way).sum(axis=1) / np.maximum(size, 1e-30), 0.0, 1.0)
    found: FloatArray = np.linalg.norm(point - start - t[:, None] * way, axis=1)
    return found


def _rods(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """The nearest of the four ends, or the crossing of the two lines where it lies within both rods."""
    found = np.minimum.reduce([_point_rod(a, c, d), _point_rod(b, c, d), _point_rod(c, a, b), _point_rod(d, a, b)])
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = (u * u).sum(axis=1), (v * v).sum(axis=1), (u * v).sum(axis=1)
    uw, vw = (u * w).sum(axis=1), (v * w).sum(axis=1)
    size = uu * vv - uv * uv
    with np.errstate(all="ignore"):
        s, t = (uv * vw - vv * uw) / size, (uu * vw - uv * uw) / size
        gap = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
    crossing = (size > 1e-18) & (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    return np.where(crossing, np.minimum(found, np.where(crossing, gap, 0.0)), found)


def _rod_and_box(start: FloatArray, end: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Distance, by narrowing down where along the rod it is least; inside, minus the least shift that frees it."""

    def apart(t: FloatArray) -> FloatArray:
        point = start + t[:, None] * (end - start)
        beyond = np.maximum(np.maximum(low - point, point - high), 0.0)
        gap: FloatArray = np.sqrt((beyond * beyond).sum(axis=1))
        return gap

    a, b = np.zeros(len(start)), np.ones(len(start))
    for _ in range(NARROWINGS):
        one, two = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        left = apart(one) <= apart(two)
        a, b = np.where(left, a, one), np.where(left, two, b)
    found = np.minimum.reduce([apart(0.5 * (a + b)), apart(a), apart(b), apart(0.0 * a), apart(0.0 * a + 1.0)])
    inside = found < TOUCHING_M
    if inside.any():
        found[inside] = -_shift(start[inside], end[inside], low, high)
    return found


def _shift(start: FloatArray, end: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The least shift that frees a rod from a box: across one of the box's faces, or across rod and edge."""
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    axes = [np.broadcast_to(np.eye(3)[k], start.shape) for k in range(3)]
    axes += [np.cross(end - start, np.eye(3)[k]) for k in range(3)]
    best = np.full(len(start), np.inf)
    for axis in axes:
        size = np.linalg.norm(axis, axis=1)
        unit = axis / np.maximum(size, 1e-30)[:, None]
        box = unit @ corners.T
        rod = np.stack([(unit * start).sum(axis=1), (unit * end).sum(axis=1)], axis=1)
        free = np.minimum(box.max(axis=1) - rod.min(axis=1), rod.max(axis=1) - box.min(axis=1))
        best = np.where(size > 1e-12, np.minimum(best, free), best)
    return best


def broken(judge: SpaceJudge, rig: Rig, positions: FloatArray) -> FloatArray:
    """Which limits positions do not keep, shape (limits,): soft ones as asked for, distances as rounded."""
    asked, sent = (
        judge.left(positions[None, :])[0],
        judge.left(np.asarray(rig.controller.quantise(positions[None, :])))[0],
    )
    found: FloatArray = np.where(np.arange(len(asked)) < judge.axes, asked, sent) < -1e-9
    return found


def fault(judge: SpaceJudge, rig: Rig, samples: FloatArray) -> str:
    """What makes a violation worse than it was, or breaks a limit that was kept; empty if nothing does.

    A distance that the start breaks is followed as asked for, until no rounding can break it; all others as rounded.
    """
    asked, sent = judge.left(samples), judge.left(np.asarray(rig.controller.quantise(samples)))
    hard = np.array([(axis.lower, axis.upper) for axis in rig.axes])
    there = np.asarray(rig.controller.quantise(samples))
    if (there < hard[:, 0] - 1e-9).any() or (there > hard[:, 1] + 1e-9).any():
        return "a hard limit is broken"
    for k, name in enumerate(judge.names):
        of_axis = k < judge.axes
        column, plain = asked[:, k], asked[:, k] if of_axis else sent[:, k]
        free_from = 0.0 if of_axis else float(np.abs(asked[:, k] - sent[:, k]).max())
        best = np.maximum.accumulate(column)
        if plain[0] >= -1e-9:
            bad = plain < -TOLERANCE_M
        else:
            before = np.concatenate([best[:1], best[:-1]])
            bad = np.where(before < free_from, column < before - TOLERANCE_M, plain < -TOLERANCE_M)
        if bad.any():
            at = int(np.argmax(bad))
            was = best[max(at - 1, 0)]
            return f"{name}: {1e3 * column[at]:.4f} at sample {at}, {1e3 * was:.4f} before (1e-3 rad or m)"
    return ""


def lessened(judge: SpaceJudge, samples: FloatArray, which: FloatArray) -> FloatArray:
    """Which of the limits given are less broken at the end of a motion than at its start, shape (limits,)."""
    first, last = judge.left(samples[[0, -1]])
    found: FloatArray = which & (last > first + 1e-7)
    return found

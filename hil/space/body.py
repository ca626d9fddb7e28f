"""The arm's own shapes against each other, the table and the boxes: one list of constraints, batch and live.

Every constraint is a distance that has to stay at or above zero once radii and clearance are taken off; inside a box
to keep out of it goes on below zero, as the way out of it. Both forms use the same list in the same order, so that the
guard does not stop a motion which the checker passed.
Shapes on link 0 never move: they count for the moving ones, but are not held against table and boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul, sub
from typing import NamedTuple

import numpy as np

from hil.kernels.chain import Frame, chain_of, link_frames
from hil.kernels.scalar import FLOATS
from hil.model.rig import Box, Capsule, Rig
from hil.model.robot import JointType, RobotModel
from hil.robot import Robot
from hil.space.geometry import (
    FloatArray,
    Point,
    room_inside,
    segment_box_depth,
    segment_box_depth_single,
    segment_box_distance,
    segment_box_distance_single,
    segment_distance,
    segment_distance_single,
    unpack,
)

BLOCK = 512
"""Poses worked on at once: enough to hide numpy's call cost, few enough for a core's cache to hold all between."""


TOUCHING_M = 1e-9
"""Nearer than this a segment counts as inside a box: rounding does not tell."""

NEAR_M = 0.03
"""Less room than this is worth an exact look: it lasts for more ticks."""

POSES_ALL_OVER = 16
UNMOVED_M = 1e-9


class Constraint(NamedTuple):
    """One pair that has to stay apart, or one shape and the place that it keeps clear of or inside of.

    Attributes:
        check: E-09 for the arm against itself, E-10 for its surroundings.
        subject: what the user knows it by, for example ``gripper and base``.
        group: constraints of one group share a line in a report, for example ``table``.
    """

    check: str
    subject: str
    group: str


class Body:
    """All constraints of a rig, evaluated over a batch of poses.

    Attributes:
        travel: how far each constraint can shrink per unit of each joint, shape (constraints, joints).
        rounding_m: how far the rounding of positions by the controller can change each, shape (constraints,).
        unmoved_m: what is left of those that no joint changes, NaN for the others, shape (constraints,).
    """

    def __init__(self, rig: Rig, robot: Robot) -> None:
        fences = rig.fences
        self._robot = robot
        self.shapes = rig.shapes
        self.clearance_m = fences.clearance_m
        self.pairs = pairs_to_check(rig)
        self._moving, self._above = list(moving(rig)), list(above_table(rig))
        self.fences = fences
        self.constraints = tuple(constraints(rig))
        self._links = np.array([shape.link for shape in self.shapes], dtype=np.intp)
        self._ends = np.array([[shape.start_m, shape.end_m] for shape in self.shapes]).reshape(-1, 2, 3)
        self._radii = np.array([shape.radius_m for shape in self.shapes])
        self.travel = travel_of(rig)
        self.rounding_m = rounding_of(rig, self.travel)
        self.unmoved_m = unmoved_m(self.margins(poses_all_over(rig)))

    def margins(self, joints: FloatArray) -> FloatArray:
        """What is left of every constraint.

        Args:
            joints: positions of the robot's joints, shape (N, n), radians or metres.

        Returns:
            Metres left over after radii and clearance, shape (N, len(constraints)); negative where violated.
        """
        left = np.empty((len(joints), len(self.constraints)))
        for first in range(0, len(joints), BLOCK):
            left[first : first + BLOCK] = self._block(joints[first : first + BLOCK])
        return left

    def _block(self, joints: FloatArray) -> FloatArray:
        start, end = self._place(self._robot.link_frames(joints))
        radii, take = self._radii, self.clearance_m
        columns = []
        if self.pairs:
            one, two = (np.array(side) for side in zip(*self.pairs, strict=True))
            apart = segment_distance(start[:, one], end[:, one], start[:, two], end[:, two])
            columns.append(apart - radii[one] - radii[two])
        low = np.minimum(start[:, self._above, 2], end[:, self._above, 2])
        columns.append(low - self.fences.table_height_m - radii[self._above])
        start, end, radii = start[:, self._moving], end[:, self._moving], radii[self._moving]
        for box in self.fences.keep_out:
            columns.append(_outside_of(start, end, np.array(box.lower_m), np.array(box.upper_m)) - radii)
        if self.fences.keep_in is not None:
            box = self.fences.keep_in
            columns.append(room_inside(start, end, np.array(box.lower_m), np.array(box.upper_m)) - radii)
        result: FloatArray = np.concatenate(columns, axis=1) - take
        return result

    def _place(self, frames: FloatArray) -> tuple[FloatArray, FloatArray]:
        carried = frames[:, self._links]
        rotation, origin = carried[..., :3, :3], carried[..., :3, 3]
        start = np.einsum("nsij,sj->nsi", rotation, self._ends[:, 0]) + origin
        end = np.einsum("nsij,sj->nsi", rotation, self._ends[:, 1]) + origin
        return start, end


class LiveBody:
    """The same constraints for one pose at a time, in plain floats.

    Attributes:
        rounding_m: how far the rounding of positions by the controller can change each constraint.
        unmoved_m: what is left of those that no joint changes, NaN for the others: there the rig file alone decides.
    """

    def __init__(self, rig: Rig) -> None:
        self.constraints = tuple(constraints(rig))
        self._chain = chain_of(rig.robot)
        self._shapes = tuple((s.link, unpack(s.start_m), unpack(s.end_m)) for s in rig.shapes)
        self._half = tuple(0.5 * math.dist(s.start_m, s.end_m) for s in rig.shapes)
        self._need = tuple(s.radius_m + rig.fences.clearance_m for s in rig.shapes)
        self._pairs = tuple(self._pair(one, two, rig) for one, two in pairs_to_check(rig))
        self._moving, self._above = moving(rig), above_table(rig)
        self._table_m = rig.fences.table_height_m
        self._keep_out = tuple((unpack(b.lower_m), unpack(b.upper_m)) for b in rig.fences.keep_out)
        box = rig.fences.keep_in
        self._keep_in = None if box is None else (unpack(box.lower_m), unpack(box.upper_m))
        travel = travel_of(rig)
        self._room = RoomLeft(travel)
        self.rounding_m: tuple[float, ...] = tuple(rounding_of(rig, travel).tolist())
        everywhere = np.array([self.margins(joints) for joints in poses_all_over(rig).tolist()])
        self.unmoved_m: tuple[float, ...] = tuple(unmoved_m(everywhere).tolist())

    def _pair(self, one: int, two: int, rig: Rig) -> tuple[int, int, float, float]:
        """Two shapes, how far apart they have to be, and how far apart their middles are surely far enough."""
        need_m = rig.shapes[one].radius_m + rig.shapes[two].radius_m + rig.fences.clearance_m
        return one, two, need_m, need_m + self._half[one] + self._half[two]

    def violations(self, joints: Sequence[float], slack_m: float) -> list[tuple[int, float]]:
        """Constraints that are broken by more than `slack_m`, as (index, margin in metres).

        Args:
            joints: positions of the robot's joints, radians or metres.
            slack_m: below zero also those that are kept by less than that.
        """
        if self._room.is_enough(joints, -slack_m):
            return []
        left = self._at_least(joints, max(NEAR_M, -slack_m))
        self._room.note(joints, left)
        return [(index, margin_m) for index, margin_m in enumerate(left) if margin_m < -slack_m]

    def margins(self, joints: Sequence[float], indices: Sequence[int] | None = None) -> tuple[float, ...]:
        """What is left of some constraints, or of all, in metres; negative where violated."""
        frames = link_frames(self._chain, joints, FLOATS)
        placed = [_place(frames[link], start, end) for link, start, end in self._shapes]
        wanted = range(len(self.constraints)) if indices is None else indices
        return tuple(self._margin(index, placed) for index in wanted)

    def _margin(self, index: int, placed: list[_Placed]) -> float:
        if index < len(self._pairs):
            i, j, need_m, _ = self._pairs[index]
            return segment_distance_single(*placed[i][:2], *placed[j][:2]) - need_m
        index -= len(self._pairs)
        if index < len(self._above):
            i = self._above[index]
            return min(placed[i][0][2], placed[i][1][2]) - self._table_m - self._need[i]
        box, k = divmod(index - len(self._above), len(self._moving))
        i = self._moving[k]
        if box < len(self._keep_out):
            return _outside_of_single(*placed[i][:2], *self._keep_out[box]) - self._need[i]
        assert self._keep_in is not None
        return _room_inside_single(*placed[i][:2], *self._keep_in) - self._need[i]

    def _at_least(self, joints: Sequence[float], near_m: float) -> list[float]:
        """What every constraint has left: exactly if less than `near_m`, else what balls around the segments say.

        Those settle most pairs at a fraction of the cost.
        """
        frames = link_frames(self._chain, joints, FLOATS)
        placed = [_place(frames[link], start, end) for link, start, end in self._shapes]
        left: list[float] = []
        for i, j, need_m, surely_m in self._pairs:
            start, end, middle = placed[i]
            other_start, other_end, other_middle = placed[j]
            room_m = math.dist(middle, other_middle) - surely_m
            if room_m < near_m:
                room_m = segment_distance_single(start, end, other_start, other_end) - need_m
            left.append(room_m)
        for i in self._above:
            start, end, _ = placed[i]
            left.append(min(start[2], end[2]) - self._table_m - self._need[i])
        for lower, upper in self._keep_out:
            for i in self._moving:
                start, end, middle = placed[i]
                room_m = _ball_to_box(middle, lower, upper) - self._need[i] - self._half[i]
                if room_m < near_m:
                    room_m = _outside_of_single(start, end, lower, upper) - self._need[i]
                left.append(room_m)
        if self._keep_in is not None:
            for i in self._moving:
                start, end, _ = placed[i]
                left.append(_room_inside_single(start, end, *self._keep_in) - self._need[i])
        return left


class RoomLeft:
    """What each constraint had left where it was looked at last: as near as that to there nothing can be broken.

    Args:
        travel: how far each constraint can shrink per unit of each joint, shape (constraints, joints).
    """

    def __init__(self, travel: FloatArray) -> None:
        self._travel = travel
        self._most: tuple[float, ...] = tuple(travel.max(axis=0, initial=0.0).tolist())
        self._at: tuple[float, ...] = ()
        self._left, self._least_m = np.empty(0), -math.inf
        # Where it was enough last, and what was surely left there: most ticks are as near to the one before.
        self._near: tuple[float, ...] = ()
        self._near_m = -math.inf

    def note(self, joints: Sequence[float], left: Sequence[float]) -> None:
        """There each constraint has at least so much left, in metres."""
        self._at, self._left = tuple(joints), np.array(left)
        self._least_m = min(left, default=math.inf)
        self._near, self._near_m = self._at, self._least_m

    def is_enough(self, joints: Sequence[float], least_m: float) -> bool:
        """Every constraint has at least so much left at these joints, whatever way the arm took there."""
        if self._least_m < least_m:
            return False
        if sum(map(mul, self._most, map(abs, map(sub, joints, self._near)))) <= self._near_m - least_m:
            return True
        moved = [abs(here - there) for here, there in zip(joints, self._at, strict=True)]
        surely_m = float((self._left - self._travel @ moved).min())
        if surely_m < least_m:
            return False
        self._near, self._near_m = tuple(joints), surely_m
        return True


def constraints(rig: Rig) -> list[Constraint]:
    """Every constraint of a rig: pairs, then table, then boxes to keep out of, then the box to stay in."""
    names, fences = [shape.name for shape in rig.shapes], rig.fences
    movers = [names[i] for i in moving(rig)]
    found = [Constraint("E-09", f"{names[one]} and {names[two]}", "the arm itself") for one, two in pairs_to_check(rig)]
    found += [Constraint("E-10", f"{names[i]} and table", "table") for i in above_table(rig)]
    for box in fences.keep_out:
        found += [Constraint("E-10", f"{name} and {_called(box)}", _called(box)) for name in movers]
    if fences.keep_in is not None:
        box = fences.keep_in
        found += [Constraint("E-10", f"{name} inside {_called(box)}", _called(box)) for name in movers]
    return found


def pairs_to_check(rig: Rig) -> list[tuple[int, int]]:
    """Index pairs of shapes that can meet: not on the same link, and not named as neighbours."""
    apart = {frozenset(pair) for pair in rig.fences.neighbours}
    return [
        (i, j)
        for i, one in enumerate(rig.shapes)
        for j, two in enumerate(rig.shapes)
        if i < j and one.link != two.link and frozenset((one.name, two.name)) not in apart
    ]


def moving(rig: Rig) -> tuple[int, ...]:
    """Indices of the shapes that can move at all."""
    return tuple(i for i, shape in enumerate(rig.shapes) if shape.link > 0)


def above_table(rig: Rig) -> tuple[int, ...]:
    """Indices of the shapes that stay above the table."""
    standing = rig.fences.stands_on_table
    return tuple(i for i in moving(rig) if rig.shapes[i].name not in standing)


def travel_of(rig: Rig) -> FloatArray:
    """How far each constraint can shrink per unit of each joint, shape (constraints, n), metres per unit.

    A pair only feels the joints between its two links.
    """
    reach = np.array([lever_arms(rig.robot, shape) for shape in rig.shapes]).reshape(-1, rig.robot.dof)
    rows = []
    for one, two in pairs_to_check(rig):
        near, far = sorted((one, two), key=lambda i: rig.shapes[i].link)
        row = reach[far].copy()
        row[: rig.shapes[near].link] = 0.0
        rows.append(row)
    rows += [reach[i] for i in above_table(rig)]
    boxes = len(rig.fences.keep_out) + (rig.fences.keep_in is not None)
    rows += [reach[i] for _ in range(boxes) for i in moving(rig)]
    return np.array(rows).reshape(-1, rig.robot.dof)


def rounding_of(rig: Rig, travel: FloatArray) -> FloatArray:
    """How far half a step of the wire on every joint can change each constraint, shape (constraints,), metres."""
    changed: FloatArray = travel @ (0.5 * rig.controller.quantum()[: rig.robot.dof])
    return changed


def poses_all_over(rig: Rig) -> FloatArray:
    """Some positions of the joints, spread over their ranges, always the same, shape (POSES_ALL_OVER, n)."""
    joints = rig.axes[: rig.robot.dof]
    lower, upper = [axis.lower for axis in joints], [axis.upper for axis in joints]
    poses: FloatArray = np.random.default_rng(0).uniform(lower, upper, (POSES_ALL_OVER, len(joints)))
    return poses


def unmoved_m(margins: FloatArray) -> FloatArray:
    """By the margins all over: what is left of each constraint that no joint changes, NaN for the others."""
    same: FloatArray = np.where(np.ptp(margins, axis=0) < UNMOVED_M, margins[0], np.nan)
    return same


def lever_arms(robot: RobotModel, shape: Capsule) -> list[float]:
    """Largest travel of any point of a shape's core per unit of each joint, metres per radian or per metre.

    A point travels no further than one of the core's two ends does.
    """
    ends = (_levers(robot, shape.link, unpack(end)) for end in (shape.start_m, shape.end_m))
    return [max(pair) for pair in zip(*ends, strict=True)]


def _levers(robot: RobotModel, link: int, point: Point) -> list[float]:
    """The same for one point fixed to a link.

    The joint that carries the link turns the point about its axis at a fixed distance. For those before it the
    lengths of the links between are added up whatever the pose, so the bound always holds.
    """
    arms, outward = [0.0] * robot.dof, 0.0
    for i in range(link - 1, -1, -1):
        joint = robot.joints[i]
        sliding = joint.type is JointType.PRISMATIC
        stroke = max(abs(joint.lower or 0.0), abs(joint.upper or 0.0)) if sliding else 0.0
        if i == link - 1:
            c, s = math.cos(joint.alpha_rad), math.sin(joint.alpha_rad)
            reach = math.hypot(joint.a_m + point[0], c * point[1] - s * point[2])
            height = abs(joint.d_m + s * point[1] + c * point[2]) + stroke
            arms[i] = 1.0 if sliding else reach
            outward = math.hypot(reach, height)
        else:
            arms[i] = 1.0 if sliding else outward + abs(joint.a_m)
            outward += math.hypot(joint.a_m, abs(joint.d_m) + stroke)
    return arms


def _outside_of(start: FloatArray, end: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance from segments to a box; where they touch or cross it, minus the depth."""
    apart = segment_box_distance(start, end, lower, upper)
    touching = apart < TOUCHING_M
    if touching.any():
        apart[touching] = -segment_box_depth(start[touching], end[touching], lower, upper)
    return apart


def _called(box: Box) -> str:
    return box.name or "box"


def _outside_of_single(start: Point, end: Point, lower: Point, upper: Point) -> float:
    apart = segment_box_distance_single(start, end, lower, upper)
    return apart if apart >= TOUCHING_M else -segment_box_depth_single(start, end, lower, upper)


def _room_inside_single(start: Point, end: Point, lower: Point, upper: Point) -> float:
    (ax, ay, az), (bx, by, bz) = start, end
    return min(
        (ax if ax < bx else bx) - lower[0],
        (ay if ay < by else by) - lower[1],
        (az if az < bz else bz) - lower[2],
        upper[0] - (ax if ax > bx else bx),
        upper[1] - (ay if ay > by else by),
        upper[2] - (az if az > bz else bz),
    )


def _ball_to_box(centre: Point, lower: Point, upper: Point) -> float:
    x = max(lower[0] - centre[0], 0.0, centre[0] - upper[0])
    y = max(lower[1] - centre[1], 0.0, centre[1] - upper[1])
    z = max(lower[2] - centre[2], 0.0, centre[2] - upper[2])
    return math.sqrt(x * x + y * y + z * z)


_Placed = tuple[Point, Point, Point]
"""One shape's core in the world: start, end, middle."""


def _place(frame: Frame, start: Point, end: Point) -> _Placed:
    xx, xy, xz, yx, yy, yz, zx, zy, zz, px, py, pz = frame
    x, y, z = start
    ax, ay, az = xx * x + yx * y + zx * z + px, xy * x + yy * y + zy * z + py, xz * x + yz * y + zz * z + pz
    x, y, z = end
    bx, by, bz = xx * x + yx * y + zx * z + px, xy * x + yy * y + zy * z + py, xz * x + yz * y + zz * z + pz
    return (ax, ay, az), (bx, by, bz), (0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz))

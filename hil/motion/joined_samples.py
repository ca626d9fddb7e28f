"""The samples of a task's steps in a row: where each begins, and how one runs into the next."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.joint_runs import at_corner
from hil.motion.motion import Kind, Mark, Motion, Point, ToolPath
from hil.motion.overlap import longest_overlap
from hil.motion.profiles import axis_limits
from hil.motion.refusals import LIMIT_SLACK
from hil.robot import Robot

POINT_BYTES = 24

HISTORY = 3
"""Samples before a change that the third difference sees."""


class Blend(NamedTuple):
    """How near to its end a step may run into the next, by the tool, by the joints, or both; None for any distance."""

    near_m: float | None = None
    near_rad: float | None = None


class StraightWay(NamedTuple):
    """The line that a step's tool keeps to."""

    start_m: FloatArray
    end_m: FloatArray
    tolerance_m: float


class Stretch(NamedTuple):
    """Samples of one step.

    Attributes:
        step: number in the file.
        rows: from where the step before ended, shape (K + 1, n_axes).
        line: where the tool goes straight.
        points_m: where the tool has to be at each sample and half-way between, on another path.
        tolerance_m: of that path.
        blend: how it may run into the next; None to come to rest.
    """

    step: int
    label: str
    kind: Kind
    rows: FloatArray
    line: StraightWay | None = None
    points_m: FloatArray | None = None
    tolerance_m: float = 0.0
    blend: Blend | None = None


class JoinedSamples:
    """Collects stretches, each from where the one before ended."""

    def __init__(self, rig: Rig, robot: Robot, start: FloatArray) -> None:
        self._rig, self._robot = rig, robot
        self._done: list[FloatArray] = []
        # What is left open: the last stretch and what its third differences see, from sample `_offset` on.
        self._open, self._offset = start[None, :], 0
        self._marks: list[Mark] = []
        self._paths: list[ToolPath] = []
        # First sample that the next stretch may lie over, and the rests at the end, which a blend leaves out.
        self._free, self._rests = 0, 0
        self._blend: Blend | None = None

    @property
    def position(self) -> FloatArray:
        """Where the last stretch ends."""
        end: FloatArray = self._open[-1]
        return end

    @property
    def last(self) -> int:
        """Index of the last sample."""
        return self._offset + len(self._open) - 1

    def motion(self) -> Motion:
        """Everything so far."""
        names = [axis.name for axis in self._rig.axes]
        rows = np.concatenate([*self._done, self._open])
        return Motion(names, self._rig.period_s, rows, self._marks, paths=self._paths)

    def append(self, stretch: Stretch) -> None:
        """Add one stretch, over the end of the one before where that may run into it."""
        self._close()
        corner, overlap = self.last - self._rests, 0
        if self._blend is not None and len(stretch.rows) > 1:
            overlap = self._lay_over(stretch.rows, self._blend)
        if not overlap:
            self._rest(stretch.rows)
            corner = self.last
            self._open = np.concatenate([self._open, stretch.rows[1:]])
        else:
            self._part(corner - overlap, corner)
        moved = self.last
        added = self._open[corner - overlap + 1 - self._offset :]
        self._rests = len(at_corner(self._rig, added)) - len(added)
        self._open = np.concatenate([self._open, np.repeat(self._open[-1:], self._rests, axis=0)])
        self._mark(stretch, corner, moved, overlap)
        self._free, self._blend = corner, stretch.blend

    def _close(self) -> None:
        """Put away what nothing lies over any more."""
        cut = self._free - HISTORY - self._offset
        if cut > 0:
            self._done.append(self._open[:cut])
            self._open, self._offset = self._open[cut:], self._offset + cut

    def _lay_over(self, after: FloatArray, blend: Blend) -> int:
        """Samples of both that go at once; 0 where none fits."""
        rows = self._open[: len(self._open) - self._rests]
        free = rows[self._free - self._offset :]
        most = min(len(free) - 1, len(after) - 1, self._near(free[::-1], blend), self._near(after, blend))
        joined, overlap = longest_overlap(rows, after, most, self._fits)
        if overlap:
            self._open = joined
        return overlap

    def _rest(self, after: FloatArray) -> None:
        """Stand still for a sample or two where the end of one step and the start of the next would add up."""
        if not self._marks or len(after) < 2:
            return
        ending, starting = self._open[-HISTORY:], after[1 : HISTORY + 1]
        for count in range(HISTORY):
            pause = np.repeat(ending[-1:], count, axis=0)
            difference = np.concatenate([ending, pause, starting])
            used = 0.0
            for limit in axis_limits(self._rig):
                difference = np.diff(difference, axis=0) / self._rig.period_s
                used = max(used, float((np.abs(difference) / limit).max(initial=0.0)))
            if used <= 1.0:
                break
        if count:
            self._open = np.concatenate([self._open, pause])
            self._marks[-1] = msgspec.structs.replace(self._marks[-1], last=self.last)

    def _near(self, rows: FloatArray, blend: Blend) -> int:
        """How many samples from the corner, row 0, are no further from it than asked."""
        joints = rows[:, : self._robot.dof]
        far = np.zeros(len(rows), dtype=bool)
        if blend.near_rad is not None:
            far |= np.abs(joints - joints[0]).max(axis=1) > blend.near_rad
        if blend.near_m is not None:
            points = self._robot.forward_kinematics(joints)[:, :3, 3]
            far |= np.linalg.norm(points - points[0], axis=1) > blend.near_m
        return int(np.argmax(far)) - 1 if far.any() else len(rows) - 1

    def _fits(self, rows: FloatArray) -> bool:
        """True if the samples keep all limits; those that come after others do not begin from rest."""
        for column, axis in enumerate(self._rig.axes):
            # An axis that stands beyond a soft limit may go back, and no further out.
            low = min(axis.lower + axis.soft_margin, float(self._open[:, column].min())) - LIMIT_SLACK
            high = max(axis.upper - axis.soft_margin, float(self._open[:, column].max())) + LIMIT_SLACK
            if rows[:, column].min() < low or rows[:, column].max() > high:
                return False
        rest = HISTORY if self._offset == 0 else 0
        difference = np.concatenate([np.repeat(rows[:1], rest, axis=0), rows, np.repeat(rows[-1:], HISTORY, axis=0)])
        for limit in axis_limits(self._rig):
            difference = np.diff(difference, axis=0) / self._rig.period_s
            if (np.abs(difference) > limit).any():
                return False
        points = self._robot.forward_kinematics(rows[:, : self._robot.dof])[:, :3, 3]
        most = self._rig.tool_speed_m_s * self._rig.period_s
        return bool((np.linalg.norm(np.diff(points, axis=0), axis=1) <= most).all())

    def _part(self, seam: int, corner: int) -> None:
        """End the last mark and path where the next step sets in: while both go at once, the tool is on neither."""
        former = self._marks[-1]
        self._marks[-1] = msgspec.structs.replace(former, last=seam)
        self._marks.append(Mark(first=seam, last=corner, step=former.step, kind="joint", label=former.label or "blend"))
        if self._paths and self._paths[-1].last > seam:
            path = self._paths.pop()
            if path.first < seam:
                points = path.points[: POINT_BYTES * (2 * (seam - path.first) + 1)]
                self._paths.append(msgspec.structs.replace(path, last=seam, points=points))

    def _mark(self, stretch: Stretch, first: int, moved: int, overlap: int) -> None:
        line = stretch.line
        self._marks.append(
            Mark(
                first=first,
                last=self.last,
                step=stretch.step,
                kind=stretch.kind,
                label=stretch.label,
                start_m=None if line is None else _point(line.start_m),
                end_m=None if line is None else _point(line.end_m),
                tolerance_m=None if line is None else line.tolerance_m,
            )
        )
        if stretch.points_m is not None and moved > first:
            points = np.ascontiguousarray(stretch.points_m[2 * overlap :], dtype="<f8").tobytes()
            self._paths.append(ToolPath(first=first, last=moved, tolerance_m=stretch.tolerance_m, points=points))


def _point(point: FloatArray) -> Point:
    x, y, z = point.tolist()
    return x, y, z

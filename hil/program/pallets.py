"""Pallets: DEF PLT and the point that PLT gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.paths.circle import circle_through
from hil.program.errors import ProgramError
from hil.program.values import Position, position

MOST_PLACES = 32767
DIRECTIONS = (1, 2, 3, 11, 12, 13)
ZIGZAG, ARC = 1, 3
KEEP_ORIENTATION = 10
"""Directions from 11 on are 1 to 3 with the orientation of the start point everywhere."""


class Pallet(NamedTuple):
    """What DEF PLT said. Corners: start, end of A, end of B, and the one opposite to the start or None."""

    start: Position
    end_a: Position
    end_b: Position
    diagonal: Position | None
    count_a: int
    count_b: int
    direction: int

    def place(self, index: int) -> Position:
        """The point of a place, from 1; flags and extra axes are those of the start point.

        Raises:
            ProgramError: there is no such place, or the points of an arc are on a line.
        """
        total = self.count_a if self.direction % KEEP_ORIENTATION == ARC else self.count_a * self.count_b
        if not 1 <= index <= total:
            raise ProgramError(3110, f"place {index} of a pallet", allowed=f"1 to {total}")
        on_arc = self.direction % KEEP_ORIENTATION == ARC
        members = self._on_arc(index - 1) if on_arc else self._on_grid(index - 1)
        start = np.array(self.start.members)
        if self.direction > KEEP_ORIENTATION:
            members[3:6] = start[3:6]
        members[6:] = start[6:]
        return position(members.tolist(), self.start.fl1, self.start.fl2)

    def flips(self) -> str:
        """The angle of which corners show both signs near 180 degrees, so that places between turn the hand."""
        corners = [corner for corner in (self.start, self.end_a, self.end_b, self.diagonal) if corner is not None]
        for name, k in (("A", 3), ("B", 4), ("C", 5)):
            angles = [corner.members[k] for corner in corners]
            if max(angles) > 90.0 and min(angles) < -90.0 and self.direction < KEEP_ORIENTATION:
                return name
        return ""

    def _on_grid(self, k: int) -> FloatArray:
        row, column = divmod(k, self.count_a)
        if self.direction % KEEP_ORIENTATION == ZIGZAG and row % 2:
            column = self.count_a - 1 - column
        along, up = _share(column, self.count_a), _share(row, self.count_b)
        start, end_a, end_b = (np.array(p.members) for p in (self.start, self.end_a, self.end_b))
        far = end_a + end_b - start if self.diagonal is None else np.array(self.diagonal.members)
        left, right = start + up * (end_b - start), end_a + up * (far - end_a)
        found: FloatArray = left + along * (right - left)
        return found

    def _on_arc(self, k: int) -> FloatArray:
        """Start, a point on the way, end; divided evenly by angle."""
        start, middle, end = (np.array(p.members) for p in (self.start, self.end_a, self.end_b))
        circle = circle_through(start[:3], middle[:3], end[:3])
        share = _share(k, self.count_a)
        found: FloatArray = start + share * (end - start)
        if circle is not None:
            found[:3] = circle.point(share * circle.angle_rad)
        return found


def _share(k: int, count: int) -> float:
    return k / (count - 1) if count > 1 else 0.0

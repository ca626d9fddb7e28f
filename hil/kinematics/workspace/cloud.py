"""The forward cloud: where the tool point, or the end of any link, gets to when the joints sweep their ranges.

The points are a product of two small sets. The joints are cut in two: with the inner ones at all their values the
tool point has K places in the frame between the cut's joints, and with the outer ones that frame has U places in the
world. Every point is one of the U frames times one of the K places, so that U K points cost U + K evaluations
of the chain and matrix products of inner length 4, made block by block into one buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from hil.errors import CommandError
from hil.kernels import chain as equations
from hil.kernels.chain import IDENTITY, Chain
from hil.kernels.scalar import ARRAYS, FloatArray
from hil.kinematics.workspace.sweeps import Sweep, count, longest_offset_m
from hil.types import Record

MOST_POINTS = 1_000_000_000
"""A cloud has at most so many points; its memory does not depend on it."""

BLOCK = 1 << 16
"""Points per block, about: it stays in cache, and a progress bar still moves."""

INNER = 1 << 14
"""Places of the inner joints at most, unless one joint alone has more."""

Progress: TypeAlias = Callable[[int], None]
"""Is told after every block how many points are done."""


class Bounds(Record, frozen=True):
    """A box with axes along the world's, metres."""

    lower_m: tuple[float, float, float]
    upper_m: tuple[float, float, float]


class Factors(NamedTuple):
    """A block of points before it is multiplied out.

    Attributes:
        frames: B frames, shape (3, B, 4): for each world coordinate the row (x, y, z axis, origin).
        places: K places, shape (4, K), the last row ones; the same for all blocks of a cloud.
    """

    frames: FloatArray
    places: FloatArray


class Cloud(Record, frozen=True):
    """The points of a sweep, computed when asked for, never all in memory.

    Attributes:
        chain: the arm, up to the link whose end is meant.
        sweeps: one per joint of `chain`.
        closed: True with the upper end of every range, False without, as in the 3D-RAS paper.
    """

    chain: Chain
    sweeps: tuple[Sweep, ...]
    closed: bool = True

    @property
    def points(self) -> int:
        """Number of points."""
        return count(self.sweeps, closed=self.closed)

    def blocks(self, on_progress: Progress | None = None) -> Iterator[FloatArray]:
        """All points in blocks of shape (k, 3), metres in the world; the last joint's value changes fastest.

        Every block is a view of one buffer that the next one overwrites: copy what has to stay. In memory the three
        coordinates stand one after the other, so that ``block[:, 0]`` is contiguous.
        """
        buffer, done = np.empty(0), 0
        for frames, places in self.factors():
            shape = (3, frames.shape[1], places.shape[1])
            size = math.prod(shape)
            if buffer.size < size:
                buffer = np.empty(size)
            points = buffer[:size].reshape(shape)
            np.matmul(frames, places, out=points)
            yield points.reshape(3, -1).T
            done += size // 3
            if on_progress is not None:
                on_progress(done)

    def factors(self, block: int = BLOCK) -> Iterator[Factors]:
        """Blocks of some `block` points not yet multiplied out: point (b, k) is ``frames[:, b] @ places[:, k]``."""
        values = [sweep.values(closed=self.closed) for sweep in self.sweeps]
        sizes = [len(each) for each in values]
        cut = _cut(sizes)
        outer = Chain(self.chain.rows[:cut], self.chain.base, None)
        inner = Chain(self.chain.rows[cut:], IDENTITY, self.chain.tool)
        places = np.ones((4, math.prod(sizes[cut:])))
        tool = equations.forward(inner, _grid(values[cut:], 0, places.shape[1]), ARRAYS)
        for i in range(3):
            places[i] = tool[9 + i]
        total = math.prod(sizes[:cut])
        at_once = max(1, block // places.shape[1])
        for first in range(0, total, at_once):
            last = min(first + at_once, total)
            frame = equations.forward(outer, _grid(values[:cut], first, last), ARRAYS)
            frames = np.empty((3, last - first, 4))
            for column in range(4):
                for i in range(3):
                    frames[i, :, column] = frame[3 * column + i]
            yield Factors(frames, places)

    def bounds(self, on_progress: Progress | None = None) -> Bounds:
        """The smallest box around all points."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for block in self.blocks(on_progress):
            np.minimum(low, block.min(axis=0), out=low)
            np.maximum(high, block.max(axis=0), out=high)
        return Bounds(lower_m=tuple(low.tolist()), upper_m=tuple(high.tolist()))

    def segments(self) -> tuple[Cloud, ...]:
        """One cloud per joint, of the end of its link: the origin of its DH frame, for the last joint the tool point.

        The i-th sweeps only the first i joints, as the 3D-RAS paper colours them.
        """
        n = len(self.sweeps)
        return tuple(
            Cloud(
                chain=Chain(self.chain.rows[:i], self.chain.base, self.chain.tool if i == n else None),
                sweeps=self.sweeps[:i],
                closed=self.closed,
            )
            for i in range(1, n + 1)
        )


def cloud(chain: Chain, sweeps: Sequence[Sweep], *, closed: bool = True) -> Cloud:
    """The cloud of a chain's tool point.

    Args:
        chain: the arm.
        sweeps: one per joint, from `sweeps_of` or `sweeps_for_voxel`.
        closed: with the upper end of every range, or without.

    Raises:
        CommandError: not one sweep per joint, or more than a thousand million points.
    """
    if len(sweeps) != len(chain.rows):
        raise CommandError(
            f"{len(sweeps)} sweeps given; allowed: {len(chain.rows)}, one per joint",
            value=len(sweeps),
            allowed=str(len(chain.rows)),
        )
    result = Cloud(chain=chain, sweeps=tuple(sweeps), closed=closed)
    if result.points > MOST_POINTS:
        raise CommandError(
            f"a cloud of {result.points} points was asked for; allowed: {MOST_POINTS}. "
            "Take a larger step, a smaller range or fewer joints",
            value=result.points,
            allowed=f"at most {MOST_POINTS}",
        )
    return result


def farthest_m(chain: Chain, sweeps: Sequence[Sweep]) -> float:
    """Upper bound of the tool point's distance from the origin of the base frame, metres.

    Every link counts with its whole length: hypot(a1, d1) + a2 + a3 + a4 for the Lynx6 family. Eq. (20) of the
    3D-RAS paper has sqrt((d1 + a2 + a3 + a4)^2 + a1^2), which is exact only for a1 = 0 and too small otherwise.
    """
    tool = 0.0 if chain.tool is None else math.hypot(*chain.tool[9:])
    return tool + sum(
        math.hypot(row.a, longest_offset_m(row.d, row.sign, row.revolute, sweep))
        for row, sweep in zip(chain.rows, sweeps, strict=True)
    )


def _cut(sizes: Sequence[int]) -> int:
    """Index of the first inner joint: as many as fit, and at least the last one that is swept."""
    product, cut = 1, len(sizes)
    while cut > 0 and (product == 1 or product * sizes[cut - 1] <= INNER):
        cut -= 1
        product *= sizes[cut]
    return cut


def _grid(values: Sequence[FloatArray], first: int, last: int) -> list[FloatArray]:
    """Points `first` to `last` of the product of the joints' values, one array per joint."""
    if not values:
        return []
    indices = np.unravel_index(np.arange(first, last), tuple(len(each) for each in values))
    return [each[index] for each, index in zip(values, indices, strict=True)]

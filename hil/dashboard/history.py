"""Hours of curves in bounded memory: per curve a pyramid of lows and highs, each level four times as coarse.

What a level has not yet gathered into a bucket of the next one is read from itself: the newest sample is always
shown, and none is read twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

FACTOR = 4
"""Buckets of one level in a bucket of the next."""

LEVELS = 7
"""From single samples to buckets of 4096: at 50 Hz more than a week."""

CAPACITY = 8192
"""Buckets that a level keeps."""

GAP_S = 0.5
"""Samples farther apart belong to two runs, which no line joins."""


class Span(NamedTuple):
    """Part of the history, oldest first.

    Attributes:
        first_s, last_s: times of a bucket's first and last sample, shape (m,).
        low, high: lowest and highest values in it, shape (m, curves); NaN where nothing was known.
        gap: True where a gap follows, shape (m,).
    """

    first_s: Floats
    last_s: Floats
    low: Singles
    high: Singles
    gap: Bools

    @property
    def exact(self) -> bool:
        """True if every bucket is a single sample."""
        return bool(np.array_equal(self.first_s, self.last_s))

    def part(self, begin: int, end: int | None = None) -> Span:
        """Buckets from one index to another."""
        return Span(
            self.first_s[begin:end],
            self.last_s[begin:end],
            self.low[begin:end],
            self.high[begin:end],
            self.gap[begin:end],
        )


class History:
    """Curves over a common time.

    Args:
        curves: how many.
        capacity: buckets per level.
        levels: how many.
    """

    def __init__(self, curves: int, capacity: int = CAPACITY, levels: int = LEVELS) -> None:
        self.curves = curves
        self._levels = [_Level(curves, capacity) for _ in range(levels)]
        self.begin_s: float | None = None
        self.end_s: float | None = None

    @property
    def nbytes(self) -> int:
        """Memory of all levels; never grows."""
        return sum(level.nbytes for level in self._levels)

    def clear(self) -> None:
        """Forget everything; what comes is kept again."""
        for level in self._levels:
            level.clear()
        self.begin_s = self.end_s = None

    def extend(self, times_s: Floats, values: npt.NDArray[np.floating]) -> None:
        """Take samples; those that are not newer than the one before are left out.

        Args:
            times_s: shape (m,).
            values: shape (m, curves); NaN for what is not known.
        """
        before = np.concatenate([[-np.inf if self.end_s is None else self.end_s], times_s[:-1]])
        newer = times_s > np.maximum.accumulate(before)
        times_s, rows = times_s[newer], values[newer].astype(np.float32)
        if not len(times_s):
            return
        since = np.diff(times_s, prepend=times_s[0] if self.end_s is None else self.end_s)
        begin = 0
        for end in [*np.flatnonzero(since > GAP_S).tolist(), len(times_s)]:
            if end > begin:
                times = times_s[begin:end]
                self._push(0, Span(times, times, rows[begin:end], rows[begin:end], np.zeros(end - begin, np.bool_)))
            if end < len(times_s):
                self._end_run()
            begin = end
        self.begin_s = float(times_s[0]) if self.begin_s is None else self.begin_s
        self.end_s = float(times_s[-1])

    def between(self, begin_s: float, end_s: float, most: int) -> Span:
        """The finest view of a stretch of time with `most` buckets or so; coarser where the fine ones are gone.

        Holds a bucket or two beyond either end, where there are some, so that lines run out of the picture.
        """
        for number in range(len(self._levels)):
            found = self._cut(number, begin_s, end_s)
            if len(found.first_s) <= most and self._levels[number].reaches(begin_s):
                break
        return found

    def at(self, time_s: float) -> tuple[float, Singles, Singles] | None:
        """Time, lows and highs of the bucket nearest to a moment, as fine as it is still known; None without any."""
        reaching = (number for number, level in enumerate(self._levels) if level.reaches(time_s))
        found = self._cut(next(reaching, len(self._levels) - 1), time_s, time_s)
        if not len(found.first_s):
            return None
        away = np.maximum(np.maximum(found.first_s - time_s, time_s - found.last_s), 0.0)
        index = int(np.argmin(away))
        return float(found.first_s[index]), found.low[index], found.high[index]

    def _cut(self, number: int, begin_s: float, end_s: float) -> Span:
        """From one level and from what the finer ones have not yet handed up: together all samples, oldest first."""
        spans = [self._levels[number].kept(), *(level.waiting() for level in reversed(self._levels[:number]))]
        return Span(
            *(np.concatenate(columns) for columns in zip(*(_cut(s, begin_s, end_s) for s in spans), strict=True))
        )

    def _push(self, number: int, span: Span) -> None:
        level = self._levels[number]
        # In parts: nothing is overwritten before it is handed up.
        for begin in range(0, len(span.first_s), level.capacity // 2):
            level.append(span.part(begin, begin + level.capacity // 2))
            if number + 1 < len(self._levels):
                whole = level.unhanded - level.unhanded % FACTOR
                if whole:
                    self._push(number + 1, _merged(level.hand_up(whole), FACTOR))

    def _end_run(self) -> None:
        """Close the buckets of all levels, so that none spans the gap."""
        for number, level in enumerate(self._levels):
            level.mark_gap()
            if number + 1 < len(self._levels) and level.unhanded:
                self._push(number + 1, _merged(level.hand_up(level.unhanded), FACTOR))


class _Level:
    """The newest buckets in a row: arrays of twice the capacity, whose newer half is moved to the front when full."""

    def __init__(self, curves: int, capacity: int) -> None:
        room = 2 * capacity
        self.capacity = capacity
        self._all = Span(
            np.zeros(room),
            np.zeros(room),
            np.zeros((room, curves), np.float32),
            np.zeros((room, curves), np.float32),
            np.zeros(room, np.bool_),
        )
        self.clear()

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._all)

    def clear(self) -> None:
        self._end = self.unhanded = 0
        self._lost = False

    def append(self, span: Span) -> None:
        """At most half the capacity at once."""
        count = len(span.first_s)
        if self._end + count > 2 * self.capacity:
            self._write(0, self._all.part(self._end - self.capacity, self._end))
            self._end, self._lost = self.capacity, True
        self._write(self._end, span)
        self._end += count
        self.unhanded += count

    def _write(self, begin: int, span: Span) -> None:
        room = self._all.part(begin, begin + len(span.first_s))
        room.first_s[:], room.last_s[:], room.gap[:] = span.first_s, span.last_s, span.gap
        room.low[:], room.high[:] = span.low, span.high

    def hand_up(self, count: int) -> Span:
        """The oldest of what was not yet handed up."""
        begin = self._end - self.unhanded
        self.unhanded -= count
        return self._all.part(begin, begin + count)

    def mark_gap(self) -> None:
        if self._end:
            self._all.gap[self._end - 1] = True

    def kept(self) -> Span:
        return self._all.part(0, self._end)

    def waiting(self) -> Span:
        return self._all.part(self._end - self.unhanded, self._end)

    def reaches(self, time_s: float) -> bool:
        """Whether nothing that was known of that moment, and of what came after it, is gone."""
        return not self._lost or bool(self._all.first_s[0] <= time_s)


def _cut(span: Span, begin_s: float, end_s: float) -> Span:
    first = int(np.searchsorted(span.last_s, begin_s)) - 1
    last = int(np.searchsorted(span.first_s, end_s, side="right")) + 1
    return span.part(max(first, 0), last)


def _merged(span: Span, factor: int) -> Span:
    """Each `factor` buckets as one; the last one of fewer."""
    starts = np.arange(0, len(span.first_s), factor)
    ends = np.append(starts[1:], len(span.first_s)) - 1
    return Span(
        span.first_s[starts],
        span.last_s[ends],
        np.fmin.reduceat(span.low, starts),
        np.fmax.reduceat(span.high, starts),
        span.gap[ends],
    )

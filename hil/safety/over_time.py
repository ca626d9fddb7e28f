"""Margins over time: what a check found at every sample, for whoever draws it; kept only where somebody asks for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray

Samples = npt.NDArray[np.intp]

MOST_STRETCHES = 12
"""Failing stretches that are kept of one limit of one subject: the worst ones."""


class Judged(NamedTuple):
    """One limit of one subject, judged at many samples.

    Attributes:
        check: requirement id.
        subject: joint, pair of bodies, or tool.
        group: limits of one group share a line.
        margins: what is left of the limit, shape (K,), in `unit`; negative where it is not kept.
        samples: sample index of each, shape (K,); None for all samples in order.
        unit: as the user reads it.
        limit: in words.
        nearest: the nearest allowed value, in words.
    """

    check: str
    subject: str
    group: str
    margins: FloatArray
    samples: Samples | None
    unit: str
    limit: str
    nearest: str


class Track(NamedTuple):
    """The smallest margin of a group of limits at every sample.

    Attributes:
        margins: shape (N,), in `unit`; NaN where nothing was judged.
        which: index into `subjects` of the one that the margin is of, shape (N,).
    """

    check: str
    group: str
    unit: str
    subjects: tuple[str, ...]
    margins: FloatArray
    which: npt.NDArray[np.int16]


class Stretch(NamedTuple):
    """Judged samples one after the other at which one limit of one subject is not kept.

    Attributes:
        first, last: samples.
        worst: sample of the smallest margin.
        margin: there, in `unit`.
    """

    check: str
    subject: str
    limit: str
    unit: str
    nearest: str
    first: int
    last: int
    worst: int
    margin: float


class _Growing:
    """A track while limits are added to it."""

    def __init__(self, samples: int) -> None:
        self.margins = np.full(samples, np.inf)
        self.which = np.zeros(samples, dtype=np.int16)
        self.subjects: list[str] = []

    def add(self, subject: str, margins: FloatArray) -> None:
        if subject not in self.subjects:
            self.subjects.append(subject)
        nearer = margins < self.margins
        self.margins[nearer] = margins[nearer]
        self.which[nearer] = self.subjects.index(subject)


class OverTime:
    """Collects what a check of one motion judges.

    Args:
        samples: how many the motion has.
    """

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._tracks: dict[tuple[str, str, str], _Growing] = {}
        self._stretches: list[Stretch] = []

    def take(self, judged: Judged) -> None:
        """One more limit of one subject."""
        margins = judged.margins
        if judged.samples is not None:
            margins = np.full(self._samples, np.inf)
            np.minimum.at(margins, judged.samples, judged.margins)
        # A single sample, such as the rest at the end, is no line.
        if judged.margins.size > 1:
            key = (judged.check, judged.group, judged.unit)
            self._tracks.setdefault(key, _Growing(self._samples)).add(judged.subject, margins)
        if not (judged.margins >= 0.0).all():
            self._stretches += _stretches(judged, margins)

    def tracks(self) -> tuple[Track, ...]:
        """All groups, in the order in which they were judged."""
        return tuple(
            Track(
                check=check,
                group=group,
                unit=unit,
                subjects=tuple(growing.subjects),
                margins=np.where(np.isinf(growing.margins), np.nan, growing.margins),
                which=growing.which,
            )
            for (check, group, unit), growing in self._tracks.items()
        )

    def stretches(self) -> tuple[Stretch, ...]:
        """Where limits are not kept, the earliest first."""
        return tuple(sorted(self._stretches, key=lambda each: (each.first, each.check, each.subject)))


def _stretches(judged: Judged, margins: FloatArray) -> list[Stretch]:
    places = np.flatnonzero(~np.isinf(margins))
    failing = ~(margins[places] >= 0.0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], failing, [False]]).astype(np.int8)))
    found = []
    for begin, end in edges.reshape(-1, 2).tolist():
        inside = places[begin:end]
        worst = int(inside[np.argmin(margins[inside])])
        found.append(
            Stretch(
                check=judged.check,
                subject=judged.subject,
                limit=judged.limit,
                unit=judged.unit,
                nearest=judged.nearest,
                first=int(inside[0]),
                last=int(inside[-1]),
                worst=worst,
                margin=float(margins[worst]),
            )
        )
    return sorted(found, key=lambda each: each.margin)[:MOST_STRETCHES]

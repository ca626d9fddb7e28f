"""A previewed motion over time, in bounded size: what a window needs to draw it and to play it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hil.motion.motion import Mark, Motion
from hil.safety.findings import without_echoes
from hil.safety.over_time import OverTime, Stretch, Track
from hil.service.wire import Failure, Lane, Stage, Timeline

MOST_SAMPLES = 4000
"""More than a minute of motion at 50 Hz sample by sample, and under a megabyte of them."""

MOST_FAILURES = 200
MOST_STAGES = 500
DIGITS = 7
"""Of positions, after the point: a tenth of a micrometre."""

MARGIN_DIGITS = 4

Samples = npt.NDArray[np.intp]


def timeline_of(arm: str, motion: Motion, over_time: OverTime, *, complete: bool) -> Timeline:
    """The timeline of a motion.

    Args:
        arm: its arm's name.
        motion: what was checked.
        over_time: what the check found.
        complete: the motion was planned to its end.
    """
    tracks = over_time.tracks()
    stretches = _worst(without_echoes(over_time.stretches()))
    if not complete:
        # Where planning ended on its way the arm is not at rest, which is no fault of the motion's.
        stretches = tuple(each for each in stretches if each.check != "E-03" or each.first < len(motion) - 1)
    marks = motion.marks[:MOST_STAGES]
    kept = _kept(len(motion), tracks, stretches, marks)
    return Timeline(
        arm=arm,
        name=motion.digest,
        period_s=motion.period_s,
        complete=complete,
        samples=tuple(kept.tolist()),
        positions=tuple(map(tuple, np.round(motion.samples[kept], DIGITS).tolist())),
        lanes=tuple(_lane(track, kept) for track in tracks),
        failures=tuple(_failure(motion, stretch) for stretch in stretches),
        stages=tuple(Stage(first=m.first, last=m.last, place=motion.place(m.last), label=m.label) for m in marks),
    )


def _worst(stretches: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """As many as there is room for, of every limit the worst first; then in order of time."""
    rank: dict[tuple[str, str, str], int] = {}
    ranked = []
    for stretch in sorted(stretches, key=lambda each: each.margin):
        key = (stretch.check, stretch.subject, stretch.limit)
        rank[key] = rank.get(key, -1) + 1
        ranked.append((rank[key], stretch))
    chosen = [stretch for _, stretch in sorted(ranked, key=lambda pair: pair[0])[:MOST_FAILURES]]
    return tuple(sorted(chosen, key=lambda each: each.first))


def _kept(count: int, tracks: tuple[Track, ...], stretches: tuple[Stretch, ...], marks: tuple[Mark, ...]) -> Samples:
    """Numbers of the samples that go into a timeline."""
    if count <= MOST_SAMPLES:
        return np.arange(count)
    needed = [0, count - 1, *(mark.last for mark in marks)]
    for stretch in stretches:
        needed += [stretch.first, stretch.worst, stretch.last]
    failing = np.zeros(count, dtype=bool)
    for track in tracks:
        if np.isfinite(track.margins).any():
            needed.append(int(np.nanargmin(track.margins)))
        failing |= track.margins < 0.0
    kept = np.unique(needed)
    for more in (np.flatnonzero(failing), np.arange(count)):
        kept = np.union1d(kept, _thinned(np.setdiff1d(more, kept), MOST_SAMPLES - len(kept)))
    return kept


def _thinned(samples: Samples, most: int) -> Samples:
    """So many of them, evenly."""
    if len(samples) <= most:
        return samples
    return samples[np.linspace(0, len(samples) - 1, max(most, 0)).astype(np.intp)]


def _lane(track: Track, kept: Samples) -> Lane:
    exact = track.margins[kept]
    margins = np.round(exact, MARGIN_DIGITS)
    margins[(exact < 0.0) & (margins == 0.0)] = -(10.0**-MARGIN_DIGITS)
    return Lane(
        check=track.check,
        name=track.group,
        unit=track.unit,
        subjects=track.subjects,
        margins=tuple(None if value != value else value for value in margins.tolist()),
        which=tuple(track.which[kept].tolist()),
    )


def _failure(motion: Motion, stretch: Stretch) -> Failure:
    return Failure(
        check=stretch.check,
        subject=stretch.subject,
        limit=stretch.limit,
        unit=stretch.unit,
        nearest_allowed=stretch.nearest,
        first=stretch.first,
        last=stretch.last,
        worst=stretch.worst,
        margin=stretch.margin,
        place=motion.place(stretch.worst),
    )

"""What a run amounts to in numbers: tracking per axis, loop timing, bytes on the wire."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.types import JointCommand, JointState, LineAccount, Record, StateSource, TickRecord

HISTOGRAM_EDGES_S = (0.0, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, math.inf)


class Tracking(Record, frozen=True):
    """How far one axis was from its command, in radians or metres, while motion was streamed.

    Attributes:
        worst_simulated, rms_simulated: shadow against the command due at that time; the servo's lag is part of it.
        worst_reported: the controller's report against the same; None if it reported nothing.
        source: how the report was known.
    """

    axis: str
    worst_simulated: float
    rms_simulated: float
    worst_reported: float | None
    source: StateSource | None


class Timing(Record, frozen=True):
    """Lateness of ticks in seconds.

    Attributes:
        histogram: counts between `HISTOGRAM_EDGES_S`.
        overruns: deadlines missed.
    """

    ticks: int
    p50_s: float
    p99_s: float
    worst_s: float
    work_p50_s: float
    overruns: int
    histogram: tuple[int, ...]


class LineQuality(Record, frozen=True):
    """How well a line answered, over all its connections: what `hil.types.LineAccount` counts."""

    questions: int = 0
    late: int = 0
    lost: int = 0
    noise_bytes: int = 0
    wrong_echoes: int = 0

    @property
    def good_percent(self) -> float:
        """Questions that were answered in time with what could be believed."""
        bad = min(self.late + self.lost + self.wrong_echoes, self.questions)
        return 100.0 * (1.0 - bad / self.questions) if self.questions else 100.0

    @property
    def text(self) -> str:
        """One line for the end of a run."""
        if not self.questions:
            return "the line: no question was asked"
        return (
            f"the line: {self.good_percent:.1f} % of {self.questions} questions answered well; {self.late} answers "
            f"late, {self.lost} lost, {self.noise_bytes} bytes without meaning, {self.wrong_echoes} reports that did "
            "not fit what was sent"
        )


class QualityCount:
    """Adds up the accounts that records carry; each connection counts anew."""

    def __init__(self) -> None:
        self._before = LineQuality()
        self._newest = LineAccount()

    def take(self, record: TickRecord) -> None:
        """Take the next record, in order."""
        line = record.line
        if line is None:
            return
        if line.questions < self._newest.questions:
            self._before = self.quality
        self._newest = line

    @property
    def quality(self) -> LineQuality:
        """The figure so far."""
        before, newest = self._before, self._newest
        return LineQuality(
            questions=before.questions + newest.questions,
            late=before.late + newest.late,
            lost=before.lost + newest.lost,
            noise_bytes=before.noise_bytes + newest.noise_bytes,
            wrong_echoes=before.wrong_echoes + newest.wrong_echoes,
        )


def line_quality(records: Iterable[TickRecord]) -> LineQuality:
    """The figure of a session, or of a part of it that begins with a connection."""
    count = QualityCount()
    for record in records:
        count.take(record)
    return count.quality


def timing(late_s: Sequence[float], work_s: Sequence[float], overruns: int) -> Timing:
    """Percentiles and histogram of lateness; `late_s` must not be empty."""
    late, work = np.array(late_s), np.array(work_s or [0.0])
    counts, _ = np.histogram(late, bins=np.array(HISTOGRAM_EDGES_S))
    return Timing(
        ticks=len(late),
        p50_s=float(np.percentile(late, 50)),
        p99_s=float(np.percentile(late, 99)),
        worst_s=float(late.max()),
        work_p50_s=float(np.percentile(work, 50)),
        overruns=overruns,
        histogram=tuple(int(count) for count in counts),
    )


def timing_of(records: Sequence[TickRecord]) -> Timing:
    """Timing of a stretch of ticks, which must not be empty."""
    # Each record carries the work of the tick before it.
    work = [record.work_s for record in records[1:]]
    return timing([record.late_s for record in records], work, records[-1].missed - records[0].missed)


def tracking(rig: Rig, records: Iterable[TickRecord]) -> tuple[Tracking, ...]:
    """Compare what was due with what the shadow and the controller made of it, per axis."""
    due_s: list[float] = []
    commanded: list[tuple[float, ...]] = []
    simulations: list[JointState] = []
    reports: dict[float, JointState] = {}
    for record in records:
        if isinstance(record.sent, JointCommand):
            due_s.append(record.sent.due_s)
            commanded.append(record.sent.positions)
        simulations.append(record.simulated)
        if record.reported is not None:
            reports[record.reported.t_s] = record.reported
    if len(due_s) < 2:
        return ()
    times, targets = np.array(due_s), np.array(commanded)
    simulated_errors = _errors(times, targets, simulations)
    reported_errors = _errors(times, targets, list(reports.values()))
    source = next((report.source for report in reports.values()), None)
    return tuple(
        Tracking(
            axis=axis.name,
            worst_simulated=float(np.abs(simulated).max(initial=0.0)),
            rms_simulated=float(np.sqrt(np.mean(simulated**2))) if simulated.size else 0.0,
            worst_reported=float(np.abs(reported).max()) if reported.size else None,
            source=source,
        )
        for axis, simulated, reported in zip(rig.axes, simulated_errors, reported_errors, strict=True)
    )


def _errors(times: FloatArray, targets: FloatArray, states: Sequence[JointState]) -> list[FloatArray]:
    """Per axis, state minus the command due at its time, for known states within the span of the commands."""
    at = np.array([state.t_s for state in states])
    # A position that is not known becomes NaN.
    positions = np.array([state.positions for state in states], dtype=float).reshape(len(states), targets.shape[1])
    within = (times[0] <= at) & (at <= times[-1])
    errors = []
    for axis in range(targets.shape[1]):
        known = within & ~np.isnan(positions[:, axis])
        errors.append(positions[known, axis] - np.interp(at[known], times, targets[:, axis]))
    return errors

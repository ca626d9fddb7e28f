"""A journal as columns: one row a tick, in degrees and millimetres, NaN where nothing is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.errors import JournalError
from hil.link import FloatArray
from hil.model.rig import AxisKind
from hil.runtime.journal import GapRecord, SessionRecord, read_journal
from hil.types import EnergiseCommand, JointCommand, Mode, StateSource, TickRecord
from hil.units import DEG, MM


@dataclass(frozen=True, eq=False)
class AxisColumns:
    """One axis over all rows, each array of shape (N,), in `unit`.

    Attributes:
        name: the axis's name in the rig.
        unit: ``deg`` or ``mm``.
        commanded: what was due at the row's time by the commands that were sent: straight between two of them, held
            after the last. NaN before the first, after a freeze, and after a gap in the journal.
        setpoint: what the simulated controller's own interpolation had reached.
        simulated: the simulated arm, servo lag included.
        reported: newest report of the controller at the row's time.
        error: `reported` minus what was due when the report was made.
        simulated_error: `simulated` minus `commanded`.
        lower, upper: hard limits of the rig.
        divergence: band within which all of these have to agree while motion is streamed.
    """

    name: str
    unit: str
    commanded: FloatArray
    setpoint: FloatArray
    simulated: FloatArray
    reported: FloatArray
    error: FloatArray
    simulated_error: FloatArray
    lower: float
    upper: float
    divergence: float


@dataclass(frozen=True, eq=False)
class Words:
    """Something that was said at a tick."""

    row: int
    time_s: float
    text: str


@dataclass(frozen=True, eq=False)
class JournalColumns:
    """All ticks of a journal, one row each.

    Attributes:
        session: the journal's first record.
        tick: running numbers; a step of more than one is a gap in the journal.
        time_s: seconds since the session began.
        monotonic_s, epoch_s: the same moment on the loop's clock and since 1970.
        mode: mode at the end of the tick.
        sample: index of the motion sample that was asked for; NaN where none was.
        late_ms: how late the tick began.
        missed: deadlines missed so far.
        received_bytes, written_bytes: on the line in this tick.
        source: how the report is known; None where there is none.
        report_age_ms: how old the report is.
        words: events, limits that bit, failures of the line, and gaps.
        row_after_gap: rows before which ticks are missing.
    """

    session: SessionRecord
    tick: FloatArray
    time_s: FloatArray
    monotonic_s: FloatArray
    epoch_s: FloatArray
    mode: tuple[Mode, ...]
    sample: FloatArray
    late_ms: FloatArray
    missed: FloatArray
    received_bytes: FloatArray
    written_bytes: FloatArray
    source: tuple[StateSource | None, ...]
    report_age_ms: FloatArray
    axes: tuple[AxisColumns, ...]
    words: tuple[Words, ...]
    row_after_gap: tuple[int, ...]

    @property
    def title(self) -> str:
        """FAKE or REAL, rig, and when."""
        return f"{self.session.wiring.value} {self.session.rig_id}"


class _Due:
    """What was due at which time: corners of a line per axis, from the commands as they were sent."""

    def __init__(self, count: int) -> None:
        self._unknown = (math.nan,) * count
        self._times: list[float] = []
        self._corners: list[tuple[float, ...]] = []

    def take(self, record: TickRecord) -> None:
        """Note what a tick sent, or that it froze the arm."""
        if record.mode in (Mode.FAULT, Mode.ESTOP):
            self.forget(record.t_s)
        elif isinstance(record.sent, EnergiseCommand):
            self._hold_until(record.t_s)
            pose = list(self._corners[-1])
            pose[record.sent.axis] = record.sent.position
            self._add(record.t_s, tuple(pose))
        elif isinstance(record.sent, JointCommand):
            self._hold_until(record.t_s)
            self._add(record.sent.due_s, record.sent.positions)

    def forget(self, t_s: float) -> None:
        """Nothing is known from `t_s` on; what was sent for later is thrown away."""
        if not self._times or all(map(math.isnan, self._corners[-1])):
            return
        last = tuple(self.at(np.array([t_s]))[0].tolist())
        while self._times and self._times[-1] >= t_s:
            self._times.pop()
            self._corners.pop()
        self._add(t_s, last)
        self._add(t_s, self._unknown)

    def at(self, t_s: FloatArray) -> FloatArray:
        """Positions due at each time, shape (N, axes)."""
        result = np.full((len(t_s), len(self._unknown)), math.nan)
        if not self._times:
            return result
        corners = np.array(self._corners)
        after = np.searchsorted(self._times, t_s, side="right")
        known = after > 0
        low = np.maximum(after - 1, 0)
        high = np.minimum(after, len(self._times) - 1)
        times = np.array(self._times)
        span = times[high] - times[low]
        part = np.divide(t_s - times[low], span, out=np.zeros(len(t_s)), where=span > 0.0)[:, None]
        way = corners[high] - corners[low]
        # At a corner itself the corner counts, even if nothing is known of the next one.
        between = corners[low] + np.where(part > 0.0, part * way, 0.0)
        result[known] = between[known]
        return result

    def _hold_until(self, t_s: float) -> None:
        if not self._times:
            self._add(t_s, self._unknown)
        elif self._times[-1] < t_s:
            self._add(t_s, self._corners[-1])

    def _add(self, t_s: float, pose: tuple[float, ...]) -> None:
        self._times.append(t_s)
        self._corners.append(pose)


def read_columns(path: Path) -> JournalColumns:
    """Read a whole journal into columns; one that was cut gives what is whole.

    Raises:
        JournalError: it cannot be read, holds no tick, or its rig makes no sense.
    """
    entries = read_journal(path)
    first = next(entries, None)
    if first is None or first.session is None:
        raise JournalError(f"{path}: not even the session record is whole; there is nothing in this journal")
    session = first.session
    axes = _axes(session, path)
    due = _Due(len(axes))
    ticks: list[TickRecord] = []
    words: list[Words] = []
    gaps: list[int] = []
    for entry in entries:
        if entry.tick is not None:
            _require_axes(entry.tick, len(axes), path)
            due.take(entry.tick)
            words += _said(entry.tick, len(ticks), session)
            ticks.append(entry.tick)
        elif entry.gap is not None:
            due.forget(ticks[-1].t_s if ticks else session.t_s)
            gaps.append(len(ticks))
            words.append(_gap_words(entry.gap, len(ticks), session))
    if not ticks:
        raise JournalError(f"{path}: the session was recorded, but not a single tick of it")
    return _columns(session, axes, ticks, due, words, gaps)


def _axes(session: SessionRecord, path: Path) -> list[tuple[str, AxisKind, dict[str, float]]]:
    try:
        return [
            (str(axis["name"]), AxisKind(axis["kind"]), {key: float(axis[key]) for key in _AXIS_NUMBERS})
            for axis in session.rig["axes"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{path}: the rig in its session record cannot be understood: {error!r}") from None


_AXIS_NUMBERS = ("lower", "upper", "divergence")


def _require_axes(record: TickRecord, count: int, path: Path) -> None:
    rows = {"simulated": record.simulated.positions, "setpoint": record.setpoint}
    if record.reported is not None:
        rows["reported"] = record.reported.positions
    if isinstance(record.sent, JointCommand):
        rows["sent"] = record.sent.positions
    for name, values in rows.items():
        if len(values) != count:
            raise JournalError(f"{path}: tick {record.tick}: {len(values)} {name} positions; its rig has {count} axes")


def _said(record: TickRecord, row: int, session: SessionRecord) -> Iterator[Words]:
    time_s = record.t_s - session.t_s
    for event in record.events:
        yield Words(row, time_s, event)
    for hit in record.hits:
        yield Words(row, time_s, f"limit [{hit.check}] bit on {hit.axis}")
    for failure in record.failures:
        yield Words(row, time_s, f"line: {failure.call} failed: {failure.message}")


def _gap_words(gap: GapRecord, row: int, session: SessionRecord) -> Words:
    count = gap.last - gap.first + 1
    return Words(row, gap.t_s - session.t_s, f"gap: {count} ticks from {gap.first} on are missing: {gap.reason}")


def _columns(
    session: SessionRecord,
    axes: list[tuple[str, AxisKind, dict[str, float]]],
    ticks: list[TickRecord],
    due: _Due,
    words: list[Words],
    gaps: list[int],
) -> JournalColumns:
    t_s = np.array([record.t_s for record in ticks])
    report_s = np.array([math.nan if r.reported is None else r.reported.t_s for r in ticks])
    nothing = (None,) * len(axes)
    commanded, due_at_report = due.at(t_s), due.at(np.nan_to_num(report_s, nan=-math.inf))
    setpoint = _rows(ticks, lambda record: record.setpoint)
    simulated = _rows(ticks, lambda record: record.simulated.positions)
    reported = _rows(ticks, lambda record: nothing if record.reported is None else record.reported.positions)

    def axis_columns(i: int) -> AxisColumns:
        name, kind, numbers = axes[i]
        unit, factor = ("deg", 1.0 / DEG) if kind is AxisKind.REVOLUTE else ("mm", 1.0 / MM)
        return AxisColumns(
            name=name,
            unit=unit,
            commanded=commanded[:, i] * factor,
            setpoint=setpoint[:, i] * factor,
            simulated=simulated[:, i] * factor,
            reported=reported[:, i] * factor,
            error=(reported[:, i] - due_at_report[:, i]) * factor,
            simulated_error=(simulated[:, i] - commanded[:, i]) * factor,
            **{key: value * factor for key, value in numbers.items()},
        )

    return JournalColumns(
        session=session,
        tick=_numbers(ticks, lambda record: record.tick),
        time_s=t_s - session.start_monotonic_s,
        monotonic_s=t_s,
        epoch_s=t_s + (session.start_epoch_s - session.start_monotonic_s),
        mode=tuple(record.mode for record in ticks),
        sample=_numbers(ticks, lambda record: math.nan if record.sample is None else record.sample),
        late_ms=_numbers(ticks, lambda record: record.late_s * 1e3),
        missed=_numbers(ticks, lambda record: record.missed),
        received_bytes=_numbers(ticks, lambda record: len(record.received)),
        written_bytes=_numbers(ticks, lambda record: len(record.written)),
        source=tuple(None if record.reported is None else record.reported.source for record in ticks),
        report_age_ms=(t_s - report_s) * 1e3,
        axes=tuple(axis_columns(i) for i in range(len(axes))),
        words=tuple(words),
        row_after_gap=tuple(gaps),
    )


def _numbers(ticks: list[TickRecord], of: Callable[[TickRecord], float]) -> FloatArray:
    return np.array([of(record) for record in ticks], dtype=np.float64)


def _rows(ticks: list[TickRecord], of: Callable[[TickRecord], Sequence[Any]]) -> FloatArray:
    """Positions per tick, shape (N, axes); None becomes NaN."""
    return np.array([of(record) for record in ticks], dtype=np.float64)

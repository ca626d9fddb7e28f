"""A journal as columns: one row a tick, in degrees and millimetres, NaN where nothing is known."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hil.errors import JournalError, LinkOpening
from hil.link import FloatArray
from hil.model.rig import AxisKind
from hil.runtime.journal import GapRecord, SessionRecord, read_journal
from hil.types import EnergiseCommand, JointCommand, Mode, StateSource, TickRecord
from hil.units import DEG, MM

EDGE_S = 1e-6
"""A tick this near outside a stretch of time counts as in it."""


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

    def _repr_html_(self) -> str:
        from hil.figures import notebook
        from hil.figures.looks import SIGNALS

        panels = [
            notebook.Panel(
                f"{axis.name}, {axis.unit}",
                tuple(notebook.Trace(name, getattr(axis, name), style) for name, style in SIGNALS.items()),
            )
            for axis in self.axes
        ]
        said = ([f"{words.time_s:.2f}", words.text] for words in self.words)
        return notebook.page(
            notebook.over_time(self.title, self.time_s, panels), notebook.table(("time, s", "what"), said)
        )

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


def read_columns(path: Path, most: int | None = None) -> JournalColumns:
    """Read a whole journal into columns; one that was cut gives what is whole.

    Args:
        path: the journal. One that is being written ends where it ends now.
        most: read only so many records; None for all.

    Raises:
        JournalError: it cannot be read, holds no tick, or its rig makes no sense.
    """
    entries = islice(read_journal(path), most)
    first = next(entries, None)
    if first is None or first.session is None:
        raise JournalError(f"{path}: not even the session record is whole; there is nothing in this journal")
    session = first.session
    axes = _axes(session, path)
    rows = _Rows(session, len(axes))
    for entry in entries:
        if entry.tick is not None:
            _require_axes(entry.tick, len(axes), path)
            rows.add(entry.tick)
        elif entry.gap is not None:
            rows.skip(entry.gap)
    if not rows.modes:
        raise JournalError(f"{path}: the session was recorded, but not a single tick of it")
    return _columns(session, axes, rows)


class _Rows:
    """Collects the numbers of each tick, and lets go of the rest: an hour's records would not fit a small board."""

    def __init__(self, session: SessionRecord, count: int) -> None:
        self._session = session
        self._nothing = (math.nan,) * count
        self._numbers, self._positions = (
            array("d"),
            {name: array("d") for name in ("setpoint", "simulated", "reported")},
        )
        self.due = _Due(count)
        self.modes: list[Mode] = []
        self.sources: list[StateSource | None] = []
        self.words: list[Words] = []
        self.gaps: list[int] = []

    def add(self, record: TickRecord) -> None:
        """Take one tick."""
        self.due.take(record)
        self.words += _said(record, len(self.modes), self._session)
        reported = record.reported
        self._numbers.extend(
            (
                record.tick,
                record.t_s,
                math.nan if record.sample is None else record.sample,
                record.late_s,
                record.missed,
                len(record.received),
                len(record.written),
                math.nan if reported is None else reported.t_s,
            )
        )
        self._take("setpoint", record.setpoint)
        self._take("simulated", record.simulated.positions)
        self._take("reported", self._nothing if reported is None else reported.positions)
        self.modes.append(record.mode)
        self.sources.append(None if reported is None else reported.source)

    def skip(self, gap: GapRecord) -> None:
        """Ticks are missing; what was due in them is not known."""
        self.due.forget(self._numbers[-_NUMBERS + 1] if self.modes else self._session.t_s)
        self.words.append(_gap_words(gap, len(self.modes), self._session))
        self.gaps.append(len(self.modes))

    def numbers(self) -> FloatArray:
        """The numbers of `add` in their order, shape (8, N)."""
        return np.frombuffer(self._numbers).reshape(-1, _NUMBERS).T

    def positions(self, name: str) -> FloatArray:
        """Positions per tick, shape (N, axes), radians or metres."""
        return np.frombuffer(self._positions[name]).reshape(len(self.modes), -1)

    def _take(self, name: str, positions: Sequence[float | None]) -> None:
        self._positions[name].extend(math.nan if value is None else value for value in positions)


_NUMBERS = 8


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
        if failure.kind != LinkOpening.__name__:  # tick after tick, and no failure: an event tells it once
            yield Words(row, time_s, f"line: {failure.call} failed: {failure.message}")


def _gap_words(gap: GapRecord, row: int, session: SessionRecord) -> Words:
    count = gap.last - gap.first + 1
    return Words(row, gap.t_s - session.t_s, f"gap: {count} ticks from {gap.first} on are missing: {gap.reason}")


def _columns(session: SessionRecord, axes: list[tuple[str, AxisKind, dict[str, float]]], rows: _Rows) -> JournalColumns:
    tick, t_s, sample, late_s, missed, received, written, report_s = rows.numbers()
    commanded, due_at_report = rows.due.at(t_s), rows.due.at(np.nan_to_num(report_s, nan=-math.inf))
    setpoint, simulated, reported = (rows.positions(name) for name in ("setpoint", "simulated", "reported"))

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
        tick=tick,
        time_s=t_s - session.start_monotonic_s,
        monotonic_s=t_s,
        epoch_s=t_s + (session.start_epoch_s - session.start_monotonic_s),
        mode=tuple(rows.modes),
        sample=sample,
        late_ms=late_s * 1e3,
        missed=missed,
        received_bytes=received,
        written_bytes=written,
        source=tuple(rows.sources),
        report_age_ms=(t_s - report_s) * 1e3,
        axes=tuple(axis_columns(i) for i in range(len(axes))),
        words=tuple(rows.words),
        row_after_gap=tuple(rows.gaps),
    )


def cut_out(columns: JournalColumns, first_s: float, last_s: float) -> JournalColumns:
    """The rows from one time since the session began to another.

    Raises:
        JournalError: there is none.
    """
    low, high = (int(i) for i in np.searchsorted(columns.time_s, (first_s - EDGE_S, last_s + EDGE_S)))
    if low >= high:
        raise JournalError(
            f"no tick between {first_s:g} and {last_s:g} s; the journal goes from {columns.time_s[0]:.2f} to "
            f"{columns.time_s[-1]:.2f} s"
        )

    def part(table: Any) -> dict[str, Any]:
        return {
            field.name: getattr(table, field.name)[low:high]
            for field in fields(table)
            if isinstance(getattr(table, field.name), np.ndarray)
        }

    return replace(
        columns,
        **part(columns),
        mode=columns.mode[low:high],
        source=columns.source[low:high],
        axes=tuple(replace(axis, **part(axis)) for axis in columns.axes),
        words=tuple(replace(said, row=said.row - low) for said in columns.words if low <= said.row < high),
        row_after_gap=tuple(row - low for row in columns.row_after_gap if low < row < high),
    )

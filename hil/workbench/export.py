"""A journal for other programs: CSV, MATLAB, JSON lines, and an MCAP file with a channel that is easy to plot.

Every value keeps its unit in its name; what is not known is empty, NaN or null, never zero.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from hil.errors import JournalError, MissingExtraError
from hil.link import FloatArray
from hil.version import software_version
from hil.workbench.columns import JournalColumns, Words, read_columns

BLOCK = 4096
LONGEST_NAME = 63
"""Of a variable in MATLAB."""


class Format(Enum):
    """What a journal can become."""

    CSV = "csv"
    MAT = "mat"
    JSONL = "jsonl"
    MCAP = "mcap"


class Decimal(Enum):
    """Decimal mark of a CSV file."""

    COMMA = "comma"
    POINT = "point"


class _Column(NamedTuple):
    """A number per row, or a word where `names` gives words for 1, 2 and so on."""

    values: FloatArray
    whole: bool = False
    names: tuple[str, ...] = ()

    def cells(self) -> Iterator[str | float | int | None]:
        """Values as Python has them: words, whole numbers, numbers, or None where nothing is known."""
        for value in _floats(self.values):
            if math.isnan(value):
                yield None
            elif self.names:
                yield self.names[int(value) - 1]
            else:
                yield int(value) if self.whole else value


def _floats(values: FloatArray) -> Iterator[float]:
    """The values as Python's own numbers, a block at a time: all of them at once would not fit a small board."""
    for first in range(0, len(values), BLOCK):
        yield from values[first : first + BLOCK].tolist()


class _Table(NamedTuple):
    """What every format is written from.

    Attributes:
        loop: columns by name that are not of an axis.
        axes: per axis, columns by what they are, unit included.
        words: per row, what was said.
        journal: what the table was made of.
    """

    loop: dict[str, _Column]
    axes: dict[str, dict[str, _Column]]
    words: list[str]
    journal: JournalColumns

    def flat(self) -> dict[str, _Column]:
        """All columns, those of an axis under its name."""
        return self.loop | {
            f"{name}_{what}": column for name, columns in self.axes.items() for what, column in columns.items()
        }


def export(
    journal: Path,
    to: Format,
    output: Path,
    *,
    decimal: Decimal = Decimal.POINT,
    every: int = 1,
    most: int | None = None,
) -> int:
    """Write a journal in another format.

    Args:
        journal: the journal, which may be unfinished.
        to: the format.
        output: a new file.
        decimal: decimal mark of a CSV file; with a comma, columns are separated by semicolons.
        every: keep one tick in so many. Bytes are then added up, lateness is the worst, and events are kept.
        most: take only so many records of the journal, those that were verified; None for all.

    Returns:
        Number of rows written.

    Raises:
        JournalError: the journal cannot be read, or the output exists or cannot be written.
        HilError: a library that the format needs is missing.
    """
    if every < 1:
        raise JournalError(f"every {every} ticks given; allowed: 1 or more")
    if output.exists():
        raise JournalError(f"{output}: exists already; name another file with -o, or remove it")
    table = _table(read_columns(journal, most), every)
    try:
        if to is Format.CSV:
            # The mark at its beginning tells a spreadsheet that the file is UTF-8.
            with output.open("x", newline="", encoding="utf-8-sig" if decimal is Decimal.COMMA else "utf-8") as text:
                _write_csv(text, table, decimal)
        elif to is Format.JSONL:
            with output.open("x", encoding="utf-8") as text:
                _write_jsonl(text, table)
        elif to is Format.MAT:
            _write_mat(output, table)
        else:
            with output.open("xb") as file:
                _write_mcap(file, table)
    except OSError as error:
        output.unlink(missing_ok=True)
        raise JournalError(f"{output}: cannot be written: {error.strerror}") from None
    return len(table.words)


# -- the table -------------------------------------------------------------------------------------------


def _table(columns: JournalColumns, every: int) -> _Table:
    rows = np.arange(0, len(columns.tick), every)
    modes, sources = _codes(columns.mode), _codes(columns.source)
    loop = {
        "time_s": _Column(columns.time_s[rows]),
        "epoch_s": _Column(columns.epoch_s[rows]),
        "monotonic_s": _Column(columns.monotonic_s[rows]),
        "tick": _Column(columns.tick[rows], whole=True),
        "mode": _Column(modes[0][rows], names=modes[1]),
        "sample": _Column(columns.sample[rows], whole=True),
        "late_ms": _Column(np.maximum.reduceat(columns.late_ms, rows)),
        "missed_deadlines": _Column(columns.missed[rows], whole=True),
        "received_bytes": _Column(np.add.reduceat(columns.received_bytes, rows), whole=True),
        "written_bytes": _Column(np.add.reduceat(columns.written_bytes, rows), whole=True),
        "reported_how": _Column(sources[0][rows], names=sources[1]),
        "reported_age_ms": _Column(columns.report_age_ms[rows]),
    }
    names = plain_names([axis.name for axis in columns.axes])
    axes = {
        name: {f"{what}_{axis.unit}": _Column(getattr(axis, what)[rows]) for what in _PER_AXIS}
        for name, axis in zip(names, columns.axes, strict=True)
    }
    return _Table(loop, axes, _words_by_row(columns.words, every, len(rows)), columns)


_PER_AXIS = ("commanded", "setpoint", "simulated", "reported", "error", "simulated_error")


def plain_names(names: Sequence[str]) -> list[str]:
    """Names that any program takes: letters, digits and underscores, starting with a letter, all different."""
    room = LONGEST_NAME - len("_simulated_error_deg") - 3
    plain: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_")
        word = (word if word[:1].isalpha() else f"axis_{word}")[:room].rstrip("_")
        numbered = (f"{word}_{i}" for i in count(2))
        plain.append(next(name for name in chain([word], numbered) if name not in plain))
    return plain


def _codes(values: Sequence[Enum | None]) -> tuple[FloatArray, tuple[str, ...]]:
    """Numbers from 1 for the words of a column, NaN for none, and the words."""
    words = list(dict.fromkeys(value.value for value in values if value is not None))
    number = {word: float(i) for i, word in enumerate(words, 1)}
    return np.array([math.nan if v is None else number[v.value] for v in values]), tuple(words)


def _words_by_row(words: Sequence[Words], every: int, rows: int) -> list[str]:
    """Words of each row; those of rows that are left out stand in the last row before them."""
    found: list[list[str]] = [[] for _ in range(rows)]
    for said in words:
        found[min(said.row // every, rows - 1)].append(said.text)
    return [" | ".join(" ".join(text.split()) for text in texts) for texts in found]


# -- the formats -----------------------------------------------------------------------------------------


def _write_csv(file: IO[str], table: _Table, decimal: Decimal) -> None:
    comma = decimal is Decimal.COMMA
    columns = table.flat()
    writer = csv.writer(file, delimiter=";" if comma else ",")
    writer.writerow([*columns, "events"])

    def text(cell: str | float | int | None) -> str:
        if cell is None:
            return ""  # a spreadsheet draws a word such as NaN as zero
        if not isinstance(cell, float):
            return str(cell)
        shown = f"{round(cell, 6) + 0.0:.6f}"  # adding zero turns -0.0 into 0.0
        return shown.replace(".", ",") if comma else shown

    for *cells, said in zip(*(column.cells() for column in columns.values()), table.words, strict=True):
        writer.writerow([*map(text, cells), said])


def _write_jsonl(file: IO[str], table: _Table) -> None:
    columns = table.flat()
    names = [*columns, "events"]
    for row in zip(*(column.cells() for column in columns.values()), table.words, strict=True):
        file.write(json.dumps(dict(zip(names, row, strict=True)), allow_nan=False) + "\n")


def _write_mat(output: Path, table: _Table) -> None:
    """Version 5 of the format, which MATLAB and Octave read: one column vector a name, words as codes and a list."""
    try:
        from scipy.io import savemat
    except ImportError:
        raise MissingExtraError(
            "a MAT file", "export", "Or export to csv, which MATLAB reads with readtable", needs="needs"
        ) from None
    content: dict[str, Any] = {}
    for name, column in table.flat().items():
        content[name] = column.values
        if column.names:
            content[f"{name}_names"] = _cell_array(column.names)
    session, said = table.journal.session, table.journal.words
    content["event_time_s"] = np.array([words.time_s for words in said])
    content["event_text"] = _cell_array([words.text for words in said])
    content["session"] = {
        "wiring": session.wiring.value,
        "rig": session.rig_id,
        "rig_digest": session.rig_digest,
        "port": session.port,
        "software_version": session.software_version,
        "start_epoch_s": session.start_epoch_s,
        "axes": _cell_array([axis.name for axis in table.journal.axes]),
        "units": _cell_array([axis.unit for axis in table.journal.axes]),
    }
    with output.open("xb") as file:
        savemat(file, content, oned_as="column", long_field_names=True, do_compression=True)


def _cell_array(texts: Sequence[str]) -> np.ndarray:
    cells = np.empty((len(texts), 1), dtype=object)
    for i, text in enumerate(texts):
        cells[i, 0] = text
    return cells


def _write_mcap(file: IO[bytes], table: _Table) -> None:
    """A file made for plotting: with an index, axes by name, degrees and millimetres, events as a log."""
    from mcap.writer import Writer

    session = table.journal.session
    writer: Any = Writer(file)  # its annotations are incomplete
    writer.start(profile="hil-plot", library=f"hil {software_version()}")
    axes_channel = _channel(
        writer,
        "axes",
        "hil.axes",
        {name: {"type": "object", "properties": _types(columns)} for name, columns in table.axes.items()},
    )
    loop_channel = _channel(writer, "loop", "hil.loop", _types(table.loop))
    log_channel = _channel(writer, "events", "foxglove.Log", _LOG)
    offset_ns = _nanoseconds(session.start_epoch_s) - _nanoseconds(session.start_monotonic_s)

    def add(channel: int, monotonic_s: float, data: Any) -> None:
        publish_ns = max(0, _nanoseconds(monotonic_s))
        text = json.dumps(data, allow_nan=False).encode()
        log_ns = max(0, publish_ns + offset_ns)
        writer.add_message(channel_id=channel, log_time=log_ns, publish_time=publish_ns, data=text)

    loop = _row_by_row(table.loop)
    axes = [(name, list(columns), _row_by_row(columns)) for name, columns in table.axes.items()]
    for now_s, row in zip(_floats(table.loop["monotonic_s"].values), loop, strict=True):
        add(axes_channel, now_s, {name: dict(zip(what, next(cells), strict=True)) for name, what, cells in axes})
        add(loop_channel, now_s, dict(zip(table.loop, row, strict=True)))
    for said in table.journal.words:
        now_s = session.start_monotonic_s + said.time_s
        seconds, nanoseconds = divmod(max(0, _nanoseconds(now_s) + offset_ns), 10**9)
        stamp = {"sec": seconds, "nsec": nanoseconds}
        add(log_channel, now_s, {"timestamp": stamp, "level": _INFO, "message": said.text, "name": session.rig_id})
    writer.finish()


_INFO = 2
_LOG = {
    "timestamp": {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}},
    "level": {"type": "integer"},
    "message": {"type": "string"},
    "name": {"type": "string"},
}
"""As much of Foxglove's own log message as is known here."""


def _row_by_row(columns: Mapping[str, _Column]) -> Iterator[tuple[str | float | int | None, ...]]:
    return zip(*(column.cells() for column in columns.values()), strict=True)


def _channel(writer: Any, topic: str, schema: str, properties: Mapping[str, Any]) -> int:
    content = json.dumps({"title": schema, "type": "object", "properties": properties}).encode()
    channel: int = writer.register_channel(topic, "json", writer.register_schema(schema, "jsonschema", content))
    return channel


def _types(columns: Mapping[str, _Column]) -> dict[str, Any]:
    return {name: {"type": "string" if column.names else "number"} for name, column in columns.items()}


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)

"""Programs as texts with places: what to colour, their list of positions, and what a run of them did."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.lessons.numbers import typed_number
from hil.types import Record
from hil.units import DEG

WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        MOV MVS MVR MVR2 MVR3 MVC DLY OVRD SPD JOVRD ACCEL CNT FINE HOPEN HCLOSE GOTO GOSUB RETURN IF THEN ELSE ENDIF
        FOR TO STEP NEXT WHILE WEND SELECT CASE BREAK DEFAULT END HLT WAIT DEF POS JNT PLT ACT INTE FLOAT DOUBLE CHAR IO
        ARC TOOL BASE SERVO ON OFF OPEN CLOSE PRINT INPUT CALLP FPRM CLR DIM WTH WTHIF AND OR NOT XOR MOD SKIP
        """,
    )
)
"""Words of MELFA-BASIC that are coloured."""

SYSTEM_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        P_CURR J_CURR P_FBC J_FBC P_TOOL P_BASE P_SAFE P_ZERO J_ZERO P_NTOOL P_NBASE M_IN M_INB M_INW M_OUT M_OUTB
        M_OUTW M_SPD M_OVRD M_JOVRD M_OPOVRD M_RSPD M_RATIO M_LINE M_SVO M_ERR M_RUN M_WAI M_PSA M_SKIPCQ M_TIMER
        M_HNDCQ M_OPEN M_PI M_EXP M_G M_ON M_OFF M_NOVRD M_NJOVRD M_NSPD C_PRG C_TIME C_DATE
        """,
    )
)
"""System variables that are offered."""

PARTS = re.compile(
    r"(?P<comment>'.*$|\bREM\b.*$)|(?P<text>\"[^\"]*\"?)|(?P<label>\*\w+)|(?P<word>[A-Z][A-Z0-9]*\b(?![_%$(]))"
    r"|(?P<name>[A-Z]\w*)|(?P<number>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
TASK_PARTS = re.compile(
    r"(?P<comment>#.*$)|(?P<text>\"[^\"]*\"?)|(?P<label>^\s*\[.*\])|(?P<word>^\s*\w+(?=\s*=))|(?P<number>-?\d+(?:\.\d+)?)"
)
_POINT = re.compile(
    r"\s*DEF\s+POS\s+(?P<name>P\w{0,7})\s*=\s*\((?P<numbers>[^)]*)\)\s*(?P<flags>\([^)]*\))?\s*", re.IGNORECASE
)
_NAME = re.compile(r"P\w{0,7}", re.IGNORECASE)
_INPUT = re.compile(r"\d{1,5}=[01](?:@\d+(?:\.\d+)?)?", re.ASCII)
AXES = ("X", "Y", "Z", "A", "B", "C")
FLAGS = "(6,0)"
FARTHEST = 10_000.0
NEAR = 0.005
"""Positions that differ by less are the same one, millimetres and degrees: lists have two decimals."""


class Span(NamedTuple):
    """A part of a line that is coloured: where, how long, and as what."""

    start: int
    length: int
    kind: str


def spans(line: str, language: str) -> Iterator[Span]:
    """What to colour in a line of a program, or of a task."""
    for found in (PARTS if language == "melfa" else TASK_PARTS).finditer(line):
        kind = str(found.lastgroup)
        if language == "melfa" and kind in ("word", "name"):
            kind = "word" if found.group().upper() in WORDS else "name"
        yield Span(found.start(), len(found.group()), kind)


def labels(text: str) -> list[str]:
    """Labels that stand in a program, with their star."""
    return [span.group() for span in re.finditer(r"\*[A-Za-z]\w*", text)]


def variables_of(text: str) -> list[str]:
    """Names that a program defines, or gives a value."""
    defined = re.findall(r"\b(?:DEF\s+\w+|DIM)\s+([A-Z]\w*[%&!#$]?)", text, re.IGNORECASE)
    return [*defined, *re.findall(r"(?:^|\s)([A-Z]\w*[%&!#$]?)(?:\([^)\n]*\))?\s*=", text, re.IGNORECASE)]


class Place(Record, frozen=True):
    """One position of a list, as texts: six numbers, millimetres and degrees."""

    name: str
    numbers: tuple[str, ...]
    flags: str = FLAGS


class PlaceList(NamedTuple):
    """A list of positions.

    Attributes:
        places: positions of the six numbers that a table shows.
        rest: other lines, as they are: joint sets, arrays, comments.
    """

    places: tuple[Place, ...]
    rest: tuple[str, ...] = ()


def read_places(text: str) -> PlaceList:
    """A list of positions; whether its other lines are any good is left to the check of the program."""
    found, rest = [], []
    for line in text.splitlines():
        match = _POINT.fullmatch(line)
        numbers = [] if match is None else [part.strip() for part in match["numbers"].split(",")]
        if match is None or len(numbers) > len(AXES):
            rest.append(line)
            continue
        numbers = [number or "0" for number in numbers] + ["0"] * (len(AXES) - len(numbers))
        found.append(Place(match["name"], tuple(numbers), match["flags"] or FLAGS))
    return PlaceList(tuple(found), tuple(line for line in rest if line.strip()))


def places_text(places: Iterable[Place], rest: Iterable[str] = ()) -> str:
    """The list as its file has it.

    Raises:
        CommandError: a name or a number is none; it says of which position.
    """
    lines, seen = [], set()
    for place in places:
        if not _NAME.fullmatch(place.name):
            raise CommandError(f"position {place.name!r}: allowed: P and up to seven letters and digits")
        if place.name.upper() in seen:
            raise CommandError(f"position {place.name}: the name is there twice; allowed: another name")
        seen.add(place.name.upper())
        numbers = [
            typed_number(text, f"position {place.name}, {axis}", -FARTHEST, FARTHEST)
            for axis, text in zip(AXES, place.numbers, strict=True)
        ]
        lines.append(f"DEF POS {place.name}=({','.join(map(_written, numbers))}){place.flags}\n")
    return "".join([*lines, *(f"{line}\n" for line in rest)])


def _written(value: float) -> str:
    """With two decimals, as lists have them, or with all that somebody gave."""
    text = f"{value:z.2f}"
    return text if float(text) == value else f"{value:.12g}"


def inputs_of(text: str) -> list[str]:
    """Inputs that a run assumes, with blanks between, as ``hil program --input`` takes each.

    Raises:
        CommandError: one of them cannot be read.
    """
    parts = text.split()
    for part in parts:
        if not _INPUT.fullmatch(part):
            raise CommandError(
                f"{part!r} given; allowed: N=0 or N=1, from S seconds on with @S, such as 8=1@2.5; blanks between",
                value=part,
            )
    return parts


def twice(places: Sequence[Place]) -> list[tuple[str, str]]:
    """Names of positions that are the same place."""
    values = [[float(text) for text in place.numbers] for place in places]
    return [
        (places[one].name, places[other].name)
        for one in range(len(places))
        for other in range(one + 1, len(places))
        if np.abs(np.subtract(values[one], values[other])).max() < NEAR
    ]


class Merged(NamedTuple):
    """Positions that were there twice, sorted out.

    Attributes:
        text: of the program, with the names that stay.
        places: that stay.
        gone: names that went, each with the one that stays.
        kept: pairs that the program writes to, so that they are the same only at its start.
    """

    text: str
    places: tuple[Place, ...]
    gone: tuple[tuple[str, str], ...]
    kept: tuple[tuple[str, str], ...]


def sorted_out(text: str, places: Sequence[Place]) -> Merged:
    """One position for each place: the first name of a pair stays, in the list and in the program."""
    gone: dict[str, str] = {}
    kept = []
    for one, other in twice(places):
        if other in gone or one in gone:
            continue
        if any(_is_written(name, text) for name in (one, other)):
            kept.append((one, other))
        else:
            gone[other] = one
    lines = [_renamed(line, gone) for line in text.split("\n")]
    return Merged(
        "\n".join(lines),
        tuple(place for place in places if place.name not in gone),
        tuple((other, one) for other, one in gone.items()),
        tuple(kept),
    )


def _is_written(name: str, text: str) -> bool:
    """Whether a program gives a position, or a member of it, another value."""
    return bool(re.search(rf"(?:^|[\s:]){re.escape(name)}(?:\.\w+)?\s*=", text, re.IGNORECASE | re.MULTILINE))


def _renamed(line: str, gone: Mapping[str, str]) -> str:
    new = {name.upper(): one for name, one in gone.items()}
    parts, end = [], 0
    for span in spans(line, "melfa"):
        word = line[span.start : span.start + span.length]
        parts += [line[end : span.start], new.get(word.upper(), word) if span.kind in ("name", "word") else word]
        end = span.start + span.length
    return "".join([*parts, line[end:]])


class Trace(NamedTuple):
    """What a run did, sample by sample, as `hil program --trace` and `hil preview --trace` write it.

    Attributes:
        times_s: shape (K,).
        lines: of the program, by their numbers; of a task its steps.
        statements: as they were written.
        q: joints, rad and m, shape (K, n).
        tool_mm: X, Y, Z, shape (K, 3).
        outputs: that were on.
    """

    times_s: FloatArray
    lines: tuple[int, ...]
    statements: tuple[str, ...]
    q: FloatArray
    tool_mm: FloatArray
    outputs: tuple[str, ...]

    def at(self, time_s: float) -> int:
        """The sample that is shown at a moment."""
        return int(np.clip(np.searchsorted(self.times_s, time_s + 1e-9, side="right") - 1, 0, len(self.times_s) - 1))

    def begins(self) -> list[int]:
        """Samples at which another line is on."""
        return [k for k in range(len(self.lines)) if k == 0 or self.lines[k] != self.lines[k - 1]]


def read_trace(text: str, joints: Mapping[str, float] | None = None) -> Trace:
    """A run from its table.

    Args:
        text: of the table.
        joints: names of the arm's joints with the units of their columns; None for those of a program's arm.

    Raises:
        CommandError: it has no sample, or is the run of another arm.
    """
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    if not rows:
        raise CommandError("the run has no sample")
    units = {name: DEG for name in rows[0] if name.startswith("J")} if joints is None else dict(joints)
    missing = [name for name in ("time_s", "line", "statement", *units, *AXES[:3]) if name not in rows[0]]
    if missing:
        raise CommandError(f"the run has no column {missing[0]}", value=missing[0])
    return Trace(
        np.array([float(row["time_s"]) for row in rows]),
        tuple(int(row["line"]) for row in rows),
        tuple(intern(row["statement"]) for row in rows),
        np.array([[float(row[name]) * unit for name, unit in units.items()] for row in rows]),
        np.array([[float(row[name]) for name in AXES[:3]] for row in rows]),
        tuple(intern(row.get("outputs", "")) for row in rows),
    )

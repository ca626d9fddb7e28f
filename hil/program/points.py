"""Taught positions: `.POS` lists, and the lines that stand after a program's END. Read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hil.program.errors import Place, ProgramError
from hil.program.values import Joints, Position, Value, joints, position

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LINE = re.compile(
    r"\s*(?:def\s+(?:pos|jnt)\s+)?(?P<name>[a-z][a-z0-9_]*)\s*(?:\((?P<index>[\d\s,]+)\))?\s*="
    r"\s*\((?P<members>[^()]*)\)\s*(?:\((?P<flags>[^()]*)\))?\s*(?:'.*|rem\b.*)?",
    re.IGNORECASE,
)
MEMBER = re.compile(rf"\s*(?:{NUMBER})?\s*")

PointName = tuple[str, tuple[int, ...]]
Points = Mapping[PointName, Value]
"""Positions and joint sets by upper-case name and index; the index is empty for a plain variable."""


class PointLine(NamedTuple):
    """One line of a list."""

    name: PointName
    value: Value


def parse_point(text: str) -> PointLine | None:
    """One line, or None where the line is something else.

    Raises:
        ProgramError: it is a point, but its numbers are wrong.
    """
    found = LINE.fullmatch(text)
    if found is None:
        return None
    members, flags = found["members"].split(","), found["flags"]
    if not all(MEMBER.fullmatch(member) for member in members):
        return None
    numbers = [float(member) if member.strip() else 0.0 for member in members]
    name = found["name"].upper()
    index = tuple(int(part) for part in (found["index"] or "").split(",") if part.strip())
    return PointLine((name, index), _value(name, numbers, flags))


def _value(name: str, numbers: list[float], flags: str | None) -> Value:
    # An axis past the eighth is written by nobody; a trailing comma is.
    if len(numbers) > 8 and numbers[8:] == [0.0]:
        numbers = numbers[:8]
    if name.startswith("J") and flags is None:
        return joints(numbers)
    words = [word.strip() for word in (flags or "").split(",")]
    if len(words) > 2 or not all(re.fullmatch(r"[+-]?\d*", word) for word in words):
        raise ProgramError(3860, f"flags ({flags}) of {name}", allowed="two whole numbers, or none")
    fl1, fl2 = ([int(word) if word.strip("+-") else None for word in words] + [None])[:2]
    return position(numbers, fl1, fl2)


def parse_points(text: str, file: str = "") -> dict[PointName, Value]:
    """A whole list; blank lines and comments are skipped.

    Raises:
        ProgramError: a line is neither, or gives a point for the second time; it is named.
    """
    points: dict[PointName, Value] = {}
    for row, line in enumerate(text.splitlines(), start=1):
        bare = line.strip().strip("\x1a\ufeff")
        if not bare or bare.startswith("'") or re.match(r"rem\b", bare, re.IGNORECASE):
            continue
        place = Place(row=row, column=len(line) - len(line.lstrip()) + 1)
        try:
            point = parse_point(bare)
        except ProgramError as error:
            raise error.at(place, file) from None
        if point is None:
            raise ProgramError(
                3860, f"{bare[:40]!r}", allowed="DEF POS P1=(X,Y,Z,A,B,C)(FL1,FL2)", place=place, file=file
            )
        if point.name in points:
            raise ProgramError(4350, f"point {point.name[0]}", place=place, file=file)
        points[point.name] = point.value
    return points


def format_point(name: PointName, value: Position | Joints, *, define: bool = True) -> str:
    """One line as COSIROP writes it; without `define`, as it stands after END."""
    plain, index = name
    place = f"({','.join(map(str, index))})" if index else ""
    if isinstance(value, Joints):
        word, members, flags = "JNT", value.degrees, ""
    else:
        word, members = "POS", value.members
        flags = "(" + ",".join("" if flag is None else str(flag) for flag in (value.fl1, value.fl2)) + ")"
    shown = members if any(members[6:]) else members[:6]
    numbers = ",".join(f"{member:.2f}" for member in shown)
    return f"{f'DEF {word} ' if define else ''}{plain}{place}=({numbers}){flags}"


def format_points(points: Iterable[tuple[PointName, Value]], *, define: bool = True) -> str:
    """A whole list, one line each."""
    lines = [format_point(name, value, define=define) for name, value in points if isinstance(value, Position | Joints)]
    return "".join(f"{line}\n" for line in lines)

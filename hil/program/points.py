"""Taught positions: `.POS` lists, and the lines that stand after a program's END. Read and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hil.paths.point_list import MEMBER, PointName, PointText, bare_line, point_text
from hil.program.builder import Dialect, Objection, check_name
from hil.program.errors import Place, ProgramError
from hil.program.values import (
    FLAGS,
    LARGEST_FLAG,
    LARGEST_INDEX,
    MOST_DIMENSIONS,
    Joints,
    Position,
    Value,
    joints,
    position,
    whole,
)

Points = Mapping[PointName, Value]
"""Positions and joint sets by upper-case name and index; the index is empty for a plain variable."""


class PointLine(NamedTuple):
    """One line of a list."""

    name: PointName
    value: Value


class PointList:
    """Reads points one after the other, by the rules of a program.

    Attributes:
        points: so far.

    Args:
        dialect: strict IV, or also what V allows.
        file: name for messages.
        given: points that stand elsewhere; here only with the same values.
    """

    def __init__(
        self, dialect: Dialect = Dialect.LOOSE, file: str = "", given: Mapping[PointName, Value] | None = None
    ) -> None:
        self.points: dict[PointName, Value] = {}
        self._dialect, self._file, self._given = dialect, file, given or {}

    def add(self, text: str, place: Place) -> None:
        """Read one line.

        Raises:
            ProgramError: it is no point, its numbers or its name are wrong, or it is given for the second time; with
                its place.
        """
        try:
            point = parse_point(text, self._dialect)
        except ProgramError as error:
            raise error.at(place, self._file) from None
        if point is None:
            detail, allowed = f"{text.strip()[:40]!r}", "DEF POS P1=(X,Y,Z,A,B,C)(FL1,FL2)"
            raise ProgramError(3860, detail, allowed=allowed, place=place, file=self._file)
        plain, index = point.name
        twice = point.name in self.points or self._given.get(point.name, point.value) != point.value
        if twice or any(len(index) != len(other) for name, other in (*self.points, *self._given) if name == plain):
            raise ProgramError(4350, f"point {plain}", place=place, file=self._file)
        self.points[point.name] = point.value


def parse_point(text: str, dialect: Dialect = Dialect.LOOSE) -> PointLine | None:
    """One line, or None where the line is something else.

    Raises:
        ProgramError: it is a point, but its numbers, its name or its index are wrong.
    """
    found = point_text(text)
    if found is None:
        return None
    name, index = found.name
    _check_name(name, dialect)
    if len(index) > MOST_DIMENSIONS or not all(1 <= each <= LARGEST_INDEX for each in index):
        allowed = f"up to {MOST_DIMENSIONS} indices of 1 to {LARGEST_INDEX}"
        raise ProgramError(4370, f"{name}({','.join(map(str, index))})", allowed=allowed)
    return PointLine(found.name, _value(found))


def _check_name(name: str, dialect: Dialect) -> None:
    objections: list[Objection] = []
    check_name(name, 1, objections)
    if dialect is Dialect.STRICT and objections:
        raise ProgramError(objections[0].number, objections[0].detail)


def _value(point: PointText) -> Value:
    (name, _), numbers, flags = point.name, point.numbers, point.flags
    if point.kind not in ("POS", "JNT") or (point.is_joints and flags is not None):
        what = "position" if flags is not None else "position or joint set"
        raise ProgramError(
            3810, f"a {what} for {name}", allowed="P names for positions, J names for joint sets, or DEF"
        )
    if point.is_joints:
        return joints(numbers)
    words = [word.strip() for word in (flags or "").split(",")]
    if len(words) > 2 or not all(MEMBER.fullmatch(word) for word in words):
        raise ProgramError(3860, f"flags ({flags}) of {name}", allowed="two whole numbers, or none")
    taught = [whole(float(word), 0, LARGEST_FLAG, FLAGS[k]) if word else None for k, word in enumerate(words)]
    fl1, fl2 = (*taught, None)[:2]
    return position(numbers, fl1, fl2)


def parse_points(text: str, file: str = "", dialect: Dialect = Dialect.LOOSE) -> dict[PointName, Value]:
    """A whole list; blank lines and comments are skipped.

    Raises:
        ProgramError: a line is neither, or gives a point for the second time; it is named.
    """
    points = PointList(dialect, file)
    for row, line in enumerate(text.splitlines(), start=1):
        bare = bare_line(line)
        if not bare:
            continue
        points.add(bare, Place(row=row, column=len(line) - len(line.lstrip()) + 1))
    return points.points


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

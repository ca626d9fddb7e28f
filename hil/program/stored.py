"""A program as a controller keeps it: numbered lines, then its points; and whether what it keeps is the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hil.link import StoredProgram
from hil.program.points import format_points
from hil.program.structure import Program
from hil.program.syntax import upper_outside_strings

STEP = 10
LONGEST_NAME = 12
EMPTY = "'"


def stored_name(program: Program) -> str:
    """Its name as the controller can have it: letters, digits, _ and -, at most twelve of them."""
    return re.sub(r"[^A-Z0-9_-]", "", program.name.upper())[:LONGEST_NAME] or "PROGRAM"


def stored_lines(program: Program) -> tuple[str, ...]:
    """The lines with their numbers, without comments; a program without numbers gets every tenth.

    A line that holds nothing but a comment stays as an empty one: something may jump to its number.
    """
    numbered = all(line.number is not None for line in program.lines)
    return tuple(
        f"{line.number if numbered else STEP * place} {line.text or EMPTY}"
        for place, line in enumerate(program.lines, start=1)
    )


def stored_points(program: Program) -> tuple[str, ...]:
    """The taught positions and joint sets, one a line, with two decimals as the controller keeps them."""
    return tuple(format_points(sorted(program.points.items()), define=False).splitlines())


def line_numbers(program: Program) -> dict[int, int]:
    """What a line is called here, by the number that it has on the controller: its own, else its row of the text."""
    numbers = (int(text.split(" ", 1)[0]) for text in stored_lines(program))
    return {number: line.number or line.row for number, line in zip(numbers, program.lines, strict=True)}


def stored(program: Program) -> StoredProgram:
    """All of it."""
    return StoredProgram(name=stored_name(program), lines=stored_lines(program), points=stored_points(program))


def difference(program: StoredProgram, lines: Sequence[str], points: Sequence[str]) -> str:
    """Where a program that was read back is another than this one, in words; empty if nowhere.

    Blanks, signs and letters' case do not count: controllers write them in their own way.
    """
    for what, ours, theirs in (
        ("line", program.lines, lines),
        ("point", sorted(program.points), sorted(points)),
    ):
        for mine, found in zip(ours, theirs, strict=False):
            if _bare(mine) != _bare(found):
                return f"{what} {mine[:60]!r} is {found[:60]!r} there"
        if len(ours) != len(theirs):
            return f"{len(ours)} {what}s here, {len(theirs)} there"
    return ""


def _bare(text: str) -> str:
    parts = re.split(r'("[^"]*")', upper_outside_strings(text))
    return "".join(
        part if part.startswith('"') else re.sub(r"(?<=[(,])\+|\s+", "", part).replace("-0.00", "0.00")
        for part in parts
    )

"""Taught points as text: the lines of a `.pos` list, before anybody says what their numbers mean."""

from __future__ import annotations

import re
from typing import NamedTuple

NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
LINE = re.compile(
    r"\s*(?:def\s+(?P<kind>pos|jnt)\s+)?(?P<name>[a-z][a-z0-9_]*)\s*(?:\((?P<index>[\d\s,]+)\)\s*)?="
    r"\s*\((?P<members>[^()]*)\)\s*(?:\((?P<flags>[^()]*)\)\s*)?(?:'.*|rem\b.*)?",
    re.IGNORECASE,
)
MEMBER = re.compile(rf"\s*(?:{NUMBER}\s*)?")
COMMENT = re.compile(r"'|rem\b", re.IGNORECASE)

_KINDS = {"J": "JNT", "M": "number", "C": "string"}

PointName = tuple[str, tuple[int, ...]]


class PointText(NamedTuple):
    """One point.

    Attributes:
        name: upper-case, with its index; the index is empty for a plain variable.
        numbers: one left out counts as 0.
        flags: what stands in the second brackets; None without any.
        word: POS or JNT where a DEF says so.
    """

    name: PointName
    numbers: tuple[float, ...]
    flags: str | None
    word: str | None = None

    @property
    def kind(self) -> str:
        """POS, JNT, or what else a name with this letter is, in words."""
        return self.word or _KINDS.get(self.name[0][0], "POS")

    @property
    def is_joints(self) -> bool:
        """True for a joint set."""
        return self.kind == "JNT"


def point_text(text: str) -> PointText | None:
    """One line, or None where the line is something else."""
    found = LINE.fullmatch(text)
    if found is None:
        return None
    members = found["members"].split(",")
    if len(members) < 2 or not all(MEMBER.fullmatch(member) for member in members):
        return None
    numbers = [float(member) if member.strip() else 0.0 for member in members]
    # An axis past the eighth is written by nobody; a trailing comma is.
    if len(numbers) > 8 and numbers[8:] == [0.0]:
        numbers = numbers[:8]
    index = tuple(int(part[:9]) for part in (found["index"] or "").split(",") if part.strip())
    word = found["kind"].upper() if found["kind"] else None
    return PointText((found["name"].upper(), index), tuple(numbers), found["flags"], word)


def bare_line(line: str) -> str:
    """A line of a list without what editors leave around it; empty for a comment."""
    bare = line.strip().strip("\x1a\ufeff")
    return "" if COMMENT.match(bare) else bare

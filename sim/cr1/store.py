"""Programs in the CR1's memory, and the buffer in which one is edited. Text only: nothing here runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hil.program.errors import ProgramError
from hil.program.points import parse_point
from sim.cr1.requests import VT, Cause, RefusedRequest

LONGEST_LINE = 127
LAST_LINE = 32767
LONGEST_NAME = 12
MOST_PROGRAMS = 88
PAGE = 200
"""Characters of listing that go into one answer."""

EXTENSIONS = (".MB4", ".MB5", ".MB6")

_LINE = re.compile(r"\s*(\d+)(?:\s+(.*)|\s*)", re.DOTALL)
_VARIABLE = re.compile(r"\s*([A-Za-z]\w*)(\([\d, ]+\))?\s*=\s*(.*)", re.DOTALL)
_JUMP = re.compile(r"\b(GOTO|GOSUB|THEN|ELSE)(\s+)(\d+)((?:\s*,\s*\d+)*)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_RELATIVE = frozenset({"TOP", "END", "+1", "-1"})
_NAME = re.compile(r"[A-Z0-9_\-]+")


@dataclass
class Program:
    """One program file.

    Attributes:
        lines: text of each line by its number, in the order of the numbers.
        variables: positions and joint sets as written, by upper-case name.
        attributes: letters of FATTRIB, ``P`` for protected.
        changed_s: when it was last saved.
        runs: cycles done; run_s: time of the last one; total_s: of all.
    """

    lines: dict[int, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    attributes: str = ""
    changed_s: float = 0.0
    runs: int = 0
    run_s: float = 0.0
    total_s: float = 0.0

    @property
    def text(self) -> str:
        """Numbered lines, then the variables, one a line."""
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        return "\n".join([f"{number} {text}".rstrip() for number, text in self.lines.items()] + variables)

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return 200 + sum(len(text) + 8 for text in self.lines.values()) + 60 * len(self.variables)

    def copy(self) -> Program:
        """Another one with the same contents."""
        return Program(dict(self.lines), dict(self.variables), self.attributes, self.changed_s)

    def put(self, number: int, text: str) -> None:
        """Add or replace a line, or take it away where the text is empty."""
        self.lines.pop(number, None)
        if text:
            self.lines[number] = text
            self.lines = dict(sorted(self.lines.items()))

    def renumber(self, new: int, first: int, step: int, last: int) -> None:
        """Give the lines from `first` to `last` new numbers; jumps follow.

        Raises:
            RefusedRequest: a number would be too large, or two lines would get the same.
        """
        chosen = [number for number in self.lines if first <= number <= last]
        fresh = {old: new + step * place for place, old in enumerate(chosen)}
        numbers = [fresh.get(number, number) for number in self.lines]
        if numbers and max(numbers) > LAST_LINE:
            raise RefusedRequest(4420)
        if numbers != sorted(set(numbers)):
            raise RefusedRequest(3110)

        def follow(found: re.Match[str]) -> str:
            targets = _NUMBER.sub(lambda number: str(fresh.get(int(number[0]), int(number[0]))), found[3] + found[4])
            return f"{found[1]}{found[2]}{targets}"

        self.lines = {fresh.get(number, number): _JUMP.sub(follow, text) for number, text in self.lines.items()}


def program_from_text(text: str) -> Program:
    """Numbered lines, then ``P1=(..)(..)`` lines, as an export has them.

    Raises:
        RefusedRequest: a line is neither, or gives a variable for the second time; a request that edits one may.
    """
    program, rows = Program(), 0
    for line in filter(str.strip, text.splitlines()):
        add_line(program, line)
        if len(program.lines) + len(program.variables) == rows and not _LINE.fullmatch(line):
            raise RefusedRequest(4350, "1", cause=Cause.EDIT, detail=f"given twice: {line.strip()}")
        rows = len(program.lines) + len(program.variables)
    return program


def add_line(program: Program, text: str, check: Callable[[str], None] = lambda line: None) -> None:
    """Add or replace a line or a variable: ``10 MOV P1``, ``P1=(..)(6,0)``.

    Args:
        program: where.
        text: what.
        check: raises `RefusedRequest` for a statement that the language does not know.

    Raises:
        RefusedRequest: with the column, from 1.
    """
    found = _LINE.fullmatch(text)
    if len(text) > LONGEST_LINE:
        raise RefusedRequest(4210, str(LONGEST_LINE + 1), cause=Cause.EDIT)
    if found is not None:
        number, statement = int(found[1]), (found[2] or "").rstrip()
        if not 1 <= number <= LAST_LINE:
            raise RefusedRequest(4420, "1", cause=Cause.EDIT)
        if statement:
            check(text)
        program.put(number, statement)
        return
    variable = _VARIABLE.fullmatch(text)
    if variable is None:
        raise RefusedRequest(4220, "1", cause=Cause.EDIT)
    check(text)
    try:
        point = parse_point(text)
    except ProgramError as error:
        raise RefusedRequest(error.number, str(max(error.column, 1)), cause=Cause.EDIT) from None
    value = variable[3].strip() if point is None else str(point.value)
    program.variables[(variable[1] + (variable[2] or "")).upper().replace(" ", "")] = value


def check_name(name: str) -> str:
    """A program's name without its extension, if it may be one.

    Raises:
        RefusedRequest: too long, empty, or with a character that is not allowed.
    """
    bare = name.strip().upper()
    if bare.endswith(EXTENSIONS):
        bare = bare[: -len(EXTENSIONS[0])]
    if len(bare) > LONGEST_NAME:
        raise RefusedRequest(4120)
    if not _NAME.fullmatch(bare):
        raise RefusedRequest(4130)
    return bare


class Store:
    """All programs by name.

    Args:
        capacity: bytes for programs.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.programs: dict[str, Program] = {}

    @property
    def used(self) -> int:
        """Bytes in use."""
        return sum(program.size for program in self.programs.values())

    def find(self, name: str) -> Program:
        """A program by its name.

        Raises:
            RefusedRequest: 4140, there is none.
        """
        bare = check_name(name)
        if bare not in self.programs:
            raise RefusedRequest(4140, detail=bare)
        return self.programs[bare]

    def save(self, name: str, program: Program, now_s: float) -> None:
        """Keep a program under a name.

        Raises:
            RefusedRequest: no room, or the one there is protected.
        """
        old = self.programs.get(name)
        if old is not None:
            self.require_writable(old)
        elif len(self.programs) >= MOST_PROGRAMS:
            raise RefusedRequest(4100)
        if self.used - (old.size if old else 0) + program.size > self.capacity:
            raise RefusedRequest(4110)
        program.changed_s = now_s
        self.programs[name] = program

    def require_writable(self, program: Program) -> None:
        """Make sure that a program is not protected.

        Raises:
            RefusedRequest: it is.
        """
        if "P" in program.attributes:
            raise RefusedRequest(3200)


@dataclass
class EditBuffer:
    """The program in the edit slot.

    Attributes:
        name: of the file that SAVE writes; empty while none is open.
        program: the copy that is edited.
        changed: something was edited since it was opened.
        line_at, variable_at: where listings go on, -1 before the first.
    """

    name: str = ""
    program: Program = field(default_factory=Program)
    changed: bool = False
    line_at: int = -1
    variable_at: int = -1

    @property
    def is_open(self) -> bool:
        """True between LOAD= and SAVE or NEW."""
        return bool(self.name)

    def list_line(self, where: str) -> str:
        """LISTI: one line, or nothing where there is none."""
        numbers = list(self.program.lines)
        self.line_at = _place(where, self.line_at, numbers)
        if not 0 <= self.line_at < len(numbers):
            return ""
        return self._line(numbers[self.line_at])

    def list_lines(self, where: str) -> str:
        """LISTL: as many lines as an answer takes, how many, and whether more follow."""
        numbers = list(self.program.lines)
        self.line_at = _place(where, self.line_at, numbers)
        return self._page(range(self.line_at, len(numbers)), lambda place: self._line(numbers[place]))

    def list_variable(self, where: str) -> str:
        """LISTP: one position or joint set, or nothing where there is none."""
        names = list(self.program.variables)
        if where in _RELATIVE:
            self.variable_at = _place(where, self.variable_at, range(len(names)))
        else:
            self.variable_at = names.index(where.upper()) if where.upper() in names else -1
        if not 0 <= self.variable_at < len(names):
            return ""
        name = names[self.variable_at]
        return f"{name}={self.program.variables[name]}"

    def _line(self, number: int) -> str:
        return f"{number} {self.program.lines[number]}"

    def _page(self, places: Sequence[int], show: Callable[[int], str]) -> str:
        shown: list[str] = []
        for place in places:
            if place < 0 or (shown and sum(map(len, shown)) + len(show(place)) > PAGE):
                break
            shown.append(show(place))
            self.line_at = place
        if not shown:
            return ""
        more = int(len(shown) < len(places))
        return f"{VT.join(shown)};{len(shown)};{more}"


def _place(where: str, at: int, numbers: Sequence[int]) -> int:
    """Index of TOP, END, +1, -1 or a line's number; outside the list where there is none."""
    last = max(len(numbers) - 1, 0)
    if where == "TOP":
        return 0
    if where == "END":
        return last
    if where in ("+1", "-1"):
        return at + int(where)
    if where.isdecimal() and int(where) in numbers:
        return list(numbers).index(int(where))
    return -1

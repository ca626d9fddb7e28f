"""How the lines of a program hang together: labels, line numbers, blocks, jumps. Gives the `Program` that runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hil.paths.point_list import PointName
from hil.program import nodes
from hil.program.builder import Dialect
from hil.program.errors import Place, ProgramError
from hil.program.points import format_points
from hil.program.syntax import ProgramLine, read_lines
from hil.program.values import Value

MOST_NESTED, MOST_NESTED_IF = 16, 8


class Flow(NamedTuple):
    """Where a line of a block leads, as indices of lines; one past the last is the end of the program.

    Attributes:
        onward: where to go if the block's condition fails, or its branch is over; for NEXT and WEND, the loop's head.
        cases: of SELECT, its CASE and DEFAULT lines.
        heads: of NEXT, the FOR lines that it closes, innermost first.
    """

    onward: int
    cases: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()


class Program(NamedTuple):
    """A program that can run.

    Attributes:
        name: as CALLP would call it.
        lines: in order; a run counts its place in them.
        labels: index of the line by label.
        numbers: index of the line by line number.
        flow: of lines that belong to blocks.
        exits: where BREAK leads, by the index of its line.
        points: taught positions and joint sets.
        dialect: in which it was read.
        text: the whole source.
    """

    name: str
    lines: tuple[ProgramLine, ...]
    labels: Mapping[str, int]
    numbers: Mapping[int, int]
    flow: Mapping[int, Flow]
    exits: Mapping[int, int]
    points: Mapping[PointName, Value]
    dialect: Dialect
    text: str
    file: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over name, text, points and dialect."""
        points = format_points(sorted(self.points.items()))
        parts = [self.name, self.dialect.value, self.text, points]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def index_of(self, target: nodes.Target) -> int:
        """Index of the line that a jump goes to.

        Raises:
            ProgramError: there is none.
        """
        found = self.labels.get(target.to) if isinstance(target.to, str) else self.numbers.get(target.to)
        if found is None:
            what = f"*{target.to}" if isinstance(target.to, str) else f"line {target.to}"
            raise ProgramError(3600, what)
        return found


def parse_program(
    text: str,
    *,
    name: str = "PROGRAM",
    dialect: Dialect = Dialect.LOOSE,
    points: Mapping[PointName, Value] | None = None,
    file: str = "",
) -> Program:
    """Read a program.

    Args:
        text: any line ends; points may stand at the end.
        name: as CALLP would call it.
        dialect: strict IV, or also what V allows.
        points: from a list of their own; the text may give one of them again only with the same value.
        file: name for messages.

    Raises:
        ProgramError: the first error in the text.
    """
    program, errors = read_program(text, name=name, dialect=dialect, points=points, file=file)
    if errors:
        raise errors[0]
    return program


def read_program(
    text: str,
    *,
    name: str = "PROGRAM",
    dialect: Dialect = Dialect.LOOSE,
    points: Mapping[PointName, Value] | None = None,
    file: str = "",
) -> tuple[Program, tuple[ProgramError, ...]]:
    """The same, with every error in the order of lines; statements that are wrong are left out of the program."""
    reading = read_lines(text, dialect, file, points)
    errors = list(reading.errors)
    labels, numbers = _targets(reading.lines, errors, file)
    flow, exits = _Blocks(reading.lines, errors, file).match()
    program = Program(
        name=name,
        lines=reading.lines,
        labels=labels,
        numbers=numbers,
        flow=flow,
        exits=exits,
        points={**(points or {}), **reading.points},
        dialect=dialect,
        text=text,
        file=file,
    )
    _check_jumps(program, errors)
    return program, tuple(sorted(errors, key=lambda error: (error.row, error.column)))


def parts_of(statement: nodes.Statement | None) -> Iterator[nodes.Statement]:
    """A statement and those within it."""
    if statement is None:
        return
    yield statement
    match statement:
        case nodes.If():
            yield from parts_of(statement.then)
            yield from parts_of(statement.otherwise)
        case nodes.DefAct():
            yield statement.jump
        case nodes.Move(beside=nodes.Beside(action=action)):
            yield action


def targets_of(statement: nodes.Statement | None) -> Iterator[tuple[nodes.Target, str]]:
    """Every jump in a statement, with GOTO or GOSUB."""
    for part in parts_of(statement):
        match part:
            case nodes.Jump():
                yield part.target, part.word
            case nodes.OnJump():
                for target in part.targets:
                    yield target, part.word
            case nodes.OnCom():
                yield part.target, "GOSUB"


def _targets(
    lines: tuple[ProgramLine, ...], errors: list[ProgramError], file: str
) -> tuple[dict[str, int], dict[int, int]]:
    labels: dict[str, int] = {}
    numbers: dict[int, int] = {}
    for k, line in enumerate(lines):
        if line.label in labels:
            place = line.place(line.label_at)
            errors.append(ProgramError(4440, f"*{line.label}", place=place, file=file))
        elif line.label:
            labels[line.label] = k
        if line.number is not None:
            numbers[line.number] = k
    return labels, numbers


def _check_jumps(program: Program, errors: list[ProgramError]) -> None:
    for line in program.lines:
        for target, _ in targets_of(line.statement):
            try:
                program.index_of(target)
            except ProgramError as error:
                errors.append(error.at(line.place(target.at), program.file))


class _Blocks:
    """Pairs the lines of blocks."""

    def __init__(self, lines: tuple[ProgramLine, ...], errors: list[ProgramError], file: str) -> None:
        self._lines, self._errors, self._file = lines, errors, file
        self._open: list[tuple[str, list[int]]] = []
        self._breaks: list[list[int]] = []
        self._flow: dict[int, Flow] = {}
        self._exits: dict[int, int] = {}

    def match(self) -> tuple[dict[int, Flow], dict[int, int]]:
        for k, line in enumerate(self._lines):
            try:
                self._line(k, line.statement)
            except ProgramError as error:
                at = line.statement.at if line.statement else 1
                self._errors.append(error.at(line.place(at), self._file))
        missing = {
            "IF": (3252, "ENDIF"),
            "FOR": (3230, "NEXT"),
            "WHILE": (3250, "WEND"),
            "SELECT": (3254, "END SELECT"),
        }
        for word, members in self._open:
            number, end = missing[word]
            line = self._lines[members[0]]
            at = line.statement.at if line.statement else 1
            self._errors.append(ProgramError(number, f"{end} is missing", place=line.place(at), file=self._file))
        return self._flow, self._exits

    def _line(self, k: int, statement: nodes.Statement | None) -> None:
        match statement:
            case nodes.IfBlock(word="IF"):
                self._begin("IF", k)
            case nodes.IfBlock() | nodes.Marker(word="ELSE"):
                self._branch(k, statement)
            case nodes.Marker(word="ENDIF"):
                self._end_if(k)
            case nodes.For():
                self._begin("FOR", k)
            case nodes.Next():
                self._next(k, statement)
            case nodes.While():
                self._begin("WHILE", k)
            case nodes.Marker(word="WEND"):
                head = self._end("WHILE", 3250, "WEND without WHILE")[0]
                self._flow[head], self._flow[k] = Flow(k + 1), Flow(head)
                self._leave(k + 1)
            case nodes.Select():
                if any(word == "SELECT" for word, _ in self._open):
                    raise ProgramError(3254, "SELECT within SELECT")
                self._begin("SELECT", k)
            case nodes.Case() | nodes.Marker(word="DEFAULT"):
                self._inner("SELECT", 3254, "CASE or DEFAULT outside SELECT").append(k)
            case nodes.Marker(word="END SELECT"):
                self._end_select(k)
            case _:
                if any(isinstance(part, nodes.Word) and part.word == "BREAK" for part in parts_of(statement)):
                    if not self._breaks:
                        raise ProgramError(3254, "BREAK outside SELECT, FOR and WHILE")
                    self._breaks[-1].append(k)

    def _begin(self, word: str, k: int) -> None:
        same = sum(other == word or (word != "IF" and other != "IF") for other, _ in self._open)
        if same >= (MOST_NESTED_IF if word == "IF" else MOST_NESTED):
            raise ProgramError(3253 if word == "IF" else 3220, f"{word} in {same} others")
        self._open.append((word, [k]))
        if word != "IF":
            self._breaks.append([])

    def _inner(self, word: str, number: int, detail: str) -> list[int]:
        if not self._open or self._open[-1][0] != word:
            raise ProgramError(number, detail)
        return self._open[-1][1]

    def _end(self, word: str, number: int, detail: str) -> list[int]:
        members = self._inner(word, number, detail)
        self._open.pop()
        return members

    def _leave(self, after: int) -> None:
        for k in self._breaks.pop():
            self._exits[k] = after

    def _branch(self, k: int, statement: nodes.Statement) -> None:
        members = self._inner("IF", 3255, "ELSE or ELSEIF without IF")
        before = self._lines[members[-1]].statement
        if isinstance(before, nodes.Marker):
            raise ProgramError(3255, "a branch after ELSE")
        members.append(k)

    def _end_if(self, k: int) -> None:
        members = self._end("IF", 3252, "ENDIF without IF")
        for this, after in zip(members, [*members[1:], k], strict=True):
            # ELSEIF has to ask its own condition; ELSE and ENDIF only mark a place.
            asks = isinstance(self._lines[after].statement, nodes.IfBlock)
            is_else = isinstance(self._lines[this].statement, nodes.Marker)
            self._flow[this] = Flow(k + 1 if is_else else after if asks else after + 1, cases=(k + 1,))

    def _next(self, k: int, statement: nodes.Next) -> None:
        heads: list[int] = []
        for name in statement.variables or (None,):
            head = self._end("FOR", 3230, "NEXT without FOR")[0]
            loop = self._lines[head].statement
            if name is not None and isinstance(loop, nodes.For) and _plain(loop.variable) != _plain(name):
                self._flow[head] = Flow(k + 1)
                self._leave(k + 1)
                raise ProgramError(3230, f"NEXT {_plain(name)} closes FOR {_plain(loop.variable)}")
            self._flow[head] = Flow(k + 1)
            self._leave(k + 1)
            heads.append(head)
        self._flow[k] = Flow(heads[0], heads=tuple(heads))

    def _end_select(self, k: int) -> None:
        head, *cases = self._end("SELECT", 3254, "END SELECT without SELECT")
        self._flow[head] = Flow(k + 1, cases=tuple(cases))
        for case in cases:
            self._flow[case] = Flow(k + 1)
        self._leave(k + 1)


def _plain(variable: nodes.Variable) -> str:
    match variable:
        case nodes.Name():
            return variable.name.rstrip("%!#&")
        case nodes.Index():
            return f"{variable.name}(..)"
        case _:
            return f"..{variable.name}"


def place_in(program: Program, index: int, column: int) -> Place:
    """A place in the line with this index; the last line for one past the end."""
    if not program.lines:
        return Place(row=1)
    return program.lines[min(index, len(program.lines) - 1)].place(column)

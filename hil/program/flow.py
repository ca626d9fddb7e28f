"""Which line may follow which, without running a program; and every part of its statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hil.program import nodes
from hil.program.errors import ProgramError, known
from hil.program.structure import Program, parts_of
from hil.program.values import cint
from hil.program.variables import plain_name
from hil.types import Record

STOPS = ("END", "RETURN")
"""Words after which the next line does not follow."""


class Way(NamedTuple):
    """What a line leads to.

    Attributes:
        after: indices of lines that may be next in the same routine.
        calls: entries of routines that it may call first.
        handlers: entries of interrupts that it defines; with True for those that come back.
        returns: it may be a RETURN.
        ends: it may end the program.
    """

    after: frozenset[int]
    calls: frozenset[int] = frozenset()
    handlers: tuple[tuple[int, bool], ...] = ()
    returns: bool = False
    ends: bool = False


class Routine(NamedTuple):
    """Lines from an entry on, without those of routines that it calls."""

    entry: int
    lines: frozenset[int]
    calls: dict[int, frozenset[int]]
    returns: bool
    ends: bool


def way_of(program: Program, index: int, *, calling: bool = True) -> Way:
    """What the line with this index leads to; one past the end is the end.

    Args:
        program: whose line.
        index: of the line.
        calling: without it, only what it leads to when it calls nothing.
    """
    if index >= len(program.lines):
        return Way(frozenset(), ends=True)
    return _way(program, index, program.lines[index].statement, calling)


def routine(program: Program, entry: int, without: frozenset[int] = frozenset()) -> Routine:
    """Everything that can be reached from an entry, without the calls of the lines in `without`."""
    seen: set[int] = set()
    calls: dict[int, frozenset[int]] = {}
    returns = ends = False
    waiting = [entry]
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        way = way_of(program, index, calling=index not in without)
        if way.calls:
            calls[index] = way.calls
        returns, ends = returns or way.returns, ends or way.ends
        waiting.extend(way.after)
    return Routine(entry, frozenset(k for k in seen if k < len(program.lines)), calls, returns, ends)


def walk(node: object) -> Iterator[Record]:
    """A record and all records within it."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif isinstance(node, Record):
        yield node
        for field in node.__struct_fields__:
            yield from walk(getattr(node, field))


def _way(program: Program, index: int, statement: nodes.Statement | None, calling: bool) -> Way:
    on = frozenset({index + 1})
    match statement:
        case nodes.Jump() | nodes.OnJump():
            targets = _known(program, (statement.target,) if isinstance(statement, nodes.Jump) else statement.targets)
            always = isinstance(statement, nodes.Jump)
            if statement.word == "GOSUB" and calling:
                return Way(on, calls=targets)
            if statement.word == "GOSUB":
                return Way(frozenset() if always else on)
            return Way(targets if always else on | targets)
        case nodes.If():
            ways = [
                Way(on) if branch is None else _way(program, index, branch, calling)
                for branch in (statement.then, statement.otherwise)
            ]
            return Way(
                ways[0].after | ways[1].after,
                ways[0].calls | ways[1].calls,
                (*ways[0].handlers, *ways[1].handlers),
                ways[0].returns or ways[1].returns,
                ways[0].ends or ways[1].ends,
            )
        case nodes.Word():
            return _word(program, index, statement)
        case nodes.DefAct() | nodes.OnCom():
            jump = statement.jump if isinstance(statement, nodes.DefAct) else None
            target = jump.target if jump else statement.target if isinstance(statement, nodes.OnCom) else None
            entries = _known(program, (target,) if target else ())
            back = jump is None or jump.word == "GOSUB"
            return Way(on, handlers=tuple((entry, back) for entry in entries))
        case nodes.IfBlock() | nodes.For() | nodes.While() | nodes.Select() | nodes.Case() | nodes.Next():
            return Way(_of_block(program, index, statement))
        case nodes.Marker(word="ELSE" | "DEFAULT" | "WEND") if index in program.flow:
            return Way(frozenset({program.flow[index].onward}))
        case _:
            return Way(on)


def _word(program: Program, index: int, statement: nodes.Word) -> Way:
    if statement.word in STOPS:
        return Way(frozenset(), returns=statement.word == "RETURN", ends=statement.word == "END")
    if statement.word == "ERROR" and _stops(statement.arguments[0]):
        return Way(frozenset())
    if statement.word == "BREAK" and index in program.exits:
        return Way(frozenset({program.exits[index]}))
    return Way(frozenset({index + 1}))


def _stops(number: nodes.Expression | None) -> bool:
    """True for an ERROR that certainly stops: its number is written there, and is of no class that only warns."""
    return isinstance(number, nodes.Number) and known(cint(number.value)).letter != "C"


def _of_block(program: Program, index: int, statement: nodes.Statement) -> frozenset[int]:
    flow = program.flow.get(index)
    if flow is None:
        return frozenset({index + 1})
    match statement:
        case nodes.Case():
            return frozenset({flow.onward})
        case nodes.Select():
            return frozenset({flow.onward, *flow.cases, *(case + 1 for case in flow.cases)})
        case nodes.Next():
            return frozenset({index + 1, *(head + 1 for head in flow.heads)})
        case nodes.IfBlock(word="ELSEIF"):
            return frozenset({index + 1, flow.onward, *flow.cases})
        case _:
            return frozenset({index + 1, flow.onward})


def _known(program: Program, targets: tuple[nodes.Target, ...]) -> frozenset[int]:
    found = set()
    for target in targets:
        try:
            found.add(program.index_of(target))
        except ProgramError:
            continue
    return frozenset(found)


def base_name(variable: nodes.Expression) -> str:
    """The plain name of the variable that is written when this one is: ``P1`` for ``P1.X``."""
    while isinstance(variable, nodes.Component):
        variable = variable.of
    return plain_name(variable.name) if isinstance(variable, nodes.Name | nodes.Index) else ""


def set_names(program: Program) -> set[str]:
    """Plain names of variables that some statement sets; declarations do not count."""
    found: set[str] = set()
    for line in program.lines:
        for node in walk(line.statement) if line.statement else ():
            if isinstance(node, nodes.Assign | nodes.For):
                found.add(base_name(node.variable))
            elif isinstance(node, nodes.Input | nodes.Parameters):
                found |= {base_name(variable) for variable in node.variables}
            elif isinstance(node, nodes.Word) and node.word == "CHRSRCH" and node.arguments[2] is not None:
                found.add(base_name(node.arguments[2]))
    return found


def has_word(program: Program, *words: str) -> bool:
    """True if one of these single words occurs."""
    return any(
        isinstance(part, nodes.Word) and part.word in words
        for line in program.lines
        for part in parts_of(line.statement)
    )

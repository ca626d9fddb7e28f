"""The tree of a formula. Columns count from 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


class Number(NamedTuple):
    """A number as it was written."""

    value: float
    column: int


class Name(NamedTuple):
    """A variable, or a constant by its name."""

    name: str
    column: int


class Negation(NamedTuple):
    """The other sign."""

    operand: Node
    column: int


class Binary(NamedTuple):
    """``+ - * / ^`` of two."""

    operation: str
    left: Node
    right: Node
    column: int


class Call(NamedTuple):
    """A function of the list of functions."""

    function: str
    arguments: tuple[Node, ...]
    column: int


class Choice(NamedTuple):
    """The value of the first case whose condition holds, else the last one."""

    cases: tuple[tuple[Condition, Node], ...]
    otherwise: Node
    column: int


class Comparison(NamedTuple):
    """``left < right`` where it is strict, else ``left <= right``; the other two are turned around."""

    left: Node
    right: Node
    strict: bool
    column: int


class Both(NamedTuple):
    """Two conditions at once."""

    one: Condition
    other: Condition
    column: int


class Either(NamedTuple):
    """One of two conditions, or both."""

    one: Condition
    other: Condition
    column: int


class Not(NamedTuple):
    """The opposite of a condition."""

    condition: Condition
    column: int


Node: TypeAlias = Number | Name | Negation | Binary | Call | Choice
Condition: TypeAlias = Comparison | Both | Either | Not
Part: TypeAlias = Node | Condition

CONDITIONS = (Comparison, Both, Either, Not)


def parts_of(part: Part) -> Iterator[Part]:
    """What a node is directly made of."""
    match part:
        case Negation(operand):
            yield operand
        case Binary(_, left, right) | Comparison(left, right):
            yield left
            yield right
        case Call(_, arguments):
            yield from arguments
        case Choice(cases, otherwise):
            for condition, value in cases:
                yield condition
                yield value
            yield otherwise
        case Both(one, other) | Either(one, other):
            yield one
            yield other
        case Not(condition):
            yield condition
        case _:
            pass

"""A routine: named inputs and results of one derivation, and the straight-line steps that lead to them.

All emitters start from here: `steps` puts the live nodes in order and says which deserve a name, `Printer` writes
one node as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.expression import Expression, Graph, Operation
from hil.kernels.scalar import Scalar

Body: TypeAlias = Callable[..., Mapping[str, tuple[tuple[int, ...], Sequence[Scalar], str]]]
"""Takes the arguments and the functions of their scalars; returns shape, values row by row and meaning per result."""


class Argument(NamedTuple):
    """An input: a vector of `length` scalars, or one scalar where `length` is 0. Its nodes are ``name0``, ``name1``.

    Attributes:
        name: as the caller writes it.
        length: number of entries; 0 for a scalar.
        meaning: in words, with its unit.
    """

    name: str
    length: int
    meaning: str


class Result(NamedTuple):
    """An output: an array of `shape`, empty for a scalar; `values` row by row.

    Attributes:
        meaning: in words, with its unit.
    """

    name: str
    shape: tuple[int, ...]
    values: tuple[Expression, ...]
    meaning: str


FITS = "fits"
"""This condition is about times that contradict each other; the others tell of a singular place."""
CONDITIONS: Mapping[str, float] = {"status": 0.0, "regular": 0.0, "smallest_pivot": 1e-12, FITS: 0.0}
"""Scalar results of these names are no outputs: below the number, the routine gives a status and writes nothing."""


def is_condition(name: str, shape: tuple[int, ...]) -> bool:
    """True for a result that leaves as the function's status."""
    return name in CONDITIONS and not shape


class Routine(NamedTuple):
    """One quantity of one arm, derived.

    Attributes:
        name: ``forward_kinematics`` and the like; an emitter may put the arm's name before it.
        summary: one line saying what it works out.
        arguments: in the order of the call.
        results: in the order of the call.
        body: the equations themselves, as `draft` took them; on floats they are the plain reference.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    body: Body

    @property
    def outputs(self) -> tuple[Result, ...]:
        """The results that leave as arrays."""
        return tuple(result for result in self.results if not is_condition(result.name, result.shape))

    @property
    def conditions(self) -> tuple[tuple[Expression, float], ...]:
        """Values that have to reach a number, or the outputs mean nothing."""
        return tuple((r.values[0], CONDITIONS[r.name]) for r in self.results if is_condition(r.name, r.shape))

    @property
    def graph(self) -> Graph:
        """Where the results live."""
        return self.results[0].values[0].graph


class Step(NamedTuple):
    """One line of straight-line code: `node` gets the name `name`."""

    name: str
    node: Expression


def draft(
    name: str,
    summary: str,
    arguments: Sequence[Argument],
    body: Body,
) -> Routine:
    """Run `body` on the inputs of a new graph and keep what it returns.

    Args:
        name: of the routine.
        summary: one line.
        arguments: of the call; `body` gets for each a list of nodes, or one node, then the graph as its functions.
        body: returns shape, values row by row (numbers or nodes) and meaning per result.
    """
    graph = Graph()
    given = [graph.inputs(a.name, a.length) if a.length else graph.input(a.name) for a in arguments]
    results = []
    for result, (shape, values, meaning) in body(*given, graph).items():
        nodes = tuple(graph.expression(value) for value in values)
        if len(nodes) != math.prod(shape):
            raise ValueError(f"{name}: {result} has {len(nodes)} values for shape {shape}")
        results.append(Result(result, shape, nodes, meaning))
    return Routine(name, summary, tuple(arguments), tuple(results), body)


CALLS = frozenset(
    {
        Operation.SIN,
        Operation.COS,
        Operation.ATAN2,
        Operation.SQRT,
        Operation.MAXIMUM,
        Operation.WHERE,
        Operation.EXP,
        Operation.LOG,
        Operation.POWER,
        Operation.FLOOR,
        Operation.SINH,
        Operation.COSH,
        Operation.TANH,
    }
)
LEAVES = frozenset({Operation.CONSTANT, Operation.INPUT})
LONGEST_INLINE = 8
"""Operations in one line of text at most: more is hard to read."""


def live_nodes(routine: Routine) -> list[Expression]:
    """What the results need, operands before their users."""
    needed = {value.index: value for result in routine.results for value in result.values}
    waiting = list(needed.values())
    while waiting:
        for operand in waiting.pop().operands:
            if operand.index not in needed:
                needed[operand.index] = operand
                waiting.append(operand)
    return [needed[index] for index in sorted(needed)]


def steps(routine: Routine) -> list[Step]:
    """The lines of straight-line code, in order; what is used once stays inside the line that uses it."""
    nodes = live_nodes(routine)
    uses = dict.fromkeys((node.index for node in nodes), 0)
    for node in nodes:
        for operand in node.operands:
            uses[operand.index] += 1
    for result in routine.results:
        for value in result.values:
            uses[value.index] += 1
    size: dict[int, int] = {}
    named_steps: list[Step] = []
    for node in nodes:
        if node.operation in LEAVES:
            size[node.index] = 0
            continue
        length = 1 + sum(size[operand.index] for operand in node.operands)
        named = uses[node.index] > 1 or node.operation in CALLS or length >= LONGEST_INLINE
        # A negation is cheaper to write than to keep.
        if named and not (node.operation is Operation.NEGATE and size[node.operands[0].index] == 0):
            named_steps.append(Step(f"t{len(named_steps)}", node))
            length = 0
        size[node.index] = length
    return named_steps


def operation_counts(routine: Routine) -> dict[Operation, int]:
    """How often each operation is done in one call."""
    counts: dict[Operation, int] = {}
    for node in live_nodes(routine):
        if node.operation not in LEAVES:
            counts[node.operation] = counts.get(node.operation, 0) + 1
    return counts


_SUM, _PRODUCT, _SIGN, _ATOM = 1, 2, 3, 4


class Printer:
    """Writes nodes as text; a language overrides what it spells otherwise.

    Args:
        names: node index to the text that stands for it (inputs, and steps as they are named).
    """

    functions: Mapping[Operation, str] = {
        Operation.SIN: "sin",
        Operation.COS: "cos",
        Operation.ATAN2: "atan2",
        Operation.SQRT: "sqrt",
        Operation.MAXIMUM: "max",
        Operation.EXP: "exp",
        Operation.LOG: "log",
        Operation.POWER: "pow",
        Operation.FLOOR: "floor",
        Operation.SINH: "sinh",
        Operation.COSH: "cosh",
        Operation.TANH: "tanh",
    }

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def text(self, node: Expression) -> str:
        """`node` as an expression of its operands' names."""
        return self._bound(node)[0]

    def operand(self, node: Expression) -> str:
        """`node` by its name where it has one, else as an expression."""
        return self.names.get(node.index) or self.text(node)

    def number(self, value: float) -> str:
        """A constant; the shortest text that reads back as the same number."""
        return repr(value)

    def where(self, x: str, nonnegative: str, negative: str) -> str:
        """The conditional expression."""
        return f"({nonnegative} if {x} >= 0.0 else {negative})"

    def product(self, left: str, right: str) -> str:
        """`left` times `right`."""
        return f"{left} * {right}"

    def quotient(self, left: str, right: str) -> str:
        """`left` over `right`."""
        return f"{left} / {right}"

    def _bound(self, node: Expression) -> tuple[str, int]:
        """Text, and how tightly its outermost operation binds."""
        operation, operands = node.operation, node.operands
        if operation is Operation.CONSTANT:
            return self.number(node.value), _ATOM if node.value >= 0.0 else _SIGN
        if operation is Operation.INPUT:
            return self.names.get(node.index, node.name), _ATOM
        if operation is Operation.ADD:
            return f"{self._inner(operands[0], _SUM)} + {self._inner(operands[1], _SUM)}", _SUM
        if operation is Operation.SUBTRACT:
            return f"{self._inner(operands[0], _SUM)} - {self._inner(operands[1], _PRODUCT)}", _SUM
        if operation is Operation.MULTIPLY:
            return self.product(self._inner(operands[0], _PRODUCT), self._inner(operands[1], _SIGN)), _PRODUCT
        if operation is Operation.DIVIDE:
            return self.quotient(self._inner(operands[0], _PRODUCT), self._inner(operands[1], _SIGN)), _PRODUCT
        if operation is Operation.NEGATE:
            return f"-{self._inner(operands[0], _ATOM)}", _SIGN
        if operation is Operation.WHERE:
            return self.where(*(self.operand(operand) for operand in operands)), _ATOM
        return f"{self.functions[operation]}({', '.join(self.operand(o) for o in operands)})", _ATOM

    def _inner(self, node: Expression, needed: int) -> str:
        name = self.names.get(node.index)
        if name is not None:
            return name
        text, bound = self._bound(node)
        return text if bound >= needed else f"({text})"


def lines(routine: Routine, printer: Printer) -> Iterator[tuple[str, str]]:
    """(name, expression) of each step; fills in the printer's names as it goes."""
    for step in steps(routine):
        text = printer.text(step.node)
        printer.names[step.node.index] = step.name
        yield step.name, text

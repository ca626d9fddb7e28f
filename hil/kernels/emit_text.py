"""Straight-line equations as plain text, to be read in a terminal.

Brackets count from 0 (``q[0]``, ``pose[0,3]``), joints from 1: ``c1`` and ``s1`` are cosine and sine of the first
joint's coordinate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hil.kernels.c_text import LONGEST_LINE, wrapped
from hil.kernels.expression import Expression, Operation
from hil.kernels.languages import operations_text
from hil.kernels.routine import Argument, Printer, Result, Routine, Step, steps

COORDINATES = "q"
"""The argument whose sines and cosines get names of their own."""


def plain_text(routine: Routine) -> str:
    """Arguments, named intermediate values in order, results."""
    printer = TextPrinter(input_names(routine))
    lines = [f"{routine.name}: {routine.summary}"]
    lines += [f"  given {_size(argument)}: {argument.meaning}" for argument in routine.arguments]
    lines += ["", *(line for step in told_steps(routine) for line in _definition(step, printer)), ""]
    for result in routine.results:
        lines += [f"  {result.name}: {result.meaning}"]
        lines += [line for name, value in entries(result) for line in _line(name, printer.operand(value))]
    return "\n".join([*lines, f"  ({operations_text(routine)})", ""])


def told_steps(routine: Routine) -> Iterator[Step]:
    """The steps of `routine` under telling names: ``c1``, ``s1`` for cosine and sine of q1, else ``t1``, ``t2``."""
    coordinates = {
        routine.graph.input(f"{argument.name}{i}").index: i + 1
        for argument in routine.arguments
        if argument.name == COORDINATES
        for i in range(argument.length)
    }
    letters = {Operation.COS: "c", Operation.SIN: "s"}
    taken = {argument.name for argument in routine.arguments}
    numbers = itertools.count(1)
    for _, node in steps(routine):
        joint = coordinates.get(node.operands[0].index)
        letter = letters.get(node.operation)
        told = f"{letter}{joint}" if joint and letter else f"t{next(numbers)}"
        yield Step(f"{told}_" if told in taken else told, node)


def input_names(routine: Routine) -> dict[int, str]:
    """Node index to text: ``q[0]`` for the entries of vectors, the bare name for scalars."""
    names = {}
    for argument in routine.arguments:
        for i in range(argument.length):
            names[routine.graph.input(f"{argument.name}{i}").index] = f"{argument.name}[{i}]"
        if not argument.length:
            names[routine.graph.input(argument.name).index] = argument.name
    return names


def entries(result: Result) -> Iterator[tuple[str, Expression]]:
    """(``name[0,1]``, value) of every entry, row by row; a scalar has no brackets."""
    for place, value in zip(itertools.product(*map(range, result.shape)), result.values, strict=True):
        yield f"{result.name}[{','.join(map(str, place))}]" if place else result.name, value


def short_number(value: float) -> str:
    """A constant to fifteen digits, whole numbers without a point."""
    return f"{value:.15g}"


def matrix_text(name: str, rows: Sequence[Sequence[str]]) -> str:
    """A matrix in columns where it fits a line, else entry by entry; one column is a vector."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * len(widths) + len(name) > LONGEST_LINE:
        named = [
            (f"{name}[{i},{k}]" if len(row) > 1 else f"{name}[{i}]", text)
            for i, row in enumerate(rows)
            for k, text in enumerate(row)
        ]
        return "\n".join(line for entry, text in named for line in wrapped(f"{entry} = {text}"))
    opening = f"{name} = ["
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    indent = " " * (len(opening) - 1)
    return "\n".join(f"{opening if i == 0 else f'{indent}['} {line} ]" for i, line in enumerate(lines))


class TextPrinter(Printer):
    """Writes nodes for readers."""

    def number(self, value: float) -> str:
        """A constant."""
        return short_number(value)

    def product(self, left: str, right: str) -> str:
        """`left` times `right`."""
        return f"{left}*{right}"

    def where(self, x: str, nonnegative: str, negative: str) -> str:
        """The conditional expression."""
        return f"({nonnegative} if {x} >= 0 else {negative})"

    def _bound(self, node: Expression) -> tuple[str, int]:
        text, bound = super()._bound(node)
        if node.operation is Operation.NEGATE and node.operands[0].operation in (Operation.MULTIPLY, Operation.DIVIDE):
            text = f"-{self.operand(node.operands[0])}"  # rounds as -(a*b) does, and reads better
        return text, bound


def _definition(step: Step, printer: Printer) -> list[str]:
    text = printer.text(step.node)
    printer.names[step.node.index] = step.name
    return _line(step.name, text)


def _line(name: str, text: str) -> list[str]:
    return [f"    {line}" for line in wrapped(f"{name} = {text}")]


def _size(argument: Argument) -> str:
    return f"{argument.name}[0] to {argument.name}[{argument.length - 1}]" if argument.length else argument.name

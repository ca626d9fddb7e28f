"""Straight-line numpy for many configurations: one ufunc a node, into buffers that are used again.

Worked on in blocks that stay in the cache; results gather as rows and leave with one transposed copy, since a strided
store costs more than the arithmetic before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hil.kernels.expression import Expression, Operation
from hil.kernels.routine import LEAVES, Routine, live_nodes
from hil.kernels.scalar import FloatArray

BLOCK = 2048
"""Configurations per block: long enough to hide numpy's call cost, short enough for the cache."""

_UFUNCS = {
    Operation.ADD: "add",
    Operation.SUBTRACT: "subtract",
    Operation.MULTIPLY: "multiply",
    Operation.DIVIDE: "divide",
    Operation.NEGATE: "negative",
    Operation.SIN: "sin",
    Operation.COS: "cos",
    Operation.ATAN2: "arctan2",
    Operation.SQRT: "sqrt",
    Operation.MAXIMUM: "maximum",
}


class NumpyText(NamedTuple):
    """Source of ``block(inputs, rows, scratch)``, lists of arrays of one length, and how much scratch it needs."""

    source: str
    scratch: int


class InBlocks:
    """A routine over N configurations. Conditions of the routine come out as if they were outputs, first."""

    def __init__(self, routine: Routine) -> None:
        text = numpy_text(routine)
        namespace: dict[str, Any] = {}
        exec(compile(text.source, f"<{routine.name} in blocks>", "exec"), namespace)
        self._block: Callable[[list[FloatArray], list[FloatArray], list[FloatArray]], None] = namespace["block"]
        self._scratch = text.scratch
        self._values = [value for result in routine.results for value in result.values]

    def many(self, *arguments: FloatArray) -> FloatArray:
        """All values of all results in a row, shape (N, k); arguments of shape (N, n) or (N,)."""
        out = np.empty((len(arguments[0]), len(self._values)))
        self.many_into(out, *arguments)
        return out

    def many_into(self, out: FloatArray, *arguments: FloatArray) -> None:
        """The same into `out`, whose N items of any shape hold k values each."""
        count = len(out)
        table = out.reshape(count, len(self._values))
        length = min(BLOCK, count)
        rows, scratch = np.empty((len(self._values), length)), np.empty((self._scratch, length))
        for first in range(0, count, BLOCK):
            used = min(BLOCK, count - first)
            inputs = [
                row
                for values in arguments
                for row in np.ascontiguousarray(np.atleast_2d(values[first : first + used].T))
            ]
            for k, value in enumerate(self._values):
                if value.operation is Operation.CONSTANT:
                    rows[k, :used] = value.value
            self._block(inputs, list(rows[:, :used]), list(scratch[:, :used]))
            table[first : first + used] = rows[:, :used].T


def numpy_text(routine: Routine) -> NumpyText:
    """Source text for one block."""
    nodes = [node for node in live_nodes(routine) if node.operation not in LEAVES]
    last_use = {operand.index: node.index for node in nodes for operand in node.operands}
    places, lines = _inputs(routine)
    rows: dict[int, str] = {}
    copies = []
    for k, value in enumerate(value for result in routine.results for value in result.values):
        if value.operation is Operation.CONSTANT:
            continue
        if value.index in rows or value.operation is Operation.INPUT:
            copies.append((k, value))
        else:
            rows[value.index] = f"rows[{k}]"
    free: list[str] = []
    made = 0
    for node in nodes:
        spent = [
            places[operand.index]
            for operand in dict.fromkeys(node.operands)
            if operand.index not in rows and operand.operation not in LEAVES and last_use[operand.index] == node.index
        ]
        # A choice reads its operands after it has begun to write.
        if node.operation is not Operation.WHERE:
            free += spent
        place = rows.get(node.index)
        if place is None:
            if free:
                place = free.pop()
            else:
                place, made = f"scratch[{made}]", made + 1
        lines += _call(node, [_operand(operand, places) for operand in node.operands], place)
        if node.operation is Operation.WHERE:
            free += spent
        places[node.index] = place
    lines += [f"copyto(rows[{k}], {places[value.index]})" for k, value in copies]
    names = ", ".join(sorted({*_UFUNCS.values(), "copyto", "greater_equal"}))
    head = [f"from numpy import {names}", "", "", "def block(inputs, rows, scratch):"]
    return NumpyText("\n".join([*head, *(f"    {line}" for line in lines or ["pass"])]) + "\n", made)


def _inputs(routine: Routine) -> tuple[dict[int, str], list[str]]:
    """Names of the graph's inputs, and the lines that make them."""
    names = [
        name
        for argument in routine.arguments
        for name in ([f"{argument.name}{i}" for i in range(argument.length)] if argument.length else [argument.name])
    ]
    graph = routine.graph
    return {graph.input(name).index: name for name in names}, [f"{', '.join(names)}, = inputs"]


def _operand(node: Expression, places: dict[int, str]) -> str:
    return repr(node.value) if node.operation is Operation.CONSTANT else places[node.index]


def _call(node: Expression, operands: list[str], place: str) -> list[str]:
    if node.operation is Operation.WHERE:
        x, nonnegative, negative = operands
        mask = f"greater_equal({x}, 0.0)"
        return [f"copyto({place}, {negative})", f"copyto({place}, {nonnegative}, where={mask})"]
    return [f"{_UFUNCS[node.operation]}({', '.join(operands)}, out={place})"]

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
    Operation.EXP: "exp",
    Operation.LOG: "log",
    Operation.POWER: "power",
    Operation.FLOOR: "floor",
    Operation.SINH: "sinh",
    Operation.COSH: "cosh",
    Operation.TANH: "tanh",
}


def tangent_is_vectorised() -> bool:
    """True where numpy has a fast tangent, so that sine and cosine of one angle come cheaper from that of its half."""
    introspect = getattr(np.lib, "introspect", None)
    if introspect is None:  # numpy before 2.1
        return False
    found = introspect.opt_func_info(func_name="^tan$", signature="float64")
    targets = [target["current"] for each in found.values() for target in each.values()]
    return bool(targets) and not any(target.startswith("baseline") for target in targets)


class NumpyText(NamedTuple):
    """Source of ``block(inputs, rows, scratch)``, lists of arrays of one length, and how much scratch it needs."""

    source: str
    scratch: int


class InBlocks:
    """A routine over N configurations. Conditions of the routine come out as if they were outputs, first."""

    def __init__(self, routine: Routine) -> None:
        text = numpy_text(routine, half_angles=tangent_is_vectorised())
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


def numpy_text(routine: Routine, *, half_angles: bool = False) -> NumpyText:
    """Source text for one block.

    Args:
        routine: what to write.
        half_angles: work out sine and cosine of one angle together, from the tangent of its half.
    """
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
    partners = _partners(nodes) if half_angles else {}
    free: list[str] = []
    made = 0

    def place_of(node: Expression) -> str:
        nonlocal made
        if node.index in rows:
            return rows[node.index]
        if free:
            return free.pop()
        made += 1
        return f"scratch[{made - 1}]"

    for node in nodes:
        spent = [
            places[operand.index]
            for operand in dict.fromkeys(node.operands)
            if operand.index not in rows and operand.operation not in LEAVES and last_use[operand.index] == node.index
        ]
        # A choice reads its operands after it has begun to write.
        if node.operation is not Operation.WHERE:
            free += spent
        if node.index not in places:
            place = places[node.index] = place_of(node)
            partner = partners.get(node.index)
            if partner is None:
                lines += _call(node, [_operand(operand, places) for operand in node.operands], place)
            else:
                places[partner.index] = place_of(partner)
                lines += _sine_and_cosine(node, places[node.operands[0].index], place, places[partner.index])
        if node.operation is Operation.WHERE:
            free += spent
    lines += [f"copyto(rows[{k}], {places[value.index]})" for k, value in copies]
    names = ", ".join(sorted({*_UFUNCS.values(), "copyto", "greater_equal", "tan"}))
    head = [f"from numpy import {names}", "", "", "def block(inputs, rows, scratch):"]
    return NumpyText("\n".join([*head, *(f"    {line}" for line in lines or ["pass"])]) + "\n", made)


def _partners(nodes: list[Expression]) -> dict[int, Expression]:
    """Sine to cosine of the same angle and back, where both are needed."""
    by_angle: dict[int, list[Expression]] = {}
    for node in nodes:
        if node.operation in (Operation.SIN, Operation.COS):
            by_angle.setdefault(node.operands[0].index, []).append(node)
    pairs = [pair for pair in by_angle.values() if len(pair) == 2]
    return {a.index: b for first, second in pairs for a, b in ((first, second), (second, first))}


def _sine_and_cosine(node: Expression, angle: str, place: str, partner: str) -> list[str]:
    """With t = tan(x / 2): sin x = 2 t / (1 + t t), cos x = 2 / (1 + t t) - 1; exact to 3e-16 for every x."""
    sine, cosine = (place, partner) if node.operation is Operation.SIN else (partner, place)
    return [
        f"multiply({angle}, 0.5, out={sine})",
        f"tan({sine}, out={sine})",
        f"multiply({sine}, {sine}, out={cosine})",
        f"add({cosine}, 1.0, out={cosine})",
        f"divide(2.0, {cosine}, out={cosine})",
        f"multiply({sine}, {cosine}, out={sine})",
        f"subtract({cosine}, 1.0, out={cosine})",
    ]


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

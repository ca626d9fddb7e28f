"""Exact derivatives on the expression graph.

Where a function has a corner (a choice, a maximum, a floor), the derivative is that of the side which the function
itself takes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from hil.kernels.expression import Expression, Graph, Operation


def derivatives(values: Sequence[Expression], by: Expression) -> tuple[Expression, ...]:
    """The derivative of each of `values` by one input of their graph, as nodes of the same graph.

    Args:
        values: of one graph.
        by: an input of it.
    """
    graph = by.graph
    rate: dict[int, Expression] = {}
    zero = graph.constant(0.0)
    for node in _needed(values):
        if node is by:
            rate[node.index] = graph.constant(1.0)
        elif all(rate[operand.index] is zero for operand in node.operands):
            rate[node.index] = zero
        else:
            rate[node.index] = _rate(graph, node, [rate[operand.index] for operand in node.operands])
    return tuple(rate[value.index] for value in values)


def _needed(values: Sequence[Expression]) -> list[Expression]:
    """What `values` are made of, operands before their users."""
    needed = {value.index: value for value in values}
    waiting = list(needed.values())
    while waiting:
        for operand in waiting.pop().operands:
            if operand.index not in needed:
                needed[operand.index] = operand
                waiting.append(operand)
    return [needed[index] for index in sorted(needed)]


def _rate(graph: Graph, node: Expression, rates: list[Expression]) -> Expression:
    operation, operands = node.operation, node.operands
    x, dx = operands[0], rates[0]
    if operation is Operation.NEGATE:
        return -dx
    if operation is Operation.WHERE:
        return graph.where(x, rates[1], rates[2])
    if len(operands) == 2:
        return _rate_of_two(graph, node, (x, operands[1]), (dx, rates[1]))
    return dx * _slope(graph, node, x) if operation is not Operation.FLOOR else graph.constant(0.0)


def _rate_of_two(
    graph: Graph, node: Expression, operands: tuple[Expression, Expression], rates: tuple[Expression, Expression]
) -> Expression:
    (x, y), (dx, dy) = operands, rates
    match node.operation:
        case Operation.ADD:
            return dx + dy
        case Operation.SUBTRACT:
            return dx - dy
        case Operation.MULTIPLY:
            return dx * y + x * dy
        case Operation.DIVIDE:
            return (dx - node * dy) / y
        case Operation.ATAN2:  # its operands are y and x
            return (y * dx - x * dy) / (x * x + y * y)
        case Operation.MAXIMUM:
            return graph.where(x - y, dx, dy)
        case _:
            assert node.operation is Operation.POWER
            return _rate_of_power(graph, node, operands, rates)


def _rate_of_power(
    graph: Graph, node: Expression, operands: tuple[Expression, Expression], rates: tuple[Expression, Expression]
) -> Expression:
    (x, y), (dx, dy) = operands, rates
    rate = dx * y * graph.power(x, y - 1.0)
    # The logarithm would spoil a negative base, which a constant exponent allows.
    return rate if dy is graph.constant(0.0) else rate + dy * node * graph.log(x)


def _slope(graph: Graph, node: Expression, x: Expression) -> Expression:
    """Derivative of a function of one by its argument."""
    match node.operation:
        case Operation.SIN:
            return graph.cos(x)
        case Operation.COS:
            return -graph.sin(x)
        case Operation.SQRT:
            return 0.5 / node
        case Operation.EXP:
            return node
        case Operation.LOG:
            return 1.0 / x
        case Operation.SINH:
            return graph.cosh(x)
        case Operation.COSH:
            return graph.sinh(x)
        case _:
            assert node.operation is Operation.TANH
            return 1.0 - node * node

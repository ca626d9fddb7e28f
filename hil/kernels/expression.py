"""The expression graph: a scalar that remembers how it was worked out, each value once.

Running an equation on the graph's inputs records it. Equal expressions are one node, constants are folded, and
signs move outwards, so that ``a * -b`` and ``-(a * b)`` are found to be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias, Union

from hil.errors import CommandError
from hil.model.transforms import EXACT_RAD, cos_sin

Number: TypeAlias = Union["Expression", float, int]


class Operation(Enum):
    """What a node does; its value is the node's name in messages."""

    CONSTANT = "constant"
    INPUT = "input"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    NEGATE = "negate"
    SIN = "sin"
    COS = "cos"
    ATAN2 = "atan2"
    SQRT = "sqrt"
    MAXIMUM = "maximum"
    WHERE = "where"
    EXP = "exp"
    LOG = "log"
    POWER = "power"
    FLOOR = "floor"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"


_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.DIVIDE
_CONSTANT, _NEGATE = Operation.CONSTANT, Operation.NEGATE

LARGEST_PRODUCT = 16
"""Whole powers up to this one are products."""


class Expression:
    """One node. Made by a `Graph` only; compared by identity, since equal nodes are the same node.

    Attributes:
        graph: where it lives.
        index: its place in `graph.nodes`; operands come before what uses them.
        operation: what it does.
        operands: nodes it is made of.
        value: a constant's number, else 0.
        name: an input's name, else empty.
    """

    __slots__ = ("graph", "index", "name", "operands", "operation", "value")

    def __init__(
        self,
        graph: Graph,
        index: int,
        operation: Operation,
        operands: tuple[Expression, ...],
        value: float = 0.0,
        name: str = "",
    ) -> None:
        self.graph, self.index, self.operation, self.operands = graph, index, operation, operands
        self.value, self.name = value, name

    def __add__(self, other: Number) -> Expression:
        return self.graph.add(self, self.graph.expression(other))

    def __radd__(self, other: Number) -> Expression:
        return self.graph.add(self.graph.expression(other), self)

    def __sub__(self, other: Number) -> Expression:
        return self.graph.subtract(self, self.graph.expression(other))

    def __rsub__(self, other: Number) -> Expression:
        return self.graph.subtract(self.graph.expression(other), self)

    def __mul__(self, other: Number) -> Expression:
        return self.graph.multiply(self, self.graph.expression(other))

    def __rmul__(self, other: Number) -> Expression:
        return self.graph.multiply(self.graph.expression(other), self)

    def __truediv__(self, other: Number) -> Expression:
        return self.graph.divide(self, self.graph.expression(other))

    def __rtruediv__(self, other: Number) -> Expression:
        return self.graph.divide(self.graph.expression(other), self)

    def __neg__(self) -> Expression:
        return self.graph.negate(self)

    def __pos__(self) -> Expression:
        return self

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: an equation may branch on constants only, or use where()")

    def __repr__(self) -> str:
        if self.operation is _CONSTANT:
            return repr(self.value)
        if self.operation is Operation.INPUT:
            return self.name
        return f"{self.operation.value}({', '.join(f'#{operand.index}' for operand in self.operands)})"


class Graph:
    """The nodes of one derivation, and the functions of its scalars (it is a `hil.kernels.scalar.Functions`)."""

    def __init__(self) -> None:
        self.nodes: list[Expression] = []
        self._known: dict[tuple[Operation, int, int, int], Expression] = {}
        self._constants: dict[float, Expression] = {}
        self._inputs: dict[str, Expression] = {}

    def input(self, name: str) -> Expression:
        """The input called `name`; the same node each time."""
        node = self._inputs.get(name)
        if node is None:
            node = self._inputs[name] = Expression(self, len(self.nodes), Operation.INPUT, (), name=name)
            self.nodes.append(node)
        return node

    def inputs(self, name: str, count: int) -> list[Expression]:
        """`count` inputs, ``name0``, ``name1`` and so on."""
        return [self.input(f"{name}{i}") for i in range(count)]

    def expression(self, value: Number) -> Expression:
        """`value` as a node of this graph.

        Raises:
            CommandError: a constant that is not finite.
        """
        if type(value) is Expression:
            return value
        return self.constant(float(value))  # type: ignore[arg-type]

    def constant(self, value: float) -> Expression:
        """A number.

        Raises:
            CommandError: not finite.
        """
        node = self._constants.get(value)
        if node is None:
            if not math.isfinite(value):
                raise CommandError(f"a constant of an equation is {value!r}", value=value, allowed="a finite number")
            # Minus zero and zero are one key; the positive one is kept.
            node = Expression(self, len(self.nodes), _CONSTANT, (), value=value + 0.0)
            self._constants[value] = node
            self.nodes.append(node)
        return node

    def add(self, a: Expression, b: Expression) -> Expression:
        """Sum."""
        if a.operation is _CONSTANT:
            if b.operation is _CONSTANT:
                return self.constant(a.value + b.value)
            if a.value == 0.0:
                return b
        elif b.operation is _CONSTANT and b.value == 0.0:
            return a
        if b.operation is _NEGATE:
            return self.subtract(a, b.operands[0])
        if a.operation is _NEGATE:
            return self.subtract(b, a.operands[0])
        return self._node(_ADD, *((a, b) if a.index <= b.index else (b, a)))

    def subtract(self, a: Expression, b: Expression) -> Expression:
        """Difference."""
        if a is b:
            return self.constant(0.0)
        if b.operation is _CONSTANT:
            if a.operation is _CONSTANT:
                return self.constant(a.value - b.value)
            if b.value == 0.0:
                return a
            if b.value < 0.0:
                return self.add(a, self.constant(-b.value))
        elif a.operation is _CONSTANT and a.value == 0.0:
            return self.negate(b)
        if b.operation is _NEGATE:
            return self.add(a, b.operands[0])
        if a.operation is _NEGATE:
            return self.negate(self.add(a.operands[0], b))
        return self._node(_SUBTRACT, a, b)

    def multiply(self, a: Expression, b: Expression) -> Expression:
        """Product; a constant factor comes first."""
        if b.operation is _CONSTANT:
            a, b = b, a
        if a.operation is _CONSTANT:
            return self._scaled(a, b)
        if a.operation is _NEGATE:
            return self.negate(self.multiply(a.operands[0], b))
        if b.operation is _NEGATE:
            return self.negate(self.multiply(a, b.operands[0]))
        return self._node(_MULTIPLY, *((a, b) if a.index <= b.index else (b, a)))

    def divide(self, a: Expression, b: Expression) -> Expression:
        """Quotient.

        Raises:
            CommandError: `b` is the constant 0.
        """
        if b.operation is _CONSTANT:
            if b.value == 0.0:
                raise CommandError("an equation divides by the constant 0", value=0.0, allowed="another divisor")
            if b.value == 1.0:
                return a
            if a.operation is _CONSTANT:
                return self.constant(a.value / b.value)
        elif a.operation is _CONSTANT and a.value == 0.0:
            return a
        if a.operation is _NEGATE:
            return self.negate(self.divide(a.operands[0], b))
        if b.operation is _NEGATE:
            return self.negate(self.divide(a, b.operands[0]))
        return self._node(_DIVIDE, a, b)

    def negate(self, a: Expression) -> Expression:
        """The same with the other sign."""
        if a.operation is _CONSTANT:
            return self.constant(-a.value)
        if a.operation is _NEGATE:
            return a.operands[0]
        if a.operation is _SUBTRACT:
            return self.subtract(a.operands[1], a.operands[0])
        return self._node(_NEGATE, a)

    def sin(self, x: Number) -> Expression:
        """Sine; whole quarter turns in the angle are taken out, so that no constant is left to round."""
        return self._circular(self.expression(x), quarters=0)

    def cos(self, x: Number) -> Expression:
        """Cosine; as `sin`."""
        return self._circular(self.expression(x), quarters=1)

    def atan2(self, y: Number, x: Number) -> Expression:
        """Angle of the vector (x, y)."""
        y, x = self.expression(y), self.expression(x)
        if y.operation is _CONSTANT and x.operation is _CONSTANT:
            return self.constant(math.atan2(y.value, x.value))
        return self._node(Operation.ATAN2, y, x)

    def sqrt(self, x: Number) -> Expression:
        """Square root of what is not negative."""
        return self._of_one(Operation.SQRT, math.sqrt, x)

    def maximum(self, x: Number, y: Number) -> Expression:
        """The larger of the two."""
        x, y = self.expression(x), self.expression(y)
        if x is y:
            return x
        if x.operation is _CONSTANT and y.operation is _CONSTANT:
            return self.constant(max(x.value, y.value))
        return self._node(Operation.MAXIMUM, *((x, y) if x.index <= y.index else (y, x)))

    def where(self, x: Number, nonnegative: Number, negative: Number) -> Expression:
        """`nonnegative` where `x` >= 0, else `negative`."""
        x, yes, no = self.expression(x), self.expression(nonnegative), self.expression(negative)
        if yes is no:
            return yes
        if x.operation is _CONSTANT:
            return yes if x.value >= 0.0 else no
        return self._node(Operation.WHERE, x, yes, no)

    def exp(self, x: Number) -> Expression:
        """The exponential, e to the power `x`."""
        return self._of_one(Operation.EXP, math.exp, x)

    def log(self, x: Number) -> Expression:
        """Natural logarithm of what is positive."""
        return self._of_one(Operation.LOG, math.log, x)

    def floor(self, x: Number) -> Expression:
        """The largest whole number that is not above `x`."""
        return self._of_one(Operation.FLOOR, math.floor, x)

    def sinh(self, x: Number) -> Expression:
        """Hyperbolic sine."""
        return self._of_one(Operation.SINH, math.sinh, x)

    def cosh(self, x: Number) -> Expression:
        """Hyperbolic cosine."""
        return self._of_one(Operation.COSH, math.cosh, x)

    def tanh(self, x: Number) -> Expression:
        """Hyperbolic tangent."""
        return self._of_one(Operation.TANH, math.tanh, x)

    def power(self, x: Number, y: Number) -> Expression:
        """`x` to the power `y`; small whole powers are products, and half a power is a root."""
        x, y = self.expression(x), self.expression(y)
        if y.operation is not _CONSTANT:
            return self._node(Operation.POWER, x, y)
        if x.operation is _CONSTANT:
            return self.constant(_constant_value(Operation.POWER, math.pow, x.value, y.value))
        if y.value == 0.5:
            return self.sqrt(x)
        if not y.value.is_integer() or abs(y.value) > LARGEST_PRODUCT:
            return self._node(Operation.POWER, x, y)
        product = self._whole_power(x, abs(int(y.value)))
        return product if y.value >= 0.0 else self.divide(self.constant(1.0), product)

    def _whole_power(self, x: Expression, times: int) -> Expression:
        if times == 0:
            return self.constant(1.0)
        half = self._whole_power(x, times // 2)
        square = self.multiply(half, half)
        return self.multiply(square, x) if times % 2 else square

    def _of_one(self, operation: Operation, function: Callable[[float], float], x: Number) -> Expression:
        x = self.expression(x)
        if x.operation is _CONSTANT:
            return self.constant(_constant_value(operation, function, x.value))
        return self._node(operation, x)

    def _scaled(self, a: Expression, b: Expression) -> Expression:
        factor = a.value
        if b.operation is _CONSTANT:
            return self.constant(factor * b.value)
        if factor == 0.0:
            return a
        if factor == 1.0:
            return b
        if factor < 0.0:
            return self.negate(self._scaled(self.constant(-factor), b))
        if b.operation is _NEGATE:
            return self.negate(self._scaled(a, b.operands[0]))
        if b.operation is _MULTIPLY and b.operands[0].operation is _CONSTANT:
            return self._scaled(self.constant(factor * b.operands[0].value), b.operands[1])
        return self._node(_MULTIPLY, a, b)

    def _circular(self, x: Expression, quarters: int) -> Expression:
        """sin(x + quarters * pi / 2)."""
        while True:
            operation = x.operation
            if operation is _CONSTANT:
                return self.constant(_sine(x.value, quarters))
            if operation is _NEGATE:
                x, quarters = x.operands[0], 2 - quarters  # sin(k - x) = sin(x + 2 - k), in quarters
                continue
            turned = _whole_quarters(x)
            if turned is None:
                break
            x, more, mirrored = turned
            quarters = 2 - quarters - more if mirrored else quarters + more
        quarters %= 4
        node = self._node(Operation.SIN if quarters % 2 == 0 else Operation.COS, x)
        return node if quarters < 2 else self.negate(node)

    def _node(self, operation: Operation, *operands: Expression) -> Expression:
        first, second, third = [operand.index for operand in operands] + [-1] * (3 - len(operands))
        key = (operation, first, second, third)
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = Expression(self, len(self.nodes), operation, operands)
            self.nodes.append(node)
        return node


def _constant_value(operation: Operation, function: Callable[..., float], *values: float) -> float:
    try:
        return float(function(*values))
    except (ValueError, OverflowError):
        given = ", ".join(map(repr, values))
        raise CommandError(
            f"an equation asks for {operation.value}({given}), which has no finite value", value=given
        ) from None


def _sine(angle: float, quarters: int) -> float:
    cosine, sine = cos_sin(angle)
    return (sine, cosine, -sine, -cosine)[quarters % 4]


def _whole_quarters(x: Expression) -> tuple[Expression, int, bool] | None:
    """(rest, whole quarter turns, rest is subtracted) where `x` is such a sum; None where it is not."""
    if x.operation is not _ADD and x.operation is not _SUBTRACT:
        return None
    a, b = x.operands
    constant, rest = (a, b) if a.operation is _CONSTANT else (b, a)
    if constant.operation is not _CONSTANT:
        return None
    quarters = constant.value / (math.pi / 2)
    whole = round(quarters)
    if abs(quarters - whole) * (math.pi / 2) >= EXACT_RAD:
        return None
    if x.operation is _ADD:
        return rest, whole, False
    return (rest, whole, True) if constant is a else (rest, -whole, False)

"""What an expression is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hil.program import nodes
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.functions import FUNCTIONS, call, place
from hil.program.pallets import Pallet
from hil.program.values import (
    FLAGS,
    LARGEST_FLAG,
    Joints,
    Position,
    Scalar,
    Value,
    checked,
    cint,
    component,
    joints,
    kind_of,
    number,
    position,
    whole,
)
from hil.program.variables import Store, is_system

LARGEST_BITS = 2**32
MOST_CALLS = 16


class Scope(Protocol):
    """What an expression may ask for; `degrees`: components of angles are in degrees (PRGMDEG), else in radians."""

    @property
    def degrees(self) -> bool:
        """Unit of a component's angle."""
        ...

    @property
    def store(self) -> Store:
        """Variables of the running program."""
        ...

    @property
    def functions(self) -> Mapping[str, nodes.DefFunction]:
        """Functions of the user's own."""
        ...

    @property
    def pallets(self) -> Mapping[int, Pallet]:
        """Pallets by number."""
        ...

    @property
    def ports(self) -> Mapping[str, nodes.DefIo]:
        """Names of signals."""
        ...

    @property
    def arm(self) -> ProgramArm:
        """The arm with its present frames."""
        ...

    def system(self, name: str, arguments: Sequence[Value]) -> Value:
        """A system variable."""
        ...

    def port(self, definition: nodes.DefIo) -> Value:
        """Signals under a name."""
        ...

    def random(self) -> float:
        """The next random number, 0 up to 1."""
        ...


class Evaluator:
    """Works out expressions within one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._locals: list[dict[str, Value]] = []

    def value(self, node: nodes.Expression) -> Value:
        """The value of an expression.

        Raises:
            ProgramError: it has none.
        """
        match node:
            case nodes.Number() | nodes.Text():
                return node.value
            case nodes.Name():
                return self._name(node)
            case nodes.Index():
                return self._index(node)
            case nodes.Component():
                return component(self.value(node.of), node.name, self._scope.degrees)
            case nodes.Constant():
                return self._constant(node)
            case nodes.Unary():
                return self._unary(node)
            case nodes.Binary():
                return checked_value(self._binary(node.operator, self.value(node.left), self.value(node.right)))
            case nodes.PalletPoint():
                return self._pallet(node)

    def number(self, node: nodes.Expression) -> Scalar:
        """A numeric value."""
        return number(self.value(node))

    def whole(self, node: nodes.Expression, least: int, most: int, what: str) -> int:
        """A whole number in a range."""
        return whole(self.value(node), least, most, what)

    def true(self, node: nodes.Expression) -> bool:
        """A condition: anything but 0."""
        return self.number(node) != 0

    def place(self, node: nodes.Expression) -> Position:
        """A position."""
        return place(self.value(node))

    def index(self, node: nodes.Index) -> tuple[int, ...]:
        """The index of an array element."""
        return tuple(cint(self.number(argument)) for argument in node.arguments)

    def _name(self, node: nodes.Name) -> Value:
        name = node.name
        if self._locals and name in self._locals[-1]:
            return self._locals[-1][name]
        if name == "RND":
            return self._scope.random()
        if name in self._scope.ports:
            return self._scope.port(self._scope.ports[name])
        if is_system(name) and not self._scope.store.owns(name):
            return self._scope.system(name, ())
        if name in self._scope.functions:
            return self._user_function(name, ())
        return self._scope.store.get(name)

    def _index(self, node: nodes.Index) -> Value:
        name = node.name
        if self._scope.store.is_array(name):
            return self._scope.store.get(name, self.index(node))
        if name == "RND":
            return self._scope.random()
        if name not in FUNCTIONS and name not in self._scope.functions and not is_system(name):
            return self._scope.store.get(name, self.index(node))
        arguments = tuple(self.value(argument) for argument in node.arguments)
        if name in FUNCTIONS:
            return call(name, arguments, self._scope.arm)
        if name in self._scope.functions:
            return self._user_function(name, arguments)
        return self._scope.system(name, arguments)

    def _user_function(self, name: str, arguments: Sequence[Value]) -> Value:
        definition = self._scope.functions[name]
        if len(arguments) != len(definition.parameters):
            raise ProgramError(3120, f"{name} with {len(arguments)} arguments", allowed=f"{len(definition.parameters)}")
        if len(self._locals) >= MOST_CALLS:
            raise ProgramError(3100, f"{name} calls itself")
        self._locals.append(dict(zip(definition.parameters, arguments, strict=True)))
        try:
            return self.value(definition.value)
        finally:
            self._locals.pop()

    def _constant(self, node: nodes.Constant) -> Value:
        members = [0.0 if member is None else self.number(member) for member in node.members]
        if len(members) == 9 and node.members[8] is None:
            members.pop()
        flags: list[int | None] = [None, None]
        for k, flag in enumerate(node.flags or ()):
            if k > 1:
                raise ProgramError(3860, f"{len(node.flags or ())} flags", allowed="two")
            flags[k] = None if flag is None else whole(self.value(flag), 0, LARGEST_FLAG, FLAGS[k])
        return position(members, flags[0], flags[1])

    def _unary(self, node: nodes.Unary) -> Value:
        value = self.value(node.operand)
        if node.operator == "NOT":
            return int(number(value) == 0) if number(value) in (0, 1) else ~cint(number(value))
        if isinstance(value, Position):
            return position([-member for member in value.members], value.fl1, value.fl2)
        if isinstance(value, Joints):
            return joints([-member for member in value.degrees])
        return -number(value)

    def _binary(self, operator: str, left: Value, right: Value) -> Value:
        if isinstance(left, str) and isinstance(right, str):
            return _strings(operator, left, right)
        if isinstance(left, Position):
            return self._positions(operator, left, right)
        if isinstance(left, Joints):
            return _joint_sets(operator, left, right)
        if isinstance(left, str) or isinstance(right, str | Position | Joints):
            raise ProgramError(3810, f"{kind_of(left)} {operator} {kind_of(right)}", allowed="operands of one type")
        return _numbers(operator, left, right)

    def _positions(self, operator: str, left: Position, right: Value) -> Value:
        members: list[float]
        if isinstance(right, Position):
            if operator == "*":
                return self._scope.arm.product(left, right)
            if operator == "/":
                return self._scope.arm.product(left, place(call("INV", (right,), self._scope.arm)))
            members = _added(operator, left.members, right.members)
        else:
            members = _scaled(operator, left.members, right)
        return position(members, left.fl1, left.fl2)

    def _pallet(self, node: nodes.PalletPoint) -> Position:
        number_ = self.whole(node.pallet, 1, 8, "pallet")
        pallet = self._scope.pallets.get(number_)
        if pallet is None:
            raise ProgramError(3850, f"pallet {number_}")
        return pallet.place(cint(self.number(node.index)))


def checked_value(value: Value) -> Value:
    """A value that can be calculated with."""
    return checked(value) if isinstance(value, int | float) else value


def as_joints(value: Value) -> Value:
    """A constant assigned to a joint variable is a joint set, whatever its brackets looked like."""
    if isinstance(value, Position) and value.fl1 is None and value.fl2 is None:
        return joints(value.members)
    return value


def _strings(operator: str, left: str, right: str) -> Value:
    if operator == "+":
        return left + right
    if operator in ("=", "<>"):
        return int((left == right) is (operator == "="))
    raise ProgramError(3810, f"string {operator} string", allowed="+, = or <>")


def _joint_sets(operator: str, left: Joints, right: Value) -> Value:
    if isinstance(right, Joints):
        return joints(_added(operator, left.degrees, right.degrees))
    return joints(_scaled(operator, left.degrees, right))


def _added(operator: str, left: Sequence[float], right: Sequence[float]) -> list[float]:
    if operator not in ("+", "-"):
        raise ProgramError(3810, f"{operator} between these", allowed="+ or -")
    sign = 1.0 if operator == "+" else -1.0
    return [a + sign * b for a, b in zip(left, right, strict=True)]


def _scaled(operator: str, members: Sequence[float], by: Value) -> list[float]:
    if operator not in ("*", "/") or not isinstance(by, int | float):
        raise ProgramError(3810, f"{operator} with a {kind_of(by)}", allowed="* or / with a number")
    if operator == "/" and by == 0:
        raise ProgramError(3110, "division by 0", allowed="any other number")
    return [member * by if operator == "*" else member / by for member in members]


def _numbers(operator: str, left: Scalar, right: Scalar) -> Scalar:
    function = ARITHMETIC.get(operator)
    if function is None:
        raise ProgramError(3810, f"number {operator} number")
    try:
        found = function(left, right)
    except ZeroDivisionError:
        raise ProgramError(3110, "division by 0", allowed="any other number") from None
    except (ValueError, OverflowError):
        raise ProgramError(3110, f"{left:g} {operator} {right:g}") from None
    return found


def _power(left: Scalar, right: Scalar) -> Scalar:
    found = math.pow(left, right)
    return (
        int(found) if isinstance(left, int) and isinstance(right, int) and abs(found) < 2**53 and right >= 0 else found
    )


def _divided(left: Scalar, right: Scalar) -> Scalar:
    found = left / right
    return int(found) if isinstance(left, int) and isinstance(right, int) and found.is_integer() else found


def _rest(left: Scalar, right: Scalar) -> Scalar:
    """With the sign of the left operand; both are rounded first."""
    a, b = cint(left), cint(right)
    return int(math.fmod(a, b)) if b else a // b


def _bits(value: Scalar) -> int:
    found = cint(value)
    if abs(found) >= LARGEST_BITS:
        raise ValueError(value)
    return found


def _shifted(left: Scalar, right: Scalar) -> Scalar:
    count = cint(right)
    if abs(count) > 32:
        raise ValueError(right)
    found = _bits(left) << count if count >= 0 else _bits(left) >> -count
    return (found + 2**31) % 2**32 - 2**31


ARITHMETIC: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "^": _power,
    "MOD": _rest,
    "=": lambda a, b: int(a == b),
    "<>": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "AND": lambda a, b: _bits(a) & _bits(b),
    "OR": lambda a, b: _bits(a) | _bits(b),
    "XOR": lambda a, b: _bits(a) ^ _bits(b),
    "<<": _shifted,
    ">>": lambda a, b: _shifted(a, -b),
}

"""A formula that was read: its tree over any scalar, and at one place with everything checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from hil.errors import CommandError
from hil.formula.errors import FormulaError, OutsideDomainError
from hil.formula.functions import CONSTANTS, FUNCTIONS, NAMES
from hil.formula.nodes import (
    CONDITIONS,
    Binary,
    Both,
    Call,
    Choice,
    Comparison,
    Condition,
    Either,
    Name,
    Negation,
    Node,
    Not,
    Number,
    Part,
    parts_of,
)
from hil.formula.reader import KEYWORDS, read_tree
from hil.kernels.expression import Operation
from hil.kernels.scalar import FLOATS, Functions, Scalar
from hil.types import Record
from hil.units import DEG

MOST_NAMES = 50


class Unit(Enum):
    """The unit of a variable. Only an angle in degrees is turned into another one; the others are for messages."""

    NONE = ""
    RADIANS = "rad"
    DEGREES = "deg"
    METRES = "m"
    CENTIMETRES = "cm"
    MILLIMETRES = "mm"
    SECONDS = "s"
    RADIANS_PER_SECOND = "rad/s"
    NEWTON_METRES = "N m"
    VOLTS = "V"
    AMPERES = "A"
    PERCENT = "%"

    @property
    def factor(self) -> float:
        """What a formula sees of 1: functions take radians."""
        return DEG if self is Unit.DEGREES else 1.0


class Variable(Record, frozen=True):
    """A name whose value is given with every evaluation.

    Attributes:
        name: a letter, then letters, digits and underscores.
        unit: of the values that are given.
        meaning: in words; empty where the name says it.
    """

    name: str
    unit: Unit = Unit.NONE
    meaning: str = ""


class Formula:
    """One formula. Made by `read_formula`; it holds no state and may be shared.

    Attributes:
        text: as it was written.
        what: what it is for, for messages.
        variables: all that were declared, used or not, in their order.
        used: names of the variables that stand in it.
    """

    def __init__(
        self, text: str, tree: Node, variables: tuple[Variable, ...], constants: Mapping[str, float], what: str
    ) -> None:
        self.text, self.what, self.variables = text, what, variables
        self._tree, self._constants = tree, dict(constants)
        names = _names_in(tree)
        self.used = frozenset(variable.name for variable in variables if variable.name in names)

    def over(self, values: Mapping[str, Scalar], functions: Functions, *, strict: bool = False) -> Scalar:
        """The value over any scalar: floats, numpy arrays, or nodes of the expression graph.

        Nothing is checked: outside its domain the value is not finite, or a float function raises. A comparison with
        what is not a number gives what is not a number, so nothing is hidden by a choice.

        Args:
            values: of all variables that are used, in their declared units.
            functions: of the scalars.
            strict: an infinite number on the way makes the value one that is not a number, where ``atan(1/u)`` would
                have one; for arrays and graphs.

        Raises:
            FormulaError: the graph finds that it has no finite value anywhere, as in u/0.
        """
        return _Over(self, self._seen(values), functions, strict).number(self._tree)

    def value(self, **values: float) -> float:
        """The value at one place.

        Args:
            values: of all variables that are used, in their declared units; others may be given too.

        Raises:
            CommandError: a variable is missing or not finite.
            OutsideDomainError: there is no finite value there; it says which operation has none, and why.
        """
        return self.value_at(values)

    def value_at(self, values: Mapping[str, float], sample: int = 0) -> float:
        """As `value`; `sample` is the place's index for messages."""
        for name in sorted(self.used):
            given = values.get(name)
            if given is None or not math.isfinite(given):
                raise CommandError(f"{name} of {self.text!r} is {given!r}; allowed: a finite number", value=given)
        units = {variable.name: variable.unit.value for variable in self.variables}
        at = {variable.name: values[variable.name] for variable in self.variables if variable.name in self.used}

        def outside(column: int, detail: str, allowed: str) -> OutsideDomainError:
            return OutsideDomainError(
                self.text, column, detail, at, sample=sample, what=self.what, allowed=allowed, units=units
            )

        return _AtOnePlace(self._seen(values), outside).number(self._tree)

    def _seen(self, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Names and what they stand for in the tree."""
        seen: dict[str, Scalar] = dict(self._constants)
        for variable in self.variables:
            if variable.name in self.used:
                factor, value = variable.unit.factor, values[variable.name]
                seen[variable.name] = value if factor == 1.0 else factor * value
        return seen

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def read_formula(
    text: str,
    variables: Sequence[Variable | str] = (),
    constants: Mapping[str, float] | None = None,
    *,
    what: str = "",
) -> Formula:
    """Read a formula.

    Args:
        text: for example ``40*sin(u)*cos(v)``.
        variables: what it may use; a bare name has no unit.
        constants: named numbers, beside pi, e and deg; a name that is declared here or as a variable hides those.
        what: what the formula is for, for messages.

    Raises:
        FormulaError: the text is no formula, or too large; it has the column and what was probably meant.
        CommandError: a name that was declared is none, is declared twice, or its number is not finite.
    """
    declared = tuple(Variable(name=each) if isinstance(each, str) else each for each in variables)
    given = dict(constants or {})
    _check_names([*(variable.name for variable in declared), *given], given)
    known = given | {name: value for name, value in CONSTANTS.items() if name not in given}
    for variable in declared:
        known.pop(variable.name, None)
    try:
        tree = read_tree(text, [*(variable.name for variable in declared), *known])
    except FormulaError as error:
        raise error.called(what) from None
    formula = Formula(text, tree, declared, known, what)
    _check_constants(formula, tree, known)
    return formula


def _check_names(names: Sequence[str], constants: Mapping[str, float]) -> None:
    if len(names) > MOST_NAMES:
        raise CommandError(f"{len(names)} names are declared; allowed: {MOST_NAMES}", value=len(names))
    for k, name in enumerate(names):
        if not name.isidentifier() or not name.isascii() or name.startswith("_") or len(name) > 40:
            allowed = "a letter, then letters, digits and _, up to 40"
            raise CommandError(f"{name!r} cannot be a name in a formula; allowed: {allowed}", value=name)
        if name in NAMES or name in KEYWORDS:
            raise CommandError(f"{name!r} is a word of every formula; allowed: another name", value=name)
        if name in names[:k]:
            raise CommandError(f"{name!r} is declared twice; allowed: once", value=name)
    for name, value in constants.items():
        if not math.isfinite(value):
            raise CommandError(f"the constant {name} is {value!r}; allowed: a finite number", value=value)


def _check_constants(formula: Formula, tree: Node, constants: Mapping[str, float]) -> None:
    """Refuse what is made of numbers alone and has no value."""

    def outside(column: int, detail: str, allowed: str) -> OutsideDomainError:
        return OutsideDomainError(formula.text, column, detail, {}, what=formula.what, allowed=allowed)

    walk = _AtOnePlace(constants, outside)

    def is_constant(part: Part) -> bool:
        found = [(each, is_constant(each)) for each in parts_of(part)]
        if all(constant for _, constant in found):
            return not isinstance(part, Name) or part.name in constants
        for each, constant in found:
            if constant:
                check(each)
        return False

    def check(part: Part) -> None:
        try:
            if isinstance(part, CONDITIONS):
                walk.holds(part)
            else:
                walk.number(part)
        except OutsideDomainError as error:
            raise FormulaError(
                formula.text, error.column, error.detail, allowed=error.allowed, what=formula.what
            ) from None

    if is_constant(tree):
        check(tree)


def _names_in(tree: Node) -> set[str]:
    found: set[str] = set()
    waiting: list[Part] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Name):
            found.add(part.name)
        waiting += parts_of(part)
    return found


class _Over:
    """Walks a tree over any scalar."""

    def __init__(self, formula: Formula, values: Mapping[str, Scalar], functions: Functions, strict: bool) -> None:
        self._formula, self._values, self._functions, self._strict = formula, values, functions, strict

    def number(self, node: Node) -> Scalar:
        match node:
            case Number(value):
                return value
            case Name(name):
                return self._values[name]
            case Negation(operand):
                return -self.number(operand)
            case Choice(cases, otherwise):
                value = self.number(otherwise)
                for condition, case in reversed(cases):
                    value = self.choice(condition, self.number(case), value)
                return value
            case Binary(operation, left, right):
                value = self._done(node, self._binary(operation), self.number(left), self.number(right))
                return self._finite(value) if operation in "/^" else value
            case Call(name, arguments):
                values = [self.number(argument) for argument in arguments]
                value = self._done(node, FUNCTIONS[name].over, self._functions, *values)
                return self._finite(value) if name in _UNBOUNDED else value
            case _:
                raise TypeError(f"no node of a formula: {node!r}")

    def choice(self, condition: Condition, yes: Scalar, no: Scalar) -> Scalar:
        """`yes` where `condition` holds, `no` where it does not, NaN where neither can be said."""
        match condition:
            case Comparison(left, right, strict):
                difference = self.number(right) - self.number(left)
                where = self._functions.where
                if strict:  # left < right is the opposite of left - right >= 0
                    return where(-difference, no, where(difference, yes, difference))
                return where(difference, yes, where(-difference, no, difference))
            case Both(one, other):
                return self.choice(one, self.choice(other, yes, no), no)
            case Either(one, other):
                return self.choice(one, yes, self.choice(other, yes, no))
            case Not(opposite):
                return self.choice(opposite, no, yes)

    def _binary(self, operation: str) -> Callable[[Scalar, Scalar], Scalar]:
        return self._functions.power if operation == "^" else _ARITHMETIC[operation]

    def _finite(self, value: Scalar) -> Scalar:
        """The same; what is not a number for what is infinite."""
        constant = isinstance(value, float) or getattr(value, "operation", None) is Operation.CONSTANT
        if constant or not self._strict:
            return value
        size = self._functions.maximum(value, -value)
        return self._functions.where(_LARGEST - size, value, self._functions.sqrt(-size))

    def _done(self, node: Binary | Call, work: Callable[..., Scalar], *operands: Scalar) -> Scalar:
        try:
            return work(*operands)
        except CommandError:  # the graph meets a division by the constant 0, or constants that grow too large
            raise FormulaError(self._formula.text, node.column, _NEVER_FINITE, what=self._formula.what) from None


_UNBOUNDED = frozenset({"log", "log10", "exp", "sinh", "cosh", "tan"})
"""Functions that may be infinite where their argument is finite."""

_LARGEST = 1e300

_NEVER_FINITE = "this has no finite value, whatever the variables are"

_ARITHMETIC: Mapping[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


class _AtOnePlace:
    """Walks a tree on floats and stops at the first operation without a finite value; only one side of a choice counts.

    Args:
        values: of all names.
        outside: makes the error of a column, what happened, and what is allowed.
    """

    def __init__(self, values: Mapping[str, float], outside: Callable[[int, str, str], OutsideDomainError]) -> None:
        self._values, self._outside = values, outside

    def number(self, node: Node) -> float:
        match node:
            case Number(value):
                return value
            case Name(name):
                return float(self._values[name])
            case Negation(operand):
                return -self.number(operand)
            case Choice(cases, otherwise):
                return self.number(next((value for condition, value in cases if self.holds(condition)), otherwise))
            case Binary(operation, left, right):
                return self._binary(node.column, operation, self.number(left), self.number(right))
            case Call(name, arguments):
                return self._call(node.column, name, [self.number(argument) for argument in arguments])
            case _:
                raise TypeError(f"no node of a formula: {node!r}")

    def holds(self, condition: Condition) -> bool:
        """Whether a condition is true."""
        match condition:
            case Comparison(left, right, strict):
                low, high = self.number(left), self.number(right)
                return low < high if strict else low <= high
            case Both(one, other):
                return self.holds(one) and self.holds(other)
            case Either(one, other):
                return self.holds(one) or self.holds(other)
            case Not(opposite):
                return not self.holds(opposite)

    def _binary(self, column: int, operation: str, left: float, right: float) -> float:
        if operation == "/" and right == 0.0:
            raise self._outside(column, f"{left:.6g} divided by 0", "another divisor")
        if operation == "^" and left < 0.0 and not right.is_integer():
            raise self._outside(column, f"{left:.6g} to the power {right:.6g}", "whole powers of a negative number")
        if operation == "^" and left == 0.0 and right < 0.0:
            raise self._outside(column, f"0 to the power {right:.6g}", "powers of 0 or more")
        words = f"{left:.6g} {operation} {right:.6g}"
        work = FLOATS.power if operation == "^" else _ARITHMETIC[operation]
        return self._finite(column, words, lambda: work(left, right))

    def _call(self, column: int, name: str, values: list[float]) -> float:
        function = FUNCTIONS[name]
        words = f"{name} of {' and '.join(f'{value:.6g}' for value in values)}"
        if function.accepts is not None and not function.accepts(*values):
            raise self._outside(column, words, function.takes)
        return self._finite(column, words, lambda: function.over(FLOATS, *values))

    def _finite(self, column: int, words: str, work: Callable[[], float]) -> float:
        try:
            value = float(work())
        except (ValueError, OverflowError, ZeroDivisionError):
            value = math.nan
        if not math.isfinite(value):
            raise self._outside(column, words, "what gives a finite number")
        return value

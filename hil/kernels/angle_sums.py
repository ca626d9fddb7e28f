"""SymPy expressions tidied for reading: what turns about parallel axes becomes one angle, the rest is nested.

Products of sines and cosines of joints with parallel axes are written as sines and cosines of sums, which makes
the form of each expression unique: what is zero vanishes, ``c2 c3 - s2 s3`` is ``cos(q2 + q3)``. Then the first
joint's sine and cosine are taken out, then those of the joints after it, as textbooks print them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

Symbolic: TypeAlias = Any
"""A SymPy expression; SymPy is imported only where such expressions are made."""

ROUNDING = 1e-13
"""A sum this small against its parts has cancelled."""

EXACT_RAD = 1e-12
"""Phases this near to whole quarter turns are meant as such."""

PHASE_DECIMALS = 14
LARGEST_POWER = 8


class Turn(NamedTuple):
    """Sine or cosine of whole multiples of a group's coordinates plus a phase; the first multiple is positive."""

    sine: bool
    multiples: tuple[int, ...]
    phase: float


Key: TypeAlias = tuple[tuple[Turn | None, ...], tuple[tuple[Symbolic, int], ...]]
"""What a number multiplies: one turn or none per group, and powers of anything else."""

Terms: TypeAlias = dict[Key, float]


class AngleSums:
    """Tidies expressions of one arm.

    Args:
        groups: the coordinates, as SymPy symbols, of joints with parallel axes, group by group in chain order.
    """

    def __init__(self, groups: Sequence[Sequence[Symbolic]]) -> None:
        import sympy

        self._sympy = sympy
        self._groups = groups
        self._places = {q: (g, k) for g, group in enumerate(groups) for k, q in enumerate(group)}
        self._known: dict[Symbolic, Terms] = {}
        self._one: Key = ((None,) * len(groups), ())

    def tidy(self, expression: Symbolic) -> Symbolic:
        """An equal expression in the form described above."""
        return self._nested(self._terms(self._sympy.sympify(expression)), 0)

    def _terms(self, e: Symbolic) -> Terms:
        terms = self._known.get(e)
        if terms is None:
            terms = self._known[e] = self._expanded(e)
        return terms

    def _expanded(self, e: Symbolic) -> Terms:
        if e.is_Number:
            return {self._one: float(e)} if e != 0 else {}
        if e.is_Add:
            return _sum(self._terms(term) for term in e.args)
        if e.is_Mul:
            return self._product(self._terms(factor) for factor in e.args)
        if e.is_Pow and e.exp.is_Integer and 0 < e.exp <= LARGEST_POWER:
            return self._product([self._terms(e.base)] * int(e.exp))
        if e.func in (self._sympy.sin, self._sympy.cos):
            found = self._of_turn(e)
            if found is not None:
                return found
        return {(self._one[0], ((self._inside(e), 1),)): 1.0}

    def _inside(self, e: Symbolic) -> Symbolic:
        """`e`, which is no sum or product, with its parts tidied."""
        if e.is_Atom or not all(isinstance(part, self._sympy.Expr) for part in e.args):
            return e
        return e.func(*(part if part.is_Number else self.tidy(part) for part in e.args))

    def _of_turn(self, e: Symbolic) -> Terms | None:
        """A sine or cosine of whole multiples of one group's coordinates; None for any other."""
        parts = dict(e.args[0].as_coefficients_dict())
        phase = float(parts.pop(self._sympy.S.One, 0))
        places = [self._places.get(part, (-1, 0)) for part in parts]
        groups = {group for group, _ in places}
        if len(groups) != 1 or -1 in groups or not all(float(multiple).is_integer() for multiple in parts.values()):
            return None
        (group,) = groups
        multiples = [0] * len(self._groups[group])
        for (_, place), multiple in zip(places, parts.values(), strict=True):
            multiples[place] = int(multiple)
        sign, turn = _canonical(e.func is self._sympy.sin, tuple(multiples), phase)
        return {(tuple(turn if g == group else None for g in range(len(self._groups))), ()): sign}

    def _product(self, factors: Iterable[Terms]) -> Terms:
        result: Terms = {self._one: 1.0}
        for terms in factors:
            result = _sum(
                {key: value * x * y}
                for one, x in result.items()
                for other, y in terms.items()
                for key, value in _key_product(one, other)
            )
        return result

    def _nested(self, terms: Mapping[Key, float], group: int) -> Symbolic:
        if group == len(self._groups):
            return self._sympy.Add(*(self._monomial(key, value) for key, value in terms.items()))
        parts: dict[Turn | None, Terms] = {}
        for key, value in terms.items():
            parts.setdefault(key[0][group], {})[key] = value
        return self._sympy.Add(*(self._taken_out(turn, inner, group) for turn, inner in parts.items()))

    def _taken_out(self, turn: Turn | None, terms: Terms, group: int) -> Symbolic:
        if turn is None:
            return self._nested(terms, group + 1)
        sign = 1
        if terms[min(terms, key=_reading_order)] < 0.0:
            sign, terms = -1, {key: -value for key, value in terms.items()}
        inner = self._nested(terms, group + 1)
        return self._sympy.Mul(sign, self._turned(turn, self._groups[group]), inner)

    def _turned(self, turn: Turn, coordinates: Sequence[Symbolic]) -> Symbolic:
        function = self._sympy.sin if turn.sine else self._sympy.cos
        parts = [multiple * q for multiple, q in zip(turn.multiples, coordinates, strict=True)]
        return function(self._sympy.Add(*parts, self._number(turn.phase)))

    def _monomial(self, key: Key, value: float) -> Symbolic:
        return self._sympy.Mul(self._number(value), *(base**power for base, power in key[1]))

    def _number(self, value: float) -> Symbolic:
        return self._sympy.Integer(int(value)) if value.is_integer() else self._sympy.Float(value)


def _reading_order(key: Key) -> tuple[list[tuple[bool, tuple[int, ...], bool]], str]:
    """Turns of the first joints first; what has none comes last."""
    places = [
        (False, tuple(i for i, multiple in enumerate(turn.multiples) if multiple), turn.sine)
        if turn
        else (True, (), False)
        for turn in key[0]
    ]
    return places, str(key[1])


def _sum(parts: Iterable[Mapping[Key, float]]) -> Terms:
    result: Terms = {}
    for terms in parts:
        for key, value in terms.items():
            before = result.get(key, 0.0)
            total = before + value
            if abs(total) <= ROUNDING * max(abs(before), abs(value)):
                result.pop(key, None)
            else:
                result[key] = total
    return result


def _key_product(one: Key, other: Key) -> list[tuple[Key, float]]:
    powers = dict(one[1])
    for base, power in other[1]:
        powers[base] = powers.get(base, 0) + power
    atoms = tuple(sorted(powers.items(), key=lambda item: str(item[0])))
    found: list[tuple[tuple[Turn | None, ...], float]] = [((), 1.0)]
    for a, b in zip(one[0], other[0], strict=True):
        found = [((*turns, turn), value * x) for turns, value in found for x, turn in _turn_product(a, b)]
    return [((turns, atoms), value) for turns, value in found if value != 0.0]


def _turn_product(a: Turn | None, b: Turn | None) -> list[tuple[float, Turn | None]]:
    """The product as a sum over the sum and the difference of the two angles."""
    if a is None or b is None:
        return [(1.0, a or b)]
    if b.sine and not a.sine:
        a, b = b, a
    total = _canonical(
        a.sine and not b.sine, tuple(x + y for x, y in zip(a.multiples, b.multiples, strict=True)), a.phase + b.phase
    )
    difference = _canonical(
        a.sine and not b.sine, tuple(x - y for x, y in zip(a.multiples, b.multiples, strict=True)), a.phase - b.phase
    )
    sign = -0.5 if a.sine and b.sine else 0.5
    return [(sign * total[0], total[1]), (0.5 * difference[0], difference[1])]


def _canonical(sine: bool, multiples: tuple[int, ...], phase: float) -> tuple[float, Turn | None]:
    """Factor and turn, whole quarter turns taken out of the phase; no turn where the angle is a constant."""
    leading = next((multiple for multiple in multiples if multiple), 0)
    if leading == 0:
        return (math.sin(phase) if sine else math.cos(phase)), None
    sign = 1.0
    if leading < 0:
        sign = -1.0 if sine else 1.0
        multiples, phase = tuple(-multiple for multiple in multiples), -phase
    quarters = round(phase / (math.pi / 2))
    if abs(phase - quarters * (math.pi / 2)) < EXACT_RAD:
        # Quarters to the left of the sine: sin, cos, -sin, -cos.
        ahead = (quarters + (not sine)) % 4
        return (sign if ahead < 2 else -sign), Turn(ahead % 2 == 0, multiples, 0.0)
    return sign, Turn(sine, multiples, round(phase, PHASE_DECIMALS))

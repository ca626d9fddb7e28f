"""SymPy expressions as short text or LaTeX: ``c1``, ``s23`` for cosines and sines, factors in the order of joints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hil.kernels.angle_sums import Symbolic
from hil.kernels.emit_latex import latex_number, symbol

DIGITS = 12
"""Of numbers: the last ones of a double are often left over from rounding."""


LAST = 99
"""After all joints."""


class SymbolText:
    """Writes expressions as plain text."""

    times = "*"

    def text(self, e: Symbolic) -> str:
        """`e` in full."""
        if e.is_Add:
            first, *rest = (self.text(term) for term in sorted(e.args, key=_term_order))
            return first + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in rest)
        if e.is_Number:
            return f"-{self.number(-float(e))}" if e < 0 else self.number(float(e))
        if e.is_Symbol:
            return self.symbol(e.name)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow and e.exp.is_Integer and e.exp > 0:
            return self.power(self._factor(e.base), int(e.exp))
        if _is_turn(e):
            joints = _plain_sum(e.args[0])
            return (joints and self.turn(e.func.__name__, joints)) or self.function(e.func.__name__, e.args[0])
        return self.other(e)

    def number(self, value: float) -> str:
        """A constant that is not negative."""
        return f"{value:.{DIGITS}g}"

    def symbol(self, name: str) -> str:
        """A coordinate or length, such as ``q_1``."""
        return name.replace("_", "")

    def turn(self, function: str, joints: Sequence[int]) -> str:
        """The short form of a sine or cosine of a sum, by the signed numbers of its joints; empty if there is none."""
        return f"{function[0]}{''.join(map(str, joints))}" if min(joints) > 0 else ""

    def function(self, name: str, angle: Symbolic) -> str:
        """Sine or cosine of any other angle."""
        return f"{name}({self.text(angle)})"

    def power(self, base: str, exponent: int) -> str:
        """A power."""
        return f"{base}^{exponent}"

    def other(self, e: Symbolic) -> str:
        """What the equations of arms rarely have, as SymPy writes it."""
        return str(e)

    def _product(self, e: Symbolic) -> str:
        number, rest = e.as_coeff_Mul()
        size = abs(float(number))
        factors = [self._factor(factor) for factor in sorted(rest.as_ordered_factors(), key=_factor_order)]
        text = self.times.join([*([self.number(size)] if size != 1.0 else []), *factors])
        return f"-{text}" if number < 0 else text

    def _factor(self, e: Symbolic) -> str:
        return f"({self.text(e)})" if e.is_Add else self.text(e)


class SymbolLatex(SymbolText):
    """Writes expressions as LaTeX."""

    times = r"\,"

    def number(self, value: float) -> str:
        """A constant that is not negative."""
        return latex_number(float(super().number(value)))

    def symbol(self, name: str) -> str:
        """A coordinate or length, such as ``q_1``."""
        return symbol(name)

    def turn(self, function: str, joints: Sequence[int]) -> str:
        """The short form of a sine or cosine of a sum."""
        first, *rest = joints
        index = "".join(str(joint) if min(joints) > 0 else f"{joint:+}" for joint in rest)
        return f"{function[0]}_{{{first}{index}}}"

    def function(self, name: str, angle: Symbolic) -> str:
        """Sine or cosine of any other angle."""
        return rf"\{name}({self.text(angle)})"

    def power(self, base: str, exponent: int) -> str:
        """A power."""
        return f"{{{base}}}^{{{exponent}}}"

    def other(self, e: Symbolic) -> str:
        """What the equations of arms rarely have, as SymPy writes it."""
        import sympy

        return str(sympy.latex(e))


def _term_order(e: Symbolic) -> tuple[tuple[tuple[int, ...], bool], str]:
    """By the first turn or coordinate; constants come last."""
    turns = [_place(factor) for factor in e.as_ordered_factors() if _is_turn(factor)]
    return min(turns, default=(_numbers(e) or (LAST + 1,), False)), str(e)


def _factor_order(e: Symbolic) -> tuple[int, tuple[tuple[int, ...], bool], str]:
    """Lengths, turns joint by joint, sums."""
    if _is_turn(e):
        return 1, _place(e), ""
    return (2 if e.is_Add else 0), ((), False), str(e)


def _place(turn: Symbolic) -> tuple[tuple[int, ...], bool]:
    return _numbers(turn.args[0]), turn.func.__name__ == "sin"


def _is_turn(e: Symbolic) -> bool:
    return getattr(e.func, "__name__", "") in ("sin", "cos")


def _numbers(angle: Symbolic) -> tuple[int, ...]:
    return tuple(sorted(_joint(part) or LAST for part in angle.free_symbols))


def _joint(symbol: Symbolic) -> int:
    """Number of the joint whose coordinate `symbol` is, 0 if it is none."""
    coordinate = re.fullmatch(r"(?:q|theta)_(\d+)", symbol.name)
    return int(coordinate[1]) if coordinate else 0


def _plain_sum(angle: Symbolic) -> list[int]:
    """Signed joint numbers of a plain sum of coordinates; none for any other angle."""
    parts = angle.as_coefficients_dict().items()
    if not all(part.is_Symbol and _joint(part) and abs(multiple) == 1 for part, multiple in parts):
        return []
    return sorted((_joint(part) * int(multiple) for part, multiple in parts), key=abs)

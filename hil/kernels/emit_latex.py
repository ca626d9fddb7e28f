"""Straight-line equations as LaTeX, of the part that amsmath, MathJax and KaTeX share.

Joints, rows and columns count from 1. What is named stands on a line of its own; entries of a matrix that do not
fit a page are written below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hil.kernels.emit_text import TextPrinter, short_number, told_steps
from hil.kernels.expression import Expression, Operation
from hil.kernels.languages import plain
from hil.kernels.routine import Result, Routine

WIDEST_LINE = 105
"""Characters of one line of mathematics on a page."""

WIDEST_ENTRY = 16
"""Characters of an entry that stays in a matrix which is too wide as a whole."""

LARGEST_DISPLAY = 4000
"""Characters of source in one environment; KaTeX refuses many times as much."""

SYMBOLS: Mapping[str, str] = {
    "frames": "T",
    "jacobian": "J",
    "jacobian_rate": r"\dot{J}",
    "kinetic": r"E_{\mathrm{kin}}",
    "mass": "M",
    "pose": "T",
    "potential": r"E_{\mathrm{pot}}",
    "qd": r"\dot{q}",
    "qdd": r"\ddot{q}",
    "tau": r"\tau",
    "theta": r"\theta",
    "transforms": "A",
}
"""Letters of well-known quantities; a single letter stands for itself, other names are written as words."""

_UNITS = ("_s", "_m", "_rad")


def equation_lines(routine: Routine) -> list[str]:
    """Of an align environment: named values in order, then the results, each with ``&`` before its equals sign."""
    printer = _LatexPrinter(_input_names(routine))
    lines = []
    for name, node in told_steps(routine):
        lines.append(equation(symbol(name), printer.text(node)))
        printer.names[node.index] = symbol(name)
    for result in routine.results:
        lines += _result_lines(result, [printer.operand(value) for value in result.values])
    return lines


def join_lines(lines: Sequence[str]) -> str:
    r"""Lines with ``\\`` between them."""
    return " \\\\\n".join(lines)


def displays(lines: Sequence[str], environment: str) -> list[str]:
    """Equations in environments (``align*``, or ``aligned`` within dollar signs) of a size that browsers take."""
    blocks: list[list[str]] = []
    size = 0
    for line in lines:
        size += len(line)
        if not blocks or size > LARGEST_DISPLAY:
            blocks.append([])
            size = len(line)
        blocks[-1].append(line)
    return [f"\\begin{{{environment}}}\n{join_lines(block)}\n\\end{{{environment}}}" for block in blocks]


def equation(left: str, right: str) -> str:
    """One equation, folded before plus and minus signs where it is too wide for a page."""
    first, *parts = _folding_places(right)
    rows = [f"{left} &= {first}"]
    for part in parts:
        if width(rows[-1]) + width(part) > WIDEST_LINE:
            rows.append(rf"&\quad {{}} {part}")
        else:
            rows[-1] += f" {part}"
    return join_lines(rows)


def matrix(rows: Sequence[Sequence[str]]) -> str:
    """A matrix in brackets."""
    lines = [" & ".join(row) for row in rows]
    return f"\\begin{{bmatrix}}\n{join_lines(lines)}\n\\end{{bmatrix}}"


def matrix_lines(name: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """A matrix, and below it the entries for which a page is too narrow; one column is a vector."""
    columns = [max(map(width, column)) for column in zip(*rows, strict=True)]
    if sum(columns) + 2 * len(columns) <= WIDEST_LINE:
        return [f"{name} &= {matrix(rows)}"]
    entry_of = rf"\left({name}\right)" if "_" in name else name
    short, below = [], []
    for i, row in enumerate(rows, start=1):
        short.append(list(row))
        for k, text in enumerate(row):
            if width(text) > WIDEST_ENTRY:
                place = f"{i}{k + 1}" if len(row) > 1 else f"{i}"
                short[-1][k] = f"{entry_of}_{{{place}}}"
                below.append(equation(short[-1][k], text))
    return [f"{name} &= {matrix(short)}", *below]


def width(latex: str) -> int:
    """About how many characters wide a formula is."""
    return len(re.sub(r"[{}_^\s&,]", "", re.sub(r"\\[a-zA-Z]+", "xx", latex)))


def symbol(name: str) -> str:
    """A name of ours in mathematics: ``q3``, ``q_3``, ``qd1``, ``t12``, ``duration_s``."""
    for unit in _UNITS:
        name = name.removesuffix(unit)
    base = name.rstrip("_").rstrip("0123456789").rstrip("_")
    index = name.rstrip("_")[len(base) :].lstrip("_")
    words = base.replace("_", r"\ ")
    letter = SYMBOLS.get(base) or (base if len(base) == 1 else rf"\mathrm{{{words}}}")
    return f"{letter}_{{{index}}}" if index else letter


def stacked_symbol(name: str, place: int, count: int) -> str:
    """One of a stack of matrices: ``A_{1}`` of the transforms, ``T_{00}`` of the frames, the last one the tool's."""
    if name == "frames":
        return r"T_{0,\mathrm{tool}}" if place == count - 1 else f"T_{{0{place}}}"
    return f"{symbol(name)}_{{{place + 1}}}"


def latex_number(value: float) -> str:
    """A constant to fifteen digits."""
    mantissa, _, exponent = short_number(value).partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def escaped(text: str) -> str:
    """Words of ours, or of an arm's file, as LaTeX shows them."""
    return "".join(_ESCAPED.get(letter, letter) for letter in plain(text))


_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


class _LatexPrinter(TextPrinter):
    functions: Mapping[Operation, str] = {
        Operation.SIN: r"\sin",
        Operation.COS: r"\cos",
        Operation.ATAN2: r"\operatorname{atan2}",
        Operation.SQRT: r"\sqrt",
        Operation.MAXIMUM: r"\max",
        Operation.EXP: r"\exp",
        Operation.LOG: r"\ln",
        Operation.POWER: r"\operatorname{pow}",
        Operation.FLOOR: r"\operatorname{floor}",
        Operation.SINH: r"\sinh",
        Operation.COSH: r"\cosh",
        Operation.TANH: r"\tanh",
    }

    def number(self, value: float) -> str:
        return latex_number(value)

    def product(self, left: str, right: str) -> str:
        return rf"{left}\,{right}"

    def where(self, x: str, nonnegative: str, negative: str) -> str:
        rows = join_lines([rf"{nonnegative} & {x} \ge 0", rf"{negative} & \text{{else}}"])
        return rf"\begin{{cases}} {rows} \end{{cases}}"

    def _bound(self, node: Expression) -> tuple[str, int]:
        text, bound = super()._bound(node)
        # Braces group what parentheses group elsewhere.
        if node.operation is Operation.SQRT:
            text = rf"\sqrt{{{self.operand(node.operands[0])}}}"
        elif node.operation is Operation.DIVIDE:
            over, under = (self.operand(operand) for operand in node.operands)
            text = rf"\frac{{{over}}}{{{under}}}"
        return text, bound


def _folding_places(text: str) -> list[str]:
    if r"\begin" in text:
        return [text]
    parts: list[str] = []
    depth = 0
    for piece in re.split(r" (?=[+-] )", text):
        if depth:
            parts[-1] += f" {piece}"
        else:
            parts.append(piece)
        depth += piece.count("{") - piece.count("}")
    return parts


def _input_names(routine: Routine) -> dict[int, str]:
    names = {}
    for argument in routine.arguments:
        for i in range(argument.length):
            names[routine.graph.input(f"{argument.name}{i}").index] = symbol(f"{argument.name}{i + 1}")
        if not argument.length:
            names[routine.graph.input(argument.name).index] = symbol(argument.name)
    return names


def _result_lines(result: Result, texts: Sequence[str]) -> list[str]:
    letter = symbol(result.name)
    if not result.shape:
        return [equation(letter, texts[0])]
    if len(result.shape) == 1:
        return [equation(symbol(f"{result.name}{i}"), text) for i, text in enumerate(texts, start=1)]
    length = result.shape[-1]
    rows = [texts[i : i + length] for i in range(0, len(texts), length)]
    if len(result.shape) == 2:
        return matrix_lines(letter, rows)
    count, height = result.shape[:2]
    return [
        line
        for place in range(count)
        for line in matrix_lines(stacked_symbol(result.name, place, count), rows[place * height :][:height])
    ]

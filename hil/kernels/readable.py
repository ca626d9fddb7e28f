"""Equations as a course prints them: the same functions run on SymPy symbols, then tidied.

Everything that makes symbols needs the extra [symbolic]. What is large is shown as straight-line definitions,
which need no extra.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from hil.errors import CommandError, MissingExtraError
from hil.kernels import chain as equations
from hil.kernels import quantities
from hil.kernels.angle_sums import AngleSums, Symbolic
from hil.kernels.chain import Chain, Frame, chain_of
from hil.kernels.emit_latex import displays, equation_lines, matrix_lines, stacked_symbol, symbol
from hil.kernels.emit_text import COORDINATES, matrix_text, plain_text
from hil.kernels.quantities import frame_rows
from hil.kernels.routine import Argument, Routine
from hil.kernels.scalar import Functions, Scalar
from hil.kernels.symbol_text import SymbolLatex, SymbolText
from hil.model.robot import JointType, RobotModel

EXACT_RAD = 1e-14
"""Constant angles this near to whole quarter turns are meant as such."""


class JointNames(Enum):
    """How joint coordinates are called: q_1, q_2; or theta_1 where the joint turns and d_2 where it slides."""

    Q = "q"
    THETA = "theta"


class Formula(NamedTuple):
    """Equations to look at: a notebook shows them typeset, a terminal as text.

    Attributes:
        latex: displays without their dollar signs, an empty line between them, for MathJax, KaTeX and amsmath.
        text: for terminals.
    """

    latex: str
    text: str

    def _repr_latex_(self) -> str:
        return "\n".join(f"$$\n{display}\n$$" for display in self.latex.split("\n\n"))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


class Named(NamedTuple):
    """A matrix of one arm.

    Attributes:
        name: in text, such as ``T_03``.
        latex: its name in LaTeX.
        matrix: a SymPy Matrix; a vector is a column.
    """

    name: str
    latex: str
    matrix: Symbolic


class SymbolicFunctions:
    """Functions of SymPy expressions; whole quarter turns in an angle are exact (it is a `Functions`)."""

    def __init__(self) -> None:
        self._sympy = sympy_module()

    def sin(self, x: Scalar) -> Scalar:
        """Sine of an angle in radians."""
        return self._sympy.sin(self._exact(x))

    def cos(self, x: Scalar) -> Scalar:
        """Cosine of an angle in radians."""
        return self._sympy.cos(self._exact(x))

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """Angle of the vector (x, y)."""
        return self._sympy.atan2(y, x)

    def sqrt(self, x: Scalar) -> Scalar:
        """Square root of what is not negative."""
        return self._sympy.sqrt(x)

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger of the two."""
        return self._sympy.Max(x, y)

    def where(self, x: Scalar, nonnegative: Scalar, negative: Scalar) -> Scalar:
        """`nonnegative` where `x` >= 0, else `negative`."""
        return self._sympy.Piecewise((nonnegative, self._sympy.Ge(x, 0)), (negative, True))

    def exp(self, x: Scalar) -> Scalar:
        """The exponential, e to the power `x`."""
        return self._sympy.exp(x)

    def log(self, x: Scalar) -> Scalar:
        """Natural logarithm of what is positive."""
        return self._sympy.log(x)

    def power(self, x: Scalar, y: Scalar) -> Scalar:
        """`x` to the power `y`."""
        return self._sympy.Pow(x, y)

    def floor(self, x: Scalar) -> Scalar:
        """The largest whole number that is not above `x`."""
        return self._sympy.floor(x)

    def sinh(self, x: Scalar) -> Scalar:
        """Hyperbolic sine."""
        return self._sympy.sinh(x)

    def cosh(self, x: Scalar) -> Scalar:
        """Hyperbolic cosine."""
        return self._sympy.cosh(x)

    def tanh(self, x: Scalar) -> Scalar:
        """Hyperbolic tangent."""
        return self._sympy.tanh(x)

    def _exact(self, angle: Scalar) -> Symbolic:
        """Whole factors as integers, so that coordinates are recognised, and whole quarter turns as such."""
        constant, rest = self._sympy.sympify(angle).as_coeff_Add()
        floats = [number for number in rest.atoms(self._sympy.Float) if float(number).is_integer()]
        rest = rest.xreplace({number: self._sympy.Integer(int(number)) for number in floats})
        quarters = float(constant) / (math.pi / 2)
        whole = round(quarters)
        if abs(quarters - whole) * (math.pi / 2) < EXACT_RAD:
            constant = whole * self._sympy.pi / 2
        return rest + constant


def symbols_available() -> bool:
    """True if the extra [symbolic] is installed."""
    try:
        sympy_module()
    except MissingExtraError:
        return False
    return True


def sympy_module() -> Any:
    """SymPy.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module("sympy")
    except ImportError:
        raise MissingExtraError("simplified equations", "symbolic") from None


def formula(
    model: RobotModel,
    name: str,
    *,
    simplified: bool | None = None,
    joints: JointNames = JointNames.Q,
    symbolic_lengths: bool = False,
) -> Formula:
    """A quantity of one arm to look at.

    Args:
        model: the arm.
        name: of the quantity, as in `hil derive --what`.
        simplified: tidied matrices, or straight-line definitions; kinematics is simplified if it is not said.
        joints: names of the coordinates in simplified matrices.
        symbolic_lengths: write a_2, d_4 for the DH table's lengths in simplified matrices.

    Raises:
        CommandError: no such quantity, the arm cannot have it, or lengths cannot be symbols in it.
        MissingExtraError: simplified, without the extra [symbolic].
    """
    if simplified or (simplified is None and name in KINEMATICS):
        shown = matrices(model, name, joints=joints, symbolic_lengths=symbolic_lengths)
        return _formula(simplified_latex(shown), simplified_text(shown))
    routine = quantities.derive(model, name)
    return _formula(equation_lines(routine), plain_text(routine))


def _formula(lines: Sequence[str], text: str) -> Formula:
    return Formula("\n\n".join(displays(lines, "aligned")), text)


def matrices(
    model: RobotModel, name: str, *, joints: JointNames = JointNames.Q, symbolic_lengths: bool = False
) -> list[Named]:
    """A quantity of one arm as tidied SymPy matrices.

    Coordinates are symbols q_1 to q_n (see `JointNames`), other arguments ``qd_1`` and so on, all real. What is
    made of sums and products becomes short; limits, trajectories and inverses stay as they are.

    Args:
        model: the arm.
        name: of the quantity.
        joints: names of the coordinates.
        symbolic_lengths: symbols a_i, d_i for the lengths of the DH table that are not zero; the offset of a sliding
            joint, base and tool stay numbers.

    Raises:
        CommandError: no such quantity, the arm cannot have it, or lengths cannot be symbols in it.
        MissingExtraError: the extra [symbolic] is not installed.
    """
    sympy = sympy_module()
    chain = chain_of(model)
    q = coordinate_symbols(model, joints)
    tidy = AngleSums(parallel_groups(chain, q)).tidy
    if name in KINEMATICS:
        found = KINEMATICS[name](_with_symbols(chain) if symbolic_lengths else chain, q, SymbolicFunctions())
    elif symbolic_lengths:
        raise CommandError(
            f"the lengths in {name} cannot be symbols",
            value=name,
            allowed=f"symbolic lengths in {', '.join(KINEMATICS)}",
        )
    else:
        found = _results(quantities.derive(model, name), q)
    return [Named(text, latex, sympy.Matrix(rows).applyfunc(tidy)) for text, latex, rows in found]


def frame_to_frame(
    model: RobotModel, start: int, end: int, *, joints: JointNames = JointNames.Q, symbolic_lengths: bool = False
) -> Named:
    """The transform from one frame of the arm to another, tidied.

    Args:
        model: the arm.
        start: 0 for the base's frame, i for DH frame i, n + 1 for the tool's.
        end: the same.
        joints: names of the coordinates.
        symbolic_lengths: as `matrices`.

    Raises:
        MissingExtraError: the extra [symbolic] is not installed.
    """
    sympy = sympy_module()
    whole, q = chain_of(model), coordinate_symbols(model, joints)
    chain = _with_symbols(whole) if symbolic_lengths else whole
    low, high = sorted((start, end))
    frame, functions = equations.IDENTITY, SymbolicFunctions()
    for row, coordinate in list(zip(chain.rows, q, strict=True))[low:high]:
        frame = equations.append_row(frame, row, coordinate, functions)
    if low <= model.dof < high and chain.tool is not None:
        frame = equations.compose(frame, chain.tool)
    tidy = AngleSums(parallel_groups(whole, q)).tidy
    forwards = sympy.Matrix(_square(frame)).applyfunc(tidy)
    matrix = forwards if start <= end else _turned_back(forwards, tidy)
    names = ["tool" if each > model.dof else str(each) for each in (start, end)]
    latex = ", ".join(name if name.isdigit() else rf"\mathrm{{{name}}}" for name in names)
    return Named(f"T_{names[0]}_{names[1]}", f"T_{{{latex}}}", matrix)


def _turned_back(matrix: Symbolic, tidy: Callable[[Symbolic], Symbolic]) -> Symbolic:
    """The inverse of a rigid transform."""
    inverse = matrix.copy()
    inverse[:3, :3] = matrix[:3, :3].T
    inverse[:3, 3] = (-matrix[:3, :3].T * matrix[:3, 3]).applyfunc(tidy)
    return inverse


def coordinate_symbols(model: RobotModel, joints: JointNames = JointNames.Q) -> list[Symbolic]:
    """The symbols that stand for the joint coordinates, whatever their offsets in the DH table."""
    names = [
        "q" if joints is JointNames.Q else "theta" if joint.type is JointType.REVOLUTE else "d"
        for joint in model.joints
    ]
    return [sympy_module().Symbol(f"{name}_{i}", real=True) for i, name in enumerate(names, start=1)]


def parallel_groups(chain: Chain, q: Sequence[Symbolic]) -> list[list[Symbolic]]:
    """Coordinates of turning joints, those of neighbours with parallel axes together."""
    groups: list[list[Symbolic]] = [[]]
    for row, coordinate in zip(chain.rows, q, strict=True):
        if row.revolute:
            groups[-1].append(coordinate)
        if row.sin_alpha != 0.0:
            groups.append([])
    return [group for group in groups if group]


def simplified_latex(shown: Sequence[Named]) -> list[str]:
    """Lines of an align environment; a Jacobian column by column."""
    parts = _by_columns(shown)
    return [line for part in parts for line in matrix_lines(part.latex, _written(part.matrix, SymbolLatex()))]


def simplified_text(shown: Sequence[Named]) -> str:
    """The same for terminals; ``c23`` is the cosine of q2 + q3."""
    texts = [matrix_text(part.name, _written(part.matrix, SymbolText())) for part in _by_columns(shown)]
    return "\n\n".join(texts) + "\n"


Shown = tuple[str, str, Sequence[Sequence[Symbolic]]]
"""Name in text, name in LaTeX, rows."""

JACOBIAN = "J"


def _link_transforms(chain: Chain, q: Sequence[Symbolic], functions: Functions) -> list[Shown]:
    frames = [equations.append_row(equations.IDENTITY, row, x, functions) for row, x in zip(chain.rows, q, strict=True)]
    return [(f"A_{i}", f"A_{{{i}}}", _square(frame)) for i, frame in enumerate(frames, start=1)]


def _link_frames(chain: Chain, q: Sequence[Symbolic], functions: Functions) -> list[Shown]:
    frames = equations.link_frames(chain, q, functions)
    names = [*(f"T_0{i}" for i in range(len(frames) - 1)), "T_0tool"]
    count = len(frames)
    if chain.tool is None:
        names, frames = names[:-1], frames[:-1]
    return [
        (name, stacked_symbol("frames", i, count), _square(frame))
        for i, (name, frame) in enumerate(zip(names, frames, strict=True))
    ]


def _forward_kinematics(chain: Chain, q: Sequence[Symbolic], functions: Functions) -> list[Shown]:
    return [("T", "T", _square(equations.forward(chain, q, functions)))]


def _jacobian(chain: Chain, q: Sequence[Symbolic], functions: Functions) -> list[Shown]:
    columns = equations.forward_and_jacobian(chain, q, functions)[1]
    return [(JACOBIAN, JACOBIAN, list(zip(*columns, strict=True)))]


KINEMATICS: Mapping[str, Callable[[Chain, Sequence[Symbolic], Functions], list[Shown]]] = {
    "link_transforms": _link_transforms,
    "link_frames": _link_frames,
    "forward_kinematics": _forward_kinematics,
    "jacobian": _jacobian,
}
"""Quantities that are short enough to read for any arm, and whose lengths may be symbols."""


def _results(routine: Routine, q: Sequence[Symbolic]) -> list[Shown]:
    found: list[Shown] = []
    arguments = [_argument(argument, q) for argument in routine.arguments]
    for name, (shape, values, _) in routine.body(*arguments, SymbolicFunctions()).items():
        length = shape[-1] if len(shape) > 1 else 1
        rows = [list(values[i : i + length]) for i in range(0, len(values), length)]
        height = shape[-2] if len(shape) > 1 else len(rows)
        count = len(rows) // height
        for place in range(count):
            part = rows[place * height :][:height]
            if count == 1:
                found.append((name, symbol(name), part))
            else:
                found.append((f"{name}_{place + 1}", stacked_symbol(name, place, count), part))
    return found


def _argument(argument: Argument, q: Sequence[Symbolic]) -> Symbolic:
    if argument.name == COORDINATES and argument.length == len(q):
        return list(q)
    sympy = sympy_module()
    if not argument.length:
        return sympy.Symbol(argument.name, real=True)
    return [sympy.Symbol(f"{argument.name}_{i}", real=True) for i in range(1, argument.length + 1)]


def _with_symbols(chain: Chain) -> Chain:
    rows = []
    for i, row in enumerate(chain.rows, start=1):
        a = _length("a", i) if row.a != 0.0 else row.a
        d = _length("d", i) if row.d != 0.0 and row.revolute else row.d
        rows.append(row._replace(a=a, d=d))
    return chain._replace(rows=tuple(rows))


def _length(letter: str, number: int) -> Any:
    return sympy_module().Symbol(f"{letter}_{number}", real=True)


def _square(frame: Frame) -> list[list[Symbolic]]:
    values = frame_rows(frame)
    return [list(values[i : i + 4]) for i in range(0, 16, 4)]


def _by_columns(shown: Sequence[Named]) -> Iterator[Named]:
    for named in shown:
        if named.name != JACOBIAN:
            yield named
            continue
        for i in range(named.matrix.cols):
            yield Named(f"{named.name}_{i + 1}", f"{named.latex}_{{{i + 1}}}", named.matrix[:, i])


def _written(matrix: Symbolic, notation: SymbolText) -> list[list[str]]:
    return [[notation.text(entry) for entry in row] for row in matrix.tolist()]

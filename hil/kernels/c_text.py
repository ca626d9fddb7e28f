"""What C and C++ share: numbers, comments, parameters and the body of a straight-line function.

Every function has the same frame: arguments that are not finite are refused, results are worked out beside the
outputs, and the outputs are written only if all results are finite.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hil.kernels.export_options import Real
from hil.kernels.expression import Operation
from hil.kernels.languages import identifier
from hil.kernels.routine import CONDITIONS, FITS, Printer, Result, Routine, is_condition, steps

EXISTS = "exists"
"""A vector of this name tells for each branch whether it is there; none there is reported as out of reach."""

OK, NOT_FINITE, NEAR_SINGULAR, OUT_OF_REACH = "OK", "NOT_FINITE", "NEAR_SINGULAR", "OUT_OF_REACH"
DOES_NOT_FIT = "DOES_NOT_FIT"
STATUSES: Mapping[str, str] = {
    OK: "outputs are written",
    NOT_FINITE: "an argument, or what would have been a result, is infinite or not a number; outputs are untouched",
    NEAR_SINGULAR: "too near to a singular configuration; outputs are untouched",
    OUT_OF_REACH: "no branch exists; outputs are written, for the postures nearest to it",
    DOES_NOT_FIT: "both blends together are longer than the motion; outputs are untouched",
}
"""Names and meanings, numbered from 0."""

LONGEST_LINE = 110
_FLOAT_MIN, _FLOAT_MAX = 1.17549435e-38, 3.40282347e38


class Parameter(NamedTuple):
    """One parameter of a function.

    Attributes:
        name: fit for C.
        length: number of entries, 0 for a scalar.
        shape: of a result; empty for scalars and arguments.
        output: True for a result.
    """

    name: str
    length: int
    shape: tuple[int, ...]
    output: bool
    meaning: str

    @property
    def size(self) -> int:
        """Number of scalars."""
        return max(self.length, 1)


def parameters(routine: Routine) -> list[Parameter]:
    """Arguments, then results; a result that is called like an argument gets ``_out`` behind its name."""
    found = [Parameter(identifier(a.name), a.length, (), False, a.meaning) for a in routine.arguments]
    taken = {parameter.name for parameter in found}
    for result in outputs(routine):
        name = identifier(result.name)
        count = math.prod(result.shape) if result.shape else 0
        found.append(Parameter(f"{name}_out" if name in taken else name, count, result.shape, True, result.meaning))
    return found


def outputs(routine: Routine) -> list[Result]:
    """Results that leave as numbers."""
    return [result for result in routine.results if not is_condition(result.name, result.shape)]


class CPrinter(Printer):
    """Nodes as C.

    Args:
        names: node index to text.
        real: number type; with floats every function and literal is one of floats.
        namespace: in front of functions.
    """

    def __init__(self, names: dict[int, str], real: Real, namespace: str = "") -> None:
        super().__init__(names)
        suffix = "f" if real is Real.FLOAT and not namespace else ""
        spelled = {**Printer.functions, Operation.MAXIMUM: "fmax"}
        self.functions = {operation: f"{namespace}{name}{suffix}" for operation, name in spelled.items()}
        self.real = real

    def number(self, value: float) -> str:
        """A literal of the number type."""
        return literal(value, self.real)

    def where(self, x: str, nonnegative: str, negative: str) -> str:
        """The conditional operator."""
        return f"({x} >= {literal(0.0, self.real)} ? {nonnegative} : {negative})"


def literal(value: float, real: Real) -> str:
    """A literal that reads back as `value`; as float the nearest one, but never 0 or infinite for another number."""
    if real is Real.DOUBLE:
        return repr(value)
    if value != 0.0:
        value = math.copysign(min(max(abs(value), _FLOAT_MIN), _FLOAT_MAX), value)
    text = f"{nearest_float(value):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def nearest_float(value: float) -> float:
    """`value` in the precision of a C float."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single


class Dialect:
    """How one of the two languages spells what they do not share; this one is C.

    Args:
        prefix: the arm's name.
        real: number type.
    """

    namespace = ""

    def __init__(self, prefix: str, real: Real) -> None:
        self.prefix, self.real = prefix, real

    def status(self, name: str) -> str:
        """A status, as an expression."""
        return f"{self.prefix.upper()}_{name}"

    def function(self, routine: Routine) -> str:
        """Name of a routine's function, as called from outside."""
        return f"{self.prefix}_{identifier(routine.name)}"

    def signature(self, routine: Routine) -> str:
        """The declaration without its end."""
        texts = [self.parameter(parameter) for parameter in parameters(routine)]
        return f"int {self.function(routine)}({', '.join(texts)})"

    def parameter(self, parameter: Parameter) -> str:
        """One parameter of a declaration."""
        text = f"{self.real.value} {parameter.name}"
        if parameter.output:
            return f"{text}[{parameter.length}]" if parameter.length else f"{self.real.value} *{parameter.name}"
        return f"const {text}[{parameter.length}]" if parameter.length else text

    def array(self, name: str, count: int, rows: Sequence[str]) -> list[str]:
        """Definition of a constant array."""
        return [f"const {self.real.value} {name}[{count}] = {{", *indented(rows), "};"]

    def of_all(self, helper: str, name: str, count: int) -> str:
        """A call of ``all_finite`` or ``all_negative``."""
        return f"{helper}({name}, {count})"

    def keep(self, parameter: Parameter, local: str) -> str:
        """Statement that writes an output."""
        if parameter.length:
            return f"copy({local}, {parameter.name}, {parameter.length});"
        return f"*{parameter.name} = {local};"

    def helpers(self) -> Mapping[str, list[str]]:
        """Functions that bodies call, by name."""
        real = self.real.value
        loop = "for (int i = 0; i < count; i++) {"
        values = f"(const {real} *values, int count)"
        finite, negative = "isfinite(values[i])", f"values[i] < {literal(0.0, self.real)}"
        return {
            name: [f"static int {name}{values}", *braced([loop, f"    if (!({test})) {{", *_FAILS])]
            for name, test in (("all_finite", finite), ("all_negative", negative))
        } | {
            "copy": [
                f"static void copy(const {real} *from, {real} *to, int count)",
                *braced([loop, "    to[i] = from[i];", "}"]),
            ],
        }


_FAILS = ("        return 0;", "    }", "}", "return 1;")


def braced(lines: Sequence[str]) -> list[str]:
    """A block."""
    return ["{", *indented(lines), "}"]


def indented(lines: Iterable[str]) -> list[str]:
    """One step to the right."""
    return [f"    {line}" for line in lines]


def comment(lines: Sequence[str], opening: str = "/*") -> list[str]:
    """A block comment; what would end it, or is a trigraph, is taken apart."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?") for line in lines]
    return [opening, *(f" * {line}".rstrip() for line in safe), " */"]


def documentation(routine: Routine, operations: str) -> list[str]:
    """The comment above a declaration."""
    lines = [routine.summary, ""]
    for parameter in parameters(routine):
        way = "out" if parameter.output else "in"
        lines.append(f"@param[{way}] {parameter.name} {_shape_text(parameter)}{parameter.meaning}.")
    return comment([*lines, f"@return the status; {operations}."], "/**")


def _shape_text(parameter: Parameter) -> str:
    if len(parameter.shape) > 1:
        return f"{' x '.join(str(length) for length in parameter.shape)}, row by row: "
    return f"{parameter.length} numbers: " if parameter.length > 1 else ""


def helpers_used(dialect: Dialect, bodies: Sequence[Sequence[str]]) -> list[str]:
    """The helpers that some body calls, each followed by an empty line."""
    lines = {line for body in bodies for line in body}
    used = [text for name, text in dialect.helpers().items() if any(f"{name}(" in line for line in lines)]
    return [line for text in used for line in (*text, "")]


def function_body(routine: Routine, dialect: Dialect) -> list[str]:
    """All statements of one function."""
    given = [parameter for parameter in parameters(routine) if not parameter.output]
    written = [parameter for parameter in parameters(routine) if parameter.output]
    printer = CPrinter(_input_names(routine, given), dialect.real, dialect.namespace)
    lines = _refusal(_not_finite(dialect, given), dialect.status(NOT_FINITE))
    lines += _step_lines(routine, printer, dialect, {parameter.name for parameter in (*given, *written)})
    lines += _status_lines(routine, printer, dialect)
    new = [parameter._replace(name=f"new_{parameter.name}") for parameter in written]
    for result, parameter in zip(outputs(routine), new, strict=True):
        lines += _result_lines(result, parameter, printer, dialect)
    lines += _refusal(_not_finite(dialect, new), dialect.status(NOT_FINITE))
    lines += [dialect.keep(parameter, local.name) for parameter, local in zip(written, new, strict=True)]
    for parameter in new:
        if parameter.name == f"new_{EXISTS}" and parameter.length:
            none = dialect.of_all("all_negative", parameter.name, parameter.length)
            lines += _refusal(none, dialect.status(OUT_OF_REACH))
    return [*lines, f"return {dialect.status(OK)};"]


def _input_names(routine: Routine, given: Sequence[Parameter]) -> dict[int, str]:
    names = {}
    for argument, parameter in zip(routine.arguments, given, strict=True):
        if argument.length:
            for i in range(argument.length):
                names[routine.graph.input(f"{argument.name}{i}").index] = f"{parameter.name}[{i}]"
        else:
            names[routine.graph.input(argument.name).index] = parameter.name
    return names


def _not_finite(dialect: Dialect, values: Sequence[Parameter]) -> str:
    tests = [
        dialect.of_all("all_finite", value.name, value.length)
        if value.length
        else f"{dialect.namespace}isfinite({value.name})"
        for value in values
    ]
    return " || ".join(f"!{test}" for test in tests)


def _refusal(condition: str, status: str) -> list[str]:
    # A quantity that is a constant of the arm has no argument to refuse.
    return [f"if ({condition}) {{", f"    return {status};", "}"] if condition else []


def _step_lines(routine: Routine, printer: Printer, dialect: Dialect, taken: set[str]) -> Iterator[str]:
    for name, node in steps(routine):
        text = printer.text(node)
        local = f"step_{name}" if name in taken else name
        printer.names[node.index] = local
        yield from wrapped(f"const {dialect.real.value} {local} = {text};")


def _status_lines(routine: Routine, printer: Printer, dialect: Dialect) -> list[str]:
    lines = []
    for result in routine.results:
        if is_condition(result.name, result.shape):
            holds = f"{printer.operand(result.values[0])} >= {literal(CONDITIONS[result.name], dialect.real)}"
            status = DOES_NOT_FIT if result.name == FITS else NEAR_SINGULAR
            lines += _refusal(f"!({holds})", dialect.status(status))
    return lines


def _result_lines(result: Result, parameter: Parameter, printer: Printer, dialect: Dialect) -> list[str]:
    texts = [printer.operand(value) for value in result.values]
    if not parameter.length:
        return wrapped(f"const {dialect.real.value} {parameter.name} = {texts[0]};")
    length = result.shape[-1]
    rows = [f"{', '.join(texts[i : i + length])}," for i in range(0, len(texts), length)]
    return dialect.array(parameter.name, parameter.length, [line for row in rows for line in wrapped(row)])


def wrapped(line: str) -> list[str]:
    """`line` folded at spaces where it is too long."""
    if len(line) <= LONGEST_LINE:
        return [line]
    lines, current = [], ""
    for word in line.split(" "):
        if current and len(current) + len(word) >= LONGEST_LINE:
            lines.append(current)
            current = f"    {word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]


def numbers(values: Iterable[float], real: Real) -> list[str]:
    """Rows of literals, each with a comma behind it."""
    return wrapped(" ".join(f"{literal(value, real)}," for value in values))

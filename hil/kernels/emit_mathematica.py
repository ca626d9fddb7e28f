"""Mathematica: one package of straight-line functions per arm, and a script that checks it.

The functions take numbers or symbols. Names have no underscores, which are patterns there; numbers are written
``1.5*^-7``; ArcTan has x before y.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from hil.kernels.c_text import wrapped
from hil.kernels.check_vectors import TOLERANCE, check_vectors
from hil.kernels.export_options import Options, Real
from hil.kernels.expression import Expression, Operation
from hil.kernels.languages import arm_prefix, heading, operations_text
from hil.kernels.routine import CALLS, Argument, Printer, Routine, steps
from hil.model.robot import RobotModel

_LARGEST_WHOLE = 1e15


def mathematica_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """Package and check script."""
    name = f"{arm_prefix(model)}.wl"
    comment = _comment(heading(model))
    functions = [mathematica_text(routine, model.id) for routine in routines]
    checks = [_check(model, routine, options) for routine in routines]
    driver = _DRIVER.replace("TOLERANCE", mathematica_number(TOLERANCE[Real.DOUBLE]))
    script = driver.replace("PACKAGE", name).replace("CHECKS", ",\n".join(checks))
    return {name: "\n\n".join([comment, *functions]), "check.wl": f"{comment}\n\n{script}"}


def mathematica_check_command(options: Options) -> str:
    """Runs the check script."""
    return "wolframscript -file check.wl"


def mathematica_text(routine: Routine, robot: str = "") -> str:
    """One function: vectors come as lists, a result leaves as nested lists, several results as an association.

    Args:
        routine: what to write.
        robot: put behind the function's name, as in ``ForwardKinematicsPuma560``.
    """
    function = function_name(routine, robot)
    names = [_lower_camel(argument.name) for argument in routine.arguments]
    printer = _MathematicaPrinter(_input_names(routine, names))
    locals_, statements = [], []
    for name, node in steps(routine):
        local = f"step{name}" if name in names else name
        statements += wrapped(f"{local} = {printer.text(node)};")
        printer.names[node.index] = local
        locals_.append(local)
    patterns = [f"{name}_List" if a.length else f"{name}_" for name, a in zip(names, routine.arguments, strict=True)]
    tests = [f"Length[{name}] == {a.length}" for name, a in zip(names, routine.arguments, strict=True) if a.length]
    condition = f" /; {' && '.join(tests)}" if tests else ""
    lines = [
        _usage(routine, function, names),
        f"{function}[{', '.join(patterns)}]{condition} := Module[",
        *_indented(wrapped(f"{{{', '.join(locals_)}}},")),
        *_indented([*statements, *wrapped(_value(routine, printer))]),
        "];",
    ]
    return "\n".join([*lines, ""])


def function_name(routine: Routine, robot: str = "") -> str:
    """Name of a routine's function."""
    return _camel(routine.name) + _camel(robot)


def mathematica_number(value: float) -> str:
    """A constant that reads back as the same number; whole numbers are exact."""
    if value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}*^{int(exponent)}"


class _MathematicaPrinter(Printer):
    functions: Mapping[Operation, str] = {
        Operation.SIN: "Sin",
        Operation.COS: "Cos",
        Operation.ATAN2: "ArcTan",
        Operation.SQRT: "Sqrt",
        Operation.MAXIMUM: "Max",
        Operation.EXP: "Exp",
        Operation.LOG: "Log",
        Operation.POWER: "Power",
        Operation.FLOOR: "Floor",
        Operation.SINH: "Sinh",
        Operation.COSH: "Cosh",
        Operation.TANH: "Tanh",
    }

    def number(self, value: float) -> str:
        return mathematica_number(value)

    def where(self, x: str, nonnegative: str, negative: str) -> str:
        # Unlike If, Piecewise may be differentiated and simplified where x is a symbol.
        return f"Piecewise[{{{{{nonnegative}, {x} >= 0}}}}, {negative}]"

    def _bound(self, node: Expression) -> tuple[str, int]:
        text, bound = super()._bound(node)
        if node.operation in CALLS and node.operation is not Operation.WHERE:
            given = [self.operand(operand) for operand in node.operands]
            if node.operation is Operation.ATAN2:
                given.reverse()
            text = f"{self.functions[node.operation]}[{', '.join(given)}]"
        return text, bound


def _camel(name: str) -> str:
    return "".join(part[0].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", name))


def _lower_camel(name: str) -> str:
    camel = _camel(name)
    return camel[0].lower() + camel[1:]


def _input_names(routine: Routine, names: Sequence[str]) -> dict[int, str]:
    texts = {}
    for argument, name in zip(routine.arguments, names, strict=True):
        for i in range(argument.length):
            texts[routine.graph.input(f"{argument.name}{i}").index] = f"{name}[[{i + 1}]]"
        if not argument.length:
            texts[routine.graph.input(argument.name).index] = name
    return texts


def _value(routine: Routine, printer: Printer) -> str:
    values = {result.name: _rows(result.shape, result.values, printer) for result in routine.results}
    if len(values) == 1:
        return next(iter(values.values()))
    rules = [f'"{_lower_camel(name)}" -> {text}' for name, text in values.items()]
    return f"<|{', '.join(rules)}|>"


def _rows(shape: Sequence[int], values: Sequence[Expression], printer: Printer) -> str:
    if not shape:
        return printer.operand(values[0])
    each = math.prod(shape[1:])
    parts = [_rows(shape[1:], values[i * each : (i + 1) * each], printer) for i in range(shape[0])]
    return f"{{{', '.join(parts)}}}"


def _usage(routine: Routine, function: str, names: Sequence[str]) -> str:
    given = [f"{name}: {_size(a)}{a.meaning}." for name, a in zip(names, routine.arguments, strict=True)]
    found = [f"{_lower_camel(result.name)}: {result.meaning}." for result in routine.results]
    parts = [f"{function}[{', '.join(names)}]: {routine.summary}", *given, "Gives", *found, operations_text(routine)]
    text = " ".join(parts).replace("\\", "\\\\").replace('"', '\\"')
    return f'{function}::usage = "{text}.";'


def _size(argument: Argument) -> str:
    return f"list of {argument.length}: " if argument.length else ""


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _comment(lines: Sequence[str]) -> str:
    inner = "\n".join(f"   {line}".rstrip() for line in lines)
    return f"(*\n{inner.replace('(*', '( *').replace('*)', '* )')}\n*)"


def _check(model: RobotModel, routine: Routine, options: Options) -> str:
    lines = [f"  {{{function_name(routine, model.id)}, {{"]
    rows = []
    for given, expected in check_vectors(model, routine, options, with_conditions=True):
        values = iter(given)
        arguments = [
            f"{{{', '.join(mathematica_number(next(values)) for _ in range(argument.length))}}}"
            if argument.length
            else mathematica_number(next(values))
            for argument in routine.arguments
        ]
        wanted = ", ".join(map(mathematica_number, expected))
        rows.append("\n".join(f"    {line}" for line in wrapped(f"{{{{{', '.join(arguments)}}}, {{{wanted}}}}}")))
    return "\n".join([*lines, ",\n".join(rows), "  }}"])


_DRIVER = """\
Get[FileNameJoin[{DirectoryName[$InputFileName], "PACKAGE"}]];

flat[value_] := Flatten[{If[AssociationQ[value], Values[value], value]}];

worst[function_, vectors_] := Max[Map[
  Max[Abs[flat[Apply[function, N[#[[1]]]]] - #[[2]]]] / Max[1, Max[Abs[#[[2]]]]] &, vectors]];

checks = {
CHECKS
};

differences = Map[worst[#[[1]], #[[2]]] &, checks];
Do[Print[checks[[i, 1]], ": worst difference ", differences[[i]]], {i, Length[checks]}];
failed = Count[differences, d_ /; Not[TrueQ[d <= TOLERANCE]]];
Print[Length[checks] - failed, " of ", Length[checks], " functions within ", TOLERANCE];
Exit[If[failed == 0, 0, 1]];
"""

"""Python: one module of straight-line functions per arm, and a script that checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hil.kernels.c_text import wrapped
from hil.kernels.check_vectors import TOLERANCE, check_vectors
from hil.kernels.emit_python import OF_MATH, python_source
from hil.kernels.export_options import Options, Real
from hil.kernels.languages import arm_prefix, heading, operations_text
from hil.kernels.routine import Argument, Result, Routine, operation_counts
from hil.model.robot import RobotModel


def python_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """Module and check script."""
    return {
        f"{arm_prefix(model)}.py": python_module(model, routines),
        "check.py": _check(model, routines, options),
    }


def python_check_command(options: Options) -> str:
    """Runs the check script."""
    return "python check.py"


def python_module(model: RobotModel, routines: Sequence[Routine]) -> str:
    """One function per routine; vectors come as sequences, results leave as tuples, rows within rows."""
    used = {operation for routine in routines for operation in operation_counts(routine)}
    names = [name for operation, name in OF_MATH.items() if operation in used]
    head = "\n".join([*_head(model), *([f"\nfrom math import {', '.join(names)}"] if names else [])])
    return "\n\n\n".join([head, *(_function(routine) for routine in routines)]) + "\n"


def _head(model: RobotModel) -> list[str]:
    return [f"# {line}".rstrip() for line in heading(model)]


def _function(routine: Routine) -> str:
    short = f'    """{routine.summary}"""\n'
    signature, _, body = python_source(routine).partition(short)
    documented = "\n".join(f"    {line}".rstrip() for line in _documentation(routine))
    return f"{signature[signature.index('def ') :]}{documented}\n{body.rstrip()}"


def _documentation(routine: Routine) -> list[str]:
    lines = [f'"""{routine.summary}', ""]
    if routine.arguments:
        lines += ["Args:", *(f"    {a.name}: {_size(a)}{a.meaning}." for a in routine.arguments), ""]
    lines += ["Returns:", *(f"    {r.name}: {_shape(r)}{r.meaning}." for r in routine.results)]
    return [*lines, "", f"{operations_text(routine)}.", '"""']


def _size(argument: Argument) -> str:
    return f"{argument.length} numbers: " if argument.length else ""


def _shape(result: Result) -> str:
    return f"{' x '.join(str(length) for length in result.shape)}: " if result.shape else ""


def _check(model: RobotModel, routines: Sequence[Routine], options: Options) -> str:
    prefix = arm_prefix(model)
    lines = [*_head(model), "", "from math import isfinite", "", f"import {prefix}", "", "CHECKS = ["]
    for routine in routines:
        lengths = [argument.length for argument in routine.arguments]
        lines.append(f"    (\n        {prefix}.{routine.name},\n        {lengths},\n        [")
        for vector in check_vectors(model, routine, options, with_conditions=True):
            given, expected = (", ".join(map(repr, row)) for row in vector)
            lines += [f"            {line}" for line in wrapped(f"([{given}], [{expected}]),")]
        lines.append("        ],\n    ),")
    return "\n".join([*lines, "]", _DRIVER.replace("TOLERANCE", f"{TOLERANCE[Real.DOUBLE]:g}")])


_DRIVER = '''
NOT_CHECKED = "not checked: no well conditioned configuration found"

def flat(value):
    """All numbers in nested tuples."""
    return [number for part in value for number in flat(part)] if isinstance(value, tuple) else [value]


def arguments(row, lengths):
    """One entry per argument, from all numbers in a row."""
    values = iter(row)
    return [[next(values) for _ in range(length)] if length else next(values) for length in lengths]


def worst_difference(function, lengths, vectors):
    """Relative to the larger of 1 and the largest expected number."""
    worst = 0.0
    for given, expected in vectors:
        found = flat(function(*arguments(given, lengths)))
        if len(found) != len(expected) or not all(map(isfinite, found)):
            return float("inf")
        scale = max([1.0, *map(abs, expected)])
        worst = max([worst, *(abs(a - b) / scale for a, b in zip(found, expected))])
    return worst


failed = 0
for function, lengths, vectors in CHECKS:
    difference = worst_difference(function, lengths, vectors)
    failed += difference > TOLERANCE
    said = f"worst difference {difference:.1e}" if vectors else NOT_CHECKED
    print(f"{function.__name__:32} {said}")
print(f"{len(CHECKS) - failed} of {len(CHECKS)} functions within TOLERANCE")
raise SystemExit(1 if failed else 0)
'''

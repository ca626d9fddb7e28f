"""Straight-line Python: single calls without any compiler."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hil.kernels.expression import Expression, Operation
from hil.kernels.routine import Argument, Printer, Routine, lines, operation_counts

OF_MATH: Mapping[Operation, str] = {
    operation: name
    for operation, name in sorted(Printer.functions.items(), key=lambda item: item[1])
    if operation is not Operation.MAXIMUM
}
"""What the module `math` brings, by name; the maximum is built in."""


def python_source(routine: Routine, *, flat: bool = False) -> str:
    """A module with one function; vectors come as sequences, results leave as nested tuples, row by row.

    Args:
        routine: what to write.
        flat: all values of all results leave as one flat tuple instead.
    """
    printer = Printer({})
    body = [unpacking for argument in routine.arguments for unpacking in _unpacked(argument)]
    body += [f"{name} = {text}" for name, text in lines(routine, printer)]
    if flat:
        values = [value for result in routine.results for value in result.values]
        body.append(f"return {_rows((len(values),), values, printer)}")
    else:
        results = [_rows(result.shape, result.values, printer) for result in routine.results]
        body.append(f"return {', '.join(results)}")
    head = f"def {routine.name}({', '.join(argument.name for argument in routine.arguments)}):"
    text = "\n    ".join([head, f'"""{routine.summary}"""', *body])
    used = operation_counts(routine)
    names = [name for operation, name in OF_MATH.items() if operation in used]
    imports = f"from math import {', '.join(names)}\n\n\n" if names else ""
    return f"{imports}{text}\n"


def python_function(routine: Routine, *, flat: bool = False) -> Callable[..., Any]:
    """The function itself, ready to call."""
    namespace: dict[str, Any] = {}
    code = compile(python_source(routine, flat=flat), f"<{routine.name}>", "exec")
    exec(code, namespace)  # the text comes from our own derivation and from numbers only
    function: Callable[..., Any] = namespace[routine.name]
    return function


def _unpacked(argument: Argument) -> list[str]:
    if not argument.length:
        return []
    names = ", ".join(f"{argument.name}{i}" for i in range(argument.length))
    return [f"{names}{',' if argument.length == 1 else ''} = {argument.name}"]


def _rows(shape: Sequence[int], values: Sequence[Expression], printer: Printer) -> str:
    if not shape:
        return printer.operand(values[0])
    each = math.prod(shape[1:])
    parts = [_rows(shape[1:], values[i * each : (i + 1) * each], printer) for i in range(shape[0])]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

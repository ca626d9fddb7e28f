"""Straight-line Python: single calls without any compiler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hil.kernels.expression import Expression
from hil.kernels.routine import Argument, Printer, Routine, lines


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
    return f"from math import atan2, cos, sin, sqrt\n\n\n{text}\n"


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

"""Source text for Numba: one configuration per call, and many in tiles that the compiler turns into SIMD code.

A tile holds 64 configurations as a structure of arrays in flat buffers, so that every index is a constant plus the
loop counter: the form that LLVM proves free of aliases. The standard library's sin and cos cannot be vectorised;
the branch-free polynomial below can, and differs from them by less than 1e-15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hil.kernels.expression import Expression, Operation
from hil.kernels.routine import Argument, Printer, Result, Routine, lines, live_nodes, steps

TILE = 64
LARGEST_ANGLE = 1e5
"""Tiles with larger angles than this go through the exact library functions, one by one."""

OK, NOT_FINITE, WRONG_SHAPE, NEAR_SINGULAR = 0, 1, 2, 3
"""What a kernel returns; `one` leaves outputs untouched unless it is `OK`."""

_HEAD = f'''\
from math import atan2, cos, isfinite, sin, sqrt

import numpy as np
from numba import njit


@njit(inline="always")
def sincos(x):
    """Sine and cosine of |x| <= {LARGEST_ANGLE:g}: reduced by quarter turns in three exact parts, then polynomials.

    Adding and taking away 1.5 * 2**52 rounds to a whole number without a branch.
    """
    k = (x * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0
    r = ((x - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487959506e-21
    z = r * r
    s = ((((1.591784866512194e-10 * z - 2.505112794596564e-08) * z + 2.755731608382574e-06) * z
        - 0.00019841269836722437) * z + 0.008333333333330925) * z - 0.16666666666666666
    s = r + r * z * s
    c = ((((-1.1382456865840483e-11 * z + 2.0876143829213935e-09) * z - 2.755731726001471e-07) * z
        + 2.480158729874308e-05) * z - 0.0013888888888887382) * z + 0.041666666666666664
    c = (1.0 - 0.5 * z) + z * z * c
    quarter = k - 4.0 * ((k * 0.25 - 0.375 + 6755399441055744.0) - 6755399441055744.0)
    odd = (quarter == 1.0) | (quarter == 3.0)
    sine = c if odd else s
    cosine = s if odd else c
    return (-sine if quarter >= 2.0 else sine), (-cosine if (quarter == 1.0) | (quarter == 2.0) else cosine)
'''


def numba_source(routine: Routine, *, many: bool = True) -> str:
    """A module with ``one(arguments..., outputs...)`` and ``many(arguments..., outputs...)``, both giving a status.

    Arguments of `one` are float64 vectors (a scalar argument is a float), outputs C-ordered float64 arrays of the
    routine's shapes, (1,) for a scalar, written in place. Those of `many` have one axis more in front, and a scalar
    output has shape (N,). Where a condition of the routine fails the status is `NEAR_SINGULAR`.

    Args:
        routine: what to write.
        many: False leaves `many` away.
    """
    return "\n\n".join([_HEAD, _one(routine), *([_many(routine)] if many else [])])


def is_vectorisable(routine: Routine) -> bool:
    """True if `many` works in tiles: no function in it but sine, cosine, square root and choices."""
    return all(node.operation is not Operation.ATAN2 for node in live_nodes(routine))


def _one(routine: Routine) -> str:
    printer = Printer({})
    types = [*(_type(a.length > 0) for a in routine.arguments), *(_array(len(r.shape)) for r in routine.outputs)]
    names = _names(routine)
    inputs = [name for argument in routine.arguments for name in _entries(argument)]
    shapes = [f"len({a.name}) != {a.length}" for a in routine.arguments if a.length]
    shapes += [f"{r.name}.shape != {_shape_text(r.shape)}" for r in routine.outputs]
    guard = [f"if {' or '.join(shapes)}:", f"    return {WRONG_SHAPE}"]
    body = [f"if not isfinite({' + '.join(_locals(routine))}):", f"    return {NOT_FINITE}"]
    unpacking = [f"{local} = {entry}" for local, entry in zip(_locals(routine), inputs, strict=True) if local != entry]
    body += [f"{name} = {text}" for name, text in lines(routine, printer)]
    for value, least in routine.conditions:
        body += [f"if not {printer.operand(value)} >= {least!r}:", f"    return {NEAR_SINGULAR}"]
    for result in routine.outputs:
        body += [f"{place} = {printer.operand(value)}" for place, value in _places(result, result.name)]
    body.append(f"return {OK}")
    return _function("one", names, types, [*guard, *unpacking, *body])


def _many(routine: Routine) -> str:
    names = _names(routine)
    types = [
        *(_array(2 if a.length else 1) for a in routine.arguments),
        *(_array(len(r.shape) + 1) for r in routine.outputs),
    ]
    shapes = [f"{a.name}.shape != (count, {a.length})" for a in routine.arguments if a.length]
    shapes += [f"{r.name}.shape != (count, {', '.join(map(str, r.shape))})" for r in routine.outputs]
    guard = [f"count = len({names[0]})", f"if {' or '.join(shapes)}:", f"    return {WRONG_SHAPE}"]
    if not is_vectorisable(routine):
        return _function("many", names, types, [*guard, *_row_by_row(routine)])
    return "\n\n".join([_tile(routine), _function("many", names, types, [*guard, *_in_tiles(routine)])])


def _row_by_row(routine: Routine) -> list[str]:
    return [
        "for i in range(count):",
        f"    status = one({_row_call(routine, 'i')})",
        f"    if status != {OK}:",
        "        return status",
        f"return {OK}",
    ]


def _row_call(routine: Routine, row: str) -> str:
    """Arguments and outputs of `one` for one row of those of `many`."""
    inputs = [f"{a.name}[{row}]" for a in routine.arguments]
    outputs = [f"{r.name}[{row}]" if r.shape else f"{r.name}[{row} : {row} + 1]" for r in routine.outputs]
    return ", ".join([*inputs, *outputs])


def _in_tiles(routine: Routine) -> list[str]:
    """Copy each tile in, work on it, copy it out; what does not fit, or is too large, goes one by one."""
    inputs, outputs = len(_locals(routine)), [math.prod(r.shape) for r in routine.outputs]
    copy_in, k = [], 0
    for argument in routine.arguments:
        if argument.length:
            copy_in += [f"        for j in range({argument.length}):"]
            copy_in += [f"            value = {argument.name}[first + i, j]"]
            copy_in += [f"            tile_in[({k} + j) * {TILE} + i] = value"]
            copy_in += ["            largest = max(largest, abs(value)) if value == value else np.inf"]
        else:
            copy_in += [f"        value = {argument.name}[first + i]", f"        tile_in[{k} * {TILE} + i] = value"]
            copy_in += ["        largest = max(largest, abs(value)) if value == value else np.inf"]
        k += argument.length or 1
    copy_out, k = [], 0
    for _, least in routine.conditions:
        copy_out += [f"        if not tile_out[{k * TILE} + i] >= {least!r}:", f"            return {NEAR_SINGULAR}"]
        k += 1
    for result, size in zip(routine.outputs, outputs, strict=True):
        copy_out += [f"        for j in range({size}):"]
        copy_out += [f"            {result.name}_flat[first + i, j] = tile_out[({k} + j) * {TILE} + i]"]
        k += size
    return [
        f"tile_in = np.empty({inputs * TILE})",
        f"tile_out = np.empty({(sum(outputs) + len(routine.conditions)) * TILE})",
        *(
            f"{r.name}_flat = {r.name}.reshape((count, {size}))"
            for r, size in zip(routine.outputs, outputs, strict=True)
        ),
        f"for first in range(0, count, {TILE}):",
        f"    rows = min({TILE}, count - first)",
        "    largest = 0.0",
        "    for i in range(rows):",
        *copy_in,
        f"    if rows == {TILE} and largest <= {LARGEST_ANGLE!r}:",
        "        tile(tile_in, tile_out)",
        f"        for i in range({TILE}):",
        *("    " + line for line in copy_out),
        "    else:",
        "        for i in range(rows):",
        f"            status = one({_row_call(routine, '(first + i)')})",
        f"            if status != {OK}:",
        "                return status",
        f"return {OK}",
    ]


def _tile(routine: Routine) -> str:
    printer = Printer({})
    body = [f"{name} = tile_in[{k * TILE} + i]" for k, name in enumerate(_locals(routine))]
    paired: dict[int, tuple[str, str]] = {}
    for name, node in steps(routine):
        if node.operation in (Operation.SIN, Operation.COS):
            angle = node.operands[0]
            if angle.index not in paired:
                paired[angle.index] = (f"s{len(paired)}", f"c{len(paired)}")
                body.append(f"{', '.join(paired[angle.index])} = sincos({printer.operand(angle)})")
            printer.names[node.index] = paired[angle.index][node.operation is Operation.COS]
            continue
        body.append(f"{name} = {printer.text(node)}")
        printer.names[node.index] = name
    values = [value for value, _ in routine.conditions] + [v for result in routine.outputs for v in result.values]
    body += [f"tile_out[{k * TILE} + i] = {printer.operand(value)}" for k, value in enumerate(values)]
    loop = [f"for i in range({TILE}):", *(f"    {line}" for line in body)]
    return _function("tile", ["tile_in", "tile_out"], None, loop)


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(str(size) for size in shape or (1,))},)"


def _names(routine: Routine) -> list[str]:
    return [*(a.name for a in routine.arguments), *(r.name for r in routine.outputs)]


def _locals(routine: Routine) -> list[str]:
    """The inputs' names as the graph knows them."""
    return [
        name
        for argument in routine.arguments
        for name in ([f"{argument.name}{i}" for i in range(argument.length)] if argument.length else [argument.name])
    ]


def _entries(argument: Argument) -> list[str]:
    return [f"{argument.name}[{i}]" for i in range(argument.length)] if argument.length else [argument.name]


def _places(result: Result, name: str) -> Iterator[tuple[str, Expression]]:
    for flat, value in enumerate(result.values):
        index, rest = [], flat
        for size in reversed(result.shape):
            index.append(rest % size)
            rest //= size
        yield f"{name}[{', '.join(str(i) for i in reversed(index))}]" if index else f"{name}[0]", value


def _type(vector: bool) -> str:
    return _array(1) if vector else "float64"


def _array(dimensions: int) -> str:
    return f"float64[{', '.join([':'] * (max(dimensions, 1) - 1) + ['::1'])}]"


def _function(name: str, arguments: Sequence[str], types: Sequence[str] | None, body: Sequence[str]) -> str:
    signature = "" if types is None else f'"int64({", ".join(types)})", '
    decorator = f'@njit({signature}cache=True, nogil=True, error_model="numpy")'
    return "\n    ".join([f"{decorator}\ndef {name}({', '.join(arguments)}):", *body]) + "\n"

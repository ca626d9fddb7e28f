"""Source text for Numba: one configuration per call, and many in tiles that the compiler turns into SIMD code.

A tile holds 64 configurations as a structure of arrays in flat buffers, so that every index is a constant plus the
loop counter: the form that LLVM proves free of aliases. The standard library's sin and cos cannot be vectorised;
the branch-free polynomial below can, and differs from them by less than 1e-15.

Most of the time that compiling takes goes into Numba's own passes over Python: the equations stand once in
`equations`, which LLVM inlines into `one` and into the tile, and what only other kernels call gets no wrappers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from hil.kernels.emit_python import OF_MATH
from hil.kernels.expression import Expression, Operation
from hil.kernels.routine import Argument, Printer, Result, Routine, live_nodes, operation_counts, steps

TILE = 64
ROW = TILE + 8
"""Distance of a tile's rows: a power of two would put them all into the same few places of the cache."""

STREAMED_BYTES = 8 << 20
"""From this size on results go past the caches: they would not stay there, and a store that goes through them first
reads from memory what it is about to overwrite, which costs more than the kinematics of a PUMA 560. Memory that the
system has just handed out is the exception: it was cleared in the cache. It is known by its last row, all zeros."""

_RARE = {
    operation: name
    for operation, name in OF_MATH.items()
    if operation not in (Operation.SIN, Operation.COS, Operation.ATAN2, Operation.SQRT)
}
"""Functions that no arm needs, but formulas of people may."""

LARGEST_SUM = 1e5
"""Up to this sum of all inputs' sizes the polynomials below hold; beyond, or not finite, kernels decline."""

OK, DECLINED, WRONG_SHAPE, CONDITION_FAILS = 0, 1, 2, 3
"""What a kernel returns; `one` leaves outputs untouched unless it is `OK`."""

HEAD = f'''\
from math import atan2, sqrt

import numpy as np
from numba import njit


@njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def sincos(x):
    """Sine and cosine of |x| <= {LARGEST_SUM:g}: reduced by quarter turns in three exact parts, then polynomials.

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

_STREAMING = '''\
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def stream(typing, array, index, value):
    """Store past the caches. As a whole number, because compilers keep that hint only for scalars of that kind."""

    def code(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word = ir.IntType(64)
        place = builder.bitcast(builder.gep(data, [arguments[1]], inbounds=True), word.as_pointer())
        store = builder.store(builder.bitcast(arguments[2], word), place, align=8)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float64), code


@intrinsic
def settle(typing):
    """What was streamed is there for all threads before anything that follows."""

    def code(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), code
'''

_INNER = 'no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy"'
"""Options of what only other kernels call: it needs no way in from Python or C."""

_CONTRACTED = 'fastmath={"contract"}'
_LOOSELY = 'fastmath={"contract", "reassoc", "nsz"}'
"""Neither takes it for granted that all numbers are finite: an unstable run is found by comparing them."""


class _NumbaPrinter(Printer):
    # The floor of `math` is an integer there, which large numbers do not fit.
    functions: Mapping[Operation, str] = {**Printer.functions, Operation.FLOOR: "np.floor"}


def numba_source(routine: Routine, *, many: bool = True) -> str:
    """A module with ``one(arguments..., outputs...)`` and ``many(arguments..., outputs...)``, both giving a status.

    Arguments of `one` are float64 vectors (a scalar argument is a float), outputs C-ordered float64 arrays of the
    routine's shapes, (1,) for a scalar, written in place. Those of `many` have one axis more in front, and a scalar
    output has shape (N,). Where a condition of the routine fails the status is `CONDITION_FAILS`.

    Args:
        routine: what to write.
        many: False leaves `many` away.
    """
    parts = [*imports(routine), HEAD, equations(routine), _one(routine)]
    if many:
        parts += [_STREAMING, _tile(routine), _many(routine)] if is_vectorisable(routine) else [_many(routine)]
    return "\n\n".join(parts)


def is_vectorisable(routine: Routine) -> bool:
    """True if `many` works in tiles: no function in it but sine, cosine, square root and choices."""
    return all(node.operation not in (Operation.ATAN2, *_RARE) for node in live_nodes(routine))


def imports(routine: Routine) -> list[str]:
    """What only formulas of people need, so that the text of an arm's kernels stays as it is."""
    used = operation_counts(routine)
    names = [name for operation, name in _RARE.items() if operation in used]
    return [f"from math import {', '.join(names)}\n"] if names else []


def _one(routine: Routine) -> str:
    types = [*(_type(a.length > 0) for a in routine.arguments), *(_array(len(r.shape)) for r in routine.outputs)]
    shapes = [f"len({a.name}) != {a.length}" for a in routine.arguments if a.length]
    shapes += [f"{r.name}.shape != {_shape_text(r.shape)}" for r in routine.outputs]
    body = [f"if {' or '.join(shapes)}:", f"    return {WRONG_SHAPE}"]
    inputs = [name for argument in routine.arguments for name in _entries(argument)]
    body += [f"{local} = {entry}" for local, entry in zip(input_names(routine), inputs, strict=True) if local != entry]
    body += [f"if not {_size_sum(routine)} <= {LARGEST_SUM!r}:", f"    return {DECLINED}"]
    body.append(f"values = equations({', '.join(input_names(routine))})")
    for k, (_, least) in enumerate(routine.conditions):
        body += [f"if not values[{k}] >= {least!r}:", f"    return {CONDITION_FAILS}"]
    places = [place for result in routine.outputs for place in _places(result)]
    body += [f"{place} = values[{k}]" for k, place in enumerate(places, len(routine.conditions))]
    body.append(f"return {OK}")
    # Giving up the interpreter's lock and taking it again costs as much as forward kinematics.
    return _function("one", _names(routine), types, body, nogil=False)


def contracted_head() -> str:
    """`HEAD` with its products rounded once with the sum that they go into."""
    return HEAD.replace("@njit(forceinline=True,", f"@njit(forceinline=True, {_CONTRACTED},")


def equations(routine: Routine, name: str = "equations", *, loosely: bool = False, given: Sequence[str] = ()) -> str:
    """A function from the inputs to a tuple of the conditions' values and all outputs, to stand after `HEAD`.

    Args:
        routine: what to write.
        name: of the function.
        loosely: sums in any order, and a product rounded once with the sum that it goes into, where the processor can:
            quicker and not less exact, but the last digit then depends on the processor.
        given: angles, as `plain_angles` names them, whose sines and cosines the caller has: they are arguments after
            the inputs, ``sin_0, cos_0, sin_1`` and so on.
    """
    printer = _NumbaPrinter({})
    body = _straight_line(routine, printer, given)
    body.append(f"return ({' '.join(f'{printer.operand(value)},' for value in _values(routine))})")
    options = f"{_INNER}, forceinline=True" + (f", {_LOOSELY}" if loosely else "")
    return _defined(name, [*input_names(routine), *turned_names(len(given))], options, body)


def turned_names(count: int) -> list[str]:
    """Arguments for the sines and cosines of so many angles."""
    return [f"{function}_{k}" for k in range(count) for function in ("sin", "cos")]


def plain_angles(routine: Routine) -> dict[str, str]:
    """Angles of sines and cosines that are an input, or an input and a constant: as text, with the input's name."""
    printer, found = _NumbaPrinter({}), {}
    for node in live_nodes(routine):
        if node.operation in (Operation.SIN, Operation.COS):
            angle = node.operands[0]
            parts = [angle] if angle.operation is Operation.INPUT else angle.operands
            inputs = [part.name for part in parts if part.operation is Operation.INPUT]
            constant = all(part.operation in (Operation.INPUT, Operation.CONSTANT) for part in parts)
            if angle.operation in (Operation.INPUT, Operation.ADD) and constant and len(inputs) == 1:
                found[printer.operand(angle)] = inputs[0]
    return found


def _values(routine: Routine) -> list[Expression]:
    return [value for value, _ in routine.conditions] + [v for result in routine.outputs for v in result.values]


def _straight_line(routine: Routine, printer: Printer, given: Sequence[str]) -> list[str]:
    """The steps, sine and cosine of one angle together."""
    body = []
    paired: dict[int, tuple[str, str]] = {}
    known = {angle: (f"sin_{k}", f"cos_{k}") for k, angle in enumerate(given)}
    for name, node in steps(routine):
        if node.operation in (Operation.SIN, Operation.COS):
            angle = node.operands[0]
            if (text := printer.operand(angle)) in known:
                paired[angle.index] = known[text]
            elif angle.index not in paired:
                paired[angle.index] = (f"s{len(paired)}", f"c{len(paired)}")
                body.append(f"{', '.join(paired[angle.index])} = sincos({printer.operand(angle)})")
            printer.names[node.index] = paired[angle.index][node.operation is Operation.COS]
            continue
        body.append(f"{name} = {printer.text(node)}")
        printer.names[node.index] = name
    return body


def _size_sum(routine: Routine) -> str:
    """Sum of the inputs' sizes; a single one that is not finite spoils it."""
    return f"({' + '.join(f'abs({name})' for name in input_names(routine))})"


def _many(routine: Routine) -> str:
    names = [
        *(a.name if a.length else f"{a.name}_column" for a in routine.arguments),
        *(r.name for r in routine.outputs),
    ]
    types = [
        *(_array(2 if a.length else 1) for a in routine.arguments),
        *(_array(len(r.shape) + 1) for r in routine.outputs),
    ]
    shapes = [f"{a.name}.shape != (count, {a.length})" for a in routine.arguments if a.length]
    shapes += [f"{r.name}.shape != (count, {', '.join(map(str, r.shape))})" for r in routine.outputs]
    guard = [f"count = len({names[0]})", f"if {' or '.join(shapes)}:", f"    return {WRONG_SHAPE}"]
    if not is_vectorisable(routine):
        return _function("many", names, types, [*guard, *_row_by_row(routine)])
    return _function("many", names, types, [*guard, *_in_tiles(routine)])


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
    inputs = [f"{a.name}[{row}]" if a.length else f"{a.name}_column[{row}]" for a in routine.arguments]
    outputs = [f"{r.name}[{row}]" if r.shape else f"{r.name}[{row} : {row} + 1]" for r in routine.outputs]
    return ", ".join([*inputs, *outputs])


def _in_tiles(routine: Routine) -> list[str]:
    """Copy each tile in, work on it, copy it out; the last rows go one by one."""
    inputs, sizes = len(input_names(routine)), [math.prod(r.shape) for r in routine.outputs]
    copy_in = [
        f"        {local} = {entry}"
        for argument in routine.arguments
        for local, entry in zip(_argument_locals(argument), _row_entries(argument), strict=True)
    ]
    copy_in += [f"        tile_in[{k * ROW} + i] = {name}" for k, name in enumerate(input_names(routine))]
    return [
        f"tile_in = np.empty({inputs * ROW})",
        f"tile_out = np.empty({len(_values(routine)) * ROW})",
        *(f"{r.name}_flat = {r.name}.reshape(count * {size})" for r, size in zip(routine.outputs, sizes, strict=True)),
        "streaming = False",
        f"if count >= {math.ceil(STREAMED_BYTES / (8 * sum(sizes)))}:",
        f"    for j in range({sizes[0]}):",
        f"        streaming |= {routine.outputs[0].name}_flat[(count - 1) * {sizes[0]} + j] != 0.0",
        f"whole = count - count % {TILE}",
        f"for first in range(0, whole, {TILE}):",
        "    total = 0.0",
        f"    for i in range({TILE}):",
        *copy_in,
        f"        total += {_size_sum(routine)}",
        f"    if not total <= {LARGEST_SUM!r}:",
        f"        return {DECLINED}",
        "    tile(tile_in, tile_out)",
        *(f"    {line}" for line in _conditions_of_tile(routine)),
        "    if streaming:",
        *(f"        {line}" for line in _copy_out(routine, "stream({result}, {index}, {value})")),
        "    else:",
        *(f"        {line}" for line in _copy_out(routine, "{result}[{index}] = {value}")),
        "settle()",
        "for i in range(whole, count):",
        f"    status = one({_row_call(routine, 'i')})",
        f"    if status != {OK}:",
        "        return status",
        f"return {OK}",
    ]


def _conditions_of_tile(routine: Routine) -> Iterator[str]:
    for k, (_, least) in enumerate(routine.conditions):
        yield f"for i in range({TILE}):"
        yield f"    if not tile_out[{k * ROW} + i] >= {least!r}:"
        yield f"        return {CONDITION_FAILS}"


def _copy_out(routine: Routine, store: str) -> Iterator[str]:
    """One result after the other, so that each is written in the order of its addresses.

    Streaming and storing need loops of their own: of a choice inside one loop LLVM makes a plain store.
    """
    k = len(routine.conditions)
    for result in routine.outputs:
        size = math.prod(result.shape)
        yield f"for i in range({TILE}):"
        yield f"    row = (first + i) * {size}"
        yield f"    for j in range({size}):"
        value = f"tile_out[({k} + j) * {ROW} + i]"
        yield f"        {store.format(result=f'{result.name}_flat', index='row + j', value=value)}"
        k += size


def _tile(routine: Routine) -> str:
    inputs = ", ".join(f"tile_in[{k * ROW} + i]" for k in range(len(input_names(routine))))
    body = [f"values = equations({inputs})"]
    body += [f"tile_out[{k * ROW} + i] = values[{k}]" for k in range(len(_values(routine)))]
    loop = [f"for i in range({TILE}):", *(f"    {line}" for line in body)]
    return _defined("tile", ["tile_in", "tile_out"], _INNER, loop)


def _names(routine: Routine) -> list[str]:
    return [*(a.name for a in routine.arguments), *(r.name for r in routine.outputs)]


def input_names(routine: Routine) -> list[str]:
    """The inputs' names as the graph knows them, in the order of the call."""
    return [name for argument in routine.arguments for name in _argument_locals(argument)]


def _argument_locals(argument: Argument) -> list[str]:
    return [f"{argument.name}{i}" for i in range(argument.length)] if argument.length else [argument.name]


def _entries(argument: Argument) -> list[str]:
    return [f"{argument.name}[{i}]" for i in range(argument.length)] if argument.length else [argument.name]


def _row_entries(argument: Argument) -> list[str]:
    """Entries of one row of a tile, as `many` gets the argument."""
    if not argument.length:
        return [f"{argument.name}_column[first + i]"]
    return [f"{argument.name}[first + i, {j}]" for j in range(argument.length)]


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(str(size) for size in shape or (1,))},)"


def _places(result: Result) -> Iterator[str]:
    for flat in range(len(result.values)):
        index, rest = [], flat
        for size in reversed(result.shape):
            index.append(rest % size)
            rest //= size
        yield f"{result.name}[{', '.join(str(i) for i in reversed(index)) or '0'}]"


def _type(vector: bool) -> str:
    return _array(1) if vector else "float64"


def _array(dimensions: int) -> str:
    return f"float64[{', '.join([':'] * (max(dimensions, 1) - 1) + ['::1'])}]"


def _function(
    name: str, arguments: Sequence[str], types: Sequence[str], body: Sequence[str], nogil: bool = True
) -> str:
    signature = f"int64({', '.join(types)})"
    return _defined(name, arguments, f'"{signature}", cache=True, nogil={nogil}, error_model="numpy"', body)


def _defined(name: str, arguments: Sequence[str], options: str, body: Sequence[str]) -> str:
    return "\n    ".join([f"@njit({options})\ndef {name}({', '.join(arguments)}):", *body]) + "\n"

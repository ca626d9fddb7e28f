"""C99: one header and one source per arm, with no dependency but <math.h>."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from hil.kernels import arduino
from hil.kernels.c_text import (
    STATUSES,
    Dialect,
    braced,
    comment,
    documentation,
    function_body,
    helpers_used,
)
from hil.kernels.check_program import c_check
from hil.kernels.export_options import Layout, Options, Real
from hil.kernels.languages import arm_prefix, heading, operations_text
from hil.kernels.routine import Routine
from hil.model.robot import RobotModel

_ALIASING = "An output may lie in the same memory as an argument."

STRICT = "-Wall -Wextra -Werror -pedantic"


def c_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """Header, source and check program; as an Arduino library if so wanted."""
    prefix = arm_prefix(model)
    header, source = c_header(model, routines, options.real), c_source(model, routines, options.real)
    check = c_check(model, routines, options)
    if options.layout is Layout.PLAIN:
        return {f"{prefix}.h": header, f"{prefix}.c": source, "check.c": check}
    return {
        "library.properties": arduino.properties(model),
        f"src/{prefix}.h": header,
        f"src/{prefix}.c": source,
        f"examples/{prefix}/{prefix}.ino": arduino.sketch(model, routines, options),
        # A folder that the Arduino tools do not build.
        "extras/check/check.c": check,
    }


def c_check_command(options: Options) -> str:
    """Builds and runs the check program."""
    sources = "*.c" if options.layout is Layout.PLAIN else "-Isrc src/*.c extras/check/check.c"
    return f"gcc -std=c99 {STRICT} {sources} -lm -o check && ./check"


def c_header(model: RobotModel, routines: Sequence[Routine], real: Real) -> str:
    """Statuses and declarations."""
    dialect = Dialect(arm_prefix(model), real)
    guard = f"{dialect.prefix.upper()}_H"
    statuses = [
        line
        for number, (name, meaning) in _numbered()
        for line in textwrap.wrap(f"{dialect.status(name)} ({number}): {meaning}.", 96, subsequent_indent="  ")
    ]
    lines = [
        *comment([*heading(model), "", "Every function returns one of", *statuses, _ALIASING]),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(f"#define {dialect.status(name)} {number}" for number, (name, _) in _numbered()),
        f"#define {dialect.prefix.upper()}_JOINTS {model.dof}",
        "",
    ]
    for routine in routines:
        lines += [*documentation(routine, operations_text(routine)), f"{dialect.signature(routine)};", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def c_source(model: RobotModel, routines: Sequence[Routine], real: Real) -> str:
    """The functions."""
    dialect = Dialect(arm_prefix(model), real)
    bodies = [function_body(routine, dialect) for routine in routines]
    lines = [
        *comment(heading(model)),
        f'#include "{dialect.prefix}.h"',
        "",
        "#include <math.h>",
        "",
        *helpers_used(dialect, bodies),
    ]
    for routine, body in zip(routines, bodies, strict=True):
        lines += [dialect.signature(routine), *braced(body), ""]
    return "\n".join(lines)


def _numbered() -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(STATUSES.items()))

"""What the Arduino IDE asks for around the C files of one arm: a description of the library, and an example."""

from __future__ import annotations

from collections.abc import Sequence

from hil.kernels.c_text import Dialect, braced, comment, indented, literal, parameters
from hil.kernels.export_options import Options
from hil.kernels.languages import MARK, arm_prefix, heading, plain
from hil.kernels.routine import Routine
from hil.model.robot import RobotModel
from hil.version import software_version


def properties(model: RobotModel) -> str:
    """The text of library.properties."""
    version = software_version()
    prefix = arm_prefix(model)
    title = plain(model.title) or prefix
    return "\n".join(
        [
            f"name={prefix}",
            f"version={version}",
            "author=hil derive",
            "maintainer=hil derive",
            f"sentence=Kinematics and dynamics of {title} in straight-line C.",
            f"paragraph={MARK} {version}. Free to use without conditions (CC0-1.0).",
            "category=Device Control",
            "url=",
            "license=CC0-1.0",
            "architectures=*",
            f"includes={prefix}.h",
            "",
        ]
    )


def sketch(model: RobotModel, routines: Sequence[Routine], options: Options) -> str:
    """An example that calls one function over and over and prints what it gives: the tool's pose if it is there."""
    routine = next((each for each in routines if each.name == "forward_kinematics"), routines[0])
    dialect = Dialect(arm_prefix(model), options.real)
    real = options.real.value
    found = parameters(routine)
    call = ", ".join(f"&{p.name}" if p.output and not p.length else p.name for p in found)
    declared, printed = [], []
    for parameter in found:
        if not parameter.output:
            values = list(model.home or ()) if parameter.name == "q" else []
            declared.append(_start(real, parameter.name, parameter.length, [literal(v, options.real) for v in values]))
        elif parameter.length:
            declared.append(f"{real} {parameter.name}[{parameter.length}];")
            each = f"for (int i = 0; i < {parameter.length}; i++)"
            printed += [f"{each} {{", f"    Serial.println({parameter.name}[i], 6);", "}"]
        else:
            declared.append(f"{real} {parameter.name};")
            printed.append(f"Serial.println({parameter.name}, 6);")
    loop = [
        f"if ({dialect.function(routine)}({call}) == {dialect.status('OK')}) {{",
        *indented(printed),
        "}",
        "delay(1000);",
    ]
    lines = [*comment(heading(model)), f"#include <{dialect.prefix}.h>", "", *declared, ""]
    lines += ["void setup()", *braced(["Serial.begin(115200);"]), "", "void loop()", *braced(loop), ""]
    return "\n".join(lines)


def _start(real: str, name: str, count: int, values: Sequence[str]) -> str:
    if not count:
        return f"{real} {name} = 1;"
    return f"{real} {name}[{count}] = {{{', '.join(values) or '0'}}};"

"""C++17: one header and one source per arm, in a namespace of the arm's name, with arrays that know their length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hil.kernels.c_text import (
    STATUSES,
    Dialect,
    Parameter,
    braced,
    comment,
    documentation,
    function_body,
    helpers_used,
    indented,
    literal,
    parameters,
)
from hil.kernels.check_program import cpp_check
from hil.kernels.emit_c import STRICT
from hil.kernels.export_options import Options, Real
from hil.kernels.languages import arm_prefix, heading, identifier, operations_text
from hil.kernels.routine import Routine
from hil.model.robot import RobotModel


class CppDialect(Dialect):
    """C++ where it differs from C."""

    namespace = "std::"

    def status(self, name: str) -> str:
        """A status, as an expression."""
        return f"Status::{name.lower()}"

    def function(self, routine: Routine) -> str:
        """Name of a routine's function, as called from outside."""
        return f"{self.prefix}::{identifier(routine.name)}"

    def signature(self, routine: Routine) -> str:
        """The declaration without its end, as it stands inside the namespace."""
        texts = [self.parameter(parameter) for parameter in parameters(routine)]
        return f"Status {identifier(routine.name)}({', '.join(texts)}) noexcept"

    def parameter(self, parameter: Parameter) -> str:
        """One parameter of a declaration."""
        kind = f"std::array<{self.real.value}, {parameter.length}>" if parameter.length else self.real.value
        if parameter.output:
            return f"{kind} &{parameter.name}"
        return f"const {kind} &{parameter.name}" if parameter.length else f"{kind} {parameter.name}"

    def array(self, name: str, count: int, rows: Sequence[str]) -> list[str]:
        """Definition of a constant array."""
        return [f"const std::array<{self.real.value}, {count}> {name}{{{{", *indented(rows), "}};"]

    def of_all(self, helper: str, name: str, count: int) -> str:
        """A call of a helper; arrays know their length."""
        return f"{helper}({name})"

    def keep(self, parameter: Parameter, local: str) -> str:
        """Statement that writes an output."""
        return f"{parameter.name} = {local};"

    def helpers(self) -> Mapping[str, list[str]]:
        """Functions that bodies call, by name."""
        return {
            "all_finite": self._helper("all_finite", "!std::isfinite(value)"),
            "all_negative": self._helper("all_negative", f"value >= {literal(0.0, self.real)}"),
        }

    def _helper(self, name: str, fails: str) -> list[str]:
        real = self.real.value
        loop = [f"for (const {real} value : values) {{", f"    if ({fails}) {{", "        return false;", "    }", "}"]
        return [
            "template <std::size_t count>",
            f"bool {name}(const std::array<{real}, count> &values) noexcept",
            *braced([*loop, "return true;"]),
        ]


def cpp_files(model: RobotModel, routines: Sequence[Routine], options: Options) -> Mapping[str, str]:
    """Header, source and check program."""
    prefix = arm_prefix(model)
    dialect = CppDialect(prefix, options.real)
    return {
        f"{prefix}.hpp": cpp_header(model, routines, options.real),
        f"{prefix}.cpp": cpp_source(model, routines, options.real),
        "check.cpp": cpp_check(model, routines, options, dialect),
    }


def cpp_check_command(options: Options) -> str:
    """Builds and runs the check program."""
    return f"g++ -std=c++17 {STRICT} *.cpp -o check && ./check"


def cpp_header(model: RobotModel, routines: Sequence[Routine], real: Real) -> str:
    """Statuses and declarations."""
    dialect = CppDialect(arm_prefix(model), real)
    guard = f"{dialect.prefix.upper()}_HPP"
    lines = [
        *comment(heading(model)),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <array>",
        "#include <cstddef>",
        "",
        f"namespace {dialect.prefix} {{",
        "",
        "/** What every function returns. */",
        "enum class Status {",
    ]
    for number, (name, meaning) in enumerate(STATUSES.items()):
        lines.append(f"    {name.lower()} = {number}, /**< {meaning} */")
    lines += ["};", "", f"inline constexpr std::size_t joints = {model.dof};", ""]
    for routine in routines:
        lines += [*documentation(routine, operations_text(routine)), f"[[nodiscard]] {dialect.signature(routine)};", ""]
    return "\n".join([*lines, f"}} // namespace {dialect.prefix}", "", "#endif", ""])


def cpp_source(model: RobotModel, routines: Sequence[Routine], real: Real) -> str:
    """The functions."""
    dialect = CppDialect(arm_prefix(model), real)
    bodies = [function_body(routine, dialect) for routine in routines]
    lines = [
        *comment(heading(model)),
        f'#include "{dialect.prefix}.hpp"',
        "",
        "#include <cmath>",
        "",
        f"namespace {dialect.prefix} {{",
    ]
    helpers = helpers_used(dialect, bodies)
    if helpers:
        lines += ["namespace {", "", *helpers, "} // namespace", ""]
    for routine, body in zip(routines, bodies, strict=True):
        lines += [dialect.signature(routine), *braced(body), ""]
    return "\n".join([*lines, f"}} // namespace {dialect.prefix}", ""])

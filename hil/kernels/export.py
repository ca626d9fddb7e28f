"""Straight-line code for one arm as files: which quantities, which language, how much each function does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from hil.errors import CommandError
from hil.kernels import quantities
from hil.kernels.documents import latex_files, text_files
from hil.kernels.emit_c import c_check_command, c_files
from hil.kernels.emit_cpp import cpp_check_command, cpp_files
from hil.kernels.emit_mathematica import mathematica_check_command, mathematica_files
from hil.kernels.export_options import Layout, Options, Real
from hil.kernels.languages import Compiler, Language
from hil.kernels.python_export import python_check_command, python_files
from hil.kernels.quantities import QUANTITIES
from hil.kernels.routine import Routine, operation_counts
from hil.model.robot import RobotModel
from hil.tables import closest

LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "c": Language(
            title="C99: a header and a source",
            write=c_files,
            reals=(Real.DOUBLE, Real.FLOAT),
            layouts=(Layout.PLAIN, Layout.ARDUINO),
            check_command=c_check_command,
            compiler=Compiler(("cc", "gcc", "clang"), "-std=c99", ".c"),
        ),
        "cpp": Language(
            title="C++17: a header and a source",
            write=cpp_files,
            reals=(Real.DOUBLE, Real.FLOAT),
            check_command=cpp_check_command,
            compiler=Compiler(("c++", "g++", "clang++"), "-std=c++17", ".cpp"),
        ),
        "python": Language(
            title="Python: a module that needs no package",
            write=python_files,
            check_command=python_check_command,
        ),
        "mathematica": Language(
            title="Mathematica: a package of functions that take numbers or symbols",
            write=mathematica_files,
            check_command=mathematica_check_command,
        ),
        "latex": Language(title="LaTeX: a document to print, kinematics simplified", write=latex_files),
        "text": Language(title="text: the same for terminals", write=text_files),
    }
)
"""Every language that `export` writes, by the name that `hil derive --to` takes."""

ALL = "all"
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fk": "forward_kinematics",
        "ik": "inverse_kinematics",
        "id": "inverse_dynamics",
        "fd": "forward_dynamics",
    }
)


class FunctionSize(NamedTuple):
    """How much one function does.

    Attributes:
        operations: how often each operation is done in one call, by its name.
    """

    name: str
    operations: Mapping[str, int]

    @property
    def total(self) -> int:
        """All operations of one call."""
        return sum(self.operations.values())


class Exported(NamedTuple):
    """What an export gives.

    Attributes:
        files: text by path within the folder.
        functions: in the order of the files.
        left_out: quantities that were asked for as ``all`` and that this arm cannot have, with the reason.
    """

    files: Mapping[str, str]
    functions: tuple[FunctionSize, ...]
    left_out: Mapping[str, str]


def full_names(names: Sequence[str]) -> list[str]:
    """The quantities meant by `names`, each once, in the order of the table; ``all`` means every one.

    Raises:
        CommandError: a name that is no quantity and no alias of one, or none is given.
    """
    if ALL in names:
        return list(QUANTITIES)
    meant = {ALIASES.get(name, name.replace("-", "_")): name for name in names}
    allowed = [ALL, *(alias for alias, name in ALIASES.items() if name in QUANTITIES), *QUANTITIES]
    for name, given in meant.items():
        if name not in QUANTITIES:
            guess = closest(given, allowed)
            hint = f" (did you mean {guess!r}?)" if guess else ""
            raise CommandError(
                f"there is no quantity {given!r}{hint}; allowed: {', '.join(allowed)}",
                value=given,
                allowed=", ".join(allowed),
            )
    if not meant:
        raise CommandError(f"no quantity given; allowed: {', '.join(allowed)}", allowed=", ".join(allowed))
    return [name for name in QUANTITIES if name in meant]


def export(
    model: RobotModel, names: Sequence[str], language: str, options: Options, beside: Sequence[Routine] = ()
) -> Exported:
    """Derive quantities of one arm and write them in one language; nothing is written to disk.

    Args:
        model: the arm.
        names: of quantities, aliases of them, or ``all`` for every one that this arm can have.
        language: a key of `LANGUAGES`.
        options: number type, layout, check program.
        beside: further functions of this arm, behind the others.

    Raises:
        CommandError: no such quantity or language, the language lacks an option, or the arm lacks what a named
            quantity needs.
    """
    writer = checked_language(language, options)
    left_out: dict[str, str] = {}
    routines: list[Routine] = []
    for name in full_names(names) if names or not beside else ():
        try:
            routines.append(quantities.derive(model, name))
        except CommandError as error:
            if ALL not in names:
                raise
            left_out[name] = str(error)
    routines += beside
    return Exported(writer.write(model, routines, options), tuple(map(_size, routines)), left_out)


def checked_language(language: str, options: Options) -> Language:
    """The language called `language`.

    Raises:
        CommandError: there is none, or it does not offer the options.
    """
    if language not in LANGUAGES:
        allowed = ", ".join(LANGUAGES)
        raise CommandError(f"there is no language {language!r}; allowed: {allowed}", value=language, allowed=allowed)
    found = LANGUAGES[language]
    choices = (("number type", options.real, found.reals), ("layout", options.layout, found.layouts))
    for what, chosen, offered in choices:
        if chosen not in offered:
            allowed = ", ".join(choice.value for choice in offered)
            raise CommandError(
                f"{language} has no {what} {chosen.value!r}; allowed: {allowed}", value=chosen.value, allowed=allowed
            )
    return found


def _size(routine: Routine) -> FunctionSize:
    counts = operation_counts(routine)
    return FunctionSize(routine.name, {operation.value: count for operation, count in counts.items()})

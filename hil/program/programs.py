"""The front door: find and read a program with its points and the programs that it calls; check it; plan it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import folders
from hil.paths.point_list import PointName
from hil.program import nodes
from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.lint import Finding, lint
from hil.program.points import parse_points
from hil.program.program_plan import ProgramPlan, arm_of, plan_program
from hil.program.signals import InputChange, Inputs, TextArrives
from hil.program.structure import Program, parse_program, parts_of, read_program
from hil.program.values import Value
from hil.tables import closest

SUFFIXES = (".mb4", ".mb5", ".prg", ".txt")
POINT_SUFFIXES = (".pos", ".POS")
MOST_BYTES = 4_000_000
ENCODINGS = ("utf-8-sig", "cp932", "cp1252", "latin-1")
"""Tried in this order: comments come in all of them."""

__all__ = [
    "Dialect",
    "Finding",
    "InputChange",
    "Inputs",
    "Program",
    "ProgramError",
    "ProgramPlan",
    "TextArrives",
    "arm_of",
    "find_program",
    "lint",
    "list_programs",
    "load_library",
    "load_program",
    "plan_program",
    "read_for_lint",
]


def load_program(path: str | Path, dialect: Dialect = Dialect.LOOSE) -> Program:
    """Find and read a program, and the list of points of the same name beside it.

    Args:
        path: a file, or the name of one in ``configs/programs`` here, of the user, or bundled.
        dialect: strict IV, or also what V allows.

    Raises:
        ConfigError: there is no such file, or it cannot be read.
        ProgramError: the first error in it.
    """
    file = find_program(path)
    return parse_program(
        read_text(file), name=name_of(file), dialect=dialect, points=_points_beside(file, dialect), file=str(file)
    )


def read_for_lint(path: str | Path, dialect: Dialect = Dialect.LOOSE) -> tuple[Program, tuple[ProgramError, ...]]:
    """The same with every error, not only the first; statements that are wrong are left out of the program.

    Raises:
        ConfigError: there is no such file, or it cannot be read.
        ProgramError: its list of points is wrong.
    """
    file = find_program(path)
    return read_program(
        read_text(file), name=name_of(file), dialect=dialect, points=_points_beside(file, dialect), file=str(file)
    )


def load_library(program: Program, dialect: Dialect = Dialect.LOOSE) -> dict[str, Program]:
    """The programs in the same folder that it calls by name, and those that they call.

    Raises:
        ProgramError: one of them has an error.
    """
    found: dict[str, Program] = {}
    waiting = [program]
    while waiting:
        for name in _called(waiting.pop()):
            file = None if name in found or not program.file else _sibling(Path(program.file), name)
            if file is not None:
                found[name] = load_program(file, dialect)
                waiting.append(found[name])
    return found


def find_program(name: str | Path) -> Path:
    """The file that `name` means.

    Raises:
        ConfigError: there is none.
    """
    given = Path(name)
    parts = given.parts[2:] if given.parts[:2] == ("configs", "programs") else given.parts
    inside = Path(*parts) if parts else given
    for candidate in (given, *(folder / inside for folder in folders("programs"))):
        for path in (candidate, *(candidate.with_name(candidate.name + suffix) for suffix in SUFFIXES)):
            if path.name and path.is_file():
                return path
    names = list_programs()
    meant = closest(given.stem, names)
    raise ConfigError(
        f"program {str(name)!r}",
        "name",
        str(name),
        f"the path of a program, or one of: {', '.join(names)}" if names else "the path of a program",
        f"Did you mean {meant!r}?" if meant else "",
    )


def list_programs() -> list[str]:
    """Names of all programs that can be given without a path, sorted."""
    return sorted(
        {path.stem for folder in folders("programs") for path in folder.glob("*") if path.suffix.lower() in SUFFIXES}
    )


def name_of(file: Path) -> str:
    """How CALLP names it."""
    return file.stem.upper()


def read_text(file: Path) -> str:
    """A file's text, whichever of the usual encodings its comments are in.

    Raises:
        ConfigError: it cannot be read, is too large, or is the controller's binary form.
    """
    try:
        with open(file, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(str(file), "file", reason, "a file that can be read") from None
    if len(data) > MOST_BYTES:
        raise ConfigError(str(file), "file", f"more than {MOST_BYTES} bytes", "a program below that size")
    if data.startswith(b"ROBPRG"):
        raise ConfigError(str(file), "file", "a program in the controller's binary form", "a program as text")
    for encoding in ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ConfigError(str(file), "file", "bytes in no known encoding", "text")


def _points_beside(file: Path, dialect: Dialect) -> Mapping[PointName, Value]:
    for suffix in POINT_SUFFIXES:
        beside = file.with_suffix(suffix)
        if beside.is_file():
            return parse_points(read_text(beside), str(beside), dialect)
    return {}


def _called(program: Program) -> list[str]:
    found = []
    for line in program.lines:
        for part in parts_of(line.statement):
            if isinstance(part, nodes.Call) and isinstance(part.name, nodes.Text):
                found.append(part.name.value.upper().partition(".")[0])
    return found


def _sibling(file: Path, name: str) -> Path | None:
    for path in sorted(file.parent.glob("*")):
        if path.stem.upper() == name and path.suffix.lower() in SUFFIXES:
            return path
    return None

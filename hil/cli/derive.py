"""hil derive: an arm's kinematics and dynamics as source code that needs nothing of ours."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._names import RobotName
from hil.cli.arms import AsJson
from hil.cli.output import console, print_json, print_table
from hil.kernels.export_options import Layout, Options, Real

if TYPE_CHECKING:
    from hil.kernels.export import Exported
    from hil.kernels.languages import Language
    from hil.kernels.routine import Routine
    from hil.model.robot import RobotModel


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(derive)


def derive(
    robot: RobotName,
    folder: Annotated[Path, typer.Option("-o", "--output", help="Folder to write into; made if it is not there.")],
    what: Annotated[
        str,
        typer.Option(
            help="Quantities with commas between, or all; fk, ik, id, fd are short names; controller with --settings."
        ),
    ] = "all",
    to: Annotated[str, typer.Option(help="Language: c, cpp, python and others.")] = "c",
    real: Annotated[
        Real | None, typer.Option(help="Number type of C and C++; float for Arduino if not given, else double.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of hil simulate or hil tune: whose controller to write.", exists=True),
    ] = None,
    layout: Annotated[Layout, typer.Option(help="arduino makes a library for its IDE.")] = Layout.PLAIN,
    seed: Annotated[int, typer.Option(help="Of the configurations in the check program.")] = 1,
    measure: Annotated[
        bool, typer.Option("--size", help="Compile it too, where a compiler is found, and tell the size.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that this command did not write.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an arm's kinematics and dynamics as straight-line code, with a program that checks it."""
    from hil.errors import CommandError
    from hil.kernels.export import checked_language, export, full_names
    from hil.model.reader import load_robot

    names = [name.strip() for name in what.split(",") if name.strip()]
    wants_controller = CONTROLLER in names
    if wants_controller != (settings is not None):
        raise typer.BadParameter(_WITH_SETTINGS, param_hint="--what")
    names = [name for name in names if name != CONTROLLER]
    options = Options(real or (Real.FLOAT if layout is Layout.ARDUINO else Real.DOUBLE), layout, seed)
    try:
        if names or not wants_controller:
            full_names(names)
        language = checked_language(to, options)
    except CommandError as error:
        raise typer.BadParameter(str(error)) from None
    model = load_robot(robot)
    exported = export(model, names, to, options, [] if settings is None else [_controller(model, settings)])
    _write(folder, exported.files, force)
    size = _machine_code_bytes(folder, exported, language) if measure else None
    check = language.check_command(options) if language.check_command else None
    if as_json:
        print_json(_report(folder, exported, size, check))
    else:
        _show(model.id, folder, exported, size, check)


CONTROLLER = "controller"
_WITH_SETTINGS = (
    "a controller has gains, which --settings FILE names; allowed: --what controller --settings best.json, as hil tune "
    "writes it, with other quantities before a comma if you like"
)


def _controller(model: RobotModel, settings: Path) -> Routine:
    """The controller of a settings file.

    Raises:
        CommandError, ConfigError: it cannot be read, is of another arm, or means nothing.
    """
    from hil.control.experiment import read_experiment
    from hil.control.export import controller_routine
    from hil.errors import CommandError

    experiment = read_experiment(settings)
    if experiment.robot != model.id:
        raise CommandError(
            f"{settings} has the settings of {experiment.robot}; allowed: those of {model.id}", value=experiment.robot
        )
    return controller_routine(model, experiment)


def _write(folder: Path, files: Mapping[str, str], force: bool) -> None:
    from hil.errors import ConfigError
    from hil.kernels.languages import MARK

    paths = {folder / name: text for name, text in files.items()}
    try:
        foreign = [str(path) for path in paths if path.exists() and MARK not in _start_of(path)]
        if foreign and not force:
            raise ConfigError(
                ", ".join(foreign),
                "file",
                "a file that was not written by hil derive",
                "another folder",
                "--force overwrites it",
            )
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        place = str(error.filename or folder)
        raise ConfigError(place, "output", error.strerror or str(error), "a folder that can be written to") from None


def _start_of(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(1000)


def _machine_code_bytes(folder: Path, exported: Exported, language: Language) -> int | None:
    """Code and constants of the exported functions as a compiler on this machine makes them for size; None without."""
    import shutil
    import subprocess
    import tempfile

    compiler = language.compiler
    if compiler is None:
        return None
    commands = [command for command in compiler.commands if shutil.which(command)]
    sources = [name for name in exported.files if name.endswith(compiler.suffix) and Path(name).stem != "check"]
    if not commands or not shutil.which("size"):
        return None
    total = 0
    with tempfile.TemporaryDirectory() as place:
        for source in sources:
            made = str(Path(place) / "made.o")
            build = [commands[0], compiler.standard, "-Os", "-c", str(folder / source), "-o", made]
            try:
                subprocess.run(build, check=True, capture_output=True, timeout=120)
                printed = subprocess.run(["size", made], check=True, capture_output=True, timeout=10, text=True).stdout
            except (OSError, subprocess.SubprocessError):
                return None
            total += int(printed.splitlines()[1].split()[0])
    return total


def _report(folder: Path, exported: Exported, size: int | None, check: str | None) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "files": [
            {"file": name, "lines": text.count("\n"), "bytes": len(text.encode())}
            for name, text in exported.files.items()
        ],
        "functions": [
            {"name": function.name, "operations": function.total, "of": dict(function.operations)}
            for function in exported.functions
        ],
        "left_out": dict(exported.left_out),
        "machine_code_bytes": size,
        "check": check,
    }


def _show(robot: str, folder: Path, exported: Exported, size: int | None, check: str | None) -> None:
    print_table(
        f"{len(exported.functions)} functions of {robot}",
        ["function", "operations", "of which sin, cos, atan2, sqrt"],
        ([f.name, str(f.total), str(_costly(f.operations))] for f in exported.functions),
    )
    print_table(
        f"{len(exported.files)} files in {folder}",
        ["file", "lines", "bytes"],
        ([name, str(text.count("\n")), str(len(text.encode()))] for name, text in exported.files.items()),
    )
    out = console()
    if size is not None:
        out.print(f"machine code on this computer, compiled for size: {size} bytes")
    for name, reason in exported.left_out.items():
        out.print(f"left out: {name}: {reason}", markup=False)
    if check is not None:
        out.print(f"to check it: cd {shlex.quote(str(folder))} && {check}", markup=False)


def _costly(operations: Mapping[str, int]) -> int:
    return sum(operations.get(name, 0) for name in ("sin", "cos", "atan2", "sqrt"))

"""hil lint: what is wrong, or looks wrong, with a MELFA-BASIC program before it moves anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._names import names
from hil.cli.arms import AsJson
from hil.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil.program.lint import Finding
    from hil.program.structure import Program


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(name="lint")(lint_program)


def lint_program(
    program: Annotated[
        str,
        typer.Argument(
            autocompletion=names("programs"), help="Program's name or file; a .pos list beside it is read too."
        ),
    ],
    rig: Annotated[str, typer.Option(help="Check against this rig's limits and speeds.")] = "",
    strict: Annotated[
        bool, typer.Option("--strict/--loose", help="Only what IV spells, or also what V allows.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a program: syntax, jumps, names, points, and every move that it can make. 1 if something cannot work."""
    from hil.program import programs

    dialect = programs.Dialect.STRICT if strict else programs.Dialect.LOOSE
    read, errors = programs.read_for_lint(program, dialect)
    findings = _findings(read, errors, rig, dialect)
    if as_json:
        print_json([{**_plain(finding), "file": read.file} for finding in findings])
    else:
        _show(read, findings)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _findings(read: Program, errors: Sequence[Exception], rig: str, dialect: object) -> tuple[Finding, ...]:
    import hil
    from hil.program import programs
    from hil.program.lint import of_error
    from hil.program.motions import limits_of

    wrong = [error for error in errors if isinstance(error, programs.ProgramError)]
    kind = programs.Dialect(dialect)
    try:
        library = programs.load_library(read, kind)
    except programs.ProgramError as error:
        # A called program that cannot be read is its own trouble, and this one's.
        return of_error(error, "error"), *programs.lint(read, wrong)
    if not rig:
        return programs.lint(read, wrong, library=library)
    loaded = hil.load_rig(rig)
    arm = programs.arm_of(loaded)
    home = loaded.home[: len(arm.slots)]
    return programs.lint(read, wrong, arm=arm, limits=limits_of(loaded), start=home, library=library)


def _plain(finding: Finding) -> dict[str, object]:
    import msgspec

    return {**msgspec.to_builtins(finding), "code": finding.code}


def _show(read: Program, findings: Sequence[Finding]) -> None:
    if not findings:
        console().print(f"{read.file}: {len(read.lines)} lines, {len(read.points)} points, nothing to say")
        return
    rows = [
        (
            f"{finding.row}:{finding.column}" if finding.row else "",
            "" if finding.line is None else str(finding.line),
            finding.severity,
            finding.code,
            finding.text,
            finding.advice,
        )
        for finding in findings
    ]
    print_table(read.file, ["place", "line", "", "error", "what", "what to do"], rows)

"""hil journal: verify a journal, replay it, write it in other formats, mend a cut one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import complain, print_json

NEVER_BEGAN_CODE = 3
"""Exit code of `hil journal verify` for a session without a tick: its journal is whole, and there is nothing in it."""

File = Annotated[Path, typer.Argument(help="A journal (.mcap).", exists=True, dir_okay=False)]
Files = Annotated[list[Path], typer.Argument(help="Journals (.mcap).", exists=True, dir_okay=False)]


class To(StrEnum):
    """Formats of an export, as typed."""

    csv = "csv"
    mat = "mat"
    jsonl = "jsonl"
    mcap = "mcap"


class Mark(StrEnum):
    """Decimal marks, as typed."""

    comma = "comma"
    point = "point"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(no_args_is_help=True, help="Check a journal, run its session again, or pass it on.")
    group.command()(verify)
    group.command()(replay)
    group.command()(export)
    group.command()(task)
    group.command()(paths)
    group.command()(repair)
    app.add_typer(group, name="journal")


def verify(files: Files) -> None:
    """Say of each journal whether it is complete, never began, is being written, unfinished, or broken at record n.

    Of the parts of a session it says whether they follow each other. Ends with 1 if something is broken, else with 3 if
    a session never began.
    """
    from hil.runtime.journal import Completeness, first_path, part_path, wrong_link
    from hil.runtime.journal import JournalVerdict as Found
    from hil.runtime.journal import verify as verify_journal

    seen: dict[Path, Found] = {}
    never = False
    wrong = False
    for file in files:
        verdict = seen[file] = verify_journal(file)
        wrong |= verdict.completeness is Completeness.BROKEN
        never |= verdict.completeness is Completeness.NEVER_BEGAN
        print(f"{file}: {verdict.text}")
        if verdict.part:
            before = part_path(first_path(file), verdict.part - 1)
            if before not in seen:
                print(f"{file}: goes on from {before.name}, which was not given before it")
            elif seen[before].completeness is Completeness.BEING_WRITTEN:
                print(f"{file}: goes on from {before.name}, which was still being written when it was read")
            elif words := wrong_link(verdict, seen[before]):
                wrong = True
                complain(f"{file}: broken: {words}")
    if wrong or never:
        raise typer.Exit(1 if wrong else NEVER_BEGAN_CODE)


def replay(file: File) -> None:
    """Run loop, guard and driver again from the recorded times, bytes and requests; compare what they send.

    A later part of a session is replayed together with all before it.
    """
    from hil.runtime.journal_file import being_written
    from hil.runtime.replay import replay as replay_journal

    so_far = " so far: it is being written" if being_written(file) else ""
    verdict = replay_journal(file)
    if not verdict.same:
        complain(f"{file}: DIFFERENT after {verdict.ticks} ticks: {verdict.first_difference}")
        raise typer.Exit(1)
    print(f"{file}: the same {verdict.wire_bytes} bytes in {verdict.ticks} ticks{so_far}")


def export(
    file: File,
    to: Annotated[To, typer.Option(help="csv for spreadsheets, mat for MATLAB, mcap for plotting programs.")] = To.csv,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A new file; else beside the journal.")] = None,
    decimal: Annotated[
        Mark, typer.Option(help="Decimal mark of a CSV file; with a comma, semicolons part the columns.")
    ] = Mark.point,
    every: Annotated[int, typer.Option(min=1, help="Keep one tick in so many.")] = 1,
) -> None:
    """Write a journal for other programs: a row a tick, degrees and millimetres, the unit in every name."""
    from hil.runtime.journal import Completeness
    from hil.runtime.journal import verify as verify_journal
    from hil.workbench.export import Decimal, Format
    from hil.workbench.export import export as export_journal

    if decimal is Mark.comma and to is not To.csv:
        raise typer.BadParameter(f"--decimal is for csv; {to.value} has no decimal mark of its own")
    verdict = verify_journal(file)
    if verdict.completeness is Completeness.BROKEN:
        complain(f"{file}: {verdict.text}. `hil journal repair` saves what stands before it")
        raise typer.Exit(1)
    written = output or file.with_suffix(".plot.mcap" if to is To.mcap else f".{to.value}")
    rows = export_journal(
        file, Format(to.value), written, decimal=Decimal(decimal.value), every=every, most=verdict.records
    )
    print(f"{written}: {rows} rows; the journal is {verdict.completeness.value}")


def task(
    file: File,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A new task file; else beside the journal.")
    ] = None,
    backwards: Annotated[bool, typer.Option("--backwards", help="From its end to its start.")] = False,
    speed_percent: Annotated[float, typer.Option(min=1, max=100, help="Part of its speed.")] = 100.0,
) -> None:
    """Write a task that plays back what a session commanded: by hand, by a task, or by a program."""
    from hil.runtime.journal import Completeness
    from hil.runtime.journal import verify as verify_journal
    from hil.workbench.journal_task import write_journal_task

    verdict = verify_journal(file)
    if verdict.completeness is Completeness.BROKEN:
        complain(f"{file}: {verdict.text}. `hil journal repair` saves what stands before it")
        raise typer.Exit(1)
    written = write_journal_task(
        file, output or file.with_suffix(".toml"), backwards=backwards, speed_percent=speed_percent
    )
    print(
        f"{written.task}: {written.samples} samples, {written.seconds:.2f} s, of rig {written.rig}; "
        f"positions in {written.positions.name}"
    )
    print(f"see it first: hil preview {written.rig} {written.task}")


def paths(file: File, as_json: AsJson = False) -> None:
    """Say how near a session kept to the formulas of its paths, and how even the tool's speed was on them."""
    from hil.runtime.path_report import path_words
    from hil.workbench.journal_paths import paths_of_journal

    found = paths_of_journal(file)
    if as_json:
        print_json(found)
        return
    for one in found:
        print(path_words(one))


def repair(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", help="A new file for the mended copy.")],
) -> None:
    """Copy what is whole of a cut journal into a file that other programs open; the cut one is not touched."""
    from hil.workbench.repair import repair as repair_journal

    verdict = repair_journal(file, output)
    print(f"{output}: {verdict.text}")

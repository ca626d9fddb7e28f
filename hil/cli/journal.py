"""hil journal: verify a journal, and replay it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil.cli.output import complain, console

File = Annotated[Path, typer.Argument(help="A journal (.mcap).", exists=True, dir_okay=False)]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = typer.Typer(no_args_is_help=True, help="Check a journal, or run its session again.")
    group.command()(verify)
    group.command()(replay)
    app.add_typer(group, name="journal")


def verify(file: File) -> None:
    """Say whether a journal is complete, unfinished, or broken at record n."""
    from hil.runtime.journal import Completeness
    from hil.runtime.journal import verify as verify_journal

    verdict = verify_journal(file)
    console().print(f"{file}: {verdict.text}")
    if verdict.completeness is Completeness.BROKEN:
        raise typer.Exit(1)


def replay(file: File) -> None:
    """Run loop, guard and driver again from the recorded times, bytes and requests; compare what they send."""
    from hil.runtime.replay import replay as replay_journal

    verdict = replay_journal(file)
    if not verdict.same:
        complain(f"{file}: DIFFERENT after {verdict.ticks} ticks: {verdict.first_difference}")
        raise typer.Exit(1)
    console().print(f"{file}: the same {verdict.wire_bytes} bytes in {verdict.ticks} ticks")

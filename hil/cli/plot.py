"""hil plot: pictures of a journal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(plot)


def plot(
    journal: Annotated[Path, typer.Argument(help="A journal (.mcap).", exists=True, dir_okay=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the pictures; else beside the journal.")
    ] = None,
    axis: Annotated[str | None, typer.Option(help="Only this axis.")] = None,
    first_s: Annotated[
        float, typer.Option("--from", metavar="S", help="Only from so many seconds on.", show_default=False)
    ] = 0.0,
    last_s: Annotated[
        float, typer.Option("--until", metavar="S", help="Only until so many seconds.", show_default=False)
    ] = math.inf,
) -> None:
    """Draw a journal, a picture per axis: commanded, simulated and reported position, and the error."""
    from hil.runtime.journal_file import being_written
    from hil.workbench.plots import plot_journal

    if being_written(journal):
        print(f"{journal} is being written: the pictures end where it ends now")
    for picture in plot_journal(journal, output or journal.parent, axis, first_s=first_s, last_s=last_s):
        print(picture)

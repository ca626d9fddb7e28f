"""hil plot: figures of a journal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(plot)


def plot(
    journal: Annotated[Path, typer.Argument(help="A journal (.mcap).", exists=True, dir_okay=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for a figure per axis, else beside the journal; or one file: .png, .svg or .pdf.",
        ),
    ] = None,
    axis: Annotated[str | None, typer.Option(help="Only this axis.")] = None,
    first_s: Annotated[
        float, typer.Option("--from", metavar="S", help="Only from so many seconds on.", show_default=False)
    ] = 0.0,
    last_s: Annotated[
        float, typer.Option("--until", metavar="S", help="Only until so many seconds.", show_default=False)
    ] = math.inf,
    kind: Annotated[
        str | None, typer.Option("--format", metavar="png|svg|pdf", help="Of the figures in a folder; png without it.")
    ] = None,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Draw a journal, a figure per axis: commanded, simulated and reported position, and the error."""
    from hil.figures.options import FigureFormat, format_of
    from hil.runtime.journal_file import being_written
    from hil.workbench.plots import is_single_file, plot_journal

    options = figure_options(width, height, font, dpi)
    target = output or journal.parent
    if kind is not None and is_single_file(target):
        raise typer.BadParameter(f"the ending of {target} says the format", param_hint="--format")
    chosen = FigureFormat.PNG if kind is None else format_of(Path(f"{journal.stem}.{kind}"))
    if being_written(journal):
        print(f"{journal} is being written: the pictures end where it ends now")
    for picture in plot_journal(journal, target, axis, first_s=first_s, last_s=last_s, options=options, kind=chosen):
        print(picture)

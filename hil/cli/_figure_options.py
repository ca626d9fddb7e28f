"""Options of every command that writes a figure: width, height, letters and dots per inch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hil.figures.options import FigureOptions

PANEL = "Figure"

Width = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="column|page|MM",
        help="Width of the figure: column (85 mm), page (174 mm, as without it), or as 85mm, 8.5cm, 3.4in.",
        rich_help_panel=PANEL,
    ),
]
Height = Annotated[
    str | None,
    typer.Option(
        "--height", metavar="MM", help="Height of the figure; as much as it takes without it.", rich_help_panel=PANEL
    ),
]
Font = Annotated[
    float | None, typer.Option("--font", metavar="PT", help="Size of its letters; 8 without it.", rich_help_panel=PANEL)
]
Dpi = Annotated[
    int | None,
    typer.Option("--dpi", metavar="N", help="Dots per inch of a PNG; 300 without it.", rich_help_panel=PANEL),
]


def figure_options(
    width: str | None,
    height: str | None,
    font: float | None,
    dpi: int | None,
    *,
    needed_by: str = "",
    drawn: bool = True,
) -> FigureOptions:
    """The options of a command as a record.

    Args:
        width: as people write lengths.
        height: likewise.
        font: points.
        dpi: dots per inch.
        needed_by: the option that asks for a figure.
        drawn: whether it was given.

    Raises:
        CommandError: one of them is not allowed.
        typer.BadParameter: one was given, and no figure is drawn.
    """
    from hil.figures.options import FigureOptions, length_mm

    given = {"--width": width, "--height": height, "--font": font, "--dpi": dpi}
    stray = [name for name, value in given.items() if value is not None]
    if stray and not drawn:
        raise typer.BadParameter(f"this belongs to {needed_by}", param_hint=", ".join(stray))
    usual = FigureOptions()
    return FigureOptions(
        width_mm=usual.width_mm if width is None else length_mm(width),
        height_mm=None if height is None else length_mm(height, "height"),
        font_pt=usual.font_pt if font is None else font,
        dpi=usual.dpi if dpi is None else dpi,
    )

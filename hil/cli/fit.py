"""hil fit: how the servos of an arm follow, from a journal in which it was measured."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.arms import AsJson


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(fit)


def fit(
    journal: Annotated[Path, typer.Argument(help="A journal (.mcap).", exists=True, dir_okay=False)],
    axis: Annotated[str | None, typer.Option(help="Only this axis.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="hobby|drive", help="Of servo; else the rig's, or what suits who measured."),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(help="Table of another instrument: time_s, and NAME_deg, NAME_mm or NAME_v of axes.", exists=True),
    ] = None,
    first_s: Annotated[
        float, typer.Option("--from", metavar="S", help="Only from so many seconds on.", show_default=False)
    ] = 0.0,
    last_s: Annotated[
        float, typer.Option("--until", metavar="S", help="Only until so many seconds.", show_default=False)
    ] = math.inf,
    as_json: AsJson = False,
) -> None:
    """Fit the servos of an arm to a journal in which it was measured; prints the lines for its rig."""
    from hil.cli.output import console, print_json, print_table
    from hil.control.fit import KINDS
    from hil.workbench.servo_fit import as_tree, fit_journal, shown

    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"{kind} given; allowed: {', '.join(KINDS)}", param_hint="--kind")
    fits = fit_journal(journal, axis=axis, kind=kind, measured=measured, first_s=first_s, last_s=last_s)
    if as_json:
        print_json(as_tree(fits))
        return
    rows = []
    for each in fits.axes:
        for value in each.fit.values:
            best, unit = shown(value.name, value.value, each.unit)
            low, high = (shown(value.name, edge, each.unit)[0] for edge in (value.low, value.high))
            rows.append([each.axis, value.name.replace("_", " "), f"{best:.4g}", f"{low:.4g} to {high:.4g}", unit])
    print_table(
        f"servos of {fits.wiring} {fits.rig_id}, by what was {fits.source}",
        ["axis", "number", "best", "with 95 % between", "unit"],
        rows,
    )
    print_table(
        "measured against the shadow",
        ["axis", "worst so far", "rms so far", "worst then", "rms then", "unit"],
        (
            [e.axis, *(f"{v:.3f}" for v in (e.worst_before, e.rms_before, e.worst_after, e.rms_after)), e.unit]
            for e in fits.axes
        ),
    )
    out = console()
    for each in fits.axes:
        for remark in each.remarks:
            out.print(f"{each.axis}: {remark}", soft_wrap=True, markup=False)
    for name, reason in fits.left_out:
        out.print(f"{name} is left out: {reason}", soft_wrap=True, markup=False)
    for remark in fits.remarks:
        out.print(remark, soft_wrap=True, markup=False)
    out.print("For the rig, under the joint of that name:", soft_wrap=True)
    for each in fits.axes:
        out.print(f"# {each.axis}", soft_wrap=True, markup=False, highlight=False)
        for line in each.lines:
            out.print(line, soft_wrap=True, markup=False, highlight=False)

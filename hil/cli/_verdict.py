"""What a preview found, for people: the verdict, and where the motion comes nearest to its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.output import console, print_table

if TYPE_CHECKING:
    from hil.model.rig import Rig
    from hil.runtime.preview import PreviewReport
    from hil.types import Margin

All = Annotated[bool, typer.Option("--all", help="The worst margin of every check, not the three tightest alone.")]


def show_preview(rig: Rig, report: PreviewReport, *, every: bool = False) -> None:
    """Print the verdict: refusals, or margins.

    Args:
        rig: which arm.
        report: of the preview.
        every: the worst margin of each check as a table, not the three tightest alone.
    """
    if report.refusals:
        console().print(f"[bold]REFUSED[/bold] for rig {rig.id}: {len(report.refusals)} reasons")
        for refusal in report.refusals:
            print(refusal.text)
        return
    console().print(f"[bold]PASSED[/bold] for rig {rig.id}: {report.duration_s:.2f} s, {report.samples} samples, "
                    f"{len(report.wire_bytes)} bytes on the wire")  # fmt: skip
    if not every:
        for line in tightest(rig, report.worst_margins):
            print(f"  {line}")
        return
    rows = ([m.check, m.subject, m.limit, f"{m.margin:z.3g} {m.unit}", _at(m)] for m in report.worst_margins)
    print_table("worst margin of each check", ["check", "subject", "limit", "margin", "at"], rows)
    pairs = ", ".join(" and ".join(pair) for pair in rig.fences.neighbours)
    console().print(f"touching by construction, not checked against each other: {pairs or 'none'}")


def tightest(rig: Rig, margins: Iterable[Margin]) -> list[str]:
    """The joint nearest to its end, what comes nearest to touching, and the fastest: a line each, where there is one.

    Acceleration, jerk and rounding are not among them: planned motion goes up to those limits on purpose.
    """
    found = list(margins)
    ranges = {axis.name: axis.upper - axis.lower for axis in rig.axes}
    speeds = {axis.name: axis.speed for axis in rig.axes} | {"tool": rig.tool_speed_m_s}
    groups: tuple[tuple[str, list[Margin], Callable[[Margin], float]], ...] = (
        (
            "nearest to its end:  ",
            [m for m in found if m.check == "E-02" and m.subject in ranges],
            lambda m: m.margin / ranges[m.subject],
        ),
        ("nearest to touching: ", [m for m in found if m.check in ("E-09", "E-10")], lambda m: m.margin),
        (
            "fastest:             ",
            [m for m in found if m.check == "E-03" and m.limit.startswith(("speed ", "tool speed "))],
            lambda m: m.margin / speeds.get(m.subject, 1.0),
        ),
    )
    return [f"{title} {_words(min(group, key=tight))}" for title, group, tight in groups if group]


def _words(margin: Margin) -> str:
    at = f", at {_at(margin)}" if margin.time_s is not None else ""
    return f"{margin.subject}, {margin.margin:z.3g} {margin.unit} left to the {margin.limit}{at}"


def _at(margin: Margin) -> str:
    return "" if margin.time_s is None else f"{margin.time_s:.2f} s"

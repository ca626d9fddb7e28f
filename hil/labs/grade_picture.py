"""The picture of a run that was marked: the tool's way from above and from the side, and where it first failed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.errors import HilError, MissingExtraError
from hil.figures.looks import BLUE, GREEN, GREY, VERMILLION, Entry
from hil.figures.options import FigureOptions, require_matplotlib
from hil.figures.sheet import Note, Sheet, drawing, save, tidy
from hil.labs.exercise_cases import cases_of
from hil.labs.grade_records import Marked, Setup
from hil.labs.judge import Run
from hil.labs.predicates import Away, Reach, at_case

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OPTIONS = FigureOptions(width_mm=174.0, font_pt=8.0, dpi=100)
BODY_PT = 190.0
MOST_NOTES = 6

VIEWS = ((0, 1, "x, mm", "y, mm", "from above"), (0, 2, "x, mm", "z, mm", "from the side"))


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    try:
        require_matplotlib()
    except MissingExtraError:
        return False
    return True


def warm_up() -> None:
    """Load what matplotlib loads with the first picture: who forks afterwards does not pay for it each time."""
    from io import BytesIO

    with drawing(OPTIONS):
        sheet = Sheet(OPTIONS, "first", [Entry("a line", {"color": BLUE})], [Note("a note")], BODY_PT)
        panel = sheet.figure.add_subplot(sheet.grid(1, 1)[0, 0])
        panel.plot([0.0, 1.0], [0.0, 1.0])
        panel.annotate("1", (0.5, 0.5), (4, 4), textcoords="offset points")
        sheet.settle()
        sheet.figure.savefig(BytesIO(), format="png")


def picture_of(setup: Setup, marked: Marked, run: Run, case: int, folder: Path) -> bytes:
    """A PNG of a run; empty for one without a sample.

    Args:
        setup: the exercise with its places.
        marked: what failed.
        run: of one case.
        case: its index.
        folder: for the file.
    """
    if not len(run.time_s):
        return b""
    numbers = cases_of(setup.exercise, setup.seed, marked.student)[case]
    places = [at_case(each, numbers) for each in setup.exercise.predicates]
    failing = [mark for mark in marked.marks if mark.held < mark.cases]
    file = folder / "picture.png"
    notes = [
        Note(f"{mark.name}: {mark.words}", head=f"{number}  ", colour=VERMILLION)
        for number, mark in enumerate(failing[:MOST_NOTES], start=1)
    ]
    key = [
        Entry("the tool's way", {"color": BLUE, "linewidth": 1.2}),
        Entry("places", {"color": GREEN, "linewidth": 1.2}),
        Entry("to stay away from", {"color": GREY, "linewidth": 1.2}),
    ]
    with drawing(OPTIONS):
        # The name of a person is not drawn: a picture is easily shown to others.
        sheet = Sheet(OPTIONS, setup.exercise.title, key, notes, BODY_PT)
        grid = sheet.grid(1, 2)
        panels = [_panel(sheet, grid[0, column], view, run, places) for column, view in enumerate(VIEWS)]
        for number, mark in enumerate(failing[:MOST_NOTES], start=1):
            if mark.tool_mm is not None and mark.case == case + 1:
                for panel, (h, v, *_) in zip(panels, VIEWS, strict=True):
                    at = (mark.tool_mm[h], mark.tool_mm[v])
                    panel.plot(*at, marker="x", color=VERMILLION, markersize=7.0)
                    panel.annotate(str(number), at, (4, 4), textcoords="offset points", color=VERMILLION)
        sheet.settle()
        for panel, (h, v, *_) in zip(panels, VIEWS, strict=True):
            way = run.tool_mm[:, [h, v]]
            sheet.fit_equal(panel, way.min(axis=0) - 25.0, way.max(axis=0) + 25.0)
        try:
            save(sheet, file)
        except HilError:
            return b""
    return file.read_bytes()


def _panel(sheet: Sheet, place: Any, view: tuple[int, int, str, str, str], run: Run, places: list[Any]) -> Axes:
    h, v, across, up, title = view
    panel: Axes = sheet.figure.add_subplot(place)
    tidy(panel)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.set_title(title)
    panel.plot(run.tool_mm[:, h], run.tool_mm[:, v], color=BLUE, linewidth=1.2)
    panel.plot(run.tool_mm[0, h], run.tool_mm[0, v], marker="o", color=BLUE, markersize=4.0)
    for each in places:
        if isinstance(each, Reach) and each.point_mm is not None:
            _circle(panel, each.point_mm, each.within_mm, (h, v), GREEN)
        elif isinstance(each, Away) and each.point_mm is not None:
            _circle(panel, each.point_mm, each.at_least_mm, (h, v), GREY)
        elif isinstance(each, Reach | Away) and each.lower_mm is not None and each.upper_mm is not None:
            low, high = each.lower_mm, each.upper_mm
            across_mm = [low[h], high[h], high[h], low[h], low[h]]
            panel.plot(across_mm, [low[v], low[v], high[v], high[v], low[v]],
                       color=GREEN if isinstance(each, Reach) else GREY, linewidth=1.0)  # fmt: skip
    return panel


def _circle(panel: Axes, point: Any, radius: float, axes: tuple[int, int], colour: str) -> None:
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    h, v = axes
    panel.plot(point[h] + radius * np.cos(turn), point[v] + radius * np.sin(turn), color=colour, linewidth=1.0)

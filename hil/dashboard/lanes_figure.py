"""A preview's timeline on paper: what is left of every limit, a lane each; below its zero line a limit is not kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.dashboard.preview_lanes import margin_text
from hil.dashboard.preview_motion import ShownLane, ShownMotion
from hil.dashboard.texts import tr
from hil.errors import CommandError
from hil.figures.looks import BLACK, BLUE, WRONG, Entry
from hil.figures.options import POINTS_PER_MM, FigureOptions, require_target
from hil.figures.sheet import STRIP_EM, Band, Sheet, as_strip, drawing, save, tidy
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE_MM = 9.0
STAGE_TINTS = ("#E4ECF5", "#F4F4F4")
MARGIN: dict[str, Any] = {"color": BLUE, "linewidth": 1.0, "linestyle": "-"}
LACK: dict[str, Any] = {"facecolor": WRONG, "alpha": 0.35, "hatch": "////", "edgecolor": WRONG, "linewidth": 0.0}


def draw_lanes(path: Path, title: str, motion: ShownMotion, options: FigureOptions | None = None) -> None:
    """Write a preview's timeline as a figure.

    Args:
        path: PNG, SVG or PDF by its ending; an older one is replaced.
        title: its first line.
        motion: what was previewed.
        options: size and resolution.

    Raises:
        HilError: there is no lane, matplotlib is missing, or the file cannot be written.
    """
    require_target(path)
    options = options or FigureOptions()
    if not motion.lanes:
        raise CommandError(tr("there is no limit to draw"))
    heights = [STRIP_EM * options.font_pt, *(LANE_MM * POINTS_PER_MM for _ in motion.lanes)]
    key = [Entry(tr("what is left of the limit"), MARGIN), Entry(tr("limit not kept"), LACK, area=True)]
    with drawing(options):
        sheet = Sheet(options, title, key, (), sum(heights) + 4.0 * options.font_pt)
        grid = sheet.grid(len(heights), height_ratios=heights)
        strip = sheet.figure.add_subplot(grid[0])
        panels = [sheet.figure.add_subplot(grid[row]) for row in range(1, len(heights))]
        end_s = max(motion.duration_s, 1e-3)
        as_strip(strip, 0.0, end_s)
        room_pt = options.width_pt - 20.0 * options.font_pt
        scale = time_scale(0.0, end_s, most_ticks(room_pt, options.font_pt))
        for panel, lane in zip(panels, motion.lanes, strict=True):
            _draw_lane(panel, lane, motion, end_s)
            set_time_axis(panel, scale, tr("time in the motion"), numbers=panel is panels[-1])
        sheet.settle()
        sheet.draw_bands(strip, panels, _bands(motion))
        save(sheet, path)


def _draw_lane(panel: Axes, lane: ShownLane, motion: ShownMotion, end_s: float) -> None:
    panel.plot(motion.times_s, lane.margins, **MARGIN)
    panel.fill_between(motion.times_s, np.minimum(np.nan_to_num(lane.margins), 0.0), 0.0, **LACK)
    panel.axhline(0.0, color=BLACK, linewidth=0.6)
    low = min(lane.least, 0.0) if lane.least == lane.least else 0.0
    panel.set_ylim(low - 0.08 * (lane.full - low), lane.full + 0.08 * (lane.full - low))
    panel.set_xlim(0.0, end_s)
    panel.set_yticks([0.0, lane.full], ["0", margin_text(lane.full, lane.unit)])
    name = f"{lane.title}\n{tr('least')} {margin_text(lane.least, lane.unit)}"
    colour, weight = (WRONG, "bold") if lane.fails else (BLACK, "normal")
    panel.set_ylabel(name, rotation=0, ha="right", va="center", color=colour, weight=weight)
    tidy(panel)
    panel.tick_params(axis="y", labelsize="small")


def _bands(motion: ShownMotion) -> list[Band]:
    period_s = motion.period_s
    return [
        Band(
            f"{number} {stage.label}".strip(),
            STAGE_TINTS[number % 2],
            stage.first * period_s,
            stage.last * period_s,
            behind=False,
        )
        for number, stage in enumerate(motion.stages, 1)
    ]

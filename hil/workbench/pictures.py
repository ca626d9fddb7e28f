"""Figures of a preview: the stretch that was refused, or the whole motion, beside the arm seen from side and top."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hil.figures.looks import (
    COMMANDED,
    GREEN,
    GREY,
    LIMIT,
    ORANGE,
    SIMULATED,
    SOFT_LIMIT,
    WRONG,
    Entry,
    Style,
    series,
)
from hil.figures.options import FigureOptions, require_target
from hil.figures.sheet import STRIP_EM, Band, Note, Sheet, as_strip, drawing, save, tidy
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale
from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Box, Rig
from hil.motion.motion import Motion
from hil.motion.path_steps import ArcStep
from hil.motion.planner import plan_until_refused
from hil.motion.stops import stop_positions
from hil.motion.tasks import LineStep, Move, Step, Task
from hil.refusal import Refusal
from hil.robot import Robot
from hil.space.body import Body
from hil.units import DEG, MM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AROUND_S = 0.8
"""Time shown before and after a refused sample."""

FAR_MM = 40.0
"""Room above this is not shown, so that a small lack can be seen."""

AROUND_MM = 40.0
"""Room shown around the arm and its way."""

MOST_REFUSALS, MOST_REFUSALS_NARROW = 3, 2
"""Whose words stand in the figure."""

LINK_TINTS = ("#9A9A9A", "#B9B9B9")
KEEP_OUT, KEEP_IN, TABLE = ORANGE, GREEN, "#C9B79C"
WIDE_BODY_PT, NARROW_TIMES_PT, NARROW_VIEWS_PT = 290.0, 230.0, 130.0
"""Heights of the panels where they stand beside each other, and of the two halves where they do not."""

STEP_TINTS = ("#E4ECF5", "#F4F4F4")
"""Of the steps of a task, in turn."""

PLANNED: Style = {"color": COMMANDED, "linestyle": "-", "linewidth": 1.3}
STOP_END: Style = {"color": GREY, "linestyle": (0, (4.0, 2.0)), "linewidth": 1.2}
WAY: Style = {"color": SIMULATED, "linestyle": "-", "linewidth": 0.8, "alpha": 0.7}
HERE: Style = {"color": WRONG, "linestyle": (0, (1.0, 1.0)), "linewidth": 1.2}
CROSS: Style = {"color": WRONG, "linestyle": "", "marker": "X", "markersize": 6.0}
NOW: Style = {"color": SIMULATED, "linestyle": "", "marker": "D", "markersize": 5.0}


class _Curve(NamedTuple):
    """A line of a panel; `words` stand in the key, once for all lines that are called alike."""

    words: str
    values: FloatArray
    style: Style


class _Level(NamedTuple):
    """A level of a panel, with its words in the key."""

    value: float
    words: str
    style: Style = LIMIT


class _Panel(NamedTuple):
    """One panel over time, before it is drawn.

    Attributes:
        name: of the ordinate, with its unit.
        limits: of the ordinate.
        ticks: of the ordinate; None for the usual ones.
        lack: filled between zero and what of the first curve lies below.
    """

    name: str
    curves: Sequence[_Curve]
    levels: Sequence[_Level]
    limits: tuple[float, float]
    ticks: Sequence[float] | None = None
    lack: bool = False


def draw_preview(
    rig: Rig,
    robot: Robot,
    motion: Motion,
    refusals: Sequence[Refusal],
    file: Path,
    options: FigureOptions | None = None,
) -> None:
    """Draw what a preview found: around the first refused sample, or the whole motion.

    Args:
        rig: the rig.
        robot: kinematics of `rig.robot`.
        motion: the motion that was judged.
        refusals: why it may not be sent; empty if it may.
        file: PNG, SVG or PDF by its ending; an older one is replaced.
        options: size and resolution.

    Raises:
        HilError: matplotlib is missing, or the file cannot be written.
        CommandError: the file's ending is not known, or the figure cannot have this size.
    """
    require_target(file)
    options = options or FigureOptions()
    placed = [refusal for refusal in refusals if refusal.sample is not None]
    with drawing(options):
        if placed:
            sheet = _refused_stretch(rig, robot, motion, placed, options)
        else:
            sheet = _whole(rig, robot, motion, refusals, options)
        save(sheet, file)


def draw_unplanned(rig: Rig, robot: Robot, task: Task, file: Path, options: FigureOptions | None = None) -> None:
    """Draw why a task cannot be planned: the arm where the refused step begins, its joints within their limits.

    Args:
        rig: the rig.
        robot: kinematics of `rig.robot`.
        task: what was refused.
        file: PNG, SVG or PDF by its ending; an older one is replaced.
        options: size and resolution.

    Raises:
        HilError: matplotlib is missing, or the file cannot be written.
        CommandError: the file's ending is not known, or the figure cannot have this size.
    """
    require_target(file)
    options = options or FigureOptions()
    motion, error = plan_until_refused(rig, robot, task)
    refusals = () if error is None else error.refusals
    pose = motion.samples[-1]
    target = _target(robot, pose, task.steps[len(motion.marks)]) if len(motion.marks) < len(task.steps) else None
    key = [
        Entry("place now", NOW),
        Entry("place wanted", CROSS),
        Entry("within the soft limits", {"facecolor": "#CFE6F7"}, area=True),
        Entry("within the hard limits", {"facecolor": "#F3D6CC"}, area=True),
        Entry("way of the tool", WAY),
    ]
    with drawing(options):
        sheet = _sheet(rig, refusals, "the motion cannot be planned", key, options, 36.0 * len(rig.axes))
        times, views = _halves(sheet)
        ranges = sheet.figure.add_subplot(times)
        seen = _draw_views(sheet, views, rig, robot, motion, [(pose, 1.0)], refusals, target)
        _draw_ranges(ranges, rig, pose, refusals)
        sheet.settle()
        _fit_all(sheet, seen)
        save(sheet, file)


def _target(robot: Robot, pose: FloatArray, step: Step) -> FloatArray | None:
    """Where a step wants the tool, in metres, if it names a point."""
    if isinstance(step, Move | LineStep | ArcStep) and step.to_mm is not None:
        return np.array(step.to_mm) * MM
    if isinstance(step, LineStep) and step.by_mm is not None:
        point: FloatArray = robot.forward_kinematics(pose[: robot.dof])[:3, 3] + np.array(step.by_mm) * MM
        return point
    return None


# -- the page --------------------------------------------------------------------------------------------


def _sheet(
    rig: Rig,
    refusals: Sequence[Refusal],
    verdict: str,
    key: Sequence[Entry],
    options: FigureOptions,
    left_pt: float = NARROW_TIMES_PT,
) -> Sheet:
    """A page with its words; `left_pt` is the height of what stands left, or above."""
    shown = refusals[: MOST_REFUSALS_NARROW if options.narrow else MOST_REFUSALS]
    notes = [Note(refusal.text, head="\N{MULTIPLICATION SIGN}", colour=WRONG) for refusal in shown]
    if len(refusals) > len(shown):
        notes.append(Note(f"and {len(refusals) - len(shown)} more, in the text of the command", colour=WRONG))
    title = f"preview of rig {rig.id} ({rig.title}): {verdict}"
    body_pt = left_pt + NARROW_VIEWS_PT if options.narrow else max(WIDE_BODY_PT, left_pt)
    return Sheet(options, title, key, notes, body_pt)


def _halves(sheet: Sheet) -> tuple[Any, Any]:
    """Places for what is over time, and for the views: beside each other, or above each other on a narrow page."""
    if sheet.options.narrow:
        upper = sheet.body_pt - NARROW_VIEWS_PT
        outer = sheet.grid(2, 1, height_ratios=[max(upper, 0.5 * sheet.body_pt), NARROW_VIEWS_PT])
        return outer[0], outer[1].subgridspec(1, 2)
    outer = sheet.grid(1, 2, width_ratios=[11, 9])
    return outer[0], outer[1].subgridspec(2, 1)


def _refused_stretch(
    rig: Rig, robot: Robot, motion: Motion, refusals: Sequence[Refusal], options: FigureOptions
) -> Sheet:
    refusal = refusals[0]
    assert refusal.sample is not None
    around = math.ceil(AROUND_S / motion.period_s)
    first, last = max(0, refusal.sample - around), min(len(motion) - 1, refusal.sample + around)
    time_s = np.arange(first, last + 1, dtype=np.float64) * motion.period_s
    panels = _panels_of(rig, robot, motion, refusal, slice(first, last + 1))
    here = f"sample {refusal.sample}: {refusal.margin:.3g} {refusal.unit}"
    sheet = _sheet(rig, refusals, "REFUSED", [*_key(panels), Entry(here, HERE)], options)
    times, views = _halves(sheet)
    strip, drawn = _draw_times(sheet, times, panels, time_s)
    for panel in drawn:
        panel.axvline(refusal.sample * motion.period_s, **HERE)
    now = [each for each in refusals if each.sample == refusal.sample]
    seen = _draw_views(sheet, views, rig, robot, motion, [(motion.samples[refusal.sample], 1.0)], now, None)
    _finish(sheet, strip, drawn, motion, seen)
    return sheet


def _whole(rig: Rig, robot: Robot, motion: Motion, refusals: Sequence[Refusal], options: FigureOptions) -> Sheet:
    verdict = "REFUSED" if refusals else "PASSED"
    rows, time_s = slice(0, len(motion)), np.arange(len(motion), dtype=np.float64) * motion.period_s
    panels = [_places(rig, motion), _effort(rig, motion, rows)]
    words = f"{verdict}, {motion.duration_s:.2f} s, {len(motion)} samples"
    sheet = _sheet(rig, refusals, words, _key(panels), options)
    times, views = _halves(sheet)
    strip, drawn = _draw_times(sheet, times, panels, time_s)
    furthest = int(np.argmax(np.abs(motion.samples - motion.samples[0]).max(axis=1)))
    poses = [(motion.samples[0], 0.35), (motion.samples[furthest], 1.0)]
    seen = _draw_views(sheet, views, rig, robot, motion, poses, (), None)
    _finish(sheet, strip, drawn, motion, seen)
    return sheet


def _key(panels: Sequence[_Panel]) -> list[Entry]:
    """Every curve and level once, and the way of the tool."""
    told: dict[str, Style] = {}
    for panel in panels:
        for words, style in [*((c.words, c.style) for c in panel.curves), *((v.words, v.style) for v in panel.levels)]:
            told.setdefault(words, style)
    return [*(Entry(words, style) for words, style in told.items()), Entry("way of the tool", WAY)]


# -- left: over time -------------------------------------------------------------------------------------


def _draw_times(sheet: Sheet, place: Any, panels: Sequence[_Panel], time_s: FloatArray) -> tuple[Axes, list[Axes]]:
    """A strip for the steps, and the panels below it."""
    grid = place.subgridspec(3, 1, height_ratios=[STRIP_EM * sheet.options.font_pt, 110.0, 90.0])
    strip = sheet.figure.add_subplot(grid[0])
    drawn = [sheet.figure.add_subplot(grid[1]), sheet.figure.add_subplot(grid[2])]
    low_s, high_s = float(time_s[0]), max(float(time_s[-1]), float(time_s[0]) + 1e-3)
    as_strip(strip, low_s, high_s)
    share = 1.0 if sheet.options.narrow else 0.55
    room_pt = share * sheet.options.width_pt - 8.0 * sheet.options.font_pt
    scale = time_scale(low_s, high_s, most_ticks(room_pt, sheet.options.font_pt))
    for panel, axes in zip(panels, drawn, strict=True):
        _draw_panel(axes, panel, time_s)
        tidy(axes)
        axes.set_xlim(low_s, high_s)
        set_time_axis(axes, scale, "time in the motion", numbers=axes is drawn[-1])
    sheet.figure.align_ylabels(drawn)
    return strip, drawn


def _draw_panel(axes: Axes, panel: _Panel, time_s: FloatArray) -> None:
    for curve in panel.curves:
        axes.plot(time_s, curve.values, label=curve.words, **curve.style)
    for level in panel.levels:
        axes.axhline(level.value, **level.style)
    if panel.lack:
        lack = np.minimum(panel.curves[0].values, 0.0)
        axes.fill_between(time_s, lack, 0.0, facecolor=WRONG, edgecolor=WRONG, alpha=0.3, linewidth=0, hatch="////")
    axes.set_ylim(*panel.limits)
    if panel.ticks is not None:
        axes.set_yticks(panel.ticks)
    axes.set_ylabel(panel.name)


def _finish(sheet: Sheet, strip: Axes, panels: Sequence[Axes], motion: Motion, seen: Sequence[_Seen]) -> None:
    sheet.settle()
    bands = [
        Band(
            f"{mark.step} {mark.label or mark.kind}",
            STEP_TINTS[mark.step % 2],
            mark.first * motion.period_s,
            mark.last * motion.period_s,
            behind=False,
        )
        for mark in motion.marks
    ]
    sheet.draw_bands(strip, panels, bands)
    _fit_all(sheet, seen)


def _unit(axis: Axis) -> tuple[str, float]:
    return ("deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm", MM)


def _panels_of(rig: Rig, robot: Robot, motion: Motion, refusal: Refusal, rows: slice) -> list[_Panel]:
    """The two panels that show best why this was refused."""
    index = next((i for i, axis in enumerate(rig.axes) if axis.name == refusal.subject), None)
    if index is not None:
        return [
            _position(rig, index, motion, rows, with_stop=refusal.check == "E-13"),
            _speed(rig.axes[index], motion, index, rows),
        ]
    body = Body(rig, robot)
    constraint = next((i for i, each in enumerate(body.constraints) if each.subject == refusal.subject), None)
    if constraint is not None:
        return [_clearance(rig, body, constraint, motion, rows), _effort(rig, motion, rows)]
    return [_tool_speed(rig, robot, motion, rows), _effort(rig, motion, rows)]


def _places(rig: Rig, motion: Motion) -> _Panel:
    """All axes, each between its limits."""
    curves = []
    for i, axis in enumerate(rig.axes):
        share = 100.0 * (motion.samples[:, i] - axis.lower) / (axis.upper - axis.lower)
        curves.append(_Curve(axis.name, share, series(i)))
    levels = [_Level(percent, "limit") for percent in (0.0, 100.0)]
    return _Panel("position between limits, %", curves, levels, (-8.0, 108.0), (0, 20, 40, 60, 80, 100))


def _position(rig: Rig, index: int, motion: Motion, rows: slice, *, with_stop: bool) -> _Panel:
    axis = rig.axes[index]
    unit, factor = _unit(axis)
    values = motion.samples[rows, index] / factor
    curves = [_Curve(f"{axis.name}, planned", values, PLANNED)]
    if with_stop:
        rest = stop_positions(rig, motion)[rows, index] / factor
        curves.append(_Curve("where a stop would end", rest, STOP_END))
        values = np.concatenate([values, rest])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = max(high - low, 1.0)
    levels = []
    for value, name, style in (
        (axis.lower, "hard lower limit", LIMIT),
        (axis.lower + axis.soft_margin, "soft lower limit", SOFT_LIMIT),
        (axis.upper - axis.soft_margin, "soft upper limit", SOFT_LIMIT),
        (axis.upper, "hard upper limit", LIMIT),
    ):
        at = value / factor
        if low - room < at < high + room:
            levels.append(_Level(at, f"{name} {at:.4g} {unit}", style))
            low, high = min(low, at), max(high, at)
    return _Panel(f"{axis.name}, {unit}", curves, levels, (low - 0.1 * room, high + 0.15 * room))


def _speed(axis: Axis, motion: Motion, index: int, rows: slice) -> _Panel:
    unit, factor = _unit(axis)
    speed = _speeds(motion)[rows, index] / factor
    limit = axis.speed / factor
    most = 1.1 * max(limit, float(np.abs(speed).max()))
    words = f"speed limit {limit:.4g} {unit}/s"
    curves = [_Curve(f"{axis.name}, planned", speed, PLANNED)]
    return _Panel(f"speed, {unit}/s", curves, [_Level(-limit, words), _Level(limit, words)], (-most, most))


def _clearance(rig: Rig, body: Body, constraint: int, motion: Motion, rows: slice) -> _Panel:
    """What is left of the clearance, now and where a stop from here would end."""
    dof = len(rig.robot.joints)
    left = body.margins(np.ascontiguousarray(motion.samples[rows, :dof]))[:, constraint] / MM
    rest = body.margins(np.ascontiguousarray(stop_positions(rig, motion)[rows, :dof]))[:, constraint] / MM
    low, high = float(min(left.min(), rest.min())), float(max(left.max(), rest.max()))
    limits = (low - 0.1 * min(high - low, FAR_MM) - 0.5, min(high, FAR_MM) * 1.08 + 1.0)
    subject = body.constraints[constraint].subject
    curves = [_Curve("at this sample", left, PLANNED), _Curve("where a stop would end", rest, STOP_END)]
    level = _Level(0.0, f"{subject}: {body.clearance_m / MM:g} mm clearance")
    return _Panel("room beyond the\nclearance, mm", curves, [level], limits, lack=True)


def _tool_speed(rig: Rig, robot: Robot, motion: Motion, rows: slice) -> _Panel:
    points = robot.forward_kinematics(motion.samples[:, : robot.dof])[:, :3, 3]
    speed = np.linalg.norm(np.diff(points, axis=0, prepend=points[:1]), axis=1)[rows] / motion.period_s / MM
    limit = rig.tool_speed_m_s / MM
    level = _Level(limit, f"tool speed limit {limit:g} mm/s")
    top = 1.1 * max(limit, float(speed.max()))
    return _Panel("tool speed, mm/s", [_Curve("tool, planned", speed, PLANNED)], [level], (0.0, top))


def _effort(rig: Rig, motion: Motion, rows: slice) -> _Panel:
    share = 100.0 * np.abs(_speeds(motion)[rows]) / np.array([axis.speed for axis in rig.axes])
    curves = [_Curve(axis.name, share[:, i], series(i)) for i, axis in enumerate(rig.axes)]
    top = max(108.0, float(share.max()) * 1.08)
    return _Panel("speed, % of limit", curves, [_Level(100.0, "limit")], (0.0, top))


def _speeds(motion: Motion) -> FloatArray:
    """Speed that leads to each sample, shape (N, axes), in rad/s or m/s."""
    speeds: FloatArray = np.diff(motion.samples, axis=0, prepend=motion.samples[:1]) / motion.period_s
    return speeds


# -- left: where the joints stand ------------------------------------------------------------------------


def _draw_ranges(panel: Axes, rig: Rig, pose: FloatArray, refusals: Sequence[Refusal]) -> None:
    """Every axis as a bar from limit to limit: where it is, and where the refused step wanted it."""
    wanted = {refusal.subject: refusal for refusal in refusals if refusal.check == "E-02"}
    for row, (axis, value) in enumerate(zip(rig.axes, pose.tolist(), strict=True)):
        goal = _wanted(axis, wanted[axis.name], _unit(axis)[1]) if axis.name in wanted else None
        _draw_range(panel, row, axis, value, goal)
    panel.set_ylim(len(rig.axes) - 0.3, -0.75)
    panel.set_xlim(-14.0, 114.0)
    panel.set_yticks([])
    panel.set_xticks([0, 50, 100], ["lower limit", "middle", "upper limit"])
    tidy(panel)
    panel.spines["left"].set_visible(False)
    panel.grid(False)


def _draw_range(panel: Axes, row: int, axis: Axis, value: float, goal: float | None) -> None:
    unit, factor = _unit(axis)
    width = axis.upper - axis.lower

    def place(position: float) -> float:
        return 100.0 * (position - axis.lower) / width

    soft = place(axis.lower + axis.soft_margin), place(axis.upper - axis.soft_margin)
    panel.barh(row, 100.0, left=0.0, height=0.26, color="#F3D6CC", zorder=1)
    panel.barh(row, soft[1] - soft[0], left=soft[0], height=0.26, color="#CFE6F7", zorder=2)
    panel.plot([place(value)], [row], zorder=4, **NOW)
    words = f"{axis.name}: {value / factor:z.4g} {unit}"
    if goal is not None:
        panel.plot([min(max(place(goal), -12.0), 112.0)], [row], zorder=5, **CROSS)
        words += f", wanted {goal / factor:.4g} {unit}"
    colour = COMMANDED if goal is None else WRONG
    panel.text(50.0, row - 0.2, words, ha="center", va="bottom", color=colour)
    for at, limit, side in ((0.0, axis.lower, "left"), (100.0, axis.upper, "right")):
        panel.text(at, row + 0.17, f"{limit / factor:.4g} {unit}", ha=side, va="top", fontsize="small")


def _wanted(axis: Axis, refusal: Refusal, factor: float) -> float:
    """The position that was refused, from the limit and how far beyond it is."""
    if refusal.limit.startswith("lower"):
        return axis.lower + axis.soft_margin + refusal.margin * factor
    return axis.upper - axis.soft_margin - refusal.margin * factor


# -- right: the arm --------------------------------------------------------------------------------------


class _Seen(NamedTuple):
    """A view and the points that have to be in it, shape (N, 2), millimetres."""

    panel: Axes
    points: FloatArray


def _draw_views(
    sheet: Sheet,
    grid: Any,
    rig: Rig,
    robot: Robot,
    motion: Motion,
    poses: Sequence[tuple[FloatArray, float]],
    refusals: Sequence[Refusal],
    target: FloatArray | None,
) -> list[_Seen]:
    """The arm from the side and from above, in poses of different strength, with table and boxes."""
    path = robot.forward_kinematics(motion.samples[:, : robot.dof])[:, :3, 3] / MM
    last = robot.forward_kinematics(poses[-1][0][: robot.dof])[:3, 3] / MM
    across = 0 if abs(last[0]) >= abs(last[1]) else 1
    subjects = {word for refusal in refusals for word in refusal.subject.replace(" inside ", " and ").split(" and ")}
    views = []
    for cell, (h, v), title in ((grid[0], (across, 2), "from the side"), (grid[1], (0, 1), "from above")):
        panel = sheet.figure.add_subplot(cell)
        _draw_surroundings(panel, rig, h, v, subjects)
        seen = [path[:, [h, v]]]
        panel.plot(path[:, h], path[:, v], label="way of the tool", **WAY)
        for pose, strength in poses:
            seen += _draw_arm(panel, rig, robot, pose, h, v, subjects, strength)
        seen += [_corners(box, h, v) for box in _boxes_to_see(rig, subjects)]
        if target is not None:
            seen.append(_draw_target(panel, last[[h, v]], (target / MM)[[h, v]]))
        panel.set_title(title, loc="left", pad=2.0)
        panel.set_xlabel(f"{'xyz'[h]}, mm")
        panel.set_ylabel(f"{'xyz'[v]}, mm")
        tidy(panel)
        views.append(_Seen(panel, np.concatenate(seen)))
        _fit(sheet, views[-1])
    return views


def _draw_target(panel: Axes, here: FloatArray, goal: FloatArray) -> FloatArray:
    panel.plot([here[0], goal[0]], [here[1], goal[1]], zorder=6, **HERE)
    panel.plot([goal[0]], [goal[1]], zorder=7, **CROSS)
    panel.annotate("wanted", (goal[0], goal[1]), xytext=(0, 5), textcoords="offset points", ha="center", color=WRONG)
    return goal[None, :]


def _fit_all(sheet: Sheet, seen: Sequence[_Seen]) -> None:
    for each in seen:
        _fit(sheet, each)


def _fit(sheet: Sheet, seen: _Seen) -> None:
    """Show all points with one scale for both directions; the panel keeps its size."""
    low, high = seen.points.min(axis=0) - AROUND_MM, seen.points.max(axis=0) + AROUND_MM
    sheet.fit_equal(seen.panel, low, high)


def _draw_surroundings(panel: Axes, rig: Rig, h: int, v: int, subjects: set[str]) -> None:
    from matplotlib.patches import Rectangle

    fences = rig.fences
    if v == 2:
        height = fences.table_height_m / MM
        wrong = "table" in subjects
        panel.axhspan(height - 2000.0, height, color=TABLE, alpha=0.6, linewidth=0)
        panel.axhline(height, color=WRONG if wrong else "#7A6A50", linewidth=1.4 if wrong else 0.8)

    for box in fences.keep_out:
        edge = WRONG if box.name in subjects else KEEP_OUT
        low, high = _corners(box, h, v)
        panel.add_patch(Rectangle(low, *(high - low), facecolor=KEEP_OUT, alpha=0.35, edgecolor=edge, hatch="//"))
        panel.text(low[0] + 4, low[1] + 4, box.name, fontsize="small", va="bottom", clip_on=True)
    if fences.keep_in is not None:
        edge = WRONG if fences.keep_in.name in subjects else KEEP_IN
        low, high = _corners(fences.keep_in, h, v)
        panel.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor=edge, linestyle=(0, (6, 3)), linewidth=1.0))
        words = f"keep in: {fences.keep_in.name}"
        panel.text(low[0] + 4, high[1] - 4, words, fontsize="small", va="top", color=edge, clip_on=True)


def _boxes_to_see(rig: Rig, subjects: set[str]) -> list[Box]:
    """The boxes that have to be in the picture: those to keep out of, and the one to stay in if it matters."""
    inside = rig.fences.keep_in
    return [*rig.fences.keep_out, *([inside] if inside is not None and inside.name in subjects else [])]


def _corners(box: Box, h: int, v: int) -> FloatArray:
    """Lowest and highest corner as seen, millimetres, shape (2, 2)."""
    return np.array([[corner[h], corner[v]] for corner in (box.lower_m, box.upper_m)]) / MM


def _draw_arm(
    panel: Axes, rig: Rig, robot: Robot, pose: FloatArray, h: int, v: int, subjects: set[str], strength: float
) -> list[FloatArray]:
    """Draw the arm's shapes and joints; gives the outlines, each of shape (N, 2) in millimetres."""
    from matplotlib.patches import Polygon

    frames = robot.link_frames(pose[: robot.dof])
    outlines = []
    for shape in rig.shapes:
        frame = frames[shape.link]
        ends = [(frame[:3, :3] @ np.array(end) + frame[:3, 3]) / MM for end in (shape.start_m, shape.end_m)]
        outline = _capsule_outline(ends[0][[h, v]], ends[1][[h, v]], shape.radius_m / MM)
        outlines.append(outline)
        wrong = shape.name in subjects
        panel.add_patch(
            Polygon(
                outline,
                facecolor=WRONG if wrong else LINK_TINTS[shape.link % 2],
                edgecolor="#444444",
                alpha=0.8 * strength,
                linewidth=0.6,
                zorder=5 if wrong else 4,
            )
        )
    panel.plot(frames[:, h, 3] / MM, frames[:, v, 3] / MM, color="#222222", linewidth=0.9, alpha=strength, zorder=5)
    tool = frames[-1, :3, 3] / MM
    panel.plot([tool[h]], [tool[v]], marker="o", color=SIMULATED, markersize=3.5, alpha=strength, zorder=6)
    return [*outlines, frames[:, [h, v], 3] / MM]


def _capsule_outline(start: FloatArray, end: FloatArray, radius: float) -> FloatArray:
    """The outline of a capsule seen along an axis, shape (N, 2)."""
    way = end - start
    angle = math.atan2(way[1], way[0])
    half = np.linspace(0.5 * math.pi, 1.5 * math.pi, 16) + angle
    circle = radius * np.column_stack([np.cos(half), np.sin(half)])
    outline: FloatArray = np.concatenate([start + circle, end - circle])
    return outline

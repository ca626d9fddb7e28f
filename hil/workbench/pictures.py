"""Pictures of a preview: the stretch that was refused, or the whole motion, beside the arm seen from side and top."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Box, Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_until_refused
from hil.motion.stops import stop_positions
from hil.motion.tasks import LineStep, Move, Step, Task
from hil.refusal import Refusal
from hil.robot import Robot
from hil.space.body import Body
from hil.units import DEG, MM
from hil.workbench.plots import (
    COMMANDED,
    REPORTED,
    SIMULATED,
    WRONG,
    draw_bands,
    new_figure,
    require_matplotlib,
    save,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AROUND_S = 0.8
"""Time shown before and after a refused sample."""

FAR_MM = 40.0
"""Room above this is not shown, so that a small lack can be seen."""

AROUND_MM = 40.0
"""Room shown around the arm and its way."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.5, 1.2)), (0, (7, 2, 1.5, 2)), (0, (3, 1.5)), (0, (9, 3)))
"""Okabe-Ito colours, and dashes that tell the lines apart without them."""

LINK_TINTS = ("#9A9A9A", "#B9B9B9")
KEEP_OUT, KEEP_IN, TABLE = "#E69F00", "#009E73", "#C9B79C"

STEP_TINTS = ("#EEF3F8", "")
"""Every other step of a task is tinted."""


def draw_preview(rig: Rig, robot: Robot, motion: Motion, refusals: Sequence[Refusal], file: Path) -> None:
    """Draw what a preview found: around the first refused sample, or the whole motion.

    Args:
        rig: the rig.
        robot: kinematics of `rig.robot`.
        motion: the motion that was judged.
        refusals: why it may not be sent; empty if it may.
        file: PNG to write, 1280 by 800; an older one is replaced.

    Raises:
        HilError: matplotlib is missing, or the file cannot be written.
    """
    require_matplotlib()
    placed = [refusal for refusal in refusals if refusal.sample is not None]
    figure = _refused_stretch(rig, robot, motion, placed) if placed else _whole(rig, robot, motion, refusals)
    save(figure, file)


def draw_unplanned(rig: Rig, robot: Robot, task: Task, file: Path) -> None:
    """Draw why a task cannot be planned: the arm where the refused step begins, its joints within their limits.

    Args:
        rig: the rig.
        robot: kinematics of `rig.robot`.
        task: what was refused.
        file: PNG to write, 1280 by 800; an older one is replaced.

    Raises:
        HilError: matplotlib is missing, or the file cannot be written.
    """
    require_matplotlib()
    motion, error = plan_until_refused(rig, robot, task)
    refusals = () if error is None else error.refusals
    figure, left, right = _layout(rig, refusals, "the motion cannot be planned")
    pose = motion.samples[-1]
    _draw_ranges(figure.add_subplot(left[:]), rig, pose, refusals)
    target = _target(robot, pose, task.steps[len(motion.marks)]) if len(motion.marks) < len(task.steps) else None
    _draw_views(figure, right, rig, robot, motion, [(pose, 1.0)], refusals, target)
    save(figure, file)


def _target(robot: Robot, pose: FloatArray, step: Step) -> FloatArray | None:
    """Where a step wants the tool, in metres, if it names a point."""
    if isinstance(step, Move | LineStep) and step.to_mm is not None:
        return np.array(step.to_mm) * MM
    if isinstance(step, LineStep) and step.by_mm is not None:
        point: FloatArray = robot.forward_kinematics(pose[: robot.dof])[:3, 3] + np.array(step.by_mm) * MM
        return point
    return None


# -- the page --------------------------------------------------------------------------------------------


def _layout(rig: Rig, refusals: Sequence[Refusal], verdict: str) -> tuple[Figure, Any, Any]:
    """A figure with its words, and grids for the left and the right half."""
    figure = new_figure()
    figure.suptitle(f"rig {rig.id}: {verdict}", x=0.06, y=0.975, ha="left", fontsize=13)
    shown = refusals[:2]
    lines = [line for refusal in shown for line in textwrap.wrap(refusal.text, 180, subsequent_indent="    ")]
    if len(refusals) > len(shown):
        lines.append(f"and {len(refusals) - len(shown)} more, in the text of the command")
    bottom = 0.1 + 0.022 * len(lines)
    figure.text(0.06, bottom - 0.068, "\n".join(lines), fontsize=8.5, va="top", linespacing=1.3, color=WRONG)
    outer = figure.add_gridspec(
        1, 2, left=0.06, right=0.985, top=0.92, bottom=bottom, width_ratios=[11, 9], wspace=0.16
    )
    left = outer[0].subgridspec(3, 1, height_ratios=[1, 12, 10], hspace=0.09)
    return figure, left, outer[1].subgridspec(2, 1, hspace=0.24)


def _refused_stretch(rig: Rig, robot: Robot, motion: Motion, refusals: Sequence[Refusal]) -> Figure:
    refusal = refusals[0]
    assert refusal.sample is not None
    around = math.ceil(AROUND_S / motion.period_s)
    first, last = max(0, refusal.sample - around), min(len(motion) - 1, refusal.sample + around)
    figure, left, right = _layout(rig, refusals, "REFUSED")
    panels = [figure.add_subplot(left[1]), figure.add_subplot(left[2])]
    time_s = np.arange(first, last + 1, dtype=np.float64) * motion.period_s
    rows = slice(first, last + 1)
    index = next((i for i, axis in enumerate(rig.axes) if axis.name == refusal.subject), None)
    body = Body(rig, robot)
    constraint = next((i for i, each in enumerate(body.constraints) if each.subject == refusal.subject), None)
    if index is not None:
        _draw_position(panels[0], rig, index, motion, rows, time_s, with_stop=refusal.check == "E-13")
        _draw_speed(panels[1], rig.axes[index], motion, index, rows, time_s)
    elif constraint is not None:
        _draw_clearance(panels[0], rig, body, constraint, motion, rows, time_s)
        _draw_effort(panels[1], rig, motion, rows, time_s)
    else:
        _draw_tool_speed(panels[0], rig, robot, motion, rows, time_s)
        _draw_effort(panels[1], rig, motion, rows, time_s)
    for panel in panels:
        panel.axvline(refusal.sample * motion.period_s, color=WRONG, linewidth=1.2, linestyle=":")
    panels[0].annotate(
        f"sample {refusal.sample}: {refusal.margin:.3g} {refusal.unit}",
        (refusal.sample * motion.period_s, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -11),
        textcoords="offset points",
        fontsize=9,
        color=WRONG,
    )
    _finish(figure, left, panels, motion, (time_s[0], time_s[-1]))
    here = [each for each in refusals if each.sample == refusal.sample]
    _draw_views(figure, right, rig, robot, motion, [(motion.samples[refusal.sample], 1.0)], here, None)
    return figure


def _whole(rig: Rig, robot: Robot, motion: Motion, refusals: Sequence[Refusal]) -> Figure:
    verdict = "REFUSED" if refusals else "PASSED"
    figure, left, right = _layout(rig, refusals, f"{verdict}, {motion.duration_s:.2f} s, {len(motion)} samples")
    panels = [figure.add_subplot(left[1]), figure.add_subplot(left[2])]
    rows, time_s = slice(0, len(motion)), np.arange(len(motion), dtype=np.float64) * motion.period_s
    for i, axis in enumerate(rig.axes):
        part = 100.0 * (motion.samples[:, i] - axis.lower) / (axis.upper - axis.lower)
        panels[0].plot(time_s, part, label=axis.name, **_line_style(i))
    for percent, name in ((0.0, "lower limit"), (100.0, "upper limit")):
        _limit(panels[0], percent, name, below=percent == 0.0)
    panels[0].set_ylim(-12.0, 140.0)
    panels[0].set_yticks([0, 20, 40, 60, 80, 100])
    panels[0].set_ylabel("position between limits, %")
    panels[0].legend(loc="upper right", fontsize=8, ncols=3, framealpha=0.85)
    _draw_effort(panels[1], rig, motion, rows, time_s)
    _finish(figure, left, panels, motion, (0.0, max(motion.duration_s, motion.period_s)))
    furthest = int(np.argmax(np.abs(motion.samples - motion.samples[0]).max(axis=1)))
    poses = [(motion.samples[0], 0.35), (motion.samples[furthest], 1.0)]
    _draw_views(figure, right, rig, robot, motion, poses, (), None)
    return figure


def _finish(figure: Figure, left: Any, panels: Sequence[Axes], motion: Motion, span_s: tuple[float, float]) -> None:
    for panel in panels:
        tidy(panel)
        panel.set_xlim(*span_s)
    panels[0].tick_params(labelbottom=False)
    panels[1].set_xlabel("time in the motion, s")
    figure.canvas.draw()
    bands = [
        (
            f"{mark.step} {mark.label or mark.kind}",
            STEP_TINTS[mark.step % 2],
            mark.first * motion.period_s,
            mark.last * motion.period_s,
        )
        for mark in motion.marks
        if mark.first * motion.period_s < span_s[1] and mark.last * motion.period_s > span_s[0]
    ]
    draw_bands(figure.add_subplot(left[0]), panels, bands)


# -- left: over time -------------------------------------------------------------------------------------


def _unit(axis: Axis) -> tuple[str, float]:
    return ("deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm", MM)


def _line_style(i: int) -> dict[str, Any]:
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.5}


def _limit(panel: Axes, value: float, name: str, colour: str = WRONG, *, below: bool = False) -> None:
    panel.axhline(value, color=colour, linewidth=1.0, linestyle=(0, (8, 3, 1, 3)))
    panel.annotate(
        name,
        (0.0, value),
        xycoords=("axes fraction", "data"),
        xytext=(4, -10 if below else 3),
        textcoords="offset points",
        fontsize=8,
        color=colour,
    )


def _draw_position(
    panel: Axes, rig: Rig, index: int, motion: Motion, rows: slice, time_s: FloatArray, *, with_stop: bool
) -> None:
    axis = rig.axes[index]
    unit, factor = _unit(axis)
    values = motion.samples[rows, index] / factor
    panel.plot(time_s, values, color=SIMULATED, linewidth=1.8, marker=".", markersize=3, label=f"{axis.name}, planned")
    if with_stop:
        rest = stop_positions(rig, motion)[rows, index] / factor
        panel.plot(time_s, rest, color=REPORTED, linewidth=1.4, linestyle=(0, (4, 2)), label="where a stop would end")
        values = np.concatenate([values, rest])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = max(high - low, 1.0)
    for value, name, colour in (
        (axis.lower, "hard lower limit", WRONG),
        (axis.lower + axis.soft_margin, "soft lower limit", COMMANDED),
        (axis.upper - axis.soft_margin, "soft upper limit", COMMANDED),
        (axis.upper, "hard upper limit", WRONG),
    ):
        at = value / factor
        if low - room < at < high + room:
            _limit(panel, at, f"{name} {at:.4g} {unit}", colour, below="lower" in name)
            low, high = min(low, at), max(high, at)
    panel.set_ylim(low - 0.1 * room, high + 0.15 * room)
    panel.set_ylabel(f"{axis.name}, {unit}")
    panel.legend(loc="best", fontsize=9, framealpha=0.85)


def _draw_speed(panel: Axes, axis: Axis, motion: Motion, index: int, rows: slice, time_s: FloatArray) -> None:
    unit, factor = _unit(axis)
    speed = _speeds(motion)[rows, index] / factor
    panel.plot(time_s, speed, color=SIMULATED, linewidth=1.6)
    limit = axis.speed / factor
    for value in (-limit, limit):
        _limit(panel, value, f"speed limit {value:.4g} {unit}/s")
    most = max(limit, float(np.abs(speed).max()))
    panel.set_ylim(-1.25 * most, 1.25 * most)
    panel.set_ylabel(f"speed of {axis.name}, {unit}/s")


def _draw_clearance(
    panel: Axes, rig: Rig, body: Body, constraint: int, motion: Motion, rows: slice, time_s: FloatArray
) -> None:
    """What is left of the clearance, now and where a stop from here would end."""
    dof = len(rig.robot.joints)
    left = body.margins(np.ascontiguousarray(motion.samples[rows, :dof]))[:, constraint] / MM
    rest = body.margins(np.ascontiguousarray(stop_positions(rig, motion)[rows, :dof]))[:, constraint] / MM
    panel.plot(time_s, left, color=SIMULATED, linewidth=1.8, label="at this sample")
    panel.plot(time_s, rest, color=REPORTED, linewidth=1.4, linestyle=(0, (4, 2)), label="where a stop would end")
    panel.fill_between(time_s, np.minimum(left, 0.0), 0.0, color=WRONG, alpha=0.3, linewidth=0)
    panel.axhline(0.0, color=WRONG, linewidth=1.2)
    low, high = float(min(left.min(), rest.min())), float(max(left.max(), rest.max()))
    panel.set_ylim(low - 0.1 * min(high - low, FAR_MM) - 0.5, min(high, FAR_MM) * 1.08 + 1.0)
    words = f"{body.constraints[constraint].subject}:\nroom beyond {body.clearance_m / MM:g} mm clearance, mm"
    panel.set_ylabel(words, fontsize=9)
    panel.legend(loc="best", fontsize=9, framealpha=0.85)


def _draw_tool_speed(panel: Axes, rig: Rig, robot: Robot, motion: Motion, rows: slice, time_s: FloatArray) -> None:
    points = robot.forward_kinematics(motion.samples[:, : robot.dof])[:, :3, 3]
    speed = np.linalg.norm(np.diff(points, axis=0, prepend=points[:1]), axis=1) / motion.period_s / MM
    panel.plot(time_s, speed[rows], color=SIMULATED, linewidth=1.8)
    _limit(panel, rig.tool_speed_m_s / MM, f"limit {rig.tool_speed_m_s / MM:g} mm/s")
    panel.set_ylabel("tool speed, mm/s")


def _draw_effort(panel: Axes, rig: Rig, motion: Motion, rows: slice, time_s: FloatArray) -> None:
    share = 100.0 * np.abs(_speeds(motion)[rows]) / np.array([axis.speed for axis in rig.axes])
    for i, axis in enumerate(rig.axes):
        panel.plot(time_s, share[:, i], label=axis.name, **_line_style(i))
    _limit(panel, 100.0, "speed limit")
    panel.set_ylim(0.0, max(140.0, float(share.max()) * 1.1))
    panel.set_ylabel("speed, % of each axis's limit")
    panel.legend(loc="upper right", fontsize=8, ncols=3, framealpha=0.85)


def _speeds(motion: Motion) -> FloatArray:
    """Speed that leads to each sample, shape (N, axes), in rad/s or m/s."""
    speeds: FloatArray = np.diff(motion.samples, axis=0, prepend=motion.samples[:1]) / motion.period_s
    return speeds


def _draw_ranges(panel: Axes, rig: Rig, pose: FloatArray, refusals: Sequence[Refusal]) -> None:
    """Every axis as a bar from limit to limit: where it is, and where the refused step wanted it."""
    wanted = {refusal.subject: refusal for refusal in refusals if refusal.check == "E-02"}
    for row, (axis, value) in enumerate(zip(rig.axes, pose.tolist(), strict=True)):
        unit, factor = _unit(axis)
        width = axis.upper - axis.lower

        def place(position: float, axis: Axis = axis, width: float = width) -> float:
            return 100.0 * (position - axis.lower) / width

        soft = place(axis.lower + axis.soft_margin), place(axis.upper - axis.soft_margin)
        panel.barh(row, 100.0, left=0.0, height=0.42, color="#F3D6CC", zorder=1)
        panel.barh(row, soft[1] - soft[0], left=soft[0], height=0.42, color="#CFE6F7", zorder=2)
        panel.plot([place(value)], [row], marker="D", color=SIMULATED, markersize=8, zorder=4)
        for at, text, side in ((0.0, axis.lower, "left"), (100.0, axis.upper, "right")):
            panel.text(at, row - 0.24, f"{text / factor:.4g} {unit}", fontsize=8, ha=side, va="bottom")
        words = f"{axis.name}: {value / factor:z.4g} {unit}"
        if axis.name in wanted:
            goal = _wanted(axis, wanted[axis.name], factor)
            shown = min(max(place(goal), -12.0), 112.0)
            panel.plot([shown], [row], marker="X", color=WRONG, markersize=11, zorder=5)
            words += f", wanted {goal / factor:.4g} {unit}"
        panel.text(
            50.0,
            row - 0.24,
            words,
            fontsize=9,
            ha="center",
            va="bottom",
            color=WRONG if axis.name in wanted else "black",
        )
    panel.set_ylim(len(rig.axes) - 0.5, -0.7)
    panel.set_xlim(-15.0, 115.0)
    panel.set_yticks([])
    panel.set_xlabel("place between the limits, %: blue inside the soft limits, diamond now, cross wanted")
    tidy(panel)


def _wanted(axis: Axis, refusal: Refusal, factor: float) -> float:
    """The position that was refused, from the limit and how far beyond it is."""
    if refusal.limit.startswith("lower"):
        return axis.lower + axis.soft_margin + refusal.margin * factor
    return axis.upper - axis.soft_margin - refusal.margin * factor


# -- right: the arm --------------------------------------------------------------------------------------


def _draw_views(
    figure: Figure,
    grid: Any,
    rig: Rig,
    robot: Robot,
    motion: Motion,
    poses: Sequence[tuple[FloatArray, float]],
    refusals: Sequence[Refusal],
    target: FloatArray | None,
) -> None:
    """The arm from the side and from above, in poses of different strength, with table and boxes."""
    path = robot.forward_kinematics(motion.samples[:, : robot.dof])[:, :3, 3] / MM
    last = robot.forward_kinematics(poses[-1][0][: robot.dof])[:3, 3] / MM
    across = 0 if abs(last[0]) >= abs(last[1]) else 1
    subjects = {word for refusal in refusals for word in refusal.subject.replace(" inside ", " and ").split(" and ")}
    for cell, (h, v), title in ((grid[0], (across, 2), "from the side"), (grid[1], (0, 1), "from above")):
        panel = figure.add_subplot(cell)
        _draw_surroundings(panel, rig, h, v, subjects)
        seen = [path[:, [h, v]]]
        panel.plot(path[:, h], path[:, v], color=SIMULATED, linewidth=1.0, alpha=0.7, label="way of the tool")
        for pose, strength in poses:
            seen += _draw_arm(panel, rig, robot, pose, h, v, subjects, strength)
        seen += [_corners(box, h, v) for box in _boxes_to_see(rig, subjects)]
        if target is not None:
            goal = target / MM
            seen.append(goal[None, [h, v]])
            ends = [last[h], goal[h]], [last[v], goal[v]]
            panel.plot(*ends, color=WRONG, linewidth=1.0, linestyle=":", zorder=6)
            panel.plot([goal[h]], [goal[v]], marker="X", color=WRONG, markersize=10, zorder=7)
            at = goal[h], goal[v]
            panel.annotate("wanted", at, xytext=(0, 8), textcoords="offset points", ha="center", color=WRONG)
        _fit(panel, np.concatenate(seen))
        panel.set_title(title, fontsize=10, loc="left", pad=3)
        panel.set_xlabel(f"{'xyz'[h]}, mm", fontsize=9, labelpad=1)
        panel.set_ylabel(f"{'xyz'[v]}, mm", fontsize=9, labelpad=1)
        tidy(panel)


def _fit(panel: Axes, points: FloatArray) -> None:
    """Show all points, shape (N, 2), with one scale for both directions."""
    low, high = points.min(axis=0) - AROUND_MM, points.max(axis=0) + AROUND_MM
    box = panel.get_window_extent()
    size = np.array([box.width, box.height])
    half = 0.5 * size * float(((high - low) / size).max())
    middle = 0.5 * (low + high)
    panel.set_xlim(middle[0] - half[0], middle[0] + half[0])
    panel.set_ylim(middle[1] - half[1], middle[1] + half[1])
    panel.set_aspect("equal")


def _draw_surroundings(panel: Axes, rig: Rig, h: int, v: int, subjects: set[str]) -> None:
    from matplotlib.patches import Rectangle

    fences = rig.fences
    if v == 2:
        height = fences.table_height_m / MM
        wrong = "table" in subjects
        panel.axhspan(height - 2000.0, height, color=TABLE, alpha=0.6, linewidth=0)
        panel.axhline(height, color=WRONG if wrong else "#7A6A50", linewidth=1.6 if wrong else 1.0)

    for box in fences.keep_out:
        edge = WRONG if box.name in subjects else KEEP_OUT
        low, high = _corners(box, h, v)
        panel.add_patch(Rectangle(low, *(high - low), facecolor=KEEP_OUT, alpha=0.35, edgecolor=edge, hatch="//"))
        panel.text(low[0] + 4, low[1] + 4, box.name, fontsize=8, va="bottom", clip_on=True)
    if fences.keep_in is not None:
        edge = WRONG if fences.keep_in.name in subjects else KEEP_IN
        low, high = _corners(fences.keep_in, h, v)
        panel.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor=edge, linestyle=(0, (6, 3)), linewidth=1.3))
        at = low[0] + 4, high[1] - 4
        panel.text(*at, f"keep in: {fences.keep_in.name}", fontsize=8, va="top", color=edge, clip_on=True)


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
                linewidth=0.8,
                zorder=5 if wrong else 4,
            )
        )
    panel.plot(frames[:, h, 3] / MM, frames[:, v, 3] / MM, color="#222222", linewidth=1.2, alpha=strength, zorder=5)
    tool = frames[-1, :3, 3] / MM
    panel.plot([tool[h]], [tool[v]], marker="o", color=SIMULATED, markersize=5, alpha=strength, zorder=6)
    return [*outlines, frames[:, [h, v], 3] / MM]


def _capsule_outline(start: FloatArray, end: FloatArray, radius: float) -> FloatArray:
    """The outline of a capsule seen along an axis, shape (N, 2)."""
    way = end - start
    angle = math.atan2(way[1], way[0])
    half = np.linspace(0.5 * math.pi, 1.5 * math.pi, 16) + angle
    circle = radius * np.column_stack([np.cos(half), np.sin(half)])
    outline: FloatArray = np.concatenate([start + circle, end - circle])
    return outline

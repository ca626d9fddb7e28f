"""Figures of workspaces: the reach as a lit solid cut open, clouds by segment, a box with lamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hil.figures.looks import BLACK, BLUE, GREY, VERMILLION, WRONG, Entry, Style
from hil.figures.options import FigureOptions, require_target
from hil.figures.sheet import Note, Sheet, drawing, save, tidy
from hil.kernels.scalar import FloatArray
from hil.kinematics.workspace.cloud import Bounds, Cloud
from hil.kinematics.workspace.components import BoolArray
from hil.kinematics.workspace.joint_workspace import JointNeed, JointWorkspace
from hil.kinematics.workspace.reach_volume import REACHED, VOID, ReachMap, is_coarse
from hil.kinematics.workspace.voxels import Grid, grid_around, reached_by
from hil.units import DEG, MM
from hil.workbench._lit_points import SIDE, TOP, Picture, Points, View, render, seen_from

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REACH, CUT, CAVITY, UNKNOWN = "#4C9BD6", "#F2C277", VERMILLION, "#C8C8C8"
SEGMENTS = ("#555555", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#0072B2", "#B5A300")
USABLE, LIT, UNLIT = BLUE, VERMILLION, "#FFFFFF"
SHARES, NEVER = "cividis", "#DDDDDD"
"""Colours of shares from dark (none) to light (all), which differ in brightness for everybody; and of out of reach."""

ARM: Style = {"color": "#222222", "linestyle": "-", "linewidth": 1.1, "marker": "o", "markersize": 2.4}

AZIMUTH, ELEVATION = -55.0 * DEG, 28.0 * DEG
"""Where the viewer of the three-dimensional picture stands; the quarter on his side is cut away."""

DOTS = 90
"""Little balls along the longest side of a cloud's picture."""

PIXELS = 620

LEAST_HEIGHT = 0.06
"""Half the room that is shown at least, as a part of the longest side."""

NUMBERS_EM, BOX_WORDS_EM = 1.1, 2.8
"""From the edges of the box to their numbers, and room around it for all its words, in sizes of the letters."""

WIDE_BODY_PT, NARROW_BODY_PT = 275.0, 480.0
NEEDS_PT, SHARE_PT = 42.0, 130.0
"""Heights: of all panels, of a joint of a box, and of a view of a box."""


class Pose(NamedTuple):
    """The arm as a line through the origins of its frames, shape (k, 3), metres, and what pose that is."""

    joints: FloatArray
    name: str


def draw_reach(
    title: str,
    reach: ReachMap,
    pose: Pose,
    file: Path,
    *,
    nearness_m: float,
    slice_z_m: float | None = None,
    options: FigureOptions | None = None,
) -> None:
    """The reached voxels: cut open, from above, from the side, and two slices that show holes and voids.

    A sweep that is too coarse for its voxels is said to be so, without volume, voids and holes, and what lies between
    its points is not drawn as out of reach.

    Args:
        title: first line of the figure.
        reach: from `reach_map`.
        pose: the arm.
        file: PNG, SVG or PDF by its ending.
        nearness_m: how far a place within reach is from the nearest point at most, from `sweeps.nearness_m`.
        slice_z_m: height of the horizontal slice; that of the largest void, or of the middle, if not given.
        options: size and resolution.

    Raises:
        HilError: the figure cannot be written.
        CommandError: the slice is outside the grid, the file's ending is not known, or the size is not possible.
    """
    require_target(file)
    options = options or FigureOptions()
    coarse = is_coarse(nearness_m, reach.summary.voxel_m)
    unknown = _unknown(reach, nearness_m) if coarse else None
    height = slice_z_m if slice_z_m is not None else _telling_height(reach, coarse)
    notes = _coarse_notes(reach, nearness_m) if coarse else [Note(_reach_words(reach))]
    if coarse:
        title = f"{title}, TOO COARSE for its voxels"
    with drawing(options):
        sheet = Sheet(options, title, _reach_key(reach, pose, coarse), notes, _body_pt(options))
        panels = _panels(sheet)
        _draw_solid(panels, reach, pose, unknown)
        base_y_m = float(pose.joints[0][1])
        in_plane = abs(_across(pose)) < reach.grid.voxel_m
        _draw_slice(panels[3], reach, 1, base_y_m, pose if in_plane else None, unknown)
        _draw_slice(panels[4], reach, 2, height, None, unknown)
        _settle(sheet, panels, reach.summary.bounds)
        save(sheet, file)


def _draw_solid(panels: Sequence[Axes], reach: ReachMap, pose: Pose, unknown: BoolArray | None) -> None:
    """Cut open, from above, and from the side."""
    view, bounds = seen_from(AZIMUTH, ELEVATION), reach.summary.bounds
    solid = reach.cells == REACHED
    opened = _opened(solid, reach, pose.joints[0])
    _draw_box(panels[0], bounds, view)
    if opened.any():
        _show(panels[0], render(_surface(opened, reach, _inner(solid)), view, PIXELS))
    panels[0].set_title("cut open" if unknown is None else "cells that hold a point, cut open")
    for panel, flat_view, axes, along in ((panels[1], TOP, "xy", 2), (panels[2], SIDE, "xz", 1)):
        if unknown is not None:
            _draw_layer(panel, reach.grid, along, _tinted(np.any(unknown, axis=along), UNKNOWN))
        _show(panel, render(_surface(solid, reach, None), flat_view, PIXELS))
        _draw_arm(panel, pose, flat_view)
        _label(panel, axes)
    panels[1].set_title("from above")
    panels[2].set_title("from the side (-y)")


def draw_cloud(
    title: str,
    clouds: Sequence[tuple[str, Cloud]],
    pose: Pose,
    words: str,
    file: Path,
    *,
    nearness_m: float,
    options: FigureOptions | None = None,
) -> None:
    """Clouds as lit balls, each in its colour: from above, from the side, cut open, and one slice.

    Args:
        title: first line of the figure.
        clouds: name and points, from the base outwards.
        pose: the arm.
        words: last line of the figure.
        file: PNG, SVG or PDF by its ending.
        nearness_m: how far a place within reach is from the nearest point of the last cloud at most.
        options: size and resolution.

    Raises:
        HilError: the figure cannot be written.
        CommandError: the file's ending is not known, or the figure cannot have this size.
    """
    require_target(file)
    options = options or FigureOptions()
    bounds = _around([cloud.bounds() for _, cloud in clouds])
    tints = _segment_colours(len(clouds))
    balls = _balls(clouds, bounds, tints, nearness_m)
    names = [f"{name}: {cloud.points:,} points".replace(",", " ") for name, cloud in clouds]
    key = [Entry(name, _ball(tint)) for name, tint in zip(names, tints, strict=True)]
    if balls.unknown is not None:
        key.append(Entry("not known: between points", {"facecolor": UNKNOWN}, area=True))
    key.append(Entry(f"arm, {pose.name}", ARM))
    with drawing(options):
        sheet = Sheet(options, title, key, [Note(words)], _body_pt(options))
        panels = _panels(sheet)
        _draw_balls(panels, balls, bounds, pose)
        _settle(sheet, panels, bounds)
        save(sheet, file)


class _Balls(NamedTuple):
    """Clouds as little balls.

    Attributes:
        places: shape (N, 3), metres.
        colours: shape (N, 3).
        grid: its cells are as large as a ball.
        unknown: cells between points, of which nothing is known; None where points lie as densely as balls.
        level_m: middle height of the outermost cloud.
    """

    places: FloatArray
    colours: FloatArray
    grid: Grid
    unknown: BoolArray | None
    level_m: float

    def part(self, chosen: BoolArray) -> Points:
        """Some of them."""
        return Points(self.places[chosen], None, self.colours[chosen], self.grid.voxel_m)

    def near(self, axis: int, at_m: float) -> BoolArray:
        """Which are near a plane."""
        near: BoolArray = np.abs(self.places[:, axis] - at_m) <= 1.01 * self.grid.voxel_m
        return near

    def unknown_at(self, axis: int, at_m: float) -> BoolArray | None:
        """The layer of `unknown` in a plane."""
        if self.unknown is None:
            return None
        index = int((at_m - self.grid.corner_m[axis]) / self.grid.voxel_m)
        layer: BoolArray = np.take(self.unknown, min(max(index, 0), self.grid.shape[axis] - 1), axis=axis)
        return layer


def _balls(clouds: Sequence[tuple[str, Cloud]], bounds: Bounds, tints: Sequence[str], nearness_m: float) -> _Balls:
    dot = max(max(h - w for w, h in zip(bounds.lower_m, bounds.upper_m, strict=True)), MM) / DOTS
    grid = grid_around(bounds, dot)
    places, colours = [], []
    for (_, cloud), tint in zip(clouds, tints, strict=True):
        cells = reached_by(cloud, grid)
        places.append(np.array(grid.corner_m) + dot * (np.argwhere(cells) + 0.5))
        colours.append(np.tile(_rgb(tint), (len(places[-1]), 1)))
    unknown = _between(cells, math.ceil(nearness_m / dot)) if is_coarse(nearness_m, dot) else None
    level_m = float(np.median(places[-1][:, 2]))
    return _Balls(np.concatenate(places), np.concatenate(colours), grid, unknown, level_m)


def _draw_balls(panels: Sequence[Axes], balls: _Balls, bounds: Bounds, pose: Pose) -> None:
    """Cut open, from above, from the side, and near two planes."""
    view, base, level_m, unknown = seen_from(AZIMUTH, ELEVATION), pose.joints[0], balls.level_m, balls.unknown
    far = (balls.places[:, 0] <= base[0]) | (balls.places[:, 1] >= base[1])
    everything = np.ones(len(balls.places), dtype=np.bool_)
    _draw_box(panels[0], bounds, view)
    if far.any():
        _show(panels[0], render(balls.part(far), view, PIXELS))
    panels[0].set_title("cut open")
    seen_along = [None if unknown is None else np.any(unknown, axis=axis) for axis in (2, 1)]
    for panel, chosen, flat_view, axes, name, between in (
        (panels[1], everything, TOP, "xy", "from above", seen_along[0]),
        (panels[2], everything, SIDE, "xz", "from the side (-y)", seen_along[1]),
        (panels[3], balls.near(1, base[1]), SIDE, "xz", f"near y = {base[1] / MM:.0f} mm",
         balls.unknown_at(1, base[1])),
        (panels[4], balls.near(2, level_m), TOP, "xy", f"near z = {level_m / MM:.0f} mm",
         balls.unknown_at(2, level_m)),
    ):  # fmt: skip
        if between is not None:
            _draw_layer(panel, balls.grid, 2 if axes == "xy" else 1, _tinted(between, UNKNOWN))
        if chosen.any():
            _show(panel, render(balls.part(chosen), flat_view, PIXELS))
        _label(panel, axes)
        panel.set_title(name)
    _draw_arm(panels[3], pose, SIDE)


def draw_box(
    title: str,
    box: JointWorkspace,
    units: Sequence[float],
    words: str,
    file: Path,
    options: FigureOptions | None = None,
) -> None:
    """A box's joint workspace: range needed beside the limits, a lamp per joint, and the places that can be used.

    Args:
        title: first line of the figure.
        box: from `joint_workspace`.
        units: per joint, radians or metres per unit shown.
        words: last line of the figure.
        file: PNG, SVG or PDF by its ending.
        options: size and resolution.

    Raises:
        HilError: the figure cannot be written.
        CommandError: the file's ending is not known, or the figure cannot have this size.
    """
    require_target(file)
    options = options or FigureOptions()
    key = [
        Entry("limits", {"facecolor": "#E3E9E3", "edgecolor": "#7C8C7C", "linewidth": 0.6}, area=True),
        Entry("range needed", {"facecolor": USABLE}, area=True),
        Entry("needed, breaks a limit", {"facecolor": LIT, "hatch": "////", "edgecolor": "white"}, area=True),
        Entry("lamp: number of places beyond a limit", _ball(LIT) | {"markeredgecolor": BLACK}),
        Entry("out of reach", {"facecolor": NEVER}, area=True),
    ]
    needs_pt = NEEDS_PT * len(box.joints)
    body_pt = needs_pt + 2.0 * SHARE_PT if options.narrow else max(needs_pt, 2.0 * SHARE_PT)
    with drawing(options):
        sheet = Sheet(options, title, key, [Note(words)], body_pt)
        needs, shares = _box_places(sheet, needs_pt)
        views = []
        _draw_needs(sheet, sheet.figure.add_subplot(needs), box, units)
        for cell, axes, name in (
            (shares[0], "xy", "from above: heights that can be used"),
            (shares[1], "xz", "from -y: depths that can be used"),
        ):
            panel = sheet.figure.add_subplot(cell)
            views.append((panel, _draw_shares(panel, box, axes, name)))
        sheet.settle()
        for panel, (low, high) in views:
            sheet.fit_equal(panel, low, high)
        save(sheet, file)


def _box_places(sheet: Sheet, needs_pt: float) -> tuple[Any, Sequence[Any]]:
    """A place for the joints, and two for the views: beside it, or below it on a narrow page."""
    if sheet.options.narrow:
        grid = sheet.grid(3, 1, height_ratios=[needs_pt, SHARE_PT, SHARE_PT])
        return grid[0], (grid[1], grid[2])
    grid = sheet.grid(2, 2, width_ratios=[10, 9])
    return grid[:, 0], (grid[0, 1], grid[1, 1])


# -- the solid -------------------------------------------------------------------------------------------


def _opened(solid: BoolArray, reach: ReachMap, base: FloatArray) -> BoolArray:
    """Without the quarter in front of the base on the viewer's side."""
    opened = solid.copy()
    ahead = reach.grid.centres_m(0) > base[0]
    near = reach.grid.centres_m(1) < base[1]
    opened[np.ix_(ahead, near)] = False
    return opened


def _inner(solid: BoolArray) -> BoolArray:
    """What has something on all six sides."""
    inner = solid.copy()
    for axis in range(3):
        for step in (-1, 1):
            inner &= np.roll(solid, step, axis=axis)
    return inner


def _surface(solid: BoolArray, reach: ReachMap, was_inside: BoolArray | None) -> Points:
    """The voxels that are seen from outside, with normals from how full their surroundings are."""
    shell = solid & ~_inner(solid)
    full = np.pad(solid, 2).astype(np.float64)
    for _ in range(2):
        for axis in range(3):
            full = full + np.roll(full, 1, axis=axis) + np.roll(full, -1, axis=axis)
    index = np.argwhere(shell)
    downhill = np.zeros((len(index), 3))
    if reach.summary.area_m2 is None:  # A flat sheet has no normals to speak of.
        for axis in range(3):
            downhill[:, axis] = -np.asarray(np.gradient(full, axis=axis))[2:-2, 2:-2, 2:-2][shell]
    length = np.linalg.norm(downhill, axis=1, keepdims=True)
    normals = downhill / np.maximum(length, 1e-9)
    colours = np.tile(_rgb(REACH), (len(index), 1))
    if was_inside is not None:
        colours[was_inside[shell]] = _rgb(CUT)
    size = reach.grid.voxel_m
    return Points(np.array(reach.grid.corner_m) + size * (index + 0.5), normals, colours, 1.8 * size)


def _unknown(reach: ReachMap, nearness_m: float) -> BoolArray:
    """Cells without a point that may be within reach: no farther from a point than the sweep leaves open."""
    return _between(reach.cells == REACHED, math.ceil(nearness_m / reach.grid.voxel_m))


def _between(reached: BoolArray, count: int) -> BoolArray:
    """Cells that are not reached and so many cells or fewer from one that is."""
    near = reached
    for axis in range(3):
        near = _widened(near, axis, count)
    return near & ~reached


def _widened(cells: BoolArray, axis: int, count: int) -> BoolArray:
    """With the `count` cells before and after each along an axis."""
    length = cells.shape[axis]
    ends = np.concatenate(
        [np.zeros_like(cells.take([0], axis), dtype=np.int32), np.cumsum(cells, axis, dtype=np.int32)], axis
    )
    high = np.minimum(np.arange(length) + count + 1, length)
    low = np.maximum(np.arange(length) - count, 0)
    wide: BoolArray = ends.take(high, axis) > ends.take(low, axis)
    return wide


def _tinted(cells: BoolArray, colour: str) -> FloatArray:
    """An image of cells, clear where there is none."""
    image = np.zeros((*cells.shape, 4))
    image[cells] = (*_rgb(colour), 1.0)
    return image


def _draw_layer(panel: Axes, grid: Grid, axis: int, image: FloatArray) -> None:
    """An image over the whole grid, seen along an axis."""
    across, up = (index for index in range(3) if index != axis)
    left, bottom = (grid.corner_m[i] / MM for i in (across, up))
    width, height = (grid.voxel_m * grid.shape[i] / MM for i in (across, up))
    style: dict[str, Any] = {"origin": "lower", "interpolation": "nearest", "aspect": "auto", "zorder": 1.5}
    panel.imshow(image.transpose(1, 0, 2), extent=(left, left + width, bottom, bottom + height), **style)


def _draw_slice(
    panel: Axes, reach: ReachMap, axis: int, at_m: float, pose: Pose | None, unknown: BoolArray | None
) -> None:
    low, size = reach.grid.corner_m[axis], reach.grid.voxel_m
    high = low + size * reach.grid.shape[axis]
    at_m = min(max(at_m, low), high - 0.5 * size) if axis == 1 else at_m
    layer = reach.slice(axis, at_m)
    image = _tinted(layer == REACHED, CUT)
    if unknown is None:
        image[layer == VOID] = (*_rgb(CAVITY), 1.0)
    else:
        index = min(int((at_m - low) / size), reach.grid.shape[axis] - 1)
        image[unknown.take(index, axis=axis)] = (*_rgb(UNKNOWN), 1.0)
    across, up = (index for index in range(3) if index != axis)
    _draw_layer(panel, reach.grid, axis, image)
    _label(panel, "xyz"[across] + "xyz"[up])
    panel.set_title(f"slice at {'xyz'[axis]} = {at_m / MM:z.0f} mm")
    if pose is not None:
        _draw_arm(panel, pose, SIDE)


def _telling_height(reach: ReachMap, coarse: bool) -> float:
    """Middle of the largest void, else of the whole."""
    box = reach.summary.voids[0] if reach.summary.voids and not coarse else reach.summary.bounds
    return 0.5 * (box.lower_m[2] + box.upper_m[2])


def _reach_key(reach: ReachMap, pose: Pose, coarse: bool) -> list[Entry]:
    words = ("cell that holds a point", "the same, in a slice") if coarse else ("reached", "reached, cut face")
    entries = [Entry(text, {"facecolor": tint}, area=True) for text, tint in zip(words, (REACH, CUT), strict=True)]
    if coarse:
        entries.append(Entry("not known: between points", {"facecolor": UNKNOWN}, area=True))
    elif reach.summary.voids:
        entries.append(Entry("void, not reached", {"facecolor": CAVITY}, area=True))
    entries.append(Entry("not reached", {"facecolor": "white", "edgecolor": GREY, "linewidth": 0.6}, area=True))
    entries.append(Entry(f"arm, {pose.name}", ARM))
    return entries


def _coarse_notes(reach: ReachMap, nearness_m: float) -> list[Note]:
    words = (
        f"The sweep is too coarse for a voxel of {reach.summary.voxel_m / MM:g} mm: a place within reach may be "
        f"{nearness_m / MM:.0f} mm from any point. So no volume, voids or holes are told, and what is drawn grey is "
        "not known. Take a larger --voxel, a smaller --step, or fewer --joints."
    )
    return [Note(words, colour=WRONG, heavy=True)]


def _reach_words(reach: ReachMap) -> str:
    summary = reach.summary
    size = (
        f"volume {summary.volume_m3 * 1e3:.4g} litres"
        if summary.area_m2 is None
        else f"area {summary.area_m2 * 1e4:.5g} cm2, all in one plane"
    )
    voids = "no void"
    if summary.voids:
        total = sum(void.volume_m3 for void in summary.voids) * 1e3
        voids = f"{len(summary.voids)} void{'s' * (len(summary.voids) > 1)} of {total:.3g} litres in all"
    holes = f"{summary.holes or 'no'} hole{'s' * (summary.holes > 1)} through"
    voxel = f"voxel {summary.voxel_m / MM:.3g} mm (what is smaller is not seen)"
    return f"{size}; {voids}; {holes}; {voxel}"


# -- lamps -----------------------------------------------------------------------------------------------


def _draw_needs(sheet: Sheet, panel: Axes, box: JointWorkspace, units: Sequence[float]) -> None:
    """A bar of what is needed over a bar of what is allowed, and the lamp with its count."""
    font = sheet.options.font_pt
    count = len(box.joints)
    for row, (need, unit) in enumerate(zip(box.joints, units, strict=True)):
        _draw_need(panel, count - 1 - row, f"{row + 1}  {need.name}", need, unit, font)
    panel.set_xlim(-0.02, 1.3)
    panel.set_ylim(-0.6, count - 0.4)
    panel.set_axis_off()
    panel.set_title("what the box needs of each joint")


def _draw_need(panel: Axes, y: int, name: str, need: JointNeed, unit: float, font_pt: float) -> None:
    ends = [v for v in (need.lower, need.upper, need.needed_lower, need.needed_upper) if v is not None]
    low, high = (min(ends), max(ends)) if ends else (-1.0, 1.0)
    scale = max(high - low, 1e-9)

    def share(value: float) -> float:
        return (value - low) / scale

    left = 0.0 if need.lower is None else share(need.lower)
    right = 1.0 if need.upper is None else share(need.upper)
    panel.barh(y, right - left, left=left, height=0.28, color="#E3E9E3", edgecolor="#7C8C7C", linewidth=0.6)
    needs = "nothing within reach"
    if need.needed_lower is not None and need.needed_upper is not None:
        a, b = share(need.needed_lower), share(need.needed_upper)
        look: dict[str, Any] = {"color": LIT, "hatch": "////", "edgecolor": "white"} if need.lamp else {"color": USABLE}
        panel.barh(y, max(b - a, 0.004), left=a, height=0.15, linewidth=0, **look)
        needs = f"needs {need.needed_lower / unit:z.1f} to {need.needed_upper / unit:z.1f}"
    word = "deg" if unit == DEG else "mm"
    may = " to ".join("open" if v is None else f"{v / unit:z.1f}" for v in (need.lower, need.upper))
    panel.text(0.0, y + 0.17, f"{name}: {needs} {word}", va="bottom")
    panel.text(0.0, y - 0.17, f"may {may} {word}", va="top", fontsize="small")
    panel.plot(1.12, y, "o", markersize=1.1 * font_pt, color=LIT if need.lamp else UNLIT, markeredgecolor="#222222")
    panel.text(1.19, y, f"{need.lamp}" if need.lamp else "off", va="center")


def _draw_shares(panel: Axes, box: JointWorkspace, axes: str, name: str) -> tuple[FloatArray, FloatArray]:
    """Of the places behind each other, the part that can be used; gives the ends of what is seen, millimetres."""
    places = np.array([sample.point_m for sample in box.samples]) / MM
    ticks, index = zip(*(np.unique(places[:, "xyz".index(axis)], return_inverse=True) for axis in axes), strict=True)
    shape = (len(ticks[1]), len(ticks[0]))

    def total(values: Sequence[bool]) -> FloatArray:
        counts = np.zeros(shape)
        np.add.at(counts, (index[1], index[0]), np.array(values, dtype=np.float64))
        return counts

    reached = total([bool(sample.solutions) for sample in box.samples])
    share = total([sample.usable for sample in box.samples]) / total([True] * len(box.samples))
    width, height = ((float(v[1] - v[0]) if len(v) > 1 else 10.0) for v in ticks)
    extent = (
        float(ticks[0][0]) - width / 2,
        float(ticks[0][-1]) + width / 2,
        float(ticks[1][0]) - height / 2,
        float(ticks[1][-1]) + height / 2,
    )
    style: dict[str, Any] = {"extent": extent, "origin": "lower", "interpolation": "nearest", "aspect": "auto"}
    panel.imshow(_tinted(reached == 0, NEVER), zorder=2, **style)
    image = panel.imshow(np.where(reached > 0, share, np.nan), cmap=SHARES, vmin=0.0, vmax=1.0, zorder=3, **style)
    bar = panel.figure.colorbar(image, ax=panel, fraction=0.04, pad=0.03)
    bar.set_ticks([0.0, 0.5, 1.0], labels=["none", "half", "all"])
    bar.outline.set_linewidth(0.6)
    _label(panel, axes)
    panel.set_title(name)
    return np.array([extent[0], extent[2]]), np.array([extent[1], extent[3]])


# -- panels ----------------------------------------------------------------------------------------------


def _body_pt(options: FigureOptions) -> float:
    return NARROW_BODY_PT if options.narrow else WIDE_BODY_PT


def _panels(sheet: Sheet) -> list[Axes]:
    """One large panel, and four small ones beside it, or below it on a narrow page."""
    if sheet.options.narrow:
        grid = sheet.grid(3, 2, height_ratios=[9, 6, 6])
        places = (grid[0, :], grid[1, 0], grid[1, 1], grid[2, 0], grid[2, 1])
    else:
        grid = sheet.grid(2, 3, width_ratios=[14, 8, 8])
        places = (grid[:, 0], grid[0, 1], grid[0, 2], grid[1, 1], grid[1, 2])
    large, top, side, upright, level = (sheet.figure.add_subplot(place) for place in places)
    large.set_axis_off()
    return [large, top, side, upright, level]


def _show(panel: Axes, picture: Picture) -> None:
    left, right, bottom, top = (v / MM for v in picture.extent)
    panel.imshow(picture.image, extent=(left, right, bottom, top), interpolation="antialiased", aspect="auto", zorder=2)


def _label(panel: Axes, axes: str) -> None:
    panel.set_xlabel(f"{axes[0]}, mm")
    panel.set_ylabel(f"{axes[1]}, mm")
    tidy(panel)


def _fit_view(sheet: Sheet, panel: Axes, axes: str, bounds: Bounds) -> None:
    """Show everything with room around it; a flat thing gets some height."""
    low, high = (np.array([ends["xyz".index(axis)] / MM for axis in axes]) for ends in (bounds.lower_m, bounds.upper_m))
    largest = max(b - a for a, b in zip(bounds.lower_m, bounds.upper_m, strict=True)) / MM
    half = np.maximum(0.5 * (high - low), LEAST_HEIGHT * largest) + 0.05 * largest
    sheet.fit_equal(panel, 0.5 * (low + high) - half, 0.5 * (low + high) + half)


def _settle(sheet: Sheet, panels: Sequence[Axes], bounds: Bounds) -> None:
    """Places, and then scales, of the five panels: the first is the box, the others are flat."""
    sheet.settle()
    for panel, axes in zip(panels[1:], ("xy", "xz", "xz", "xy"), strict=True):
        _fit_view(sheet, panel, axes, bounds)
    corners = _corners_seen(bounds, seen_from(AZIMUTH, ELEVATION))
    sheet.fit_equal(panels[0], corners.min(axis=0), corners.max(axis=0), BOX_WORDS_EM * sheet.options.font_pt)


def _draw_arm(panel: Axes, pose: Pose, view: View) -> None:
    line = view.flat(pose.joints) / MM
    panel.plot(line[:, 0], line[:, 1], zorder=5, label=f"arm, {pose.name}", **ARM)


def _across(pose: Pose) -> float:
    """How far the arm in this pose is away from the plane through the base."""
    return float(np.abs(pose.joints[:, 1] - pose.joints[0, 1]).max())


def _draw_box(panel: Axes, bounds: Bounds, view: View) -> None:
    """The box around everything, its near edges left out, three of them with numbers."""
    low, high = np.array(bounds.lower_m), np.array(bounds.upper_m)
    near = np.where(view.toward > 0, high, low)
    far = np.where(view.toward > 0, low, high)
    for axis in range(3):
        others = [i for i in range(3) if i != axis]
        for first in (near, far):
            for second in (near, far):
                start, end = far.copy(), far.copy()
                start[others[0]] = end[others[0]] = first[others[0]]
                start[others[1]] = end[others[1]] = second[others[1]]
                end[axis] = near[axis]
                if first is not near or second is not near:
                    line = view.flat(np.stack([start, end])) / MM
                    panel.plot(line[:, 0], line[:, 1], color="#9A9A9A", linewidth=0.9, zorder=1)
    _draw_numbers(panel, low, high, view)


def _corners_seen(bounds: Bounds, view: View) -> FloatArray:
    """The corners of a box as they are seen, millimetres, shape (8, 2)."""
    xs, ys, zs = zip(bounds.lower_m, bounds.upper_m, strict=True)
    return view.flat(np.array([[x, y, z] for x in xs for y in ys for z in zs])) / MM


def _draw_numbers(panel: Axes, low: FloatArray, high: FloatArray, view: View) -> None:
    """Numbers along the lower edges towards the viewer, and along the left upright edge."""
    near = np.where(view.toward > 0, high, low)
    far = np.where(view.toward > 0, low, high)
    x_edge = np.array([np.nan, near[1], low[2]])
    y_edge = np.array([near[0], np.nan, low[2]])
    z_edge = np.array([far[0], near[1], np.nan])
    middle = view.flat(((low + high) / 2)[np.newaxis])[0]
    for axis, edge in ((0, x_edge), (1, y_edge), (2, z_edge)):
        values = _round_values(float(low[axis]), float(high[axis]))
        places = np.tile(edge, (len(values), 1))
        places[:, axis] = values
        half_way = edge.copy()
        half_way[axis] = 0.5 * (low[axis] + high[axis])
        outward = view.flat(half_way[np.newaxis])[0] - middle
        outward = np.array([math.copysign(1.0, outward[0]), -0.8]) if axis < 2 else np.array([-1.0, 0.0])
        reach = float(np.abs(high - low).max()) / MM
        for value, at in zip(values, view.flat(places) / MM, strict=True):
            tick = np.stack([at, at + 0.012 * reach * outward])
            panel.plot(tick[:, 0], tick[:, 1], color="#777777", linewidth=0.6, zorder=1)
            _write_beside(panel, at, f"{value / MM:.0f}", NUMBERS_EM * outward, fontsize="small", color="#444444")
        if axis < 2:
            middle_mm = view.flat(half_way[np.newaxis])[0] / MM
            _write_beside(panel, middle_mm, f"{'xyz'[axis]}, mm", 2.3 * outward)
    top = np.array([far[0], near[1], high[2]])
    _write_beside(panel, view.flat(top[np.newaxis])[0] / MM, "z, mm", np.array([0.0, 1.0]))


def _write_beside(panel: Axes, at: FloatArray, text: str, away_em: FloatArray, **style: Any) -> None:
    """A text so many sizes of its letters away from a point."""
    from matplotlib import rcParams

    away = away_em * float(rcParams["font.size"])
    panel.annotate(
        text, (at[0], at[1]), xytext=(away[0], away[1]), textcoords="offset points", ha="center", va="center", **style
    )


def _round_values(low: float, high: float) -> FloatArray:
    """Three to six round numbers within a stretch, metres."""
    span = max(high - low, MM)
    step = 10.0 ** math.floor(math.log10(span / 3))
    step *= next(factor for factor in (5, 2, 1) if span / (step * factor) >= 2.5)
    return step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1, dtype=np.float64)


def _around(boxes: Sequence[Bounds]) -> Bounds:
    lower = np.min([box.lower_m for box in boxes], axis=0).tolist()
    upper = np.max([box.upper_m for box in boxes], axis=0).tolist()
    return Bounds(lower_m=tuple(lower), upper_m=tuple(upper))


def _segment_colours(number: int) -> Sequence[str]:
    return [REACH] if number == 1 else SEGMENTS[:number]


def _ball(colour: str) -> dict[str, Any]:
    """How a ball is drawn in the key."""
    return {"color": colour, "linestyle": "", "marker": "o", "markersize": 5.0}


def _rgb(colour: str) -> tuple[float, float, float]:
    r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b

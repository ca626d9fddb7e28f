"""Pictures of workspaces: the reach as a lit solid cut open, clouds by segment, a box with lamps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.kinematics.workspace.cloud import Bounds, Cloud
from hil.kinematics.workspace.components import BoolArray
from hil.kinematics.workspace.joint_workspace import JointWorkspace
from hil.kinematics.workspace.reach_volume import REACHED, VOID, ReachMap
from hil.kinematics.workspace.voxels import grid_around, reached_by
from hil.units import DEG, MM
from hil.workbench._lit_points import SIDE, TOP, Picture, Points, View, render, seen_from
from hil.workbench.plots import new_figure, save, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REACH, CUT, CAVITY, ARM = "#4C9BD6", "#F2C277", "#D55E00", "#222222"
SEGMENTS = ("#555555", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#0072B2", "#B5A300")
USABLE = "#009E73"
LIT, UNLIT = "#E03020", "#3A4A3A"

AZIMUTH, ELEVATION = -55.0 * DEG, 28.0 * DEG
"""Where the viewer of the three-dimensional picture stands; the quarter on his side is cut away."""

DOTS = 90
"""Little balls along the longest side of a cloud's picture."""

PIXELS = 620

LEAST_HEIGHT = 0.06
"""Half the room that is shown at least, as a part of the longest side."""


class Pose(NamedTuple):
    """The arm as a line through the origins of its frames, shape (k, 3), metres, and what pose that is."""

    joints: FloatArray
    name: str


def draw_reach(title: str, reach: ReachMap, pose: Pose, file: Path, *, slice_z_m: float | None = None) -> None:
    """The reached voxels: cut open, from above, from the side, and two slices that show holes and voids.

    Args:
        title: first line of the picture.
        reach: from `reach_map`.
        pose: the arm.
        file: PNG.
        slice_z_m: height of the horizontal slice; that of the largest void, or of the middle, if not given.

    Raises:
        HilError: the picture cannot be written.
        CommandError: the slice is outside the grid.
    """
    figure, panels = _panels(title, _reach_words(reach))
    view = seen_from(AZIMUTH, ELEVATION)
    bounds = reach.summary.bounds
    base = pose.joints[0]
    solid = reach.cells == REACHED
    opened = _opened(solid, reach, base)
    height = slice_z_m if slice_z_m is not None else _telling_height(reach)
    _draw_box(panels[0], bounds, view)
    _show(panels[0], render(_surface(opened, reach, _inner(solid)), view, PIXELS))
    panels[0].set_title("cut open", fontsize=10)
    for panel, flat_view, axes in ((panels[1], TOP, "xy"), (panels[2], SIDE, "xz")):
        _show(panel, render(_surface(solid, reach, None), flat_view, PIXELS))
        _draw_arm(panel, pose, flat_view)
        _label(panel, axes, bounds)
    panels[1].set_title("from above", fontsize=10)
    panels[2].set_title("from the side (from -y)", fontsize=10)
    _draw_slice(panels[3], reach, 1, float(base[1]), pose if abs(_across(pose)) < reach.grid.voxel_m else None)
    _draw_slice(panels[4], reach, 2, height, None)
    save(figure, file)


def draw_cloud(title: str, clouds: Sequence[tuple[str, Cloud]], pose: Pose, words: str, file: Path) -> None:
    """Clouds as lit balls, each in its colour: from above, from the side, cut open, and one slice.

    Args:
        title: first line of the picture.
        clouds: name and points, from the base outwards.
        pose: the arm.
        words: last line of the picture.
        file: PNG.

    Raises:
        HilError: the picture cannot be written.
    """
    figure, panels = _panels(title, words)
    view = seen_from(AZIMUTH, ELEVATION)
    bounds = _around([cloud.bounds() for _, cloud in clouds])
    dot = max(max(h - w for w, h in zip(bounds.lower_m, bounds.upper_m, strict=True)), MM) / DOTS
    grid = grid_around(bounds, dot)
    places, colours = [], []
    for (_, cloud), tint in zip(clouds, _segment_colours(len(clouds)), strict=True):
        index = np.argwhere(reached_by(cloud, grid))
        places.append(np.array(grid.corner_m) + dot * (index + 0.5))
        colours.append(np.tile(_rgb(tint), (len(index), 1)))
    place, colour = np.concatenate(places), np.concatenate(colours)
    base = pose.joints[0]
    far = (place[:, 0] <= base[0]) | (place[:, 1] >= base[1])
    near_plane = np.abs(place[:, 1] - base[1]) <= 1.01 * dot
    level = base[2] if not len(places) else float(np.median(places[-1][:, 2]))
    near_level = np.abs(place[:, 2] - level) <= 1.01 * dot

    def part(chosen: BoolArray) -> Points:
        return Points(place[chosen], None, colour[chosen], dot)

    everything = np.ones(len(place), dtype=np.bool_)
    _draw_box(panels[0], bounds, view)
    if far.any():
        _show(panels[0], render(part(far), view, PIXELS))
    panels[0].set_title("cut open", fontsize=10)
    for panel, chosen, flat_view, axes, name in (
        (panels[1], everything, TOP, "xy", "from above"),
        (panels[2], everything, SIDE, "xz", "from the side (from -y)"),
        (panels[3], near_plane, SIDE, "xz", f"points near y = {base[1] / MM:.0f} mm"),
        (panels[4], near_level, TOP, "xy", f"points near z = {level / MM:.0f} mm"),
    ):
        if chosen.any():
            _show(panel, render(part(chosen), flat_view, PIXELS))
        _label(panel, axes, bounds)
        panel.set_title(name, fontsize=10)
    _draw_arm(panels[3], pose, SIDE)
    names = [f"{name}: {cloud.points:,} points".replace(",", " ") for name, cloud in clouds]
    _legend(panels[0], list(zip(names, _segment_colours(len(clouds)), strict=True)), below=True)
    save(figure, file)


def draw_box(title: str, box: JointWorkspace, units: Sequence[float], words: str, file: Path) -> None:
    """A box's joint workspace: range needed beside the limits, a lamp per joint, and the places that can be used.

    Args:
        title: first line of the picture.
        box: from `joint_workspace`.
        units: per joint, radians or metres per unit shown.
        words: last line of the picture.
        file: PNG.

    Raises:
        HilError: the picture cannot be written.
    """
    figure = new_figure()
    figure.suptitle(title, x=0.05, y=0.975, ha="left", fontsize=13)
    figure.text(0.05, 0.02, words, fontsize=9, ha="left", va="bottom")
    grid = figure.add_gridspec(
        2, 2, left=0.11, right=0.95, top=0.88, bottom=0.12, width_ratios=[10, 9], wspace=0.16, hspace=0.34
    )
    _draw_needs(figure.add_subplot(grid[:, 0]), box, units)
    for cell, axes, name in (
        (grid[0, 1], "xy", "from above: heights that can be used"),
        (grid[1, 1], "xz", "from -y: depths that can be used"),
    ):
        _draw_shares(figure.add_subplot(cell), box, axes, name)
    save(figure, file)


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


def _draw_slice(panel: Axes, reach: ReachMap, axis: int, at_m: float, pose: Pose | None) -> None:
    low = reach.grid.corner_m[axis]
    high = low + reach.grid.voxel_m * reach.grid.shape[axis]
    at_m = min(max(at_m, low), high - 0.5 * reach.grid.voxel_m) if axis == 1 else at_m
    layer = reach.slice(axis, at_m)
    image = np.zeros((*layer.shape, 4))
    image[layer == REACHED] = (*_rgb(CUT), 1.0)
    image[layer == VOID] = (*_rgb(CAVITY), 1.0)
    across, up = (index for index in range(3) if index != axis)
    left, bottom = (reach.grid.corner_m[i] / MM for i in (across, up))
    width, height = (reach.grid.voxel_m * reach.grid.shape[i] / MM for i in (across, up))
    extent = (left, left + width, bottom, bottom + height)
    panel.imshow(image.transpose(1, 0, 2), extent=extent, origin="lower", interpolation="nearest", zorder=2)
    panel.set_aspect("equal")
    _label(panel, "xyz"[across] + "xyz"[up], reach.summary.bounds)
    panel.set_title(f"slice at {'xyz'[axis]} = {at_m / MM:z.0f} mm", fontsize=10)
    if (layer == VOID).any():
        _legend(panel, [("void, not reached", CAVITY)])
    if pose is not None:
        _draw_arm(panel, pose, SIDE)


def _telling_height(reach: ReachMap) -> float:
    """Middle of the largest void, else of the whole."""
    box = reach.summary.voids[0] if reach.summary.voids else reach.summary.bounds
    return 0.5 * (box.lower_m[2] + box.upper_m[2])


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
    return f"{size}; {voids}; {holes}; {voxel}; white: not reached"


# -- lamps -----------------------------------------------------------------------------------------------


def _draw_needs(panel: Axes, box: JointWorkspace, units: Sequence[float]) -> None:
    """A bar of what is needed over a bar of what is allowed, and the lamp with its count."""
    n = len(box.joints)
    shares = []
    for row, (need, unit) in enumerate(zip(box.joints, units, strict=True)):
        y = n - 1 - row
        ends = [v for v in (need.lower, need.upper, need.needed_lower, need.needed_upper) if v is not None]
        low, high = (min(ends), max(ends)) if ends else (-1.0, 1.0)
        scale = max(high - low, 1e-9)

        def share(value: float, low: float = low, scale: float = scale) -> float:
            return (value - low) / scale

        left = 0.0 if need.lower is None else share(need.lower)
        right = 1.0 if need.upper is None else share(need.upper)
        panel.barh(y, right - left, left=left, height=0.52, color="#E3E9E3", edgecolor="#7C8C7C", linewidth=0.8)
        if need.needed_lower is not None and need.needed_upper is not None:
            a, b = share(need.needed_lower), share(need.needed_upper)
            panel.barh(y, max(b - a, 0.004), left=a, height=0.24, color=LIT if need.lamp else USABLE)
            text = f"needs {need.needed_lower / unit:.1f} to {need.needed_upper / unit:.1f}"
            panel.text(0.0, y + 0.36, text, fontsize=8.5, va="center")
        word = "deg" if unit == DEG else "mm"
        ends_text = " to ".join("open" if v is None else f"{v / unit:.1f}" for v in (need.lower, need.upper))
        panel.text(1.0, y + 0.36, f"may {ends_text} {word}", fontsize=8.5, va="center", ha="right")
        panel.plot(1.1, y, "o", markersize=19, color=LIT if need.lamp else UNLIT, markeredgecolor="#222222")
        if need.lamp:
            panel.plot(1.094, y + 0.035, "o", markersize=6, color="#FFC9BE", markeredgewidth=0)
        panel.text(1.15, y, f"{need.lamp}" if need.lamp else "off", fontsize=9, va="center")
        shares.append(need.name)
    panel.set_yticks(range(n - 1, -1, -1), [f"{i}  {name}" for i, name in enumerate(shares, 1)])
    panel.set_xlim(-0.02, 1.26)
    panel.set_ylim(-0.6, n - 0.35)
    panel.set_xticks([])
    for side in ("top", "right", "bottom", "left"):
        panel.spines[side].set_visible(False)
    panel.tick_params(length=0)
    panel.set_title(
        "limits (pale), range needed (green, red if it breaks a limit), lamp with\nthe number of places where it does",
        fontsize=10,
        loc="left",
    )


def _draw_shares(panel: Axes, box: JointWorkspace, axes: str, name: str) -> None:
    """Of the places behind each other, the part that can be used; what is never within reach is grey."""
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
    style: dict[str, Any] = {"extent": extent, "origin": "lower", "interpolation": "nearest"}
    panel.imshow(np.where(reached > 0, np.nan, 0.3), cmap="Greys", vmin=0.0, vmax=1.0, zorder=2, **style)
    image = panel.imshow(np.where(reached > 0, share, np.nan), cmap="RdYlGn", vmin=0.0, vmax=1.0, zorder=3, **style)
    bar = panel.figure.colorbar(image, ax=panel, fraction=0.04, pad=0.03)
    bar.set_ticks([0.0, 0.5, 1.0], labels=["none", "half", "all"])
    bar.ax.tick_params(labelsize=8)
    panel.set_xlabel(f"{axes[0]}, mm", fontsize=9, labelpad=1)
    panel.set_ylabel(f"{axes[1]}, mm", fontsize=9, labelpad=1)
    panel.set_title(f"{name} (grey: out of reach)", fontsize=9)
    tidy(panel)
    panel.tick_params(labelsize=8)


# -- panels ----------------------------------------------------------------------------------------------


def _panels(title: str, words: str) -> tuple[Figure, list[Axes]]:
    """One large panel on the left, four small ones on the right."""
    figure = new_figure()
    figure.suptitle(title, x=0.03, y=0.975, ha="left", fontsize=13)
    figure.text(0.03, 0.02, words, fontsize=9, ha="left", va="bottom")
    grid = figure.add_gridspec(
        2, 3, left=0.015, right=0.985, top=0.9, bottom=0.1, width_ratios=[13, 8, 8], wspace=0.24, hspace=0.3
    )
    large = figure.add_subplot(grid[:, 0])
    large.set_axis_off()
    cells = (grid[0, 1], grid[0, 2], grid[1, 2], grid[1, 1])
    top, side, level, upright = (figure.add_subplot(cell) for cell in cells)
    return figure, [large, top, side, upright, level]


def _show(panel: Axes, picture: Picture) -> None:
    left, right, bottom, top = (v / MM for v in picture.extent)
    panel.imshow(picture.image, extent=(left, right, bottom, top), interpolation="antialiased", zorder=2)


def _label(panel: Axes, axes: str, bounds: Bounds) -> None:
    """Names, and the same stretch of room in all panels that show an axis; a flat thing gets some height."""
    low, high = ([ends["xyz".index(axis)] / MM for axis in axes] for ends in (bounds.lower_m, bounds.upper_m))
    largest = max(b - a for a, b in zip(bounds.lower_m, bounds.upper_m, strict=True)) / MM
    (left, bottom), (right, top) = (
        [
            0.5 * (a + b) + way * (max(0.5 * (b - a), LEAST_HEIGHT * largest) + 0.05 * largest)
            for a, b in zip(low, high, strict=True)
        ]
        for way in (-1.0, 1.0)
    )
    panel.set_xlim(left, right)
    panel.set_ylim(bottom, top)
    panel.set_aspect("equal")
    panel.set_xlabel(f"{axes[0]}, mm", fontsize=9, labelpad=1)
    panel.set_ylabel(f"{axes[1]}, mm", fontsize=9, labelpad=1)
    tidy(panel)
    panel.tick_params(labelsize=8)
    panel.locator_params(nbins=6)


def _draw_arm(panel: Axes, pose: Pose, view: View) -> None:
    line = view.flat(pose.joints) / MM
    panel.plot(
        line[:, 0], line[:, 1], "-o", color=ARM, linewidth=1.6, markersize=3.2, zorder=5, label=f"arm, {pose.name}"
    )


def _across(pose: Pose) -> float:
    """How far the arm in this pose is away from the plane through the base."""
    return float(np.abs(pose.joints[:, 1] - pose.joints[0, 1]).max())


def _draw_box(panel: Axes, bounds: Bounds, view: View) -> None:
    """The box around everything, its near edges left out, three of them with numbers."""
    low, high = np.array(bounds.lower_m), np.array(bounds.upper_m)
    ends = np.stack([low, high], axis=1).tolist()
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
    corners = view.flat(np.array([[x, y, z] for x in ends[0] for y in ends[1] for z in ends[2]])) / MM
    room = 0.11 * float(np.ptp(corners, axis=0).max())
    panel.set_xlim(corners[:, 0].min() - room, corners[:, 0].max() + room)
    panel.set_ylim(corners[:, 1].min() - room, corners[:, 1].max() + room)
    panel.set_autoscale_on(False)
    panel.set_aspect("equal")


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
            panel.plot(tick[:, 0], tick[:, 1], color="#777777", linewidth=0.8, zorder=1)
            x, y = at + 0.034 * reach * outward
            panel.text(x, y, f"{value / MM:.0f}", fontsize=8, ha="center", va="center", color="#444444")
        x, y = view.flat(half_way[np.newaxis])[0] / MM + (0.095 if axis < 2 else 0.11) * reach * outward
        panel.text(x, y, f"{'xyz'[axis]}, mm", fontsize=9, ha="center", va="center")


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


def _legend(panel: Axes, entries: Sequence[tuple[str, str]], *, below: bool = False) -> None:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02), "ncols": 2} if below else {}
    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=7, color=colour, label=label) for label, colour in entries
    ]
    panel.legend(handles=handles, fontsize=8, framealpha=0.85, **({"loc": "upper left"} | style))


def _rgb(colour: str) -> tuple[float, float, float]:
    r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b

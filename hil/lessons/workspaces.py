"""What an arm reaches, as a lesson: how much is asked for, clouds by segment, volume, slices, and why a place is out.

The command and the view ask here, so both tell the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.kernels.build import fast_available
from hil.kernels.chain import chain_of
from hil.kinematics.limits import Range, range_of
from hil.kinematics.results import IkResult
from hil.kinematics.workspace.cloud import Bounds, Cloud, Progress, cloud, farthest_m
from hil.kinematics.workspace.reach_volume import REACHED, VOID, ReachMap, is_coarse, reach_map
from hil.kinematics.workspace.sweeps import count, moving_joints, nearness_m, nice_step_rad, sweeps_for_voxel, sweeps_of
from hil.lessons.thinning import Thinned, thinned
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

PLAIN_POINTS = 1_000_000
"""Points of a cloud for which no step was given, at most."""

VOXEL_POINTS, VOXEL_POINTS_WITHOUT_FAST = 200_000_000, 50_000_000
"""Points that may be spent on filling voxels: some seconds."""

VOXELS_ACROSS = 80

MANY_POINTS = 20_000_000
"""Points before which a view asks whether they are meant."""

DRAWN_POINTS = 20_000_000
"""Points that are kept to be drawn, at most; counts, bounds and volume are always of all."""


class WorkspaceAsk(Record, frozen=True):
    """Which cloud is wanted, in the words of the command's options.

    Attributes:
        robot: name or file.
        step_deg, step_mm: of every revolute and prismatic joint; None for what is usual.
        joints: names or numbers with commas; empty for all that move the tool point.
        ranges: ``JOINT:LOW:HIGH``, degrees and millimetres.
        closed: with the upper ends of the ranges.
        voxel_mm: edge; None for no volume.
    """

    robot: str
    step_deg: float | None = None
    step_mm: float | None = None
    joints: str = ""
    ranges: tuple[str, ...] = ()
    closed: bool = True
    voxel_mm: float | None = None

    def command(self) -> list[str]:
        """The command that tells the same numbers."""
        words = ["hil", "workspace", self.robot]
        for option, value in (("--step", self.step_deg), ("--step-mm", self.step_mm), ("--voxel", self.voxel_mm)):
            if value is not None:
                words += [option, f"{value:g}"]
        if self.joints:
            words += ["--joints", self.joints]
        for each in self.ranges:
            words += ["--range", each]
        return words if self.closed else [*words, "--half-open"]


class Size(NamedTuple):
    """How much work an ask is, told before it is begun.

    Attributes:
        points: of the tool's cloud.
        half_open, closed: points without and with the upper ends of the ranges.
        segments: name and points of each segment.
        warning: what it costs, where that is much; else empty.
    """

    points: int
    half_open: int
    closed: int
    segments: tuple[tuple[str, int], ...]
    warning: str


class Reached(NamedTuple):
    """What came of an ask.

    Attributes:
        report: what `hil workspace --json` prints.
        clouds: of every segment, as many points as are drawn, in an order of which each beginning is even.
        times_s: how long each segment took.
        reach: voxels; None where none were asked for.
    """

    report: dict[str, Any]
    clouds: tuple[Thinned, ...]
    times_s: tuple[float, ...]
    reach: ReachMap | None


# -- what was asked --------------------------------------------------------------------------------------


def limits_of(arm: Robot, given: Sequence[str]) -> tuple[Range, ...]:
    """The joints' ranges, with those that were given in degrees and millimetres.

    Raises:
        CommandError: not JOINT:LOW:HIGH, or no such joint.
    """
    limits = [range_of(joint) for joint in arm.model.joints]
    for text in given:
        name, *ends = text.rsplit(":", 2)
        i = joint_index(arm, name)
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            low, high = 0.0, -1.0
        if not low <= high:  # NaN is refused by this too.
            raise CommandError(
                f"--range {text} given; allowed: JOINT:LOW:HIGH, the lower number first, for example {name}:-90:90",
                axis=limits[i].name,
                value=text,
                allowed="JOINT:LOW:HIGH",
            )
        unit = DEG if limits[i].revolute else MM
        limits[i] = Range(limits[i].name, limits[i].revolute, low * unit, high * unit)
    return tuple(limits)


def moved_joints(arm: Robot, limits: Sequence[Range], joints: str | None) -> tuple[int, ...]:
    """Which joints are swept: those named, or all that move the tool point.

    Raises:
        CommandError: no such joint.
    """
    if joints is None:
        return moving_joints(chain_of(arm.model), limits)
    return tuple(sorted({joint_index(arm, name.strip()) for name in joints.split(",")}))


def joint_index(arm: Robot, name: str) -> int:
    """Index of a joint by name or number.

    Raises:
        CommandError: there is none.
    """
    names = [joint.name for joint in arm.model.joints]
    if name in names:
        return names.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    raise CommandError(
        f"{arm.name} has no joint {name!r}; allowed: {', '.join(names)}, or 1 to {len(names)}",
        axis=name,
        value=name,
        allowed=", ".join(names),
    )


def swept_cloud(
    arm: Robot,
    limits: Sequence[Range],
    moved: Sequence[int],
    step_deg: float | None,
    step_mm: float | None,
    voxel_mm: float | None,
    *,
    closed: bool,
    solid: bool,
) -> tuple[Cloud, float | None]:
    """The cloud that was asked for, and the voxel in metres where a solid is wanted.

    Raises:
        CommandError: a step, a range or a voxel that is not possible, or too many points.
    """
    chain, rest = chain_of(arm.model), arm.model.home
    step_rad = step_deg * DEG if step_deg is not None else nice_step_rad(limits, moved, PLAIN_POINTS)
    step_m = None if step_mm is None else step_mm * MM
    rough = cloud(chain, sweeps_of(limits, step_rad=step_rad, step_m=step_m, moved=moved, rest=rest), closed=closed)
    if not solid:
        return rough, None
    if voxel_mm is not None and not (math.isfinite(voxel_mm) and voxel_mm > 0.0):
        raise CommandError(f"voxel {voxel_mm:g} mm given; allowed: above 0", value=voxel_mm, allowed="above 0")
    voxel_m = voxel_mm * MM if voxel_mm is not None else usual_voxel_m(rough.bounds())
    if step_deg is not None or step_mm is not None:
        return rough, voxel_m
    most = VOXEL_POINTS if fast_available() else VOXEL_POINTS_WITHOUT_FAST
    return cloud(
        chain, sweeps_for_voxel(chain, limits, voxel_m, moved=moved, most_points=most, rest=rest), closed=closed
    ), voxel_m


def usual_voxel_m(bounds: Bounds) -> float:
    """A round number of millimetres, or of parts of one, so that the reach is some 80 voxels across."""
    size = max(max(h - w for w, h in zip(bounds.lower_m, bounds.upper_m, strict=True)), MM) / VOXELS_ACROSS / MM
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor for factor in (1, 2, 3, 5, 8, 10) if factor * power >= size * 0.999) * power * MM


def cloud_of(arm: Robot, ask: WorkspaceAsk) -> tuple[Cloud, float | None]:
    """The cloud of an ask and its voxel; quick, nothing is worked out yet.

    Raises:
        CommandError: something in it is not possible.
    """
    limits = limits_of(arm, ask.ranges)
    moved = moved_joints(arm, limits, ask.joints or None)
    solid = ask.voxel_mm is not None
    return swept_cloud(arm, limits, moved, ask.step_deg, ask.step_mm, ask.voxel_mm, closed=ask.closed, solid=solid)


def size_of(arm: Robot, ask: WorkspaceAsk) -> Size:
    """How much it is.

    Raises:
        CommandError: something in it is not possible.
    """
    tool, _ = cloud_of(arm, ask)
    warning = ""
    if tool.points > MANY_POINTS:
        warning = (
            f"{grouped(tool.points)} points: more than {grouped(MANY_POINTS)}. All of them are counted, some minutes "
            f"may pass, and {grouped(DRAWN_POINTS)} of them are drawn. A larger step makes fewer"
        )
    return Size(
        tool.points,
        count(tool.sweeps, closed=False),
        count(tool.sweeps, closed=True),
        tuple((name, part.points) for name, part in named_segments(tool)),
        warning,
    )


def named_segments(tool: Cloud) -> list[tuple[str, Cloud]]:
    """Each joint's name with the cloud of its link's end."""
    return [(sweep.name, part) for sweep, part in zip(tool.sweeps, tool.segments(), strict=True)]


# -- what came of it -------------------------------------------------------------------------------------


def reach(
    arm: Robot,
    ask: WorkspaceAsk,
    told: Callable[[int, int], None],
    clock: Callable[[], float],
    most: int = DRAWN_POINTS,
) -> Reached:
    """Work it out: the heavy part, for a process of its own.

    Args:
        arm: the robot.
        ask: what is wanted.
        told: is told how many points of how many are done.
        clock: seconds.
        most: points to draw, of all segments together.

    Raises:
        CommandError: something in it is not possible.
    """
    tool, voxel_m = cloud_of(arm, ask)
    named = named_segments(tool)
    passes = 1 if voxel_m is None else 2
    total = passes * tool.points + sum(part.points for _, part in named)
    begin = clock()
    mapped, bounds = solid_or_bounds(tool, voxel_m, lambda done: told(done, total))
    elapsed_s = clock() - begin
    done, clouds, times_s = passes * tool.points, [], []
    for name, part in named:
        begin, before = clock(), done
        share = max(1, int(most * part.points / sum(each.points for _, each in named)))
        clouds.append(thinned(name, part, share, _counting(told, before, total)))
        times_s.append(clock() - begin)
        done += part.points
    gap_m = nearness_m(tool.chain, tool.sweeps, closed=tool.closed)
    report = reach_report(arm, tool, bounds, gap_m, elapsed_s, mapped, named)
    return Reached(report, tuple(clouds), tuple(times_s), mapped)


def _counting(told: Callable[[int, int], None], before: int, total: int) -> Progress:
    return lambda done: told(before + done, total)


def solid_or_bounds(tool: Cloud, voxel_m: float | None, told: Progress) -> tuple[ReachMap | None, Bounds]:
    """Voxels and bounds, or bounds alone where no voxel is given."""
    if voxel_m is None:
        return None, tool.bounds(told)
    mapped = reach_map(tool, voxel_m, told)
    return mapped, mapped.summary.bounds


def reach_report(
    arm: Robot,
    tool: Cloud,
    bounds: Bounds,
    gap_m: float,
    elapsed_s: float,
    mapped: ReachMap | None,
    named: Sequence[tuple[str, Cloud]],
) -> dict[str, Any]:
    """All numbers, for people and programs."""
    return {
        "robot": arm.name,
        "closed": tool.closed,
        "points": tool.points,
        "points_half_open": count(tool.sweeps, closed=False),
        "points_closed": count(tool.sweeps, closed=True),
        "elapsed_s": elapsed_s,
        "sweeps": tool.sweeps,
        "segments": [
            {
                "name": name,
                "points_half_open": count(part.sweeps, closed=False),
                "points_closed": count(part.sweeps, closed=True),
            }
            for name, part in named
        ],
        "bounds": bounds,
        "stretched_out_m": farthest_m(tool.chain, tool.sweeps),
        "nearness_m": gap_m,
        "coarse": None if mapped is None else is_coarse(gap_m, mapped.summary.voxel_m),
        "reach": None if mapped is None else mapped.summary,
    }


class PlaneArea(Record, frozen=True):
    """What a plane across an axis cuts of the reach.

    Attributes:
        axis: x, y or z.
        at_mm: where the plane is.
        reached_m2, void_m2: area of the cells within reach, and of voids.
    """

    axis: str
    at_mm: float
    reached_m2: float
    void_m2: float


def plane_area(mapped: ReachMap, axis: str, at_mm: float) -> PlaneArea:
    """The area that a plane cuts.

    Raises:
        CommandError: no such axis, or the plane is beside the reach.
    """
    if axis not in ("x", "y", "z"):
        raise CommandError(f"a plane across {axis!r} given; allowed: x, y or z", value=axis, allowed="x, y, z")
    layer = mapped.slice("xyz".index(axis), at_mm * MM)
    cell = mapped.grid.voxel_m**2
    reached, void = (float(np.count_nonzero(layer == kind)) * cell for kind in (REACHED, VOID))
    return PlaneArea(axis=axis, at_mm=at_mm, reached_m2=reached, void_m2=void)


def plane_of(text: str) -> tuple[str, float]:
    """Axis and millimetres of ``z:120``.

    Raises:
        CommandError: it is none.
    """
    axis, _, number = text.partition(":")
    try:
        at_mm = float(number)
    except ValueError:
        at_mm = math.nan
    if axis.strip() not in ("x", "y", "z") or not math.isfinite(at_mm):
        raise CommandError(
            f"plane {text!r} given; allowed: x, y or z, a colon and millimetres, for example z:120",
            value=text,
            allowed="AXIS:MM",
        )
    return axis.strip(), at_mm


def solutions_at(arm: Robot, point_mm: Sequence[float]) -> IkResult:
    """Every posture that brings the tool to a place, its orientation free, or why there is none.

    The same as ``hil ik ROBOT X Y Z``.
    """
    return arm.inverse_kinematics_target([value * MM for value in point_mm])


def grouped(number: int) -> str:
    """Three digits at a time."""
    return f"{number:,}".replace(",", " ")

"""hil workspace: what an arm reaches, and what a box of places asks of its joints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import RobotName
from hil.cli.arms import AsJson
from hil.cli.output import console, print_json, print_table
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.figures.options import FigureOptions
    from hil.kinematics.limits import Range
    from hil.kinematics.workspace.cloud import Bounds, Cloud
    from hil.kinematics.workspace.joint_workspace import JointWorkspace
    from hil.kinematics.workspace.reach_volume import ReachMap
    from hil.kinematics.workspace.sweeps import Sweep
    from hil.robot import Robot

PLAIN_POINTS = 1_000_000
"""Points of a cloud for which no step was given, at most."""

VOXEL_POINTS, VOXEL_POINTS_WITHOUT_FAST = 200_000_000, 50_000_000
"""Points that may be spent on filling voxels: some seconds."""

VOXELS_ACROSS = 80
BOX_SAMPLES_ACROSS = 10

POINT_ENDINGS = (".csv", ".npz")


def add_to(app: typer.Typer) -> None:
    """Register the command; a negative number is an argument like any other."""
    app.command(context_settings={"ignore_unknown_options": True})(workspace)


def workspace(
    robot: RobotName,
    step: Annotated[
        float | None, typer.Option("--step", "--factor", metavar="DEG", help="Step of every revolute joint, degrees.")
    ] = None,
    step_mm: Annotated[
        float | None, typer.Option("--step-mm", metavar="MM", help="Step of every prismatic joint.")
    ] = None,
    joints: Annotated[
        str | None,
        typer.Option(help="Joints to sweep, names or numbers with commas; else all that move the tool point."),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="JOINT:LOW:HIGH", help="Sweep this range instead of the limits; repeatable."),
    ] = None,
    segments: Annotated[bool, typer.Option("--segments", help="The ends of all links, not of the tool alone.")] = False,
    closed: Annotated[bool, typer.Option("--closed/--half-open", help="With the upper ends of ranges or not.")] = True,
    voxel: Annotated[float | None, typer.Option(metavar="MM", help="Volume, voids and holes, with this edge.")] = None,
    slice_z: Annotated[
        float | None, typer.Option("--slice", metavar="MM", help="Height of the level slice in the picture.")
    ] = None,
    box: Annotated[
        tuple[float, float, float, float, float, float] | None,
        typer.Option(metavar="X1 Y1 Z1 X2 Y2 Z2", help="What the places of this box ask of the joints, mm."),
    ] = None,
    box_step: Annotated[float | None, typer.Option(metavar="MM", help="Distance of the box's places.")] = None,
    pitch: Annotated[float | None, typer.Option(help="With --box: tool's angle above the ground, degrees.")] = None,
    roll: Annotated[float | None, typer.Option(help="With --box: roll about the tool axis, degrees.")] = None,
    orientation: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="A B C", help="With --box: the tool's whole orientation, degrees."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", "--plot", metavar="FILE", help="A figure .png, .svg or .pdf, or points .csv or .npz."
        ),
    ] = None,
    as_json: AsJson = False,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Map what an arm reaches by sweeping its joints, its volume and voids, or what a box asks of the joints."""
    import hil

    drawn = _is_figure(output, box is not None)
    options = figure_options(width, height, font, dpi, needed_by="-o with a figure", drawn=drawn)
    if drawn and output is not None:
        from hil.figures.options import require_target

        require_target(output)
    if box is None and any(option is not None for option in (box_step, pitch, roll, orientation)):
        raise typer.BadParameter("these belong to --box", param_hint="--box-step, --pitch, --roll, --orientation")
    arm = hil.load_robot(robot)
    limits = _limits(arm, ranges or ())
    if box is not None:
        _map_box(arm, limits, box, box_step, _solver(arm, pitch, roll, orientation), output, options, as_json=as_json)
        return
    moved = _moved(arm, limits, joints)
    solid = voxel is not None or (drawn and step is None and step_mm is None and not segments)
    cloud, voxel_m = _cloud(arm, limits, moved, step, step_mm, voxel, closed=closed, solid=solid)
    _map_reach(arm, cloud, voxel_m, output, slice_z, options, segments=segments, as_json=as_json)


def _is_figure(output: Path | None, of_box: bool) -> bool:
    """Whether a figure is asked for.

    Raises:
        typer.BadParameter: neither a figure nor points are written to a file of this name.
    """
    from hil.figures.options import ENDINGS

    points: tuple[str, ...] = POINT_ENDINGS[:1] if of_box else POINT_ENDINGS
    suffix = None if output is None else output.suffix.lower()
    if suffix is None or suffix in points:
        return False
    if suffix not in ENDINGS:
        *some, last = [*ENDINGS, *points]
        allowed = f"a name that ends in {', '.join(some)} or {last}"
        raise typer.BadParameter(f"{output} given; allowed: {allowed}", param_hint="--output")
    return True


# -- the reach -------------------------------------------------------------------------------------------


def _cloud(
    arm: Robot,
    limits: Sequence[Range],
    moved: Sequence[int],
    step: float | None,
    step_mm: float | None,
    voxel: float | None,
    *,
    closed: bool,
    solid: bool,
) -> tuple[Cloud, float | None]:
    """The cloud that was asked for, and the voxel where a solid is wanted."""
    from hil.kernels.build import fast_available
    from hil.kernels.chain import chain_of
    from hil.kinematics.workspace.cloud import cloud
    from hil.kinematics.workspace.sweeps import nice_step_rad, sweeps_for_voxel, sweeps_of

    chain, rest = chain_of(arm.model), arm.model.home
    step_rad = step * DEG if step is not None else nice_step_rad(limits, moved, PLAIN_POINTS)
    step_m = None if step_mm is None else step_mm * MM
    rough = cloud(chain, sweeps_of(limits, step_rad=step_rad, step_m=step_m, moved=moved, rest=rest), closed=closed)
    if not solid:
        return rough, None
    voxel_m = voxel * MM if voxel is not None else _usual_voxel_m(rough.bounds())
    if step is not None or step_mm is not None:
        return rough, voxel_m
    most = VOXEL_POINTS if fast_available() else VOXEL_POINTS_WITHOUT_FAST
    return cloud(
        chain, sweeps_for_voxel(chain, limits, voxel_m, moved=moved, most_points=most, rest=rest), closed=closed
    ), voxel_m


def _usual_voxel_m(bounds: Bounds) -> float:
    """A round number of millimetres, or of parts of one, so that the reach is some 80 voxels across."""
    import math

    size = max(max(h - w for w, h in zip(bounds.lower_m, bounds.upper_m, strict=True)), MM) / VOXELS_ACROSS / MM
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor for factor in (1, 2, 3, 5, 8, 10) if factor * power >= size * 0.999) * power * MM


def _map_reach(
    arm: Robot,
    cloud: Cloud,
    voxel_m: float | None,
    output: Path | None,
    slice_z: float | None,
    options: FigureOptions,
    *,
    segments: bool,
    as_json: bool,
) -> None:
    from hil.kinematics.workspace.reach_volume import reach_map
    from hil.kinematics.workspace.sweeps import nearness_m

    named = [(sweep.name, part) for sweep, part in zip(cloud.sweeps, cloud.segments(), strict=True)]
    reach: ReachMap | None = None
    begin = time.perf_counter()
    if voxel_m is None:
        with _progress("points", cloud.points) as told:
            bounds = cloud.bounds(told)
    else:
        with _progress("points, twice", 2 * cloud.points) as told:
            reach = reach_map(cloud, voxel_m, told)
        bounds = reach.summary.bounds
    elapsed_s = time.perf_counter() - begin
    gap_m = nearness_m(cloud.chain, cloud.sweeps, closed=cloud.closed)
    if as_json:
        print_json(_reach_as_json(arm, cloud, bounds, gap_m, elapsed_s, reach, named))
    else:
        _tell_cloud(arm, cloud, bounds, gap_m, elapsed_s, named)
        if reach is not None:
            _tell_volume(reach, gap_m)
    if output is not None:
        _write_reach(arm, named if segments else [("tool", cloud)], cloud, reach, gap_m, slice_z, output, options)
        if not as_json:
            print(output)


def _write_reach(
    arm: Robot,
    clouds: Sequence[tuple[str, Cloud]],
    cloud: Cloud,
    reach: ReachMap | None,
    gap_m: float,
    slice_z: float | None,
    output: Path,
    options: FigureOptions,
) -> None:
    if not _is_figure(output, False):
        from hil.workbench.workspace_files import write_cloud

        with _progress("points written", sum(each.points for _, each in clouds)) as told:
            write_cloud(clouds, output, told)
        return
    from hil.workbench.workspace_pictures import Pose, draw_cloud, draw_reach

    at_home = arm.model.home is not None
    q = [s.lower if s.held else min(max(0.0, s.lower), s.upper) for s in cloud.sweeps]
    pose = Pose(arm.link_frames(arm.model.home or q)[:, :3, 3], "home" if at_home else "zeros")
    if reach is not None and len(clouds) == 1:
        draw_reach(
            f"{arm.model.title}: reach of the tool point",
            reach,
            pose,
            output,
            nearness_m=gap_m,
            slice_z_m=None if slice_z is None else slice_z * MM,
            options=options,
        )
        return
    steps = ", ".join(f"{s.name} {_amount(s, s.step)}" for s in cloud.sweeps if not s.held)
    ends = "with" if cloud.closed else "without"
    words = (
        f"steps: {steps}; {ends} the upper ends. Points alone, nothing is said of what lies between them: "
        f"a place within reach may be {gap_m / MM:.0f} mm from any point of the tool"
    )
    draw_cloud(f"{arm.model.title}: forward cloud", clouds, pose, words, output, nearness_m=gap_m, options=options)


def _tell_cloud(
    arm: Robot,
    cloud: Cloud,
    bounds: Bounds,
    gap_m: float,
    elapsed_s: float,
    named: Sequence[tuple[str, Cloud]],
) -> None:
    from hil.kinematics.workspace.cloud import farthest_m
    from hil.kinematics.workspace.sweeps import count

    rows = []
    for i, (sweep, (_, part)) in enumerate(zip(cloud.sweeps, named, strict=True), 1):
        way = f"held at {_amount(sweep, sweep.lower)}"
        if not sweep.held:
            way = f"{_amount(sweep, sweep.lower)} to {_amount(sweep, sweep.upper)}"
        half_open, closed = (_grouped(count(part.sweeps, closed=which)) for which in (False, True))
        rows.append([str(i), sweep.name, way, "" if sweep.held else _amount(sweep, sweep.step), half_open, closed])
    print_table(
        f"{arm.model.title}: points of the end of each link",
        ["i", "link of joint", "sweep", "step", "points half open", "points closed"],
        rows,
    )
    out = console()
    kind = "closed: with the upper end of every range" if cloud.closed else "half open: without the upper ends"
    out.print(f"{_grouped(cloud.points)} points ({kind}), elapsed {elapsed_s:.3f} s")
    for axis, low, high in zip("xyz", bounds.lower_m, bounds.upper_m, strict=True):
        out.print(f"{axis} from {low / MM:z.1f} to {high / MM:z.1f} mm")
    stretched = farthest_m(cloud.chain, cloud.sweeps)
    out.print(f"stretched out, all links together reach {stretched / MM:.1f} mm from the origin of the base")
    out.print(f"every place within reach is {gap_m / MM:.1f} mm or less from a point of the cloud")


def _tell_volume(reach: ReachMap, gap_m: float) -> None:
    from hil.kinematics.workspace.reach_volume import is_coarse

    summary = reach.summary
    out = console()
    if is_coarse(gap_m, summary.voxel_m):
        out.print(
            f"coarse: no volume, voids or holes are told, since places within reach are up to {gap_m / MM:.0f} mm "
            f"from any point, which is too far for a voxel of {summary.voxel_m / MM:g} mm. "
            "Take a larger --voxel, a smaller --step, or fewer --joints"
        )
        return
    size = f"volume {summary.volume_m3:.6g} m3 (all voxels touched: {summary.touched_m3:.6g} m3)"
    if summary.area_m2 is not None:
        size = f"area {summary.area_m2:.6g} m2: the tool point stays in one plane, there is no volume"
    out.print(f"{size}; voxel {summary.voxel_m / MM:g} mm")
    holes = f"holes through: {summary.holes or 'none'}"
    out.print(f"connected pieces: {summary.pieces}; {holes}; voids enclosed: {len(summary.voids) or 'none'}")
    for void in summary.voids:
        ends = "; ".join(
            f"{axis} {low / MM:z.0f} to {high / MM:z.0f}"
            for axis, low, high in zip("xyz", void.lower_m, void.upper_m, strict=True)
        )
        out.print(f"  void of {void.volume_m3:.4g} m3, within {ends} mm")


def _reach_as_json(
    arm: Robot,
    cloud: Cloud,
    bounds: Bounds,
    gap_m: float,
    elapsed_s: float,
    reach: ReachMap | None,
    named: Sequence[tuple[str, Cloud]],
) -> dict[str, Any]:
    from hil.kinematics.workspace.cloud import farthest_m
    from hil.kinematics.workspace.reach_volume import is_coarse
    from hil.kinematics.workspace.sweeps import count

    return {
        "robot": arm.name,
        "closed": cloud.closed,
        "points": cloud.points,
        "points_half_open": count(cloud.sweeps, closed=False),
        "points_closed": count(cloud.sweeps, closed=True),
        "elapsed_s": elapsed_s,
        "sweeps": cloud.sweeps,
        "segments": [
            {
                "name": name,
                "points_half_open": count(part.sweeps, closed=False),
                "points_closed": count(part.sweeps, closed=True),
            }
            for name, part in named
        ],
        "bounds": bounds,
        "stretched_out_m": farthest_m(cloud.chain, cloud.sweeps),
        "nearness_m": gap_m,
        "coarse": None if reach is None else is_coarse(gap_m, reach.summary.voxel_m),
        "reach": None if reach is None else reach.summary,
    }


# -- a box -----------------------------------------------------------------------------------------------


def _solver(
    arm: Robot, pitch: float | None, roll: float | None, orientation: tuple[float, float, float] | None
) -> Callable[[tuple[float, float, float]], Any]:
    """Inverse kinematics with the orientation that was asked for."""
    if orientation is None:
        pitch_rad, roll_rad = (None if angle is None else angle * DEG for angle in (pitch, roll))
        return lambda point: arm.inverse_kinematics_target(point, pitch_rad=pitch_rad, roll_rad=roll_rad)
    if pitch is not None or roll is not None:
        raise typer.BadParameter("give either this or --pitch and --roll", param_hint="--orientation")
    from hil.kinematics.poses import xyzabc_to_pose

    turned = xyzabc_to_pose([0.0, 0.0, 0.0, *orientation])

    def solve(point: tuple[float, float, float]) -> Any:
        turned[:3, 3] = point
        return arm.inverse_kinematics(turned)

    return solve


def _map_box(
    arm: Robot,
    limits: Sequence[Range],
    box: tuple[float, float, float, float, float, float],
    box_step: float | None,
    solve: Callable[[tuple[float, float, float]], Any],
    output: Path | None,
    options: FigureOptions,
    *,
    as_json: bool,
) -> None:
    import math

    from hil.kinematics.workspace.joint_workspace import box_points, joint_workspace

    corner, opposite = [v * MM for v in box[:3]], [v * MM for v in box[3:]]
    usual = max(abs(b - a) for a, b in zip(corner, opposite, strict=True)) / BOX_SAMPLES_ACROSS
    step_m = box_step * MM if box_step is not None else usual if math.isfinite(usual) and usual > 0.0 else MM
    points = box_points(corner, opposite, step_m)
    begin = time.perf_counter()
    with _progress("places", len(points)) as told:
        result = joint_workspace(points, solve, limits, told)
    elapsed_s = time.perf_counter() - begin
    if as_json:
        import msgspec

        shown = {key: value for key, value in msgspec.to_builtins(result).items() if key != "samples"}
        print_json({"robot": arm.name, "samples": len(points), "elapsed_s": elapsed_s, **shown})
    else:
        _tell_box(arm, limits, result, elapsed_s)
    if output is not None:
        revolute = [each.revolute for each in limits]
        if output.suffix.lower() == ".csv":
            from hil.workbench.workspace_files import write_box

            write_box(result, revolute, output)
        else:
            from hil.workbench.workspace_pictures import draw_box

            ends = " to ".join("({:g}, {:g}, {:g})".format(*half) for half in (box[:3], box[3:]))
            words = (
                f"{len(points)} places, {step_m / MM:g} mm apart at most: {result.usable} can be used, "
                f"{result.beyond_limits} only beyond limits, {result.out_of_reach} are out of reach"
            )
            units = [DEG if turns else MM for turns in revolute]
            draw_box(f"{arm.model.title}: joint workspace of the box {ends} mm", result, units, words, output, options)
        if not as_json:
            print(output)


def _tell_box(arm: Robot, limits: Sequence[Range], result: JointWorkspace, elapsed_s: float) -> None:
    def ends(low: float | None, high: float | None, limit: Range) -> str:
        texts = ["open" if v is None else limit.text(v) for v in (low, high)]
        return " to ".join(texts)

    print_table(
        f"{arm.model.title}: what the box asks of the joints",
        ["i", "joint", "limits", "needed", "lamp"],
        (
            [
                str(i),
                need.name,
                ends(need.lower, need.upper, limit),
                "nothing within reach"
                if need.needed_lower is None
                else ends(need.needed_lower, need.needed_upper, limit),
                f"LIT: {need.lamp} places, {limit.text(need.worst)} beyond at worst" if need.lamp else "off",
            ]
            for i, (need, limit) in enumerate(zip(result.joints, limits, strict=True), 1)
        ),
    )
    if result.postures:
        print_table(
            "one posture kept all over the box",
            ["posture", "places reached", "usable", *(limit.name for limit in limits)],
            (
                [
                    posture.branch or "(numeric)",
                    str(posture.samples),
                    str(posture.usable),
                    *(
                        f"{ends(*need, limit)}{' LIT' * bool(lamp)}"
                        for need, lamp, limit in zip(posture.needed, posture.lamps, limits, strict=True)
                    ),
                ]
                for posture in result.postures
            ),
        )
    console().print(
        f"{len(result.samples)} places in {elapsed_s:.2f} s: {result.usable} can be used, "
        f"{result.beyond_limits} only beyond limits, {result.out_of_reach} are out of reach"
    )


# -- what was asked --------------------------------------------------------------------------------------


def _limits(arm: Robot, given: Sequence[str]) -> tuple[Range, ...]:
    """The joints' ranges, with those that were given in degrees and millimetres."""
    from hil.errors import CommandError
    from hil.kinematics.limits import Range, range_of

    limits = [range_of(joint) for joint in arm.model.joints]
    for text in given:
        name, *ends = text.rsplit(":", 2)
        i = _joint(arm, name)
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


def _moved(arm: Robot, limits: Sequence[Range], joints: str | None) -> tuple[int, ...]:
    from hil.kernels.chain import chain_of
    from hil.kinematics.workspace.sweeps import moving_joints

    if joints is None:
        return moving_joints(chain_of(arm.model), limits)
    return tuple(sorted({_joint(arm, name.strip()) for name in joints.split(",")}))


def _joint(arm: Robot, name: str) -> int:
    """Index of a joint by name or number."""
    from hil.errors import CommandError

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


def _amount(sweep: Sweep, value: float) -> str:
    return f"{value / DEG:z.4g} deg" if sweep.revolute else f"{value / MM:z.4g} mm"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that leaves nothing behind; none where that is no terminal."""
    import sys

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    seen = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not seen) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)

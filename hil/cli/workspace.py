"""hil workspace: what an arm reaches, and what a box of places asks of its joints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import RobotName
from hil.cli._progress import progress
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
    planes: Annotated[
        list[str] | None,
        typer.Option("--plane", metavar="AXIS:MM", help="With --voxel: the area that this plane cuts; repeatable."),
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
    from hil.lessons.workspaces import limits_of, moved_joints, plane_of, swept_cloud

    cuts = [plane_of(text) for text in planes or ()]
    if cuts and (voxel is None or box is not None):
        raise typer.BadParameter("this belongs to --voxel", param_hint="--plane")
    arm = hil.load_robot(robot)
    limits = limits_of(arm, ranges or ())
    if box is not None:
        _map_box(arm, limits, box, box_step, _solver(arm, pitch, roll, orientation), output, options, as_json=as_json)
        return
    moved = moved_joints(arm, limits, joints)
    solid = voxel is not None or (drawn and step is None and step_mm is None and not segments)
    cloud, voxel_m = swept_cloud(arm, limits, moved, step, step_mm, voxel, closed=closed, solid=solid)
    _map_reach(arm, cloud, voxel_m, cuts, output, slice_z, options, segments=segments, as_json=as_json)


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


def _map_reach(
    arm: Robot,
    cloud: Cloud,
    voxel_m: float | None,
    cuts: Sequence[tuple[str, float]],
    output: Path | None,
    slice_z: float | None,
    options: FigureOptions,
    *,
    segments: bool,
    as_json: bool,
) -> None:
    from hil.kinematics.workspace.sweeps import nearness_m
    from hil.lessons.workspaces import named_segments, plane_area, reach_report, solid_or_bounds

    named = named_segments(cloud)
    begin = time.perf_counter()
    what, passes = ("points", 1) if voxel_m is None else ("points, twice", 2)
    with progress(what, passes * cloud.points) as told:
        reach, bounds = solid_or_bounds(cloud, voxel_m, told)
    elapsed_s = time.perf_counter() - begin
    gap_m = nearness_m(cloud.chain, cloud.sweeps, closed=cloud.closed)
    areas = [] if reach is None else [plane_area(reach, axis, at_mm) for axis, at_mm in cuts]
    if as_json:
        report = reach_report(arm, cloud, bounds, gap_m, elapsed_s, reach, named)
        print_json({**report, "planes": areas} if areas else report)
    else:
        _tell_cloud(arm, cloud, bounds, gap_m, elapsed_s, named)
        if reach is not None:
            _tell_volume(reach, gap_m)
        for each in areas:
            words = f"{each.reached_m2:.6g} m2 within reach, {each.void_m2:.6g} m2 in voids"
            console().print(f"plane {each.axis} = {each.at_mm:g} mm: {words}")
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

        with progress("points written", sum(each.points for _, each in clouds)) as told:
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
    from hil.lessons.workspaces import grouped

    rows = []
    for i, (sweep, (_, part)) in enumerate(zip(cloud.sweeps, named, strict=True), 1):
        way = f"held at {_amount(sweep, sweep.lower)}"
        if not sweep.held:
            way = f"{_amount(sweep, sweep.lower)} to {_amount(sweep, sweep.upper)}"
        half_open, closed = (grouped(count(part.sweeps, closed=which)) for which in (False, True))
        rows.append([str(i), sweep.name, way, "" if sweep.held else _amount(sweep, sweep.step), half_open, closed])
    print_table(
        f"{arm.model.title}: points of the end of each link",
        ["i", "link of joint", "sweep", "step", "points half open", "points closed"],
        rows,
    )
    out = console()
    kind = "closed: with the upper end of every range" if cloud.closed else "half open: without the upper ends"
    out.print(f"{grouped(cloud.points)} points ({kind}), elapsed {elapsed_s:.3f} s")
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


# -- a box -----------------------------------------------------------------------------------------------


def _solver(
    arm: Robot, pitch: float | None, roll: float | None, orientation: tuple[float, float, float] | None
) -> Callable[[tuple[float, float, float]], Any]:
    """Inverse kinematics with the orientation that was asked for."""
    if orientation is not None and (pitch is not None or roll is not None):
        raise typer.BadParameter("give either this or --pitch and --roll", param_hint="--orientation")
    from hil.lessons.boxes import solver

    return solver(arm, pitch, roll, orientation)


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
    from hil.kinematics.workspace.joint_workspace import box_points, joint_workspace
    from hil.lessons.boxes import dexterity, step_of

    corner, opposite = [v * MM for v in box[:3]], [v * MM for v in box[3:]]
    step_m = step_of(corner, opposite, box_step)
    points = box_points(corner, opposite, step_m)
    begin = time.perf_counter()
    with progress("places", len(points)) as told:
        result = joint_workspace(points, solve, limits, told)
    elapsed_s = time.perf_counter() - begin
    if as_json:
        import msgspec

        shown = {key: value for key, value in msgspec.to_builtins(result).items() if key != "samples"}
        shown["dexterity"] = dexterity(result)
        print_json({"robot": arm.name, "samples": len(points), "elapsed_s": elapsed_s, **shown})
    else:
        _tell_box(arm, limits, result, elapsed_s)
        ways = dexterity(result)
        counts = ", ".join(f"{places} with {number}" for number, places in enumerate(ways.places))
        console().print(f"postures within limits at a place: {ways.mean:.2f} on the average; places: {counts}")
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


def _amount(sweep: Sweep, value: float) -> str:
    return f"{value / DEG:z.4g} deg" if sweep.revolute else f"{value / MM:z.4g} mm"

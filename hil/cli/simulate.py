"""hil simulate: one run of a controlled arm, desired against actual."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli import _experiment_options as options
from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import RobotName
from hil.cli.arms import AsJson
from hil.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from hil.control.energy import EnergyBook
    from hil.control.experiment import Experiment
    from hil.control.summary import RunSummary
    from hil.robot import Robot


def add_to(app: typer.Typer) -> None:
    """Register the command; a negative number is an argument like any other."""
    app.command()(simulate)


def simulate(
    robot: RobotName,
    to: options.To = None,
    start: options.From = None,
    to_pose: options.ToPose = None,
    from_pose: options.FromPose = None,
    follow: options.Follow = None,
    reference: options.ReferenceKind = None,
    duration: options.Duration = None,
    settle: options.Settle = None,
    blend: options.Blend = None,
    cruise: options.Cruise = None,
    start_speed: options.StartSpeed = None,
    end_speed: options.EndSpeed = None,
    law: options.LawName = None,
    kp: options.Kp = None,
    kd: options.Kd = None,
    ki: options.Ki = None,
    bandwidth: options.Bandwidth = None,
    factor: options.Factor = None,
    rate: options.Rate = None,
    delay: options.Delay = None,
    resolution: options.Resolution = None,
    noise: options.Noise = None,
    seed: options.Seed = None,
    speeds: options.SpeedsFrom = None,
    torque_limit: options.TorqueLimit = None,
    friction: options.WithFriction = None,
    viscous: options.Viscous = None,
    dry: options.Dry = None,
    armature: options.Armature = None,
    stops: options.WithStops = None,
    payload: options.Payload = None,
    payload_known: options.PayloadKnown = None,
    estimate_masses: options.EstimateMasses = None,
    gravity: options.Gravity = None,
    disturb: options.Disturb = None,
    integrator: options.IntegratorName = None,
    step: options.Step = None,
    fall: Annotated[
        bool, typer.Option("--free-fall", help="Let the arm go, without a controller; see its energy.")
    ] = False,
    energy: Annotated[bool, typer.Option("--energy", help="The energy book of the run.")] = False,
    inverse: Annotated[
        bool,
        typer.Option("--inverse", help="No run: the torques that the reference asks for, and what they are made of."),
    ] = False,
    settings: options.Settings = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the run: .csv, .png, .svg, .pdf, .html, .mcap or .json (settings alone); repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Run a controlled arm in simulation: wanted and actual position, speed and torque."""
    given = dict(locals())
    import msgspec

    import hil
    from hil.control.energy import energy_book
    from hil.control.experiment import free_fall
    from hil.control.loop import ClosedLoop
    from hil.control.summary import summary_of
    from hil.figures.options import ENDINGS

    files = output or []
    drawn = any(file.suffix.lower() in (*ENDINGS, ".html") for file in files)
    figures = figure_options(width, height, font, dpi, needed_by="-o with a figure", drawn=drawn)
    if files:
        from hil.workbench.control_files import require_files

        require_files(files)
    arm = hil.load_robot(robot)
    experiment = options.experiment_of(arm, robot, settings, given)
    if inverse:
        _inverse(options.arm_for(arm, experiment), experiment, files, as_json=as_json, fall=fall or energy)
        return
    if fall:
        experiment = free_fall(experiment, plain_steps=integrator == "steps")
    arm = options.arm_for(arm, experiment)
    loop = ClosedLoop(arm.model, experiment)
    trace = loop.trace()
    summary = summary_of(arm, experiment, trace)
    book = energy_book(loop, trace) if energy or fall else None
    if as_json:
        print_json({**msgspec.to_builtins(summary), **({} if book is None else {"energy_j": book})})
    else:
        _tell(arm.model.title, summary, fall=fall)
        if book is not None:
            _tell_energy(book)
    if files:
        from hil.workbench.control_files import write_run

        for file in files:
            write_run(file, arm, experiment, trace, summary, figures)
            if not as_json:
                print(file)
    if summary.unstable:
        raise typer.Exit(1)


def _inverse(arm: Robot, experiment: Experiment, files: list[Path], *, as_json: bool, fall: bool) -> None:
    """What the motors have to give, without a controller."""
    from hil.errors import CommandError
    from hil.lessons.dynamics import needed_columns, needed_of_joints, needed_torques
    from hil.workbench.control_files import write_columns

    if fall:
        raise typer.BadParameter("nothing is run, so there is no fall and no energy book", param_hint="--inverse")
    for file in files:
        if file.suffix.lower() != ".csv":
            raise CommandError(f"--inverse -o {file} given; allowed: a name that ends in .csv", value=file)
    needed = needed_torques(arm, experiment)
    joints = needed_of_joints(arm, needed)
    if as_json:
        print_json({"robot": arm.name, "ticks": len(needed.time_s), "joints": joints})
    else:
        print_table(
            f"{arm.model.title}: torques that the motion asks for",
            [
                "joint",
                "largest",
                "at",
                "rms",
                "of inertia",
                "of speeds",
                "of gravity",
                "of friction",
                "at rest, at the end",
            ],
            (
                [
                    joint.name,
                    f"{joint.largest:z.4g} {joint.unit}",
                    f"{joint.largest_s:.3f} s",
                    f"{joint.rms:.4g}",
                    f"{joint.largest_inertia:.4g}",
                    f"{joint.largest_speeds:.4g}",
                    f"{joint.largest_gravity:.4g}",
                    f"{joint.largest_friction:.4g}",
                    f"{joint.at_rest:z.4g}",
                ]
                for joint in joints
            ),
        )
    for file in files:
        write_columns(file, *needed_columns(arm, needed))
        if not as_json:
            print(file)


def _tell_energy(book: EnergyBook) -> None:
    print_table(
        "energy",
        ["", "J"],
        [
            ["kinetic at the start", f"{book.kinetic_start:.5g}"],
            ["potential at the start", f"{book.potential_start:.5g}"],
            ["work of the motors", f"{book.motors:+.5g}"],
            ["work from outside", f"{book.outside:+.5g}"],
            ["viscous friction", f"{book.viscous:+.5g}"],
            ["dry friction and stops", f"{book.dry_and_stops:+.5g}"],
            ["unexplained", f"{book.unexplained:+.3g}"],
            ["kinetic at the end", f"{book.kinetic_end:.5g}"],
            ["potential at the end", f"{book.potential_end:.5g}"],
        ],
    )
    console().print(
        f"unexplained at most {book.drift:.2%} of the largest kinetic energy, {book.kinetic_most:.5g} J: "
        "what the integration does wrong, and what adding up from tick to tick leaves"
    )


def _tell(title: str, summary: RunSummary, *, fall: bool) -> None:
    ends, off = (("start", "end"), "difference") if fall else (("wanted", "actual"), "error")
    print_table(
        f"{title}: {' and '.join(ends)}",
        ["joint", *ends, f"largest {off}", "at", f"rms {off}", "largest speed", "largest torque", "at limit"],
        (
            [
                joint.name,
                f"{joint.wanted:z.2f} {joint.unit}",
                f"{joint.actual:z.2f} {joint.unit}",
                joint.error_text(joint.largest_error),
                f"{joint.largest_error_s:.3f} s",
                joint.error_text(joint.rms_error),
                f"{joint.largest_speed:.1f} {joint.unit}/s",
                f"{joint.largest_torque:.2f} {'N m' if joint.unit == 'deg' else 'N'}",
                f"{joint.at_limit:.0%}",
            ]
            for joint in summary.joints
        ),
    )
    out = console()
    out.print(f"tool: {summary.tool_largest_mm:.3g} mm off at most, {summary.tool_end_mm:.3g} mm at the end")
    if summary.cost is not None and not fall:
        out.print(
            f"cost: {summary.cost:.5g} (sum of the errors' sizes over {summary.ticks} ticks at "
            f"{summary.rate_hz:g} Hz), times the tick {summary.cost_s:.5g} s"
        )
    for words in (summary.unstable, summary.estimated):
        if words:
            out.print(words)

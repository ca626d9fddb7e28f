"""Options that hil simulate and hil tune share: what makes an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hil.control.experiment import Experiment
    from hil.robot import Robot

REFERENCE, CONTROLLER, ARM = "Reference", "Controller", "Arm"

Settings = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", help="Begin with the settings of this .json or .toml; options change them."
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        metavar="Q,...", help="Where to go: degrees (mm), one per joint; or J2=45,J3=-10.", rich_help_panel=REFERENCE
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="Q,...", help="Where to begin; the home of the arm's file without it.",
        rich_help_panel=REFERENCE,
    ),
]  # fmt: skip
ToPose = Annotated[
    str | None,
    typer.Option(metavar="X,Y,Z[,A,B,C]", help="Where the tool should go, mm and degrees.", rich_help_panel=REFERENCE),
]
FromPose = Annotated[
    str | None,
    typer.Option(metavar="X,Y,Z[,A,B,C]", help="Where the tool should begin.", rich_help_panel=REFERENCE),
]
Follow = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The motion of a task (.toml), of a journal (.mcap) or of a table (.csv) as the reference.",
        rich_help_panel=REFERENCE,
    ),
]
ReferenceKind = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="KIND",
        help="cubic, blended, quintic, trapezoid, jerk-limited or hold.",
        rich_help_panel=REFERENCE,
    ),
]
Duration = Annotated[
    float | None, typer.Option(metavar="S", help="Of the motion; 1 s without it.", rich_help_panel=REFERENCE)
]
Settle = Annotated[
    float | None, typer.Option(metavar="S", help="How long to go on after it.", rich_help_panel=REFERENCE)
]
Blend = Annotated[
    float | None,
    typer.Option(metavar="S", help="Of each blend; a quarter of the motion without it.", rich_help_panel=REFERENCE),
]
Cruise = Annotated[
    str | None, typer.Option(metavar="V,...", help="Speed between cubic blends, deg/s.", rich_help_panel=REFERENCE)
]
StartSpeed = Annotated[
    str | None, typer.Option(metavar="V,...", help="Of a cubic or quintic, deg/s.", rich_help_panel=REFERENCE)
]
EndSpeed = Annotated[
    str | None, typer.Option(metavar="V,...", help="Of a cubic or quintic, deg/s.", rich_help_panel=REFERENCE)
]
LawName = Annotated[
    str | None,
    typer.Option(
        "--law",
        metavar="LAW",
        help="pd, pid, pd-gravity, pid-gravity, computed-torque or scaled-pd; pd-gravity without it.",
        rich_help_panel=CONTROLLER,
    ),
]
Kp = Annotated[
    str | None, typer.Option(metavar="K,...", help="One for all joints or one each.", rich_help_panel=CONTROLLER)
]
Kd = Annotated[str | None, typer.Option("--kd", "--kv", metavar="K,...", help="Likewise.", rich_help_panel=CONTROLLER)]
Ki = Annotated[str | None, typer.Option(metavar="K,...", help="Likewise.", rich_help_panel=CONTROLLER)]
Bandwidth = Annotated[
    float | None,
    typer.Option(metavar="HZ", help="Gains follow from this where none are given; 5.", rich_help_panel=CONTROLLER),
]
Factor = Annotated[
    str | None, typer.Option(metavar="F;...", help="f of scaled-pd, one or one each.", rich_help_panel=CONTROLLER)
]
Rate = Annotated[
    float | None, typer.Option(metavar="HZ", help="Of the controller; 1000 without it.", rich_help_panel=CONTROLLER)
]
Delay = Annotated[
    float | None, typer.Option(metavar="MS", help="From measuring to torque.", rich_help_panel=CONTROLLER)
]
Resolution = Annotated[
    str | None, typer.Option(metavar="DEG,...", help="Step of the encoders.", rich_help_panel=CONTROLLER)
]
Noise = Annotated[
    str | None,
    typer.Option(metavar="DEG,...", help="Standard deviation of measured positions.", rich_help_panel=CONTROLLER),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Of the noise.", rich_help_panel=CONTROLLER)]
SpeedsFrom = Annotated[
    str | None,
    typer.Option(
        "--speeds", metavar="exact|difference", help="Speeds that the controller sees.", rich_help_panel=CONTROLLER
    ),
]
TorqueLimit = Annotated[str | None, typer.Option(metavar="NM,...", help="Of the motors.", rich_help_panel=ARM)]
WithFriction = Annotated[
    bool | None,
    typer.Option("--friction/--no-friction", help="Friction of the arm's file.", show_default=False,
                 rich_help_panel=ARM),
]  # fmt: skip
Viscous = Annotated[
    str | None, typer.Option(metavar="NMS,...", help="Instead of the file's, N m s/rad.", rich_help_panel=ARM)
]
Dry = Annotated[str | None, typer.Option(metavar="NM,...", help="Instead of the file's.", rich_help_panel=ARM)]
Armature = Annotated[
    str | None, typer.Option(metavar="KGM2,...", help="Motors beyond the file's.", rich_help_panel=ARM)
]
WithStops = Annotated[
    bool | None,
    typer.Option("--stops/--no-stops", help="The joints' limits stop them.", show_default=False, rich_help_panel=ARM),
]
Payload = Annotated[float | None, typer.Option(metavar="KG", help="At the tool point.", rich_help_panel=ARM)]
PayloadKnown = Annotated[
    bool | None,
    typer.Option("--payload-known/--payload-unknown", help="Whether the controller knows of it.", show_default=False,
                 rich_help_panel=ARM),
]  # fmt: skip
EstimateMasses = Annotated[
    bool | None,
    typer.Option(
        "--estimate-masses/--masses-of-file",
        help="Masses from the links' shapes, where no source gives any.",
        show_default=False,
        rich_help_panel=ARM,
    ),
]
Gravity = Annotated[
    str | None, typer.Option(metavar="X,Y,Z", help="Of free fall, m/s2; 0,0,-9.81 without it.", rich_help_panel=ARM)
]
Disturb = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JOINT:NM[:FROM[:UNTIL]]", help="A torque from outside, times in s; repeatable.", rich_help_panel=ARM
    ),
]
IntegratorName = Annotated[
    str | None,
    typer.Option(
        "--integrator",
        metavar="steps|midpoint|adaptive",
        help="Fixed steps, fixed steps by the midpoint rule (a free fall's without this), or SciPy's.",
        rich_help_panel=ARM,
    ),
]
Step = Annotated[
    float | None, typer.Option(metavar="MS", help="Longest step of the equations; 1 ms.", rich_help_panel=ARM)
]


def experiment_of(arm: Robot, robot: str, settings: Path | None, given: dict[str, Any]) -> Experiment:
    """The experiment that the options describe; as `hil.lessons.experiments.experiment_of`."""
    from hil.lessons import experiments
    from hil.workbench.recorded_reference import reference_of_file

    return experiments.experiment_of(arm, robot, settings, given, reference_of_file)


def arm_for(arm: Robot, experiment: Experiment) -> Robot:
    """The arm with the masses that the experiment asks for."""
    from hil.lessons.experiments import arm_for

    return arm_for(arm, experiment)

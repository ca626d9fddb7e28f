"""hil fk and hil ik: where the tool is, and every way to reach a place."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table
from hil.units import DEG, MM

_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Register the commands; a negative number is an argument like any other."""
    app.command(context_settings=_NEGATIVE_NUMBERS)(fk)
    app.command(context_settings=_NEGATIVE_NUMBERS)(ik)


def fk(
    robot: Annotated[str, typer.Argument(help="Robot's name or file.")],
    q: Annotated[list[float], typer.Argument(help="One value per joint: degrees, millimetres if prismatic.")],
    as_json: AsJson = False,
) -> None:
    """Forward kinematics: the tool's pose for given joint values."""
    import hil
    from hil.errors import CommandError
    from hil.kinematics.poses import xyz_abc
    from hil.model.robot import JointType

    arm = hil.load_robot(robot)
    if len(q) != arm.dof:
        names = ", ".join(joint.name for joint in arm.model.joints)
        raise CommandError(f"{arm.name}: {len(q)} joint values given; allowed: {arm.dof} ({names})", value=q)
    units = [DEG if joint.type is JointType.REVOLUTE else MM for joint in arm.model.joints]
    pose = arm.forward_kinematics([value * unit for value, unit in zip(q, units, strict=True)])
    readout = xyz_abc(pose)
    if as_json:
        print_json({"pose_m": pose.tolist(), "xyz_mm": readout.xyz_mm, "abc_deg": readout.abc_deg})
        return
    _print_pose(pose, readout)


def _print_pose(pose: Any, readout: Any) -> None:
    x, y, z = readout.xyz_mm
    a, b, c = readout.abc_deg
    console().print(f"X {x:.3f}  Y {y:.3f}  Z {z:.3f} mm   A {a:.4f}  B {b:.4f}  C {c:.4f} deg (fixed X, Y, Z)")
    if readout.note:
        console().print(readout.note)
    for row in pose:
        console().print("  ".join(f"{value:10.6f}" for value in row))


def ik(
    robot: Annotated[str, typer.Argument(help="Robot's name or file.")],
    target: Annotated[list[float], typer.Argument(help="X Y Z in mm, or X Y Z A B C in mm and degrees.")],
    pitch: Annotated[float | None, typer.Option(help="Angle of the tool above the ground, degrees.")] = None,
    roll: Annotated[float | None, typer.Option(help="Roll about the tool axis, degrees.")] = None,
    all_branches: Annotated[bool, typer.Option("--all", help="List solutions outside the limits too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Inverse kinematics: every way to reach a place, or why there is none."""
    import hil
    from hil.errors import CommandError
    from hil.kinematics.poses import pose_from_xyz_abc
    from hil.model.robot import JointType

    arm = hil.load_robot(robot)
    if len(target) == 6 and pitch is None and roll is None:
        result = arm.inverse_kinematics(pose_from_xyz_abc(target[:3], target[3:]))
    elif len(target) == 3:
        result = arm.inverse_kinematics_target(
            [value * MM for value in target],
            pitch_rad=None if pitch is None else pitch * DEG,
            roll_rad=None if roll is None else roll * DEG,
        )
    else:
        raise CommandError(
            f"target: {len(target)} numbers given; allowed: 3 (X Y Z, with --pitch and --roll if wanted) "
            "or 6 (X Y Z A B C, without them)",
            value=target,
        )
    solutions = [s for s in result.solutions if all_branches or s.within_limits]
    if as_json:
        print_json(result)
    elif solutions:
        units = [DEG if joint.type is JointType.REVOLUTE else MM for joint in arm.model.joints]
        print_table(
            f"{len(solutions)} of {len(result.solutions)} solutions",
            [*(joint.name for joint in arm.model.joints), "branch", "within limits"],
            (
                [
                    *(f"{value / unit:.4f}" for value, unit in zip(s.q, units, strict=True)),
                    s.branch,
                    "yes" if s.within_limits else "no",
                ]
                for s in solutions
            ),
        )
    if not any(s.within_limits for s in result.solutions):
        complain(f"{arm.name}: {result.reason}")
        raise typer.Exit(1)

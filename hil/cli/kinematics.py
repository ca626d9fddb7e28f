"""hil fk and hil ik: where the tool is, and every way to reach a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._names import RobotName
from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.kinematics.results import IkSolution
    from hil.robot import Robot

_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Register the commands; a negative number is an argument like any other."""
    app.command(context_settings=_NEGATIVE_NUMBERS)(fk)
    app.command(context_settings=_NEGATIVE_NUMBERS)(ik)


def fk(
    robot: RobotName,
    joints: Annotated[
        list[str], typer.Argument(metavar="Q...", help="One value per joint: degrees, millimetres if prismatic.")
    ],
    frames: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="I J",
            help="From one frame to another one: 0 is the base's, 1 and on those of the rows, one more the tool's.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forward kinematics: the tool's pose for given joint values."""
    import msgspec

    import hil
    from hil.errors import CommandError
    from hil.kinematics.poses import pose_to_xyzabc
    from hil.model.robot import JointType
    from hil.motion.unit_hints import radians_hint

    q = numbers_of(joints, "hil fk")
    arm = hil.load_robot(robot)
    if len(q) != arm.dof:
        names = ", ".join(joint.name for joint in arm.model.joints)
        raise CommandError(f"{arm.name}: {len(q)} joint values given; allowed: {arm.dof} ({names})", value=q)
    units = [DEG if joint.type is JointType.REVOLUTE else MM for joint in arm.model.joints]
    if words := radians_hint([value for value, unit in zip(q, units, strict=True) if unit == DEG]):
        complain(words)
    values = [value * unit for value, unit in zip(q, units, strict=True)]
    if frames is None:
        pose = arm.forward_kinematics(values)
    else:
        from hil.lessons.walks import between

        if not all(0 <= number <= arm.dof + 1 for number in frames):
            given = " ".join(map(str, frames))
            raise CommandError(
                f"--frames {given}: {arm.name} has no such frame; allowed: 0 for the base's, 1 to {arm.dof} for those "
                f"of the rows, {arm.dof + 1} for the tool's",
                value=frames,
            )
        pose = between(arm, values, *frames)
    readout = pose_to_xyzabc(pose)
    if as_json:
        print_json({"pose_m": pose.tolist(), **msgspec.to_builtins(readout)})
        return
    out = console()
    out.print(
        f"X {readout.x_mm:z.3f}  Y {readout.y_mm:z.3f}  Z {readout.z_mm:z.3f} mm   "
        f"A {readout.a_deg:z.4f}  B {readout.b_deg:z.4f}  C {readout.c_deg:z.4f} deg ({readout.convention.value})"
    )
    if readout.note:
        out.print(readout.note)
    for row in pose:
        out.print("  ".join(f"{value:z10.6f}" for value in row))


def ik(
    robot: RobotName,
    place: Annotated[
        list[str], typer.Argument(metavar="X Y Z [A B C]", help="X Y Z in mm, or X Y Z A B C in mm and degrees.")
    ],
    pitch: Annotated[float | None, typer.Option(help="Angle of the tool above the ground, degrees.")] = None,
    roll: Annotated[float | None, typer.Option(help="Roll about the tool axis, degrees.")] = None,
    all_branches: Annotated[bool, typer.Option("--all", help="List solutions outside the limits too.")] = False,
    between: Annotated[
        tuple[int, int] | None,
        typer.Option(metavar="N M", help="How far each joint has to go from one listed solution to another."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Inverse kinematics: every way to reach a place, or why there is none."""
    import hil
    from hil.errors import CommandError
    from hil.kinematics.poses import xyzabc_to_pose
    from hil.model.robot import JointType
    from hil.motion.unit_hints import metres_hint, radians_hint

    target = numbers_of(place, "hil ik")
    arm = hil.load_robot(robot)
    if len(target) == 6 and pitch is None and roll is None:
        result = arm.inverse_kinematics(xyzabc_to_pose(target))
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
    if between is not None and solutions and not all(1 <= number <= len(solutions) for number in between):
        raise CommandError(
            f"--between {between[0]} {between[1]}: no such solution; allowed: 1 to {len(solutions)}, as listed",
            value=between,
            allowed=f"1 to {len(solutions)}",
        )
    if as_json:
        print_json(result)
    elif solutions:
        units = [DEG if joint.type is JointType.REVOLUTE else MM for joint in arm.model.joints]
        print_table(
            f"{len(solutions)} of {len(result.solutions)} solutions",
            [*(joint.name for joint in arm.model.joints), "branch", "limits"],
            (
                [
                    *(f"{value / unit:z.2f}" for value, unit in zip(s.q, units, strict=True)),
                    s.branch,
                    "inside" if s.within_limits else "beyond",
                ]
                for s in solutions
            ),
        )
        if between is not None:
            _print_way(arm, solutions[between[0] - 1], solutions[between[1] - 1], between)
    if not any(s.within_limits for s in result.solutions):
        complain(f"{arm.name}: {result.reason}")
        for words in (
            metres_hint(target[:3]),
            radians_hint([*target[3:], *(a for a in (pitch, roll) if a is not None)]),
        ):
            if words:
                complain(words)
        raise typer.Exit(1)


def _print_way(arm: Robot, start: IkSolution, end: IkSolution, numbers: tuple[int, int]) -> None:
    """The joints' differences, turns counted as the solutions have them."""
    from hil.model.robot import JointType

    rows = []
    for joint, one, other in zip(arm.model.joints, start.q, end.q, strict=True):
        unit, name = (DEG, "deg") if joint.type is JointType.REVOLUTE else (MM, "mm")
        rows.append([joint.name, f"{one / unit:z.2f}", f"{other / unit:z.2f}", f"{(other - one) / unit:+z.2f} {name}"])
    first, last = numbers
    print_table(f"from solution {first} to solution {last}", ["joint", str(first), str(last), "difference"], rows)


def numbers_of(texts: list[str], command: str) -> list[float]:
    """Numbers between blanks, or commas.

    Raises:
        CommandError: one is none.
    """
    from hil.errors import CommandError

    found = []
    for text in " ".join(texts).replace(",", " ").split():
        try:
            found.append(float(text))
        except ValueError:
            allowed = "numbers between blanks, with a point before their decimals"
            raise CommandError(
                f"{command}: {text!r} is no number; allowed: {allowed}", value=text, allowed=allowed
            ) from None
    return found

"""hil line: a straight line by small steps of the inverse Jacobian, as the Virtual Robot Module goes it."""

from __future__ import annotations

from typing import Annotated

import typer

from hil.cli._names import RobotName
from hil.cli.arms import AsJson
from hil.cli.output import console, print_json, print_table

_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Register the command; a negative number is an argument like any other."""
    app.command(context_settings=_NEGATIVE_NUMBERS)(line)


def line(
    robot: RobotName,
    joints: Annotated[
        list[str], typer.Argument(metavar="Q...", help="Where it begins: degrees, millimetres if prismatic.")
    ],
    by: Annotated[
        str,
        typer.Option("--by", metavar="X,Y,Z,A,B,C", help="The whole change, mm and degrees, A B C as `hil fk` has."),
    ],
    steps: Annotated[int, typer.Option(help="Equal steps, the last one included.")] = 100,
    digits: Annotated[
        int | None, typer.Option(help="Round every link's matrix, in mm, to so many decimals, as the paper's program.")
    ] = None,
    closed_loop: Annotated[
        bool, typer.Option("--closed-loop/--open-loop", help="Correct at every step what is still lacking, or never.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Go straight by small steps of the inverse Jacobian (six axes), and say how far beside the goal it ends."""
    import hil
    from hil.cli.kinematics import numbers_of
    from hil.model.robot import JointType
    from hil.units import DEG, MM

    arm = hil.load_robot(robot)
    units = [DEG if joint.type is JointType.REVOLUTE else MM for joint in arm.model.joints]
    start = numbers_of(joints, "hil line")
    scaled = [value * unit for value, unit in zip(start, units, strict=False)]
    q = [*scaled, *start[len(units) :]]  # too many of them are refused with their number
    change = numbers_of([by], "hil line --by")
    went = arm.step_line(q, change, steps, closed_loop=closed_loop, digits=digits)
    if as_json:
        print_json(went)
        return
    goal, reached = went.goal, went.reached
    rows = [
        [name, f"{wanted:z.3f}", f"{got:z.3f}", f"{error:+z.3f}"]
        for name, wanted, got, error in zip(
            ("X, mm", "Y, mm", "Z, mm", "A, deg", "B, deg", "C, deg"),
            (goal.x_mm, goal.y_mm, goal.z_mm, goal.a_deg, goal.b_deg, goal.c_deg),
            (reached.x_mm, reached.y_mm, reached.z_mm, reached.a_deg, reached.b_deg, reached.c_deg),
            (*went.error_mm, *went.error_deg),
            strict=True,
        )
    ]
    print_table(f"{arm.name}, {steps} steps", ["", "goal", "reached", "error"], rows)
    ends = ", ".join(f"{value / unit:z.3f}" for value, unit in zip(went.q[-1], units, strict=True))
    console().print(f"joints at the end: {ends}")

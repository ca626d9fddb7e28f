"""Is this the arm of that rig? One small move of the gripper, and a person who says so.

Pure, as `hil.workbench.calibration`: for adapters without a serial number of their own. Two such arms can be exchanged
unseen.
"""

from __future__ import annotations

from hil.errors import InterlockError
from hil.model._calibration_file import PULSE_US
from hil.model.rig import Rig
from hil.workbench.calibration import AxisPlan, Drive, Move, Plan, Question, Report, Steps, Tell, ask

NOD_US = 80
"""Some two millimetres of a gripper, some eight degrees of a joint: seen from across a room."""


def nodding_axis(rig: Rig, plan: Plan) -> AxisPlan:
    """What moves: the gripper, or where there is none, the axis that is driven last."""
    return plan.axes[-1] if rig.gripper is None else plan.axis(rig.axes[rig.gripper].name)


def identify(title: str, axis: AxisPlan) -> Steps[None]:
    """Move one axis a little and back, and have a person say which arm it was.

    Args:
        title: of the rig, for the question.
        axis: what moves, planned from the calibration in force.

    Raises:
        InterlockError: it was another arm, or none.
        CalibrationStoppedError: the person said stop.
    """
    report: dict[int, int | None] = yield Report()
    here_us = report[axis.channel]
    if here_us is None:
        question = Question(
            kind="place",
            text=f"The {axis.name} is limp. It gets its first pulse and goes to {axis.say(axis.first_at)} at full "
            "speed: bring it there by hand, and keep your fingers out",
            answers="go, stop",
            axis=axis.name,
            channel=axis.channel,
        )
        yield from ask(question, ("go",))
        here_us = axis.first_us
    yield Drive(channel=axis.channel, pulse_us=here_us)
    there_us = here_us + NOD_US if here_us + NOD_US <= PULSE_US[1] else here_us - NOD_US
    question = Question(
        kind="same arm",
        text=f"One {axis.name} has moved a little and back. Was it that of {title}?",
        answers="yes, no (another one, or none), again, stop",
        axis=axis.name,
        channel=axis.channel,
    )
    answer = "again"
    while answer == "again":
        yield Tell(text=f"look at the {axis.name}: it moves once, a little, and back")
        yield Move(channel=axis.channel, pulse_us=there_us)
        yield Move(channel=axis.channel, pulse_us=here_us)
        answer = yield from ask(question, ("again", "yes", "no"))
    if answer == "no":
        raise InterlockError(
            f"this port does not lead to the arm of {title}: follow the cable, or name the right port with --port",
            ["identity"],
        )

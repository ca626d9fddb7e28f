"""`hil release URL`: let an arm of a lab go limp, axis by axis, by somebody who stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.cli._far_arm import headline

if TYPE_CHECKING:
    from hil.service.remote import RemoteArm
    from hil.workbench.calibration import Question

ANSWERS = "go, stop"


def release_far(url: str, name: str, answer: Callable[[Question], str], tell: Callable[[str], None]) -> None:
    """Go through it with a person.

    Args:
        url: the arm's address.
        name: shown to others where no token brings one.
        answer: puts a question to the person; ``stop`` at the end of their input.
        tell: what they should read.

    Raises:
        InterlockError: the lab does not believe that somebody stands beside the arm.
        CalibrationStoppedError: the person said stop; what was not let go of yet is held.
        RefusedByLabError, LinkError: the lab said no, or is not there any more.
    """
    from hil.errors import InterlockError
    from hil.service.remote import connect

    with connect(url, name=name, on_site=True) as arm:
        tell(headline(arm.welcome))
        if not arm.welcome.on_site:
            raise InterlockError(
                "what sinks has to be held, and this lab does not take you for somebody beside the arm: its settings "
                "name the networks, or your token says on_site",
                ["somebody beside the arm"],
            )
        gone = _one_by_one(arm, answer, tell)
    if gone:
        tell(
            f"limp: {', '.join(gone)}. Where the arm is nobody knows now: who drives next confirms it. The lease is "
            "given back. If this was the end of the day: servo supply off first, then the logic"
        )


def _one_by_one(arm: RemoteArm, answer: Callable[[Question], str], tell: Callable[[str], None]) -> list[str]:
    from hil.workbench.calibration import CalibrationStoppedError, Question

    gone: list[str] = []
    first = arm.holding.next
    if first is None:
        tell("its controller says of no axis that pulses hold it: the arm is limp already, has brakes, or is not there")
        return gone
    arm.claim()
    tell(
        f"it drives {', '.join(arm.holding.driven)}. They are let go of in this order, what carries most last: "
        f"{', '.join((first.axis, *first.after))} ({arm.holding.basis or 'nothing is known of what they carry'})"
    )
    while (step := arm.holding.next) is not None:
        question = Question(kind="release", text=step.text, answers=ANSWERS, axis=step.axis)
        given = answer(question).strip().lower()
        if given == "stop":
            raise CalibrationStoppedError(
                f"stopped: what was not let go of is held ({', '.join((step.axis, *step.after))}); the lease is given "
                "back. The same command goes on from there"
            )
        if given == "go":
            tell(arm.go_limp(step.axis))
            gone.append(step.axis)
        elif given:
            tell(f"{given!r}: allowed: {ANSWERS}")
    return gone

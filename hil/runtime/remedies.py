"""What a person does with an arm that stands where it must not; not the same for a limp one and one with brakes."""

from __future__ import annotations

from hil.types import JointState, StateSource

SWITCH_ON = (
    "The servo supply has to be on by now; switched on later, it sets all of them going at once. Hands and faces "
    "clear: the first pulse comes right after your answer"
)
"""For whoever is about to confirm the pose of a limp arm."""


def switch_off(rig_id: str) -> str:
    """For the end of a session with an arm that is held by its pulses."""
    return (
        "The board goes on holding the arm, and its servos get hot. When you leave: let it go with `hil release "
        f"{rig_id} --hardware`, or support it and switch the servo supply off; then the logic, too, always"
    )


def bring_to_park(report: JointState | None) -> str:
    """How the arm comes into its park pose without us.

    Args:
        report: what its controller says; one that measures has encoders and brakes, and a way of its own to be moved.
    """
    if report is not None and report.source is StateSource.SIMULATED:
        return "Start the session anew: a simulated arm begins in its park pose"
    if report is not None and report.source.of_arm:
        return "Bring it inside at the controller, with the teach box; then connect again"
    return "Cut the power, put the arm into its park pose, connect again"

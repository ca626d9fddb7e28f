"""What a person does with an arm that stands where it must not; not the same for a limp one and one with brakes."""

from __future__ import annotations

from hil.types import JointState, StateSource


def bring_to_park(report: JointState | None) -> str:
    """How the arm comes into its park pose without us.

    Args:
        report: what its controller says; one that measures has encoders and brakes, and a way of its own to be moved.
    """
    if report is not None and report.source is StateSource.MEASURED:
        return "Bring it inside at the controller, with the teach box; then connect again"
    return "Cut the power, put the arm into its park pose, connect again"

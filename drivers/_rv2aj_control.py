"""What of a CR1 is in our hands: its servos, the right to move the arm, our program; and who has taken it back."""

from __future__ import annotations

from drivers._rv2aj_codec import JOINTS, Status


class Control:
    """Nothing at first.

    Attributes:
        energised: per axis, whether a first move was taken for it; all together they switch the servos on.
        switching: they are being switched on.
        servo: they are on.
        right: the right to move the arm is ours.
        program_runs: our program runs.
        halting: a stop goes on.
        suspicious: an alarm may have come; which has to be asked for.
    """

    def __init__(self) -> None:
        self.energised = [False] * len(JOINTS)
        self.switching = self.servo = self.right = False
        self.program_runs = self.halting = self.suspicious = False

    @property
    def known(self) -> tuple[bool, ...]:
        """Per axis, whether it is held by us."""
        return tuple([energised and self.servo for energised in self.energised])

    @property
    def drives(self) -> bool:
        """Every axis is held by us."""
        return self.servo and all(self.energised)

    def energise(self, axis: int) -> None:
        """A first move is taken."""
        self.energised[axis] = self.switching = True

    def forget_axes(self) -> None:
        """No axis counts as held any more."""
        self.energised = [False] * len(JOINTS)

    def trouble_in(self, status: Status) -> str:
        """What a person did at the controller, or it by itself, while the arm is ours; empty if nothing."""
        if status.error:
            self.suspicious = True
        if not (self.servo or self.switching):
            return ""
        if status.emergency_stop:
            return "an emergency stop was pressed; release it, reset, connect again"
        if status.teach:
            return "the key was turned to TEACH: whoever holds the teach box has the arm now"
        if self.servo and not status.servo and not status.error:
            return "the servos went off; look at the panel, then connect again"
        if self.program_runs and not status.running and not status.error and not self.halting:
            return "our program has stopped; somebody pressed STOP, or it met an error"
        return ""

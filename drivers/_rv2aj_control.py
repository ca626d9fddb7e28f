"""What of a CR1 is in our hands: its servos, the right to move the arm, our program; and who has taken it back."""

from __future__ import annotations

from drivers._rv2aj_codec import JOINTS, Status


class Control:
    """Nothing at first.

    Attributes:
        known: per axis, whether it is held by us: a first move was taken for it, and the servos are on.
        drives: every axis is.
        switching: the servos are to be switched on.
        rising: SRVON has left for that, and they do not count as on yet.
        recalled: a stop came meanwhile; they are to be off again.
        servo: they are on.
        carries: targets reach the arm; False while a network that they go by is not answered.
        restarting: a target waits for our program to be started anew, after a stop.
        right: the right to move the arm is ours.
        program_runs: our program runs.
        halting: a stop goes on.
        suspicious: an alarm may have come; which has to be asked for.
    """

    def __init__(self) -> None:
        self.switching = self.servo = self.right = False
        self.carries = self._carried = True
        self.restarting = self.rising = self.recalled = False
        self.program_runs = self.halting = self.suspicious = False
        self.forget_axes()

    def forget_axes(self) -> None:
        """No axis counts as held any more."""
        self._carried = self.carries
        self._energised = [False] * len(JOINTS)
        self._note()

    def energise(self, axis: int) -> None:
        """A first move is taken, and the servos have to be on for it."""
        self._energised[axis] = self.switching = True
        self._note()

    def switched_on(self) -> None:
        """The servos are on."""
        self.servo, self.switching, self.rising = True, False, False
        self._note()

    def call_off(self) -> bool:
        """The servos are not to come on any more; False if nobody wanted them to."""
        if not self.switching:
            return False
        self.recalled, self.switching, self.rising = self.rising, False, False
        self.forget_axes()
        return True

    def carry(self, on: bool) -> None:
        """Targets reach the arm from now on, or do not: after a stop the axes are held all the same."""
        self.carries = on
        self._carried |= on
        self._note()

    def begin_apart(self) -> None:
        """Targets go by a network that nobody has answered on yet."""
        self.carries = self._carried = False
        self._note()

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

    def _note(self) -> None:
        # Worked out here and not when it is asked for, which is in every tick.
        on = self.servo and self._carried
        self.known = tuple([energised and on for energised in self._energised])
        self.drives = all(self.known)

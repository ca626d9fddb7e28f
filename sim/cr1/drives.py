"""The CR1's drives as requests, statements and the key switch them, and what stops when they go off."""

from __future__ import annotations

from typing import Protocol

from hil.program.errors import ProgramError
from sim.cr1.state import AfterServoOff, Alarms, Panel, Servo, ServoState


class Movers(Protocol):
    """Everything that moves the arm, and what says whether it may."""

    alarms: Alarms
    panel: Panel

    def halt(self, *, only_what_moves: bool = False) -> None:
        """Slow down and pause."""
        ...

    def freeze(self, *, only_what_moves: bool = False) -> None:
        """Stand still at once."""
        ...


class Drives:
    """Switches them.

    Args:
        servo: the drives themselves.
        after: what becomes of a program in which SERVO OFF stands.
        movers: what they move the arm for.

    Attributes:
        were_on: at some time since power-up.
    """

    def __init__(self, servo: Servo, after: AfterServoOff, movers: Movers) -> None:
        self._servo, self._after, self._movers = servo, after, movers
        self.forget()

    def forget(self) -> None:
        """The power goes."""
        self._servo.drop()
        self.were_on = self._programs_go_on = False

    def switch_on(self, now_s: float) -> None:
        """What the statement SERVO ON does.

        Raises:
            ProgramError: they go off just now, an error stands, or brakes are released.
        """
        if self._servo.state is ServoState.FALLING:
            raise ProgramError(5130)
        if self._servo.state is not ServoState.OFF:
            return
        if self._movers.alarms.standing is not None:
            raise ProgramError(1630)
        if self._movers.panel.brakes_released:
            raise ProgramError(1650)
        self._servo.switch_on(now_s)

    def switch_off(self, now_s: float, *, by_statement: bool = False) -> None:
        """Off, brakes first: by a request or the key, which stop everything, or by the statement SERVO OFF."""
        self._programs_go_on = by_statement and self._after is AfterServoOff.GOES_ON
        self._movers.halt(only_what_moves=self._programs_go_on)
        self._servo.switch_off(now_s)

    def finish(self, time_s: float) -> None:
        """They have come on, or gone off."""
        self._servo.run_to(time_s)
        self.were_on |= self._servo.on
        if not self._servo.on:
            self._movers.freeze(only_what_moves=self._programs_go_on)

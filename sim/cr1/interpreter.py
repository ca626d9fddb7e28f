"""The interpreter of MELFA-BASIC in the CR1: SERVO switches what SRVON and SRVOFF switch, and pulses outlive EXEC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hil.program.interpreter import Interpreter
from hil.program.structure import Program
from sim.cr1.arm import Cr1Arm
from sim.cr1.signals import SlotSignals


class Doing(Protocol):
    """What statements do that is not over with them."""

    def switch_servo(self, on: bool) -> None:
        """What SERVO ON and SERVO OFF do.

        Raises:
            ProgramError: the drives cannot come on now.
        """
        ...

    def begin_pulse(self, bits: Sequence[int], before: int, after_s: float) -> None:
        """Put output bits back after a time.

        Raises:
            ProgramError: too many pulses at a time.
        """
        ...


class SlotInterpreter(Interpreter):
    """A slot of the controller.

    Args:
        program: what to run.
        arm: what it moves.
        signals: what it reads and writes.
        doing: what is not over with the statement.
        library: programs that CALLP may name.
    """

    def __init__(
        self, program: Program, arm: Cr1Arm, signals: SlotSignals, doing: Doing, library: Mapping[str, Program]
    ) -> None:
        super().__init__(program, arm.kinematics, signals, arm.limits, arm.row.tolist(), library=library)
        self._doing = doing

    def servo(self, on: bool) -> None:
        """The drives take their own time; M_SVO follows them."""
        self._doing.switch_servo(on)
        self.servo_on &= on

    def pulse(self, bits: Sequence[int], before: int, after_s: float, width: int) -> None:
        """A program's pulse ends in its own cycles, that of a single statement in the controller's."""
        if self.direct_runs:
            self._doing.begin_pulse(bits, before, after_s)
        else:
            super().pulse(bits, before, after_s, width)

"""MXT: a computer leads the arm cycle by cycle, for as long as the statement lasts."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hil.link import FloatArray
from hil.program import nodes
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.lines import line_number
from hil.program.machine import Machine
from hil.types import Record

POSE, JOINT, PULSE = range(3)
"""Types of command that the statement's second argument names."""
LONGEST_FILTER_MS = 2000.0


class Lead(Record, frozen=True):
    """What a running MXT asks for: the line's number, the type of the commands, the filter's time constant."""

    number: int
    kind: int
    filter_ms: float


@runtime_checkable
class LedSignals(Protocol):
    """`hil.program.signals.Signals` of a controller that has a network."""

    def lead(self, lead: Lead, arm: ProgramArm, row: FloatArray) -> FloatArray | None:
        """Where the joints shall be at the end of this cycle, radians, shape (n,); None once it is over.

        Raises:
            ProgramError: nothing came for too long, or what came cannot be done.
        """
        ...


def follow(machine: Machine, arguments: tuple[nodes.Expression | None, ...]) -> None:
    """One cycle of the statement.

    Raises:
        ProgramError: H7830 without a network; else what the commands are refused with.
    """
    number, kind, *rest = arguments
    assert number is not None
    assert kind is not None
    signals = machine.signals
    key = line_number(machine, number)
    if not isinstance(signals, LedSignals):
        raise ProgramError(7830, "MXT", allowed="a controller with a network, and somebody who leads it from there")
    filter_ms = float(machine.evaluator.number(rest[0])) if rest and rest[0] is not None else 0.0
    if not 0.0 <= filter_ms <= LONGEST_FILTER_MS:
        raise ProgramError(3110, f"a filter of {filter_ms:g} ms", allowed=f"0 to {LONGEST_FILTER_MS:g} ms")
    lead = Lead(number=key, kind=machine.evaluator.whole(kind, POSE, PULSE, "type of MXT"), filter_ms=filter_ms)
    row = signals.lead(lead, machine.arm, machine.row)
    machine.blocked = row is not None
    if row is not None:
        machine.row = row

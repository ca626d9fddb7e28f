"""Does a program go round in circles? Its whole state is compared with an earlier one; inputs change where it does.

From the same state, with the same inputs, an interpreter does the same again: a state that comes back proves that
nothing new will come. Nothing is proved of programs that ask for the time or for random numbers.
"""

from __future__ import annotations

import dataclasses

from hil.program import nodes
from hil.program.flow import walk
from hil.program.frames import Frame
from hil.program.machine import Machine
from hil.program.structure import Program
from hil.program.trial_signals import TrialSignals

MOST_CHANGES = 8
"""How often the inputs that a circle asks for are changed, to find a way out of it."""

MOVES_BY_ITSELF = frozenset({"M_TIMER", "C_TIME", "C_DATE", "RND"})
"""What changes although nobody sets it."""


class Circles:
    """Watches one machine, tick by tick.

    Args:
        machine: before its first tick.
        signals: what it reads its inputs from.
    """

    def __init__(self, machine: Machine, signals: TrialSignals) -> None:
        self._machine, self._signals = machine, signals
        self._timeless = not any(asks_the_time(each) for each in (machine.program, *machine.library.values()))
        self._place: tuple[int, ...] | None = None
        self._state: tuple[object, ...] = ()
        self._steps, self._power, self._changes = 0, 1, 0

    def closed(self) -> bool:
        """Look once, between two ticks; True once nothing new comes, and changing inputs has led nowhere either."""
        machine = self._machine
        if not self._timeless or machine.motion is not None or machine.stopping or machine.timed:
            return False
        place = (machine.frame.pc, machine.line_index, machine.dwell, len(machine.frames))
        if place == self._place and self._state == self._now():
            if self._changes >= MOST_CHANGES or not self._signals.recent:
                return True
            self._changes += 1
            self._signals.change(self._signals.ones ^ frozenset(self._signals.recent), machine.now_s)
            self._remember(place)
            return False
        # Brent: the state to compare with is renewed after 1, 2, 4, .. looks, so that a circle of any length is found.
        self._steps += 1
        if self._steps >= self._power:
            self._power, self._steps = 2 * self._power, 0
            self._remember(place)
        return False

    def _remember(self, place: tuple[int, ...]) -> None:
        self._place, self._state = place, self._now()
        self._signals.recent.clear()

    def _now(self) -> tuple[object, ...]:
        machine = self._machine
        return (
            tuple(_frame(frame) for frame in machine.frames),
            dataclasses.replace(machine.modal),
            machine.row.tobytes(),
            (machine.servo_on, machine.master_on, machine.skipped, machine.blocked, machine.tool, machine.base),
            dict(machine.shared),
            {key: list(items) for key, items in machine.unread.items()},
            dict(machine.column),
            self._signals.state(),
        )


def _frame(frame: Frame) -> tuple[object, ...]:
    return (
        frame.program.name,
        frame.pc,
        frame.store.snapshot(),
        [dataclasses.replace(back) for back in frame.returns],
        {index: dataclasses.replace(loop) for index, loop in frame.loops.items()},
        {key: dataclasses.replace(each) for key, each in frame.interrupts.items()},
        {key: dataclasses.replace(each) for key, each in frame.lines.items()},
        dict(frame.functions),
        dict(frame.pallets),
        dict(frame.ports),
        dict(frame.arches),
        tuple(frame.arguments),
    )


def asks_the_time(program: Program) -> bool:
    """True if something in it moves by itself."""
    names = {
        node.name
        for line in program.lines
        for node in (walk(line.statement) if line.statement else ())
        if isinstance(node, nodes.Name | nodes.Index)
    }
    return not MOVES_BY_ITSELF.isdisjoint(names)

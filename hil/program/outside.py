"""Everybody outside a program, in a trial run: gives what the program stands and waits for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hil.program import nodes, system
from hil.program.errors import ProgramError
from hil.program.flow import walk
from hil.program.machine import Machine
from hil.program.structure import parts_of
from hil.program.trial_signals import TrialSignals
from hil.program.values import Value, format_value

MOST_BITS = 5
"""Up to so many inputs in one condition every combination is tried."""


class Outside:
    """Answers one machine, tick by tick.

    Attributes:
        guessed: a WAIT was taken to be met although no choice of inputs was found that meets it.
    """

    def __init__(self, machine: Machine, signals: TrialSignals) -> None:
        self._machine, self._signals = machine, signals
        self.guessed = False

    def answered(self) -> bool:
        """True if the program waited for something, and from the next tick on has it."""
        machine = self._machine
        line = machine.line
        if not machine.blocked or machine.motion is not None or line is None:
            return False
        match waits_for(line.statement):
            case nodes.Input() as wanted:
                return self._bring(wanted)
            case nodes.Word(arguments=(condition,)) if condition is not None:
                return self._meet(condition)
            case _:
                return False

    def text_for(self, number: int) -> str:
        """A line of text that fits the first INPUT from a line."""
        for line in self._machine.frame.program.lines:
            for part in walk(line.statement) if line.statement else ():
                if isinstance(part, nodes.Input) and part.number == nodes.Number(value=number, at=part.number.at):
                    return self._text(part)
        return "0"

    def _bring(self, wanted: nodes.Input) -> bool:
        number = self._machine.evaluator.whole(wanted.number, 1, 8, "line")
        self._signals.bring(number, self._text(wanted), self._machine.now_s)
        return True

    def _text(self, wanted: nodes.Input) -> str:
        return ",".join(format_value(self._value(variable)) for variable in wanted.variables)

    def _value(self, variable: nodes.Variable) -> Value:
        kind = self._machine.store.kind(variable.name) if not isinstance(variable, nodes.Component) else None
        found: dict[str | None, Value] = {"CHAR": "", "POS": self._machine.position, "JNT": self._machine.joints}
        return found.get(kind, 0)

    def _meet(self, condition: nodes.Expression) -> bool:
        machine, signals = self._machine, self._signals
        before, recent = signals.ones, set(signals.recent)
        signals.recent.clear()
        if self._true(condition):
            return True
        asked = sorted(signals.recent)
        found = None
        for ones in _choices(before, asked, condition):
            signals.ones = ones
            if self._true(condition):
                found = ones
                break
        signals.ones = before
        signals.recent |= recent
        if found is not None:
            signals.change(found, machine.now_s)
            return True
        if system.asks_outside(machine, condition):
            self.guessed = True
            machine.frame.pc, machine.blocked = machine.frame.pc + 1, False
            return True
        return False

    def _true(self, condition: nodes.Expression) -> bool:
        try:
            return self._machine.evaluator.true(condition)
        except ProgramError:
            return False


def waits_for(statement: nodes.Statement | None) -> nodes.Statement | None:
    """The WAIT or INPUT of a line, also within an IF."""
    for part in parts_of(statement):
        if isinstance(part, nodes.Input) or (isinstance(part, nodes.Word) and part.word == "WAIT"):
            return part
    return None


def _choices(before: frozenset[int], asked: list[int], condition: nodes.Expression) -> Iterator[frozenset[int]]:
    """Inputs that may meet a condition; those that change least come first."""
    if len(asked) <= MOST_BITS:
        for count in range(1, len(asked) + 1):
            for bits in itertools.combinations(asked, count):
                yield before ^ frozenset(bits)
        return
    others = before - frozenset(asked)
    yield others | frozenset(asked)
    yield others
    for part in walk(condition):
        if isinstance(part, nodes.Number) and isinstance(part.value, int) and part.value > 0:
            for value in (part.value, part.value + 1, part.value - 1):
                yield others | frozenset(bit for k, bit in enumerate(asked) if value >> k & 1)

"""Signals of a trial run: inputs that whoever runs it chooses as it goes, and a record of what was chosen."""

from __future__ import annotations

from collections import deque

from hil.program.signals import AssumedSignals, InputChange, Inputs, TextArrives


class TrialSignals(AssumedSignals):
    """Inputs of which some are 1, and a note of those that the program asked for.

    Attributes:
        ones: signals that are 1; the others are 0.
        asked: signals that the program asked for.
        recent: the same since somebody cleared it.
        listened: numbers of lines of which it asked whether text has come.

    Args:
        ones: at the start.
    """

    def __init__(self, ones: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.ones = ones
        self.asked: set[int] = set()
        self.recent: set[int] = set()
        self.listened: set[int] = set()
        self._changes_made = [InputChange(time_s=0.0, signal=signal, value=1) for signal in sorted(ones)]
        self._texts_made: list[TextArrives] = []

    @property
    def chosen(self) -> Inputs:
        """All that was chosen so far, as a run can be given it."""
        return Inputs(changes=tuple(self._changes_made), texts=tuple(self._texts_made))

    def input_bit(self, signal: int) -> int:
        """As it is now."""
        self.asked.add(signal)
        self.recent.add(signal)
        return int(signal in self.ones)

    def waiting(self, number: int) -> bool:
        """A line of text was chosen, and not read."""
        self.listened.add(number)
        return super().waiting(number)

    def change(self, ones: frozenset[int], now_s: float) -> None:
        """From the tick that begins at `now_s` on, these inputs are 1, and no others."""
        for signal in sorted(ones ^ self.ones):
            self._changes_made.append(InputChange(time_s=now_s, signal=signal, value=int(signal in ones)))
        self.ones = ones

    def bring(self, number: int, text: str, now_s: float) -> None:
        """A line of text comes."""
        self._texts_made.append(TextArrives(time_s=now_s, number=number, text=text))
        self._arrived.setdefault(number, deque()).append(text)

    def state(self) -> tuple[object, ...]:
        """Everything that a program can see of it."""
        arrived = {number: list(texts) for number, texts in self._arrived.items() if texts}
        return self.ones, dict(self.outputs), dict(self._open), arrived

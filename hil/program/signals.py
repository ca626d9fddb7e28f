"""The world around a program: input and output signals, and the lines that it opens."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import Literal, Protocol

from hil.program.errors import ProgramError
from hil.types import Record

LARGEST_SIGNAL = 32767
HAND_OUTPUTS = 900
HAND_AT_POWER_ON = (1, 0, 1, 0, 1, 0, 1, 0)
"""Outputs 900 to 907: all hands open."""

LINES = re.compile(r"COM\d:|ENET:.*", re.IGNORECASE)
"""Devices that OPEN accepts."""


class Signals(Protocol):
    """What a program reads and writes. Signal numbers count from 0; time is moved by whoever runs the program."""

    def advance(self, now_s: float) -> None:
        """It is now `now_s` seconds after the program's start."""
        ...

    def input_bit(self, signal: int) -> int:
        """0 or 1."""
        ...

    def output_bit(self, signal: int) -> int:
        """0 or 1: what was written last."""
        ...

    def write_bit(self, signal: int, value: int) -> None:
        """Switch an output."""
        ...

    def clear_outputs(self) -> None:
        """Switch every general output off; those of the hands stay (CLR 1, with ORST as it is delivered)."""
        ...

    def open(self, device: str, number: int) -> None:
        """Open a line under a number.

        Raises:
            ProgramError: there is no such device.
        """
        ...

    def close(self, number: int) -> None:
        """Close it; what was not read is lost."""
        ...

    def connected(self, number: int) -> bool:
        """True if somebody is on the other end."""
        ...

    def waiting(self, number: int) -> bool:
        """True if a line of text has come that was not read."""
        ...

    def receive(self, number: int) -> str | None:
        """The oldest line of text, or None."""
        ...

    def send(self, number: int, text: str) -> None:
        """Send text; it holds its own line ends."""
        ...


class InputChange(Record, frozen=True):
    """An input that is assumed to change: from `time_s` on, signal and the `width` - 1 after it show `value`."""

    time_s: float
    signal: int
    value: int
    width: Literal[1, 8, 16] = 1


class TextArrives(Record, frozen=True):
    """A line of text that is assumed to come on the line opened under `number`."""

    time_s: float
    number: int
    text: str


class Inputs(Record, frozen=True):
    """Everything from outside that a preview assumes. Inputs that are not named are 0."""

    changes: tuple[InputChange, ...] = ()
    texts: tuple[TextArrives, ...] = ()


class AssumedSignals:
    """Signals as `Inputs` say them, and a record of what the program did with the others.

    Attributes:
        outputs: every output that was ever written.
        sent: text sent, with its line's number, in order.
        horizon_s: after this time nothing changes any more.
    """

    def __init__(self, inputs: Inputs | None = None) -> None:
        inputs = inputs or Inputs()
        self._changes = deque(sorted(inputs.changes, key=lambda change: change.time_s))
        self._texts = deque(sorted(inputs.texts, key=lambda text: text.time_s))
        self._inputs: dict[int, int] = {}
        self._arrived: dict[int, deque[str]] = {}
        self._open: dict[int, str] = {}
        self.outputs: dict[int, int] = {HAND_OUTPUTS + k: bit for k, bit in enumerate(HAND_AT_POWER_ON)}
        self.sent: list[tuple[int, str]] = []
        self.horizon_s = max([change.time_s for change in inputs.changes] + [t.time_s for t in inputs.texts] + [0.0])

    def advance(self, now_s: float) -> None:
        """Let everything happen that is due."""
        while self._changes and self._changes[0].time_s <= now_s + 1e-9:
            change = self._changes.popleft()
            for bit in range(change.width):
                self._inputs[change.signal + bit] = change.value >> bit & 1
        while self._texts and self._texts[0].time_s <= now_s + 1e-9:
            text = self._texts.popleft()
            self._arrived.setdefault(text.number, deque()).append(text.text)

    def input_bit(self, signal: int) -> int:
        """0 unless a change said 1."""
        return self._inputs.get(signal, 0)

    def set_input(self, signal: int, value: int) -> None:
        """Change one from outside."""
        self._inputs[signal] = value & 1

    def output_bit(self, signal: int) -> int:
        """What was written last."""
        return self.outputs.get(signal, 0)

    def write_bit(self, signal: int, value: int) -> None:
        """Switch an output."""
        self.outputs[signal] = value & 1

    def clear_outputs(self) -> None:
        """Those of the hands stay."""
        for signal in self.outputs:
            if not is_hand(signal):
                self.outputs[signal] = 0

    def open(self, device: str, number: int) -> None:
        """Serial and network lines exist, files do not."""
        if not LINES.fullmatch(device):
            raise ProgramError(3140, f'"{device}"', allowed='"COM1:" or another line')
        self._open[number] = device

    def close(self, number: int) -> None:
        """Forget it."""
        self._open.pop(number, None)
        self._arrived.pop(number, None)

    def connected(self, number: int) -> bool:
        """An open line has a partner."""
        return number in self._open

    def waiting(self, number: int) -> bool:
        """Text has come."""
        return bool(self._arrived.get(number))

    def receive(self, number: int) -> str | None:
        """The oldest text."""
        texts = self._arrived.get(number)
        return texts.popleft() if texts else None

    def send(self, number: int, text: str) -> None:
        """Keep it."""
        self.sent.append((number, text))


def is_hand(signal: int) -> bool:
    """True for an output that opens or closes a hand."""
    return HAND_OUTPUTS <= signal < HAND_OUTPUTS + len(HAND_AT_POWER_ON)


def read_bits(read: Sequence[int]) -> int:
    """The number whose bits, lowest first, are these."""
    return sum(bit << k for k, bit in enumerate(read))

"""Inputs and outputs of the CR1, and the hands on them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hil.link import FloatArray
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.machine import LAST_OUTPUTS
from hil.program.streams import Lead
from sim.cr1.ethernet import ENET, Ethernet
from sim.cr1.requests import RefusedRequest

SIGNALS = 256
LINES_WAITING = 32
"""Lines of text that are kept for INPUT; what comes on top is lost."""

HAND_FIRST, HANDS = 900, 4
"""Outputs 900 to 907 are four hands of two valves each; inputs 900 to 907 their sensors."""


class Signals:
    """Bits by their number: 0 to 255, and the hands' from 900.

    Attributes:
        pseudo: inputs are written over the line instead of read from wires.
    """

    def __init__(self) -> None:
        self.pseudo = False
        self._inputs: set[int] = set()
        self._outputs: set[int] = set()
        self._pulses: list[tuple[float, tuple[int, ...], int]] = []
        self.reset_outputs()

    def reset_outputs(self) -> None:
        """All off, all hands open: the pattern HANDINIT 1,0,1,0,1,0,1,0."""
        self._outputs.clear()
        self._pulses.clear()
        for hand in range(1, HANDS + 1):
            self.move_hand(hand, opened=True)

    def clear_outputs(self) -> None:
        """All off but the hands, as CLR 1 does while ORST is as delivered."""
        self._outputs = {signal for signal in self._outputs if signal >= HAND_FIRST}

    def read(self, first: int, count: int, *, outputs: bool = False) -> int:
        """Bits from `first` upwards as a number.

        Raises:
            RefusedRequest: L6600, a number out of range.
        """
        require(first)
        bits = self._outputs if outputs else self._inputs
        return sum((first + place in bits) << place for place in range(count))

    def write(self, first: int, count: int, value: int, *, outputs: bool = True) -> None:
        """Set bits from `first` upwards.

        Raises:
            RefusedRequest: L6600, a number out of range.
        """
        require(first)
        bits = self._outputs if outputs else self._inputs
        for place in range(count):
            if value >> place & 1:
                bits.add(first + place)
            else:
                bits.discard(first + place)

    @property
    def pulses(self) -> int:
        """How many outputs, or groups of them, still have to go back."""
        return len(self._pulses)

    def begin_pulse(self, bits: Sequence[int], before: int, due_s: float) -> None:
        """Put bits back to what they were before, the first the lowest of `before`, when it is `due_s`.

        Raises:
            ProgramError: L3110, a fifth at a time.
        """
        if len(self._pulses) >= LAST_OUTPUTS:
            raise ProgramError(3110, "a fifth pulse at a time", allowed=f"{LAST_OUTPUTS}")
        self._pulses.append((due_s, tuple(bits), before))

    def end_pulses(self, now_s: float) -> None:
        """Those whose time has come."""
        due = [pulse for pulse in self._pulses if pulse[0] <= now_s + 1e-9]
        for pulse in due:
            self._pulses.remove(pulse)
            for place, bit in enumerate(pulse[1]):
                self.write(bit, 1, pulse[2] >> place & 1)

    def move_hand(self, hand: int, *, opened: bool) -> None:
        """Hand `hand` is the pair of outputs 900 + 2 (hand - 1), + 1: the first opens, the second closes."""
        self.write(HAND_FIRST + 2 * (hand - 1), 2, 0b01 if opened else 0b10)

    def hand_open(self, hand: int) -> bool:
        """True if its last order was to open."""
        return bool(self.read(HAND_FIRST + 2 * (hand - 1), 1, outputs=True))


def require(number: int) -> None:
    """Make sure that a signal exists.

    Raises:
        RefusedRequest: L6600.
    """
    if not (0 <= number < SIGNALS or HAND_FIRST <= number < HAND_FIRST + 2 * HANDS):
        raise RefusedRequest(6600)


class Comm:
    """The serial line as programs have it: opened by one of them, fed by lines with PRN.

    Args:
        send: puts text on the line.
    """

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._opened: tuple[int, int] | None = None
        self._texts: deque[str] = deque(maxlen=LINES_WAITING)

    @property
    def is_open(self) -> bool:
        """Some program has executed OPEN."""
        return self._opened is not None

    def open(self, slot: int, number: int) -> None:
        """OPEN by the program in a slot, under a number.

        Raises:
            ProgramError: it is open already.
        """
        if self._opened is not None:
            raise ProgramError(3130, "COM1:")
        self._opened = (slot, number)
        self._texts.clear()

    def close(self, slot: int, number: int | None = None) -> None:
        """CLOSE, or the end of the program in a slot; what was not read is lost."""
        if self._opened is not None and self._opened[0] == slot and number in (None, self._opened[1]):
            self._opened = None
            self._texts.clear()

    def opened_as(self, slot: int, number: int) -> bool:
        """True if this slot's program has it under this number."""
        return self._opened == (slot, number)

    def bring(self, text: str) -> None:
        """A line for INPUT has come."""
        self._texts.append(text)

    def waiting(self) -> bool:
        """A line has come that was not read."""
        return bool(self._texts)

    def receive(self) -> str | None:
        """The oldest line."""
        return self._texts.popleft() if self._texts else None

    def send(self, text: str) -> None:
        """PRINT."""
        self._send(text)


class SlotSignals:
    """`hil.program.signals.Signals` for the program in one slot."""

    def __init__(self, signals: Signals, comm: Comm, ethernet: Ethernet, slot: int) -> None:
        self._signals, self._comm, self._ethernet, self._slot = signals, comm, ethernet, slot

    def advance(self, now_s: float) -> None:
        """Time is the controller's."""

    def input_bit(self, signal: int) -> int:
        """0 or 1."""
        with _as_program_errors():
            return self._signals.read(signal, 1)

    def output_bit(self, signal: int) -> int:
        """What was written last."""
        with _as_program_errors():
            return self._signals.read(signal, 1, outputs=True)

    def write_bit(self, signal: int, value: int) -> None:
        """Switch an output."""
        with _as_program_errors():
            self._signals.write(signal, 1, value)

    def clear_outputs(self) -> None:
        """All off but those of the hands."""
        self._signals.clear_outputs()

    def open(self, device: str, number: int) -> None:
        """Open the serial line, or with an Ethernet card a line to a computer."""
        if device.upper().startswith(ENET):
            self._ethernet.open(self._slot, number, device)
            return
        if device.upper() != "COM1:":
            raise ProgramError(3140, f'"{device}"', allowed='"COM1:"')
        self._comm.open(self._slot, number)

    def close(self, number: int) -> None:
        """Close it."""
        self._comm.close(self._slot, number)
        self._ethernet.close(self._slot, number)

    def connected(self, number: int) -> bool:
        """An open line has a partner."""
        return self._on_serial(number) or self._ethernet.opened_as(self._slot, number)

    def waiting(self, number: int) -> bool:
        """Text has come."""
        return self._on_serial(number) and self._comm.waiting()

    def receive(self, number: int) -> str | None:
        """The oldest text."""
        return self._comm.receive() if self._on_serial(number) else None

    def send(self, number: int, text: str) -> None:
        """Send text on the line."""
        if self._on_serial(number):
            self._comm.send(text)

    def lead(self, lead: Lead, arm: ProgramArm, row: FloatArray) -> FloatArray | None:
        """One cycle of MXT."""
        return self._ethernet.lead(self._slot, lead, arm, row)

    def _on_serial(self, number: int) -> bool:
        return self._comm.opened_as(self._slot, number)


@contextmanager
def _as_program_errors() -> Iterator[None]:
    try:
        yield
    except RefusedRequest as error:
        raise ProgramError(error.number) from None

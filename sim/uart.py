"""Serial lines bit by bit: how a byte is framed, and what a receiver hears that is set otherwise."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

from hil.types import Record

TOLERANCE = 0.04
"""Relative difference of speed that a receiver still bears: less than half a bit over ten bits."""


class Parity(Enum):
    """The bit behind the data."""

    NONE = "N"
    ODD = "O"
    EVEN = "E"


class Framing(Record, frozen=True):
    """How eight data bits are wrapped: one start bit, the data from the lowest bit up, parity, stop bits."""

    parity: Parity = Parity.NONE
    stop_bits: int = 1

    @property
    def bits(self) -> int:
        """Bit times of one byte."""
        return 9 + (self.parity is not Parity.NONE) + self.stop_bits

    @property
    def name(self) -> str:
        """As it is written on doors of cabinets: 8N1, 8E2."""
        return f"8{self.parity.value}{self.stop_bits}"

    def parity_bit(self, value: int) -> int:
        """The parity bit of a byte."""
        return (value.bit_count() + (self.parity is Parity.ODD)) % 2

    def levels(self, value: int) -> list[int]:
        """The line's level in each bit time."""
        data = [(value >> bit) & 1 for bit in range(8)]
        parity = [] if self.parity is Parity.NONE else [self.parity_bit(value)]
        return [0, *data, *parity, *[1] * self.stop_bits]


EIGHT_N_ONE = Framing()
EIGHT_E_TWO = Framing(Parity.EVEN, 2)
FRAMINGS = {
    framing.name: framing for framing in (Framing(parity, stop_bits) for parity in Parity for stop_bits in (1, 2))
}
"""All framings of eight data bits by name."""


@dataclass
class Chunk:
    """Bytes on their way in; byte i is complete at start_s + (i + 1) * byte_s.

    Attributes:
        taken: how many of them the receiver has dealt with.
    """

    data: bytes
    start_s: float
    byte_s: float
    taken: int = 0

    def end_s(self, count: int) -> float:
        """When so many bytes are complete."""
        return self.start_s + count * self.byte_s

    def complete(self, until_s: float) -> int:
        """How many bytes are complete by `until_s`."""
        size = len(self.data)
        if self.end_s(size) <= until_s:
            return size
        if not self.byte_s:
            return 0
        return min(size, max(int((until_s - self.start_s) / self.byte_s + 1e-9), 0))


class Outbox:
    """Bytes on their way out, each with the time at which it is complete, in order."""

    def __init__(self) -> None:
        self._parts: deque[tuple[float, bytes]] = deque()

    def put(self, end_s: float, value: int) -> None:
        """One more byte, complete at `end_s`."""
        self._parts.append((end_s, bytes((value,))))

    def put_whole(self, end_s: float, data: bytes) -> None:
        """Bytes that are complete together, as on a network."""
        self._parts.append((end_s, data))

    @property
    def due_s(self) -> float:
        """When the next byte is complete; infinity if none is under way."""
        return self._parts[0][0] if self._parts else math.inf

    def sent_by(self, until_s: float) -> list[tuple[float, bytes]]:
        """Take what is complete by then, each with the time of its end."""
        sent: list[tuple[float, bytes]] = []
        while self._parts and self._parts[0][0] <= until_s + 1e-12:
            sent.append(self._parts.popleft())
        return sent

    def clear(self) -> None:
        """What has not left never will."""
        self._parts.clear()


def same_speed(sent_byte_s: float, heard_byte_s: float) -> bool:
    """True if the receiver reads the line without errors; both frame a byte alike."""
    return abs(sent_byte_s - heard_byte_s) <= TOLERANCE * heard_byte_s


def mishear(
    data: bytes,
    start_s: float,
    sent_byte_s: float,
    heard_byte_s: float,
    sent: Framing = EIGHT_N_ONE,
    heard: Framing = EIGHT_N_ONE,
) -> list[tuple[float, int, bool]]:
    """Bytes as a receiver at the wrong speed, or with another framing, takes them off the line.

    The receiver waits for a falling edge, samples the middle of each of its own bit times, and takes a wrong
    parity bit or a low first stop bit as an error. The line rests high before and after.

    Args:
        data: bytes sent back to back.
        start_s: when the first start bit begins.
        sent_byte_s: time of a whole byte of the sender.
        heard_byte_s: time of a whole byte of the receiver.
        sent: framing of the sender.
        heard: framing of the receiver.

    Returns:
        Time of completion, value, and whether parity or stop bit was wrong, in order of time.
    """
    levels = [level for byte in data for level in sent.levels(byte)]
    sent_bit_s, heard_bit_s = sent_byte_s / sent.bits, heard_byte_s / heard.bits
    checked = heard.bits - heard.stop_bits + 1
    found: list[tuple[float, int, bool]] = []
    index = 0
    while (index := _falling_edge(levels, index)) < len(levels):
        edge_s = index * sent_bit_s
        samples = [_level(levels, (edge_s + (bit + 0.5) * heard_bit_s) / sent_bit_s) for bit in range(checked)]
        if samples[0]:
            index += 1
            continue
        value = sum(level << bit for bit, level in enumerate(samples[1:9]))
        wrong = not samples[-1] or (heard.parity is not Parity.NONE and samples[9] != heard.parity_bit(value))
        found.append((start_s + edge_s + heard_byte_s, value, wrong))
        index = max(index + 1, int((edge_s + (checked - 0.5) * heard_bit_s) / sent_bit_s))
    return found


def hear(
    data: bytes, start_s: float, sent_byte_s: float, heard_byte_s: float, sent: Framing, heard: Framing
) -> list[tuple[Chunk, bool]]:
    """What a receiver takes off the line: all at once if both ends agree, else byte by byte; and what was wrong in it.

    Args and times as for `mishear`; a receiver without a byte time, on a network, hears everything at once.
    """
    if not heard_byte_s:
        return [(Chunk(data, start_s, 0.0), False)] if data else []
    if sent == heard and same_speed(sent_byte_s, heard_byte_s):
        return [(Chunk(data, start_s, sent_byte_s), False)] if data else []
    return [
        (Chunk(bytes((value,)), end_s - heard_byte_s, heard_byte_s), wrong)
        for end_s, value, wrong in mishear(data, start_s, sent_byte_s, heard_byte_s, sent, heard)
    ]


def _level(levels: list[int], position: float) -> int:
    index = int(position)
    return levels[index] if index < len(levels) else 1


def _falling_edge(levels: list[int], index: int) -> int:
    """Index of the first low level at or after `index` that follows a high one."""
    while index < len(levels) and (levels[index] or (index > 0 and not levels[index - 1])):
        index += 1
    return index

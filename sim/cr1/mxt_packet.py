"""The packets of MXT, real-time control over UDP: little endian, the same layout both ways.

As the maker's sample header has it: a command block of 64 bytes (all that old software knows), and behind it three
blocks for more monitor data. A compiler puts two bytes before each block of data that nobody names.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

_HEAD = Struct("<4H40s6HI")
_BLOCK = Struct("<2H40s")
_FLOATS, _WHOLES, _POSE = Struct("<8f"), Struct("<8i"), Struct("<8f2I")
BLOCKS = 3
SHORT = _HEAD.size
LONG = SHORT + BLOCKS * _BLOCK.size
DATA = 40


class Command(IntEnum):
    """What a packet asks for."""

    NOTHING = 0
    MOVE = 1
    END = 255


class Data(IntEnum):
    """What a block of data holds."""

    NOTHING = 0
    POSE = 1
    JOINT = 2
    PULSE = 3
    FILTERED_POSE = 4
    FILTERED_JOINT = 5
    FILTERED_PULSE = 6
    ENCODER_POSE = 7
    ENCODER_JOINT = 8
    ENCODER_PULSE = 9
    CURRENT_COMMAND = 10
    CURRENT = 11


class Io(IntEnum):
    """Which signals a packet carries."""

    NOTHING = 0
    OUTPUT = 1
    INPUT = 2


class Asked(NamedTuple):
    """A packet from a computer.

    Attributes:
        length: bytes that it had; the answer has as many.
        command, send_type: as they stand there.
        monitors: types of data wanted back, the first in the place of the command's data.
        data: of the command.
        send_io, receive_io, first, mask, word: signals.
        number: of the packet, as its sender counts.
    """

    length: int
    command: int
    send_type: int
    monitors: tuple[int, ...]
    data: bytes
    send_io: int
    receive_io: int
    first: int
    mask: int
    word: int
    number: int

    @property
    def floats(self) -> tuple[float, ...]:
        """Its data as eight numbers."""
        return _FLOATS.unpack_from(self.data)

    @property
    def wholes(self) -> tuple[int, ...]:
        """Its data as eight whole numbers."""
        return _WHOLES.unpack_from(self.data)

    @property
    def flags(self) -> tuple[int, int]:
        """The flags behind a pose."""
        *_, fl1, fl2 = _POSE.unpack(self.data)
        return fl1, fl2


def read(packet: bytes) -> Asked | None:
    """What a computer sent; None if it has no length that is known."""
    if len(packet) not in (SHORT, LONG):
        return None
    command, send_type, monitor, _, data, send_io, receive_io, first, mask, word, _, count = _HEAD.unpack_from(packet)
    more = [_BLOCK.unpack_from(packet, place)[0] for place in range(SHORT, len(packet), _BLOCK.size)]
    return Asked(len(packet), command, send_type, (monitor, *more), data, send_io, receive_io, first, mask, word, count)


def answer(asked: Asked, blocks: Sequence[bytes], io: tuple[int, int], silent_cycles: int) -> bytes:
    """The reply to a packet.

    Args:
        asked: the packet.
        blocks: data for each of its monitors.
        io: kind of signals in it, and their word.
        silent_cycles: how many cycles have gone by without a packet.
    """
    kind, word = io
    first, *more = asked.monitors
    head = _HEAD.pack(
        Command.NOTHING,
        first,
        first,
        0,
        blocks[0],
        kind,
        0,
        asked.first,
        0,
        word,
        silent_cycles & 0xFFFF,
        asked.number,
    )
    return head + b"".join(_BLOCK.pack(wanted, 0, data) for wanted, data in zip(more, blocks[1:], strict=True))


def floats(values: Sequence[float]) -> bytes:
    """Eight numbers as a block of data."""
    return _FLOATS.pack(*values).ljust(DATA, b"\0")


def wholes(values: Sequence[int]) -> bytes:
    """Eight whole numbers as a block of data."""
    return _WHOLES.pack(*values).ljust(DATA, b"\0")


def pose(values: Sequence[float], fl1: int, fl2: int) -> bytes:
    """Eight members and two flags as a block of data."""
    return _POSE.pack(*values, fl1, fl2)

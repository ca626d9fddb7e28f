"""The packets of MXT as the driver makes and reads them: joints as single-precision radians, little endian.

The layout is that of the maker's sample header: 64 bytes of command, and three monitor blocks of 44.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from drivers._rv2aj_codec import Position
from hil.errors import ControllerError
from hil.units import DEG

_PACKET = Struct("<4H32s8x6HI2H40s2H40s2H40s")
_JOINTS = Struct("<8f")
LENGTH = _PACKET.size

NOTHING, MOVE, END = 0, 1, 255
NO_DATA, COMMANDED, MEASURED = 0, 2, 8
"""Types of data: none, joints as they were commanded, joints as the encoders have them."""
COUNTS = 0x1_0000_0000


class Report(NamedTuple):
    """What the controller told.

    Attributes:
        number: of the packet that it answers.
        commanded_deg, found: where its own command stands, and where the arm is measured.
    """

    number: int
    commanded_deg: tuple[float, ...]
    found: Position


def joint_data(joints_deg: Sequence[float]) -> bytes:
    """Five joints as the data of a command; the place of J4 and the two behind J6 are empty."""
    j1, j2, j3, j5, j6 = (value * DEG for value in joints_deg)
    return _JOINTS.pack(j1, j2, j3, 0.0, j5, j6, 0.0, 0.0)


def encode_packet(command: int, count: int, data: bytes = b"") -> bytes:
    """A packet that asks for what is commanded and what is measured; with data it leads the arm there.

    Args:
        command: NOTHING, MOVE or END.
        count: of the packets, from 0.
        data: of `joint_data`.
    """
    kind = COMMANDED if command == MOVE else NO_DATA
    blocks = (MEASURED, 0, b"", NO_DATA, 0, b"", NO_DATA, 0, b"")
    return _PACKET.pack(command, kind, COMMANDED, 0, data, 0, 0, 0, 0, 0, 0, count % COUNTS, *blocks)


def decode_report(packet: bytes) -> Report:
    """What a reply says.

    Raises:
        ControllerError: it is none.
    """
    if len(packet) != LENGTH:
        raise ControllerError(f"a packet of {len(packet)} bytes is no reply of MXT; allowed: {LENGTH}", packet)
    _, _, first, _, commanded, *_, count, second, _, measured, _, _, _, _, _, _ = _PACKET.unpack(packet)
    if (first, second) != (COMMANDED, MEASURED):
        raise ControllerError(f"a reply of MXT with data of types {first} and {second}: others were asked for", packet)
    return Report(count, _joints(commanded, packet), Position(_joints(measured[:32], packet), 0, 0.0, ()))


def _joints(data: bytes, packet: bytes) -> tuple[float, ...]:
    j1, j2, j3, _, j5, j6, _, _ = _JOINTS.unpack(data)
    found = tuple(math.degrees(value) for value in (j1, j2, j3, j5, j6))
    if not all(map(math.isfinite, found)):
        raise ControllerError("a reply of MXT with joints that are no numbers", packet)
    return found

"""The line of a simulated arm: text with a check sum, whole numbers of millionths (docs/any-arm.md).

    HELLO                        ARM <axes> <boots>
    ASK <number>                 AT <number> <boots> <held axes, bits in hex> <position> ...
    FIRST <axis> <position>      STOP
    MOVE <microseconds> <position> ...

Every line ends with ``*``, the CRC-32 of the bytes before it as eight hexadecimal digits, and LF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

MILLIONTH = 1e-6
"""Positions are whole numbers of this many rad or m."""
MOST = 1000.0
"""Farther from zero no axis can be, rad or m."""
LONGEST_LINE = 4096


class Greeting(NamedTuple):
    """Who answers: how many axes, and how often it was switched on."""

    axes: int
    boots: int


class Report(NamedTuple):
    """An answer to ASK: which question, how often it was switched on, which axes it holds, where all are, rad or m."""

    number: int
    boots: int
    held: tuple[bool, ...]
    positions: tuple[float, ...]


def framed(text: str) -> bytes:
    """A line as it leaves."""
    body = text.encode("ascii")
    return b"%b*%08X\n" % (body, crc32(body))


def unframed(line: bytes) -> str | None:
    """What stands in a line without its LF; None for one that is damaged."""
    body, star, digits = line.rpartition(b"*")
    if star and digits == b"%08X" % crc32(body) and body.isascii():
        return body.decode("ascii")
    return None


def millionths(positions: Sequence[float]) -> list[int]:
    """Positions as the wire has them."""
    return [round(position / MILLIONTH) for position in positions]


def greeting(words: Sequence[str]) -> Greeting | None:
    """The answer to HELLO, if these words are one."""
    if len(words) == 3 and words[0] == "ARM" and words[1].isdigit() and words[2].isdigit():
        return Greeting(int(words[1]), int(words[2]))
    return None


def report(words: Sequence[str], axes: int) -> Report | None:
    """The answer to ASK of an arm of so many axes, if these words are one."""
    if len(words) != axes + 4 or words[0] != "AT":
        return None
    try:
        number, boots, bits, *places = int(words[1]), int(words[2]), int(words[3], 16), *map(int, words[4:])
    except ValueError:
        return None
    held = tuple([bool(bits >> axis & 1) for axis in range(axes)])
    return Report(number, boots, held, tuple([place * MILLIONTH for place in places]))

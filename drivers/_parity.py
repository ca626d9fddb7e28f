"""Bytes that came broken, as a terminal marks them with PARMRK: told apart from good ones, whatever those are."""

from __future__ import annotations

from typing import Final

BROKEN: Final = b"\x01"
"""What a broken byte becomes: no letter of a CR1's answer, and no pulse width of an SSC-32. Never 0: "off" there."""

_MARK, _BAD = 0xFF, 0x00


class ParityMarks:
    """Takes the marks out of what was read, however it was cut up.

    ``FF 00 x`` stands for an ``x`` with a wrong parity or stop bit, ``FF FF`` for a good ``FF``.
    """

    def __init__(self) -> None:
        self._held = b""

    def take(self, data: bytes) -> bytes:
        """The bytes as they came over the line, with `BROKEN` for each broken one; a mark not yet whole is kept."""
        data, self._held = self._held + data, b""
        if _MARK not in data:
            return data
        clean, place = bytearray(), 0
        while place < len(data):
            mark = data[place : place + 3]
            if mark[0] != _MARK:
                clean.append(mark[0])
                place += 1
            elif len(mark) == 1 or (mark[1] == _BAD and len(mark) == 2):
                self._held = mark
                break
            elif mark[1] == _BAD:
                clean += BROKEN
                place += 3
            else:
                clean.append(_MARK)
                place += 2 if mark[1] == _MARK else 1
        return bytes(clean)

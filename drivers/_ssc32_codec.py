"""The SSC-32's language: values to bytes and bytes to values; no port and no clock."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping

from hil.errors import CommandError, ControllerError
from hil.types import Record

PULSE_US = (500, 2500)
CHANNELS = 32
CANCEL = b"\x1b\r"
"""ESC drops a half line that a former client left, CR closes the empty one; a CR alone would execute it."""

_WIDTHS = re.compile(rb"[\x00\x32-\xfa]*", re.DOTALL)
_TORN_VERSION = re.compile(rb"[-SC0-9V.XEGPUB \r]+")
_VERSION = re.compile(r"SSC32-V?(\d+)\.")
_MOVES_BY_ITSELF = re.compile(r"#|PL|XS", re.IGNORECASE)


def encode_move(
    pulses_us: Mapping[int, int], time_ms: int | None = None, speeds_us_s: Mapping[int, int] | None = None
) -> bytes:
    """One group move.

    Args:
        pulses_us: target width per channel, whole microseconds, 500 to 2500.
        time_ms: least duration of the whole move, 1 to 65535; None for a move at full speed.
        speeds_us_s: greatest speed of single channels, 1 to 65535.

    Raises:
        CommandError: anything is not a whole number or out of range, or there is no channel.
    """
    speeds = speeds_us_s or {}
    if not pulses_us or (speeds and not speeds.keys() <= pulses_us.keys()):
        raise CommandError("a move names one channel or more, and speeds only for those", value=dict(pulses_us))
    parts = []
    low_us, high_us = PULSE_US
    for channel, pulse_us in pulses_us.items():
        if type(channel) is not int or not 0 <= channel < CHANNELS:
            _whole(channel, 0, CHANNELS - 1, "channel")
        if type(pulse_us) is not int or not low_us <= pulse_us <= high_us:
            _whole(pulse_us, low_us, high_us, "pulse in us", channel)
        parts.append(b"#%dP%d" % (channel, pulse_us))
        if channel in speeds:
            _whole(speeds[channel], 1, 65535, "speed in us/s", channel)
            parts.append(b"S%d" % speeds[channel])
    if time_ms is not None:
        _whole(time_ms, 1, 65535, "time in ms")
        parts.append(b"T%d" % time_ms)
    return b"".join(parts) + b"\r"


def encode_stop(channels: Iterable[int]) -> bytes:
    """One ``STOPn`` line per channel; firmware 2.x only.

    Raises:
        CommandError: not a channel.
    """
    return b"".join(b"STOP%d\r" % _whole(channel, 0, CHANNELS - 1, "channel") for channel in channels)


def encode_release(channel: int) -> bytes:
    """Pulses off on one channel: its servo goes limp. Undocumented; confirmed by the maker's support (forum 19731).

    Raises:
        CommandError: not a channel.
    """
    return b"#%dP0\r" % _whole(channel, 0, CHANNELS - 1, "channel")


class Query(Record, frozen=True):
    """A question and the end of its reply: after `length` bytes, or at a CR where that is None."""

    line: bytes
    length: int | None = None


VERSION = Query(line=b"VER\r")
STATUS = Query(line=b"Q\r", length=1)
STARTUP = Query(line=b"SS\r")


def query_pulses(channels: Iterable[int]) -> Query:
    """The present commanded width of each channel, one byte each."""
    line = b"".join(b"QP%d" % _whole(channel, 0, CHANNELS - 1, "channel") for channel in channels)
    if not line:
        raise CommandError("a pulse query names one channel or more", value=())
    return Query(line=line + b"\r", length=line.count(b"Q"))


def query_register(number: int) -> Query:
    """One register's value; firmware 2.x only. There is no way to write one."""
    return Query(line=b"R%d\r" % _whole(number, 0, 255, "register"))


class ReplyDecoder:
    """Matches incoming bytes to questions, in order; never guesses."""

    def __init__(self) -> None:
        self._expected: deque[Query] = deque()
        self._buffer = bytearray()

    def expect(self, query: Query) -> None:
        """A question has been sent."""
        self._expected.append(query)

    def feed(self, data: bytes) -> list[tuple[Query, bytes]]:
        """Take bytes in pieces of any size; give each reply that is complete, with its question."""
        self._buffer += data
        replies = []
        while self._expected:
            length = self._expected[0].length
            if length is None:
                length = self._buffer.find(b"\r") + 1
            if not 0 < length <= len(self._buffer):
                break
            replies.append((self._expected.popleft(), bytes(self._buffer[:length])))
            del self._buffer[:length]
        return replies

    @property
    def surplus(self) -> bytes:
        """Bytes that nobody asked for; also those of an unfinished reply while one is expected."""
        return bytes(self._buffer)

    def clear(self) -> None:
        """Forget questions and bytes."""
        self._expected.clear()
        self._buffer.clear()


class Firmware(Record, frozen=True):
    """What the board says it is, and so what it can do; `raw` is its exact answer to ``VER``."""

    text: str
    raw: bytes
    major: int

    @property
    def has_stop(self) -> bool:
        """Knows ``STOPn``."""
        return self.major >= 2

    @property
    def has_registers(self) -> bool:
        """Knows ``Rn`` and ``SS``."""
        return self.major >= 2

    @property
    def has_baud_register(self) -> bool:
        """Keeps its speed in ``R4``: the SSC-32U. The older ones have jumpers."""
        return self.has_registers and "USB" in self.text


def find_version(heard: bytes) -> Firmware | None:
    """The board's answer to ``VER`` among what was heard: a whole line that starts with ``SSC32-``.

    A number that cannot be read counts as firmware 1: the smallest set of abilities.
    """
    for raw in heard.splitlines(keepends=True):
        if raw.startswith(b"SSC32-") and raw.endswith(b"\r"):
            text = raw.decode("ascii", "replace").strip()
            match = _VERSION.match(text)
            return Firmware(text=text, raw=raw, major=int(match[1]) if match else 1)
    return None


def is_torn_version(heard: bytes) -> bool:
    """Whether this can be answers to ``VER`` with bytes missing: no other letters, and enough of its own."""
    return _TORN_VERSION.fullmatch(heard) is not None and sum(heard.count(letter) for letter in b"SC-V") >= 3


def decode_pulses(raw: bytes) -> tuple[int, ...]:
    """Widths in microseconds, in steps of ten; 0 for a channel that is off.

    Raises:
        ControllerError: a byte that is no width.
    """
    if not _WIDTHS.fullmatch(raw):
        raise ControllerError(f"the answer to QP, {raw.hex(' ')}, holds a byte that is no pulse width", raw)
    return tuple([10 * byte for byte in raw])


def decode_status(raw: bytes) -> bool:
    """True while the last timed move runs by the board's timer.

    Raises:
        ControllerError: neither ``+`` nor ``.``; unknown is not done.
    """
    if raw not in (b"+", b"."):
        raise ControllerError(f"the answer to Q is {raw!r}, neither '+' nor '.'", raw)
    return raw == b"+"


def decode_register(raw: bytes) -> int:
    """A register's value.

    Raises:
        ControllerError: not a decimal number and CR.
    """
    if not re.fullmatch(rb" *-?\d{1,5} *\r", raw):
        raise ControllerError(f"a register's value is {raw!r}, not a number", raw)
    return int(raw)


def decode_startup(raw: bytes) -> str:
    """The stored startup string.

    Raises:
        ControllerError: not a text in double quotes and CR.
    """
    if not re.fullmatch(rb'".*" *\r', raw):
        raise ControllerError(f"the startup string is {raw!r}, not a text in quotes", raw)
    return raw.decode("ascii", "replace").strip()[1:-1]


def startup_moves(text: str) -> bool:
    """Whether a startup string can move a servo."""
    return _MOVES_BY_ITSELF.search(text) is not None


def _whole(value: int, low: int, high: int, what: str, channel: int | None = None) -> int:
    # bool is an int to isinstance, and a numpy integer is none to the formatter: only int itself passes.
    if type(value) is not int or not low <= value <= high:
        allowed = f"a whole number {low}..{high}"
        what = what if channel is None else f"channel {channel}: {what}"
        raise CommandError(f"{what}: {value!r} given; allowed: {allowed}", value=value, allowed=allowed)
    return value

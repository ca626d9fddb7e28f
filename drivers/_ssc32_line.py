"""One SSC-32 line: what may leave, when the wire is free, and which bytes answer which question."""

from __future__ import annotations

from typing import NamedTuple

from drivers._ssc32_codec import (
    CANCEL,
    VERSION,
    Query,
    ReplyDecoder,
    check_bytes,
    decode_pulses,
    query_pulses,
)
from drivers._ssc32_settings import Ssc32Settings
from hil.errors import ControllerError, LinkOverrun
from hil.link import BytePort

CANARY_US = 1500
QUERY_PERIOD_S = 0.05
HEARD_BYTES = 4096


class Reading(NamedTuple):
    """Widths per queried channel, 0 where off, and when the query reached the board."""

    pulses_us: tuple[int, ...]
    asked_s: float


class Line:
    """An open port, with our own account of the wire's time: buffers on the way hide how late a byte will be.

    Attributes:
        rate: present speed of the port.
        free_s: when everything written so far has left.
        missed: consecutive pulse queries without a valid answer.
        canary_us: what the canary channel reads, once it is set.
    """

    def __init__(self, settings: Ssc32Settings, port: BytePort) -> None:
        self.rate = settings.baud
        self.free_s = float("-inf")
        self.missed = 0
        self.canary_us: int | None = None
        self._port = port
        self._timeout_s = settings.reply_timeout_s
        self._settings = settings
        self._limits_us = {axis.channel: (axis.lower_us, axis.upper_us) for axis in settings.axes}
        if settings.canary_channel is not None:
            self._limits_us[settings.canary_channel] = (CANARY_US, CANARY_US)
        self._pulses = query_pulses(settings.channels)
        self._torn = False
        self._decoder = ReplyDecoder()
        self._asking = False
        self._asked_s = self._deadline_s = 0.0
        self._next_query_s = float("-inf")
        self._complete: bytes | None = None
        self._sync: _Sync | None = None

    def send(self, data: bytes, now_s: float) -> None:
        """Write whole lines; the only place from which bytes leave.

        Raises:
            CommandError: the bytes hold something that may not leave; nothing was sent.
            LinkOverrun: the port did not take them all.
            LinkClosed: the port is gone.
        """
        check_bytes(data, self._limits_us)
        if self._torn or self._sync is not None:
            # Bytes were lost: half a move may wait in the board, and must not be ended by what comes now.
            data = CANCEL + data
        try:
            self._port.write(data, now_s)
        except LinkOverrun:
            # Part of a line may have left.
            self._torn = True
            raise
        self._torn = False
        self.free_s = max(now_s, self.free_s) + len(data) * 10 / self.rate

    def limit(self, channel: int, limits_us: tuple[int, int] | None) -> None:
        """From now on let only these pulses out to a channel; None: none at all."""
        if limits_us is None:
            self._limits_us.pop(channel, None)
        else:
            self._limits_us[channel] = limits_us

    def receive(self, now_s: float) -> bytes:
        """Everything that has arrived."""
        return self._port.read(now_s)

    def set_rate(self, rate: int) -> None:
        """Change the port's speed."""
        self._port.set_baud(rate)
        self.rate = rate

    def close(self) -> None:
        """Let go of the port."""
        self._port.close()

    def ask(self, query: Query, now_s: float, patience_s: float) -> None:
        """Send a question; its reply may be late by `patience_s`."""
        self.send(query.line, now_s)
        self._decoder.expect(query)
        self._asking, self._complete = True, None
        self._asked_s = self.free_s
        self._deadline_s = self.free_s + self._settings.reply_s(query.length or 1) + patience_s

    def text(self, data: bytes, now_s: float) -> bytes | None:
        """A text answer; empty when its time is up, None while it may still come."""
        replies = self._decoder.feed(data)
        if replies:
            self._asking = False
            return replies[0][1]
        if now_s < self._deadline_s:
            return None
        self._lose_track()
        return b""

    def hold_queries(self, until_s: float) -> None:
        """Ask for pulses no earlier than this."""
        self._next_query_s = until_s

    def poll(self, data: bytes, now_s: float, version: bytes) -> Reading | None:
        """Move the one outstanding pulse query along, or send the next when the wire is idle.

        A reply counts when it is complete, plausible, and the next look at the line finds nothing behind it.
        After any other outcome nothing is believed until the exact answer to a ``VER`` has come by: since the
        board answers in order, a late byte can then no longer be taken for a newer reply.
        """
        if self._sync is not None:
            self._resynchronise(self._sync, data, now_s, version)
            return None
        reading = None
        if self._asking:
            reading = self._reply(data, now_s)
        elif data:
            self._lose_track()
        if not self._asking and self._sync is None and now_s >= max(self._next_query_s, self.free_s):
            self._next_query_s = now_s + QUERY_PERIOD_S
            self.ask(self._pulses, now_s, self._timeout_s)
        return reading

    def _reply(self, data: bytes, now_s: float) -> Reading | None:
        replies = self._decoder.feed(data)
        if self._complete is None and not replies:
            if now_s >= self._deadline_s:
                self._miss()
            return None
        if self._decoder.surplus:
            self._miss()
            return None
        if self._complete is None:
            self._complete = replies[0][1]
            return None
        self._asking = False
        try:
            pulses_us = decode_pulses(self._complete)
        except ControllerError:
            self._miss()
            return None
        if self.canary_us is not None and pulses_us[-1] not in (0, self.canary_us):
            self._miss()
            return None
        self.missed = 0
        return Reading(pulses_us, self._asked_s)

    def _miss(self) -> None:
        self.missed += 1
        self._lose_track()

    def _lose_track(self) -> None:
        self._decoder.clear()
        self._asking = False
        self._sync = _Sync()

    def _resynchronise(self, sync: _Sync, data: bytes, now_s: float, version: bytes) -> None:
        if sync.settled(version, data, now_s, self._timeout_s):
            self._sync = None
        elif not sync.heard.endswith(version) and now_s >= max(sync.deadline_s, self.free_s):
            if sync.asked:
                self.missed += 1
            self.send(VERSION.line, now_s)
            sync.asked += 1
            sync.deadline_s = self.free_s + self._settings.reply_s(len(version)) + self._timeout_s


class _Sync:
    """What has been heard since track was lost, and how often ``VER`` was asked."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.asked = 0
        self.deadline_s = float("-inf")
        self._last_byte_s = 0.0

    def settled(self, version: bytes, data: bytes, now_s: float, timeout_s: float) -> bool:
        """True once every ``VER`` is answered and a later look found nothing more.

        If an answer was lost for good, a long silence after the newest one has to do.
        """
        if data:
            self.heard = (self.heard + data)[-HEARD_BYTES:]
            self._last_byte_s = now_s
            return False
        if not self.heard.endswith(version):
            return False
        return self.heard.count(version) >= self.asked or now_s - self._last_byte_s > 2 * timeout_s

"""One SSC-32 line: what may leave, when the wire is free, and which bytes answer which question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drivers._line_counts import LineCounts
from drivers._line_signs import LineSigns
from drivers._ssc32_codec import (
    CANCEL,
    VERSION,
    Query,
    ReplyDecoder,
    decode_pulses,
    encode_release,
    query_pulses,
)
from drivers._ssc32_gate import Gate, Wire
from drivers._ssc32_settings import Ssc32Settings
from hil.errors import ControllerError, LinkOverrun
from hil.link import BytePort

HEARD_BYTES = 4096
PATIENCE_S = 0.025
"""How late an answer may be at least before it is overdue: an adapter may keep it for 16 ms, and we look every tick."""
MARGIN_S = 0.008
FORGETS = 0.02
"""Part by which each answer that comes sooner brings down what counts as the line's usual delay."""


class Reading(NamedTuple):
    """Widths per queried channel, 0 where off, and when the query reached the board.

    Attributes:
        sure: the look after it has found nothing behind it.
        newest: it answers the question that was asked last; else one before that, as far as can be told.
        clean: it came as asked; else among bytes of which some were lost or are noise.
    """

    pulses_us: tuple[int, ...]
    asked_s: float
    sure: bool
    newest: bool = True
    clean: bool = True


class Ssc32Line:
    """An open port, with our own account of the wire's time: buffers on the way hide how late a byte will be.

    Attributes:
        gate: looks at all bytes before they leave.
        counts: questions and what became of them.
        signs: how bytes come.
        rate: present speed of the port.
        free_s: when everything written so far has left.
        canary_us: what the canary channel reads, once it is set.
        counted: places in an answer whose byte has to be a pulse, in questions from now on; None for all.
        overdue_s: when the answer was due that is waited for now; None while none is late.
        steady: the handshake is over; what an answer takes is no longer learned at once.
    """

    def __init__(self, settings: Ssc32Settings, port: BytePort) -> None:
        self.rate = settings.baud
        self.free_s = float("-inf")
        self.canary_us: int | None = None
        self.overdue_s: float | None = None
        self.steady = False
        self._port = port
        self._timeout_s = settings.reply_timeout_s
        self._settings = settings
        self.gate = Gate(
            [Wire(axis.name, axis.channel, axis.lower_us, axis.upper_us, axis.points) for axis in settings.axes]
        )
        self._period_s = settings.report_period_s
        self._version = b""
        self.ask_about(settings.channels, counted=None)
        self._torn = False
        self._decoder = ReplyDecoder()
        self._asking = False
        self._asked_s = self._due_s = self._deadline_s = 0.0
        self._next_query_s = float("-inf")
        self._complete: tuple[int, ...] | None = None
        self._sync: _Sync | None = None
        self._usual_s = 0.0
        self._before_s = self._look_s = float("-inf")
        self.counts, self.signs = LineCounts(), LineSigns(10 / self.rate)

    def ask_about(self, channels: Sequence[int], counted: Sequence[int] | None) -> None:
        """Ask for the pulses of these from now on; only between two questions.

        Args:
            channels: in the order of the answer.
            counted: places in it whose byte has to be a pulse; what another byte says is not looked at. None for all.
        """
        self._pulses, self._width = query_pulses(channels), len(channels)
        self.gate.check(self._pulses.line)
        self._pulses_s = self._settings.reply_s(self._width)
        self.counted = self._asked_counted = counted

    def send(self, data: bytes, now_s: float) -> None:
        """Write whole lines; the only place, beside `send_row` and `release`, from which bytes leave.

        Raises:
            CommandError: the bytes hold something that may not leave; nothing was sent.
            LinkOverrun: the port did not take them all.
            LinkClosed: the port is gone.
        """
        if data is self._pulses.line:
            self._write(data, now_s)
            return
        self.gate.check(data)
        self._write(data, now_s)
        self.gate.left()

    def send_row(self, data: bytes, row: int, now_s: float) -> Sequence[int]:
        """As `send`, for the line of one sample of a certified motion; gives the pulses that were read back."""
        pulses_us = self.gate.check_row(data, row)
        self._write(data, now_s)
        self.gate.left()
        return pulses_us

    def release(self, channel: int, now_s: float) -> None:
        """Switch one channel off, if it is one of the settings' axes; otherwise as `send`."""
        data = encode_release(channel)
        self.gate.check_release(data)
        self._write(data, now_s)
        self.gate.left()

    def _write(self, data: bytes, now_s: float) -> None:
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
        self.signs.sent(data)
        self.free_s = max(now_s, self.free_s) + len(data) * 10 / self.rate

    def receive(self, now_s: float) -> bytes:
        """Everything that has arrived."""
        self._before_s, self._look_s = self._look_s, now_s
        data = self._port.read(now_s)
        if data:
            self.signs.heard(data, now_s)
        return data

    def set_rate(self, rate: int) -> None:
        """Change the port's speed."""
        self._port.set_baud(rate)
        self.rate, self.signs.byte_s = rate, 10 / rate

    def close(self) -> None:
        """Let go of the port."""
        self._port.close()

    def ask(self, query: Query, now_s: float, patience_s: float) -> None:
        """Send a question; its reply may be late by `patience_s`."""
        self.send(query.line, now_s)
        self._asked_counted = self.counted
        self._decoder.expect(query)
        self.counts.questions += 1
        self._asking, self._complete = True, None
        self._asked_s = self.free_s
        self._due_s = self.free_s + (
            self._pulses_s if query is self._pulses else self._settings.reply_s(query.length or 1)
        )
        self._deadline_s = self._due_s + patience_s

    def text(self, data: bytes, now_s: float) -> bytes | None:
        """A text answer; empty when its time is up, None while it may still come."""
        replies = self._decoder.feed(data)
        if replies:
            self._asking = False
            self.answered(self._due_s)
            return replies[0][1]
        if now_s < self._deadline_s:
            return None
        if self._decoder.surplus:
            self.signs.tear(now_s)
        self.counts.lost += 1
        self._lose_track()
        return b""

    def answered(self, due_s: float) -> None:
        """An answer that was due then is whole since this look: that is how late answers are on this line."""
        self._learn(self._before_s - due_s)

    def hold_queries(self, until_s: float) -> None:
        """Ask for pulses no earlier than this."""
        self._next_query_s = until_s

    def poll(self, data: bytes, now_s: float, version: bytes) -> Reading | None:
        """Move the one outstanding pulse query along.

        A reply is given as soon as it is complete and plausible, and counts once the next look at the line has found
        nothing behind it. A line that echoes is refused. After any other outcome nothing is believed until the exact
        answer to a ``VER``, and behind it that to a query of the same line, has come by: since the board answers in
        order, a late byte can then no longer be taken for a newer reply.

        Raises:
            ControllerError: the line gives back what it is sent.
        """
        reading, self._version = None, version
        if self._sync is not None:
            reading = self._find_track(self._sync, data, now_s)
        elif self._asking:
            reading = self._reply(data, now_s)
        elif data:
            self.counts.noise_bytes += len(data)
            self._lose_track()
        if data and self._sync is not None:
            self.signs.refuse_echo(self._settings.port_url)
        return reading

    def go_on(self, now_s: float, version: bytes) -> None:
        """Send the next pulse query when it is time and the wire is idle, or what leads back to the track."""
        self._version = version
        if self._sync is not None:
            self._ask_for_track(self._sync, now_s)
        elif not self._asking and now_s >= max(self._next_query_s, self.free_s):
            self._next_query_s = now_s + self._period_s
            self.ask(self._pulses, now_s, self._patience_s)

    def ask_again(self, now_s: float) -> None:
        """Ask at once instead of looking whether anything follows; on a line that is quick the next look is the last.

        What follows after all spoils the second answer, which then counts as none.
        """
        if self._sync is not None:
            self._settle(self._sync)
        self._next_query_s = now_s + self._period_s
        self.ask(self._pulses, now_s, self._usual_s)

    @property
    def _patience_s(self) -> float:
        return max(PATIENCE_S, self._usual_s)

    # --- one question, one answer -------------------------------------------------------------------------------

    def _reply(self, data: bytes, now_s: float) -> Reading | None:
        if self._complete is not None:
            if data:
                self._void(self._width + len(data))
                return None
            self._asking = False
            return Reading(self._complete, self._asked_s, sure=True)
        replies = self._decoder.feed(data)
        if not replies:
            if now_s >= self._deadline_s:
                # What has come of it by now may be the rest of a reply that lost bytes: ask anew.
                self.overdue_s = self._due_s
                heard = self._decoder.surplus
                if heard:
                    self.signs.tear(now_s)
                self._lose_track(waiting=True)
                if self._sync is not None:
                    self._sync.hear(heard, now_s, self._before_s)
            return None
        pulses_us = self._plausible(replies[0][1])
        if pulses_us is None or self._decoder.surplus:
            self._void(self._width + len(self._decoder.surplus))
            return None
        self._complete = pulses_us
        self.overdue_s = None
        self.answered(self._due_s)
        return Reading(pulses_us, self._asked_s, sure=False)

    def _plausible(self, raw: bytes) -> tuple[int, ...] | None:
        """Widths, if every byte that counts can be one; of the others ten times the byte."""
        counted = self._asked_counted
        try:
            if counted is None:
                return decode_pulses(raw)
            decode_pulses(bytes([raw[place] for place in counted if place < len(raw)]))
        except ControllerError:
            return None
        return tuple([10 * byte for byte in raw])

    def _belated(self, raw: bytes) -> tuple[int, ...] | None:
        """The same for bytes that nothing but their number tells from others: the canary has to be off or as set."""
        pulses_us = self._plausible(raw)
        if pulses_us is None or (self.canary_us is not None and pulses_us[-1] not in (0, self.canary_us)):
            return None
        return pulses_us

    def _learn(self, late_s: float) -> None:
        """How late answers are as a rule, by the last look that missed one: a late look of ours does not count."""
        took_s = min(max(late_s, 0.0) + MARGIN_S, self._timeout_s)
        if took_s <= self._usual_s:
            self._usual_s -= FORGETS * (self._usual_s - took_s)
        else:
            # While connecting every answer counts; later a single late one must not make the line seem slow.
            self._usual_s += (took_s - self._usual_s) * (0.5 if self.steady else 1.0)

    def _void(self, noise: int) -> None:
        self.counts.noise_bytes += noise
        self.overdue_s = self._due_s
        self._lose_track(waiting=False)
        self.counts.lost += 1

    # --- the way back to the right question ---------------------------------------------------------------------

    def _lose_track(self, *, waiting: bool = False) -> None:
        """Nothing is believed from here on; `waiting` if the answer to a query may still come."""
        self._decoder.clear()
        self._asking, self._complete = False, None
        self._sync = _Sync(self._width if waiting else 0, self._due_s)

    def _find_track(self, sync: _Sync, data: bytes, now_s: float) -> Reading | None:
        version = self._version
        if data:
            sync.hear(data, now_s, self._before_s)
            if sync.total == sync.waiting and (pulses_us := self._belated(bytes(sync.heard))) is not None:
                # The answer that was overdue, in its place before the others; or a newer one, without its ``VER``.
                return Reading(pulses_us, self._asked_s, sure=False, newest=False, clean=False)
            raw = sync.answer(version, self._width)
            sync.found = None if raw is None else self._plausible(raw)
            if sync.found is None:
                return None
            newest = sync.answered(version) >= sync.asked
            if newest:
                self.overdue_s = None
            return Reading(sync.found, sync.asked_s, sure=False, newest=newest, clean=False)
        if self.overdue_s is None and sync.found is None and sync.asked and now_s >= sync.due_s + self._patience_s:
            self.overdue_s = sync.due_s
        if sync.found is None:
            return None
        if sync.answered(version) >= sync.asked:
            self._settle(sync)
            return Reading(sync.found, sync.asked_s, sure=True)
        if now_s - sync.last_byte_s <= 2 * self._timeout_s:
            return None
        # The others are lost for good: a long silence after the newest answer has to do.
        self.counts.lost += sync.asked - sync.answered(version)
        sync.asked, self.overdue_s = sync.answered(version), None
        return Reading(sync.found, sync.asked_s, sure=False, clean=False)

    def _settle(self, sync: _Sync) -> None:
        """Back on track: what came late, what never came, and what belonged to nothing."""
        version = self._version
        answered = min(sync.answered(version), sync.asked)
        came_late = bool(sync.waiting) and sync.heard.find(version) >= sync.waiting
        if came_late:
            self._learn(sync.came_s - sync.waiting_due_s)
        self.counts.late += max(came_late + answered - 1, 0)
        self.counts.lost += bool(sync.waiting) - came_late + sync.asked - answered
        self.counts.noise_bytes += sync.new_noise(version, self._width)
        self._sync, self.overdue_s = None, None

    def _ask_for_track(self, sync: _Sync, now_s: float) -> None:
        """``VER`` and a query in one line of text after the other; again after a while, if nothing like it came."""
        version = self._version
        if sync.found is not None or now_s < max(sync.retry_s, self.free_s):
            return
        if sync.asked:
            if sync.total and not sync.answered(version):
                self.signs.tear(now_s)
            self.counts.noise_bytes += sync.new_noise(version, self._width)
        self.send(VERSION.line + self._pulses.line, now_s)
        self._asked_counted = self.counted
        self.counts.questions += 1
        reply_s = self._settings.reply_s(len(version) + self._width)
        sync.ask(self.free_s, self.free_s + reply_s, self._timeout_s)


class _Sync:
    """What has been heard since track was lost, and how often was asked for it.

    Attributes:
        waiting: bytes of the answer that was being waited for, 0 if none was; waiting_due_s: when it was due.
        total: bytes heard; noise: those among them that already count as noise.
        came_s: last look before the answer that was being waited for can have come.
        found: the last answer, if nothing has come behind it.
    """

    def __init__(self, waiting: int, waiting_due_s: float) -> None:
        self.waiting, self.waiting_due_s = waiting, waiting_due_s
        self.heard = bytearray()
        self.total = self.noise = self.asked = 0
        self.found: tuple[int, ...] | None = None
        self.asked_s = self.due_s = self.retry_s = float("-inf")
        self.last_byte_s = self.came_s = float("-inf")
        self._latest_s = float("-inf")

    def hear(self, data: bytes, now_s: float, before_s: float) -> None:
        """Take what has come; while it goes on a question is not repeated, but not for ever."""
        if not data:
            return
        self.heard = (self.heard + data)[-HEARD_BYTES:]
        if self.total < self.waiting <= self.total + len(data):
            self.came_s = before_s
        self.total += len(data)
        self.last_byte_s = now_s
        self.retry_s = max(self.retry_s, min(now_s + PATIENCE_S, self._latest_s))

    def ask(self, asked_s: float, due_s: float, timeout_s: float) -> None:
        """It was asked: how long to wait before it is asked again."""
        self.asked += 1
        self.asked_s, self.due_s = asked_s, due_s
        self.retry_s, self._latest_s = due_s + timeout_s, due_s + 2 * timeout_s

    def answered(self, version: bytes) -> int:
        """How many questions were answered so far."""
        return self.heard.count(version)

    def answer(self, version: bytes, width: int) -> bytes | None:
        """What has come behind the newest version text, if it is just the length of an answer."""
        start = self.heard.rfind(version)
        behind = bytes(self.heard[start + len(version) :])
        return behind if start >= 0 and len(behind) == width else None

    def new_noise(self, version: bytes, width: int) -> int:
        """Bytes that no question accounts for, and that were not given before."""
        meant = self.waiting + self.answered(version) * (len(version) + width)
        new = max(self.total - meant - self.noise, 0)
        self.noise += new
        return new

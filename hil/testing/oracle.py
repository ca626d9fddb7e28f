"""The oracle of unsafe bytes: reads what left for a controller and says in words what should never have left.

Here stands what an SSC-32 is sent; packets for a CR1 are judged by `hil.testing.packet_oracle`.

It knows the maker's protocol and the numbers of the rig, and shares nothing with driver, guard or emulator, so that
it can judge all three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from hil.errors import ConfigError
from hil.model.rig import Rig
from hil.testing.facts import FRAME_S, ROUNDING, AxisFacts, RigFacts
from hil.testing.packet_facts import PacketFacts, is_led_by_packets
from hil.testing.packet_oracle import PacketJudge
from hil.types import WRITING, Confirm, LetGo, Mode, Record, SupplyCut, TickRecord

CANARY_US = frozenset({750, 1250, 1750, 2250})
"""No board gives a channel one of these by itself, if its registers do not say so."""
BINARY_WORDS = "not plain text: it can begin a binary command"

_QUESTION = re.compile(rb"VER|Q|(?:QP\d{1,2})+|R\d{1,2}|SS")
_STOP = re.compile(rb"STOP(\d{1,2})")
_PLAIN = re.compile(rb"#(\d{1,2})P(\d{3,4})")
_RELEASE = re.compile(rb"#(\d{1,2})P0")
_GROUP = re.compile(rb"(?:#\d{1,2}P\d{3,4})+T(\d{1,5})")
_FROZEN = re.compile(rb"(?:#\d{1,2}P\d{3,4})+")
_TARGET = re.compile(rb"#(\d+)P(\d+)")
_BINARY = re.compile(rb"[^\t\n\r\x1b\x20-\x7e]")
_FREE_MOVE = re.compile(rb"\s*(?:#\s*\d+\s*P\s*\d+\s*(?:S\s*\d+\s*)?)+(?:T\s*(\d+)\s*)?")
_FREE_TARGET = re.compile(rb"#\s*(\d+)\s*P\s*(\d+)\s*(?:S\s*(\d+))?")


class UnsafeByte(Record, frozen=True):
    """One thing that should never have left.

    Attributes:
        offset: index of its first byte among all bytes that the oracle has seen.
        time_s: when it left, on the clock of whoever sent it.
        line: the whole line, without its CR.
        words: what is wrong with it.
        tick: number of the tick in which it left, None where there are no ticks.
        mode: the bridge's mode in that tick.
    """

    offset: int
    time_s: float
    line: bytes
    words: str
    tick: int | None = None
    mode: Mode | None = None

    @property
    def text(self) -> str:
        """One line that explains."""
        when = f"at {self.time_s:.3f} s" if self.tick is None else f"tick {self.tick}, {self.time_s:.3f} s"
        mode = "" if self.mode is None else f", {self.mode.value}"
        return f"byte {self.offset} ({when}{mode}): {self.line.decode('latin-1')!r}: {self.words}"


class _Track:
    """Where a channel's pulse is by what was sent: straight from start to target."""

    def __init__(self, pulse_us: float) -> None:
        self._start_us = self._target_us = pulse_us
        self._start_s = self._end_s = -math.inf

    def at(self, now_s: float) -> float:
        if now_s >= self._end_s:
            return self._target_us
        share = max(now_s - self._start_s, 0.0) / (self._end_s - self._start_s)
        return self._start_us + share * (self._target_us - self._start_us)

    def go(self, pulse_us: float, now_s: float, duration_s: float) -> None:
        self._start_us, self._target_us = self.at(now_s), pulse_us
        self._start_s, self._end_s = now_s, now_s + duration_s


class _Judge:
    """Cuts bytes into lines and remembers what is wrong with them, and where."""

    def __init__(self, rig: RigFacts, rounding_us: float) -> None:
        self.rig, self.rounding_us = rig, rounding_us
        self.findings: list[UnsafeByte] = []
        self._done = 0
        self._half = b""
        self._whole = b""
        self._skipped = 0

    @property
    def seen(self) -> int:
        return self._done + len(self._half)

    @property
    def unfinished(self) -> bool:
        """True if the last line has no end yet."""
        return bool(self._half)

    def lines(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in `data`; what stands before an ESC is dropped, as the board does."""
        *lines, self._half = (self._half + data).split(b"\r")
        for whole in lines:
            line = whole.rpartition(b"\x1b")[2]
            self._whole, self._skipped = whole, len(whole) - len(line)
            if line.strip():
                yield line
            self._done += len(whole) + 1
        self._whole, self._skipped = b"", 0

    def binary(self, data: bytes) -> int | None:
        """Where in `data` a byte stands that can begin a binary command, of which ESC and CR would be the rest."""
        found = _BINARY.search(data)
        if found is None:
            return None
        self._whole = self._half + data
        return len(self._half) + found.start()

    def note(self, words: str, at: int, time_s: float, tick: int | None = None, mode: Mode | None = None) -> None:
        """Byte `at` of the present line is unsafe."""
        offset = self._done + self._skipped + at
        self.findings.append(
            UnsafeByte(offset=offset, time_s=time_s, line=self._whole, words=words, tick=tick, mode=mode)
        )


class _Session(_Judge):
    """Judges the ticks of the bridge."""

    def __init__(self, rig: RigFacts, rounding_us: float, *, freezes_by_moves: bool) -> None:
        super().__init__(rig, rounding_us)
        self.moves = 0
        self._before = Mode.DISCONNECTED
        self._freezes_by_moves = freezes_by_moves
        self._cut = self._anew = False
        self._connect()

    def _connect(self) -> None:
        self._asked = self._confirmed = False
        self._last_us: dict[int, int] = {}
        self._marked = 0
        self._first_move_s = -math.inf

    def tick(self, record: TickRecord) -> None:
        self._record, self._mode, self._moved = record, record.mode, False
        if any("-> connecting" in event for event in record.events):
            self._connect()
            self._anew = True
        self._supply(record)
        self._listen(record)
        if any("-> energising" in event for event in record.events):
            if not self._asked:
                self._say("energising without a confirmed pose")
            if self._cut:
                self._say("energising after the servo supply was said to be cut, and nobody has vouched for it anew")
            self._confirmed = True
            self._first_move_s = -math.inf
        if (at := self.binary(record.written)) is not None:
            self._say(BINARY_WORDS, at)
        for line in self.lines(record.written):
            self._line(line)
        if record.written and self.unfinished:
            self._say("a line without an end: the next one would be taken for its rest")
        if record.mode in (Mode.ESTOP, Mode.FAULT):
            self._asked = self._confirmed = False
        self._before = record.mode

    def _listen(self, record: TickRecord) -> None:
        """Whether a pose counts as confirmed: not one from before an axis was let go of."""
        self._may_let_go: str | None = None
        released = None if record.released is None else list(self.rig.axes.values())[record.released].name
        for request in record.requests:
            if isinstance(request, Confirm):
                self._asked = True
            elif isinstance(request, LetGo) and request.axis == released:
                self._may_let_go, self._asked, self._confirmed = request.axis, False, False

    def _supply(self, record: TickRecord) -> None:
        """A cut is over with a word that it is on again, in a connection that was made after it."""
        for request in record.requests:
            if isinstance(request, SupplyCut):
                self._cut, self._anew = True, False
            elif isinstance(request, Confirm) and request.supply_on and self._anew:
                self._cut = False

    def _say(self, words: str, at: int = 0) -> None:
        self.note(words, at, self._record.t_s, self._record.tick, self._mode)

    def _line(self, line: bytes) -> None:
        if _QUESTION.fullmatch(line):
            return
        if stop := _STOP.fullmatch(line):
            if int(stop[1]) not in self.rig.axes:
                self._say(f"stops channel {int(stop[1])}, which is not the rig's")
        elif release := _RELEASE.fullmatch(line):
            self._release(int(release[1]))
        elif plain := _PLAIN.fullmatch(line):
            self._plain(line, int(plain[1]), int(plain[2]))
        elif group := _GROUP.fullmatch(line):
            self._group(line, int(group[1]))
        elif self._freezes_by_moves and _FROZEN.fullmatch(line):
            self._frozen(line)
        else:
            self._say("not a line that may leave")

    def _release(self, channel: int) -> None:
        """A servo lets go: one axis, asked for by its name, while nothing moves."""
        axis = self.rig.axes.get(channel)
        if axis is None or axis.name != self._may_let_go:
            self._say("lets a servo go that nobody has asked for")
        if self._mode in WRITING or self._mode is Mode.ARMED:
            self._say(f"lets a servo go while the arm is {self._mode.value}")
        self._may_let_go = None
        self._last_us.pop(channel, None)

    def _plain(self, line: bytes, channel: int, pulse_us: int) -> None:
        if channel == self.rig.canary:
            self._marked += 1
            # A tick reads before it takes requests, and a latched stop does not keep a handshake from ending.
            while_connecting = {self._before, self._mode} & {Mode.CONNECTING, Mode.ESTOP}
            if pulse_us not in CANARY_US or self._marked > 1 or not while_connecting:
                widths = ", ".join(map(str, sorted(CANARY_US)))
                self._say(f"the canary is set once, to one of {widths} us, while connecting")
            return
        if self._freezes_by_moves and self._mode not in WRITING:
            self._frozen(line)
            return
        if self._mode is not Mode.ENERGISING:
            self._say("an untimed move outside the guided first move: the servo goes there at full speed")
        self._may_move()
        pause_s, dwell_s = self._record.t_s - self._first_move_s, self.rig.dwell_s
        if pause_s < dwell_s - 1e-9:
            self._say(f"a first move {pause_s * 1e3:.0f} ms after the one before; allowed: {dwell_s * 1e3:.0f} or more")
        self._first_move_s = self._record.t_s
        self._pulse(channel, pulse_us, 0.5, 0)
        self._last_us[channel] = pulse_us

    def _group(self, line: bytes, time_ms: int) -> None:
        self.moves += 1
        if self._mode not in (Mode.STREAMING, Mode.STOPPING):
            self._say("a timed move outside streaming and stopping")
        if self._moved:
            self._say("a second timed move in one tick")
        self._moved = True
        self._may_move()
        targets = [(int(m[1]), int(m[2]), m.start()) for m in _TARGET.finditer(line)]
        if sorted(channel for channel, _, _ in targets) != sorted(self.rig.axes):
            self._say("a timed move that does not name every axis once")
        if time_ms != round(self.rig.look_ahead_s * 1e3):
            self._say(f"its time is not the look-ahead of {self.rig.look_ahead_s * 1e3:.0f} ms", line.rindex(b"T"))
        for channel, pulse_us, at in targets:
            axis, before_us = self._pulse(channel, pulse_us, self.rounding_us, at), self._last_us.get(channel)
            if before_us is None:
                self._say(f"channel {channel} was never driven alone and plainly before", at)
            elif axis is not None:
                step = abs(axis.position(pulse_us) - axis.position(before_us))
                allowed = axis.speed * self.rig.period_s + axis.per_us
                if step > allowed + ROUNDING:
                    self._say(f"{axis.name} steps by {axis.say(step)}; allowed in a period: {axis.say(allowed)}", at)
            self._last_us[channel] = pulse_us

    def _frozen(self, line: bytes) -> None:
        """Firmware 1.x has no STOP: what moves is sent to where it should be by now."""
        self._may_move()
        for target in _TARGET.finditer(line):
            channel, pulse_us, at = int(target[1]), int(target[2]), target.start()
            axis, before_us = self._pulse(channel, pulse_us, 0.5, at), self._last_us.get(channel)
            if before_us is None:
                self._say(f"freezes channel {channel}, which was never driven", at)
            elif axis is not None:
                way = abs(axis.position(pulse_us) - axis.position(before_us))
                if way > axis.speed * (self.rig.look_ahead_s + FRAME_S) + axis.per_us + ROUNDING:
                    self._say(f"{axis.name} is sent {axis.say(way)} away instead of being frozen", at)
            self._last_us[channel] = pulse_us

    def _pulse(self, channel: int, pulse_us: int, rounding_us: float, at: int) -> AxisFacts | None:
        axis = self.rig.axes.get(channel)
        if axis is None:
            self._say(f"channel {channel} is not the rig's", at)
        elif wrong := axis.outside(pulse_us, rounding_us):
            self._say(wrong, at)
        return axis

    def _may_move(self) -> None:
        if not self._confirmed:
            self._say("a move before anybody confirmed the pose")


class _Program(_Judge):
    """Judges the bytes of any program, of which nothing else is known."""

    def __init__(self, rig: RigFacts, rounding_us: float, *, limits_only: bool) -> None:
        super().__init__(rig, max(rounding_us, 0.5))
        self._limits_only = limits_only
        self._tracks: dict[int, _Track] = {}

    def take(self, data: bytes, now_s: float) -> None:
        if (at := self.binary(data)) is not None:
            self.note(BINARY_WORDS, at, now_s)
        for line in self.lines(data):
            self._line(line.upper(), now_s)

    def _line(self, line: bytes, now_s: float) -> None:
        plain = line.replace(b" ", b"")
        if _QUESTION.fullmatch(plain):
            return
        if stop := _STOP.fullmatch(plain):
            if track := self._tracks.get(int(stop[1])):
                track.go(track.at(now_s), now_s, 0.0)
        elif move := _FREE_MOVE.fullmatch(line):
            time_s = int(move[1] or 0) / 1e3
            targets = list(_FREE_TARGET.finditer(line))
            for target in targets:
                self._target(target, time_s, alone=len(targets) == 1, now_s=now_s)
        else:
            self.note("not a line whose effect is known", 0, now_s)

    def _target(self, target: re.Match[bytes], time_s: float, *, alone: bool, now_s: float) -> None:
        channel, pulse_us, speed_us_s, at = int(target[1]), int(target[2]), int(target[3] or 0), target.start()
        if channel == self.rig.canary:
            return
        axis = self.rig.axes.get(channel)
        if axis is None:
            self.note(f"channel {channel} is not the rig's", at, now_s)
            return
        if wrong := axis.outside(pulse_us, self.rounding_us):
            self.note(wrong, at, now_s)
        if self._limits_only:
            return
        track = self._tracks.get(channel)
        if track is None:
            self._tracks[channel] = _Track(pulse_us)
            if not alone or time_s or speed_us_s:
                self.note(
                    f"{axis.name} is driven for the first time, and not alone and plainly: the board cannot time a "
                    "move whose beginning it does not know",
                    at,
                    now_s,
                )
            return
        from_us = track.at(now_s)
        # Of time and speed, the slower counts.
        duration_s = max(time_s, abs(pulse_us - from_us) / speed_us_s if speed_us_s else 0.0)
        if wrong := axis.too_fast(abs(axis.position(pulse_us) - axis.position(from_us)), duration_s):
            self.note(wrong, at, now_s)
        track.go(pulse_us, now_s, duration_s)


class UnsafeBytes:
    """Judges bytes for one rig, of an SSC-32 or a CR1 led by packets, and remembers what should never have left.

    It can be asked in two ways, one per instance:

    - `take` judges whole ticks of the bridge and so knows mode, requests and time: nothing moves before a pose was
      confirmed; each axis is driven first alone, plainly, and after its pause; streamed moves name every axis, carry
      the look-ahead, and step within the speed limit.
    - `feed` judges the bytes of any program: known lines, channels of the rig, pulses inside pulse and joint limits,
      a plain first move, and no move faster than the rig allows.

    It is true when something unsafe has left: ``assert not unsafe_bytes``.

    Args:
        rig: whose limits and channels count.
        freezes_by_moves: the board is a 1.x, which has no STOP: a freeze is a plain move of what is driven.
        rounding_us: how far a streamed pulse may be outside a joint limit. The bridge lets none out; a driver alone
            knows pulse limits only, which are the whole microseconds around the joint's.
        limits_only: `feed` does not mind how a channel is driven and how fast: that is not the job of a driver alone.

    Raises:
        ConfigError: the rig's controller is of a kind that this oracle cannot read.
    """

    def __init__(
        self, rig: Rig, *, freezes_by_moves: bool = False, rounding_us: float = 0.0, limits_only: bool = False
    ) -> None:
        self._session: _Session | PacketJudge
        self._program: _Program | None = None
        self._packets: list[UnsafeByte] = []
        if is_led_by_packets(rig):
            self._session = PacketJudge(PacketFacts(rig), self._note_packet)
            return
        facts = RigFacts(rig)
        self._session = _Session(facts, rounding_us, freezes_by_moves=freezes_by_moves)
        self._program = _Program(facts, rounding_us, limits_only=limits_only)

    def take(self, records: Iterable[TickRecord]) -> UnsafeBytes:
        """Judge these ticks, in order."""
        for record in records:
            self._session.tick(record)
        return self

    def feed(self, data: bytes, now_s: float) -> UnsafeBytes:
        """Judge bytes that left at `now_s`, in any pieces; of an SSC-32 alone.

        Raises:
            ConfigError: the rig's arm is led by packets, whose ticks alone can be judged.
        """
        if self._program is None:
            raise ConfigError("feed", "controller.kind", "rv2aj", '"ssc32"; of this rig judge ticks with `take`')
        self._program.take(data, now_s)
        return self

    @property
    def findings(self) -> tuple[UnsafeByte, ...]:
        """Everything that should never have left, in order."""
        if self._program is None or isinstance(self._session, PacketJudge):
            return tuple(self._packets)
        return (*self._session.findings, *self._program.findings)

    @property
    def first(self) -> UnsafeByte | None:
        """The first of them, or None."""
        return next(iter(self.findings), None)

    @property
    def seen(self) -> int:
        """How many bytes were judged."""
        return self._session.seen + (0 if self._program is None else self._program.seen)

    def _note_packet(self, record: TickRecord, words: str, data: bytes) -> None:
        self._packets.append(
            UnsafeByte(
                offset=self._session.seen, time_s=record.t_s, line=data, words=words, tick=record.tick, mode=record.mode
            )
        )

    @property
    def moves(self) -> int:
        """How many streamed moves `take` has seen."""
        return self._session.moves

    def check(self) -> None:
        """Fail with the first unsafe byte in words.

        Raises:
            AssertionError: there is one.
        """
        first, count = self.first, len(self.findings)
        if first is not None:
            raise AssertionError(f"unsafe: {first.text}" + (f" (and {count - 1} more)" if count > 1 else ""))

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return f"<{self.seen} bytes judged; {'nothing unsafe' if self.first is None else self.first.text}>"

"""Judges what left the port, from the maker's manual and the rig's own numbers; knows nothing of driver or guard.

Takes the raw bytes tick by tick and finds whatever no SSC-32 of this rig may ever be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hil.model.rig import Rig
from hil.types import WRITING, Confirm, Mode, TickRecord

_QUESTION = re.compile(rb"VER|Q|(?:QP\d{1,2})+|R\d{1,2}|SS")
_STOP = re.compile(rb"STOP(\d{1,2})")
_PLAIN = re.compile(rb"#(\d{1,2})P(\d{3,4})")
_GROUP = re.compile(rb"((?:#\d{1,2}P\d{3,4})+)T(\d{1,5})")
_FROZEN = re.compile(rb"(?:#\d{1,2}P\d{3,4})+")
_TARGET = re.compile(rb"#(\d+)P(\d+)")
CANARY_US = 1500


class _Axis:
    def __init__(self, rig: Rig, index: int) -> None:
        axis, wire = rig.axes[index], rig.controller.axes[index]  # type: ignore[attr-defined]
        self.name, self.channel = axis.name, wire.channel
        self._points = wire.points
        ends = sorted((self._pulse(axis.lower), self._pulse(axis.upper)))
        self.joint_us, self.wire_us = (ends[0], ends[1]), (wire.lower_us, wire.upper_us)
        slopes = [abs((b[1] - a[1]) / (b[0] - a[0])) for a, b in zip(wire.points, wire.points[1:], strict=False)]
        self.step_us = axis.speed * rig.period_s * max(slopes) + 1.0

    def _pulse(self, position: float) -> float:
        """Straight lines between the calibrated points, the outer ones prolonged."""
        points = self._points
        k = 0
        while k < len(points) - 2 and position >= points[k + 1][0]:
            k += 1
        (x0, y0), (x1, y1) = points[k], points[k + 1]
        return float(y0 + (position - x0) * (y1 - y0) / (x1 - x0))


class WireOracle:
    """Follows one session's bytes; `problems` says in words what should never have left.

    Args:
        rig: whose limits and channels count.
        freezes_by_moves: a board without STOP is frozen by plain moves of what is driven, in any mode.
    """

    _marking = frozenset({Mode.CONNECTING, Mode.ESTOP})  # a latched stop does not keep the handshake from ending

    def __init__(self, rig: Rig, *, freezes_by_moves: bool = False) -> None:
        self.problems: list[str] = []
        self.lines: list[bytes] = []
        self.moves = 0
        self._axes = {axis.channel: axis for axis in (_Axis(rig, i) for i in range(len(rig.axes)))}
        self._canary: int | None = rig.controller.canary_channel  # type: ignore[attr-defined]
        self._look_ahead_ms = round(rig.look_ahead_s * 1e3)
        self._freezes_by_moves = freezes_by_moves
        self._half = b""
        self._before = Mode.DISCONNECTED
        self._asked = self._confirmed = False
        self._connect()

    def _connect(self) -> None:
        self._driven: set[int] = set()
        self._streamed: dict[int, int] = {}
        self._marked = 0

    def take(self, records: Iterable[TickRecord]) -> WireOracle:
        """Judge these ticks, in order."""
        for record in records:
            self._tick(record)
        return self

    def _tick(self, record: TickRecord) -> None:
        if any("connecting" in event and "->" in event for event in record.events):
            self._connect()
            self._asked = self._confirmed = False
        self._asked |= any(isinstance(request, Confirm) for request in record.requests)
        if any("-> energising" in event for event in record.events):
            if not self._asked:
                self._say(record, b"", "energising without a confirmed pose")
            self._confirmed = True
        data = self._half + record.written
        *lines, self._half = data.split(b"\r")
        for line in lines:
            self._line(record, line)
        self._before = record.mode
        if record.mode in (Mode.ESTOP, Mode.FAULT):
            self._asked = self._confirmed = False

    def _line(self, record: TickRecord, line: bytes) -> None:
        self.lines.append(line)
        line = line.rpartition(b"\x1b")[2] if line.startswith(b"\x1b") else line
        if not line or _QUESTION.fullmatch(line):
            return
        if stop := _STOP.fullmatch(line):
            if int(stop[1]) not in self._axes:
                self._say(record, line, "stops a channel that is not the rig's")
        elif plain := _PLAIN.fullmatch(line):
            self._plain(record, line, int(plain[1]), int(plain[2]))
        elif group := _GROUP.fullmatch(line):
            self._group(record, line, group[1], int(group[2]))
        elif self._freezes_by_moves and _FROZEN.fullmatch(line):
            self._frozen(record, line)
        else:
            self._say(record, line, "not a line that may leave")

    def _plain(self, record: TickRecord, line: bytes, channel: int, pulse_us: int) -> None:
        if channel == self._canary:
            self._marked += 1
            if pulse_us != CANARY_US or self._marked > 1 or not {self._before, record.mode} & self._marking:
                self._say(record, line, "the canary is set once, to 1500 us, while connecting")
            return
        if self._freezes_by_moves and record.mode not in WRITING:
            self._frozen(record, line)
            return
        if record.mode is not Mode.ENERGISING:
            self._say(record, line, "an untimed move outside the guided first move")
        self._pulse(record, line, channel, pulse_us, rounding_us=0.5)
        self._driven.add(channel)
        self._streamed[channel] = pulse_us

    def _frozen(self, record: TickRecord, line: bytes) -> None:
        targets = {int(channel): int(pulse) for channel, pulse in _TARGET.findall(line)}
        if not targets.keys() <= self._driven:
            self._say(record, line, "freezes a channel that was never driven")
        for channel, pulse_us in targets.items():
            self._pulse(record, line, channel, pulse_us, rounding_us=0.5)
            self._streamed[channel] = pulse_us

    def _group(self, record: TickRecord, line: bytes, targets: bytes, time_ms: int) -> None:
        self.moves += 1
        pairs = [(int(channel), int(pulse)) for channel, pulse in _TARGET.findall(targets)]
        if record.mode not in (Mode.STREAMING, Mode.STOPPING):
            self._say(record, line, "a timed move outside streaming and stopping")
        if {channel for channel, _ in pairs} != self._axes.keys() or len(pairs) != len(self._axes):
            self._say(record, line, "a timed move that does not name every axis once")
        if time_ms != self._look_ahead_ms:
            self._say(record, line, f"its time is not the look-ahead of {self._look_ahead_ms} ms")
        for channel, pulse_us in pairs:
            self._pulse(record, line, channel, pulse_us, rounding_us=0.0)
            if channel not in self._driven:
                self._say(record, line, f"channel {channel} was never driven alone and plain before")
            axis, before = self._axes.get(channel), self._streamed.get(channel)
            if axis and before is not None and abs(pulse_us - before) > axis.step_us + 1e-9:
                self._say(record, line, f"{axis.name} steps by {pulse_us - before} us, allowed: {axis.step_us:.2f}")
            self._streamed[channel] = pulse_us

    def _pulse(self, record: TickRecord, line: bytes, channel: int, pulse_us: int, rounding_us: float) -> None:
        axis = self._axes.get(channel)
        if axis is None:
            self._say(record, line, f"channel {channel} is not the rig's")
            return
        if not self._confirmed:
            self._say(record, line, "a move before anybody confirmed the pose")
        if not axis.wire_us[0] <= pulse_us <= axis.wire_us[1]:
            self._say(record, line, f"{axis.name} outside its pulse limits {axis.wire_us}")
        lower, upper = axis.joint_us
        if not lower - rounding_us - 1e-6 <= pulse_us <= upper + rounding_us + 1e-6:
            self._say(record, line, f"{axis.name} outside its joint limits, {lower:.1f}..{upper:.1f} us")

    def _say(self, record: TickRecord, line: bytes, words: str) -> None:
        self.problems.append(f"tick {record.tick} ({record.mode.value}): {line!r}: {words}")

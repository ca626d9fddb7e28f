"""The oracle of unsafe packets: reads what left for a CR1 that is led by MXT, requests and packets.

It knows the maker's protocol and the numbers of the rig, and shares nothing with driver, gate, guard or emulator.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from hil.joined import Splitter
from hil.testing.packet_facts import STEPS, PacketFacts
from hil.types import Confirm, JointState, Mode, TickRecord
from hil.units import DEG

LENGTH = 196
PLACES = (0, 1, 2, 4, 5)
"""Of eight numbers, those of the joints that the arm has."""
OFF_DEG = 0.15
"""How far the first packet may be from where the arm is measured, beside a step: roundings of report and pose."""

_REQUEST = re.compile(
    rb"1;\d{1,2};(?:OPEN=\w+|CLOSE|CNTLON|CNTLOFF|SRVON|SRVOFF|STOP|SLOTINIT|RSTALRM|OVRD=\d+|D?STATE|ERROR|[JP]POSF|STPSIG"
    rb"|VALM_MODE;M|VAL\w+;\w+|PAR\w+|IN\d+|FCHECK\w+|FDEL\w+|LOAD=\w+|PRGLOAD=\w+|PRGUP|PDIR\w+|LIST[IP](?:TOP|\+1)"
    rb"|ECLR|SAVE|NEW|EDATA\d+ (?:'HIL ARM BRIDGE[^\r]*|OPEN \"ENET:[\d.]+\" AS #1|MXT 1,1,\d+|CLOSE #1)|RUNHILMXT;1)"
)


class PacketJudge:
    """Judges ticks.

    Args:
        rig: its numbers.
        note: takes what is wrong, and the bytes in question.

    Attributes:
        seen: bytes so far.
        moves: packets that led the arm.
    """

    def __init__(self, rig: PacketFacts, note: Callable[[TickRecord, str, bytes], None]) -> None:
        self._rig, self._note = rig, note
        self.seen = self.moves = 0
        self._connect()

    def _connect(self) -> None:
        self._asked = self._confirmed = False
        self._splitter, self._half = Splitter(), b""
        self._last: list[int] | None = None

    def tick(self, record: TickRecord) -> None:
        """Judge one."""
        if any("-> connecting" in event for event in record.events):
            self._connect()
        if any(isinstance(request, Confirm) for request in record.requests):
            self._asked = True
        if any("-> energising" in event for event in record.events):
            if not self._asked:
                self._note(record, "energising without a confirmed pose", b"")
            self._confirmed = True
        self.seen += len(record.written)
        text, packets = self._splitter.split(record.written)
        *lines, self._half = (self._half + text).split(b"\r")
        for line in lines:
            self._line(record, line)
        led = [packet for packet in packets if self._packet(record, packet)]
        if len(led) > 1:
            self._note(record, "two packets that lead the arm in one tick", led[1])
        if record.mode in (Mode.ESTOP, Mode.FAULT):
            self._asked = self._confirmed = False
            self._last = None

    def _line(self, record: TickRecord, line: bytes) -> None:
        if not line:
            return
        if not _REQUEST.fullmatch(line):
            self._note(record, "not a request that may leave", line)
        elif line.endswith((b"SRVON", b"RUNHILMXT;1")) and not self._confirmed:
            self._note(record, "servos or program before anybody confirmed the pose", line)

    def _packet(self, record: TickRecord, packet: bytes) -> bool:
        """True for one that leads the arm."""
        if len(packet) != LENGTH:
            self._note(record, f"a packet of {len(packet)} bytes", packet)
            return False
        command, kind = struct.unpack_from("<2H", packet)
        if any(packet[48:58]):
            self._note(record, "a packet that switches signals", packet)
        if command != 1:
            if command not in (0, 255) or kind or any(packet[8:48]):
                self._note(record, f"a packet with command {command} and data", packet)
            return False
        self.moves += 1
        if record.mode not in (Mode.STREAMING, Mode.STOPPING):
            self._note(record, "the arm is led outside streaming and stopping", packet)
        if not self._confirmed:
            self._note(record, "the arm is led before anybody confirmed the pose", packet)
        numbers = struct.unpack_from("<8f", packet, 8)
        if kind != 2 or any(numbers[place] for place in range(8) if place not in PLACES) or any(packet[40:48]):
            self._note(record, "not joints, or something in the place of a joint that the arm lacks", packet)
        self._target(record, packet, [numbers[place] / DEG * STEPS for place in PLACES])
        return True

    def _target(self, record: TickRecord, packet: bytes, exact: list[float]) -> None:
        if not all(abs(value) < 1e9 and abs(value - round(value)) < 0.1 for value in exact):
            self._note(record, "joints that are no whole thousandths of a degree", packet)
            return
        target = [round(value) for value in exact]
        before, slack = self._last, 1.0
        if before is None:
            before, slack = self._measured(record.reported), OFF_DEG * STEPS + 1.0
        for axis, at, last in zip(self._rig.axes.values(), target, before or target, strict=True):
            low, high = (axis.pulse_us(limit) for limit in axis.limits)
            if not low - 1e-6 <= at <= high + 1e-6:
                limits = f"{axis.say(axis.limits[0])} to {axis.say(axis.limits[1])}"
                self._note(record, f"{axis.name} is led to {at / STEPS:.3f} deg, limits {limits}", packet)
            step, most = abs(at - last), axis.pulse_us(axis.speed * self._rig.period_s) + slack
            if step > most + 1e-6:
                words = f"{axis.name} is led by {step / STEPS:.3f} deg in a period, allowed {most / STEPS:.3f} deg"
                self._note(record, words, packet)
        self._last = target

    @staticmethod
    def _measured(reported: JointState | None) -> list[int] | None:
        if reported is None:
            return None
        return [round((value or 0.0) / DEG * STEPS) for value in reported.positions]

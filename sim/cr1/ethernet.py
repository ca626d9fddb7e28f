"""The CR1's Ethernet card as its programs have it: lines to a computer, and MXT, by which that one leads the arm.

Packets come and go whole, each with its time; who carries them is no matter here.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

import numpy as np

from hil.link import FloatArray
from hil.program.arm import ProgramArm, goal_row
from hil.program.errors import ProgramError
from hil.program.streams import JOINT, POSE, PULSE, Lead
from hil.program.values import Position, position
from hil.units import DEG
from sim.cr1 import mxt_packet
from sim.cr1.arm import Cr1Arm
from sim.cr1.mxt_packet import Asked, Command, Data, Io
from sim.cr1.parameters import Parameters
from sim.cr1.requests import RefusedRequest
from sim.cr1.settings import Cr1Settings

ENET = "ENET:"
WAITING = 64
"""Packets that are kept; what comes on top is lost."""
KINDS = {POSE: Data.POSE, JOINT: Data.JOINT, PULSE: Data.PULSE}
TURNED = (3, 4, 5)
"""Members of a pose that are angles."""
SINGLE_RAD = 1e-6
"""What a joint right at its limit may be beyond it as a number of single precision."""
SNAP_RAD = 1e-9
"""A filter this near its command has reached it."""


class Ports(Protocol):
    """Inputs and outputs."""

    def read(self, first: int, count: int, *, outputs: bool = False) -> int:
        """Bits as a number."""
        ...

    def write(self, first: int, count: int, value: int, *, outputs: bool = True) -> None:
        """Set bits."""
        ...


class Host(Protocol):
    """What of the controller the card reaches."""

    settings: Cr1Settings
    parameters: Parameters
    now_s: float

    @property
    def arm(self) -> Cr1Arm:
        """The arm."""
        ...

    @property
    def signals(self) -> Ports:
        """Its signals."""
        ...


class Stream:
    """One MXT at work, from its first cycle on."""

    def __init__(self, owner: tuple[int, int], row: FloatArray) -> None:
        self.owner, self.target, self.filtered = owner, row, row
        self.silent = 0
        self.seen_s = -math.inf


class Ethernet:
    """The card; without one every use is H7830.

    Args:
        host: the controller.

    Attributes:
        unplugged: the network's cable is out; packets in either direction are lost.
    """

    def __init__(self, host: Host) -> None:
        self._host, self.unplugged = host, False
        self.forget()

    def forget(self) -> None:
        """The power goes."""
        self._opened: dict[tuple[int, int], str] = {}
        self._stream: Stream | None = None
        self._inbox: deque[tuple[float, bytes]] = deque(maxlen=WAITING)
        self._outbox: list[tuple[float, bytes]] = []

    # -- lines of programs ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Some program has opened a line to a computer."""
        return bool(self._opened)

    def open(self, slot: int, number: int, device: str) -> None:
        """OPEN "ENET:..." by the program in a slot.

        Raises:
            ProgramError: no card is there, or no address is named.
        """
        if not self._host.settings.ethernet:
            raise ProgramError(7830, f'"{device}"', allowed="a controller with an Ethernet card")
        if not device[len(ENET) :].strip():
            raise ProgramError(7810, f'"{device}"', allowed='"ENET:" and the address of the computer')
        self._opened[slot, number] = device

    def close(self, slot: int, number: int | None = None) -> None:
        """CLOSE, or the end of the program in a slot."""
        for owner in [owner for owner in self._opened if owner[0] == slot and number in (None, owner[1])]:
            del self._opened[owner]
            if self._stream is not None and self._stream.owner == owner:
                self._stream = None

    def opened_as(self, slot: int, number: int) -> bool:
        """True if this slot's program has a line under this number."""
        return (slot, number) in self._opened

    # -- the network ---------------------------------------------------------------------------------------

    def bring(self, packet: bytes, at_s: float) -> None:
        """A packet has come; nobody takes it before a program has opened the line."""
        if self._opened and not self.unplugged:
            self._inbox.append((at_s, packet))

    def sent_by(self, until_s: float) -> list[bytes]:
        """Packets that have left by then, once."""
        sent = [packet for at_s, packet in self._outbox if at_s <= until_s]
        self._outbox = [(at_s, packet) for at_s, packet in self._outbox if at_s > until_s]
        return [] if self.unplugged else sent

    # -- MXT -----------------------------------------------------------------------------------------------

    def lead(self, slot: int, lead: Lead, arm: ProgramArm, row: FloatArray) -> FloatArray | None:
        """One control cycle: take a packet, answer it, and say where the joints shall be; None after the end packet.

        Raises:
            ProgramError: H7820, silence for longer than MXTTOUT; H7840, another type of data; or an unreachable pose.
        """
        host, now_s = self._host, self._host.now_s
        stream = self._stream
        if stream is None or stream.owner != (slot, lead.number) or now_s - stream.seen_s > 1.5 * host.settings.cycle_s:
            # It begins, or goes on after a pause: from where the arm is, and with nothing that came before.
            stream = self._stream = Stream((slot, lead.number), row)
            self._inbox.clear()
        stream.seen_s = now_s
        asked = self._next(now_s)
        if asked is None:
            self._count_silence(stream)
        else:
            stream.silent = 0
            if asked.command == Command.MOVE:
                stream.target = self._wanted(asked, lead, arm, row)
            self._exchange_signals(asked)
            self._outbox.append((now_s, self._answer(asked, stream, arm)))
            if asked.command == Command.END:
                self._stream = None
                return None
        stream.filtered = _filtered(stream, lead.filter_ms / 1e3, host.settings.cycle_s)
        return stream.filtered

    def _next(self, now_s: float) -> Asked | None:
        """The packet that counts in this cycle."""
        found: Asked | None = None
        while self._inbox and self._inbox[0][0] <= now_s + 1e-12:
            found = mxt_packet.read(self._inbox.popleft()[1]) or found
            if found is not None and not self._host.settings.newest_counts:
                break
        return found

    def _count_silence(self, stream: Stream) -> None:
        stream.silent += 1
        most = int(self._host.parameters.numbers("MXTTOUT")[0])
        if 0 <= most < stream.silent:
            self._stream = None
            raise ProgramError(7820, f"{stream.silent} cycles without a packet", allowed=f"MXTTOUT, {most}")

    def _wanted(self, asked: Asked, lead: Lead, arm: ProgramArm, row: FloatArray) -> FloatArray:
        """The joints of a command."""
        kind = KINDS[lead.kind]
        if asked.send_type != kind:
            raise ProgramError(7840, f"data of type {asked.send_type}", allowed=f"{kind:d}, as MXT was told")
        if kind is Data.PULSE:
            a_degree = self._host.arm.model.pulses_a_degree
            return np.array([asked.wholes[s] / per * DEG for s, per in zip(arm.slots, a_degree, strict=True)])
        if not all(map(math.isfinite, asked.floats)):
            raise ProgramError(3110, "a command that is no number", allowed="numbers")
        if kind is Data.JOINT:
            row = np.array([asked.floats[slot] for slot in arm.slots], dtype=np.float64)
            inside = np.clip(row, arm.lower_rad, arm.upper_rad)
            return np.where(np.abs(row - inside) < SINGLE_RAD, inside, row)
        return goal_row(arm, _place(asked), row)

    def _exchange_signals(self, asked: Asked) -> None:
        """Outputs that are to be switched."""
        if asked.send_io != Io.OUTPUT:
            return
        try:
            for bit in (bit for bit in range(16) if asked.mask >> bit & 1):
                self._host.signals.write(asked.first + bit, 1, asked.word >> bit & 1)
        except RefusedRequest as error:
            raise ProgramError(error.number) from None

    def _signals(self, asked: Asked) -> tuple[int, int]:
        if asked.receive_io not in (Io.OUTPUT, Io.INPUT):
            return Io.NOTHING, 0
        try:
            word = self._host.signals.read(asked.first, 16, outputs=asked.receive_io == Io.OUTPUT)
        except RefusedRequest as error:
            raise ProgramError(error.number) from None
        return asked.receive_io, word

    # -- what is told --------------------------------------------------------------------------------------

    def _answer(self, asked: Asked, stream: Stream, arm: ProgramArm) -> bytes:
        host = self._host
        encoders = np.array(host.arm.joints_at(host.now_s)) * DEG
        rows = (stream.target, stream.filtered, encoders)
        blocks = [self._block(wanted, rows, arm) for wanted in asked.monitors]
        return mxt_packet.answer(asked, blocks, self._signals(asked), stream.silent)

    def _block(self, wanted: int, rows: tuple[FloatArray, ...], arm: ProgramArm) -> bytes:
        """Data of a type; nothing is known of currents, and of what nobody defined."""
        if not Data.POSE <= wanted <= Data.ENCODER_PULSE:
            return bytes(mxt_packet.DATA)
        row, kind = rows[(wanted - 1) // 3], (wanted - 1) % 3
        if kind == PULSE:
            a_degree = self._host.arm.model.pulses_a_degree
            counts = [0] * 8
            for slot, angle, per in zip(arm.slots, row.tolist(), a_degree, strict=True):
                counts[slot] = round(angle / DEG * per)
            return mxt_packet.wholes(counts)
        if kind == JOINT:
            angles = [0.0] * 8
            for slot, angle in zip(arm.slots, row.tolist(), strict=True):
                angles[slot] = angle
            return mxt_packet.floats(angles)
        place = arm.position(row.tolist())
        members = [value * DEG if k in TURNED else value for k, value in enumerate(place.members)]
        return mxt_packet.pose(members, place.fl1 or 0, place.fl2 or 0)


def _place(asked: Asked) -> Position:
    """The pose of a command; its angles are radians."""
    fl1, fl2 = asked.flags
    return position([value / DEG if k in TURNED else value for k, value in enumerate(asked.floats)], fl1, fl2)


def _filtered(stream: Stream, filter_s: float, cycle_s: float) -> FloatArray:
    """The command behind a first-order filter."""
    if filter_s <= 0.0:
        return stream.target
    ahead = stream.target - stream.filtered
    if np.abs(ahead).max() < SNAP_RAD:
        return stream.target
    return stream.filtered + (1.0 - math.exp(-cycle_s / filter_s)) * ahead

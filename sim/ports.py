"""The line between a host and an emulated controller, paced by its baud rate, and the port at its host end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from hil.errors import LinkClosed, LinkOverrun
from sim.controllers import Controller, Plant
from sim.faults import ANY_CONTROLLER, Direction, Event, FaultKind, FaultScript
from sim.uart import FRAMINGS, Framing, mishear, same_speed


class FakeLine:
    """A cable with two ends, full duplex. Knows when each byte is over; reads no clock.

    Args:
        board: what hangs at the far end.
        baud: speed of the host's end.
        faults: what goes wrong, or None.
        bench: the arm behind the board, needed by faults that stall a joint or cut the servo supply.
        framing: how the host's end wraps a byte; None for as the board does.

    Raises:
        ValueError: `baud` is not positive, a fault needs a servo that is not there, or cannot happen to this kind of
            controller.
    """

    def __init__(
        self,
        board: Controller,
        baud: int,
        faults: FaultScript | None = None,
        bench: Plant | None = None,
        framing: Framing | None = None,
    ) -> None:
        if faults is not None:
            check_faults(faults, board, bench)
        self.board = board
        self._framing = self._usual_framing = framing or board.framing
        self._faults = faults
        self._bench = bench
        self._free_s = self._reaches_s = self._came_s = -math.inf
        self._arriving: deque[tuple[float, bytes]] = deque()
        self.set_baud(baud)

    @property
    def byte_s(self) -> float:
        """Time of one byte at the host's end; 0 on a network."""
        return self._byte_s

    def set_baud(self, baud: int) -> None:
        """Change the speed of the host's end."""
        if baud <= 0:
            raise ValueError(f"baud {baud}: a positive number allowed")
        self._baud = baud
        self._byte_s = self._framing.bits / baud if self.board.byte_s else 0.0

    def backlog(self, now_s: float) -> int:
        """Bytes handed over that have not left yet."""
        if self._free_s <= now_s or not self._byte_s:
            return 0
        return max(math.ceil((self._free_s - now_s) / self._byte_s - 1e-9), 0)

    def send(self, data: bytes, now_s: float) -> None:
        """Put bytes on the line behind what is on it already."""
        self._apply_faults(now_s)
        start_s = max(now_s, self._free_s)
        if self._faults is None:
            self.board.receive(data, start_s, self._byte_s, self._framing)
            self._free_s = start_s + len(data) * self._byte_s
            return
        for value in data:
            struck = self._faults.strike(value, start_s, Direction.COMMANDS)
            start_s += struck.late_s
            self._reaches_s = max(struck._replace(late_s=0.0).arrives_s(start_s, self._reaches_s), self._reaches_s)
            self.board.receive(struck.arriving, self._reaches_s, self._byte_s, self._framing)
            start_s += self._byte_s * max(len(struck.arriving), 1)
            self._reaches_s += self._byte_s * max(len(struck.arriving), 1)
            if struck.back:
                self._arrive(start_s, struck.back)
        self._free_s = start_s

    def poll(self, now_s: float) -> bytes:
        """Let everything happen up to `now_s`, and take the bytes that have arrived at the host."""
        return b"".join(self.poll_parts(now_s))

    def poll_parts(self, now_s: float) -> list[bytes]:
        """The same, in the parts that a network sends one by one: what is complete at one time goes together."""
        self._apply_faults(now_s)
        self._bring(self.board.transmit(now_s))
        if not self._arriving or self._arriving[0][0] > now_s:
            return []
        parts, part, part_s = [], bytearray(), self._arriving[0][0]
        while self._arriving and self._arriving[0][0] <= now_s + 1e-12:
            end_s, data = self._arriving.popleft()
            if end_s != part_s:
                parts.append(bytes(part))
                part, part_s = bytearray(), end_s
            part += data
        return [*parts, bytes(part)]

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself; `frames` as for the board."""
        due_s = self.board.next_due_s(frames=frames)
        if self._arriving:
            due_s = min(due_s, self._arriving[0][0])
        return due_s if self._faults is None else min(due_s, self._faults.next_event_s)

    def cut(self, at_s: float) -> None:
        """The cable is pulled: what is on the line in either direction is gone."""
        self.board.cut(at_s)
        self._arriving.clear()
        self._free_s = self._reaches_s = at_s

    def _bring(self, sent: Sequence[tuple[float, bytes]]) -> None:
        """Reply bytes come down the line, each with the time of its end."""
        board, waiting = self.board, self._arriving
        in_turn = sent and (not waiting or waiting[-1][0] <= sent[0][0])
        well_set = board.framing == self._framing and same_speed(board.byte_s, self._byte_s)
        if in_turn and well_set and self._faults is None:
            waiting.extend(sent)
            return
        for end_s, data in sent:
            self._bring_byte(end_s, data)

    def _bring_byte(self, end_s: float, data: bytes) -> None:
        board = self.board
        if board.framing != self._framing or not same_speed(board.byte_s, self._byte_s):
            start_s = end_s - board.byte_s
            heard = mishear(data, start_s, board.byte_s, self._byte_s, board.framing, self._framing)
            data = bytes(value for _, value, _ in heard)
        if self._faults is not None:
            arriving = b""
            for value in data:
                struck = self._faults.strike(value, end_s, Direction.REPLIES)
                arriving += struck.arriving
                end_s = self._came_s = struck.arrives_s(end_s, self._came_s)
            data = arriving
        if data:
            self._arrive(end_s, data)

    def _arrive(self, end_s: float, data: bytes) -> None:
        """Bytes will be at the host then; nothing overtakes."""
        if self._arriving:
            end_s = max(end_s, self._arriving[-1][0])
        self._arriving.append((end_s, data))

    def _apply_faults(self, now_s: float) -> None:
        if self._faults is None or self._faults.next_event_s > now_s:
            return
        for event in self._faults.due(now_s):
            self.happen(event)

    def happen(self, event: Event) -> None:
        """A fault begins or ends, by a script or because somebody has ordered it."""
        self._bring(self.board.transmit(event.time_s))
        self._apply(event)

    def _apply(self, event: Event) -> None:
        fault, at_s, begins = event.fault, event.time_s, event.begins
        board, kind = self.board, event.fault.kind
        if kind is FaultKind.UNPLUG and begins:
            self.cut(at_s)
        elif kind is FaultKind.RESET and begins:
            board.power_cycle(at_s)
        elif kind is FaultKind.HUNG:
            board.hang(at_s, begins)
        elif kind is FaultKind.NO_POWER and begins:
            board.power_off(at_s)
        elif kind is FaultKind.NO_POWER:
            board.power_cycle(at_s)
        elif kind is FaultKind.STALE_TEXT and begins:
            text = (fault.text or "").encode("ascii")
            board.receive(text, at_s - len(text) * board.byte_s, board.byte_s)
        elif kind is FaultKind.WRONG_LINE:
            self._framing = FRAMINGS[fault.framing or ""] if begins else self._usual_framing
            self.set_baud(self._baud)
        elif kind in board.FAULTS:
            board.meet(event)
        elif self._bench is not None and kind in self._bench.FAULTS:
            self._bench.meet(event)


def check_faults(faults: FaultScript, board: Controller, bench: Plant | None) -> None:
    """Make sure that a script's faults can happen here.

    Raises:
        ValueError: one needs a servo that is not there, a serial line, or another kind of controller.
    """
    if not board.byte_s and FaultKind.WRONG_LINE in faults.kinds:
        raise ValueError("wrong_line: a network port has no framing; ask for the line's pace, --serial-pace")
    if not faults.channels <= set(bench.channels if bench else ()):
        raise ValueError(f"a fault stalls a joint on channel {sorted(faults.channels)}: no servo is there")
    possible = ANY_CONTROLLER | board.FAULTS | (bench.FAULTS if bench else frozenset())
    impossible = sorted(kind.value for kind in faults.kinds - possible)
    if impossible:
        allowed = ", ".join(sorted(kind.value for kind in possible))
        raise ValueError(f"{', '.join(impossible)} cannot happen to this fake {board.NAME}; these can: {allowed}")


class MemoryPort:
    """A `BytePort` on virtual time: bytes leave and arrive at the pace of the line, never sooner.

    Args:
        board: what hangs at the far end.
        baud: speed of this end.
        faults: scripted faults; hand the same script to the next port when a cable is plugged in again.
        bench: the arm behind the board, see `FakeLine`.
        buffer_bytes: how much the operating system takes before it says no.
        framing: how this end wraps a byte; None for as the board does.
    """

    def __init__(
        self,
        board: Controller,
        baud: int,
        faults: FaultScript | None = None,
        bench: Plant | None = None,
        *,
        buffer_bytes: int = 4096,
        framing: Framing | None = None,
    ) -> None:
        self.name = f"memory://{board.NAME}"
        self.line = FakeLine(board, baud, faults, bench, framing)
        self._faults = faults
        self._buffer_bytes = buffer_bytes
        self._gone = ""
        self._unplugs: int | None = None

    def read(self, now_s: float) -> bytes:
        """Everything that has arrived by `now_s`."""
        self._require_plugged(now_s)
        return self.line.poll(now_s)

    def write(self, data: bytes, now_s: float) -> None:
        """Put `data` on the line behind what waits there; nothing is sent if the buffer cannot take it."""
        self._require_plugged(now_s)
        waiting = self.line.backlog(now_s)
        if waiting + len(data) > self._buffer_bytes:
            raise LinkOverrun(
                f"{waiting} bytes still wait to leave, {len(data)} more do not fit into {self._buffer_bytes}",
                self.name,
            )
        self.line.send(data, now_s)

    def backlog(self, now_s: float) -> int:
        """Bytes written that have not left yet."""
        return self.line.backlog(now_s)

    def set_baud(self, baud: int) -> None:
        """Change the speed of this end; the board keeps its own."""
        self.line.set_baud(baud)

    def unplug(self, now_s: float) -> None:
        """Pull the cable: what is on the line is lost, and this port never works again."""
        self.line.cut(now_s)
        self._gone = "the cable was pulled"

    def close(self) -> None:
        """Let go; bytes already written still leave."""
        self._gone = self._gone or "the port is closed"

    def _require_plugged(self, now_s: float) -> None:
        if self._faults is not None and not self._gone:
            unplugs = self._faults.unplugs(now_s)
            if self._unplugs is None:
                self._unplugs = unplugs
            if unplugs > self._unplugs or self._faults.unplugged(now_s):
                self.line.poll(now_s)
                self._gone = "the cable was pulled"
        if self._gone:
            raise LinkClosed(f"{self.name}: {self._gone}", self.name)

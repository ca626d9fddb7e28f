"""The controller of an arm that exists only here: lines of text with a check sum (docs/any-arm.md).

It takes a target with the time that it has for the way, and tells where the arm is. Lines that are damaged, or that
mean nothing to it, are passed over in silence. It reads no clock.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from hil.types import Command, EnergiseCommand, JointCommand
from sim.arm import SimulatedArm
from sim.faults import Event, FaultKind
from sim.uart import EIGHT_N_ONE, Chunk, Framing, Outbox, hear

BAUD = 230_400
UNIT = 1e-6
"""Positions on the line are whole numbers of this many rad or m, times of this many seconds."""
FARTHEST = 1_000_000_000
LINE_LIMIT = 4096
LF = b"\n"


class SimulatedController:
    """Bytes in with their times, bytes out with theirs.

    Args:
        arm: what it drives.
        axes: how many it has.
        start_s: when the emulation begins.
        held: it holds the arm already.
    """

    NAME: ClassVar[str] = "simulated"
    FAULTS: ClassVar[frozenset[FaultKind]] = frozenset()

    def __init__(self, arm: SimulatedArm, axes: int, start_s: float = 0.0, *, held: bool = False) -> None:
        self.baud, self.framing, self._network = BAUD, EIGHT_N_ONE, False
        self._arm, self._axes = arm, axes
        self._held = [held] * axes
        self._powered, self._hung = True, False
        self._boots, self._orders, self._free_s = 1, 0, start_s
        self._text = b""
        self._inbox: deque[Chunk] = deque()
        self._outbox = Outbox()
        self._words: Mapping[str, Callable[[Sequence[int], float], None]] = {
            "HELLO": self._hello,
            "ASK": self._ask,
            "FIRST": self._first,
            "MOVE": self._move,
            "STOP": self._stop,
        }
        arm.open(start_s)

    @property
    def byte_s(self) -> float:
        """Time of one byte at its own speed; 0 on a network."""
        return 0.0 if self._network else self.framing.bits / self.baud

    def setpoints(self, now_s: float) -> tuple[float | None, ...]:
        """What it drives each axis to; None for a limp one."""
        self.advance(now_s)
        self._arm.look(now_s)
        return tuple([at if held else None for at, held in zip(self._arm.setpoint, self._held, strict=True)])

    def positions(self, now_s: float) -> tuple[float, ...]:
        """Where the arm is."""
        self.advance(now_s)
        return tuple([0.0 if at is None else at for at in self._arm.look(now_s).positions])

    def join_network(self) -> None:
        """Its line is a network port from now on; see `sim.controllers.Controller`."""
        self._network = True

    # -- the line ----------------------------------------------------------------------------------------

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = EIGHT_N_ONE) -> None:
        """Put bytes on its input; see `sim.controllers.Controller`."""
        self._inbox.extend(chunk for chunk, _ in hear(data, start_s, byte_s, self.byte_s, framing, self.framing))

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens up to and including `until_s`; never goes back."""
        while self._inbox:
            chunk = self._inbox[0]
            complete = chunk.complete(until_s)
            while (end := chunk.data.find(LF, chunk.taken, complete)) >= 0:
                self._line(chunk.data[chunk.taken : end], chunk.end_s(end + 1))
                chunk.taken = end + 1
            if chunk.taken < complete:
                self._text = (self._text + chunk.data[chunk.taken : complete])[-LINE_LIMIT:]
                chunk.taken = complete
            if complete < len(chunk.data):
                return
            self._inbox.popleft()

    def transmit(self, until_s: float) -> list[tuple[float, bytes]]:
        """Advance, and hand over the reply bytes complete by `until_s`, each with the time of its end."""
        self.advance(until_s)
        return self._outbox.sent_by(until_s)

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself; the arm moves without steps, so `frames` adds nothing."""
        due_s = self._outbox.due_s
        if self._inbox:
            chunk = self._inbox[0]
            end = chunk.data.find(LF, chunk.taken) + 1
            due_s = min(due_s, chunk.end_s(end or len(chunk.data)))
        return due_s

    def cut(self, at_s: float) -> None:
        """The cable is pulled: bytes not complete by `at_s` never arrive, in both directions."""
        self.advance(at_s)
        self._inbox.clear()
        self._outbox.clear()

    def power_off(self, at_s: float) -> None:
        """No answers, and an arm that stays where it is, limp."""
        self.advance(at_s)
        self._arm.place(self.positions(at_s))
        self._held = [False] * self._axes
        self._outbox.clear()
        self._powered, self._hung, self._text = False, False, b""

    def power_cycle(self, at_s: float) -> None:
        """Power comes back, or sagged for a moment."""
        self.power_off(at_s)
        self._powered = True
        self._boots += 1

    def hang(self, at_s: float, hung: bool = True) -> None:
        """It stands still and hears nothing, or goes on; the motion is forgotten."""
        self.advance(at_s)
        self._hung = hung
        if hung:
            self._arm.stop(at_s)

    def meet(self, event: Event) -> None:
        """It has no faults of its own."""
        raise ValueError(f"{event.fault.kind.value} cannot happen to a simulated controller")

    # -- lines -------------------------------------------------------------------------------------------

    def _line(self, end: bytes, now_s: float) -> None:
        line, self._text = self._text + end, b""
        body, star, digits = line.rpartition(b"*")
        if not (self._powered and not self._hung and star and digits == b"%08X" % zlib.crc32(body)):
            return
        word, *rest = body.decode("ascii", "replace").split(" ")
        execute = self._words.get(word)
        try:
            numbers = [int(each) for each in rest]
        except ValueError:
            return
        if execute is not None and all(abs(number) <= FARTHEST for number in numbers):
            execute(numbers, now_s)

    def _reply(self, text: str, now_s: float) -> None:
        body = text.encode("ascii")
        self._free_s = max(self._free_s, now_s)
        line = body + b"*%08X\n" % zlib.crc32(body)
        if self._network:
            self._outbox.put_whole(self._free_s, line)
            return
        for value in line:
            self._free_s += self.byte_s
            self._outbox.put(self._free_s, value)

    def _hello(self, numbers: Sequence[int], now_s: float) -> None:
        if not numbers:
            self._reply(f"ARM {self._axes} {self._boots}", now_s)

    def _ask(self, numbers: Sequence[int], now_s: float) -> None:
        if len(numbers) != 1:
            return
        bits = sum(held << axis for axis, held in enumerate(self._held))
        places = [round((at or 0.0) / UNIT) for at in self._arm.look(now_s).positions]
        self._reply(f"AT {numbers[0]} {self._boots} {bits:X} {' '.join(map(str, places))}", now_s)

    def _first(self, numbers: Sequence[int], now_s: float) -> None:
        if len(numbers) == 2 and 0 <= numbers[0] < self._axes:
            self._obey(EnergiseCommand(seq=self._orders, axis=numbers[0], position=numbers[1] * UNIT), now_s)
            self._held[numbers[0]] = True

    def _move(self, numbers: Sequence[int], now_s: float) -> None:
        if len(numbers) == self._axes + 1 and numbers[0] >= 0 and all(self._held):
            places = tuple([place * UNIT for place in numbers[1:]])
            self._obey(JointCommand(seq=self._orders, due_s=now_s + numbers[0] * UNIT, positions=places), now_s)

    def _stop(self, numbers: Sequence[int], now_s: float) -> None:
        if not numbers:
            self._arm.stop(now_s)

    def _obey(self, command: Command, now_s: float) -> None:
        self._orders += 1
        self._arm.write(command, now_s)

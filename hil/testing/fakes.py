"""Fake SSC-32 boards for programs that are not ours: in memory, on TCP, on a pseudo-terminal."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hil.clock import monotonic_s
from hil.errors import HilError, LinkError
from hil.link import BytePort
from hil.model.rig import Rig
from hil.runtime import wiring
from hil.runtime.kinds.kind import USUAL, FakeChoices
from hil.runtime.kinds.served import has_pseudo_terminals
from hil.testing.fault_scripts import Faults, started
from hil.testing.oracle import UnsafeBytes
from hil.testing.watch import Made

READY_S = 5.0
ANSWER_S = 5.0
NONE: Mapping[str, Any] = MappingProxyType({})


class MemoryFake:
    """A fake board on the time that the test tells it; its port never blocks.

    Attributes:
        port: the line to it.
        received: what was written to it, with its time.
    """

    def __init__(
        self, rig: Rig, start: Sequence[float], faults: Faults | None = None, kind: FakeChoices = USUAL
    ) -> None:
        self._rig = rig
        self._fake = wiring.virtual_link(rig, start, started(faults), kind).fake
        self.received: list[tuple[bytes, float]] = []
        self.port: BytePort = _Heard(self._fake.open_port(), lambda data, now_s: self.received.append((data, now_s)))

    def setpoints(self, now_s: float) -> tuple[float | None, ...]:
        """What the board drives, per axis in rad or m; None for a limp one."""
        return self._fake.setpoints(now_s)

    def servos(self, now_s: float) -> tuple[float, ...]:
        """Where the servos are, per axis in rad or m."""
        return self._fake.servos(now_s)

    def judged(self) -> UnsafeBytes:
        """The oracle's findings on what was written so far."""
        return _judged(self._rig, self.received)


class _Heard:
    """A port with a listener on what is written."""

    def __init__(self, port: BytePort, heard: Callable[[bytes, float], None]) -> None:
        self._port, self._heard = port, heard

    def read(self, now_s: float) -> bytes:
        return self._port.read(now_s)

    def write(self, data: bytes, now_s: float) -> None:
        self._heard(data, now_s)
        self._port.write(data, now_s)

    def set_baud(self, baud: int) -> None:
        self._port.set_baud(baud)

    def close(self) -> None:
        self._port.close()


class RunningFake:
    """A fake board that answers on a line, on the machine's clock, until `stop`.

    Attributes:
        url: what a program opens: a device path, or ``socket://127.0.0.1:PORT`` for pyserial.
        received: what programs have sent, with the machine's monotonic time.

    Raises:
        LinkError: it did not come up.
    """

    def __init__(
        self,
        rig: Rig,
        start: Sequence[float],
        faults: Faults | None = None,
        kind: FakeChoices = USUAL,
        *,
        tcp: bool,
    ) -> None:
        self._rig = rig
        self.received: list[tuple[bytes, float]] = []
        self._fake = wiring.served_fake(rig, start, started(faults, monotonic_s()), kind)
        self._questions: queue.SimpleQueue[tuple[Callable[[float], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        self._over = threading.Event()
        url: queue.SimpleQueue[str | HilError] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, args=(tcp, url), name="fake-ssc32", daemon=True)
        self._thread.start()
        try:
            answer = url.get(timeout=READY_S)
        except queue.Empty:
            raise LinkError("the fake controller did not come up") from None
        if isinstance(answer, HilError):
            raise answer
        self.url = answer

    def _serve(self, tcp: bool, url: queue.SimpleQueue[str | HilError]) -> None:
        try:
            self._fake.serve(tcp, url.put, lambda data, now_s: self.received.append((data, now_s)), self._between)
        except HilError as error:
            url.put(error)
        except OSError as error:
            url.put(LinkError(f"the fake controller cannot be reached here: {error}"))

    def _between(self) -> bool:
        """Asked between two turns of the board, the only time at which it may be looked at."""
        while not self._questions.empty():
            question, answer = self._questions.get()
            answer.put(question(monotonic_s()))
        return self._over.is_set()

    def _ask(self, question: Callable[[float], Any]) -> Any:
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._questions.put((question, answer))
        try:
            return answer.get(timeout=ANSWER_S)
        except queue.Empty:
            raise LinkError("the fake controller has stopped", self.url) from None

    @property
    def setpoints(self) -> tuple[float | None, ...]:
        """What the board drives now, per axis in rad or m; None for a limp one."""
        result: tuple[float | None, ...] = self._ask(self._fake.setpoints)
        return result

    @property
    def servos(self) -> tuple[float, ...]:
        """Where the servos are now, per axis in rad or m."""
        result: tuple[float, ...] = self._ask(self._fake.servos)
        return result

    def judged(self) -> UnsafeBytes:
        """The oracle's findings on what was sent so far."""
        return _judged(self._rig, self.received)

    def stop(self) -> None:
        """End it; twice is fine."""
        self._over.set()
        self._thread.join(READY_S)


def _judged(rig: Rig, received: Sequence[tuple[bytes, float]]) -> UnsafeBytes:
    oracle = UnsafeBytes(rig)
    for data, now_s in list(received):
        oracle.feed(data, now_s)
    return oracle


class FakeSsc32:
    """Makes fake boards with the arm of a rig behind them, limp in its park pose, and ends them.

    Boards differ: ``profile`` is the name or the path of a profile, ``choices`` are further ones over it, by name
    (``{"untouched": "middle"}``; `hil fake --list` shows all). A test that has made one fails at its end if an unsafe
    byte has reached it; ``judge=False`` for a board to which such bytes are sent on purpose.

    Args:
        rig: whose channels carry servos, and whose calibration is the true one.
        made: where every board is noted for the oracle.
    """

    def __init__(self, rig: Rig, made: Made) -> None:
        self._rig, self._made = rig, made
        self._running: list[RunningFake] = []

    def in_memory(
        self,
        *,
        start: Sequence[float] | None = None,
        faults: Faults | None = None,
        profile: str | Path | None = None,
        choices: Mapping[str, Any] = NONE,
        judge: bool = True,
    ) -> MemoryFake:
        """A board for programs written against `hil.link.BytePort`; its time is what the test says."""
        kind = wiring.fake_choices(self._rig, profile, choices)
        fake = MemoryFake(self._rig, self._rig.park if start is None else start, faults, kind)
        if judge:
            self._made.note(fake, by_itself=True)
        return fake

    def on_tcp(
        self,
        *,
        start: Sequence[float] | None = None,
        faults: Faults | None = None,
        profile: str | Path | None = None,
        choices: Mapping[str, Any] = NONE,
        judge: bool = True,
    ) -> RunningFake:
        """A board on 127.0.0.1, for any program that opens a pyserial URL or a socket; on every system."""
        return self._serve(start, faults, wiring.fake_choices(self._rig, profile, choices), tcp=True, judge=judge)

    def on_pty(
        self,
        *,
        start: Sequence[float] | None = None,
        faults: Faults | None = None,
        profile: str | Path | None = None,
        choices: Mapping[str, Any] = NONE,
        judge: bool = True,
    ) -> RunningFake:
        """A board on a pseudo-terminal, for any program that opens a serial port.

        On a system without pseudo-terminals the test that asked for one is skipped.
        """
        if not has_pseudo_terminals():
            import pytest

            pytest.skip("no pseudo-terminals here: use on_tcp, which works everywhere")
        return self._serve(start, faults, wiring.fake_choices(self._rig, profile, choices), tcp=False, judge=judge)

    def _serve(
        self, start: Sequence[float] | None, faults: Faults | None, kind: FakeChoices, *, tcp: bool, judge: bool
    ) -> RunningFake:
        fake = RunningFake(self._rig, self._rig.park if start is None else start, faults, kind, tcp=tcp)
        if judge:
            self._made.note(fake, by_itself=True)
        self._running.append(fake)
        return fake

    def stop(self) -> None:
        """End those that run."""
        for fake in self._running:
            fake.stop()

"""The server's side of its arms: a worker process for each, started, heard, told, and started again when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import socket
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import Protocol

import msgspec

from hil.clock import monotonic_s
from hil.errors import InterlockError, LinkClosed, LinkError
from hil.runtime.loop_process import LoopSlot
from hil.runtime.port_wiring import serial_adapters
from hil.runtime.rtprio import hand_out_cores
from hil.runtime.terminal_signals import start_unheard
from hil.service.adapters import Listing, port_of
from hil.service.arm_channel import ArmReport, Ask, Beat, Ended, Frames, Leave, Starting, decode_to_server, frame
from hil.service.arm_worker import ArmSpec, run_arm
from hil.types import Disconnect, EmergencyStop, Request, Stop, SupplyCut

BEAT_S = 0.05
LOOK_S = 0.5
START_S = 30.0
"""A worker that starts its arm gives a sign of life every ten seconds; one that gave none for so long hangs."""

FIRST_SIGN_S = 600.0
"""And one that has given none at all, however busy this computer is: until then only its death counts."""

TURN_S = 30.0
"""For so long the others wait for a worker that starts."""

END_S = 30.0
"""Time for a stop within limits, the journal's end, and the processes: 10 s and three times 5 s at most."""

AGAIN_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before a worker is started again, the last one from then on."""

HUNG_AGAIN_S = (*AGAIN_S, 60.0, 120.0, 300.0, 600.0)
"""The same after starts that hung: each of them was work for a computer that has too much."""

_STOPPING = (Stop, EmergencyStop, SupplyCut, Disconnect)
_MOST_UNSENT_BYTES = 64 << 10
"""What a worker has not taken by then; beyond it only what stops the arm is sent."""

_BEAT = frame(Beat())


def slots(periods_s: Sequence[float]) -> tuple[LoopSlot, ...]:
    """The machine's cores and the turns on them, for loops with these periods; keeps this process off their cores."""
    cores = hand_out_cores(len(periods_s))
    sharing = {core: [i for i, other in enumerate(cores) if other == core] for core in cores}
    return tuple(
        LoopSlot(core=core, phase_s=period_s * sharing[core].index(i) / len(sharing[core]))
        for i, (core, period_s) in enumerate(zip(cores, periods_s, strict=True))
    )


class ServedArm(Protocol):
    """An arm as the server knows it.

    Attributes:
        away: why there is none at the moment; empty while there is one.
        begun_s: when its newest start began, by the monotonic clock; None for none, and while it waits for another.
    """

    away: str
    begun_s: float | None

    @property
    def settled(self) -> bool:
        """Whether its loop has taken all that was ever sent to it, as the newest report says."""
        ...

    def start(self) -> None:
        """Begin to keep it up."""
        ...

    def send(self, *requests: Request) -> None:
        """Hand requests to its loop; InterlockError if that cannot be."""
        ...

    def beat(self) -> None:
        """A sign of life."""
        ...

    async def close(self, reason: str) -> None:
        """Have it stopped and let go of."""
        ...


class ArmProcess:
    """One arm's worker, for as long as the server runs.

    Args:
        spec: which arm, and how.
        on_report: called with every report, in the event loop.
        on_away: called with words when the worker is gone, expected or not.
        turn: held while the worker starts, so that not all of them start at once.
        adapters: lists what is plugged in; called in a thread.
    """

    def __init__(
        self,
        spec: ArmSpec,
        *,
        on_report: Callable[[ArmReport], None],
        on_away: Callable[[str], None],
        turn: asyncio.Semaphore,
        adapters: Listing = serial_adapters,
    ) -> None:
        self.spec = spec
        self.away = "not started yet"
        """Why there is no arm at the moment; empty while there is one."""
        self._said = self.away
        self.begun_s: float | None = None
        self._on_report, self._on_away, self._turn, self._adapters = on_report, on_away, turn, adapters
        self._transport: asyncio.WriteTransport | None = None
        self._process: BaseProcess | None = None
        self._first: asyncio.Event = asyncio.Event()
        self._gone: asyncio.Event = asyncio.Event()
        self._ended: Ended | None = None
        self._hung = ""
        self._starting, self._sign_s = "", float("-inf")
        self._leaving = False
        self._asked = self._taken = 0
        self._newest: type[Request] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def settled(self) -> bool:
        """Whether the loop has taken all that was ever sent to it, as the newest report says."""
        return bool(self.away) or self._taken == self._asked

    @property
    def pid(self) -> int | None:
        """The worker's process."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Begin to keep a worker running."""
        self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"arm {self.spec.rig.id}")

    async def close(self, reason: str) -> None:
        """Have the arm stopped and let go of, and wait until the worker has ended."""
        self._leaving = True
        self._write(frame(Leave(reason=reason)))
        if self._task is not None:
            if self._transport is None:
                self._task.cancel()
            else:
                await self._see_it_end()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    # -- talking -----------------------------------------------------------------------------------------

    def send(self, *requests: Request) -> None:
        """Hand requests to the loop, in this order; returns at once.

        Raises:
            InterlockError: there is no worker, or it does not take what it is sent; nothing was sent. What stops the
                arm is sent whatever lies before it.
        """
        if self._transport is None or self.away:
            raise InterlockError(f"{self.spec.rig.id} is not there: {self.away}", ["the arm"])
        urgent = all(isinstance(request, _STOPPING) for request in requests)
        if urgent and self._newest is type(requests[-1]) and not self.settled:
            # The same is on its way, and nothing came after it: whoever keeps pressing does not fill the mailbox.
            return
        if not urgent and self._transport.get_write_buffer_size() > _MOST_UNSENT_BYTES:
            raise InterlockError(f"{self.spec.rig.id}: not sent, its worker does not take the requests before it", [])
        self._asked, self._newest = self._asked + len(requests), type(requests[-1])
        self._write(frame(Ask(requests=requests)))

    def beat(self) -> None:
        """A sign of life."""
        self._write(_BEAT)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    # -- keeping it up -----------------------------------------------------------------------------------

    async def _keep(self) -> None:
        tries = 0
        while not self._leaving:
            came_up = await self._live()
            if self._leaving:
                return
            again = self._ended is None or self._ended.again
            tries = 1 if came_up else tries + 1
            pauses_s = HUNG_AGAIN_S if self._hung else AGAIN_S
            pause_s = pauses_s[min(tries, len(pauses_s)) - 1] if again else pauses_s[-1]
            self._lose(self._why)
            self.begun_s = None
            await asyncio.sleep(pause_s)

    async def _live(self) -> bool:
        """One life of a worker, to its end; True if it ever reported. None begins without the arm's adapter."""
        loop = asyncio.get_running_loop()
        self._first, self._gone, self._ended, self._process = asyncio.Event(), asyncio.Event(), None, None
        self._hung, self._starting, self._sign_s = "", "", float("-inf")
        try:
            # Before the turn: a system that lists its ports slowly must not keep other arms down.
            spec = await self._located()
        except LinkClosed as error:
            self._ended = Ended(words=str(error), again=True)
            return False
        async with self._turn:
            self.away, self.begun_s = "starting: its worker comes up", monotonic_s()
            try:
                self._process = await self._begin(spec)
            except OSError as error:
                self._ended = Ended(words=f"its worker cannot be started: {error.strerror or error}", again=True)
                return False
            begun_s = monotonic_s()
            await self._first_report_or_end(TURN_S)
        await self._come_up(self._process, begun_s)
        await self._gone.wait()
        await loop.run_in_executor(None, self._bury, self._process)
        return self._first.is_set()

    async def _first_report_or_end(self, within_s: float) -> bool:
        """Wait for the worker's first report, or its end; False if neither came in time."""
        loop = asyncio.get_running_loop()
        waits = [loop.create_task(self._first.wait()), loop.create_task(self._gone.wait())]
        done, _ = await asyncio.wait(waits, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return bool(done)

    async def _come_up(self, process: BaseProcess, begun_s: float) -> None:
        """Wait until the worker reports or ends; one that gives no sign of life any more is ended."""
        while True:
            signed = self._sign_s > float("-inf")
            since_s, allowed_s = (self._sign_s, START_S) if signed else (begun_s, FIRST_SIGN_S)
            left_s = since_s + allowed_s - monotonic_s()
            if left_s <= 0.0:
                break
            # A sign of life wakes nobody, and from the first one on less is allowed.
            if await self._first_report_or_end(min(left_s, LOOK_S)) or self._ended is not None:
                return
        stage = self._starting or ("its fake, loop and recorder" if signed else "its worker has not come up")
        self._hung = f"its start gave no sign of life for {allowed_s:.0f} s ({stage}) and was ended"
        process.terminate()
        await self._see_it_end()

    async def _begin(self, spec: ArmSpec) -> BaseProcess:
        """Start a worker, with a line to it.

        Raises:
            OSError: the system has no room for it.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)
            process = multiprocessing.get_context("spawn").Process(
                target=run_arm, args=(spec, theirs), name=f"hil-arm-{self.spec.rig.id}"
            )
            try:
                start_unheard(process.start)
            except OSError:
                ours.close()
                raise
        await asyncio.get_running_loop().create_connection(
            lambda: _ServerEnd(self._opened, self._heard, self._closed), sock=ours
        )
        return process

    async def _see_it_end(self) -> None:
        """Wait for a worker that was told to end; one that hangs is killed: its loop sees that and ends the stream."""
        try:
            async with asyncio.timeout(END_S):
                await self._gone.wait()
        except TimeoutError:
            if self._process is not None:
                self._process.kill()

    async def _located(self) -> ArmSpec:
        """What to start, with the port that the arm's adapter has now."""
        if self.spec.url != "":
            return self.spec
        port = await asyncio.get_running_loop().run_in_executor(None, port_of, self.spec.rig, self._adapters)
        return msgspec.structs.replace(self.spec, url=port)

    @staticmethod
    def _bury(process: BaseProcess) -> None:
        process.join(END_S)
        if process.is_alive():
            process.kill()
            process.join()

    # -- what comes from it ------------------------------------------------------------------------------

    def _opened(self, transport: asyncio.Transport) -> None:
        self._transport, self._newest = transport, None
        self._asked = self._taken = 0
        self._write(_BEAT)

    def _heard(self, payload: bytes) -> None:
        message = decode_to_server(payload)
        self._sign_s = monotonic_s()
        if isinstance(message, Starting):
            if message.words:
                self._starting = message.words
            if not self._first.is_set():
                self.away = self._starting or "starting: its worker is up"
            return
        if isinstance(message, Ended):
            self._ended = message
            self._lose(self._why)
            return
        self.away = self._said = ""
        self._taken = message.taken
        self._first.set()
        self._on_report(message)

    def _closed(self) -> None:
        self._transport = None
        self._lose(self._why)
        self._gone.set()

    @property
    def _why(self) -> str:
        """Why it is gone; of one that was ended because it hung, that."""
        said = self._ended.words if self._ended is not None else "its worker has ended without a word"
        return self._hung or said

    def _lose(self, words: str) -> None:
        self.away = words
        if self._said != words:
            self._said = words
            self._on_away(words)


class _ServerEnd(asyncio.Protocol):
    """Hands over what comes from a worker."""

    def __init__(
        self,
        opened: Callable[[asyncio.Transport], None],
        heard: Callable[[bytes], None],
        closed: Callable[[], None],
    ) -> None:
        self._opened, self._heard, self._closed = opened, heard, closed
        self._frames = Frames()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened(transport)

    def data_received(self, data: bytes) -> None:
        try:
            for payload in self._frames.feed(data):
                self._heard(payload)
        except (LinkError, msgspec.MsgspecError):
            assert self._transport is not None
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._closed()

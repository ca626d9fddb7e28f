"""Who has what previewed when: in processes of their own, one file of each person at a time, people in turn."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import sys
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

import msgspec

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.model.rig import Rig
from hil.runtime.terminal_signals import start_unheard
from hil.service.uploads import Job, UploadVerdict, serve_previews

PREVIEW_CPU_S = 30.0
"""A preview that takes more work is given up, and its process with it. On a busy machine it may take longer."""

PREVIEW_S = 120.0
"""One that takes longer is given up, whatever it does; on Windows, where work is not measured, a busy one, too."""

MOST_WAITING = 32
MOST_WAITING_OF_ONE = 4
_LOOK_S = 0.1
_END_S = 1.0

_encode = msgspec.msgpack.Encoder().encode
_decode_verdict = msgspec.msgpack.Decoder(UploadVerdict).decode


class Turns:
    """So many places, one person at one of them, people in turn. In one event loop.

    Args:
        places: how many work at a time.
        what: people wait for, in words.
    """

    def __init__(self, places: int, what: str = "previews") -> None:
        self._what = what
        self._free = list(range(places))
        self._at_work: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[int]]] = {}
        self._begun: dict[str, int] = {}
        """Whose turn came when; forgotten as soon as nobody is there."""

    async def take(self, user: str) -> int:
        """Wait for a place; gives its number.

        Raises:
            InterlockError: too many wait already, in all or of this person.
        """
        own = self._waiting.get(user, ())
        if len(own) >= MOST_WAITING_OF_ONE:
            raise InterlockError(
                f"{len(own)} of your {self._what} wait already; allowed: {MOST_WAITING_OF_ONE}. Try again in a moment",
                ["a turn"],
            )
        if sum(map(len, self._waiting.values())) >= MOST_WAITING:
            raise InterlockError(
                f"{MOST_WAITING} {self._what} wait already; allowed: {MOST_WAITING}. Try again in a moment", ["a turn"]
            )
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        self._call()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(user, turn.result())
            elif user in self._waiting:
                self._drop(user, turn)
            raise

    def give(self, user: str, place: int) -> None:
        """This person is done there."""
        self._at_work.discard(user)
        self._free.append(place)
        self._call()

    def _call(self) -> None:
        """Those who have nothing at work, the one first whose last turn is longest ago, as long as there is a place."""
        idle = [user for user in self._waiting if user not in self._at_work]
        for user in sorted(idle, key=lambda user: self._begun.get(user, 0))[: len(self._free)]:
            turn = self._waiting[user][0]
            self._drop(user, turn)
            self._at_work.add(user)
            self._begun[user] = max(self._begun.values(), default=0) + 1
            turn.set_result(self._free.pop(0))
        if not self._waiting and not self._at_work:
            self._begun.clear()

    def _drop(self, user: str, turn: asyncio.Future[int]) -> None:
        own = self._waiting[user]
        own.remove(turn)
        if not own:
            del self._waiting[user]


class PreviewDesk:
    """Takes jobs.

    Args:
        rigs: by the arm's name.
        places: processes, and so people, at a time.
        cpu_s: work that one preview may take.
    """

    def __init__(self, rigs: Mapping[str, Rig], places: int = 1, cpu_s: float = PREVIEW_CPU_S) -> None:
        self._rigs = dict(rigs)
        self._turns = Turns(places)
        self._workers = [_Worker(self._rigs, cpu_s) for _ in range(places)]

    async def preview(self, job: Job) -> UploadVerdict:
        """Plan, check and rehearse.

        Raises:
            InterlockError: too many wait already.
            CommandError: it took too long, or needed more than there is.
        """
        user = job.asked_by or job.arm
        place = await self._turns.take(user)
        asked = self._workers[place].preview(job)

        def over(done: asyncio.Future[UploadVerdict]) -> None:
            self._turns.give(user, place)
            if not done.cancelled():
                done.exception()  # of which nobody hears who is gone

        # Whoever asked may be gone before it is done: the place is not free any sooner.
        asked.add_done_callback(over)
        return await asyncio.shield(asked)

    async def warm_up(self) -> None:
        """Have a process ready before somebody waits for it."""
        for arm, rig in list(self._rigs.items())[:1]:
            with contextlib.suppress(HilError):
                await self.preview(Job(arm=arm, language="move", start=rig.park, goal=rig.park))

    def close(self) -> None:
        """End the processes; what still runs is given up."""
        for worker in self._workers:
            worker.close()


class _Worker:
    """One process, started with its first job and anew after one that had to be ended."""

    def __init__(self, rigs: Mapping[str, Rig], cpu_s: float) -> None:
        self._rigs, self._cpu_s = rigs, cpu_s
        self._process: BaseProcess | None = None
        self._connection: Any = None  # `Connection`, or what Windows has in its place
        self._closing = threading.Event()
        # A thread waits for the answer, so that the event loop need not.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="preview")

    def preview(self, job: Job) -> asyncio.Future[UploadVerdict]:
        """One job, after those before it."""
        return asyncio.get_running_loop().run_in_executor(self._thread, self._ask, job)

    def close(self) -> None:
        """End the process."""
        self._closing.set()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._drop()

    # -- in the thread -----------------------------------------------------------------------------------

    def _ask(self, job: Job) -> UploadVerdict:
        if self._process is None or not self._process.is_alive():
            self._begin()
        assert self._connection is not None
        try:
            self._connection.send_bytes(_encode(job))
            deadline_s = monotonic_s() + PREVIEW_S
            while monotonic_s() < deadline_s and not self._closing.is_set():
                if self._connection.poll(_LOOK_S):
                    return _decode_verdict(self._connection.recv_bytes())
            words = f"took longer than {PREVIEW_S:g} s; allowed: less"
        except (OSError, EOFError, msgspec.MsgspecError):
            words = f"took more than {self._cpu_s:g} s of work; allowed: less"
            if not self._worked_too_long():
                words = "needed more memory than there is for one"
        self._drop()
        raise CommandError(f"the preview of {job.name or 'the move'} {words}. Split it into shorter ones")

    def _worked_too_long(self) -> bool:
        assert self._process is not None
        self._process.join(_END_S)
        return sys.platform != "win32" and self._process.exitcode == -signal.SIGPROF

    def _begin(self) -> None:
        self._drop()
        spawn = multiprocessing.get_context("spawn")
        self._connection, theirs = spawn.Pipe()
        arguments = (self._rigs, theirs, self._cpu_s)
        process = spawn.Process(target=serve_previews, args=arguments, name="hil-preview", daemon=True)
        start_unheard(process.start)
        self._process = process
        theirs.close()

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

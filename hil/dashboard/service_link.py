"""A window's link to a service, by way of the process beside it, which talks to the service.

Three threads here: the window's own, one that reads what the process says, and one in which what was asked for waits
for its answers. That a hand is on something is written by the window's own thread, and by no other: it is the only one
that knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO, NamedTuple, TypeVar

from PySide6.QtCore import Signal

from hil.clock import monotonic_s
from hil.dashboard import beside_words
from hil.dashboard.arm import ShownArm, arm_of_files, arm_of_welcome
from hil.dashboard.beside_words import Answer, Begin, Call, Hand, Heard, Jog, Joined, Leave, Parted
from hil.dashboard.link import FarArm, Link
from hil.dashboard.texts import tr
from hil.errors import CommandError, HilError, LinkClosed, LinkError
from hil.own_program import PYTHON
from hil.service import wire
from hil.service.arm_news import ArmNews
from hil.service.client_channel import HELD_S
from hil.service.connection import arm_path
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.lab_request import Access
from hil.service.wire import FromClient, PulledRig, Telemetry, Welcome
from hil.types import AxisJog, Mode, ToolJog

PAUSE_S = 1.0
_LEAVE_S = 3.0
_LOOK_S = 0.05
_SILENT_S = 1.0
STOP_KEPT_S = 10.0
"""For so long a stop waits for a line that is lost."""

MOST_WAITING = 200
"""Words that wait for a process which does not listen: several seconds of them."""

_BESIDE = "hil.dashboard.beside"

T = TypeVar("T")


class ArmBeside:
    """The client in the process beside the window, as `hil.dashboard.link.FarArm`; lives in the thread that waits.

    Args:
        say: writes a word to that process.
    """

    def __init__(self, say: Callable[[NamedTuple], None]) -> None:
        self._say = say
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._news = ArmNews()
        self.connected = False
        self.mark = 0
        self._gone = ""

    # -- what is heard -----------------------------------------------------------------------------------

    def take(self, word: object) -> None:
        """The process has said something."""
        match word:
            case Joined():
                self.connected, self._gone = True, ""
                self._news.take(word.welcome, monotonic_s())
            case Parted(reason=reason):
                self.connected = False
                self._news.lost(reason)
            case Heard(message=message, mark=mark):
                self.mark = mark
                self._news.take(message, monotonic_s())
            case Answer(number=number, mark=mark):
                self.mark = mark
                future = self._answers.pop(number, None)
                if future is None or future.done():
                    pass
                elif word.error is not None:
                    future.set_exception(word.error)
                else:
                    future.set_result(word.result)
                self._news.say("")
            case _:
                pass

    def lost(self, words: str) -> None:
        """The process is gone, and answers nothing any more."""
        self.take(Parted(words, final=False))
        self._gone = words
        for future in self._answers.values():
            if not future.done():
                future.set_exception(LinkClosed(words, port=_BESIDE))
        self._answers.clear()

    @property
    def mode(self) -> Mode:
        """As `AsyncArm.mode`."""
        return self._news.mode

    @property
    def drives(self) -> bool:
        """As `AsyncArm.drives`."""
        return self.connected and self._news.lease is not None and self._news.lease.yours

    def hold(self, for_s: float = HELD_S, sign: Sign = NO_SIGN) -> None:
        """Said by the window's own thread alone; see `ServiceLink.hold`."""

    def let_go(self) -> None:
        """As `hold`."""

    async def until(self, reached: Callable[[], bool], within_s: float) -> bool:
        """As `AsyncArm.until`."""
        deadline_s = monotonic_s() + within_s
        while not reached():
            if monotonic_s() > deadline_s:
                return False
            await self._news.wait(_LOOK_S)
        return True

    # -- what is asked -----------------------------------------------------------------------------------

    def _call(self, name: str, /, *args: Any, **fields: Any) -> tuple[int, asyncio.Future[Any]]:
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._gone:
            answer.set_exception(LinkClosed(self._gone, port=_BESIDE))
        else:
            self._answers[number] = answer
            self._say(Call(number, name, args, fields, monotonic_s()))
        return number, answer

    async def claim(self, *, wait: bool = False, within_s: float = 240.0) -> None:
        """As `AsyncArm.claim`."""
        await self._call("claim", wait=wait, within_s=within_s)[1]

    async def leave_queue(self) -> None:
        """As `AsyncArm.leave_queue`."""
        await self._call("leave_queue")[1]

    async def release(self) -> None:
        """As `AsyncArm.release`."""
        await self._call("release")[1]

    async def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """As `AsyncArm.take_over`."""
        await self._call("take_over", reason, keep_booking=keep_booking)[1]

    async def free(self) -> None:
        """As `AsyncArm.free`."""
        await self._call("free")[1]

    async def jog(
        self,
        move: Callable[[], AxisJog | ToolJog],
        pressed: Callable[[], bool],
        speed_share: float,
        *,
        sign: Callable[[], Sign] | None = None,
    ) -> None:
        """As `AsyncArm.jog`; what shows the hand comes with the hand."""
        wanted = move()
        number, answer = self._call("jog", wanted, speed_share)
        try:
            while not answer.done() and pressed():
                if (now := move()) != wanted:
                    wanted = now
                    self._say(Jog(number, wanted))
                await asyncio.wait([answer], timeout=_LOOK_S)
        finally:
            # Also where no rate could be given any more: the last one may not go on by itself.
            if not answer.done():
                self._say(Jog(number, None))
        await answer

    async def step(self, move: AxisJog | ToolJog, speed_share: float) -> None:
        """As `AsyncArm.step`."""
        await self._call("step", move, speed_share)[1]

    async def go(self, to: str, speed_share: float) -> None:
        """As `AsyncArm.go`."""
        await self._call("go", to, speed_share)[1]

    async def confirm(self, *, supply_on: bool) -> None:
        """As `AsyncArm.confirm`."""
        await self._call("confirm", supply_on=supply_on)[1]

    async def go_limp(self, axis: str) -> str:
        """As `AsyncArm.go_limp`."""
        words: str = await self._call("go_limp", axis)[1]
        return words

    async def preview(
        self, text: str, *, name: str, language: str, points: str, start: tuple[float, ...] | None
    ) -> wire.Previewed:
        """As `AsyncArm.preview`."""
        fields = {"name": name, "language": language, "points": points, "start": start}
        told: wire.Previewed = await self._call("preview", text, **fields)[1]
        return told

    async def timeline(self, name: str) -> wire.Timeline:
        """As `AsyncArm.timeline`."""
        told: wire.Timeline = await self._call("timeline", name)[1]
        return told

    async def arm_motion(self, digest: str) -> None:
        """As `AsyncArm.arm_motion`."""
        await self._call("arm_motion", digest)[1]

    async def grip(self) -> None:
        """As `AsyncArm.grip`."""
        await self._call("grip")[1]

    async def settled(self, mark: int, within_s: float) -> Mode:
        """As `AsyncArm.settled`."""
        mode: Mode = await self._call("settled", mark, within_s)[1]
        return mode

    async def tell(self, kind: type[FromClient], **fields: Any) -> None:
        """As `AsyncArm.tell`."""
        await self._call("tell", kind, **fields)[1]

    async def request(self, kind: type[FromClient], **fields: Any) -> wire.Accepted:
        """As `AsyncArm.request`."""
        answer: wire.Accepted = await self._call("request", kind, **fields)[1]
        return answer

    async def get(self, method: str, path: str) -> bytes:
        """As `AsyncArm.get`."""
        answer: bytes = await self._call("get", method, path)[1]
        return answer


class ServiceLink(Link):
    """One arm of a lab.

    Signals:
        answered: a `Reply`, for `ask`.

    Args:
        access: the lab.
        arm: the arm's name.
        name: shown to others where no token brings one.
    """

    answered = Signal(object)

    def __init__(self, access: Access, arm: str, name: str = "") -> None:
        super().__init__()
        self._begin = Begin(access, arm, name)
        self._loop = asyncio.new_event_loop()
        self._far = ArmBeside(self._say)
        self._shown: ShownArm | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._outlet: _Outlet | None = None
        self._heard_s = -math.inf
        self._press = 0
        self._left = self._begun = False
        self._waiter = threading.Thread(target=self._wait, name="service", daemon=True)
        self._reader = threading.Thread(target=self._read, name="words of the service", daemon=True)
        self.answered.connect(self._hand_over)

    def begin(self) -> None:
        """Connect, and stay connected."""
        if not self._begun:
            self._begun = True
            self._start()
            self._waiter.start()
            self._reader.start()

    def supply_cut(self, reason: str) -> bool:
        """As `Link.supply_cut`."""
        return self._tell(wire.SupplyCut, reason)

    def stop(self, reason: str, *, freeze: bool = False) -> bool:
        """As `Link.stop`; what becomes of it shows in the telemetry, or comes as a refusal."""
        return self._tell(wire.EmergencyStop if freeze else wire.Stop, reason)

    def _tell(self, kind: type[FromClient], reason: str) -> bool:
        if not self._far.connected:
            return False
        self.ask(lambda arm: _until_answered(arm, kind, reason), self._failed)
        # A process beside the window that is silent may not hand it on.
        return monotonic_s() - self._heard_s <= _SILENT_S

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]], then: Callable[[T | HilError], None]) -> None:
        """As `Link.ask`."""

        async def do() -> None:
            result: T | HilError
            try:
                if not self._far.connected:
                    raise LinkError(f"{self._begin.access.url}: not connected", port=self._begin.access.url)
                result = await what(self._far)
            except HilError as error:
                result = error
            except Exception as error:  # whoever waits for an answer gets one, whatever went wrong
                result = CommandError(f"{type(error).__name__}: {error}")
            self.answered.emit((then, result))

        asyncio.run_coroutine_threadsafe(do(), self._loop)

    def hold(self, sign: Sign = NO_SIGN) -> None:
        """As `Link.hold`."""
        self._say(Hand(self._press, monotonic_s(), sign))

    def let_go(self) -> None:
        """As `Link.let_go`; what is held from now on is another press."""
        self._press += 1
        self.alive()

    def alive(self) -> None:
        """As `Link.alive`."""
        self._say(Hand(None, monotonic_s(), NO_SIGN))

    def close(self) -> None:
        """Leave; the arm holds if we drove it. What is answered from now on is nobody's any more."""
        self._left = True
        if self._child is None:
            return
        self._say(Leave())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_LEAVE_S)
        _end(self._child)
        self._reader.join(_LEAVE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._waiter.join(_LEAVE_S)

    def _hand_over(self, reply: tuple[Callable[[Any], None], Any]) -> None:
        then, result = reply
        if not self._left:
            then(result)

    def _failed(self, result: object) -> None:
        if isinstance(result, HilError):
            self.failed.emit(str(result))

    # -- the process beside the window -------------------------------------------------------------------

    def _start(self) -> None:
        # Of a session of its own: the window hears the terminal, and decides.
        self._child = subprocess.Popen(
            [*PYTHON, "-m", _BESIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        self._outlet = _Outlet(self._child)
        self._say(self._begin)

    def _say(self, word: NamedTuple) -> None:
        """From any thread, and without waiting; a process that is gone hears nothing, which shows elsewhere."""
        if self._outlet is not None:
            self._outlet.say(word)

    def _read(self) -> None:
        """In a thread of its own: what the process says; where it is gone, another one is started."""
        while not self._left:
            assert self._child is not None and self._child.stdout is not None
            told: BinaryIO = self._child.stdout  # type: ignore[assignment]
            # What cannot be read is as good as an end: another process begins anew.
            with contextlib.suppress(Exception):
                while (word := beside_words.get(told)) is not None:
                    self._heard_s = monotonic_s()
                    self._hear(word)
            if self._left:
                return
            words = tr("the process beside the window has ended")
            self._loop.call_soon_threadsafe(self._far.lost, words)
            self.parted.emit(words, False)
            _end(self._child)
            threading.Event().wait(PAUSE_S)
            if not self._left:
                self._start()

    def _hear(self, word: object) -> None:
        if isinstance(word, Heard) and isinstance(word.message, Telemetry):
            self.put(word.message)
        self._loop.call_soon_threadsafe(self._far.take, word)
        match word:
            case Joined():
                asyncio.run_coroutine_threadsafe(self._join(word.welcome), self._loop)
            case Parted(reason=reason, final=final):
                self.parted.emit(reason, final)
            case Heard(message=message) if not isinstance(message, Telemetry):
                self.heard.emit(message)
            case _:
                pass

    # -- in the thread that waits ------------------------------------------------------------------------

    def _wait(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def _join(self, welcome: Welcome) -> None:
        try:
            self._shown = self._shown or await self._fetch(welcome)
        except Exception as error:  # an arm that cannot be drawn can be driven and stopped
            self.failed.emit(f"{type(error).__name__}: {error}")
        self.joined.emit(welcome, self._shown)

    async def _fetch(self, welcome: Welcome) -> ShownArm | None:
        """The arm by its files, else by the robot's name; None where neither is to be had."""
        try:
            try:
                answer = await self._far.get("GET", arm_path(self._begin.arm, "rig"))
                rig = wire.decode_body(answer, PulledRig)
                # Not in this thread: a stop goes through it.
                return await asyncio.to_thread(arm_of_files, rig, welcome.axes)
            except HilError as error:
                self.failed.emit(str(error))
                return await asyncio.to_thread(arm_of_welcome, welcome)
        except HilError as error:
            self.failed.emit(str(error))
            return None


async def _until_answered(arm: FarArm, kind: type[FromClient], reason: str) -> None:
    """A stop that was on its way when the line broke goes out on the next one."""
    deadline_s = monotonic_s() + STOP_KEPT_S
    while True:
        try:
            await arm.request(kind, reason=reason)
            return
        except LinkError:
            if monotonic_s() > deadline_s:
                raise
        await asyncio.sleep(_LOOK_S)


class _Outlet:
    """Words to one process beside the window, written by a thread of its own: a window never waits for a full pipe."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._words: queue.SimpleQueue[NamedTuple] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="words to the service", daemon=True).start()

    def say(self, word: NamedTuple) -> None:
        """Write it after those before it; a process that takes none any more is ended, and another one begins."""
        if self._words.qsize() > MOST_WAITING:
            self._child.kill()
        else:
            self._words.put(word)

    def _write(self) -> None:
        pipe: BinaryIO = self._child.stdin  # type: ignore[assignment]
        with contextlib.suppress(OSError, ValueError):
            while True:
                word = self._words.get()
                beside_words.put(pipe, word)
                if isinstance(word, Leave):
                    return


def _end(child: subprocess.Popen[bytes]) -> None:
    """It has left, or is made to."""
    try:
        child.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    # Not before: whoever reads from a pipe at this moment would keep its end waiting.
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()

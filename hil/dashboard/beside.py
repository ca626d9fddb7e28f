"""The process beside a window: it talks to the service, and says there what is held, whatever the window is busy with.

It believes a hand only as long as the window's own thread says so, again and again; see `hand_watch`. It ends with the
window, and the arm then holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import queue
import sys
import threading
from typing import Any, BinaryIO, NamedTuple, cast

from hil.clock import monotonic_s
from hil.dashboard.beside_words import Answer, Begin, Call, Hand, Heard, Jog, Joined, Leave, Parted, get, put
from hil.dashboard.hand_watch import STALLED_S, HandWatch, turn_of
from hil.errors import CommandError, HilError
from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.client_channel import ClientChannel
from hil.types import AxisJog, Mode, ToolJog

RATE_HZ, REST_HZ = 50.0, 10.0
"""Telemetry in motion, or while something is held; and of an arm at rest."""

MOST_WAITING = 1024
"""Frames that wait while the window is busy: twenty seconds of them."""

LOOK_EVERY_S, REST_LOOK_S = 0.02, 0.1
PAUSE_S = 1.0
LATEST_S = 0.5
BEGIN_MOTION = frozenset({"jog", "step", "go", "confirm"})
_AT_REST = frozenset({Mode.IDLE, Mode.HOLDING, Mode.UNKNOWN_POSE, Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED})


class _Arm(AsyncArm):
    """A client that lets the lease of a window go which is not heard any more."""

    watch: HandWatch

    def _renews(self) -> bool:
        return super()._renews() and not self.watch.gone(monotonic_s())

    def _claims_again(self) -> bool:
        return super()._claims_again() and not self.watch.gone(monotonic_s())


def _refuse_late(call: Call, now_s: float) -> None:
    """What begins a motion is for now: a process that stood still may not carry it out when it goes on.

    Raises:
        CommandError: it was asked for too long ago.
    """
    begins = call.name in BEGIN_MOTION or (call.name == "request" and call.args[:1] == (wire.Start,))
    late_s = now_s - call.at_s
    if begins and late_s > LATEST_S:
        raise CommandError(f"{call.name}: it took {late_s:.1f} s to get to the service, nothing moved: press again")


class Beside:
    """One window's.

    Args:
        begin: which arm.
        told: where words of the window come from.
        tells: where words for the window go to.
        window: process number of the window.
    """

    def __init__(self, begin: Begin, told: BinaryIO, tells: BinaryIO, window: int) -> None:
        self._told, self._tells = told, tells
        self._watch = HandWatch(lambda: turn_of(window), LOOK_EVERY_S)
        self._arm = _Arm(begin.access, begin.arm, name=begin.name, rate_hz=REST_HZ, on_news=self._came)
        self._arm.watch = self._watch
        self._rate_hz = REST_HZ
        self._words: queue.SimpleQueue[NamedTuple | None] = queue.SimpleQueue()
        self._jogs: dict[int, AxisJog | ToolJog | None] = {}
        self._no_jog = asyncio.Event()
        self._no_jog.set()
        self._work: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._in_order = False

    async def run(self) -> None:
        """Until the window leaves, or is gone."""
        threading.Thread(target=self._listen, daemon=True).start()
        writer = threading.Thread(target=self._write)
        writer.start()
        tasks = [asyncio.create_task(work) for work in (self._look(), self._stay())]
        await self._ended.wait()
        for task in (*tasks, *self._work):
            task.cancel()
        await asyncio.gather(*tasks, *self._work, return_exceptions=True)
        with contextlib.suppress(HilError):
            # Whoever closes the window gives the lease back; who has crashed may come back for it.
            await (self._arm.close() if self._in_order else ClientChannel.close(self._arm))
        self._words.put(None)
        writer.join(PAUSE_S)

    # -- the window --------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """In a thread of its own: a hand counts as soon as it is said."""
        try:
            while (word := get(self._told)) is not None:
                if isinstance(word, Hand):
                    self._watch.say(word)
                elif isinstance(word, Call):
                    word = word._replace(press=self._watch.press)
                self._loop.call_soon_threadsafe(self._take, word)
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)

    def _write(self) -> None:
        """In a thread of its own: a window that does not listen holds nobody up."""
        try:
            with contextlib.suppress(OSError):
                while (word := self._words.get()) is not None:
                    put(self._tells, word)
        finally:
            # A window that hears nothing any more drives blind.
            self._loop.call_soon_threadsafe(self._ended.set)

    def _say(self, word: NamedTuple) -> None:
        self._words.put(word)

    def _take(self, word: object) -> None:
        match word:
            case Hand():
                self._hold()
            case Call():
                if word.name == "jog":
                    self._jogs[word.number] = word.args[0]
                    self._no_jog.clear()
                task = self._loop.create_task(self._do(word))
                self._work.add(task)
                task.add_done_callback(self._work.discard)
            case Jog(number=number, move=move) if number in self._jogs:
                self._jogs[number] = move
            case Leave():
                self._in_order = True
                self._ended.set()
            case _:
                pass

    async def _do(self, call: Call) -> None:
        result: Any = None
        error: HilError | None = None
        try:
            _refuse_late(call, monotonic_s())
            if call.name == "jog":
                await self._jog(call.number, call.press, *call.args)
            elif call.name == "free":
                await self._free()
            else:
                result = await getattr(self._arm, call.name)(*call.args, **call.fields)
        except HilError as caught:
            error = caught
        except Exception as caught:  # whoever waits for an answer gets one, whatever went wrong
            error = CommandError(f"{call.name}: {type(caught).__name__}: {caught}")
        finally:
            self._jogs.pop(call.number, None)
            if not self._jogs:
                self._no_jog.set()
        self._say(Answer(call.number, result, error, self._arm.mark))

    async def _jog(self, number: int, press: int | None, move: AxisJog | ToolJog, speed_share: float) -> None:
        last = move

        def wanted() -> AxisJog | ToolJog:
            nonlocal last
            last = self._jogs[number] or last
            return last

        def pressed() -> bool:
            same = self._jogs[number] is not None and self._watch.press == press
            return same and self._watch.holds(monotonic_s())

        await self._arm.jog(wanted, pressed, speed_share, sign=lambda: self._watch.sign)

    async def _free(self) -> None:
        """What an earlier press began is over before the next one begins: its end would let go of that one, too."""
        for number in self._jogs:
            self._jogs[number] = None
        await self._no_jog.wait()
        # A hand that is there by now stays: to let go of it would stop what it asks for next.
        if not self._arm.held_anew:
            await self._arm.free()

    async def _look(self) -> None:
        """Say at the service that it is held, as long as it is."""
        while True:
            self._watch.look(monotonic_s())
            self._hold()
            await self._watch_closely()
            await asyncio.sleep(LOOK_EVERY_S if self._holding else REST_LOOK_S)

    _holding = False
    _held_press: int | None = None

    def _hold(self) -> None:
        holding = self._watch.holds(monotonic_s())
        press = self._watch.press
        if self._holding and press != self._held_press:
            # Between two words of one batch the hand was off: nothing of the press before goes on.
            self._arm.let_go()
        self._held_press = press
        if holding:
            self._arm.hold(STALLED_S, self._watch.sign)
        elif self._holding:
            self._arm.let_go()
        self._holding = holding

    async def _watch_closely(self) -> None:
        """Telemetry as often as something moves."""
        rate_hz = REST_HZ if self._arm.mode in _AT_REST and not self._holding else RATE_HZ
        if rate_hz != self._rate_hz and self._arm.connected:
            self._rate_hz = rate_hz
            with contextlib.suppress(HilError):
                await self._arm.watch_at(rate_hz)

    # -- the service -------------------------------------------------------------------------------------

    def _came(self, message: wire.ServerMessage) -> None:
        if isinstance(message, wire.BeatSeen):
            return
        if not isinstance(message, wire.Telemetry) or self._words.qsize() < MOST_WAITING:
            self._say(Heard(message, self._arm.mark))

    async def _stay(self) -> None:
        """Connect, and watch over the connection."""
        arm, welcome = self._arm, None
        while True:
            try:
                await arm.open()
                break
            except HilError as error:
                self._say(Parted(str(error), final=False))
            await asyncio.sleep(PAUSE_S)
        while not arm.over:
            if arm.connected and arm.welcome is not welcome:
                welcome = arm.welcome
                assert welcome is not None
                self._say(Joined(welcome))
            elif not arm.connected and welcome is not None:
                welcome = None
                self._say(Parted(arm.since(arm.mark - 1)[-1], final=False))
            await asyncio.sleep(REST_LOOK_S)
        self._say(Parted(arm.over, final=True))


async def _beside(told: BinaryIO, tells: BinaryIO) -> None:
    begin = get(told)
    if not isinstance(begin, Begin):
        raise CommandError("this is the process beside a window, which starts it")
    await Beside(begin, told, tells, os.getppid()).run()


def main() -> None:
    """Serve the window that has started this process."""
    tells = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr  # what is printed by mistake is no word
    # Without a buffer: a thread that waits in one keeps Python from ending.
    told = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    gc.collect()
    gc.freeze()
    asyncio.run(_beside(cast("BinaryIO", told), tells))


if __name__ == "__main__":
    main()

"""An arm of a lab for Python: `hil.connect(url)`, which waits, its channel in a thread, or `hil.connect_async(url)`."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, LinkError
from hil.model.files import find
from hil.refusal import RefusedError
from hil.service import wire
from hil.service.client import COMING_S, HELD_S, AsyncArm
from hil.service.connection import reach_arm
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.lab_request import Access
from hil.service.program_hand import DeadMan, ProgramHand
from hil.types import Mode
from hil.units import MM

T = TypeVar("T")

LOOK_S = 0.05
FIRST_S = 1.0


def connect(url: str, token: str | None = None, *, name: str = "", on_site: bool = False) -> RemoteArm:
    """Connect to an arm of a lab.

    Args:
        url: the arm's address, as ``http://127.0.0.1:8742/arm-1``; a login that `hil login` keeps is found by it.
        token: instead of that login's. Keep it in a file, not in a program.
        name: shown to others where no token brings one; the name of this computer's user if not given.
        on_site: you stand beside the arm.

    Raises:
        LinkError: the lab cannot be reached, or is not the one that it should be.
        RefusedByLabError: it said no.
        CommandError: the address does not name one arm, or a token would go over an open line.
        MissingExtraError: the extra [service] is not installed.
    """
    access, arm = reach_arm(url, token)
    return RemoteArm(access, arm, name=name or user_name(), on_site=on_site)


@contextlib.asynccontextmanager
async def connect_async(
    url: str, token: str | None = None, *, name: str = "", on_site: bool = False
) -> AsyncIterator[AsyncArm]:
    """The same for asyncio: ``async with hil.connect_async(url) as arm``. Leaving gives the lease back.

    Args and errors are those of `connect`; the event loop is not held up while the lab is looked for.
    """
    access, arm = await asyncio.to_thread(reach_arm, url, token)
    async with AsyncArm(access, arm, name=name or user_name(), on_site=on_site) as found:
        await found.until(lambda: found.telemetry is not None, FIRST_S)
        yield found


def user_name() -> str:
    """Name of this computer's user; something else where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "someone"


class RemoteArm:
    """An arm far away, with calls that wait. Use as a context manager: leaving gives the lease back.

    Motion needs the lease (`claim`) and a person who holds the dead-man. A call that waits counts as held for as long
    as its program goes on and `deadman`, if given, says so: a program that hangs, Ctrl-C, or a lost connection lets
    go, and the arm stops and holds. After a reconnection nothing goes on by itself.

    Args:
        access: the lab.
        arm: the arm's name.
        name: shown to others where no token brings one.
        on_site: the person stands beside the arm.
        deadman: asked 20 times a second while something moves, for example whether a key or a button is pressed (see
            `DeadMan`); if its answer does not change for a minute, the lab ends the motion. None for "as long as the
            call waits": the program that waits is the hand then, and that it goes round is the sign.
        on_news: called with every message that comes, in the thread of the channel.
    """

    def __init__(
        self,
        access: Access,
        arm: str,
        *,
        name: str = "",
        on_site: bool = False,
        deadman: DeadMan | None = None,
        on_news: Callable[[wire.ServerMessage], None] = lambda message: None,
    ) -> None:
        self.arm, self.deadman = arm, deadman
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"hil-{arm}", daemon=True)
        self._thread.start()
        self.channel = AsyncArm(access, arm, name=name, on_site=on_site, on_news=on_news)
        """The same arm for asyncio; its coroutines are handed over by `begin`."""
        try:
            self.welcome = self._call(self.channel.open())
            # So that mode and positions mean something from the beginning, if the arm is there.
            self._call(self.channel.until(lambda: self.channel.telemetry is not None, FIRST_S))
        except BaseException:
            self._end_thread()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the lease back and leave; the arm holds. Once more does no harm."""
        if self._thread.is_alive():
            with contextlib.suppress(HilError):
                self._call(self.channel.close())
            self._end_thread()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        if not self._thread.is_alive():
            self._loop.close()

    # -- between the threads -----------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Let the channel's thread do something; returns at once."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def hold(self, for_s: float = HELD_S, sign: Sign = NO_SIGN) -> None:
        """Say that a person holds the dead-man now, and for so long; see `AsyncArm.hold`."""
        self._loop.call_soon_threadsafe(self.channel.hold, for_s, sign)

    def let_go(self) -> None:
        """Say that nobody holds the dead-man."""
        self._loop.call_soon_threadsafe(self.channel.let_go)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        future = self.begin(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _wait(self, work: Coroutine[Any, Any, T], *, held: bool) -> T:
        """Wait, holding the dead-man if wanted; Ctrl-C stops the arm first."""
        future, hand = self.begin(work), ProgramHand(self.deadman, monotonic_s())
        try:
            while True:
                if held and (sign := hand.look(monotonic_s())) is not None:
                    self.hold(sign=sign)
                elif held:
                    self.let_go()
                with contextlib.suppress(TimeoutError):
                    return future.result(LOOK_S)
                if future.done():
                    return future.result()
        except KeyboardInterrupt:
            # Before the stop is answered nothing may be asked for any more.
            future.cancel()
            with contextlib.suppress(HilError):
                self.stop("interrupted from the keyboard")
            raise
        finally:
            if held:
                # Until this is known there, it could stop what is asked for next.
                self._call(self.channel.free())

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm."""
        return self.channel.mode

    @property
    def telemetry(self) -> wire.Telemetry:
        """The newest telemetry.

        Raises:
            LinkError: none has come.
        """
        self._call(self.channel.until(lambda: self.channel.telemetry is not None, 5.0))
        if self.channel.telemetry is None:
            raise LinkError(f"{self.channel.url}: no telemetry came", port=self.channel.url)
        return self.channel.telemetry

    @property
    def positions(self) -> tuple[float | None, ...]:
        """Where every axis was sent last, rad or m; None for one that was never driven."""
        return self.telemetry.commanded

    @property
    def tool_m(self) -> tuple[float, float, float] | None:
        """Tool point of that pose, base frame, m; None while it is not known."""
        return self.telemetry.tool_m

    def pull(self) -> wire.PulledRig:
        """The arm's rig as files, so that previews here match it."""
        return self._call(self.channel.pull())

    # -- lease -------------------------------------------------------------------------------------------

    def claim(self, *, wait: bool = False, within_s: float = COMING_S) -> None:
        """Become the driver; with `wait` stand in the queue, for `within_s` and no longer."""
        self._call(self.channel.claim(wait=wait, within_s=within_s))

    def release(self) -> None:
        """Give the lease back; the arm holds."""
        self._call(self.channel.release())

    def renew(self, minutes: float) -> None:
        """Ask for more time."""
        self._call(self.channel.renew(minutes))

    def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """As a teacher, become the driver; the arm holds first."""
        self._call(self.channel.take_over(reason, keep_booking=keep_booking))

    def freeze(self, reason: str = "", *, everywhere: bool = False) -> None:
        """As a teacher, hold the arm, or all of them, until thawed."""
        self._call(self.channel.freeze(reason, everywhere=everywhere))

    def thaw(self, *, everywhere: bool = False) -> None:
        """Allow motion again; nothing moves by it."""
        self._call(self.channel.thaw(everywhere=everywhere))

    # -- motion ------------------------------------------------------------------------------------------

    def preview(self, task: str | Path) -> wire.Previewed:
        """Have a task planned and previewed by the lab, from where the arm stands.

        Args:
            task: its name, file or text.

        Raises:
            RefusedByLabError: the lab says no.
            ConfigError, CommandError: the file is not there, or cannot be read.
        """
        name, text = _task_text(task)
        return self._call(self.channel.preview(text, name=name))

    def run(self, motion: str | Path | wire.Previewed) -> Mode:
        """Run a task, or what `preview` gave, to its end.

        Returns:
            The mode in which it ended: IDLE if it ran to its end.

        Raises:
            RefusedError: the preview is refused; says where, by how much, and what would be allowed.
            RefusedByLabError, InterlockError: the lab or the loop says no.
            LinkError: the connection was lost; the arm holds.
        """
        found = motion if isinstance(motion, wire.Previewed) else self.preview(motion)
        if not found.ok:
            raise RefusedError(found.refusals, "; ".join(found.notes) or "the preview is refused")
        return self._moved(self.channel.run(found.digest))

    def jog(self, *, speed_percent: float = 25.0, frame: str = "world", **amounts: float) -> Mode:
        """One increment, in degrees and millimetres: ``jog(base=5)``, ``jog(x=-10, frame="tool")``.

        Args:
            speed_percent: of the rig's speeds.
            frame: of tool directions: ``world`` or ``tool``.
            amounts: axes by name; or of the tool ``x y z``, ``pitch roll``, ``a b c``.

        Returns:
            The mode after it: IDLE if it ran to its end.

        Raises:
            CommandError: a name that there is not, or axes and tool mixed.
            RefusedByLabError, InterlockError: the lab or the loop says no.
        """
        move = self.channel.move_of(amounts, frame)
        return self._moved(self.channel.step(move, speed_percent / 100.0), held=False)

    def home(self, *, speed_percent: float = 25.0) -> Mode:
        """A previewed move to the home pose."""
        return self._moved(self.channel.go("home", speed_percent / 100.0))

    def park(self, *, speed_percent: float = 25.0) -> Mode:
        """A previewed move to the park pose."""
        return self._moved(self.channel.go("park", speed_percent / 100.0))

    def gripper(self, opening_mm: float, *, speed_percent: float = 25.0) -> Mode:
        """A previewed move of the gripper alone."""
        return self._moved(self.channel.gripper(opening_mm * MM, speed_percent / 100.0))

    def self_test(self, *, speed_percent: float = 25.0) -> str:
        """Each axis a little way and back; gives what came of it in words, which the list of arms keeps."""
        mark = self.channel.mark
        self._moved(self.channel.self_test(speed_percent / 100.0))
        return self._call(self.channel.self_test_words(mark))

    def confirm(self, positions: tuple[float, ...] | None = None, *, supply_on: bool = False) -> Mode:
        """Vouch for where the limp arm is (None: its park pose); its axes are then driven one by one.

        With `supply_on` also for its servo supply, as somebody beside the arm can: it is on, and was not cut meanwhile.
        """
        return self._moved(self.channel.confirm(positions, supply_on=supply_on))

    def supply_cut(self, reason: str = "") -> None:
        """Say that the servo supply was cut, or may have been: a stop, after which no echo is believed."""
        self._call(self.channel.supply_cut(reason))

    @property
    def holding(self) -> wire.Holding:
        """What holds the arm, what that carries, and which axis may be let go of next.

        Raises:
            LinkError: nothing was told of it.
        """
        self._call(self.channel.until(lambda: self.channel.holding is not None, 5.0))
        if self.channel.holding is None:
            raise LinkError(f"{self.channel.url}: nothing was told of what holds the arm", port=self.channel.url)
        return self.channel.holding

    def go_limp(self, axis: str) -> str:
        """Let one axis go, which sinks by it: for somebody beside the arm who holds it. It has to be `holding.next`.

        Returns:
            What the controller says of it, in words.
        """
        return self._call(self.channel.go_limp(axis))

    def reset(self) -> None:
        """Leave a fault, an emergency stop or a latched stop."""
        self._call(self.channel.reset())

    def stop(self, reason: str = "") -> None:
        """Slow down and hold; for who does not drive it latches."""
        self._call(self.channel.stop(reason))

    def emergency_stop(self, reason: str = "") -> None:
        """Freeze the controller and latch: a software stop, no emergency stop in the sense of a standard."""
        self._call(self.channel.emergency_stop(reason))

    def _moved(self, asked: Coroutine[Any, Any, None], *, held: bool = True) -> Mode:
        return self._wait(self.channel.to_its_end(asked), held=held)


def _task_text(task: str | Path) -> tuple[str, str]:
    """Name and text of a task that is given by name, as a file or as text."""
    if isinstance(task, str) and ("\n" in task or "=" in task):
        return "task", task
    path = find("tasks", task)
    try:
        return path.stem, path.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        words = getattr(error, "strerror", None) or "not UTF-8"
        raise CommandError(f"{path}: {words}; give a task's file or its text", value=str(task)) from None

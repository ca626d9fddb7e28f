"""One arm of a lab for asyncio: lease, jogs, previewed motions and stops, over a channel that comes back by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError, LinkClosed, LinkError, LinkTimeout
from hil.service import wire
from hil.service.client_channel import ANSWER_S, GRIP_S, HELD_S, PLANNED_S, ClientChannel
from hil.service.connection import arm_path
from hil.service.following import Goal, lead, refuse_rate
from hil.service.hold_watch import Sign
from hil.service.lab_request import RefusedByLabError
from hil.service.program_hand import DeadMan, ProgramHand
from hil.types import AxisJog, JogFrame, Mode, ToolJog
from hil.units import DEG, MM

__all__ = ["COMING_S", "HELD_S", "LONGEST_S", "AsyncArm"]

COMING_S = 240.0
"""An arm that comes up by itself is there by then, also on a busy computer."""

LONGEST_S = 1000.0
"""No motion takes longer."""

T = TypeVar("T")

_BEGIN_S = 2.0
_LIMP_S = 4.0
_WORD_S = 0.5
_HOLD_EVERY_S = 0.05
_ENDED = frozenset({Mode.IDLE, Mode.HOLDING, Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED, Mode.UNKNOWN_POSE})


class AsyncArm(ClientChannel):
    """An arm far away. Use as an async context manager, or `open` and `close`; attributes are those of its channel.

    What asks for a motion returns once it is accepted, and somebody keeps saying `hold` while the arm moves. `moved`
    does both for whoever wants to wait: it holds the dead-man and returns when the arm has come to rest.
    """

    async def close(self) -> None:
        """Give the lease back and leave; the arm holds."""
        if self.drives:
            with contextlib.suppress(LinkError, RefusedByLabError):
                await self.release(within_s=1.0)
        await super().close()

    # -- lease -----------------------------------------------------------------------------------------

    async def claim(self, *, wait: bool = False, within_s: float = COMING_S) -> None:
        """Become the driver; returns once the lease is ours, which of an arm that comes up is when it is there.

        Args:
            wait: stand in the queue if the arm is taken.
            within_s: how long to wait for it.

        Raises:
            RefusedByLabError: the arm is taken, or not for us.
            InterlockError: it was promised, and cannot be had after all.
            LinkTimeout: it did not become ours in time, and is not waited for any more.
        """
        self._wish.want(wait=wait)
        try:
            await self.request(wire.Claim, wait=wait)
            if not await self.until(lambda: self.drives or bool(self._wish.declined(self.lease)), within_s):
                raise LinkTimeout(f"{self.url}: the lease did not come within {within_s:g} s", port=self._access.url)
            if words := self._wish.declined(self.lease):
                raise InterlockError(f"{self.arm}: {words}", ["lease"])
            self._wish.got()
        except (RefusedByLabError, InterlockError):
            self._wish.drop()
            raise
        except BaseException:
            self._wish.drop()
            # Else the arm would come, later on, to somebody who does not wait for it any more.
            with contextlib.suppress(LinkError):
                await self.tell(wire.Release if self.drives else wire.LeaveQueue)
            raise

    async def leave_queue(self) -> None:
        """Wait no longer; the `claim` that waits ends with an `InterlockError`."""
        await self.request(wire.LeaveQueue)

    async def release(self, *, within_s: float = ANSWER_S) -> None:
        """Give the lease back; the arm holds."""
        self._wish.drop()
        self.let_go()
        await self.request(wire.Release, within_s=within_s)

    async def renew(self, minutes: float) -> None:
        """Ask for more time."""
        await self.request(wire.Renew, minutes=minutes)

    async def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """As a teacher, become the driver whoever drives; the arm holds first."""
        self._wish.want(wait=False)
        try:
            await self.request(wire.TakeOver, reason=reason, keep_booking=keep_booking)
        except HilError:
            self._wish.drop()
            raise
        if not await self.until(lambda: self.drives, COMING_S):
            raise LinkTimeout(f"{self.url}: the lease did not come within {COMING_S:g} s", port=self._access.url)

    async def freeze(self, reason: str = "", *, everywhere: bool = False) -> None:
        """As a teacher, hold the arm, or all of them, until thawed."""
        await self.request(wire.Freeze, reason=reason, everywhere=everywhere)

    async def thaw(self, *, everywhere: bool = False) -> None:
        """Allow motion again; nothing moves by it."""
        await self.request(wire.Thaw, everywhere=everywhere)

    # -- what is so --------------------------------------------------------------------------------------

    async def pull(self) -> wire.PulledRig:
        """The arm's rig as files, so that previews here match it."""
        return wire.decode_body(await self.get("GET", arm_path(self.arm, "rig")), wire.PulledRig)

    def move_of(self, amounts: dict[str, float], frame: str = "world") -> AxisJog | ToolJog:
        """A move in degrees and millimetres, as `step` and `jog` take it.

        Args:
            amounts: axes by name; or of the tool ``x y z``, ``pitch roll``, ``a b c``.
            frame: of tool directions: ``world`` or ``tool``.

        Raises:
            CommandError: a name that there is not, or axes and tool mixed.
        """
        assert self.welcome is not None
        axes = self.welcome.axes
        names = [axis.name for axis in axes]
        if amounts and set(amounts) <= set(names):
            units = [DEG if axis.kind == "revolute" else MM for axis in axes]
            values = [amounts.get(name, 0.0) for name in names]
            return AxisJog(amounts=tuple(value * unit for value, unit in zip(values, units, strict=True)))
        tool = {"x": MM, "y": MM, "z": MM, "pitch": DEG, "roll": DEG, "a": DEG, "b": DEG, "c": DEG}
        if not amounts or not set(amounts) <= set(tool) or frame not in ("world", "tool"):
            allowed = f"axes ({', '.join(names)}), or of the tool {', '.join(tool)}; frame world or tool"
            raise CommandError(f"jog of {', '.join(amounts) or 'nothing'}; allowed: {allowed}", allowed=allowed)
        x, y, z, pitch, roll, a, b, c = (amounts.get(name, 0.0) * unit for name, unit in tool.items())
        return ToolJog(frame=JogFrame(frame), linear=(x, y, z), pitch=pitch, roll=roll, turn=(a, b, c))

    # -- motion ------------------------------------------------------------------------------------------

    async def step(self, move: AxisJog | ToolJog, speed_share: float = 0.25) -> None:
        """One increment: asked for and accepted; `settled` says what became of it."""
        await self.request(wire.ArmJog, speed_share=speed_share)
        await self.request(wire.JogStep, move=move)

    async def jog(
        self,
        move: AxisJog | ToolJog | Callable[[], AxisJog | ToolJog],
        pressed: DeadMan,
        speed_share: float = 0.25,
        *,
        sign: Callable[[], Sign] | None = None,
    ) -> None:
        """Move at these rates (rad/s, m/s) while `pressed`, the dead-man, says so; both are asked every 50 ms.

        The lab ends a jog in which neither has changed for 10 s. Then, and not before, it has to be asked for anew.

        Args:
            move: the rates, or what gives them.
            pressed: see `DeadMan`.
            speed_share: part of the rig's speeds.
            sign: what shows that a hand is there, where somebody knows better than by these two.

        Raises:
            RefusedByLabError: the lab said no.
            InterlockError: the dead-man does not count, or the lease has changed meanwhile.
            LinkClosed: the connection was lost; the arm holds.
        """
        assert self.welcome is not None
        every_s = self.welcome.rules.hold_every_s
        await self._while_held(self.request(wire.ArmJog, speed_share=speed_share), pressed)
        epoch, grip_s = self.epoch, monotonic_s() + GRIP_S
        hand = ProgramHand(pressed, monotonic_s())
        try:
            while self.drives and self.epoch == epoch:
                wanted = move() if callable(move) else move
                if (shown := hand.look(monotonic_s(), wanted)) is None:
                    break
                self.hold(sign=shown if sign is None else sign())
                if self.held:
                    await self.tell(wire.JogHold, move=wanted)
                    await asyncio.sleep(every_s)
                elif self._dead_man.press_again or monotonic_s() > grip_s:
                    raise self._dead_man.not_held()
                else:
                    # The answer to a beat is news: the first hold leaves with it, not up to 50 ms later.
                    await self._news.wait(every_s)
            if not self.connected:
                raise LinkClosed(f"{self.url}: the connection was lost; the arm holds", port=self._access.url)
            if self.epoch != epoch or not self.drives:
                raise InterlockError("the lease has changed meanwhile", ["lease"])
        finally:
            # The release ends it; a beat at once would make a stop of an end that was meant.
            self._dead_man.let_go()
            if self.drives:
                with contextlib.suppress(LinkClosed):
                    await self.tell(wire.JogRelease)

    async def follow(
        self,
        goal: Goal,
        pressed: DeadMan,
        speed_share: float = 0.25,
        *,
        rate_hz: float = 50.0,
        sign: Callable[[], Sign] | None = None,
    ) -> None:
        """Lead the arm to goals that change, for as long as `goal` gives one and `pressed`, the dead-man, says so.

        The first goal has to be near where the arm stands. As with `jog`, one at which nothing changes for 10 s ends.

        Args:
            goal: where the arm shall be now; None ends it.
            pressed: see `DeadMan`.
            speed_share: part of the rig's speeds.
            rate_hz: so often both are asked, 10 to 60 times a second.
            sign: what shows that a hand is there, where somebody knows better than by these two.

        Raises:
            RefusedByLabError: the lab said no.
            CommandError: the rate is outside its range.
            InterlockError: the lab knows no targets, the dead-man does not count, the lease has changed meanwhile, or
                the arm follows no more, in the loop's words.
            LinkClosed: the connection was lost; the arm holds.
        """
        assert self.welcome is not None
        refuse_rate(self.welcome, rate_hz)
        await self._while_held(self.request(wire.ArmJog, speed_share=speed_share), pressed)
        await lead(self, self._dead_man, goal, pressed, rate_hz, sign)

    async def preview(
        self, text: str, *, name: str = "task", language: str = "task", points: str = "",
        start: tuple[float, ...] | None = None,
    ) -> wire.Previewed:  # fmt: skip
        """Have a task or program planned and previewed for this arm; only the one who asked may run it.

        Raises:
            RefusedByLabError: the lab said no, not counting a refusal of the motion, which is in the answer.
        """
        upload = wire.Upload(arm=self.arm, language=language, name=name, text=text, points=points, start=start)  # type: ignore[arg-type]
        answer = await self.get("POST", f"{wire.ROOT}/previews", upload)
        return wire.decode_body(answer, wire.Previewed)

    async def timeline(self, name: str) -> wire.Timeline:
        """What was previewed last, over time; `name` as in `Previewed.timeline`.

        Raises:
            RefusedByLabError: nothing of that name was previewed for us lately.
        """
        answer = await self.get("GET", arm_path(self.arm, f"timelines/{name}"))
        return wire.decode_body(answer, wire.Timeline)

    async def run(self, digest: str) -> None:
        """Arm and start a previewed motion; somebody keeps saying `hold`. `settled` says what became of it.

        Raises:
            RefusedByLabError, InterlockError: it may not be.
        """
        await self.grip()
        await self.arm_motion(digest)
        await self.request(wire.Start, digest=digest)

    async def arm_motion(self, digest: str) -> None:
        """Arm for a previewed motion; nothing moves by it.

        Raises:
            RefusedByLabError, InterlockError: it may not be.
        """
        mark = self.mark
        await self.request(wire.ArmMotion, digest=digest)
        await self.until(lambda: self.mode is Mode.ARMED or bool(refusal_in(self.since(mark))), _BEGIN_S)
        if words := refusal_in(self.since(mark)):
            raise InterlockError(words)

    async def go(self, to: str, speed_share: float = 0.25) -> None:
        """A move to `home` or `park`, planned by the server; somebody keeps saying `hold`."""
        await self.grip()
        await self.request(wire.Go, within_s=PLANNED_S, to=to, speed_share=speed_share)

    async def home(self, *, speed_percent: float = 25.0) -> Mode:
        """A previewed move to the home pose, to its end; see `moved`."""
        return await self.moved(self.go("home", speed_percent / 100.0))

    async def park(self, *, speed_percent: float = 25.0) -> Mode:
        """A previewed move to the park pose, to its end; see `moved`."""
        return await self.moved(self.go("park", speed_percent / 100.0))

    async def gripper(self, opening_m: float, speed_share: float = 0.25) -> None:
        """A move of the gripper alone; somebody keeps saying `hold`."""
        await self.grip()
        await self.request(wire.Gripper, within_s=PLANNED_S, opening_m=opening_m, speed_share=speed_share)

    async def self_test(self, speed_share: float = 0.25) -> None:
        """Each axis a little way and back; somebody keeps saying `hold`. `self_test_words` says what came of it."""
        await self.grip()
        await self.request(wire.SelfTest, within_s=PLANNED_S, speed_share=speed_share)

    async def self_test_words(self, mark: int) -> str:
        """What came of the self-test that was asked for after `mark`, once the server has said it.

        Raises:
            LinkClosed: the connection was lost before.
        """

        def said() -> str:
            return next((each for each in self.since(mark) if each.startswith("self-test ")), "")

        await self.until(lambda: bool(said()) or not self.connected, LONGEST_S)
        if not said():
            raise LinkClosed(f"{self.url}: nothing was heard of the end of the self-test", port=self._access.url)
        return said()

    async def confirm(self, positions: tuple[float, ...] | None = None, *, supply_on: bool = False) -> None:
        """Vouch for where the limp arm is (None: its park pose); somebody keeps saying `hold`.

        With `supply_on` also for its servo supply, which only somebody beside the arm can: it is on, and was not cut
        since the controller drives what it drives.
        """
        await self.grip()
        await self.request(wire.Confirm, positions=positions, supply_on=supply_on)

    async def go_limp(self, axis: str) -> str:
        """Let one axis go, which sinks by it; for somebody beside the arm who holds it. It has to be `holding.next`.

        Returns:
            What the controller says of it, in words.

        Raises:
            RefusedByLabError, InterlockError: the lab or the loop says no.
            LinkClosed: the connection was lost; what was not let go of is held.
        """
        mark = self.mark
        await self.request(wire.GoLimp, axis=axis)

        def gone() -> bool:
            return self.holding is not None and axis not in self.holding.driven

        def said() -> str:
            return next((each for each in reversed(self.since(mark)) if f"the {axis}" in each), "")

        await self.until(lambda: gone() or not self.connected or bool(refusal_in(self.since(mark))), _LIMP_S)
        if not self.connected:
            raise LinkClosed(f"{self.url}: the connection was lost; what is not limp is held", port=self._access.url)
        if words := refusal_in(self.since(mark)):
            raise InterlockError(words)
        if not gone():
            raise InterlockError(said() or f"whether the {axis} is limp was not said: look at the arm", ["an answer"])
        await self.until(lambda: "limp" in said(), _WORD_S)
        return said()

    async def reset(self) -> None:
        """Leave a fault, an emergency stop or a latched stop."""
        await self.request(wire.Reset)

    async def stop(self, reason: str = "") -> None:
        """Slow down and hold; for who does not drive it latches."""
        self.let_go()
        await self.request(wire.Stop, reason=reason)

    async def supply_cut(self, reason: str = "") -> None:
        """Say that the servo supply was cut, or may have been: a stop, after which no echo is believed."""
        self.let_go()
        await self.request(wire.SupplyCut, reason=reason)

    async def emergency_stop(self, reason: str = "") -> None:
        """Freeze the controller and latch: a software stop, no emergency stop in the sense of a standard."""
        self.let_go()
        await self.request(wire.EmergencyStop, reason=reason)

    async def moved(self, asked: Coroutine[Any, Any, None], *, deadman: DeadMan | None = None) -> Mode:
        """Have something done to its end, the dead-man held meanwhile: ``await arm.moved(arm.run(digest))``.

        An event loop that hangs lets go; whoever is cancelled stops the arm first.

        Args:
            asked: what `step`, `run`, `go`, `gripper` or `confirm` gives.
            deadman: asked 20 times a second, for example whether a button is pressed (see `DeadMan`); where its answer
                does not change for a minute, the lab ends the motion. None for "as long as this waits".

        Returns:
            The mode in which it ended: IDLE if it ran to its end.

        Raises:
            RefusedByLabError, InterlockError: the lab or the loop says no.
            LinkError: the connection was lost; the arm holds.
        """
        try:
            return await self._while_held(self.to_its_end(asked), deadman)
        except asyncio.CancelledError:
            with contextlib.suppress(HilError):
                await self.stop("the program was interrupted")
            raise
        finally:
            # Until this is known there, it could stop what is asked for next.
            await self.free()

    async def _while_held(self, work: Coroutine[Any, Any, T], deadman: DeadMan | None) -> T:
        """Have something done, and say meanwhile whether the dead-man is held; cancelled, nothing more is asked for."""
        task, hand = asyncio.ensure_future(work), ProgramHand(deadman, monotonic_s())
        try:
            while not task.done():
                if (sign := hand.look(monotonic_s())) is not None:
                    self.hold(sign=sign)
                else:
                    self.let_go()
                await asyncio.wait([task], timeout=_HOLD_EVERY_S)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def to_its_end(self, asked: Coroutine[Any, Any, None]) -> Mode:
        """Have something done and wait for its end; somebody keeps saying `hold`. As `moved` otherwise."""
        mark = self.mark
        await asked
        return await self.settled(mark, LONGEST_S)

    async def settled(self, mark: int, within_s: float) -> Mode:
        """Wait until what was asked for at `mark` has ended.

        Returns:
            The mode after it: IDLE if it ran to its end.

        Raises:
            InterlockError: the loop refused it, or never began.
            LinkClosed: the channel was lost.
        """

        def over() -> bool:
            return not self.connected or bool(refusal_in(self.since(mark))) or ended(self.since(mark), self.mode)

        began_s = monotonic_s()
        await self.until(lambda: over() or began(self.since(mark)) or monotonic_s() - began_s > _BEGIN_S, within_s)
        if not over() and not began(self.since(mark)):
            raise InterlockError("the loop has not answered", ["an answer"])
        await self.until(over, within_s)
        if not self.connected:
            raise LinkClosed(f"{self.url}: the connection was lost; the arm holds", port=self._access.url)
        if (words := refusal_in(self.since(mark))) and not began(self.since(mark)):
            raise InterlockError(words)
        return self.mode


def began(words: list[str]) -> bool:
    """Whether something has begun to move, by what was said."""
    return any("-> streaming: " in each or "-> energising: " in each for each in words)


def ended(words: list[str], mode: Mode) -> bool:
    """Whether something has begun, and has ended."""
    return began(words) and mode in _ENDED


def refusal_in(words: list[str]) -> str:
    """The newest refusal among what was said; empty if there is none."""
    return next((each.removeprefix("refused: ") for each in reversed(words) if each.startswith("refused: ")), "")

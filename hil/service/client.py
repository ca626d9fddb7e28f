"""One arm of a lab for asyncio: lease, jogs, previewed motions and stops, over a channel that comes back by itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from hil.errors import InterlockError, LinkClosed, LinkError, LinkTimeout
from hil.service import wire
from hil.service.asking import RefusedByLabError
from hil.service.client_channel import ANSWER_S, GRIP_S, HELD_S, PLANNED_S, ClientChannel
from hil.service.reaching import arm_path
from hil.types import AxisJog, Mode, ToolJog

__all__ = ["COMING_S", "HELD_S", "AsyncArm"]

COMING_S = 30.0
"""An arm that comes up by itself is there by then."""

_BEGIN_S = 2.0
_ENDED = frozenset({Mode.IDLE, Mode.HOLDING, Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED, Mode.UNKNOWN_POSE})


class AsyncArm(ClientChannel):
    """An arm far away. Use as an async context manager, or `open` and `close`; attributes are those of its channel."""

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
            LinkTimeout: it did not become ours in time; our place in the queue is given up.
        """
        self._wants_lease = True
        try:
            await self.request(wire.Claim, wait=wait)
            if not await self.until(lambda: self.drives or bool(self._declined), within_s):
                raise LinkTimeout(f"{self.url}: the lease did not come within {within_s:g} s", port=self._access.url)
            if self._declined:
                raise InterlockError(f"{self.arm}: {self._declined}", ["lease"])
        except BaseException:
            self._wants_lease = False
            # Else the arm would come, later on, to somebody who does not wait for it any more.
            if self.lease is not None and self.lease.place:
                with contextlib.suppress(LinkError):
                    await self.tell(wire.LeaveQueue)
            raise

    async def leave_queue(self) -> None:
        """Wait no longer; the `claim` that waits ends with an `InterlockError`."""
        await self.request(wire.LeaveQueue)

    @property
    def _declined(self) -> str:
        """Why the lease is neither ours nor on its way to us; empty while it may be."""
        news = self.lease
        if news is None or news.yours or news.place or news.lease.phase is wire.LeasePhase.CHANGING:
            return ""
        return news.reason or f"the lease is {news.lease.phase.value}"

    async def release(self, *, within_s: float = ANSWER_S) -> None:
        """Give the lease back; the arm holds."""
        self._wants_lease = False
        self.let_go()
        await self.request(wire.Release, within_s=within_s)

    async def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """As a teacher, become the driver whoever drives; the arm holds first."""
        self._wants_lease = True
        await self.request(wire.TakeOver, reason=reason, keep_booking=keep_booking)
        if not await self.until(lambda: self.drives, COMING_S):
            raise LinkTimeout(f"{self.url}: the lease did not come within {COMING_S:g} s", port=self._access.url)

    # -- motion ------------------------------------------------------------------------------------------

    async def step(self, move: AxisJog | ToolJog, speed_share: float = 0.25) -> None:
        """One increment: asked for and accepted; `settled` says what became of it."""
        await self.request(wire.ArmJog, speed_share=speed_share)
        await self.request(wire.JogStep, move=move)

    async def jog(
        self,
        move: AxisJog | ToolJog | Callable[[], AxisJog | ToolJog],
        pressed: Callable[[], bool],
        speed_share: float = 0.25,
    ) -> None:
        """Move at these rates (rad/s, m/s) while `pressed`, the dead-man, says so; both are asked every 50 ms.

        Raises:
            RefusedByLabError: the lab said no.
            InterlockError: the dead-man does not count, or the lease has changed meanwhile.
            LinkClosed: the connection was lost; the arm holds.
        """
        assert self.welcome is not None
        every_s = self.welcome.rules.hold_every_s
        self.hold()
        await self.request(wire.ArmJog, speed_share=speed_share)
        epoch, grip_s = self.epoch, time.monotonic() + GRIP_S
        try:
            while pressed() and self.drives and self.epoch == epoch:
                self.hold()
                if self.held:
                    await self.tell(wire.JogHold, move=move() if callable(move) else move)
                elif time.monotonic() > grip_s:
                    raise InterlockError("the dead-man does not count as held", ["dead-man"])
                await asyncio.sleep(every_s)
            if not self.connected:
                raise LinkClosed(f"{self.url}: the connection was lost; the arm holds", port=self._access.url)
            if self.epoch != epoch or not self.drives:
                raise InterlockError("the lease has changed meanwhile", ["lease"])
        finally:
            self.let_go()
            if self.drives:
                with contextlib.suppress(LinkClosed):
                    await self.tell(wire.JogRelease)

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

    async def gripper(self, opening_m: float, speed_share: float = 0.25) -> None:
        """A move of the gripper alone; somebody keeps saying `hold`."""
        await self.grip()
        await self.request(wire.Gripper, within_s=PLANNED_S, opening_m=opening_m, speed_share=speed_share)

    async def confirm(self, positions: tuple[float, ...] | None = None) -> None:
        """Vouch for where the limp arm is (None: its park pose); somebody keeps saying `hold`."""
        await self.grip()
        await self.request(wire.Confirm, positions=positions)

    async def stop(self, reason: str = "") -> None:
        """Slow down and hold. For a watcher it latches."""
        self.let_go()
        await self.request(wire.Stop, reason=reason)

    async def emergency_stop(self, reason: str = "") -> None:
        """Freeze the controller and latch: a software stop, no emergency stop in the sense of a standard."""
        self.let_go()
        await self.request(wire.EmergencyStop, reason=reason)

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

        began_s = time.monotonic()
        await self.until(lambda: over() or began(self.since(mark)) or time.monotonic() - began_s > _BEGIN_S, within_s)
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

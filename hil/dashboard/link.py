"""The window's end of the service: a thread of its own talks, the window's thread takes what has come.

Telemetry waits in a bounded row of which the oldest is dropped; all else comes by queued signals. Nothing here ever
makes the service wait for the window, nor touches the window from the wrong thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from hil.dashboard.arm import ShownArm, arm_of_files, arm_of_welcome
from hil.errors import HilError, LinkError
from hil.service import wire
from hil.service.client import HELD_S, AsyncArm
from hil.service.connection import arm_path
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.lab_request import Access
from hil.service.wire import FromClient, PulledRig, Telemetry, Welcome
from hil.types import AxisJog, Mode, ToolJog

RATE_HZ = 50.0
MOST_WAITING = 1024
"""Frames that wait while the window is busy: twenty seconds of them."""

PAUSE_S = 1.0
_LEAVE_S = 3.0

T = TypeVar("T")


class FarArm(Protocol):
    """What a window asks of the client that talks for it; each as `AsyncArm` has it."""

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm."""

    @property
    def drives(self) -> bool:
        """Whether the lease is ours."""

    @property
    def mark(self) -> int:
        """A place in what is said about the arm, for `settled`."""

    def hold(self, for_s: float = ..., sign: Sign = ...) -> None:
        """A person holds the dead-man now; to be said again and again."""

    def let_go(self) -> None:
        """Nobody holds it."""

    async def until(self, reached: Callable[[], bool], within_s: float) -> bool:
        """Wait until something is so."""

    async def claim(self, *, wait: bool = False, within_s: float = ...) -> None:
        """Become the driver."""

    async def leave_queue(self) -> None:
        """Wait no longer."""

    async def release(self) -> None:
        """Give the lease back."""

    async def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """As a teacher, become the driver whoever drives."""

    async def free(self) -> None:
        """Let go of the dead-man, and wait until the server knows it."""

    async def jog(
        self,
        move: Callable[[], AxisJog | ToolJog],
        pressed: Callable[[], bool],
        speed_share: float,
        *,
        sign: Callable[[], Sign] | None = None,
    ) -> None:
        """Move at these rates while `pressed` says so."""

    async def step(self, move: AxisJog | ToolJog, speed_share: float) -> None:
        """One increment."""

    async def go(self, to: str, speed_share: float) -> None:
        """A move to `home` or `park`, planned by the server."""

    async def confirm(self, *, supply_on: bool) -> None:
        """Vouch that the limp arm is in its park pose, and its servo supply on."""

    async def go_limp(self, axis: str) -> str:
        """Let one axis go, which sinks by it; what the controller says of it."""

    async def preview(
        self, text: str, *, name: str, language: str, points: str, start: tuple[float, ...] | None
    ) -> wire.Previewed:
        """Have a task or program planned and checked."""

    async def timeline(self, name: str) -> wire.Timeline:
        """What was previewed, over time."""

    async def arm_motion(self, digest: str) -> None:
        """Arm for a previewed motion."""

    async def grip(self) -> None:
        """Wait until the server counts the dead-man as held."""

    async def settled(self, mark: int, within_s: float) -> Mode:
        """Wait until what was asked for at `mark` has ended."""

    async def tell(self, kind: type[FromClient], **fields: Any) -> None:
        """Send a message without waiting for its answer."""

    async def request(self, kind: type[FromClient], **fields: Any) -> wire.Accepted:
        """Send a message and wait for its answer."""


class Link(QObject):
    """What a window needs of a service. This one has nobody at its other end; those below have.

    Signals:
        joined: the service has let us in; `Welcome`, and the `ShownArm` or None. Again after every loss.
        parted: the service is gone: the reason, and whether it is not tried again.
        heard: any message that is no telemetry.
        failed: something else went wrong, in words.
    """

    joined = Signal(object, object)
    parted = Signal(str, bool)
    heard = Signal(object)
    failed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[Telemetry] = deque(maxlen=MOST_WAITING)
        self.dropped = 0

    def put(self, frame: Telemetry) -> None:
        """A frame has come; from any thread."""
        if len(self._waiting) == MOST_WAITING:
            self.dropped += 1
        self._waiting.append(frame)

    def take(self) -> list[Telemetry]:
        """All frames that have come since the last call, oldest first."""
        frames = []
        with contextlib.suppress(IndexError):
            while True:
                frames.append(self._waiting.popleft())
        return frames

    def begin(self) -> None:
        """Connect, and stay connected."""

    def supply_cut(self, reason: str) -> bool:
        """Say that the servo supply was cut; False if there is nobody to say it to."""
        return False

    def stop(self, reason: str, *, freeze: bool = False) -> bool:
        """Send a stop, or a software emergency stop; False if there is nobody to send it to."""
        return False

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]], then: Callable[[T | HilError], None]) -> None:
        """Let the client do something; what came of it, or why not, is handed over in the window's thread."""
        then(LinkError("there is no service"))

    def hold(self, sign: Sign = NO_SIGN) -> None:
        """A person holds the dead-man now; counts for a fifth of a second, so it has to be said again and again."""

    def let_go(self) -> None:
        """Nobody holds the dead-man."""

    def close(self) -> None:
        """Leave; the arm holds if we drove it."""


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
        self._access, self._name, self._arm_name = access, name, arm
        self._loop = asyncio.new_event_loop()
        self._arm: AsyncArm | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._left = False
        self.answered.connect(self._hand_over)

    def begin(self) -> None:
        """Connect, and stay connected."""
        self._thread.start()

    def supply_cut(self, reason: str) -> bool:
        """As `Link.supply_cut`."""
        arm = self._arm
        if arm is None or not arm.connected:
            return False
        self.ask(lambda arm: arm.tell(wire.SupplyCut, reason=reason), self._failed)
        return True

    def stop(self, reason: str, *, freeze: bool = False) -> bool:
        """As `Link.stop`; what becomes of it shows in the telemetry, or comes as a refusal."""
        arm = self._arm
        if arm is None or not arm.connected:
            return False
        kind = wire.EmergencyStop if freeze else wire.Stop
        self.ask(lambda arm: arm.tell(kind, reason=reason), self._failed)
        return True

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]], then: Callable[[T | HilError], None]) -> None:
        """As `Link.ask`."""

        async def do() -> None:
            result: T | HilError
            try:
                if self._arm is None:
                    raise LinkError(f"{self._access.url}: not connected", port=self._access.url)
                result = await what(self._arm)
            except HilError as error:
                result = error
            self.answered.emit((then, result))

        asyncio.run_coroutine_threadsafe(do(), self._loop)

    def hold(self, sign: Sign = NO_SIGN) -> None:
        """As `Link.hold`."""
        if (arm := self._arm) is not None:
            self._loop.call_soon_threadsafe(arm.hold, HELD_S, sign)

    def let_go(self) -> None:
        """As `Link.let_go`."""
        if (arm := self._arm) is not None:
            self._loop.call_soon_threadsafe(arm.let_go)

    def close(self) -> None:
        """Leave; the arm holds if we drove it. What is answered from now on is nobody's any more."""
        self._left = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
            self._thread.join(_LEAVE_S)

    def _hand_over(self, reply: tuple[Callable[[Any], None], Any]) -> None:
        then, result = reply
        if not self._left:
            then(result)

    def _failed(self, result: object) -> None:
        if isinstance(result, HilError):
            self.failed.emit(str(result))

    # -- in the thread that talks --------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._stay())
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _stay(self) -> None:
        """Connect, watch over the connection, and leave in order."""
        arm = AsyncArm(self._access, self._arm_name, name=self._name, rate_hz=RATE_HZ, on_news=self._came)
        while True:
            try:
                await arm.open()
                break
            except HilError as error:
                self.parted.emit(str(error), False)
            await asyncio.sleep(PAUSE_S)
        self._arm = arm
        try:
            await self._watch(arm)
        finally:
            self._arm = None
            await arm.close()

    async def _watch(self, arm: AsyncArm) -> None:
        shown: ShownArm | None = None
        welcome: Welcome | None = None
        while not arm.over:
            if arm.connected and arm.welcome is not welcome:
                welcome = arm.welcome
                assert welcome is not None
                shown = shown or await self._fetch(arm, welcome)
                self.joined.emit(welcome, shown)
            elif not arm.connected and welcome is not None:
                welcome = None
                self.parted.emit(arm.since(arm.mark - 1)[-1], False)
            await asyncio.sleep(0.05)
        self.parted.emit(arm.over, True)

    async def _fetch(self, arm: AsyncArm, welcome: Welcome) -> ShownArm | None:
        """The arm by its files, else by the robot's name; None where neither is to be had."""
        try:
            try:
                answer = await arm.get("GET", arm_path(arm.arm, "rig"))
                return arm_of_files(wire.decode_body(answer, PulledRig), welcome.axes)
            except HilError as error:
                self.failed.emit(str(error))
                return arm_of_welcome(welcome)
        except HilError as error:
            self.failed.emit(str(error))
            return None

    def _came(self, message: wire.ServerMessage) -> None:
        if isinstance(message, Telemetry):
            self.put(message)
        else:
            self.heard.emit(message)

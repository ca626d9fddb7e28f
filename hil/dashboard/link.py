"""What a window needs of a service, and of the client that talks to it.

Telemetry waits in a bounded row of which the oldest is dropped; all else comes by queued signals. Nothing here ever
makes the service wait for the window, nor touches the window from the wrong thread. `ServiceLink` (`service_link.py`)
is the one with a service behind it.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from hil.errors import HilError, LinkError
from hil.service import wire
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.wire import FromClient, Telemetry
from hil.types import AxisJog, Mode, ToolJog

MOST_WAITING = 1024
"""Frames that wait while the window is busy: twenty seconds of them."""

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
        came: telemetry waits to be taken; said once until it is.
    """

    joined = Signal(object, object)
    parted = Signal(str, bool)
    heard = Signal(object)
    failed = Signal(str)
    came = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[Telemetry] = deque(maxlen=MOST_WAITING)
        self._told = False
        self.dropped = 0

    def put(self, frame: Telemetry) -> None:
        """A frame has come; from any thread."""
        if len(self._waiting) == MOST_WAITING:
            self.dropped += 1
        self._waiting.append(frame)
        if not self._told:
            self._told = True
            self.came.emit()

    def take(self) -> list[Telemetry]:
        """All frames that have come since the last call, oldest first."""
        frames = []
        self._told = False
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

    def alive(self) -> None:
        """Nothing is held, and the window is there; to be said a few times a second."""

    def close(self) -> None:
        """Leave; the arm holds if we drove it."""

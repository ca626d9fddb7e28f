"""Who watches an arm: each at a rate of its own, encoded once for all; who is slow misses frames and delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

MOST_WAITING = 256
"""Messages that must not be lost, for one channel; one that takes none of so many is cut."""

_EARLY = 0.25
"""Part of its period that a frame may come early: reports come in steps of their own."""

Send = Callable[[bytes], Awaitable[None]]


class Outbox:
    """What waits to be sent on one channel: every message, and of the telemetry the newest frame alone."""

    def __init__(self) -> None:
        self.lost = 0
        """Frames that were overtaken by newer ones."""
        self.overrun = False
        """Whether the channel has to be cut, for it takes nothing any more."""
        self._messages: deque[bytes] = deque()
        self._frame: bytes | None = None
        self._closed = False
        self._news = asyncio.Event()

    def put(self, message: bytes) -> None:
        """A message that has to arrive, after those before it."""
        if len(self._messages) >= MOST_WAITING:
            self.overrun = True
        elif not self._closed:
            self._messages.append(message)
        self._news.set()

    def offer(self, frame: bytes) -> None:
        """A frame of telemetry; replaces one that has not been sent."""
        self.lost += self._frame is not None
        self._frame = frame
        self._news.set()

    def close(self) -> None:
        """Send what is there, and end."""
        self._closed = True
        self._news.set()

    async def run(self, send: Send) -> None:
        """Send until closed or overrun; raises whatever `send` raises."""
        while not self.overrun:
            if self._messages:
                await send(self._messages.popleft())
            elif self._closed:
                return
            elif self._frame is not None:
                frame, self._frame = self._frame, None
                await send(frame)
            else:
                self._news.clear()
                await self._news.wait()


class _Watcher:
    """One outbox, in what version it is written to, and when it is due."""

    def __init__(self, outbox: Outbox, rate_hz: float, speaks: int) -> None:
        self.outbox, self.period_s, self.due_s, self.speaks = outbox, 1.0 / rate_hz, 0.0, speaks


class Audience:
    """All who watch one arm."""

    def __init__(self) -> None:
        self._watchers: dict[Outbox, _Watcher] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    def admit(self, outbox: Outbox, rate_hz: float, speaks: int = 1) -> None:
        """Give a channel frames at most so often, 0 for none, in the version that it speaks."""
        self.dismiss(outbox)
        if rate_hz > 0.0:
            self._watchers[outbox] = _Watcher(outbox, rate_hz, speaks)

    def dismiss(self, outbox: Outbox) -> None:
        """Give it none any more; unknown ones are fine."""
        self._watchers.pop(outbox, None)

    def show(self, now_s: float, make: Callable[[int], bytes]) -> None:
        """Offer the newest frame to whoever is due; it is made only if there is somebody, once for each version."""
        made: dict[int, bytes] = {}
        for watcher in self._watchers.values():
            if now_s < watcher.due_s - _EARLY * watcher.period_s:
                continue
            # Whoever fell behind is not made up for.
            watcher.due_s = max(watcher.due_s + watcher.period_s, now_s + (1.0 - _EARLY) * watcher.period_s)
            if watcher.speaks not in made:
                made[watcher.speaks] = make(watcher.speaks)
            watcher.outbox.offer(made[watcher.speaks])

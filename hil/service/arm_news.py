"""What a lab has said of an arm: the newest of each kind, the words in a row, and what time it is there."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque

from hil.service import wire
from hil.service.wire import NoticeKind
from hil.types import Mode

MOST_WORDS = 10_000
_CHANGE = re.compile(r"(\w+) -> (\w+): ")


class ArmNews:
    """News of one arm.

    Attributes:
        telemetry: the newest; None before the first.
        lease: newest news about it; None before the first, and without a line.
        holding: what holds the arm, and what that carries, as last told; None before the first.
        mode: what the bridge does with the arm, as the newest word says; DISCONNECTED without a line.
        mark: a place in what is said, for `since`.
    """

    def __init__(self) -> None:
        self.telemetry: wire.Telemetry | None = None
        self.lease: wire.LeaseNews | None = None
        self.holding: wire.Holding | None = None
        self.mode = Mode.DISCONNECTED
        self.mark = 0
        self._mode_s = float("-inf")
        self._words: deque[str] = deque(maxlen=MOST_WORDS)
        self._clock = (0.0, 0.0)
        self._came = asyncio.Event()

    # -- what comes --------------------------------------------------------------------------------------

    def take(self, message: wire.ServerMessage, now_s: float) -> None:
        """A message came."""
        self._clock = message.now_s, now_s
        match message:
            case wire.Telemetry():
                self.telemetry = message
                self._set_mode(message.mode, message.now_s)
            case wire.LeaseNews():
                if self.lease is not None and self.lease.yours and not message.yours:
                    self.say(f"the lease is no longer yours: {message.reason or message.lease.phase.value}")
                self.lease = message
            case wire.Holding():
                self.holding = message
            case wire.Notice(kind=kind, text=text):
                self.say(text)
                change = _CHANGE.match(text) if kind is NoticeKind.LOOP else None
                if change is not None and change[2] in Mode._value2member_map_:
                    self._set_mode(Mode(change[2]), message.now_s)
            case wire.Bye(reason=reason):
                self.say(reason)
            case _:
                pass
        self._came.set()

    def _set_mode(self, mode: Mode, now_s: float) -> None:
        # A frame of telemetry may be older than a word that overtook it.
        if now_s >= self._mode_s:
            self.mode, self._mode_s = mode, now_s

    def say(self, words: str) -> None:
        """Something was said."""
        self._words.append(words)
        self.mark += 1
        self._came.set()

    def lost(self, words: str) -> None:
        """The line is gone."""
        self.lease = None
        self.mode, self._mode_s = Mode.DISCONNECTED, float("-inf")
        self.say(words)

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Of the lease, as last heard."""
        return self.lease.lease.epoch if self.lease is not None else 0

    def server_s(self, now_s: float) -> float:
        """The server's clock when it is `now_s` here: late by the way of its newest message, never early."""
        theirs_s, ours_s = self._clock
        return theirs_s + now_s - ours_s

    def since(self, mark: int) -> list[str]:
        """What was said since then: transitions, refusals, notices; of very much the newest."""
        new = min(self.mark - mark, len(self._words))
        return list(self._words)[len(self._words) - new :]

    async def wait(self, within_s: float) -> None:
        """Wait for news, and so long at most."""
        self._came.clear()
        # `wait_for` of Python 3.11 may swallow that it was cancelled.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._came.wait()

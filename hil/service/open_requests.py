"""What a client has asked a lab, by number, and still waits for the answer to."""

from __future__ import annotations

import asyncio

from hil.errors import LinkClosed
from hil.service import wire
from hil.service.lab_request import RefusedByLabError


class OpenRequests:
    """Those of one channel. The hello is number 1 of each line."""

    def __init__(self) -> None:
        self._seq = 1
        self._waiting: dict[int, asyncio.Future[wire.Accepted]] = {}

    def restart(self) -> None:
        """Another line has begun."""
        self._seq = 1

    def number(self) -> int:
        """The number of the next message."""
        self._seq += 1
        return self._seq

    def expect(self, seq: int) -> asyncio.Future[wire.Accepted]:
        """The answer to this message, once there is one; RefusedByLabError if it is a no."""
        answer: asyncio.Future[wire.Accepted] = asyncio.get_running_loop().create_future()
        self._waiting[seq] = answer
        return answer

    def forget(self, seq: int) -> None:
        """Nobody waits for it any more."""
        self._waiting.pop(seq, None)

    def answered(self, message: wire.Accepted | wire.Refused) -> str:
        """An answer came; gives words where it is a refusal that nobody waits for."""
        answer = self._waiting.pop(message.to, None)
        if answer is None or answer.done():
            return f"refused: {message.reason}" if isinstance(message, wire.Refused) else ""
        if isinstance(message, wire.Accepted):
            answer.set_result(message)
        else:
            answer.set_exception(RefusedByLabError(message))
        return ""

    def lost(self, words: str, url: str) -> None:
        """The line to this address is gone: whoever waits gets LinkClosed."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LinkClosed(f"the connection was lost: {words}", port=url))
        self._waiting.clear()

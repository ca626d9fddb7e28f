"""A client's line to an arm that comes back by itself after a loss, until the lab or whoever opened it ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from hil.clock import monotonic_s
from hil.errors import LinkClosed, LinkError
from hil.service import wire
from hil.service.lab_request import RefusedByLabError
from hil.service.lab_socket import LabDial, LabSocket
from hil.service.wire import Code, FromClient

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Before each try to connect anew, the last one from then on."""

_HEAR_S = 0.25
_FINAL = frozenset({Code.TOKEN, Code.VERSION, Code.ARM, Code.ROLE, Code.MALFORMED})
"""Farewells after which another try would end the same."""


class KeptLine:
    """Keeps one line up.

    Attributes:
        connected: whether there is a line now.
        over: why there is none and no further try; empty until then.

    Args:
        dial: opens lines.
        joined: called with the welcome of each line, to say what has to be said first, and whether it is a line after
            a loss; LinkClosed or LinkError for one that was lost again at once.
        heard: called with every message after the welcome.
        lost: called with words when a line is gone, and with the code of the lab's farewell, if there was one.
        patience_s: asked how long the lab may be silent; None for as long as the socket lives.
    """

    def __init__(
        self,
        dial: LabDial,
        *,
        joined: Callable[[wire.Welcome, bool], Awaitable[None]],
        heard: Callable[[wire.ServerMessage], None],
        lost: Callable[[str, Code | None], None],
        patience_s: Callable[[], float | None],
    ) -> None:
        self.connected = False
        self.over = ""
        self._dial = dial
        self._joined, self._heard, self._lost, self._patience_s = joined, heard, lost, patience_s
        self._socket: LabSocket | None = None
        self._task: asyncio.Task[None] | None = None
        self._bye: wire.Bye | None = None
        self._heard_s = 0.0

    async def open(self) -> None:
        """Connect, be welcomed, and stay connected.

        Raises:
            LinkError: the lab cannot be reached, or is not the one that it should be.
            RefusedByLabError: it said no.
            CommandError: a token would go over an open line, or the address is none.
        """
        self._dial.open()
        try:
            socket = await self._join(again=False)
        except BaseException:
            await self._dial.close()
            raise
        self._task = asyncio.get_running_loop().create_task(self._keep(socket), name=f"line to {self._dial.arm_url}")

    async def close(self) -> None:
        """Leave."""
        self.over = self.over or "closed"
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._dial.close()

    async def send(self, message: FromClient) -> None:
        """Send a message.

        Raises:
            LinkClosed: there is no line.
        """
        if self._socket is None:
            why = f": {self.over}" if self.over else ""
            raise LinkClosed(f"{self._dial.arm_url}: not connected{why}", port=self._dial.lab_url)
        await self._socket.send(message)

    async def _join(self, *, again: bool) -> LabSocket:
        socket, welcome = await self._dial.dial()
        self._socket, self._bye, self._heard_s = socket, None, monotonic_s()
        try:
            await self._joined(welcome, again)
        except BaseException:
            # Nothing may look connected that is not.
            self._socket = None
            await socket.close()
            raise
        self.connected = True
        return socket

    async def _keep(self, socket: LabSocket) -> None:
        while True:
            words = await self._live(socket)
            bye = self._bye
            self.connected, self._socket = False, None
            self._lost(words, None if bye is None else bye.code)
            if bye is not None and (bye.code in _FINAL or self.over):
                self.over = self.over or bye.reason
                return
            found = await self._redial()
            if found is None:
                return
            socket = found

    async def _redial(self) -> LabSocket | None:
        """Another line, after as many tries as it takes; None if the lab wants no more of them."""
        tries = 0
        while True:
            await asyncio.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
            tries += 1
            try:
                return await self._join(again=True)
            except RefusedByLabError as error:
                if error.refused.code in _FINAL:
                    self.over = self.over or str(error)
                    return None
            except LinkError:
                pass

    async def _live(self, socket: LabSocket) -> str:
        """One line, to its end; gives the reason."""
        try:
            while True:
                try:
                    message = await socket.receive(_HEAR_S)
                except TimeoutError:
                    patience_s = self._patience_s()
                    if patience_s is not None and monotonic_s() - self._heard_s > patience_s:
                        return "nothing was heard from the lab in time"
                    continue
                except LinkClosed as error:
                    return str(error) if self._bye is None else self._bye.reason
                if message is None:
                    continue
                self._heard_s = monotonic_s()
                if isinstance(message, wire.Bye):
                    self._bye = message
                self._heard(message)
        finally:
            await socket.close()

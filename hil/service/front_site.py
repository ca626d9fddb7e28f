"""The server's listening socket: each connection has a place among the callers from the first packet on.

A handshake and the first request have to come in time. Counted before TLS, a stranger costs a socket and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable

from aiohttp import web

from hil.service.callers import Callers

FIRST_REQUEST_S = 10.0
"""From the connection to the end of its first request's head, handshake of TLS included."""

_BACKLOG = 512
_HEAD_ENDS = b"\r\n\r\n"


class FrontSite(web.BaseSite):
    """Listens, as `aiohttp.web.TCPSite` does, and counts who calls.

    Args:
        runner: that is set up.
        host, port: where to listen.
        callers: who is there.
        bound: called with the port once it is ours, before anybody is heard there.
        tls: None for none.
        first_request_s: how long a caller may say nothing.
    """

    def __init__(
        self,
        runner: web.AppRunner,
        host: str,
        port: int,
        callers: Callers,
        *,
        bound: Callable[[int], None] = lambda _: None,
        tls: ssl.SSLContext | None = None,
        first_request_s: float = FIRST_REQUEST_S,
    ) -> None:
        super().__init__(runner, ssl_context=tls, backlog=_BACKLOG)
        self._host, self._port, self._callers, self._first_request_s = host, port, callers, first_request_s
        self._bound = bound

    @property
    def name(self) -> str:
        """Address, for aiohttp."""
        return f"{'http' if self._ssl_context is None else 'https'}://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: it cannot listen there.
        """
        await super().start()
        server = self._runner.server
        assert server is not None
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Call(server(), self._callers, self._ssl_context, self._first_request_s),
            self._host,
            self._port,
            backlog=self._backlog,
            start_serving=False,
        )
        self._bound(self._server.sockets[0].getsockname()[1])
        await self._server.start_serving()


class _Call(asyncio.Protocol):
    """Between a connection and aiohttp's handler of it, which hears nothing of TLS."""

    _transport: asyncio.Transport

    def __init__(
        self, handler: asyncio.Protocol, callers: Callers, tls: ssl.SSLContext | None, first_request_s: float
    ) -> None:
        self._handler, self._callers, self._tls, self._first_request_s = handler, callers, tls, first_request_s
        self._loop = asyncio.get_running_loop()
        self._begun = self._asked = False
        self._early = b""
        """What came before the handler was there: a first request may come with the handshake's last packet."""

        self._tail = b""
        self._shaking_hands: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody calls."""
        assert isinstance(transport, asyncio.Transport)
        peer = transport.get_extra_info("peername")
        self._callers.take(self._handler, peer[0] if peer else "", transport.abort)
        self._deadline = self._loop.call_later(self._first_request_s, transport.abort)
        if self._tls is None:
            self._begin(transport)
        else:
            self._shaking_hands = self._loop.create_task(self._shake_hands(transport, self._tls))

    async def _shake_hands(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            # Who hangs up meanwhile, or speaks no TLS, is gone: nobody has to be told.
            with contextlib.suppress(OSError, ssl.SSLError):
                within_s = self._first_request_s
                safe = await self._loop.start_tls(
                    transport, self, tls, server_side=True, ssl_handshake_timeout=within_s
                )
                if safe is not None:
                    self._begin(safe)
        finally:
            if not self._begun:
                transport.abort()
                self._end()

    def _begin(self, transport: asyncio.Transport) -> None:
        self._begun = True
        self._handler.connection_made(transport)
        if self._early:
            self._handler.data_received(self._early)

    def _end(self) -> None:
        self._deadline.cancel()
        self._callers.forget(self._handler)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if not self._asked:
            self._asked = _HEAD_ENDS in self._tail + data
            self._tail = (self._tail + data)[1 - len(_HEAD_ENDS) :]
            if self._asked:
                self._deadline.cancel()
        if self._begun:
            self._handler.data_received(data)
        else:
            self._early += data

    def eof_received(self) -> bool | None:
        """The other end sends no more."""
        return self._handler.eof_received() if self._begun else None

    def connection_lost(self, error: Exception | None) -> None:
        """It is gone."""
        self._end()
        if self._begun:
            self._handler.connection_lost(error)

    def pause_writing(self) -> None:
        """The other end is slow."""
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._handler.resume_writing()

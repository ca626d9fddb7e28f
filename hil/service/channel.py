"""One WebSocket: a hello, then messages both ways until either side leaves. Floods are dropped, a stop never is."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from typing import Protocol

from aiohttp import WSCloseCode, WSMsgType, web

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.service.audience import Outbox
from hil.service.doors import TooManyRefusedError, Visitor
from hil.service.gate import Allowance
from hil.service.lease_facts import Party
from hil.service.places import FullError
from hil.service.tokens import TokenError
from hil.service.wire import (
    FIRST,
    MAX_FRAME_BYTES,
    SPOKEN,
    AnyStop,
    Bye,
    ClientMessage,
    Code,
    FromServer,
    Hello,
    Refused,
    agree,
    decode_client,
    encode,
)

HELLO_S = 10.0
CLOSE_S = 2.0
PING_S = 15.0
"""Proxies cut what is silent for a minute."""

MESSAGES_HZ = 120.0
BURST = 240
MOST_MALFORMED = 20
MOST_DROPPED = 5000
_STOPS = ('"stop"', '"emergency_stop"', '"supply_cut"')
"""What may be a stop is read, however much came before it."""

_numbers = itertools.count(1)


class Channel:
    """What others see of an open WebSocket.

    Args:
        visitor: who is at its other end.
        speaks: version of the protocol that both have agreed on.
    """

    def __init__(self, visitor: Visitor, speaks: int = FIRST) -> None:
        self.number = next(_numbers)
        self.visitor, self.speaks = visitor, speaks
        self.outbox = Outbox()

    def party(self, now_s: float, now_epoch_s: float) -> Party:
        """Who is here, for the lease; the token's end by the clock that says `now_s` at that time of day."""
        visitor, until_epoch_s = self.visitor, self.visitor.until_epoch_s
        return Party(
            user=visitor.user,
            name=visitor.name,
            role=visitor.grant.role,
            channel=self.number,
            on_site=visitor.on_site,
            until_s=None if until_epoch_s is None else until_epoch_s - now_epoch_s + now_s,
        )

    def send(self, message: FromServer) -> None:
        """Send a message, after those before it; returns at once."""
        self.outbox.put(encode(message))

    def end(self, code: Code, reason: str) -> None:
        """Say goodbye and close."""
        self.send(Bye(now_s=monotonic_s(), code=code, reason=reason))
        self.outbox.close()


class Desk(Protocol):
    """Where a channel's messages go."""

    def join(self, channel: Channel, hello: Hello) -> None:
        """A channel is open."""
        ...

    def take(self, channel: Channel, message: ClientMessage) -> None:
        """A message came; answers go to the channel. Raises HilError for what the desk will not do."""
        ...

    def leave(self, channel: Channel) -> None:
        """A channel is gone."""
        ...


async def serve(
    request: web.Request, admit: Callable[[Hello], Visitor], desk_of: Callable[[Hello, Visitor], Desk]
) -> web.WebSocketResponse:
    """Serve one WebSocket from its opening to its end.

    Args:
        request: that asks for it.
        admit: lets in whoever says hello, or raises TokenError or CommandError.
        desk_of: the arm's desk; or InterlockError for no such arm, FullError for no place there.
    """
    socket = web.WebSocketResponse(timeout=CLOSE_S, heartbeat=PING_S, max_msg_size=MAX_FRAME_BYTES, compress=False)
    await socket.prepare(request)
    try:
        async with asyncio.timeout(HELLO_S):
            hello = await _hello(socket)
        visitor = admit(hello)
        desk = desk_of(hello, visitor)
    except (HilError, TimeoutError) as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), Code.MALFORMED)
        words = str(error) or f"no hello within {HELLO_S:g} s"
        with contextlib.suppress(ConnectionError):
            await socket.send_frame(encode(Bye(now_s=monotonic_s(), code=code, reason=words)), WSMsgType.TEXT)
            await socket.close(code=WSCloseCode.POLICY_VIOLATION)
        return socket
    channel = Channel(visitor, agree(hello.speaks) or FIRST)
    sender = asyncio.create_task(_send(request, socket, channel.outbox))
    try:
        desk.join(channel, hello)
        await _receive(socket, channel, desk)
    finally:
        desk.leave(channel)
        channel.outbox.close()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(sender, 1.0)
        # Whoever is gone already needs no goodbye.
        with contextlib.suppress(ConnectionError):
            await socket.close()
    return socket


class _VersionError(CommandError):
    """No version that both speak."""


_CODES = (
    (TooManyRefusedError, Code.RATE),
    (TokenError, Code.TOKEN),
    (_VersionError, Code.VERSION),
    (InterlockError, Code.ARM),
    (FullError, Code.BUSY),
)


async def _hello(socket: web.WebSocketResponse) -> Hello:
    message = await socket.receive()
    if message.type is not WSMsgType.TEXT:
        raise CommandError("the first message has to be a hello")
    first = decode_client(message.data)
    if not isinstance(first, Hello):
        raise CommandError("the first message has to be a hello")
    if agree(first.speaks) is None:
        raise _VersionError(f"no version of the protocol that both speak; spoken here: {list(SPOKEN)}")
    return first


async def _send(request: web.Request, socket: web.WebSocketResponse, outbox: Outbox) -> None:
    async def send(data: bytes) -> None:
        await socket.send_frame(data, WSMsgType.TEXT)

    # Whoever is gone is noticed where messages come in.
    with contextlib.suppress(ConnectionError):
        await outbox.run(send)
    if outbox.overrun and request.transport is not None:
        request.transport.abort()
        return
    with contextlib.suppress(ConnectionError):
        await socket.close()


async def _receive(socket: web.WebSocketResponse, channel: Channel, desk: Desk) -> None:
    allowance, malformed, dropped = Allowance(MESSAGES_HZ, BURST), 0, 0
    async for frame in socket:
        if frame.type is not WSMsgType.TEXT:
            channel.end(Code.MALFORMED, "messages are text frames")
            return
        now_s = monotonic_s()
        allowed = allowance.take(now_s)
        if not allowed and not any(kind in frame.data for kind in _STOPS):
            dropped += 1
            if dropped == 1 or dropped % BURST == 0:
                reason = f"more than {MESSAGES_HZ:g} messages a second; those beyond are dropped"
                channel.send(Refused(to=0, now_s=now_s, code=Code.RATE, reason=reason))
                await asyncio.sleep(0)
            if dropped > MOST_DROPPED:
                channel.end(Code.RATE, "a flood of messages")
                return
            continue
        try:
            message = decode_client(frame.data)
        except CommandError as error:
            malformed += 1
            channel.send(Refused(to=0, now_s=now_s, code=Code.MALFORMED, reason=str(error)))
            if malformed > MOST_MALFORMED:
                channel.end(Code.MALFORMED, "too many messages that cannot be read")
                return
            continue
        if not allowed and not isinstance(message, AnyStop):
            dropped += 1
            continue
        if message.v > channel.speaks:
            reason = f"a message of version {message.v} on a channel of version {channel.speaks}; say so in the hello"
            channel.send(Refused(to=message.seq, now_s=now_s, code=Code.VERSION, reason=reason))
            continue
        desk.take(channel, message)

"""A client's lines to a lab, over WebSocket: dialled, to the pinned certificate or to nobody, greeted, and read."""

from __future__ import annotations

import asyncio
import contextlib

from hil.errors import CommandError, LinkClosed, LinkError, MissingExtraError
from hil.service import wire
from hil.service.connection import arm_path
from hil.service.lab_request import Access, RefusedByLabError, address_of
from hil.service.wire import FromClient

try:
    import aiohttp
except ModuleNotFoundError:  # pragma: no cover - depends on what is installed
    raise MissingExtraError("clients of a lab", "service") from None

OPEN_S = 10.0
_SILENT_S = 20.0
_FAREWELL_S = 0.2
_CLOSE_S = 1.0


class LabSocket:
    """One line to an arm.

    Args:
        socket: that is open.
        lab_url, arm_url: what is at its other end, for errors.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, lab_url: str, arm_url: str) -> None:
        self._socket, self._lab_url, self._arm_url = socket, lab_url, arm_url

    async def send(self, message: FromClient) -> None:
        """Send a message.

        Raises:
            LinkClosed: the line is broken.
        """
        try:
            await self._socket.send_str(wire.encode(message).decode())
        except (ConnectionError, aiohttp.ClientError) as error:
            raise LinkClosed(f"{self._arm_url}: the connection was lost: {error}", port=self._lab_url) from None

    async def greet(self, hello: wire.Hello) -> wire.Welcome:
        """Say hello, and be welcomed.

        Raises:
            RefusedByLabError: the lab said no.
            LinkError: it has closed the line, or is no lab.
        """
        await self._socket.send_str(wire.encode(hello).decode())
        frame = await self._socket.receive()
        if frame.type is not aiohttp.WSMsgType.TEXT:
            raise LinkClosed(f"{self._lab_url} has closed the channel", port=self._lab_url)
        try:
            first = wire.decode_server(frame.data)
        except CommandError as error:
            raise LinkError(f"{self._lab_url} speaks as no lab does: {error}", port=self._lab_url) from None
        if isinstance(first, wire.Bye):
            raise RefusedByLabError(wire.Refused(to=1, now_s=first.now_s, code=first.code, reason=first.reason))
        if not isinstance(first, wire.Welcome):
            raise LinkError(f"{self._lab_url} speaks as no lab does", port=self._lab_url)
        return first

    async def receive(self, within_s: float) -> wire.ServerMessage | None:
        """The next message; None for one of a newer server, which may say more than is understood here.

        Raises:
            TimeoutError: none came in time.
            LinkClosed: none will come.
        """
        frame = await self._socket.receive(timeout=within_s)
        if frame.type is not aiohttp.WSMsgType.TEXT:
            raise LinkClosed("the channel was closed", port=self._lab_url)
        try:
            return wire.decode_server(frame.data)
        except CommandError:
            return None

    async def close(self) -> None:
        """Let it go; a line that is broken needs no goodbye."""
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close()


class LabDial:
    """Dials one arm of a lab. Between `open` and `close`, in one event loop.

    Attributes:
        lab_url, arm_url: addresses of the two.

    Args:
        access: the lab.
        arm: the arm's name.
        name: shown to others where no token brings one.
        on_site: the person stands beside the arm.
    """

    def __init__(self, access: Access, arm: str, name: str, on_site: bool) -> None:
        self.lab_url, self.arm_url = access.url, f"{access.url}/{arm}"
        self._access, self._arm, self._name, self._on_site = access, arm, name, on_site
        self._http: aiohttp.ClientSession | None = None

    def open(self) -> None:
        """Be ready to dial."""
        self._http = aiohttp.ClientSession()

    async def close(self) -> None:
        """Close all that is still open."""
        if self._http is not None:
            await self._http.close()
            if self._access.url.startswith("https:"):
                # A line with TLS is closed once the other end has said so; nobody tells when.
                await asyncio.sleep(_FAREWELL_S)

    async def dial(self) -> tuple[LabSocket, wire.Welcome]:
        """Open a line, and be welcomed by message 1.

        Raises:
            LinkError: the lab cannot be reached, or is not the one that it should be.
            RefusedByLabError: it said no.
            CommandError: a token would go over an open line, or the address is none.
        """
        address_of(self._access)
        token = self._access.token_now()
        try:
            return await self._dial_with(token)
        except RefusedByLabError as error:
            newer = self._access.token_now()
            if error.refused.code is not wire.Code.TOKEN or newer == token:
                raise
            # Our own server was started anew between the look for its key and the call.
            return await self._dial_with(newer)

    async def _dial_with(self, token: str) -> tuple[LabSocket, wire.Welcome]:
        assert self._http is not None
        lab = self.lab_url
        url = f"ws{lab.removeprefix('http').rstrip('/')}{wire.ROOT}/channel"
        hello = wire.Hello(
            seq=1, speaks=wire.SPOKEN, arm=self._arm, token=token, name=self._name, client="hil", on_site=self._on_site
        )
        try:
            async with asyncio.timeout(OPEN_S):
                socket = await self._http.ws_connect(
                    url,
                    ssl=self._certificate,
                    max_msg_size=wire.MAX_ANSWER_BYTES,
                    heartbeat=_SILENT_S,
                    timeout=aiohttp.ClientWSTimeout(ws_close=0.5),
                )
                try:
                    found = LabSocket(socket, lab, self.arm_url)
                    return found, await found.greet(hello)
                except BaseException:
                    await socket.close()
                    raise
        except aiohttp.ServerFingerprintMismatch:
            raise LinkError(
                f"{lab} shows another certificate than the join file names: it is not the lab, or its certificate was "
                "renewed. Ask its owner for a new join file",
                port=lab,
            ) from None
        except aiohttp.WSServerHandshakeError as error:
            raise LinkError(f"{lab} answers {error.status}: no lab", port=lab) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            words = getattr(error, "strerror", None) or str(error) or "no answer in time"
            raise LinkError(f"{lab} cannot be reached: {words}", port=lab) from None

    async def picture(self, after_s: float | None) -> tuple[bytes, float] | None:
        """The camera's next picture after that time, and when it was taken; None if none came."""
        assert self._http is not None
        try:
            async with self._http.get(
                f"{self._access.url.rstrip('/')}{arm_path(self._arm, 'picture')}",
                params={} if after_s is None else {"after": repr(after_s)},
                headers={"Authorization": f"Bearer {token}"} if (token := self._access.token_now()) else {},
                ssl=self._certificate,
            ) as response:
                data = await response.read()
                if response.status == 200:
                    return data, float(response.headers[wire.PICTURE_HEADER])
        except (aiohttp.ClientError, OSError, KeyError, ValueError):
            pass
        return None

    @property
    def _certificate(self) -> aiohttp.Fingerprint | bool:
        """The only one to talk to; True where an authority vouches."""
        scheme, pinned = address_of(self._access)[0], self._access.certificate_sha256
        return aiohttp.Fingerprint(bytes.fromhex(pinned)) if pinned and scheme == "https" else True

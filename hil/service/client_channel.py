"""A client's channel to one arm, for asyncio: what is so, requests with answers, beats, pictures, reconnection.

After a lost connection the lease may come back, the motion never does: the dead-man counts as let go, and whoever
asked for something is told that it failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from hil.clock import monotonic_s
from hil.errors import CommandError, InterlockError, LinkClosed, LinkError, LinkTimeout, MissingExtraError
from hil.service import wire
from hil.service.asking import Access, RefusedByLabError, address_of, ask
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.reaching import arm_path
from hil.service.wire import Code, FromClient, NoticeKind
from hil.types import Mode

try:
    import aiohttp
except ModuleNotFoundError:  # pragma: no cover - depends on what is installed
    raise MissingExtraError("clients of a lab", "service") from None

ANSWER_S = 5.0
PLANNED_S = 60.0
"""An answer that has to be planned and previewed first."""

OPEN_S = 10.0
HELD_S = 0.2
"""How long the dead-man counts as held after `hold`, if it is not said again."""

GRIP_S = 2.0
"""Time until the server knows that the dead-man is held."""

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Before each try to connect anew, the last one from then on."""

_LOOK_S = 0.05
_SILENT_S = 20.0
_FAREWELL_S = 0.2
_MOST_WORDS = 10_000
_CHANGE = re.compile(r"(\w+) -> (\w+): ")
_FINAL = frozenset({Code.TOKEN, Code.VERSION, Code.ARM, Code.ROLE, Code.MALFORMED})
"""Farewells after which another try would end the same."""

_LET_GO = frozenset(
    {NoticeKind.HEARTBEAT_LOST, NoticeKind.DEADMAN_RELEASED, NoticeKind.SUSPENDED, NoticeKind.FROZEN}
    | {NoticeKind.STOPPED, NoticeKind.PRESS_AGAIN}
)


class ClientChannel:
    """A channel to an arm far away. Use as an async context manager, or `open` and `close`.

    Attributes:
        welcome: what the server said about arm, person and rules; None before `open`.
        telemetry: the newest; None before the first.
        lease: newest news about it; None before the first.
        holding: what holds the arm, and what that carries, as last told; None before the first.
        connected: whether there is a channel now.
        over: why there is no channel and no further try; empty until then.
        trip_s: way there and back of the newest beat; None before the first.
        held: whether the server counts the dead-man as held.
        picture, picture_s: newest picture, and when it was taken; see `follow_pictures`.

    Args:
        access: the lab.
        arm: the arm's name.
        name: shown to others where no token brings one.
        on_site: the person stands beside the arm; believed only if the lab allows it.
        rate_hz: how often telemetry is wanted.
        on_news: called with every message that comes, in the event loop.
    """

    def __init__(
        self,
        access: Access,
        arm: str,
        *,
        name: str = "",
        on_site: bool = False,
        rate_hz: float = 20.0,
        on_news: Callable[[wire.ServerMessage], None] = lambda message: None,
    ) -> None:
        self.arm = arm
        self.welcome: wire.Welcome | None = None
        self.telemetry: wire.Telemetry | None = None
        self.lease: wire.LeaseNews | None = None
        self.holding: wire.Holding | None = None
        self.connected = False
        self.over = ""
        self.trip_s: float | None = None
        self.held = False
        self.picture, self.picture_s = b"", None
        # Whoever previews over HTTP has to be the same person as the one who drives.
        self._access = msgspec.structs.replace(access, name=name) if name else access
        self._name, self._on_site, self._rate_hz, self._on_news = name, on_site, rate_hz, on_news
        self._mode, self._mode_s = Mode.DISCONNECTED, float("-inf")
        self._words: deque[str] = deque(maxlen=_MOST_WORDS)
        self._heard = 0
        self._http: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._task: asyncio.Task[None] | None = None
        self._seq = 0
        self._answers: dict[int, asyncio.Future[wire.Accepted]] = {}
        self._beaten: dict[int, float] = {}
        self._clock = (0.0, 0.0)
        self._heard_s = 0.0
        self._bye: wire.Bye | None = None
        self._held_until_s = float("-inf")
        self._sign = NO_SIGN
        self._press_again = ""
        self._free_epoch: int | None = None
        self._wants_lease = self._waits = False
        self._asked_again: int | None = None
        self._news = asyncio.Event()

    picture_s: float | None

    # -- life --------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> wire.Welcome:
        """Connect and be welcomed.

        Raises:
            LinkError: the lab cannot be reached, or is not the one that it should be.
            RefusedByLabError: it said no.
            CommandError: a token would go over an open line, or the address is none.
        """
        self._http = aiohttp.ClientSession()
        try:
            socket = await self._dial()
        except BaseException:
            await self._http.close()
            raise
        self._task = asyncio.get_running_loop().create_task(self._keep(socket), name=f"channel of {self.arm}")
        assert self.welcome is not None
        return self.welcome

    async def close(self) -> None:
        """Leave; whoever drives holds the arm by it."""
        self._end("closed")
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._http is not None:
            await self._http.close()
            if self._access.url.startswith("https:"):
                # A line with TLS is closed once the other end has said so; nobody tells when.
                await asyncio.sleep(_FAREWELL_S)

    async def _dial(self) -> aiohttp.ClientWebSocketResponse:
        scheme, _, _, _ = address_of(self._access)
        assert self._http is not None
        pinned = self._access.certificate_sha256
        url = f"ws{self._access.url.removeprefix('http').rstrip('/')}{wire.ROOT}/channel"
        try:
            async with asyncio.timeout(OPEN_S):
                socket = await self._http.ws_connect(
                    url,
                    ssl=aiohttp.Fingerprint(bytes.fromhex(pinned)) if pinned and scheme == "https" else True,
                    max_msg_size=wire.MAX_ANSWER_BYTES,
                    heartbeat=_SILENT_S,
                    timeout=aiohttp.ClientWSTimeout(ws_close=0.5),
                )
                return await self._greet(socket)
        except aiohttp.ServerFingerprintMismatch:
            raise LinkError(
                f"{self._access.url} shows another certificate than the join file names: it is not the lab, or its "
                "certificate was renewed. Ask its owner for a new join file",
                port=self._access.url,
            ) from None
        except aiohttp.WSServerHandshakeError as error:
            raise LinkError(f"{self._access.url} answers {error.status}: no lab", port=self._access.url) \
                from None  # fmt: skip
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            words = getattr(error, "strerror", None) or str(error) or "no answer in time"
            raise LinkError(f"{self._access.url} cannot be reached: {words}", port=self._access.url) from None

    async def _greet(self, socket: aiohttp.ClientWebSocketResponse) -> aiohttp.ClientWebSocketResponse:
        self._seq = 1
        hello = wire.Hello(
            seq=1, speaks=wire.SPOKEN, arm=self.arm, token=self._access.token, name=self._name, client="hil",
            on_site=self._on_site,
        )  # fmt: skip
        try:
            await socket.send_str(wire.encode(hello).decode())
            frame = await socket.receive()
            if frame.type is not aiohttp.WSMsgType.TEXT:
                raise LinkClosed(f"{self._access.url} has closed the channel", port=self._access.url)
            first = wire.decode_server(frame.data)
            if isinstance(first, wire.Bye):
                refused = wire.Refused(to=1, now_s=first.now_s, code=first.code, reason=first.reason)
                raise RefusedByLabError(refused)
            if not isinstance(first, wire.Welcome):
                raise LinkError(f"{self._access.url} speaks as no lab does", port=self._access.url)
        except CommandError as error:
            await socket.close()
            raise LinkError(f"{self._access.url} speaks as no lab does: {error}", port=self._access.url) from None
        except BaseException:
            await socket.close()
            raise
        self.welcome = first
        self._socket, self._bye, self._free_epoch = socket, None, None
        self._heard_s = monotonic_s()
        self._clock = first.now_s, self._heard_s
        self._held_until_s = float("-inf")
        await self._send(wire.Watch(seq=self._next(), rate_hz=self._rate_hz))
        self.connected = True
        return socket

    async def _keep(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Live on a channel; when it is lost, come back, with the lease if it was ours, without the motion."""
        while True:
            words = await self._live(socket)
            self._lose(words)
            if self._bye is not None and (self._bye.code in _FINAL or self.over):
                self._end(self._bye.reason)
                return
            # Whoever was cut by a teacher, or by a second window of their own, does not fight for the arm.
            if self._bye is not None and self._bye.code is Code.LEASE:
                self._wants_lease = False
            found = await self._redial()
            if found is None:
                return
            socket = found

    async def _redial(self) -> aiohttp.ClientWebSocketResponse | None:
        tries = 0
        while True:
            await asyncio.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
            tries += 1
            try:
                socket = await self._dial()
                if self._wants_lease:
                    # Who stood in the queue lost the place with the line, or with the server, and stands in it again.
                    self._asked_again = self._next()
                    await self._send(wire.Claim(seq=self._asked_again, wait=self._waits))
            except RefusedByLabError as error:
                if error.refused.code in _FINAL:
                    self._end(str(error))
                    return None
            except LinkError:
                # Lost again at once: nothing may look connected that is not.
                self.connected, self._socket = False, None
            else:
                self._say("connected again; what moved before does not go on by itself")
                return socket

    async def _live(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        """One channel, to its end; gives the reason."""
        assert self.welcome is not None
        beats = asyncio.get_running_loop().create_task(self._beat())
        try:
            while True:
                try:
                    frame = await socket.receive(timeout=0.25)
                except TimeoutError:
                    if self.drives and monotonic_s() - self._heard_s > self.welcome.rules.suspend_after_s:
                        return "nothing was heard from the lab in time"
                    continue
                if frame.type is not aiohttp.WSMsgType.TEXT:
                    return self._bye.reason if self._bye is not None else "the channel was closed"
                try:
                    message = wire.decode_server(frame.data)
                except CommandError:
                    continue  # of a newer server, which may say more than is understood here
                self._take(message)
        finally:
            beats.cancel()
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(1.0):
                    await socket.close()

    def _lose(self, words: str) -> None:
        self.connected = self.held = False
        self.lease = None
        self._socket = self._asked_again = None
        self._drop_hold()
        self._mode, self._mode_s = Mode.DISCONNECTED, float("-inf")
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(LinkClosed(f"the connection was lost: {words}", port=self._access.url))
        self._answers.clear()
        self._beaten.clear()
        self._say(f"connection lost: {words}")

    def _end(self, words: str) -> None:
        self.over = self.over or words
        self._news.set()

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Address of the arm."""
        return f"{self._access.url}/{self.arm}"

    @property
    def now_s(self) -> float:
        """The server's clock, as far as it is known here: late by the way of its newest message, never early."""
        theirs_s, ours_s = self._clock
        return theirs_s + monotonic_s() - ours_s

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm, as the newest word says; DISCONNECTED without a channel."""
        return self._mode

    @property
    def drives(self) -> bool:
        """Whether the lease is ours."""
        return self.connected and self.lease is not None and self.lease.yours

    @property
    def epoch(self) -> int:
        """Of the lease, as last heard."""
        return self.lease.lease.epoch if self.lease is not None else 0

    @property
    def mark(self) -> int:
        """A place in what is said about the arm, for `since`."""
        return self._heard

    def since(self, mark: int) -> list[str]:
        """What was said since then: transitions, refusals, notices; of very much the newest."""
        new = min(self._heard - mark, len(self._words))
        return list(self._words)[len(self._words) - new :]

    async def until(self, reached: Callable[[], bool], within_s: float) -> bool:
        """Wait until something is so; False if the time is over before.

        Raises:
            LinkClosed: the channel is closed for good.
        """
        deadline_s = monotonic_s() + within_s
        while not reached():
            if self.over:
                raise LinkClosed(f"{self.url}: {self.over}", port=self._access.url)
            if monotonic_s() > deadline_s:
                return False
            await self._look()
        return True

    async def _look(self) -> None:
        """Wait for news, and a moment at most."""
        self._news.clear()
        # `wait_for` of Python 3.11 may swallow that it was cancelled.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                await self._news.wait()

    async def frames(self) -> AsyncIterator[wire.Telemetry]:
        """Telemetry as it comes, until the channel is closed for good; who is slow misses some."""
        seen: wire.Telemetry | None = None
        while not self.over:
            if self.telemetry is not None and self.telemetry is not seen:
                seen = self.telemetry
                yield seen
            await self._look()

    def _take(self, message: wire.ServerMessage) -> None:
        now_s = monotonic_s()
        self._heard_s = now_s
        if not isinstance(message, wire.Welcome):
            self._clock = message.now_s, now_s
        match message:
            case wire.Telemetry():
                self.telemetry = message
                self._set_mode(message.mode, message.now_s)
            case wire.Accepted() | wire.Refused():
                self._answered(message)
            case wire.BeatSeen(to=to, held=held):
                self.held = held
                if (sent_s := self._beaten.pop(to, None)) is not None:
                    self.trip_s = now_s - sent_s
            case wire.LeaseNews():
                self._lease_news(message)
            case wire.Holding():
                self.holding = message
            case wire.Notice(kind=kind, text=text):
                self._noticed(kind, text, message.now_s)
            case wire.Bye(reason=reason):
                self._bye = message
                self._say(reason)
            case _:
                pass
        self._on_news(message)
        self._news.set()

    def _noticed(self, kind: NoticeKind, text: str, now_s: float) -> None:
        self._say(text)
        if kind in _LET_GO:
            self._drop_hold()
        if kind is NoticeKind.PRESS_AGAIN:
            self._press_again = text
        change = _CHANGE.match(text) if kind is NoticeKind.LOOP else None
        if change is not None and change[2] in Mode._value2member_map_:
            self._set_mode(Mode(change[2]), now_s)

    def _set_mode(self, mode: Mode, now_s: float) -> None:
        # A frame of telemetry may be older than a word that overtook it.
        if now_s >= self._mode_s:
            self._mode, self._mode_s = mode, now_s

    def _lease_news(self, news: wire.LeaseNews) -> None:
        if self.lease is None or news.lease.epoch != self.lease.lease.epoch:
            self._drop_hold()
        if self.lease is not None and self.lease.yours and not news.yours:
            self._say(f"the lease is no longer yours: {news.reason or news.lease.phase.value}")
        self.lease = news

    def _answered(self, message: wire.Accepted | wire.Refused) -> None:
        if message.to == self._asked_again:
            self._asked_again = None
        answer = self._answers.pop(message.to, None)
        if answer is None or answer.done():
            if isinstance(message, wire.Refused):
                self._say(f"refused: {message.reason}")
        elif isinstance(message, wire.Accepted):
            answer.set_result(message)
        else:
            answer.set_exception(RefusedByLabError(message))

    def _say(self, words: str) -> None:
        self._words.append(words)
        self._heard += 1
        self._news.set()

    # -- asking ------------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _message(self, kind: type[FromClient], fields: dict[str, Any]) -> FromClient:
        """A message of this kind, with all that the channel knows by itself."""
        known: dict[str, Any] = {"seq": self._next()}
        if issubclass(kind, wire.Command | wire.Beat | wire.Renew | wire.Release):
            known |= {"arm": self.arm, "epoch": self.epoch}
        if issubclass(kind, wire.Command | wire.Beat):
            known["issued_s"] = self.now_s
        if issubclass(kind, wire.Command):
            known["picture_s"] = self.picture_s
        return kind(**known, **fields)

    async def _send(self, message: FromClient) -> None:
        if self._socket is None:
            raise LinkClosed(f"{self.url}: not connected{f': {self.over}' if self.over else ''}", port=self._access.url)
        try:
            await self._socket.send_str(wire.encode(message).decode())
        except (ConnectionError, aiohttp.ClientError) as error:
            raise LinkClosed(f"{self.url}: the connection was lost: {error}", port=self._access.url) from None

    async def tell(self, kind: type[FromClient], **fields: Any) -> None:
        """Send a message without waiting for its answer; a refusal is said among the words of `since`.

        Raises:
            LinkClosed: there is no channel.
        """
        await self._send(self._message(kind, fields))

    async def request(self, kind: type[FromClient], *, within_s: float = ANSWER_S, **fields: Any) -> wire.Accepted:
        """Send a message and wait for its answer. Number, arm, epoch and times are filled in.

        Raises:
            RefusedByLabError: the lab said no.
            LinkTimeout: no answer came in time.
            LinkClosed: the channel was lost before it came.
        """
        message = self._message(kind, fields)
        answer: asyncio.Future[wire.Accepted] = asyncio.get_running_loop().create_future()
        self._answers[message.seq] = answer
        try:
            await self._send(message)
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError:
            raise LinkTimeout(f"{self.url}: no answer within {within_s:g} s", port=self._access.url) from None
        finally:
            self._answers.pop(message.seq, None)

    async def get(self, method: str, path: str, body: Any = None, *, timeout_s: float = PLANNED_S) -> bytes:
        """One question over HTTP, below the lab's address."""
        return await asyncio.to_thread(ask, self._access, method, path, body, timeout_s=timeout_s)

    # -- dead-man --------------------------------------------------------------------------------------

    def hold(self, for_s: float = HELD_S, sign: Sign = NO_SIGN) -> None:
        """A person holds the dead-man now, and for so long; to be said again and again.

        A hold that the lab has ended, since nothing showed a hand, counts no more until `let_go` was said.

        Args:
            for_s: how long this counts.
            sign: what shows that a hand is there, by `monotonic_s`.
        """
        if not self._press_again:
            self._held_until_s = max(self._held_until_s, monotonic_s() + for_s)
            self._sign = sign

    def let_go(self) -> None:
        """Nobody holds the dead-man."""
        self._press_again = ""
        self._drop_hold()

    def _drop_hold(self) -> None:
        """What is held counts no more; it may be held anew at once, unless the lab has ended it."""
        self._held_until_s = float("-inf")
        self._free_epoch = None

    async def free(self, within_s: float = 1.0) -> None:
        """Let go of the dead-man, and wait until the server knows it."""
        self.let_go()
        with contextlib.suppress(LinkError):
            await self.until(lambda: not (self.held and self.drives), within_s)

    async def _beat(self) -> None:
        """Signs of life while we drive. After a change the first one says that nobody holds anything."""
        assert self.welcome is not None
        every_s = self.welcome.rules.beat_every_s
        while True:
            if self.drives:
                held = self._free_epoch == self.epoch and monotonic_s() < self._held_until_s
                message = self._message(wire.Beat, {"held": held, **(self._signs() if held else {})})
                self._beaten[message.seq] = monotonic_s()
                if len(self._beaten) > 100:
                    self._beaten.clear()
                with contextlib.suppress(LinkClosed):
                    await self._send(message)
                if not held:
                    self._free_epoch = self.epoch
            await asyncio.sleep(every_s)

    def _signs(self) -> dict[str, float]:
        """What shows the hand, by the server's clock, for a server that asks for it."""
        assert self.welcome is not None
        if self.welcome.rules.unchanged_s is None:
            return {}
        ahead_s = self.now_s - monotonic_s()
        known = {"changed_s": self._sign.changed_s, "reported_s": self._sign.reported_s}
        return {name: ahead_s + at_s for name, at_s in known.items() if at_s is not None}

    async def grip(self, within_s: float = GRIP_S) -> None:
        """Wait until the server counts the dead-man as held; somebody has to keep saying `hold` meanwhile.

        Raises:
            InterlockError: it does not.
        """
        if not await self.until(lambda: self.held, within_s):
            raise self._not_held()

    def _not_held(self) -> InterlockError:
        if self._press_again:
            return InterlockError(self._press_again, ["a new press"])
        trip = "" if self.trip_s is None else f"; the line takes {1e3 * self.trip_s:.0f} ms there and back"
        return InterlockError(f"the dead-man does not count as held{trip}", ["dead-man"])

    # -- pictures ----------------------------------------------------------------------------------------

    async def follow_pictures(self) -> None:
        """Keep `picture` and `picture_s` new until cancelled; commands then say which one they answer."""
        assert self._http is not None
        pinned = self._access.certificate_sha256
        headers = {"Authorization": f"Bearer {self._access.token}"} if self._access.token else {}
        url = f"{self._access.url.rstrip('/')}{arm_path(self.arm, 'picture')}"
        while True:
            after = {} if self.picture_s is None else {"after": repr(self.picture_s)}
            try:
                async with self._http.get(
                    url,
                    params=after,
                    headers=headers,
                    ssl=aiohttp.Fingerprint(bytes.fromhex(pinned)) if pinned else True,
                ) as response:
                    data = await response.read()
                    if response.status == 200:
                        self.picture, self.picture_s = data, float(response.headers[wire.PICTURE_HEADER])
                        continue
            except (aiohttp.ClientError, OSError, KeyError, ValueError):
                pass
            await asyncio.sleep(1.0)

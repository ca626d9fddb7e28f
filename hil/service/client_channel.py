"""A client's channel to one arm, for asyncio: what is so, requests with answers, beats, pictures, reconnection.

After a lost connection the lease may come back, the motion never does: the dead-man counts as let go, and whoever
asked for something is told that it failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from hil.clock import monotonic_s
from hil.errors import LinkClosed, LinkError, LinkTimeout
from hil.service import wire
from hil.service.arm_news import ArmNews
from hil.service.client_dead_man import ClientDeadMan
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.kept_line import KeptLine
from hil.service.lab_request import Access, ask
from hil.service.lab_socket import LabDial
from hil.service.lease_wish import LeaseWish
from hil.service.open_requests import OpenRequests
from hil.service.wire import Code, FromClient
from hil.types import Mode

ANSWER_S = 5.0
PLANNED_S = 60.0
"""An answer that has to be planned and previewed first."""

HELD_S = 0.2
"""How long the dead-man counts as held after `hold`, if it is not said again."""

GRIP_S = 2.0
"""Time until the server knows that the dead-man is held."""

_LOOK_S = 0.05
_PICTURE_AGAIN_S = 1.0


class ClientChannel:
    """A channel to an arm far away. Use as an async context manager, or `open` and `close`.

    Attributes:
        welcome: what the server said about arm, person and rules; None before `open`.
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
        self.picture = b""
        self.picture_s: float | None = None
        # Whoever previews over HTTP has to be the same person as the one who drives.
        self._access = msgspec.structs.replace(access, name=name) if name else access
        self._rate_hz, self._on_news = rate_hz, on_news
        self._news, self._requests = ArmNews(), OpenRequests()
        self._dead_man, self._wish = ClientDeadMan(), LeaseWish()
        self._dial = LabDial(self._access, arm, name, on_site)
        self._line = KeptLine(
            self._dial,
            joined=self._joined,
            heard=self._take,
            lost=self._lost,
            patience_s=self._patience_s,
        )
        self._beats: asyncio.Task[None] | None = None
        self._beat_now = asyncio.Event()

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
        await self._line.open()
        self._beats = asyncio.get_running_loop().create_task(self._beat(), name=f"beats of {self.arm}")
        assert self.welcome is not None
        return self.welcome

    async def close(self) -> None:
        """Leave; whoever drives holds the arm by it."""
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.gather(self._beats, return_exceptions=True)
        await self._line.close()

    async def _joined(self, welcome: wire.Welcome, again: bool) -> None:
        """There is a line: ask for telemetry, and for the lease if it was ours; the motion does not come back."""
        self.welcome = welcome
        self._news.take(welcome, monotonic_s())
        self._requests.restart()
        self._dead_man.drop()
        await self._send(wire.Watch(seq=self._requests.number(), rate_hz=self._rate_hz))
        if again and self._claims_again():
            # Who stood in the queue lost the place with the line, or with the server, and stands in it again.
            seq = self._requests.number()
            self._wish.ask_again(seq)
            await self._send(wire.Claim(seq=seq, wait=self._wish.waits))
        if again:
            self._news.say("connected again; what moved before does not go on by itself")

    def _lost(self, words: str, code: Code | None) -> None:
        self._dead_man.lost()
        self._wish.lost()
        # Whoever was cut by a teacher, or by a second window of their own, does not fight for the arm.
        if code is Code.LEASE:
            self._wish.drop()
        self._requests.lost(words, self._access.url)
        self._news.lost(f"connection lost: {words}")

    def _patience_s(self) -> float | None:
        """A driver who hears nothing would have lost the lease by now."""
        return self.welcome.rules.suspend_after_s if self.welcome is not None and self.drives else None

    def _take(self, message: wire.ServerMessage) -> None:
        now_s = monotonic_s()
        match message:
            case wire.Refused(to=to) if self._dead_man.refused(to):
                pass
            case wire.Accepted() | wire.Refused():
                self._wish.answered(message.to)
                if words := self._requests.answered(message):
                    self._news.say(words)
            case wire.BeatSeen():
                self._dead_man.seen(message, now_s)
            case wire.LeaseNews():
                if self.lease is None or message.lease.epoch != self.epoch:
                    self._dead_man.drop()
            case wire.Notice(kind=kind, text=text):
                self._dead_man.noticed(kind, text)
            case _:
                pass
        self._news.take(message, now_s)
        self._on_news(message)

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Address of the arm."""
        return self._dial.arm_url

    @property
    def connected(self) -> bool:
        """Whether there is a channel now."""
        return self._line.connected

    @property
    def over(self) -> str:
        """Why there is no channel and no further try; empty until then."""
        return self._line.over

    @property
    def telemetry(self) -> wire.Telemetry | None:
        """The newest; None before the first."""
        return self._news.telemetry

    @property
    def lease(self) -> wire.LeaseNews | None:
        """Newest news about it; None before the first."""
        return self._news.lease

    @property
    def holding(self) -> wire.Holding | None:
        """What holds the arm, and what that carries, as last told; None before the first."""
        return self._news.holding

    @property
    def held(self) -> bool:
        """Whether the server counts the dead-man as held."""
        return self._dead_man.counts

    @property
    def trip_s(self) -> float | None:
        """Way there and back of the newest beat; None before the first."""
        return self._dead_man.trip_s

    @property
    def now_s(self) -> float:
        """The server's clock, as far as it is known here: late by the way of its newest message, never early."""
        return self._news.server_s(monotonic_s())

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm, as the newest word says; DISCONNECTED without a channel."""
        return self._news.mode

    @property
    def drives(self) -> bool:
        """Whether the lease is ours."""
        return self.connected and self.lease is not None and self.lease.yours

    @property
    def epoch(self) -> int:
        """Of the lease, as last heard."""
        return self._news.epoch

    @property
    def mark(self) -> int:
        """A place in what is said about the arm, for `since`."""
        return self._news.mark

    def since(self, mark: int) -> list[str]:
        """What was said since then: transitions, refusals, notices; of very much the newest."""
        return self._news.since(mark)

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
            await self._news.wait(_LOOK_S)
        return True

    async def frames(self) -> AsyncIterator[wire.Telemetry]:
        """Telemetry as it comes, until the channel is closed for good; who is slow misses some."""
        seen: wire.Telemetry | None = None
        while not self.over:
            if self.telemetry is not None and self.telemetry is not seen:
                seen = self.telemetry
                yield seen
            await self._news.wait(_LOOK_S)

    # -- asking ------------------------------------------------------------------------------------------

    def _message(self, kind: type[FromClient], fields: dict[str, Any]) -> FromClient:
        """A message of this kind, with all that the channel knows by itself."""
        known: dict[str, Any] = {"seq": self._requests.number()}
        if issubclass(kind, wire.Command | wire.Beat | wire.Renew | wire.Release):
            known |= {"arm": self.arm, "epoch": self.epoch}
        if issubclass(kind, wire.Command | wire.Beat):
            known["issued_s"] = self.now_s
        if issubclass(kind, wire.Command):
            known["picture_s"] = self.picture_s
        return kind(**known, **fields)

    async def _send(self, message: FromClient) -> None:
        await self._line.send(message)

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
        answer = self._requests.expect(message.seq)
        try:
            await self._send(message)
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError:
            raise LinkTimeout(f"{self.url}: no answer within {within_s:g} s", port=self._access.url) from None
        finally:
            self._requests.forget(message.seq)

    async def get(self, method: str, path: str, body: Any = None, *, timeout_s: float = PLANNED_S) -> bytes:
        """One question over HTTP, below the lab's address."""
        return await asyncio.to_thread(ask, self._access, method, path, body, timeout_s=timeout_s)

    async def follow_pictures(self) -> None:
        """Keep `picture` and `picture_s` new until cancelled; commands then say which one they answer."""
        while True:
            found = await self._dial.picture(self.picture_s)
            if found is None:
                await asyncio.sleep(_PICTURE_AGAIN_S)
            else:
                self.picture, self.picture_s = found

    # -- dead-man --------------------------------------------------------------------------------------

    def hold(self, for_s: float = HELD_S, sign: Sign = NO_SIGN) -> None:
        """A person holds the dead-man now, and for so long; to be said again and again.

        A hold that the lab has ended, since nothing showed a hand, counts no more until `let_go` was said.

        Args:
            for_s: how long this counts.
            sign: what shows that a hand is there, by `monotonic_s`.
        """
        now_s = monotonic_s()
        before = self._dead_man.wanted(now_s)
        self._dead_man.hold(now_s + for_s, sign)
        if not before and self._dead_man.wanted(now_s):
            self._beat_now.set()

    def let_go(self) -> None:
        """Nobody holds the dead-man."""
        if self._dead_man.wanted(monotonic_s()):
            self._beat_now.set()
        self._dead_man.let_go()

    async def watch_at(self, rate_hz: float) -> None:
        """Telemetry so often from now on.

        Raises:
            LinkClosed: there is no channel.
        """
        self._rate_hz = rate_hz
        await self.tell(wire.Watch, rate_hz=rate_hz)

    async def free(self, within_s: float = 1.0) -> None:
        """Let go of the dead-man, and wait until the server knows it."""
        self.let_go()
        dead_man, held = self._dead_man, self._dead_man.told_held
        with contextlib.suppress(LinkError):
            await self.until(lambda: dead_man.known_free >= held or not self.drives, within_s)

    @property
    def held_anew(self) -> bool:
        """Whether the server was told that nothing is held since the hand before this one has let go."""
        return self._dead_man.held(self.epoch, monotonic_s())

    async def grip(self, within_s: float = GRIP_S) -> None:
        """Wait until the server counts the dead-man as held; somebody has to keep saying `hold` meanwhile.

        Raises:
            InterlockError: it does not.
        """
        hand = self._dead_man.hand
        await self.until(lambda: self.held or self._dead_man.hand != hand, within_s)
        if self._dead_man.hand != hand or not self.held:
            raise self._dead_man.not_held()

    def _claims_again(self) -> bool:
        """Whether the lease is asked for on a new line."""
        return self._wish.wanted

    def _renews(self) -> bool:
        """Whether the lease is kept alive by the next beat."""
        return self.drives

    async def _beat(self) -> None:
        """Signs of life while we drive; one at once when the dead-man is pressed, or let go of."""
        while True:
            assert self.welcome is not None
            self._beat_now.clear()
            if self._renews():
                now_s = monotonic_s()
                held = self._dead_man.held(self.epoch, now_s)
                beat = self._message(wire.Beat, {"held": held, **(self._signs() if held else {})})
                assert isinstance(beat, wire.Beat)
                self._dead_man.beating(beat, now_s)
                with contextlib.suppress(LinkClosed):
                    await self._send(beat)
                    self._dead_man.beaten(beat)
                if not held and self._dead_man.held(self.epoch, monotonic_s()):
                    # This one had to say first that nothing was held; what is held since then is said at once.
                    continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.welcome.rules.beat_every_s):
                    await self._beat_now.wait()

    def _signs(self) -> dict[str, float]:
        """What shows the hand, by the server's clock, for a server that asks for it."""
        assert self.welcome is not None
        if self.welcome.rules.unchanged_s is None:
            return {}
        return self._dead_man.signs(self.now_s - monotonic_s())

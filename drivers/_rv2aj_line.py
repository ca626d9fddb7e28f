"""One CR1 line: one request in flight, each reply put to its own request, and a way back when track is lost.

The controller answers in order and never speaks first, so a reply that stays away, or is none, leaves open how many
are still to come. After that nothing is believed until the answer to a question has come by whose text names it: a
parameter's value begins with the parameter's name, and no two of these questions in a row are alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from drivers._rv2aj_codec import Reply, decode, encode, split
from drivers._rv2aj_settings import PLAIN_REPLY, Rv2ajSettings
from hil.errors import ControllerError, LinkOverrun
from hil.link import BytePort

MARKERS = ("RLNG", "CBAU232", "CTERM232", "CPRTY232", "CSTOP232", "CPRC232")
MARKER_REPLY = 24
QUIET_S = 0.15
"""Silence after which what a former client left on the line is over."""
CHATTER_S = 1.0

Check = Callable[[str], object]


class Ask(NamedTuple):
    """A request and what answers it.

    Attributes:
        command: behind ``1;1;``; or with `printed` a whole line for a program that reads the line.
        check: raises ControllerError on an answer that is not one to this.
        length: bytes of the longest reply, for its deadline.
        patience_s: how much longer than usual the answer may take.
        slot: of the controller.
        spaced: False for a request that needs no distance to the reply before.
        printed: what begins the line that a program prints in answer.
    """

    command: str
    check: Check = lambda data: None
    length: int = 40
    patience_s: float = 0.0
    slot: int = 1
    spaced: bool = True
    printed: str = ""


class Heard(NamedTuple):
    """What became of a request: its reply and when the request had arrived; no reply if none came in time."""

    reply: Reply | None
    arrived_s: float


class _Due(NamedTuple):
    ask: Ask
    arrived_s: float
    deadline_s: float


class Line:
    """An open port and the account of what is to come on it.

    Attributes:
        free_s: when everything written so far has left.
        questions, lost: requests so far, and those without a valid reply.
        replied_s: when the last reply came.
        noise: the last bytes that were no reply to anything.
        opened: True once the controller knows us; before that it answers no marker.
        unasked: takes lines that are no replies, such as a running program prints; None if there should be none.
    """

    def __init__(self, settings: Rv2ajSettings, port: BytePort, now_s: float) -> None:
        self.free_s: float = float("-inf")
        self.questions = self.lost = 0
        self.replied_s: float = float("-inf")
        self.noise = ""
        self.opened = False
        self.unasked: Callable[[str], None] | None = None
        self._settings: Final = settings
        self._port: Final = port
        self._data = bytearray()
        self._due: deque[_Due] = deque()
        self._torn = False
        self._marker = 0
        self._marker_due_s = self._byte_s = self._lost_s = now_s
        self._lost: str | None = ""

    @property
    def idle(self) -> bool:
        """True while a request may leave: nothing in flight, and no track lost."""
        return not self._due and self._lost is None

    def ask(self, ask: Ask, now_s: float) -> None:
        """Send a request; only while `idle`.

        Raises:
            CommandError: its text may not leave.
            LinkOverrun: the port did not take it all.
            LinkClosed: the port is gone.
        """
        self._send(f"{ask.command}\r".encode("ascii") if ask.printed else encode(ask.command, ask.slot), now_s)
        self._expect(ask)

    def stop(self, now_s: float) -> None:
        """Send STOP at once, whatever is in flight; its reply is taken care of here."""
        self._send(encode("STOP"), now_s)
        if self._lost is None:
            self._expect(_STOP)

    def tell(self, text: str, now_s: float) -> None:
        """Send a line for a program that reads the line; nothing answers it."""
        self._send(f"{text}\r".encode("ascii", "replace"), now_s)

    def farewell(self, commands: tuple[str, ...], now_s: float) -> None:
        """Send requests whose replies nobody waits for: the last that leaves on this line."""
        self._send(b"".join(encode(command) for command in commands), now_s)

    def close(self) -> None:
        """Let go of the port."""
        self._port.close()

    def take(self, now_s: float) -> Heard | None:
        """Take what has arrived: what became of the request in flight, or None while that is open.

        Raises:
            ControllerError: what comes is no line at all.
            LinkClosed: the port is gone.
        """
        data = self._port.read(now_s)
        if data:
            self._byte_s = now_s
            self._data += data
        try:
            lines = split(self._data)
        except ControllerError:
            self._data.clear()
            raise
        if self.unasked is not None and self.opened:
            for text in [text for text in lines if text[0] not in "qQ"]:
                self.unasked(text)
            lines = [text for text in lines if text[0] in "qQ"]
        if self._lost is not None:
            self._find_track(lines, now_s)
            return None
        heard: Heard | None = None
        for text in lines:
            if not self._due or (heard is not None and self._due[0].ask is not _STOP):
                # One more than was asked for: which of them was the right one, nobody knows.
                return self._miss(text, now_s)
            found = self._match(text, now_s)
            if self._lost is not None:
                return Heard(None, now_s)
            heard = found or heard
        if heard is None and self._due and now_s >= self._due[0].deadline_s:
            return self._miss("", now_s)
        return heard

    def _send(self, data: bytes, now_s: float) -> None:
        """The only place from which bytes leave."""
        if self._torn:
            # Part of a line has left: what comes now must not become its end.
            data = b"\r" + data
        try:
            self._port.write(data, now_s)
        except LinkOverrun:
            self._torn = True
            raise
        self._torn = False
        self.free_s = max(now_s, self.free_s) + self._settings.wire_s(len(data))

    def _expect(self, ask: Ask) -> None:
        settings = self._settings
        begins_s = max(self.free_s, self._due[-1].deadline_s - settings.reply_timeout_s if self._due else self.free_s)
        needs_s = settings.latency_s + settings.wire_s(ask.length) + ask.patience_s
        self.questions += 1
        self._due.append(_Due(ask, self.free_s, begins_s + needs_s + settings.reply_timeout_s))

    def _match(self, text: str, now_s: float) -> Heard | None:
        due = self._due[0]
        try:
            if due.ask.printed and text[:1] not in "qQ":
                due.ask.check(text)
                reply = Reply(True, "K", 0, "", text)
            else:
                reply = decode(text)
                if reply.accepted:
                    due.ask.check(reply.data)
        except ControllerError:
            self._miss(text, now_s)
            return None
        self._due.popleft()
        self.replied_s = now_s
        return None if due.ask is _STOP else Heard(reply, due.arrived_s)

    def _miss(self, noise: str, now_s: float) -> Heard:
        self.lost += 1
        self.noise = noise or self.noise
        self._due.clear()
        self._lost, self._lost_s = "", now_s
        self._marker_due_s = now_s
        return Heard(None, now_s)

    def _find_track(self, lines: list[str], now_s: float) -> None:
        """Before the controller knows us a silence has to do; after that only a marker's own answer."""
        if lines:
            self.noise = lines[-1]
        quiet = now_s >= max(self.free_s, self._byte_s) + QUIET_S
        if not self.opened:
            if quiet or now_s >= self._lost_s + CHATTER_S:
                self.noise = self.noise or self._data.decode("latin-1")
                self._data.clear()
                self._lost = None
            return
        if self._lost and any(text[0] in "qQ" and text[3:].startswith(f"{self._lost};") for text in lines):
            self._lost, self.replied_s = None, now_s
            return
        if now_s < self._marker_due_s or not (quiet or self._lost):
            return
        if self._lost:
            self.lost += 1
        self._lost = MARKERS[self._marker % len(MARKERS)]
        self._marker += 1
        self.questions += 1
        self._send(encode(f"PAR{self._lost}"), now_s)
        settings = self._settings
        self._marker_due_s = self.free_s + settings.latency_s + settings.wire_s(MARKER_REPLY) + settings.reply_timeout_s


_STOP: Final = Ask("STOP", length=PLAIN_REPLY, spaced=False)

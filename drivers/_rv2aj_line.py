"""One CR1 line: one request in flight, each reply put to its own request, late ones too, and an account of it all.

The controller answers in order and never speaks first. So a late answer still belongs to its question, and what was
asked after it tells whether it is lost: a parameter's value begins with the parameter's name, so a reply that names the
newer question proves that the older one will not be answered any more. Nothing is given up without that proof, whatever
the time; how long nobody answers is counted here and judged elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from drivers._line_counts import LineCounts
from drivers._rv2aj_codec import Reply, decode, encode
from drivers._rv2aj_settings import PLAIN_REPLY, Rv2ajSettings
from drivers._rv2aj_wire import Wire
from hil.errors import ControllerError, LineCause, LinkOverrun
from hil.link import BytePort
from hil.types import LineAccount

MARKERS = ("RLNG", "CBAU232", "CTERM232", "CPRTY232", "CSTOP232", "CPRC232")
MARKER_REPLY = 24
NO_PARAMETER = 7080
QUIET_S = 0.15
"""Silence after which what a former client left on the line is over; and from rubbish to the question about it."""
CHATTER_S = 1.0
AGAIN_S = 0.2
"""How much longer each further question waits that asks whether an answer is lost."""

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
        otherwise: commands that are asked in its stead, one after the other, while nobody answers before the session
            is open.
    """

    command: str
    check: Check = lambda data: None
    length: int = 40
    patience_s: float = 0.0
    slot: int = 1
    spaced: bool = True
    printed: str = ""
    otherwise: tuple[str, ...] = ()

    @property
    def next(self) -> Ask:
        """What is asked if this is not answered."""
        return self._replace(command=self.otherwise[0], otherwise=self.otherwise[1:]) if self.otherwise else self


class Heard(NamedTuple):
    """What became of a request: its reply and when the request had arrived; no reply if it is lost."""

    reply: Reply | None
    arrived_s: float


class _Due(NamedTuple):
    """A question that waits for its answer.

    Attributes:
        due_s: from then on its answer is late.
        marker: the parameter that it asks for, if it only asks whether those before it are lost.
    """

    ask: Ask
    arrived_s: float
    due_s: float
    marker: str = ""

    def read(self, text: str) -> Reply | None:
        """The reply, if this can be one to it."""
        try:
            reply = decode(text)
            if reply.accepted:
                self.ask.check(reply.data)
        except ControllerError:
            return None
        return reply


class Cr1Line:
    """An open port and the account of what is to come on it.

    Attributes:
        settings: of the line.
        wire: the port's bytes, and packets where it has any.
        gate: looks at all requests before they leave.
        replied_s: when the last reply came.
        late_s: by how much the last late answer was late.
        opened: True once the controller knows us; before that it answers no marker.
        client: the name under which it does.
        greeting: the newest of the requests that were out to open the session when one of them was answered.
        unasked: takes lines that are no replies, such as a running program prints; None if there should be none.
        owing: a program has not printed what it should have by now; what it was told may still come true.
    """

    def __init__(self, settings: Rv2ajSettings, port: BytePort, now_s: float) -> None:
        self.settings: Final = settings
        self._wire: Final = Wire(settings, port, now_s)
        self.wire: Final = self._wire
        self.gate: Final = self._wire.gate
        self.replied_s: float = float("-inf")
        self.late_s = 0.0
        self.opened = self.owing = False
        self.client = self.greeting = ""
        self.unasked: Callable[[str], None] | None = None
        self._due: deque[_Due] = deque()
        self._printed: _Due | None = None
        self._settled = False
        self._doubt_s: float | None = None
        self._marker = 0
        self._noise, self._noise_s = "", float("-inf")
        self._began_s = self._looked_s = now_s
        self._counts = LineCounts()

    @property
    def idle(self) -> bool:
        """True while a request may leave: nothing is to come, and nothing came that is not understood."""
        printed = self._printed is None or self.owing
        return self._settled and not self._due and printed and self._doubt_s is None

    @property
    def greeting_out(self) -> bool:
        """The session is not open, or a greeting under a name that was not taken may still be answered."""
        return not self.opened or (bool(self._due) and self._due[0].ask.command.startswith("OPEN="))

    @property
    def stalled(self) -> bool:
        """The port has not taken what was handed to it last."""
        return self._wire.stalled

    @property
    def noise(self) -> str:
        """The last bytes that were no reply to anything, or that wait for their end."""
        return self._wire.half or self._noise

    @property
    def noisy(self) -> bool:
        """Since the question that waits was sent, bytes have come that do not answer it."""
        return self._wire.rubbish or (bool(self._due) and self._noise_s >= self._due[0].arrived_s)

    def account(self, believed_s: float | None) -> LineAccount:
        """What was counted so far, the same record while nothing is new.

        Args:
            believed_s: when the newest report was asked for that was believed.
        """
        return self._counts.account(believed_s, self._overdue_s())

    @property
    def newest(self) -> str:
        """The newest bytes, whatever they were."""
        return self._wire.signs.tail.decode("latin-1")

    def sign(self, now_s: float) -> LineCause | None:
        """What the way in which bytes come shows; None for nothing odd."""
        return self._wire.signs.sign(now_s)

    def silent_s(self, now_s: float) -> float:
        """For how long an answer is overdue now; 0 while none is."""
        overdue_s = self._overdue_s()
        return 0.0 if overdue_s is None else now_s - overdue_s

    def ask(self, ask: Ask, now_s: float) -> None:
        """Send a request; only while `idle`.

        Raises:
            CommandError: its text may not leave.
            LinkOverrun: the port did not take it all.
            LinkClosed: the port is gone.
        """
        self._wire.send(f"{ask.command}\r".encode("ascii") if ask.printed else encode(ask.command, ask.slot), now_s)
        if ask.printed:
            self._lose_printed()
            self._printed, self.owing = self._expected(ask), False
        else:
            self._due.append(self._expected(ask))

    def stop(self, now_s: float) -> None:
        """Send STOP at once, whatever is in flight; its reply is taken care of here."""
        self._wire.send(encode("STOP"), now_s)
        self._lose_printed()
        self._due.append(self._expected(_STOP))

    def tell(self, text: str, now_s: float) -> None:
        """Send a line for a program that reads the line; nothing answers it."""
        self._wire.tell(f"{text}\r".encode("ascii", "replace"), now_s)

    def farewell(self, commands: tuple[str, ...], now_s: float) -> None:
        """Send requests whose replies nobody waits for: the last that leaves on this line."""
        self._wire.send(b"".join(encode(command) for command in commands), now_s)

    def close(self) -> None:
        """Let go of the port."""
        self._wire.close()

    def take(self, now_s: float) -> Heard | None:
        """Take what has arrived: what became of the request in flight, or None while that is open.

        Raises:
            LinkClosed: the port is gone.
            ControllerError: the line gives back what it is sent.
        """
        lines = self._wire.receive(now_s)
        if self._wire.stale(now_s):
            self._wire.signs.tear(now_s)
            self._note_noise(self._wire.drop(), now_s)
        if not self._settled:
            self._settle(lines, now_s)
            return None
        heard: Heard | None = None
        for text in lines:
            heard = self._put(text, now_s) or heard
        if lines and self._noise_s == now_s:
            # Until the session is open nobody else speaks in our words.
            self._wire.signs.refuse_echo(self.settings.port_url, *(() if self.opened else (1,)))
        if heard is None and self._printed is not None and not self.owing and now_s >= self._printed.due_s:
            # A program prints when it comes to it. Meanwhile others can be asked, and its line can still come.
            self.owing = True
            heard = Heard(None, now_s)
        self._ask_again(now_s)
        self._looked_s = now_s
        return heard

    def _settle(self, lines: list[str], now_s: float) -> None:
        """What a former client left on the line comes first; a silence, or enough of that, ends it."""
        for text in lines:
            self._note_noise(text, now_s)
        wire = self._wire
        if now_s >= max(wire.free_s, wire.heard_s) + QUIET_S or now_s >= self._began_s + CHATTER_S:
            if wire.half:
                self._note_noise(wire.drop(), now_s)
            self._settled, self._doubt_s, self._looked_s = True, None, now_s

    # -- which reply answers what --------------------------------------------------------------------------

    @property
    def _printed_due(self) -> _Due | None:
        """What a program has to print and is waited for."""
        return None if self.owing else self._printed

    def _overdue_s(self) -> float | None:
        """When the oldest answer was due that was missing at the last look."""
        if not self._due and self._printed is None:
            return None
        oldest_s: float | None = None
        if self._due and self._due[0].due_s < self._looked_s:
            oldest_s = self._due[0].due_s
        printed = self._printed
        if (
            printed is not None
            and not self.owing
            and printed.due_s < (self._looked_s if oldest_s is None else oldest_s)
        ):
            oldest_s = printed.due_s
        return oldest_s

    def _expected(self, ask: Ask, marker: str = "") -> _Due:
        settings, free_s = self.settings, self._wire.free_s
        self._counts.questions += 1
        begins_s = max(free_s, self._due[-1].due_s - settings.reply_timeout_s if self._due else free_s)
        needs_s = settings.latency_s + settings.wire_s(ask.length) + ask.patience_s
        return _Due(ask, free_s, begins_s + needs_s + settings.reply_timeout_s, marker)

    def _put(self, text: str, now_s: float) -> Heard | None:
        """Put one line to its question: a late one too, for the controller answers in order."""
        if text[0] not in "qQ":
            return self._put_printed(text, now_s)
        for place, due in enumerate(self._due):
            if due.marker and text[3:].startswith(f"{due.marker};"):
                return self._overtake(place, now_s)
        if not self._due and self._printed_due is not None:
            return self._refuse_printed(self._printed_due, text, now_s)
        first = self._due[0] if self._due else None
        reply = None if first is None else first.read(text)
        # The markers behind a question are parameters: one that is not there is their refusal, not its.
        marked = len(self._due) > 1 and reply is not None and reply.error == NO_PARAMETER
        if first is None or reply is None or marked or (first.marker and reply.accepted):
            self._wire.signs.tear(now_s)
            self._note_noise(text, now_s)
            return None
        if not self.opened:
            self.greeting = self._due[-1].ask.command
        self._due.popleft()
        self._answered(first, now_s)
        # A refused greeting says nothing of another that is still out.
        more = not self.opened and bool(self._due) and not reply.accepted
        return None if first.ask is _STOP or first.marker or more else Heard(reply, first.arrived_s)

    def _put_printed(self, text: str, now_s: float) -> Heard | None:
        due = self._printed
        if due is not None:
            try:
                due.ask.check(text)
            except ControllerError:
                due = None
        if due is None:
            if self.unasked is not None and self.opened:
                self.unasked(text)
            else:
                if text.isprintable():
                    # The rest of an answer whose beginning is missing.
                    self._wire.signs.tear(now_s)
                self._note_noise(text, now_s)
            return None
        self._printed = None
        self._answered(due, now_s)
        return None if self.owing else Heard(Reply(True, "K", 0, "", text), due.arrived_s)

    def _refuse_printed(self, due: _Due, text: str, now_s: float) -> Heard | None:
        reply = due.read(text)
        if reply is None or reply.accepted:
            self._note_noise(text, now_s)
            return None
        self._printed = None
        self._answered(due, now_s)
        return Heard(reply, due.arrived_s)

    def took_late(self) -> bool:
        """True once after a program has printed what it owed."""
        if self.owing and self._printed is None:
            self.owing = False
            return True
        return False

    def _lose_printed(self) -> None:
        self._counts.lost += self._printed is not None
        self._printed, self.owing = None, False

    def _answered(self, due: _Due, now_s: float) -> None:
        if due.due_s < self._looked_s:
            # Not late if only nobody had looked.
            self._counts.late += 1
            self.late_s = now_s - due.due_s
        self._doubt_s = None if due.marker else self._doubt_s
        self.replied_s = now_s

    def _overtake(self, place: int, now_s: float) -> Heard | None:
        """A newer question is answered: those before it are lost."""
        heard: Heard | None = None
        for _ in range(place):
            lost = self._due.popleft()
            self._counts.lost += 1
            if not lost.marker and lost.ask is not _STOP:
                heard = Heard(None, now_s)
        self._answered(self._due.popleft(), now_s)
        return heard

    def _note_noise(self, text: str, now_s: float) -> None:
        """Bytes that answer nothing. It may have been an answer: soon a question tells what is still to come."""
        self._noise, self._noise_s = text or self._noise, now_s
        self._counts.noise_bytes += len(text) + 1
        if self._doubt_s is None and not any(due.marker for due in self._due):
            self._doubt_s = now_s + QUIET_S

    def _ask_again(self, now_s: float) -> None:
        """Ask what tells whether an answer that stays away is lost; what comes meanwhile does not hold it up."""
        overdue = bool(self._due) and now_s >= self._due[-1].due_s
        doubtful = self._doubt_s is not None and now_s >= self._doubt_s and not any(due.marker for due in self._due)
        if not (overdue or doubtful):
            return
        if not self.opened:
            # It answers no marker yet, but OPEN as often as it is asked, perhaps under another name only.
            self._doubt_s = None
            again, marker = (self._due[-1].ask.next, "") if overdue else (None, "")
        else:
            marker = self._next_marker()
            patience_s = AGAIN_S * sum(bool(due.marker) for due in self._due)
            again = Ask(f"PAR{marker}", length=MARKER_REPLY, patience_s=patience_s)
        if again is None:
            return
        try:
            self._wire.send(encode(again.command, again.slot), now_s)
        except LinkOverrun:
            return
        self._due.append(self._expected(again, marker))

    def _next_marker(self) -> str:
        """One that is not waited for, and that nobody asks for otherwise; if there is none, the oldest is given up."""
        waiting = {due.marker for due in self._due} | {due.ask.command.removeprefix("PAR") for due in self._due}
        free = [name for name in MARKERS[self._marker :] + MARKERS[: self._marker] if name not in waiting]
        if not free:
            oldest = next(due for due in self._due if due.marker)
            self._due.remove(oldest)
            self._counts.lost += 1
            free = [oldest.marker]
        self._marker = (MARKERS.index(free[0]) + 1) % len(MARKERS)
        return free[0]


_STOP: Final = Ask("STOP", length=PLAIN_REPLY, spaced=False)

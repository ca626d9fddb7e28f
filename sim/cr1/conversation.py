"""The CR1's end of the line: bytes become requests, each is answered in its turn, and answers become bytes."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from sim.cr1 import memory, monitor, operation  # noqa: F401 - they fill the command table
from sim.cr1.commands import Session, answer, takes_client
from sim.cr1.machine import Machine
from sim.cr1.requests import (
    Cause,
    EndCode,
    Procedure,
    RefusedRequest,
    RequestLine,
    RequestReader,
    format_answer,
    parse_request,
)
from sim.cr1.tasks import Task
from sim.uart import Outbox

WAITING_LIMIT = 64
"""Requests that wait for their turn; what comes on top is lost, as in a full receive buffer."""

HURRY_S = 0.1
"""Between an answer and the next request, while a program runs."""

APART_S = 1e-6
"""Between two answers on a network, so that each leaves by itself."""

ROBOTS = 3
PRN = "PRN"


@dataclass
class Counts:
    """What has happened since the fake was made; a real controller tells none of this."""

    received: int = 0
    lost: int = 0
    broken: int = 0
    requests: int = 0
    refused: int = 0
    hurried: int = 0
    boots: int = 0


class Conversation:
    """Requests in the order in which they came, and their answers.

    Args:
        machine: what is asked.
        counts: kept up to date.

    Attributes:
        session: what the requests before have left.
        framing, baud, end_code, procedure: of the line, as the parameters were at power-up.
    """

    def __init__(self, machine: Machine, counts: Counts) -> None:
        self._machine, self._counts, self._network = machine, counts, False
        self._outbox = Outbox()
        self.forget()

    def forget(self) -> None:
        """The power goes: nothing is under way, and the line's settings are read again."""
        settings, parameters = self._machine.settings, self._machine.parameters
        self._reader = RequestReader(settings.any_end or self._network, settings.pause_s, self._take)
        self._waiting: deque[RequestLine] = deque()
        self._outbox.clear()
        self._line_free_s = -math.inf
        self._held: list[bytes] | None = None
        self._waits_for: Task | None = None
        self.session = Session()
        self.framing, self.baud = parameters.framing, parameters.baud
        self.end_code = settings.end_code if settings.end_code is EndCode.NONE else parameters.end_code
        self.procedure = parameters.procedure

    def join_network(self) -> None:
        """No time per byte, any end of a request, and each answer leaves in one piece."""
        self._network = True
        self.forget()

    @property
    def byte_s(self) -> float:
        """Time of one byte; 0 on a network."""
        return 0.0 if self._network else self.framing.bits / self.baud

    # Bytes in.

    def feed(self, value: int, time_s: float) -> None:
        """A byte has come."""
        self._counts.received += 1
        self._reader.feed(value, time_s)

    def cut(self) -> None:
        """The cable is pulled: what is under way never arrives, nor what is still to be answered."""
        self._outbox.clear()
        self._reader.forget()
        self._waits_for = None

    def hang(self) -> None:
        """The processor stops: nobody answers what waits."""
        self._outbox.clear()
        self._waiting.clear()
        self._waits_for = None

    def _take(self, line: RequestLine) -> None:
        if self._waits_for is not None and self._for_program(line):
            return
        if len(self._waiting) >= WAITING_LIMIT:
            self._counts.lost += len(line.text)
            return
        running = self._machine.a_program_runs
        after_s = line.end_s - self._line_free_s if not self._waiting else 0.0
        self._counts.hurried += running and after_s < HURRY_S
        distance_s = self._machine.settings.distance_s
        too_soon = running and distance_s > 0.0 and after_s < distance_s - 1e-9
        self._waiting.append(line._replace(too_soon=too_soon))

    # Requests.

    @property
    def pause_due_s(self) -> float:
        """When a pause will end a request; infinity if none will."""
        return self._reader.due_s

    def end_request(self, time_s: float) -> None:
        """A pause has ended it."""
        self._reader.finish(time_s)

    @property
    def request_due_s(self) -> float:
        """A request is thought about once it is complete and the answer before it has left."""
        if self._waits_for is not None:
            return math.inf if self._machine.direct is self._waits_for else self._machine.now_s
        if not self._waiting:
            return math.inf
        return max(self._waiting[0].end_s, self._line_free_s) + self._machine.settings.answer_s

    def do_request(self, time_s: float) -> None:
        """Answer the oldest one, or the one that waited for the end of what it had begun."""
        if self._waits_for is not None:
            self._waits_for = None
            self._answer_late(time_s)
            return
        machine, line = self._machine, self._waiting.popleft()
        self._counts.requests += 1
        if self._for_program(line):
            return
        text, error, standing = "", None, machine.alarms.standing is not None
        self._held = []
        try:
            self._require_readable(line)
            request = parse_request(line.text, ROBOTS, machine.edit_slot)
            if self._ignores(request.body):
                self._held = None
                return
            text, waits = answer(machine, self.session, request)
            if waits:
                self._waits_for, self._held = machine.direct, None
                return
            standing = machine.alarms.standing is not None
        except RefusedRequest as refused:
            error = refused
            self._counts.refused += 1
            if error.cause is not Cause.REQUEST or machine.settings.requests_stand:
                machine.alarms.strike(error.number, time_s)
            standing = standing or error.cause is Cause.EDIT
        standing &= machine.settings.small_letters
        digits = machine.settings.error_digits
        printed, self._held = self._held or [], None
        self._send(format_answer(text, error, standing=standing, digits=digits, end=self.end_code), time_s)
        for data in printed:
            self._send(data, time_s)

    def _answer_late(self, time_s: float) -> None:
        """What was begun is over: well, or by the error that stands now."""
        alarms, settings = self._machine.alarms, self._machine.settings
        failed = alarms.standing is not None and alarms.standing.level < 3
        error = RefusedRequest(alarms.number) if failed else None
        standing = alarms.standing is not None and settings.small_letters
        text = format_answer("", error, standing=standing, digits=settings.error_digits, end=self.end_code)
        self._send(text, time_s)

    def _require_readable(self, line: RequestLine) -> None:
        if line.too_long:
            raise RefusedRequest(6080)
        if line.too_soon:
            raise RefusedRequest(5640)
        if self.procedure is Procedure.DATA_LINK:
            raise RefusedRequest(6010)
        if line.text.startswith(PRN):
            raise RefusedRequest(6500)

    def _ignores(self, body: str) -> bool:
        """An OPEN under a name that is not taken, where those get no answer."""
        settings = self._machine.settings
        if settings.others_answered or not body.startswith("OPEN="):
            return False
        return not takes_client(settings, body.removeprefix("OPEN="))

    def _for_program(self, line: RequestLine) -> bool:
        """A line for INPUT #: with PRN before it, or any line on a data link."""
        comm = self._machine.comm
        if not comm.is_open or line.too_long:
            return False
        if self.procedure is Procedure.DATA_LINK:
            comm.bring(line.text)
        elif line.text.startswith(PRN):
            comm.bring(line.text.removeprefix(PRN).lstrip())
        else:
            return False
        return True

    # Bytes out.

    def print_text(self, text: str, time_s: float) -> None:
        """What is printed on the line, its line ends made those of the line; the answer to a request goes first."""
        bare = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", self.end_code.text)
        data = bare.encode("latin-1", "replace")
        if self._held is None:
            self._send(data, time_s)
        else:
            self._held.append(data)

    def _send(self, data: bytes, time_s: float) -> None:
        start_s = max(time_s, self._line_free_s)
        byte_s = self.byte_s
        if self._network:
            self._outbox.put_whole(start_s, data)
            self._line_free_s = start_s + APART_S
            return
        for place, value in enumerate(data, start=1):
            self._outbox.put(start_s + place * byte_s, value)
        self._line_free_s = start_s + len(data) * byte_s

    @property
    def answer_due_s(self) -> float:
        """When the next byte of an answer is complete; infinity if none is under way."""
        return self._outbox.due_s

    def sent_by(self, until_s: float) -> list[tuple[float, bytes]]:
        """Take the bytes complete by then, each with the time of its end."""
        return self._outbox.sent_by(until_s)

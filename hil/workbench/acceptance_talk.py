"""Questions to a controller, word for word, with the time of every byte: the raw part of an acceptance.

Only questions leave: what is not in the list of its kind is refused before a byte of it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hil.clock import Clock
from hil.errors import CommandError
from hil.link import BytePort
from hil.types import Record

STEP_S = 0.001
"""How often the port is looked at: the grain of all times."""
QUIET_S = 0.06
"""After that long without a byte an answer that has no end of its own is over."""

QUESTIONS: Mapping[str, re.Pattern[str]] = {
    "ssc32": re.compile(r"\x1b|VER|QP\d{1,2}|R\d{1,2}|SS"),
    "rv2aj": re.compile(
        r"1;1;(OPEN=(HIL|NARCUSR|TOOLBOX)|CLOSE|STATE|DSTATE|JPOSF|PPOSF|ERROR|STPSIG|PDIRTOP|VALM_MODE;M|PAR[A-Z0-9]+)"
    ),
}
"""By kind of controller: what moves nothing, takes nothing from anybody and changes nothing."""


class Exchange(Record, frozen=True):
    """One question and what came back.

    Attributes:
        question: without its CR.
        answer: as it came, each byte as the letter of its value.
        asked_s: when the question was handed to the port.
        first_s, last_s: when the first and the last byte of the answer were there; None without an answer.
        step: in which it was asked.
    """

    question: str
    answer: str
    asked_s: float
    first_s: float | None = None
    last_s: float | None = None
    step: str = ""

    @property
    def took_s(self) -> float | None:
        """From the question to the last byte."""
        return None if self.last_s is None else self.last_s - self.asked_s


class Talk:
    """An open line, one question at a time, and the transcript of it.

    Args:
        kind: of controller, whose questions may be asked.
        port: open.
        clock: to wait by.
        step: in which all this is asked.

    Attributes:
        transcript: everything so far.
    """

    def __init__(self, kind: str, port: BytePort, clock: Clock, step: str = "") -> None:
        self._allowed, self._port, self._clock, self._step = QUESTIONS[kind], port, clock, step
        self.transcript: list[Exchange] = []

    def ask(self, question: str, *, count: int | None = None, within_s: float = 0.8) -> Exchange:
        """Ask, and wait for the answer.

        Args:
            question: without its CR.
            count: bytes of the answer; None for one that ends with CR, or CR LF.
            within_s: how long its first byte, and each one after, is waited for.

        Raises:
            CommandError: this is no question; nothing was sent.
            LinkError: the line failed.
        """
        if not self._allowed.fullmatch(question):
            raise CommandError(f"{question!r} is not among the questions that may be asked here", value=question)
        clock = self._clock
        self._port.read(clock.now_s())
        asked_s = clock.now_s()
        self._port.write(f"{question}\r".encode("latin-1"), asked_s)
        heard, first_s, last_s = b"", None, None
        while True:
            clock.sleep_until(clock.now_s() + STEP_S)
            now_s = clock.now_s()
            data = self._port.read(now_s)
            if data:
                heard += data
                first_s, last_s = now_s if first_s is None else first_s, now_s
            quiet_s = now_s - (asked_s if last_s is None else last_s)
            if count is None:
                over = (heard.endswith((b"\r", b"\n")) and quiet_s >= STEP_S * 2) or quiet_s >= within_s
            else:
                over = len(heard) >= count or quiet_s >= within_s
            if over:
                break
        exchange = Exchange(
            question=question,
            answer=heard.decode("latin-1"),
            asked_s=asked_s,
            first_s=first_s,
            last_s=last_s,
            step=self._step,
        )
        self.transcript.append(exchange)
        return exchange

    def close(self) -> None:
        """Let go of the port: other commands want it between two steps."""
        self._port.close()

    def pause(self, seconds: float) -> None:
        """Say nothing for a while."""
        self._clock.sleep_until(self._clock.now_s() + seconds)

"""The CR1's face to the line: bytes to requests, requests to their parts, answers to bytes. Knows no command."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

LONGEST_REQUEST = 255
ROBOTS, SLOTS = 3, 33
"""Largest numbers that the protocol knows; the controller may have fewer."""

VT = "\x0b"
"""Separates what may contain semicolons."""

_CR, _LF, _NUL = 13, 10, 0
_SHAPE = re.compile(r"(\d{0,3});(\d{0,3});([\x20-\x7e\x0b\xa0-\xff]*)")


class EndCode(Enum):
    """What ends an answer."""

    CR = "cr"
    CR_LF = "crlf"
    NONE = "none"

    @property
    def text(self) -> str:
        """The bytes themselves."""
        return {"cr": "\r", "crlf": "\r\n", "none": ""}[self.value]


class Procedure(Enum):
    """The parameter CPRC232."""

    NONE = 0
    PROCEDURAL = 1
    DATA_LINK = 2


class Cause(Enum):
    """What was refused."""

    REQUEST = "request"
    """Nothing stands afterwards."""
    STATEMENT = "statement"
    """An error stands afterwards."""
    EDIT = "edit"
    """An error stands already in this answer, as the manual's own examples print it."""


class RefusedRequest(Exception):  # noqa: N818 - an answer of the protocol, not a failure
    """The controller will not do it.

    Attributes:
        number: four digits of the controller's list.
        extra: what follows the number after a semicolon: the column of an edit.
        cause: what was refused.
        detail: in words, for the log.
    """

    def __init__(self, number: int, extra: str = "", *, cause: Cause = Cause.REQUEST, detail: str = "") -> None:
        super().__init__(number)
        self.number, self.extra, self.cause, self.detail = number, extra, cause, detail


class RequestLine(NamedTuple):
    """One complete request as it came, without its end code, and when its end came; perhaps sooner than it may."""

    text: str
    end_s: float
    too_long: bool
    too_soon: bool = False


class Request(NamedTuple):
    """A request in its parts.

    Attributes:
        robot: 0 for all.
        slot: 0 for all; 1 where it was left out.
        body: command word and what is glued to it.
    """

    robot: int
    slot: int
    body: str


class RequestReader:
    """Puts requests together from bytes.

    Args:
        any_end: True to end a request at CR, LF, NUL (a public program sends one), or a pause, as a network face does;
            else only CR ends one.
        pause_s: how long a pause ends a request.
        take: gets each request as it completes.
    """

    def __init__(self, any_end: bool, pause_s: float, take: Callable[[RequestLine], None]) -> None:
        self._any_end, self._pause_s, self._take = any_end, pause_s, take
        self._text = bytearray()
        self._length = 0
        self._last_s = 0.0

    @property
    def due_s(self) -> float:
        """When a pause will end the request; infinity if none will."""
        return self._last_s + self._pause_s if self._any_end and self._length else float("inf")

    def feed(self, value: int, time_s: float) -> None:
        """Take one byte. A line feed before a request belongs to the end code of the one before."""
        self._last_s = time_s
        if value == _CR or (self._any_end and value in (_LF, _NUL)):
            self.finish(time_s)
        elif value == _LF and not self._length:
            return
        else:
            self._length += 1
            if len(self._text) < LONGEST_REQUEST:
                self._text.append(value)

    def finish(self, time_s: float) -> None:
        """The request ends here; one without any byte is none."""
        if self._length:
            line = RequestLine(self._text.decode("latin-1"), time_s, self._length > LONGEST_REQUEST)
            self.forget()
            self._take(line)

    def forget(self) -> None:
        """Drop what has come of a request."""
        self._text.clear()
        self._length = 0


def parse_request(text: str, robots: int, slots: int) -> Request:
    """Split ``[<robot>];[<slot>];<COMMAND><arguments>``; either number left out means 1.

    Args:
        text: the request without its end code.
        robots: how many this controller drives.
        slots: its largest slot, the edit slot included.

    Raises:
        RefusedRequest: 6010 for anything of another shape, 3110 for a robot or slot that is not there.
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise RefusedRequest(6010)
    robot, slot = (1 if part == "" else int(part) for part in (found[1], found[2]))
    if robot > robots or slot > slots:
        raise RefusedRequest(3110)
    return Request(robot, slot, found[3])


def format_answer(text: str, error: RefusedRequest | None, *, standing: bool, digits: int, end: EndCode) -> bytes:
    """An answer as bytes.

    Args:
        text: what follows ``QoK``.
        error: the refusal instead, or None.
        standing: an error stands, so the third letter is lower case.
        digits: 9 for error numbers with their five-digit detail, 4 without.
        end: what ends it.
    """
    if error is None:
        body = f"Q{'ok' if standing else 'oK'}{text}"
    else:
        detail = "00000" if digits > 4 else ""
        extra = f";{error.extra}" if error.extra else ""
        body = f"Q{'er' if standing else 'eR'}{error.number:04d}{detail}{extra}"
    return (body + end.text).encode("latin-1", "replace")

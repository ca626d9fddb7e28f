"""A CR1's line with somebody in between who lets one answer come late, in pieces, twice, or never."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from hil.link import BytePort
from hil.testing.arms import VirtualArm

REQUEST = re.compile(rb"(?:\d*;\d*;)?([A-Z]+)")

Damage = Callable[[bytes], list[tuple[float, bytes]]]
"""Turns one answer into pieces, each with how much later it comes than the one before."""


def late(by_s: float) -> Damage:
    return lambda answer: [(by_s, answer)]


def lost(by_s: float) -> Damage:
    return lambda answer: []


def split(by_s: float) -> Damage:
    return lambda answer: [(0.0, answer[:3]), (by_s, answer[3:])]


def doubled(by_s: float) -> Damage:
    return lambda answer: [(0.0, answer), (by_s, answer)]


def dribbled(by_s: float) -> Damage:
    return lambda answer: [(by_s / len(answer), answer[i : i + 1]) for i in range(len(answer))]


class OneLateAnswer:
    """A port that puts answers to their requests as they pass, and damages one of them.

    Attributes:
        kind: beginning of the request whose next answer is damaged; empty for none.
        damage: how.
        struck: it has happened.
    """

    def __init__(self, port: BytePort) -> None:
        self._port = port
        self.kind = ""
        self.damage: Damage = late(0.0)
        self.struck = False
        self._asked: deque[str] = deque()
        self._text = bytearray()
        self._coming: deque[tuple[float, bytes]] = deque()

    def read(self, now_s: float) -> bytes:
        self._text += self._port.read(now_s)
        while b"\r" in self._text:
            answer = bytes(self._text[: self._text.index(b"\r") + 1])
            del self._text[: len(answer)]
            pieces, question = [(0.0, answer)], self._question(answer)
            if self.kind and not self.struck and question.startswith(self.kind):
                self.struck, pieces = True, self.damage(answer)
            at_s = max(now_s, self._coming[-1][0] if self._coming else now_s)
            for delay_s, piece in pieces:
                at_s += delay_s
                self._coming.append((at_s, piece))
        data = b""
        while self._coming and self._coming[0][0] <= now_s:
            data += self._coming.popleft()[1]
        return data

    def write(self, data: bytes, now_s: float) -> None:
        self._port.write(data, now_s)
        for line in data.split(b"\r"):
            if found := REQUEST.match(line):
                self._asked.append(found[1].decode("ascii"))

    def _question(self, answer: bytes) -> str:
        """What this answers: a program's line the next target for it, else what was asked first."""
        printed = answer[:1] not in b"qQ"
        for place, kind in enumerate(self._asked):
            if (kind == "PRN") == printed:
                del self._asked[place]
                return kind
        return ""

    def set_baud(self, baud: int) -> None:
        self._port.set_baud(baud)

    def close(self) -> None:
        self._port.close()


def between(arm: VirtualArm) -> Callable[[], OneLateAnswer]:
    """Put it between an arm that is not connected yet and its controller; gives the one of the present connection."""
    tap = arm._arm.bridge._tap
    inner, ports = tap._open_port, []

    def open_port() -> OneLateAnswer:
        ports.append(OneLateAnswer(inner()))
        return ports[-1]

    tap._open_port = open_port
    return lambda: ports[-1]

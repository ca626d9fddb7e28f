"""A terminal to an emulated CR1 on virtual time: types requests, waits, reads; its clock only moves when it waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.cr1 import Cr1, Cr1Settings
from sim.uart import Framing

ANSWER_S = 0.5
"""Longer than any answer takes at 9600 baud."""


class Cr1Terminal:
    def __init__(self, programs: dict[str, str] | None = None, joints: Sequence[float] | None = None, **choices: Any):
        self.cr1 = Cr1(Cr1Settings(**choices), programs=programs, joints_deg=joints)
        self.now_s = 0.0
        self.trace: list[tuple[float, tuple[float, ...]]] = []
        self.cr1.watch(lambda time_s, joints: self.trace.append((time_s, tuple(joints))))

    def type(self, text: str | bytes, framing: Framing | None = None) -> None:
        data = text.encode("latin-1") if isinstance(text, str) else text
        wanted = framing or self.cr1.framing
        byte_s = wanted.bits / self.cr1.baud
        self.cr1.receive(data, self.now_s, byte_s, wanted)
        self.now_s += len(data) * byte_s

    def wait(self, duration_s: float) -> str:
        self.now_s += duration_s
        return b"".join(data for _, data in self.cr1.transmit(self.now_s)).decode("latin-1")

    def raw(self, text: str | bytes, wait_s: float = ANSWER_S) -> str:
        """What comes back, end codes included."""
        self.type(text)
        return self.wait(wait_s)

    def ask(self, command: str, slot: str = "1", wait_s: float = ANSWER_S) -> str:
        """The one answer to a command, without its CR."""
        found = self.raw(f"1;{slot};{command}\r", wait_s)
        assert found.endswith("\r"), found
        assert found.count("\r") == 1, found
        return found[:-1]

    def do(self, *commands: str) -> None:
        """Commands that have to be accepted."""
        for command in commands:
            assert self.ask(command)[:3].upper() == "QOK", command

    def ready(self) -> Cr1Terminal:
        """With the operation right and the servo on."""
        self.do("CNTLON", "SRVON")
        self.wait(1.0)
        return self

    def settle(self, longest_s: float = 60.0) -> None:
        """Until nothing runs any more."""
        end_s = self.now_s + longest_s
        while self.cr1.in_motion:
            assert self.now_s < end_s, "it runs on and on"
            self.wait(0.1)

    def status(self) -> tuple[int, int, int]:
        """Run bits, stop bits and error number of DSTATE."""
        body = self.ask("DSTATE")[3:].split(";")[0]
        return int(body[:2], 16), int(body[2:4], 16), int(body[4:])

    def joints(self) -> tuple[float, ...]:
        return tuple(round(angle, 6) for angle in self.cr1.joints)

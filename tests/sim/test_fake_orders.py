"""What the owner of a fake lets happen to it, at the moment at which it says so."""

from __future__ import annotations

from multiprocessing import Pipe
from typing import Any

import pytest

from hil.clock import monotonic_s
from hil.errors import ConfigError, LinkError
from hil.runtime.fake_process import FakeProcess
from sim.bench import BenchServo, ServoBench
from sim.faults import Event, Fault, FaultKind
from sim.ports import FakeLine
from sim.ssc32 import Ssc32Board


def driven() -> tuple[FakeLine, Ssc32Board]:
    board = Ssc32Board(start_s=0.0)
    line = FakeLine(board, 115200, bench=ServoBench(board, [BenchServo(channel=0)]))
    line.poll(0.2)
    line.send(b"#0P1500\r", 0.2)
    line.poll(0.3)
    assert board.pulse_us(0) == 1500.0
    return line, board


def happen(kind: FaultKind, at_s: float, begins: bool = True) -> Event:
    return Event(time_s=at_s, fault=Fault(kind=kind), begins=begins)


def test_a_restart_on_command_ends_the_pulses_without_any_script() -> None:
    line, board = driven()
    line.happen(happen(FaultKind.RESET, 0.4))
    line.poll(1.0)
    assert board.pulse_us(0) == 0.0


def test_what_was_answered_before_it_happened_still_arrives() -> None:
    line, _ = driven()
    line.send(b"VER\r", 0.39)
    line.happen(happen(FaultKind.RESET, 0.395))
    assert line.poll(0.5).startswith(b"SSC32")


def test_the_cable_on_command_takes_with_it_what_is_on_the_line() -> None:
    line, _ = driven()
    line.send(b"VER\r", 0.4)
    line.happen(happen(FaultKind.UNPLUG, 0.4001))
    assert line.poll(0.5) == b""


def fake(kind: str) -> tuple[FakeProcess, Any]:
    """Its owner's end without a process behind it, and the other end."""
    ours, theirs = Pipe()
    return FakeProcess(url="none", process=None, line=ours, kind=kind), theirs  # type: ignore[arg-type]


def test_what_the_owner_says_goes_to_the_fake_with_the_moment_noted() -> None:
    owner, theirs = fake("ssc32")
    before_s = monotonic_s()
    said_s = owner.meet("unplug")
    assert before_s <= said_s <= monotonic_s()
    owner.meet("unplug", begins=False)
    assert [theirs.recv(), theirs.recv()] == [(FaultKind.UNPLUG, True), (FaultKind.UNPLUG, False)]


@pytest.mark.parametrize(
    ("kind", "fault"), [("ssc32", "key_turned"), ("rv2aj", "no_servo_power"), ("ssc32", "lost"), ("ssc32", "stall")]
)
def test_what_cannot_happen_on_command_is_refused_with_what_can(kind: str, fault: str) -> None:
    owner, theirs = fake(kind)
    with pytest.raises(ConfigError, match="reset, ") as refused:
        owner.meet(fault)
    assert "unplug" in str(refused.value) and not theirs.poll(0)


def test_a_fake_that_is_gone_is_said_to_be_gone() -> None:
    owner, theirs = fake("ssc32")
    theirs.close()
    with pytest.raises(LinkError, match="has ended"):
        owner.meet("reset")


def test_a_lent_fake_is_not_ended_by_who_borrowed_it() -> None:
    owner, theirs = fake("ssc32")
    owner.lent().stop()
    owner.meet("reset")
    assert theirs.recv() == (FaultKind.RESET, True)

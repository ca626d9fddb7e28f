"""A port that takes its time to open holds up no tick, and opens in the same tick when the journal is run again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from virtual_session import Session

from hil.errors import InterlockError, LinkClosed, LinkOpening, LinkTimeout
from hil.link import BytePort
from hil.runtime import host as owners
from hil.runtime import slow_port, wiring
from hil.runtime.host import CONNECT_S, Host
from hil.runtime.journal import JournalWriter
from hil.runtime.replay import replay
from hil.runtime.slow_port import FORGOTTEN_S, LONGEST_S, TELL_S, OpenedAside
from hil.types import Disconnect, EmergencyStop, LineFailure, Mode, Reset, TickRecord
from hil.workbench.columns import read_columns

NAME = "COM7"


class Door:
    """Opens when it is told to; the clock is the test's."""

    def __init__(self, open_port: Callable[[], BytePort] | None = None) -> None:
        self.now_s = 50.0
        self.jobs: list[Callable[[], None]] = []
        self.opened: list[Any] = []
        self._open_port = open_port or self._plain
        self.aside = OpenedAside(NAME, self._open, lambda: self.now_s, self.jobs.append)

    def _plain(self) -> Any:
        return SimpleNamespace(close=lambda: None)

    def _open(self) -> BytePort:
        port = self._open_port()
        self.opened.append(port)
        return port

    def opens(self) -> None:
        """What goes on beside comes to its end."""
        self.jobs.pop(0)()


def test_the_port_is_there_at_the_first_call_after_it_has_opened() -> None:
    door = Door()
    for _ in range(3):
        with pytest.raises(LinkOpening, match="COM7: the port is still being opened"):
            door.aside()
        door.now_s += 0.5
    door.opens()
    assert door.aside() is door.opened[0]


def test_it_is_opened_once_however_often_it_is_asked_for_and_anew_after_that() -> None:
    door = Door()
    for _ in range(4):
        with pytest.raises(LinkOpening):
            door.aside()
    assert len(door.jobs) == 1
    door.opens()
    door.aside()
    with pytest.raises(LinkOpening):
        door.aside()
    assert len(door.jobs) == 1


@pytest.mark.parametrize("error", [LinkClosed("no such port", NAME), InterlockError("another adapter"), OSError("odd")])
def test_why_it_does_not_open_is_told_where_it_is_asked_for_and_the_next_time_it_is_tried_again(
    error: Exception,
) -> None:
    def refuse() -> BytePort:
        raise error

    door = Door(refuse)
    with pytest.raises(LinkOpening):
        door.aside()
    door.opens()
    with pytest.raises(type(error), match=str(error)):
        door.aside()
    with pytest.raises(LinkOpening):
        door.aside()


@pytest.mark.parametrize("late_s", [0.9 * LONGEST_S, 1.1 * LONGEST_S])
def test_a_port_that_never_opens_is_said_and_closed_if_it_opens_after_all(late_s: float) -> None:
    closed: list[str] = []
    door = Door(lambda: SimpleNamespace(close=lambda: closed.append("late")))  # type: ignore[arg-type, return-value]
    with pytest.raises(LinkOpening):
        door.aside()
    while door.now_s < 50.0 + late_s:
        door.now_s += 0.5 * FORGOTTEN_S
        with pytest.raises((LinkOpening, LinkTimeout)) as words:
            door.aside()
        if words.type is LinkTimeout:
            assert door.now_s > 50.0 + LONGEST_S
            assert "has not opened within 45 s" in str(words.value)
            break
    assert (words.type is LinkTimeout) == (late_s > LONGEST_S)
    door.opens()
    assert closed == (["late"] if late_s > LONGEST_S else [])


@pytest.mark.parametrize("opens_first", [True, False])
def test_a_port_that_nobody_has_asked_for_meanwhile_is_let_go_of_and_opened_anew(opens_first: bool) -> None:
    closed: list[str] = []
    door = Door(lambda: SimpleNamespace(close=lambda: closed.append("old")))  # type: ignore[arg-type, return-value]
    with pytest.raises(LinkOpening):
        door.aside()
    if opens_first:
        door.opens()
    door.now_s += 1.01 * FORGOTTEN_S
    with pytest.raises(LinkOpening):
        door.aside()
    if not opens_first:
        door.opens()
    assert closed == ["old"]
    door.opens()
    assert door.aside() is door.opened[1]


def test_it_opens_in_a_thread_that_no_end_of_the_program_waits_for() -> None:
    seen: list[tuple[str, bool]] = []
    done = threading.Event()

    def look() -> None:
        seen.append((threading.current_thread().name, threading.current_thread().daemon))
        done.set()

    slow_port.in_a_thread(look)
    assert done.wait(20.0)
    assert seen == [("hil-opening", True)]


# -- a session -------------------------------------------------------------------------------------------


class SlowSession(Session):
    """A session whose port opens beside the ticks, when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.door = Door(self._open_port)
        self.tap._open_port = self.door.aside

    def tick(self, *requests: Any, after_s: float | None = None) -> TickRecord:
        self.door.now_s = self.clock.now_s() + self.rig.period_s
        return super().tick(*requests, after_s=after_s)


def test_ticks_go_on_while_the_port_opens_and_nothing_is_sent() -> None:
    s = SlowSession()
    s.run(2.0)
    assert s.mode is Mode.CONNECTING and len(s.records) > 99
    assert all(record.written == b"" for record in s.records)
    assert all([failure.kind for failure in record.failures] == ["LinkOpening"] for record in s.records)
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.confirm())


def test_a_person_is_told_once_that_it_takes_long() -> None:
    s = SlowSession()
    s.run(0.9 * TELL_S)
    assert not any("still being opened" in event for event in s.events)
    s.run(2.0)
    assert sum("COM7: the port is still being opened" in event for event in s.events) == 1


def test_a_port_that_does_not_open_is_a_fault_in_its_own_words_and_a_reset_tries_again() -> None:
    s = SlowSession()
    s.run(0.1)
    s.door._open_port = lambda: (_ for _ in ()).throw(LinkClosed("COM7: no such port"))
    s.door.opens()
    s.until(Mode.FAULT)
    assert "COM7: no such port" in s.events[-1]
    s.run(0.1)
    assert not s.door.jobs
    s.door._open_port = s._open_port
    s.tick(Reset(by="the test"))
    assert s.mode is Mode.CONNECTING
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)


def test_a_software_stop_meanwhile_latches_and_leads_to_a_new_attempt_at_the_reset() -> None:
    s = SlowSession()
    s.run(0.1)
    s.tick(EmergencyStop(reason="the test"))
    s.door.opens()
    s.run(2.0 * FORGOTTEN_S)
    assert s.mode is Mode.ESTOP and all(record.written == b"" for record in s.records)
    s.tick(Reset(by="the test"))
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)
    assert len(s.door.opened) == 2


def test_one_can_leave_meanwhile() -> None:
    s = SlowSession()
    s.run(0.1)
    s.tick(Disconnect(reason="the test"))
    assert s.bridge.finished and s.mode is Mode.DISCONNECTED


def _write(s: Session, path: Path) -> Path:
    with JournalWriter(path, s.session_record()) as journal:
        for record in s.records:
            journal.tick(record)
    return path


def _replays(s: Session, path: Path) -> None:
    _write(s, path)
    verdict = replay(path)
    assert verdict.same, verdict.first_difference
    assert verdict.ticks == len(s.records)


@pytest.mark.parametrize("ticks", [0, 1, 7])
def test_a_replay_gets_the_port_in_the_same_tick(tmp_path: Path, ticks: int) -> None:
    s = SlowSession()
    s.tick()
    for _ in range(ticks):
        s.tick()
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.confirm())
    _replays(s, tmp_path / "slow.mcap")


def test_so_it_does_after_a_pulled_cable(tmp_path: Path) -> None:
    s = SlowSession()
    s.tick()
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)
    s.unplug()
    s.until(Mode.FAULT)
    s.plug_in()
    s.tick(Reset(by="the test"))
    s.run(0.5)
    s.door.opens()
    s.until(Mode.UNKNOWN_POSE)
    s.run(0.2)
    _replays(s, tmp_path / "again.mcap")


def test_what_is_read_from_the_journal_tells_it_once_too_and_a_failure_as_one(tmp_path: Path) -> None:
    s = SlowSession()
    s.run(1.5 * TELL_S)
    s.door._open_port = lambda: (_ for _ in ()).throw(LinkClosed("COM7: no such port"))
    s.door.opens()
    s.until(Mode.FAULT)
    words = [each.text for each in read_columns(_write(s, tmp_path / "slow.mcap")).words]
    assert sum("still being opened" in text for text in words) == 1
    assert "line: open failed: COM7: no such port" in words


# -- wiring and owner ------------------------------------------------------------------------------------


def test_the_loop_s_bridge_opens_aside_and_tests_on_virtual_time_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(wiring, "OpenedAside", lambda name, door: asked.append(name))
    rig = wiring.load_rig("lynx6")
    record = wiring.session_record(rig, url="/dev/ttyUSB9", fake=True)
    wiring.serial_bridge(record, rig)
    assert not asked
    wiring.serial_bridge(record, rig, aside=True)
    assert asked == ["/dev/ttyUSB9"]


def test_an_owner_waits_for_a_slow_port_longer_than_for_a_silent_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = LineFailure(call="open", kind="LinkOpening", message="still being opened")
    now_s, opens_s = [100.0], 100.0 + 3 * CONNECT_S
    owner: Any = Host(wiring.load_rig("lynx6"), url=None, journal=Path(), command="a test")

    def poll() -> None:
        failures = (slow,) if now_s[0] < opens_s else ()
        mode = Mode.CONNECTING if now_s[0] < opens_s + 1.0 else Mode.UNKNOWN_POSE
        owner.last = SimpleNamespace(failures=failures, mode=mode, reported=None)

    monkeypatch.setattr(owners, "monotonic_s", lambda: now_s[0])
    monkeypatch.setattr(owners, "time", SimpleNamespace(sleep=lambda seconds: now_s.__setitem__(0, now_s[0] + seconds)))
    owner.poll, owner._loop = poll, SimpleNamespace(is_alive=lambda: True)
    owner._ask = lambda vouch: pytest.fail("it came here", pytrace=False)
    with pytest.raises(pytest.fail.Exception, match="it came here"):
        owner.connect(lambda reported: "nobody")
    assert now_s[0] == pytest.approx(opens_s + 1.0, abs=0.1)

"""An owner hears from other terminals that the servo supply was cut, remembers it, and asks nobody for a pose then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_suspended_owner import Nothing
from virtual_session import Session

from hil.errors import LinkError
from hil.model._supply_file import read_supply, write_supply
from hil.runtime import host as owners
from hil.runtime import wiring
from hil.runtime.controller_memory import ControllerMemory
from hil.runtime.hold_reminder import REMINDER
from hil.runtime.host import Host
from hil.runtime.supply_memory import SupplyMemory
from hil.types import Confirm, JointState, Mode, Reset, Supply, SupplyCut, TickRecord

URL = "/dev/ttyUSB0"


class Ring(Nothing):
    """A loop that publishes what a virtual session has made."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[TickRecord] = []

    def read(self) -> list[bytes]:
        """Everything new."""
        new, self.records = self.records, []
        return [msgspec.msgpack.encode(record) for record in new]


class Owned:
    """A host whose loop is a virtual session, on a clock of the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str | None = URL) -> None:
        rig = wiring.load_rig("lynx6")
        self.ring, self.now_s = Ring(), 50.0
        self.host: Any = Host(rig, url=url, journal=Path(), command="a test")
        self.host._mailbox = self.host._reader = self.ring
        self.host._memory = ControllerMemory(rig, None)
        self.host._supply = SupplyMemory(rig.id, url)
        monkeypatch.setattr(owners.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(owners.time, "sleep", self.sleep)
        monkeypatch.setattr(Host, "alive", True)
        self.ticks = iter(())

    def sleep(self, seconds: float) -> None:
        """The loop goes on meanwhile."""
        self.now_s += seconds
        self.ring.records.extend(record for record in [next(self.ticks, None)] if record is not None)

    def poll(self, *records: TickRecord) -> None:
        self.ring.records.extend(records)
        self.now_s += 0.02
        self.host.poll()


@pytest.mark.parametrize("url", [URL, None])
def test_what_is_said_at_another_terminal_goes_to_the_loop(monkeypatch: pytest.MonkeyPatch, url: str | None) -> None:
    owned = Owned(monkeypatch, url)
    owned.poll()
    write_supply("lynx6", "Ann", "now")
    for _ in range(20):
        owned.poll()
    assert owned.ring.sent == [SupplyCut(by="Ann")]


def test_what_the_loop_holds_is_there_for_the_next_session_and_gone_once_somebody_vouched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owned, session = Owned(monkeypatch), Session()
    session.to(Mode.IDLE).tick(SupplyCut(by="Ann"))
    owned.poll(*session.records)
    assert read_supply("lynx6") is not None
    count = len(session.records)
    session.board.power_cycle(session.clock.now_s())
    session.run(0.3)
    session.until(Mode.UNKNOWN_POSE, Reset(by="Ann"))
    session.until(Mode.IDLE, session.vouch())
    owned.poll(*session.records[count:])
    assert read_supply("lynx6") is None
    # What it has written itself is no news.
    for _ in range(20):
        owned.poll()
    assert owned.ring.sent == []


@pytest.mark.parametrize("driven", [True, False])
def test_nobody_is_asked_for_a_pose_before_the_board_has_shown_that_it_forgot_its_pulses(
    monkeypatch: pytest.MonkeyPatch, driven: bool
) -> None:
    write_supply("lynx6", "Ann", "now")
    owned, session = Owned(monkeypatch), Session(driven=driven, supply=Supply.CUT)
    owned.ticks = iter(lambda: session.tick(), None)
    asked: list[JointState | None] = []

    def vouch(reported: JointState | None) -> str:
        asked.append(reported)
        raise LinkError("enough")

    monkeypatch.setattr(Host, "meanwhile", lambda self, action, too_late: action())
    with pytest.raises(LinkError, match="the controller still drives base" if driven else "enough"):
        owned.host.connect(vouch)
    assert len(asked) == (not driven)
    assert not any(isinstance(request, Confirm) for request in owned.ring.sent)


def test_an_owner_is_reminded_of_an_arm_that_only_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    owned, session = Owned(monkeypatch), Session()
    session.to(Mode.IDLE)
    last = session.last
    owned.poll(*session.records, *(msgspec.structs.replace(last, t_s=last.t_s + after_s) for after_s in (300.0, 601.0)))
    assert [event for event in owned.host.events if event.startswith(REMINDER)] == owned.host.remarks != []

"""A stop while the servos of an RV-2AJ come on: they stay off, or go off again, and nothing is started."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from virtual_session import session_in_memory

from hil.model.rig import Rig
from hil.runtime import wiring
from hil.runtime.journal import JournalWriter
from hil.runtime.replay import replay
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.types import Confirm, Disconnect, EmergencyStop, EndStream, Mode, Request, Reset, Stop, TickRecord
from sim.cr1 import Cr1, Cr1Settings

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line", "rv2aj-mxt")
STOPS: dict[str, Request] = {
    "stop": Stop(reason="test"),
    "software stop": EmergencyStop(reason="test"),
    "end of the session": Disconnect(reason="test"),
}
LONG_S = 7.5
"""Longer than servos take to come on, and to be given up."""


@functools.cache
def _rig(name: str) -> Rig:
    return wiring.load_rig(name)


class Stand:
    """An arm whose first moves have begun, and its controller."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        made: list[Cr1] = []

        def make(settings: Cr1Settings, **given: object) -> Cr1:
            made.append(Cr1(settings, **given))  # type: ignore[arg-type]
            return made[-1]

        patch.setattr("hil.runtime.kinds.rv2aj_fake.Cr1", make)
        self.arm = VirtualArm(_rig(name))
        self.cr1 = made[-1]
        self.arm.until(Mode.UNKNOWN_POSE)
        self.confirm = Confirm(positions=self.arm.rig.park, by="test")
        self.arm.until(Mode.ENERGISING, self.confirm)

    def asked_on(self) -> TickRecord:
        """Tick until SRVON leaves."""
        while b"SRVON" not in (record := self.arm.tick()).written:
            assert record.mode is Mode.ENERGISING
        return record

    @property
    def on(self) -> bool:
        """The servos are on."""
        self.cr1.advance(self.arm.now_s)
        return self.cr1.machine.servo.on


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("after_s", [0.3, 1.1])
@pytest.mark.parametrize("how", STOPS)
def test_whenever_the_stop_comes_nothing_comes_on_after_it(
    monkeypatch: pytest.MonkeyPatch, name: str, after_s: float, how: str
) -> None:
    stand = Stand(monkeypatch, name)
    stand.arm.wait(after_s)
    assert stand.arm.mode is Mode.ENERGISING
    on_before = stand.on
    stand.arm.tick(STOPS[how])
    for _ in range(round(LONG_S / stand.arm.rig.period_s)):
        stand.arm.tick()
        if stand.arm.mode is Mode.DISCONNECTED:
            break
    stand.cr1.advance(stand.arm.now_s + LONG_S)
    assert on_before or not stand.cr1.machine.servo.on
    assert not stand.cr1.machine.a_program_runs
    assert stand.arm.servos == stand.arm.rig.park


@pytest.mark.parametrize("name", RIGS)
def test_before_it_was_asked_for_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert stand.arm.mode is Mode.UNKNOWN_POSE
    assert b"SRV" not in stand.arm.written


def test_on_its_way_it_is_called_back_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert stand.arm.written.count(b"SRVON") == 1
    assert b"SRVOFF" in stand.arm.written.split(b"STOP")[-1]
    assert "the servos were on their way on when the stop came; they are off again" in stand.arm.events


def test_servos_that_come_on_after_all_are_switched_off_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller may refuse SRVOFF while they come on."""
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    refused: list[float] = []
    genuine = stand.cr1.machine.drives.switch_off

    def refuse_the_first(now_s: float, **how: bool) -> None:
        refused.append(now_s)
        if len(refused) > 1:
            genuine(now_s, **how)

    monkeypatch.setattr(stand.cr1.machine.drives, "switch_off", refuse_the_first)
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert not stand.on
    assert len(refused) == 2


def test_servos_that_do_not_go_off_are_named_and_keep_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    monkeypatch.setattr(stand.cr1.machine.drives, "switch_off", lambda now_s: None)
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert "they do not go off again, and hold the arm: switch them off at the panel" in "\n".join(stand.arm.events)
    assert stand.arm.mode is Mode.UNKNOWN_POSE


def test_servos_that_somebody_else_had_switched_on_stay_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.cr1.machine.servo.come_on()
    stand.arm.wait(0.5)
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert stand.cr1.machine.servo.on
    assert b"SRV" not in stand.arm.written


@pytest.mark.parametrize("name", RIGS)
def test_confirmed_again_a_second_later_they_come_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.asked_on()
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(1.0)
    stand.arm.until(Mode.IDLE, stand.confirm, within_s=30.0)
    stand.arm.wait(LONG_S)
    assert stand.cr1.machine.servo.on


def test_after_a_software_stop_the_way_back_leads_over_first_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    stand.arm.tick(EmergencyStop(reason="test"))
    stand.arm.wait(LONG_S)
    stand.arm.until(Mode.UNKNOWN_POSE, Reset(by="test"))
    assert not stand.on
    stand.arm.until(Mode.IDLE, stand.confirm, within_s=30.0)
    assert stand.cr1.machine.servo.on


def test_whose_owner_dies_meanwhile_leaves_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    stand.arm.tick(EndStream(reason="nobody is there"))
    stand.arm.until(Mode.DISCONNECTED, Disconnect(reason="nobody is there"))
    stand.cr1.advance(stand.arm.now_s + LONG_S)
    assert not stand.cr1.machine.servo.on


@pytest.mark.parametrize("before", [False, True])
def test_a_journal_runs_again_also_of_a_session_that_did_not_call_them_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: bool
) -> None:
    if before:
        monkeypatch.setattr("hil.runtime.brake.Brake._call_off", lambda self: False)
    stand = Stand(monkeypatch, "rv2aj")
    stand.asked_on()
    stand.arm.tick(Stop(reason="test"))
    stand.arm.wait(LONG_S)
    assert stand.cr1.machine.servo.on is before
    monkeypatch.undo()
    path = tmp_path / "stopped.mcap"
    settings = {"calls_off": False} if before else {}
    with JournalWriter(path, session_in_memory(stand.arm.rig, 0.0, EPOCH_S, **settings)) as journal:
        for record in stand.arm.records:
            journal.tick(record)
    assert replay(path).first_difference == ""

"""Whoever is at the other end of a port is looked at in every connection, in whatever mode the one before was lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from plugged_in import (
    DEVICE,
    OTHER,
    OURS,
    PluggedSession,
    Plugs,
    another_board,
    calibrated,
    own_folder,
    plugs_here,
    written,
)

from hil.errors import InterlockError, LinkClosed
from hil.link import SerialAdapter
from hil.model.rig import Rig
from hil.runtime import channel_wiring, port_wiring, wiring
from hil.runtime.journal import JournalWriter
from hil.runtime.kinds import kind_named
from hil.runtime.kinds.kind import USUAL
from hil.runtime.replay import replay
from hil.types import ControllerIdentity, Mode, Reset
from sim.cr1 import Cr1

Make = Callable[..., PluggedSession]

MODES = [mode for mode in Mode if mode is not Mode.DISCONNECTED]


@pytest.fixture
def plugs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plugs:
    own_folder(monkeypatch, tmp_path)
    return plugs_here(monkeypatch)


@pytest.fixture
def rig(plugs: Plugs) -> Rig:
    return calibrated()


@pytest.fixture
def session(rig: Rig, plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(expected: ControllerIdentity | None = None, **board: object) -> PluggedSession:
        return PluggedSession(rig, plugs, monkeypatch, expected, **board)

    return make


def an_adapter(s: PluggedSession) -> None:
    s.plugs.plug(OTHER)
    s.answering = another_board(s)


def a_nameless_adapter(s: PluggedSession) -> None:
    s.plugs.plug("")


def a_version(s: PluggedSession) -> None:
    s.answering = another_board(s, version="SSC32-V2.01XE")


def registers(s: PluggedSession) -> None:
    s.answering = another_board(s, registers=((32, 40), (65, 1000)))


def another_kind(s: PluggedSession) -> None:
    s.answering = Cr1()


def something_else(s: PluggedSession) -> None:
    s.answering = another_board(s, version="Grbl 1.1h")


NEVER_OPENED = [(an_adapter, f"carries the adapter {OTHER}"), (a_nameless_adapter, "no adapter with a serial number")]
NEVER_MOVED = [
    (a_version, "what it calls itself was 'SSC32-V2.03XE', is 'SSC32-V2.01XE'"),
    (registers, "pulse offset of channel 0 in us (R32) was '0', is '40'"),
    (another_kind, "it is no SSC-32"),
    (something_else, "it is no SSC-32"),
]


def met_by(s: PluggedSession) -> ControllerIdentity:
    """Who answers in a session."""
    s.to(Mode.UNKNOWN_POSE)
    (met,) = [record.controller for record in s.records if record.controller is not None]
    return met


def lost_and(s: PluggedSession, mode: Mode, exchange: Callable[[PluggedSession], None]) -> None:
    """The line goes away in a mode, and something else is there under the same name."""
    s.bring(mode)
    s.unplug()
    s.run(0.1)
    assert s.mode is (Mode.ESTOP if mode is Mode.ESTOP else Mode.FAULT)
    s.plug_in()
    exchange(s)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(("exchange", "words"), NEVER_OPENED, ids=["other", "nameless"])
def test_another_adapter_gets_no_byte_and_the_right_one_goes_on(
    session: Make, mode: Mode, exchange: Callable[[PluggedSession], None], words: str
) -> None:
    s = session()
    lost_and(s, mode, exchange)
    opened = s.opened
    for _ in range(2):
        since = s.come_back()
        assert s.mode is Mode.FAULT
        assert any(words in event and "may be another arm" in event for event in since[0].events), since[0].events
        assert (b"".join(written(since)), s.opened) == (b"", opened)
    s.plugs.plug(OURS)
    s.answering = s.board
    s.come_back()
    s.until(Mode.IDLE, s.confirm())


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(("exchange", "words"), NEVER_MOVED, ids=["version", "registers", "kind", "else"])
def test_another_controller_is_asked_and_never_moved_and_the_right_one_goes_on(
    session: Make, mode: Mode, exchange: Callable[[PluggedSession], None], words: str
) -> None:
    # While connecting for the first time, it is an earlier session that knows whom to expect.
    s = session(met_by(session()) if mode is Mode.CONNECTING else None)
    lost_and(s, mode, exchange)
    since = s.come_back()
    assert s.mode is Mode.FAULT
    assert any(words in event for event in since[-1].events), since[-1].events
    assert not [line for line in written(since) if b"#" in line]
    quiet = s.run(0.5)
    assert (quiet.mode, quiet.written) == (Mode.FAULT, b"")
    s.unplug()
    s.plug_in()
    s.answering = s.board
    s.come_back()
    s.until(Mode.IDLE, s.confirm())


# -- the look itself -----------------------------------------------------------------------------------------


def test_a_name_that_goes_to_another_adapter_between_the_look_and_the_opening_gets_no_byte(session: Make) -> None:
    s = session()
    s.plugs.looks = 0
    s.plugs.change = lambda look: s.plugs.plug(OURS if look == 1 else OTHER)
    s.run(1.0)
    assert s.mode is Mode.FAULT
    assert s.opened == 1 and s.port.closed
    assert b"".join(written(s.records)) == b""
    assert any(f"carries the adapter {OTHER}" in event for event in s.events)


def test_each_opening_looks_twice_and_nothing_else_does(session: Make) -> None:
    s = session()
    s.plugs.looks = 0
    s.to(Mode.IDLE)
    assert s.plugs.looks == 2
    s.unplug()
    s.run(0.1)
    s.plug_in()
    s.come_back()
    assert s.plugs.looks == 4


def test_an_arm_that_is_known_by_its_place_is_refused_elsewhere_until_somebody_has_looked(
    plugs: Plugs, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugs.plug("")
    s = PluggedSession(calibrated(), plugs, monkeypatch)
    s.to(Mode.IDLE)
    s.unplug()
    s.run(0.1)
    s.plug_in()
    plugs.plug("", place="1-1.3")
    (refused,) = s.come_back()
    assert any("hil identify desk-3 --hardware" in event for event in refused.events)
    assert refused.written == b""


def test_ports_that_cannot_be_listed_are_a_fault_in_words_and_no_crash(session: Make) -> None:
    def broken(look: int) -> None:
        raise OSError("no /sys here")

    s = session()
    s.plugs.change = broken
    s.run(0.1)
    assert s.mode is Mode.FAULT and any("no /sys here" in event for event in s.events)


def test_a_fake_of_our_own_is_no_real_port(rig: Rig, plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    s = PluggedSession(rig, plugs, monkeypatch)
    plugs.plug(OTHER)
    plugs.looks = 0
    s.bridge = wiring.serial_bridge(wiring.session_record(rig, url=DEVICE, fake=True), rig)
    s.to(Mode.IDLE)
    assert plugs.looks == 0


@pytest.mark.parametrize("url", ["/dev/pts/7", "socket://127.0.0.1:5000"])
def test_a_fake_behind_a_port_that_was_named_is_a_real_port(
    plugs: Plugs, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    s = PluggedSession(calibrated(url), plugs, monkeypatch)
    s.bridge = wiring.serial_bridge(wiring.session_record(s.rig, url="/dev/pts/8", fake=False), s.rig)
    s.run(0.1)
    assert s.mode is Mode.FAULT and s.opened == 0
    assert any("nobody has seen that the arm at /dev/pts/8" in event for event in s.events)


# -- behind the same adapter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.UNKNOWN_POSE, Mode.HOLDING, Mode.ESTOP])
def test_a_board_that_is_exchanged_behind_its_adapter_is_asked_who_it_is(
    session: Make, mode: Mode, driven: bool
) -> None:
    """An adapter with a cable to the board: the port stays open while the board is changed.

    One that drives all of its channels does not even look as if it had restarted.
    """
    s = session()
    s.bring(mode)
    s.board.power_off(s.clock.now_s())
    s.run(2.0)
    assert s.mode is (Mode.ESTOP if mode is Mode.ESTOP else Mode.FAULT)
    other = another_board(s, registers=((32, 40),))
    if driven:
        line = "".join(f"#{channel}P1500" for channel in range(32))
        other.receive(f"{line}\r".encode(), s.clock.now_s() - 0.5, other.byte_s)
    s.exchange_behind_the_adapter(other)
    s.run(0.5)
    since = s.come_back()
    assert s.mode is Mode.FAULT
    assert any("R32) was '0', is '40'" in event for event in since[-1].events), since[-1].events
    assert not [line for line in written(since) if b"#" in line]


def test_a_board_that_was_silent_and_is_there_again_is_connected_by_one_reset(session: Make) -> None:
    s = session()
    s.bring(Mode.IDLE)
    s.board.hang(s.clock.now_s())
    s.run(2.0)
    assert s.mode is Mode.FAULT
    s.board.hang(s.clock.now_s(), False)
    s.come_back()
    assert s.mode is Mode.UNKNOWN_POSE


# -- from session to session ---------------------------------------------------------------------------------


def test_who_was_met_is_in_the_record_of_the_tick_that_met_it_and_in_no_other(session: Make) -> None:
    s = session()
    s.to(Mode.IDLE)
    (met,) = [record for record in s.records if record.controller is not None]
    assert met.mode is Mode.UNKNOWN_POSE
    assert met.controller is not None
    assert dict(met.controller.facts)["what it calls itself"] == "SSC32-V2.03XE"
    assert len(met.controller.facts) == 3 + 2 * (len(s.rig.axes) + 1)  # with the canary


def test_where_nobody_was_met_whoever_answers_first_is_the_one(session: Make) -> None:
    s = session()
    lost_and(s, Mode.CONNECTING, registers)
    s.come_back()
    assert s.mode is Mode.UNKNOWN_POSE
    s.unplug()
    s.run(0.1)
    s.plug_in()
    s.answering = s.board
    s.come_back()
    assert s.mode is Mode.FAULT


def test_another_controller_than_in_an_earlier_session_is_refused_with_the_way_to_accept_it(session: Make) -> None:
    met = met_by(session())
    session(met).to(Mode.IDLE)
    s = session(met, registers=((36, -7),))
    s.run(2.0)
    assert s.mode is Mode.FAULT
    (words,) = [event for event in s.events if "not the controller that was here before" in event]
    assert "pulse offset of channel 4 in us (R36) was '0', is '-7'" in words
    assert f"`hil identify desk-3 --hardware --port {DEVICE}`" in words
    assert not [line for line in written(s.records) if b"#" in line]


@pytest.mark.parametrize("exchange", [an_adapter, registers])
def test_a_session_with_a_refusal_replays_to_the_same_bytes(
    session: Make, tmp_path: Path, exchange: Callable[[PluggedSession], None]
) -> None:
    s = session()
    s.to(Mode.IDLE)
    s.unplug()
    s.run(0.1)
    s.plug_in()
    exchange(s)
    s.come_back()
    path = tmp_path / "session.mcap"
    writer = JournalWriter(path, s.record)
    for record in s.records:
        writer.tick(record)
    writer.close()
    verdict = replay(path)
    assert verdict.same, verdict.first_difference


# -- the CR1 -------------------------------------------------------------------------------------------------


class NamedCr1:
    """A CR1 behind an adapter, ticked by hand."""

    def __init__(self, plugs: Plugs, monkeypatch: pytest.MonkeyPatch, expected: ControllerIdentity | None) -> None:
        self.rig = wiring.load_rig("rv2aj", {"adapter_serial": OURS})
        self.fake = kind_named("rv2aj").emulated().in_memory(self.rig, self.rig.park, False, None, 0.0, USUAL)
        self.out = False
        monkeypatch.setattr(port_wiring, "open_serial", self._open)
        record = wiring.session_record(self.rig, url=DEVICE, fake=False, expected=expected)
        self.bridge = wiring.serial_bridge(record, self.rig)
        self.now_s = 0.1
        self.records = []

    def _open(self, url: str, baud: int, framing: str) -> object:
        if self.out:
            raise LinkClosed(f"{url}: there is no such port", url)
        self.port = self.fake.open_port()
        return self.port

    def run(self, duration_s: float, *requests: object) -> None:
        end_s = self.now_s + duration_s
        while self.now_s < end_s:
            self.now_s += self.rig.period_s
            self.records.append(self.bridge.tick(self.now_s, requests))  # type: ignore[arg-type]
            requests = ()

    @property
    def events(self) -> list[str]:
        return [event for record in self.records for event in record.events]


def test_a_cr1_behind_another_adapter_gets_no_byte(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = NamedCr1(plugs, monkeypatch, None)
    arm.run(5.0)
    assert arm.bridge.mode is Mode.UNKNOWN_POSE
    arm.port.unplug(arm.now_s)  # type: ignore[attr-defined]
    arm.run(0.1)
    assert arm.bridge.mode is Mode.FAULT
    plugs.plug(OTHER)
    before = len(arm.records)
    arm.run(0.5, Reset(by="the test"))
    assert arm.bridge.mode is Mode.FAULT
    assert any(f"carries the adapter {OTHER}" in event for event in arm.events)
    assert b"".join(record.written for record in arm.records[before:]) == b""
    plugs.plug(OURS)
    arm.run(3.0, Reset(by="the test"))
    assert arm.bridge.mode is Mode.UNKNOWN_POSE


def test_another_cr1_than_in_an_earlier_session_is_refused_before_it_is_told_anything(
    plugs: Plugs, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = NamedCr1(plugs, monkeypatch, None)
    first.run(5.0)
    (met,) = [record.controller for record in first.records if record.controller is not None]
    again = NamedCr1(plugs, monkeypatch, met)
    again.run(5.0)
    assert again.bridge.mode is Mode.UNKNOWN_POSE
    what, value = met.facts[0]
    other = NamedCr1(plugs, monkeypatch, ControllerIdentity(facts=((what, value + " of another day"),)))
    other.run(5.0)
    assert other.bridge.mode is Mode.FAULT
    assert any("hil identify rv2aj --hardware" in event and "of another day" in event for event in other.events)
    said = b"".join(record.written for record in other.records)
    assert b"SRVON" not in said and b"CNTLON" not in said


# -- commands that need no session ---------------------------------------------------------------------------


def test_single_channels_are_opened_at_the_adapter_that_is_written_down_and_at_no_other(
    rig: Rig, plugs: Plugs, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = wiring.load_rig("desk-3", calibrated=False)
    opened = []
    monkeypatch.setattr(port_wiring, "open_serial", lambda *given: opened.append(given) or pytest.fail("opened"))
    adapter = port_wiring.check_adapter(raw, DEVICE)
    plugs.plug(OTHER)
    arm = channel_wiring.real_channels(raw, DEVICE, [0], adapter)
    with pytest.raises(InterlockError, match=f"carries adapter {OTHER} now; at the beginning it was adapter {OURS}"):
        arm.link.open(0.0)
    assert not opened


def measured(rig: Rig, url: str) -> object:
    return port_wiring.HandLedArm(rig, url).measured()


@pytest.mark.parametrize("ask", [port_wiring.look_over, port_wiring.back_up, port_wiring.who_answers, measured])
def test_a_controller_by_itself_is_asked_at_its_own_adapter_only(
    plugs: Plugs, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Rig, str], object]
) -> None:
    monkeypatch.setattr(port_wiring, "open_serial", lambda *_: pytest.fail("opened"))
    plugs.here = (SerialAdapter(device=DEVICE, serial_number=OTHER),)
    with pytest.raises(InterlockError, match=f"carries the adapter {OTHER}"):
        ask(wiring.load_rig("rv2aj", {"adapter_serial": OURS}), DEVICE)

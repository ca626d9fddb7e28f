"""The farewell of an RV-2AJ's session: requests at their distance, each read, and nobody is kept waiting by it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from virtual_session import session_in_memory

from drivers._rv2aj_codec import Reply
from drivers._rv2aj_farewell import part
from drivers._rv2aj_line import Cr1Line, Heard
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_settings import SPACING_S, Rv2ajSettings, Way
from drivers.rv2aj import look_over
from hil.clock import VirtualClock
from hil.model.rig import Rig
from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.farewell import LONGEST_S, Farewell
from hil.runtime.journal import JournalWriter
from hil.runtime.replay import replay
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.types import (
    Arm,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    Mode,
    Request,
    Reset,
    TickRecord,
)
from hil.types import Stop as StopRequest
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings, Stop
from sim.ports import MemoryPort

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
OURS = ("HILEXEC", "HILHOT", "HILLINE")


@functools.cache
def _rig(name: str) -> Rig:
    return wiring.load_rig(name)


class Stand:
    """An arm on virtual time, its controller, and the ticks since its end was asked for."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, **choices: Any) -> None:
        made: list[Cr1] = []

        def make(settings: Cr1Settings, **given: Any) -> Cr1:
            made.append(Cr1(msgspec.structs.replace(settings, exec_wants_program=True, **choices), **given))
            return made[-1]

        patch.setattr("hil.runtime.kinds.rv2aj_fake.Cr1", make)
        self.rig = _rig(name)
        self.arm = VirtualArm(self.rig)
        self.cr1 = made[-1]
        self.arm.until(Mode.UNKNOWN_POSE)
        self.arm.until(Mode.IDLE, Confirm(positions=self.rig.park, by="test"))
        self.arm.wait(0.3)
        self.parting: list[TickRecord] = []

    def stream(self) -> None:
        """In the middle of a motion."""
        self.arm.begin(plan_joint_move(self.rig, self.rig.park, (4 * DEG, *self.rig.park[1:])))
        self.arm.wait(1.5)

    def leave(self, *requests: Request, most_s: float = 20.0) -> float:
        """Disconnect; how long it took from the last tick that could move the arm, or from the first."""
        first = len(self.arm.records)
        self.arm.until(Mode.DISCONNECTED, *(requests or (Disconnect(reason="the end"),)), within_s=most_s)
        records = self.arm.records[first:]
        moving = [k for k, record in enumerate(records) if record.mode in (Mode.STREAMING, Mode.STOPPING)]
        self.parting = records[moving[-1] + 1 if moving else 0 :]
        self.cr1.advance(self.arm.now_s + 5.0)
        return self.parting[-1].t_s - self.parting[0].t_s

    @property
    def said(self) -> list[str]:
        """Requests of the farewell."""
        return b"".join(record.written for record in self.parting).decode("ascii").replace("1;1;", "").split("\r")[:-1]

    @property
    def clean(self) -> bool:
        """Nothing of ours is in the controller."""
        return (
            not self.cr1.conversation.session.opened
            and not self.cr1.machine.enabled
            and not {*OURS} & {*self.cr1.machine.store.programs}
        )


def _check_distances(records: list[TickRecord]) -> int:
    """Every request leaves alone, and at its distance after the reply to the one before, which was read."""
    requests, replied_s, waiting = 0, float("-inf"), False
    for record in records:
        if record.received.endswith(b"\r"):
            replied_s, waiting = record.t_s, False
        if record.written:
            assert record.written.count(b"\r") == 1, record.written
            assert not waiting, f"{record.written!r} leaves before an answer is there"
            assert record.t_s - replied_s >= SPACING_S - 1e-9, record.written
            requests, waiting = requests + 1, True
    assert not waiting
    return requests


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("moving", [False, True])
def test_each_request_of_the_farewell_keeps_its_distance_and_is_answered(
    monkeypatch: pytest.MonkeyPatch, name: str, moving: bool
) -> None:
    stand = Stand(monkeypatch, name)
    if moving:
        stand.stream()
    assert stand.leave() < LONGEST_S
    begins = next(
        k for k, record in enumerate(stand.parting) if b"PRGUP" in record.written or b"STOP" in record.written
    )
    assert _check_distances(stand.parting[begins:]) >= 4
    assert stand.said[-2:] == ["CNTLOFF", "CLOSE"]
    assert stand.clean


@pytest.mark.parametrize("name", RIGS)
def test_nothing_that_moves_is_sent_meanwhile_and_nothing_is_armed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.stream()
    stand.arm.until(Mode.HOLDING, Disconnect(reason="the end"))
    record = stand.arm.tick(Arm(digest="any"))
    assert record.mode is Mode.HOLDING
    assert any("no more motion in this session: it ends" in event for event in record.events)
    stand.leave(StopRequest(reason="once more"))
    assert not [text for text in stand.said if text.startswith(("EXECMOV", "EXECJT", "PRN", "HOT"))]


def test_a_session_that_never_took_the_right_says_close_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = VirtualArm(_rig("rv2aj"))
    arm.until(Mode.UNKNOWN_POSE)
    arm.wait(0.3)
    before = len(arm.written)
    arm.until(Mode.DISCONNECTED, Disconnect(reason="the end"))
    assert arm.written[before:].decode("ascii").split("\r")[-2:] == ["1;1;CLOSE", ""]
    assert b"CNTLOFF" not in arm.written


@pytest.mark.parametrize("name", RIGS)
def test_a_software_stop_meanwhile_is_said_at_once_and_the_farewell_begins_anew(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stand = Stand(monkeypatch, name)
    first = stand.arm.tick(Disconnect(reason="the end"))
    assert first.mode is not Mode.DISCONNECTED
    record = stand.arm.tick(EmergencyStop(reason="test"))
    assert record.mode is Mode.ESTOP and b"STOP" in record.written
    stand.leave(StopRequest(reason="and again"))
    assert stand.clean


# -- who is not kept waiting -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIGS)
def test_after_a_fault_the_line_is_let_go_of_in_the_same_tick(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.cr1.press(Stop.PANEL, stand.arm.now_s)
    stand.arm.until(Mode.FAULT)
    assert stand.leave() == 0.0


@pytest.mark.parametrize("name", RIGS)
def test_who_is_dead_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.stream()
    assert stand.leave(EndStream(reason="the owner has ended"), Disconnect(reason="the owner has ended")) == 0.0


def test_an_owner_that_dies_meanwhile_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    assert stand.arm.tick(Disconnect(reason="the end")).mode is not Mode.DISCONNECTED
    assert stand.arm.tick(EndStream(reason="the owner has ended")).mode is Mode.DISCONNECTED


@pytest.mark.parametrize("name", RIGS)
def test_a_controller_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    stand = Stand(monkeypatch, name)
    stand.cr1.hang(stand.arm.now_s)
    assert stand.leave() <= LONGEST_S + 2 * stand.rig.period_s
    assert stand.arm.mode is Mode.DISCONNECTED


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("ticks", range(1, 60, 4))
def test_wherever_it_is_broken_off_nothing_of_ours_stays(
    monkeypatch: pytest.MonkeyPatch, name: str, ticks: int
) -> None:
    stand = Stand(monkeypatch, name)
    stand.arm.tick(Disconnect(reason="the end"))
    for _ in range(ticks):
        if stand.arm.mode is not Mode.DISCONNECTED:
            stand.arm.tick()
    if stand.arm.mode is not Mode.DISCONNECTED:
        stand.leave(EndStream(reason="the owner has ended"))
    stand.cr1.advance(stand.arm.now_s + 5.0)
    assert stand.clean


class Talker:
    """A link that has something to say for so long."""

    def __init__(self, until_s: float) -> None:
        self.until_s, self.asked = until_s, 0

    def part(self, now_s: float) -> bool:
        self.asked += 1
        return now_s >= self.until_s


@pytest.mark.parametrize(("until_s", "over_s"), [(100.0, 100.0), (100.7, 100.7), (1e9, 100.0 + LONGEST_S)])
def test_a_link_is_let_talk_until_it_is_done_or_for_so_long(until_s: float, over_s: float) -> None:
    link: Any = Talker(until_s)
    parting, tick = Farewell(), 0
    while not parting.over(link, 100.0 + 0.02 * tick):
        tick += 1
    assert 100.0 + 0.02 * tick == pytest.approx(over_s, abs=0.021)
    assert link.asked == tick + 1


def test_a_link_that_has_nothing_to_say_is_not_asked() -> None:
    link: Any = object()
    assert Farewell().over(link, 100.0)


# -- refusals, replays, surveys --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "said", "words"),
    [
        ([0], ["PRGUP", "FDELHILHOT"], ""),
        ([4190, 0], ["PRGUP", "FDELHILHOT"] * 2, ""),
        ([4140], ["PRGUP", "FDELHILHOT"], ""),
        ([4160], ["PRGUP", "FDELHILHOT"], "at the end the controller refuses FDELHILHOT: "),
        ([4190, 4190], ["PRGUP", "FDELHILHOT"] * 2, "at the end the controller refuses FDELHILHOT: "),
    ],
)
def test_a_refused_deletion_is_tried_again_where_that_helps_or_said_and_the_rest_is_done(
    errors: list[int], said: list[str], words: str
) -> None:
    clock = VirtualClock()
    line = Cr1Line(Rv2ajSettings(port_url="memory", baud=9600), MemoryPort(Cr1(Cr1Settings()), 9600), clock.now_s())
    ours, left = OurProgram(Way.HOT), list(errors)
    ours.owned, line.opened = True, True
    asked, talk, heard = list[str](), part(line, ours, True), None
    while True:
        try:
            ask = talk.send(heard)
        except StopIteration as done:
            refused = done.value
            break
        assert ask is not None
        asked.append(ask.command)
        error = left.pop(0) if ask.command.startswith("FDEL") else 0
        heard = Heard(Reply(not error, "R" if error else "K", error, "", ""), 1.0)
    assert asked == [*said, "CNTLOFF", "CLOSE"]
    assert len(refused) == bool(words) and all(each.startswith(words) for each in refused)
    assert not line.opened and not ours.owned


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("silent", [False, True])
def test_a_session_with_a_farewell_replays_to_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, silent: bool
) -> None:
    stand = Stand(monkeypatch, name)
    stand.stream()
    stand.arm.until(Mode.HOLDING, StopRequest(reason="test"))
    if silent:
        stand.cr1.hang(stand.arm.now_s)
    stand.leave()
    records, rig, start_s = stand.arm.records, stand.rig, stand.arm.records[0].t_s
    session = session_in_memory(rig, start_s, EPOCH_S)
    with JournalWriter(tmp_path / "one.mcap", session) as journal:
        for record in records:
            journal.tick(record)
    verdict = replay(tmp_path / "one.mcap")
    assert verdict.same, verdict.first_difference
    assert verdict.ticks == len(records)


def test_a_reset_meanwhile_changes_nothing_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.arm.tick(Disconnect(reason="the end"))
    stand.leave(Reset(by="test"))
    assert stand.clean


def test_a_survey_closes_at_its_distance_and_waits_for_the_answer() -> None:
    cr1, clock = Cr1(Cr1Settings()), VirtualClock()
    spoken: list[tuple[float, bytes, bytes]] = []

    class Told(MemoryPort):
        def read(self, now_s: float) -> bytes:
            data = super().read(now_s)
            if data:
                spoken.append((now_s, b"", data))
            return data

        def write(self, data: bytes, now_s: float) -> None:
            spoken.append((now_s, data, b""))
            super().write(data, now_s)

    look_over(Rv2ajSettings(port_url="memory", baud=9600), lambda: Told(cr1, 9600), clock)
    closing = next(k for k, (_, data, _) in enumerate(spoken) if b"CLOSE" in data)
    replied_s = max(at_s for at_s, _, data in spoken[:closing] if data)
    assert spoken[closing][0] - replied_s >= SPACING_S
    assert spoken[-1][2].endswith(b"\r") and not cr1.conversation.session.opened

"""A certified motion goes by the table certified with it: the same bytes as sample by sample, and read back."""

from __future__ import annotations

import array
import functools
import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import pytest
from virtual_session import EPOCH_S, Session, certified, load, lynx6, swing

from drivers import _rv2aj_course, _rv2aj_delivery, _rv2aj_settings, _ssc32_moves, _ssc32_settings, ssc32
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.tasks import load_task
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.bridge import Bridge
from hil.runtime.certified_rows import wire_table
from hil.runtime.preview import preview
from hil.runtime.replay import ReplayPort
from hil.runtime.sources import MotionSource
from hil.safety.certificate import Certificate, verify_table
from hil.types import Arm, ArmJog, AxisJog, Confirm, JogStep, Load, Mode, Request, Start, Stop, TickRecord
from hil.units import DEG
from hil.wire_table import WireTable
from hil.workbench._proof import FoundError, Search
from hil.workbench._prove_sessions import Stack

TASKS = sorted((Path(__file__).parents[2] / "configs" / "tasks").glob("*.toml"))
RIGS = ("lynx6", "rv2aj", "rv2aj-hot", "rv2aj-line", "rv2aj-mxt")
SAMPLE = 40
"""One in the middle of the motions below."""

Plant = Callable[[Bridge], object]


@functools.cache
def rig_called(name: str) -> Rig:
    return wiring.load_rig(name)


@functools.cache
def move(name: str) -> Motion:
    """All axes of a rig, for a few seconds."""
    rig = rig_called(name)
    if name == "lynx6":
        return swing()
    goal = tuple(angle + by * DEG for angle, by in zip(rig.park, (40, 8, -20, -15, 30), strict=True))
    return plan_joint_move(rig, rig.park, goal)


@functools.cache
def tabled(name: str) -> Certificate:
    return certified(rig_called(name), move(name))


def plain(rig: Rig, motion: Motion) -> Certificate:
    """Of a time before there were tables."""
    return certified(rig, motion, table=None)


def stream(
    rig: Rig,
    motion: Motion,
    certificate: Certificate,
    plant: Plant = lambda bridge: None,
    later: dict[int, tuple[Request, ...]] | None = None,
) -> list[TickRecord]:
    """One session on virtual time, from connecting to rest; `plant` comes once the motion is armed."""
    arm = wiring.virtual_arm(rig, rig.park, energised=False, epoch_offset_s=EPOCH_S)
    records: list[TickRecord] = []
    steps: tuple[tuple[tuple[Request, ...], Mode], ...] = (
        ((), Mode.UNKNOWN_POSE),
        ((Confirm(positions=motion.start, by="the test"),), Mode.IDLE),
        ((load(motion, certificate), Arm(digest=motion.digest)), Mode.ARMED),
        ((Start(digest=motion.digest),), Mode.STREAMING),
    )
    for requests, until in steps:
        if until is Mode.STREAMING:
            plant(arm.bridge)
        for _ in range(2000):
            records.append(arm.bridge.tick(arm.clock.now_s(), requests))
            arm.clock.sleep_until(arm.clock.now_s() + rig.period_s)
            requests = ()
            if records[-1].mode in (until, Mode.FAULT):
                break
        else:
            raise AssertionError(f"{until} was not reached: {records[-1]}")
    while records[-1].mode in (Mode.STREAMING, Mode.STOPPING):
        requests = (later or {}).pop(records[-1].sample or 0, ())
        records.append(arm.bridge.tick(arm.clock.now_s(), requests))
        arm.clock.sleep_until(arm.clock.now_s() + rig.period_s)
    return records


@functools.cache
def gone_well(name: str) -> tuple[TickRecord, ...]:
    """That motion by its table, with nothing in its way."""
    return tuple(stream(rig_called(name), move(name), tabled(name)))


def without_load(records: Sequence[TickRecord]) -> list[TickRecord]:
    return [
        msgspec.structs.replace(each, requests=()) if any(isinstance(r, Load) for r in each.requests) else each
        for each in records
    ]


def rows_sent(records: Sequence[TickRecord]) -> list[int]:
    return [each.sample for each in records if each.sample is not None and each.sent is not None]


# -- the same as before ------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", TASKS, ids=lambda file: file.stem)
def test_a_bundled_task_sends_the_same_bytes_as_sample_by_sample(file: Path) -> None:
    task = load_task(file)
    rig = rig_called(task.rig or "lynx6")
    motion = plan_task(rig, Robot(rig.robot), task)
    by_table = stream(rig, motion, certified(rig, motion))
    assert by_table[-1].mode is Mode.IDLE
    assert without_load(by_table) == without_load(stream(rig, motion, plain(rig, motion)))


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("sample", [0, 1, 2, 3, SAMPLE])
def test_a_stop_leaves_the_table_and_ends_as_ever(name: str, sample: int) -> None:
    rig, motion = rig_called(name), move(name)
    ways = [
        without_load(stream(rig, motion, each, later={sample: (Stop(reason="test"),)}))
        for each in (tabled(name), plain(rig, motion))
    ]
    assert ways[0] == ways[1]
    assert ways[0][-1].mode is Mode.HOLDING


def test_samples_that_find_the_line_full_come_again_as_ever() -> None:
    def ended(certificate: Certificate) -> list[TickRecord]:
        session = Session().to(Mode.IDLE)
        session.tick(load(swing(), certificate), Arm(digest=swing().digest))
        session.tick(Start(digest=swing().digest))
        for _ in range(5):
            session.run(0.1)
            session.line.refusals = 1
        session.until(Mode.IDLE)
        return without_load(session.records)

    by_table = ended(certified(lynx6(), swing()))
    assert by_table == ended(plain(lynx6(), swing()))
    assert sum("fit on the line" in event for each in by_table for event in each.events) == 0
    assert len(rows_sent(by_table)) == len(swing())


def test_a_motion_that_begins_where_a_limit_is_not_kept_is_judged_sample_by_sample() -> None:
    rig = lynx6()
    asked: list[int] = []
    bare = mock.patch("hil.safety.guard.Guard.lenient", new_callable=mock.PropertyMock, return_value=True)
    with bare, mock.patch.object(ssc32.Ssc32Driver, "write_row", lambda *a: asked.append(1)):
        records = stream(rig, swing(), certified(rig, swing()))
    assert records[-1].mode is Mode.IDLE
    assert not asked


@pytest.mark.parametrize("name", RIGS)
def test_a_certified_motion_is_not_judged_again(name: str) -> None:
    with mock.patch("hil.safety.guard.Guard.check", side_effect=AssertionError("asked")):
        records = stream(rig_called(name), move(name), tabled(name))
    assert records[-1].mode is Mode.IDLE


# -- certificates ------------------------------------------------------------------------------------------


def test_a_certificate_without_a_table_is_to_the_byte_as_it_was() -> None:
    certificate = plain(lynx6(), swing())
    assert b"wire_digest" not in certificate.to_bytes()
    assert Certificate.from_bytes(certificate.to_bytes()) == certificate


def test_a_preview_certifies_what_the_wire_carries() -> None:
    report = preview(lynx6(), swing(), now_epoch_s=EPOCH_S)
    table = wire_table(lynx6(), swing())
    assert report.certificate is not None and table is not None
    assert report.certificate.wire_digest == table.digest
    timed = [line for line in report.wire_bytes.splitlines(keepends=True) if b"T" in line]
    assert timed == [table.line(row) for row in range(len(table))]


def test_a_table_that_is_not_the_certified_one_is_not_loaded() -> None:
    certificate = certified(lynx6(), swing(), table=wire_table(lynx6(), swing(40.0)))
    records = stream_refused(lynx6(), swing(), certificate)
    assert "wire table: certified" in records[-1].events[0]
    assert "not what was previewed" in records[-1].events[0]


def stream_refused(rig: Rig, motion: Motion, certificate: Certificate) -> list[TickRecord]:
    session = Session(rig).to(Mode.IDLE)
    session.tick(load(motion, certificate), Arm(digest=motion.digest))
    assert session.mode is Mode.IDLE
    return session.records


def test_a_table_cannot_be_changed_and_tells_if_it_was_all_the_same() -> None:
    table = wire_table(lynx6(), swing())
    assert table is not None
    with pytest.raises(AttributeError, match="immutable"):
        table.time_ms = 1
    with pytest.raises(AttributeError, match="immutable"):
        del table.kind
    certificate = certified(lynx6(), swing())
    verify_table(certificate, table)
    for part in ("_lines", "_natives", "_positions"):
        other = wire_table(lynx6(), swing())
        assert other is not None
        flip(other, part, 1)
        with pytest.raises(RefusedError, match="wire table"):
            verify_table(certificate, other)


@pytest.mark.parametrize("by_table", [True, False])
def test_a_journal_of_either_way_is_replayed_to_the_last_bit(by_table: bool) -> None:
    session = Session().to(Mode.IDLE)
    certificate = certified(lynx6(), swing()) if by_table else plain(lynx6(), swing())
    session.tick(load(swing(), certificate), Arm(digest=swing().digest))
    session.tick(Start(digest=swing().digest))
    session.run(0.6)
    session.until(Mode.HOLDING, Stop(reason="test"))
    port = ReplayPort()
    bridge = wiring.replay_bridge(session.session_record(), port.open)
    for record in session.records:
        port.load(record)
        assert bridge.tick(record.t_s, record.requests) == record


def test_a_motion_that_ended_leaves_no_table_to_a_jog() -> None:
    session = Session().to(Mode.IDLE, None)
    session.tick(load(swing(), certified(lynx6(), swing())), Arm(digest=swing().digest))
    session.until(Mode.IDLE, Start(digest=swing().digest))
    asked: list[int] = []
    with mock.patch.object(ssc32.Ssc32Driver, "write_row", lambda *a: asked.append(1)):
        session.tick(ArmJog(speed_share=0.5))
        step = AxisJog(amounts=(-2 * DEG, *[0.0] * (len(lynx6().axes) - 1)))
        session.until(Mode.STREAMING, JogStep(move=step))
        session.run(0.5)
    assert not asked
    assert session.mode is not Mode.FAULT


# -- planted faults ----------------------------------------------------------------------------------------


def flip(table: WireTable, part: str, row: int) -> None:
    """One bit of one row falls over in memory."""
    data = bytearray(getattr(table, part))
    place = len(data) * row // len(table) + (4 if part == "_lines" else 0)
    data[place] ^= 1
    object.__setattr__(table, part, bytes(data))


def carried(bridge: Bridge) -> WireTable:
    table = bridge._loaded._rows._table
    assert table is not None
    return table


def byte_in_memory(bridge: Bridge) -> None:
    """Whatever row comes next on the wire."""
    table = carried(bridge)
    for row in range(SAMPLE, len(table)):
        begin, end = table._ends[row], table._ends[row + 1]
        data = bytearray(table._lines)
        digits = [place for place in range(begin + 2, end) if chr(data[place]).isdigit() and data[place - 1] in b"P(,-"]
        data[digits[0]] ^= 1
        object.__setattr__(table, "_lines", bytes(data))


def another_row(bridge: Bridge) -> None:
    """From some row on the table gives that of another sample."""
    table = carried(bridge)
    lines = [table.line(row if row < SAMPLE else row - 30) for row in range(len(table))]
    moved = [0, *itertools.accumulate(map(len, lines))]
    object.__setattr__(table, "_lines", b"".join(lines))
    object.__setattr__(table, "_ends", memoryview(array.array("I", moved)))


def skipped_samples(bridge: Bridge) -> object:
    """The index itself goes wrong."""
    return mock.patch.object(MotionSource, "advance", skipping).start()


def skipping(self: MotionSource) -> None:
    self.sample = min(self.sample + (3 if self.sample == SAMPLE else 1), self._last)
    self.at_end = self.sample == self._last


@pytest.fixture(autouse=True)
def _unplanted() -> Any:
    yield
    mock.patch.stopall()


@pytest.mark.parametrize("name", ["lynx6", "rv2aj", "rv2aj-hot"])
@pytest.mark.parametrize("plant", [byte_in_memory, another_row])
def test_what_goes_wrong_in_memory_is_stopped_before_the_wire(name: str, plant: Plant) -> None:
    rig, motion = rig_called(name), move(name)
    well, ill = gone_well(name), stream(rig, motion, tabled(name), plant)
    assert ill[-1].mode is Mode.FAULT
    targets(ill, only_of=well)


def test_a_wrong_index_is_stopped_before_the_wire() -> None:
    rig, motion = lynx6(), swing()
    records = stream(rig, motion, tabled("lynx6"), skipped_samples)
    assert records[-1].mode is Mode.FAULT
    assert "its turn has sample 41" in records[-1].events[-1]
    assert rows_sent(records) == list(range(SAMPLE + 1))


def targets(records: Sequence[TickRecord], only_of: Sequence[TickRecord]) -> None:
    """Nothing that moves left that did not leave in the other session."""

    def moves(session: Sequence[TickRecord]) -> list[bytes]:
        lines = b"".join(each.written for each in session).splitlines()
        return [line for line in lines if b"#" in line or b"JT=(" in line or line.startswith(b"PRN")]

    found, known = moves(records), moves(only_of)
    assert found
    assert found == known[: len(found)]
    assert len(found) < len(known)


def later_rows(change: Callable[[bytes], bytes]) -> Callable[[Callable[..., WireTable]], Callable[..., WireTable]]:
    """An encoder that goes wrong from some sample on."""

    def faulty(original: Callable[..., WireTable]) -> Callable[..., WireTable]:
        def make(*args: Any) -> WireTable:
            table = original(*args)
            rows = range(len(table))
            return WireTable(
                table.kind,
                table.time_ms,
                np.array([table.native(row) for row in rows]),
                np.array([table.positions(row) for row in rows]),
                [table.line(row) if row < SAMPLE else change(table.line(row)) for row in rows],
            )

        return make

    return faulty


SSC32_FAULTS = {
    "a pulse one step off": lambda line: line.replace(b"P", b"P1", 1)[:-1] + b"\r",
    "a channel left out": lambda line: b"#" + line.split(b"#", 2)[2],
    "two channels exchanged": lambda line: line.replace(b"#0P", b"#9P").replace(b"#1P", b"#0P").replace(b"#9P", b"#1P"),
    "a time that lost a digit": lambda line: line[: line.rindex(b"T") + 2] + b"\r",
    "no end": lambda line: line[:-1],
    "two ends": lambda line: line + b"\r",
    "a line more": lambda line: line + b"#0P1500\r",
}
RV2AJ_FAULTS = {
    "a digit lost": lambda text: text.replace(b".", b"", 1),
    "a joint left out": lambda text: b"(" + text.split(b",", 1)[1],
    "two joints exchanged": lambda text: re.sub(rb"\((.+?),(.+?),", rb"(\2,\1,", text),
    "a hundredth more": lambda text: text[:-2] + bytes([text[-2] ^ 1]) + b")",
    "no end": lambda text: text[:-1],
}


@pytest.mark.parametrize("fault", SSC32_FAULTS)
def test_a_fault_in_the_encoder_of_an_ssc32_is_found_by_the_preview_and_stopped_before_the_wire(fault: str) -> None:
    encoder_fault("lynx6", _ssc32_settings, SSC32_FAULTS[fault])


@pytest.mark.parametrize("fault", RV2AJ_FAULTS)
@pytest.mark.parametrize("name", ["rv2aj", "rv2aj-hot"])
def test_a_fault_in_the_encoder_of_a_cr1_is_found_by_the_preview_and_stopped_before_the_wire(
    name: str, fault: str
) -> None:
    encoder_fault(name, _rv2aj_settings, RV2AJ_FAULTS[fault])


def encoder_fault(name: str, module: Any, change: Callable[[bytes], bytes]) -> None:
    rig, motion = rig_called(name), move(name)
    well = gone_well(name)
    with mock.patch.object(module, "wire_table", later_rows(change)(module.wire_table)):
        report = preview(rig, motion, now_epoch_s=EPOCH_S)
        ill = stream(rig, motion, certified(rig, motion))
    assert [refusal.check for refusal in report.refusals] == ["E-17"]
    assert ill[-1].mode is Mode.FAULT
    targets(ill, only_of=well)


@pytest.mark.parametrize(
    ("name", "module", "encoder", "change"),
    [
        ("lynx6", _ssc32_moves, "encode_move", lambda line: line.replace(b"#0P", b"#0P1", 1)),
        ("lynx6", _ssc32_moves, "encode_move", lambda line: b"#" + line.split(b"#", 2)[-1] if b"T" in line else line),
        ("lynx6", _ssc32_moves, "encode_move", lambda line: line.replace(b"T6", b"T")),
        ("rv2aj", _rv2aj_course, "joint_constant", lambda text: text.replace(".", "", 1)),
        ("rv2aj-hot", _rv2aj_course, "joint_constant", lambda text: text.replace(",", ",1", 1)),
        ("rv2aj-line", _rv2aj_delivery, "line_target", lambda text: text.replace(".", "", 1)),
    ],
)
def test_a_fault_in_the_encoder_of_single_samples_is_stopped_before_the_wire_too(
    name: str, module: Any, encoder: str, change: Callable[[Any], Any]
) -> None:
    rig, motion = rig_called(name), move(name)
    original = getattr(module, encoder)
    with mock.patch.object(module, encoder, lambda *args: change(original(*args))):
        records = stream(rig, motion, plain(rig, motion))
    assert records[-1].mode is Mode.FAULT
    moving = b"".join(each.written for each in records if each.sample is not None)
    assert b"#" not in moving
    assert b"JT=(" not in moving


@pytest.mark.parametrize("place", ["encoder", "row", "index"])
def test_the_proof_of_a_rig_finds_each_of_them(place: str) -> None:
    original = WireTable.line
    plants: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "encoder": lambda: mock.patch.object(
            _ssc32_settings,
            "wire_table",
            later_rows(SSC32_FAULTS["two channels exchanged"])(_ssc32_settings.wire_table),
        ),
        "row": lambda: mock.patch.object(
            WireTable, "line", lambda self, row: original(self, row - 20 if row >= SAMPLE else row)
        ),
        "index": lambda: mock.patch.object(MotionSource, "advance", skipping),
    }
    stack = Stack(Search(lynx6(), 1))
    with plants[place](), pytest.raises(FoundError, match="E-17"):
        stack.park_and_home()

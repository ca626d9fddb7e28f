"""The oracle of packets: what the product sends passes, and each planted fault is found and named."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

import msgspec
import pytest

from hil.errors import ConfigError
from hil.joined import Splitter, line_bytes, packet_bytes
from hil.motion.planner import plan_joint_move
from hil.runtime.wiring import load_rig
from hil.testing.arms import VirtualArm
from hil.testing.oracle import UnsafeBytes
from hil.types import Mode, TickRecord
from hil.units import DEG
from hil.workbench import _prove_packets as packets
from hil.workbench._proof import FoundError, Search

RIG = load_rig("rv2aj-mxt")
Change = Callable[[bytes], bytes]


@functools.cache
def records() -> tuple[TickRecord, ...]:
    arm = VirtualArm(RIG)
    arm.begin(plan_joint_move(RIG, RIG.park, (10 * DEG, *RIG.park[1:])))
    arm.wait(1.0)
    return tuple(arm.records)


def led(record: TickRecord) -> bool:
    _, found = Splitter().split(record.written)
    return any(packet[0] == 1 for packet in found)


def planted(change: Change, pick: int = 60) -> str:
    """What the oracle says once the packet of one tick is changed."""
    ticks = list(records())
    places = [k for k, record in enumerate(ticks) if led(record)]
    k = places[pick]
    line, found = Splitter().split(ticks[k].written)
    written = line_bytes(line) + b"".join(
        packet_bytes(change(packet) if packet[0] == 1 else packet) for packet in found
    )
    ticks[k] = msgspec.structs.replace(ticks[k], written=written)
    first = UnsafeBytes(RIG).take(ticks[: k + 1]).first
    return "" if first is None else first.words


def put(place: int, value: float) -> Change:
    def change(packet: bytes) -> bytes:
        return packet[: 8 + 4 * place] + struct.pack("<f", value) + packet[12 + 4 * place :]

    return change


def test_what_the_product_sends_passes() -> None:
    judged = UnsafeBytes(RIG).take(records())
    assert not judged, judged
    assert judged.moves > 100
    assert judged.seen > 30_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda packet: packet, ""),
        (put(0, 149.0 * DEG), "J1 is led to 149.000 deg, limits -148.000 deg to 148.000 deg"),
        (put(0, 1.5 * DEG), "J1 is led by"),
        (put(3, 0.1), "a joint that the arm lacks"),
        (put(0, 0.00001), "no whole thousandths"),
        (put(0, float("nan")), "no whole thousandths"),
        (lambda packet: packet[:48] + b"\1" + packet[49:], "switches signals"),
        (lambda packet: packet[:64], "a packet of 64 bytes"),
        (lambda packet: b"\2" + packet[1:], "command 2"),
        (lambda packet: packet[:2] + b"\1" + packet[3:], "not joints"),
    ],
)
def test_a_changed_packet_is_found(change: Change, words: str) -> None:
    said = planted(change)
    assert words in said
    assert bool(said) == bool(words)


def test_a_first_packet_away_from_the_arm_is_found() -> None:
    assert "J2 is led by" in planted(put(1, -19.5 * DEG), 0)


def test_packets_outside_streaming_two_in_a_tick_and_strange_requests_are_found() -> None:
    ticks = list(records())
    k = next(k for k, record in enumerate(ticks) if led(record))
    idle = msgspec.structs.replace(ticks[k], mode=Mode.IDLE)
    assert "outside streaming" in UnsafeBytes(RIG).take([*ticks[:k], idle]).first.words
    twice = msgspec.structs.replace(ticks[k], written=ticks[k].written * 2)
    assert "two packets" in UnsafeBytes(RIG).take([*ticks[:k], twice]).first.words
    for line in (b"1;1;EXECMOV JT\r", b"1;9;EDATA30 MOV P1\r", b"hello\r"):
        strange = msgspec.structs.replace(ticks[k], written=line)
        assert "not a request" in UnsafeBytes(RIG).take([*ticks[:k], strange]).first.words
    unasked = [msgspec.structs.replace(record, requests=()) for record in ticks]
    assert "without a confirmed pose" in UnsafeBytes(RIG).take(unasked).first.words


def test_bytes_without_ticks_cannot_be_judged() -> None:
    with pytest.raises(ConfigError, match="judge ticks"):
        UnsafeBytes(RIG).feed(b"1;1;STOP\r", 0.0)


def test_the_numbers_of_the_rig_and_each_joint_are_tried() -> None:
    search = Search(RIG, 1)
    packets.numbers(search)
    packets.each_joint(search)
    assert search.tried > 600


def test_a_driver_that_lets_too_long_steps_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers._rv2aj_mxt_gate.MxtGate.check", lambda self, packet: None)
    search = Search(RIG, 1)
    with pytest.raises(FoundError, match="the driver alone lets this out"):
        for _ in range(5):
            packets.random_driver(search)


def test_limits_beyond_those_of_the_controller_are_found() -> None:
    search = Search(RIG, 1)
    search.axes[0].limits = (-151 * DEG, 148 * DEG)
    with pytest.raises(FoundError, match=r"J1: its limits, -151\.000 deg"):
        packets.numbers(search)

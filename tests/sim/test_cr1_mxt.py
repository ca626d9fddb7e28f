"""MXT on the fake CR1: a computer leads the arm cycle by cycle, as public clients do. Packets are made by hand."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import pytest
from cr1_terminal import Cr1Terminal

from sim.cr1.arm import ArmModel

CYCLE_S = 0.0071
LAYOUT = "<4H40s6HI" + "2H40s" * 3
"""Of both ways, as public clients pack it."""


def joints(*degrees: float) -> bytes:
    j1, j2, j3, j5, j6 = (math.radians(value) for value in degrees)
    return struct.pack("<8f", j1, j2, j3, 0.0, j5, j6, 0.0, 0.0).ljust(40, b"\0")


def packet(
    command: int,
    kind: int = 0,
    data: bytes = bytes(40),
    monitors: Sequence[int] = (2, 5, 8, 7),
    count: int = 1,
    **io: int,
) -> bytes:
    first, *more = monitors
    blocks = [part for monitor in more for part in (monitor, 0, bytes(40))]
    signals = (io.get("send", 0), io.get("get", 0), io.get("top", 0), io.get("mask", 0), io.get("word", 0), 0)
    return struct.pack(LAYOUT, command, kind, first, 0, data, *signals, count, *blocks)


class Led(Cr1Terminal):
    """A CR1 on which `MXT` runs, and the network to it."""

    def __init__(self, mxt: str = "MXT 1,1", **choices: object) -> None:
        super().__init__(
            {"LED": f'10 OPEN "ENET:192.168.0.100" AS #1\n20 {mxt}\n30 CLOSE #1\n40 M1=7\n50 HLT\n'},
            ethernet=True,
            **choices,
        )
        self.ready()
        self.do("RUNLED;1")

    def post(self, data: bytes) -> None:
        self.cr1.advance(self.now_s)
        self.cr1.machine.ethernet.bring(data, self.now_s)

    def replies(self, wait_s: float = CYCLE_S) -> list[bytes]:
        self.wait(wait_s)
        return self.cr1.machine.ethernet.sent_by(self.now_s)

    def exchange(self, data: bytes) -> bytes:
        self.post(data)
        (reply,) = self.replies()
        return reply

    def angles(self, reply: bytes, block: int = 0) -> list[float]:
        found = struct.unpack(LAYOUT, reply)
        data = found[4] if block == 0 else found[13 + 3 * (block - 1) + 1]
        j1, j2, j3, _, j5, j6, *_ = struct.unpack_from("<8f", data)
        return [math.degrees(value) for value in (j1, j2, j3, j5, j6)]


ORIGIN = (0.0, 0.0, 90.0, 90.0, 0.0)


def test_a_packet_is_196_bytes() -> None:
    assert len(packet(0)) == 196


def test_the_first_packet_asks_and_gets_where_the_arm_is() -> None:
    led = Led()
    reply = led.exchange(packet(0, count=41))
    assert len(reply) == 196
    fields = struct.unpack(LAYOUT, reply)
    assert fields[11] == 41  # CCount comes back
    assert fields[1] == fields[2] == 2
    for block in (0, 1, 2):
        assert led.angles(reply, block) == pytest.approx(ORIGIN, abs=1e-4)
    x, y, z, a, b, _, _, _, fl1, _ = struct.unpack("<8f2I", fields[13 + 3 * 2 + 1])
    assert (x, y, z, math.degrees(a), math.degrees(b)) == pytest.approx((160.0, 0.0, 478.0, 0.0, 180.0), abs=1e-3)
    assert fl1 == 6
    assert led.joints() == ORIGIN


def test_a_command_is_followed_within_a_cycle_and_a_half() -> None:
    led = Led()
    led.exchange(packet(0))
    wanted = (0.0, 0.0, 90.0, 90.0, 0.0)
    told: list[tuple[float, tuple[float, ...]]] = []
    for step in range(1, 200):
        led.wait(0.005)  # another beat than the controller's
        wanted = (0.05 * step, 0.02 * step, 90.0 - 0.03 * step, 90.0 - 0.05 * step, 0.06 * step)
        led.post(packet(1, 2, joints(*wanted), count=step))
        told.append((led.now_s, wanted))
    led.wait(1.5 * CYCLE_S)
    assert led.joints() == pytest.approx(wanted, abs=1e-4)
    for at_s, goal in told:
        reached = next(time_s for time_s, where in led.trace if where[0] >= goal[0] - 1e-4)
        assert reached - at_s <= 1.5 * CYCLE_S


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_poses_joints_and_pulses_lead_to_the_same_place(kind: int) -> None:
    led = Led(f"MXT 1,{kind}")
    goal = (1.0, 0.5, 89.5, 89.5, -1.0)
    pulses = struct.pack("<8i", 1000, 500, 89_500, 0, 89_500, -1000, 0, 0).ljust(40, b"\0")
    data = (_pose_of(goal), joints(*goal), pulses)[kind]
    led.exchange(packet(1, kind + 1, data))
    assert led.joints() == pytest.approx(goal, abs=1e-3)


def _pose_of(goal: Sequence[float]) -> bytes:
    from hil.program.rv2aj import Rv2aj

    place = Rv2aj().position([math.radians(value) for value in goal])
    x, y, z, a, b, c, l1, l2 = place.members
    turned = [math.radians(value) for value in (a, b, c)]
    return struct.pack("<8f2I", x, y, z, *turned, l1, l2, place.fl1, place.fl2)


def test_the_filter_lags_by_its_time_constant() -> None:
    led = Led("MXT 1,1,71")
    led.exchange(packet(1, 2, joints(1.0, 0, 90, 90, 0)))
    assert led.joints()[0] == pytest.approx(1.0 - math.exp(-0.1), abs=1e-3)  # it has begun within the cycle
    led.wait(10 * CYCLE_S)
    assert led.joints()[0] == pytest.approx(1.0 - math.exp(-1.1), abs=1e-3)
    reply = led.exchange(packet(0))
    assert led.angles(reply, 0)[0] == pytest.approx(1.0, abs=1e-4)  # the command
    assert 0.6 < led.angles(reply, 1)[0] < 0.8  # behind the filter


def test_encoders_show_the_sag_that_commands_do_not() -> None:
    led = Led(arm=ArmModel(sag_deg=(0.0, -0.3, 0.0, 0.0, 0.0)))
    reply = led.exchange(packet(0))
    assert led.angles(reply, 2)[1] - led.angles(reply, 0)[1] == pytest.approx(-0.3, abs=1e-4)


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (joints(0, 0, 90, 90.01, 0), 2165),  # beyond J5's 90
        (joints(2.0, 0, 90, 90, 0), 2131),  # 2 degrees in 7.1 ms
        (joints(math.nan, 0, 90, 90, 0), 3110),
    ],
)
def test_limits_are_refused_with_the_numbers_of_other_moves_and_the_arm_stays(data: bytes, number: int) -> None:
    led = Led()
    led.exchange(packet(0))
    led.post(packet(1, 2, data))
    led.wait(2 * CYCLE_S)
    assert led.joints() == ORIGIN
    assert led.status()[2] == number


def test_a_pose_out_of_reach_is_2802() -> None:
    led = Led("MXT 1,0")
    led.post(packet(1, 1, struct.pack("<8f2I", 900.0, 0, 478.0, 0, math.pi, 0, 0, 0, 6, 0)))
    led.wait(2 * CYCLE_S)
    assert led.status()[2] == 2802


def test_another_type_than_mxt_was_told_is_7840() -> None:
    led = Led()
    led.post(packet(1, 1, joints(*ORIGIN)))
    led.wait(2 * CYCLE_S)
    assert led.status()[2] == 7840


def test_the_end_packet_ends_the_statement_and_the_program_goes_on() -> None:
    led = Led()
    led.exchange(packet(255))
    led.wait(3 * CYCLE_S)
    assert led.ask("VALM1") == "QoKM1=+7"
    led.post(packet(0))
    assert led.replies() == []


def test_nothing_is_answered_without_a_packet_and_without_one_the_arm_holds() -> None:
    led = Led()
    led.exchange(packet(1, 2, joints(0.5, 0, 90, 90, 0)))
    assert led.replies(1.0) == []
    assert led.joints()[0] == pytest.approx(0.5, abs=1e-4)
    assert led.status()[2] == 0


def test_silence_for_longer_than_mxttout_is_7820() -> None:
    led = Led()
    led.exchange(packet(0))
    led.cr1.machine.parameters.write("MXTTOUT", "10")
    led.wait(10 * CYCLE_S)
    assert led.cr1.machine.alarms.number == 0
    led.wait(CYCLE_S)
    assert led.cr1.machine.alarms.number == 7820
    assert not led.cr1.machine.servo.on


def test_of_two_packets_in_a_cycle_the_newest_counts_or_the_oldest() -> None:
    for newest, reached in ((True, 0.4), (False, 0.2)):
        led = Led(newest_counts=newest)
        led.exchange(packet(0))
        led.post(packet(1, 2, joints(0.2, 0, 90, 90, 0), count=1))
        led.post(packet(1, 2, joints(0.4, 0, 90, 90, 0), count=2))
        assert len(led.replies()) == 1
        assert led.joints()[0] == pytest.approx(reached, abs=1e-4)


def test_outputs_are_switched_and_shown() -> None:
    led = Led()
    reply = led.exchange(packet(0, send=1, top=4, mask=0b101, word=0b111, get=1))
    assert struct.unpack(LAYOUT, reply)[9] == 0b101
    assert led.ask("OUT0") == "QoK0050"


def test_the_short_packet_of_old_software_gets_a_short_answer() -> None:
    led = Led()
    assert len(led.exchange(packet(0)[:64])) == 64
    led.post(packet(0)[:63])
    assert led.replies() == []


@pytest.mark.parametrize("card", [True, False])
def test_without_a_card_open_is_7830(card: bool) -> None:
    terminal = Cr1Terminal({"LED": '10 OPEN "ENET:192.168.0.100" AS #1\n20 MXT 1,1\n'}, ethernet=card).ready()
    terminal.do("RUNLED;1")
    terminal.wait(0.1)
    assert terminal.status()[2] == (0 if card else 7830)


def test_stop_holds_at_once_and_a_start_begins_from_where_the_arm_is() -> None:
    led = Led()
    led.exchange(packet(1, 2, joints(0.5, 0, 90, 90, 0)))
    led.do("STOP")
    led.post(packet(1, 2, joints(1.0, 0, 90, 90, 0)))
    assert led.replies() == []
    led.wait(0.5)
    assert led.joints()[0] == pytest.approx(0.5, abs=1e-4)
    led.do("RUN")
    assert led.angles(led.exchange(packet(0)))[0] == pytest.approx(0.5, abs=1e-4)
    assert led.joints()[0] == pytest.approx(0.5, abs=1e-4)

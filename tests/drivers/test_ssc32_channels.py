"""Calibrating: single channels, one short step each, checked on the bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import BoardPort, settings

from drivers._ssc32_channels import STEP_US, Ssc32Channels, servo_channels
from hil.errors import CommandError, ControllerError, HilError
from hil.types import JointCommand, LinkPhase

TICK_S = 0.02
V1 = b"SSC32-1.06XE\r"


class Stand:
    """Channels 0, 2 and 4 of a small board, and a virtual clock."""

    def __init__(self, port: BoardPort | None = None) -> None:
        self.port = BoardPort() if port is None else port
        self.link = Ssc32Channels(settings(), (0, 2, 4), lambda: self.port)
        self.now_s = 0.0
        self.link.open(0.0)
        for _ in range(200):
            if self.tick().phase is LinkPhase.READY:
                break
        self.port.sent.clear()

    def tick(self):  # type: ignore[no-untyped-def]
        self.now_s += TICK_S
        return self.link.read(self.now_s)

    def wait(self, until_s: float) -> None:
        while self.now_s < until_s:
            self.tick()

    @property
    def moves(self) -> list[bytes]:
        return [data for _, _, data in self.port.sent if b"#" in data]


def test_the_first_move_is_plain_and_alone_and_goes_to_the_pulse_that_was_asked_for() -> None:
    stand = Stand()
    stand.link.drive(2, 1480, stand.now_s)
    assert stand.moves == [b"#2P1480\r"]
    assert stand.tick().known == (False, True, False)


def test_a_step_is_timed_and_reported_in_microseconds() -> None:
    stand = Stand()
    stand.link.drive(0, 1500, stand.now_s)
    stand.wait(0.5)
    stand.wait(stand.link.step(0, 1520, stand.now_s) + 0.2)
    assert stand.moves[1:] == [b"#0P1520T160\r"]
    assert stand.tick().joints.positions == (1520.0, None, None)


def test_a_channel_that_was_never_driven_is_not_stepped_and_a_driven_one_not_driven_again() -> None:
    stand = Stand()
    with pytest.raises(CommandError, match="not driven yet"):
        stand.link.step(0, 1500, stand.now_s)
    stand.link.drive(0, 1500, stand.now_s)
    with pytest.raises(CommandError, match="driven already"):
        stand.link.drive(0, 1700, stand.now_s)
    assert len(stand.moves) == 1


def test_the_canary_and_other_channels_are_out_of_reach() -> None:
    stand = Stand()
    for channel in (1, 31):
        with pytest.raises(CommandError, match="allowed: 0, 2, 4"):
            stand.link.drive(channel, 1500, stand.now_s)
    assert stand.moves == []


def test_two_channels_never_move_at_once() -> None:
    stand = Stand()
    stand.link.drive(0, 1500, stand.now_s)
    stand.link.drive(2, 1500, stand.now_s)
    stand.wait(0.5)
    stand.link.step(0, 1525, stand.now_s)
    with pytest.raises(CommandError, match="one step at a time"):
        stand.link.step(2, 1525, stand.now_s)


def test_positions_of_axes_are_refused() -> None:
    stand = Stand()
    with pytest.raises(CommandError, match="drive"):
        stand.link.write(JointCommand(seq=1, due_s=1.0, positions=(0.0, 0.0, 0.0)), stand.now_s)


def test_a_restart_of_the_board_ends_it() -> None:
    stand = Stand()
    stand.link.drive(0, 1500, stand.now_s)
    stand.wait(0.5)
    stand.port.widths.clear()
    with pytest.raises(ControllerError, match="restarted"):
        stand.wait(1.0)
    with pytest.raises(HilError):
        stand.link.step(0, 1510, stand.now_s)


def test_a_spare_channel_that_carries_a_servo_after_all_is_no_canary_any_more() -> None:
    port = BoardPort()
    link = Ssc32Channels(settings(), (0, 31), lambda: port)
    link.open(0.0)
    for tick in range(1, 200):
        if link.read(tick * TICK_S).phase is LinkPhase.READY:
            break
    assert not [data for _, _, data in port.sent if b"#" in data]


ASKED = st.lists(st.tuples(st.sampled_from(("drive", "step")), st.integers(-1, 5), st.integers(-10, 3000)), max_size=30)


@given(ASKED)
def test_whatever_is_asked_no_pulse_leaves_that_is_more_than_a_step_from_the_last(asked) -> None:
    stand = Stand()
    for what, channel, pulse_us in asked:
        try:
            if what == "drive":
                stand.link.drive(channel, pulse_us, stand.now_s)
            else:
                stand.wait(stand.link.step(channel, pulse_us, stand.now_s))
        except CommandError:
            pass
        stand.tick()
    last: dict[int, int] = {}
    for data in stand.moves:
        channel, pulse_us = map(int, re.fullmatch(rb"#(\d+)P(\d+)(?:T\d+)?\r", data).groups())  # type: ignore[union-attr]
        assert 500 <= pulse_us <= 2500
        assert (channel in last) == (b"T" in data)
        assert abs(pulse_us - last.get(channel, pulse_us)) <= STEP_US
        last[channel] = pulse_us


def test_a_stop_in_the_middle_of_a_step_freezes_on_2x_and_stays_within_the_step_on_1x() -> None:
    for version in (b"SSC32-V2.04GP \r", V1):
        stand = Stand(BoardPort(version=version))
        stand.link.drive(0, 1500, stand.now_s)
        stand.wait(0.5)
        stand.link.step(0, 1525, stand.now_s)
        stand.now_s += 0.08
        stand.link.stop(stand.now_s)
        last = stand.port.sent[-1][2]
        if version is V1:
            assert 1500 <= int(re.fullmatch(rb"\x1b\r#0P(\d+)\r", last)[1]) <= 1525  # type: ignore[index]
        else:
            assert b"STOP0\r" in last and b"#" not in last


def test_the_rigs_channels_are_told_with_their_calibration() -> None:
    told = servo_channels(settings())
    assert [(each.axis, each.channel, each.lower_us) for each in told] == [
        ("base", 0, 525),
        ("elbow", 2, 580),
        ("gripper", 4, 1475),
    ]


def test_a_release_switches_one_channel_off_whoever_drives_it() -> None:
    stand = Stand()
    stand.link.drive(2, 1480, stand.now_s)
    stand.wait(0.5)
    for channel in (2, 0):
        stand.link.release(channel, stand.now_s)
        stand.wait(stand.now_s + 0.1)
    assert stand.moves[1:] == [b"#2P0\r", b"#0P0\r"]
    # A board without a canary that tells 0 of what we drive has restarted; of what we let go of it has not.
    assert stand.tick().known == (False, False, False)
    assert stand.tick().phase is LinkPhase.READY


def test_what_was_let_go_of_is_moved_again_only_by_a_first_move() -> None:
    stand = Stand()
    stand.link.drive(2, 1480, stand.now_s)
    stand.wait(0.5)
    stand.link.release(2, stand.now_s)
    stand.wait(stand.now_s + 0.2)
    with pytest.raises(CommandError, match="not driven yet"):
        stand.link.step(2, 1490, stand.now_s)
    with pytest.raises(CommandError, match="channel 2"):
        stand.link._ready_moves().line.gate.check(b"#2P1490T100\r")
    stand.link.drive(2, 1500, stand.now_s)
    assert stand.moves[-1] == b"#2P1500\r"


def test_after_a_release_the_gate_too_lets_no_pulse_out_to_the_channel() -> None:
    stand = Stand()
    stand.link.drive(0, 1500, stand.now_s)
    stand.wait(0.5)
    gate = stand.link._ready_moves().line.gate
    gate.check(b"#0P1500T160\r")
    stand.link.release(0, stand.now_s)
    with pytest.raises(CommandError):
        gate.check(b"#0P1500T160\r")


def test_no_channel_but_the_link_s_own_is_let_go_of() -> None:
    stand = Stand()
    with pytest.raises(CommandError, match="channel 1: allowed: 0, 2, 4"):
        stand.link.release(1, stand.now_s)
    assert stand.moves == []

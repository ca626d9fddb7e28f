"""Each choice of a fake, by what it changes on the line and at the pins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cr1_terminal import Cr1Terminal
from hypothesis import given
from hypothesis import strategies as st

from drivers import _rv2aj_codec as codec
from sim.cr1 import FirstPosition, ServoOff, Stop
from sim.ssc32 import Beyond, EarlyMove, Firmware, FirstMove, Rounding
from sim.uart import FRAMINGS

Make = Callable[..., Any]


# -- SSC-32 ------------------------------------------------------------------------------------------------------


def test_t_of_the_first_move_is_ignored_once_and_later_channels_start_at_500(terminal: Make) -> None:
    t = terminal(first_move=FirstMove.ONCE)
    t.type("#0P1500T1000\r")
    t.wait(0.05)
    assert t.pulse(0) == 1500.0
    t.type("#1P1500T1000\r")
    t.wait(0.05)
    assert 500.0 <= t.pulse(1) < 600.0


def test_a_stutter_stands_for_a_frame_between_two_moves_and_gets_there_all_the_same(terminal: Make) -> None:
    steps: dict[EarlyMove, list[float]] = {}
    for early in EarlyMove:
        t = terminal(early=early)
        t.type("#0P1000\r")
        t.wait(0.05)
        for goal in range(1010, 1210, 10):
            t.type(f"#0P{goal}T60\r")
            t.wait(0.02 - 12 * t.board.byte_s)
        t.wait(0.2)
        widths = [round(width) for width in t.widths(0)]
        steps[early] = widths
        assert widths[-1] == 1200
    assert len(steps[EarlyMove.STUTTER]) < 0.7 * len(steps[EarlyMove.REPLACE])


@pytest.mark.parametrize(("rounding", "byte"), [(Rounding.DOWN, 153), (Rounding.NEAREST, 154)])
def test_qp_rounds(terminal: Make, rounding: Rounding, byte: int) -> None:
    t = terminal(rounding=rounding)
    t.type("#0P1536#1P1531\r")
    t.wait(0.05)
    assert t.ask("QP0QP1\r") == bytes((byte, 153))


@pytest.mark.parametrize("firmware", list(Firmware))
@pytest.mark.parametrize("shown", [None, True, False])
def test_qp_shows_the_offset_or_not(terminal: Make, firmware: Firmware, shown: bool | None) -> None:
    t = terminal(firmware, shows_offset=shown)
    t.type("#0P1500\r#0PO50\r")
    t.wait(0.05)
    assert t.pulse(0) == 1550.0
    with_it = firmware is Firmware.V1 if shown is None else shown
    assert t.ask("QP0\r") == bytes((155 if with_it else 150,))


@pytest.mark.parametrize(("add", "pulse_us"), [(False, 1530.0), (True, 1560.0)])
def test_offsets_add_up_or_not(terminal: Make, add: bool, pulse_us: float) -> None:
    t = terminal(offsets_add=add)
    t.type("#0P1500\r#0PO30\r#0PO30\r")
    t.wait(0.05)
    assert t.pulse(0) == pulse_us


@pytest.mark.parametrize(
    ("beyond", "widths"),
    [
        (Beyond.CLIP, (2500.0, 2500.0, 500.0)),
        (Beyond.IGNORE, (1500.0, 1500.0, 1500.0)),
        (Beyond.THROUGH, (2500.0, 5000.0, 500.0)),
    ],
)
def test_widths_beyond_the_range(terminal: Make, beyond: Beyond, widths: tuple[float, ...]) -> None:
    t = terminal(beyond=beyond)
    for pulse_us, expected in zip((2700, 5000, 300), widths, strict=True):
        t.type(f"#0P1500\r#0P{pulse_us}\r")
        t.wait(0.05)
        assert t.pulse(0) == expected


@pytest.mark.parametrize(("releases", "pulse_us"), [(True, 0.0), (False, 1500.0)])
def test_p0_releases_or_does_nothing(terminal: Make, releases: bool, pulse_us: float) -> None:
    t = terminal(zero_releases=releases)
    t.type("#0P1500\r#0P0\r")
    t.wait(0.05)
    assert t.pulse(0) == pulse_us


@pytest.mark.parametrize("stops", [True, False])
def test_stop_without_a_number_stops_all_or_nothing(terminal: Make, stops: bool) -> None:
    t = terminal(bare_stop=stops)
    t.type("#0P1000#1P1000\r")
    t.wait(0.05)
    t.type("#0P2000#1P2000T1000\r")
    t.wait(0.3)
    t.type("STOP\r")
    t.wait(2.0)
    assert (max(t.pulse(0), t.pulse(1)) < 1500.0) == stops
    assert (t.pulse(0) == 2000.0) != stops


@pytest.mark.parametrize(("drops", "pulse_us"), [(True, 0.0), (False, 500.0)])
def test_esc_drops_the_line_or_is_ignored(terminal: Make, drops: bool, pulse_us: float) -> None:
    t = terminal(escape_drops=drops)
    t.type("#0P15\x1b\r")
    t.wait(0.05)
    assert t.pulse(0) == pulse_us


def test_a_word_that_a_build_lacks_has_no_answer_and_the_others_have(terminal: Make) -> None:
    t = terminal(lacks=("R",))
    assert t.ask("R0\r") == b""
    assert t.ask("VER\r") == b"SSC32-V2.03XE\r"


def test_a_greeting_comes_with_every_start_but_not_before_one(terminal: Make) -> None:
    t = terminal(greeting="HELLO\r")
    assert t.wait(1.0) == b""
    t.board.power_cycle(t.now_s)
    assert t.wait(0.09) == b""
    assert t.wait(1.0) == b"HELLO\r"


@pytest.mark.parametrize(("newest", "answer"), [(True, b"."), (False, b"+")])
def test_q_tells_of_the_newest_move_or_of_the_last_to_end(terminal: Make, newest: bool, answer: bytes) -> None:
    t = terminal(q_newest=newest)
    t.type("#0P1000#1P1000\r")
    t.wait(0.05)
    t.type("#0P2000T2000\r#1P1100T100\r")
    t.wait(0.5)
    assert t.ask("Q\r") == answer


@given(width=st.integers(500, 2500))
def test_what_is_cut_is_less_than_ten_microseconds_off_and_what_is_rounded_half_of_that(width: int) -> None:
    assert -10 < 10 * Rounding.DOWN.of(width / 10) - width <= 0
    assert abs(10 * Rounding.NEAREST.of(width / 10) - width) <= 5


# -- CR1 ---------------------------------------------------------------------------------------------------------

POSE = (-12.34, 20.0, 70.0, 80.0, 1.0)


@pytest.mark.parametrize(
    ("decimals", "j1", "x"), [(1, "-12.3", "252.0"), (2, "-12.34", "252.05"), (3, "-12.340", "252.047")]
)
def test_decimals_of_joints_and_poses(decimals: int, j1: str, x: str) -> None:
    t = Cr1Terminal(joints=POSE, decimals=decimals)
    assert t.ask("JPOSF").startswith(f"QoKJ1;{j1};J2;20.{'0' * decimals};")
    shown = t.ask("PPOSF").split(";")[1]
    assert len(shown.partition(".")[2]) == decimals
    assert shown == x


def test_joints_are_zero_until_the_servos_were_on_for_the_first_time() -> None:
    t = Cr1Terminal(joints=POSE, first_position=FirstPosition.ZERO)
    assert t.ask("JPOSF").startswith("QoKJ1;0.00;J2;0.00;J3;0.00;J4;****;J5;0.00;J6;0.00;")
    assert t.ask("PPOSF").startswith("QoKX;0.00;Y;0.00;Z;0.00;")
    t.ready()
    assert t.ask("JPOSF").startswith("QoKJ1;-12.34;J2;20.00;")
    t.do("SRVOFF")
    t.wait(1.0)
    assert t.ask("JPOSF").startswith("QoKJ1;-12.34;")


@pytest.mark.parametrize(("choice", "answer"), [(ServoOff.STOPS, "QoK"), (ServoOff.REFUSED, "QeR564000000")])
def test_servo_off_during_a_move(choice: ServoOff, answer: str) -> None:
    t = Cr1Terminal(joints=POSE, servo_off=choice).ready()
    t.do("OVRD=10", "EXECJT=(60,20,70,0,80,1)", "EXECMOV JT")
    t.wait(0.3)
    assert t.ask("SRVOFF") == answer
    t.settle()
    assert (t.joints()[0] == 60.0) == (choice is ServoOff.REFUSED)
    assert t.ask("SRVOFF") == "QoK"


@pytest.mark.parametrize("shows", [True, False])
def test_the_bit_of_running_during_a_move_by_exec(shows: bool) -> None:
    t = Cr1Terminal(joints=POSE, shows_running=shows).ready()
    t.do("OVRD=10", "EXECJT=(60,20,70,0,80,1)", "EXECMOV JT")
    assert bool(t.status()[0] & 0x40) == shows
    t.settle()
    assert not t.status()[0] & 0x40


@pytest.mark.parametrize(("small", "answer"), [(True, "Qok4340;2"), (False, "QoK4340;2")])
def test_small_letters_while_an_error_stands(small: bool, answer: str) -> None:
    t = Cr1Terminal(small_letters=small).ready()
    t.ask("EXECMOV PNONE")
    assert t.ask("ERROR") == answer


@pytest.mark.parametrize("checks", [True, False])
def test_bytes_with_a_wrong_parity_are_dropped_or_taken(checks: bool) -> None:
    t = Cr1Terminal(checks_parity=checks)
    t.type("1;1;STATE\r", FRAMINGS["8O2"])
    answer = t.wait(0.5)
    assert bool(answer) != checks
    assert t.cr1.counts.broken == 10


def test_the_override_at_power_up() -> None:
    assert Cr1Terminal(override=10).ask("OVRD") == "QoK10"


@pytest.mark.parametrize(("zeros", "shown"), [(False, "60"), (True, "0060")])
def test_an_emergency_stop_in_the_status(zeros: bool, shown: str) -> None:
    t = Cr1Terminal(status_zeros=zeros).ready()
    assert t.ask("DSTATE") == "QoKA0100;1;0"
    t.cr1.press(Stop.PANEL, t.now_s)
    assert t.ask("DSTATE") == f"Qok8013{shown};1;0"
    assert t.ask("STATE").split(";")[4] == f"8013{shown}"


@pytest.mark.parametrize(("zeros", "shown"), [(False, "50"), (True, "0050")])
def test_an_emergency_stop_in_error_and_log(zeros: bool, shown: str) -> None:
    t = Cr1Terminal(error_zeros=zeros).ready()
    t.cr1.press(Stop.OUTSIDE, t.now_s)
    assert t.ask("ERROR") == f"Qok{shown};1"
    assert t.ask("ERRORLOGTOP").split(";")[2] == shown
    assert t.ask("EXECM1=1") == "Qer560000000"


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("stop", list(Stop))
def test_the_driver_reads_an_emergency_stop_either_way(zeros: bool, stop: Stop) -> None:
    t = Cr1Terminal(status_zeros=zeros, error_zeros=zeros).ready()
    t.cr1.press(stop, t.now_s)
    for found in (codec.decode_status(t.ask("DSTATE")[3:]), codec.decode_state(t.ask("STATE")[3:]).status):
        assert (found.error, found.emergency_stop) == (stop.number, True)
    assert codec.decode_alarm(t.ask("ERROR")[3:]) == (stop.number, 1)

"""What comes on a CR1's line before anything is asked, and what answers nothing."""

from __future__ import annotations

from rv2aj_script import Cr1Port, settings

from drivers._rv2aj_codec import decode_joints
from drivers._rv2aj_control import Control
from drivers._rv2aj_line import CHATTER_S, QUIET_S, Ask, Cr1Line


def line(port: Cr1Port) -> Cr1Line:
    return Cr1Line(settings(), port, 0.0)


def test_a_line_that_was_silent_long_enough_may_be_asked() -> None:
    one = line(Cr1Port())
    for now_s, idle in ((0.0, False), (QUIET_S - 1e-9, False), (QUIET_S, True)):
        one.take(now_s)
        assert one.idle is idle


def test_a_line_that_never_is_silent_is_waited_for_no_longer() -> None:
    port = Cr1Port()
    port.coming = [(0.1 * number, b"RUNNING\r") for number in range(20)]
    one = line(port)
    for now_s in (*(0.1 * number for number in range(10)), CHATTER_S - 1e-9):
        one.take(now_s)
        assert not one.idle
    one.take(CHATTER_S)
    assert one.idle
    assert (one.noise, one.account(None).noise_bytes) == ("RUNNING", 11 * 8)


def test_a_reply_to_another_question_answers_nothing_and_is_counted_and_kept() -> None:
    port = Cr1Port()
    port.silent = True
    one = line(port)
    one.take(QUIET_S)
    one.ask(Ask("JPOSF", decode_joints), QUIET_S)
    port.coming = [(QUIET_S + 0.01, b"QoKrubbish\r")]
    assert not one.noisy
    assert one.take(QUIET_S + 0.02) is None
    assert one.noisy
    assert (one.noise, one.account(None).noise_bytes) == ("QoKrubbish", 11)


def test_servos_that_are_called_off_take_the_first_moves_with_them() -> None:
    control = Control()
    for axis in range(5):
        control.energise(axis)
    assert control.call_off()
    control.switched_on()
    assert control.known == (False,) * 5
    assert not Control().call_off()


def test_servos_that_are_on_are_not_to_be_switched_on_any_more() -> None:
    control = Control()
    control.energise(0)
    control.switched_on()
    assert control.servo
    assert not control.call_off()
    assert control.known == (True, False, False, False, False)

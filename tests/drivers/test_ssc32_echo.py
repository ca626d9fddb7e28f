"""What an echo says of what was sent, channel by channel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import settings

from drivers._ssc32_echo import PHASE_S, Channel, Echo
from drivers._ssc32_line import Reading
from hil.errors import ControllerError, LineCause

FRAME_S = 0.02
CANARY = 1500


def echo(canary: bool = True, learns: bool = False) -> Echo:
    """Three axes that were driven to 1500 us a second ago."""
    made = Echo(settings() if canary else settings(canary_channel=None), "port")
    made.learns = learns
    made.canary_us = CANARY if canary else None
    for axis in range(3):
        made.drive(axis, 1500, 9.0)
    return made


def reading(*pulses_us: int, at_s: float = 10.0, canary: int | None = CANARY, **changes: bool) -> Reading:
    return Reading((*pulses_us, *(() if canary is None else (canary,))), at_s, sure=False, **changes)


def board(moves: list[tuple[float, float, float]], first_us: float, at_s: float, phase_s: float) -> float:
    """The pulse by the manual: once per frame, in equal steps of the time that the newest line left for its way."""
    width = start = goal = first_us
    frames = done = 0.0
    frame_s, waiting = phase_s, list(moves)
    while frame_s <= at_s:
        while waiting and waiting[0][0] <= frame_s:
            _, goal, time_s = waiting.pop(0)
            start, frames, done = width, time_s / FRAME_S, 0.0
        done += 1.0
        width = goal if done >= frames else start + (goal - start) * done / frames
        frame_s += FRAME_S
    return width


@given(
    st.lists(st.tuples(st.floats(0.012, 0.034), st.floats(-12.0, 12.0)), min_size=1, max_size=25),
    st.floats(0.0, FRAME_S),
    st.floats(0.003, 0.05),
    st.booleans(),
)
def test_a_board_that_takes_every_line_fits_whenever_its_frames_are(
    steps: list[tuple[float, float]], phase_s: float, later_s: float, rounds: bool
) -> None:
    """Lines come unevenly, each calls the board on within 60 ms; it cuts the echo to 10 us or rounds it."""
    channel, moves, at_s, target = Channel(), [], 1.0, 1500.0
    channel.drive(target, 0.0)
    for wait_s, step in steps:
        at_s, target = at_s + wait_s, target + step
        channel.move(target, at_s, 0.06)
        moves.append((at_s, target, 0.06))
    width = board(moves, 1500.0, at_s + later_s, 0.5 + phase_s)
    seen = 10 * (round(width / 10) if rounds else int(width / 10))
    assert channel.fits(seen, at_s + later_s)


@pytest.mark.parametrize(("off_us", "fits"), [(-13, False), (-12, True), (0, True), (7, True), (8, False)])
def test_at_rest_an_echo_may_differ_by_its_own_step_and_no_more(off_us: int, fits: bool) -> None:
    channel = Channel()
    channel.drive(1500, 0.0)
    assert channel.fits(1500 + off_us, 5.0) is fits


def test_only_what_was_sent_before_the_question_counts() -> None:
    channel = Channel()
    channel.drive(1500, 0.0)
    channel.move(1600, 5.0, 0.06)
    assert channel.fits(1500, 4.999)
    assert not channel.fits(1600, 4.999)
    assert channel.fits(1600, 5.1)


def test_halfway_through_a_move_it_is_expected_halfway() -> None:
    channel = Channel()
    channel.drive(1500, 0.0)
    channel.move(1600, 1.0, 0.1)
    assert channel.expected_us(0.99) == (1500.0, 0.0)
    assert channel.expected_us(1.05) == (pytest.approx(1550.0), pytest.approx(1000.0 * PHASE_S))
    assert channel.expected_us(1.2) == (1600.0, 0.0)


@pytest.mark.parametrize("target_us", [1400, 1600])
@pytest.mark.parametrize(
    ("beside_us", "fits"),
    [
        (-1000.0 * PHASE_S - 12.5, False), (-1000.0 * PHASE_S - 11.5, True),
        (1000.0 * PHASE_S + 6.5, True), (1000.0 * PHASE_S + 7.5, False),
    ],
)  # fmt: skip
def test_on_its_way_it_may_be_off_by_what_it_goes_within_a_phase_besides(
    target_us: int, beside_us: float, fits: bool
) -> None:
    channel = Channel()
    channel.drive(1500, 0.0)
    channel.move(target_us, 1.0, 0.1)
    assert channel.fits((1500 + target_us) / 2 + beside_us, 1.05) is fits  # type: ignore[arg-type]


def test_a_report_that_fits_is_believed() -> None:
    judge = echo()
    assert judge.take(reading(1500, 1500, 1500), 10.01)
    assert (judge.doubtful_s, judge.wrong) == (None, 0)


def test_the_same_channel_off_twice_is_a_damaged_command_and_says_which() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1900, 1500), 10.01)
    assert judge.doubtful_s == 10.0
    with pytest.raises(ControllerError, match="elbow should be at 1500 us, the board makes 1910 us") as caught:
        judge.take(reading(1500, 1910, 1500, at_s=10.02), 10.03)
    assert caught.value.cause is LineCause.DAMAGED
    assert judge.damaged == (1,)


def test_a_channel_off_once_was_a_damaged_reply() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1900, 1500), 10.01)
    assert judge.take(reading(1500, 1500, 1500, at_s=10.02), 10.03)
    assert (judge.doubtful_s, judge.wrong) == (None, 1)


def test_one_channel_and_then_another_is_not_yet_an_answer() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1900, 1500), 10.01)
    assert not judge.take(reading(1900, 1500, 1500, at_s=10.02), 10.03)
    with pytest.raises(ControllerError, match="base"):
        judge.take(reading(1900, 1500, 1500, at_s=10.04), 10.05)


def test_without_an_answer_to_the_second_question_the_arm_is_stopped_in_doubt() -> None:
    judge = echo()
    judge.unanswered()
    judge.take(reading(1500, 1900, 1500), 10.01)
    with pytest.raises(ControllerError, match="which did not come when it was asked again"):
        judge.unanswered()


def test_among_noise_a_first_wrong_report_alone_stops_nothing() -> None:
    judge = echo()
    judge.take(reading(1500, 1900, 1500, clean=False), 10.01)
    judge.unanswered()


@pytest.mark.parametrize("clean", [True, False])
def test_among_noise_a_canary_that_strays_keeps_the_doubt_and_is_no_restart(clean: bool) -> None:
    """An answer that lost bytes is filled up from the next one: what it says of the canary is another channel's.

    A clean one after it decides, and so do four in a row.
    """
    judge = echo()
    for at_s in (10.0, 10.02, 10.04):
        assert not judge.take(reading(1500, 1500, 1500, at_s=at_s, canary=830, clean=False), at_s + 0.01)
    assert (judge.doubtful_s, judge.wrong) == (10.0, 0)
    with pytest.raises(ControllerError, match=r"restarted.*reads 830 us, not"):
        judge.take(reading(1500, 1500, 1500, at_s=10.06, canary=830, clean=clean), 10.07)


def test_an_axis_that_is_off_beside_such_a_canary_counts_as_a_wrong_report() -> None:
    judge = echo()
    judge.take(reading(1500, 1900, 1500, canary=830, clean=False), 10.01)
    assert judge.wrong == 1


def test_an_axis_off_once_and_then_the_canary_alone_are_two_doubts_and_no_restart() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1900, 1500), 10.01)
    assert not judge.take(reading(1500, 1500, 1500, at_s=10.02, canary=0), 10.03)
    assert judge.take(reading(1500, 1500, 1500, at_s=10.04), 10.05)


def test_a_canary_without_a_pulse_is_not_said_to_read_any() -> None:
    with pytest.raises(ControllerError) as caught:
        echo().take(reading(0, 1500, 1500, canary=0), 10.01)
    assert "it reads" not in str(caught.value)


@pytest.mark.parametrize("pulses_us", [(0, 0, 0), (0, 1500, 1500)])
def test_the_canary_and_a_driven_channel_off_together_are_a_restart_at_once(pulses_us: tuple[int, ...]) -> None:
    with pytest.raises(ControllerError, match=r"restarted.*base.*the canary channel") as caught:
        echo().take(reading(*pulses_us, canary=0), 10.01)
    assert caught.value.cause is LineCause.RESTARTED


def test_the_canary_off_alone_may_be_a_damaged_question_and_twice_is_a_restart() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1500, 1500, canary=0), 10.01)
    judge.unanswered()
    assert judge.take(reading(1500, 1500, 1500, at_s=10.02), 10.03)
    assert not judge.take(reading(1500, 1500, 1500, at_s=10.04, canary=0), 10.05)
    with pytest.raises(ControllerError, match="restarted"):
        judge.take(reading(1500, 1500, 1500, at_s=10.06, canary=0), 10.07)


def test_without_a_canary_all_channels_off_are_a_restart_and_one_is_damage() -> None:
    with pytest.raises(ControllerError, match="restarted"):
        echo(canary=False).take(reading(0, 0, 0, canary=None), 10.01)
    judge = echo(canary=False)
    assert not judge.take(reading(1500, 0, 1500, canary=None), 10.01)
    with pytest.raises(ControllerError, match="elbow should be at 1500 us, the board makes no pulse"):
        judge.take(reading(1500, 0, 1500, at_s=10.02, canary=None), 10.03)


def test_a_supply_that_sags_twice_in_a_row_is_not_called_a_damaged_line_alone() -> None:
    """The first answer after the restart shows canary and axes in the middle, the second does not come any more."""
    judge = echo()
    judge.canary_us = 1750
    for axis in range(3):
        judge.drive(axis, 1900, 9.0)
    assert not judge.take(reading(1500, 1500, 1500, canary=1500), 10.01)
    with pytest.raises(ControllerError, match=r"restarted, or what arrives.*1500 us, not 1750") as caught:
        judge.unanswered()
    assert caught.value.cause is LineCause.RESTARTED_OR_DAMAGED


@pytest.mark.parametrize(
    ("pulses_us", "cause"),
    [
        ((1500, 1500, 1500), LineCause.RESTARTED_OR_DAMAGED),
        ((0, 1500, 1500), LineCause.RESTARTED_OR_DAMAGED),
        ((1200, 700, 2100), LineCause.RESTARTED_OR_DAMAGED),
        ((1900, 1500, 1500), LineCause.DAMAGED),
        ((1900, 1900, 1210), LineCause.DAMAGED),
    ],
)
def test_without_a_canary_a_board_that_shows_nothing_of_what_was_sent_may_have_restarted(
    pulses_us: tuple[int, ...], cause: LineCause
) -> None:
    judge = echo(canary=False)
    for axis in range(3):
        judge.drive(axis, 1900, 9.0)
    assert not judge.take(reading(*pulses_us, canary=None), 10.01)
    with pytest.raises(ControllerError) as caught:
        judge.take(reading(*pulses_us, at_s=10.02, canary=None), 10.03)
    assert caught.value.cause is cause


def test_where_the_canary_is_as_it_was_set_it_was_no_restart() -> None:
    judge = echo()
    for axis in range(3):
        judge.drive(axis, 1900, 9.0)
    assert not judge.take(reading(1500, 1500, 1500), 10.01)
    with pytest.raises(ControllerError) as caught:
        judge.take(reading(1500, 1500, 1500, at_s=10.02), 10.03)
    assert caught.value.cause is LineCause.DAMAGED


def test_an_older_answer_can_show_a_restart_and_nothing_else() -> None:
    judge = echo()
    assert not judge.take(reading(1500, 1900, 1500, newest=False), 10.01)
    assert judge.doubtful_s is None
    assert judge.take(reading(1500, 1500, 1500, newest=False), 10.01)
    with pytest.raises(ControllerError, match="restarted"):
        judge.take(reading(0, 0, 0, canary=0, newest=False), 10.01)


def swept(judge: Echo, until_s: float = 10.0) -> None:
    """All three have gone on by 10 us a line, the last two lines of it just before `until_s`."""
    for line in range(20):
        for index, channel in enumerate(judge.channels):
            channel.move(1500 + (line + 1) * (10, 8, -6)[index], until_s - 0.4 + 0.02 * line, 0.06)


def test_all_channels_behind_by_the_same_are_late_and_no_damage() -> None:
    judge = echo()
    swept(judge)
    behind = [10 * (round(channel.expected_us(9.84)[0]) // 10) for channel in judge.channels]
    assert not judge.take(reading(*behind), 10.01)
    assert judge.delayed_s == pytest.approx(0.12, abs=0.05)
    assert judge.wrong == 0
    there = [10 * (round(channel.expected_us(10.1)[0]) // 10) for channel in judge.channels]
    assert judge.take(reading(*there, at_s=10.1), 10.11)
    assert (judge.doubtful_s, judge.delayed_s) == (None, 0.0)


def test_who_never_gets_there_has_stood_still() -> None:
    judge = echo()
    swept(judge)
    behind = [10 * (round(channel.expected_us(9.8)[0]) // 10) for channel in judge.channels]
    for tick in range(5):
        assert not judge.take(reading(*behind, at_s=10.0 + 0.02 * tick), 10.01 + 0.02 * tick)
    with pytest.raises(ControllerError, match="stood still") as caught:
        judge.take(reading(*behind, at_s=10.2), 10.21)
    assert caught.value.cause is LineCause.STALLED


def test_an_old_board_may_repeat_an_offset_of_its_own() -> None:
    judge = echo(learns=True)
    assert judge.take(reading(1560, 1500, 1500), 10.01)
    assert judge.learn(reading(1560, 1500, 1500)).startswith("base: the board repeats +65 us beside what it is sent")
    assert judge.take(reading(1560, 1500, 1500, at_s=10.02), 10.03)
    assert not judge.take(reading(1500, 1500, 1500, at_s=10.04), 10.05)


def test_an_offset_that_no_board_can_have_is_damage() -> None:
    judge = echo(learns=True)
    judge.take(reading(1900, 1500, 1500), 10.01)
    assert judge.learn(reading(1900, 1500, 1500)) == ""
    assert not judge.take(reading(1900, 1500, 1500, at_s=10.02), 10.03)


def test_after_a_freeze_only_a_restart_is_looked_for_until_an_axis_is_driven_anew() -> None:
    judge = echo()
    judge.take(reading(1500, 1900, 1500), 10.01)
    judge.frozen((1500, 1500, 1500))
    assert judge.doubtful_s is None
    assert judge.take(reading(1500, 1900, 1500, at_s=10.02), 10.03)
    with pytest.raises(ControllerError, match="restarted"):
        judge.take(reading(0, 0, 0, at_s=10.04, canary=0), 10.05)

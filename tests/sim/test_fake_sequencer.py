"""The hexapod sequencer of the fake board: states, times and widths as the manuals have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.ssc32 import BoardSettings, Firmware, Ssc32Board

Make = Callable[..., Any]

LEGS = "LH1000LM1400LL1800RH2000RM1600RL1200VS2000LF1700LR1300RF1300RR1700HT1000"
"""Left and right are mirrored; 400 us up or down at 2000 us/s take 0.2 s, front to rear 1 s."""
RIGHT_REAR, RIGHT_CENTRE, RIGHT_FRONT, LEFT_REAR, LEFT_CENTRE, LEFT_FRONT = 0, 2, 4, 16, 18, 20
FIRST, SECOND = (RIGHT_CENTRE, LEFT_REAR, LEFT_FRONT), (RIGHT_REAR, RIGHT_FRONT, LEFT_CENTRE)
PERIOD_S = 2 * (0.5 + 0.5 + 0.2 + 0.2)


def standing(make: Make, **choices: Any) -> Any:
    """A board whose legs stand low, horizontally in the middle; it has all words but XS."""
    t = make(**choices)
    t.type("".join(f"#{c}P1800#{c + 1}P1500" for c in (16, 18, 20)) + "\r")
    t.type("".join(f"#{c}P1200#{c + 1}P1500" for c in (0, 2, 4)) + "\r")
    t.type(f"{LEGS}XL100XR100\r")
    t.wait(0.2)
    return t


def asked(t: Any) -> tuple[int, int]:
    """State and tenths."""
    answer = t.ask("XQ\r", 0.005)
    assert len(answer) == 1
    return answer[0] >> 4, answer[0] & 15


@pytest.mark.parametrize("firmware", list(Firmware))
def test_xq_goes_through_eight_states_and_counts_tenths_in_each(terminal: Make, firmware: Firmware) -> None:
    t = standing(lambda **choices: terminal(firmware, **choices))
    t.type("XS100\r")
    seen = [asked(t)]
    while len(seen) < 2 or seen[-1] >= seen[-2]:
        t.wait(0.015)
        seen.append(asked(t))
    assert sorted(set(seen)) == [(state, tenths) for state in range(8) for tenths in range(10)]


def test_a_state_takes_the_legs_where_the_manual_says(terminal: Make) -> None:
    t = standing(terminal)
    t.type("XS100\r")
    t.wait(0.5)
    up = [t.pulse(c) for c in SECOND]
    assert up == [pytest.approx(us, abs=25) for us in (2000, 2000, 1000)]
    t.wait(0.52)
    assert [t.pulse(c) for c in FIRST] == [1200.0, 1800.0, 1800.0]
    assert [t.pulse(c + 1) for c in FIRST] == [1700.0, 1300.0, 1300.0]
    assert [t.pulse(c + 1) for c in SECOND] == [1300.0, 1300.0, 1700.0]
    t.wait(0.2)
    assert [t.pulse(c) for c in SECOND] == [pytest.approx(us, abs=25) for us in (1200, 1200, 1800)]
    t.wait(0.2)
    assert [t.pulse(c) for c in FIRST] == [pytest.approx(us, abs=25) for us in (1600, 1400, 1400)]


def test_after_a_whole_period_the_legs_are_where_they_were(terminal: Make) -> None:
    t = standing(terminal)
    t.type("XS100\r")
    t.wait(PERIOD_S + 0.37)
    before = t.board.pulses_us()
    t.wait(PERIOD_S)
    assert t.board.pulses_us() == pytest.approx(before, abs=25)
    assert before[6:16] == (0.0,) * 10


@pytest.mark.parametrize(("speed", "seconds"), [(50, 1.0), (100, 0.5), (200, 0.25)])
def test_xs_sets_how_long_half_a_stride_takes(terminal: Make, speed: int, seconds: float) -> None:
    t = standing(terminal)
    t.type(f"XS{speed}\r")
    t.wait(0.9 * seconds)
    assert asked(t)[0] == 0
    t.wait(0.15 * seconds)
    assert asked(t)[0] == 1


def test_a_negative_stride_walks_backwards_and_zero_stands_on_the_spot(terminal: Make) -> None:
    t = standing(terminal)
    t.type("XL-100XR0\rXS100\r")
    t.wait(1.05)
    assert t.pulse(LEFT_REAR + 1) == 1700.0
    assert t.pulse(RIGHT_CENTRE + 1) == 1500.0


def test_xs_zero_stands_still_and_goes_on_from_there(terminal: Make) -> None:
    t = standing(terminal)
    t.type("XS100\r")
    t.wait(0.3)
    t.type("XS0\r")
    t.wait(0.05)
    there, stood = asked(t), t.board.pulses_us()
    t.wait(3.0)
    assert (asked(t), t.board.pulses_us()) == (there, stood)
    t.type("XS100\r")
    t.wait(0.25)
    assert asked(t)[0] == 1


def test_xstop_gives_the_channels_back(terminal: Make) -> None:
    t = standing(terminal)
    t.type("XS100\r")
    t.wait(0.3)
    t.type("XSTOP\r")
    t.wait(0.05)
    stood = t.board.pulses_us()
    t.wait(3.0)
    assert t.board.pulses_us() == stood
    assert asked(t) == (0, 0)
    t.type("#0P1555\r")
    t.wait(2.0)
    assert t.pulse(0) == 1555.0


@pytest.mark.parametrize(
    ("words", "choices"), [("XL50 XR100 XS100", {}), (f"{LEGS}XS100", {"sequencer": False}), (f"{LEGS}XS201", {})]
)
def test_without_times_or_a_speed_that_exists_or_where_it_rests_nothing_moves(
    terminal: Make, words: str, choices: dict[str, Any]
) -> None:
    t = terminal(**choices)
    t.ask(f"{words}\r", 1.0)
    assert asked(t) == (0, 0)
    assert t.board.pulses_us() == (0.0,) * 32


def test_a_restart_forgets_it_and_so_does_a_processor_that_hung(terminal: Make) -> None:
    for befall in ("power_cycle", "hang"):
        t = standing(terminal)
        t.type("XS100\r")
        t.wait(0.3)
        getattr(t.board, befall)(t.now_s)
        t.wait(0.5)
        if befall == "hang":
            t.board.hang(t.now_s, False)
        stood = t.board.pulses_us()
        t.wait(3.0)
        assert t.board.pulses_us() == stood
        assert asked(t) == (0, 0)


@settings(max_examples=30, deadline=None)
@given(
    words=st.lists(
        st.tuples(st.sampled_from(["XS", "XL", "XR", "HT", "VS", "LH", "RF"]), st.integers(-200, 2600)), max_size=8
    ),
    gaps_s=st.lists(st.floats(0.0, 0.7), min_size=8, max_size=8),
)
def test_whatever_it_is_told_it_makes_pulses_of_its_own_channels_alone(
    words: list[tuple[str, int]], gaps_s: list[float]
) -> None:
    board = Ssc32Board(BoardSettings())
    now_s = 0.0
    for text, gap_s in zip(
        [LEGS, "XS100", *(f"{word}{value}" for word, value in words)], [0, 0, *gaps_s], strict=False
    ):
        board.receive(f"{text}\r".encode("ascii"), now_s, board.byte_s)
        now_s += 0.02 + gap_s
        board.advance(now_s)
        told = board.machine.sequencer.told(now_s)
        assert told >> 4 < 8
        assert told & 15 < 10
    pulses = board.pulses_us()
    assert not any(pulses[6:16]) and not any(pulses[22:])
    assert all(not us or 500.0 <= us <= 2500.0 for us in pulses)

"""The process beside a window: it believes a hand while the window turns, and excuses what the computer did."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.dashboard import beside_words
from hil.dashboard.beside import LATEST_S, _refuse_late
from hil.dashboard.beside_words import Answer, Hand
from hil.dashboard.hand_watch import GONE_S, LONGEST_S, STALLED_S, HandWatch, Turn
from hil.errors import CommandError, InterlockError
from hil.service import wire
from hil.service.hold_watch import NO_SIGN
from hil.service.lab_request import RefusedByLabError
from hil.service.wire import Code, Refused

EVERY_S = 0.02


class Window:
    """A window whose thread does as it is told, and the watch beside it."""

    def __init__(self, *, knows: bool = True) -> None:
        self.now_s, self.turn = 100.0, Turn(1.0, wants=False)
        self.watch = HandWatch(lambda: self.turn if knows else None, EVERY_S)

    def press(self, number: int = 1) -> None:
        """It says that something is held."""
        self.watch.say(Hand(number, self.now_s, NO_SIGN))

    def passes(self, seconds: float, *, runs: bool = False, wants: bool = False, every_s: float = EVERY_S) -> bool:
        """Time goes on without a word; whether it still counts as held."""
        held = True
        for _ in range(round(seconds / every_s)):
            self.now_s += every_s
            self.turn = Turn(self.turn.cpu_s + (every_s if runs else 0.0), wants or runs)
            held = self.watch.look(self.now_s)
        return held


def test_the_numbers() -> None:
    assert (STALLED_S, LONGEST_S, GONE_S) == (0.2, 0.3, 2.0)


@pytest.mark.parametrize("runs", [False, True], ids=["it waits for something", "it is busy by itself"])
def test_a_window_that_hangs_lets_go(runs: bool) -> None:
    window = Window()
    window.press()
    assert window.passes(0.18, runs=runs)
    assert not window.passes(0.04, runs=runs)


def test_a_window_that_does_not_get_its_turn_is_given_longer_but_not_for_ever() -> None:
    window = Window()
    window.press()
    assert window.passes(0.28, wants=True)
    assert not window.passes(0.04, wants=True)


def test_where_nobody_knows_whose_turn_it_was_own_lateness_excuses() -> None:
    window = Window(knows=False)
    window.press()
    assert window.passes(0.24, every_s=0.12), "this process came late as well"
    window = Window(knows=False)
    window.press()
    assert not window.passes(0.22), "this one came in time"


def test_what_has_lapsed_counts_again_only_as_another_press() -> None:
    window = Window()
    window.press(1)
    assert not window.passes(0.3)
    window.press(1)
    assert not window.watch.look(window.now_s)
    window.press(2)
    assert window.watch.look(window.now_s)


def test_words_that_lay_in_the_pipe_are_as_old_as_they_are() -> None:
    window = Window()
    window.watch.say(Hand(1, window.now_s - 0.25, NO_SIGN))
    assert not window.watch.look(window.now_s)


def test_a_window_that_is_gone_keeps_no_arm() -> None:
    window = Window()
    window.watch.say(Hand(None, window.now_s, NO_SIGN))
    assert not window.watch.gone(window.now_s + 1.9)
    assert window.watch.gone(window.now_s + 2.1)


@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.booleans(), st.booleans()), max_size=12))
def test_never_longer_than_the_longest_silence(parts: list[tuple[float, bool, bool]]) -> None:
    window = Window()
    window.press()
    for seconds, runs, wants in parts:
        held = window.passes(seconds, runs=runs, wants=wants)
        silence_s = window.now_s - 100.0
        assert not (held and silence_s > LONGEST_S and round(seconds / EVERY_S))


def test_errors_come_through_the_pipe_as_they_are() -> None:
    refused = RefusedByLabError(Refused(to=1, now_s=0.0, code=Code.LEASE, reason="Grace drives it"))
    pipe = io.BytesIO()
    for error in (refused, InterlockError("not at rest", ["rest"])):
        beside_words.put(pipe, Answer(1, None, error, 7))
    pipe.seek(0)
    first, second = beside_words.get(pipe).error, beside_words.get(pipe).error
    assert isinstance(first, RefusedByLabError) and first.refused == refused.refused and str(first) == "Grace drives it"
    assert isinstance(second, InterlockError) and second.missing == ("rest",)
    assert beside_words.get(pipe) is None, "the other end is gone"


@pytest.mark.parametrize(
    "call", [("step",), ("go",), ("jog",), ("confirm",), ("request", wire.Start)], ids=lambda call: str(call[0])
)
def test_what_begins_a_motion_is_refused_where_it_comes_late_and_a_stop_never_is(call: tuple[object, ...]) -> None:
    name, *args = call
    late = beside_words.Call(1, str(name), tuple(args), {}, 100.0)
    _refuse_late(late, 100.0 + LATEST_S)
    with pytest.raises(CommandError, match="nothing moved: press again"):
        _refuse_late(late, 100.01 + LATEST_S)
    _refuse_late(beside_words.Call(1, "request", (wire.Stop,), {}, 0.0), 100.0)
    _refuse_late(beside_words.Call(1, "tell", (wire.Stop,), {}, 0.0), 100.0)

"""A hold without a hand: what counts as one, for how long it goes on without, and that it has to be pressed anew."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.service.hold_watch import INPUT_SILENT_S, PLANNED_UNCHANGED_S, UNCHANGED_S, HoldWatch, Sign
from hil.service.lease import Lease
from hil.service.lease_facts import ArmFacts, Effects, LetGo, Party, Tell
from hil.service.lease_settings import LeaseSettings
from hil.service.program_hand import ProgramHand
from hil.service.rights import Role
from hil.service.wire import NoticeKind
from hil.types import Mode

ANN = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1)
MOVING = ArmFacts(mode=Mode.STREAMING, parked=False)
EVERY_S = 0.1

SignAt = Callable[[float], Sign]


def none(now_s: float) -> Sign:
    return Sign()


class Held:
    """A driver whose beats say "held" from 0 s on, and say so and so of the hand."""

    def __init__(self, sign: SignAt = none, **settings: float) -> None:
        self.lease = Lease("lynx6", LeaseSettings(**settings), first_epoch=100)
        parked = ArmFacts(mode=Mode.IDLE, parked=True)
        self.lease.claim(ANN, 0.0, parked)
        self.lease.observe(parked, 0.0)
        self.lease.beat(ANN, self.lease.epoch, False, 0.0, 0.0)
        self.now_s, self.sign = 0.0, sign
        self.effects: list[tuple[float, Effects]] = []
        self.beat()

    def beat(self, held: bool = True) -> None:
        sign = self.sign(self.now_s) if held else Sign()
        self._note(self.lease.beat(ANN, self.lease.epoch, held, self.now_s, self.now_s, sign))

    def _note(self, effects: Effects) -> None:
        if effects:
            self.effects.append((self.now_s, effects))

    def until(self, end_s: float, ask: object = None) -> None:
        """Beats, and a jog of this kind, ten times a second."""
        while self.now_s < end_s - 1e-9:
            self.now_s = round(self.now_s + EVERY_S, 6)
            self.beat()
            if ask is not None and self.lease.held(self.now_s):
                self.lease.asked(ask, self.now_s, planned=False)
            self._note(self.lease.observe(MOVING, self.now_s))

    def told(self, kind: NoticeKind) -> list[tuple[float, str]]:
        return [
            (at_s, each.text)
            for at_s, effects in self.effects
            for each in effects
            if isinstance(each, Tell) and each.kind is kind
        ]

    @property
    def let_go(self) -> list[float]:
        return [at_s for at_s, effects in self.effects if any(isinstance(each, LetGo) for each in effects)]


# -- a hold in which nothing changes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sign",
    [none, lambda now_s: Sign(changed_s=0.0), lambda now_s: Sign(changed_s=0.0, reported_s=now_s)],
    ids=["an old client", "a pointer that lies still", "a key that repeats"],
)
def test_a_jog_in_which_nothing_changes_ends_after_ten_seconds_with_a_stop(sign: SignAt) -> None:
    held = Held(sign)
    held.until(30.0, ask="the same")
    first_s = held.let_go[0]
    assert first_s == pytest.approx(10.0, abs=2.1 * EVERY_S)
    assert [words for _, words in held.told(NoticeKind.PRESS_AGAIN)] == [
        "nothing has changed for 10 s, as if the key were stuck: let go, then press again"
    ]
    assert held.let_go == [first_s], "it is ended once"
    assert not held.lease.held(held.now_s)


def test_its_driver_is_warned_three_seconds_before() -> None:
    held = Held()
    held.until(12.0, ask="the same")
    ((at_s, words),) = held.told(NoticeKind.HOLD_ENDS)
    assert at_s == pytest.approx(7.0, abs=2.1 * EVERY_S)
    assert "stops in 3 s" in words


def test_it_counts_again_only_once_it_was_let_go() -> None:
    held = Held()
    held.until(20.0)
    assert not held.lease.held(held.now_s)
    held.beat(held=False)
    held.beat()
    assert held.lease.held(held.now_s)
    held.until(held.now_s + 9.0)
    assert held.lease.held(held.now_s)


def test_a_beat_that_came_late_is_no_new_press() -> None:
    held = Held()
    held.until(6.0)
    # Said to be held all the while; one of them was too old when it came.
    held.lease.beat(ANN, held.lease.epoch, True, held.now_s - 1.0, held.now_s)
    held.until(10.5)
    assert held.told(NoticeKind.PRESS_AGAIN)


def test_a_hand_that_changes_something_goes_on_for_as_long_as_it_does() -> None:
    held = Held(lambda now_s: Sign(changed_s=9.0 * math.floor(now_s / 9.0)))
    held.until(60.0, ask="the same")
    assert held.let_go == []


def test_another_jog_shows_a_hand_where_nothing_else_is_said_of_one() -> None:
    held = Held()
    for k in range(5):
        held.until(held.now_s + 9.0, ask=f"jog {k}")
    assert held.let_go == []
    held = Held(lambda now_s: Sign(changed_s=0.0))
    for k in range(5):
        held.until(held.now_s + 9.0, ask=f"jog {k}")
    assert held.let_go, "rates that a program works out are no hand"


def test_nothing_counts_from_before_the_press_or_from_after_now() -> None:
    for changed_s in (-1e9, 1e9):
        held = Held(lambda now_s, changed_s=changed_s: Sign(changed_s=changed_s))  # type: ignore[misc]
        assert held.lease.held(0.0)
    watch = HoldWatch(10.0, 60.0)
    watch.begin(0.0)
    watch.see(Sign(changed_s=1e9), 1.0)
    assert watch.over(10.9) == ""
    assert watch.over(11.1) != ""


# -- a planned motion ------------------------------------------------------------------------------------------------


def test_a_planned_motion_goes_on_for_a_minute_without_a_change_and_is_warned_of_ten_seconds_before() -> None:
    held = Held(lambda now_s: Sign(changed_s=0.0, reported_s=now_s))
    held.until(2.0)
    held.lease.asked(None, held.now_s, planned=True)
    held.until(70.0)
    assert held.let_go == pytest.approx([62.0], abs=2.1 * EVERY_S)
    ((at_s, words),) = held.told(NoticeKind.HOLD_ENDS)
    assert at_s == pytest.approx(52.0, abs=2.1 * EVERY_S)
    assert "stops in 10 s" in words


def test_a_jog_after_it_has_ten_seconds_again() -> None:
    held = Held(lambda now_s: Sign(changed_s=0.0))
    held.lease.asked(None, held.now_s, planned=True)
    held.until(5.0)
    held.until(30.0, ask="a jog")
    assert held.let_go[0] == pytest.approx(10.0, abs=2.1 * EVERY_S)


# -- an input that says nothing any more -----------------------------------------------------------------------------


@pytest.mark.parametrize("planned", [False, True])
def test_a_key_that_has_repeated_itself_and_does_no_more_is_told_from_one_that_lies_still(planned: bool) -> None:
    held = Held(lambda now_s: Sign(changed_s=0.0, reported_s=min(now_s, 3.0)))
    held.lease.asked("a jog", 0.0, planned=planned)
    held.until(8.0)
    assert held.let_go == pytest.approx([4.5], abs=2.1 * EVERY_S)
    ((_, words),) = held.told(NoticeKind.PRESS_AGAIN)
    assert words.startswith("the input says nothing any more")


def test_an_input_that_says_nothing_by_itself_is_not_asked_to() -> None:
    held = Held(lambda now_s: Sign(changed_s=0.0, reported_s=now_s if now_s < 3.0 else None))
    held.until(8.0)
    assert held.let_go == []


@given(
    changes=st.lists(st.floats(0.0, 40.0), max_size=6),
    silent_at=st.none() | st.floats(0.0, 40.0),
)
def test_a_hold_never_outlives_its_last_sign_by_more_than_it_may(changes: list[float], silent_at: float | None) -> None:
    def sign(now_s: float) -> Sign:
        past = [at_s for at_s in changes if at_s <= now_s]
        reported_s = None if silent_at is None else min(now_s, silent_at)
        return Sign(changed_s=max(past, default=None), reported_s=reported_s)

    held = Held(sign)
    held.until(55.0, ask="the same")
    end_s = held.let_go[0]
    last_s = max((at_s for at_s in changes if at_s <= end_s), default=0.0)
    by_change_s = last_s + UNCHANGED_S
    by_silence_s = math.inf if silent_at is None else silent_at + INPUT_SILENT_S
    assert end_s == pytest.approx(min(by_change_s, by_silence_s), abs=2.1 * EVERY_S)


# -- settings --------------------------------------------------------------------------------------------------------


def test_a_lab_may_ask_for_a_sign_sooner_or_later() -> None:
    assert (UNCHANGED_S, PLANNED_UNCHANGED_S, INPUT_SILENT_S) == (10.0, 60.0, 1.5)
    held = Held(unchanged_s=4.0)
    held.until(20.0)
    assert held.let_go == pytest.approx([4.0], abs=2.1 * EVERY_S)
    assert "for 4 s" in held.told(NoticeKind.PRESS_AGAIN)[0][1]


# -- the hand of a program -------------------------------------------------------------------------------------------


def test_a_program_that_waits_is_a_hand_for_as_long_as_it_goes_round() -> None:
    hand = ProgramHand(None, 0.0)
    assert [hand.look(at_s) for at_s in (0.0, 40.0)] == [Sign(changed_s=0.0), Sign(changed_s=40.0)]


def test_a_dead_man_that_gives_the_same_answer_again_shows_no_hand_and_another_one_does() -> None:
    answers: list[object] = [True, True, 0.4, 0.4, 0.41]
    hand = ProgramHand(lambda: answers.pop(0), 0.0)
    assert [hand.look(float(k)).changed_s for k in range(5)] == [0.0, 0.0, 2.0, 2.0, 4.0]  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", [False, 0, 0.0, None, math.nan])
def test_what_is_no_answer_lets_go(answer: object) -> None:
    assert ProgramHand(lambda: answer, 0.0).look(1.0) is None


def test_other_rates_of_a_jog_show_a_hand() -> None:
    hand = ProgramHand(lambda: True, 0.0)
    found = [hand.look(float(k), rates) for k, rates in enumerate(("a", "a", "b"))]
    assert [sign and sign.changed_s for sign in found] == [0.0, 0.0, 2.0]

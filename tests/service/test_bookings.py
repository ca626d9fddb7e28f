"""Calendar and queue: one arm is never promised twice, those who wait come first, and no broken arm is lent."""

from __future__ import annotations

import itertools
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hil.errors import ConfigError
from hil.service.bookings import IN_MEMORY, BookingError, BookingRules, Bookings, Condition

NOW_S = 1_800_000_000.0
MINUTE_S = 60.0


@pytest.fixture
def bookings() -> Bookings:
    made = Bookings(IN_MEMORY, BookingRules())
    made.set_condition("a", Condition.READY)
    return made


def test_an_arm_that_the_service_has_not_looked_at_is_not_lent() -> None:
    bookings = Bookings(IN_MEMORY, BookingRules())
    with pytest.raises(BookingError, match="not checked yet"):
        bookings.book("a", "Ana", None, 10, NOW_S)
    with pytest.raises(BookingError, match="not checked yet"):
        bookings.wait("a", "Ana", 10, NOW_S)
    assert bookings.turn("a", NOW_S) is None


@pytest.mark.parametrize("condition", [Condition.FAULT, Condition.AWAY, Condition.UNCHECKED])
def test_a_broken_arm_cannot_be_booked_and_says_why(bookings: Bookings, condition: Condition) -> None:
    bookings.wait("a", "Ana", 10, NOW_S)
    bookings.set_condition("a", condition, "the line went dead")
    assert bookings.why_not("a") == f"a is {condition.value}: the line went dead"
    with pytest.raises(BookingError, match="the line went dead"):
        bookings.book("a", "Ana", None, 10, NOW_S)
    assert bookings.turn("a", NOW_S) is None


def test_while_an_arm_is_cleared_it_can_be_booked_but_nobody_gets_it(bookings: Bookings) -> None:
    bookings.set_condition("a", Condition.CLEARING)
    bookings.wait("a", "Ana", 10, NOW_S)
    assert bookings.book("a", "Ben", NOW_S + 3600, 10, NOW_S)
    assert bookings.turn("a", NOW_S) is None
    bookings.set_condition("a", Condition.READY)
    turn = bookings.turn("a", NOW_S)
    assert turn is not None and turn.user == "Ana"


def test_a_time_that_is_taken_is_refused_and_the_next_free_one_is_found(bookings: Bookings) -> None:
    first = bookings.book("a", "Ana", NOW_S + 600, 30, NOW_S)
    with pytest.raises(BookingError, match="is taken from"):
        bookings.book("a", "Ben", NOW_S + 1800, 30, NOW_S)
    assert bookings.book("a", "Ben", None, 10, NOW_S).begin_s == NOW_S
    assert bookings.book("a", "Cem", None, 10, NOW_S).begin_s == first.end_s


def test_slots_touch_without_overlapping(bookings: Bookings) -> None:
    first = bookings.book("a", "Ana", NOW_S, 30, NOW_S)
    second = bookings.book("a", "Ben", first.end_s, 30, NOW_S)
    assert bookings.current("a", first.end_s - 0.001) == first
    assert bookings.current("a", first.end_s) == second


@pytest.mark.parametrize(
    ("begin_s", "minutes", "words"),
    [
        (NOW_S - 60, 10, "allowed: now to"),
        (NOW_S + 15 * 86_400, 10, "allowed: now to"),
        (NOW_S, 61, "allowed: 5 to 60"),
        (NOW_S, 4, "allowed: 5 to 60"),
        (NOW_S, float("nan"), "allowed: 5 to 60"),
        (float("nan"), 10, "allowed: now to"),
        (NOW_S + 3600, 10, "the token of Ana ends"),
    ],
)
def test_what_the_rules_do_not_allow_is_refused(bookings: Bookings, begin_s: float, minutes: float, words: str) -> None:
    with pytest.raises(BookingError, match=words):
        bookings.book("a", "Ana", begin_s, minutes, NOW_S, allowed_until_s=NOW_S + 3700)
    assert bookings.slots("a", NOW_S) == ()


def test_one_person_has_so_many_slots_and_no_more(bookings: Bookings) -> None:
    bookings.book("a", "Ana", None, 10, NOW_S)
    second = bookings.book("a", "Ana", None, 10, NOW_S)
    with pytest.raises(BookingError, match="Cancel one first"):
        bookings.book("a", "Ana", None, 10, NOW_S)
    bookings.cancel(second.id, NOW_S, by="Ana")
    bookings.book("a", "Ana", None, 10, NOW_S)


def test_only_its_owner_or_a_teacher_cancels_a_slot(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S + 60, 10, NOW_S)
    with pytest.raises(BookingError, match="no slot") as others:
        bookings.cancel(slot.id, NOW_S, by="Ben")
    with pytest.raises(BookingError) as nobodys:
        bookings.cancel(slot.id + 1, NOW_S, by="Ben")
    assert str(others.value).replace(str(slot.id), "") == str(nobodys.value).replace(str(slot.id + 1), "")
    bookings.cancel(slot.id, NOW_S, by=None)
    assert bookings.slots("a", NOW_S) == ()


def test_those_who_wait_come_before_those_who_book(bookings: Bookings) -> None:
    assert [bookings.wait("a", user, 20, NOW_S) for user in ("Ana", "Ben", "Ana")] == [1, 2, 1]
    with pytest.raises(BookingError, match="others wait"):
        bookings.book("a", "Cem", NOW_S, 10, NOW_S)
    assert bookings.book("a", "Cem", None, 10, NOW_S).begin_s == NOW_S + 40 * MINUTE_S


def test_the_queue_is_served_in_order_up_to_the_next_slot(bookings: Bookings) -> None:
    booked = bookings.book("a", "Cem", NOW_S + 30 * MINUTE_S, 10, NOW_S)
    bookings.wait("a", "Ana", 20, NOW_S)
    bookings.wait("a", "Ben", 20, NOW_S)
    first = bookings.turn("a", NOW_S)
    assert first is not None and first.user == "Ana" and bookings.turn("a", NOW_S) == first
    bookings.claim(first.id, "Ana", NOW_S)
    second = bookings.turn("a", first.end_s)
    assert second is not None and second.user == "Ben" and second.end_s == booked.begin_s
    bookings.claim(second.id, "Ben", first.end_s)
    assert bookings.turn("a", booked.begin_s) == booked


def test_a_gap_too_short_for_anybody_stays_empty(bookings: Bookings) -> None:
    bookings.book("a", "Cem", NOW_S + 4 * MINUTE_S, 10, NOW_S)
    bookings.wait("a", "Ana", 5, NOW_S)
    assert bookings.turn("a", NOW_S) is None


def test_who_does_not_come_loses_the_slot_to_the_next(bookings: Bookings) -> None:
    bookings.wait("a", "Ana", 20, NOW_S)
    bookings.wait("a", "Ben", 20, NOW_S)
    bookings.turn("a", NOW_S)
    late_s = NOW_S + 5 * MINUTE_S
    turn = bookings.turn("a", late_s)
    assert turn is not None and turn.user == "Ben"
    with pytest.raises(BookingError, match="is not Ana's now"):
        bookings.claim(turn.id, "Ana", late_s)


def test_who_may_wait_no_longer_is_passed_over(bookings: Bookings) -> None:
    bookings.wait("a", "Ana", 20, NOW_S, allowed_until_s=NOW_S + 10)
    bookings.wait("a", "Ben", 20, NOW_S, allowed_until_s=NOW_S + 600)
    turn = bookings.turn("a", NOW_S + 11)
    assert turn is not None and turn.user == "Ben" and turn.end_s == NOW_S + 600


def test_sending_somebody_away_ends_slot_and_place_in_the_queue(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 10, NOW_S)
    bookings.wait("a", "Ana", 10, NOW_S)
    bookings.claim(slot.id, "Ana", NOW_S)
    bookings.dismiss("a", "Ana", NOW_S + 60)
    assert bookings.current("a", NOW_S + 60) is None and bookings.waiting("a", NOW_S + 60) == ()


def test_a_slot_is_extended_only_into_free_time_that_nobody_waits_for(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 10, NOW_S)
    bookings.book("a", "Ben", NOW_S + 15 * MINUTE_S, 10, NOW_S)
    assert bookings.extend(slot.id, 30, NOW_S).end_s == NOW_S + 15 * MINUTE_S
    with pytest.raises(BookingError, match="cannot end later"):
        bookings.extend(slot.id, 30, NOW_S)
    bookings.wait("a", "Cem", 10, NOW_S)
    with pytest.raises(BookingError, match="1 are waiting"):
        bookings.extend(slot.id, 30, NOW_S)


def test_bookings_outlive_a_restart_but_the_arms_have_to_be_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "bookings.sqlite"
    before = Bookings(path, BookingRules())
    before.set_condition("a", Condition.READY)
    slot = before.book("a", "Ana", NOW_S, 10, NOW_S)
    before.wait("a", "Ben", 10, NOW_S)
    before.close()
    after = Bookings(path, BookingRules())
    assert after.current("a", NOW_S) == slot and after.waiting("a", NOW_S)[0].user == "Ben"
    with pytest.raises(BookingError, match="not checked yet"):
        after.book("a", "Cem", None, 10, NOW_S)
    after.close()
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_or_foreign_file_is_refused_with_advice(tmp_path: Path) -> None:
    damaged, foreign = tmp_path / "damaged", tmp_path / "foreign"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(ConfigError, match="move it away"):
        Bookings(damaged, BookingRules())
    base = sqlite3.connect(foreign)
    base.execute("PRAGMA user_version = 9")
    base.close()
    with pytest.raises(ConfigError, match="Move the file away"):
        Bookings(foreign, BookingRules())


def test_people_can_be_forgotten(bookings: Bookings) -> None:
    bookings.book("a", "Ana", NOW_S, 10, NOW_S)
    bookings.book("a", "Ben", None, 10, NOW_S)
    bookings.wait("a", "Ana", 10, NOW_S)
    assert bookings.forget_user("Ana") == 2
    assert [slot.user for slot in bookings.slots("a", NOW_S)] == ["Ben"]
    assert bookings.forget_before(NOW_S + 86_400) == 1
    assert bookings.slots("a", NOW_S) == ()


class Lab(RuleBasedStateMachine):
    """People book, wait, come, go; time passes; arms break and are mended."""

    people = st.sampled_from(["Ana", "Ben", "Cem", "Dia"])
    lengths = st.sampled_from([5.0, 10.0, 60.0])

    @initialize()
    def begin(self) -> None:
        self.now_s = NOW_S
        self.bookings = Bookings(IN_MEMORY, BookingRules())
        self.ready = True
        self.bookings.set_condition("a", Condition.READY)

    @rule(seconds=st.floats(0.1, 2000))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds

    @rule(user=people, minutes=lengths, offset_min=st.one_of(st.none(), st.integers(0, 120)))
    def book(self, user: str, minutes: float, offset_min: int | None) -> None:
        begin_s = None if offset_min is None else self.now_s + offset_min * MINUTE_S
        try:
            slot = self.bookings.book("a", user, begin_s, minutes, self.now_s)
        except BookingError:
            return
        assert self.ready and slot.begin_s >= self.now_s
        assert slot.end_s - slot.begin_s == pytest.approx(minutes * MINUTE_S)

    @rule(user=people, minutes=lengths)
    def wait(self, user: str, minutes: float) -> None:
        if self.ready:
            place = self.bookings.wait("a", user, minutes, self.now_s)
            assert self.bookings.waiting("a", self.now_s)[place - 1].user == user

    @rule()
    def come(self) -> None:
        before, waiting = self.bookings.current("a", self.now_s), self.bookings.waiting("a", self.now_s)
        slot = self.bookings.turn("a", self.now_s)
        if slot is not None:
            assert slot.begin_s <= self.now_s < slot.end_s
            if before is None or slot.id != before.id:
                assert self.ready and slot.user == waiting[0].user
            self.bookings.claim(slot.id, slot.user, self.now_s)
            assert self.bookings.turn("a", self.now_s) is not None

    @rule(user=people)
    def send_away(self, user: str) -> None:
        self.bookings.dismiss("a", user, self.now_s)
        slot = self.bookings.current("a", self.now_s)
        assert slot is None or slot.user != user

    @rule(user=people, minutes=lengths)
    def extend(self, user: str, minutes: float) -> None:
        slot = self.bookings.current("a", self.now_s)
        if slot is not None and not self.bookings.waiting("a", self.now_s):
            try:
                longer = self.bookings.extend(slot.id, minutes, self.now_s)
            except BookingError:
                return
            assert slot.end_s < longer.end_s <= self.now_s + 3600

    @rule(ready=st.booleans())
    def breaks_or_is_mended(self, ready: bool) -> None:
        self.ready = ready
        self.bookings.set_condition("a", Condition.READY if ready else Condition.FAULT)

    @invariant()
    def no_time_is_promised_twice(self) -> None:
        slots = self.bookings.slots("a", self.now_s)
        for earlier, later in itertools.pairwise(slots):
            assert earlier.end_s <= later.begin_s


TestLab = Lab.TestCase
TestLab.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)

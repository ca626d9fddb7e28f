"""The calendar: no arm is promised twice, nobody books past those who wait, and no broken arm is lent."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hil.errors import ConfigError
from hil.service.bookings import BookingError, BookingRules, Bookings, Condition, Reserved
from hil.service.grants import clock_text
from hil.service.people_file import IN_MEMORY

NOW_S = 1_800_000_000.0
MINUTE_S = 60.0


def any_arm(arm: str) -> bool:
    return True


@pytest.fixture
def bookings() -> Iterator[Bookings]:
    with contextlib.closing(Bookings(IN_MEMORY, BookingRules())) as made:
        made.set_condition("a", Condition.READY)
        yield made


def test_an_arm_that_the_service_has_not_looked_at_is_not_lent(bookings: Bookings) -> None:
    with pytest.raises(BookingError, match="not checked yet"):
        bookings.book("b", "Ana", None, 10, NOW_S)


@pytest.mark.parametrize("condition", [Condition.FAULT, Condition.AWAY, Condition.UNCHECKED])
def test_a_broken_arm_cannot_be_booked_and_says_why(bookings: Bookings, condition: Condition) -> None:
    bookings.set_condition("a", condition, "the line went dead")
    assert bookings.why_not("a") == f"a is {condition.value}: the line went dead"
    with pytest.raises(BookingError, match="the line went dead"):
        bookings.book("a", "Ana", None, 10, NOW_S)


@pytest.mark.parametrize("condition", [Condition.STARTING, Condition.CLEARING])
def test_an_arm_that_is_soon_ready_by_itself_can_be_booked(bookings: Bookings, condition: Condition) -> None:
    bookings.set_condition("a", condition)
    assert bookings.why_not("a") == ""
    assert bookings.book("a", "Ben", NOW_S + 3600, 10, NOW_S)


def test_a_time_that_is_taken_is_refused_and_the_next_free_one_is_found(bookings: Bookings) -> None:
    first = bookings.book("a", "Ana", NOW_S + 600, 30, NOW_S)
    with pytest.raises(BookingError, match="is taken from"):
        bookings.book("a", "Ben", NOW_S + 1800, 30, NOW_S)
    assert bookings.book("a", "Ben", None, 10, NOW_S).begin_s == NOW_S
    assert bookings.book("a", "Cem", None, 10, NOW_S).begin_s == first.end_s


def test_slots_touch_without_overlapping(bookings: Bookings) -> None:
    first = bookings.book("a", "Ana", NOW_S, 30, NOW_S)
    second = bookings.book("a", "Ben", first.end_s, 30, NOW_S)
    assert bookings.reserved("a", NOW_S + 1) == Reserved(slot=first, until_s=first.end_s)
    assert bookings.reserved("a", first.end_s).slot == second


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
    bookings.cancel(second.id, NOW_S, by="Ana", covers=any_arm)
    bookings.book("a", "Ana", None, 10, NOW_S)


def test_only_its_owner_or_a_teacher_cancels_a_slot(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S + 60, 10, NOW_S)
    with pytest.raises(BookingError, match="no slot") as others:
        bookings.cancel(slot.id, NOW_S, by="Ben", covers=any_arm)
    with pytest.raises(BookingError) as nobodys:
        bookings.cancel(slot.id + 1, NOW_S, by="Ben", covers=any_arm)
    assert str(others.value).replace(str(slot.id), "") == str(nobodys.value).replace(str(slot.id + 1), "")
    bookings.cancel(slot.id, NOW_S, by=None, covers=any_arm)
    assert bookings.slots("a", NOW_S) == ()


def test_a_slot_of_an_arm_that_is_not_one_s_own_is_as_if_it_were_not_there(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S + 60, 10, NOW_S)
    with pytest.raises(BookingError, match="no slot") as others:
        bookings.cancel(slot.id, NOW_S, by=None, covers=lambda arm: arm == "b")
    with pytest.raises(BookingError) as nobodys:
        bookings.cancel(slot.id + 1, NOW_S, by=None, covers=lambda arm: arm == "b")
    assert str(others.value).replace(str(slot.id), "") == str(nobodys.value).replace(str(slot.id + 1), "")
    assert bookings.slots("a", NOW_S) == (slot,)


def test_nobody_books_past_those_who_wait(bookings: Bookings) -> None:
    with pytest.raises(BookingError, match="others drive a or wait for it"):
        bookings.book("a", "Cem", NOW_S, 10, NOW_S, queue_min=40)
    assert bookings.book("a", "Cem", None, 10, NOW_S, queue_min=40).begin_s == NOW_S + 40 * MINUTE_S


def test_nobody_books_into_the_time_of_somebody_who_drives_and_the_refusal_says_from_when(bookings: Bookings) -> None:
    driven_s = NOW_S + 12.3 * MINUTE_S
    queue = {"driven_until_s": driven_s, "queue_min": 30}
    with pytest.raises(BookingError, match="others drive a") as refused:
        bookings.book("a", "Cem", NOW_S, 10, NOW_S, **queue)
    said_s = NOW_S + 43 * MINUTE_S
    assert f"it can be booked from {clock_text(said_s)}" in str(refused.value)
    with pytest.raises(BookingError, match="others drive a"):
        bookings.book("a", "Cem", driven_s, 10, NOW_S, **queue)
    assert bookings.book("a", "Cem", said_s, 10, NOW_S, **queue)
    assert bookings.book("a", "Dia", None, 10, NOW_S, driven_until_s=driven_s).begin_s == driven_s


def test_a_driver_s_time_that_is_over_hinders_nobody(bookings: Bookings) -> None:
    assert bookings.book("a", "Cem", NOW_S, 10, NOW_S, driven_until_s=NOW_S - 1).begin_s == NOW_S


@pytest.mark.parametrize("condition", [Condition.STARTING, Condition.CLEARING, Condition.FAULT, Condition.AWAY])
def test_who_cannot_have_the_arm_is_not_late_for_it(bookings: Bookings, condition: Condition) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 60, NOW_S)
    bookings.set_condition("a", condition)
    for minute in range(20):
        assert bookings.reserved("a", NOW_S + minute * MINUTE_S).slot == slot
    bookings.set_condition("a", Condition.READY)
    assert bookings.reserved("a", NOW_S + 23.9 * MINUTE_S).slot == slot
    assert bookings.reserved("a", NOW_S + 24 * MINUTE_S).slot is None


def test_while_another_has_the_arm_nobody_is_late_for_it(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 60, NOW_S)
    had = {"a"}
    bookings.ask_whether_occupied(had.__contains__)
    for minute in range(20):
        assert bookings.reserved("a", NOW_S + minute * MINUTE_S).slot == slot
    had.clear()
    assert bookings.reserved("a", NOW_S + 23.9 * MINUTE_S).slot == slot
    assert bookings.reserved("a", NOW_S + 24 * MINUTE_S).slot is None


def test_time_in_which_an_arm_could_not_be_had_before_a_slot_is_no_excuse_in_it(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S + 600, 60, NOW_S)
    bookings.set_condition("a", Condition.CLEARING)
    bookings.reserved("a", NOW_S)
    bookings.set_condition("a", Condition.READY)
    assert bookings.reserved("a", slot.begin_s + 5 * MINUTE_S).slot is None


def test_after_a_restart_nobody_is_late_before_the_arms_were_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "bookings.sqlite"
    before = Bookings(path, BookingRules())
    before.set_condition("a", Condition.READY)
    slot = before.book("a", "Ana", NOW_S, 60, NOW_S)
    before.close()
    with contextlib.closing(Bookings(path, BookingRules())) as after:
        assert after.reserved("a", NOW_S + 10 * MINUTE_S).slot == slot
        after.set_condition("a", Condition.READY)
        assert after.reserved("a", NOW_S + 15 * MINUTE_S).slot is None


def test_free_time_lasts_until_the_next_slot(bookings: Bookings) -> None:
    assert bookings.reserved("a", NOW_S) == Reserved(slot=None, until_s=None)
    bookings.book("a", "Ana", NOW_S + 600, 10, NOW_S)
    assert bookings.reserved("a", NOW_S) == Reserved(slot=None, until_s=NOW_S + 600)


def test_who_does_not_come_loses_the_slot_and_who_came_keeps_it(bookings: Bookings) -> None:
    lost = bookings.book("a", "Ana", NOW_S, 20, NOW_S)
    kept = bookings.book("a", "Ben", lost.end_s, 20, NOW_S)
    late_s = NOW_S + 5 * MINUTE_S
    assert bookings.reserved("a", late_s - 0.001).slot == lost
    assert bookings.reserved("a", late_s) == Reserved(slot=None, until_s=kept.begin_s)
    with pytest.raises(BookingError, match="is not Ana's now"):
        bookings.claim(lost.id, "Ana", late_s)
    with pytest.raises(BookingError, match="is not Ana's now"):
        bookings.claim(kept.id, "Ana", kept.begin_s)
    assert bookings.claim(kept.id, "Ben", kept.begin_s).claimed
    assert bookings.reserved("a", kept.end_s - 0.001).slot is not None


def test_who_was_sent_away_does_not_keep_the_time(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 10, NOW_S)
    bookings.claim(slot.id, "Ana", NOW_S)
    bookings.dismiss("a", "Ben", NOW_S + 60)
    assert bookings.reserved("a", NOW_S + 60).slot is not None
    bookings.dismiss("a", "Ana", NOW_S + 60)
    assert bookings.reserved("a", NOW_S + 60).slot is None


def test_a_slot_is_extended_only_into_free_time(bookings: Bookings) -> None:
    slot = bookings.book("a", "Ana", NOW_S, 10, NOW_S)
    bookings.book("a", "Ben", NOW_S + 15 * MINUTE_S, 10, NOW_S)
    assert bookings.extend(slot.id, 2, NOW_S).end_s == NOW_S + 12 * MINUTE_S
    assert bookings.extend(slot.id, 30, NOW_S).end_s == NOW_S + 15 * MINUTE_S
    with pytest.raises(BookingError, match="cannot end later"):
        bookings.extend(slot.id, 30, NOW_S)
    with pytest.raises(BookingError, match="is not now"):
        bookings.extend(slot.id, 30, NOW_S + 20 * MINUTE_S)


def test_bookings_outlive_a_restart_but_the_arms_have_to_be_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "bookings.sqlite"
    before = Bookings(path, BookingRules())
    before.set_condition("a", Condition.READY)
    slot = before.book("a", "Ana", NOW_S, 10, NOW_S)
    before.close()
    after = Bookings(path, BookingRules())
    assert after.reserved("a", NOW_S).slot == slot
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
    assert bookings.forget_user("Ana") == 1
    assert [slot.user for slot in bookings.slots("a", NOW_S)] == ["Ben"]
    assert bookings.forget_before(NOW_S + 86_400) == 1
    assert bookings.slots("a", NOW_S) == ()


class Lab(RuleBasedStateMachine):
    """People book, come, stay longer, are sent away; time passes; arms break and are mended."""

    people = st.sampled_from(["Ana", "Ben", "Cem", "Dia"])
    lengths = st.sampled_from([5.0, 10.0, 60.0])

    @initialize()
    def begin(self) -> None:
        self.now_s = NOW_S
        self.bookings = Bookings(IN_MEMORY, BookingRules())
        self.ready = True
        self.bookings.set_condition("a", Condition.READY)

    def teardown(self) -> None:
        self.bookings.close()

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

    @rule()
    def come(self) -> None:
        reserved = self.bookings.reserved("a", self.now_s)
        assert reserved.until_s is None or reserved.until_s > self.now_s
        if reserved.slot is not None:
            self.bookings.claim(reserved.slot.id, reserved.slot.user, self.now_s)

    @rule(user=people)
    def send_away(self, user: str) -> None:
        self.bookings.dismiss("a", user, self.now_s)
        slot = self.bookings.reserved("a", self.now_s).slot
        assert slot is None or slot.user != user

    @rule(minutes=lengths)
    def extend(self, minutes: float) -> None:
        slot = self.bookings.reserved("a", self.now_s).slot
        if slot is not None:
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

"""What is shown of a fault at the end: the first cause since the last reset."""

from __future__ import annotations

from hil.runtime.first_cause import FirstCause, first_fault, why_it_ended

EVENTS = [
    "armed -> streaming: streaming motion 1",
    "streaming -> fault: the first",
    "stop: somebody; nothing moves, and a reset is still needed (before that: the first)",
    "fault -> disconnected: disconnected",
]


def test_a_later_stop_does_not_displace_the_first_fault() -> None:
    assert first_fault(EVENTS) == "the first"
    assert why_it_ended(EVENTS) == "streaming -> fault: the first"


def test_a_reset_makes_room_for_another() -> None:
    again = [*EVENTS[:3], "fault -> connecting: reset by x", "connecting -> fault: the second"]
    assert first_fault(again) == "the second"
    assert first_fault([*EVENTS[:3], "fault -> unknown_pose: reset by x"]) == ""


def test_a_stop_before_the_fault_is_why_the_motion_ended() -> None:
    events = [EVENTS[0], "streaming -> stopping: stop: no answer", "holding -> fault: no answer for long"]
    assert why_it_ended(events) == "streaming -> stopping: stop: no answer"
    assert first_fault(events) == "no answer for long"
    assert why_it_ended(["idle -> armed: armed"]) == ""


def test_the_first_words_are_kept_and_stand_behind_later_ones() -> None:
    cause = FirstCause()
    assert cause.behind("a stop") == "a stop"
    cause.keep("the first")
    cause.keep("the second")
    assert cause.behind("a stop") == "a stop (before that: the first)"
    cause.forget()
    assert cause.words == ""


def test_a_loop_that_died_without_a_word_is_named_as_the_reason() -> None:
    """Its owner says so, in no mode: the loop that would have changed its mode is dead."""
    words = "fault: the loop's process has ended without a word; the controller goes on for at most its look-ahead"
    assert why_it_ended(["armed -> streaming: streaming motion 1", words]) == words

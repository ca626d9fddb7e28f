"""Events: nothing important is lost, and no label touches another."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hil.figures.events import LOOKS, Event, Flag, Importance, Label, flagged, gathered, key_of, placed_labels

RANKS = st.sampled_from(list(Importance))
EVENTS = st.lists(st.tuples(st.floats(0.0, 100.0), RANKS), max_size=60).map(
    lambda said: [Event(time_s, f"event {i}", rank, time_s) for i, (time_s, rank) in enumerate(sorted(said))]
)
WIDTH_PT = 200.0


def _labels(flags: list[Flag]) -> list[Label]:
    return placed_labels(flags, lambda time_s: 2.0 * time_s, WIDTH_PT, lambda text: 5.0 * len(text))


@given(EVENTS)
def test_labels_never_touch_and_stay_within_the_axis(events: list[Event]) -> None:
    labels = _labels(flagged(events, 60)[0])
    assert all(before.right <= after.left + 1e-9 for before, after in pairwise(labels))
    assert all(label.left >= 0.0 and label.right <= WIDTH_PT + 1e-9 for label in labels)


@given(EVENTS)
def test_every_flag_is_in_one_label_and_the_most_important_gives_it_its_place(events: list[Event]) -> None:
    flags, _ = flagged(events, 60)
    labels = _labels(flags)
    numbers: list[int] = []
    for label in labels:
        ends = [int(end) for end in label.text.split()[0].split("\N{EN DASH}")]
        numbers += range(ends[0], ends[-1] + 1)
        inside = [flag.event for flag in flags if ends[0] <= flag.number <= ends[-1]]
        assert label.importance == max(event.importance for event in inside)
        assert label.time_s in [event.time_s for event in inside if event.importance == label.importance]
    assert numbers == [flag.number for flag in flags]


@given(EVENTS, st.integers(1, 20))
def test_what_matters_more_is_not_left_out_for_what_matters_less(events: list[Event], most: int) -> None:
    flags, left_out = flagged(events, most)
    assert len(flags) == min(most, len(events)) and left_out == len(events) - len(flags)
    assert [flag.number for flag in flags] == list(range(1, len(flags) + 1))
    shown = [flag.event for flag in flags]
    missing = [event for event in events if event not in shown]
    if missing and shown:
        assert min(event.importance for event in shown) >= max(event.importance for event in missing)


def test_what_is_said_over_and_over_is_one_event() -> None:
    said = [(0.02 * i, "limit bit", Importance.LIMIT) for i in range(50)] + [(2.0, "done", Importance.NOTE)]
    events = gathered(said)
    assert [event.times for event in events] == [50, 1]
    assert events[0].words == "limit bit (50 times, until 0.98 s)" and events[1].words == "done"


def test_a_fault_is_named_and_a_change_of_mode_is_a_number() -> None:
    events = [Event(10.0, "a", Importance.MODE, 10.0), Event(60.0, "b", Importance.FAULT, 60.0)]
    assert [label.text for label in _labels(flagged(events, 9)[0])] == ["1", "2 fault"]


def test_neighbours_become_one_label_with_the_word_of_the_worst() -> None:
    ranks = (Importance.MODE, Importance.STOP, Importance.NOTE)
    events = [Event(50.0 + 0.1 * i, str(i), rank, 50.0) for i, rank in enumerate(ranks)]
    [label] = _labels(flagged(events, 9)[0])
    assert (label.text, label.time_s) == ("1\N{EN DASH}3 stop", 50.1)


def test_where_names_would_merge_nearly_all_numbers_stand_alone() -> None:
    events = [Event(5.0 * i, str(i), Importance.FAULT, 5.0 * i) for i in range(20)]
    assert [label.text for label in _labels(flagged(events, 20)[0])] == [str(i) for i in range(1, 21)]


def test_every_importance_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == set(Importance)
    assert len({str(look["linestyle"]) for look in LOOKS.values()}) == len(Importance)
    flags = [Flag(1, Event(0.0, "", rank, 0.0)) for rank in Importance]
    assert [entry.label for entry in key_of(flags)][:2] == ["fault", "stop"]

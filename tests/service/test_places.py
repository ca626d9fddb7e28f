"""Places for channels: the limits, and who gets in beyond them."""

from __future__ import annotations

import pytest

from hil.service.places import (
    MOST_CHANNELS,
    MOST_OF_ONE_ADDRESS,
    MOST_SPARE,
    MOST_UNHEARD,
    SPARE_OF_ONE_USER,
    FullError,
    Place,
    Places,
)


class Hall:
    """Places, and who was broken off."""

    def __init__(self) -> None:
        self.places = Places()
        self.dropped: list[str] = []

    def open(self, origin: str, number: int = 0) -> Place:
        return self.places.take(origin, lambda: self.dropped.append(f"{origin}/{number}"))

    def watchers(self, origin: str, count: int) -> list[Place]:
        found = [self.open(origin) for _ in range(count)]
        for place in found:
            self.places.keep(place, "Wu", needed=False)
        return found


@pytest.fixture
def hall() -> Hall:
    return Hall()


@pytest.fixture
def full() -> Hall:
    hall = Hall()
    hall.watchers("school", MOST_OF_ONE_ADDRESS)
    return hall


def test_one_address_has_so_many_places_and_others_have_theirs_all_the_same(full: Hall) -> None:
    with pytest.raises(FullError, match="too many channels"):
        full.places.keep(full.open("school"), "Wu", needed=False)
    full.places.keep(full.open("home"), "Hao", needed=False)


def test_there_are_so_many_places_in_all(hall: Hall) -> None:
    for k in range(MOST_CHANNELS // MOST_OF_ONE_ADDRESS):
        hall.watchers(f"school {k}", MOST_OF_ONE_ADDRESS)
    with pytest.raises(FullError, match="too many channels"):
        hall.places.keep(hall.open("home"), "Hao", needed=False)
    hall.places.keep(hall.open("home"), "Dee", needed=True)


def test_a_place_that_is_left_is_free_for_anybody(hall: Hall) -> None:
    first, *_ = hall.watchers("school", MOST_OF_ONE_ADDRESS)
    hall.places.leave(first)
    hall.places.leave(first)
    hall.watchers("school", 1)
    with pytest.raises(FullError):
        hall.places.keep(hall.open("school"), "Wu", needed=False)


def test_who_came_while_it_was_full_gets_a_place_that_was_left_before_the_hello(hall: Hall) -> None:
    first, *_ = hall.watchers("school", MOST_OF_ONE_ADDRESS)
    waiting = hall.open("school")
    hall.places.leave(first)
    hall.places.keep(waiting, "Wu", needed=False)


def test_of_those_who_only_open_channels_the_oldest_are_broken_off_and_nobody_else_is(full: Hall) -> None:
    kept = full.open("school", -1)
    full.places.keep(kept, "Dee", needed=True)
    for k in range(MOST_UNHEARD + 3):
        full.open("school", k)
    assert full.dropped == ["school/0", "school/1", "school/2"]
    full.places.keep(full.open("school"), "Tia", needed=True)


def test_one_person_cannot_take_all_spare_places(full: Hall) -> None:
    for _ in range(SPARE_OF_ONE_USER):
        full.places.keep(full.open("school"), "Dee", needed=True)
    with pytest.raises(FullError):
        full.places.keep(full.open("school"), "Dee", needed=True)
    full.places.keep(full.open("school"), "Tia", needed=True)


def test_spare_places_are_bounded_whoever_asks(full: Hall) -> None:
    for k in range(MOST_SPARE):
        full.places.keep(full.open("school"), f"Tia {k}", needed=True)
    with pytest.raises(FullError):
        full.places.keep(full.open("school"), "Tess", needed=True)


def test_who_is_on_a_spare_place_gets_a_common_one_when_one_is_left(hall: Hall) -> None:
    watchers = hall.watchers("school", MOST_OF_ONE_ADDRESS)
    for k in range(MOST_SPARE):
        hall.places.keep(hall.open("school"), f"Tia {k}", needed=True)
    hall.places.leave(watchers[0])
    hall.places.keep(hall.open("school"), "Tess", needed=True)
    with pytest.raises(FullError):
        hall.places.keep(hall.open("school"), "Wu", needed=False)

"""Events over time: the important ones are never left out or hidden, and what is too near together is one label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from itertools import groupby
from typing import NamedTuple

from hil.figures.looks import GREY, ORANGE, PURPLE, VERMILLION, Entry, Style

RANGE = "\N{EN DASH}"
"""Between the first and the last number of a label of several events."""


NAMED_SHARE = 0.6
"""So many of the labels without names have to be left with them."""


class Importance(IntEnum):
    """How much an event matters to whoever reads the figure."""

    NOTE = 0
    MODE = 1
    LIMIT = 2
    STOP = 3
    FAULT = 4

    @property
    def urgent(self) -> bool:
        """Named at its place, not by its number alone."""
        return self >= Importance.STOP


LOOKS: Mapping[Importance, Style] = {
    Importance.FAULT: {"color": VERMILLION, "linestyle": "-", "linewidth": 1.3},
    Importance.STOP: {"color": ORANGE, "linestyle": (0, (4.0, 1.5)), "linewidth": 1.2},
    Importance.LIMIT: {"color": PURPLE, "linestyle": (0, (4.0, 1.5, 1.0, 1.5)), "linewidth": 0.8},
    Importance.MODE: {"color": GREY, "linestyle": (0, (1.0, 2.0)), "linewidth": 0.7},
    Importance.NOTE: {"color": GREY, "linestyle": (0, (1.0, 4.0)), "linewidth": 0.5},
}
NAMES = {
    Importance.FAULT: "fault",
    Importance.STOP: "stop",
    Importance.LIMIT: "limit, refusal, gap",
    Importance.MODE: "change of mode",
    Importance.NOTE: "note",
}


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        time_s: when.
        text: in words.
        importance: how much it matters.
        last_s: when it was said for the last time.
        times: how often it was said.
    """

    time_s: float
    text: str
    importance: Importance
    last_s: float
    times: int = 1

    @property
    def words(self) -> str:
        """With how often it was said."""
        return self.text if self.times == 1 else f"{self.text} ({self.times} times, until {self.last_s:.2f} s)"


class Flag(NamedTuple):
    """An event that is shown, with its number in the figure."""

    number: int
    event: Event


class Label(NamedTuple):
    """One or several flags at one place.

    Attributes:
        text: numbers, and what it is if that is urgent.
        time_s: of the most important of them.
        left, right: where the label stands, points from the left end of the axis.
        importance: of the most important.
    """

    text: str
    time_s: float
    left: float
    right: float
    importance: Importance


def gathered(said: Sequence[tuple[float, str, Importance]]) -> list[Event]:
    """Events in order of time; what is said over and over in a row is one of them."""
    events = []
    for _, group in groupby(said, key=lambda each: each[1:]):
        same = list(group)
        time_s, text, importance = same[0]
        events.append(Event(time_s, text, importance, same[-1][0], len(same)))
    return events


def flagged(events: Sequence[Event], most: int) -> tuple[list[Flag], int]:
    """The events that are shown, and how many are left out.

    Nothing is left out before all that matters less; of events that matter alike and have no room, some are taken
    evenly over the whole time.
    """
    chosen: list[int] = []
    for importance in sorted(Importance, reverse=True):
        alike = [i for i, event in enumerate(events) if event.importance is importance]
        chosen += _spread(alike, most - len(chosen))
    flags = [Flag(number, events[i]) for number, i in enumerate(sorted(chosen), 1)]
    return flags, len(events) - len(flags)


def _spread(items: Sequence[int], most: int) -> list[int]:
    return list(items) if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def placed_labels(
    flags: Sequence[Flag], place_pt: Callable[[float], float], width_pt: float, text_pt: Callable[[str], float]
) -> list[Label]:
    """Labels that do not touch: neighbours that would are one label.

    Urgent ones are named, unless their names would merge too many; then their numbers stand alone.

    Args:
        flags: in order of time.
        place_pt: points from the left end of the axis at a time.
        width_pt: of the axis.
        text_pt: width of a text, with the room that it wants around it.
    """
    named, plain = (
        _merged(flags, partial(_label, place_pt=place_pt, width_pt=width_pt, text_pt=text_pt, named=names))
        for names in (True, False)
    )
    return named if len(named) >= NAMED_SHARE * len(plain) else plain


def _merged(flags: Sequence[Flag], label: Callable[[Sequence[Flag]], Label]) -> list[Label]:
    groups = [[flag] for flag in flags]
    labels = [label(group) for group in groups]
    i = 1
    while i < len(labels):
        if labels[i - 1].right > labels[i].left:
            groups[i - 1 : i + 1] = [groups[i - 1] + groups[i]]
            labels[i - 1 : i + 1] = [label(groups[i - 1])]
            i = max(1, i - 1)
        else:
            i += 1
    return labels


def _label(
    group: Sequence[Flag],
    place_pt: Callable[[float], float],
    width_pt: float,
    text_pt: Callable[[str], float],
    *,
    named: bool,
) -> Label:
    first = max(group, key=lambda flag: (flag.event.importance, -flag.number))
    text = str(group[0].number) if len(group) == 1 else f"{group[0].number}{RANGE}{group[-1].number}"
    importance = first.event.importance
    if importance.urgent and named:
        text += f" {NAMES[importance]}"
    wide = min(text_pt(text), width_pt)
    left = min(max(place_pt(first.event.time_s) - 0.5 * wide, 0.0), width_pt - wide)
    return Label(text, first.event.time_s, left, left + wide, importance)


def key_of(flags: Sequence[Flag]) -> Iterator[Entry]:
    """What the lines of these flags mean, the most important first."""
    for importance in sorted({flag.event.importance for flag in flags}, reverse=True):
        yield Entry(NAMES[importance], LOOKS[importance])

"""What has to hold of a run: each kind of predicate a record, as a table of an exercise has it.

Where a predicate has `once`, it holds only if that place was reached: who does nothing is quick, smooth, and hits
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hil.labs.exercise_values import Value, Xyz, all_worked_out
from hil.types import Record

Named = Annotated[str, Meta(min_length=1, max_length=80)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Marks = Annotated[float, Meta(gt=0, le=1e6)]
Range = tuple[float, float]


class Reach(Record, frozen=True, tag_field="do", tag="reach"):
    """The arm comes to a place, with its hand as it is said.

    Attributes:
        point_mm, within_mm: where the tool point is.
        lower_mm, upper_mm: or the box that it is in.
        pose, within_deg: or the rig's pose that all joints are in.
        opening_mm: least and largest opening of the gripper meanwhile.
        hand: what a program has done with hand 1.
        after: looked for only from when that one was reached.
        by_s: not later.
    """

    name: Named
    marks: Marks = 1.0
    point_mm: Xyz | None = None
    within_mm: Positive = 3.0
    lower_mm: Xyz | None = None
    upper_mm: Xyz | None = None
    pose: Literal["home", "park"] | None = None
    within_deg: Positive = 2.0
    opening_mm: Range | None = None
    hand: Literal["open", "closed"] | None = None
    after: Named | None = None
    by_s: Positive | None = None


class Order(Record, frozen=True, tag_field="do", tag="order"):
    """Places are reached in this order."""

    name: Named
    of: Annotated[tuple[Named, ...], Meta(min_length=2, max_length=20)]
    marks: Marks = 1.0


class Keep(Record, frozen=True, tag_field="do", tag="keep"):
    """Something stays so, all along or from one place to another."""

    name: Named
    marks: Marks = 1.0
    lower_mm: Xyz | None = None
    upper_mm: Xyz | None = None
    opening_mm: Range | None = None
    hand: Literal["open", "closed"] | None = None
    since: Named | None = None
    until: Named | None = None


class Away(Record, frozen=True, tag_field="do", tag="away"):
    """The tool point is never nearer than that to a point, or to a box."""

    name: Named
    at_least_mm: Positive
    marks: Marks = 1.0
    once: Named | None = None
    point_mm: Xyz | None = None
    lower_mm: Xyz | None = None
    upper_mm: Xyz | None = None
    since: Named | None = None
    until: Named | None = None


class End(Record, frozen=True, tag_field="do", tag="end"):
    """The arm ends in one of the rig's poses."""

    name: Named
    at: Literal["home", "park"]
    within_deg: Positive = 2.0
    marks: Marks = 1.0
    once: Named | None = None


class Time(Record, frozen=True, tag_field="do", tag="time"):
    """All of it takes no longer, from the first sample to the last."""

    name: Named
    at_most_s: Positive
    marks: Marks = 1.0
    once: Named | None = None


class Smooth(Record, frozen=True, tag_field="do", tag="smooth"):
    """No joint jerks more than this share of what the rig allows, above what the steps of the wire look like."""

    name: Named
    at_most_share: Positive = 1.0
    marks: Marks = 1.0
    once: Named | None = None


class Refusals(Record, frozen=True, tag_field="do", tag="refusals"):
    """Checks that refuse what was handed in."""

    name: Named
    at_most: Annotated[int, Meta(ge=0, le=1000)] = 0
    marks: Marks = 1.0


class Energy(Record, frozen=True, tag_field="do", tag="energy"):
    """Mechanical work of the joints' drives; braking counts as work, for a servo gives nothing back."""

    name: Named
    at_most_j: Positive
    marks: Marks = 1.0
    once: Named | None = None


class Bytes(Record, frozen=True, tag_field="do", tag="bytes"):
    """Bytes on the wire while the motion runs."""

    name: Named
    at_most: Annotated[int, Meta(gt=0)]
    marks: Marks = 1.0
    once: Named | None = None


class SameRobot(Record, frozen=True, tag_field="do", tag="same_robot"):
    """The tool of a robot that is handed in is where that of another one is, in poses that are drawn."""

    name: Named
    robot: str
    within_mm: Positive = 0.1
    poses: Annotated[int, Meta(ge=1, le=1000)] = 50
    marks: Marks = 1.0


Predicate = Reach | Order | Keep | Away | End | Time | Smooth | Refusals | Energy | Bytes | SameRobot

KINDS: Mapping[str, type[Any]] = {
    "reach": Reach,
    "order": Order,
    "keep": Keep,
    "away": Away,
    "end": End,
    "time": Time,
    "smooth": Smooth,
    "refusals": Refusals,
    "energy": Energy,
    "bytes": Bytes,
    "same_robot": SameRobot,
}
"""Tables of a predicate by its ``do``."""

_POINTS = ("point_mm", "lower_mm", "upper_mm")


def named_before(predicate: Predicate) -> list[tuple[str, str]]:
    """Key and name of every other predicate that this one speaks of; they are of kind ``reach``."""
    if isinstance(predicate, Order):
        return [(f"of.{index}", name) for index, name in enumerate(predicate.of)]
    keys = ("after", "since", "until", "once")
    return [(key, name) for key in keys if (name := getattr(predicate, key, None)) is not None]


def numbers_of(predicate: Predicate) -> Iterator[tuple[str, object]]:
    """Key and value of all numbers that may be formulas."""
    for key in _POINTS:
        for index, value in enumerate(getattr(predicate, key, None) or ()):
            yield f"{key}.{index}", value


def lacking(predicate: Predicate) -> list[tuple[str, str]]:
    """Key, and what has to stand there, of all that this predicate needs beside what every one of its kind has."""
    faults = []
    if isinstance(predicate, Reach | Keep | Away) and (predicate.lower_mm is None) != (predicate.upper_mm is None):
        faults.append(("upper_mm", "both lower_mm and upper_mm, or neither"))
    wants = {
        Reach: ("point_mm", "lower_mm", "pose", "opening_mm", "hand"),
        Keep: ("lower_mm", "opening_mm", "hand"),
        Away: ("point_mm", "lower_mm"),
    }.get(type(predicate), ())
    if wants and all(getattr(predicate, key) is None for key in wants):
        faults.append((wants[0], f"at least one of {', '.join(wants)}"))
    return faults


def at_case(predicate: Predicate, case: Mapping[str, float]) -> Predicate:
    """The predicate with the numbers of one case.

    Raises:
        HilError: a formula has no finite value there.
    """
    changes: dict[str, Any] = {}
    for key in _POINTS:
        values: tuple[Value, ...] | None = getattr(predicate, key, None)
        if values is not None:
            changes[key] = tuple(all_worked_out(values, case))
    return msgspec.structs.replace(predicate, **changes) if changes else predicate

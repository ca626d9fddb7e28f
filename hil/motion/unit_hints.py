"""Numbers that look as if another unit was meant: metres for millimetres, radians for degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hil.motion.path_steps import ArcStep, PointsStep, SplineStep
from hil.motion.tasks import LineStep, Move, Step, Task
from hil.units import DEG, MM

SMALL_MM = 3.0
"""Places and ways of an arm are longer; in metres they are not."""
FULL_TURN = 2.0 * math.pi
ROUND_RAD = math.pi / 12.0
CLOSE_RAD = 0.006
"""A number this near to a multiple of 15 deg, in radians, was hardly meant as degrees."""
MANY_JOINTS = 3
"""One joint or two may be held in a narrow room; an arm is not."""


def metres_hint(values: Sequence[float]) -> str:
    """Words, if these millimetres look like metres; else empty."""
    most = max((abs(value) for value in values), default=0.0)
    if not 0.01 <= most < SMALL_MM:
        return ""
    first = max(values, key=abs)
    return f"these look like metres: {first:g} m is {first / MM:g} mm"


def radians_hint(values: Sequence[float]) -> str:
    """Words, if these degrees look like radians; else empty."""
    if not values or max(map(abs, values)) > FULL_TURN:
        return ""
    plain = [value for value in values if abs(value) > 0.1 and not float(value).is_integer()]
    found = next((value for value in plain if _apart(value) < CLOSE_RAD), None)
    return "" if found is None else _radian_words(found)


def task_hints(task: Task) -> Iterator[str]:
    """Words for every step of a task whose numbers look like another unit."""
    for number, step in enumerate(task.steps, 1):
        lengths, angles = _numbers_of(step)
        found = [metres_hint(place) for place in lengths if place is not None]
        found += [radians_hint(tuple(turns.values())) for turns in angles if turns is not None]
        yield from (f"step {number}: {words}" for words in found if words)


def _numbers_of(step: Step) -> tuple[list[Sequence[float] | None], list[Mapping[str, float] | None]]:
    """Places and ways of a step in millimetres, and turns in degrees."""
    match step:
        case Move():
            return [step.to_mm], [step.joints_deg, step.by_deg]
        case LineStep():
            return [step.to_mm, step.by_mm], []
        case ArcStep():
            return [step.through_mm, step.to_mm, step.centre_mm], []
        case SplineStep():
            return [*step.through_mm], []
        case PointsStep():
            return [*(step.to_mm or ())], [*(step.joints_deg or ())]
        case _:
            return [], []


def rig_hints(table: Mapping[str, Any]) -> Iterator[str]:
    """Words for all numbers of a rig's file that belong together and look like another unit.

    Args:
        table: what tomllib gave; a rig that inherits is judged by what it says itself, and may be wrong.
    """
    joints, shapes = _rows(table.get("joints")), _rows(table.get("shapes"))
    gripper, fences = _rows([table.get("gripper")]), _table(table.get("fences"))
    axes = _rows(_table(table.get("controller")).get("axis"))
    boxes = [*_rows(fences.get("keep_out")), *_rows([fences.get("keep_in")])]
    for where, rows, keys in (
        ("joints", joints, ("lower_deg", "upper_deg")),
        ("joints", joints, ("home_deg", "park_deg")),
        ("joints", joints, ("speed_deg_s",)),
        ("controller.axis", axes, ("points_deg_us",)),
        ("joints", joints, ("lower_mm", "upper_mm")),
        ("gripper", gripper, ("lower_mm", "upper_mm")),
        ("shapes", shapes, ("start_mm", "end_mm", "radius_mm")),
        ("fences", boxes, ("lower_mm", "upper_mm")),
    ):
        values = [value for row in rows for key in keys for value in _numbers(row.get(key), pairs=key.endswith("_us"))]
        words = metres_hint(values) if keys[0].endswith("_mm") else radians_hint(values)
        if not words and keys[0] == "lower_deg" and len(rows) >= MANY_JOINTS:
            words = _limits_hint(values)
        if words:
            yield f"{where}, {' and '.join(keys)}: {words}"


def _limits_hint(values: Sequence[float]) -> str:
    """Words, if all these limits are within 6.3: no arm has so little room in all its joints, in degrees."""
    widest = max(values, key=abs, default=0.0)
    plain = all(value.is_integer() for value in values)
    return "" if plain or abs(widest) > FULL_TURN else _radian_words(widest)


def _radian_words(value: float) -> str:
    return f"these look like radians: {value:g} rad is {round(value / DEG):g} deg"


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> list[Mapping[str, Any]]:
    """The tables of a list, or of a table that has them by name."""
    rows = value if isinstance(value, list) else list(_table(value).values())
    return [row for row in rows if isinstance(row, Mapping)]


def _numbers(value: object, *, pairs: bool) -> Iterator[float]:
    """The finite numbers of a value or list; of pairs the first ones."""
    if isinstance(value, list):
        for each in value:
            yield from _numbers(each[:1] if pairs and isinstance(each, list) else each, pairs=False)
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        yield float(value)


def _apart(value: float) -> float:
    """How far a number is from the nearest multiple of 15 deg in radians."""
    return abs(value - ROUND_RAD * round(value / ROUND_RAD))

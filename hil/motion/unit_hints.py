"""Numbers that look as if another unit was meant: metres for millimetres, radians for degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hil.motion.tasks import LineStep, Move, Task
from hil.units import DEG, MM

SMALL_MM = 3.0
"""Places and ways of an arm are longer; in metres they are not."""
FULL_TURN = 2.0 * math.pi
ROUND_RAD = math.pi / 12.0
CLOSE_RAD = 0.006
"""A number this near to a multiple of 15 deg, in radians, was hardly meant as degrees."""


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
    return "" if found is None else f"these look like radians: {found:g} rad is {round(found / DEG):g} deg"


def task_hints(task: Task) -> Iterator[str]:
    """Words for every step of a task whose numbers look like another unit."""
    for number, step in enumerate(task.steps, 1):
        if not isinstance(step, Move | LineStep):
            continue
        lengths = [step.to_mm, step.by_mm] if isinstance(step, LineStep) else [step.to_mm]
        angles = [] if isinstance(step, LineStep) else [step.joints_deg, step.by_deg]
        found = [metres_hint(place) for place in lengths if place is not None]
        found += [radians_hint(tuple(turns.values())) for turns in angles if turns is not None]
        yield from (f"step {number}: {words}" for words in found if words)


def _apart(value: float) -> float:
    """How far a number is from the nearest multiple of 15 deg in radians."""
    return abs(value - ROUND_RAD * round(value / ROUND_RAD))

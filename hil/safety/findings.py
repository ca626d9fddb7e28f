"""What a check found: refusals and margins in the user's units, a few of each kind instead of thousands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from hil.model.rig import Axis, AxisKind
from hil.motion.motion import Motion
from hil.refusal import Refusal
from hil.safety.over_time import Judged, OverTime, Stretch
from hil.types import Margin, Record
from hil.units import DEG, MM

RELATIVE_SLACK = 1e-6
ABSOLUTE_SLACK = 1e-12
"""Room for floating-point rounding only."""

DISTANCE_SLACK_M = 1e-9
"""The same for distances, which plain floats and batches compute in a different order."""

PER_GROUP = 3
"""Refusals shown of each kind: the worst ones."""


class Findings(Record, frozen=True):
    """What a check of a motion found.

    Attributes:
        refusals: why it may not be sent; empty if it may.
        margins: the tightest place of each check that passed. A negative one is a warning: a gripper closed for long,
            or a limit that the start does not keep and that nothing makes worse.
    """

    refusals: tuple[Refusal, ...]
    margins: tuple[Margin, ...]


R = TypeVar("R", Refusal, Stretch)


def without_echoes(refusals: Sequence[R]) -> tuple[R, ...]:
    """Leave out what goes away by itself: stops that meet (E-13) what the motion meets anyway (E-09, E-10)."""
    met = {refusal.subject for refusal in refusals if refusal.check in ("E-09", "E-10")}
    return tuple(refusal for refusal in refusals if refusal.check != "E-13" or refusal.subject not in met)


class Unit(NamedTuple):
    """How a quantity is shown: its name, and how many of it make one radian or metre."""

    name: str
    per_si: float

    def say(self, value: float, suffix: str = "") -> str:
        """A value in SI as the user reads it."""
        return f"{value * self.per_si:.4g} {self.name}{suffix}"


DEGREES, MILLIMETRES = Unit("deg", 1.0 / DEG), Unit("mm", 1.0 / MM)


def unit_of(axis: Axis) -> Unit:
    """The unit in which the user reads positions of `axis`."""
    return DEGREES if axis.kind is AxisKind.REVOLUTE else MILLIMETRES


class Notes:
    """Collects refusals, and of each group of checks that passed the tightest margin.

    Args:
        motion: what is judged.
        over_time: told of the margins at all samples as well.
    """

    def __init__(self, motion: Motion, over_time: OverTime | None = None) -> None:
        self._motion, self._over_time = motion, over_time
        self._refusals: dict[tuple[str, str], list[tuple[float, Refusal]]] = {}
        self._margins: dict[tuple[str, str], tuple[float, Margin]] = {}
        self._excuses: list[Margin] = []

    def refuse(self, check: str, subject: str, limit: str, nearest: str, advice: str) -> None:
        """A refusal of the motion as a whole."""
        refusal = Refusal(
            check=check,
            subject=subject,
            limit=limit,
            margin=-1.0,
            unit="mismatch",
            nearest_allowed=nearest,
            advice=advice,
        )
        self._refusals.setdefault((check, subject), []).append((-1.0, refusal))

    def judge(
        self,
        check: str,
        subject: str,
        margins: npt.ArrayLike,
        *,
        scale: float,
        unit: Unit,
        limit: str,
        nearest: str,
        advice: str,
        group: str = "",
        suffix: str = "",
        samples: npt.NDArray[np.intp] | None = None,
        slack: float = ABSOLUTE_SLACK,
        whole: bool = False,
    ) -> None:
        """Refuse at the first negative margin, or note the smallest one.

        Args:
            check: requirement id.
            subject: what is judged.
            margins: what is left of the limit, shape (K,), in radians, metres, or their rates.
            scale: size of the limit, to compare margins of different units within a group.
            unit: how the user reads a margin.
            limit: the limit in words.
            nearest: the nearest allowed value in words.
            advice: what to change.
            suffix: of the unit, for rates.
            group: checks that share one line of the margins, the subject itself if empty.
            samples: sample index of each margin; all samples in order if not given.
            slack: margins down to minus this count as zero.
            whole: the margin is of the motion as a whole, not of a sample.
        """
        values = np.asarray(margins, dtype=np.float64).reshape(-1)
        if not values.size:
            return
        if self._over_time is not None and not whole:
            # What counts as kept is shown as kept.
            kept = np.where((values < 0.0) & (values >= -slack), 0.0, values)
            margins = kept * unit.per_si
            self._over_time.take(
                Judged(check, subject, group or subject, margins, samples, unit.name + suffix, limit, nearest)
            )
        worst = int(np.argmin(values))
        key = (check, group or subject)

        def at(k: int) -> tuple[int | None, float | None]:
            sample = k if samples is None else int(samples[k])
            return (None, None) if whole else (sample, sample * self._motion.period_s)

        if not values[worst] >= -slack:
            first = int(np.argmax(~(values >= -slack)))
            sample, time_s = at(first)
            if worst != first:
                advice += f" Worst: sample {at(worst)[0]}, {unit.say(float(values[worst]), suffix)}."
            refusal = Refusal(
                check=check,
                subject=subject,
                limit=limit,
                margin=float(values[first]) * unit.per_si,
                unit=unit.name + suffix,
                nearest_allowed=nearest,
                advice=advice,
                sample=sample,
                time_s=time_s,
                place="" if sample is None else self._motion.place(sample),
            )
            self._refusals.setdefault(key, []).append((float(values[worst]) / scale, refusal))
            return
        part = float(values[worst]) / scale
        if key not in self._margins or part < self._margins[key][0]:
            sample, time_s = at(worst)
            margin = Margin(
                check=check,
                subject=subject,
                limit=limit,
                margin=max(float(values[worst]), 0.0) * unit.per_si,
                unit=unit.name + suffix,
                sample=sample,
                time_s=time_s,
            )
            self._margins[key] = (part, margin)

    def warn(self, margin: Margin) -> None:
        """Note a margin that stays a warning even when negative."""
        self._margins[(margin.check, margin.subject)] = (0.0, margin)

    def excuse(self, check: str, subject: str, limit: str, margin: float, unit: Unit) -> None:
        """Note what the start does not keep, and what therefore may get no worse: a negative margin, a warning."""
        found = Margin(
            check=check,
            subject=subject,
            limit=limit,
            margin=margin * unit.per_si,
            unit=unit.name,
            sample=0,
            time_s=0.0,
        )
        self._excuses.append(found)

    def findings(self) -> Findings:
        """Everything, the worst few refusals of each group, margins of groups without refusals."""
        refusals = [
            refusal
            for found in self._refusals.values()
            for _, refusal in sorted(found, key=lambda pair: pair[0])[:PER_GROUP]
        ]
        margins = [margin for key, (_, margin) in self._margins.items() if key not in self._refusals]
        margins += self._excuses
        refusals.sort(key=lambda refusal: (-1 if refusal.sample is None else refusal.sample, refusal.check))
        return Findings(
            refusals=tuple(refusals),
            margins=tuple(sorted(margins, key=lambda m: m.check)),
        )

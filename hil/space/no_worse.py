"""No worse than now: what may still be asked of an arm that stands where it should not.

It may have been put there by hand or by a teach box, or a fence was moved. A limit that the start does not keep gets a
floor: the best that was reached so far. What comes next has to keep its floors, and raises them. So a violation that
has lessened never grows again, none is traded against another, and a limit that is kept is judged as ever, which is as
if its floor were zero. A floor is for soft limits and for distances; hard limits have none.

Floors hold for positions as they are asked for. The controller rounds them, by at most half a step of the wire on each
axis, and while a floor is below zero that may take what it takes: judged on rounded positions, nothing could move,
for one axis takes its step before another. A distance counts as kept once no rounding can break it any more.

A distance that no joint changes has no floor: what is wrong there is the rig file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.space.body import UNMOVED_M, Body, LiveBody
from hil.units import DEG, MM

SLACK = 1e-9
"""Room for rounding of doubles, in metres, or radians of an axis."""

LESSENED = 1e-6
"""Least change by which a violation counts as lessened, metres or radians."""
SEEN = 2e-5
"""Least change of a way out that is named before others: a jog along a tangent, let go early, lessens less still."""

PROBE = {AxisKind.REVOLUTE: 0.5 * DEG, AxisKind.PRISMATIC: 0.5 * MM, AxisKind.GRIPPER: 0.5 * MM}
PROBES = (0.02, 0.2, 1.0)
"""A single axis leads out if it does at so many parts of so small a way."""


class Floors(NamedTuple):
    """The least that may be left of each limit that is not kept; nothing in it where all are.

    Attributes:
        body: by index of the constraint, metres left, below zero or less than rounding can take.
        lower, upper: by index of the axis, position beyond its soft limit, rad or m.
    """

    body: Mapping[int, float]
    lower: Mapping[int, float]
    upper: Mapping[int, float]

    def __bool__(self) -> bool:
        return bool(self.body or self.lower or self.upper)


NO_FLOORS = Floors({}, {}, {})


class Worse(NamedTuple):
    """One limit that would be made worse.

    Attributes:
        which: index of the constraint, or of the axis.
        of_axis: whether it is an axis' soft limit.
        value: what would be: metres left, or the position.
        floor: what it may not fall below, or for the axis not pass.
    """

    which: int
    of_axis: bool
    value: float
    floor: float


class NoWorse:
    """The notion for one pose at a time.

    Args:
        rig: soft limits and controller.
        body: shapes and what they keep clear of.
        slack: how far below a floor still counts as on it.
    """

    def __init__(self, rig: Rig, body: LiveBody, slack: float = SLACK) -> None:
        self._rig, self._body, self._slack = rig, body, slack
        self._dof = rig.robot.dof
        self.soft_lower = tuple(axis.lower + axis.soft_margin for axis in rig.axes)
        self.soft_upper = tuple(axis.upper - axis.soft_margin for axis in rig.axes)

    def standing(self, positions: Sequence[float]) -> Floors:
        """The floors of an arm that rests at `positions`, every axis, rad or m."""
        sent = self._rig.controller.quantise_pose(tuple(positions))
        broken = [
            index
            for index, left_m in self._body.violations(sent[: self._dof], self._slack)
            # Written so that a NaN, a distance that can change, passes.
            if not abs(left_m - self._body.unmoved_m[index]) <= UNMOVED_M
        ]
        left = self._body.margins(positions[: self._dof], broken) if broken else ()
        bounds = enumerate(zip(positions, self.soft_lower, self.soft_upper, strict=True))
        lower, upper = {}, {}
        for i, (value, low, high) in bounds:
            if value < low - self._slack:
                lower[i] = value
            elif value > high + self._slack:
                upper[i] = value
        return Floors(dict(zip(broken, left, strict=True)), lower, upper)

    def raised(self, floors: Floors, positions: Sequence[float]) -> Floors:
        """The floors once `positions` have passed."""
        if not floors:
            return floors
        left = self._body.margins(positions[: self._dof], tuple(floors.body))
        body = {i: max(was, now) for (i, was), now in zip(floors.body.items(), left, strict=True)}
        lower = {i: max(was, positions[i]) for i, was in floors.lower.items()}
        upper = {i: min(was, positions[i]) for i, was in floors.upper.items()}
        return Floors(
            {i: left_m for i, left_m in body.items() if left_m < max(self._body.rounding_m[i], 0.0)},
            {i: value for i, value in lower.items() if value < self.soft_lower[i] - self._slack},
            {i: value for i, value in upper.items() if value > self.soft_upper[i] + self._slack},
        )

    def worse(self, floors: Floors, positions: Sequence[float]) -> list[Worse]:
        """The limits whose floors `positions` would not keep; kept limits are judged elsewhere."""
        if not floors:
            return []
        left = self._body.margins(positions[: self._dof], tuple(floors.body))
        slack = self._slack
        found = [
            Worse(i, False, now, floor)
            for (i, floor), now in zip(floors.body.items(), left, strict=True)
            if now < floor - slack
        ]
        found += [Worse(i, True, positions[i], at) for i, at in floors.lower.items() if positions[i] < at - slack]
        found += [Worse(i, True, positions[i], at) for i, at in floors.upper.items() if positions[i] > at + slack]
        return found

    def lessens(self, floors: Floors, positions: Sequence[float], least: float) -> bool:
        """Whether at least one violation is less at `positions` than its floor, by more than `least`."""
        left = self._body.margins(positions[: self._dof], tuple(floors.body)) if floors.body else ()
        return (
            any(now > was + least for was, now in zip(floors.body.values(), left, strict=True))
            or any(positions[i] > at + least for i, at in floors.lower.items())
            or any(positions[i] < at - least for i, at in floors.upper.items())
        )


def axes_out(
    rig: Rig,
    positions: Sequence[float],
    fits: Callable[[Sequence[float]], bool],
    lessens: Callable[[Sequence[float]], bool],
) -> tuple[str, ...]:
    """The single axes and directions that lead out of a place, as ``+shoulder``.

    Args:
        rig: axes and limits.
        positions: where the arm rests, every axis, rad or m.
        fits: whether an arm that comes from there may be at other positions.
        lessens: whether a violation is less there.
    """
    names = []
    for i, axis in enumerate(rig.axes):
        for sign, word in ((1.0, "+"), (-1.0, "-")):
            ways = [list(positions) for _ in PROBES]
            for way, part in zip(ways, PROBES, strict=True):
                way[i] += sign * part * PROBE[axis.kind]
            if not axis.lower <= ways[-1][i] <= axis.upper:
                continue
            if lessens(ways[-1]) and all(map(fits, ways)):
                names.append(f"{word}{axis.name}")
    return tuple(names)


# -- whole motions ---------------------------------------------------------------------------------------------


class Course(NamedTuple):
    """What is left of the constraints along a motion, and what has to be; all of shape (N, constraints), metres.

    Attributes:
        left: of rounded positions where a constraint is kept, of the samples themselves where it is not.
        before: what each sample has to leave.
        after: what has to be left from each sample on.
        broken: constraints that the start does not keep, shape (constraints,).
    """

    left: FloatArray
    before: FloatArray
    after: FloatArray
    broken: npt.NDArray[np.bool_]


def course(body: Body, samples: FloatArray, sent: FloatArray, margins: FloatArray) -> Course:
    """Follow the floors along a motion.

    Args:
        body: shapes and what they keep clear of.
        samples: positions of the joints as asked for, shape (N, n).
        sent: the same as the controller rounds them.
        margins: of `sent`, shape (N, constraints).
    """
    broken = excused(body, margins[0])
    if not broken.any():
        nothing = np.broadcast_to(0.0, margins.shape)
        return Course(margins, nothing, nothing, broken)
    exact = body.margins(samples)
    after = floors_of(exact, broken, np.maximum(body.rounding_m, 0.0))
    before = np.concatenate([after[:1], after[:-1]])
    held = broken & (before != 0.0)
    return Course(np.where(held, exact, margins), before, after, broken)


def soft_course(rig: Rig, samples: FloatArray) -> Course:
    """The same of the soft limits, in rad or m, in the order of `soft_left`."""
    left = soft_left(rig, samples)
    broken = left[0] < -SLACK
    after = floors_of(left, broken, -SLACK)
    return Course(left, np.concatenate([after[:1], after[:-1]]), after, broken)


def soft_left(rig: Rig, samples: FloatArray) -> FloatArray:
    """What is left of the lower soft limits of all axes, then of the upper ones, shape (N, 2 axes)."""
    lower = np.array([axis.lower + axis.soft_margin for axis in rig.axes])
    upper = np.array([axis.upper - axis.soft_margin for axis in rig.axes])
    return np.concatenate([samples - lower, upper - samples], axis=1)


def excused(body: Body, margins: FloatArray) -> npt.NDArray[np.bool_]:
    """Which constraints get a floor where these are the margins of the start, both of shape (constraints,)."""
    return np.asarray((margins < -SLACK) & ~(np.abs(margins - body.unmoved_m) <= UNMOVED_M))


def floors_of(left: FloatArray, broken: npt.NDArray[np.bool_], kept_from: npt.ArrayLike) -> FloatArray:
    """Floors after every sample: the best so far of what the start did not keep, until it is kept; else 0.

    Args:
        left: what is left of each limit, shape (N, limits).
        broken: which of them the start does not keep, shape (limits,).
        kept_from: from how much on a limit counts as kept, shape (limits,) or a number.
    """
    best = np.maximum.accumulate(left, axis=0)
    floors: FloatArray = np.where(broken & (best < kept_from), best, 0.0)
    return floors

"""How joints are swept through their ranges: steps, counts with and without the end, steps that suit a voxel."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np

from hil.errors import CommandError
from hil.kernels.chain import Chain, forward_and_jacobian
from hil.kernels.scalar import ARRAYS, FloatArray
from hil.kinematics.limits import TURN, Range
from hil.types import Record
from hil.units import DEG, MM

MOST_VALUES = 1_000_000
"""Values of one joint at most."""

TRIALS = 32
"""Configurations at which it is tried what a joint does to the tool point."""

STILL_M = 1e-12
"""A joint that moves the tool point by less than this per radian or metre does not move it."""

DENSE = 0.6
"""Neighbours in a dense sweep are at most this part of a voxel apart: below 1 / sqrt(3) no voxel stays empty by
chance where the three directions are square to each other, and they are nearly so where the reach is counted."""

STRONG = 1e-3
"""Joints work into separate directions if their volume per step, at scattered configurations, is on the average more
than this part of what their levers could give."""

NICE_STEPS_DEG = (0.5, 1.0, 2.0, 3.0, 5.0, 6.0, 10.0, 15.0, 18.0, 20.0, 30.0, 45.0, 60.0, 90.0, 180.0)
SLIDE_STEPS = 180
"""A prismatic joint's share of the steps of half a turn: its range is cut as finely as half a turn would be."""


class Sweep(Record, frozen=True):
    """One joint's way, in radians (metres where prismatic): `lower`, `lower` + `step` and so on, and `upper`.

    Where the step does not divide the range the last one is shorter. A joint with `lower` equal to `upper` is held.
    """

    name: str
    revolute: bool
    lower: float
    upper: float
    step: float

    def __post_init__(self) -> None:
        unit, word = (DEG, "deg") if self.revolute else (MM, "mm")
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower <= self.upper):
            raise CommandError(
                f"{self.name}: a sweep from {self.lower / unit:g} to {self.upper / unit:g} {word} was asked for; "
                "allowed: finite numbers, the lower one first",
                axis=self.name,
                value=(self.lower, self.upper),
                allowed="finite, lower first",
            )
        least = (self.upper - self.lower) / (MOST_VALUES - 1)
        if not (math.isfinite(self.step) and self.step > 0.0 and self.step >= least):
            raise CommandError(
                f"{self.name}: step {self.step / unit:g} {word} given; allowed: above 0 and not below "
                f"{least / unit:.3g} {word} ({MOST_VALUES} values)",
                axis=self.name,
                value=self.step,
                allowed=f"at least {least / unit:.3g} {word}",
            )

    @property
    def held(self) -> bool:
        """True if the joint stands still."""
        return self.lower == self.upper

    @property
    def half_open(self) -> int:
        """Number of values without the upper end."""
        return 1 if self.held else max(1, math.ceil((self.upper - self.lower) / self.step - 1e-9))

    @property
    def closed(self) -> int:
        """Number of values with the upper end."""
        return 1 if self.held else self.half_open + 1

    def values(self, *, closed: bool) -> FloatArray:
        """All values, in rising order."""
        steps = self.lower + self.step * np.arange(self.half_open, dtype=np.float64)
        return np.append(steps, self.upper) if closed and not self.held else steps


def sweeps_of(
    ranges: Sequence[Range],
    *,
    step_rad: float,
    step_m: float | None = None,
    moved: Collection[int] | None = None,
    rest: Sequence[float] | None = None,
) -> tuple[Sweep, ...]:
    """Sweeps with one step for all revolute and one for all prismatic joints.

    Args:
        ranges: one per joint; a revolute joint without limits goes once round, from -pi to pi.
        step_rad: of revolute joints. In degrees this is the step factor f of the 3D-RAS paper, eq. (17).
        step_m: of prismatic joints; None cuts a range as finely as `step_rad` cuts half a turn.
        moved: indices of the joints to sweep; None for all.
        rest: where the others are held, clipped to their ranges; None for zeros.

    Raises:
        CommandError: a step or range that is not finite or not positive, or a slide without limits.
    """
    sweeps = []
    for i, limits in enumerate(ranges):
        step = step_rad
        if moved is not None and i not in moved:
            low = high = min(max(0.0 if rest is None else rest[i], limits.lower), limits.upper)
        else:
            low, high = _ends(limits)
            if not limits.revolute:
                step = step_m if step_m is not None else (high - low) * step_rad / (SLIDE_STEPS * DEG)
        sweeps.append(Sweep(name=limits.name, revolute=limits.revolute, lower=low, upper=high, step=step))
    return tuple(sweeps)


def count(sweeps: Sequence[Sweep], *, closed: bool) -> int:
    """Number of points: the product over the joints, eq. (18) of the 3D-RAS paper if half open."""
    return math.prod(sweep.closed if closed else sweep.half_open for sweep in sweeps)


def moving_joints(chain: Chain, ranges: Sequence[Range]) -> tuple[int, ...]:
    """Indices of the joints that move the tool point somewhere; a roll about an axis through it does not."""
    size = np.linalg.norm(_point_jacobians(chain, ranges), axis=1).max(axis=0)
    return tuple(int(i) for i in np.flatnonzero(size > STILL_M))


def nice_step_rad(ranges: Sequence[Range], moved: Collection[int], most_points: int) -> float:
    """The finest usual step with which a closed cloud has at most `most_points` points."""
    for step_deg in NICE_STEPS_DEG:
        if count(sweeps_of(ranges, step_rad=step_deg * DEG, moved=moved), closed=True) <= most_points:
            return step_deg * DEG
    return NICE_STEPS_DEG[-1] * DEG


def sweeps_for_voxel(
    chain: Chain,
    ranges: Sequence[Range],
    voxel_m: float,
    *,
    moved: Collection[int],
    most_points: int,
    rest: Sequence[float] | None = None,
) -> tuple[Sweep, ...]:
    """Sweeps fine enough that no voxel within reach stays empty, as far as `most_points` allows.

    Every joint goes from voxel to voxel. Where that is too much, first all but the three joints that carry the tool
    point farthest are made coarser, which costs detail at the rim but tears no holes, then all. No joint goes round
    more than once.

    Raises:
        CommandError: a slide without limits, or a voxel that is not positive.
    """
    if not (math.isfinite(voxel_m) and voxel_m > 0.0):
        raise CommandError(f"voxel {voxel_m / MM:g} mm given; allowed: above 0", value=voxel_m, allowed="above 0")
    whole = sweeps_of([_one_turn(limits) for limits in ranges], step_rad=1.0, moved=moved, rest=rest)
    levers = levers_m(chain, whole)
    dense = _strongest(chain, ranges, whole, moved)
    steps = []
    for sweep, lever in zip(whole, levers, strict=True):
        steps.append(DENSE * voxel_m / max(lever, voxel_m) if sweep.revolute else DENSE * voxel_m)

    def with_steps(others: float, all_of_them: float) -> tuple[Sweep, ...]:
        return tuple(
            Sweep(
                name=sweep.name,
                revolute=sweep.revolute,
                lower=sweep.lower,
                upper=sweep.upper,
                step=step * all_of_them * (1.0 if i in dense else others),
            )
            for i, (sweep, step) in enumerate(zip(whole, steps, strict=True))
        )

    others, everything = 1.0, 1.0
    while count(sweeps := with_steps(others, everything), closed=True) > most_points:
        if any(sweep.half_open > 2 for i, sweep in enumerate(sweeps) if i not in dense):
            others *= 1.15
        else:
            everything *= 1.05
    return sweeps


def nearness_m(chain: Chain, sweeps: Sequence[Sweep], *, closed: bool) -> float:
    """Upper bound of the distance from any place within reach to the nearest point of a cloud, metres.

    From a place the next point is half a step away in every joint at most; at an open end a whole step.
    """
    gap = 0.0
    for sweep, lever in zip(sweeps, levers_m(chain, sweeps), strict=True):
        half = (0.5 if closed else 1.0) * min(sweep.step, sweep.upper - sweep.lower)
        gap += 2.0 * lever * math.sin(min(half, math.pi) / 2) if sweep.revolute else half
    return gap


def levers_m(chain: Chain, sweeps: Sequence[Sweep]) -> tuple[float, ...]:
    """Upper bound of the tool point's distance from each joint's axis, metres; links stretched out."""
    beyond = 0.0 if chain.tool is None else math.hypot(*chain.tool[9:])
    levers = []
    for row, sweep in zip(reversed(chain.rows), reversed(sweeps), strict=True):
        levers.append(beyond + abs(row.a))
        beyond += math.hypot(row.a, longest_offset_m(row.d, row.sign, row.revolute, sweep))
    return tuple(reversed(levers))


def longest_offset_m(d: float, sign: float, revolute: bool, sweep: Sweep) -> float:
    """The largest |d| of a DH row within its sweep, metres."""
    return abs(d) if revolute else max(abs(d + sign * sweep.lower), abs(d + sign * sweep.upper))


def _one_turn(limits: Range) -> Range:
    """The same places with less turning."""
    if not limits.revolute or limits.upper - limits.lower <= TURN or not math.isfinite(limits.upper - limits.lower):
        return limits
    return Range(limits.name, True, limits.middle - math.pi, limits.middle + math.pi)


def _ends(limits: Range) -> tuple[float, float]:
    """The ends of a sweep over all of a joint's range."""
    if math.isfinite(limits.lower) and math.isfinite(limits.upper):
        return limits.lower, limits.upper
    if not limits.revolute:
        raise CommandError(
            f"{limits.name}: this slide has no limits, so its sweep has no end; give its range",
            axis=limits.name,
            allowed="a lower and an upper end in mm",
        )
    if math.isfinite(limits.lower):
        return limits.lower, limits.lower + 2 * math.pi
    if math.isfinite(limits.upper):
        return limits.upper - 2 * math.pi, limits.upper
    return -math.pi, math.pi


def _point_jacobians(chain: Chain, ranges: Sequence[Range]) -> FloatArray:
    """Jacobians of the tool point at the same scattered configurations every time, shape (TRIALS, 3, n)."""
    low = np.array([r.lower if math.isfinite(r.lower) else min(-math.pi, r.upper - math.pi) for r in ranges])
    high = np.array([r.upper if math.isfinite(r.upper) else max(math.pi, r.lower + math.pi) for r in ranges])
    q = np.random.default_rng(0).uniform(low, high, (TRIALS, len(ranges)))
    rows = np.empty((len(q), 3, len(chain.rows)))
    for joint, column in enumerate(forward_and_jacobian(chain, q.T, ARRAYS)[1]):
        for axis in range(3):
            rows[:, axis, joint] = column[axis]
    return rows


def _strongest(
    chain: Chain, ranges: Sequence[Range], sweeps: Sequence[Sweep], moved: Collection[int]
) -> tuple[int, ...]:
    """The joints that carry the tool point farthest into all directions: three, two in a plane, one on a line."""
    jacobians = _point_jacobians(chain, ranges)
    levers = levers_m(chain, sweeps)
    carried = [
        2.0 * lever * math.sin(min(s.upper - s.lower, math.pi) / 2) if s.revolute else s.upper - s.lower
        for lever, s in zip(levers, sweeps, strict=True)
    ]
    for size in (3, 2, 1):
        joints: tuple[int, ...] = ()
        for group in combinations(sorted(moved), size):
            part = jacobians[:, :, group]
            volume = float(np.sqrt(np.abs(np.linalg.det(part.transpose(0, 2, 1) @ part))).mean())
            stretched = math.prod(levers[i] if sweeps[i].revolute else 1.0 for i in group)
            farther = not joints or math.prod(carried[i] for i in group) > math.prod(carried[i] for i in joints)
            if volume > STRONG * stretched and farther:
                joints = group
        if joints:
            return joints
    return ()

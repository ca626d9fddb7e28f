"""Ways out for planned moves: from where a limit is not kept, first a short way that lessens it, then on to the goal.

Tried are, in this order: straight to the goal; one joint, or several as the distances ask for it, whichever is out
soonest, and then on; such ways one after the other; and after each of these on by way of the home or the park pose.
Whatever is given was looked at with its stops (see `room_along`); the preview has the last word all the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import Motion
from hil.motion.room_along import clear
from hil.robot import Robot
from hil.space.body import Body
from hil.space.no_worse import SLACK, excused, soft_left
from hil.units import DEG, MM

SPARE_M = 0.5e-3
"""Beyond what rounding can take, a way out leads so far out."""

RAY_RAD = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.75, *np.arange(1.0, 10.0), *np.arange(10.0, 91.0, 2.5)]) * DEG
RAY_M_PER_RAD = 10.0 * MM / (5.0 * DEG)
"""How far along a joint is looked; a sliding one in proportion."""

GRADIENT_RAD = 0.05 * DEG
NEAR_M = 5e-3
"""Distances with less left than this are heeded where joints move together."""

FURTHER = (0.0, 2.0 * DEG, 6.0 * DEG, 15.0 * DEG, 35.0 * DEG)
"""A way out is tried so much longer, since what was left may still be in the way from its end."""

MOST_LEGS = 6
LEAST_GAIN_M = 0.3e-3
MOST_TRIED = 24
"""Ways that are looked at in full before planning gives up."""

MOST_MIXTURES, NO_WEIGHT = 100, 1e-15

LOOKS = 60


class _Ray(NamedTuple):
    """A direction that was looked along.

    Attributes:
        way: positions of the joints along it as far as nothing gets worse, shape (K, n).
        gain_m: how much less the violations are at each of them, all together, shape (K,).
        out: index of the first at which none is left, or None.
    """

    way: FloatArray
    gain_m: FloatArray
    out: int | None


class WayOutPlan:
    """Looks for ways from one pose.

    Args:
        rig: limits, shapes and fences.
        robot: kinematics of `rig.robot`.
        start: position of every axis, shape (n_axes,), rad or m.
    """

    def __init__(self, rig: Rig, robot: Robot, start: FloatArray) -> None:
        self._rig, self._dof, self._start = rig, robot.dof, start
        self._body = Body(rig, robot)
        sent = np.asarray(rig.controller.quantise(start[None, :]))
        self._broken = excused(self._body, self._body.margins(sent[:, : robot.dof])[0])
        soft = soft_left(rig, start[None, :])[0].reshape(2, -1)
        self._beyond = (soft < -SLACK).any(axis=0)
        joints = rig.axes[: robot.dof]
        self._lower = np.minimum([a.lower + a.soft_margin for a in joints], start[: robot.dof])
        self._upper = np.maximum([a.upper - a.soft_margin for a in joints], start[: robot.dof])
        self._speed = np.array([axis.speed for axis in joints])
        self._unit = np.array([1.0 if a.kind is AxisKind.REVOLUTE else RAY_M_PER_RAD for a in joints])

    @property
    def needed(self) -> bool:
        """True if the start does not keep a distance that joints can change."""
        return bool(self._broken.any())

    def ways(self, goal: FloatArray) -> Iterator[list[FloatArray]]:
        """Places to go by, the goal last; the likeliest first."""
        yield [goal]
        joints = goal[: self._dof]
        exits = [self._full(places) for places in self._exits()]
        likely = [places for places in exits if self._open(places[-1][: self._dof], joints)]
        yield from ([*places, goal] for places in likely)
        for places, pose in itertools.product(exits, (self._rig.home, self._rig.park)):
            via = self._start.copy()
            via[: self._dof] = pose[: self._dof]
            if self._open(places[-1][: self._dof], via[: self._dof]) and self._open(via[: self._dof], joints):
                yield [*places, via, goal]

    def planned(self, goal: FloatArray, rows: Callable[[list[FloatArray]], FloatArray]) -> FloatArray:
        """Samples of a move to the goal that makes nothing worse; of the straight one if none is found.

        Args:
            goal: position of every axis, shape (n_axes,).
            rows: makes samples from the start by way of these places, shape (N, n_axes).
        """
        straight = rows([goal])
        if not self.needed:
            return straight
        for places in itertools.islice(self.ways(goal), MOST_TRIED):
            found = straight if len(places) == 1 else rows(places)
            names = [axis.name for axis in self._rig.axes]
            if clear(self._rig, self._body, Motion(names, self._rig.period_s, found)):
                return found
        return straight

    def _full(self, places: list[FloatArray]) -> list[FloatArray]:
        rows = np.repeat(self._start[None, :], len(places), axis=0)
        rows[:, : self._dof] = places
        return list(rows)

    def _open(self, a: FloatArray, b: FloatArray) -> bool:
        """Whether the straight way between two places keeps all distances, looked at here and there."""
        rows = a + np.linspace(0.0, 1.0, LOOKS)[:, None] * (b - a)
        left = self._body.margins(rows)
        changing = np.isnan(self._body.unmoved_m)
        return bool((left >= -SLACK)[:, changing].all())

    # -- out -----------------------------------------------------------------------------------------------------

    def _exits(self) -> Iterator[list[FloatArray]]:
        """Ways out: single ones, the quickest first; if there is none, several one after the other."""
        here = self._start[: self._dof]
        floors = self._body.margins(here[None, :])[0]
        rays = self._rays(here, floors)
        found = sorted((ray for ray in rays if ray.out is not None), key=lambda ray: self._time_s(here, ray))
        for ray in found:
            yield from self._longer(ray)
        if not found:
            yield from self._step_by_step(here, floors)

    def _time_s(self, here: FloatArray, ray: _Ray) -> float:
        assert ray.out is not None
        return float((np.abs(ray.way[ray.out] - here) / self._speed).max())

    def _longer(self, ray: _Ray) -> Iterator[list[FloatArray]]:
        assert ray.out is not None
        far = np.abs(ray.way - ray.way[ray.out]).max(axis=1)
        taken = set()
        for more in FURTHER:
            at = ray.out + int(np.argmax(far[ray.out :] >= more)) if (far[ray.out :] >= more).any() else None
            if at is not None and at not in taken:
                taken.add(at)
                yield [ray.way[at]]

    def _step_by_step(self, here: FloatArray, floors: FloatArray) -> Iterator[list[FloatArray]]:
        """Along the ray that gains most, and again from there."""
        places: list[FloatArray] = []
        for _ in range(MOST_LEGS):
            best: tuple[float, FloatArray] | None = None
            for ray in self._rays(here, floors):
                if ray.out is not None:
                    yield from ([*places, *more] for more in self._longer(ray))
                    return
                if len(ray.gain_m) and (best is None or ray.gain_m.max() > best[0]):
                    best = float(ray.gain_m.max()), ray.way[int(np.argmax(ray.gain_m))]
            if best is None or best[0] < LEAST_GAIN_M:
                return
            here = best[1]
            places.append(here)
            floors = np.where(self._broken, np.maximum(floors, self._body.margins(here[None, :])[0]), floors)

    def _rays(self, here: FloatArray, floors: FloatArray) -> list[_Ray]:
        directions = [sign * row for row in np.diag(self._unit) for sign in (1.0, -1.0)]
        directions += self._together(here, floors)
        rays = here + RAY_RAD[None, :, None] * np.array(directions)[:, None, :]
        left = self._body.margins(rays.reshape(-1, self._dof)).reshape(*rays.shape[:2], -1)
        return [self._look(way, margins, floors) for way, margins in zip(rays, left, strict=True)]

    def _look(self, way: FloatArray, left: FloatArray, floors: FloatArray) -> _Ray:
        body, broken = self._body, self._broken
        best = np.maximum.accumulate(np.concatenate([floors[None, :], left]), axis=0)
        held = broken & (best[:-1] < body.rounding_m)
        least = np.where(held, best[:-1], np.minimum(body.rounding_m, floors))
        inside = ((way >= self._lower - SLACK) & (way <= self._upper + SLACK)).all(axis=1)
        fits = np.asarray((left >= least - SLACK).all(axis=1) & inside)
        count = len(fits) if fits.all() else int(np.argmin(fits))
        gain = np.minimum(left[:count], body.rounding_m + SPARE_M) - np.minimum(floors, body.rounding_m + SPARE_M)
        out = (left[:count] >= body.rounding_m + SPARE_M)[:, broken].all(axis=1)
        return _Ray(way[:count], gain[:, broken].sum(axis=1), int(np.argmax(out)) if out.any() else None)

    def _together(self, here: FloatArray, floors: FloatArray) -> list[FloatArray]:
        """Directions of all joints in which every distance that is not kept grows alike, if there is one."""
        scale = self._speed / self._speed.max()
        step = np.diag(GRADIENT_RAD * scale)
        slopes = (self._body.margins(here + step) - self._body.margins(here - step)) / (2.0 * GRADIENT_RAD)
        slopes = slopes.T  # one row for each constraint
        still = self._broken & (floors < self._body.rounding_m)
        near = ~self._broken & (floors < NEAR_M) & np.isnan(self._body.unmoved_m)
        found = []
        for rows in (slopes[still], slopes[still | near]):
            size = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows[size[:, 0] > 1e-9] / size[size[:, 0] > 1e-9][:, None].reshape(-1, 1)
            if len(rows):
                direction = nearest_to_zero(rows)
                if np.abs(direction).max() > 1e-3:
                    found.append(direction * scale / np.abs(direction * scale).max())
        return found


def nearest_to_zero(points: FloatArray) -> FloatArray:
    """The point nearest to zero among all mixtures of `points`, shape (n,).

    Every point lies at least as far along it as it is long: so it is a direction in which all of them agree, and none
    exists where it is zero. By Wolfe's method (Mathematical Programming 11, 1976), whose steps are finite.
    """
    used = [int(np.argmin((points**2).sum(axis=1)))]
    weights = np.ones(1)
    slack = 1e-12 * float((points**2).sum(axis=1).max())
    for _ in range(MOST_MIXTURES):
        here: FloatArray = weights @ points[used]
        along = points @ here
        best = int(np.argmin(along))
        if best in used or along[best] >= here @ here - slack:
            break
        used, weights = [*used, best], np.append(weights, 0.0)
        while ((wanted := _flat_mixture(points[used])) <= 0.0).any():
            # As far towards it as all weights stay above zero; whoever has none left is not needed.
            falls = wanted <= 0.0
            shares = weights[falls] / np.maximum(weights[falls] - wanted[falls], NO_WEIGHT)
            weights += shares.min() * (wanted - weights)
            kept = weights > NO_WEIGHT
            used, weights = [k for k, keep in zip(used, kept, strict=True) if keep], weights[kept] / weights[kept].sum()
        weights = wanted
    nearest: FloatArray = weights @ points[used]
    return nearest


def _flat_mixture(points: FloatArray) -> FloatArray:
    """Weights, of any sign, of the point nearest to zero in the flat through `points`."""
    count = len(points)
    system = np.ones((count + 1, count + 1))
    system[0, 0] = 0.0
    system[1:, 1:] = points @ points.T
    weights: FloatArray = np.linalg.lstsq(system, np.eye(count + 1)[0], rcond=None)[0][1:]
    return weights

"""What a jog may not come nearer to: the limits that its start keeps, with a little room, and those that it does not.

A jog keeps a little more than the rig's clearance. Inside of that room too, and all the more beyond a limit, it goes
no nearer than it has been (see `hil.space.no_worse`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.jog_ways import directions
from hil.motion.refusals import LIMIT_SLACK
from hil.robot import Robot
from hil.space.body import UNMOVED_M, LiveBody
from hil.space.no_worse import LESSENED, NO_FLOORS, PROBES, SEEN, SLACK, Floors, NoWorse, axes_out
from hil.types import JogFrame
from hil.units import DEG

ROUNDING_ROOM_M = 1e-3
"""Kept on top of the rig's clearance: pulses are whole microseconds, and the guard judges those."""


EASY_CHANGE_RAD = 3.0 * DEG
"""A direction of the tool is named as a way out if a joint changes by no more on 0.5 mm or 0.5 degrees of it."""


class Reached(NamedTuple):
    """What a jog has come to.

    Attributes:
        floors: of the limits that are not kept.
        near: by index of the constraint, metres left of those kept with less than the room.
    """

    floors: Floors
    near: Mapping[int, float]


class TooNear(NamedTuple):
    """A distance that positions would bring down too far.

    Attributes:
        broken: whether it was not kept before either.
        unmoved: whether no joint changes it at all.
    """

    check: str
    subject: str
    left_m: float
    broken: bool
    unmoved: bool


NOTHING_NEAR = Reached(NO_FLOORS, {})


class JogRoom:
    """Judges positions of one rig's arm.

    Args:
        rig: soft limits and controller.
        body: shapes and what they keep clear of.
    """

    def __init__(self, rig: Rig, body: LiveBody) -> None:
        self._rig, self._body = rig, body
        self._dof = rig.robot.dof
        self.no_worse = NoWorse(rig, body)
        self._reach_m = max(ROUNDING_ROOM_M, *body.rounding_m, 0.0)

    def standing(self, positions: Sequence[float]) -> Reached:
        """Where an arm that rests at `positions` (every axis, rad or m) begins."""
        floors = self.no_worse.standing(positions)
        return Reached(floors, self._near(floors, positions))

    def passed(self, reached: Reached, positions: Sequence[float]) -> Reached:
        """Once `positions` were sent."""
        floors = self.no_worse.raised(reached.floors, positions)
        near = self._near(floors, positions)
        return Reached(floors, {i: max(left_m, reached.near.get(i, left_m)) for i, left_m in near.items()})

    def within(self, reached: Reached, positions: Sequence[float]) -> Reached:
        """For a stop from `positions` on: what is not kept gets no worse from there, what is near from where it was."""
        floors = self.no_worse.raised(reached.floors, positions)
        kept = tuple(i for i in reached.floors.body if i not in floors.body)
        if not kept:
            return Reached(floors, reached.near)
        left = self._body.margins(positions[: self._dof], kept)
        return Reached(floors, {**reached.near, **dict(zip(kept, left, strict=True))})

    def too_near(self, reached: Reached, positions: Sequence[float]) -> TooNear | None:
        """A distance that may not be, or None."""
        for worse in self.no_worse.worse(reached.floors, positions):
            if not worse.of_axis:
                return self._words(worse.which, worse.value, broken=True)
        found = self._body.violations(positions[: self._dof], -self._reach_m)
        kept = [(i, left_m) for i, left_m in found if i not in reached.floors.body]
        for i, left_m in kept:
            least_m = min(reached.near[i], ROUNDING_ROOM_M) - SLACK if i in reached.near else ROUNDING_ROOM_M
            if left_m < least_m:
                return self._words(i, left_m, broken=False)
        if kept:
            sent = self._rig.controller.quantise_pose(tuple(positions))
            for i, left_m in self._body.violations(sent[: self._dof], SLACK):
                if i not in reached.floors.body:
                    return self._words(i, left_m, broken=False)
        return None

    def by_the_file(self, positions: Sequence[float]) -> bool:
        """Whether positions do not keep a distance that no joint changes: only the rig file can mend that."""
        sent = self._rig.controller.quantise_pose(tuple(positions))
        found = self._body.violations(sent[: self._dof], SLACK)
        return any(self._is_unmoved(i, left_m) for i, left_m in found)

    def ways_out(
        self, robot: Robot, reached: Reached, here: FloatArray, *, tool: bool = True
    ) -> tuple[tuple[str, ...], list[str]]:
        """Which single axes, as ``+shoulder``, and which directions of the tool, as ``+z``, lead out of broken limits.

        Args:
            robot: kinematics of the rig's robot.
            reached: what an arm that rests at `here` has come to.
            here: position of every axis, shape (n_axes,), rad or m.
            tool: False to look for directions of the tool only where no single axis leads out: they take their time.
        """
        clear = self._ways_out(robot, reached, here, tool, SEEN)
        return clear if any(clear) else self._ways_out(robot, reached, here, tool, LESSENED)

    def _ways_out(
        self, robot: Robot, reached: Reached, here: FloatArray, tool: bool, least: float
    ) -> tuple[tuple[str, ...], list[str]]:
        lower, upper = np.minimum(self.no_worse.soft_lower, here), np.maximum(self.no_worse.soft_upper, here)

        def fits(positions: Sequence[float]) -> bool:
            inside = bool(
                (np.asarray(positions) >= lower - LIMIT_SLACK).all()
                and (np.asarray(positions) <= upper + LIMIT_SLACK).all()
            )
            return inside and self.too_near(reached, positions) is None

        def lessens(positions: Sequence[float]) -> bool:
            return self.no_worse.lessens(reached.floors, positions, least)

        def leads(way: list[FloatArray]) -> bool:
            return lessens(way[-1].tolist()) and all(fits(there.tolist()) for there in way)

        axes = axes_out(self._rig, here.tolist(), fits, lessens)
        # Where rounding alone decides whether a limit is kept, several joints at once may be refused at any step.
        marginal = any(left_m < self._body.rounding_m[i] for i, left_m in reached.near.items())
        if marginal or (axes and not tool):
            return axes, []
        return axes, directions(robot, here, JogFrame.WORLD, leads, PROBES, most_rad=EASY_CHANGE_RAD)

    def _near(self, floors: Floors, positions: Sequence[float]) -> dict[int, float]:
        found = self._body.violations(positions[: self._dof], -ROUNDING_ROOM_M)
        return {i: left_m for i, left_m in found if i not in floors.body}

    def _words(self, index: int, left_m: float, *, broken: bool) -> TooNear:
        constraint = self._body.constraints[index]
        return TooNear(constraint.check, constraint.subject, left_m, broken, self._is_unmoved(index, left_m))

    def _is_unmoved(self, index: int, left_m: float) -> bool:
        return abs(left_m - self._body.unmoved_m[index]) <= UNMOVED_M

"""The run along a way of a jog: how far with the next sample, seen from what lies ahead.

Speeds, accelerations and distances here are those of the way, counted in the joints' seconds (see `jog_ways`).
A little way ahead is always known: where it ends or is blocked, how it bends, and how far the tool goes on it.
From that comes a speed that can be kept; towards it the run is led as a single axis would be.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.motion.jog_ways import Place, Trail
from hil.motion.profiles import HEADROOM
from hil.motion.stops import stop_samples
from hil.robot import Robot
from hil.types import ToolJog

BRAKE_SHARE = 0.6
"""Part of acceleration and jerk that is counted on in front of what blocks the way; the rest follows that speed."""

BEND_SHARE, BEND_JERK_SHARE = 0.4, 0.15
"""Parts of a joint's acceleration and jerk for the bends of its way at even speed."""

LOOKS_AHEAD = 6
SOON, SOONER = 1.2, 0.1
"""Seen from a speed, the way is looked at for a stop from so many times it, and so much more."""

NEAR_LOOK = 0.3
"""A known place nearer than this part of the distance between two says nothing about bends."""

BLOCK_STEPS = 4.0
"""A run ends so many times the change that its jerk makes in a period in front of what blocks it."""

SINGULAR = 0.15
"""Part of the tool's speed limit below which joints at full speed show a posture to be singular, or nearly."""

LANDED_S = 1e-10


class RunLimits(NamedTuple):
    """What a run has to keep.

    Attributes:
        acceleration, jerk: of the way, for speeding up and down.
        axis_acceleration, axis_jerk: of every axis, shape (n,), for the bends.
        tool_speed_m_s: of the tool point.
    """

    period_s: float
    acceleration: float
    jerk: float
    axis_acceleration: FloatArray
    axis_jerk: FloatArray
    tool_speed_m_s: float


class Proposal(NamedTuple):
    """A next place, and what is left to go after it in each further sample once the end has been aimed at."""

    place: Place
    landing: tuple[float, ...] | None = None


class Run:
    """A run along a trail.

    Args:
        robot: tells where the tool is.
        trail: the way.
        place: where it begins, at rest.
        limits: what to keep.
        goal: positions at the way's end, where a step comes to rest; None while held.
        move: the direction held.

    Attributes:
        pace: length a second that is wanted.
        slowed: True if the posture leaves only a small part of it.
    """

    def __init__(
        self,
        robot: Robot,
        trail: Trail,
        place: Place,
        limits: RunLimits,
        *,
        goal: FloatArray | None = None,
        move: ToolJog | None = None,
    ) -> None:
        self._robot, self._limits = robot, limits
        self.trail, self.place, self.move = trail, place, move
        self.pace = math.inf
        self.slowed = False
        self._goal = goal
        self._changes = (0.0, 0.0)
        self._rate: float | None = None
        self._ahead: list[Place] = []
        self._ended = False
        self._left_s = math.inf
        self._landing: tuple[float, ...] | None = None
        most, jerk = np.array([limits.acceleration * HEADROOM]), np.array([limits.jerk * HEADROOM])
        self._most, self._jerk = most, jerk
        self._short_s = BLOCK_STEPS * limits.jerk * limits.period_s**3

    @property
    def at_goal(self) -> bool:
        """True once a step has come to its end."""
        return self._landing == ()

    @property
    def blocked(self) -> bool:
        """True if the way is blocked right ahead."""
        return self._left_s <= 0.0 and self._goal is None

    def take(self, proposal: Proposal) -> None:
        """The proposal was sent."""
        change = self.trail.apart(self.place.positions, proposal.place.positions)
        if change > 0.0:
            self._rate = (proposal.place.length - self.place.length) / change
        self._changes = (change, self._changes[0])
        self.place, self._landing = proposal.place, proposal.landing

    def propose(self, history: tuple[FloatArray, ...], *, brake: bool) -> Proposal | None:
        """The next place; None if there is none that is near enough.

        Args:
            history: the three samples sent last, newest first.
            brake: only slow down.
        """
        if self._landing:
            return self._land(self._landing)
        h, (change, before) = self._limits.period_s, self._changes
        speed = 0.0 if brake else self._speed_ahead()
        if speed == change == before == 0.0:
            return Proposal(self.place)
        now, bend = change / h - speed, (change - before) / h**2
        moved = stop_samples(h, self._most, self._jerk, np.zeros(1), np.array([now]), np.array([bend]))
        wanted = max(float(moved[0, 0]) + h * speed, 0.0)
        if wanted < LANDED_S:
            return Proposal(self.place)
        place, reached = self.trail.advance(self.place, wanted, self._guess(wanted))
        if not reached:
            return None
        landing = None if self._goal is None else self._aim(history, place.positions, self._goal)
        return Proposal(place) if landing is None else self._land(landing)

    # -- the end of a step -----------------------------------------------------------------------------------

    def _aim(
        self, history: tuple[FloatArray, ...], candidate: FloatArray, goal: FloatArray
    ) -> tuple[float, ...] | None:
        """What is left to go in each sample of a stop that ends at the goal; None while there is time to go on.

        Seen from the goal the way is one number, minus what is left. As long as the stop from the candidate ends
        short of the goal nothing is lost by it. The first one that would not is mixed with the stop from here, which
        does: limits are kept by any mixture of two ways that keep them, and one of them ends at the goal.
        """
        h = self._limits.period_s
        x0, x1, x2 = (-self.trail.apart(goal, positions) for positions in history)
        far = -self.trail.apart(goal, candidate)
        on = np.array([far, *self._stop(far, (far - x0) / h, (far - 2.0 * x0 + x1) / h**2)])
        if on[-1] <= 0.0:
            return None
        short = self._stop(x0, (x0 - x1) / h, (x0 - 2.0 * x1 + x2) / h**2)
        count = max(len(on), len(short))
        on, short = (np.pad(samples, (0, count - len(samples)), "edge") for samples in (on, short))
        part = min(-short[-1] / (on[-1] - short[-1]), 1.0)
        left = -(short + part * (on - short))
        return tuple(0.0 if value < LANDED_S else value for value in left.tolist())

    def _land(self, landing: tuple[float, ...]) -> Proposal | None:
        assert self._goal is not None
        left, rest = landing[0], landing[1:]
        if left == 0.0:
            return Proposal(Place(self.trail.way.end, self._goal), rest)
        guess = self._guess(max(self.trail.apart(self._goal, self.place.positions) - left, 0.0))
        place, reached = self.trail.approach(self.place, self._goal, left, guess)
        return Proposal(place, rest) if reached else None

    def _stop(self, x: float, v: float, a: float) -> FloatArray:
        h = self._limits.period_s
        samples: FloatArray = stop_samples(h, self._most, self._jerk, np.array([x]), np.array([v]), np.array([a]))[:, 0]
        return samples

    def _guess(self, change: float) -> float:
        """About how far along the way a change of the joints leads."""
        return self.trail.way.first if not self._rate else self._rate * change

    # -- what lies ahead -------------------------------------------------------------------------------------

    def _speed_ahead(self) -> float:
        """The speed that can be kept, and can be given up in front of whatever blocks the way."""
        places = self._look_ahead()
        rows = np.array([place.positions for place in places])
        lengths = np.diff([place.length for place in places])
        tools = self._robot.forward_kinematics(rows[:, : self._robot.dof])[:, :3, 3]
        changes = np.array([self.trail.apart(a, b) for a, b in pairwise(rows)])
        moving = changes > 0.0
        if not moving.any():
            self._left_s = 0.0 if self._ended else math.inf
            return 0.0
        limits = self._limits
        travel = np.linalg.norm(np.diff(tools, axis=0), axis=1)[moving] / changes[moving]
        pace = max(float((lengths[moving] / changes[moving]).max()), self._rate or 0.0)
        asked = min(self.pace / pace, limits.tool_speed_m_s / max(float(travel.max()), 1e-12))
        speed = min(HEADROOM, asked)
        if not self.trail.way.straight:
            speed = min(speed, self._speed_in_bends(rows, changes))
        least = float((lengths[moving] / changes[moving]).min())
        self.slowed = speed * least < self.pace < math.inf and least < SINGULAR * limits.tool_speed_m_s
        self._left_s = max(float(changes.sum()) - self._short_s, 0.0) if self._ended else math.inf
        if self._ended and self._goal is None:
            braking = np.array([limits.acceleration * BRAKE_SHARE]), np.array([limits.jerk * BRAKE_SHARE])
            speed = min(speed, float(speed_before(np.array([self._left_s]), *braking)[0]))
        return speed

    def _look_ahead(self) -> list[Place]:
        """The present place and those known ahead of it, as far as a stop could lead soon."""
        here, apart = self.place, self.trail.apart
        horizon_s = self._horizon_s()
        spacing = horizon_s / LOOKS_AHEAD
        ahead = [place for place in self._ahead if place.length > here.length]
        if len(ahead) > 1 and apart(here.positions, ahead[0].positions) < NEAR_LOOK * spacing:
            del ahead[0]
        chain = [here, *ahead]
        known = sum(apart(a.positions, b.positions) for a, b in pairwise(chain))
        while known < horizon_s and not self._ended:
            last = chain[-1]
            change = self.trail.first_change_s if self._rate is None and len(chain) == 1 else spacing
            place, reached = self.trail.look(last, change, self._guess(change))
            self._ended = not reached or place.length >= self.trail.way.end
            if place.length > last.length:
                chain.append(place)
            known += change
        self._ahead = chain[1:]
        return chain

    def _horizon_s(self) -> float:
        limits = self._limits
        soon = min(SOON * self._changes[0] / limits.period_s + SOONER, 1.0)
        way = _stop_way(soon, limits.acceleration * BRAKE_SHARE, limits.jerk * BRAKE_SHARE)
        return way + 2.0 * limits.period_s * soon

    def _speed_in_bends(self, rows: FloatArray, changes: FloatArray) -> float:
        sound = np.flatnonzero(changes > 0.5 * NEAR_LOOK * self._horizon_s() / LOOKS_AHEAD)
        if len(sound) < 2:
            return HEADROOM
        limits, spans = self._limits, changes[sound]
        slopes = np.diff(rows, axis=0)[sound] / spans[:, None]
        bends = np.diff(slopes, axis=0) / (0.5 * (spans[1:] + spans[:-1]))[:, None]
        bend = np.maximum(np.abs(bends).max(axis=0), 1e-9)
        speed = min(
            math.sqrt(float((BEND_SHARE * limits.axis_acceleration / bend).min())),
            float((BEND_JERK_SHARE * limits.axis_jerk / (bend * limits.acceleration)).min()),
        )
        if len(bends) > 1:
            twist = np.maximum(np.abs(np.diff(bends, axis=0)).max(axis=0) / float(spans[1:-1].min()), 1e-9)
            speed = min(speed, float(np.cbrt(BEND_JERK_SHARE * limits.axis_jerk / twist).min()))
        return speed


def speed_before(room: FloatArray, acceleration: FloatArray, jerk: FloatArray) -> FloatArray:
    """The highest even speed from which a stop takes no more than `room` (0 or more; less counts as 0).

    A stop from v, half of it with falling and half with rising acceleration, is as long as v / 2 times its
    duration: 2 sqrt(v / jerk) where the full acceleration is not reached, else v / acceleration +
    acceleration / jerk.
    """
    room = np.maximum(room, 0.0)
    bent = acceleration * acceleration / (2.0 * jerk)
    speeds: FloatArray = np.where(
        room <= acceleration**3 / jerk**2,
        np.cbrt(room * room * jerk),
        np.sqrt(bent * bent + 2.0 * acceleration * room) - bent,
    )
    return speeds


def _stop_way(speed: float, acceleration: float, jerk: float) -> float:
    if speed * jerk >= acceleration * acceleration:
        return 0.5 * speed * (speed / acceleration + acceleration / jerk)
    return speed * math.sqrt(speed / jerk)

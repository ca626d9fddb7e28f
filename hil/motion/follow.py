"""Following: the next sample of a motion that is led by targets, always within the limits and always able to stop.

As for a jog (see `jog`), a sample is given out together with the stop that would follow it, and only if both keep the
limits; else the stop of the sample before is followed. Seen from the targets, which move at some speed, the arm has to
come to rest at a point. Each axis goes on as hard as it may while the stop from there still ends short of that point;
the first time that it would not, that way on is mixed with the stop from here, such that the end of both is the point
(as at the end of a step, see `jog_run`). Any mixture of two ways that keep a limit keeps it, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.errors import CommandError, InterlockError
from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.jog_judge import History, JogJudge
from hil.motion.jog_room import NOTHING_NEAR, JogRoom
from hil.motion.jog_run import BRAKE_SHARE, speed_before
from hil.motion.profiles import HEADROOM
from hil.motion.refusals import say
from hil.motion.stops import first_and_rest
from hil.motion.target_track import TargetTrack
from hil.robot import Robot
from hil.units import DEG, MM

NEAR = {AxisKind.REVOLUTE: 5.0 * DEG, AxisKind.PRISMATIC: 5.0 * MM, AxisKind.GRIPPER: 5.0 * MM}
"""The first target may be so far from where the arm stands."""

LEAD_S = 0.25
"""A target may be further ahead by what the axis goes in this time at the speed that is allowed."""

TOOL_SHARE = 0.9
"""Part of the tool's speed limit that is aimed at, since the limit moves with the posture."""

PROBE = {AxisKind.REVOLUTE: 1.0 * DEG, AxisKind.PRISMATIC: 1.0 * MM, AxisKind.GRIPPER: 1.0 * MM}
"""An arm that stands before something goes on once it could go so far towards its targets."""

THERE = 1e-9
"""An axis that is so near its goal, in rad or m, and moved no more in a period, stands."""


class FollowMotion:
    """One motion led by targets, from rest; a new one for each.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        start: where every axis rests, shape (n,), rad or m.
        speed_share: part of the rig's speeds that is allowed, above 0 to 1; accelerations are the rig's own.
        room: judges every sample and stop; nothing is near to anything if not given.

    Raises:
        CommandError: a number is not finite or out of its range, or a length does not fit the rig.
    """

    def __init__(
        self, rig: Rig, robot: Robot, start: Sequence[float], speed_share: float, room: JogRoom | None = None
    ) -> None:
        if not 0.0 < speed_share <= 1.0:
            raise CommandError(f"speed share {speed_share!r} of following; allowed: above 0 to 1", value=speed_share)
        self._rig, self._robot, self._room = rig, robot, room
        self._most_share, self._share = speed_share, 1.0
        here = self._checked("start", start)
        self._judge = JogJudge(rig, robot, speed_share, room)
        self._track = TargetTrack(rig.period_s)
        self._history = History(here, here, here)
        self._safe: FloatArray = np.empty((0, len(here)))
        self._reached = NOTHING_NEAR if room is None else room.standing(here.tolist())
        near = np.array([NEAR[axis.kind] for axis in rig.axes])
        self._near, self._leash = near, near + LEAD_S * self._judge.speed
        self._probe = np.array([PROBE[axis.kind] for axis in rig.axes])
        self._begun = self._stands_before = False
        self._next: tuple[FloatArray, FloatArray] | None = None
        self._said: set[str] = set()
        self._words: list[str] = []

    # -- targets ---------------------------------------------------------------------------------------------

    def aim(self, at_s: float, positions: Sequence[float], speed_share: float = 1.0) -> None:
        """Take a target.

        Args:
            at_s: when it was meant, by the sender's clock.
            positions: of every axis, rad or m.
            speed_share: part of the rig's speeds, of which the arm takes no more than it was begun with.

        Raises:
            CommandError: a number is not finite or not in its range, or there are too few or too many.
            InterlockError: it is no newer than the one before, or too far away; it was not taken.
        """
        target = self._checked("target", positions)
        if not speed_share > 0.0:
            raise CommandError(f"speed share {speed_share!r} of a target; allowed: above 0", value=speed_share)
        if at_s <= self._track.newest_s:
            raise InterlockError("a target was meant for no later than the one before it", ["a later target"])
        away = np.abs(target - self._history.newest)
        most = self._leash if self._begun else self._near
        if (away > most).any():
            axis, given, allowed = self._worst(away, most)
            which = "a target" if self._begun else "the first target"
            raise InterlockError(
                f"{which} is {say(axis, given)} away from where {axis.name} is; allowed: {say(axis, allowed)}. Lead "
                f"{'more slowly' if self._begun else 'from where the arm stands'}",
                ["a nearer target"],
            )
        self._track.add(at_s, target)
        self._share = min(speed_share / self._most_share, 1.0)

    def _checked(self, what: str, values: Sequence[float]) -> FloatArray:
        axes = self._rig.axes
        if len(values) != len(axes):
            raise CommandError(
                f"{what} of following: {len(values)} positions given; this rig has the axes "
                f"{', '.join(axis.name for axis in axes)}",
                value=values,
                allowed=f"{len(axes)} positions",
            )
        for axis, value in zip(axes, values, strict=True):
            if not math.isfinite(value):
                raise CommandError(
                    f"{what} of following: {axis.name} {value!r} is not a finite number",
                    axis=axis.name,
                    value=value,
                    allowed="a finite number",
                )
        return np.array(values, dtype=np.float64)

    def _worst(self, away: FloatArray, most: FloatArray) -> tuple[Axis, float, float]:
        index = int(np.argmax(away / most))
        return self._rig.axes[index], float(away[index]), float(most[index])

    @property
    def behind_s(self) -> float:
        """By how much the arm follows later than the newest target."""
        return self._track.behind_s

    # -- sample by sample ------------------------------------------------------------------------------------

    def turn(self) -> None:
        """A tick has come: the targets go on by one period, and the next sample is another."""
        self._track.turn()
        self._next = None

    @property
    def sample(self) -> tuple[float, ...]:
        """The sample to send now; the same until `advance` or `turn`. The first is the place where the arm rests."""
        return tuple(self._find()[0].tolist())

    @property
    def stop(self) -> FloatArray:
        """The stop from the sample sent last, as it was looked at, shape (K, n); K is 0 where nothing moves."""
        return self._safe

    @property
    def resting(self) -> bool:
        """True while the arm stands where it shall, so that nothing is to be sent."""
        return self._begun and self._history.still and bool((self._find()[0] == self._history.newest).all())

    def advance(self) -> None:
        """The sample was sent."""
        sample, self._safe = self._find()
        self._begun = True
        self._history = self._history.after(sample)
        if self._room is not None:
            self._reached = self._room.passed(self._reached, sample.tolist())
        self._next = None

    def take_words(self) -> tuple[str, ...]:
        """What there is to say since the last call, each thing once."""
        words, self._words = tuple(self._words), []
        return words

    def _find(self) -> tuple[FloatArray, FloatArray]:
        if self._next is None:
            self._next = self._choose() if self._begun else (self._history.newest, self._safe)
        return self._next

    def _stopping(self) -> tuple[FloatArray, FloatArray]:
        """The next sample of the stop that is known to be safe; the last one again at its end."""
        if len(self._safe):
            return self._safe[0], self._safe[1:]
        return self._history.newest, self._safe

    def _choose(self) -> tuple[FloatArray, FloatArray]:
        wanted = self._track.wanted
        if wanted is None:
            return self._stopping()
        lower, upper = self._judge.bounds(self._history.newest)
        goal = np.clip(wanted.positions, lower, upper)
        self._say_limits(wanted.positions, goal)
        velocity = np.where(goal == wanted.positions, wanted.velocity, 0.0)
        if self._stands_before and not (self._history.still and self._leads_on(goal)):
            return self._stopping()
        self._stands_before = False
        sample = self._towards(goal, velocity, lower, upper)
        stop, refusal = self._judge.judge(self._reached, self._history, sample)
        if refusal is None:
            return sample, stop
        if refusal.check in ("E-09", "E-10"):
            self._stands_before = True
            self._say_once(refusal.subject, f"the arm follows no further: {refusal.text}")
        return self._stopping()

    def _leads_on(self, goal: FloatArray) -> bool:
        """Whether an arm that stands before something could go a little way towards the goal."""
        here = self._history.newest
        way = goal - here
        longest = float((np.abs(way) / self._probe).max())
        there = here + way / max(longest, 1.0)
        return self._judge.refusal(self._reached, here, there) is None

    def _towards(self, goal: FloatArray, velocity: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """The next sample on the way to a goal that moves on at a velocity, however the arm moves now."""
        h, judge = self._rig.period_s, self._judge
        p, p1, p2 = self._history
        v, a = (p - p1) / h, (p - 2.0 * p1 + p2) / h**2
        up, down, frame = self._speeds(goal - h * velocity - p, velocity, p, lower, upper)
        left = goal - h * velocity - p
        # Seen from the goal: the stop from here, and going on as hard as it may, followed by a stop.
        short_first, short_end = first_and_rest(h, judge.acceleration, judge.jerk, v - frame, a)
        way = np.sign(left - short_end)
        most = np.where(way > 0.0, up, -down)
        on = first_and_rest(h, judge.acceleration, judge.jerk, v - most, a)[0] + h * (most - frame)
        speed = on / h + frame
        on_end = on + first_and_rest(h, judge.acceleration, judge.jerk, speed - frame, (speed - v) / h)[1]
        beyond = (on_end - left) * way >= 0.0
        span = on_end - short_end
        part = np.divide(left - short_end, span, out=np.ones_like(span), where=beyond & (np.abs(span) > 0.0))
        sample = p + h * frame + short_first + np.clip(part, 0.0, 1.0) * (on - short_first)
        there = (frame == 0.0) & (np.abs(left) < THERE) & (np.abs(p - p1) < THERE) & (np.abs(p1 - p2) < THERE)
        at_rest: FloatArray = np.where(there, p, sample)
        return at_rest

    def _speeds(
        self, left: FloatArray, velocity: FloatArray, p: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Most speed up and down of each axis, and the velocity of the goal as far as the arm can go along with it."""
        judge = self._judge
        a, j = judge.acceleration * BRAKE_SHARE, judge.jerk * BRAKE_SHARE
        top = judge.speed * (HEADROOM * self._share)
        up = np.minimum(top, speed_before(upper - p, a, j))
        down = np.minimum(top, speed_before(p - lower, a, j))
        frame = np.clip(velocity, -down, up)
        # What each axis would like: along with the goal, and what is left besides.
        like = np.clip(frame + np.sign(left) * speed_before(np.abs(left), a, j), -down, up)
        dof = self._robot.dof
        tool = float(np.linalg.norm(self._robot.jacobian(p[:dof])[:3] @ like[:dof]))
        most = TOOL_SHARE * self._share * judge.tool_speed_m_s
        if tool > most:
            like[:dof] *= most / tool
            frame[:dof] *= most / tool
            size = np.abs(like[:dof])
            up[:dof], down[:dof] = np.minimum(up[:dof], size), np.minimum(down[:dof], size)
            frame = np.clip(frame, -down, up)
        return up, down, frame

    # -- words -----------------------------------------------------------------------------------------------

    def _say_limits(self, wanted: FloatArray, goal: FloatArray) -> None:
        for index in np.flatnonzero(wanted != goal).tolist():
            axis, bound = self._rig.axes[index], float(goal[index])
            side = "upper" if wanted[index] > bound else "lower"
            self._say_once(
                f"{axis.name} {side}",
                f"[E-02] a target of {axis.name} is beyond its {side} soft limit {say(axis, bound)}: it goes to there",
            )

    def _say_once(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._words.append(text)

"""Jogging: the next sample of a hand-led motion, always within the limits and always able to stop.

Every sample that is given out comes with the stop that would follow it, worked out as the loop would do it. A
sample whose stop would leave the limits, or come too near to something, is not given out: the stop of the
sample before is followed instead, which was looked at in the same way. So there is a safe way on at any time.

From where a limit is not kept, beyond a soft one or too near to something, only what makes nothing worse is given
out, and the words name what leads out (see `jog_room`).

Single axes follow the speeds that are held as fast as acceleration and jerk allow: their next sample is the
first of a stop in a frame that moves at the speed wanted. The tool follows a way (see `jog_ways`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError, InterlockError
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion import jog_refusals as no
from hil.motion.jog_judge import History, JogJudge
from hil.motion.jog_reasons import JogReasons, Stand
from hil.motion.jog_room import NOTHING_NEAR, JogRoom
from hil.motion.jog_run import BRAKE_SHARE, Proposal, Run, RunLimits, speed_before
from hil.motion.jog_ways import (
    AxisWay,
    Place,
    ToolWay,
    Trail,
    Way,
    along,
    size_of,
)
from hil.motion.profiles import HEADROOM
from hil.motion.stops import stop_samples
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.types import AxisJog, ToolJog
from hil.units import DEG, MM

Move = AxisJog | ToolJog

TOOL_SHARE = 0.9
"""Part of the tool's speed limit that single axes aim at, since the limit moves with the posture."""

TOOL_WAY_SHARE = 0.98
"""The same along a way, which is known a little ahead, if not to the last bit."""

WAY_SHARE = 0.5
"""Part of the joints' accelerations and jerks for speeding up and down along a way of the tool; bends take the rest."""

STRAIGHT_SHARE = 0.95
AT_LIMIT = {AxisKind.REVOLUTE: 0.01 * DEG, AxisKind.PRISMATIC: 0.01 * MM, AxisKind.GRIPPER: 0.01 * MM}
STEP_CHANGE_RAD = 3.0 * DEG
"""How finely the way of a step is looked at before it begins."""

LOOK_GROWTH = 4.0
MOST_LOOKS = 400


class _Next(NamedTuple):
    """A sample to give out, the stop from there, and what has to be remembered once it was sent."""

    sample: FloatArray
    stop: FloatArray
    proposal: Proposal | None = None


class JogMotion:
    """One hand-led motion from rest; a new one for each.

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
        self,
        rig: Rig,
        robot: Robot,
        start: Sequence[float],
        speed_share: float,
        room: JogRoom | None = None,
    ) -> None:
        if not 0.0 < speed_share <= 1.0:
            raise CommandError(f"speed share {speed_share!r} of a jog; allowed: above 0 to 1", value=speed_share)
        if len(start) != len(rig.axes) or not all(map(math.isfinite, start)):
            raise CommandError(f"start of a jog: {list(start)!r}; allowed: {len(rig.axes)} finite numbers", value=start)
        self._rig, self._robot, self._room = rig, robot, room
        self._judge = JogJudge(rig, robot, speed_share, room)
        self._reasons = JogReasons(rig, robot, room, self._judge)
        here = np.array(start, dtype=np.float64)
        self._history = History(here, here, here)
        self._safe: FloatArray = np.empty((0, len(here)))
        self._reached = NOTHING_NEAR if room is None else room.standing(here.tolist())
        self._run: Run | None = None
        self._asked: Move | None = None
        self._wanted: Move | None = None
        self._given_up: Move | None = None
        self._begun = self._is_step = False
        self._next: _Next | None = None
        self._said: set[str] = set()
        self._words: list[str] = []

    # -- what is asked for -----------------------------------------------------------------------------------

    def hold(self, move: Move) -> None:
        """Go on like this from the next sample on.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: a step is running.
        """
        if self._is_step:
            raise InterlockError("a jog step is running; hold again when it has ended", ["the step's end"])
        self._check_shape(move)
        self._asked = move
        if move != self._wanted:
            self._wanted, self._next = move, None

    def step(self, move: Move) -> None:
        """Make one increment from rest.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: something moves already; nothing is queued.
            RefusedError: it is too large, or something is in its way; nothing moves then.
        """
        if self._begun or self._is_step:
            raise InterlockError("the jog before is still running; nothing is queued", ["rest"])
        self._check_shape(move)
        self._asked = move
        if large := no.large_step(self._rig, move):
            raise RefusedError(large, "the jog step is refused")
        self._is_step = True
        here = self._history.newest
        if (any(move.amounts) if isinstance(move, AxisJog) else size_of(move)) == 0:
            return
        way = self._way(move, step=True)
        goal = self._walk_to_end(way, move)
        trail = Trail(way, self._judge.speed, self._fits)
        self._run = Run(self._robot, trail, Place(0.0, here), self._limits(move), goal=goal)
        if isinstance(move, ToolJog) and any(move.linear):
            self._run.pace = self._judge.tool_speed_m_s

    def _check_shape(self, move: Move) -> None:
        if isinstance(move, AxisJog) and len(move.amounts) != len(self._rig.axes):
            raise CommandError(
                f"axis jog: {len(move.amounts)} amounts given; allowed: {len(self._rig.axes)}, one per axis",
                value=move.amounts,
                allowed=str(len(self._rig.axes)),
            )
        if isinstance(move, ToolJog) and size_of(move) > 0.0:
            self._way(move, step=True)

    def _walk_to_end(self, way: Way, move: Move) -> FloatArray:
        """Look at the whole way of a step, to refuse it before anything moves; gives the goal."""
        place, reached = Place(0.0, self._history.newest), self._reached
        judge = self._judge
        trail = Trail(way, judge.speed, lambda positions: judge.refusal(reached, place.positions, positions))
        most = STEP_CHANGE_RAD / float(judge.speed[: self._robot.dof].max())
        guess, change = trail.way.first, min(trail.first_change_s, most)
        for _ in range(MOST_LOOKS):
            ahead, found = trail.look(place, change, guess)
            if not found:
                raise RefusedError([self._reasons.blocked(trail, ahead, move, self._stand)], "the jog step is refused")
            if ahead.length >= trail.way.end:
                return ahead.positions
            grown = min(LOOK_GROWTH * change, most)
            guess, place, change = (ahead.length - place.length) * grown / change, ahead, grown
            if self._room is not None:
                reached = self._room.within(reached, ahead.positions.tolist())
        raise RefusedError([self._reasons.blocked(trail, place, move, self._stand)], "the jog step is refused")

    # -- sample by sample ------------------------------------------------------------------------------------

    @property
    def sample(self) -> tuple[float, ...]:
        """The sample to send now; the same until `advance`. The first is the place where the arm rests."""
        return tuple(self._find().sample.tolist())

    @property
    def stop(self) -> FloatArray:
        """The stop from the sample sent last, as it was looked at, shape (K, n); K is 0 where nothing moves."""
        return self._safe

    @property
    def resting(self) -> bool:
        """True while the arm has been at rest for long enough and nothing else is to be sent."""
        return self._begun and self._history.still and bool((self._find().sample == self._history.newest).all())

    @property
    def done(self) -> bool:
        """True once a step has come to its end, or was broken off and has come to rest."""
        return self._is_step and self._run is None and self.resting

    def advance(self) -> None:
        """The sample was sent."""
        taken = self._find()
        self._begun = True
        self._history = self._history.after(taken.sample)
        self._safe = taken.stop
        if self._run is not None and taken.proposal is not None:
            self._run.take(taken.proposal)
            if self._run.at_goal:
                self._run = None
        if self._room is not None:
            self._reached = self._room.passed(self._reached, taken.sample.tolist())
        self._next = None

    def take_words(self) -> tuple[str, ...]:
        """What there is to say since the last call, each thing once."""
        words, self._words = tuple(self._words), []
        return words

    def _find(self) -> _Next:
        if self._next is None:
            self._next = self._choose() if self._begun else _Next(self._history.newest, self._safe)
        return self._next

    def _choose(self) -> _Next:
        move = self._wanted
        if self._is_step:
            return self._follow_way() if self._run is not None else self._stopping()
        if move is None or move == self._given_up:
            return self._stopping()
        self._given_up = None
        if isinstance(move, AxisJog):
            self._run = None
            return self._track(move)
        return self._lead_tool(move)

    def _stopping(self) -> _Next:
        """The next sample of the stop that is known to be safe; the last one again at its end."""
        if len(self._safe):
            return _Next(self._safe[0], self._safe[1:])
        return _Next(self._history.newest, self._safe)

    # -- single axes -----------------------------------------------------------------------------------------

    def _track(self, move: AxisJog) -> _Next:
        h, (p, p1, p2) = self._rig.period_s, self._history
        judge = self._judge
        wanted = np.clip(np.array(move.amounts), -judge.speed * HEADROOM, judge.speed * HEADROOM)
        lower, upper = judge.bounds(p)
        a, j = judge.acceleration * BRAKE_SHARE, judge.jerk * BRAKE_SHARE
        rooms = np.where(wanted > 0.0, upper - p, p - lower)
        slowed = np.sign(wanted) * np.minimum(np.abs(wanted), speed_before(rooms, a, j))
        self._say_limits(wanted, rooms)
        slowed = self._within_tool_speed(p, slowed)
        v, acceleration = (p - p1) / h, (p - 2.0 * p1 + p2) / h**2
        if not slowed.any() and self._history.still:
            return _Next(p, self._safe)
        moved = stop_samples(h, judge.acceleration, judge.jerk, p, v - slowed, acceleration)
        sample = moved[0] + h * slowed
        stop, refusal = judge.judge(self._reached, self._history, sample)
        if refusal is None:
            return _Next(sample, stop)
        if refusal.check in ("E-09", "E-10"):
            self._given_up = move
            other = "" if self._reached.floors else " Jog the other way."
            self._say_once(refusal.subject, lambda: f"{self._reasons.explained(refusal, self._stand).text}{other}")
        return self._stopping()

    def _within_tool_speed(self, p: FloatArray, speeds: FloatArray) -> FloatArray:
        dof = self._robot.dof
        tool = float(np.linalg.norm(self._robot.jacobian(p[:dof])[:3] @ speeds[:dof]))
        most = TOOL_SHARE * self._judge.tool_speed_m_s
        return speeds * (most / tool) if tool > most else speeds

    def _say_limits(self, wanted: FloatArray, rooms: FloatArray) -> None:
        for axis, speed, room in zip(self._rig.axes, wanted.tolist(), rooms.tolist(), strict=True):
            if speed and room < AT_LIMIT[axis.kind]:
                self._say_once(
                    f"{axis.name} {speed > 0.0}",
                    functools.partial(self._reasons.at_limit, axis, speed > 0.0, self._stand),
                )

    # -- the tool along a way --------------------------------------------------------------------------------

    def _lead_tool(self, move: ToolJog) -> _Next:
        size = size_of(move)
        run = self._run
        if run is None or size == 0.0 or not along(run.move or move, move):
            self._run = None
            if size == 0.0 or not self._history.still:
                return self._stopping()
            way = self._way(move, step=False)
            trail = Trail(way, self._judge.speed, self._fits)
            run = self._run = Run(self._robot, trail, Place(0.0, self._history.newest), self._limits(move), move=move)
        run.pace = min(size, self._judge.tool_speed_m_s) if any(move.linear) else size
        return self._follow_way()

    def _way(self, move: Move, *, step: bool) -> Way:
        if isinstance(move, AxisJog):
            return AxisWay(self._history.newest, np.array(move.amounts))
        return ToolWay(self._robot, self._history.newest, move, step=step)

    def _limits(self, move: Move) -> RunLimits:
        """What speeding up along the way may take, such that no joint's limit is broken."""
        judge = self._judge
        if isinstance(move, AxisJog):
            amounts = np.abs(move.amounts)
            slopes = amounts / float(np.linalg.norm(amounts / judge.speed))
            share, axes = STRAIGHT_SHARE, np.flatnonzero(slopes)
        else:
            slopes, share, axes = judge.speed, WAY_SHARE, np.arange(self._robot.dof)
        return RunLimits(
            period_s=self._rig.period_s,
            acceleration=share * float((judge.acceleration[axes] / slopes[axes]).min()),
            jerk=share * float((judge.jerk[axes] / slopes[axes]).min()),
            axis_acceleration=judge.acceleration,
            axis_jerk=judge.jerk,
            tool_speed_m_s=TOOL_WAY_SHARE * judge.tool_speed_m_s,
        )

    def _follow_way(self) -> _Next:
        run = self._run
        assert run is not None
        refusal = None
        for brake in (False, True):
            found = run.propose(self._history, brake=brake)
            if found is None:
                continue
            stop, refusal = self._judge.judge(self._reached, self._history, found.place.positions)
            if refusal is None:
                self._say_about(run)
                return _Next(found.place.positions, stop, found)
        found_refusal = refusal or run.trail.refusal or no.other_posture()
        if run.move is not None:
            found_refusal = self._reasons.of_the_tool(found_refusal, run.place, run.move, self._stand)
        self._say_once(
            found_refusal.subject,
            lambda: f"the jog was broken off: {self._reasons.explained(found_refusal, self._stand).text}",
        )
        self._run, self._given_up = None, self._wanted
        return self._stopping()

    def _say_about(self, run: Run) -> None:
        move = run.move
        if move is None:
            return
        if run.blocked:
            self._say_once("blocked", lambda: self._reasons.blocked(run.trail, run.place, move, self._stand).text)
        elif run.slowed:
            self._say_once(
                "singular",
                lambda: (
                    "[E-08] near a singular posture (arm straight, or tool above the base axis) the joints have to go "
                    "far for little way of the tool: it goes slower. Out of it: "
                    f"{self._reasons.ways_out(move, self._stand)}"
                ),
            )

    def _fits(self, positions: FloatArray) -> Refusal | None:
        """Why an arm that comes from here may not be there."""
        return self._reasons.refusal_of(positions, self._stand)

    @property
    def _stand(self) -> Stand:
        """Where the arm is, and what is asked of it: what reasons are given for."""
        asked = isinstance(self._asked, ToolJog)
        return Stand(self._history.newest, self._reached, step=self._is_step, tool=asked)

    # -- words -----------------------------------------------------------------------------------------------

    def _say_once(self, what: str, text: str | Callable[[], str]) -> None:
        """Say something, unless it was said of `what` in this jog; a function is asked only then."""
        if what not in self._said:
            self._said.add(what)
            self._words.append(text if isinstance(text, str) else text())

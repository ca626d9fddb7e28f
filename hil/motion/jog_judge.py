"""Whether a sample of a jog may be sent: its rates, where it leads, and the stop that would follow it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion import jog_refusals as no
from hil.motion.jog_room import JogRoom, Reached
from hil.motion.profiles import axis_limits
from hil.motion.refusals import LIMIT_SLACK
from hil.motion.stops import stop_samples
from hil.refusal import Refusal
from hil.robot import Robot


class History(NamedTuple):
    """The samples that were sent last, each of shape (n,), rad or m; the newest first."""

    newest: FloatArray
    before: FloatArray
    oldest: FloatArray

    @property
    def still(self) -> bool:
        """Whether they are all the same."""
        return bool((self.newest == self.before).all() and (self.before == self.oldest).all())

    def after(self, sample: FloatArray) -> History:
        """The same once this was sent."""
        return History(sample, self.newest, self.before)


class JogJudge:
    """Judges for one jog.

    Attributes:
        speed, acceleration, jerk: most of each axis, shape (n,), in SI units.
        tool_speed_m_s: most of the tool.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        speed_share: part of the rig's speeds that is allowed; accelerations are the rig's own.
        room: judges distances; nothing is near to anything if not given.
    """

    def __init__(self, rig: Rig, robot: Robot, speed_share: float, room: JogRoom | None) -> None:
        speed, self.acceleration, self.jerk = axis_limits(rig)
        self.speed = speed * speed_share
        self.tool_speed_m_s = rig.tool_speed_m_s * speed_share
        self._rig, self._robot, self._room = rig, robot, room
        self._soft_lower = np.array([axis.lower + axis.soft_margin for axis in rig.axes])
        self._soft_upper = np.array([axis.upper - axis.soft_margin for axis in rig.axes])

    def bounds(self, here: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Soft limits; an axis that is beyond one may go no further, but back."""
        return np.minimum(self._soft_lower, here), np.maximum(self._soft_upper, here)

    def refusal(self, reached: Reached, here: FloatArray, positions: FloatArray) -> Refusal | None:
        """Why an arm that has reached so much may not go on from `here`: a soft limit, or too near to something."""
        lower, upper = self.bounds(here)
        outside = (positions < lower - LIMIT_SLACK) | (positions > upper + LIMIT_SLACK)
        if outside.any():
            index = int(np.argmax(outside))
            return no.beyond_limit(self._rig.axes[index], float(positions[index]))
        found = None if self._room is None else self._room.too_near(reached, positions.tolist())
        return None if found is None else no.too_near(found)

    def judge(self, reached: Reached, history: History, sample: FloatArray) -> tuple[FloatArray, Refusal | None]:
        """The stop after a sample, and why the sample may not be sent: its rates, or where it or its stop leads."""
        h, (p, p1, p2) = self._rig.period_s, history
        if history.still and (sample == p).all():
            return np.empty((0, len(p))), None
        v, a = (sample - p) / h, (sample - 2.0 * p + p1) / h**2
        twist = (sample - 3.0 * (p - p1) - p2) / h**3
        rates = ((v, self.speed, "speed"), (a, self.acceleration, "acceleration"), (twist, self.jerk, "jerk"))
        for found, most, word in rates:
            excess = np.abs(found) / most
            if excess.max() > 1.0:
                axis = self._rig.axes[int(np.argmax(excess))]
                return np.empty((0, len(p))), no.too_fast(axis, word, float(excess.max()))
        # A joint that stops last goes on alone, and alone it may make worse what all of them together lessen.
        together = bool(reached.floors)
        stop = stop_samples(h, self.acceleration, self.jerk, sample, v, a, together=together)
        # Joints that stop one after the other may carry the tool faster than when they moved together.
        joints = np.vstack((p, sample, stop))[:, : self._robot.dof]
        tools = self._robot.forward_kinematics(joints)[:, :3, 3]
        tool_m_s = float(np.linalg.norm(np.diff(tools, axis=0), axis=1).max()) / h
        if tool_m_s > self.tool_speed_m_s:
            return stop, no.tool_too_fast(tool_m_s, self.tool_speed_m_s)
        here = p
        for row in (sample, *stop):
            refusal = self.refusal(reached, here, row)
            if refusal is not None:
                return stop, refusal
            if self._room is not None and reached.floors:
                reached = self._room.within(reached, row.tolist())
            here = row
        return stop, None

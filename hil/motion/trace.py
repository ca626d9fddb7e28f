"""The joints along a way of the tool, judged: reach, limits, posture, pace; each refusal names the place on the way."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hil.kinematics.along import STEP_M, STEP_RAD
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import STILL
from hil.motion.profiles import axis_limits, usage
from hil.motion.refusals import LIMIT_SLACK, Spot, beyond_soft_limits, in_unit, refused, say, unit_of
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.units import MM

SLOW_DOWN = 25.0
"""Times that joints may slow the tool at the worst place of a way; beyond that a singularity is to blame."""

LEAST_TRAVEL_M = 1e-6
"""Travel of the tool from which its pace can be told."""


class Way(Protocol):
    """What a trace has to know of a way, at fractions of it.

    Attributes:
        noun: what it is, in messages.
        length_m: from start to end; 0 for a way that only turns.
        speed_m_s: asked for.
        tolerance_m: how far the tool may be off it.
    """

    @property
    def noun(self) -> str: ...  # noqa: D102

    @property
    def length_m(self) -> float: ...  # noqa: D102

    @property
    def speed_m_s(self) -> float: ...  # noqa: D102

    @property
    def tolerance_m(self) -> float: ...  # noqa: D102

    def point_m(self, fraction: float) -> FloatArray: ...  # noqa: D102


def posture_advice(noun: str) -> str:
    """What to change where the arm would have to change its posture."""
    return (
        f"The arm would have to change its posture on the {noun} (elbow, or base turning round): lead the {noun} "
        "further away from there, or make it a joint move."
    )


def limit_advice(noun: str) -> str:
    """What to change where a joint would leave its limits."""
    return (
        f"Lead the {noun} elsewhere, or begin it in another posture with a move before it. Where the way does not "
        "matter, make it a move."
    )


class Trace:
    """What is wrong with the joints along one way, as refusals."""

    def __init__(self, rig: Rig, robot: Robot, start: FloatArray, way: Way, spot: Spot) -> None:
        self._robot, self._start, self._way, self._spot = robot, start, way, spot
        self._axes = rig.axes[: robot.dof]
        self._tool_speed_m_s = rig.tool_speed_m_s
        self._turns = np.array([axis.kind is AxisKind.REVOLUTE for axis in self._axes])
        # An axis that begins beyond a soft limit may go back, and no further out.
        lower = [min(axis.lower + axis.soft_margin, at) for axis, at in zip(self._axes, start, strict=True)]
        upper = [max(axis.upper - axis.soft_margin, at) for axis, at in zip(self._axes, start, strict=True)]
        self._lower, self._upper = np.array(lower) - LIMIT_SLACK, np.array(upper) + LIMIT_SLACK

    def check_limits(self, fractions: FloatArray, rows: FloatArray) -> None:
        """Refuse a point at which a joint would be outside its soft limits."""
        outside = ((rows < self._lower) | (rows > self._upper)).any(axis=1)
        if outside.any():
            k = int(np.argmax(outside))
            what = f"at {self._words(float(fractions[k]))},"
            found = beyond_soft_limits(
                self._axes, rows[k].tolist(), what, limit_advice(self._way.noun), start=self._start.tolist()
            )
            raise self._refused(found, float(fractions[k]))

    def check_continuity(self, grid: FloatArray, rows: FloatArray, away: FloatArray) -> None:
        """Refuse a change of posture between two points, however few there are, and any point outside limits.

        Args:
            grid: fractions of the points, rising.
            rows: joints there.
            away: how far the tool is off the way half-way between each two, in metres.
        """
        steps = np.abs(np.diff(rows, axis=0))
        allowed = np.where(self._turns, STEP_RAD, STEP_M)
        jumps = steps > allowed
        bad = np.flatnonzero(jumps.any(axis=1) | (away > max(self._way.tolerance_m, 1.0 * MM)))
        sound = int(bad[0]) + 1 if len(bad) else len(rows)
        self.check_limits(grid[:sound], rows[:sound])
        if not len(bad):
            return
        k = int(bad[0])
        column = int(np.argmax(steps[k] / allowed))
        axis = self._axes[column]
        refusal = Refusal(
            check="E-05",
            subject=axis.name,
            limit=f"at most {say(axis, float(allowed[column]))} from one point to the next, "
            f"{say(axis, float(steps[k, column]))} needed; half-way between them the tool would be "
            f"{away[k] / MM:.1f} mm off the {self._way.noun}",
            margin=in_unit(axis, float(allowed[column] - steps[k, column])),
            unit=unit_of(axis),
            nearest_allowed=f"the {self._way.noun} up to {self._words(float(grid[k]))}",
            advice=posture_advice(self._way.noun),
        )
        raise self._refused([refusal], float(grid[k + 1]))

    def unreachable(self, fraction: float, result: IkResult, last: float) -> RefusedError:
        """The refusal of a place out of reach; `last` is the fraction up to which all is."""
        by = result.distance_m
        refusal = Refusal(
            check="E-07",
            subject=result.joint or "tool",
            limit=f"reach: at {self._words(fraction)}: {result.reason}",
            margin=-by / MM if by is not None else -1.0,
            unit="mm" if by is not None else "pose",
            nearest_allowed=f"the {self._way.noun} up to {self._words(last)}",
            advice=f"End the {self._way.noun} there, move it nearer to the arm, or give it another pitch_deg.",
        )
        return self._refused([refusal], fraction)

    def paces(self, fractions: FloatArray, rows: FloatArray) -> FloatArray:
        """Speed of the tool that each joint allows between two rows, shape (N - 1, dof), in m/s."""
        steps = np.maximum(np.abs(np.diff(rows, axis=0)), STILL)
        speeds = np.array([axis.speed for axis in self._axes])
        allowed: FloatArray = np.diff(fractions)[:, None] * self._way.length_m * speeds / steps
        return allowed

    def check_pace(self, fractions: FloatArray, rows: FloatArray) -> None:
        """Refuse where a joint would have to race for little travel of the tool."""
        travel = np.diff(fractions) * self._way.length_m
        moving = np.flatnonzero(travel > LEAST_TRAVEL_M)
        if not len(moving):
            return
        paces = self.paces(fractions, rows)[moving]
        slowest = paces.min(axis=1)
        best = min(self._tool_speed_m_s, float(slowest.max()))
        k = int(np.argmin(slowest))
        if slowest[k] * SLOW_DOWN >= best:
            return
        fraction = float(fractions[moving[k]])
        axis = self._axes[int(np.argmin(paces[k]))]
        least = best / SLOW_DOWN
        refusal = Refusal(
            check="E-08",
            subject=axis.name,
            limit=f"speed {say(axis, axis.speed)}/s, which at {self._words(fraction)}, leaves the tool "
            f"{slowest[k] / MM:.2f} mm/s",
            margin=(float(slowest[k]) - least) / MM,
            unit="mm/s",
            nearest_allowed=f"{least / MM:.2f} mm/s, a {SLOW_DOWN:g}th of what the {self._way.noun} allows elsewhere",
            advice=f"The {self._way.noun} passes too near to a singular posture (arm straight, or tool above the base "
            "axis): lead it further away, or make it a joint move.",
        )
        raise self._refused([refusal], fraction)

    def impossible(self, rig: Rig, fractions: FloatArray, rows: FloatArray, away: FloatArray) -> RefusedError:
        """The refusal of a way that slowing down does not make possible."""
        dof = len(self._axes)
        self.check_pace(fractions, rows[:, :dof])
        used = usage(rig, rows)[:, :dof]
        steps = np.abs(np.diff(rows[:, :dof], axis=0)) / axis_limits(rig)[0][:dof]
        if used.max() <= 1.0:
            k = int(np.argmax(away))
            worst = float(away[k])
            refusal = Refusal(
                check="E-06",
                subject="tool",
                limit=f"within {self._way.tolerance_m / MM:g} mm of the {self._way.noun}; {worst / MM:.3f} mm off it "
                "between samples",
                margin=(self._way.tolerance_m - worst) / MM,
                unit="mm",
                nearest_allowed=f"tolerance_mm = {worst / MM:.3f}",
                advice=f"Allow more tolerance_mm, lead the {self._way.noun} away from singular postures, or make it a "
                "joint move.",
            )
        else:
            column = int(np.argmax(used.max(axis=0)))
            k = int(np.argmax(steps[:, column]))
            axis = self._axes[column]
            refusal = Refusal(
                check="E-05",
                subject=axis.name,
                limit=f"speed {say(axis, axis.speed)}/s; at {self._words(float(fractions[k]))}, it would have to "
                f"change by {say(axis, float(np.ptp(rows[k : k + 2, column])))} at once, however slow the tool",
                margin=1.0 - float(used.max()),
                unit="times the limit",
                nearest_allowed=f"the {self._way.noun} up to {self._words(float(fractions[k]))}",
                advice=posture_advice(self._way.noun),
            )
        return self._refused([refusal], float(fractions[k]))

    def _words(self, fraction: float) -> str:
        x, y, z = self._way.point_m(fraction) / MM
        return f"({x:z.1f}, {y:z.1f}, {z:z.1f}) mm, {100.0 * fraction:.0f} % of the way"

    def _refused(self, refusals: list[Refusal], fraction: float) -> RefusedError:
        """With the sample at which the tool would be there at the speed asked for."""
        way_s = self._way.length_m / self._way.speed_m_s
        return refused(refusals, self._spot, math.ceil(fraction * way_s / self._spot.period_s))

"""The RV-2AJ behind the CR1: its ratings, where it is, and how it is driven one control cycle at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from hil.errors import ConfigError
from hil.link import FloatArray
from hil.model.servo import ServoModel
from hil.program.arm import ProgramArm, beyond
from hil.program.errors import ProgramError
from hil.program.motions import Limits
from hil.program.rv2aj import LOWER_DEG, SLOTS, UPPER_DEG, Rv2aj
from hil.program.values import ZERO_POSITION, Position
from hil.types import Record
from hil.units import DEG
from sim.cr1.state import Servo
from sim.servo_group import ServoGroup

Watcher = Callable[[float, Sequence[float]], None]
"""Is told when a control cycle ended in which the arm moved, and the five joints in degrees."""

SPEED_SLACK = 1.02
"""Times that a cycle may exceed a joint's top speed by rounding."""

JERK_RATIO = 4.0
"""How many times faster the joints reach their full acceleration than their full speed."""

Five = tuple[float, float, float, float, float]


class JointDrive(Record, frozen=True):
    """How one joint follows the place that its servo is driven to.

    Attributes:
        lag_s: time constant.
        speed_rad_s: top speed.
        model: in more detail; None for the lag alone.
    """

    lag_s: Annotated[float, Meta(gt=0.0)]
    speed_rad_s: Annotated[float, Meta(gt=0.0)]
    model: ServoModel | None = None


class ArmModel(Record, frozen=True):
    """What the reference leaves to the single robot, or does not know.

    Attributes:
        lower_deg, upper_deg: limits, the parameter MEJAR.
        speed_deg_s: top speed of each joint; not confirmed by any document at hand.
        tool_mm_s: top speed of the control point; not confirmed either.
        acceleration_s: time from rest to top speed.
        origin_deg: where the arm stands when it is made.
        safe_deg: where MOVSP goes, the parameter JSAFE.
        jog_part: part of the top speed that jogging at full override has.
        jog_mm_s: the same of the control point.
        inch_deg, inch_mm: length of a high and of a low inching step.
        pulses_a_degree: of each motor, for pulse data of MXT; no document at hand names a gear.
        sag_deg: how far each joint stands off the place that its servo drives it to, as under a load.
        drives: how the joints follow, one each; none for joints that are where they are driven to at once.
    """

    lower_deg: Five = LOWER_DEG
    upper_deg: Five = UPPER_DEG
    speed_deg_s: Five = (180.0, 90.0, 135.0, 180.0, 210.0)
    tool_mm_s: float = 2100.0
    acceleration_s: float = 0.2
    origin_deg: Five = (0.0, 0.0, 90.0, 90.0, 0.0)
    safe_deg: Five = (0.0, 0.0, 90.0, 90.0, 0.0)
    jog_part: float = 0.2
    jog_mm_s: float = 250.0
    inch_deg: tuple[float, float] = (0.1, 0.01)
    inch_mm: tuple[float, float] = (0.1, 0.01)
    pulses_a_degree: Five = (1000.0, 1000.0, 1000.0, 1000.0, 1000.0)
    sag_deg: Five = (0.0, 0.0, 0.0, 0.0, 0.0)
    drives: tuple[JointDrive, ...] = ()

    def limits(self, period_s: float) -> Limits:
        """How fast moves are planned."""
        speed = np.array(self.speed_deg_s) * DEG
        acceleration = speed / self.acceleration_s
        return Limits(period_s, speed, acceleration, acceleration * JERK_RATIO / self.acceleration_s, self.tool_mm_s)


class Cr1Arm:
    """Where the arm is, and the frames that its poses are shown in.

    Attributes:
        model: its ratings.
        limits: how fast moves are planned; its period is the control cycle.
        servo: the drives, without which nothing moves.
        kinematics: with the present TOOL and BASE.
        row: five joints in radians, as the servos drive them; what is shown stands off that by the arm's sag.
        locked: the machine lock: what is shown moves, the arm does not.
        limit_bits: axes that ran against their plus and their minus limit, until the arm moves on.
        watchers: told of each cycle in which it moved.
    """

    def __init__(self, model: ArmModel, joints_deg: Sequence[float], limits: Limits, servo: Servo) -> None:
        self.model, self.limits, self.servo = model, limits, servo
        self.kinematics: ProgramArm = Rv2aj(model.lower_deg, model.upper_deg)
        self.tool = self.base = ZERO_POSITION
        self._sag = np.array(model.sag_deg, dtype=np.float64) * DEG
        self.row: FloatArray = np.array(joints_deg, dtype=np.float64) * DEG - self._sag
        self.locked = False
        self.limit_bits = (0, 0)
        self.watchers: list[Watcher] = []
        self._true_row = self._before = self.row
        self._drives: ServoGroup | None = None
        if model.drives:
            if len(model.drives) != len(self.row):
                raise ConfigError("fake cr1", "arm.drives", len(model.drives), f"none, or {len(self.row)}: one a joint")
            lags_s, speeds = [each.lag_s for each in model.drives], [each.speed_rad_s for each in model.drives]
            models = [each.model for each in model.drives]
            self._drives = ServoGroup(tuple(self.row.tolist()), lags_s, speeds, models)
            for axis in range(len(model.drives)):
                self._drives.power(axis, True)
        self._speed_rad_s = np.array(model.speed_deg_s) * DEG * SPEED_SLACK

    @property
    def joints(self) -> tuple[float, ...]:
        """Where the five joints are driven to, and would stand, degrees."""
        return self.shown_joints(self.row)

    def joints_at(self, now_s: float) -> tuple[float, ...]:
        """Where the five joints stand, degrees."""
        return self.shown_joints(self.row_at(now_s))

    def row_at(self, now_s: float) -> FloatArray:
        """Where the joints have followed to, in radians; but for the arm's sag."""
        if self._drives is None or self.locked:
            return self.row
        self._drives.advance(now_s)
        return np.array(self._drives.positions)

    def shown_joints(self, row: FloatArray) -> tuple[float, ...]:
        """Where the joints stand, degrees, when the servos drive them to `row`."""
        return tuple(((row + self._sag) / DEG).tolist())

    def shown_place(self, row: FloatArray) -> Position:
        """Pose and flags of the control point, likewise."""
        return self.kinematics.position((row + self._sag).tolist())

    @property
    def speed_mm_s(self) -> float:
        """Of the control point, in the cycle that was last."""
        points = self.kinematics.members(np.array([self._before, self.row]))[:, :3]
        return float(np.linalg.norm(points[1] - points[0])) / self.limits.period_s

    def set_frames(self, tool: Position, base: Position) -> None:
        """TOOL and BASE."""
        self.tool, self.base = tool, base
        self.kinematics = self.kinematics.with_frames(tool=tool, base=base)

    def drive(self, row: FloatArray) -> None:
        """Be there at the end of this control cycle; five joints in radians.

        Raises:
            ProgramError: servo off, a limit, or too far for one cycle.
        """
        if np.array_equal(row, self.row):
            return
        if not self.servo.holds:
            raise ProgramError(2000)
        joint = beyond(self.kinematics, row)
        if joint is not None:
            slot, over = SLOTS[joint], bool(row[joint] > self.row[joint])
            self.limit_bits = (over << slot, (not over) << slot)
            raise ProgramError((2160 if over else 2170) + slot + 1, f"J{slot + 1} at {row[joint] / DEG:.2f} deg")
        rates = np.abs(row - self.row) / self.limits.period_s
        if (rates > self._speed_rad_s).any():
            joint = int(np.argmax(rates / self._speed_rad_s))
            raise ProgramError(2130 + SLOTS[joint] + 1, f"J{SLOTS[joint] + 1} at {rates[joint] / DEG:.0f} deg/s")
        self.row, self.limit_bits = row, (0, 0)

    def note(self, before: FloatArray, time_s: float) -> None:
        """A cycle has ended that began at `before`."""
        self._before = before
        if self.row is not before and not self.locked:
            self._true_row = self.row
            if self._drives is not None:
                self._drives.advance(time_s - self.limits.period_s)
                self._drives.ramp(tuple(self.row.tolist()), time_s)
            for watcher in self.watchers:
                watcher(time_s, self.joints_at(time_s))

    def rest(self) -> None:
        """It stands."""
        self._before = self.row

    def stand(self, joints_deg: Sequence[float]) -> None:
        """Somebody has brought it here by hand, its brakes released."""
        self.row = self._before = self._true_row = np.array(joints_deg, dtype=np.float64) * DEG - self._sag
        if self._drives is not None:
            self._drives.place(tuple(self.row.tolist()))

    def unlock(self) -> None:
        """Show again where the arm really is."""
        self.locked = False
        self.row = self._before = self._true_row

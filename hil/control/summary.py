"""What a run was like, per joint and of the tool, in the units that people read."""

from __future__ import annotations

import numpy as np

from hil.control.experiment import Experiment
from hil.control.joint_values import joint_units, joint_words
from hil.control.loaded_arm import estimated
from hil.control.loop import ASSUMED_MOTOR_KG_M2, assumed_motors
from hil.control.results import REASONS, Trace
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.types import Record
from hil.units import MM

ESTIMATED = "the masses of this arm are estimated: torques and errors are no better than that"

NO_ERROR = 1e-6
"""Degrees or millimetres below which nobody reads an error."""


class JointSummary(Record, frozen=True):
    """One joint; degrees or millimetres, N m or N.

    Attributes:
        unit: ``deg`` or ``mm``.
        wanted, actual: at the end.
        largest_error: by size, with its sign, and when.
        rms_error: over all ticks.
        largest_speed, largest_torque: by size.
        at_limit: part of the ticks at the torque limit.
    """

    name: str
    unit: str
    wanted: float
    actual: float
    largest_error: float
    largest_error_s: float
    rms_error: float
    largest_speed: float
    largest_torque: float
    at_limit: float

    def error_text(self, error: float) -> str:
        """One of its errors for people; what rounding alone makes of a joint that stands still is none."""
        return f"{error if abs(error) >= NO_ERROR else 0.0:z.3g} {self.unit}"


class RunSummary(Record, frozen=True):
    """A whole run.

    Attributes:
        cost: sum over ticks and joints of the error's size, rad (m); None where the run was unstable.
        cost_s: the same times the tick's length.
        tool_largest_mm, tool_end_mm: distance of the tool from where it should be.
        unstable: words where a bound was passed, else empty.
        estimated: words where masses are an estimate, else empty.
    """

    robot: str
    ticks: int
    rate_hz: float
    cost: float | None
    cost_s: float | None
    tool_largest_mm: float
    tool_end_mm: float
    joints: tuple[JointSummary, ...]
    unstable: str = ""
    estimated: str = ""


def tool_places(robot: Robot, q: FloatArray) -> FloatArray:
    """Where the tool point is, metres, shape (K, 3)."""
    places: FloatArray = robot.forward_kinematics(np.nan_to_num(q, posinf=0.0, neginf=0.0))[:, :3, 3]
    return places


def summary_of(robot: Robot, experiment: Experiment, trace: Trace) -> RunSummary:
    """The run in short."""
    units, words = np.array(joint_units(robot.model)), joint_words(robot.model)
    error = trace.error
    scores = trace.scores
    reason = int(scores.reason[0])
    distance = np.linalg.norm(tool_places(robot, trace.wanted) - tool_places(robot, trace.actual), axis=1) / MM
    limit = experiment.torque_limit
    limits = np.array(list(limit) * (robot.dof if len(limit) == 1 else 1)) if limit else np.full(robot.dof, np.inf)
    joints = []
    for k, joint in enumerate(robot.model.joints):
        worst = int(np.argmax(np.abs(error[:, k])))
        joints.append(
            JointSummary(
                name=joint.name,
                unit=words[k],
                wanted=float(trace.wanted[-1, k] / units[k]),
                actual=float(trace.actual[-1, k] / units[k]),
                largest_error=float(error[worst, k] / units[k]),
                largest_error_s=float(trace.time_s[worst]),
                rms_error=float(np.sqrt(np.mean(error[:, k] ** 2)) / units[k]),
                largest_speed=float(np.abs(trace.speed[:, k]).max() / units[k]),
                largest_torque=float(np.abs(trace.torque[:, k]).max()),
                at_limit=float(np.mean(np.abs(trace.torque[:, k]) >= limits[k])),
            )
        )
    return RunSummary(
        robot=robot.model.id,
        ticks=len(trace.time_s),
        rate_hz=experiment.rate_hz,
        cost=None if reason else float(scores.cost[0]),
        cost_s=None if reason else float(scores.cost_s[0]),
        tool_largest_mm=float(distance.max()),
        tool_end_mm=float(distance[-1]),
        joints=tuple(joints),
        unstable=unstable_words(experiment, trace) if reason else "",
        estimated=estimate_words(robot.model),
    )


def estimate_words(model: RobotModel) -> str:
    """What of the arm's masses is no fact; empty if nothing."""
    words = [ESTIMATED] if estimated(model) else []
    words += [
        f"{name}: nothing that it moves has an inertia in the arm's file, so a motor of {ASSUMED_MOTOR_KG_M2:g} kg m2 "
        "is assumed"
        for name in assumed_motors(model)
    ]
    return "; ".join(words)


def unstable_words(experiment: Experiment, trace: Trace) -> str:
    """Which bound was passed, and when."""
    name = REASONS[int(trace.scores.reason[0])]
    value = getattr(experiment.bounds, name)
    unit = {"error": "deg (mm)", "speed": "deg/s (mm/s)", "torque": "N m (N)"}[name]
    return f"unstable: {name} beyond {value:g} {unit} at {trace.scores.failed_s[0]:.4g} s; the run ends there"

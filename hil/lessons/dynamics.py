"""Torques and motions as lessons: what a motion asks of the motors and why, a controlled run, a free fall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.control.energy import EnergyBook, energy_book
from hil.control.experiment import Experiment, free_fall
from hil.control.joint_values import joint_units, joint_words
from hil.control.loop import ClosedLoop
from hil.control.results import Trace
from hil.control.summary import RunSummary, summary_of, tool_places
from hil.kernels.scalar import FloatArray
from hil.robot import Robot
from hil.types import Record
from hil.units import MM

PARTS = ("inertia", "speeds", "gravity", "friction")
"""What a torque is made of: M(q) qdd, V(q, qd), G(q) and F(qd)."""


class NeededTorques(NamedTuple):
    """Inverse dynamics along a reference, tick by tick: shapes (K,) and (K, n); radians, metres, N m, N.

    Attributes:
        parts: one for each of `PARTS`, which add up to `total`.
    """

    time_s: FloatArray
    q: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    parts: tuple[FloatArray, ...]
    total: FloatArray


class NeededOfJoint(Record, frozen=True):
    """One joint; N m or N.

    Attributes:
        unit: ``N m`` or ``N``.
        largest: by size, with its sign, and when.
        rms: over all ticks.
        largest_inertia, largest_speeds, largest_gravity, largest_friction: of the parts, by size.
        at_rest: what holds the joint at the end, at rest.
    """

    name: str
    unit: str
    largest: float
    largest_s: float
    rms: float
    largest_inertia: float
    largest_speeds: float
    largest_gravity: float
    largest_friction: float
    at_rest: float


class Run(NamedTuple):
    """A simulated run.

    Attributes:
        tool_mm: places of the tool, wanted and actual, shape (K, 3) each.
        book: of the energy.
    """

    experiment: Experiment
    trace: Trace
    summary: RunSummary
    tool_mm: tuple[FloatArray, FloatArray]
    book: EnergyBook


def needed_torques(arm: Robot, experiment: Experiment) -> NeededTorques:
    """The torques that the reference of an experiment asks for, and what they are made of.

    Args:
        arm: the robot, with the masses that the experiment asks for.
        experiment: its reference, payload, gravity and friction count; its controller does not.

    Raises:
        CommandError: no source gives masses, or the experiment has no meaning.
    """
    loop = ClosedLoop(arm.model, experiment)
    n = arm.dof
    q, speed, acceleration = (loop.wanted[:, k * n : (k + 1) * n] for k in range(3))
    dynamics = loop.dynamics
    gravity = dynamics.gravity_torque(q)
    coriolis = dynamics.coriolis_torque(q, speed)
    friction = dynamics.friction_torque(speed) if experiment.friction else np.zeros_like(q)
    inertia = dynamics.inverse_dynamics(q, speed, acceleration) - coriolis - gravity
    total = inertia + coriolis + gravity + friction
    return NeededTorques(loop.time_s, q, speed, acceleration, (inertia, coriolis, gravity, friction), total)


def needed_of_joints(arm: Robot, needed: NeededTorques) -> tuple[NeededOfJoint, ...]:
    """In short, joint by joint."""
    found = []
    for k, (joint, word) in enumerate(zip(arm.model.joints, joint_words(arm.model), strict=True)):
        worst = int(np.argmax(np.abs(needed.total[:, k])))
        inertia, speeds, gravity, friction = (float(np.abs(part[:, k]).max()) for part in needed.parts)
        found.append(
            NeededOfJoint(
                name=joint.name,
                unit="N m" if word == "deg" else "N",
                largest=float(needed.total[worst, k]),
                largest_s=float(needed.time_s[worst]),
                rms=float(np.sqrt(np.mean(needed.total[:, k] ** 2))),
                largest_inertia=inertia,
                largest_speeds=speeds,
                largest_gravity=gravity,
                largest_friction=friction,
                at_rest=float(needed.parts[2][-1, k]),
            )
        )
    return tuple(found)


def needed_columns(arm: Robot, needed: NeededTorques) -> tuple[list[str], FloatArray]:
    """Names with units, and the values, shape (K, columns)."""
    names, columns = ["time_s"], [needed.time_s]
    units, words = joint_units(arm.model), joint_words(arm.model)
    for k, joint in enumerate(arm.model.joints):
        force = "Nm" if words[k] == "deg" else "N"
        for what, values, unit in (("", needed.q, ""), ("_speed", needed.speed, "_s")):
            names.append(f"{joint.name}{what}_{words[k]}{unit}")
            columns.append(values[:, k] / units[k])
        for what, values in (*zip(PARTS, needed.parts, strict=True), ("total", needed.total)):
            names.append(f"{joint.name}_{what}_{force}")
            columns.append(values[:, k])
    return names, np.stack(columns, axis=1)


def run_of(arm: Robot, experiment: Experiment, *, fall: bool = False) -> Run:
    """One run; with `fall` the arm is let go at the start of its reference.

    Raises:
        CommandError: the experiment has no meaning.
    """
    experiment = free_fall(experiment) if fall else experiment
    loop = ClosedLoop(arm.model, experiment)
    trace = loop.trace()
    places = tool_places(arm, trace.wanted) / MM, tool_places(arm, trace.actual) / MM
    return Run(experiment, trace, summary_of(arm, experiment, trace), places, energy_book(loop, trace))


def run_columns(robot: Robot, trace: Trace) -> tuple[list[str], FloatArray]:
    """Names with units, and the values, shape (K, columns)."""
    units, words = np.array(joint_units(robot.model)), joint_words(robot.model)
    names, columns = ["time_s"], [trace.time_s]
    for k, joint in enumerate(robot.model.joints):
        unit = words[k]
        force = "Nm" if unit == "deg" else "N"
        for what, values, suffix in (
            ("wanted", trace.wanted[:, k] / units[k], unit),
            ("actual", trace.actual[:, k] / units[k], unit),
            ("error", trace.error[:, k] / units[k], unit),
            ("measured", trace.measured[:, k] / units[k], unit),
            ("wanted_speed", trace.wanted_speed[:, k] / units[k], f"{unit}_s"),
            ("speed", trace.speed[:, k] / units[k], f"{unit}_s"),
            ("torque", trace.torque[:, k], force),
            ("friction_and_stop", trace.reaction[:, k], force),
        ):
            names.append(f"{joint.name}_{what}_{suffix}")
            columns.append(values)
    wanted, actual = tool_places(robot, trace.wanted) / MM, tool_places(robot, trace.actual) / MM
    for what, places in (("wanted", wanted), ("actual", actual)):
        names += [f"tool_{what}_{axis}_mm" for axis in "xyz"]
        columns += list(places.T)
    names.append("tool_error_mm")
    columns.append(np.linalg.norm(wanted - actual, axis=1))
    return names, np.stack(columns, axis=1)

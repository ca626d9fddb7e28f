"""References: wanted position, speed and acceleration of every joint at any time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.control.experiment import Kind, Reference
from hil.control.joint_values import for_each_joint, joint_units
from hil.errors import CommandError
from hil.kernels import trajectories
from hil.kernels.scalar import ARRAYS, FloatArray
from hil.model.robot import RobotModel

Sampled = Callable[[FloatArray], FloatArray]
"""Times, shape (N,), to positions, speeds and accelerations, shape (N, 3 n)."""


def start_of(reference: Reference, model: RobotModel) -> FloatArray:
    """Where a reference begins, radians and metres."""
    if not reference.start:
        return np.array(model.home if model.home is not None else [0.0] * model.dof)
    return np.array(for_each_joint(model, "start", reference.start)) * joint_units(model)


def sampled(reference: Reference, model: RobotModel) -> Sampled:
    """The reference as a function of time: it stands before its start and after its end.

    Raises:
        CommandError: a cruise speed at which the motion would have to turn back.
    """
    units = np.array(joint_units(model))
    q0 = start_of(reference, model)
    q1 = q0 if reference.kind is Kind.HOLD else np.array(for_each_joint(model, "end", reference.end)) * units
    qd0 = np.array(for_each_joint(model, "start_speed", reference.start_speed)) * units
    qd1 = np.array(for_each_joint(model, "end_speed", reference.end_speed)) * units
    duration = reference.duration_s
    blend = 0.25 * duration if reference.blend_s is None else reference.blend_s
    cruise = _cruise(reference, model, q0, q1, blend)

    recorded = np.array(reference.samples, dtype=np.float64).reshape(-1, model.dof) * units

    def at(times: FloatArray) -> FloatArray:
        t = np.clip(times, 0.0, duration)[:, None]
        if reference.kind is Kind.HOLD:
            q, qd, qdd = q0 + 0.0 * t, 0.0 * q0 * t, 0.0 * q0 * t
        elif reference.kind is Kind.RECORDED:
            q, qd, qdd = _recorded(recorded, duration, t)
        elif reference.kind is Kind.CUBIC:
            q, qd, qdd = trajectories.cubic(q0, q1, qd0, qd1, duration, t, ARRAYS)
        elif reference.kind is Kind.QUINTIC:
            q, qd, qdd = _quintic(q0, q1, qd0, qd1, duration, t)
        elif reference.kind is Kind.JERK_LIMITED:
            q, qd, qdd = _jerk_limited(q0, q1, blend, duration, t)
        else:
            q, qd, qdd = trajectories.blended(q0, q1, cruise, blend, duration, t, ARRAYS)
        # Beyond the end the joints are to stand, also where the motion ends with speed.
        moving = ((times >= 0.0) & (times <= duration))[:, None]
        return np.hstack([np.broadcast_to(q, (len(times), len(q0))), qd * moving, qdd * moving])

    return at


def _cruise(reference: Reference, model: RobotModel, q0: FloatArray, q1: FloatArray, blend: float) -> FloatArray:
    duration = reference.duration_s
    if reference.kind is Kind.TRAPEZOID:
        return np.asarray(trajectories.parabolic_cruise(q0, q1, blend, duration, ARRAYS))
    if not reference.cruise:
        return np.asarray(trajectories.smooth_cruise(q0, q1, blend, duration, ARRAYS))
    given = np.array(for_each_joint(model, "cruise", reference.cruise)) * joint_units(model)
    if reference.kind is Kind.BLENDED:
        keeps = trajectories.keeps_direction(q0, q1, given, blend, duration)
        for joint, unit, value, kept in zip(model.joints, joint_units(model), given, keeps, strict=True):
            if kept < -1e-12:
                best = trajectories.smooth_cruise(
                    q0[model.joints.index(joint)], q1[model.joints.index(joint)], blend, duration, ARRAYS
                )
                raise CommandError(
                    f"{model.id}: a cruise of {value / unit:g} makes {joint.name} turn back in its blends; "
                    f"allowed: less, for example {best / unit:g}, at which the acceleration has no jump",
                    axis=joint.name,
                    value=float(value / unit),
                    allowed="a slower cruise, or longer blends",
                )
    return given


def _quintic(
    q0: FloatArray, q1: FloatArray, qd0: FloatArray, qd1: FloatArray, duration: float, t: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """No acceleration at both ends."""
    u, way = t / duration, q1 - q0
    v0, v1 = qd0 * duration, qd1 * duration
    a3, a4, a5 = 10 * way - 6 * v0 - 4 * v1, -15 * way + 8 * v0 + 7 * v1, 6 * way - 3 * v0 - 3 * v1
    q = q0 + u * (v0 + u**2 * (a3 + u * (a4 + u * a5)))
    qd = (v0 + u**2 * (3 * a3 + u * (4 * a4 + 5 * u * a5))) / duration
    qdd = u * (6 * a3 + u * (12 * a4 + 20 * u * a5)) / duration**2
    return q, qd, qdd


def _recorded(samples: FloatArray, duration: float, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cubics through the samples with the speeds of their neighbours, at rest at both ends."""
    count = len(samples) - 1
    period = duration / count
    slopes = np.zeros_like(samples)
    slopes[1:-1] = (samples[2:] - samples[:-2]) / (2.0 * period)
    before = np.minimum((t[:, 0] / period).astype(np.int64), count - 1)
    q0, q1, v0, v1 = samples[before], samples[before + 1], slopes[before], slopes[before + 1]
    return trajectories.cubic(q0, q1, v0, v1, period, t - before[:, None] * period, ARRAYS)


def _jerk_limited(
    q0: FloatArray, q1: FloatArray, blend: float, duration: float, t: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Constant jerk, its opposite, cruise, and the same mirrored: each blend has two bends."""
    speed = (q1 - q0) / (duration - blend)
    bend = 0.5 * blend
    jerk = speed / bend**2
    left = np.minimum(t, duration - t)
    early, late = np.minimum(left, bend), np.clip(left - bend, 0.0, bend)
    cruise = np.maximum(left - blend, 0.0)
    way = jerk * (early**3 / 6 + late * (0.5 * bend**2) + late**2 * bend / 2 - late**3 / 6) + speed * cruise
    rising = jerk * (0.5 * early**2 + late * bend - 0.5 * late**2)
    bent = jerk * np.where(left < bend, early, np.where(left < blend, bend - late, 0.0))
    first = t <= 0.5 * duration
    return np.where(first, q0 + way, q1 - way), rising, np.where(first, bent, -bent)

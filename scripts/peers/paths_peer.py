"""toppra and Robotics Toolbox's mstraj: time on the same joint paths, under the same limits."""

from __future__ import annotations

import importlib.metadata
from functools import partial

import numpy as np
import roboticstoolbox as rtb
import toppra
from _measure import job, once, tell
from toppra import algorithm, constraint

toppra.setup_logging("ERROR")
VIA = 10
"""mstraj goes straight from point to point: it is given every so many of the path's."""
ACCELERATING_S = np.arange(0.05, 2.01, 0.05)

data = job()
period_s = float(data["period_s"])


def toppra_samples(joints: np.ndarray, length: float, speed: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Joint samples at the period."""
    along = np.linspace(0.0, length, len(joints))
    limits = [
        constraint.JointVelocityConstraint(np.stack([-speed, speed], axis=1)),
        constraint.JointAccelerationConstraint(np.stack([-acceleration, acceleration], axis=1)),
    ]
    path = toppra.SplineInterpolator(along, joints)
    course = algorithm.TOPPRA(limits, path, gridpoints=along, parametrizer="ParametrizeConstAccel")
    timed = course.compute_trajectory(0.0, 0.0)
    return timed(np.append(np.arange(0.0, timed.duration, period_s), timed.duration))


def used(samples: np.ndarray, acceleration: np.ndarray) -> float:
    """The largest part of an acceleration limit."""
    still = np.concatenate([samples[:1], samples[:1], samples, samples[-1:], samples[-1:]])
    return float((np.abs(np.diff(still, n=2, axis=0)) / period_s**2 / acceleration).max())


seconds, worst = {}, {}
for name in data["names"].tolist():
    joints, length = data[f"{name}_joints"], float(data[f"{name}_length"])
    speed, acceleration = data[f"{name}_speed"], data[f"{name}_acceleration"]
    samples = toppra_samples(joints, length, speed, acceleration)
    seconds[f"{name} toppra"] = once(partial(toppra_samples, joints, length, speed, acceleration), 7)
    worst[f"{name} toppra samples"] = len(samples)
    worst[f"{name} toppra acceleration"] = used(samples, acceleration)
    via = joints[::VIA]
    for tacc in ACCELERATING_S:
        found = rtb.mstraj(via, dt=period_s, tacc=float(tacc), qdmax=speed)
        if used(found.q, acceleration) <= 1.0:
            break
    seconds[f"{name} mstraj"] = once(partial(rtb.mstraj, via, dt=period_s, tacc=float(tacc), qdmax=speed), 5)
    worst[f"{name} mstraj samples"] = len(found.q)
    worst[f"{name} mstraj acceleration"] = used(found.q, acceleration)
versions = [f"{package} {importlib.metadata.version(package)}" for package in ("toppra", "roboticstoolbox-python")]
tell(seconds=seconds, worst=worst, version=", ".join(versions))

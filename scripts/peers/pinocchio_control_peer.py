"""Pinocchio on the PUMA 560: accelerations, and a run under PD with gravity carried, in a loop as people write it."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from _measure import job, once, tell

data = job()
step = float(data["step_s"])
n = len(data["puma_dh"])


def model_of() -> pin.Model:
    """Joint i turns about z of frame i - 1, link i hangs at DH frame i."""
    model, joint, after = pin.Model(), 0, pin.SE3.Identity()
    for i, (theta, d, a, alpha) in enumerate(data["puma_dh"]):
        joint = model.addJoint(joint, pin.JointModelRZ(), after, f"J{i + 1}")
        after = pin.SE3(pin.utils.rotate("z", theta), np.array([0.0, 0.0, d])) * pin.SE3(
            pin.utils.rotate("x", alpha), np.array([a, 0.0, 0.0])
        )
        link = pin.Inertia(float(data["puma_mass"][i]), data["puma_com"][i], data["puma_inertia"][i])
        model.appendBodyToJoint(joint, link, after)
    model.armature = data["puma_rotor"]
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return model


model = model_of()
state = model.createData()
kp, kd, wanted = data["kp"], data["kd"], data["wanted"]


def run() -> np.ndarray:
    """One run; positions at every tick."""
    q, qd = wanted[0, :n].copy(), wanted[0, n : 2 * n].copy()
    found = np.empty((len(wanted), n))
    found[0] = q
    for tick, row in enumerate(wanted[:-1]):
        tau = kp * (row[:n] - q) + kd * (row[n : 2 * n] - qd) + pin.computeGeneralizedGravity(model, state, q)
        qd = qd + step * pin.aba(model, state, q, qd, tau)
        q = q + step * qd
        found[tick + 1] = q
    return found


accelerations = np.array(
    [
        pin.aba(model, state, q, qd, tau).copy()
        for q, qd, tau in zip(data["states_q"], data["states_qd"], data["states_tau"], strict=True)
    ]
)
tell(
    version=pin.__version__,
    worst={
        "accelerations": float(np.abs(accelerations - data["states_qdd"]).max()),
        "run": float(np.abs(run() - data["run_q"]).max()),
    },
    seconds={"run": once(run, 5)},
)

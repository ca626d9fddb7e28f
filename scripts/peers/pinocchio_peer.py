"""Pinocchio on the PUMA 560: kinematics and dynamics of single calls, and a loop over many."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from _measure import job, once, per_call, tell


def transform(theta: float, d: float, a: float, alpha: float) -> pin.SE3:
    """One standard DH row as a placement."""
    turn = pin.SE3(pin.utils.rotate("z", theta), np.array([0.0, 0.0, d]))
    return turn * pin.SE3(pin.utils.rotate("x", alpha), np.array([a, 0.0, 0.0]))


def model_of(data: dict[str, np.ndarray]) -> pin.Model:
    """The arm of the job: joint i turns about z of frame i - 1, link i hangs at DH frame i."""
    model, joint, after = pin.Model(), 0, pin.SE3.Identity()
    for i, (theta, d, a, alpha) in enumerate(data["puma_dh"]):
        joint = model.addJoint(joint, pin.JointModelRZ(), after, f"J{i + 1}")
        after = transform(theta, d, a, alpha)
        link = pin.Inertia(float(data["puma_mass"][i]), data["puma_com"][i], data["puma_inertia"][i])
        model.appendBodyToJoint(joint, link, after)
    model.addFrame(pin.Frame("tool", joint, 0, after, pin.FrameType.OP_FRAME))
    model.armature = data["puma_rotor"]
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return model


data = job()
model = model_of(data)
state = model.createData()
tool = model.getFrameId("tool")
q, qd, qdd, tau = (data[name] for name in ("puma_q", "puma_qd", "puma_qdd", "puma_tau"))
many = data["puma_many"][:20_000]


def forward() -> None:
    """The tool frame in pinocchio's own object."""
    pin.forwardKinematics(model, state, q)
    pin.updateFramePlacement(model, state, tool)


def forward_array() -> np.ndarray:
    """The same as a 4x4 array."""
    pin.framesForwardKinematics(model, state, q)
    return state.oMf[tool].homogeneous


def frame_jacobian() -> np.ndarray:
    """Geometric Jacobian of the tool point in the world's axes."""
    return pin.computeFrameJacobian(model, state, q, tool, pin.LOCAL_WORLD_ALIGNED)


def forward_loop() -> None:
    """Many configurations, one by one."""
    for row in many:
        pin.forwardKinematics(model, state, row)
        pin.updateFramePlacement(model, state, tool)


def jacobian_loop() -> None:
    """Many configurations, one by one."""
    for row in many:
        pin.computeFrameJacobian(model, state, row, tool, pin.LOCAL_WORLD_ALIGNED)


worst = {
    "forward": float(np.abs(forward_array() - data["puma_pose"]).max()),
    "jacobian": float(np.abs(frame_jacobian() - data["puma_jacobian"]).max()),
    "inverse dynamics": float(np.abs(pin.rnea(model, state, q, qd, qdd) - tau).max()),
    "forward dynamics": float(np.abs(pin.aba(model, state, q, qd, tau) - qdd).max()),
}
scale = len(data["puma_many"]) / len(many)
tell(
    version=pin.__version__,
    worst=worst,
    seconds={
        "fk_out": per_call(forward),
        "fk_new": per_call(forward_array),
        "jacobian_out": per_call(frame_jacobian),
        "fk_many": once(forward_loop) * scale,
        "jacobian_many": once(jacobian_loop) * scale,
        "inverse_dynamics": per_call(lambda: pin.rnea(model, state, q, qd, qdd)),
        "mass_matrix": per_call(lambda: pin.crba(model, state, q)),
        "forward_dynamics": per_call(lambda: pin.aba(model, state, q, qd, tau)),
    },
)

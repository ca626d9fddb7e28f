"""MuJoCo on the PUMA 560: accelerations, and runs under PD with gravity carried, by its own rollout."""

from __future__ import annotations

import mujoco
import numpy as np
from _measure import job, once, tell
from mujoco import rollout

data = job()
step = float(data["step_s"])
ticks = len(data["wanted"]) - 1


def turn(theta: float, alpha: float) -> np.ndarray:
    """Orientation of one standard DH row."""
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0.0, sa, ca]])


def text(rotation: np.ndarray) -> str:
    """A rotation as MJCF has it."""
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, rotation.reshape(-1))
    return " ".join(f"{value:.17g}" for value in quat)


def mjcf(*, controlled: bool) -> str:
    """The arm of the job: link i hangs at DH frame i; a massless first link gets next to nothing."""
    carried = 'gravcomp="1"' if controlled else ""
    opening, closing, place, quat = [], [], "0 0 0", "1 0 0 0"
    for i, (theta, d, a, alpha) in enumerate(data["puma_dh"]):
        rotation = turn(theta, alpha)
        offset = np.array([a * np.cos(theta), a * np.sin(theta), d])
        com = offset + rotation @ data["puma_com"][i]
        mass = max(float(data["puma_mass"][i]), 1e-13)
        opening.append(
            f'<body pos="{place}" quat="{quat}" {carried}><joint name="J{i + 1}" axis="0 0 1" limited="false"/>'
            f'<inertial mass="{mass:.17g}" pos="{" ".join(f"{v:.17g}" for v in com)}" quat="{text(rotation)}" '
            'diaginertia="1e-13 1e-13 1e-13"/>'
        )
        closing.append("</body>")
        place, quat = " ".join(f"{v:.17g}" for v in offset), text(rotation)
    actuators = ""
    if controlled:
        for i in range(len(opening)):
            kp, kd = data["kp"][i], data["kd"][i]
            actuators += f'<general joint="J{i + 1}" gainprm="{kp:.17g}" biastype="affine" biasprm="0 {-kp:.17g} 0"/>'
            actuators += f'<general joint="J{i + 1}" gainprm="{kd:.17g}" biastype="affine" biasprm="0 0 {-kd:.17g}"/>'
    return (
        f'<mujoco><option timestep="{step:.17g}" gravity="0 0 -9.81" integrator="Euler">'
        '<flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{''.join(opening)}{''.join(closing)}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )


def model_of(*, controlled: bool) -> mujoco.MjModel:
    """With the published inertias, of which two are not those of a body: MuJoCo's reader would refuse them."""
    model = mujoco.MjModel.from_xml_string(mjcf(controlled=controlled))
    for i, tensor in enumerate(data["puma_inertia"]):
        model.body_inertia[i + 1] = np.diag(tensor)
    model.dof_armature[:] = data["puma_rotor"]
    return model


def accelerations() -> np.ndarray:
    """Of all the job's states."""
    model = model_of(controlled=False)
    state = mujoco.MjData(model)
    found = []
    for q, qd, tau in zip(data["states_q"], data["states_qd"], data["states_tau"], strict=True):
        state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, state)
        found.append(state.qacc.copy())
    return np.array(found)


controlled = model_of(controlled=True)
n = controlled.nv
ctrl = np.empty((ticks, 2 * n))
ctrl[:, 0::2], ctrl[:, 1::2] = data["wanted"][:-1, :n], data["wanted"][:-1, n : 2 * n]
start = mujoco.MjData(controlled)
start.qpos[:], start.qvel[:] = data["wanted"][0, :n], data["wanted"][0, n : 2 * n]
size = mujoco.mj_stateSize(controlled, mujoco.mjtState.mjSTATE_FULLPHYSICS)
full = np.zeros(size)
mujoco.mj_getState(controlled, start, full, mujoco.mjtState.mjSTATE_FULLPHYSICS)
RUNS = 16
many, controls = np.tile(full, (RUNS, 1)), np.tile(ctrl, (RUNS, 1, 1))
scratch = mujoco.MjData(controlled)


def runs() -> np.ndarray:
    """`RUNS` runs on this thread."""
    states, _ = rollout.rollout(controlled, scratch, many, controls)
    return states


states = runs()[0]
q = states[:, 1 : 1 + n]
tell(
    version=mujoco.__version__,
    worst={
        "accelerations": float(np.abs(accelerations() - data["states_qdd"]).max()),
        "run": float(np.abs(q - data["run_q"][1:]).max()),
    },
    seconds={"run": once(runs, 5) / RUNS},
)

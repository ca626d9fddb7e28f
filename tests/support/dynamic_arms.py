"""Arms with masses for tests, and their dynamics as a textbook would write them, in world coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from hypothesis import strategies as st

from hil.model.robot import Joint, JointType, LinkInertia, RobotModel, Transform

IDENTITY: Transform = ((1.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, 1.0, 0), (0, 0, 0, 1.0))


def rigid(roll: float, pitch: float, yaw: float, x: float, y: float, z: float) -> np.ndarray:
    def turn(axis: int, angle: float) -> np.ndarray:
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        matrix = np.eye(4)
        matrix[i, i] = matrix[j, j] = math.cos(angle)
        matrix[i, j], matrix[j, i] = -math.sin(angle), math.sin(angle)
        return matrix

    move = np.eye(4)
    move[:3, 3] = x, y, z
    return move @ turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)


def arm(
    joints: Sequence[Joint],
    inertia: Sequence[LinkInertia] | None = None,
    base: Transform = IDENTITY,
    tool: Transform = IDENTITY,
) -> RobotModel:
    return RobotModel(
        id="any",
        title="",
        manufacturer="",
        joints=tuple(joints),
        base=base,
        tool=tool,
        home=None,
        source="",
        status="",
        inertia=None if inertia is None else tuple(inertia),
    )


def revolute(d_m: float = 0.0, a_m: float = 0.0, alpha_rad: float = 0.0, sign: int = 1) -> Joint:
    return Joint(name="joint", type=JointType.REVOLUTE, d_m=d_m, theta_rad=0.0, a_m=a_m, alpha_rad=alpha_rad, sign=sign)


def planar_2r(masses: tuple[float, float] = (2.0, 1.5), lengths: tuple[float, float] = (0.6, 0.4)) -> RobotModel:
    """Two slender rods, turning about z; the world's y is up for them."""
    links = [
        LinkInertia(
            mass_kg=mass,
            com_m=(-length / 2, 0.0, 0.0),
            inertia_kg_m2=((0.0, 0, 0), (0, mass * length**2 / 12, 0), (0, 0, mass * length**2 / 12)),
        )
        for mass, length in zip(masses, lengths, strict=True)
    ]
    return arm([revolute(a_m=length) for length in lengths], links)


ANGLES = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi]), st.floats(-math.pi, math.pi, allow_subnormal=False)
)
LENGTHS = st.one_of(st.just(0.0), st.floats(-1.0, 1.0, allow_subnormal=False))
JOINTS = st.builds(
    Joint,
    name=st.just("joint"),
    type=st.sampled_from(JointType),
    d_m=LENGTHS,
    theta_rad=ANGLES,
    a_m=LENGTHS,
    alpha_rad=ANGLES,
    sign=st.sampled_from([1, -1]),
)


@st.composite
def links(draw: st.DrawFn) -> LinkInertia:
    """A body of eight points, so that its inertia is one that a body can have."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points, masses = generator.uniform(-0.5, 0.5, (8, 3)), generator.uniform(0.1, 0.5, 8)
    com = masses @ points / masses.sum()
    tensor = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points - com, strict=True))
    tensor = (tensor + tensor.T) / 2
    geared = draw(st.booleans())
    return LinkInertia(
        mass_kg=float(masses.sum()),
        com_m=tuple(com.tolist()) if draw(st.booleans()) else (0.0, 0.0, 0.0),
        inertia_kg_m2=tuple(map(tuple, tensor.tolist())),
        motor_inertia_kg_m2=1e-4 if geared else None,
        gear_ratio=-50.0 if geared else None,
        viscous_nm_s=1e-3 if geared else None,
        coulomb_nm=(0.2, -0.3) if geared else None,
    )


@st.composite
def chains(draw: st.DrawFn, most: int = 7) -> RobotModel:
    base, tool = (
        draw(st.one_of(st.just(np.eye(4)), st.builds(rigid, ANGLES, ANGLES, ANGLES, LENGTHS, LENGTHS, LENGTHS)))
        for _ in range(2)
    )
    joints = draw(st.lists(JOINTS, min_size=1, max_size=most))
    return arm(joints, None, tuple(map(tuple, base.tolist())), tuple(map(tuple, tool.tolist())))


@st.composite
def arms(draw: st.DrawFn, most: int = 6) -> RobotModel:
    """Any chain, with a body on every joint."""
    model = draw(chains(most))
    return msgspec.structs.replace(model, inertia=tuple(draw(links()) for _ in model.joints))


SEEDS = st.integers(0, 2**32 - 1)


def random_state(model: RobotModel, seed: int, count: int = 3) -> list[list[float]]:
    """`count` vectors of n: coordinates, then rates."""
    values: list[list[float]] = np.random.default_rng(seed).uniform(-2.0, 2.0, (count, model.dof)).tolist()
    return values


def plain_frames(model: RobotModel, q: Sequence[float]) -> list[np.ndarray]:
    frames = [np.array(model.base, dtype=float)]
    for joint, value in zip(model.joints, q, strict=True):
        turning = joint.type is JointType.REVOLUTE
        theta = joint.theta_rad + joint.sign * value * turning
        d = joint.d_m + joint.sign * value * (not turning)
        frames.append(frames[-1] @ rigid(0, 0, theta, 0, 0, d) @ rigid(joint.alpha_rad, 0, 0, joint.a_m, 0, 0))
    return frames


def plain_torques(
    model: RobotModel, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], gravity: Sequence[float]
) -> np.ndarray:
    """Force and moment balance of every link about every joint, in the world; motors included."""
    assert model.inertia is not None
    frames, n = plain_frames(model, q), model.dof
    spin, spin_change, lift = np.zeros(3), np.zeros(3), np.zeros(3)
    torque = np.zeros(n)
    axes: list[np.ndarray] = []
    for i, joint in enumerate(model.joints):
        axis = joint.sign * frames[i][:3, 2]
        axes.append(axis)
        arm_m = frames[i + 1][:3, 3] - frames[i][:3, 3]
        if joint.type is JointType.REVOLUTE:
            spin_change = spin_change + axis * qdd[i] + np.cross(spin, axis * qd[i])
            spin = spin + axis * qd[i]
            extra = np.zeros(3)
        else:
            extra = axis * qdd[i] + 2 * np.cross(spin, axis * qd[i])
        lift = lift + np.cross(spin_change, arm_m) + np.cross(spin, np.cross(spin, arm_m)) + extra
        link, rotation = model.inertia[i], frames[i + 1][:3, :3]
        com = rotation @ np.array(link.com_m)
        tensor = rotation @ np.array(link.inertia_kg_m2) @ rotation.T
        com_lift = lift + np.cross(spin_change, com) + np.cross(spin, np.cross(spin, com))
        force = link.mass_kg * (com_lift - np.array(gravity))
        moment = tensor @ spin_change + np.cross(spin, tensor @ spin)
        for k in range(i + 1):
            if model.joints[k].type is JointType.REVOLUTE:
                lever = frames[i + 1][:3, 3] + com - frames[k][:3, 3]
                torque[k] += axes[k] @ (np.cross(lever, force) + moment)
            else:
                torque[k] += axes[k] @ force
        torque[i] += (link.motor_inertia_kg_m2 or 0.0) * (link.gear_ratio or 1.0) ** 2 * qdd[i]
    return torque

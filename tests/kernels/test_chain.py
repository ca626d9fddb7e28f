"""The chain's equations against plain 4x4 products and finite differences."""

from __future__ import annotations

import math

import chain_arrays as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.chain import chain_of
from hil.model.robot import Joint, JointType, RobotModel
from hil.model.transforms import cos_sin

ANGLES = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, -math.pi]),
    st.floats(-math.pi, math.pi, allow_subnormal=False),
)
LENGTHS = st.one_of(st.just(0.0), st.floats(-1.0, 1.0, allow_subnormal=False))
COORDINATES = st.floats(-3.0, 3.0, allow_subnormal=False)


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


TRANSFORMS = st.one_of(st.just(np.eye(4)), st.builds(rigid, ANGLES, ANGLES, ANGLES, LENGTHS, LENGTHS, LENGTHS))
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
def models(draw: st.DrawFn) -> RobotModel:
    return RobotModel(
        id="any",
        title="",
        manufacturer="",
        joints=tuple(draw(st.lists(JOINTS, min_size=1, max_size=7))),
        base=tuple(map(tuple, draw(TRANSFORMS).tolist())),
        tool=tuple(map(tuple, draw(TRANSFORMS).tolist())),
        home=None,
        source="",
        status="",
    )


def plain_frames(model: RobotModel, q: list[float]) -> list[np.ndarray]:
    """The defining products, written as a textbook would."""
    frames = [np.array(model.base)]
    for joint, value in zip(model.joints, q, strict=True):
        moved = joint.sign * value
        revolute = joint.type is JointType.REVOLUTE
        theta, d = joint.theta_rad + moved * revolute, joint.d_m + moved * (not revolute)
        frames.append(frames[-1] @ rigid(0, 0, theta, 0, 0, d) @ rigid(joint.alpha_rad, 0, 0, joint.a_m, 0, 0))
    return [*frames, frames[-1] @ np.array(model.tool)]


@given(models(), st.data())
@settings(max_examples=150, deadline=None)
def test_forward_kinematics_and_link_frames_are_the_plain_products(model: RobotModel, data: st.DataObject) -> None:
    q = data.draw(st.lists(COORDINATES, min_size=model.dof, max_size=model.dof))
    chain, expected = chain_of(model), plain_frames(model, q)
    assert arrays.forward(chain, q) == pytest.approx(expected[-1], abs=1e-12)
    assert arrays.frames_many(chain, np.array([q]))[0] == pytest.approx(np.array(expected), abs=1e-12)


@given(models(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_jacobian_is_the_derivative_of_forward_kinematics(model: RobotModel, data: st.DataObject) -> None:
    q = np.array(data.draw(st.lists(COORDINATES, min_size=model.dof, max_size=model.dof)))
    chain, step = chain_of(model), 1e-6
    jacobian = arrays.jacobian(chain, q.tolist())
    here = arrays.forward(chain, q.tolist())
    for i in range(model.dof):
        moved = np.zeros(model.dof)
        moved[i] = step
        change = arrays.forward(chain, (q + moved).tolist()) - arrays.forward(chain, (q - moved).tolist())
        change /= 2 * step
        spin = change[:3, :3] @ here[:3, :3].T
        assert jacobian[:3, i] == pytest.approx(change[:3, 3], abs=1e-6)
        assert jacobian[3:, i] == pytest.approx([spin[2, 1], spin[0, 2], spin[1, 0]], abs=1e-6)


@given(models(), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_a_batch_equals_its_single_calls(model: RobotModel, seed: int) -> None:
    chain = chain_of(model)
    q = np.random.default_rng(seed).uniform(-3, 3, (5, model.dof))
    singles = [(arrays.forward(chain, row), arrays.jacobian(chain, row)) for row in q.tolist()]
    assert arrays.forward_many(chain, q) == pytest.approx(np.array([f for f, _ in singles]), abs=1e-14)
    assert arrays.jacobian_many(chain, q) == pytest.approx(np.array([j for _, j in singles]), abs=1e-14)


def test_a_batch_longer_than_a_block_is_complete() -> None:
    joint = Joint(name="a", type=JointType.REVOLUTE, d_m=0, theta_rad=0, a_m=1, alpha_rad=0, sign=1)
    rows = ((1.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, 1.0, 0), (0, 0, 0, 1.0))
    model = RobotModel(
        id="one", title="", manufacturer="", joints=(joint,), base=rows, tool=rows, home=None, source="", status=""
    )
    q = np.linspace(0, 6, 2 * arrays.BLOCK + 3)[:, None]
    poses = arrays.forward_many(chain_of(model), q)
    assert poses[:, 0, 3] == pytest.approx(np.cos(q[:, 0]), abs=1e-15)


@pytest.mark.parametrize("quarters", range(-4, 5))
def test_constants_at_quarter_turns_are_exact(quarters: int) -> None:
    c, s = cos_sin(quarters * math.pi / 2 + 4e-16)
    assert {abs(c), abs(s)} == {0.0, 1.0}
    assert (c, s) == pytest.approx((math.cos(quarters * math.pi / 2), math.sin(quarters * math.pi / 2)), abs=1e-15)

"""What every closed form has to keep, for the tests of the families: arms to draw, poses, and the checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import hil
from hil.kernels.chain import Chain, Frame, chain_of, forward, forward_and_jacobian
from hil.kernels.closed_form import ClosedForm
from hil.kernels.emit_python import python_function
from hil.kernels.inverse import inverse_kinematics, pose_error
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.kinematics.certified import all_solutions
from hil.model.robot import Joint, JointType, RobotModel

Array = npt.NDArray[np.float64]

ANGLES = st.floats(-math.pi, math.pi, allow_subnormal=False)
LENGTHS = st.floats(0.05, 0.5)
SIGNED_LENGTHS = st.builds(lambda length, sign: sign * length, LENGTHS, st.sampled_from([1.0, -1.0]))
OFFSETS = st.one_of(st.just(0.0), st.floats(-0.2, 0.2, allow_subnormal=False))
QUARTERS = st.sampled_from([math.pi / 2, -math.pi / 2])
FLIPS = st.sampled_from([0.0, math.pi, -math.pi])
ZERO = st.just(0.0)
SPECIAL_RAD = (0.0, math.pi / 2, -math.pi / 2, math.pi)
BESIDE_RAD = (0.0, 0.0, 0.0, 1e-14, 1e-12, 1e-10, 1e-9, 1e-7, 1e-5)


def rigid(z: float, x: float, dx: float, dy: float, dz: float) -> tuple[tuple[float, ...], ...]:
    cz, sz, cx, sx = math.cos(z), math.sin(z), math.cos(x), math.sin(x)
    return ((cz, -sz * cx, sz * sx, dx), (sz, cz * cx, -cz * sx, dy), (0.0, sx, cx, dz), (0.0, 0.0, 0.0, 1.0))


TRANSFORMS = st.builds(rigid, ANGLES, ANGLES, OFFSETS, OFFSETS, OFFSETS)


def drawn_chain(draw: st.DrawFn, rows: Sequence[tuple[Any, Any, Any]], slides: Sequence[int] = ()) -> Chain:
    """A chain with the given strategies of (d, a, alpha) per row, any zero angles, senses, base and tool."""
    joints = tuple(
        Joint(
            name=f"joint{i}",
            type=JointType.PRISMATIC if i in slides else JointType.REVOLUTE,
            d_m=draw(d),
            theta_rad=draw(ANGLES),
            a_m=draw(a),
            alpha_rad=draw(alpha),
            sign=draw(st.sampled_from([1, -1])),
        )
        for i, (d, a, alpha) in enumerate(rows)
    )
    base, tool = draw(TRANSFORMS), draw(TRANSFORMS)
    model = RobotModel(
        id="drawn", title="", manufacturer="", joints=joints, base=base, tool=tool, home=None, source="", status=""
    )
    return chain_of(model)


def chain_named(name: str) -> Chain:
    return chain_of(hil.load_robot(name).model)


def random_configurations(chain: Chain, count: int, seed: int = 1) -> Array:
    revolute = np.array([row.revolute for row in chain.rows])
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(chain.rows)))
    return q * np.where(revolute, math.pi, 0.3)


def hard_configurations(chain: Chain, count: int, seed: int = 2) -> Array:
    """DH angles at quarter turns and a little beside them, in all mixtures: everything in line, folded, stretched."""
    generator = np.random.default_rng(seed)
    q = random_configurations(chain, count, seed)
    for i, row in enumerate(chain.rows):
        if row.revolute:
            special = generator.choice(SPECIAL_RAD, count) - row.theta
            beside = generator.choice(BESIDE_RAD, count) * generator.choice([1.0, -1.0], count)
            q[:, i] = np.where(generator.random(count) < 0.5, row.sign * special + beside, q[:, i])
    return q


def apart(chain: Chain, q: Sequence[float], other: Sequence[float]) -> float:
    """Largest difference of a coordinate, whole turns aside."""
    turning = (row.revolute for row in chain.rows)
    return max(
        abs(math.remainder(a - b, 2 * math.pi) if turns else a - b)
        for a, b, turns in zip(q, other, turning, strict=True)
    )


def lost_freedoms(chain: Chain, q: Sequence[float]) -> int:
    """How many joints' worth of motion a configuration lacks."""
    columns = np.array(forward_and_jacobian(chain, q, FLOATS)[1], dtype=float)
    return len(columns) - int(np.linalg.matrix_rank(columns, tol=1e-6))


def assert_pose_comes_back(form: ClosedForm, q: Sequence[float], near: float = 1e-6) -> None:
    """Every answer to the pose of `q` is right and different from the others, and `q` is one of them.

    Where two freedoms are lost at once rounding may choose another member of the continuum; then any right one counts.
    """
    pose = forward(form.chain, q, FLOATS)
    solutions = all_solutions(form, pose, q)
    assert solutions
    if lost_freedoms(form.chain, q) < 2:
        assert min(apart(form.chain, s.q, q) for s in solutions) < near
    for i, solution in enumerate(solutions):
        assert solution.error <= 1e-9
        assert pose_error(forward(form.chain, solution.q, FLOATS), pose, FLOATS) <= 1e-9
        assert all(apart(form.chain, solution.q, other.q) > 1e-7 for other in solutions[i + 1 :])


def frame_of_arrays(chain: Chain, q: Array) -> Frame:
    frame: Any = tuple(np.broadcast_to(v, len(q)) for v in forward(chain, list(q.T), ARRAYS))
    return frame  # type: ignore[no-any-return]


def assert_same_for_every_scalar(form: ClosedForm, wanted: Frame, rest: Sequence[float]) -> None:
    """Arrays, element by element, and the code emitted from the graph say what floats say, as far as digits go."""
    many = form.solve(wanted, rest, ARRAYS)
    emitted = python_function(inverse_kinematics(form))
    for i in range(len(wanted[0])):
        one: Any = tuple(float(v[i]) for v in wanted)
        matrix = [one[3 * column + row] for row in range(3) for column in range(4)] + [0.0, 0.0, 0.0, 1.0]
        code = emitted(matrix, list(rest))
        for b, (branch, array) in enumerate(zip(form.solve(one, rest, FLOATS), many, strict=True)):
            for result in ([np.broadcast_to(v, len(wanted[0]))[i] for v in array.q], code[0][b]):
                assert apart(form.chain, branch.q, [float(v) for v in result]) < 1e-6
            exists = float(np.broadcast_to(array.exists, len(wanted[0]))[i]), float(code[1][b])
            assert all(value == branch.exists or abs(value - branch.exists) < 1e-9 for value in exists)
            free = float(np.broadcast_to(array.free, len(wanted[0]))[i]), float(code[2][b])
            assert all((value >= 0.0) == (branch.free >= 0.0) for value in free)


def assert_finite_everywhere(form: ClosedForm, generator: np.random.Generator, count: int = 50) -> None:
    """Poses near, far and nowhere: every branch is finite, and what is called a solution is one."""
    rest = [0.0] * len(form.chain.rows)
    for scale in (0.0, 1e-200, 1e-9, 0.1, 1.0, 1e6):
        for _ in range(count):
            rotation = np.linalg.qr(generator.normal(size=(3, 3)))[0]
            rotation *= np.linalg.det(rotation)
            if generator.random() < 0.3:
                rotation = np.eye(3)
            frame: Any = (*rotation.T.ravel().tolist(), *(generator.normal(size=3) * scale).tolist())
            for branch in form.solve(frame, rest, FLOATS):
                assert all(math.isfinite(v) for v in (*branch.q, branch.exists, branch.free))
                if branch.exists >= 0.0:
                    assert pose_error(forward(form.chain, branch.q, FLOATS), frame, FLOATS) <= 2e-6

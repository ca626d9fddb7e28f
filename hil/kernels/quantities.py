"""Every quantity that can be derived for an arm, by name: what it needs, and the routine it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hil.errors import CommandError
from hil.kernels import chain as equations
from hil.kernels import dynamics_routines, families, inverse, motion_routines
from hil.kernels.bodies import Mechanism, mechanism_of
from hil.kernels.chain import Chain, Frame, chain_of
from hil.kernels.newton_euler import EARTH_M_S2, Gravity
from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import Functions, Scalar
from hil.model.robot import RobotModel

Values = tuple[tuple[int, ...], Sequence[Scalar], str]


class Quantity(NamedTuple):
    """One entry of the list.

    Attributes:
        title: in words.
        build: derives it; raises CommandError where the model lacks what it needs.
    """

    title: str
    build: Callable[[RobotModel], Routine]


def derive(model: RobotModel, name: str) -> Routine:
    """The routine called `name` for one arm.

    Raises:
        CommandError: no such quantity, or this arm cannot have it (no masses, no closed form).
    """
    if name not in QUANTITIES:
        raise CommandError(f"there is no quantity {name!r}", value=name, allowed=", ".join(QUANTITIES))
    return QUANTITIES[name].build(model)


def coordinates(model: RobotModel) -> Argument:
    """The argument q of `model`."""
    return Argument("q", model.dof, "joint coordinates, rad (m where prismatic)")


def frame_rows(frame: Frame) -> tuple[Scalar, ...]:
    """The sixteen entries of the 4x4 matrix, row by row."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2 = frame
    return (x0, y0, z0, p0, x1, y1, z1, p1, x2, y2, z2, p2, 0.0, 0.0, 0.0, 1.0)


def forward_kinematics(model: RobotModel) -> Routine:
    """Tool frame in the world."""
    chain = chain_of(model)

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        frame = equations.forward(chain, q, functions)
        return {"pose": ((4, 4), frame_rows(frame), "tool frame in the world, m")}

    return draft("forward_kinematics", "Tool frame in the world.", [coordinates(model)], body)


def jacobian(model: RobotModel) -> Routine:
    """Geometric Jacobian, linear rows first."""
    chain = chain_of(model)

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        columns = equations.forward_and_jacobian(chain, q, functions)[1]
        rows = [column[row] for row in range(6) for column in columns]
        meaning = "tool velocity in the world per joint speed: m/s, then rad/s"
        return {"jacobian": ((6, model.dof), rows, meaning)}

    return draft("jacobian", "Geometric Jacobian: linear rows, then angular.", [coordinates(model)], body)


def link_transforms(model: RobotModel) -> Routine:
    """A_1 to A_n, each link's frame in the one before."""
    chain = chain_of(model)

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        frames = [
            equations.append_row(equations.IDENTITY, row, value, functions)
            for row, value in zip(chain.rows, q, strict=True)
        ]
        return {"transforms": _stack(frames, "A_1 to A_n, each link frame in the one before, m")}

    return draft("link_transforms", "Each link's frame in the one before.", [coordinates(model)], body)


def link_frames(model: RobotModel) -> Routine:
    """T_00 to T_0n and the tool, all in the world."""
    chain: Chain = chain_of(model)

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        frames = equations.link_frames(chain, q, functions)
        return {"frames": _stack(frames, "base, link frames 1 to n, tool, in the world, m")}

    return draft("link_frames", "All frames in the world: base, links, tool.", [coordinates(model)], body)


def _stack(frames: Sequence[Frame], meaning: str) -> Values:
    return (len(frames), 4, 4), [value for frame in frames for value in frame_rows(frame)], meaning


def inverse_kinematics(model: RobotModel) -> Routine:
    """All branches of the arm's closed form, each with what forward kinematics says of it.

    Raises:
        CommandError: the arm is of no family that has one.
    """
    form = families.recognise(chain_of(model))
    if form is None:
        raise CommandError(
            f"{model.id} is of no family that has a closed form",
            value=model.id,
            allowed="an arm with a closed form; hil robots NAME tells",
        )
    return inverse.inverse_kinematics(form)


def _of_chain(build: Callable[[Chain], Routine]) -> Callable[[RobotModel], Routine]:
    return lambda model: build(chain_of(model))


def _of_masses(build: Callable[[Mechanism, Gravity], Routine]) -> Callable[[RobotModel], Routine]:
    return lambda model: build(mechanism_of(model), EARTH_M_S2)


QUANTITIES: Mapping[str, Quantity] = {
    "link_transforms": Quantity("each link's transform, A_1 to A_n", link_transforms),
    "link_frames": Quantity("all frames in the world, T_01 to T_0n", link_frames),
    "forward_kinematics": Quantity("tool frame in the world", forward_kinematics),
    "jacobian": Quantity("geometric Jacobian", jacobian),
    "inverse_kinematics": Quantity("all branches of the closed form", inverse_kinematics),
    **{
        name: Quantity(title, _of_chain(motion_routines.ROUTINES[name]))
        for name, title in {
            "jacobian_rate": "change of the Jacobian",
            "inverse_jacobian": "inverse of the Jacobian",
            "velocity": "velocity of the tool",
            "acceleration": "acceleration of the tool",
            "inverse_velocity": "joint speeds for a velocity of the tool",
            "inverse_acceleration": "joint accelerations for one of the tool",
            "cubic_trajectory": "cubic joint motion at a time",
            "blended_trajectory": "constant speed between cubic blends, at a time",
            "pd_step": "one step of PD control",
        }.items()
    },
    **{
        name: Quantity(title, _of_masses(dynamics_routines.ROUTINES[name]))
        for name, title in {
            "inverse_dynamics": "torques for wanted accelerations",
            "inverse_dynamics_with_friction": "the same, friction included",
            "mass_matrix": "mass matrix M",
            "coriolis_torque": "Coriolis and centrifugal torques V",
            "gravity_torque": "gravity torques G",
            "friction_torque": "friction torques F",
            "forward_dynamics": "accelerations under torques",
            "forward_dynamics_with_friction": "the same, friction included",
            "energy": "kinetic and potential energy",
        }.items()
    },
}
"""By name, in the order in which lists show them."""

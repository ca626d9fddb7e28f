"""One step of a PD controller for every joint, with limited torques and a term that carries the weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.constant_fold import plus, size, smaller
from hil.kernels.scalar import Functions, Scalar


class Control(NamedTuple):
    """What the controller asks of the motors.

    Attributes:
        torque: n torques, N m (N where prismatic), within the limits.
        saturated: per joint, not negative where the limit was reached: by how much it was asked to be passed.
            Empty without limits.
    """

    torque: list[Scalar]
    saturated: list[Scalar]


def pd_step(
    proportional: Sequence[Scalar],
    derivative: Sequence[Scalar],
    wanted_q: Sequence[Scalar],
    wanted_qd: Sequence[Scalar],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    functions: Functions,
    *,
    limits: Sequence[Scalar] | None = None,
    feedforward: Sequence[Scalar] | None = None,
) -> Control:
    """Torques Kp (wanted_q - q) + Kd (wanted_qd - qd) + feedforward, kept within plus and minus the limits.

    Args:
        proportional: n gains Kp, N m/rad.
        derivative: n gains Kd, N m s/rad.
        wanted_q: where the joints should be.
        wanted_qd: how fast they should move.
        q: where they are.
        qd: how fast they move.
        functions: of the scalar type.
        limits: n largest torques, not negative; None for unlimited motors.
        feedforward: n torques added before limiting: `newton_euler.gravity_torque` carries the arm's weight,
            `inverse_dynamics` of the wanted motion does more.
    """
    torques = [
        kp * (target - here) + kd * (target_speed - speed)
        for kp, kd, target, target_speed, here, speed in zip(
            proportional, derivative, wanted_q, wanted_qd, q, qd, strict=True
        )
    ]
    if feedforward is not None:
        torques = [plus(torque, extra) for torque, extra in zip(torques, feedforward, strict=True)]
    if limits is None:
        return Control(torques, [])
    pairs = list(zip(torques, limits, strict=True))
    return Control(
        [functions.maximum(smaller(torque, limit, functions), -limit) for torque, limit in pairs],
        [size(torque, functions) - limit for torque, limit in pairs],
    )

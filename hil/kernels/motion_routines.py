"""Rates, joint motions and control of one arm as routines: what needs its chain, but no masses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hil.kernels import pd_step as control
from hil.kernels import rates, trajectories
from hil.kernels.chain import Chain
from hil.kernels.routine import FITS, Argument, Routine, draft
from hil.kernels.scalar import Functions, Scalar

Values = tuple[tuple[int, ...], Sequence[Scalar], str]
Build = Callable[[Chain], Routine]

_TWIST = "of the tool point in the world, linear before angular"
_REGULAR = "not negative where the Jacobian can be inverted; else minus the shortfall of its determinant"
_MEANINGS = {
    "q": "joint coordinates, rad (m where prismatic)",
    "qd": "joint speeds, rad/s (m/s where prismatic)",
    "qdd": "joint accelerations, rad/s2 (m/s2 where prismatic)",
    "q0": "joint coordinates at the start",
    "q1": "joint coordinates at the end",
    "qd0": "joint speeds at the start",
    "qd1": "joint speeds at the end",
    "cruise": "joint speeds between the blends",
    "proportional": "gains Kp, N m/rad (N/m where prismatic)",
    "derivative": "gains Kd, N m s/rad (N s/m where prismatic)",
    "wanted_q": "joint coordinates to be at",
    "wanted_qd": "joint speeds to have",
    "limits": "largest torques, not negative, N m (N where prismatic)",
    "feedforward": "torques added before limiting, such as those of gravity",
}


def velocity(chain: Chain) -> Routine:
    """Result ``velocity``: J qd."""

    def body(q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        return {"velocity": ((6,), rates.velocity(chain, q, qd, functions), f"velocity {_TWIST}: m/s, rad/s")}

    return draft("velocity", "Velocity of the tool.", _joints(chain, "q", "qd"), body)


def acceleration(chain: Chain) -> Routine:
    """Result ``acceleration``: J qdd + Jdot qd."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        values = rates.acceleration(chain, q, qd, qdd, functions)
        return {"acceleration": ((6,), values, f"acceleration {_TWIST}: m/s2, rad/s2")}

    return draft("acceleration", "Acceleration of the tool.", _joints(chain, "q", "qd", "qdd"), body)


def jacobian_rate(chain: Chain) -> Routine:
    """Result ``jacobian_rate``: Jdot."""

    def body(q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        columns = rates.jacobian_rate(chain, q, qd, functions)
        rows = [column[row] for row in range(6) for column in columns]
        return {"jacobian_rate": ((6, len(columns)), rows, "change of the Jacobian per second, linear rows first")}

    return draft("jacobian_rate", "Change of the geometric Jacobian per second.", _joints(chain, "q", "qd"), body)


def inverse_jacobian(chain: Chain) -> Routine:
    """Results ``inverse_jacobian`` and ``regular``, the status."""

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        found = rates.inverse_jacobian(chain, q, functions)
        values = [value for row in found.rows for value in row]
        meaning = "joint speeds per velocity of the tool; with other than six joints the pseudo-inverse"
        return {
            "inverse_jacobian": ((len(found.rows), 6), values, meaning),
            "regular": ((), (found.regular,), _REGULAR),
        }

    return draft("inverse_jacobian", "Inverse of the geometric Jacobian.", _joints(chain, "q"), body)


def inverse_velocity(chain: Chain) -> Routine:
    """Results ``qd`` and ``regular``, the status."""

    def body(q: Sequence[Scalar], twist: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        found = rates.inverse_velocity(chain, q, _six(twist), functions)
        return _rates("qd", found)

    arguments = [*_joints(chain, "q"), Argument("velocity", 6, f"velocity {_TWIST}: m/s, rad/s")]
    return draft("inverse_velocity", "Joint speeds for a velocity of the tool.", arguments, body)


def inverse_acceleration(chain: Chain) -> Routine:
    """Results ``qdd`` and ``regular``, the status."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], wanted: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        found = rates.inverse_acceleration(chain, q, qd, _six(wanted), functions)
        return _rates("qdd", found)

    arguments = [*_joints(chain, "q", "qd"), Argument("acceleration", 6, f"acceleration {_TWIST}: m/s2, rad/s2")]
    return draft("inverse_acceleration", "Joint accelerations for one of the tool.", arguments, body)


def cubic_trajectory(chain: Chain) -> Routine:
    """Results ``q``, ``qd`` and ``qdd`` of all joints at a time."""

    def body(
        q0: Sequence[Scalar],
        q1: Sequence[Scalar],
        qd0: Sequence[Scalar],
        qd1: Sequence[Scalar],
        duration_s: Scalar,
        t_s: Scalar,
        functions: Functions,
    ) -> Mapping[str, Values]:
        ends = zip(q0, q1, qd0, qd1, strict=True)
        return _samples([trajectories.cubic(*each, duration_s, t_s, functions) for each in ends])

    arguments = [*_joints(chain, "q0", "q1", "qd0", "qd1"), *_times("duration_s", "t_s")]
    return draft("cubic_trajectory", "Cubic joint motion at a time.", arguments, body)


def blended_trajectory(chain: Chain) -> Routine:
    """Results ``q``, ``qd`` and ``qdd`` of all joints at a time, and ``fits``, the status: 2 tb <= tf."""

    def body(
        q0: Sequence[Scalar],
        q1: Sequence[Scalar],
        cruise: Sequence[Scalar],
        blend_s: Scalar,
        duration_s: Scalar,
        t_s: Scalar,
        functions: Functions,
    ) -> Mapping[str, Values]:
        ends = zip(q0, q1, cruise, strict=True)
        samples = _samples([trajectories.blended(*each, blend_s, duration_s, t_s, functions) for each in ends])
        return {**samples, FITS: ((), (duration_s - 2.0 * blend_s,), "not negative where the blends fit")}

    arguments = [*_joints(chain, "q0", "q1", "cruise"), *_times("blend_s", "duration_s", "t_s")]
    summary = "Joint motion of constant speed between cubic blends, at a time."
    return draft("blended_trajectory", summary, arguments, body)


def pd_step(chain: Chain) -> Routine:
    """Results ``torque`` and ``saturated``."""
    names = ("proportional", "derivative", "wanted_q", "wanted_qd", "q", "qd", "limits", "feedforward")

    def body(
        kp: Sequence[Scalar],
        kd: Sequence[Scalar],
        wanted_q: Sequence[Scalar],
        wanted_qd: Sequence[Scalar],
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        limits: Sequence[Scalar],
        feedforward: Sequence[Scalar],
        functions: Functions,
    ) -> Mapping[str, Values]:
        found = control.pd_step(kp, kd, wanted_q, wanted_qd, q, qd, functions, limits=limits, feedforward=feedforward)
        n = len(found.torque)
        return {
            "torque": ((n,), found.torque, "joint torques within the limits, N m (N where prismatic)"),
            "saturated": ((n,), found.saturated, "not negative where the limit was reached: how far beyond"),
        }

    return draft("pd_step", "One step of PD control with limited torques.", _joints(chain, *names), body)


ROUTINES: Mapping[str, Build] = {
    build.__name__: build
    for build in (
        velocity,
        acceleration,
        jacobian_rate,
        inverse_jacobian,
        inverse_velocity,
        inverse_acceleration,
        cubic_trajectory,
        blended_trajectory,
        pd_step,
    )
}
"""By name; the order in which lists show them."""


def _joints(chain: Chain, *names: str) -> list[Argument]:
    return [Argument(name, len(chain.rows), _MEANINGS[name]) for name in names]


def _times(*names: str) -> list[Argument]:
    meanings = {
        "t_s": "time since the start, s",
        "duration_s": "length of the motion, s",
        "blend_s": "of each blend, s",
    }
    return [Argument(name, 0, meanings[name]) for name in names]


def _six(values: Sequence[Scalar]) -> rates.Twist:
    a, b, c, d, e, f = values
    return a, b, c, d, e, f


def _rates(name: str, found: rates.JointRates) -> Mapping[str, Values]:
    return {
        name: ((len(found.values),), found.values, _MEANINGS[name]),
        "regular": ((), (found.regular,), _REGULAR),
    }


def _samples(samples: Sequence[trajectories.Sample]) -> Mapping[str, Values]:
    n = len(samples)
    return {
        "q": ((n,), [sample.q for sample in samples], _MEANINGS["q"]),
        "qd": ((n,), [sample.qd for sample in samples], _MEANINGS["qd"]),
        "qdd": ((n,), [sample.qdd for sample in samples], _MEANINGS["qdd"]),
    }

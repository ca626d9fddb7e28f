"""The dynamics of one arm as routines: what is derived, emitted, compiled and exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hil.kernels import forward_dynamics as forward
from hil.kernels import mass_matrix as masses
from hil.kernels import newton_euler as newton
from hil.kernels.bodies import Mechanism
from hil.kernels.constant_fold import minus, plus
from hil.kernels.newton_euler import Gravity
from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import Functions, Scalar

Values = tuple[tuple[int, ...], Sequence[Scalar], str]
Build = Callable[[Mechanism, Gravity], Routine]

TORQUE = "joint torques, N m (N where prismatic)"


def inverse_dynamics(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``tau``."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        return _torques(newton.inverse_dynamics(mechanism, gravity, q, qd, qdd, functions))

    return draft("inverse_dynamics", "Torques for wanted accelerations.", _arguments(mechanism, "q", "qd", "qdd"), body)


def inverse_dynamics_with_friction(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``tau``, friction included."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        rigid = newton.inverse_dynamics(mechanism, gravity, q, qd, qdd, functions)
        friction = newton.friction_torque(mechanism, qd, functions)
        return _torques([plus(a, b) for a, b in zip(rigid, friction, strict=True)])

    summary = "Torques for wanted accelerations, friction included."
    return draft("inverse_dynamics_with_friction", summary, _arguments(mechanism, "q", "qd", "qdd"), body)


def gravity_torque(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``tau``: G."""

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        return _torques(newton.gravity_torque(mechanism, gravity, q, functions))

    return draft("gravity_torque", "Torques that hold the arm at rest.", _arguments(mechanism, "q"), body)


def coriolis_torque(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``tau``: V, which no gravity enters."""

    def body(q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        return _torques(newton.coriolis_torque(mechanism, q, qd, functions))

    summary = "Torques of Coriolis and centrifugal forces."
    return draft("coriolis_torque", summary, _arguments(mechanism, "q", "qd"), body)


def friction_torque(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``tau``: F, which depends on the speeds alone."""

    def body(qd: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        return _torques(newton.friction_torque(mechanism, qd, functions))

    return draft("friction_torque", "Torques that overcome friction.", _arguments(mechanism, "qd"), body)


def mass_matrix(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Result ``mass``: M, both triangles."""

    def body(q: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        rows, n = masses.mass_matrix(mechanism, q, functions), len(q)
        values = [rows[max(i, k)][min(i, k)] for i in range(n) for k in range(n)]
        return {"mass": ((n, n), values, "mass matrix, kg m2 (kg, kg m where prismatic)")}

    return draft("mass_matrix", "Mass matrix.", _arguments(mechanism, "q"), body)


def forward_dynamics(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Results ``qdd`` and ``smallest_pivot``, the status."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        return _accelerations(forward.forward_dynamics(mechanism, gravity, q, qd, tau, functions))

    return draft("forward_dynamics", "Accelerations under torques.", _arguments(mechanism, "q", "qd", "tau"), body)


def forward_dynamics_with_friction(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Results ``qdd`` and ``smallest_pivot``; friction takes its part of the torques."""

    def body(
        q: Sequence[Scalar], qd: Sequence[Scalar], tau: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, Values]:
        friction = newton.friction_torque(mechanism, qd, functions)
        left = [minus(torque, lost) for torque, lost in zip(tau, friction, strict=True)]
        return _accelerations(forward.forward_dynamics(mechanism, gravity, q, qd, left, functions))

    summary = "Accelerations under torques, friction included."
    return draft("forward_dynamics_with_friction", summary, _arguments(mechanism, "q", "qd", "tau"), body)


def energy(mechanism: Mechanism, gravity: Gravity) -> Routine:
    """Results ``kinetic`` and ``potential``."""

    def body(q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> Mapping[str, Values]:
        kinetic = masses.kinetic_energy(masses.mass_matrix(mechanism, q, functions), qd)
        potential = masses.potential_energy(mechanism, gravity, q, functions)
        return {
            "kinetic": ((), (kinetic,), "kinetic energy, motors included, J"),
            "potential": ((), (potential,), "potential energy of the links, zero at the world's origin, J"),
        }

    return draft("energy", "Kinetic and potential energy.", _arguments(mechanism, "q", "qd"), body)


ROUTINES: Mapping[str, Build] = {
    build.__name__: build
    for build in (
        inverse_dynamics,
        inverse_dynamics_with_friction,
        gravity_torque,
        coriolis_torque,
        friction_torque,
        mass_matrix,
        forward_dynamics,
        forward_dynamics_with_friction,
        energy,
    )
}
"""By name; the order in which lists show them."""

_MEANINGS = {
    "q": "joint coordinates, rad (m where prismatic)",
    "qd": "joint speeds, rad/s (m/s where prismatic)",
    "qdd": "joint accelerations, rad/s2 (m/s2 where prismatic)",
    "tau": TORQUE,
}


def _arguments(mechanism: Mechanism, *names: str) -> list[Argument]:
    return [Argument(name, len(mechanism.axes), _MEANINGS[name]) for name in names]


def _torques(values: Sequence[Scalar]) -> Mapping[str, Values]:
    return {"tau": ((len(values),), values, TORQUE)}


def _accelerations(found: forward.Accelerations) -> Mapping[str, Values]:
    meaning = "smallest pivot of the mass matrix: the accelerations hold where it is above 1e-12"
    return {
        "qdd": ((len(found.qdd),), found.qdd, _MEANINGS["qdd"]),
        "smallest_pivot": ((), (found.smallest_pivot,), meaning),
    }

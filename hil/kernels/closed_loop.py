"""A controlled arm as two routines: what the controller asks at a tick, and how the arm moves in one short step.

Both are ordinary routines, so one text of them runs compiled on many settings side by side, in numpy, or as C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias

from hil.kernels import newton_euler as newton
from hil.kernels.bodies import Mechanism
from hil.kernels.constant_fold import minus, plus, size, smaller, times
from hil.kernels.forward_dynamics import Cornered, cornered, solved_by_corner
from hil.kernels.joint_reactions import Bounds, settled
from hil.kernels.mass_matrix import mass_matrix
from hil.kernels.newton_euler import Gravity
from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import Functions, Scalar

Factor: TypeAlias = Callable[[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar], Functions], list[Scalar]]
"""n factors from coordinates, speeds and wanted accelerations."""

Results: TypeAlias = dict[str, tuple[tuple[int, ...], Sequence[Scalar], str]]


class Law(Enum):
    """What a controller adds up; e is wanted minus measured position."""

    PD = "pd"
    PID = "pid"
    PD_GRAVITY = "pd-gravity"
    PID_GRAVITY = "pid-gravity"
    COMPUTED_TORQUE = "computed-torque"
    SCALED_PD = "scaled-pd"

    @property
    def integrates(self) -> bool:
        """True for a law with an integral of the error."""
        return self in (Law.PID, Law.PID_GRAVITY)

    @property
    def carries_weight(self) -> bool:
        """True for a law that gives torques also without an error."""
        return self not in (Law.PD, Law.PID)

    @property
    def gains_are_torques(self) -> bool:
        """True where gains are torques per angle; else they are accelerations per angle."""
        return self not in (Law.COMPUTED_TORQUE, Law.SCALED_PD)


def controller_step(
    law: Law, mechanism: Mechanism, gravity: Gravity, factor: Factor | None = None, *, limited: bool = True
) -> Routine:
    """Results ``tau``, ``asked`` and, for laws with one, ``integral``.

    With e = wanted_q - q: PD is Kp e + Kd de/dt, PID adds Ki times the integral of e, which stands still while the
    torque is at its limit and e would drive it further (anti-windup); with gravity G(q) is added. Computed torque is
    M(q) (wanted_qdd + Kp e + Kd de/dt) + V + G; scaled PD is f (wanted_qdd + Kp e + Kd de/dt) with `factor`.

    Args:
        law: what is added up.
        mechanism: the arm as the controller knows it.
        gravity: acceleration of free fall in the world.
        factor: f of the scaled PD.
        limited: torques have limits, the argument ``limit``; else no torque is too large.
    """
    n = len(mechanism.axes)
    names = ["q", "qd", "wanted_q", "wanted_qd", "wanted_qdd", "kp", "kd"]
    names += ["limit"] if limited else []
    names += ["ki", "integral"] if law.integrates else []
    arguments = [Argument(name, n, _MEANINGS[name]) for name in names]
    if law.integrates:
        arguments.append(Argument("period_s", 0, _MEANINGS["period_s"]))

    def body(*given: Any) -> Results:
        *values, functions = given
        q, qd, wanted_q, wanted_qd, wanted_qdd, kp, kd = values[:7]
        error = [minus(w, here) for w, here in zip(wanted_q, q, strict=True)]
        pushed = [
            plus(times(p, e), times(d, minus(w, speed)))
            for p, d, e, w, speed in zip(kp, kd, error, wanted_qd, qd, strict=True)
        ]
        integral: list[Scalar] = []
        if law.integrates:
            ki, before, period_s = values[-3:]
            integral = [plus(old, times(period_s, e)) for old, e in zip(before, error, strict=True)]
            pushed = [plus(push, times(gain, kept)) for push, gain, kept in zip(pushed, ki, integral, strict=True)]
        torque = _law(law, mechanism, gravity, factor, q, qd, wanted_qdd, pushed, functions)
        asked = [size(each, functions) for each in torque]
        tau, kept = list(torque), integral
        if limited:
            limit = values[7]
            tau = [
                functions.maximum(smaller(each, most, functions), -most)
                for each, most in zip(torque, limit, strict=True)
            ]
        if limited and law.integrates:
            # Held where the torque is beyond its limit and the error asks for more in the same direction.
            kept = [
                functions.where(minus(amount, most), functions.where(times(push, e), old, new), new)
                for amount, most, push, e, old, new in zip(asked, limit, torque, error, before, integral, strict=True)
            ]
        results: Results = {"tau": ((n,), tau, _MEANINGS["tau"])}
        if law.integrates:
            results["integral"] = ((n,), kept, _MEANINGS["integral"])
        results["asked"] = ((n,), asked, "sizes of the torques before they were limited")
        return results

    return draft(
        "controller_step",
        f"One tick of {law.value} control{' with limited torques' if limited else ''}.",
        arguments,
        body,
    )


def _law(
    law: Law,
    mechanism: Mechanism,
    gravity: Gravity,
    factor: Factor | None,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    wanted_qdd: Sequence[Scalar],
    pushed: Sequence[Scalar],
    functions: Functions,
) -> list[Scalar]:
    if law in (Law.PD_GRAVITY, Law.PID_GRAVITY):
        weight = newton.gravity_torque(mechanism, gravity, q, functions)
        return [plus(push, carried) for push, carried in zip(pushed, weight, strict=True)]
    asked = [plus(wanted, push) for wanted, push in zip(wanted_qdd, pushed, strict=True)]
    if law is Law.COMPUTED_TORQUE:
        return newton.inverse_dynamics(mechanism, gravity, q, qd, asked, functions)
    if law is Law.SCALED_PD:
        assert factor is not None
        return [times(f, a) for f, a in zip(factor(q, qd, wanted_qdd, functions), asked, strict=True)]
    return list(pushed)


def plant_step(mechanism: Mechanism, gravity: Gravity, *, reacts: bool, midpoint: bool = False) -> Routine:
    """Results ``q``, ``qd`` and, with `reacts`, ``reaction``: the state one step later.

    Semi-implicit Euler: speeds first, positions with the new ones. What grows with the speed (viscous friction) is
    taken at the step's end, so that a large one stays stable. Or the midpoint rule, which works the arm out twice a
    step and keeps its energy a thousand times better.

    Args:
        mechanism: the arm; its own friction is not used, the arguments are.
        gravity: acceleration of free fall in the world.
        reacts: with dry friction that holds at rest, and stops that take all speed.
        midpoint: by the midpoint rule.
    """
    n = len(mechanism.axes)
    names = ["q", "qd", "tau", "viscous", "armature"]
    if reacts:
        names += ["reaction", "forwards", "backwards", "lower", "upper"]
    arguments = [Argument(name, n, _MEANINGS[name]) for name in names]
    arguments.append(Argument("step_s", 0, _MEANINGS["step_s"]))

    def body(*given: Any) -> Results:
        *vectors, step_s, functions = given
        value = dict(zip(names, vectors, strict=True))
        q, qd = value["q"], value["qd"]
        resisted_s = times(0.5, step_s) if midpoint else step_s

        def change(places: Sequence[Scalar], rates: Sequence[Scalar]) -> tuple[Cornered, list[Scalar]]:
            """The factorised mass matrix, and accelerations: friction is that of the speeds at the start, changed."""
            bias = newton.inverse_dynamics(mechanism, gravity, places, rates, [0.0] * n, functions)
            rows = mass_matrix(mechanism, places, functions)
            for i, row in enumerate(rows):
                row[i] = plus(row[i], plus(value["armature"][i], times(resisted_s, value["viscous"][i])))
            factors = cornered(rows, functions)
            moving = [
                minus(minus(torque, needed), times(lost, speed))
                for torque, needed, lost, speed in zip(value["tau"], bias, value["viscous"], qd, strict=True)
            ]
            return factors, solved_by_corner(factors, moving)

        factors, accelerations = change(q, qd)
        between = list(qd)
        if midpoint:
            half_s = times(0.5, step_s)
            between = [plus(speed, times(half_s, more)) for speed, more in zip(qd, accelerations, strict=True)]
            halfway = [plus(here, times(half_s, speed)) for here, speed in zip(q, qd, strict=True)]
            factors, accelerations = change(halfway, between)
        speeds = [plus(speed, times(step_s, more)) for speed, more in zip(qd, accelerations, strict=True)]
        # How much slower than at its end the joint went on average.
        slower = [minus(mean, end) if midpoint else 0.0 for mean, end in zip(between, speeds, strict=True)]
        results: Results = {}
        if reacts:
            rate_hz = 1.0 / step_s
            units = [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]
            mobility = [[times(step_s, entry) for entry in solved_by_corner(factors, unit)] for unit in units]
            bounds = Bounds(
                value["forwards"],
                value["backwards"],
                [times(minus(low, here), rate_hz) for low, here in zip(value["lower"], q, strict=True)],
                [times(minus(high, here), rate_hz) for high, here in zip(value["upper"], q, strict=True)],
            )
            speeds, reactions = settled(speeds, mobility, value["reaction"], bounds, functions)
            results["reaction"] = ((n,), reactions, _MEANINGS["reaction"])
            if midpoint:
                slower = [
                    _where_free(less, speed, reaction, slowest, fastest, functions)
                    for less, speed, reaction, slowest, fastest in zip(
                        slower, speeds, reactions, bounds.slowest, bounds.fastest, strict=True
                    )
                ]
        moved = [
            plus(here, times(step_s, plus(speed, less))) for here, speed, less in zip(q, speeds, slower, strict=True)
        ]
        results["q"], results["qd"] = ((n,), moved, _MEANINGS["q"]), ((n,), speeds, _MEANINGS["qd"])
        return results

    return draft("plant_step", "The arm's state one step later.", arguments, body)


def _where_free(
    less: Scalar, speed: Scalar, reaction: Scalar, slowest: Scalar, fastest: Scalar, functions: Functions
) -> Scalar:
    """`less` for a joint that nothing held and that it does not carry past a stop; 0 for any other."""
    mean = plus(speed, less)
    inside = functions.where(minus(fastest, mean), functions.where(minus(mean, slowest), less, 0.0), 0.0)
    return functions.where(minus(0.0, size(reaction, functions)), inside, 0.0)


_MEANINGS = {
    "q": "joint coordinates, rad (m where prismatic)",
    "qd": "joint speeds, rad/s (m/s where prismatic)",
    "wanted_q": "joint coordinates to be at",
    "wanted_qd": "joint speeds to have",
    "wanted_qdd": "joint accelerations to have",
    "kp": "gains Kp of the position error",
    "kd": "gains Kd of the speed error",
    "ki": "gains Ki of the error's integral",
    "integral": "integral of the error, rad s (m s where prismatic)",
    "limit": "largest torques, not negative, N m (N where prismatic)",
    "period_s": "time between ticks, s",
    "tau": "joint torques, N m (N where prismatic)",
    "viscous": "friction per speed, N m s/rad (N s/m where prismatic)",
    "armature": "inertia of the motors on the joints' side beyond that of the arm's file, kg m2 (kg where prismatic)",
    "reaction": "torques that friction and stops took in the step before, N m (N where prismatic)",
    "forwards": "dry friction against a positive speed, not negative, N m (N where prismatic)",
    "backwards": "dry friction against a negative speed, not negative, N m (N where prismatic)",
    "lower": "lower stops, rad (m where prismatic)",
    "upper": "upper stops, rad (m where prismatic)",
    "step_s": "length of the step, s",
}

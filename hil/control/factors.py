"""The factor f of the scaled PD, tau = f (wanted qdd + Kp e + Kd de/dt), as formulas of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hil.control.joint_values import for_each_joint
from hil.errors import CommandError
from hil.formula.formula import Formula, Unit, Variable, read_formula
from hil.kernels.bodies import Mechanism
from hil.kernels.closed_loop import Factor
from hil.kernels.mass_matrix import mass_matrix
from hil.kernels.scalar import Functions, Scalar
from hil.model.robot import JointType, RobotModel


def factor_of(texts: Sequence[str], model: RobotModel, mechanism: Mechanism) -> Factor:
    """The factors of all joints as one function over any scalar.

    A formula may use ``q``, ``qd`` and ``qdd`` of its own joint (the wanted acceleration), ``m``, its entry on the
    diagonal of the mass matrix, and ``q1``, ``qd1``, ``qdd1`` and so on of every joint; radians and seconds.

    Args:
        texts: one for all joints, or one each.
        model: the arm.
        mechanism: as the controller knows it, for ``m``.

    Raises:
        FormulaError: a text is no formula.
        CommandError: another count, or a factor that has no finite value at the arm's home.
    """
    n = model.dof
    if len(texts) not in (1, n):
        names = ", ".join(joint.name for joint in model.joints)
        raise CommandError(
            f"{model.id}: {len(texts)} factors given; allowed: one for all joints, or {n}: {names}", value=tuple(texts)
        )
    read = [
        read_formula(text, _variables(model, k), what=f"factor of {joint.name}")
        for k, (joint, text) in enumerate(zip(model.joints, list(texts) * (n if len(texts) == 1 else 1), strict=True))
    ]
    uses_mass = any("m" in formula.used for formula in read)
    _require_values(read, model, uses_mass, mechanism)

    def factor(q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], functions: Functions) -> list[Scalar]:
        masses = [row[-1] for row in mass_matrix(mechanism, q, functions)] if uses_mass else [0.0] * n
        return [formula.over(_values(k, q, qd, qdd, masses), functions) for k, formula in enumerate(read)]

    return factor


def _variables(model: RobotModel, own: int) -> list[Variable]:
    units = [
        (Unit.RADIANS, Unit.RADIANS_PER_SECOND) if joint.type is JointType.REVOLUTE else (Unit.METRES, Unit.NONE)
        for joint in model.joints
    ]
    found = [
        Variable(name="q", unit=units[own][0], meaning="position of the joint"),
        Variable(name="qd", unit=units[own][1], meaning="its speed"),
        Variable(name="qdd", meaning="its wanted acceleration"),
        Variable(name="m", meaning="its entry on the diagonal of the mass matrix"),
    ]
    for k, (position, speed) in enumerate(units, 1):
        found += [Variable(name=f"q{k}", unit=position), Variable(name=f"qd{k}", unit=speed), Variable(name=f"qdd{k}")]
    return found


def _values(
    own: int, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], masses: Sequence[Scalar]
) -> dict[str, Any]:
    values = {"q": q[own], "qd": qd[own], "qdd": qdd[own], "m": masses[own]}
    for name, vector in (("q", q), ("qd", qd), ("qdd", qdd)):
        values |= {f"{name}{k}": value for k, value in enumerate(vector, 1)}
    return values


def _require_values(read: Sequence[Formula], model: RobotModel, uses_mass: bool, mechanism: Mechanism) -> None:
    """Work every factor out once, so that a formula without a value there is refused with its column."""
    from hil.kernels.scalar import FLOATS

    home = list(model.home or [0.0] * model.dof)
    rest = for_each_joint(model, "rest", ())
    masses = [row[-1] for row in mass_matrix(mechanism, home, FLOATS)] if uses_mass else rest
    for k, formula in enumerate(read):
        formula.value_at(_values(k, home, rest, rest, masses))

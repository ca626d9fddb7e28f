"""Numbers that people give for the joints of an arm: one for all or one each, in degrees and millimetres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from hil.errors import CommandError
from hil.model.robot import JointType, RobotModel
from hil.units import DEG, MM


def joint_units(model: RobotModel) -> list[float]:
    """Radians or metres per degree or millimetre of each joint."""
    return [DEG if joint.type is JointType.REVOLUTE else MM for joint in model.joints]


def joint_words(model: RobotModel) -> list[str]:
    """``deg`` or ``mm`` for each joint."""
    return ["deg" if joint.type is JointType.REVOLUTE else "mm" for joint in model.joints]


def for_each_joint(model: RobotModel, name: str, given: Sequence[float], otherwise: float = 0.0) -> list[float]:
    """`given` for every joint: one number counts for all, none is `otherwise`.

    Raises:
        CommandError: another count.
    """
    n = model.dof
    if not given:
        return [otherwise] * n
    if len(given) == 1:
        return [float(given[0])] * n
    if len(given) != n:
        names = ", ".join(joint.name for joint in model.joints)
        refuse(f"{model.id}: {name}: {len(given)} numbers given", tuple(given), f"one for all joints, or {n}: {names}")
    return [float(value) for value in given]


def refuse(what: str, value: object, allowed: str) -> NoReturn:
    """Stop here: the words say what was given and what may be.

    Raises:
        CommandError: always.
    """
    raise CommandError(f"{what}; allowed: {allowed}", value=value, allowed=allowed)

"""Controlled arms for tests: the PUMA 560, and two bars in the plane of gravity that are quick to work with."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from hil.control.experiment import Experiment, Reference
from hil.model.reader import load_robot
from hil.model.robot import LinkInertia, RobotModel

PUMA = load_robot("puma560")
MOVE = Reference(end=(10.0, 80.0, -80.0, 5.0, 10.0, 10.0), duration_s=0.3)


def arm_of_two() -> RobotModel:
    """Two bars of 1 m and 1 kg in the plane of gravity: quick to compile, and checked by hand."""
    model = load_robot("planar-2r")
    rod = ((0.0, 0.0, 0.0), (0.0, 1 / 12, 0.0), (0.0, 0.0, 1 / 12))
    link = LinkInertia(mass_kg=1.0, com_m=(-0.5, 0.0, 0.0), inertia_kg_m2=rod)
    inertia = (link, link)
    joints = tuple(
        msgspec.structs.replace(joint, lower=-math.pi, upper=math.pi, name=joint.name) for joint in model.joints
    )
    return msgspec.structs.replace(model, inertia=inertia, joints=joints, home=(0.0, 0.0))


TWO = arm_of_two()
FALL = (0.0, -9.81, 0.0)


def two(**changes: Any) -> Experiment:
    base = Experiment(
        robot="two", reference=Reference(start=(0.0, 0.0), end=(60.0, -40.0), duration_s=0.4), gravity_m_s2=FALL
    )
    return msgspec.structs.replace(base, **changes)

"""What is known of a robot, as its panel shows it: the file's numbers in people's units, and what is not given."""

from __future__ import annotations

import math

from hil.model.robot import Joint, JointType, RobotModel
from hil.units import DEG, MM

NOT_GIVEN = "not given"


def unit_of(joint: Joint) -> tuple[float, str]:
    """Radians or metres in a unit of people, and its name."""
    return (DEG, "deg") if joint.type is JointType.REVOLUTE else (MM, "mm")


def longest_reach_m(model: RobotModel) -> float | None:
    """The stretched-out chain from the first axis to the tool, a bound. None with a slide without limits."""
    length = math.hypot(*(row[3] for row in model.tool[:3]))
    for index, joint in enumerate(model.joints):
        if joint.type is JointType.REVOLUTE:
            # The first d only lifts: it is along the axis from which the reach is measured.
            length += math.hypot(joint.a_m, 0.0 if index == 0 else joint.d_m)
            continue
        if joint.lower is None or joint.upper is None:
            return None
        out = max(abs(joint.d_m + joint.sign * limit) for limit in (joint.lower, joint.upper))
        length += math.hypot(joint.a_m, out)
    return length


def home_text(model: RobotModel) -> str:
    """The documented pose in people's units."""
    if model.home is None:
        return NOT_GIVEN
    pairs = [(q / unit_of(joint)[0], unit_of(joint)[1]) for q, joint in zip(model.home, model.joints, strict=True)]
    units = {unit for _, unit in pairs}
    if len(units) == 1:
        return f"{', '.join(f'{value:z.6g}' for value, _ in pairs)} {units.pop()}"
    return ", ".join(f"{value:z.6g} {unit}" for value, unit in pairs)


def inertia_lines(model: RobotModel) -> list[str]:
    """How far dynamics can be had: masses, tensors, drives, each with what is missing."""
    status = f" ({model.inertia_status})" if model.inertia_status else ""
    if model.inertia is None:
        return [f"link masses and inertias: {NOT_GIVEN}{status}"]
    masses = ", ".join(f"{link.mass_kg:g}" for link in model.inertia)
    lines = [f"link masses: {masses} kg{status}"]
    for name, values in (
        ("inertia about the centres of mass", [link.inertia_kg_m2 for link in model.inertia]),
        ("rotor inertia", [link.motor_inertia_kg_m2 for link in model.inertia]),
        ("gear ratio", [link.gear_ratio for link in model.inertia]),
        ("viscous friction", [link.viscous_nm_s for link in model.inertia]),
        ("Coulomb friction", [link.coulomb_nm for link in model.inertia]),
    ):
        count = sum(value is not None for value in values)
        given = "given" if count == len(values) else NOT_GIVEN if count == 0 else f"given for {count} of {len(values)}"
        lines.append(f"{name}: {given}")
    return lines


def controller_lines(model: RobotModel) -> list[str]:
    """How the angles that the maker's controller shows become those of this model."""
    if model.controller_map is None:
        return [f"controller's joint angles: {NOT_GIVEN}"]
    pairs = zip(model.joints, model.controller_map.theta_offset_rad, model.controller_map.sign, strict=True)
    terms = [f"{j.name} = {offset / DEG:g} {'+' if sign > 0 else '-'} shown" for j, offset, sign in pairs]
    note = model.controller_map.note
    return [f"controller's joint angles: {', '.join(terms)} (deg)", *([f"controller: {note}"] if note else [])]

"""What is odd about an arm's size, masses and inertia: told, never refused, since the sources' numbers are used as is.

A wrong unit is far off: the marks stand a factor of two or more beyond any arm that is built, and one unit before the
smallest slip.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from hil.model.robot import JointType, LinkInertia, RobotModel
from hil.model.specification import longest_reach_m
from hil.units import MM

ROUNDING = 1e-9
"""Share of the largest moment by which the rules of a rigid body may be missed."""

LONGEST_M = 8.0
"""The links of the longest factory robots, laid end to end, come to about 6 m."""

SHORTEST_M = 0.02

LENGTHS = (
    ("centimetres", 0.01, 0.1, 1.5),
    ("millimetres", 0.001, 0.12, 10.0),
    ("inches", 0.0254, 0.2, 0.3),
    ("metres divided by 100", 100.0, 0.1, 1.5),
    ("metres divided by 1000", 1000.0, 0.12, 10.0),
)
"""Units that a file may be in by mistake, metres in one of them, and reaches (m) that speak for it; likelier first."""

DENSEST_KG_M3, THINNEST_KG_M3 = 3000.0, 0.02
"""Mass over reach cubed: of arms that are built, about 5 to 250."""

MOMENTS = (("kg cm2", 1e-4), ("kg mm2", 1e-6), ("g mm2", 1e-9))


def arm_warnings(model: RobotModel) -> tuple[str, ...]:
    """One line for each thing about size, masses and inertia that looks like a slip, with the unit that is likely.

    Empty for a plausible arm.
    """
    return (*unit_warnings(model), *inertia_warnings(model))


def unit_warnings(model: RobotModel) -> tuple[str, ...]:
    """Of those the ones that speak for a unit that is not the one of the file."""
    reach_m = _reach_m(model)
    size = _size_warnings(reach_m)
    return size if size or not reach_m else tuple(_mass_warnings(model, reach_m))


def _reach_m(model: RobotModel) -> float:
    """The stretched-out chain; a slide without limits counts with its constant part."""
    joints = tuple(
        msgspec.structs.replace(joint, lower=0.0, upper=0.0)
        if joint.type is JointType.PRISMATIC and joint.lower is None
        else joint
        for joint in model.joints
    )
    return longest_reach_m(msgspec.structs.replace(model, joints=joints)) or 0.0


def _size_warnings(reach_m: float) -> tuple[str, ...]:
    if reach_m == 0.0 or SHORTEST_M <= reach_m <= LONGEST_M:
        return ()
    fits = [(unit, scale) for unit, scale, low, high in LENGTHS if low <= reach_m * scale <= high]
    if not fits:
        return (f"a reach of {reach_m:.3g} m is that of no arm: are all lengths in one unit?",)
    likely = " or ".join(
        f"{unit} (hil import with --scale {scale:g} gives {reach_m * scale / MM:.3g} mm)" for unit, scale in fits
    )
    return (f"a reach of {reach_m:.3g} m is that of no arm: it looks like {likely}",)


def _mass_warnings(model: RobotModel, reach_m: float) -> list[str]:
    links = model.inertia or ()
    total = sum(link.mass_kg for link in links)
    texts = []
    if total > DENSEST_KG_M3 * reach_m**3:
        texts.append(f"{total:.3g} kg on a reach of {reach_m / MM:.3g} mm are too much: the masses look like grams")
    elif 0.0 < total < THINNEST_KG_M3 * reach_m**3:
        texts.append(
            f"{total:.3g} kg on a reach of {reach_m / MM:.3g} mm are too little: the masses look like tonnes, or "
            "like numbers that stand for unknown ones"
        )
    for joint, link in zip(model.joints, links, strict=False):
        texts += [f"link of {joint.name}: {text}" for text in _unit_oddities(link, reach_m)]
    return texts


def _unit_oddities(link: LinkInertia, reach_m: float) -> list[str]:
    """A body that is larger than the whole arm has its moments or its centre in another unit."""
    texts = []
    away_m = math.hypot(*link.com_m)
    if away_m > 2.0 * reach_m + 0.1:
        unit = "millimetres" if away_m > 100.0 * reach_m else "centimetres"
        texts.append(f"its centre of mass is {away_m:.3g} m away: it looks like {unit}")
    if link.inertia_kg_m2 is None or link.mass_kg == 0.0:
        return texts
    radius_m = math.sqrt(float(np.max(np.linalg.eigvalsh(np.array(link.inertia_kg_m2)))) / link.mass_kg)
    if radius_m > 2.0 * reach_m + 0.1:
        fits = [unit for unit, factor in MOMENTS if radius_m * math.sqrt(factor) < 0.5 * reach_m]
        likely = f": it looks like {fits[0]}" if fits else ""
        texts.append(f"its inertia is that of a body of radius {radius_m:.3g} m, larger than the arm{likely}")
    return texts


def inertia_warnings(model: RobotModel) -> tuple[str, ...]:
    """One line for each thing that no rigid body can have, or without which some dynamics cannot be worked out.

    Empty for a plausible arm, and for one without masses.
    """
    pairs = zip(model.joints, model.inertia or (), strict=False)
    return tuple(f"link of {joint.name}: {text}" for joint, link in pairs for text in _oddities(link))


def _oddities(link: LinkInertia) -> list[str]:
    if link.inertia_kg_m2 is None:
        return ["no inertia tensor given: only its weight can be worked out"]
    moments = np.linalg.eigvalsh(np.array(link.inertia_kg_m2))
    small, middle, large = (float(value) for value in moments)
    if link.mass_kg == 0.0 and large == 0.0:
        return ["has neither mass nor inertia: forward dynamics leaves the joint out unless something behind it has"]
    texts = []
    if link.mass_kg == 0.0:
        texts.append("has inertia but no mass")
    if small < -ROUNDING * large:
        texts.append(f"has a negative principal moment of inertia, {small:.4g} kg m2")
    elif small + middle < large * (1.0 - ROUNDING):
        texts.append(
            f"principal moments of inertia {small:.4g}, {middle:.4g}, {large:.4g} kg m2 are not those of a body: "
            "the largest exceeds the sum of the others (used as published)"
        )
    return texts

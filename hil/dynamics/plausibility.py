"""What is odd about an arm's inertia: told, never refused, since the sources' numbers are used as they are."""

from __future__ import annotations

import numpy as np

from hil.model.robot import LinkInertia, RobotModel

ROUNDING = 1e-9
"""Share of the largest moment by which the rules of a rigid body may be missed."""


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

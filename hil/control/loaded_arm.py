"""The arm that an experiment moves: the robot's own masses, changed and loaded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from hil.control.experiment import Experiment
from hil.control.joint_values import for_each_joint
from hil.model.robot import LinkInertia, RobotModel


def estimated(model: RobotModel) -> bool:
    """The arm's masses are an estimate: every output says so."""
    return model.inertia is not None and model.inertia_status.upper().startswith("ESTIMATE")


def loaded(model: RobotModel, experiment: Experiment) -> RobotModel:
    """The arm that is controlled: with its factors of masses, and a payload as a point of its last link."""
    assert model.inertia is not None
    factors = for_each_joint(model, "mass_factor", experiment.mass_factor, 1.0)
    links = [_heavier(link, factor) for link, factor in zip(model.inertia, factors, strict=True)]
    if experiment.payload_kg:
        links[-1] = _joined(links[-1], experiment.payload_kg, [row[3] for row in model.tool[:3]])
    return msgspec.structs.replace(model, inertia=tuple(links))


def _heavier(link: LinkInertia, factor: float) -> LinkInertia:
    if factor == 1.0:
        return link
    tensor = link.inertia_kg_m2
    if tensor is not None:
        (a, b, c), (d, e, f), (g, h, i) = (tuple(factor * value for value in row) for row in tensor)
        tensor = ((a, b, c), (d, e, f), (g, h, i))
    return msgspec.structs.replace(link, mass_kg=factor * link.mass_kg, inertia_kg_m2=tensor)


def _joined(link: LinkInertia, mass: float, place: Sequence[float]) -> LinkInertia:
    """A link and a point mass as one body."""
    total = link.mass_kg + mass
    com = (link.mass_kg * np.array(link.com_m) + mass * np.array(place)) / total
    tensor = np.array(link.inertia_kg_m2 or np.zeros((3, 3)))
    for each, at in ((link.mass_kg, np.array(link.com_m)), (mass, np.array(place))):
        arm = at - com
        tensor = tensor + each * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    x, y, z = com.tolist()
    rows = tuple((a, b, c) for a, b, c in tensor.tolist())
    return msgspec.structs.replace(link, mass_kg=total, com_m=(x, y, z), inertia_kg_m2=rows)

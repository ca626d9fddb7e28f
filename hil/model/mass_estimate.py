"""Masses of an arm that no source gives, estimated from the shapes of its links: good for lessons, not for a bench.

Each link is solid: its rods and the housing of the joint that it carries, as `hil.model.link_shapes` draws them, all of
one density. Real links are hollow and hold motors, so the density is that of arms whose masses are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.model.link_shapes import HOUSING, HOUSING_LENGTH, ROD, arm_length_m, link_sticks, thickness
from hil.model.robot import LinkInertia, RobotModel

DENSITY_KG_M3 = 1500.0
"""Of rods and housings: the moving links of known arms get 0.5 (PUMA 560) to 2.6 times (Lynx6) their mass."""

STATUS = (
    "ESTIMATE: solid rods and housings as drawn from the DH table, density {density:.4g} kg/m3; not of this arm. "
    "Good for lessons on control, not for the torques of a real one."
)

Vector = npt.NDArray[np.float64]


class _Part(NamedTuple):
    """A solid cylinder."""

    mass_kg: float
    centre_m: Vector
    axis: Vector
    radius_m: float
    length_m: float


def estimated_inertia(
    model: RobotModel, *, masses_kg: Sequence[float] | None = None, density_kg_m3: float = DENSITY_KG_M3
) -> tuple[LinkInertia, ...]:
    """Inertia of every link in its DH frame.

    Args:
        model: any arm.
        masses_kg: of the links, where a source gives them; they are spread over the shapes.
        density_kg_m3: otherwise.

    Raises:
        CommandError: a density or a mass that is no positive number.
    """
    if not (math.isfinite(density_kg_m3) and density_kg_m3 > 0.0):
        raise CommandError(f"density {density_kg_m3!r} given; allowed: above 0 kg/m3", value=density_kg_m3)
    found = []
    for number in range(1, model.dof + 1):
        parts = _parts(model, number, density_kg_m3)
        factor = 1.0
        if masses_kg is not None:
            factor = masses_kg[number - 1] / sum(part.mass_kg for part in parts)
            if not (math.isfinite(factor) and factor > 0.0):
                raise CommandError(f"mass {masses_kg[number - 1]!r} of link {number} given; allowed: above 0 kg")
        found.append(_link(parts, factor))
    return tuple(found)


def with_estimate(model: RobotModel) -> RobotModel:
    """The arm, with an estimate where no source gives masses; an arm with masses stays as it is."""
    if model.inertia is not None:
        return model
    status = STATUS.format(density=DENSITY_KG_M3)
    return msgspec.structs.replace(model, inertia=estimated_inertia(model), inertia_status=status)


def _parts(model: RobotModel, number: int, density: float) -> list[_Part]:
    size, thick = arm_length_m(model), thickness(model, number)
    rod, housing = ROD * size * thick, HOUSING * size * thick
    parts = [_cylinder(stick.start_m, stick.end_m, rod, density) for stick in link_sticks(model, number)]
    half = 0.5 * HOUSING_LENGTH * housing * np.array([0.0, 0.0, 1.0])
    if number < model.dof:
        parts.append(_cylinder(-half, half, housing, density))
    else:
        flange = 0.5 * rod * np.array([0.0, 0.0, 1.0])
        parts.append(_cylinder(-flange, flange, 1.2 * rod, density))
    return parts


def _cylinder(start: Vector, end: Vector, radius: float, density: float) -> _Part:
    length = float(np.linalg.norm(end - start))
    return _Part(density * math.pi * radius**2 * length, 0.5 * (start + end), (end - start) / length, radius, length)


def _link(parts: Sequence[_Part], factor: float) -> LinkInertia:
    """All parts as one body; numbers as short as their worth."""
    masses = np.array([part.mass_kg for part in parts]) * factor
    com = sum(mass * part.centre_m for mass, part in zip(masses, parts, strict=True)) / masses.sum()
    com = np.round(com, 4)
    tensor = np.zeros((3, 3))
    for mass, part in zip(masses, parts, strict=True):
        along, across = 0.5 * part.radius_m**2, part.radius_m**2 / 4.0 + part.length_m**2 / 12.0
        axis, arm = np.outer(part.axis, part.axis), part.centre_m - com
        tensor += mass * (across * np.eye(3) + (along - across) * axis + arm @ arm * np.eye(3) - np.outer(arm, arm))
    rows = tuple((a, b, c) for a, b, c in (_short(row) for row in tensor.tolist()))
    x, y, z = (value + 0.0 for value in com.tolist())
    return LinkInertia(mass_kg=_short([float(masses.sum())])[0], com_m=(x, y, z), inertia_kg_m2=rows)


def _short(values: Sequence[float]) -> list[float]:
    """Four digits, and nothing for what is left over from rounding."""
    return [0.0 if abs(value) < 1e-9 else float(f"{value:.4g}") for value in values]

"""Masses estimated from the shapes of links."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.dynamics.model import Dynamics
from hil.errors import CommandError
from hil.model.files import list_names
from hil.model.mass_estimate import DENSITY_KG_M3, estimated_inertia, with_estimate
from hil.model.reader import load_robot

KR5_KG = (31.277, 15.578, 25.298, 4.001, 1.581, 0.016)


@pytest.mark.parametrize("name", list_names("robots"))
def test_every_robot_gets_bodies_that_can_be(name: str) -> None:
    model = load_robot(name)
    for link in estimated_inertia(model):
        assert link.mass_kg > 0.0
        moments = np.linalg.eigvalsh(np.array(link.inertia_kg_m2))
        assert moments.min() > 0.0
        assert moments.max() <= moments[:2].sum() * (1.0 + 1e-3)


def test_the_estimates_in_files_are_those_of_the_program() -> None:
    for name, masses in (("kuka-kr5-arc", KR5_KG), ("stanford", (9.29, 5.01, 4.25, 1.08, 0.63, 0.51))):
        model = load_robot(name)
        for written, again in zip(model.inertia, estimated_inertia(model, masses_kg=masses), strict=True):
            assert written.mass_kg == pytest.approx(again.mass_kg)
            assert written.com_m == pytest.approx(again.com_m, abs=1e-9)
            assert np.array(written.inertia_kg_m2) == pytest.approx(np.array(again.inertia_kg_m2))


def test_the_mass_is_that_of_the_solids_as_drawn() -> None:
    model = load_robot("planar-2r")  # 2 m long: rods of 0.045, housings of 0.065, of 75 % at the first link
    rod, housing = 0.045 * 2.0 * 0.75, 0.065 * 2.0 * 0.75
    volume = math.pi * rod**2 * 1.0 + math.pi * housing**2 * 2.4 * housing
    assert estimated_inertia(model)[0].mass_kg == pytest.approx(DENSITY_KG_M3 * volume, rel=1e-3)


def test_known_masses_stay_and_unknown_ones_are_marked() -> None:
    puma = load_robot("puma560")
    assert with_estimate(puma) is puma
    ur5 = with_estimate(load_robot("ur5"))
    assert ur5.inertia_status.startswith("ESTIMATE")
    assert np.all(np.linalg.eigvalsh(Dynamics(ur5).mass_matrix(np.zeros(6))) > 0.0)


@pytest.mark.parametrize("density", [0.0, -1.0, math.nan, math.inf])
def test_a_density_that_cannot_be_is_refused(density: float) -> None:
    with pytest.raises(CommandError, match="density"):
        estimated_inertia(load_robot("ur5"), density_kg_m3=density)

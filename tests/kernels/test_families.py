"""Which closed form an arm gets, from its DH table alone."""

from __future__ import annotations

import pytest
from closed_forms import apart, chain_named, random_configurations

import hil
from hil.kernels.chain import forward
from hil.kernels.families import recognise
from hil.kernels.scalar import FLOATS
from hil.kinematics.certified import all_solutions

FAMILIES = {
    "planar-2r": "planar 2R",
    "planar-3r": "planar 3R",
    "adept-cobra600": "SCARA",
    "ur5": "six axes, three of them parallel",
    "puma560": "six axes with a spherical wrist",
    "stanford": "six axes with a sliding boom and a spherical wrist",
    "lynx6": "yaw and three parallel pitch axes, and a roll axis",
    "al5d": "yaw and three parallel pitch axes, no roll axis",
}
WITHOUT = {"panda", "pa10-7", "spatial-3r"}
"""Seven axes, or three that no full pose fits."""


@pytest.mark.parametrize(("name", "family"), FAMILIES.items())
def test_the_family_is_told_from_the_table(name: str, family: str) -> None:
    form = recognise(chain_named(name))
    assert form is not None
    assert form.family == family


def test_every_bundled_arm_has_a_closed_form_except_those_whose_axes_do_not_fit_a_pose() -> None:
    assert {name for name in hil.list_robots() if recognise(chain_named(name)) is None} == WITHOUT


@pytest.mark.parametrize("name", sorted(set(hil.list_robots()) - WITHOUT))
def test_every_configuration_of_every_bundled_arm_is_among_the_answers(name: str) -> None:
    form = recognise(chain_named(name))
    assert form is not None
    assert len(set(form.branches)) == len(form.branches)
    for q in random_configurations(form.chain, 5).tolist():
        solutions = all_solutions(form, forward(form.chain, q, FLOATS), q)
        assert min(apart(form.chain, s.q, q) for s in solutions) < 1e-6
        assert all(s.error <= 1e-9 for s in solutions)

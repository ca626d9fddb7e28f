"""Published inertias that no body can have are told of, and used."""

from __future__ import annotations

import pytest
from dynamic_arms import arm, arms, revolute
from hypothesis import given, settings

from hil.dynamics.plausibility import inertia_warnings
from hil.model.reader import load_robot
from hil.model.robot import LinkInertia, RobotModel


def test_the_published_puma_breaks_the_rules_in_links_1_and_3() -> None:
    texts = inertia_warnings(load_robot("puma560"))
    assert [text for text in texts if "exceeds the sum of the others" in text] == [
        text for text in texts if "J1: principal" in text or "J3: principal" in text
    ]
    assert {text.split(":")[0] for text in texts} == {"link of J1", "link of J3"}


@given(arms())
@settings(max_examples=30, deadline=None)
def test_real_bodies_raise_no_doubts(model: RobotModel) -> None:
    assert inertia_warnings(model) == ()


def test_an_arm_without_masses_raises_none_either() -> None:
    assert inertia_warnings(load_robot("ur5")) == ()


def test_missing_tensors_and_massless_links_are_told_of() -> None:
    assert len(inertia_warnings(load_robot("al5d"))) == 4
    (massless,) = inertia_warnings(load_robot("lynx6"))
    assert "wrist_rotate" in massless
    assert "neither mass nor inertia" in massless


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0)), "negative principal moment"),
        (((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 2.5)), "exceeds the sum"),
    ],
)
def test_impossible_moments_are_named(tensor: tuple[tuple[float, float, float], ...], words: str) -> None:
    link = LinkInertia(mass_kg=1.0, com_m=(0.0, 0.0, 0.0), inertia_kg_m2=tensor)
    (text,) = inertia_warnings(arm([revolute()], [link]))
    assert words in text

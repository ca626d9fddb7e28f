"""Inertias that no body can have are told of, and used; so are sizes and masses that look like another unit's."""

from __future__ import annotations

import msgspec
import pytest
from dynamic_arms import arm, arms, revolute
from hypothesis import given, settings

from hil.dynamics.plausibility import arm_warnings, inertia_warnings, unit_warnings
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.robot import JointType, LinkInertia, RobotModel


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


# -- units -----------------------------------------------------------------------------------------------


def in_unit(model: RobotModel, factor: float) -> RobotModel:
    """The arm as it comes out of a file whose lengths are not metres: `factor` of them in one metre."""
    joints = tuple(
        msgspec.structs.replace(
            joint,
            d_m=joint.d_m * factor,
            a_m=joint.a_m * factor,
            lower=_times(joint.lower, factor if joint.type is JointType.PRISMATIC else 1.0),
            upper=_times(joint.upper, factor if joint.type is JointType.PRISMATIC else 1.0),
        )
        for joint in model.joints
    )
    tool = tuple((*row[:3], row[3] * factor) for row in model.tool[:3])
    return msgspec.structs.replace(model, joints=joints, tool=(*tool, model.tool[3]))


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


@pytest.mark.parametrize("name", list_names("robots"))
def test_no_arm_that_is_known_looks_like_another_unit(name: str) -> None:
    assert unit_warnings(load_robot(name)) == ()


@pytest.mark.parametrize("name", ["lynx6", "puma560", "ur5", "panda", "rv2aj"])
@pytest.mark.parametrize(
    ("factor", "words"),
    [(100.0, "centimetres (hil import with --scale 0.01 "), (1000.0, "millimetres (hil import with --scale 0.001 "),
     (0.001, "metres divided by 1000 (hil import with --scale 1000 ")],
)  # fmt: skip
def test_an_arm_in_another_unit_is_told_which_it_looks_like(name: str, factor: float, words: str) -> None:
    (text,) = unit_warnings(in_unit(load_robot(name), factor))
    assert words in text and text.startswith("a reach of ")


@pytest.mark.parametrize(
    ("reach_m", "warned"), [(8.0, False), (8.01, True), (0.02, False), (0.0199, True), (0.0, False), (1e6, True)]
)
def test_the_marks_of_a_reach(reach_m: float, warned: bool) -> None:
    joints = [msgspec.structs.replace(revolute(), a_m=reach_m)]
    assert bool(unit_warnings(arm(joints, None))) == warned


@pytest.mark.parametrize(
    ("mass_kg", "words"),
    [(3001.0, "look like grams"), (2999.0, ""), (0.019, "look like tonnes"), (0.021, ""), (0.0, "")],
)
def test_masses_are_judged_by_the_reach(mass_kg: float, words: str) -> None:
    joints = [msgspec.structs.replace(revolute(), a_m=1.0)]
    texts = unit_warnings(arm(joints, [LinkInertia(mass_kg=mass_kg, com_m=(0.0, 0.0, 0.0))]))
    assert (words in texts[0]) if words else texts == ()


@pytest.mark.parametrize(
    ("com_m", "moment", "words"),
    [
        ((2.2, 0.0, 0.0), 0.1, "its centre of mass is 2.2 m away: it looks like centimetres"),
        ((200.0, 0.0, 0.0), 0.1, "its centre of mass is 200 m away: it looks like millimetres"),
        ((2.0, 0.0, 0.0), 0.1, ""),
        ((0.0, 0.0, 0.0), 5.0 * 2.2**2, "a body of radius 2.2 m, larger than the arm: it looks like kg cm2"),
        ((0.0, 0.0, 0.0), 5.0 * 200.0**2, "a body of radius 200 m, larger than the arm: it looks like kg mm2"),
        ((0.0, 0.0, 0.0), 5.0 * 2.0**2, ""),
    ],
)
def test_a_body_larger_than_the_arm_has_another_unit(com_m: tuple[float, ...], moment: float, words: str) -> None:
    tensor = tuple(tuple(moment if i == j else 0.0 for j in range(3)) for i in range(3))
    joints = [msgspec.structs.replace(revolute(), a_m=1.0)]
    texts = arm_warnings(arm(joints, [LinkInertia(mass_kg=5.0, com_m=com_m, inertia_kg_m2=tensor)]))
    assert (words in texts[0]) if words else texts == ()

"""Numbers that look like metres or radians are told so, and no others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.model.files import find, list_names
from hil.motion.tasks import load_task
from hil.motion.unit_hints import metres_hint, radians_hint, task_hints


def test_metres_are_told_in_millimetres() -> None:
    assert metres_hint([0.18, 0.0, 0.09]) == "these look like metres: 0.18 m is 180 mm"
    assert metres_hint([0.0, -0.05, 0.0]) == "these look like metres: -0.05 m is -50 mm"


def test_radians_are_told_in_degrees() -> None:
    assert radians_hint([0.5, 1.57, -1.0]) == "these look like radians: 1.57 rad is 90 deg"
    assert radians_hint([-0.785]) == "these look like radians: -0.785 rad is -45 deg"


@pytest.mark.parametrize("values", [[], [0.0, 0.0, 0.0], [180.0, 0.0, 90.0], [0.0, 3.0, 0.0], [0.001, 0.0, 0.0]])
def test_millimetres_are_left_alone(values: list[float]) -> None:
    assert not metres_hint(values)


@pytest.mark.parametrize("values", [[], [0.0], [90.0, 1.57], [1.0, 2.0, 3.0], [0.5, -0.5], [0.05]])
def test_degrees_are_left_alone(values: list[float]) -> None:
    assert not radians_hint(values)


@given(st.lists(st.integers(-179, 179), min_size=1, max_size=6))
def test_whole_degrees_are_never_taken_for_radians(values: list[int]) -> None:
    assert not radians_hint([float(value) for value in values])


@given(st.integers(1, 23))
def test_every_multiple_of_fifteen_degrees_in_radians_is_seen(count: int) -> None:
    value = round(count * math.pi / 12.0, 2)
    if not value.is_integer():
        assert radians_hint([value])


@pytest.mark.parametrize("name", list_names("tasks"))
def test_no_bundled_task_looks_like_another_unit(name: str) -> None:
    assert not list(task_hints(load_task(find("tasks", name))))

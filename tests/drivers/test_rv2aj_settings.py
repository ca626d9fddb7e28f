"""A rig's ``[controller]`` table for a CR1: what it may say, and what the line can carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rv2aj_script import AXES, settings, table

from drivers._rv2aj_settings import LOWER_DEG, UPPER_DEG
from drivers.rv2aj import settings_from_table
from hil.errors import CommandError, ConfigError
from hil.link import ControllerSettings
from hil.model.reader import load_rig
from hil.units import DEG

CONTROLLERS = {"rv2aj": settings_from_table}
RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")


def test_joint_ranges_are_those_of_the_factory_s_mejar() -> None:
    assert LOWER_DEG == (-150.0, -60.0, -110.0, -90.0, -200.0)
    assert UPPER_DEG == (150.0, 120.0, 120.0, 90.0, 200.0)


def test_the_settings_are_what_the_house_asks_of_any_controller() -> None:
    assert isinstance(settings(), ControllerSettings)
    assert settings().framing == "8E2"


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"baud": 115200}, "controller.baud", "9600"),
        ({"framing": "7E2"}, "controller.framing", "8E2"),
        ({"way": "servo"}, "controller.way", "segments"),
        ({"port": None}, "controller.port", "required"),
        ({"override_percent": 30}, "controller.override_percent", "until the first motion of this arm was watched"),
        ({"override_percent": 0}, "controller.override_percent", ">= 1"),
        ({"send_period_ms": 500}, "controller.send_period_ms", "with way = 'segments' at 9600 baud"),
        ({"lower_deg": [200, -60, -110, -90, -200]}, "controller.lower_deg.0", "less than upper_deg"),
        ({"lower_deg": [150, -60, -110, -90, -200]}, "controller.lower_deg.0", "less than upper_deg"),
        ({"max_speed_deg_s": [0, 90, 135, 180, 210]}, "controller.max_speed_deg_s.0", "more than 0"),
        ({"chanel": 3}, "controller.chanel", "no such key"),
    ],
)
def test_a_wrong_key_is_named_with_what_is_allowed(changes: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(**changes)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_more_than_a_tenth_of_the_speed_needs_somebody_who_watched() -> None:
    assert settings(override_percent=30, override_watched_by="A. Mentor, 2026-01-31").override_percent == 30


def test_other_axes_than_the_arms_five_are_refused() -> None:
    for axes in (AXES[:4], (*AXES, ("hand", "gripper")), tuple((f"J{i}", "revolute") for i in range(1, 7))):
        with pytest.raises(ConfigError, match="J1, J2, J3, J5, J6"):
            settings_from_table(table(), axes, "rig.toml")


@given(st.lists(st.floats(-4, 4), min_size=5, max_size=5))
def test_rounding_is_the_same_for_one_pose_and_for_many(pose: list[float]) -> None:
    wire = settings()
    one = wire.quantise_pose(pose)
    assert np.array_equal(wire.quantise(np.array([pose, pose]))[1], np.array(one))
    assert np.abs(np.array(one) - pose).max() <= 0.5 * wire.quantum()[0] + 1e-12


def test_positions_that_are_not_finite_or_not_five_are_refused() -> None:
    for wrong in ([0.0] * 4, [0.0, 0.0, float("nan"), 0.0, 0.0]):
        with pytest.raises(CommandError, match="finite numbers, 5 per row"):
            settings().quantise(np.array(wrong))


def test_a_byte_takes_twelve_bit_times_on_the_factory_line() -> None:
    assert settings().wire_s(800) == 1.0
    assert settings(framing="8N1").wire_s(960) == 1.0


# -- rigs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIGS)
def test_the_bundled_rigs_move_within_what_the_controller_keeps_up_with(name: str) -> None:
    rig = load_rig(name, CONTROLLERS)
    pace = rig.controller.pace
    assert pace is not None
    assert all(axis.speed <= most for axis, most in zip(rig.axes, pace.keeps_up, strict=True))
    assert rig.controller.line_time_s() < 0.7 * pace.send_period_s
    assert rig.axes[0].lower == -148 * DEG


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"joints": {"J2": {"speed_deg_s": 20}}}, "joints.J2.speed_deg_s", "at most 5.52"),
        ({"timing": {"look_ahead_ms": 1000}}, "timing.look_ahead_ms", "at least 3000"),
        ({"controller": {"send_period_ms": 850, "way": "line"}}, "controller.send_period_ms", "at least 867 at 9600"),
    ],
)
def test_a_rig_that_claims_more_than_the_line_can_carry_is_refused(
    changes: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_rig("rv2aj", CONTROLLERS, changes)
    assert caught.value.key == key
    assert words in str(caught.value)


def test_a_faster_line_carries_more() -> None:
    changes = {"controller": {"send_period_ms": 850, "way": "line", "baud": 38400}}
    assert load_rig("rv2aj", CONTROLLERS, changes).controller.baud == 38400


def test_the_rig_says_of_each_unconfirmed_number_that_it_is_one() -> None:
    text = (Path(__file__).parents[2] / "configs" / "rigs" / "rv2aj.toml").read_text()
    for line in text.splitlines():
        if line.startswith(("max_speed_deg_s", "latency_ms", "ramp_ms")):
            assert "not confirmed" in line or "not known" in line

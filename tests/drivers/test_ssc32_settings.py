"""A rig's controller table: strict at the door, exact after it."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import AXES, axis, settings, table

from drivers.ssc32 import settings_from_table
from hil.errors import CommandError, ConfigError
from hil.model.rig import digest_of

LOWER, UPPER = (ends.tolist() for ends in settings().bounds())


def positions(count=None):
    row = st.tuples(*(st.floats(low, high) for low, high in zip(LOWER, UPPER, strict=True)))
    return row if count is None else st.lists(row, min_size=count, max_size=count)


def changed(key, value):
    """The good table with one key of one axis replaced; value None removes it."""
    whole = copy.deepcopy(table())
    if value is None:
        del whole["axis"]["base"][key]
    else:
        whole["axis"]["base"][key] = value
    return whole


NAN = float("nan")


@pytest.mark.parametrize(
    ("bad", "key"),
    [
        (table(baud=0), "controller.baud"),
        (table(baud=-9600), "controller.baud"),
        (table(baud=9600.5), "controller.baud"),
        (table(baud=None), "controller.baud"),
        (table(port=None), "controller.port"),
        (table(port=""), "controller.port"),
        (table(ports="x"), "controller.ports"),
        (table(kind="cr1"), "controller.kind"),
        (table(reply_timeout_ms=0), "controller.reply_timeout_ms"),
        (table(reply_timeout_ms=NAN), "controller.reply_timeout_ms"),
        (table(reply_timeout_ms=math.inf), "controller.reply_timeout_ms"),
        (table(canary_channel=32), "controller.canary_channel"),
        (table(canary_channel=2), "controller.canary_channel"),
        (table(canary_channel=True), "controller.canary_channel"),
        (changed("channel", 2), "controller.axis.elbow.channel"),
        (changed("channel", 32), "controller.axis.base.channel"),
        (changed("channel", -1), "controller.axis.base.channel"),
        (changed("channel", None), "controller.axis.base.channel"),
        (changed("lower_us", 499), "controller.axis.base.lower_us"),
        (changed("lower_us", 0), "controller.axis.base.lower_us"),
        (changed("lower_us", None), "controller.axis.base.lower_us"),
        (changed("upper_us", 2501), "controller.axis.base.upper_us"),
        (changed("upper_us", 525), "controller.axis.base.upper_us"),
        (changed("upper_us", 2320.5), "controller.axis.base.upper_us"),
        (changed("points_deg_us", None), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", []), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[0, 1500]]), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[0, 1500], [0, 1600]]), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[0, 1500], [90, 1500]]), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[-90, 900], [0, 1500], [90, 1400]]), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[90, 2300], [0, 1500]]), "controller.axis.base.points_deg_us"),
        (changed("points_deg_us", [[NAN, 900], [0, 1500]]), "controller.axis.base.points_deg_us.0.0"),
        (changed("points_deg_us", [[0, NAN], [90, 1500]]), "controller.axis.base.points_deg_us.0.1"),
        (changed("points_deg_us", [[-90, 0], [90, 2000]]), "controller.axis.base.points_deg_us.0"),
        (changed("points_deg_us", [[-90, 499], [90, 2000]]), "controller.axis.base.points_deg_us.0"),
        (changed("points_deg_us", [[-90, 900], [90, 2501]]), "controller.axis.base.points_deg_us.1"),
        (changed("points_deg_us", [[-90, 900, 1], [90, 2000]]), "controller.axis.base.points_deg_us.0"),
        (changed("points_mm_us", [[0, 900], [90, 2000]]), "controller.axis.base.points_mm_us"),
        (changed("offset_us", 3), "controller.axis.base.offset_us"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_allowed(bad, key):
    with pytest.raises(ConfigError) as caught:
        settings_from_table(bad, AXES, "rig.toml")
    assert caught.value.file == "rig.toml"
    assert caught.value.key == key
    assert caught.value.allowed
    assert str(caught.value).startswith(f"rig.toml: {key}: ")


def test_an_axis_that_is_missing_or_unknown_is_named():
    whole = table()
    del whole["axis"]["elbow"]
    with pytest.raises(ConfigError, match=r"controller\.axis\.elbow: nothing given"):
        settings_from_table(whole, AXES, "rig.toml")
    whole = table()
    whole["axis"]["elbo"] = whole["axis"]["elbow"]
    with pytest.raises(ConfigError, match=r"controller\.axis\.elbo: .*an axis of the rig: base, elbow, gripper"):
        settings_from_table(whole, AXES, "rig.toml")


def test_a_gripper_is_calibrated_in_millimetres_and_a_joint_in_degrees():
    whole = table()
    whole["axis"]["gripper"] = axis([[0, 1475], [30, 2500]], 4, 1475, 2500)
    with pytest.raises(ConfigError, match=r"points_deg_us: .*points_mm_us"):
        settings_from_table(whole, AXES, "rig.toml")


def test_the_measured_points_are_met_exactly_and_the_map_bends_between_them():
    us = settings().pulse_us
    assert [us(0, math.radians(d)) for d in (-90, -45, 0, 45, 90)] == [525, 992, 1460, 1890, 2320]
    assert [us(1, math.radians(d)) for d in (-90, 0, 90)] == [2340, 1455, 580]
    assert [us(2, mm / 1000) for mm in (0, 19.05, 28.575)] == [1475, 1760, 2500]


@given(positions())
def test_a_position_within_the_bounds_is_within_one_quantum_of_what_the_board_sees(wanted):
    chosen = settings()
    seen = chosen.quantise(np.array(wanted))
    assert np.all(np.abs(seen - np.array(wanted)) <= 0.5 * chosen.quantum() * (1 + 1e-9))


@given(positions(count=4))
def test_one_row_many_rows_and_the_encoder_round_alike(rows):
    chosen = settings()
    together = chosen.quantise(np.array(rows))
    for row, seen in zip(rows, together, strict=True):
        assert chosen.quantise(np.array(row)).tolist() == seen.tolist()
        pulses = [chosen.pulse_us(i, position) for i, position in enumerate(row)]
        assert [chosen.position(i, pulse) for i, pulse in enumerate(pulses)] == seen.tolist()


@given(positions())
def test_quantising_twice_changes_nothing(wanted):
    once = settings().quantise(np.array(wanted))
    assert settings().quantise(once).tolist() == once.tolist()


def test_rounding_goes_half_to_even():
    whole = table()
    whole["axis"]["gripper"] = axis([[0, 1000], [1000, 2000]], 4, 500, 2500, "points_mm_us")
    chosen = settings_from_table(whole, AXES, "rig.toml")
    assert [chosen.pulse_us(2, mm / 1000) for mm in (0.5, 1.5, 2.5)] == [1000, 1002, 1002]


@pytest.mark.parametrize("outside_us", [-1, 1])
def test_the_pulse_limits_hold_to_the_microsecond(outside_us):
    chosen = settings()
    edge = chosen.axes[0].upper_us if outside_us > 0 else chosen.axes[0].lower_us
    assert chosen.pulse_us(0, chosen.position(0, edge)) == edge
    with pytest.raises(CommandError) as caught:
        chosen.pulse_us(0, chosen.position(0, edge + outside_us))
    assert caught.value.axis == "base"
    assert "525..2320 us (-90.00 deg to 90.00 deg)" in caught.value.allowed


@pytest.mark.parametrize("position", [NAN, math.inf, -math.inf, 1e300, -1e300])
def test_numbers_that_are_no_position_are_refused_not_rounded(position):
    with pytest.raises(CommandError):
        settings().pulse_us(0, position)


@pytest.mark.parametrize("wanted", [[NAN, 0.0, 0.0], [[0.0, math.inf, 0.0]], [0.0, 0.0], [[0.0] * 4], 0.0])
def test_quantising_refuses_what_is_not_finite_or_has_the_wrong_shape(wanted):
    with pytest.raises(CommandError):
        settings().quantise(np.array(wanted))


def test_an_echo_is_ten_times_as_coarse_as_a_command():
    assert settings().report_quantum().tolist() == (10 * settings().quantum()).tolist()


def test_the_line_time_is_that_of_the_longest_move_query_and_reply():
    move, query, reply = b"#0P2320#2P2340#4P2500T65535\r", b"QP0QP2QP4QP31\r", 4
    expected_s = (len(move) + len(query) + reply) * 10 / 115200 + 600e-6 + 3 * 70e-6
    assert settings().line_time_s() == pytest.approx(expected_s, rel=1e-12)
    assert settings(baud=9600).line_time_s() > 10 * settings().line_time_s()
    assert settings().settle_s == 0.020


def test_the_digest_covers_every_calibration_point_and_survives_a_trip_through_a_process_boundary():
    first, second = settings(), table()
    second["axis"]["gripper"]["points_mm_us"][1][1] += 1
    assert digest_of(first) != digest_of(settings_from_table(second, AXES, "rig.toml"))
    before = digest_of(first)
    first.quantise(np.zeros(3))
    assert digest_of(first) == before == digest_of(pickle.loads(pickle.dumps(first)))

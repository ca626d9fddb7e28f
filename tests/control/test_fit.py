"""A servo's numbers are found again from what was measured of it, each within its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.control.fit import Stretch, fit_servo, followed
from hil.control.servo import follower
from hil.errors import CommandError
from hil.model.servo import DriveServo, HobbyServo

pytest.importorskip("scipy")

TOP = math.radians(250.0)


def recording(model, lag_s=0.05, *, delay_s=0.0, noise=0.0, loaded=False, amplitude=0.6):
    """Swings that grow quicker, steps and rests; measured every 30 ms."""
    time_s = np.arange(0.0, 14.0, 0.02)
    swing = amplitude * np.sin(2.0 * math.pi * (0.15 * time_s + 0.04 * time_s**2))
    target = np.where(time_s < 9.0, swing, amplitude * np.sign(np.sin(2.0 * math.pi * 0.5 * time_s)))
    load = 0.5 * np.cos(target) if loaded else np.zeros(len(time_s))
    servo, fine = follower(model, 0.0, lag_s, TOP), np.arange(0.0, time_s[-1], 0.002)
    at, held = np.interp(fine, time_s, target), np.interp(fine, time_s, load)
    places = [0.0]
    for start, end, weight in zip(at[:-1].tolist(), at[1:].tolist(), held[1:].tolist(), strict=True):
        places.append(servo.follow(start, end, 0.002, weight))
    measured_s = np.arange(0.1, 13.8, 0.03)
    shown = np.interp(measured_s - delay_s, fine, places)
    shown = shown + noise * np.random.default_rng(1).standard_normal(len(shown))
    return Stretch(time_s, target, load, measured_s, shown)


def test_a_drive_is_found_again_within_five_percent():
    true = DriveServo(acceleration=math.radians(900.0))
    fit = fit_servo([recording(true, 0.06, noise=1e-4)], "drive", top_speed=TOP, way=1.2)
    assert fit.lag_s == pytest.approx(0.06, rel=0.05)
    assert fit.model.acceleration == pytest.approx(true.acceleration, rel=0.05)
    assert all(fit.value(name).known for name in ("lag", "acceleration"))
    assert fit.value("delay").value == pytest.approx(0.0, abs=0.003)


def test_a_hobby_servo_is_found_again_within_five_percent():
    true = HobbyServo(frequency_rad_s=2.0 * math.pi * 4.0, damping=0.8, dead_band=0.03, sag=0.06)
    fit = fit_servo([recording(true, noise=5e-4, loaded=True)], "hobby", top_speed=TOP, way=1.2)
    found = fit.model
    assert found.frequency_rad_s == pytest.approx(true.frequency_rad_s, rel=0.05)
    assert found.damping == pytest.approx(true.damping, rel=0.05)
    assert found.dead_band == pytest.approx(true.dead_band, rel=0.05)
    assert found.sag == pytest.approx(true.sag, rel=0.05)
    assert fit.rms < 1.5e-3


def test_volts_of_a_potentiometer_need_no_calibration_and_no_common_clock():
    true = HobbyServo(frequency_rad_s=2.0 * math.pi * 4.0, damping=0.8, dead_band=0.03)
    seen = recording(true, noise=2e-4)
    volts = seen._replace(measured=2.5 - 1.3 * seen.measured, measured_s=seen.measured_s + 0.4)
    fit = fit_servo([volts], "hobby", top_speed=TOP, way=1.2, volts=True, own_clock=True)
    assert fit.model.frequency_rad_s == pytest.approx(true.frequency_rad_s, rel=0.05)
    assert fit.model.damping == pytest.approx(true.damping, rel=0.05)
    assert fit.value("delay").value == pytest.approx(0.4, abs=0.005)


def test_a_calibration_that_is_off_is_no_servo():
    true = DriveServo(acceleration=math.radians(900.0))
    seen = recording(true, 0.06)
    fit = fit_servo([seen._replace(measured=seen.measured + 0.02)], "drive", top_speed=TOP, way=1.2)
    assert fit.offset == pytest.approx(0.02, abs=1e-3)
    assert fit.lag_s == pytest.approx(0.06, rel=0.05)


def test_a_drive_that_never_met_its_acceleration_is_not_known_by_it():
    slow = recording(DriveServo(acceleration=1e4), 0.06, noise=1e-4, amplitude=0.05)
    calm = slow.time_s < 8.0
    seen = slow.measured_s < 7.9
    part = Stretch(slow.time_s[calm], slow.target[calm], slow.load[calm], slow.measured_s[seen], slow.measured[seen])
    fit = fit_servo([part], "drive", top_speed=TOP, way=0.1)
    assert fit.value("lag").known and fit.lag_s == pytest.approx(0.06, rel=0.05)
    assert not fit.value("acceleration").known


def test_the_shadow_follows_closer_with_what_was_found():
    true = HobbyServo(frequency_rad_s=2.0 * math.pi * 4.0, damping=0.8, dead_band=0.03)
    seen = [recording(true)]
    fit = fit_servo(seen, "hobby", top_speed=TOP, way=1.2)
    found, measured = followed(seen, fit.model, fit.lag_s, TOP)
    before, _ = followed(seen, DriveServo(acceleration=1e4), 0.02, TOP)
    assert np.sqrt(np.mean((found - measured) ** 2)) < 0.2 * np.sqrt(np.mean((before - measured) ** 2))


def test_too_little_and_another_kind_are_refused():
    seen = recording(DriveServo(acceleration=20.0), 0.06)
    few = seen._replace(measured_s=seen.measured_s[:30], measured=seen.measured[:30])
    with pytest.raises(CommandError, match="allowed: 40 or more"):
        fit_servo([few], "drive", top_speed=TOP, way=1.2)
    with pytest.raises(CommandError, match="allowed: hobby, drive"):
        fit_servo([seen], "stepper", top_speed=TOP, way=1.2)

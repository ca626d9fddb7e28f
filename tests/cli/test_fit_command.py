"""hil fit: the servos of arms that were measured, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from command_line import Terminal
from script_module import load_script

from hil.model.files import bundled_dir
from hil.types import TickRecord
from hil.units import DEG

pytest.importorskip("scipy")

LAG_S = 0.08
arms = load_script("measured_arms")


@pytest.fixture(scope="module")
def measured_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CR1 that is led by packets and whose drives lag by 80 ms, where the rig takes them for 60."""
    folder = tmp_path_factory.mktemp("measured")
    arm = arms.lagging_rv2aj()
    arm.run(arms.sway(folder, {"J1": 40, "J2": 20, "J3": -20, "J6": 40}))
    return arms.journal_of(arm, folder / "arm.mcap")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def test_a_measured_arm_gives_its_lag_back_and_its_shadow_comes_closer(terminal: Terminal, measured_arm: Path) -> None:
    told = json.loads(terminal.run("fit", str(measured_arm), "--json").out)
    assert [each["axis"] for each in told["axes"]] == ["J1", "J2", "J3", "J6"]
    assert [name for name, _ in told["left_out"]] == ["J5"]
    for each in told["axes"]:
        lag = each["values"]["lag"]
        assert lag["value"] == pytest.approx(1e3 * LAG_S, rel=0.05)
        assert lag["known"] and lag["low"] < lag["value"] < lag["high"]
        assert each["rms_after"] < 0.6 * each["rms_before"]
        assert each["lines"][0].startswith("servo_lag_ms = ")


def test_the_journal_that_comes_with_it_gives_the_lag_of_its_drives_back(terminal: Terminal) -> None:
    """Made by `scripts/_measured_arms.py`: the same drives, J1 alone moves."""
    shipped = bundled_dir() / "journals" / "rv2aj-drives.mcap"
    told = json.loads(terminal.run("fit", str(shipped), "--json").out)
    (drive,) = told["axes"]
    assert drive["axis"] == "J1" and drive["kind"] == "drive"
    lag = drive["values"]["lag"]
    assert lag["known"] and lag["value"] == pytest.approx(1e3 * LAG_S, rel=0.05)
    assert not drive["values"]["acceleration"]["known"]
    assert drive["rms_after"] < 0.6 * drive["rms_before"]


def test_the_hobby_servo_that_comes_with_it_is_found_in_what_a_camera_saw(terminal: Terminal) -> None:
    """Made by `scripts/_measured_arms.py`: a camera, with noise and in tenths of a degree, looks on."""
    shipped = bundled_dir() / "journals" / "lynx6-servo.mcap"
    told = json.loads(terminal.run("fit", str(shipped), "--measured", str(shipped.with_suffix(".csv")), "--json").out)
    (base,) = told["axes"]
    assert base["axis"] == "base" and base["kind"] == "hobby"
    true = {"frequency": arms.BASE.frequency_rad_s / (2.0 * math.pi), "damping": arms.BASE.damping,
            "dead_band": arms.BASE.dead_band / DEG}  # fmt: skip
    for name, value in true.items():
        found = base["values"][name]
        assert found["value"] == pytest.approx(value, rel=0.05), name
        assert found["known"] and found["low"] < value < found["high"], name
    # Half a refresh of the board: its pulses are steps.
    assert base["values"]["delay"]["value"] == pytest.approx(10.0, abs=4.0)
    assert not any("damping" in remark or "frequency" in remark for remark in base["remarks"])


def test_it_prints_numbers_gain_and_lines_for_the_rig(terminal: Terminal, measured_arm: Path) -> None:
    outcome = terminal.run("fit", str(measured_arm), "--axis", "J1")
    assert outcome.code == 0
    for words in ("servos of FAKE rv2aj-mxt", "with 95 % between", "rms so far", "# J1\nservo_lag_ms = "):
        assert words in outcome.out


@pytest.fixture(scope="module")
def echoed_arm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TickRecord], list[float]]:
    """A Lynx6 whose base is a hobby servo, and where that really was at each tick."""
    folder = tmp_path_factory.mktemp("echoed")
    arm, places = arms.watched_lynx6()
    arm.run(arms.sway(folder, {"base": 40.0}))
    return arms.journal_of(arm, folder / "arm.mcap"), arm.records, places


def test_an_echo_is_refused_with_what_to_give(terminal: Terminal, echoed_arm) -> None:
    outcome = terminal.run("fit", str(echoed_arm[0]))
    assert outcome.code == 1
    assert "echoes the pulses that it makes" in outcome.err and "--measured FILE.csv" in outcome.err


def test_a_camera_beside_it_finds_the_servo(terminal: Terminal, echoed_arm, tmp_path: Path) -> None:
    journal, records, places = echoed_arm
    arms.write_table(tmp_path / "camera.csv", records, places)
    told = json.loads(terminal.run("fit", str(journal), "--measured", "camera.csv", "--json").out)
    (base,) = told["axes"]
    assert base["kind"] == "hobby" and base["axis"] == "base"
    values = base["values"]
    for name, true in (("frequency", 4.0), ("damping", 0.9), ("dead_band", 1.0)):
        assert values[name]["low"] < true < values[name]["high"], name
    lag_ms = 1e3 * values["damping"]["value"] / (math.pi * values["frequency"]["value"])
    # Half a refresh of the board on top: it makes steps of what was told to go straight.
    assert lag_ms + values["delay"]["value"] == pytest.approx(1e3 * 0.9 / (math.pi * 4.0) + 10.0, rel=0.05)
    assert values["dead_band"]["value"] == pytest.approx(1.0, rel=0.05)
    assert base["rms_after"] < 0.2 * base["rms_before"]
    # One slow sway hardly tells the two apart, and that is said.
    assert values["damping"]["value"] == pytest.approx(0.9, rel=0.1)
    assert any(remark.startswith("damping: known to 1") and "% only" in remark for remark in base["remarks"])


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--axis", "J9"), 1, "allowed: J1, J2, J3, J5, J6"),
        (("--axis", "J5"), 1, "Move every joint to and fro"),
        (("--kind", "stepper"), 2, "allowed: hobby, drive"),
        (("--measured", "none.csv"), 2, "does not exist"),
        (("--measured", "wrong.csv"), 1, "allowed: time_s, and one of J1_deg"),
        (("--measured", "words.csv"), 1, "numbers with a point"),
        (("--until", "0.5"), 1, "the controller reported nothing"),
    ],
)
def test_what_cannot_be_fitted_is_refused(terminal: Terminal, measured_arm: Path, options, code, words) -> None:
    (terminal.folder / "wrong.csv").write_text("time,J1\n0,1\n")
    (terminal.folder / "words.csv").write_text("time_s,J1_deg\n0,left\n1,right\n")
    outcome = terminal.run("fit", str(measured_arm), *options)
    assert outcome.code == code and words in " ".join(outcome.err.replace("│", " ").split())

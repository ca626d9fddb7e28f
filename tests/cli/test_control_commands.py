"""hil simulate and hil tune: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from command_line import Terminal

from hil.control.crew import DaskWorkers
from hil.control.experiment import Experiment, read_experiment
from hil.control.summary import JointSummary
from hil.workbench.columns import read_columns

MOVE = ("planar-2r", "--to", "60,-40", "--gravity", "0,-9.81,0", "--duration", "0.2", "--rate", "500")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(tmp_path, monkeypatch, capsys)


def test_a_run_is_told_per_joint_and_of_the_tool(terminal: Terminal) -> None:
    told = terminal.run("simulate", *MOVE, "--json")
    summary = json.loads(told.out)
    assert [joint["name"] for joint in summary["joints"]] == ["J1", "J2"]
    assert summary["joints"][0]["wanted"] == pytest.approx(60.0)
    assert summary["ticks"] == 101
    assert "estimated" in summary["estimated"]
    words = terminal.run("simulate", *MOVE).out
    assert "masses of this arm are estimated" in " ".join(words.split())
    assert "cost:" in words


def test_a_free_fall_is_told_from_start_to_end_for_nothing_is_wanted(terminal: Terminal) -> None:
    told = terminal.run("simulate", "planar-2r", "--free-fall", "--gravity", "0,-9.81,0", "--duration", "0.2").out
    assert "start and end" in told and "largest difference" in told and "wanted" not in told
    assert "wanted and actual" in terminal.run("simulate", *MOVE).out


def test_what_rounding_makes_of_a_joint_that_stands_still_is_no_error() -> None:
    joint = JointSummary(
        name="J1",
        unit="deg",
        wanted=0.0,
        actual=0.0,
        largest_error=-1.48e-27,
        largest_error_s=0.0,
        rms_error=0.0,
        largest_speed=0.0,
        largest_torque=0.0,
        at_limit=0.0,
    )
    assert joint.error_text(joint.largest_error) == "0 deg" and joint.error_text(-0.9e-6) == "0 deg"
    assert joint.error_text(-1.1e-6) == "-1.1e-06 deg" and joint.error_text(0.2849) == "0.285 deg"


def test_what_is_written_is_the_run_and_its_settings(terminal: Terminal, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("run.csv", "run.mcap", "run.html")]
    told = terminal.run("simulate", *MOVE, *[part for file in files for part in ("-o", str(file))])
    assert told.code == 0
    names, *rows = files[0].read_text().splitlines()
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    columns = dict(zip(names.split(","), table.T, strict=True))
    assert columns["J1_error_deg"] == pytest.approx(columns["J1_wanted_deg"] - columns["J1_actual_deg"], abs=1e-6)
    journal = read_columns(files[1])
    assert journal.axes[0].commanded == pytest.approx(columns["J1_wanted_deg"], abs=1e-6)
    assert journal.axes[0].simulated == pytest.approx(columns["J1_actual_deg"], abs=1e-6)
    assert -journal.axes[1].simulated_error == pytest.approx(columns["J2_error_deg"], abs=1e-6)
    settings = read_experiment(files[0].with_suffix(".json"))
    assert settings.reference.end == (60.0, -40.0)
    assert msgspec.convert(journal.session.settings["experiment"], Experiment) == settings
    page = files[2].read_text()
    assert "<svg" in page and "estimated" in page and "gravity_m_s2" in page
    again = terminal.run("simulate", "planar-2r", "--settings", str(files[0].with_suffix(".json")), "--json")
    first = terminal.run("simulate", *MOVE, "--json")
    assert json.loads(again.out) == json.loads(first.out)
    assert "hil simulate" in terminal.run("journal", "replay", str(files[1])).err


def test_a_search_keeps_its_best_for_simulate_and_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    search = (
        "tune",
        *MOVE,
        "--vary",
        "kp=20,100,400",
        "--vary",
        "kv=5,20",
        "--cores",
        "1",
        "--folder",
        str(tmp_path / "s"),
    )
    told = json.loads(terminal.run(*search, "--pareto", "-o", str(tmp_path / "all.csv"), "--json").out)
    assert (told["settings"], told["done"], told["minimised"]) == (6, 6, "cost")
    best = told["best"][0]
    rows = (tmp_path / "all.csv").read_text().splitlines()
    assert rows[0].startswith("kp,kd,cost,cost_s,largest_error_rad")
    assert min(float(row.split(",")[2]) for row in rows[1:]) == pytest.approx(best["cost"])
    assert told["runs"][1]["summary"]["cost"] == pytest.approx(best["cost"])
    run = terminal.run("simulate", "planar-2r", "--settings", str(tmp_path / "s" / "best.json"), "--json")
    assert json.loads(run.out)["cost"] == pytest.approx(best["cost"])
    other = terminal.run(*search, "--vary", "ki=1,2")
    assert other.code == 1
    assert "--again" in other.err
    words = terminal.run(*search)
    assert "before and after" in words.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("simulate ur5 --to 0", "--estimate-masses"),
        ("simulate puma560", "where should it go?"),
        ("simulate puma560 --to J9=3", "no joint 'J9'"),
        ("simulate puma560 --to 1,2", "2 numbers given; allowed: one for all joints, or 6: J1"),
        ("simulate puma560 --to J2=60 --rate 0", "rate: 0.0 given; allowed: a number above 0"),
        ("simulate puma560 --to J2=60 --rate nan", "rate: nan given"),
        ("simulate puma560 --to J2=60 --kp nan --kd 1", "kp of J1: nan given"),
        ("simulate puma560 --to J2=60 --kp 5", "both, or neither"),
        ("simulate puma560 --to J2=60 --kp a --kd 1", "'a' is no number"),
        ("simulate puma560 --to J2=60 --payload -1", "a mass of 0 kg or more"),
        ("simulate puma560 --to J2=60 --blend 0.6", "do not fit into a motion of 1 s"),
        ("simulate puma560 --to J2=60 --reference blended --cruise 200", "turn back"),
        ("simulate puma560 --to J2=60 --reference spiral", "allowed: cubic, blended, quintic"),
        ("simulate puma560 --to J2=60 --law scaled-pd", "factors"),
        ("simulate puma560 --to J2=60 --law scaled-pd --factor 2*qq", "nothing is called qq"),
        ("simulate puma560 --to J2=60 --disturb J2", "JOINT:NM"),
        ("simulate puma560 --to J2=60 --from 0,300,0,0,0,0", "start of J2: 300 given; allowed: -45 to 225"),
        ("simulate puma560 --to J2=60 --settings nowhere.json", "settings that can be read"),
        ("simulate puma560 --to J2=60 -o run.xls", "allowed: a name that ends in"),
        ("tune puma560 --to J2=60", "nothing varies"),
        ("tune puma560 --to J2=60 --vary kp", "NAME=FROM:TO:STEP"),
        ("tune puma560 --to J2=60 --vary kp=1,2 --optimise 3", "50 to"),
        ("tune puma560 --to J2=60 --vary kp=1,2 --cluster tcp://127.0.0.1:9", "cluster"),
    ],
)
def test_what_has_no_meaning_is_refused_in_words_with_what_to_give(
    terminal: Terminal, command: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DaskWorkers, "CONNECT_S", 0.5)
    outcome = terminal.run(*command.split())
    assert outcome.code == 1
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_an_unstable_run_ends_with_one_and_says_which_bound(terminal: Terminal) -> None:
    outcome = terminal.run("simulate", *MOVE, "--kp", "1e6", "--kd", "1e6")
    assert outcome.code == 1
    assert "unstable:" in outcome.out


def test_settings_of_a_file_are_strict(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('robot = "puma560"\nrate_khz = 1\n')
    with pytest.raises(Exception, match="rate_khz"):
        read_experiment(file)
    file.write_text('robot = "puma560"\nrate_hz = 500\n[reference]\nend = [1, 2]\n')
    assert read_experiment(file).rate_hz == 500
    assert isinstance(read_experiment(file), Experiment)


def test_torques_of_a_motion_are_told_and_written_without_a_run(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "torques.csv"
    told = json.loads(terminal.run("simulate", *MOVE, "--inverse", "--json", "-o", str(file)).out)
    names, *rows = file.read_text().splitlines()
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    columns = dict(zip(names.split(","), table.T, strict=True))
    assert told["ticks"] == len(table) == 101
    total = columns["J1_total_Nm"]
    assert abs(told["joints"][0]["largest"]) == pytest.approx(np.abs(total).max())
    parts = [columns[f"J1_{part}_Nm"] for part in ("inertia", "speeds", "gravity", "friction")]
    assert sum(parts) == pytest.approx(total)
    assert "of gravity" in terminal.run("simulate", *MOVE, "--inverse").out
    assert terminal.run("simulate", *MOVE, "--inverse", "--free-fall").code == 2
    assert "ends in .csv" in terminal.run("simulate", *MOVE, "--inverse", "-o", "torques.png").err

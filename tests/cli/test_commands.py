"""What a person sees: first lines, refusals, exit codes; never a traceback."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from calibrations import calibrate_as_it_is

import hil.cli.main as command_line
from hil.cli import motion_commands
from hil.motion.planner import plan
from hil.robot import Robot, load_robot
from hil.runtime.wiring import load_rig

CONFIGS = Path(__file__).parents[2] / "configs"


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def text(self) -> str:
        return self.out + self.err


@pytest.fixture
def hil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hil", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            command_line.main()
        captured = capsys.readouterr()
        code = exit_info.value.code
        assert "Traceback" not in captured.out + captured.err
        return Outcome(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return run


def test_robots_are_listed_with_their_status(hil) -> None:
    outcome = hil("robots")
    assert outcome.code == 0
    assert "puma560" in outcome.out and "verified" in outcome.out


def test_what_a_robot_file_does_not_give_is_shown_as_not_given(hil) -> None:
    outcome = hil("robots", "lynx6")
    assert outcome.code == 0
    assert outcome.out.count("not given") >= 5
    assert "None" not in outcome.out


def test_rigs_are_listed_as_json_for_programs(hil) -> None:
    outcome = hil("rigs", "--json")
    assert {rig["id"] for rig in json.loads(outcome.out)} >= {"lynx6", "lynx6-4axis", "al5d"}


def test_a_misspelt_name_is_answered_with_the_closest(hil) -> None:
    outcome = hil("robots", "lynx7")
    assert outcome.code == 1
    assert "lynx6" in outcome.err


def test_negative_numbers_are_plain_arguments(hil) -> None:
    outcome = hil("fk", "lynx6", "-10", "90", "-20.5", "-30", "0")
    assert outcome.code == 0
    assert "mm" in outcome.out


def test_the_straight_up_pose_is_where_the_table_says(hil) -> None:
    pose = json.loads(hil("fk", "lynx6", "0", "90", "0", "0", "0", "--json").out)
    assert (pose["x_mm"], pose["z_mm"]) == (pytest.approx(0.0, abs=1e-9), pytest.approx(500.6))


def test_fk_prints_the_matrix_between_any_two_frames(hil) -> None:  # type: ignore[no-untyped-def]
    values = ("0", "0", "90", "90", "0")
    told = json.loads(hil("fk", "rv2aj", *values, "--frames", "1", "4", "--json").out)["pose_m"]
    frames = load_robot("rv2aj").link_frames([math.radians(float(value)) for value in values])
    assert np.allclose(told, np.linalg.inv(frames[1]) @ frames[4], atol=1e-12)
    outcome = hil("fk", "rv2aj", *values, "--frames", "1", "7")
    assert outcome.code == 1
    assert "--frames 1 7: rv2aj has no such frame; allowed: 0 for the base's" in outcome.err


def test_too_few_joint_values_are_refused_with_the_joints_names(hil) -> None:
    outcome = hil("fk", "lynx6", "0", "90")
    assert outcome.code == 1
    assert "wrist_rotate" in outcome.err


def test_a_point_out_of_reach_is_refused_with_the_distance(hil) -> None:
    outcome = hil("ik", "lynx6", "900", "0", "150")
    assert outcome.code == 1
    assert "out of reach by" in outcome.err and "mm" in outcome.err


def test_every_branch_of_a_reachable_point_is_listed(hil) -> None:
    outcome = hil("ik", "lynx6", "200", "0", "150", "--pitch", "-60", "--all", "--json")
    assert len(json.loads(outcome.out)["solutions"]) == 4


def test_the_way_between_two_listed_solutions_is_told_joint_by_joint(hil) -> None:
    place = ("ik", "lynx6", "200", "0", "150", "--pitch", "-60", "--all")
    listed = json.loads(hil(*place, "--json").out)["solutions"]
    way = hil(*place, "--between", "1", "3").out.split("from solution 1 to solution 3")[1]
    for one, other in zip(listed[0]["q"], listed[2]["q"], strict=True):
        assert f"{math.degrees(other - one):+z.2f} deg" in way
    outcome = hil(*place, "--between", "1", "5")
    assert outcome.code == 1
    assert "--between 1 5: no such solution; allowed: 1 to 4" in outcome.err


def test_a_preview_names_every_check_and_writes_a_certificate(hil, tmp_path: Path) -> None:
    outcome = hil("preview", "lynx6", "pick-and-place", "--all", "-o", str(tmp_path / "c.json"))
    assert outcome.code == 0
    assert "PASSED" in outcome.out
    for check in ("E-02", "E-03", "E-09", "E-10", "E-13", "E-16"):
        assert check in outcome.out
    assert "not checked against each other: pedestal and turret" in outcome.out
    assert json.loads((tmp_path / "c.json").read_bytes())["motion_digest"]


def test_without_all_a_preview_shows_the_three_tightest_places(hil) -> None:
    lines = hil("preview", "lynx6", "pick-and-place").out.splitlines()
    assert lines[0].startswith("PASSED for rig lynx6: 21.72 s")
    assert [line.strip() for line in lines[1:]] == [
        "nearest to its end:   elbow, 2 deg left to the lower limit -86 deg, at 0.00 s",
        "nearest to touching:  forearm and palm, 12 mm left to the clearance 5 mm, at 1.82 s",
        "fastest:              gripper, 0.779 mm/s left to the speed 30 mm/s and one step of the wire a period, "
        "at 3.76 s",
    ]


def test_a_refused_preview_says_what_to_change_and_ends_with_one(hil, tmp_path: Path) -> None:
    task = tmp_path / "far.toml"
    task.write_text('title = "far"\n[[step]]\ndo = "move"\nto_mm = [600, 0, 100]\n')
    outcome = hil("preview", "lynx6", str(task))
    assert outcome.code == 1
    assert "reach" in outcome.err and "step 1" in outcome.err


def test_a_typo_in_a_task_is_named_with_its_step_and_key(hil, tmp_path: Path) -> None:
    task = tmp_path / "typo.toml"
    task.write_text('title = "typo"\n[[step]]\ndo = "move"\nto_mn = [200, 0, 100]\n')
    outcome = hil("check", str(task))
    assert outcome.code == 1
    assert "to_mn" in outcome.err and "to_mm" in outcome.err


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "lynx6-bench", "al5d"])
def test_bundled_rigs_pass_the_check(hil, name: str) -> None:
    assert hil("check", str(CONFIGS / "rigs" / f"{name}.toml")).code == 0


@pytest.mark.parametrize("name", ["pick-and-place", "square", "wave"])
def test_bundled_tasks_pass_the_check(hil, name: str) -> None:
    assert hil("check", str(CONFIGS / "tasks" / f"{name}.toml")).code == 0


def test_a_port_without_the_word_hardware_is_bad_usage(hil) -> None:
    outcome = hil("run", "lynx6", "wave", "--port", "/dev/ttyUSB7")
    assert outcome.code == 2
    assert "--hardware" in outcome.err


def test_a_rig_that_nobody_has_calibrated_is_not_run_on_a_real_port(hil) -> None:
    outcome = hil("run", "lynx6", "wave", "--hardware", "--port", "/dev/no-such-port", "--pose-confirmed-by", "test")
    assert outcome.code == 1
    assert outcome.out.startswith("REAL ssc32 at /dev/no-such-port")
    assert "hil calibrate lynx6 --hardware --port /dev/no-such-port" in outcome.err


def test_a_real_port_that_is_not_there_is_said_so_in_words(hil, tmp_path: Path) -> None:
    calibrate_as_it_is(load_rig("lynx6"), tmp_path / "config", "/dev/no-such-port")
    outcome = hil("run", "lynx6", "wave", "--hardware", "--port", "/dev/no-such-port", "--pose-confirmed-by", "test")
    assert outcome.code == 1
    assert outcome.out.startswith("REAL ssc32 at /dev/no-such-port")
    assert "there is no such port" in outcome.err


def test_a_certificate_for_another_motion_is_refused(hil, tmp_path: Path) -> None:
    assert hil("preview", "lynx6", "square", "-o", str(tmp_path / "c.json")).code == 0
    outcome = hil("run", "lynx6", "wave", "--certificate", str(tmp_path / "c.json"))
    assert outcome.code == 1
    assert outcome.out.startswith("FAKE ssc32")
    assert "E-15" in outcome.err


def test_help_imports_neither_numpy_nor_a_driver_nor_what_draws_boxes() -> None:
    code = (
        "import sys, hil.cli.main as m\n"
        "sys.argv = ['hil', '--help']\n"
        "try: m.main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'rich', 'serial', 'mcap', 'drivers', 'sim'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_journal_that_exists_is_refused_before_anything_is_planned(hil, tmp_path: Path) -> None:
    (tmp_path / "old run.mcap").write_bytes(b"kept")
    outcome = hil("run", "lynx6", "wave", "--journal", "old run.mcap")
    assert outcome.code == 1 and "old run.mcap exists already" in outcome.err
    assert "PASSED" not in outcome.out and (tmp_path / "old run.mcap").read_bytes() == b"kept"


def test_tables_are_whole_in_80_columns(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (("rigs",), ("robots",), ("robots", "lynx6"), ("ik", "lynx6", "200", "0", "150", "--all")):
        lines = [line for line in hil(*arguments).out.splitlines() if line.startswith(" ")]
        assert lines and max(map(len, lines)) <= 80 and "…" not in "".join(lines)
    assert "front, elbow up " in hil("ik", "lynx6", "200", "0", "150", "--pitch", "-60").out


def test_a_bundled_task_suits_a_rig_of_ones_own(hil) -> None:
    assert hil("new", "rig", "mine", "--from", "lynx6").code == 0
    assert hil("preview", "mine", "pick-and-place").code == 0


@pytest.mark.parametrize("found", [True, False])
def test_what_comes_next_can_be_typed_as_it_stands(
    hil, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: bool
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/hil" if found else None)
    monkeypatch.setattr(sys, "argv", [".venv/bin/hil", "demo"])
    motion_commands._say_what_comes_next("lynx6")
    lines = [line.split("   ")[0].split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert {line[0] for line in lines} == {"hil" if found else ".venv/bin/hil"}
    assert [line[1] for line in lines] == ["jog", "serve", "--help"]
    for line in lines:
        known = hil(*line[1:2], "--help").out
        assert all(option in known for option in line if option.startswith("--"))


def test_a_preview_s_trace_has_every_sample_with_its_step(hil, tmp_path: Path) -> None:
    file = tmp_path / "square.csv"
    outcome = hil("preview", "lynx6", "square", "--trace", str(file))
    assert outcome.code == 0, outcome.err
    rows = list(csv.DictReader(file.read_text("utf-8").splitlines()))
    rig = load_rig("lynx6")
    motion = plan(rig, "square")
    assert len(rows) == len(motion) and f"trace of {len(rows)} samples" in outcome.err
    third = next(mark for mark in motion.marks if mark.step == 3)
    assert {row["line"] for row in rows[third.first : third.last]} == {"3"}, "a sample that two share is the second's"
    k = (third.first + third.last) // 2
    assert float(rows[k]["elbow"]) == pytest.approx(math.degrees(motion.samples[k, 2]), abs=1e-4)
    tool = Robot(rig.robot).forward_kinematics(motion.samples[k, :5])[:3, 3]
    assert [float(rows[k][axis]) / 1000.0 for axis in "XYZ"] == pytest.approx(tool.tolist(), abs=1e-6)
    again = hil("preview", "lynx6", "square", "--trace", str(file))
    assert again.code == 1 and "exists already" in again.err

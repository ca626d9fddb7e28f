"""hil workspace: counts, volume, lamps, files, and refusals in one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Terminal

import hil.workbench.workspace_files as files

PAPER = ("--range", "base:-90:90", "--range", "2:-45:45", "--range", "elbow:-45:45", "--range", "4:-90:90")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(tmp_path, monkeypatch, capsys)


def is_png(file: Path) -> bool:
    return file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 20_000


def rows_of(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_the_paper_s_counts_are_shown_half_open_and_closed_with_the_time_it_took(terminal: Terminal) -> None:
    outcome = terminal.run("workspace", "lynx6-4axis", "--factor", "15", "--half-open", *PAPER)
    assert outcome.code == 0
    for text in ("12", "72", "432", "5 184", "8 281", "elapsed", "half open: without the upper ends"):
        assert text in outcome.out


def test_programs_get_the_same_as_json(terminal: Terminal) -> None:
    told = json.loads(terminal.run("workspace", "lynx6-4axis", "--step", "15", *PAPER, "--json").out)
    assert (told["points"], told["points_half_open"], told["points_closed"]) == (8281, 5184, 8281)
    assert [segment["points_half_open"] for segment in told["segments"]] == [12, 72, 432, 5184]
    assert told["reach"] is None and told["elapsed_s"] >= 0.0


def test_a_joint_that_does_not_move_the_tool_point_is_held(terminal: Terminal) -> None:
    outcome = terminal.run("workspace", "lynx6", "--step", "30")
    assert "held at 0 deg" in outcome.out and "2 401" in outcome.out


def test_joints_are_chosen_by_name_or_number(terminal: Terminal) -> None:
    told = json.loads(terminal.run("workspace", "lynx6", "--step", "45", "--joints", "1, elbow", "--json").out)
    assert told["points"] == 25


def test_a_voxel_gives_volume_voids_and_holes(terminal: Terminal) -> None:
    outcome = terminal.run("workspace", "puma560", "--voxel", "60", "--json")
    reach = json.loads(outcome.out)["reach"]
    assert reach["holes"] == 1 and reach["volume_m3"] == pytest.approx(2.5, rel=0.03)
    assert "holes through: 1" in terminal.run("workspace", "puma560", "--voxel", "60").out


def test_a_step_too_coarse_for_the_voxel_is_said_to_be(terminal: Terminal) -> None:
    outcome = terminal.run("workspace", "puma560", "--voxel", "30", "--step", "20", "-o", "p.svg", "--width", "page")
    assert "coarse: no volume" in outcome.out and "m3" not in outcome.out
    drawn = (terminal.folder / "p.svg").read_text("utf-8")
    assert "TOO COARSE" in drawn and "not known: between points" in drawn
    assert "litres" not in drawn and ">void," not in drawn
    assert json.loads(terminal.run("workspace", "puma560", "--voxel", "30", "--step", "20", "--json").out)["coarse"]


@pytest.mark.parametrize(
    "options",
    [
        ("puma560", "--voxel", "60", "--slice", "100"),
        ("planar-2r",),
        ("lynx6-4axis", "--step", "20", "--segments"),
        ("lynx6-4axis", "--step", "30"),
        ("lynx6-4axis", "--box", "150", "-100", "50", "300", "100", "200", "--box-step", "50", "--pitch", "-60"),
    ],
)
def test_pictures_are_drawn(terminal: Terminal, options: tuple[str, ...]) -> None:
    outcome = terminal.run("workspace", *options, "-o", "picture.png")
    assert outcome.code == 0
    assert outcome.out.rstrip().endswith("picture.png")
    assert is_png(terminal.folder / "picture.png")


def test_points_are_written_as_csv_in_millimetres_and_as_npz_in_metres(terminal: Terminal) -> None:
    terminal.run("workspace", "lynx6-4axis", "--step", "45", "--segments", "-o", "points.csv")
    terminal.run("workspace", "lynx6-4axis", "--step", "45", "-o", "points.npz")
    rows = rows_of(terminal.folder / "points.csv")
    of_tool = np.array([[float(row[f"{axis}_mm"]) for axis in "xyz"] for row in rows if row["segment"] == "wrist"])
    with np.load(terminal.folder / "points.npz") as arrays:
        points = arrays["points_m"]
    assert len(rows) == 5 + 25 + 125 + 625
    assert points.shape == (625, 3)
    assert of_tool == pytest.approx(points * 1000, abs=6e-4)


def test_an_interrupted_file_leaves_nothing_behind_and_an_old_one_as_it_was(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    (terminal.folder / "points.csv").write_text("old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_write_csv", interrupted)
    outcome = terminal.run("workspace", "lynx6-4axis", "--step", "45", "-o", "points.csv")
    assert (outcome.code, outcome.err.strip()) == (130, "interrupted")
    assert [path.name for path in terminal.folder.glob("points*")] == ["points.csv"]
    assert (terminal.folder / "points.csv").read_text() == "old"


def test_a_full_disk_is_foreseen(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CSV_BYTES", 10**15)
    outcome = terminal.run("workspace", "lynx6-4axis", "--step", "45", "-o", "points.csv")
    assert outcome.code == 1 and "are needed" in outcome.err


def test_a_box_lights_lamps_with_counts_and_lists_its_places(terminal: Terminal) -> None:
    box = ("--box", "150", "-100", "50", "300", "100", "200", "--box-step", "50", "--pitch", "-60")
    outcome = terminal.run("workspace", "lynx6-4axis", *box, "-o", "box.csv")
    assert outcome.code == 0
    assert "LIT:" in outcome.out and "off" in outcome.out and "front, elbow up" in outcome.out
    told = json.loads(terminal.run("workspace", "lynx6-4axis", *box, "--json").out)
    assert told["usable"] + told["beyond_limits"] + told["out_of_reach"] == told["samples"] == 80
    rows = rows_of(terminal.folder / "box.csv")
    places = {(row["x_mm"], row["y_mm"], row["z_mm"]) for row in rows}
    usable = {(row["x_mm"], row["y_mm"], row["z_mm"]) for row in rows if row["within_limits"] == "1"}
    assert (len(places), len(usable)) == (80, told["usable"])


def test_a_box_tells_how_many_postures_reach_its_places(terminal: Terminal) -> None:
    box = ("--box", "150", "-100", "50", "300", "100", "200", "--box-step", "100")
    told = json.loads(terminal.run("workspace", "lynx6-4axis", *box, "--json").out)
    assert sum(told["dexterity"]["places"]) == told["samples"]
    assert told["dexterity"]["places"][0] == told["samples"] - told["usable"]
    words = terminal.run("workspace", "lynx6-4axis", *box).out
    assert f"{told['dexterity']['mean']:.2f} on the average" in " ".join(words.split())


def test_a_plane_tells_the_area_that_it_cuts(terminal: Terminal) -> None:
    reach = ("workspace", "planar-2r", "--voxel", "20", "--plane", "z:0")
    (plane,) = json.loads(terminal.run(*reach, "--json").out)["planes"]
    whole = json.loads(terminal.run("workspace", "planar-2r", "--voxel", "20", "--json").out)["reach"]
    assert plane["reached_m2"] == pytest.approx(whole["touched_m3"] / 0.020)
    assert "plane z = 0 mm" in terminal.run(*reach).out
    assert terminal.run("workspace", "planar-2r", "--plane", "z:0").code == 2
    refused = terminal.run("workspace", "planar-2r", "--voxel", "20", "--plane", "w:0")
    assert refused.code == 1 and "for example z:120" in refused.err


def test_a_box_takes_a_whole_orientation(terminal: Terminal) -> None:
    box = ("--box", "400", "0", "100", "500", "0", "100", "--orientation", "180", "0", "180")
    told = json.loads(terminal.run("workspace", "puma560", *box, "--json").out)
    assert told["usable"] == told["samples"] == 11


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("lynx6-4axis", "--step", "nan"), "above 0"),
        (("lynx6-4axis", "--step", "0"), "above 0"),
        (("lynx6-4axis", "--voxel", "-5"), "above 0"),
        (("lynx6-4axis", "--joints", "9"), "base, shoulder, elbow, wrist"),
        (("lynx6-4axis", "--range", "base:20:-20"), "JOINT:LOW:HIGH"),
        (("lynx6-4axis", "--range", "base:nan:20"), "JOINT:LOW:HIGH"),
        (("lynx6-4axis", "--range", "base"), "JOINT:LOW:HIGH"),
        (("ur5", "--step", "0.5"), "larger step"),
        (("lynx6-4axis", "--box", "0", "0", "nan", "1", "1", "1"), "finite"),
        (("lynx6-4axis", "--voxel", "60", "--slice", "900", "-o", "p.png"), "allowed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(terminal: Terminal, options: tuple[str, ...], words: str) -> None:
    outcome = terminal.run("workspace", *options)
    assert outcome.code == 1
    assert words in outcome.err and outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ("-o", "cloud.gif"),
        ("--pitch", "3"),
        ("--box", "1", "1", "1", "2", "2", "2", "-o", "box.npz"),
        ("--box", "1", "1", "1", "2", "2", "2", "--orientation", "0", "0", "0", "--pitch", "1"),
    ],
)
def test_options_that_do_not_go_together_are_bad_usage(terminal: Terminal, options: tuple[str, ...]) -> None:
    assert terminal.run("workspace", "lynx6-4axis", *options).code == 2

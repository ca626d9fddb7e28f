"""hil curve: what it shows, checks, writes and reads back, and its answers to mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(tmp_path, monkeypatch, capsys)


RING = """\
title = "Ring"
x = "220 + 40*cos(u)"
y = "40*sin(u)"
z = "120"
samples = 9

[parameters.u]
start = 0
end = 360
unit = "deg"
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.toml"
    file.write_text(RING, encoding="utf-8")
    return file


def test_without_a_name_it_lists_what_there_is(terminal: Terminal) -> None:
    outcome = terminal.run("curve")
    assert outcome.code == 0 and all(name in outcome.out for name in ("epicycloid", "moebius-band", "sphere", "word"))
    told = json.loads(terminal.run("curve", "--json").out)
    assert {"name": "pipes", "title": "Intersection of two pipes", "source": "3D-RAS, equations 37 to 39"} in told


def test_it_shows_family_length_closure_and_box(terminal: Terminal) -> None:
    outcome = terminal.run("curve", "hyperbolic-paraboloid")
    assert outcome.code == 0 and "curve 1 of 25, v = 0" in outcome.out
    assert "not closed: its end is 28.22 mm from its start" in outcome.out
    assert "curve 3 of 28, v = 26.6667 deg" in terminal.run("curve", "sphere").out
    assert "closed" in terminal.run("curve", "sphere", "--index", "5").out


def test_an_arm_that_reaches_all_of_it_ends_with_0(terminal: Terminal, ring: Path) -> None:
    outcome = terminal.run("curve", str(ring), "lynx6")
    assert outcome.code == 0 and "lynx6 reaches 9 of 9 samples, 100 %" in outcome.out


def test_an_arm_that_does_not_ends_with_1_and_the_first_sample_outside(terminal: Terminal) -> None:
    outcome = terminal.run("curve", "pipes", "lynx6", "--nearest", "shift")
    assert outcome.code == 1 and "lynx6 reaches 17 of 32 samples, 53 %" in outcome.out
    assert "after: shift by -40.9, -38.3, -15.2 mm" in outcome.out
    assert outcome.err.startswith("lynx6: sample 1 at 330.0, 250.0, 240.0 mm: out of reach by 43.756 mm")
    assert outcome.err.count("\n") == 1


def test_programs_get_the_same_as_json(terminal: Terminal, ring: Path) -> None:
    told = json.loads(terminal.run("curve", str(ring), "lynx6", "--samples", "5", "--json").out)
    assert told["points_mm"][0] == pytest.approx([260.0, 0.0, 120.0]) and len(told["points_mm"]) == 5
    assert told["share"] == 1.0 and told["robot"] == "lynx6" and told["reasons"] == [""] * 5


def test_samples_are_written_and_read_back_to_the_same_file(terminal: Terminal, ring: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    outcome = terminal.run("curve", str(ring), "lynx6", "--even", "--csv", str(first), "--dt", "0.1")
    assert outcome.code == 0 and "a.csv: 9 samples" in outcome.out
    lines = first.read_text().splitlines()
    assert lines[2:4] == ['# robot = "lynx6"', "# dt_s = 0.1"]
    assert lines[6] == "t_s,x_mm,y_mm,z_mm,base_deg,shoulder_deg,elbow_deg,wrist_deg,wrist_rotate_deg"
    again = terminal.run("curve", str(first), "--csv", str(second), "--dt", "0.1")
    assert again.code == 0 and "samples every 0.1 s, for lynx6" in again.out
    points = [line.split(",")[:4] for line in lines[7:]]
    assert [line.split(",") for line in second.read_text().splitlines()[5:]] == points


def test_a_figure_is_drawn(terminal: Terminal, ring: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = terminal.run("curve", str(ring), "lynx6", "-o", str(tmp_path / "ring.svg"))
    assert outcome.code == 0
    text = (tmp_path / "ring.svg").read_text(encoding="utf-8")
    assert all(words in text for words in ("Ring", "from above", "reached by lynx6", "lynx6 reaches 9 of 9 samples"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["spher"], "Did you mean 'sphere'?"),
        (["sphere", "--index", "29"], "curve 29 of its family; allowed: 1 to 28"),
        (["helix", "--index", "2"], "no index, it is one curve alone"),
        (["helix", "--samples", "1"], "1 samples; allowed: 2 to 100000"),
        (["helix", "lynx7"], "Did you mean 'lynx6'?"),
        (["helix", "--csv", "there.csv"], "nothing is overwritten"),
        (["helix", "--csv", "new.csv", "--dt", "0"], "--dt 0; allowed: more than 0, up to 60 s"),
        (["none.csv"], "a readable CSV file"),
        (["helix", "-o", "helix.bmp"], ".png"),
        (["bad.toml"], "x, column 10: nothing is called w; allowed: u, r, pi, e, deg"),
        (["outside.toml"], "x, column 1: outside its domain at u = 0.25: sqrt of -0.25; allowed: 0 or more"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    parameters = "[constants]\nr = 2\n[parameters.u]\nstart = 0\nend = 1\n"
    for name, formula in (("bad", "r*cos(u)+w"), ("outside", "sqrt(-u)")):
        table = f'title = "a"\nx = "{formula}"\ny = "u"\nz = "0"\nsamples = 5\n{parameters}'
        (tmp_path / f"{name}.toml").write_text(table, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    outcome = terminal.run("curve", *arguments)
    assert outcome.code in (1, 2) and words in outcome.err and "Traceback" not in outcome.err
    assert len(outcome.err.splitlines()) <= (3 if arguments[0].endswith(".toml") else 1)
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "there.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["helix", "--dt", "0.1"], "this belongs to --csv"),
        (["helix", "--nearest", "shift"], "this needs a robot behind the curve"),
        (["a.csv", "--index", "1", "--even"], "samples are read as they are"),
        (["helix", "--width", "column"], "this belongs to -o"),
    ],
)
def test_options_that_belong_elsewhere_are_refused(terminal: Terminal, arguments: list[str], words: str) -> None:
    outcome = terminal.run("curve", *arguments)
    assert outcome.code == 2 and words in outcome.err


def test_check_reads_a_curve_and_gives_every_sample_a_value(terminal: Terminal, ring: Path, tmp_path: Path) -> None:
    outcome = terminal.run("check", str(ring))
    assert outcome.code == 0 and "a curve of 9 samples" in outcome.out and "Nothing wrong found" in outcome.out
    assert terminal.run("check", "sphere").code == 0
    ring.write_text(RING.replace('"120"', '"sqrt(1 - u)"').replace("40*sin(u)", "40*sinn(u)"), encoding="utf-8")
    assert "ring.toml: y, column 4: no function is called sinn" in terminal.run("check", str(ring)).err
    ring.write_text(RING.replace('"120"', '"sqrt(1 - u)"'), encoding="utf-8")
    outcome = terminal.run("check", str(ring))
    assert outcome.code == 1 and "z, column 1: outside its domain at u = 90 deg" in outcome.err


def test_an_arm_of_six_axes_reaches_a_curve_too(terminal: Terminal, ring: Path) -> None:
    outcome = terminal.run("curve", str(ring), "puma560", "--samples", "3")
    assert "puma560 reaches" in outcome.out and outcome.code in (0, 1)

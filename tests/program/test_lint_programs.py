"""What a check finds before anything moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Terminal

from hil.program.lint import Finding, lint
from hil.program.structure import read_program

POINTS = "\nP1=(250,0,300,0,180,0)(6,0)\nP2=(250,120,300,0,180,0)(6,0)\n"


def findings(text: str) -> tuple[Finding, ...]:
    program, errors = read_program(text + POINTS)
    return tuple(each for each in lint(program, errors) if "is taught, and not used" not in each.text)


def test_a_sound_program_gives_nothing() -> None:
    assert findings("10 MOV P1\n20 MVS P2\n30 END") == ()


@pytest.mark.parametrize(
    ("text", "severity", "number", "row"),
    [
        ("10 MOV P1\n20 MVS P3\n30 END\nP3=(350,0,400,0,90,0)(4,0)", "error", 2810, 2),
        (
            "10 MOV P3\n20 MVS P4\n30 END\nP3=(150,300,300,0,180,0)(6,0)\nP4=(150,-300,300,0,180,0)(6,0)",
            "error",
            2603,
            2,
        ),
        ("10 MOV P3\n20 END\nP3=(500,0,300,0,90,0)(6,0)", "error", 2802, 1),
        ("10 GOSUB *A\n20 END\n30 *A\n40 GOSUB *A\n50 RETURN", "error", 3100, 4),
        ("10 GOSUB *A\n20 END\n30 *A\n40 IF M_IN(1)=1 THEN GOSUB *A\n50 RETURN", "warning", 3100, 4),
        ("10 M1=1\n20 RETURN", "error", 3840, 2),
        ("10 GOTO *NO\n20 END", "error", 3600, 1),
        ("10 END\n20 M1=1", "note", 0, 2),
        ("10 *A\n20 END", "note", 0, 1),
        ("10 GOSUB *A\n20 END\n30 *A\n40 GOTO *A", "warning", 0, 3),
        ("10 M1=M2\n20 END", "error", 3700, 1),
        ("10 IF M_IN(1)=1 THEN M1=M2\n20 END", "warning", 3700, 1),
        ("10 IF M_IN(1)=1 THEN CX=1\n20 END", "warning", 4340, 1),
        ("10 CX=1\n20 END", "error", 4340, 1),
        ("10 XX=1\n20 END", "note", 0, 1),
    ],
)
def test_what_is_wrong_is_found_with_its_number_and_line(text: str, severity: str, number: int, row: int) -> None:
    found = [(each.severity, each.number, each.row) for each in findings(text)]
    assert (severity, number, row) in found


def test_a_move_in_a_branch_that_a_run_does_not_take_is_looked_at_too() -> None:
    text = "10 MOV P1\n20 IF M_IN(1)=0 THEN *E\n30 MVS P3\n40 *E\n50 END\nP3=(350,0,400,0,90,0)(4,0)"
    assert ("warning", 2810, 3) in [(each.severity, each.number, each.row) for each in findings(text)]


def test_a_line_past_the_axis_of_j1_is_a_warning_if_only_too_fast_and_an_error_if_it_cannot_be_followed() -> None:
    beside = "10 MOV P3\n20 SPD 400\n30 MVS P4\n40 END\nP3=(60,150,560,0,90,0)(6,0)\nP4=(60,-150,560,0,90,0)(6,0)"
    across = "10 MOV P3\n20 MVS P4\n30 END\nP3=(0.2,200,600,0,90,0)(6,0)\nP4=(0.2,-200,600,0,90,0)(6,0)"
    assert ("warning", 2131) in [(each.severity, each.number) for each in findings(beside)]
    assert ("error", 2131) in [(each.severity, each.number) for each in findings(across)]


def test_pallet_corners_of_both_signs_are_warned_of() -> None:
    text = (
        "10 DEF PLT 1,P3,P4,P5,,3,2,1\n20 P9=PLT 1,2\n30 END\nP3=(250,-40,300,180,180,0)(6,0)\n"
        "P4=(250,40,300,-180,180,0)(6,0)\nP5=(300,-40,300,180,180,0)(6,0)"
    )
    assert any("turns round" in each.text for each in findings(text))


def test_points_that_were_never_taught_or_never_used_are_named() -> None:
    program, errors = read_program("10 MOV P3\n20 END\nP3=(0,0,0,0,0,0)(,)\nP4=(250,0,300,0,180,0)(6,0)\n")
    texts = [each.text for each in lint(program, errors)]
    assert any("never taught" in text for text in texts)
    assert any("P4 is taught, and not used" in text for text in texts)


def test_the_command_ends_with_1_for_errors_and_speaks_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Terminal(tmp_path, monkeypatch, capsys).run
    good, bad = tmp_path / "good.mb4", tmp_path / "bad.mb4"
    good.write_text("10 MOV P1\n20 MVS P2\n30 END" + POINTS)
    bad.write_text("10 MOV P1\n20 MVS P2\n30 GOTO *X\n" + POINTS)
    assert run("lint", str(good), "--strict").code == 0
    refused = run("lint", str(bad), "--json")
    assert refused.code == 1
    assert [each["code"] for each in json.loads(refused.out)] == ["L3600"]
    assert run("lint", str(good), "--rig", "rv2aj").code == 0
    assert run("lint", str(tmp_path / "none")).code == 1

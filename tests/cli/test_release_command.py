"""hil release from its first line to its last, on the fake."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from command_line import Outcome, Terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def release(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, *answers: str) -> Outcome:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join((*answers, ""))))
    return terminal.run("release", "lynx6", "--by", "Zoe")


def test_all_axes_go_limp_and_it_is_asked_whether_the_arm_lies_as_its_park_pose_says(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = release(terminal, monkeypatch, *["go"] * 6, "yes")
    assert done.code == 0
    assert "limp: gripper, wrist_rotate, base, wrist, elbow, shoulder" in done.out
    assert "shoulder at 180 deg by stop (park: 172)" in done.out
    assert "of a fake nothing is remembered" in done.out
    assert done.out.rstrip().endswith("servo supply off first, then the logic")


def test_where_it_does_lie_becomes_lines_for_a_rig(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    done = release(terminal, monkeypatch, *["go"] * 6, "no", "", "170", "", "", "", "")
    assert "[joints.shoulder]\npark_deg = 170" in done.out
    assert 'park_source = "measured by Zoe, ' in done.out


def test_a_stop_leaves_the_rest_held_and_asks_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    done = release(terminal, monkeypatch, "go", "stop")
    assert done.code == 1
    assert "Does it stay there" not in done.out


def test_an_arm_with_brakes_is_not_let_go_of(terminal: Terminal) -> None:
    done = terminal.run("release", "rv2aj")
    assert done.code == 1 and "has brakes" in done.err

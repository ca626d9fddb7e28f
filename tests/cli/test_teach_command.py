"""hil teach: poses by hand where the controller measures, and one clear sentence where it cannot."""

from __future__ import annotations

import io
import tomllib

import pytest
from command_line import Outcome, Terminal

from hil.errors import InterlockError
from hil.runtime.kinds.rv2aj import KIND
from hil.runtime.port_wiring import HandLedArm
from hil.runtime.wiring import load_rig


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def taught(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, lines: str, *words: str) -> Outcome:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return terminal.run("teach", "rv2aj", *words)


def test_poses_that_a_hand_leads_to_become_a_task_that_a_preview_passes(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = taught(terminal, monkeypatch, "J2 +5\n\nJ1 -10\nt\nq\nt\n", "--task", "by-hand.toml")
    assert (done.code, done.err) == (0, "")
    assert "step 2 of by-hand.toml: J1 -10.00 deg, J2 -15.00 deg, J3 110.00 deg" in done.out
    steps = tomllib.loads((terminal.folder / "by-hand.toml").read_text(encoding="utf-8"))["step"]
    assert [step["joints_deg"] for step in steps] == [
        {"J1": 0.0, "J2": -15.0, "J3": 110.0, "J5": 80.0, "J6": 0.0},
        {"J1": -10.0, "J2": -15.0, "J3": 110.0, "J5": 80.0, "J6": 0.0},
    ]
    assert terminal.run("preview", "rv2aj", "by-hand.toml").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("J9 5", "'J9 5' given; allowed: Enter, t [FILE], p, q, or on a fake an axis and a number"),
        ("J2 nan", "'nan' given; allowed: a finite number, such as +5 or -2.5"),
        ("J2 five", "'five' given; allowed: a finite number, such as +5 or -2.5"),
        ("J2 500", "J2: led to 480.00 deg; allowed: -58.00 to 118.00 deg"),
    ],
)
def test_a_line_that_means_nothing_is_said_in_one_sentence_and_keeps_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    done = taught(terminal, monkeypatch, f"{line}\n")
    assert (done.code, done.err) == (1, f"{said}\n")
    assert not list(terminal.folder.glob("*.toml"))


def test_a_pose_where_no_task_may_go_is_not_kept(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    done = taught(terminal, monkeypatch, "J2 -37.9\n\n")
    assert done.code == 1
    assert "the pose is not kept: no task may go there" in done.err
    assert not list(terminal.folder.glob("*.toml"))


@pytest.mark.parametrize(
    ("rig", "why"),
    [
        ("lynx6", "it tells only the pulse that it makes, never where a limp joint is"),
        ("ur5", "its arm exists in software only, where no hand reaches it"),
    ],
)
def test_a_controller_that_cannot_tell_where_a_free_arm_is_says_so_and_what_to_do(
    terminal: Terminal, rig: str, why: str
) -> None:
    done = terminal.run("teach", rig)
    assert done.code == 1
    (said,) = [line for line in done.err.splitlines() if line.startswith(f"rig {rig}: ")]
    assert why in said
    assert said.endswith(f"Lead the arm by `hil jog {rig}` and press t at each pose")


def test_a_real_arm_is_led_by_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = HandLedArm(load_rig("rv2aj"), "/dev/ttyTEST")
    with pytest.raises(InterlockError, match="a real arm is led by your hand, and by nothing from here"):
        arm.lead(0, 0.1)


def test_whoever_frees_the_arm_is_told_how() -> None:
    assert "teach box" in KIND.by_hand.how
    assert "a second person holds the arm" in KIND.by_hand.how

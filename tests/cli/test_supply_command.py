"""What a person says of the servo supply, and what is said back."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Terminal
from virtual_session import lynx6

from hil.cli.motion_commands import voucher
from hil.errors import InterlockError
from hil.model._supply_file import read_supply
from hil.runtime.supply import WAY_BACK
from hil.types import JointState, StateSource


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def test_it_is_said_shown_and_leads_back(terminal: Terminal) -> None:
    assert "nobody has said that the servo supply was cut" in terminal.run("supply", "lynx6").out
    said = terminal.run("supply", "lynx6", "cut", "--by", "Ann")
    assert said.code == 0 and "lynx6: Ann said at" in said.out and WAY_BACK in said.out
    assert terminal.run("supply", "lynx6").out == said.out


def test_that_it_is_on_is_said_with_the_pose_and_nowhere_else(terminal: Terminal) -> None:
    wrong = terminal.run("supply", "lynx6", "on")
    assert wrong.code == 2 and "who confirms the pose" in " ".join(wrong.err.replace("│", " ").split())
    assert read_supply("lynx6") is None


def test_of_an_arm_that_measures_nothing_has_to_be_said(terminal: Terminal) -> None:
    assert "knows by itself" in terminal.run("supply", "rv2aj", "cut").out
    assert read_supply("rv2aj") is None


def reported(source: StateSource = StateSource.ECHOED) -> JointState:
    return JointState(t_s=0.0, positions=lynx6().park, source=source)


def test_whoever_is_asked_for_the_pose_can_answer_that_it_was_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: " Cut ")
    with pytest.raises(InterlockError, match="the servo supply was cut; nothing was sent"):
        voucher(lynx6(), "/dev/ttyUSB0", None, [])(reported())
    assert "If the servo supply was cut meanwhile, or may have been, answer cut." in capsys.readouterr().out
    assert read_supply("lynx6") is not None


def test_what_is_assumed_of_the_supply_is_said_before_a_limp_arm_is_driven(capsys: pytest.CaptureFixture[str]) -> None:
    voucher(lynx6(), "/dev/ttyUSB0", "Zoë", [])(None)
    text = capsys.readouterr().out
    assert "The servo supply has to be on by now" in text and "Hands and faces clear" in text
    voucher(lynx6(), "/dev/ttyUSB0", "Zoë", [])(reported(StateSource.MEASURED))
    assert "supply" not in capsys.readouterr().out

"""hil learn: which robot, which lesson, and how a task gets to a preview."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from qt_ready import require_qt

require_qt()

from hil.cli import learn  # noqa: E402
from hil.dashboard.learn import app  # noqa: E402
from hil.errors import CommandError, ConfigError  # noqa: E402
from hil.own_program import HIL  # noqa: E402


def test_a_robot_that_is_none_and_a_lesson_that_is_none_are_named() -> None:
    with pytest.raises(ConfigError, match="puma650"):
        learn.learn("puma650", "")
    with pytest.raises(
        CommandError,
        match="--view dhh: no such lesson; allowed: dh, solutions, workspace, curves, dynamics, tuning, programs, "
        "specification",
    ):
        learn.learn("puma560", "dhh")


def test_a_task_is_previewed_by_a_dashboard_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """S2-09: on the simulated arm; nothing is armed by that."""
    shown: dict[str, Any] = {}
    started: list[list[str]] = []
    monkeypatch.setattr(app, "run", lambda model, **options: shown.update(model=model, **options) or 0)
    closed = SimpleNamespace(poll=lambda: 0)
    starts = SimpleNamespace(
        Popen=lambda command, **options: started.append(command) or closed, DEVNULL=subprocess.DEVNULL
    )
    monkeypatch.setattr(learn, "subprocess", starts)
    learn.learn("stanford", "solutions")
    assert shown["model"].id == "stanford" and shown["view"] == "solutions"
    ended = shown["send"](Path("some.toml"), "puma560")  # the robot that is chosen in the window
    assert ended() == "", "it was closed by hand"
    (command,) = started
    assert command[len(HIL) :] == ["dashboard", "puma560", "--open", "some.toml"] and "--hardware" not in command
    asked = [*HIL, command[len(HIL)], "--help"]
    assert "--open" in subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.processes
@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; print('in between', file=sys.stderr); sys.exit('no port is free')", "no port is free"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import sys; print('a remark', file=sys.stderr)", ""),
    ],
)
def test_a_preview_that_ends_says_why(program: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the window of the lessons: a terminal may be nowhere in sight."""
    begun: list[Any] = []
    start = subprocess.Popen

    def instead(command: list[str], **options: Any) -> Any:
        begun.append(start([sys.executable, "-c", program], **options))
        return begun[-1]

    monkeypatch.setattr(learn.subprocess, "Popen", instead)
    ended = learn._preview(Path("some.toml"), "puma560")
    begun[0].wait(60)
    assert ended() == told

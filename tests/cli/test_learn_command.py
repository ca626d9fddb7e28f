"""hil learn: which robot, which lesson, and how a task gets to a preview."""

from __future__ import annotations

import subprocess
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
    starts = SimpleNamespace(Popen=lambda command, **options: started.append(command), DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(learn, "subprocess", starts)
    learn.learn("stanford", "solutions")
    assert shown["model"].id == "stanford" and shown["view"] == "solutions"
    shown["send"](Path("some.toml"), "puma560")  # the robot that is chosen in the window
    (command,) = started
    assert command[len(HIL) :] == ["dashboard", "puma560", "--open", "some.toml"] and "--hardware" not in command
    asked = [*HIL, command[len(HIL)], "--help"]
    assert "--open" in subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout

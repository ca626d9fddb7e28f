"""Keys at a terminal, which tells no release: one that comes and comes is stuck, and leads the arm on no longer."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hil.cli._jog_session import REPEAT_S, JogSession, KeyDown, _press
from hil.model.rig import AxisKind
from hil.service.hold_watch import UNCHANGED_S
from hil.workbench.jog_pad import Action, Halt, Pad, Quit, Step

EVERY_S = 0.03


class Terminal:
    """Somebody at the keys of a jog whose steps take no time."""

    def __init__(self) -> None:
        axes = [SimpleNamespace(name=name, kind=AxisKind.REVOLUTE) for name in ("base", "shoulder")]
        self.pad = Pad(cast(Any, SimpleNamespace(axes=axes, gripper=None)))
        self.done: list[Action] = []
        self.note, self.busy, self.now_s = "", False, 100.0
        self.down = KeyDown()

    def pressed_again(self, key: str) -> bool:
        return False

    def do(self, action: Action) -> None:
        self.done.append(action)

    def look(self, keys: Sequence[str], after_s: float) -> list[Action | None]:
        self.now_s += after_s
        self.down.look(keys, self.now_s)
        return [_press(cast(JogSession, self), key, self.down) for key in keys]

    def hold(self, key: str, for_s: float) -> None:
        for _ in range(round(for_s / EVERY_S)):
            self.look([key], EVERY_S)

    def pause(self, for_s: float) -> None:
        for _ in range(round(for_s / EVERY_S)):
            self.look([], EVERY_S)


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def test_a_key_that_is_down_steps_for_ten_seconds_and_no_longer(terminal: Terminal) -> None:
    terminal.hold("+", 60.0)
    assert len(terminal.done) * EVERY_S == pytest.approx(UNCHANGED_S, abs=0.2)
    assert UNCHANGED_S == 10.0
    assert terminal.note == "+ has been down for 10 s, as if it were stuck: let go, then press again"


def test_let_go_and_pressed_anew_it_steps_again(terminal: Terminal) -> None:
    terminal.hold("+", 15.0)
    terminal.pause(REPEAT_S + 0.1)
    before = len(terminal.done)
    terminal.hold("+", 1.0)
    assert len(terminal.done) > before


def test_a_pause_that_is_none_does_not_count_as_let_go(terminal: Terminal) -> None:
    terminal.hold("+", 15.0)
    before = len(terminal.done)
    terminal.pause(REPEAT_S - 0.1)
    # The program was busy: what has come meanwhile waits for it all at once.
    terminal.look(["+"] * 40, 2.0)
    assert len(terminal.done) == before


def test_presses_one_by_one_are_wishes_one_by_one(terminal: Terminal) -> None:
    for _ in range(60):
        terminal.look(["+"], 0.05)
        terminal.pause(0.5)
    assert len(terminal.done) == 60


def test_another_key_between_shows_a_hand(terminal: Terminal) -> None:
    for k in range(10):
        terminal.hold("x" if k % 2 else "y", 8.0)
    assert len(terminal.done) * EVERY_S == pytest.approx(80.0, abs=1.0)
    assert all(isinstance(action, Step) for action in terminal.done)


@pytest.mark.parametrize(("key", "kind"), [(" ", Halt), ("q", Quit)])
def test_a_stop_is_taken_however_long_it_is_down(key: str, kind: type, terminal: Terminal) -> None:
    terminal.hold(key, 20.0)
    (action,) = terminal.look([key], EVERY_S)
    assert isinstance(action, kind)

"""`hil drive` at a planned move: what it says of the hand, by keys and by lines."""

from __future__ import annotations

from collections.abc import Coroutine
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hil.cli import drive
from hil.model.rig import AxisKind
from hil.service.hold_watch import Sign
from hil.service.remote import RemoteArm
from hil.types import Mode
from hil.workbench.jog_pad import Go, Pad


class FarArm:
    """An arm of which nothing is heard yet."""

    def __init__(self) -> None:
        self.arm, self.mode = "left", Mode.IDLE
        self.signs: list[Sign] = []
        self.channel = SimpleNamespace(
            mark=0, since=lambda mark: [], drives=True, held=False, over="", connected=True, let_go=lambda: None
        )

    def begin(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        work.close()
        return Future()

    def hold(self, *, sign: Sign) -> None:
        self.signs.append(sign)


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(drive, "monotonic_s", lambda: self.now_s)
        monkeypatch.setattr(drive, "time", SimpleNamespace(sleep=self.sleep))

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def _driving(by_hand: bool) -> tuple[drive._Driving, FarArm]:
    arm = FarArm()
    pad = Pad(cast(Any, SimpleNamespace(axes=[SimpleNamespace(name="base", kind=AxisKind.REVOLUTE)], gripper=None)))
    return drive._Driving(cast(RemoteArm, arm), pad, None, by_hand=by_hand), arm


def test_a_key_that_repeats_says_so_and_that_nothing_has_changed_since_its_press(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    driving, arm = _driving(by_hand=True)
    driving.do(Go("home"))
    driving.until(lambda: False, 0.1)
    assert arm.signs[-1] == Sign(changed_s=100.0), "before it repeats itself nobody can ask it to"
    clock.now_s = 100.6
    for _ in range(20):
        assert driving.pressed_again("h")
        driving.until(lambda: False, 0.05)
    assert arm.signs[-1].changed_s == 100.0
    reported_s = arm.signs[-1].reported_s
    assert reported_s is not None and clock.now_s - reported_s < 0.15


def test_lines_are_a_program_and_its_going_on_is_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    driving, arm = _driving(by_hand=False)
    driving.do(Go("home"))
    driving.until(lambda: False, 1.0)
    assert arm.signs[0].changed_s == 100.0
    changed_s = arm.signs[-1].changed_s
    assert changed_s is not None and clock.now_s - changed_s < 0.1

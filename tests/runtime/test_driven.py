"""A controller that answers slowly: nobody is told that its axes are driven before they are, and what is waited for."""

from __future__ import annotations

import pytest

from hil.runtime import wiring
from hil.runtime.driven import DRIVEN_S, SLOW_S, DrivenWait
from hil.testing.arms import VirtualArm
from hil.types import Confirm, Mode

NAMES = ("J1", "J2")


@pytest.mark.parametrize("name", ["rv2aj-line", "rv2aj-mxt", "rv2aj"])
def test_an_rv2aj_that_needs_0_3_s_for_each_answer_is_idle_only_once_it_is_driven(name: str) -> None:
    arm = VirtualArm(wiring.load_rig(name), choices={"answer_s": 0.3})
    arm.until(Mode.UNKNOWN_POSE, within_s=15.0)
    arm.wait(1.0)
    arm.tick(Confirm(positions=arm.start, by="the test", supply_on=True))
    arm.until(Mode.IDLE, within_s=40.0)
    words = [event for event in arm.events if "answers slowly" in event or event.startswith("ready after")]
    assert "does not drive J1, J2, J3, J5, J6 yet: wait, 45 s at most" in words[0]
    assert words[1].startswith("ready after") and len(words) == 2
    assert all(arm._arm.bridge._connection.state.known)


def test_who_is_quick_is_not_spoken_of() -> None:
    wait = DrivenWait(NAMES)
    assert wait.words((True, True), 5.0) == ""
    wait.begin()
    assert wait.words((True, False), 5.0) == ""
    assert wait.words((True, False), 5.0 + SLOW_S) == ""
    assert wait.words((True, True), 5.1 + SLOW_S) == ""


def test_what_is_waited_for_is_said_once_and_how_long_it_took() -> None:
    wait = DrivenWait(NAMES)
    assert wait.words((True, False), 5.0) == ""
    assert "does not drive J2 yet" in wait.words((True, False), 5.1 + SLOW_S)
    assert wait.words((True, False), 9.0) == ""
    assert wait.words((True, True), 9.5) == "ready after 4.5 s"


def test_nobody_waits_for_ever() -> None:
    wait = DrivenWait(NAMES)
    assert not wait.over(100.0)
    wait.words((True, False), 5.0)
    assert not wait.over(5.0 + DRIVEN_S)
    assert wait.over(5.1 + DRIVEN_S)
    wait.begin()
    assert not wait.over(500.0)

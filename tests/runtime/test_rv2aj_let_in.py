"""Controllers that differ from the one in the manual: each lets the arm in, or what to do is said."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import pytest

from hil.errors import RefusedError
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planning import plan_joint_move
from hil.runtime import wiring
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.types import Arm, Confirm, Disconnect, LinkPhase, Load, Mode, Start
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
SOMEBODYS = ["1"]
FAKES_START_DEG = (0.0, 0.0, 90.0, 90.0, 0.0)
AXES = ("1F;1F", "3F;3F", "FF;FF")
PICKY = {"refused": True, "unanswered": False}


@functools.cache
def known(name: str) -> tuple[Rig, Motion, Certificate]:
    rig = wiring.load_rig(name)
    motion = plan_joint_move(rig, rig.park, (4 * DEG, *rig.park[1:]))
    certificate = preview(rig, motion, now_epoch_s=EPOCH_S).certificate
    assert certificate is not None
    return rig, motion, certificate


class Stand:
    """An arm on virtual time whose controller is of another kind, and the controller itself."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, programs: dict[str, str] | None = None, **choices: Any):
        self.rig, self.motion, self.certificate = known(name)
        made: list[Cr1] = []

        def make(settings: Cr1Settings, **given: Any) -> Cr1:
            if programs is not None:
                given["programs"] = programs
            made.append(Cr1(msgspec.structs.replace(settings, **choices), **given))
            return made[-1]

        patch.setattr(wiring, "Cr1", make)
        self.arm = VirtualArm(self.rig)
        self.cr1 = made[-1]

    @property
    def requests(self) -> list[str]:
        return self.arm.written.decode("ascii").split("\r")

    @property
    def programs(self) -> list[str]:
        return sorted(self.cr1.store.programs)

    def energise(self) -> None:
        self.arm.until(Mode.UNKNOWN_POSE)
        self.arm.until(Mode.IDLE, Confirm(positions=self.rig.park, by="test"))

    def move(self) -> None:
        """The whole motion, to its end."""
        load = Load(motion=self.motion.to_bytes(), certificate=self.certificate.to_bytes())
        self.arm.until(Mode.ARMED, load, Arm(digest=self.motion.digest))
        self.arm.until(Mode.STREAMING, Start(digest=self.motion.digest))
        self.arm.until(Mode.IDLE, within_s=60.0)
        self.arm.wait(self.rig.controller.settle_s + 2.0)

    def leave(self) -> None:
        """Disconnect, and let the controller finish."""
        self.arm.tick(Disconnect(reason="the end"))
        self.cr1.advance(self.arm.now_s + 5.0)

    def said(self, words: str) -> bool:
        return any(words in event for event in self.arm.events)


def run_and_leave(stand: Stand) -> None:
    stand.energise()
    stand.move()
    assert stand.arm.position("J1") == pytest.approx(4.0, abs=0.02)
    stand.leave()
    assert not stand.cr1.opened
    assert not stand.cr1.enabled
    assert stand.programs == SOMEBODYS


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("axes", AXES)
def test_an_arm_of_this_name_is_driven_whatever_axes_its_controller_shows(
    monkeypatch: pytest.MonkeyPatch, name: str, axes: str
) -> None:
    run_and_leave(Stand(monkeypatch, name, axes=axes))


@pytest.mark.parametrize("client", ["NARCUSR", "TOOLBOX"])
@pytest.mark.parametrize("answered", PICKY.values(), ids=PICKY)
def test_another_name_opens_the_session_and_it_is_said_which(
    monkeypatch: pytest.MonkeyPatch, client: str, answered: bool
) -> None:
    stand = Stand(monkeypatch, "rv2aj", clients=(client,), others_answered=answered)
    run_and_leave(stand)
    assert stand.said(f"the controller was opened as {client}; it did not take HIL")


@pytest.mark.parametrize("answered", PICKY.values(), ids=PICKY)
def test_a_reconnection_begins_with_the_name_that_worked(monkeypatch: pytest.MonkeyPatch, answered: bool) -> None:
    stand = Stand(monkeypatch, "rv2aj", clients=("TOOLBOX",), others_answered=answered)
    link = stand.arm._arm.bridge._link
    stand.arm.until(Mode.UNKNOWN_POSE)
    link.close()
    since = len(stand.arm.written)
    link.open(stand.arm.now_s)
    stand.arm.wait(4.0)
    again = stand.arm.written[since:].decode("ascii").split("\r")
    assert {request for request in again if "OPEN=" in request} == {"1;1;OPEN=TOOLBOX"}
    assert stand.arm._arm.bridge._link.read(stand.arm.now_s).phase is LinkPhase.READY


def test_an_arm_that_measures_itself_outside_is_refused_in_degrees_with_its_own_remedy() -> None:
    rig, _, _ = known("rv2aj")
    arm = VirtualArm(rig, tuple(angle * DEG for angle in FAKES_START_DEG))
    arm.until(Mode.UNKNOWN_POSE)
    arm.tick(Confirm(positions=rig.park, by="test"))
    arm.wait(1.0)
    assert arm.mode is Mode.UNKNOWN_POSE
    assert arm.events[-1] == (
        "refused: J5: the controller measures it at 90.00 deg; allowed: -88.00 to 88.00 deg. Bring it inside at the "
        "controller, with the teach box; then connect again"
    )


def test_a_joint_move_from_outside_the_soft_limits_says_how_the_arm_comes_back() -> None:
    rig, _, _ = known("rv2aj")
    outside = (*rig.park[:3], 87 * DEG, 0.0)
    with pytest.raises(RefusedError) as caught:
        plan_joint_move(rig, outside, rig.park)
    (refusal,) = caught.value.refusals
    assert (refusal.subject, refusal.nearest_allowed) == ("J5", "86.00 deg")
    assert refusal.advice.startswith("Bring the arm inside them first: one with brakes by the teach box")

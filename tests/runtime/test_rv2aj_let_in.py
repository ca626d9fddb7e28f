"""Controllers that differ from the one in the manual: each lets the arm in, or what to do is said."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from drivers._rv2aj_programs import RESERVED, program_lines
from drivers.rv2aj import Rv2ajSettings, look_over
from hil.clock import VirtualClock
from hil.link import Condition
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.runtime import wiring
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.types import Arm, Confirm, Disconnect, LinkPhase, Load, Mode, Start
from hil.types import Stop as StopRequest
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings, Key, Stop, programs
from sim.cr1.state import Holder
from sim.ports import MemoryPort

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

        patch.setattr("hil.runtime.kinds.rv2aj_fake.Cr1", make)
        self.arm = VirtualArm(self.rig)
        self.cr1 = made[-1]

    @property
    def requests(self) -> list[str]:
        return self.arm.written.decode("ascii").split("\r")

    @property
    def programs(self) -> list[str]:
        return sorted(self.cr1.machine.store.programs)

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
        self.arm.until(Mode.DISCONNECTED, Disconnect(reason="the end"), within_s=30.0)
        self.cr1.advance(self.arm.now_s + 5.0)

    def said(self, words: str) -> bool:
        return any(words in event for event in self.arm.events)


def run_and_leave(stand: Stand) -> None:
    stand.energise()
    stand.move()
    assert stand.arm.position("J1") == pytest.approx(4.0, abs=0.02)
    stand.leave()
    assert not stand.cr1.conversation.session.opened
    assert not stand.cr1.machine.enabled
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


def test_a_joint_move_from_outside_the_hard_limits_says_how_the_arm_comes_back() -> None:
    rig, _, _ = known("rv2aj")
    outside = (*rig.park[:3], 89 * DEG, 0.0)
    with pytest.raises(RefusedError) as caught:
        plan_joint_move(rig, outside, rig.park)
    (refusal,) = caught.value.refusals
    assert (refusal.subject, refusal.nearest_allowed) == ("J5", "86.00 deg")
    assert refusal.advice.startswith("Bring the arm inside them first: one with brakes by the teach box")


# -- EXEC without a program --------------------------------------------------------------------------------------


def test_an_empty_program_is_selected_for_an_exec_that_wants_one_and_goes_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand = Stand(monkeypatch, "rv2aj", exec_wants_program=True)
    stand.energise()
    assert stand.cr1.machine.slot(1).name == "HILEXEC"
    assert stand.said("an empty program HILEXEC of ours is selected until the end")
    assert stand.cr1.machine.alarms.standing is None
    stand.move()
    assert stand.arm.position("J1") == pytest.approx(4.0, abs=0.02)
    stand.leave()
    assert stand.programs == SOMEBODYS
    assert stand.cr1.machine.slot(1).name == "1"


def test_a_program_that_is_selected_already_does_and_stays_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj", exec_wants_program=True)
    programs.select(stand.cr1.machine, stand.cr1.machine.slot(1), "1")
    run_and_leave(stand)
    assert "HILEXEC" not in "".join(stand.requests).replace("FCHECKHILEXEC", "")
    assert stand.cr1.machine.slot(1).name == "1"


ENDS = {
    "in motion": lambda stand: None,
    "after a stop": lambda stand: stand.arm.wait(0.1) and stand.arm.tick(StopRequest(reason="test")),
    "after an alarm": lambda stand: stand.cr1.press(Stop.PANEL, stand.arm.now_s),
}


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_nothing_of_ours_stays_after_an_end_in_the_middle(
    monkeypatch: pytest.MonkeyPatch, name: str, end: Callable[[Stand], object]
) -> None:
    stand = Stand(monkeypatch, name, exec_wants_program=True)
    stand.energise()
    load = Load(motion=stand.motion.to_bytes(), certificate=stand.certificate.to_bytes())
    stand.arm.until(Mode.ARMED, load, Arm(digest=stand.motion.digest))
    stand.arm.until(Mode.STREAMING, Start(digest=stand.motion.digest))
    stand.arm.wait(1.0)
    assert stand.programs != SOMEBODYS
    end(stand)
    stand.arm.wait(2.0)
    stand.leave()
    assert stand.programs == SOMEBODYS


@pytest.mark.parametrize("name", RIGS)
def test_what_a_killed_session_left_is_found_and_deleted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    way = known(name)[0].controller.way  # type: ignore[attr-defined]
    ours = RESERVED[way]
    left = {"1": "10 END", ours: "\n".join(program_lines(way, 3))}
    stand = Stand(monkeypatch, name, programs=left, exec_wants_program=True)
    programs.select(stand.cr1.machine, stand.cr1.machine.slot(1), ours)
    run_and_leave(stand)
    assert stand.said(f"our program {ours}, left behind by a session that was cut off, deleted")


def test_a_program_of_that_name_which_is_somebody_elses_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj", programs={"HILEXEC": "10 MOV J1"}, exec_wants_program=True)
    stand.arm.until(Mode.UNKNOWN_POSE)
    stand.arm.tick(Confirm(positions=stand.rig.park, by="test"))
    stand.arm.wait(5.0)
    assert stand.said("the controller holds a program HILEXEC that is not ours (it begins '10 MOV J1')")
    stand.leave()
    assert stand.cr1.machine.store.programs["HILEXEC"].lines == {10: "MOV J1"}


# -- the key -----------------------------------------------------------------------------------------------------

ON_OP = "the key stands on AUTO (Op.); there only the operation panel may move the arm: turn the key to AUTO (Ext.)"


def test_the_key_on_teach_is_refused_at_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj", key=Key.TEACH)
    stand.arm.wait(6.0)
    assert stand.said("the key stands on TEACH; switch the teach box off, turn the key to AUTO (Ext.), connect again")


@pytest.mark.parametrize("shown", [True, False], ids=["shown", "not shown"])
def test_the_key_on_auto_op_is_told_at_connecting_and_when_the_right_is_refused(
    monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    stand = Stand(monkeypatch, "rv2aj", key=Key.AUTO_OP, shows_key=shown)
    stand.arm.until(Mode.UNKNOWN_POSE)
    assert stand.said(ON_OP) is shown
    stand.arm.tick(Confirm(positions=stand.rig.park, by="test"))
    stand.arm.wait(3.0)
    refused = next(event for event in stand.arm.events if "refuses CNTLON: L6020 the operation" in event)
    assert (ON_OP in refused) is shown


def test_the_key_turned_to_auto_op_names_itself_when_a_move_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, "rv2aj")
    stand.energise()
    stand.cr1.put_key(stand.arm.now_s, Key.AUTO_OP)
    load = Load(motion=stand.motion.to_bytes(), certificate=stand.certificate.to_bytes())
    stand.arm.until(Mode.ARMED, load, Arm(digest=stand.motion.digest))
    stand.arm.tick(Start(digest=stand.motion.digest))
    stand.arm.wait(3.0)
    assert any("refuses EXECJT" in event and ON_OP in event for event in stand.arm.events)


@pytest.mark.parametrize(
    ("key", "shown", "text", "remedy"),
    [
        (Key.TEACH, True, "TEACH", "switch the teach box off, turn the key to AUTO (Ext.)"),
        (Key.TEACH, False, "TEACH", "switch the teach box off, turn the key to AUTO (Ext.)"),
        (Key.AUTO_OP, True, "AUTO (Op.)", ON_OP.partition("; ")[2]),
        (Key.AUTO_OP, False, "AUTO", ""),
        (Key.AUTO_EXT, True, "AUTO (Ext.)", ""),
    ],
)
def test_the_survey_names_the_key_with_its_remedy(key: Key, shown: bool, text: str, remedy: str) -> None:
    found = survey(Cr1(Cr1Settings(key=key, shows_key=shown)))
    assert (found["key"].text, found["key"].remedy, found["key"].good) == (text, remedy, not remedy)


def survey(cr1: Cr1) -> dict[str, Condition]:
    settings = Rv2ajSettings(port_url="memory", baud=9600)
    return {each.name: each for each in look_over(settings, lambda: MemoryPort(cr1, 9600), VirtualClock())}


# -- requests that come too soon ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIGS)
def test_a_controller_that_refuses_hurried_requests_is_driven_and_left_clean(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run_and_leave(Stand(monkeypatch, name, distance_s=0.1))


def test_a_survey_keeps_its_distance_from_a_program_that_runs() -> None:
    cr1 = Cr1(Cr1Settings(distance_s=0.1), programs={"1": "10 DLY 99"})
    cr1.machine.panel.holder = Holder.PC
    programs.start(cr1.machine, cr1.machine.slot(1), "1", None)
    assert survey(cr1)["program"].text == "1.MB4 runs, line 10"
    assert cr1.counts.hurried == 0

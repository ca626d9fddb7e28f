"""What a lab tells of the difference between command and report, in one lamp, and of an arm that only starts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lab_server import resting_report, run, served
from tokens_of_people import token
from told_loop import RIG, SPEC, Loop

from hil.service import wire
from hil.service.arm_presence import ArmPresence
from hil.service.coming_up import ComingUp
from hil.service.lamp import lamp
from hil.service.live_arm import LiveArm
from hil.service.rights import Role
from hil.service.wire import Lamp, LeaseBrief, LeasePhase
from hil.types import Mode
from hil.units import DEG

FREE = LeaseBrief(phase=LeasePhase.FREE, epoch=1)


def told(**of_report: object) -> wire.Telemetry:
    live = LiveArm(RIG)
    live.take(msgspec.structs.replace(resting_report(SPEC), **of_report), 1.0)  # type: ignore[arg-type]
    return live.telemetry(1.0, FREE, 0.25, None)


def test_telemetry_says_error_band_and_how_much_of_it_is_used() -> None:
    band = RIG.axes[0].divergence
    seen = told(errors=(-band / 4, 2 * band, None, 0.0, 0.0, 0.0))
    assert seen.bands == tuple(axis.divergence for axis in RIG.axes)
    assert seen.errors == (-band / 4, 2 * band, None, 0.0, 0.0, 0.0)
    assert seen.used[0] == pytest.approx(0.25)
    assert seen.used[1] == pytest.approx(2 * band / RIG.axes[1].divergence)
    assert seen.used[2:] == (None, 0.0, 0.0, 0.0)


def test_a_worker_that_has_no_errors_yet_is_told_as_not_known() -> None:
    assert told().used == (None,) * len(RIG.axes)


def test_an_alarm_is_told_in_words_and_by_the_lamp() -> None:
    seen = told(alarm="base: they have parted")
    assert (seen.alarm, seen.lamp) == ("base: they have parted", Lamp.ALARM)
    assert told().lamp is Lamp.READY


LATCHED = msgspec.structs.replace(FREE, latched="stopped by Ann")
FROZEN = msgspec.structs.replace(FREE, frozen=True)


@pytest.mark.parametrize(
    ("mode", "lease", "alarm", "starting", "shown"),
    [
        (Mode.ESTOP, LATCHED, True, False, Lamp.ESTOP),
        (Mode.FAULT, LATCHED, True, False, Lamp.FAULT),
        (Mode.HOLDING, LATCHED, True, False, Lamp.LATCHED),
        (Mode.IDLE, msgspec.structs.replace(LATCHED, frozen=True), False, False, Lamp.LATCHED),
        (Mode.IDLE, FROZEN, True, False, Lamp.FROZEN),
        (Mode.HOLDING, FREE, True, False, Lamp.ALARM),
        (Mode.UNKNOWN_POSE, FREE, False, True, Lamp.STARTING),
        (Mode.UNKNOWN_POSE, FREE, False, False, Lamp.UNKNOWN),
        (Mode.DISCONNECTED, FREE, False, True, Lamp.STARTING),
        (Mode.DISCONNECTED, FREE, False, False, Lamp.AWAY),
        (Mode.STREAMING, FREE, False, False, Lamp.MOVING),
        (Mode.ARMED, FREE, False, False, Lamp.ARMED),
    ],
)
def test_the_lamp_says_what_counts_most(
    mode: Mode, lease: LeaseBrief, alarm: bool, starting: bool, shown: Lamp
) -> None:
    assert lamp(mode, lease, alarm=alarm, starting=starting) is shown


def test_there_is_a_lamp_for_every_mode() -> None:
    assert {lamp(mode, FREE, alarm=False, starting=False) for mode in Mode} <= set(Lamp)


def test_a_start_is_told_with_its_time_until_the_arm_is_there_and_a_change_once() -> None:
    arm, coming = Loop(Mode.CONNECTING), ComingUp(placed=True)
    presence = ArmPresence(arm.loop, coming)
    assert presence.news(100.0) is None
    arm.worker.away, arm.worker.begun_s = "starting: its worker comes up", 100.0
    first = presence.news(100.0)
    assert first is not None and (first.words, first.starting_s) == (arm.worker.away, 0.0)
    assert presence.news(112.0) is None
    assert presence.message(112.0).starting_s == 12.0
    arm.worker.away = ""
    coming.begun(Mode.UNKNOWN_POSE)
    assert presence.starting_s(115.0) == 15.0
    coming.begun(Mode.ENERGISING)
    coming.begun(Mode.IDLE)
    last = presence.news(116.0)
    assert last is not None and (last.words, last.starting_s) == ("", None)


def test_an_arm_that_waits_for_a_person_or_for_another_try_is_not_starting() -> None:
    arm, coming = Loop(Mode.UNKNOWN_POSE), ComingUp(placed=False)
    presence = ArmPresence(arm.loop, coming)
    arm.worker.begun_s = 100.0
    coming.begun(Mode.UNKNOWN_POSE)
    assert presence.starting_s(101.0) is None
    arm.worker.away, arm.worker.begun_s = "unplugged", None
    assert presence.message(101.0) == wire.Presence(now_s=101.0, words="unplugged")


@pytest.mark.wall_clock
def test_over_a_channel_version_2_has_the_error_and_version_1_what_it_had(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            old, new = await lab.join(), await lab.join(speaks=[1, 2])
            for person in (old, new):
                await person.ask("watch", rate_hz=50.0)
                await person.until(lambda person=person: bool(person.frames))  # type: ignore[misc]
            assert "errors" not in old.frames[0] and old.frames[0]["v"] == 1 and not old.presence
            assert new.presence["words"] == ""
            await new.until(lambda: new.frames[-1]["errors"][0] is not None)
            seen = new.frames[-1]
            assert (seen["v"], seen["lamp"]) == (2, "ready")
            assert max(abs(error) for error in seen["errors"] if error is not None) < 1.0 * DEG
            lab.workers["arm-1"].lose("unplugged")
            await new.until(lambda: new.presence["words"] == "unplugged")

    run(story)


@pytest.mark.wall_clock
def test_words_of_a_teacher_reach_everybody_in_a_form_that_they_know(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            teacher = await lab.join(speaks=[1, 2], token=token("Ann", Role.TEACH))
            old, new = await lab.join(token=token("Ray")), await lab.join(speaks=[1, 2], token=token("Zoe"))
            answer = await teacher.ask("tell", v=2, text="five more minutes")
            assert answer["type"] == "accepted"
            for person, kind in ((old, "loop"), (new, "message")):
                said = [each["kind"] for each in person.notices if each["text"] == "Ann says: five more minutes"]
                assert said == [kind]
            assert (await new.ask("tell", v=2, text="me too"))["code"] == "role"

    run(story)

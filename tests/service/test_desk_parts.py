"""What a desk is made of, without a lab and without a clock: its arm's loop, and its watch on the pictures."""

from __future__ import annotations

import msgspec
import pytest
from told_loop import RIG, Loop

from hil.errors import InterlockError
from hil.service.arm_loop import ArmLoop
from hil.service.gate import GateSettings
from hil.service.lease_facts import Party
from hil.service.live_arm import LiveArm
from hil.service.picture_watch import PictureWatch
from hil.service.rights import Role
from hil.service.wire import NoticeKind
from hil.types import AxisJog, JogHold, JogRelease, Mode, Start, Stop, SupplyCut

TURNING = AxisJog(amounts=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
STOP = Stop(reason="enough")


def test_an_arm_without_a_worker_is_not_there() -> None:
    loop = ArmLoop("arm-1", LiveArm(RIG))
    assert (loop.away, loop.mode, loop.settled) == ("not started yet", Mode.DISCONNECTED, True)
    with pytest.raises(InterlockError, match="arm-1 is not there"):
        loop.send(STOP)
    loop.halt(STOP)
    assert loop.called_off == "enough"


def test_holds_and_releases_of_jogs_are_numbered_in_one_row() -> None:
    arm = Loop(Mode.ARMED)
    arm.loop.hold_jog(TURNING, 1.0)
    arm.loop.release_jog()
    arm.loop.hold_jog(TURNING, 1.1)
    numbers = [request.seq for request in arm.worker.sent if isinstance(request, JogHold | JogRelease)]
    assert numbers == [1, 2, 3]
    assert arm.loop.called_off == "the jog was let go of"


@pytest.mark.parametrize("mode", Mode)
def test_a_dead_man_that_is_released_stops_what_moves_or_may_and_leaves_the_rest(mode: Mode) -> None:
    arm = Loop(mode)
    arm.loop.let_go("released")
    assert arm.stopped is (mode in {Mode.ENERGISING, Mode.STREAMING, Mode.STOPPING, Mode.UNKNOWN_POSE})
    assert arm.loop.called_off == "released"


def test_a_start_that_the_loop_has_still_to_take_is_stopped_with_the_dead_man() -> None:
    arm = Loop(Mode.ARMED)
    arm.loop.send(Start(digest="d" * 64))
    arm.worker.settled = False
    arm.is_in(Mode.ARMED)
    arm.loop.let_go("released")
    assert arm.stopped


def test_a_start_that_led_to_nothing_is_no_reason_to_disarm() -> None:
    arm = Loop(Mode.ARMED)
    arm.loop.send(Start(digest="d" * 64))
    arm.is_in(Mode.ARMED)
    arm.loop.let_go("released")
    assert not arm.stopped


def test_an_arm_stays_armed_at_its_share_until_it_is_disarmed_stopped_or_gone() -> None:
    arm = Loop(Mode.ARMED)
    arm.loop.arm_jog(0.25)
    arm.is_in(Mode.ARMED)
    arm.is_in(Mode.STREAMING)
    assert arm.loop.armed_share == 0.25
    arm.is_in(Mode.IDLE)
    assert arm.loop.armed_share is None
    arm.loop.arm_jog(0.25)
    arm.loop.halt(STOP)
    assert arm.loop.armed_share is None
    arm.loop.arm_jog(0.25)
    arm.loop.lost("its worker has ended")
    assert (arm.loop.armed_share, arm.loop.called_off) == (None, "its worker has ended")


def test_a_report_from_before_the_arming_says_nothing_of_it() -> None:
    arm = Loop(Mode.IDLE)
    arm.loop.arm_jog(0.25)
    arm.worker.settled = False
    arm.is_in(Mode.IDLE)
    assert arm.loop.armed_share == 0.25


def test_whatever_stops_the_arm_calls_off_in_words() -> None:
    arm = Loop(Mode.IDLE)
    arm.loop.halt(Stop(reason=""))
    assert arm.loop.called_off == "stopped"
    arm.loop.halt(SupplyCut(by="Ada"))
    assert arm.loop.called_off == "the servo supply was cut"


def test_an_arm_that_is_away_is_sent_nothing() -> None:
    arm = Loop(Mode.STREAMING)
    arm.worker.away = "unplugged"
    arm.loop.halt(STOP)
    assert arm.worker.sent == []
    assert arm.loop.mode is Mode.DISCONNECTED


# -- pictures --------------------------------------------------------------------------------------------

NEEDED = GateSettings(picture_needed=True, picture_full_s=0.5, picture_last_s=2.0)
FAR = Party(user="u", name="Ada", role=Role.DRIVE, channel=1)
BESIDE = msgspec.structs.replace(FAR, on_site=True)


def test_each_change_of_the_pictures_is_said_once() -> None:
    watch = PictureWatch(NEEDED)
    ages_s = (0.1, 2.0, 2.01, 3.0, None, 2.0, 0.1)
    said = [watch.look(FAR, age_s, at_stake=True) for age_s in ages_s]
    assert said == [None, None, NoticeKind.PICTURE_STALE, None, None, NoticeKind.PICTURE_BACK, None]


def test_an_arm_that_stands_needs_no_picture_yet_but_who_was_stopped_learns_that_it_is_back() -> None:
    watch = PictureWatch(NEEDED)
    assert watch.look(FAR, None, at_stake=False) is None
    assert watch.look(FAR, None, at_stake=True) is NoticeKind.PICTURE_STALE
    assert watch.look(FAR, 0.1, at_stake=False) is NoticeKind.PICTURE_BACK


@pytest.mark.parametrize(
    ("settings", "driver"), [(GateSettings(picture_needed=False), FAR), (NEEDED, BESIDE), (NEEDED, None)]
)
def test_who_needs_no_picture_is_told_nothing_of_it(settings: GateSettings, driver: Party | None) -> None:
    assert PictureWatch(settings).look(driver, None, at_stake=True) is None


def test_the_next_driver_is_told_anew() -> None:
    watch = PictureWatch(NEEDED)
    assert watch.look(FAR, None, at_stake=True) is NoticeKind.PICTURE_STALE
    watch.forget()
    assert watch.look(FAR, None, at_stake=True) is NoticeKind.PICTURE_STALE

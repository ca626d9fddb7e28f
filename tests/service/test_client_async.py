"""The asyncio client at a lab's server: what it does by itself, and what it never does."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lab_server import PATIENCE_S, Served, run, served
from tokens_of_people import token

from hil.errors import CommandError, InterlockError, LinkClosed, LinkError, LinkTimeout
from hil.service import arm_news, wire
from hil.service.client import AsyncArm
from hil.service.lab_request import Access, RefusedByLabError
from hil.service.rights import Role
from hil.types import AxisJog, JogFrame, JogHold, JogStep, Mode, ToolJog

pytestmark = pytest.mark.wall_clock

BASE = AxisJog(amounts=(0.05, 0.0, 0.0, 0.0, 0.0, 0.0))
TURNING = AxisJog(amounts=(0.2, 0.0, 0.0, 0.0, 0.0, 0.0))


@contextlib.asynccontextmanager
async def at(lab: Served, name: str = "Ada", arm: str = "arm-1") -> AsyncIterator[AsyncArm]:
    async with AsyncArm(lab.access, arm, name=name, rate_hz=50.0) as found:
        yield found


async def cut(arm: AsyncArm) -> None:
    """The line is torn off, and noticed."""
    assert arm._line._socket is not None
    arm._line._socket._socket._response.close()
    await arm.until(lambda: not arm.connected, PATIENCE_S)


def asked(lab: Served, kind: type) -> int:
    return sum(isinstance(request, kind) for request in lab.workers["arm-1"].sent)


def test_a_step_is_asked_for_taken_and_followed_to_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            mark = arm.mark
            await arm.step(BASE)
            assert await arm.settled(mark, 10.0) is Mode.IDLE
            await arm.until(lambda: arm.telemetry is not None and arm.telemetry.commanded[0] == 0.05, PATIENCE_S)
            assert arm.trip_s is not None
            assert any("streaming -> idle" in words for words in arm.since(mark))

    run(story)


def test_a_claim_of_an_arm_that_comes_up_waits_until_it_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.reach(Mode.ENERGISING)
            await arm.claim()
            mark = arm.mark
            await arm.step(BASE)
            assert await arm.settled(mark, 10.0) is Mode.IDLE

    run(story)


def test_a_claim_that_comes_to_nothing_meanwhile_says_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.reach(Mode.ENERGISING)
            dee, wu = (Access(url=lab.url, token=each) for each in (token("Dee"), token("Wu", Role.WATCH)))
            async with AsyncArm(dee, "arm-1") as arm, AsyncArm(wu, "arm-1") as onlooker:
                claiming = asyncio.create_task(arm.claim())
                await arm.until(lambda: arm.lease is not None and arm.lease.lease.phase.value == "changing", PATIENCE_S)
                await onlooker.stop("a hand is in the way")
                with pytest.raises(InterlockError, match="has not got it: a stop is latched"):
                    await claiming

    run(story)


def test_a_claim_that_is_not_waited_for_any_longer_leaves_the_queue(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            ann, dee = (Access(url=lab.url, token=token(name)) for name in ("Ann", "Dee"))
            async with AsyncArm(ann, "arm-1") as driver, AsyncArm(dee, "arm-1") as waiting:
                await driver.claim()

                def queue() -> int:
                    return 0 if driver.lease is None else driver.lease.lease.waiting

                with pytest.raises(LinkTimeout, match="did not come within"):
                    await waiting.claim(wait=True, within_s=0.2)
                assert await driver.until(lambda: queue() == 0, PATIENCE_S)
                claiming = asyncio.create_task(waiting.claim(wait=True, within_s=60.0))
                assert await driver.until(lambda: queue() == 1, PATIENCE_S)
                await waiting.leave_queue()
                with pytest.raises(InterlockError, match="waits no longer"):
                    await claiming
                assert await driver.until(lambda: queue() == 0, PATIENCE_S)
                assert driver.drives

    run(story)


def test_a_jog_goes_on_while_it_is_pressed_and_the_dead_man_goes_with_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            mark, presses = arm.mark, iter(range(40))
            await arm.jog(TURNING, lambda: next(presses, None) is not None)
            assert await arm.settled(mark, 10.0) is Mode.HOLDING
            await arm.free()
            assert not arm.held
            assert asked(lab, JogHold) > 3

    run(story)


def test_what_the_lab_or_the_loop_refuses_is_said_in_their_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            with pytest.raises(RefusedByLabError, match="claim it first") as refused:
                await arm.step(BASE)
            assert refused.value.refused.code is wire.Code.LEASE
            await arm.claim()
            mark = arm.mark
            await arm.step(ToolJog(frame=JogFrame.WORLD, linear=(0.0, 0.0, -0.5)))
            with pytest.raises(InterlockError, match="100 mm at most"):
                await arm.settled(mark, 10.0)
            with pytest.raises(InterlockError, match="does not count as held"):
                await arm.grip(within_s=0.1)

    run(story)


def test_what_waits_for_one_hand_does_not_begin_under_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            going = asyncio.create_task(arm.go("home"))
            await asyncio.sleep(0)
            arm.let_go()
            arm.hold(5.0)
            with pytest.raises(InterlockError, match="does not count as held"):
                await asyncio.wait_for(going, 5.0)
            assert asked(lab, wire.Go) == 0

    run(story)


def test_after_a_lost_line_the_lease_comes_back_and_the_motion_does_not(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            epoch = arm.epoch
            jogging = asyncio.create_task(arm.jog(TURNING, lambda: True))
            await lab.reach(Mode.STREAMING)
            await cut(arm)
            # Whoever goes on pressing finds that the jog is over.
            with pytest.raises(LinkClosed, match="connection was lost"):
                await asyncio.wait_for(jogging, 5.0)
            assert await arm.until(lambda: arm.drives, PATIENCE_S)
            assert arm.epoch > epoch
            holds = asked(lab, JogHold)
            await arm.until(lambda: arm.telemetry is not None and arm.mode is Mode.HOLDING, PATIENCE_S)
            await asyncio.sleep(0.2)
            assert asked(lab, JogHold) == holds
            assert not arm.held

    run(story)


def test_a_line_that_breaks_again_while_the_lease_is_asked_for_is_tried_again(tmp_path: Path) -> None:
    class Unlucky(AsyncArm):
        breaks = 0

        async def _send(self, message: wire.FromClient) -> None:
            if isinstance(message, wire.Claim) and self.breaks:
                self.breaks -= 1
                raise LinkClosed("broken again", port="test")
            await super()._send(message)

    async def story() -> None:
        async with served(tmp_path) as lab, Unlucky(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            arm.breaks = 2
            await cut(arm)
            assert await arm.until(lambda: arm.breaks == 1, PATIENCE_S)
            assert not arm.connected
            assert await arm.until(lambda: arm.drives, PATIENCE_S)

    run(story)


def test_whoever_waits_for_an_answer_is_told_that_the_line_is_lost(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            waiting = asyncio.create_task(arm.request(wire.Watch, rate_hz=10.0, within_s=10.0))
            await asyncio.sleep(0)
            lost = arm._requests.expect(9999)
            await waiting
            await cut(arm)
            with pytest.raises(LinkClosed, match="connection was lost"):
                await lost

    run(story)


def test_a_driver_who_was_taken_over_does_not_fight_for_the_arm(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab, "Ada") as ada, at(lab, "Tess") as tess:
            await lab.ready()
            await ada.claim()
            await tess.take_over("a lesson")
            assert tess.drives
            await ada.until(lambda: not ada.drives, PATIENCE_S)
            await ada.until(lambda: ada.connected and ada.lease is not None, PATIENCE_S)
            await asyncio.sleep(0.2)
            assert tess.drives
            assert not ada.drives

    run(story)


def test_leaving_gives_the_lease_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab, "watcher") as other:
            await lab.ready()
            async with at(lab, "Ada") as ada:
                await ada.claim()
            await other.until(
                lambda: other.lease is not None and other.lease.lease.phase is wire.LeasePhase.FREE, PATIENCE_S
            )

    run(story)


def test_a_watcher_may_stop_and_it_latches(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.stop("a cable is caught")
            await arm.until(lambda: arm.lease is not None and "caught" in arm.lease.lease.latched, PATIENCE_S)

    run(story)


def test_an_arm_that_is_not_there_is_no_reason_to_try_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            with pytest.raises(RefusedByLabError, match="no arm of that name"):
                await AsyncArm(lab.access, "arm-7").open()

    run(story)


def test_a_lab_that_cannot_be_reached_is_one_line() -> None:
    async def story() -> None:
        with pytest.raises(LinkError, match="cannot be reached"):
            await AsyncArm(Access(url="http://127.0.0.1:9"), "arm-1").open()
        with pytest.raises(CommandError, match="as https://"):
            await AsyncArm(Access(url="ftp://lab"), "arm-1").open()
        with pytest.raises(CommandError, match="not encrypted"):
            await AsyncArm(Access(url="http://lab.example.org", token="secret"), "arm-1").open()

    asyncio.run(story())


def test_the_server_s_clock_is_never_reckoned_ahead(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await arm.until(lambda: arm.telemetry is not None, PATIENCE_S)
            # Server and client share a clock here.
            assert arm.now_s <= time.monotonic()

    run(story)


def test_words_are_kept_by_number_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm_news, "MOST_WORDS", 5)
    news = arm_news.ArmNews()
    for number in range(8):
        news.say(f"word {number}")
    assert news.mark == 8
    assert news.since(6) == ["word 6", "word 7"]
    assert news.since(0) == [f"word {number}" for number in range(3, 8)]
    assert news.since(8) == []


def test_steps_never_need_the_dead_man(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, at(lab) as arm:
            await lab.ready()
            await arm.claim()
            await arm.step(BASE)
            assert not arm.held
            assert asked(lab, JogStep) == 1

    run(story)

"""`hil.connect_async`: the same arm for asyncio, with the calls that the blocking one has."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
from lab_server import PATIENCE_S, Served, run, served
from tokens_of_people import token

import hil
from hil.errors import CommandError, InterlockError
from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.lab_request import Access
from hil.service.rights import Role
from hil.service.settings import Settings
from hil.types import AxisJog, JogFrame, Mode, Stop, ToolJog

pytestmark = pytest.mark.wall_clock


def stops(lab: Served) -> list[str]:
    return [request.reason for request in lab.workers["arm-1"].sent if isinstance(request, Stop)]


async def turned_to(arm: AsyncArm, base_rad: float) -> bool:
    def there() -> bool:
        return arm.telemetry is not None and arm.telemetry.commanded[0] == pytest.approx(base_rad, abs=1e-6)

    return await arm.until(there, PATIENCE_S)


def test_it_takes_what_connect_takes() -> None:
    assert inspect.signature(hil.connect_async).parameters == inspect.signature(hil.connect).parameters


def test_a_program_claims_steps_and_reads_where_the_arm_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1", name="Ada") as arm:
                assert arm.telemetry is not None
                await arm.claim()
                assert await arm.moved(arm.step(arm.move_of({"base": 5.0}))) is Mode.IDLE
                assert await turned_to(arm, 0.0872664)
                assert not arm.held

    run(story)


def test_leaving_the_block_gives_the_lease_back_also_after_an_error(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            with pytest.raises(ZeroDivisionError):
                async with hil.connect_async(f"{lab.url}/arm-1") as arm:
                    await arm.claim()
                    raise ZeroDivisionError
            async with hil.connect_async(f"{lab.url}/arm-1") as other:
                assert await other.until(
                    lambda: other.lease is not None and other.lease.lease.phase is wire.LeasePhase.FREE, 5.0
                )

    run(story)


def test_the_address_of_a_lab_with_one_arm_will_do(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, hil.connect_async(lab.url) as arm:
            assert arm.arm == "arm-1"

    run(story)


def test_an_address_without_an_arm_lists_the_arms_of_a_lab_with_several(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2) as lab:
            with pytest.raises(CommandError, match=r"which arm\? There are: .*/arm-1, .*/arm-2"):
                async with hil.connect_async(lab.url):
                    pass

    run(story)


@pytest.mark.processes
def test_a_planned_move_is_held_to_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1") as arm:
                await arm.claim()
                assert await arm.home(speed_percent=50.0) is Mode.IDLE
                assert await arm.park(speed_percent=50.0) is Mode.IDLE

    run(story)


@pytest.mark.processes
def test_letting_go_of_the_dead_man_stops_a_move(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1") as arm:
                await arm.claim()
                going = arm.moved(arm.go("home", 0.1), deadman=lambda: arm.mode is not Mode.STREAMING)
                assert await going is Mode.HOLDING

    run(story)


def test_a_dead_man_that_nobody_holds_begins_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1") as arm:
                await arm.claim()
                with pytest.raises(InterlockError, match="does not count as held"):
                    await arm.moved(arm.go("home"), deadman=lambda: False)
                assert lab.lab.desks["arm-1"].loop.mode is Mode.IDLE

    run(story)


@pytest.mark.processes
def test_whoever_is_cancelled_stops_the_arm_first(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1") as arm:
                await arm.claim()
                going = asyncio.create_task(arm.home(speed_percent=10.0))
                await lab.reach(Mode.STREAMING)
                going.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await going
                assert any("the program was interrupted" in reason for reason in stops(lab))
                await lab.reach(Mode.HOLDING)

    run(story)


def test_whoever_is_cancelled_before_the_move_was_asked_for_asks_for_none_after_the_stop(tmp_path: Path) -> None:
    class Slow(AsyncArm):
        """Grips only once its stop is under way."""

        def __init__(self, access: Access, arm: str) -> None:
            super().__init__(access, arm)
            self.asked: list[str] = []
            self.gripped = asyncio.Event()

        async def grip(self, within_s: float = 2.0) -> None:
            self.asked.append("grip")
            await self.gripped.wait()

        async def request(self, kind: type[wire.FromClient], **given: Any) -> wire.Accepted:
            self.asked.append(kind.__name__)
            if kind is wire.Stop:
                self.gripped.set()
                for _ in range(10):
                    await asyncio.sleep(0.0)
            return await super().request(kind, **given)

    async def story() -> None:
        async with served(tmp_path) as lab, Slow(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            going = asyncio.create_task(arm.home())
            assert await arm.until(lambda: "grip" in arm.asked, PATIENCE_S)
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
            assert "Stop" in arm.asked and "Go" not in arm.asked

    run(story)


def test_time_is_renewed_arms_are_frozen_and_thawed_and_a_stop_is_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            async with hil.connect_async(f"{lab.url}/arm-1", name="Tess") as arm:

                def brief() -> wire.LeaseBrief:
                    assert arm.lease is not None
                    return arm.lease.lease

                await arm.claim()
                await arm.renew(10.0)
                await arm.freeze("a lesson")
                assert await arm.until(lambda: brief().frozen, PATIENCE_S)
                await arm.thaw()
                assert await arm.until(lambda: not brief().frozen, PATIENCE_S)
                async with hil.connect_async(f"{lab.url}/arm-1", name="Wu") as onlooker:
                    await onlooker.stop("a hand is in the way")
                assert await arm.until(lambda: bool(brief().latched), PATIENCE_S)
                await arm.reset()
                assert await arm.until(lambda: not brief().latched, PATIENCE_S)

    run(story)


def test_a_token_is_used_and_the_rig_can_be_pulled(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True, settings=Settings()) as lab:
            url = f"{lab.url}/arm-1"
            async with hil.connect_async(url, token("Wu", Role.WATCH)) as arm:
                assert arm.welcome is not None
                assert arm.welcome.role is Role.WATCH
                assert (await arm.pull()).files

    run(story)


def test_degrees_and_millimetres_become_a_move_of_axes_or_of_the_tool(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, hil.connect_async(lab.url) as arm:
            turning = arm.move_of({"base": 90.0})
            assert isinstance(turning, AxisJog)
            assert turning.amounts == pytest.approx((1.5707963, 0.0, 0.0, 0.0, 0.0, 0.0))
            assert arm.move_of({"x": -10.0}, "tool") == ToolJog(frame=JogFrame.TOOL, linear=(-0.01, 0.0, 0.0))
            with pytest.raises(CommandError, match=r"axes \(base, shoulder"):
                arm.move_of({"elbwo": 3.0})

    run(story)

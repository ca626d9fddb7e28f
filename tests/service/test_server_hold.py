"""A dead-man at a lab's server at which nothing changes: the arm stops, and a new press is wanted."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import lab_server
import pytest
from lab_server import PATIENCE_S, PATIENT, Person, Served, run, served

from hil.errors import InterlockError
from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.hold_watch import Sign
from hil.service.lease_settings import LeaseSettings
from hil.service.settings import Settings
from hil.types import AxisJog, JogHold, Mode, Stop

pytestmark = pytest.mark.wall_clock

QUICK_S = 3.0
QUICK = Settings(
    lease=LeaseSettings(stop_after_s=1.0, suspend_after_s=5.0, unchanged_s=QUICK_S, planned_unchanged_s=600.0)
)
TURNING = AxisJog(amounts=(0.02, 0.0, 0.0, 0.0, 0.0, 0.0))
WORDS = "nothing has changed for 3 s"


async def _by_hand(lab: Served, person: Person) -> None:
    """A jog that goes on and on, as a client of before would lead it."""
    assert (await person.order("arm_jog", speed_share=0.5))["type"] == "accepted"
    move = {"type": "axes", "amounts": list(TURNING.amounts)}
    while not any(notice["kind"] == "press_again" for notice in person.notices):
        await person.order("jog_hold", move=move)
        await asyncio.sleep(0.05)


def _stops(lab: Served) -> list[str]:
    return [request.reason for request in lab.workers["arm-1"].sent if isinstance(request, Stop)]


def test_a_hold_of_an_old_client_ends_with_a_stop_and_moves_nothing_before_it_is_pressed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=QUICK) as lab:
            person = await lab.driver()
            # As fast as a real one from now on: to an arm whose time flies, every hold is an old one.
            monkeypatch.setattr(lab_server, "TICK_S", lab.lab.desks["arm-1"].rig.period_s)
            began_s = time.monotonic()
            await _by_hand(lab, person)
            assert time.monotonic() - began_s >= QUICK_S - 0.5
            assert WORDS in _stops(lab)[-1]
            await lab.reach(Mode.HOLDING)
            assert [notice["kind"] for notice in person.notices if "hold" in notice["kind"]] == ["hold_ends"]
            holds = sum(isinstance(request, JogHold) for request in lab.workers["arm-1"].sent)
            still = await person.order("jog_hold", move={"type": "axes", "amounts": list(TURNING.amounts)})
            assert still["code"] == "deadman" and "let it go once" in still["reason"]
            assert sum(isinstance(request, JogHold) for request in lab.workers["arm-1"].sent) == holds
            assert not (await person.beat())["held"]
            await person.hold()
            assert (await person.beat())["held"]

    run(story)


def test_a_hand_that_shows_itself_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=QUICK) as lab, AsyncArm(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            end_s, mark = time.monotonic() + 1.5 * QUICK_S, arm.mark

            def shown() -> Sign:
                return Sign(changed_s=time.monotonic())

            await arm.jog(TURNING, lambda: time.monotonic() < end_s, sign=shown)
            assert not any("nothing has changed" in words for words in arm.since(mark))

    run(story)


def test_a_jog_of_a_program_in_which_nothing_changes_says_so_and_asking_again_is_a_new_press(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=QUICK) as lab, AsyncArm(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            with pytest.raises(InterlockError, match=WORDS):
                await arm.jog(TURNING, lambda: True)
            await lab.reach(Mode.HOLDING)
            mark, end_s = arm.mark, time.monotonic() + 0.5
            await arm.jog(TURNING, lambda: time.monotonic() < end_s)
            assert any("-> streaming" in words for words in arm.since(mark))

    run(story)


def test_whoever_goes_on_holding_what_the_lab_has_ended_holds_nothing_until_it_is_let_go(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=QUICK) as lab, AsyncArm(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            let_go_s = time.monotonic() + QUICK_S + 1.5
            held_late = False
            while time.monotonic() < let_go_s:
                arm.hold(sign=Sign(changed_s=0.0))
                held_late = arm.held
                await asyncio.sleep(0.05)
            assert not held_late
            arm.let_go()

            async def press() -> None:
                while True:
                    arm.hold()
                    await asyncio.sleep(0.05)

            pressing = asyncio.create_task(press())
            assert await arm.until(lambda: arm.held, PATIENCE_S)
            pressing.cancel()

    run(story)


def test_a_frozen_input_is_told_from_a_hand_that_holds_still(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=PATIENT) as lab, AsyncArm(lab.access, "arm-1") as arm:
            await lab.ready()
            await arm.claim()
            frozen_s = time.monotonic() + 0.5

            def shown() -> Sign:
                return Sign(changed_s=time.monotonic(), reported_s=min(time.monotonic(), frozen_s))

            with pytest.raises(InterlockError, match="the input says nothing any more"):
                await arm.jog(TURNING, lambda: True, sign=shown)

    run(story)


def test_a_server_that_asks_for_no_sign_gets_none(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab, AsyncArm(lab.access, "arm-1") as arm:
            assert arm.welcome is not None
            arm.hold(sign=Sign(changed_s=time.monotonic() - 1.0, reported_s=time.monotonic()))
            signs = arm._signs()
            assert signs["changed_s"] == pytest.approx(arm.now_s - 1.0, abs=0.5)
            rules = wire.Rules(
                beat_every_s=0.1, stop_after_s=0.25, suspend_after_s=2.0, hold_every_s=0.05, command_age_s=0.5,
                picture_age_s=1.0, picture_needed=False,
            )  # fmt: skip
            arm.welcome = wire.Welcome(**{**_fields(arm.welcome), "rules": rules})
            assert arm._signs() == {}
            plain = wire.encode(wire.Beat(seq=1, arm="arm-1", epoch=1, held=True, issued_s=1.0))
            assert b"changed" not in plain and b"reported" not in plain

    run(story)


def _fields(welcome: wire.Welcome) -> dict[str, object]:
    return {name: getattr(welcome, name) for name in welcome.__struct_fields__}

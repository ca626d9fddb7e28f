"""How an arm goes from one person to the next: only at rest, parked, idle, and with nothing left on its way."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lab_server import PATIENCE_S, PATIENT, Person, Served, kinds, run, said, served
from tokens_of_people import token

from hil.service.audit import Deed
from hil.service.audit_query import query
from hil.service.rights import Role
from hil.service.settings import Settings
from hil.service.uploads import Job, UploadVerdict
from hil.types import Mode

pytestmark = pytest.mark.wall_clock

UNATTENDED = Settings(lease=msgspec.structs.replace(PATIENT.lease, unattended_park=True))


async def left_at_home(lab: Served, user: str = "Ann") -> None:
    """Somebody drives the arm to home, gives it back there and goes."""
    person = await lab.join(token=token(user))
    await person.drive()
    await go(lab, person, "home")
    await give_back(person)
    await person.leave()


async def go(lab: Served, person: Person, to: str) -> None:
    """One planned move, from beginning to end."""
    answer = await person.order("go", to=to, speed_share=0.5)
    assert answer["type"] == "accepted", answer
    await lab.reach(Mode.STREAMING)
    await lab.reach(Mode.IDLE)


async def more_time(person: Person, minutes: float) -> dict[str, Any]:
    """Ask for a longer slot."""
    return await person.ask("renew", arm="arm-1", epoch=person.lease["epoch"], minutes=minutes)


async def give_back(person: Person) -> None:
    """Release the arm."""
    answer = await person.ask("release", arm=person.arm, epoch=person.lease["epoch"])
    assert answer["type"] == "accepted", answer


async def refused_as(person: Person) -> str:
    """Why this person does not get the arm."""
    answer = await person.ask("claim")
    assert answer["type"] == "refused", answer
    return str(answer["reason"])


# -- the last byte ---------------------------------------------------------------------------------------


def test_nobody_new_drives_before_the_loop_has_taken_all_that_was_sent_to_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            student, teacher = await lab.join(name="student"), await lab.join(name="teacher")
            await student.drive()
            worker = lab.workers["arm-1"]
            worker.held_up = True
            assert (await student.order("arm_jog", speed_share=0.3))["type"] == "accepted"
            assert (await teacher.ask("take_over", reason=""))["type"] == "accepted"
            # The newest report still says idle: by that alone the arm would stand.
            assert lab.lab.desks["arm-1"].loop.mode is Mode.IDLE
            beats = worker.beats
            async with asyncio.timeout(PATIENCE_S):
                while worker.beats < beats + 10:
                    await asyncio.sleep(0.01)
            assert not teacher.yours
            assert teacher.lease["phase"] == "changing"
            worker.held_up = False
            await teacher.until(lambda: teacher.yours)
            assert kinds(worker.sent)[-2:] == ["ArmJog", "Stop"]
            assert worker.settled
            assert lab.lab.desks["arm-1"].loop.mode is not Mode.ARMED

    run(story)


# -- bookings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
def test_a_teacher_who_takes_over_says_whether_the_booking_stays(tmp_path: Path, kept: bool) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            bookings = lab.lab.bookings
            async with asyncio.timeout(PATIENCE_S):
                while bookings.why_not("arm-1"):
                    await asyncio.sleep(0.01)
            bookings.book("arm-1", "Ann", None, 30.0, time.time())
            lab.lab.calendar_changed()
            student = await lab.join(token=token("Ann"))
            await student.drive()
            teacher = await lab.join(token=token("Tess", Role.TEACH))
            await teacher.ask("take_over", reason="look", keep_booking=kept)
            await teacher.until(lambda: teacher.yours)
            assert [slot.user for slot in bookings.slots("arm-1", time.time())] == (["Ann"] if kept else [])

    run(story)


# -- parking ---------------------------------------------------------------------------------------------


def test_an_arm_that_was_left_goes_to_nobody_new_until_a_teacher_has_parked_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            await left_at_home(lab)
            pupil, teacher = await lab.join(token=token("Bob")), await lab.join(token=token("Tess", Role.TEACH))
            assert "not parked yet" in await refused_as(pupil)
            await teacher.drive()
            teacher.held = False
            await teacher.beat()
            assert (await teacher.order("go", to="park", speed_share=0.5))["code"] == "deadman"
            await teacher.hold()
            await go(lab, teacher, "park")
            await give_back(teacher)
            await pupil.until(lambda: pupil.lease["phase"] == "free")
            await pupil.drive()

    run(story)


def test_whoever_stands_beside_it_may_have_it_to_park_it_first(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            await left_at_home(lab)
            beside = await lab.join(token=token("Nea", on_site=True), on_site=True)
            await beside.drive()
            assert (await beside.order("arm_jog", speed_share=0.5))["code"] == "mode"
            assert (await beside.order("go", to="home", speed_share=0.5))["code"] == "mode"
            await go(lab, beside, "park")
            await beside.until(lambda: beside.lease["phase"] == "held")
            await beside.hold()
            assert (await beside.order("arm_jog", speed_share=0.5))["type"] == "accepted"

    run(story)


@pytest.mark.parametrize("settings", [PATIENT, UNATTENDED])
def test_the_service_parks_it_with_nobody_there_only_if_the_settings_say_so(tmp_path: Path, settings: Settings) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True, settings=settings) as lab:
            await lab.ready()
            await left_at_home(lab)
            desk, worker = lab.lab.desks["arm-1"], lab.workers["arm-1"]
            before = len(worker.sent)
            if settings is UNATTENDED:
                await lab.reach(Mode.STREAMING)
                await lab.reach(Mode.IDLE)
                assert desk.live.parked
                pupil = await lab.join(token=token("Bob"))
                await pupil.until(lambda: pupil.lease["phase"] == "free")
                await pupil.drive()
            else:
                beats = worker.beats
                async with asyncio.timeout(PATIENCE_S):
                    while worker.beats < beats + 20:
                        await asyncio.sleep(0.01)
                assert "Load" not in kinds(worker.sent[before:])
                assert not desk.live.parked

    run(story)


def test_an_arm_is_lent_to_nobody_while_the_service_still_plans_a_move_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            planned = asyncio.Event()

            class Slow:
                async def preview(self, job: Job) -> UploadVerdict:
                    await planned.wait()
                    return UploadVerdict(words="too late")

                def close(self) -> None: ...

            lab.lab.previews.close()
            lab.lab.previews = Slow()  # type: ignore[assignment]
            person, pupil = await lab.join(token=token("Ann")), await lab.join(token=token("Bob"))
            await person.drive()
            number = await person.send("go", arm="arm-1", epoch=person.lease["epoch"], issued_s=person.now_s(),
                                       to="home", speed_share=0.5)  # fmt: skip
            await give_back(person)
            await pupil.until(lambda: pupil.lease["phase"] == "clearing")
            assert "not cleared up yet" in await refused_as(pupil)
            planned.set()
            await person.until(lambda: number in person.answers)
            assert person.answers[number]["type"] == "refused"
            await pupil.until(lambda: pupil.lease["phase"] == "free")
            await pupil.drive()

    run(story)


def test_more_time_that_is_refused_leaves_the_booking_as_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            books, now_s = lab.lab.bookings, time.time()
            slot = books.book("arm-1", "Ann", now_s, 10, now_s)
            lab.lab.calendar_changed()
            person, pupil = await lab.join(token=token("Ann")), await lab.join(token=token("Bob"))
            await person.drive()
            assert (await pupil.ask("claim", wait=True))["type"] == "accepted"
            assert "1 wait" in (await more_time(person, 10))["reason"]
            assert [each.end_s for each in books.slots("arm-1", now_s)] == [slot.end_s]

    run(story)


def test_lease_and_booking_are_made_longer_by_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            books, now_s = lab.lab.bookings, time.time()
            slot = books.book("arm-1", "Ann", now_s, 20, now_s)
            lab.lab.calendar_changed()
            person = await lab.join(token=token("Ann", expires_s=int(now_s) + 7200))
            await person.drive()
            for times in (1, 2):
                answer = await more_time(person, 15)
                assert answer["type"] == "accepted", answer["reason"]
                await person.until(lambda times=times: person.lease["slot_left_s"] > (10 + 15 * times) * 60)
                (longer,) = books.slots("arm-1", now_s)
                assert longer.end_s == slot.end_s + 15 * 60 * times
                ends_s = lab.lab.desks["arm-1"].lease.slot_end_s
                assert ends_s is not None
                assert ends_s - time.monotonic() == pytest.approx(longer.end_s - time.time(), abs=1.0)

    run(story)


def test_a_booking_is_not_made_longer_than_its_token(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            books, now_s = lab.lab.bookings, time.time()
            books.book("arm-1", "Ann", now_s, 10, now_s)
            lab.lab.calendar_changed()
            ends_s = int(now_s) + 720
            person = await lab.join(token=token("Ann", expires_s=ends_s))
            await person.drive()
            assert (await more_time(person, 60))["type"] == "accepted"
            assert [each.end_s for each in books.slots("arm-1", now_s)] == [ends_s]

    run(story)


# -- the end of a token ----------------------------------------------------------------------------------


def test_a_token_s_end_is_announced_and_holds_the_arm(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            person = await lab.join(token=token("Ann", expires_s=int(time.time()) + 10))
            await person.drive()
            await person.until(lambda: any(notice["kind"] == "token_ends" for notice in person.notices))
            assert person.lease["slot_left_s"] < 11.0
            await person.until(lambda: person.closed)
            # The line is cut by one clock's end of the token, the arm is taken from her at the other's: a look later.
            await person.until(lambda: not lab.lab.desks["arm-1"].lease.driver)
            assert kinds(lab.workers["arm-1"].sent)[-1] == "Stop"

    run(story)


# -- the audit -------------------------------------------------------------------------------------------


def test_the_audit_names_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            one, other = await lab.join(token=token("Ann-Sophie")), await lab.join(token=token("Bob"))
            await one.drive()
            assert "Ann-Sophie drives it" in await refused_as(other)
            await other.order("arm_jog", speed_share=1.0)
            await other.ask("stop")

    run(story)
    deeds = [entry.data for entry in query(tmp_path / "audit") if isinstance(entry.data, Deed)]
    assert {deed.detail for deed in deeds if deed.what in ("claim", "arm jog") and deed.verdict == "refused"} == {
        "lease"
    }
    assert "Ann" not in json.dumps([str(deed) for deed in deeds])


# -- the lab itself ---------------------------------------------------------------------------------------


def test_a_fault_of_the_lab_s_own_is_said_and_nothing_moves_any_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, desk = await lab.join(), lab.lab.desks["arm-1"]
            await person.drive()

            def broken(now_s: float) -> None:
                raise RuntimeError("a bug")

            desk.look_round = broken  # type: ignore[method-assign]
            async with asyncio.timeout(PATIENCE_S):
                while not lab.lab.trouble:
                    await asyncio.sleep(0.01)
            assert any("RuntimeError: a bug" in words for words in said)
            assert (await person.order("arm_jog", speed_share=0.5))["code"] == "unavailable"
            assert kinds(lab.workers["arm-1"].sent)[-1] == "Stop"
            assert (await person.ask("stop"))["type"] == "accepted"

    run(story)

"""Errands at the page: in by a token, the queue, more time, files that are dropped, a self-test, a pose, a picture."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, lab_thread, page_at
from lab_server import PATIENT
from page_student import Student
from parted_arm import retell
from playwright.sync_api import expect
from tokens_of_people import token

from hil.clock import monotonic_s
from hil.service.camera import Camera, Source
from hil.service.rights import Role
from hil.service.settings import PictureSettings, Settings
from hil.types import Confirm, Mode

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const dropped = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.getElementById("tasks").dispatchEvent(dropped);
}"""
PROGRAM = "10 MOV P1\n20 END\n"
POINTS = "DEF POS P1=(0,0,0,0,0,0)\n"
TASK = 'title = "A little way"\n[[step]]\ndo = "move"\nto = "park"\n'


class Flow:
    """A camera's pictures, each another than the one before, until it hangs."""

    def __init__(self, source: Source) -> None:
        self._source, self.hangs = source, False

    async def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        number = 0
        async for data, kind in self._source.pictures():
            while self.hangs:
                await asyncio.sleep(0.05)
            number += 1
            # What follows the end of a PNG is not looked at.
            yield data + str(number).encode(), kind


@pytest.fixture
def school(browser: Browser, tmp_path: Path) -> Iterator[LabThread]:
    with lab_thread(tmp_path, keyed=True) as found:
        yield found


def enter(page: Page, lab: LabThread, name: str, role: Role = Role.DRIVE) -> Student:
    expect(page.locator("#door")).to_be_visible()
    page.locator("#token").fill(token(name, role))
    page.locator("#door button").click()
    return Student(page, lab)


def test_in_by_a_token_more_time_and_the_queue(browser: Browser, school: LabThread) -> None:
    url = f"{school.served.url}/#arm-1"
    with page_at(browser, url) as page, page_at(browser, url) as other:
        page.locator("#token").fill("no token at all")
        page.locator("#door button").click()
        expect(page.locator("#banner")).to_contain_text("This token does not count")
        ada, ben = enter(page, school, "Ada"), enter(other, school, "Ben")
        ada.drive()
        lease = school.served.lab.desks["arm-1"].lease
        lease._time.slot_s = monotonic_s() + 60.0
        expect(page.locator("#left")).to_have_text(re.compile("0:5[0-9]"))
        page.locator("#renew").click()
        ada.told("More time: granted")
        ben.reads("Ada drives")
        other.locator("#lease").click()
        ben.reads("You wait as number 1")
        page.locator("#renew").click()
        expect(page.locator("#answer")).not_to_contain_text("granted")
        page.locator("#lease").click()
        ben.reads("Ready")
        ada.reads("Ben drives")


def test_files_that_are_dropped_are_previewed_as_what_they_are(page: Page, lab: LabThread) -> None:
    Student(page, lab).reads("Nobody drives")
    page.locator("#tasks > summary").click()
    page.evaluate(DROP, ["way.toml", TASK])
    expect(page.locator("#text")).to_have_value(TASK)
    assert not page.locator("#points").is_visible()
    page.evaluate(DROP, ["way.MB4", PROGRAM])
    expect(page.locator("#text")).to_have_value(PROGRAM)
    page.evaluate(DROP, ["way.pos", POINTS])
    expect(page.locator("#points")).to_have_value(POINTS)
    assert page.locator("#kindof").input_value() == "melfa"
    with page.expect_request("**/previews") as asked:
        page.locator("#preview").click()
    body = msgspec.json.decode(asked.value.post_data or "")
    assert (body["language"], body["text"], body["points"]) == ("melfa", PROGRAM, POINTS)
    # Nothing stands at the tool's origin: the lab says so, and what is said is about line 10.
    expect(page.locator("#verdict")).to_have_text("REFUSED")
    assert page.locator("#findings li").count() > 0
    page.evaluate(DROP, ["long.toml", "x" * ((1 << 20) + 1)])
    expect(page.locator("#answer")).to_contain_text("one mebibyte")
    expect(page.locator("#text")).to_have_value(PROGRAM)


def test_while_the_lab_plans_the_page_says_for_how_long(page: Page, lab: LabThread) -> None:
    Student(page, lab).reads("Nobody drives")
    page.locator("#tasks > summary").click()
    page.locator("#text").fill(TASK)
    held: list[Route] = []
    page.route("**/previews", lambda route: held.append(route))
    page.locator("#preview").click()
    expect(page.locator("#verdict")).to_have_text("the lab plans and previews")
    expect(page.locator("#since")).to_have_text("2 s")
    assert not page.locator("#preview").is_enabled()
    held[0].continue_()
    expect(page.locator("#verdict")).to_contain_text("PASSED")
    expect(page.locator("#since")).to_have_text("")


@pytest.mark.parametrize("late", ["**/previews", "**/timelines/*"])
def test_an_answer_about_a_text_that_was_changed_meanwhile_shows_nothing(page: Page, lab: LabThread, late: str) -> None:
    Student(page, lab).reads("Nobody drives")
    page.locator("#tasks > summary").click()
    page.locator("#text").fill(TASK)
    held: list[Route] = []
    page.route(late, lambda route: held.append(route))
    with page.expect_request(late):
        page.locator("#preview").click()
    page.locator("#text").fill(TASK.replace("little", "longer"))
    # Typed back it is still not what was asked about: positions and kind may have been others meanwhile.
    page.locator("#text").fill(TASK)
    with page.expect_response(late):
        held[0].continue_()
    expect(page.locator("#preview")).to_be_enabled()
    expect(page.locator("#verdict")).to_have_text("")
    expect(page.locator("#margins li")).to_have_count(0)
    expect(page.locator("#scrub")).to_be_disabled()


def test_a_self_test_runs_while_it_is_held_and_ends_with_the_hand(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    one.moves(lambda: one.press("test"), "Self-test: moves while you hold")
    one.until_it_stands(page.mouse.up)


def test_a_pose_is_confirmed_by_whoever_may(browser: Browser, school: LabThread) -> None:
    with page_at(browser, f"{school.served.url}/#arm-1") as page:
        one = enter(page, school, "Tia", Role.TEACH)
        one.drive()
        assert page.locator("#confirm").is_disabled()
        retell(school, lambda report: msgspec.structs.replace(report, mode=Mode.UNKNOWN_POSE))
        one.reads("Where the arm stands is not known")
        expect(page.locator("#lamp")).to_have_attribute("data-state", "unknown")
        sent = school.served.workers["arm-1"].sent
        one.press_until(lambda: one.press("confirm"), lambda: any(isinstance(request, Confirm) for request in sent))
        page.mouse.up()


def test_a_picture_that_stands_still_stops_whoever_drives_by_it_and_is_said(browser: Browser, tmp_path: Path) -> None:
    settings = Settings(lease=PATIENT.lease, pictures=PictureSettings(needed=True, oldest_s=1.0))
    with lab_thread(tmp_path, keyed=True, settings=settings) as lab:
        desk = lab.served.lab.desks["arm-1"]
        assert desk.camera is not None
        flow = Flow(desk.camera._source)
        desk.camera = Camera(flow)
        with page_at(browser, f"{lab.served.url}/#arm-1") as page:
            one = enter(page, lab, "Ada")
            one.reads("Nobody drives")
            page.locator("#gotit").click()
            page.locator("#lease").click()
            one.reads("Here one drives by the picture")
            page.locator("#viewboth").click()
            one.reads("Ready")
            one.begin(lambda: one.press(one.leading))
            one.until_it_stands(lambda: setattr(flow, "hangs", True))
            one.reads("The picture is too old to drive by")
            expect(page.locator("#hang")).to_contain_text("the camera hangs")
            expect(page.locator("#picture")).to_contain_class("old")
            page.mouse.up()
            flow.hangs = False
            one.reads("Ready")

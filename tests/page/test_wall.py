"""A teacher at the wall: sees all arms, stops one or all of them, and gets nothing to press that the role may not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, lab_thread, page_at, patient
from parted_arm import part
from playwright.sync_api import expect
from tokens_of_people import token

from hil.clock import monotonic_s
from hil.service.channel import Channel
from hil.service.rights import Role
from hil.service.wire import Code
from hil.units import DEG

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

SPACE_COMES_UP = """(part) => !part.dispatchEvent(
  new KeyboardEvent("keyup", { key: " ", bubbles: true, cancelable: true }))"""
"""Whether the page takes it from the button that has the focus."""


@pytest.fixture
def school(browser: Browser, tmp_path: Path) -> Iterator[LabThread]:
    with lab_thread(tmp_path, arms=2, keyed=True) as found:
        yield found


def enter(page: Page, role: Role) -> None:
    page.locator("#token").fill(token("Ann", role, arms=("*",)))
    page.locator("#door button").click()
    expect(page.locator(".cell .state").nth(1)).to_have_text("ready")


async def cut_off(channels: Iterable[Channel]) -> None:
    """What a lab does when a token does not count any more."""
    for channel in list(channels):
        channel.end(Code.TOKEN, "the token does not count any more")


def test_a_teacher_sees_all_arms_and_stops_freezes_and_tells(browser: Browser, school: LabThread) -> None:
    desks = school.served.lab.desks
    with page_at(browser, f"{school.served.url}/wall") as page:
        enter(page, Role.TEACH)
        second = page.locator(".cell").nth(1)
        expect(second.locator(".kind")).to_have_text("FAKE")
        expect(second.locator("p").first).to_have_text("nobody drives")
        # An alarm is thick, and says why.
        part(school, 2, 9.0 * DEG, arm="arm-2", alarm="elbow: they have parted")
        expect(second).to_contain_class("loud")
        expect(second.locator(".why")).to_have_text("elbow: they have parted")
        expect(second.locator(".worst")).to_have_text("elbow 9.0 ° of 8.0 °")
        expect(page.locator("#loud")).to_contain_text("arm-2: error alarm")
        # A stop of one arm, by its key and Escape; the other goes on.
        page.keyboard.press("2")
        page.keyboard.press("Escape")
        expect(second.locator(".state")).to_have_text("stop latched")
        assert not desks["arm-1"].lease.latched
        # The space bar stops, and in no browser it presses what has the focus when it comes up.
        assert second.locator(".resets").evaluate(SPACE_COMES_UP)
        # Words for whoever is there, and the latch is taken back.
        second.locator(".tells").click()
        page.locator("#words").fill("hands off")
        page.locator("#yes").click()
        expect(page.locator("#told")).to_have_text("arm-2: done")
        # Freeze all: a short press does nothing, a held one does.
        freeze = page.locator("#freeze")
        freeze.evaluate("(part) => ['pointerdown', 'pointerup'].forEach((kind) => part.dispatchEvent(new Event(kind)))")
        page.wait_for_timeout(900)
        assert not any(desk.lease.frozen for desk in desks.values())
        freeze.dispatch_event("pointerdown")
        assert patient(lambda: all(desk.lease.frozen for desk in desks.values()))
        freeze.dispatch_event("pointerup")
        expect(page.locator(".cell .state").first).to_have_text("frozen")
        page.locator("#thaw").click()
        assert patient(lambda: not any(desk.lease.frozen for desk in desks.values()))


def test_why_an_alarm_stands_is_read_whole_on_screens_of_every_size(browser: Browser, school: LabThread) -> None:
    why = "elbow: the controller reports -75.0 deg, the shadow was at -84.0 deg (band 8.0 deg): they have parted"
    with page_at(browser, f"{school.served.url}/wall") as page:
        enter(page, Role.TEACH)
        part(school, 2, 9.0 * DEG, arm="arm-2", alarm=why)
        words = page.locator(".cell").nth(1).locator(".why")
        expect(words).to_have_text(why)
        for width, height in ((390, 844), (1366, 768), (1920, 1080), (3840, 2160)):
            page.set_viewport_size({"width": width, "height": height})
            # A wall is read from afar: on a large screen all of it is larger.
            assert page.evaluate("() => parseFloat(getComputedStyle(document.documentElement).fontSize)") == (
                32.0 if width == 3840 else pytest.approx(16.0, abs=0.4)
            )
            hidden = words.evaluate(
                "(part) => [part.scrollHeight - part.clientHeight, part.scrollWidth - part.clientWidth]"
            )
            assert max(hidden) <= 1, f"{width} x {height}: {hidden} pixels of it are cut off"


def test_who_may_only_drive_gets_stop_and_nothing_else(browser: Browser, school: LabThread) -> None:
    with page_at(browser, f"{school.served.url}/wall") as page:
        enter(page, Role.DRIVE)
        page.wait_for_timeout(700)
        shown = page.locator("button:visible").all_inner_texts()
        assert shown == ["STOP", "STOP"]
        page.locator(".cell .stop").first.click()
        expect(page.locator(".cell .state").first).to_have_text("stop latched")
        # A token that ends opens the door, and nobody knocks for ever.
        expect(page.locator("#door")).to_be_hidden()
        for desk in school.served.lab.desks.values():
            school.do(cut_off(desk.channels))
        expect(page.locator("#door")).to_be_visible()
        page.wait_for_timeout(1500)
        assert not any(list(desk.channels) for desk in school.served.lab.desks.values())


def test_a_start_is_told_with_its_seconds(browser: Browser, school: LabThread) -> None:
    with page_at(browser, f"{school.served.url}/wall") as page:
        enter(page, Role.WATCH)
        worker = school.served.workers["arm-1"]
        worker.begun_s = monotonic_s() - 12.0
        worker.lose("starting: its worker comes up")
        state = page.locator(".cell .state").first
        expect(state).to_contain_text("starting, 1")

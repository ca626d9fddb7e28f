"""A real browser clicks on a course page, and sits at the page of the arm; inside the course page it gets a link."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")
pytest.importorskip("pylti1p3", reason="needs the extra [lti]")
pytest.importorskip("lti1p3platform", reason="needs the extra [lti] and the other side, lti1p3platform")

from browser_stand import page_at
from lti_lab import Site, connected
from lti_platform import Platform
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]


@contextlib.contextmanager
def in_a_thread(folder: Path, platform: Platform) -> Iterator[Site]:
    """The lab, while this thread plays the browser."""
    began: list[Site] = []
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        async with connected(folder, platform, arms=2, only=("arm-2",)) as site:
            await site.ready()
            began.append(site)
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.02)

    def run() -> None:
        try:
            asyncio.run(live())
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="lab")
    thread.start()
    try:
        assert ready.wait(60.0) and began, "the lab did not come up"
        yield began[0]
    finally:
        over.set()
        thread.join(30.0)


def test_a_click_on_the_course_page_opens_the_page_of_the_arm(browser: Browser, tmp_path: Path) -> None:
    platform = Platform()
    platform.custom = {"course": "mech", "exercise": "where-is-the-tool"}
    with contextlib.closing(platform), in_a_thread(tmp_path, platform) as site:
        with page_at(browser, f"{platform.url}/course?user=3") as page:
            expect(page.locator("#banner")).to_contain_text("Nobody drives")
            assert page.url == f"{site.url}/#arm-2"
            expect(page.locator("#arms option")).to_have_text(["arm-2"])
            assert page.evaluate("() => sessionStorage.getItem('token').split('.').length") == 3
            assert page.evaluate("() => document.cookie") == ""
            assert page.context.cookies() == [], "the state's cookie is used up"
            expect(page.locator("#exercise option:checked")).to_contain_text("Mechatronics: ")
            expect(page.locator("#exercise")).to_have_value("1")
            expect(page.locator("#handing")).to_be_visible()
            page.reload()
            expect(page.locator("#banner")).to_contain_text("Nobody drives")
        with page_at(browser, f"{platform.url}/frame?user=3") as page:
            frame = page.frame_locator("iframe")
            with page.context.expect_page() as opened:
                frame.get_by_role("link").click()
            expect(opened.value.locator("#banner")).to_contain_text("Nobody drives")
            assert opened.value.url == f"{site.url}/#arm-2"

"""The arm in space: drawn when it changes and never else, with its error to be seen, and as lines without parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import CHROMIUM, LabThread, lab_thread, page_at
from parted_arm import part
from playwright.sync_api import expect
from solid_browser import ARGS, PARTS, TRIES, TRY_MS, at_rest, drawn, drawn_since, frames

from hil.types import Mode
from hil.units import DEG

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

needs_parts = pytest.mark.skipif(not PARTS.exists(), reason="no three.js beside the page: scripts/page-parts")

COUNTED = """
window.drawn = 0;
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (act) => frame((at) => { window.drawn += 1; act(at); });
"""

FINENESS = """() => {
  window.fineness = [];
  const frame = window.requestAnimationFrame.bind(window), canvas = document.querySelector("#scene canvas");
  window.requestAnimationFrame = (act) => frame((at) => {
    act(at);
    window.fineness.push(canvas.width / canvas.clientWidth);
  });
}"""
"""After each frame: how many points of the picture are one of the screen."""


@pytest.fixture(scope="module")
def solid(browser: Browser) -> Iterator[Browser]:
    """A browser that draws in three dimensions, which it does in software here."""
    found = browser.browser_type.launch(executable_path=CHROMIUM, args=ARGS)
    yield found
    found.close()


@pytest.fixture(scope="module")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabThread]:
    with lab_thread(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture(autouse=True)
def as_it_is(lab: LabThread) -> Iterator[None]:
    part(lab, 2, 0.0)
    yield
    part(lab, 2, 0.0)


@needs_parts
def test_at_rest_it_draws_no_frame_and_each_change_is_drawn(solid: Browser, lab: LabThread) -> None:
    with page_at(solid, lab.url) as page:
        before = frames(at_rest(page))
        page.wait_for_timeout(1500)
        assert frames(page) == before
        part(lab, 2, 0.5 * DEG)
        drawn_since(page, before)


@needs_parts
def test_a_processor_draws_what_moves_once_as_fine_as_the_screen_and_what_rests_twice(
    solid: Browser, lab: LabThread
) -> None:
    with page_at(solid, lab.url) as page:
        at_rest(page).evaluate(FINENESS)
        for error_deg in range(1, 4):
            before = frames(page)
            part(lab, 2, error_deg * DEG)
            drawn_since(page, before)
            at_rest(page)
            assert [fineness for fineness, _ in groupby(page.evaluate("window.fineness.splice(0)"))][-2:] == [1, 2]


@needs_parts
def test_an_error_of_three_degrees_is_named_and_drawn_ten_times_as_large(solid: Browser, lab: LabThread) -> None:
    with page_at(solid, lab.url) as page:
        drawn(page)
        label = page.locator("#scene p")
        expect(label).to_have_text("")
        part(lab, 2, 3.0 * DEG)
        expect(label).to_have_text("error \N{MULTIPLICATION SIGN}10: elbow 3.0 °")


@needs_parts
def test_a_pose_that_is_not_known_is_drawn_as_no_arm_and_said(solid: Browser, lab: LabThread) -> None:
    with page_at(solid, lab.url) as page:
        drawn(page)
        part(lab, 2, 3.0 * DEG, mode=Mode.UNKNOWN_POSE)
        expect(page.locator("#scene p")).to_have_text("Where the arm is, is not known")


def test_without_its_parts_the_arm_is_lines_and_the_page_works(solid: Browser, lab: LabThread) -> None:
    context = solid.new_context()
    try:
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.route("**/page/parts/*", lambda route: route.fulfill(status=404))
        page.add_init_script(COUNTED)
        page.goto(lab.url)
        expect(page.locator("#scene canvas")).to_be_visible()
        page.wait_for_timeout(1000)
        before = page.evaluate("window.drawn")
        shown = page.evaluate("document.querySelector('#scene canvas').toDataURL()")
        part(lab, 0, 20.0 * DEG)
        for _ in range(TRIES):
            if page.evaluate("document.querySelector('#scene canvas').toDataURL()") != shown:
                break
            page.wait_for_timeout(TRY_MS)
        else:
            raise AssertionError("the lines have not changed")
        assert page.evaluate("window.drawn") > before
        assert not faults
    finally:
        context.close()


def test_a_first_visit_is_small_compressed_and_asks_no_other_host(solid: Browser, lab: LabThread) -> None:
    context = solid.new_context()
    try:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        sizes: list[float] = []
        session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        asked: list[Any] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(lab.url)
        expect(page.locator("#scene canvas")).to_be_visible()
        page.wait_for_timeout(500)
        assert sum(sizes) < 400_000
        assert {url.split("/")[2] for url in asked if url.startswith("http")} == {lab.served.url.split("/")[2]}
    finally:
        context.close()

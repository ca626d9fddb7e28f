"""Where things are on the page: whatever is told, no control moves under the hand, and nothing is cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, page_at
from page_student import Student
from parted_arm import part

from hil.types import Mode
from hil.units import DEG

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

PLACES = """() => Object.fromEntries(
  [...document.querySelectorAll("#bar button, #hands button, #hands select, #hands input")]
  .filter((part) => part.id && part.offsetParent !== null)
  .map((part) => [part.id, part.getBoundingClientRect()])
  .map(([id, box]) => [id, [box.x, box.y + scrollY, box.width, box.height].map(Math.round)]))"""
"""Of every control that drives, on the whole page."""

CUT = """() => {
  const cut = (part) => {
    if (part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1) return true;
    const box = part.getBoundingClientRect(), frame = part.parentElement.getBoundingClientRect();
    return box.top < frame.top - 1 || box.bottom > frame.bottom + 1 || box.right > frame.right + 1;
  };
  return [...document.querySelectorAll("#bar > *, .key, #news > *, #hands button, #hands output, .value, .number")]
    .filter((part) => part.offsetParent !== null && !part.matches(".pick, h1, #answer") && cut(part))
    .map((part) => `${part.id || part.className}: ${part.textContent}`);
}"""
"""What is not seen whole, but for names, which have a width of their own, and the detail of an answer."""

ALARM = "elbow: the controller reports -75.0 deg, the shadow was at -84.0 deg (band 8.0 deg): they have parted"
SIZES = [(1366, 768), (1440, 900), (1920, 1080), (3840, 2160), (390, 844)]


def say_stop(lab: LabThread) -> None:
    """Somebody who does not drive stops the arm, which latches."""

    async def stop() -> None:
        person = await lab.served.join(name="Somebody with quite a long name")
        await person.ask("stop", reason="a hand is in the way of the arm")

    lab.do(stop())


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_no_control_moves_and_nothing_is_cut_whatever_happens(
    browser: Browser, lab: LabThread, width: int, height: int
) -> None:
    with page_at(browser, lab.url, phone=width < 500) as page:
        page.set_viewport_size({"width": width, "height": height})
        one = Student(page, lab)
        one.reads("Nobody drives")
        if page.locator("#gotit").is_visible():
            page.locator("#gotit").click()
        states: dict[str, Any] = {
            "it is mine": one.sit_down,
            "an error": lambda: part(lab, 2, 3.0 * DEG),
            "an alarm": lambda: part(lab, 2, 9.0 * DEG, alarm=ALARM),
            "a pose that nobody knows": lambda: part(lab, 2, 0.0, mode=Mode.UNKNOWN_POSE),
            "all is well again": lambda: part(lab, 2, 0.0),
            "a stop that latches": lambda: say_stop(lab),
        }
        before = places(page)
        assert {"stop", "lease", "home", "park"} <= set(before)
        for name, comes in states.items():
            comes()
            page.wait_for_timeout(700)
            now = places(page)
            moved = {control: (before[control], box) for control, box in now.items() if before[control] != box}
            assert not moved, f"{name}: {moved}"
            assert page.evaluate(CUT) == [], name
        # A beat of before the stop is refused; that is no answer to anybody.
        assert "epoch" not in page.locator("#notices").inner_text()


def places(page: Page) -> dict[str, list[int]]:
    found: dict[str, list[int]] = page.evaluate(PLACES)
    return found

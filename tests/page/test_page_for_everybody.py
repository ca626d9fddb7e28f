"""The page for whoever cannot see it, use a mouse, or has a small screen: nothing serious by axe-core, nothing cut."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, page_at
from page_student import Student
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

AXE = Path(__file__).parents[2] / ".axe" / "axe-core-4.14.1.tgz"
LOOK = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
  .filter((each) => ["serious", "critical"].includes(each.impact))
  .map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`)"""
CLIPPED = """() => [...document.querySelectorAll("#bar button, #hands button, #hands output, .value, .number")]
  .filter((part) => part.offsetParent !== null && part.scrollWidth > part.clientWidth + 1
    && !part.classList.contains("pick"))
  .map((part) => part.id || part.className)"""


def serious(page: Page) -> list[str]:
    """What axe-core calls serious."""
    if not AXE.exists():
        pytest.skip(f"no {AXE.name}: mkdir -p .axe && (cd .axe && npm pack axe-core@4.14.1)")
    with tarfile.open(AXE) as archive:
        program = archive.extractfile("package/axe.min.js")
        assert program is not None
        page.evaluate(program.read().decode("utf-8"))
    found: list[str] = page.evaluate(LOOK)
    return found


@pytest.mark.parametrize("phones", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_is_cut(
    browser: Browser, lab: LabThread, phones: bool, scheme: str
) -> None:
    with page_at(browser, lab.url, phone=phones) as page:
        page.emulate_media(color_scheme=scheme)
        Student(page, lab).drive()
        for part in ("tasks", "bookings", "records", "state", "keys"):
            page.locator(f"#{part} > summary").click()
        assert serious(page) == []
        assert page.evaluate(CLIPPED) == []
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_nothing_is_cut_in_any_language(browser: Browser, lab: LabThread, language: str) -> None:
    with page_at(browser, lab.url, language=language) as page:
        expect(page.locator("#lease")).to_be_enabled()
        assert page.evaluate(CLIPPED) == []
        assert page.evaluate("() => document.documentElement.lang") == language


def test_every_control_can_be_reached_by_tab_and_stop_comes_early(page: Page, lab: LabThread) -> None:
    Student(page, lab).drive()
    reached = []
    page.locator("#lease").focus()
    for _ in range(40):
        reached.append(page.evaluate("() => document.activeElement.id"))
        page.keyboard.press("Tab")
    assert "stop" in reached[:3]
    assert {"minus-0", "plus-5", "speed", "tool-x-minus", "home", "park"} <= set(reached)

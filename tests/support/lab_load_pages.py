"""Drivers in a browser, for arms under load: each at the page of an arm, holds a button down and ends that."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from browser_stand import CHROMIUM, DESKTOP, FLAGS, PATIENCE_MS
from lab_tally import Asked, Tally

from hil.service import wire
from hil.service.client import AsyncArm
from hil.service.connection import reach
from hil.types import Mode

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

WAYS = ("release", "stop")
"""How somebody at a page ends a motion: lets the button go, or presses the key for STOP."""

REST_S = 1.2
WATCH_HZ = 10.0

# The page hears of the end when its handler runs; the way of a test's command to the browser is no part of the lab.
_NOTE_ENDS = """() => {
  const note = () => { window.endedAtMs = Date.now(); };
  window.addEventListener("pointerup", note, true);
  window.addEventListener("keydown", (event) => { if (event.key === "Escape") note(); }, true);
}"""


async def drivers_at_pages(
    url: str, names: list[str], seeds: list[int], until_s: float, asked: list[Asked], tally: Tally
) -> None:
    """One browser, a page for each of these arms, until then."""
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=PATIENCE_MS)
    # Browsers are on computers of their own; here they get what the others leave.
    os.nice(10)
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        jobs = [
            _driver(browser, url, arm, random.Random(seed), until_s, asked, tally)
            for arm, seed in zip(names, seeds, strict=True)
        ]
        try:
            await asyncio.gather(*jobs)
        finally:
            await browser.close()


async def _driver(
    browser: Browser, url: str, arm: str, rng: random.Random, until_s: float, asked: list[Asked], tally: Tally
) -> None:
    from playwright.async_api import ViewportSize

    access = reach(url)[0]
    context = await browser.new_context(viewport=ViewportSize(width=DESKTOP["width"], height=DESKTOP["height"]))
    page = await context.new_page()
    page.on("pageerror", lambda error: tally.trouble.append(f"page of {arm}: {error}"))
    await page.goto(f"{url}/#{arm}?key={access.token_now()}")
    # To draw the arm is the work of a student's own computer, which has more of a processor than is left here.
    await page.locator("#viewcamera").click()
    await _sit_down(page)
    await page.evaluate(_NOTE_ENDS)
    async with AsyncArm(access, arm, name=f"beside the page of {arm}", rate_hz=WATCH_HZ) as watch:
        await watch.until(lambda: watch.telemetry is not None, 10.0)
        while time.monotonic() < until_s:
            one = await _one_hold(page, watch, rng)
            if one is None:
                tally.let_go += 1
            else:
                asked.append(one)
    await context.close()


async def _sit_down(page: Page) -> None:
    from playwright.async_api import expect

    await expect(page.locator("#lease")).to_be_enabled()
    if await page.locator("#gotit").is_visible():
        await page.locator("#gotit").click()
    await page.locator("#lease").click()
    await expect(page.locator("#banner")).to_contain_text("Ready")


async def _one_hold(page: Page, watch: AsyncArm, rng: random.Random) -> Asked | None:
    """One button held, and its end; None where the page has let go of it by itself, as it does if it stands still."""
    from playwright.async_api import expect

    await expect(page.locator("#banner")).to_contain_text("Ready")
    way = rng.choice(WAYS)
    await page.mouse.move(*await _middle(page, _button(watch, rng)))
    await page.mouse.down()
    ends_s, budgets = time.monotonic() + rng.uniform(0.8, 3.0), list[float]()
    while time.monotonic() < ends_s:
        await asyncio.sleep(1.0 / WATCH_HZ)
        if watch.telemetry is not None and watch.telemetry.stop is not None:
            budgets.append(watch.telemetry.stop.total_ms)
    moved = watch.mode is Mode.STREAMING
    if way == "stop":
        await page.keyboard.press("Escape")
    else:
        await page.mouse.up()
    at_s = await page.evaluate("() => window.endedAtMs") / 1e3 - (time.time() - time.monotonic())
    await page.mouse.up()
    await asyncio.sleep(REST_S)
    return Asked(watch.arm, way, at_s, time.monotonic(), max(budgets[-5:])) if moved and budgets else None


def axis_with_room(
    rng: random.Random, axes: Sequence[wire.AxisInfo], here: Sequence[float | None]
) -> tuple[int, float]:
    """One axis by chance, and the way, 1 or -1, that leads away from the limit that is nearer."""
    index = rng.randrange(min(3, len(axes)))
    axis, at = axes[index], here[index] or 0.0
    return index, 1.0 if at - axis.lower < axis.upper - at else -1.0


def _button(watch: AsyncArm, rng: random.Random) -> str:
    """The button of one axis that has room."""
    assert watch.welcome is not None and watch.telemetry is not None
    index, way = axis_with_room(rng, watch.welcome.axes, watch.telemetry.commanded)
    return f"{'plus' if way > 0.0 else 'minus'}-{index}"


async def _middle(page: Page, button: str) -> tuple[float, float]:
    part = page.locator(f"#{button}")
    await part.scroll_into_view_if_needed()
    box = await part.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

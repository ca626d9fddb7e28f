"""A browser that draws in three dimensions, in software: for tests, pictures and benchmarks of the scene."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from browser_stand import CHROMIUM, FLAGS, why_no_browser

import hil.service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PARTS = Path(hil.service.__file__).parent / "page" / "parts" / "three.module.min.js"
ARGS = [*FLAGS, "--enable-unsafe-swiftshader"]
"""As on a computer without a graphics card: the processor puts the page together, and draws what is in the scene."""

FINE = """() => {
  const canvas = document.querySelector("#scene canvas");
  return Boolean(canvas) && canvas.clientWidth > 0 && canvas.width === 2 * canvas.clientWidth;
}"""

TRIES, TRY_MS = 600, 50


def why_no_scene() -> str:
    """Why there can be no solid arm here; empty if there can."""
    return why_no_browser() or ("" if PARTS.exists() else "no three.js beside the page: scripts/page-parts")


@contextlib.contextmanager
def solid_browser() -> Iterator[Browser]:
    """Such a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        try:
            yield browser
        finally:
            browser.close()


def frames(page: Page) -> int:
    """How often the scene has been drawn."""
    return int(page.evaluate("Number(document.querySelector('#scene canvas')?.dataset.frames ?? 0)"))


def drawn(page: Page) -> Page:
    """The page, once its scene has been drawn."""
    drawn_since(page, 0)
    return page


def drawn_since(page: Page, count: int) -> None:
    """Wait until the scene has been drawn more often than that."""
    _wait(page, lambda: frames(page) > count)


def at_rest(page: Page) -> Page:
    """The page, once its scene has been drawn as fine as for an arm at rest, after which nothing is left to draw."""
    _wait(page, lambda: bool(page.evaluate(FINE)))
    return page


def _wait(page: Page, reached: Callable[[], bool]) -> None:
    """The page lets nobody evaluate text, so that it has to be asked again and again.

    Raises:
        TimeoutError: it does not come to be so.
    """
    for _ in range(TRIES):
        if reached():
            return
        page.wait_for_timeout(TRY_MS)
    raise TimeoutError(f"the scene was drawn {frames(page)} times")

"""A browser that draws in three dimensions, in software: for tests, pictures and benchmarks of the scene."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from browser_stand import CHROMIUM, FLAGS, why_no_browser

import hil.service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PARTS = Path(hil.service.__file__).parent / "page" / "parts" / "three.module.min.js"
ARGS = [flag for flag in FLAGS if flag != "--disable-gpu"] + [
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"
]  # fmt: skip

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
    """The page, once its scene has been drawn; it lets nobody evaluate text, so that it has to be asked again."""
    drawn_since(page, 0)
    return page


def drawn_since(page: Page, count: int) -> None:
    """Wait until the scene has been drawn more often than that.

    Raises:
        TimeoutError: it is not.
    """
    for _ in range(TRIES):
        if frames(page) > count:
            return
        page.wait_for_timeout(TRY_MS)
    raise TimeoutError(f"the scene was drawn {frames(page)} times")

"""One browser for all tests of the page, and a lab of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_stand import LabThread, chromium, lab_thread, page_at, why_no_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


# Not longer than this folder: while it is there this thread has a loop of events, and no other may be run in it.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if why := why_no_browser():
        pytest.skip(why)
    with chromium() as found:
        yield found


@pytest.fixture
def lab(browser: Browser, tmp_path: Path) -> Iterator[LabThread]:
    with lab_thread(tmp_path) as found:
        yield found


@pytest.fixture
def page(browser: Browser, lab: LabThread) -> Iterator[Page]:
    with page_at(browser, lab.url) as found:
        yield found


@pytest.fixture
def phone(browser: Browser, lab: LabThread) -> Iterator[Page]:
    with page_at(browser, lab.url, phone=True) as found:
        yield found

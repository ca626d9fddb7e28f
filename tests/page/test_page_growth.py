"""What a page keeps does not grow with the time for which it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread
from page_hour import looked_at

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]


def test_minutes_at_the_page_leave_no_nodes_no_listeners_and_no_memory(browser: Browser, lab: LabThread) -> None:
    first, last = looked_at(browser, lab, minutes=1, warm_up_minutes=2)
    assert last.nodes - first.nodes <= 100
    assert last.listeners - first.listeners <= 10
    assert last.heap_bytes - first.heap_bytes < 1 << 20

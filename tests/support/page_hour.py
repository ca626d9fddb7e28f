"""A page that is looked at for hours, by a fast clock: what it keeps in memory must not grow.

Time is the browser's own, which runs as fast as the page can follow; the lab's telemetry is one real message that comes
again and again, with the arm swinging, an axis in its band and out of it, and a notice now and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from browser_stand import DESKTOP, LabThread
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STEP_MS = 30_000
RATE_MS = 66

KEEP = """() => {
  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(...given) { super(...given); window.theSocket = this; }
  };
}"""
"""The page's socket is kept, so that messages can come to it."""

FLOOD = """(every) => {
  const socket = window.theSocket, hear = socket.onmessage;
  let count = 0, newest = null;
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.type !== "telemetry") hear(event);
    else if (newest === null) newest = message;
  };
  setInterval(() => {
    if (newest === null) return;
    count += 1;
    const swing = 0.3 * Math.sin(count / 20), moved = newest.commanded.map((value) => value + swing);
    const used = newest.commanded.map((_, index) => (index === count % 7 ? 1.2 * Math.abs(swing) / 0.3 : 0.1));
    const { t_s, now_s } = newest, on = count * every / 1000;
    const tell = (message) => hear({ data: JSON.stringify(message) });
    const where = { commanded: moved, simulated: moved, reported: moved, used };
    tell({ ...newest, ...where, t_s: t_s + on, now_s: now_s + on });
    if (count % 300 === 0) tell({ v: 2, type: "notice", now_s, kind: "message", text: `${count}` });
  }, every);
}"""
"""From now on telemetry comes by the page's own clock."""


class Kept(NamedTuple):
    """What a page keeps, after a collection.

    Attributes:
        nodes: of the document, also those that are in no tree any more.
        listeners: of events.
        heap_bytes: used by its program.
    """

    nodes: int
    listeners: int
    heap_bytes: int


def looked_at(browser: Browser, lab: LabThread, minutes: float, warm_up_minutes: float) -> tuple[Kept, Kept]:
    """What a page keeps after the first minutes, and so many minutes later."""
    context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.clock.install()
        page.add_init_script(f"({KEEP})()")
        page.goto(lab.url)
        expect(page.locator("#banner")).to_contain_text("Nobody drives")
        page.evaluate(FLOOD, RATE_MS)
        page.wait_for_timeout(300)
        _run(page, warm_up_minutes)
        first = _kept(page)
        _run(page, minutes)
        return first, _kept(page)
    finally:
        context.close()


def _run(page: Page, minutes: float) -> None:
    for _ in range(round(minutes * 60_000 / STEP_MS)):
        page.clock.run_for(STEP_MS)


def _kept(page: Page) -> Kept:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return Kept(int(found["Nodes"]), int(found["JSEventListeners"]), int(found["JSHeapUsedSize"]))

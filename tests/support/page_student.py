"""Somebody at the page of an arm: what they do, and every way in which their hand, or their page, lets go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from browser_stand import LabThread, patient
from playwright.sync_api import expect

from hil.clock import monotonic_s
from hil.types import Mode

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

PATIENCE_MS = 30_000.0

PAD = """window.thePad = { connected: true, id: "fake pad", index: 0, mapping: "standard", axes: [0, 0, 0, 0],
  buttons: Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 })) };
navigator.getGamepads = () => [window.thePad];"""
"""A game pad that does what a test says."""

DONE, LET_GO = "Done", re.compile("stood still|still being planned")
"""What a page says of a button at the end, and where it has let go of it on a busy machine: at once, or of the plan
that the press before it has begun."""

AGAIN, AGAIN_MS = 20, 500.0
"""So often, and after so long, such a button is pressed again."""

STALL = "(ms) => { const until = performance.now() + ms; while (performance.now() < until); }"


class Student:
    """At one page."""

    def __init__(self, page: Page, lab: LabThread) -> None:
        self.page, self.lab = page, lab
        self._touch: CDPSession | None = None
        self._key = ""

    # -- what they see -----------------------------------------------------------------------------------

    def reads(self, words: str) -> None:
        """Wait until the one sentence begins so."""
        expect(self.page.locator("#banner")).to_contain_text(words, timeout=PATIENCE_MS)

    def told(self, words: str) -> None:
        """Wait until what came of the newest wish is said so."""
        expect(self.page.locator("#answer")).to_contain_text(words, timeout=PATIENCE_MS)

    @property
    def mode(self) -> Mode:
        """Of the arm itself."""
        return self.lab.served.lab.desks["arm-1"].loop.mode

    def reach(self, mode: Mode, within_s: float = 30.0) -> None:
        """Wait until the arm itself is there."""
        assert patient(lambda: self.mode is mode, within_s), f"{self.mode} and not {mode}"

    def at(self, index: int) -> float:
        """Where an axis was sent last."""
        value = self.lab.moved[-1][1][index]
        assert value is not None
        return value

    @property
    def leading(self) -> str:
        """The button that leads the base towards its middle, so that there is always room."""
        return "plus-0" if self.at(0) < 0.0 else "minus-0"

    @property
    def stick(self) -> float:
        """The same by the stick."""
        return -1.0 if self.at(0) < 0.0 else 1.0

    def said(self) -> str:
        """All that the page says now."""
        return "\n".join(self.page.locator(f"#{part}").inner_text() for part in ("news", "notices"))

    # -- what they do ------------------------------------------------------------------------------------

    def drive(self) -> None:
        """Read the card, become the driver of an arm that nobody drives."""
        self.reads("Nobody drives")
        self.sit_down()

    def sit_down(self) -> None:
        """Read the card, become the driver, also of an arm that was left, and wait until the page says it is ready."""
        expect(self.page.locator("#lease")).to_be_enabled(timeout=PATIENCE_MS)
        if self.page.locator("#gotit").is_visible():
            self.page.locator("#gotit").click()
        self.page.locator("#lease").click()
        self.reads("Ready")

    def middle(self, button: str) -> tuple[float, float]:
        """Where a button is."""
        part = self.page.locator(f"#{button}")
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def press(self, button: str) -> None:
        """Mouse down on a button."""
        self.page.mouse.move(*self.middle(button))
        self.page.mouse.down()

    def key_down(self) -> None:
        """The key that leads the base towards its middle."""
        self._key = "+" if self.at(0) < 0.0 else "-"
        self.page.keyboard.down(self._key)

    def key_up(self) -> None:
        """That key comes up, if it is down."""
        if self._key:
            self.page.keyboard.up(self._key)
        self._key = ""

    def touch(self, button: str) -> None:
        """A finger on a button."""
        x, y = self.middle(button)
        self._fingers("touchStart", [{"x": x, "y": y}])

    def lift(self, kind: str = "touchEnd") -> None:
        """The finger goes, or the system takes it."""
        self._fingers(kind, [])

    def _fingers(self, kind: str, points: list[dict[str, float]]) -> None:
        if self._touch is None:
            self._touch = self.page.context.new_cdp_session(self.page)
        self._touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def pad(self, stick: float, *, held: bool, connected: bool = True) -> None:
        """What the game pad says from now on: its left stick to the side, its shoulder button."""
        self.page.evaluate(
            "([stick, held, connected]) => { const pad = window.thePad; pad.connected = connected;"
            " pad.axes = [stick, 0, 0, 0]; pad.buttons[5] = { pressed: held, touched: held, value: held ? 1 : 0 }; }",
            [stick, held, connected],
        )

    def begin(self, press: Callable[[], None]) -> None:
        """Press, and wait until the arm moves."""
        before = len(self.lab.moved)
        press()
        assert patient(lambda: len(self.lab.moved) >= before + 3), self.said()

    def moves(self, press: Callable[[], None], let_go: Callable[[], Any], words: str) -> None:
        """Press, and read that it moves; a page that stood still, on a busy machine, has let go of it: press again."""
        banner, answer = self.page.locator("#banner"), self.page.locator("#answer")
        for _ in range(AGAIN):
            self.begin(press)
            assert patient(lambda: words in banner.inner_text() or LET_GO.search(answer.inner_text()) is not None)
            if words in banner.inner_text():
                return
            let_go()
            self.page.wait_for_timeout(AGAIN_MS)
        raise AssertionError(f"let go of {AGAIN} times: {self.said()}")

    def to_the_end(self, press: Callable[[], None], let_go: Callable[[], Any]) -> None:
        """Press until it is done; a page that stood still, on a busy machine, has let go of it: press again."""
        answer = self.page.locator("#answer")
        for number in range(AGAIN):
            before = len(self.lab.moved)
            press()
            # What is left of the way, after the first press, may be next to nothing.
            over = re.compile(f"{DONE}|{LET_GO.pattern}") if number else LET_GO
            moves = patient(lambda: len(self.lab.moved) >= before + 3 or over.search(answer.inner_text()) is not None)  # noqa: B023
            assert moves, self.said()
            expect(answer).to_contain_text(re.compile(f"{DONE}|{LET_GO.pattern}"), timeout=PATIENCE_MS)
            done = DONE in answer.inner_text()
            let_go()
            if done:
                return
            self.page.wait_for_timeout(AGAIN_MS)
            assert self.lab.still(), "the arm goes on"
        raise AssertionError(f"let go of {AGAIN} times")

    def until_it_stands(self, let_go: Callable[[], Any]) -> float:
        """Let go; gives how long the arm's command still changed from the moment before, seconds."""
        since_s = monotonic_s()
        let_go()
        assert self.lab.still(), "the arm goes on"
        return self.lab.went_on_s(since_s)


LETTING_GO: Mapping[str, tuple[Callable[[Student], None], Callable[[Student], Any]]] = {
    "mouse up": (lambda one: one.press(one.leading), lambda one: one.page.mouse.up()),
    "key up": (lambda one: one.key_down(), lambda one: one.key_up()),
    "finger up": (lambda one: one.touch(one.leading), lambda one: one.lift()),
    "touch taken away": (lambda one: one.touch(one.leading), lambda one: one.lift("touchCancel")),
    "pad let go of": (lambda one: one.pad(one.stick, held=True), lambda one: one.pad(one.stick, held=False)),
    "pad unplugged": (
        lambda one: one.pad(one.stick, held=True),
        lambda one: one.pad(one.stick, held=True, connected=False),
    ),
    "window loses focus": (
        lambda one: one.press(one.leading),
        lambda one: one.page.evaluate("() => window.dispatchEvent(new Event('blur'))"),
    ),
    "page hidden": (
        lambda one: one.press(one.leading),
        lambda one: one.page.evaluate(
            "() => { Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }"
        ),
    ),
    "page stalls": (lambda one: one.press(one.leading), lambda one: one.page.evaluate(STALL, 700)),
    "computer sleeps": (
        lambda one: one.press(one.leading),
        lambda one: one.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 60000; }"),
    ),
    "Escape": (lambda one: one.press(one.leading), lambda one: one.page.keyboard.press("Escape")),
    "space": (lambda one: one.key_down(), lambda one: one.page.keyboard.press("Space")),
    "STOP": (lambda one: one.key_down(), lambda one: one.page.locator("#stop").click()),
    "page closed": (lambda one: one.press(one.leading), lambda one: one.page.goto("about:blank")),
}
"""Every way in which a hold ends: how it was begun, and what ends it."""

TOUCH = frozenset({"finger up", "touch taken away"})
"""Those of a screen that is touched."""

ONCE = frozenset({"page hidden", "computer sleeps", "page closed"})
"""After these the page is of no more use for the next hold."""


def all_up(one: Student) -> None:
    """Nothing is pressed any more, and the page has seen that of its pad."""
    one.page.mouse.up()
    one.key_up()
    one.pad(0.0, held=False)
    one.page.wait_for_timeout(150)

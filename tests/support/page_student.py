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

PAD = """window.thePad = { connected: true, id: "fake pad", index: 0, mapping: "standard", axes: [0, 0, 0, 0],
  buttons: Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 })) };
navigator.getGamepads = () => [window.thePad];"""
"""A game pad that does what a test says."""

DONE, LET_GO = "Done", re.compile("stood still|You were not heard|still being planned|Too late")
"""What a page says of a button at the end, and where it, or the lab, has let go of it on a busy machine: at once, of
the plan that the press before it has begun, or of what came too late on a slow line."""

OVER = re.compile(f"{DONE}|{LET_GO.pattern}")

AGAIN, AGAIN_MS, BEGUN_S = 20, 500.0, 3.0
"""So often, and after so long, such a button is pressed again; an arm moves so soon after a press that counts."""

HELD_KEYS = ("+", "-", "Enter")
"""That somebody here holds down."""

STALL = "(ms) => { const until = performance.now() + ms; while (performance.now() < until); }"


class Student:
    """At one page."""

    def __init__(self, page: Page, lab: LabThread) -> None:
        self.page, self.lab = page, lab
        self._touch: CDPSession | None = None
        self._touches = False
        self._key = ""

    # -- what they see -----------------------------------------------------------------------------------

    def reads(self, words: str) -> None:
        """Wait until the one sentence begins so."""
        expect(self.page.locator("#banner")).to_contain_text(words)

    def told(self, words: str) -> None:
        """Wait until what came of the newest wish is said so."""
        expect(self.page.locator("#answer")).to_contain_text(words)

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
        expect(self.page.locator("#lease")).to_be_enabled()
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
        self._touches = bool(points)
        self._touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def pad(self, stick: float, *, held: bool, connected: bool = True) -> None:
        """What the game pad says from now on: its left stick to the side, its shoulder button."""
        self.page.evaluate(
            "([stick, held, connected]) => { const pad = window.thePad; pad.connected = connected;"
            " pad.axes = [stick, 0, 0, 0]; pad.buttons[5] = { pressed: held, touched: held, value: held ? 1 : 0 }; }",
            [stick, held, connected],
        )

    def begin(self, press: Callable[[], None]) -> None:
        """Press until the arm moves."""
        before = len(self.lab.moved)
        self.press_until(press, lambda: len(self.lab.moved) >= before + 3)

    def press_until(self, press: Callable[[], None], reached: Callable[[], bool]) -> None:
        """Press until that is so; a page that stood still, on a busy machine, has let go of it: press again."""
        for _ in range(AGAIN):
            press()
            # What the page says of a press before this one may stand there for a moment.
            if patient(reached, BEGUN_S) or (patient(lambda: reached() or self.has_let_go) and reached()):
                return
            assert self.has_let_go, self.said()
            self.hands_off()
            self.page.wait_for_timeout(AGAIN_MS)
        raise AssertionError(f"let go of {AGAIN} times: {self.said()}")

    @property
    def has_let_go(self) -> bool:
        """Whether the page says that it has, and that one has to press again."""
        return LET_GO.search(self.page.locator("#answer").inner_text()) is not None

    def hands_off(self) -> None:
        """Nothing is down any more: no button, key, finger or pad."""
        self.page.mouse.up()
        for key in HELD_KEYS:
            self.page.keyboard.up(key)
        self._key = ""
        if self._touches:
            self.lift()
        if self.page.evaluate("() => Boolean(window.thePad)"):
            self.pad(0.0, held=False)

    def moves(self, press: Callable[[], None], words: str) -> None:
        """Press until one can read that it moves, and it does."""
        banner, before = self.page.locator("#banner"), len(self.lab.moved)
        self.press_until(press, lambda: words in banner.inner_text() and len(self.lab.moved) >= before + 3)

    def to_the_end(self, press: Callable[[], None]) -> None:
        """Press until it is done, again wherever a page that stood still has let go of it."""
        for number in range(AGAIN):
            if self.once_to_the_end(press, moves=number == 0):
                return
            self.page.wait_for_timeout(AGAIN_MS)
            assert self.lab.still(), "the arm goes on"
        raise AssertionError(f"let go of {AGAIN} times")

    def once_to_the_end(self, press: Callable[[], None], *, moves: bool = True) -> bool:
        """Press until it is done, or until the page has let go of it: False; `moves`: not before the arm has moved."""
        answer, before = self.page.locator("#answer"), len(self.lab.moved)
        press()
        # What is left of the way, after the first press, may be next to nothing.
        over = LET_GO if moves else OVER
        assert patient(lambda: len(self.lab.moved) >= before + 3 or over.search(answer.inner_text()) is not None), (
            self.said()
        )
        expect(answer).to_contain_text(OVER)
        done = DONE in answer.inner_text()
        self.hands_off()
        return done

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
    one.hands_off()
    one.page.wait_for_timeout(150)

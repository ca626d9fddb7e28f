"""Every way of letting go at the page of an arm, many times: whether the arm stands within what the lab promises.

The lab says with each frame how long the arm goes on after its driver has let go (the stop budget). Each round presses,
waits until the arm moves, lets go in one way, and looks at the commands that the arm was sent: the newest change of
them has to come within that time, and the line's delay. Pictures of the page: --pictures docs/screens.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hil.cli.output import print_table
from hil.clock import monotonic_s
from hil.service.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser_stand import LabThread, chromium, lab_thread, page_at, patient, relay_thread, why_no_browser

if TYPE_CHECKING:
    from page_student import Student
    from playwright.sync_api import Browser, Page

LEFT_OUT = 75
LOOK_MS = 400
TRIES = 8


class Round(NamedTuple):
    """What came of one."""

    way: str
    took_s: float
    promised_s: float
    trouble: str = ""


def main() -> int:
    """Run; 1 if an arm went on for longer than was promised, or never began."""
    parser = argparse.ArgumentParser(prog="scripts/page-campaign", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of each way (100)")
    parser.add_argument("--only", default="", help="ways whose name has this in it")
    parser.add_argument("--delays-ms", type=float, nargs="+", default=[0.0, 200.0], help="of lines, one way (0 200)")
    parser.add_argument("--slack-ms", type=float, default=150.0, help="for a busy machine (150)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="only pictures of the page, into this folder")
    wanted = parser.parse_args()
    if why := why_no_browser():
        print(why)
        return LEFT_OUT
    with tempfile.TemporaryDirectory(prefix="hil-page-") as folder:
        # What a person at this computer keeps is not touched.
        os.environ["XDG_STATE_HOME"] = folder
        if wanted.pictures is not None:
            return pictures(Path(folder), wanted.pictures)
        return campaign(Path(folder), wanted)


def campaign(folder: Path, wanted: argparse.Namespace) -> int:
    """All rounds on both lines."""
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    print(f"seed {seed}: {wanted.rounds} rounds of each way", flush=True)
    chance, broken = random.Random(seed), 0
    with chromium() as browser:
        for delay_ms in wanted.delays_ms:
            slack_s = (2.0 * delay_ms + wanted.slack_ms) / 1e3
            (place := folder / f"lab-{delay_ms:.0f}").mkdir()
            with lab_thread(place, settings=Settings()) as lab, relay_thread(delay_ms / 1e3) as line:
                rounds: list[Round] = []
                for way in _ways(wanted.only):
                    rounds += _rounds(browser, lab, line.address(lab), way, wanted.rounds, chance)
                    print(f"{delay_ms:g} ms, {way}: {wanted.rounds} rounds", flush=True)
            print_table(
                f"line of {delay_ms:.0f} ms", ("let go by", "times", "median ms", "worst ms", "promised ms", "over"),
                [_row(way, [one for one in rounds if one.way == way], slack_s) for way in _ways(wanted.only)],
            )  # fmt: skip
            for one in rounds:
                if one.trouble:
                    print(f"BROKEN: {one.way}: {one.trouble}")
            broken += sum(bool(one.trouble) or one.took_s > one.promised_s + slack_s for one in rounds)
    print(f"seed {seed}: {broken or 'nothing'} beyond what was promised")
    return 1 if broken else 0


def _ways(only: str) -> list[str]:
    from page_student import LETTING_GO

    return [way for way in LETTING_GO if only in way]


def _row(way: str, rounds: list[Round], slack_s: float) -> tuple[str, ...]:
    took = sorted(one.took_s for one in rounds if not one.trouble)
    if not took:
        return way, "0", "", "", "", str(len(rounds))
    over = sum(bool(one.trouble) or one.took_s > one.promised_s + slack_s for one in rounds)
    worst = max(rounds, key=lambda one: one.took_s)
    return (
        way, str(len(took)), f"{1e3 * took[len(took) // 2]:.0f}", f"{1e3 * worst.took_s:.0f}",
        f"{1e3 * worst.promised_s:.0f}", str(over),
    )  # fmt: skip


def _rounds(browser: Browser, lab: LabThread, url: str, way: str, times: int, chance: random.Random) -> Iterator[Round]:
    from page_student import ONCE, TOUCH

    left = times
    while left > 0:
        with page_at(browser, url, phone=way in TOUCH) as page:
            one = _seated(page, lab)
            for _ in range(1 if way in ONCE else left):
                left -= 1
                yield _round(one, lab, way, chance)


def _seated(page: Page, lab: LabThread) -> Student:
    """Somebody who drives."""
    from page_student import PAD, Student

    page.evaluate(PAD)
    one = Student(page, lab)
    one.sit_down()
    return one


def _round(one: Student, lab: LabThread, way: str, chance: random.Random) -> Round:
    from page_student import LETTING_GO, all_up
    from playwright.sync_api import Error as PageError

    press, let_go = LETTING_GO[way]
    try:
        one.begin(lambda: press(one))
        one.page.wait_for_timeout(LOOK_MS * chance.random())
        promised_s = lab.do(_promised_s(lab))
        since_s = monotonic_s()
        let_go(one)
        if not lab.still():
            return Round(way, 5.0, promised_s, "the arm goes on")
        took_s = lab.went_on_s(since_s)
        stands = lab.moved[-1][1]
        if way != "page closed":
            one.page.wait_for_timeout(100)
            if lab.moved[-1][1] != stands:
                return Round(way, took_s, promised_s, "it moves again by itself")
            all_up(one)
        return Round(way, took_s, promised_s)
    except (AssertionError, PageError) as error:
        with contextlib.suppress(Exception):
            all_up(one)
        return Round(way, 0.0, 0.0, " ".join(str(error).split())[:200])


async def _promised_s(lab: LabThread) -> float:
    """How long commands go on after a hand has opened, as the lab says now; the servo's own lag is none of them."""
    stop = lab.served.lab.desks["arm-1"].telemetry(monotonic_s()).stop
    return 0.0 if stop is None else (stop.total_ms - stop.servo_ms) / 1e3


def pictures(folder: Path, into: Path) -> int:
    """The page on a desk and on a phone, at rest and led."""
    (folder / "lab").mkdir()
    with chromium() as browser, lab_thread(folder / "lab") as lab:
        for phone in (False, True):
            name = "page-phone" if phone else "page"
            with page_at(browser, lab.url, phone=phone) as page:
                page.locator("#axes .axis").first.wait_for(state="attached")
                page.wait_for_timeout(500)
                page.screenshot(path=into / f"{name}-first.png")
                one = _seated(page, lab)
                _driving_picture(one, into / f"{name}-driving.png")
                page.mouse.move(5, 5)
                page.locator("#teach").click()
                page.locator("#tasks > summary").click()
                page.locator("#preview").click()
                patient(lambda page=page: page.locator("#margins li").count() > 0)  # type: ignore[misc]
                page.locator("#scrub").fill(str(int(page.locator("#scrub").get_attribute("max") or 0) // 2))
                page.locator("#tasks").scroll_into_view_if_needed()
                page.screenshot(path=into / f"{name}-task.png")
    print(f"pictures in {into}")
    return 0


def _driving_picture(one: Student, file: Path) -> None:
    """While it moves; on a busy machine the page may have let go before, which is another picture."""
    lamp = one.page.locator("#lamp")
    for _ in range(TRIES):
        one.begin(lambda: one.press("plus-0"))
        one.page.wait_for_timeout(800)
        one.page.screenshot(path=file)
        moved = lamp.get_attribute("data-state") == "moving"
        one.page.mouse.up()
        one.lab.still()
        if moved:
            return
    print(f"{file.name}: no hold lasted; the machine is too busy for this picture")


if __name__ == "__main__":
    sys.exit(main())

"""Types what docs/first-hour-teacher.md says, each person in an environment of their own, and clicks what it clicks."""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from _typed_page import REFUSED, ROOT, Shell, Typed, shorten

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGE = ROOT / "docs/first-hour-teacher.md"
PORT = "8742"
LASTS = "hil serve --lab"
SERVED_S, READ_MS = 90.0, 90_000.0
PEOPLE = ("Ana", "Ben", "Tess")
_BLOCK = re.compile(r"^```(?P<kind>toml|python|console|page)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Written(NamedTuple):
    """A file that somebody writes."""

    name: str
    text: str


class Said(NamedTuple):
    """A command, and who types it."""

    who: str
    typed: Typed


class Clicked(NamedTuple):
    """What somebody does at the page: verbs with what they are done to."""

    who: str
    steps: tuple[tuple[str, str], ...]


VERBS = ("open", "choose", "hand in", "read", "press", "save")


def read_page(text: str) -> Iterator[Written | Said | Clicked]:
    """What the page has its people do, in order; files are written before all that names them."""
    blocks = [(block["kind"], block["text"]) for block in _BLOCK.finditer(text)]
    for kind, body in blocks:
        if kind in ("toml", "python"):
            first, _, rest = body.partition("\n")
            yield Written(first.removeprefix("# "), rest)
    for kind, body in blocks:
        lines = body.splitlines()
        who = lines[0].removeprefix("# ") if lines[0].startswith("# ") else ""
        if kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, *shown = part.splitlines()
                typed, _, mark = command.partition("    #")
                yield Said(who, Typed(typed, 1 if f"#{mark}" == REFUSED else 0, tuple(shown)))
        elif kind == "page":
            yield Clicked(who, tuple(map(_step, lines[1:])))


def _step(line: str) -> tuple[str, str]:
    verb = next(verb for verb in VERBS if line.startswith(f"{verb} "))
    return verb, line.removeprefix(f"{verb} ")


class Class:
    """The people of the page, each with logins of their own, and the lab that they share."""

    def __init__(self, folder: Path, browser: Browser | None) -> None:
        self.folder, self._browser = folder, browser
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self._shells = {who: self._shell(who) for who in ("", *PEOPLE)}
        self._lab: subprocess.Popen[str] | None = None
        shutil.copy(ROOT / "configs/tasks/pick-and-place.toml", folder)

    def _shell(self, who: str) -> Shell:
        return Shell(self.folder, self.folder / "people" / (who or "owner"))

    def here(self, text: str) -> str:
        """With the port that is free on this computer."""
        return text.replace(PORT, self.port)

    def there(self, text: str) -> str:
        """As the page has it."""
        return text.replace(self.port, PORT)

    def type(self, said: Said) -> str:
        """Have a command typed; what was printed.

        Raises:
            SystemExit: it did not end, or did not print, as the page says.
        """
        step = said.typed
        if step.command.startswith(LASTS):
            return self._serve(step)
        code, printed, _ = self._shells[said.who].type(self.here(step.command), None)
        printed = self.there(printed)
        if code != step.code or (line := step.missing(printed)) is not None:
            wrong = f"exit code {code}" if code != step.code else f"the page says {line!r}"
            raise SystemExit(f"{printed}\n{said.who} $ {step.command}: {wrong}")
        return printed

    def _serve(self, step: Typed) -> str:
        """The lab, which goes on; what it said up to the last line of the page."""
        log = self.folder / "server.txt"
        with log.open("wb") as file:
            self._lab = subprocess.Popen(
                self.here(step.command).split(), cwd=self.folder, env=dict(self._shells[""].environment), stdout=file,
                stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        until_s = time.monotonic() + SERVED_S
        while time.monotonic() < until_s and self._lab.poll() is None:
            printed = self.there(log.read_text("utf-8"))
            if step.missing(printed) is None:
                self._until_it_is_up()
                return printed
            time.sleep(0.1)
        raise SystemExit(f"{log.read_text('utf-8')}\n{step.command}: the page says {step.missing('')!r}")

    def _until_it_is_up(self) -> None:
        """Nobody books an arm that is still starting."""
        self._shells[""].type("hil login join-files/Tess.hil-join", None)
        until_s = time.monotonic() + SERVED_S
        while time.monotonic() < until_s:
            _, printed, _ = self._shells[""].type("hil book", None)
            if re.search(r"\byes\b", printed):
                return
        raise SystemExit(f"the arm does not come up: {printed}")

    def click(self, clicked: Clicked) -> None:
        """Have somebody do something at the page."""
        if self._browser is None:
            return
        join = tomllib.loads((self.folder / "join-files" / f"{clicked.who}.hil-join").read_text("utf-8"))
        context = self._browser.new_context(ignore_https_errors=True, locale="en")
        page = context.new_page()
        page.set_default_timeout(READ_MS)
        try:
            page.goto(f"https://127.0.0.1:{self.port}/#left")
            page.locator("#token").fill(join["token"])
            page.locator("#door button").click()
            for verb, what in clicked.steps:
                self._do(page, verb, what)
        finally:
            context.close()

    def _do(self, page: Page, verb: str, what: str) -> None:
        from playwright.sync_api import expect

        courses: Any = page.locator("#courses")
        if verb == "open":
            courses.locator("summary").click()
        elif verb == "choose":
            page.locator("#exercise").select_option(label=what)
        elif verb == "hand in":
            page.locator("#handfiles").set_input_files(self.folder / what)
        elif verb == "press":
            courses.get_by_role("button", name=what).first.click()
        elif verb == "save":
            button, _, name = what.partition(" as ")
            with page.expect_download() as given:
                courses.get_by_role("button", name=button).click()
            if given.value.suggested_filename != name:
                raise SystemExit(f"{what}: {given.value.suggested_filename} was saved")
        else:
            expect(courses).to_contain_text(what, timeout=READ_MS)

    def close(self) -> None:
        """End the lab."""
        if self._lab is not None and self._lab.poll() is None:
            self._lab.send_signal(signal.SIGTERM)
            self._lab.wait(30.0)


def walk(folder: Path, most: int | None, browser: Browser | None) -> Iterator[str]:
    """Do what the page says; gives what came of it, piece by piece."""
    people, ended = Class(folder, browser), False
    try:
        for step in islice(read_page(PAGE.read_text("utf-8")), most):
            if isinstance(step, Written):
                (folder / step.name).write_text(people.here(step.text), "utf-8")
                yield f"`{step.name}` is written\n"
            elif isinstance(step, Clicked):
                people.click(step)
                how = "at the page" if browser is not None else "NOT DONE, there is no browser here"
                yield f"{step.who}, {how}: {'; '.join(f'{verb} {what}' for verb, what in step.steps)}\n"
            else:
                if step.typed.command.startswith("hil audit") and not ended:
                    people.close()
                    ended = True
                printed = people.type(step)
                yield f"{step.who or 'owner'}\n$ {step.typed.command}\n{shorten(step.typed.command, printed)}\n"
    finally:
        people.close()


def _browser(stack: contextlib.ExitStack) -> Browser | None:
    """One to click with; None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    program = shutil.which("chromium")
    if program is None:
        return None
    play = stack.enter_context(sync_playwright())
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    browser = play.chromium.launch(executable_path=program, args=flags)
    stack.callback(browser.close)
    return browser


def main(wanted: argparse.Namespace | Mapping[str, Any]) -> int:
    """Walk through the page."""
    most = wanted.most if isinstance(wanted, argparse.Namespace) else wanted["most"]
    began_s = time.monotonic()
    with contextlib.ExitStack() as stack:
        browser = None if most is not None else _browser(stack)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="first hour "))
        for part in walk(Path(folder).resolve(), most, browser):
            print(part, flush=True)
        clicked = "" if browser is not None else ", but nothing was clicked: there was no browser"
    print(f"all of it came out as the page says{clicked}; {time.monotonic() - began_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main({"most": None}))

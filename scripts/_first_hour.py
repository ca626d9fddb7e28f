"""Types what docs/first-hour-lab-owner.md says, on the fake, in a folder of its own, and prints what came back."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import _first_hour_teacher
import _own_arm
from _typed_page import REFUSED, ROOT, Shell, Typed, effort, shorten

PAGE = ROOT / "docs/first-hour-lab-owner.md"
TRANSCRIPT = ROOT / "docs/first-hour-transcript.md"

_BLOCK = re.compile(r"^```(?P<kind>toml|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class File(NamedTuple):
    """A file that the page has the reader write."""

    name: str
    text: str


def read_page(text: str) -> Iterator[File | Typed]:
    """What the page has the reader do, in order."""
    for block in _BLOCK.finditer(text):
        if block["kind"] == "toml":
            yield File(block["text"].splitlines()[0].removeprefix("# "), block["text"])
            continue
        for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            typed, _, mark = command.partition("    #")
            yield Typed(typed, 1 if f"#{mark}" == REFUSED else 0, tuple(shown))


class Operator:
    """Answers `hil calibrate` as somebody who believes what the screen says they see."""

    _SEEN = re.compile(r"(\w+) went from (\S+) to (\S+) (?:deg|mm)")
    _MEASURED = re.compile(r"(?:joint \d of \d, )?(\w+): (?:it stands )?at \d+ us")
    _AWAY = re.compile(r", (\d+) steps? away \(")

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        self._tried: str | None = None

    def answer(self, printed: str) -> str:
        """The answer to the question that ends what was printed since the last one."""
        moves = self._SEEN.findall(printed)
        self._at.update({name: float(to) for name, _, to in moves})
        question = [line for line in printed.splitlines() if line and not line.startswith((" ", ">"))][-1]
        if "is limp" in question:
            return "go"
        if "What moved?" in question:
            return str(moves[-1][0])
        if "has moved a little. +" in question:
            return "+" if float(moves[-1][2]) > float(moves[-1][1]) else "-"
        name = self._MEASURED.match(question)
        assert name is not None, question
        away = self._AWAY.search(question)
        # Where going on changes nothing any more, what is there is measured.
        if away is None or question == self._tried:
            return f"= {self._at[name[1]]:g} go 5"
        self._tried = question
        return f"go {away[1]}"


def walk(folder: Path, steps: Iterable[File | Typed]) -> Iterator[str]:
    """Do what a page says; gives the transcript piece by piece.

    Raises:
        SystemExit: something did not end, or did not print, as the page says.
    """
    shell = Shell(folder)
    typed: list[str] = []
    files: dict[str, list[str]] = {}
    began_s = time.monotonic()
    for step in steps:
        if isinstance(step, File):
            (folder / step.name).write_text(step.text, "utf-8")
            written, before = step.text.splitlines(), files.get(step.name, [])
            typed += [line for line in written if line not in before]
            files[step.name] = written
            yield f"`{step.name}` is written:\n\n```toml\n{step.text}```\n"
            continue
        asks = step.command.startswith("hil calibrate")
        code, printed, answers = shell.type(step.command, Operator() if asks else None)
        if code != step.code or (line := step.missing(printed)) is not None:
            wrong = f"exit code {code}" if code != step.code else f"the page says {line!r}"
            raise SystemExit(f"{printed}\n{step.command}: {wrong}")
        typed += [step.command, *answers]
        yield f"```console\n$ {step.command}\n{shorten(step.command, printed)}\n```\n"
    yield f"{effort(typed)} The machine took {time.monotonic() - began_s:.0f} s.\n"


HEAD = """# The first hour, as it went

Made by `scripts/first-hour --write` on {date}: what [first-hour-lab-owner.md](first-hour-lab-owner.md) has the reader
type, on the fake, in a terminal of 80 columns, and what came back. A line in square brackets with dots says how much
was left out. `hil doctor` and `hil ports` speak of the computer it ran on. In `hil calibrate` nothing after
`>` is Enter.
"""


def main() -> int:
    """Print the transcript, or write it into docs/."""
    parser = argparse.ArgumentParser(prog="scripts/first-hour", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/first-hour-transcript.md too")
    parser.add_argument("--most", type=int, help="end after so many steps; nothing is written then")
    parser.add_argument("--teacher", action="store_true", help="the page of a course instead: three people, and a lab")
    parser.add_argument("--own-arm", action="store_true", help="the page of five imported arms instead")
    parser.add_argument("--packages", type=Path, help="with --own-arm: where their packages are unpacked already")
    wanted = parser.parse_args()
    if wanted.teacher:
        return _first_hour_teacher.main(wanted)
    if wanted.own_arm:
        return _own_arm.main(wanted)
    parts = [HEAD.format(date=datetime.date.today().isoformat())]
    print(parts[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="first hour ") as folder:
        for part in walk(Path(folder).resolve(), islice(read_page(PAGE.read_text("utf-8")), wanted.most)):
            print(part, flush=True)
            parts.append(part)
    if wanted.write and wanted.most is None:
        TRANSCRIPT.write_text("\n".join(parts), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Types every command of every page under docs/ in an empty home, on fakes, and says which did not do as it says."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = ("", "console", "sh", "bash")
NAMED_FILE = re.compile(r"^```toml\n# (?P<name>[\w-]+\.toml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file that a page shows, with its name in the first line."""
COMMAND = re.compile(r"^(?:\$ )?(?P<command>(?:(?:printf|echo|cat) [^|]+ \| )?hil .*)$")
MOST_LINES = 60
"""Of what a command printed that ended as it should not."""

REFUSED = "# refused: exit code 1"
LONGEST_S, BEGIN_S, END_S = 300.0, 60.0, 30.0
LASTING = (
    "serve",
    "fake",
    "dashboard",
    "learn",
    "watch",
    "drive",
    "jog",
    "calibrate",
    "identify",
    "release",
    "accept",
    "program",
    "new robot",
)
"""Commands that go on until somebody ends them, or ask: they have to begin, and to end by Ctrl-C."""
PAGES_OF_THEIR_OWN = (
    "first-hour-lab-owner.md",
    "first-hour-own-arm.md",
    "first-hour-teacher.md",
    "first-hour-transcript.md",
    "twenty-mistakes.md",
    "path-mistakes.md",
)
"""Pages that other checks type, word by word: scripts/first-hour, tests/workbench."""


class Line(NamedTuple):
    """A command of a page."""

    page: str
    command: str
    refused: bool = False


class Rule(NamedTuple):
    """What may come of commands that match, other than an end with 0; and why."""

    pattern: str
    codes: tuple[int, ...]
    why: str


RULES = (
    Rule(r"--udev +\|", (), "writes to the system"),
    Rule(r"^new rig lynx6-3", (0, 1), "the page shows it twice, and a name is taken once"),
    Rule(r"^new rig |^ports ", (0,), "opens nothing"),
    Rule(r"--hardware|/dev/ttyUSB|desk-3", (1,), "no arm is plugged in"),
    Rule(r"lab\.example", (1,), "that lab does not exist"),
    Rule(r"^book http://127", (1,), "the lab of the line above has been ended"),
    Rule(r"^audit (verify|show)", (0, 1), "needs a lab that people have used"),
    Rule(r"frobnicate", (1,), "the page shows what is refused"),
    Rule(r"^doctor|^labs notebook", (0, 1), "what is missing on this computer"),
    Rule(r"my-lab.md", (1,), "stands for a reader's own file"),
    Rule(r"^accept --from|--profile mine.toml", (1,), "needs an archive of an hour at an arm"),
    Rule(
        r"audit verify .*--head 9f86|left/rigs|arm-\.\.\.|arm-\*|ada.csv|so101|two-arms|arm.urdf.xacro|^fk arm.toml",
        (1, 2),
        "stands for a reader's own files",
    ),
    Rule(
        r"^journal export run.mcap( --decimal comma)?$|^import arm.urdf -o arm.toml|--stl meshes",
        (0, 1),
        "another line wrote that file, and none is overwritten",
    ),
    Rule(r"^token revoke (300773|--file)|^token show Ana.hil-join|^token forget \"Ana\"", (0, 1), "needs that token"),
    Rule(r"rigs/desk.toml|cut.mcap", (0, 1), "stands for a reader's own file"),
    Rule(r"desk.toml", (0, 1), "a template that its reader has not filled in yet"),
    Rule(r"^course (show|hand-in|results|marks)", (1, 2), "needs a login to a lab with a course"),
    Rule(r"^course new", (0, 1), "needs that lab and that class"),
    Rule(r"^new robot my-lynx6$", (0, 2), "asks on a terminal"),
    Rule(r"^derive .*~/Arduino", (0,), ""),
)


def lines_of(page: Path) -> Iterator[Line]:
    """The commands of a page, in order."""
    for block in BLOCK.finditer(page.read_text("utf-8")):
        for text in block["text"].splitlines() if block["language"] in SHELLS else ():
            found = COMMAND.match(text.strip())
            if found is None:
                continue
            typed, mark, rest = (
                re.split(r"(\s{2,}#|\s{3,})", found["command"], maxsplit=1)
                if re.search(r"\s{2,}#|\s{3,}", found["command"])
                else (found["command"], "", "")
            )
            yield Line(page.name, typed.strip(), f"#{rest}".startswith(REFUSED) if mark else False)


def pages() -> list[Path]:
    """All that are typed here."""
    return [
        ROOT / "README.md",
        *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in PAGES_OF_THEIR_OWN),
        ROOT / "docs/labs/README.md",  # the labs themselves are typed by scripts/labs
    ]


class Home:
    """An empty home with the files that readers of these pages have.

    Args:
        folder: for it; nothing of the user's own is touched.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("XDG_")},
            "HOME": str(folder),
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "QT_QPA_PLATFORM": "offscreen",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        }

    def furnish(self, page: Path, recorded: bytes) -> None:
        """Make what all pages take for granted, from a task to a lab, and the files that this page shows.

        Args:
            page: which one.
            recorded: a journal.
        """
        for name, made in FURNITURE.items():
            if isinstance(made, str):
                (self.folder / name).write_text(made, encoding="utf-8")
            else:
                self.make(*made)
        (self.folder / "run.mcap").write_bytes(recorded)
        (self.folder / "cut.mcap").write_bytes(recorded[: len(recorded) // 2])
        shutil.copy(ROOT / "configs/programs/arcs.mb4", self.folder / "mine.mb4")
        shutil.copy(ROOT / "configs/programs/arcs.pos", self.folder / "mine.pos")
        shutil.copy(self.folder / "meshes/puma560.stl", self.folder / "part.stl")
        (self.folder / "submissions" / "ana").mkdir(parents=True)
        shutil.copy(ROOT / "configs/tasks/pick-and-place.toml", self.folder / "submissions" / "ana" / "task.toml")
        for shown in NAMED_FILE.finditer(page.read_text("utf-8")):
            (self.folder / shown["name"]).write_text(shown["text"], encoding="utf-8")

    def make(self, *words: str) -> None:
        """Have a command make something that has to be there."""
        done = subprocess.run(
            ["hil", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_S,
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace")
            raise SystemExit(f"pages: hil {' '.join(words)}: exit code {done.returncode}\n{said}")

    def type(self, line: Line) -> str:
        """Type it; what is wrong with what came of it, or empty."""
        command = line.command
        for word, name in PLACEHOLDERS.items():
            command = re.sub(rf"\b{word}\b", name, command)
        lasting = any(command.startswith(f"hil {words}") for words in LASTING) and "|" not in command
        with subprocess.Popen(
            ["bash", "-c", f"exec {command}" if "|" not in command else command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            printed = _begun(process) if lasting else b""
            with contextlib.suppress(BrokenPipeError):
                if process.stdin is not None:
                    process.stdin.close()
            if lasting and process.poll() is None:
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
            try:
                process.wait(END_S if lasting else LONGEST_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return f"did not end{' by Ctrl-C' if lasting else ''}"
            assert process.stdout is not None
            printed += process.stdout.read()
        return _wrong(line, command, process.returncode, printed.decode(errors="replace"), lasting=lasting)


def _begun(process: subprocess.Popen[bytes]) -> bytes:
    """What a command that goes on prints first."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    end_s, printed = time.monotonic() + BEGIN_S, b""
    while not printed.strip() and process.poll() is None and time.monotonic() < end_s:
        printed += process.stdout.read() or b""
        time.sleep(0.05)
    os.set_blocking(process.stdout.fileno(), True)
    return printed


def _wrong(line: Line, command: str, code: int, printed: str, *, lasting: bool) -> str:
    words = command.removeprefix("hil ")
    rule = next((rule for rule in RULES if re.search(rule.pattern, words)), None)
    allowed = (1,) if line.refused else (0,) if rule is None else rule.codes
    if lasting:
        allowed = (*allowed, 0, 1, 130)
    # Why it stopped may stand far above its last line, which only says where the journal is.
    said = "\n".join(printed.strip().splitlines()[-MOST_LINES:]) or "nothing"
    if "Traceback" in printed:
        return f"a traceback: {said}"
    return "" if code in allowed else f"ended with {code}, not {' or '.join(map(str, allowed))}: {said}"


FURNITURE: dict[str, str | Sequence[str]] = {
    "my-task.toml": 'title = "t"\n[[step]]\ndo = "move"\nto = "home"\n',
    "urdf": ("robots", "puma560", "--urdf", "arm.urdf"),
    "stl": ("robots", "puma560", "--stl", "meshes"),
    "lab": ("serve", "init", "lab", "--arm", "left=lynx6", "--arm", "right=al5d"),
    "desk.toml": "",
}
PLACEHOLDERS = {"TASK": "my-task.toml", "FILE": "run.mcap"}


def recording() -> bytes:
    """The journal of a run."""
    with tempfile.TemporaryDirectory(prefix="hil-page-", ignore_cleanup_errors=True) as folder:
        Home(Path(folder)).make("run", "lynx6", "wave", "--journal", "run.mcap")
        return (Path(folder) / "run.mcap").read_bytes()


def check(line: Line, skipped: Callable[[str], None], home: Home) -> str:
    """Type a line unless a rule says that it is not to be; what is wrong with it, or empty."""
    rule = next((rule for rule in RULES if re.search(rule.pattern, line.command.removeprefix("hil "))), None)
    if rule is not None and not rule.codes:
        skipped(rule.why)
        return ""
    return home.type(line)


def main() -> int:
    """Type them all; 1 if one did not do as its page has it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="*", help="names of pages; none: all")
    parser.add_argument("--list", action="store_true", help="print the commands, and type none")
    arguments = parser.parse_args()
    # Started in the background of a shell this ignores Ctrl-C from birth, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [page for page in pages() if not arguments.page or page.name in arguments.page]
    wrong = typed = 0
    recorded = b"" if arguments.list else recording()
    for page in chosen:
        lines = list(lines_of(page))
        if arguments.list:
            print("\n".join(f"{line.page}: {line.command}" for line in lines))
            continue
        if not lines:
            continue
        with tempfile.TemporaryDirectory(prefix="hil-page-", ignore_cleanup_errors=True) as folder:
            home = Home(Path(folder))
            home.furnish(page, recorded)
            for line in lines:
                started_s = time.monotonic()
                words = check(line, lambda why: print(f"  not typed, {why}:", flush=True), home)
                typed += 1
                wrong += bool(words)
                took_s = time.monotonic() - started_s
                print(
                    f"{'WRONG' if words else 'ok':5} {line.page}: {line.command} ({took_s:.1f} s) {words}", flush=True
                )
    if not arguments.list:
        print(f"{typed} commands of {len(chosen)} pages, {wrong} did not do as their page has it")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

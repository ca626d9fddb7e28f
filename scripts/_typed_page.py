"""What a page has its reader type: in a terminal of its own, what came back, and how long a person takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

ROOT = Path(__file__).resolve().parents[1]
REFUSED = "# refused: exit code 1"
"""So a page says of a command that it ends with 1."""
COLUMNS = 80
KEEP = {"calibrate": (58, 12)}
"""Lines at the beginning and the end that the transcript shows of a long output."""
KEEP_ELSE = (14, 8)
KEY_S, ENTER_S, LINE_S = 0.33, 1.5, 3.0
"""A character; a plain Enter; looking and thinking before any other line."""


class Operator(Protocol):
    """Answers what a command asks."""

    def answer(self, printed: str) -> str:
        """The answer to the question that ends what was printed since the last one."""


class Typed(NamedTuple):
    """A command of the page, the exit code that it promises, and the lines that it shows."""

    command: str
    code: int
    shown: tuple[str, ...]

    def missing(self, printed: str) -> str | None:
        """The first line of the page that was not printed, in this order; ``...`` stands for anything."""
        wanted = [line for line in self.shown if line != "..."]
        lines = iter(printed.splitlines())
        for line in wanted:
            pattern = re.compile(".*".join(map(re.escape, line.split("..."))) + r"\s*")
            if not any(pattern.fullmatch(given) for given in lines):
                return line
        return None


class Shell:
    """A terminal of 80 columns in a folder with a blank in its name; nothing of the user's own files is touched."""

    def __init__(self, folder: Path, config: Path | None = None) -> None:
        self.folder = folder
        state, config = folder / "state", config or folder / "config"
        self.environment: Mapping[str, str] = {
            **os.environ,
            "COLUMNS": str(COLUMNS),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "XDG_STATE_HOME": str(state),
            "XDG_CONFIG_HOME": str(config),
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
        }
        self._names = {str(state): "~/.local/state", str(config): "~/.config", str(folder): "~/arm", str(ROOT): "~/hil"}

    def type(self, command: str, operator: Operator | None) -> tuple[int, str, list[str]]:
        """Exit code, everything that was printed, and what was typed into it."""
        printed, new, answers = "", "", []
        stdin = subprocess.PIPE if operator else subprocess.DEVNULL
        with subprocess.Popen(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            while data := os.read(process.stdout.fileno(), 65536):
                new += data.decode()
                if operator is not None and new.endswith("> "):
                    answers.append(operator.answer(new))
                    assert process.stdin is not None
                    process.stdin.write(f"{answers[-1]}\n".encode())
                    process.stdin.flush()
                    printed, new = printed + new, ""
        return process.returncode, self._without_places(printed + new), answers

    def _without_places(self, text: str) -> str:
        """Where it ran does not matter."""
        for place, name in self._names.items():
            text = text.replace(place, name)
        return re.sub(r"\S*/hil-\d+-\w+/", "/run/hil/", text)


def shorten(command: str, printed: str) -> str:
    """Long outputs lose their middle, which is said."""
    first, last = KEEP.get(command.split()[1] if " " in command else "", KEEP_ELSE)
    lines = [line.rstrip() for line in printed.splitlines()]
    if len(lines) > first + last + 2:
        lines[first:-last] = [f"[... {len(lines) - first - last} lines left out ...]"]
    return "\n".join(lines)


def minutes(typed: list[str]) -> float:
    """How long a person takes to type these lines."""
    enters = typed.count("")
    return (sum(map(len, typed)) * KEY_S + enters * ENTER_S + (len(typed) - enters) * LINE_S) / 60.0


def effort(typed: list[str]) -> str:
    """The same in words."""
    enters = typed.count("")
    lines, characters = len(typed) - enters, sum(map(len, typed))
    return (
        f"Typed: {lines} lines with {characters} characters, and {enters} times a plain Enter. That is "
        f"{minutes(typed):.0f} minutes, reckoned at {1.0 / KEY_S:.0f} characters a second, {ENTER_S:g} s an Enter and "
        f"{LINE_S:g} s of looking a line."
    )

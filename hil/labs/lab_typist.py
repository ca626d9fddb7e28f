"""Who types a lab's lines: here a process for each, as at a terminal, in a folder and a home of their own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Protocol

from hil.own_program import HIL, PYTHON

COLUMNS = 200
"""Width of the terminal: no table wraps."""

ALLOWED_S = 600.0
"""Long after every command of a lab has ended."""

KEPT_LINES = 200
"""Of a command that goes on."""

BEGIN_S, END_S = 60.0, 30.0
"""For a command that goes on: until it says its first line, and until it has ended after Ctrl-C."""

HOMES = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA")


class Typed(NamedTuple):
    """What came of a line: its exit code, and all that it printed."""

    code: int
    printed: str


class Typist(Protocol):
    """Types commands and runs Python, in one folder."""

    def hil(self, words: str) -> Typed:
        """Type a command of `hil`, with its first word, and wait until it has ended."""
        ...

    def python(self, text: str) -> Typed:
        """Run a script."""
        ...

    def begin(self, words: str) -> Typed:
        """Type a command that goes on until the lab is over; back with its first line."""
        ...


class ProcessTypist:
    """A process for each line. Ends what goes on when it is left.

    Args:
        folder: where the lines are typed.
        home: of the user; nothing of the real one is read or written.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder = folder
        self._environment = _environment(home)
        self.going_on: list[subprocess.Popen[str]] = []

    def __enter__(self) -> ProcessTypist:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self.going_on):
            _end(process)

    def hil(self, words: str) -> Typed:
        """Type a command of `hil` and wait until it has ended."""
        return self._run([*HIL, *_arguments(words)])

    def python(self, text: str) -> Typed:
        """Run a script."""
        return self._run([*PYTHON, "-c", text])

    def begin(self, words: str) -> Typed:
        """Type a command that goes on; back as soon as it has said a line, or has ended."""
        printed: list[str] = []
        process = subprocess.Popen(
            [HIL[0], "-u", *HIL[1:], *_arguments(words)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self.going_on.append(process)
        said = threading.Event()
        threading.Thread(target=_drain, args=(process, printed, said), daemon=True).start()
        said.wait(BEGIN_S)
        code = process.poll()
        return Typed(0 if code is None else code, "".join(printed))

    def _run(self, command: list[str]) -> Typed:
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=ALLOWED_S,
            )
        except subprocess.TimeoutExpired as error:
            return Typed(-1, f"{_text(error.stdout)}\nstopped: not at its end after {ALLOWED_S:.0f} s")
        return Typed(done.returncode, _text(done.stdout))


def _drain(process: subprocess.Popen[str], into: list[str], said: threading.Event) -> None:
    """Keep reading, so that the other side is never held up; what comes after the first lines is not kept."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if len(into) < KEPT_LINES:
                into.append(line)
            said.set()
    said.set()


def _end(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, and what is left after that is ended."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT if os.name == "posix" else getattr(signal, "CTRL_BREAK_EVENT", 1))
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def _environment(home: Path) -> Mapping[str, str]:
    return {**os.environ, **dict.fromkeys(HOMES, str(home)), "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}


def _arguments(words: str) -> list[str]:
    return shlex.split(words)[1:]


def _text(printed: bytes | str | None) -> str:
    return printed.decode("utf-8", "replace") if isinstance(printed, bytes) else printed or ""

"""A command in a real terminal: the foreground job of a small shell that leads a session and its controlling terminal.

What is typed goes through the terminal, so that Ctrl-C reaches the whole foreground group as it does for a person.
Linux only: who is left behind is found in /proc, by a mark in its surroundings.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHELL = Path(__file__).with_name("tiny_shell.py")
HIL = "from hil.cli.main import main; main()"
MARK = "HIL_TEST_TERMINAL"
CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"
ROWS, COLUMNS = 50, 140
LOOK_S = 0.01
PATIENCE_S = 120.0
"""A busy machine takes long; how long something may take is judged elsewhere."""


class NeverBeganError(Exception):
    """What was waited for did not come, so that there is nothing to judge."""


def family(mark: str) -> dict[int, str]:
    """Live processes with a mark in their surroundings: number and command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() not in (entry / "environ").read_bytes():
                continue
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:160]
    return found


class Terminal:
    """One `hil` command in a terminal of its own.

    Args:
        arguments: of `hil`.
        environment: its surroundings; a mark is added, by which it and all that it starts are found.
        folder: where it runs.

    Attributes:
        job: the command's process, which leads the foreground group.
        code: exit code as a shell's `wait` has it, negative for a signal; None while it runs.
    """

    def __init__(self, arguments: list[str], environment: dict[str, str], folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.code: int | None = None
        self._master, self._slave = os.openpty()
        termios.tcsetwinsize(self._slave, (ROWS, COLUMNS))
        self.before = self.modes
        told, self._control = os.pipe()
        self._report, tell = os.pipe()
        command = [sys.executable, "-c", HIL, *arguments]
        self._shell = subprocess.Popen(
            [sys.executable, "-S", "-E", str(SHELL), str(told), str(tell), *command],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            pass_fds=(told, tell),
            cwd=folder,
            env={**environment, MARK: self.mark, "TERM": "xterm"},
        )
        os.close(told)
        os.close(tell)
        self.screen, self._reports, self._at = "", "", 0
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._await(lambda: "pid " in self._reports, 10.0):
            raise NeverBeganError("the shell did not start its job")
        self.job = int(self._reports.split()[1])

    def _read(self) -> None:
        while self._open:
            if select.select([self._master], [], [], LOOK_S)[0]:
                with contextlib.suppress(OSError):
                    self.screen += os.read(self._master, 65536).decode("utf-8", "replace")

    # -- what a person does ------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def tell(self, number: signal.Signals) -> None:
        """Send a signal to the command alone."""
        os.kill(self.job, number)

    def tell_all(self, number: signal.Signals) -> None:
        """Send a signal to its whole group."""
        os.killpg(self.job, number)

    def close(self) -> None:
        """Close the terminal's window: its other end is hung up."""
        self._open = False
        self._reader.join()
        os.close(self._master)

    def foreground(self) -> None:
        """What `fg` does."""
        self._reports = ""
        os.write(self._control, b"fg\n")

    # -- what a person sees ------------------------------------------------------------------------------

    def sees(self, pattern: str, within_s: float = PATIENCE_S) -> None:
        """Wait until the screen has shown this since the last call."""

        def seen() -> bool:
            found = re.search(pattern, self.screen[self._at :])
            if found is None and self.code is not None:
                raise NeverBeganError(f"ended with {self.code} before it showed {pattern!r}: {self.screen[-300:]!r}")
            if found is not None:
                self._at += found.end()
            return found is not None

        if not self._await(seen, within_s):
            raise NeverBeganError(f"{pattern!r} was not shown: {self.screen[-300:]!r}")

    def is_suspended(self, within_s: float = 10.0) -> None:
        """Wait until the shell says that its job is stopped."""
        if not self._await(lambda: "stopped" in self._reports, within_s):
            raise NeverBeganError("it was not suspended")

    def ends(self, within_s: float = PATIENCE_S) -> int | None:
        """Wait for the command's end; its exit code, or None if it does not end."""
        self._await(lambda: self.code is not None, within_s)
        time.sleep(2 * LOOK_S)  # its last words
        return self.code

    def left(self, within_s: float) -> dict[int, str]:
        """Whoever of its family is still there after a while."""
        deadline_s = time.monotonic() + within_s
        while (found := self._family()) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        return found

    def _family(self) -> dict[int, str]:
        return {pid: name for pid, name in family(self.mark).items() if pid != self._shell.pid}

    @property
    def modes(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._slave)

    def _look(self) -> None:
        while select.select([self._report], [], [], 0.0)[0]:
            data = os.read(self._report, 4096).decode()
            if not data:
                break
            self._reports += data
        found = re.search(r"exit (-?\d+)\n", self._reports)
        if found is not None:
            self.code = int(found[1])

    def _await(self, reached: Callable[[], bool], within_s: float) -> bool:
        deadline_s = time.monotonic() + within_s
        self._look()
        while not reached():
            if time.monotonic() > deadline_s:
                return False
            time.sleep(LOOK_S)
            self._look()
        return True

    def clear_up(self) -> None:
        """End whatever is left, whatever went wrong."""
        for pid in family(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._open:
            self.close()
        self._shell.wait(5.0)
        for each in (self._slave, self._control, self._report):
            os.close(each)

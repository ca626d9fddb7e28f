"""Starts on a busy computer: every command that moves an arm has to come up beside programs that never rest."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path(__file__).parents[1] / "processes"
RIG, TASK = str(PROCESSES / "quick-rig.toml"), str(PROCESSES / "short-way.toml")
HIL = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from hil.cli.main import main; sys.argv = ['hil', *sys.argv[1:]]; main()"
)
"""Whoever runs these rounds in the background of a shell has its processes ignore SIGINT from birth."""
BUSY = "while True: pass"
PATIENCE_S = 240.0
"""A round that takes longer has not come up."""
LOOK_S = 0.05


@dataclass
class Round:
    """What came of one start.

    Attributes:
        wrong: why it did not come up, or did not do what it was asked for; empty if it did.
        up_s: from the first line of the command to the arm that moves.
        whole_s: to its end.
        said: what it printed on standard error.
    """

    command: str
    wrong: str = ""
    up_s: float = float("nan")
    whole_s: float = float("nan")
    said: str = ""


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many programs that take all that they can get, at the usual priority."""
    started = [subprocess.Popen([sys.executable, "-S", "-E", "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()


class Command:
    """A command of `hil` as a process, whose output is read as it comes."""

    def __init__(self, folder: Path, *arguments: str, typed: str = "") -> None:
        self._begun_s = time.monotonic()
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", HIL, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(typed)
        self._process.stdin.close()
        self.lines: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append((time.monotonic() - self._begun_s, line.rstrip("\n")))

    def said_at_s(self, words: str) -> float:
        """When it printed a line with these words; infinity if it never did."""
        return next((at_s for at_s, line in list(self.lines) if words in line), float("inf"))

    def until(self, reached: Callable[[], bool]) -> bool:
        """Wait for something; False if the command ended, or the patience is over."""
        while not reached():
            if self._process.poll() is not None or time.monotonic() - self._begun_s > PATIENCE_S:
                return reached()
            time.sleep(LOOK_S)
        return True

    def ends(self) -> int | None:
        """Its exit code; None if it does not end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            left_s = max(1.0, self._begun_s + PATIENCE_S - time.monotonic())
            code = self._process.wait(left_s)
            self._reader.join(5.0)
            return code
        return None

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Be sure that it is gone: killed, its loop ends the stream and its servants end with it."""
        self._process.kill()
        self._process.wait()
        self._reader.join(5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def text(self) -> str:
        """All that it printed."""
        return "\n".join(line for _, line in list(self.lines))

    def judge(self, name: str, moves: str, codes: tuple[int, ...] = (0,)) -> Round:
        """What came of it: it has to move its arm, which a line tells, and to end well."""
        code = self.ends()
        outcome = Round(name, up_s=self.said_at_s(moves), whole_s=time.monotonic() - self._begun_s, said=self.text)
        if code not in codes:
            outcome.wrong = f"exit code {code}: {self.text[-600:]}"
        elif outcome.up_s == float("inf"):
            outcome.wrong = f"nothing moved: {self.text[-600:]}"
        return outcome


def _alone(name: str, moves: str, *arguments: str, typed: str = "") -> Callable[[Path], Round]:
    def play(folder: Path) -> Round:
        with contextlib.closing(Command(folder, *arguments, typed=typed)) as command:
            return command.judge(name, moves)

    return play


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _lab(folder: Path) -> Round:
    """A server with one arm, somebody who drives it from another process, and the server's end."""
    port = _free_port()
    serve = ("serve", "--demo", "1", "--demo-rig", RIG, "--port", str(port))
    with contextlib.closing(Command(folder, *serve)) as server:
        if not server.until(lambda: f":{port}" in server.text):
            return Round("serve, drive", f"the server did not come up: {server.text[-600:]}")
        drive = ("drive", f"http://127.0.0.1:{port}/arm-1")
        with contextlib.closing(Command(folder, *drive, typed="j1 +5\nq\n")) as driver:
            outcome = driver.judge("serve, drive", "base")
        server.tell(signal.SIGINT)
        code = server.ends()
        if not outcome.wrong and code not in (0, 130):
            outcome.wrong = f"the server ended with {code}: {server.text[-600:]}"
        outcome.said += f"\n-- the server:\n{server.text}"
        return outcome


COMMANDS: dict[str, Callable[[Path], Round]] = {
    "demo": _alone("demo", "streaming", "demo", "--headless", "--rig", RIG, "--task", TASK),
    "run": _alone("run", "streaming", "run", RIG, TASK),
    "jog": _alone("jog", "base", "jog", RIG, typed="j1 +5\nj1 -5\nq\n"),
    "serve": _lab,
}


def play(name: str) -> Round:
    """One start of a command, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="hil-busy-", ignore_cleanup_errors=True) as folder:
        return COMMANDS[name](Path(folder))


def help_cpu_s() -> float:
    """What `hil --help` takes of a core, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", HIL, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop_cpu_s(rig: str) -> float:
    """What a loop's process takes of a core from its birth until it is ready to tick; call it from a script's main."""
    from hil.runtime import wiring
    from hil.runtime.host import Host
    from hil.runtime.start_report import Step

    with tempfile.TemporaryDirectory(prefix="hil-busy-") as folder:
        journal = Path(folder) / "run.mcap"
        with Host(wiring.load_rig(rig), url=None, journal=journal, command="scripts/busy-start") as host:
            host.until(lambda: host.last is not None, PATIENCE_S)
            used_s = host.start_marks[Step.BUILT].cpu_s
    assert used_s is not None
    return used_s

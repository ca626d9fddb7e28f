"""hil jog as a person has it, on the fake in processes of its own: a pipe of lines, a terminal of keys."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.motion.tasks import Move, load_task
from hil.runtime.journal import Completeness, verify
from hil.runtime.replay import replay

pytestmark = pytest.mark.processes

# A test run in the background of a shell has its processes ignore SIGINT from birth.
HIL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from hil.cli.main import main; main()"
COMMAND = [sys.executable, "-c", HIL, "jog", "lynx6"]
LONGEST_S = 40.0
SAME_SCREEN = r"(?:(?!frame )[\s\S])*"


@pytest.fixture
def room(tmp_path: Path) -> dict[str, str]:
    """Surroundings in which nothing of the user's is touched."""
    folders = {name: str(tmp_path / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {**os.environ, **folders, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"}


def by_lines(room: dict[str, str], folder: Path, lines: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *options], input=lines, env=room, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S
    )


def test_lines_from_a_pipe_jog_refuse_with_advice_and_keep_a_pose_that_checks(
    room: dict[str, str], tmp_path: Path
) -> None:
    lines = "# from park\nj1 +5\nspeed 100\nfrobnicate\ngripper +40\nx 4\nx -4\nt pick\n"
    done = by_lines(room, tmp_path, lines, "--journal", "jog.mcap")
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.startswith("FAKE ssc32")
    assert done.returncode == 1, "something was refused"
    assert "'frobnicate' means nothing here; allowed: a joint and degrees" in done.stderr
    assert re.search(r"gripper: upper soft limit 26.50 mm .* gripper by \+16.50 mm", done.stderr)
    places = [line for line in done.stdout.splitlines() if line.startswith("idle: ")]
    assert places[0].startswith("idle: base 5.00 deg, shoulder 172.00 deg")
    assert places[-1].removeprefix("idle: ") == places[0].removeprefix("idle: "), "there and back"
    assert f"step 1 of {Path('pick.toml')} is this pose" in done.stdout
    step = load_task(tmp_path / "pick.toml").steps[0]
    assert isinstance(step, Move)
    assert step.joints_deg is not None
    assert step.joints_deg["base"] == 5.0
    check = [*COMMAND[:3], "check", "pick.toml"]
    assert subprocess.run(check, env=room, cwd=tmp_path, capture_output=True, timeout=LONGEST_S).returncode == 0
    assert verify(tmp_path / "jog.mcap").completeness is Completeness.COMPLETE
    assert replay(tmp_path / "jog.mcap").same


def test_home_is_reached_through_a_preview_and_stop_is_not_kept_waiting(room: dict[str, str], tmp_path: Path) -> None:
    done = by_lines(room, tmp_path, "home\npark\nstop\nq\n", "--speed", "60")
    assert "Traceback" not in done.stdout + done.stderr
    assert "idle: base 0.00 deg, shoulder 90.00 deg, elbow -75.00 deg" in done.stdout
    assert "streaming -> stopping: stop: asked for at the keyboard" in done.stdout
    assert "the arm holds; journal" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("options", [("--speed", "0"), ("--speed", "101"), ("--port", "loop://")])
def test_wrong_options_are_refused_before_anything_starts(
    room: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = by_lines(room, tmp_path, "", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr


class Terminal:
    """hil jog on a pseudo-terminal."""

    def __init__(self, room: dict[str, str], folder: Path) -> None:
        import pty
        import termios

        self.master, self.slave = pty.openpty()
        self._termios = termios
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [*COMMAND, "--task", "keys.toml"],
            env=room,
            cwd=folder,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )
        self.seen = ""

    def until(self, pattern: str) -> str:
        """Read until the screen has shown this since the last call."""
        deadline_s = time.monotonic() + LONGEST_S
        begin = len(self.seen)
        while not re.search(pattern, self.seen[begin:]):
            assert time.monotonic() < deadline_s, self.seen[-2000:]
            if select.select([self.master], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            assert self.process.poll() is None or re.search(pattern, self.seen[begin:]), self.seen[-2000:]
        return self.seen[begin:]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    @property
    def raw(self) -> bool:
        """True while keys arrive without Enter."""
        return not self._termios.tcgetattr(self.slave)[3] & self._termios.ICANON

    def leave(self) -> int:
        """Wait until it has ended, reading on, for a full terminal would hold it up."""
        deadline_s = time.monotonic() + LONGEST_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(room: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    pytest.importorskip("termios", reason="needs a terminal with termios")
    try:
        one = Terminal(room, tmp_path)
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    yield one
    one.close()


def test_keys_move_one_increment_each_and_the_terminal_is_put_back(terminal: Terminal, tmp_path: Path) -> None:
    shown = terminal.until("STOP")
    assert "FAKE ssc32" in terminal.seen
    assert "ECHOED" in shown
    assert "IDLE" in shown
    terminal.press("s+")
    terminal.until(rf"IDLE.*speed 100 %{SAME_SCREEN}base +2\.00 deg")
    terminal.press("5i")
    terminal.until(r"increment 10 mm")
    terminal.press("-")
    terminal.until(rf"IDLE   frame{SAME_SCREEN}wrist_rotate +-10\.00 deg")
    terminal.press("t")
    terminal.until(r"step 1 of keys.toml is this pose")
    assert terminal.raw
    terminal.press("q")
    assert terminal.leave() == 0
    assert not terminal.raw
    assert terminal._termios.tcgetattr(terminal.slave) == terminal.before
    step = load_task(tmp_path / "keys.toml").steps[0]
    assert isinstance(step, Move)
    assert step.joints_deg is not None
    assert (step.joints_deg["base"], step.joints_deg["wrist_rotate"]) == (2.0, -10.0)
    assert "the arm holds" in terminal.seen


def test_any_other_key_stops_and_ctrl_c_leaves_a_sound_terminal(terminal: Terminal) -> None:
    terminal.until("STOP")
    terminal.press("h")
    terminal.until("STREAMING")
    terminal.press(" ")
    terminal.until(r"HOLDING")
    terminal.press("x")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.leave() == 130
    assert "interrupted" in terminal.seen
    assert terminal._termios.tcgetattr(terminal.slave) == terminal.before

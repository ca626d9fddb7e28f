"""What a signal does to a command: the first ends it, in words, wherever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hil.cli._interruption import TWICE_S, Interruption

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")

ROOT = Path(__file__).parents[2]
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


@pytest.fixture(autouse=True)
def _heard() -> None:
    """Also where tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def interruption() -> Interruption:
    found = Interruption()
    found.ends_what_runs()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_exit_code_is_that_of_a_shell(interruption: Interruption, name: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.Signals[name])
    assert interruption.code == 128 + signal.Signals[name]
    assert interruption.words


def test_an_end_that_is_told_twice_interrupts_once() -> None:
    now_s = 100.0
    interruption = Interruption(lambda: now_s)
    interruption.ends_what_runs()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    now_s += 0.99 * TWICE_S
    signal.raise_signal(signal.SIGHUP)
    now_s += 0.02 * TWICE_S
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert interruption.code == 129, "what came first is the reason"


def test_what_is_ignored_from_the_beginning_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Interruption().ends_what_runs()
    signal.raise_signal(signal.SIGHUP)


def test_an_interruption_that_python_drops_comes_again(
    interruption: Interruption, capsys: pytest.CaptureFixture[str]
) -> None:
    class Dropping:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        found = Dropping()
        del found
        for _ in range(1000):
            signal.sigtimedwait([], 0.01)
    assert capsys.readouterr().err == ""


def test_anything_else_that_python_drops_is_told_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_type))
    Interruption().ends_what_runs()

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    Failing()
    assert told == [ValueError]


AT_THE_START = """
import importlib.abc, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupts(importlib.abc.MetaPathFinder):
    "A terminal at which Ctrl-C is pressed while a module is imported."
    def find_spec(self, name, path, target=None):
        if name == "hil.cli.motion_commands":
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))

sys.meta_path.insert(0, Interrupts())
from hil.cli.main import main
main()
"""


@pytest.mark.parametrize("name", NAMES)
def test_while_modules_are_imported_it_ends_on_the_spot_with_words(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_START, "rigs", name], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 128 + signal.Signals[name]
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_what_is_written_to_a_closed_terminal_goes_nowhere(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    program = (
        "import sys\n"
        "from hil.cli._closed_terminal import write_without_a_terminal\n"
        "write_without_a_terminal()\n"
        "print('here'); sys.stdin.readline()\n"
        "print('nobody reads this'); print('nor this', file=sys.stderr, flush=True)\n"
        "assert sys.stdout.encoding.lower() == 'utf-8'\n"
    )
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    child = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", program], stdin=subprocess.PIPE, stdout=slave, stderr=slave
    )
    os.close(slave)
    assert os.read(master, 100) == b"here\r\n"
    os.close(master)
    assert child.stdin is not None
    child.stdin.write(b"on\n")
    child.stdin.close()
    assert child.wait(20) == 0


def test_nothing_slow_is_loaded_before_somebody_listens() -> None:
    """Until then Ctrl-C would be answered by Python, with a traceback."""
    asked = "import hil.cli.main, sys; print(*{'typing', 'dataclasses', 're', 'asyncio', 'typer'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-S", "-c", asked], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")

"""Who hears what: servants nothing of the terminal, the owner what comes, where it can take it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from hil.clock import VirtualClock
from hil.runtime import fake_process, wiring
from hil.runtime.processes import process_alive
from hil.runtime.terminal_signals import (
    ENDS,
    OF_THE_TERMINAL,
    Told,
    held_back,
    leave_the_terminal_to_the_owner,
    start_unheard,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="masks of signals are POSIX")


@pytest.fixture
def interrupting() -> None:
    """As the command line has it, also where tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_signal_that_is_held_back_comes_at_the_end(interrupting: None) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():
        signal.raise_signal(signal.SIGINT)
        done.append("the rest")
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_is_held_back_comes_where_it_is_asked_for(interrupting: None) -> None:
    with held_back() as held:
        held.deliver()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            held.deliver()
        held.deliver()


def test_what_is_let_through_interrupts_at_once_and_is_held_back_again(interrupting: None) -> None:
    with held_back() as held:
        with pytest.raises(KeyboardInterrupt), held.let_through():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), held.let_through():
            pytest.fail("what came before is told first")


def test_held_back_within_held_back_comes_at_the_outer_end(interrupting: None) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():
        with held_back():
            signal.raise_signal(signal.SIGINT)
        done.append("the rest of the outer")
    assert done


@posix
def test_what_is_ignored_or_left_to_the_system_stays_so(interrupting: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    with held_back():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL


def test_other_threads_hold_nothing_back(interrupting: None) -> None:
    def elsewhere() -> None:
        with held_back():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[object] = []
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


# -- servants --------------------------------------------------------------------------------------------


def _servant(line: Connection) -> None:
    """What a process is that was started: what it blocks and ignores before its first line, and after it."""
    before = set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    told: list[str] = []
    leave_the_terminal_to_the_owner(lambda: told.append("end"))
    after = set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    ignored = [number for number in OF_THE_TERMINAL if signal.getsignal(number) is signal.SIG_IGN]
    line.send((before, after, ignored))
    line.recv()
    line.send(told)


@pytest.mark.processes
@posix
def test_a_servant_is_deaf_to_the_terminal_from_before_its_first_line_and_hears_its_own_end() -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_servant, args=(theirs,), daemon=True)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    start_unheard(process.start)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    assert process.pid is not None
    # It imports still: whatever was not held back by whoever started it would end it now.
    for number in (*OF_THE_TERMINAL, signal.SIGTERM):
        os.kill(process.pid, number)
    before, after, ignored = ours.recv()
    assert before >= {*OF_THE_TERMINAL, signal.SIGTERM}
    assert not after & {*OF_THE_TERMINAL, signal.SIGTERM}
    assert ignored == list(OF_THE_TERMINAL)
    ours.send("what were you told?")
    assert ours.recv() == ["end"]
    process.join(10.0)
    assert process.exitcode == 0


def test_every_end_of_a_terminal_is_one_that_the_owner_hears() -> None:
    job_control = {"SIGTSTP", "SIGTTIN", "SIGTTOU"}
    assert {number.name for number in OF_THE_TERMINAL} - {number.name for number in ENDS} <= job_control


# -- fakes of one's own ----------------------------------------------------------------------------------

OWNER = """
import sys, time
from pathlib import Path
from hil.clock import VirtualClock
from hil.runtime import fake_process, wiring
if __name__ == "__main__":
    fake = fake_process.start_fake(wiring.load_rig(sys.argv[1], calibrated=False), Path(sys.argv[2]))
    print(fake.process.pid, flush=True)
    time.sleep(60)
"""


def _await(reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 20.0
    while not reached() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert reached()


@pytest.mark.processes
@posix
@pytest.mark.parametrize("rig", ["lynx6", "rv2aj"])
def test_a_fake_of_ones_own_outlives_the_terminal_and_ends_with_its_owner(rig: str, tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, rig, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        for number in (*OF_THE_TERMINAL, signal.SIGTERM):
            os.kill(pid, number)
        time.sleep(0.5)
        assert process_alive(pid)
        owner.kill()
        _await(lambda: not process_alive(pid))


@pytest.mark.processes
@pytest.mark.parametrize("rig", ["lynx6", "rv2aj"])
def test_a_fake_of_ones_own_ends_when_it_is_let_go_of(rig: str, tmp_path: Path) -> None:
    fake = fake_process.start_fake(wiring.load_rig(rig, calibrated=False), tmp_path)
    assert fake.process.is_alive()
    fake.stop()
    assert fake.process.exitcode == 0


@pytest.mark.processes
@pytest.mark.parametrize("rig", ["lynx6", "rv2aj"])
def test_the_start_of_a_fake_that_is_broken_off_leaves_nothing_behind_and_says_nothing(
    rig: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = multiprocessing.active_children()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fake_process.start_fake(wiring.load_rig(rig, calibrated=False), tmp_path, interrupt)
    assert multiprocessing.active_children() == before
    assert capfd.readouterr().err == ""


# -- the two that can stop the arm -----------------------------------------------------------------------


@pytest.fixture
def own_signals() -> Iterator[None]:
    """What this process does with signals is restored afterwards."""
    numbers = {*ENDS, *OF_THE_TERMINAL}
    before = {number: signal.getsignal(number) for number in numbers}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if sys.platform != "win32" else None
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def test_what_the_system_says_counts_at_once(own_signals: None) -> None:
    told = Told(lambda: 5.0)
    told.listen()
    assert told.to_end() == ""
    signal.raise_signal(signal.SIGTERM)
    assert told.to_end() == "SIGTERM"


@pytest.mark.parametrize("number", [number for number in ENDS if number is not signal.SIGTERM])
def test_what_the_terminal_says_is_left_to_the_owner_for_a_quarter_of_a_second(
    own_signals: None, number: signal.Signals
) -> None:
    clock = VirtualClock(5.0)
    told = Told(clock.now_s)
    told.listen()
    signal.raise_signal(number)
    clock.sleep_until(5.249)
    assert told.to_end() == ""
    clock.sleep_until(5.25)
    assert told.to_end() == number.name


@posix
def test_suspending_is_the_owners_alone(own_signals: None) -> None:
    told = Told(lambda: 5.0)
    told.listen()
    signal.raise_signal(signal.SIGTSTP)
    assert told.to_end() == ""


def test_a_signal_that_was_ignored_from_birth_stays_so(own_signals: None) -> None:
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    told = Told(lambda: 5.0)
    told.listen()
    for number in ENDS:
        signal.raise_signal(number)
    assert told.to_end() == ""

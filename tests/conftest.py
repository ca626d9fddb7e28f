"""What all tests share: properties without a stopwatch, and what tests of real time need of the machine."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hil.runtime.kinds.served import has_pseudo_terminals


def _has_qt() -> bool:
    """Whether pytest-qt can be loaded: it ends the whole run where a library of the system is missing."""
    try:
        for name in ("pytestqt", "PySide6.QtGui", "PySide6.QtTest", "PySide6.QtWidgets"):
            importlib.import_module(name)
    except ImportError:
        return False
    return True


pytest_plugins = ["pytestqt.plugin"] if _has_qt() else []

# A busy machine is no counter-example.
settings.register_profile("hil", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hil")


ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")


PLACES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA")
"""Where a person's own files are, and what the program keeps from one run to the next."""


@pytest.fixture(autouse=True, scope="session")
def _nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes what the person at this computer has; what outlives one test begins here."""
    with pytest.MonkeyPatch.context() as patch:
        _move_home(patch, tmp_path_factory.mktemp("home"))
        yield


@pytest.fixture(autouse=True, scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the next homes come from: pytest's own numbered folders are looked for among all that are there."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _home_of_its_own(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop that one test latches, a controller that it remembers, is nothing that the next one finds."""
    home = next(_homes)
    home.mkdir()
    _move_home(monkeypatch, home)


def _move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    for variable in PLACES:
        patch.setenv(variable, str(home / variable.lower()))


@pytest.fixture(autouse=True)
def _every_core_for_the_next_test() -> Iterator[None]:
    """A server keeps off the cores of its loops; a test that begins one in this process leaves the next all of them."""
    if not hasattr(os, "sched_getaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(autouse=True)
def _no_better_place_for_the_next_test() -> Iterator[None]:
    """A server asks for a better place than other programs; a test that begins one in this process hands it back."""
    if sys.platform == "win32":
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    if os.getpriority(os.PRIO_PROCESS, 0) != before:
        # Who may go before others may also go back.
        os.setpriority(os.PRIO_PROCESS, 0, before)


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """A command that a test runs in this process takes the signals to itself until the process ends."""
    numbers = [getattr(signal, name) for name in ENDS if hasattr(signal, name)]
    before, hook = {number: signal.getsignal(number) for number in numbers}, sys.unraisablehook
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    sys.unraisablehook = hook


def pytest_addoption(parser: pytest.Parser) -> None:
    """For scripts/fast."""
    parser.addoption("--within", type=float, metavar="SECONDS", help="skip what would begin later than so")


BEGAN = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    """The time of a run begins. Tests are listed (one for every curve) before homes are there: nobody's are seen."""
    config.stash[BEGAN] = time.monotonic()
    for variable in PLACES:
        os.environ[variable] = str(Path(tempfile.gettempdir()) / f"no-home-{os.getpid()}" / variable.lower())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End a run that has had its time."""
    within_s = item.config.getoption("--within")
    if within_s is not None and time.monotonic() - item.config.stash[BEGAN] > within_s:
        pytest.skip("no time left")


WITH_PROCESSES = re.compile(r"mark\.(processes|pty)")
"""How scripts/_tests finds the files whose tests begin processes; those marked `alone` are among them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `pty` on systems without pseudo-terminals; a test that no lane would run is a mistake."""
    marks = ("processes", "pty", "alone")
    theirs = {item.path for item in items if any(item.get_closest_marker(mark) for mark in marks)}
    if lost := [str(path) for path in theirs if not WITH_PROCESSES.search(path.read_text("utf-8"))]:
        raise pytest.UsageError(
            f"write `mark.processes` or `mark.pty` in {', '.join(lost)}: scripts/_tests looks there"
        )
    if has_pseudo_terminals():
        return
    for item in items:
        if item.get_closest_marker("pty") is not None:
            item.add_marker(pytest.mark.skip(reason="no pseudo-terminals here"))


def pytest_collection_finish() -> None:
    """What is there for all tests is no garbage, and is not looked through again and again for some."""
    gc.freeze()

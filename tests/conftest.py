"""What all tests share: properties without a stopwatch, and what tests of real time need of the machine."""

from __future__ import annotations

import importlib
import os
import signal
import sys
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


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop that one test latches, a controller that it remembers, is nothing that the next one finds."""
    _move_home(monkeypatch, tmp_path_factory.mktemp("home"))


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
    """The time of a run begins."""
    config.stash[BEGAN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End a run that has had its time."""
    within_s = item.config.getoption("--within")
    if within_s is not None and time.monotonic() - item.config.stash[BEGAN] > within_s:
        pytest.skip("no time left")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `pty` on systems without pseudo-terminals."""
    if has_pseudo_terminals():
        return
    for item in items:
        if item.get_closest_marker("pty") is not None:
            item.add_marker(pytest.mark.skip(reason="no pseudo-terminals here"))

"""What all tests share: properties without a stopwatch, and tests of pseudo-terminals only where there are some."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import settings

from hil.runtime.wiring import has_pseudo_terminals


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
settings.register_profile("hil", deadline=None, print_blob=True)
settings.load_profile("hil")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `pty` on systems without pseudo-terminals."""
    if has_pseudo_terminals():
        return
    for item in items:
        if item.get_closest_marker("pty") is not None:
            item.add_marker(pytest.mark.skip(reason="no pseudo-terminals here"))

"""Whether windows can be opened here, told once, for tests of the dashboard; without a screen, off it."""

from __future__ import annotations

import functools
import os

import pytest


@functools.cache
def obstacle() -> str:
    """Why no window can be opened; empty if one can."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        import pytestqt  # noqa: F401

        from hil.dashboard.probe import check
        from hil.errors import HilError
    except ImportError as error:
        return f"the extra [dashboard] is not installed: {error}"
    try:
        check()
    except HilError as error:
        return str(error)
    return ""


def require_qt() -> None:
    """Skip a whole file of tests where no window can be opened; to be called before Qt is imported."""
    if obstacle():
        pytest.skip(obstacle(), allow_module_level=True)

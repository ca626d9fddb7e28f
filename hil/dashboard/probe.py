"""Whether a window can be opened here: asked in a child, since a missing library of Qt ends the process.

Run as a module it answers for itself, as one JSON object.
"""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping

from hil.errors import HilError, MissingExtraError
from hil.own_program import PYTHON

WAIT_S = 30.0
WITHOUT_OPENGL = "HIL_WITHOUT_OPENGL"
"""Set to 1, the scene is painted without OpenGL."""

LEAST_OPENGL = (2, 1)
FIRST_BAD_QT = (6, 12)
"""On Python 3.11 it ends the process after some hundred repaints."""

LIBRARIES = "libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libxcb-cursor0 libxcb-icccm4 " \
    "libxcb-keysyms1 libxcb-shape0 fonts-dejavu-core"  # fmt: skip
"""What Qt needs of Debian, Ubuntu and Raspberry Pi OS."""

_INSTALL = f"Debian, Ubuntu, Raspberry Pi OS: sudo apt install {LIBRARIES}"


class NoWindowError(HilError):
    """No window can be opened here; the text says what to do."""


def check(environment: Mapping[str, str] | None = None) -> bool:
    """Whether OpenGL can be used.

    Raises:
        MissingExtraError: Qt is not installed.
        NoWindowError: it cannot open a window.
    """
    environment = os.environ if environment is None else environment
    try:
        child = subprocess.run(
            [*PYTHON, "-m", "hil.dashboard.probe"],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            env=dict(environment),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoWindowError(f"the dashboard: Qt does not open a window within {WAIT_S:g} s; is the display alive?") \
            from None  # fmt: skip
    try:
        told = json.loads(child.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise NoWindowError(_diagnosis(child.stderr, environment)) from None
    if told.get("missing"):
        raise MissingExtraError("the dashboard's windows", "dashboard")
    if told.get("error"):
        raise NoWindowError(_diagnosis(told["error"], environment))
    return bool(told["opengl"])


def load_qt() -> None:
    """Load Qt for a window, before any module that needs it.

    PySide6 puts a hook into every import of the program, which reads the whole source of each module in search of
    features that nobody here asks for: a seventh of the CPU until the first picture. It is taken out again.
    """
    import PySide6.QtCore  # noqa: F401

    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


def _diagnosis(words: str, environment: Mapping[str, str]) -> str:
    """One line for what a dying child left behind."""
    if "shared object" in words or "DLL load failed" in words:
        library = words.strip().splitlines()[-1].rpartition("Error: ")[2]
        return f"the dashboard: a library of the system is missing: {library}. {_INSTALL}"
    if "too new" in words:
        return f"the dashboard: {words}"
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not display and "QT_QPA_PLATFORM" not in environment:
        return (
            "the dashboard: there is no display here. Run it on a desktop, over ssh -X, or on your own computer "
            "with the service's address: hil dashboard http://HOST:8742/ARM. Without windows: hil watch"
        )
    if "could not connect to display" in words:
        return f"the dashboard: the display {display} cannot be reached; is it yours, and does it run?"
    if "platform plugin" in words:
        return f"the dashboard: Qt cannot use the display {display}: a library is missing. {_INSTALL}"
    last = (words.strip().splitlines() or ["it gave no reason"])[-1]
    return f"the dashboard: Qt does not start: {last}"


def _answer() -> dict[str, object]:
    try:
        load_qt()
        import PySide6
        from PySide6.QtWidgets import QApplication

        # Only looked for: it takes longer to load than all the rest, and the window loads it once more.
        if importlib.util.find_spec("pyqtgraph") is None:
            return {"missing": "pyqtgraph"}
    except ModuleNotFoundError as error:
        return {"missing": error.name or "a package"}
    except Exception as error:  # a library of the system, in words of Qt's own
        return {"error": f"{type(error).__name__}: {error}"}
    version = tuple(int(part) for part in PySide6.__version__.split(".")[:2])
    if sys.version_info[:2] == (3, 11) and version >= FIRST_BAD_QT:
        return {
            "error": f"PySide6 {PySide6.__version__} is too new for Python 3.11: together they end the process after "
            "a while: pip install 'PySide6-Essentials<6.12'"
        }
    app = QApplication(["hil"])
    return {"opengl": _opengl_works(), "platform": app.platformName()}


def _opengl_works() -> bool:
    """Whether a context of a sufficient version can be made current."""
    if os.environ.get(WITHOUT_OPENGL) == "1":
        return False
    try:
        from OpenGL import platform

        # Its library alone: all the rest takes longer to load, and the window loads it once more.
        library = platform.PLATFORM.GL
    except Exception:  # without a library of the system it fails in several ways
        return False
    if library is None:
        return False
    from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

    context, surface = QOpenGLContext(), QOffscreenSurface()
    surface.create()
    if not context.create() or not context.makeCurrent(surface):
        return False
    version = context.format().version()
    context.doneCurrent()
    return tuple(version) >= LEAST_OPENGL and not context.isOpenGLES()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer()) + "\n")

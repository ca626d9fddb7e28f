"""Starting the window: one clear line where it cannot be opened, a real service where it can."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
import pytestqt.exceptions  # noqa: E402

from hil.dashboard import probe  # noqa: E402
from hil.dashboard.application import make_application  # noqa: E402
from hil.dashboard.service_link import ServiceLink  # noqa: E402
from hil.dashboard.session import Session  # noqa: E402
from hil.errors import HilError, MissingExtraError  # noqa: E402
from hil.service.connection import reach  # noqa: E402
from hil.types import Mode  # noqa: E402

COMMAND = "from hil.cli._service_of_window import serve_for_window; serve_for_window()"


def _child(monkeypatch: pytest.MonkeyPatch, stdout: str, stderr: str) -> None:
    done = subprocess.CompletedProcess([], 0 if stdout else -6, stdout, stderr)
    monkeypatch.setattr(probe.subprocess, "run", lambda *args, **options: done)


@pytest.mark.parametrize(
    ("stdout", "stderr", "environment", "said"),
    [
        ('{"error": "ImportError: libEGL.so.1: cannot open shared object file"}', "", {}, "apt install libegl1"),
        ('{"error": "PySide6 6.12.0 is too new for Python 3.11"}', "", {}, "too new for Python 3.11"),
        ("", "qt.qpa.xcb: could not connect to display :9\n", {"DISPLAY": ":9"}, "the display :9 cannot be reached"),
        ("", "no Qt platform plugin could be initialized\n", {"DISPLAY": ":0"}, "a library is missing"),
        ("", "something else\n", {"DISPLAY": ":0"}, "Qt does not start: something else"),
        ("", "", {"DISPLAY": ":0"}, "it gave no reason"),
    ],
)
def test_one_line_says_why_there_is_no_window(
    stdout: str, stderr: str, environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _child(monkeypatch, stdout, stderr)
    with pytest.raises(HilError) as refused:
        probe.check(environment)
    assert said in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_without_a_display_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _child(monkeypatch, "", "could not connect to display")
    with pytest.raises(HilError, match=r"no display here.*hil watch"):
        probe.check({})


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _child(monkeypatch, '{"missing": "PySide6"}', "")
    with pytest.raises(MissingExtraError, match=r"hil-arm-bridge\[dashboard\]"):
        probe.check({})


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("ModuleNotFoundError('No module named PySide6', name='PySide6')", "hil-arm-bridge[dashboard]"),
        ("ImportError('libEGL.so.1: cannot open shared object file')", "apt install libegl1"),
    ],
)
def test_a_qt_that_is_not_there_is_one_line_of_the_command(raised: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "PySide6").mkdir()
    (tmp_path / "PySide6" / "__init__.py").write_text(f"raise {raised}\n")
    child = subprocess.run(
        [sys.executable, "-c", "from hil.cli.main import main; main()", "dashboard"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert child.returncode == 1 and child.stdout == ""
    assert said in child.stderr and child.stderr.count("\n") == 1


@pytest.mark.processes
def test_qt_for_a_window_reads_no_source_of_what_is_imported(tmp_path: Path) -> None:
    """In a process of its own, as the hook is taken out of all of it."""
    (tmp_path / "later.py").write_text("", encoding="utf-8")
    words = (
        "import inspect, sys\n"
        "from hil.dashboard.probe import load_qt\n"
        "load_qt()\n"
        "read = []\n"
        "inspect.getsource = lambda module: read.append(module) or ''\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import later\n"
        "from PySide6.QtCore import QObject\n"
        "print(len(read), QObject().metaObject().className())\n"
    )
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, timeout=60, check=False)
    assert told.stdout == "0 QObject\n", told.stderr


def test_opengl_can_be_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(probe.WITHOUT_OPENGL, "1")
    assert probe.check() is False


@pytest.fixture
def service() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A service as the window starts one."""
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", "lynx6", "--port", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdin is not None
    line = next(line for line in child.stdout if line.startswith("serving "))
    yield line.rpartition(" at ")[2].strip(), child
    child.stdin.close()
    child.wait(20)
    child.stdout.close()


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_a_real_service_is_watched_stopped_and_ends_with_its_window(
    service: tuple[str, subprocess.Popen[str]], qtbot: Any
) -> None:
    url, child = service
    make_application()
    link = ServiceLink(reach(url)[0], "lynx6")
    session = Session(link)
    link.begin()

    def so(reached: Callable[[], bool]) -> None:
        try:
            qtbot.waitUntil(reached, timeout=90_000)
        except pytestqt.exceptions.TimeoutError:
            raise AssertionError(list(session.lines)) from None

    so(lambda: session.newest is not None and session.newest.mode is Mode.IDLE)
    assert session.arm is not None and session.arm.fences is not None and session.live
    session.stop()
    so(lambda: session.newest is not None and session.newest.lease.latched != "")
    assert child.stdin is not None
    child.stdin.close()
    so(lambda: bool(session.parted))
    assert child.wait(20) == 0
    session.stop()
    assert "could not be sent" in session.lines[-1]
    link.close()

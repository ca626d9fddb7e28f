"""What goes wrong in the program itself: told in the window and written to a file, never only to a terminal.

Qt hands exceptions of its slots to `sys.excepthook`, and its own complaints to a handler of messages; both come in
any thread and in the middle of anything, so they are told by a queued signal.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

from hil.dashboard.texts import tr
from hil.errors import HilError

MOST_BYTES = 1_000_000
MOST_KINDS = 200
"""Different complaints that are remembered; a timer's mistake comes thirty times a second, and is written once."""

_IGNORED = ("propagateSizeHints", "This plugin does not support raise")
"""What Qt says of displays that cannot do everything, and what nobody can do anything about."""


class Troubles(QObject):
    """Collects them; `watching` makes it the place where they arrive.

    Signals:
        failed: something did not work, in words for the banner.
        noted: Qt complains, in words for the list of events.

    Args:
        file: to which they are written, in full; it is kept small.
    """

    failed = Signal(str)
    noted = Signal(str)

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        self._log = logging.Logger("dashboard")
        self._handler = RotatingFileHandler(file, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8", delay=True)
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._log.addHandler(self._handler)
        self._known: set[str] = set()

    def take(self, error: BaseException) -> None:
        """Tell of an exception that nobody has caught; from any thread."""
        words = str(error) if isinstance(error, HilError) else f"{type(error).__name__}: {error}".rstrip(": ")
        if self._is_new("".join(traceback.format_tb(error.__traceback__)[-1:]) + words):
            self._log.error("%s", "".join(traceback.format_exception(error)).rstrip())
            text = words if isinstance(error, HilError) else tr(
                "A mistake of this program: {words}. STOP still works; the details are in {file}",
                words=words, file=self.file,
            )  # fmt: skip
            self.failed.emit(text)

    def hear(self, kind: QtMsgType, text: str) -> None:
        """Tell of a complaint of Qt's; from any thread."""
        if kind in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) or any(words in text for words in _IGNORED):
            return
        if self._is_new(text):
            self._log.warning("Qt: %s", text)
            (self.noted if kind is QtMsgType.QtWarningMsg else self.failed).emit(f"Qt: {text}")

    def close(self) -> None:
        """Write no more."""
        self._handler.close()

    def _is_new(self, what: str) -> bool:
        if what in self._known or len(self._known) >= MOST_KINDS:
            return False
        self._known.add(what)
        return True


@contextmanager
def watching(troubles: Troubles) -> Iterator[None]:
    """All that nobody catches, in any thread, and all that Qt complains of goes there."""
    hooks = sys.excepthook, threading.excepthook

    def caught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, Exception):
            troubles.take(error)
        else:
            hooks[0](kind, error, trace)

    def in_thread(found: threading.ExceptHookArgs) -> None:
        if isinstance(found.exc_value, Exception):
            troubles.take(found.exc_value)

    def said(kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
        troubles.hear(kind, text)

    sys.excepthook, threading.excepthook = caught, in_thread
    before = qInstallMessageHandler(said)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
        sys.excepthook, threading.excepthook = hooks
        troubles.close()

"""The lessons at the sizes of screens: no worksheet is cut at its side, no button stands outside of the window."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from PySide6.QtWidgets import QApplication, QScrollArea, QToolButton  # noqa: E402

from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.views import VIEWS  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.dashboard.theme import THEMES  # noqa: E402

Make = Callable[..., Any]
SIZES = ((1366, 768), (1920, 1080), (3840, 2160))


def test_every_lesson_is_seen_at_every_size_in_every_theme(make_lessons: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Work, "start", lambda work, *job: None)
    monkeypatch.setattr(Command, "start", lambda command, words: None)
    window = make_lessons("puma560", "dh")
    for size, theme in zip(SIZES, THEMES.values(), strict=False):
        window.set_theme(theme)
        window.resize(*size)
        for kind in VIEWS:
            window.shell.show_view(kind.name)
            QApplication.processEvents()
            assert (window.width(), window.height()) == size, f"{kind.name} needs more than {size}"
            area = window.shell.sheets.currentWidget()
            assert isinstance(area, QScrollArea)
            assert area.horizontalScrollBar().maximum() == 0, f"{kind.name} is cut at {size}"
            for button in window.shell.findChildren(QToolButton):
                if button.isVisible() and not area.isAncestorOf(button):
                    corner = button.mapTo(window, button.rect().bottomRight())
                    assert window.rect().contains(corner), f"{kind.name}, {size}: {button.text()}"

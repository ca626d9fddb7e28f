"""The lessons at the sizes of screens: no worksheet is cut at its side, no button stands outside of the window."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from PySide6.QtCore import QTranslator  # noqa: E402
from PySide6.QtWidgets import QApplication, QScrollArea, QToolButton  # noqa: E402

from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.views import VIEWS  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.dashboard.texts import CONTEXT  # noqa: E402
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


def test_words_of_a_moment_that_have_no_room_end_in_dots_and_are_told_whole_in_the_tip(make_lessons: Make) -> None:
    words = make_lessons("lynx6").shell.time_bar.words
    for text, tip in (("short", ""), ("long " * 60, "long " * 60), ("short", "")):
        words.setText(text)
        words.grab()
        assert words.toolTip() == tip


class Longer(QTranslator):
    """Every text longer by two fifths, as German or Finnish ones are; it has no word for a blank in it."""

    def translate(self, context: str, source_text: str, disambiguation: str | None = None, n: int = -1) -> str:
        """Qt's own name."""
        return source_text + "x" * round(0.4 * len(source_text)) if context == CONTEXT and source_text else source_text


def test_every_lesson_is_seen_with_longer_words(make_lessons: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Work, "start", lambda work, *job: None)
    monkeypatch.setattr(Command, "start", lambda command, words: None)
    app, longer = QApplication.instance(), Longer()
    assert isinstance(app, QApplication) and app.installTranslator(longer)
    try:
        window = make_lessons("puma560", "dh")
        assert window.shell.copy.text() == "Copy as command" + 6 * "x"
        window.resize(*SIZES[0])
        for kind in VIEWS:
            window.shell.show_view(kind.name)
            QApplication.processEvents()
            assert (window.width(), window.height()) == SIZES[0], f"{kind.name} needs more than {SIZES[0]}"
            area = window.shell.sheets.currentWidget()
            assert isinstance(area, QScrollArea)
            assert area.horizontalScrollBar().maximum() == 0, f"{kind.name} is cut"
    finally:
        app.removeTranslator(longer)

"""The page of all keys."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtWidgets import QTextBrowser

from hil.dashboard.texts import tr

Keys = tuple[tuple[str, str], ...]
"""Keys, and what they do; a view that has some shows them as its `KEYS`."""

EVERYWHERE: Keys = (
    ("Esc", "stop the arm, whatever has the focus; closes menus and dialogs too"),
    ("Space", "stop the arm; in a text field it is a letter"),
    ("Tab, Shift+Tab", "to the next, to the one before"),
    ("Return", "press the button that has the focus"),
    ("Alt and an underlined letter", "menus and buttons"),
)


class KeysView(QTextBrowser):
    """A table a group; filled once the others are there."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("All keys"))
        self.setMinimumHeight(40)

    def show_keys(self, groups: Sequence[tuple[str, Keys]]) -> None:
        """These, under their headings."""
        self.setHtml("".join(_table(title, keys) for title, keys in groups if keys))


def _table(title: str, keys: Keys) -> str:
    rows = "".join(f"<tr><td><b>{escape(key)}</b>&nbsp;&nbsp;</td><td>{escape(what)}</td></tr>" for key, what in keys)
    return f"<h4>{escape(title)}</h4><table>{rows}</table>"

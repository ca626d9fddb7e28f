"""Asks for the name of a file in which what is drawn, or its numbers, is written, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QMenu, QWidget

from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.dashboard.widgets import ask_file
from hil.errors import HilError

FORMATS = {"png": "PNG (*.png)", "svg": "SVG (*.svg)", "pdf": "PDF (*.pdf)", "csv": "CSV (*.csv)"}


def is_table(path: Path) -> bool:
    """Whether numbers are written to a file of this name; else it is a figure, if its ending is known."""
    return path.suffix.lower() == ".csv"


def fill_menu(menu: QMenu, session: Session, name: str, write: Callable[[Path], None], parent: QWidget) -> None:
    """An entry for each of `FORMATS`, which asks for a file.

    Args:
        menu: to fill.
        session: told in words what was written, or why not.
        name: of the file that is proposed, without its ending.
        write: writes the file by its ending; may raise OSError or HilError.
        parent: over which the question appears.
    """

    def ask(kind: str) -> None:
        path = ask_file(parent, tr("Export"), f"{name}.{kind}", FORMATS[kind])
        if path is None:
            return
        try:
            write(path)
        except OSError as error:
            session.fail(f"{path}: {error.strerror or error}")
        except HilError as error:
            session.fail(str(error))
        else:
            session.note(tr("written: {path}", path=path))

    for kind in FORMATS:
        menu.addAction(kind.upper()).triggered.connect(lambda _=False, kind=kind: ask(kind))

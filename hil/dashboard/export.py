"""Writes what is drawn, or its numbers, to a file; asks for the file's name, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from hil.dashboard.session import Session
from hil.dashboard.texts import tr

SCALE = 3
"""Points of an exported picture for one on the screen."""

FORMATS = {"png": "PNG (*.png)", "svg": "SVG (*.svg)", "csv": "CSV (*.csv)"}


def kind_of(path: Path) -> str:
    """One of `FORMATS` by the file's ending; PNG for any other."""
    kind = path.suffix.lower().removeprefix(".")
    return kind if kind in FORMATS else "png"


def write_picture(path: Path, size: QSize, draw: Callable[[QPainter], None]) -> None:
    """Write a drawing as SVG or as PNG, by the file's ending.

    Args:
        path: file to write.
        size: of what is drawn, in points of the screen.
        draw: draws it; a painter scales it to the file's size by itself.

    Raises:
        OSError: the file cannot be written.
    """
    path.open("wb").close()  # says why it cannot be, which Qt does not
    if kind_of(path) == "svg":
        drawing = QSvgGenerator()
        drawing.setFileName(str(path))
        drawing.setSize(size)
        drawing.setViewBox(QRect(0, 0, size.width(), size.height()))
        painter = QPainter(drawing)
        draw(painter)
        painter.end()
        return
    picture = QImage(size * SCALE, QImage.Format.Format_RGB32)
    painter = QPainter(picture)
    draw(painter)
    painter.end()
    if not picture.save(str(path)):
        raise OSError(None, tr("the picture cannot be written"), str(path))


def fill_menu(menu: QMenu, session: Session, name: str, write: Callable[[Path], None], parent: QWidget) -> None:
    """An entry for each of `FORMATS`, which asks for a file.

    Args:
        menu: to fill.
        session: told in words what was written, or why not.
        name: of the file that is proposed, without its ending.
        write: writes the file by its ending; may raise OSError.
        parent: over which the question appears.
    """

    def ask(kind: str) -> None:
        chosen, _ = QFileDialog.getSaveFileName(parent, tr("Export"), f"{name}.{kind}", FORMATS[kind])
        if not chosen:
            return
        path = Path(chosen) if Path(chosen).suffix else Path(f"{chosen}.{kind}")
        try:
            write(path)
        except OSError as error:
            session.fail(f"{path}: {error.strerror or error}")
        else:
            session.note(tr("written: {path}", path=path))

    for kind in FORMATS:
        menu.addAction(kind.upper()).triggered.connect(lambda _=False, kind=kind: ask(kind))

"""Light and dark: colours that people with any colour vision tell apart, each with a dash or a word beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from hil.types import Mode


@dataclass(frozen=True)
class Theme:
    """All colours, as #rrggbb.

    Attributes:
        curves: per joint; no two look alike to people who lack one kind of cones, and all stand off the background.
        axes: of frames: x, y, z, and their writing.
    """

    name: str
    window: str
    panel: str
    text: str
    faint: str
    line: str
    grid: str
    accent: str
    scene: str
    table: str
    simulated: str
    commanded: str
    reported: str
    stopping: str
    previewed: str
    trace: str
    fence: str
    keep_out: str
    good: str
    warn: str
    bad: str
    curves: tuple[str, ...]
    axes: tuple[str, str, str, str]


DARK = Theme(
    name="dark",
    window="#1b1e23",
    panel="#23272e",
    text="#e8eaed",
    faint="#9aa3ad",
    line="#3a414b",
    grid="#2f353e",
    accent="#56b4e9",
    scene="#14171b",
    table="#39424d",
    simulated="#c9ced6",
    commanded="#56b4e9",
    reported="#f0a030",
    stopping="#ff6a4d",
    previewed="#e08fbf",
    trace="#f0e442",
    fence="#7d8894",
    keep_out="#ff6a4d",
    good="#2fb58a",
    warn="#f0a030",
    bad="#ff6a4d",
    curves=("#7db5ff", "#ea8f19", "#59fe78", "#f9f102", "#d7f6e3", "#ff4592", "#849d4e", "#9479ff"),
    axes=("#ff7a5c", "#4fd0a0", "#6fa8ff", "#e8eaed"),
)

LIGHT = Theme(
    name="light",
    window="#f3f4f6",
    panel="#ffffff",
    text="#1c2127",
    faint="#59626d",
    line="#c9ced5",
    grid="#e3e6ea",
    accent="#0072b2",
    scene="#fbfbfc",
    table="#d3d8df",
    simulated="#7c8692",
    commanded="#0072b2",
    reported="#b45700",
    stopping="#c62f14",
    previewed="#a8447f",
    trace="#8a5a00",
    fence="#7f8893",
    keep_out="#c62f14",
    good="#007d5a",
    warn="#a85400",
    bad="#c62f14",
    curves=("#0a79bf", "#a36800", "#6b7c49", "#663733", "#9c0788", "#910004", "#193e4f", "#5e0db5"),
    axes=("#c62f14", "#00805c", "#1f5fd0", "#1c2127"),
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT)}

LAMPS = {
    Mode.DISCONNECTED: ("#5f6873", "#ffffff", "○"),
    Mode.CONNECTING: ("#5f6873", "#ffffff", "…"),
    Mode.UNKNOWN_POSE: ("#a8447f", "#ffffff", "?"),
    Mode.ENERGISING: ("#a8447f", "#ffffff", "↯"),
    Mode.IDLE: ("#0072b2", "#ffffff", "■"),
    Mode.ARMED: ("#f0e442", "#1c2127", "◆"),
    Mode.STREAMING: ("#00805c", "#ffffff", "▶"),
    Mode.STOPPING: ("#e69f00", "#1c2127", "▼"),
    Mode.HOLDING: ("#0072b2", "#ffffff", "‖"),
    Mode.FAULT: ("#c62f14", "#ffffff", "✕"),
    Mode.ESTOP: ("#c62f14", "#ffffff", "✕"),
}
"""Per mode the lamp's colour, its writing's colour, and a sign for who does not see colours."""


DARK_INK, LIGHT_INK = "#16191d", "#ffffff"


def brightness(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, from 0 to 1, as WCAG 2 has it."""
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21, black on white; WCAG 2 asks for 4.5 between text and ground, and for 3 of lines."""
    dark, bright = sorted((brightness(one), brightness(other)))
    return (bright + 0.05) / (dark + 0.05)


@lru_cache(maxsize=64)
def ink_on(colour: str) -> str:
    """Dark or light, whichever is read better on this ground."""
    return max((DARK_INK, LIGHT_INK), key=lambda ink: contrast(ink, colour))


def apply(theme: Theme, app: QApplication) -> None:
    """Colour the whole program; where it has these colours already, no widget is dressed anew."""
    if app.styleSheet() == (style := _style(theme)):
        return
    palette = QPalette()
    roles = QPalette.ColorRole
    for role, colour in (
        (roles.Window, theme.window),
        (roles.WindowText, theme.text),
        (roles.Base, theme.panel),
        (roles.AlternateBase, theme.window),
        (roles.Text, theme.text),
        (roles.Button, theme.panel),
        (roles.ButtonText, theme.text),
        (roles.ToolTipBase, theme.panel),
        (roles.ToolTipText, theme.text),
        (roles.PlaceholderText, theme.faint),
        (roles.Highlight, theme.accent),
        (roles.HighlightedText, theme.window),
        (roles.Link, theme.accent),
        (roles.Mid, theme.line),
        (roles.Dark, theme.line),
        (roles.Light, theme.panel),
    ):
        palette.setColor(role, QColor(colour))
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.faint))
    app.setPalette(palette)
    app.setStyleSheet(style)


def _style(theme: Theme) -> str:
    return f"""
    QToolTip {{ color: {theme.text}; background: {theme.panel}; border: 1px solid {theme.line}; }}
    QDockWidget, QMainWindow > QWidget {{ widget-animation-duration: 0; }}
    QMainWindow::separator {{ background: {theme.line}; width: 3px; height: 3px; }}
    QDockWidget::title {{ background: {theme.window}; padding: 4px 8px; }}
    QPushButton, QToolButton {{ background: {theme.panel}; border: 1px solid {theme.line}; border-radius: 3px;
        padding: 2px 8px; color: {theme.text}; }}
    QPushButton:hover, QToolButton:hover {{ border-color: {theme.accent}; }}
    QPushButton:focus, QToolButton:focus {{ border: 2px solid {theme.accent}; padding: 1px 7px; }}
    QPushButton:checked, QToolButton:checked {{ background: {theme.accent}; color: {theme.window}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {theme.faint}; }}
    QComboBox {{ background: {theme.panel}; border: 1px solid {theme.line}; border-radius: 3px; padding: 2px 7px; }}
    QComboBox:focus {{ border: 2px solid {theme.accent}; padding: 1px 6px; }}
    QLineEdit {{ background: {theme.panel}; border: 1px solid {theme.line}; border-radius: 3px; padding: 1px 3px; }}
    QLineEdit:focus {{ border: 2px solid {theme.accent}; padding: 0px 2px; }}
    QAbstractSpinBox QLineEdit, QTableView QLineEdit {{ border: none; border-radius: 0px; padding: 0px; }}
    QCheckBox::indicator:unchecked, QTableView::indicator:unchecked {{ width: 12px; height: 12px;
        border: 1px solid {theme.faint}; border-radius: 2px; background: {theme.panel}; }}
    QTableCornerButton::section {{ background: {theme.window}; border: none; }}
    QTextBrowser, QPlainTextEdit {{ background: {theme.panel}; border: 2px solid {theme.panel}; }}
    QTextBrowser:focus, QPlainTextEdit:focus {{ border-color: {theme.accent}; }}
    QHeaderView::section {{ background: {theme.window}; color: {theme.faint}; border: none; padding: 2px 6px; }}
    QTableWidget {{ background: {theme.panel}; gridline-color: {theme.line}; border: none; }}
    """

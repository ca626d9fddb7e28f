"""Always on top: the mode as a big lamp, FAKE or REAL, who drives, how old the picture is, and STOP."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from hil.dashboard.session import Session
from hil.dashboard.texts import LEASES, MODES, tr
from hil.dashboard.theme import LAMPS
from hil.dashboard.widgets import dress
from hil.types import Mode

LOOK_EVERY_MS = 100
HEIGHT = 68
LOST = ("#c62f14", "#ffffff", "✕")
OLD = ("#5f6873", "#ffffff", "⌛")


class Header(QWidget):
    """The strip that no dock covers."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.setFixedHeight(HEIGHT)
        self.lamp = QLabel()
        self.lamp.setObjectName("lamp")
        self.lamp.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.lamp.setMinimumWidth(250)
        self.lamp.setFont(_font(self, 1.9, bold=True))
        self.lamp.setAccessibleName(tr("Mode"))
        self._meaning = QLabel()
        self._meaning.setWordWrap(True)
        self._badge = QLabel()
        self._badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._badge.setFont(_font(self, 1.3, bold=True))
        self._badge.setMinimumWidth(76)
        self._title = QLabel()
        self._title.setFont(_font(self, 1.15, bold=True))
        self._lease = QLabel()
        for label in (self._title, self._lease):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.stop = QPushButton(tr("STOP"))
        self.stop.setObjectName("stop")
        self.stop.setFont(_font(self, 2.0, bold=True))
        self.stop.setMinimumWidth(190)
        self.stop.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.stop.setToolTip(tr("Slow down and hold. Esc and Space do the same, whatever has the focus."))
        self.stop.setAccessibleName(tr("Stop the arm; also by Esc or Space"))
        self.stop.setStyleSheet(
            "QPushButton { background: #c8102e; color: white; border: 2px solid #7d0a1c; border-radius: 6px; }"
            "QPushButton:hover { background: #e0193a; } QPushButton:pressed { background: #7d0a1c; }"
            "QPushButton:focus { border: 3px solid white; }"
        )
        # Pressed counts, not released: nobody who wants to stop takes the finger back.
        self.stop.pressed.connect(lambda: session.stop())
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.refresh)
        self._timer.start(LOOK_EVERY_MS)
        session.linked.connect(self.refresh)
        self.refresh()

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._title)
        words.addWidget(self._lease)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self.lamp)
        row.addWidget(self._meaning, 3)
        row.addWidget(self._badge)
        row.addLayout(words, 4)
        row.addWidget(self.stop)

    def refresh(self) -> None:
        """Say how it is now."""
        word, meaning, colours = self._mode()
        ground, ink, sign = colours
        self.lamp.setText(f"{sign} {word}")
        style = f"background: {ground}; color: {ink}; border-radius: 6px; padding: 0 10px;"
        dress(self.lamp, style)
        self._meaning.setText(meaning)
        self._say_whose()

    def _mode(self) -> tuple[str, str, tuple[str, str, str]]:
        session = self._session
        if session.parted:
            return tr("NO SERVICE"), tr("{reason}; trying again", reason=session.parted), LOST
        if session.newest is None:
            return tr("WAITING"), tr("for the first word about the arm"), LAMPS[Mode.CONNECTING]
        if not session.live:
            age = tr("{age:.1f} s old: what is shown may no longer be so", age=session.silence_s)
            return tr("NOT HEARD"), age, OLD
        word, meaning = map(tr, MODES[session.newest.mode])
        if session.newest.lease.latched and session.newest.mode is not Mode.ESTOP:
            meaning = tr("stop latched: {who}", who=session.newest.lease.latched)
        return word, meaning, LAMPS[session.newest.mode]

    def _say_whose(self) -> None:
        session = self._session
        welcome, frame = session.welcome, session.newest
        real = welcome is not None and welcome.real
        self._badge.setText("" if welcome is None else tr("REAL") if real else tr("FAKE"))
        style = "background: #f0e442; color: #1c2127;" if real else "border: 2px dashed #8c95a0;"
        dress(self._badge, f"{style} border-radius: 4px; padding: 2px 8px;")
        self._badge.setVisible(welcome is not None)
        if welcome is not None:
            self._title.setText(f"{welcome.title}")
            self._title.setToolTip(tr("{arm} at {server}", arm=welcome.arm, server=welcome.server))
        if frame is None:
            self._lease.setText("")
            return
        holder = tr("you") if session.lease is not None and session.lease.yours else frame.lease.holder
        text = tr(LEASES[frame.lease.phase], holder=holder or tr("somebody"))
        picture = frame.picture_age_s
        seen = tr("no camera") if picture is None else tr("picture {age:.1f} s old", age=picture)
        self._lease.setText(f"{text} · {seen}")


def _font(widget: QWidget, factor: float, *, bold: bool) -> QFont:
    font = QFont(widget.font())
    font.setPointSizeF(font.pointSizeF() * factor)
    font.setBold(bold)
    return font

"""Always on top: the mode as a big lamp, FAKE or REAL, who drives, how old the picture is, and STOP."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from hil.dashboard.differences import words, worst
from hil.dashboard.pace import Pace
from hil.dashboard.session import Session
from hil.dashboard.texts import LAMPS as WORDS
from hil.dashboard.texts import LEASES, MODES, OFF, OLD, WAITING, age_text, tr
from hil.dashboard.theme import LAMPS
from hil.dashboard.widgets import Island, Lines, advise, dress
from hil.service.lamp import lamp
from hil.service.wire import Lamp, Telemetry
from hil.types import Mode

LOOK_EVERY_MS = 100
HEIGHT = 68
LEAST_LAMP, LAMP_PADDING = 230, 28
LONGEST_START = "starting, 888 s"
LOST = ("#c62f14", "#ffffff", "✕")
LATCHED = ("#a85400", "#ffffff", "‖")
STARTING = frozenset({Mode.DISCONNECTED, Mode.CONNECTING})
NOT_HEARD = ("#5f6873", "#ffffff", "⌛")
COLOURS = {Lamp.ALARM: LOST, Lamp.LATCHED: LATCHED, Lamp.FROZEN: LATCHED}
"""Where not the mode has them."""


class Header(Island):
    """The strip that no dock covers."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.setFixedHeight(HEIGHT)
        self.lamp = QLabel()
        self.lamp.setObjectName("lamp")
        self.lamp.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.lamp.setFont(_font(self, 1.6, bold=True))
        # Of one width, whatever it says: nothing beside it moves.
        said = (*WORDS.values(), OFF, WAITING, OLD, LONGEST_START)
        wide = max(self.lamp.fontMetrics().horizontalAdvance(f"✕ {tr(word).upper()}") for word in said)
        self.lamp.setFixedWidth(max(LEAST_LAMP, wide + LAMP_PADDING))
        self.lamp.setAccessibleName(tr("Mode"))
        self._meaning = Lines(3)
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
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self)
        session.linked.connect(self.refresh)
        self.refresh()

    def _lay_out(self) -> None:
        said = QVBoxLayout()
        said.setSpacing(0)
        said.addWidget(self._title)
        said.addWidget(self._lease)
        row = QHBoxLayout(self.inside)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self.lamp)
        row.addWidget(self._meaning, 3)
        row.addWidget(self._badge)
        row.addLayout(said, 4)
        row.addWidget(self.stop)

    def refresh(self) -> None:
        """Say how it is now."""
        word, meaning, colours = self._mode()
        ground, ink, sign = colours
        self.lamp.setText(f"{sign} {word.upper()}")
        style = f"background: {ground}; color: {ink}; border-radius: 6px; padding: 0 10px;"
        dress(self.lamp, style)
        self._meaning.say((escape(meaning, quote=False),))
        self._say_whose()

    def _mode(self) -> tuple[str, str, tuple[str, str, str]]:
        session = self._session
        if session.parted:
            return tr(OFF), tr("{reason}; trying again", reason=session.parted), LOST
        if session.newest is None:
            return tr(WAITING), tr("for the first word about the arm"), LAMPS[Mode.CONNECTING]
        if not session.live:
            age = tr("{age:.1f} s old: what is shown may no longer be so", age=session.silence_s)
            return tr(OLD), age, NOT_HEARD
        frame = session.newest
        starting = frame.starting_s is not None and frame.mode in STARTING
        state = frame.lamp or lamp(frame.mode, frame.lease, alarm=bool(frame.alarm), starting=starting)
        if state is Lamp.STARTING and frame.starting_s is not None:
            return tr("starting, {time:.0f} s", time=frame.starting_s), self._meaning_of(frame), LAMPS[frame.mode]
        return tr(WORDS[state]), self._meaning_of(frame), COLOURS.get(state, LAMPS[frame.mode])

    def _meaning_of(self, frame: Telemetry) -> str:
        """What the loop does, and why it is not as it should be."""
        word, meaning = map(tr, MODES[frame.mode])
        if frame.alarm:
            return tr("{mode}: {why}", mode=word, why=frame.alarm)
        if frame.lease.latched:
            return tr("{mode}; stop latched: {who}", mode=word, who=frame.lease.latched)
        if (parted := self._parted(frame)) is not None:
            return tr("command and report part: {what}", what=parted)
        return f"{word}: {meaning}"

    def _parted(self, frame: Telemetry) -> str | None:
        """The worst error, where it is large enough to be pointed at."""
        arm = self._session.arm
        found = None if arm is None else worst(arm, frame)
        return words(arm, *found) if arm is not None and found is not None and found[1].noted else None

    def _say_whose(self) -> None:
        session = self._session
        welcome, frame = session.welcome, session.newest
        real = welcome is not None and welcome.real
        self._badge.setText("" if welcome is None else tr("REAL") if real else tr("FAKE"))
        style = "background: #f0e442; color: #1c2127;" if real else "border: 2px dashed #8c95a0;"
        dress(self._badge, f"{style} border-radius: 4px; padding: 2px 8px;")
        if welcome is not None:
            self._title.setText(f"{welcome.title}")
            advise(self._title, tr("{arm} at {server}", arm=welcome.arm, server=welcome.server))
        if frame is None:
            self._lease.setText("")
            return
        holder = tr("you") if session.lease is not None and session.lease.yours else frame.lease.holder
        text = tr(LEASES[frame.lease.phase], holder=holder or tr("somebody"))
        picture = frame.picture_age_s
        seen = tr("no camera") if picture is None else tr("picture {age}", age=age_text(picture))
        self._lease.setText(f"{text} · {seen}")


def _font(widget: QWidget, factor: float, *, bold: bool) -> QFont:
    font = QFont(widget.font())
    font.setPointSizeF(font.pointSizeF() * factor)
    font.setBold(bold)
    return font

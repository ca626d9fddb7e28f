"""Why the last thing was refused, how far the arm goes on if released, and how loop and wire do."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.pace import Pace
from hil.dashboard.session import Session
from hil.dashboard.texts import LEASES, SOURCES, age_text, tr
from hil.dashboard.theme import Theme, ink_on
from hil.dashboard.widgets import Island, dress
from hil.service.wire import StopBudget, Telemetry

LOOK_EVERY_MS = 200
RATE_OVER_S = 0.7
PARTS = ("input", "loop", "queue", "wire", "ramp", "servo")
FULL_MS = 400.0


class StopBar(QWidget):
    """The stop budget as a bar: one part after another, on a scale that does not jump."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._stop: StopBudget | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A bar and its words."""
        return QSize(200, 2 * self.fontMetrics().height() + 8)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.update()

    def show_stop(self, stop: StopBudget | None) -> None:
        """Draw this one."""
        if stop != self._stop:
            self._stop = stop
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """The parts in order, each with its name below where it fits."""
        painter = QPainter(self)
        stop, theme = self._stop, self._theme
        height = self.fontMetrics().height()
        painter.fillRect(QRectF(0, 0, self.width(), height), QColor(theme.line))
        if stop is not None:
            full_ms = FULL_MS
            while full_ms < stop.total_ms:
                full_ms *= 2.0
            left = 0.0
            for index, part in enumerate(PARTS):
                value_ms = getattr(stop, f"{part}_ms")
                width = self.width() * value_ms / full_ms
                colour = QColor(theme.curves[index])
                painter.fillRect(QRectF(left, 0, max(width - 1.0, 0.0), height), colour)
                text = tr(part)
                if painter.fontMetrics().horizontalAdvance(text) < width:
                    painter.setPen(QColor(theme.text))
                    painter.drawText(QRectF(left, height + 2, width, height), Qt.AlignmentFlag.AlignLeft, text)
                    painter.setPen(QColor(ink_on(theme.curves[index])))
                    if painter.fontMetrics().horizontalAdvance(f"{value_ms:.0f}") < width:
                        painter.drawText(
                            QRectF(left, 0, width, height), Qt.AlignmentFlag.AlignCenter, f"{value_ms:.0f}"
                        )
                left += width
            painter.setPen(QColor(theme.faint))
            painter.drawText(
                QRectF(0, height + 2, self.width(), height), Qt.AlignmentFlag.AlignRight, f"{full_ms:.0f} ms"
            )
        painter.end()


class StatusView(Island):
    """All of it, looked at five times a second."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session = session
        self._refusal = QLabel()
        self._refusal.setWordWrap(True)
        self._refusal.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._refusal.setAccessibleName(tr("Last refusal"))
        self._stop_words = QLabel()
        self._stop_words.setWordWrap(True)
        self._bar = StopBar(theme)
        self._rows = {name: QLabel() for name in ("lease", "report", "loop", "wire", "speed", "picture", "link")}
        for label in self._rows.values():
            label.setWordWrap(True)
        self._frames, self._rate_hz, self._looked_s = 0, 0.0, session.now_s
        self._lay_out()
        self.set_theme(theme)
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self, behind=False)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(0)
        form.setHorizontalSpacing(12)
        names = {
            "lease": tr("Driver"), "report": tr("Report"), "loop": tr("Loop"), "wire": tr("Wire"),
            "speed": tr("Speed allowed"), "picture": tr("Picture"), "link": tr("Telemetry"),
        }  # fmt: skip
        for name, label in self._rows.items():
            form.addRow(names[name], label)
        layout = QVBoxLayout(self.inside)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(3)
        layout.addWidget(self._refusal)
        layout.addWidget(self._stop_words)
        layout.addWidget(self._bar)
        layout.addLayout(form)
        layout.addStretch(1)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self._bar.set_theme(theme)
        self.refresh()

    def refresh(self) -> None:
        """Say how it is now."""
        session = self._session
        self._count()
        frame = session.newest
        if frame is None:
            self._refusal.setText(tr("Nothing is known of the arm yet."))
            return
        self._say_refusal(frame)
        self._say_stop(frame.stop)
        for name, text in self._words(frame).items():
            self._rows[name].setText(text)

    def _count(self) -> None:
        """Telemetry a second, over about the last one."""
        now_s, frames = self._session.now_s, self._session.frames
        passed_s = now_s - self._looked_s
        if passed_s >= LOOK_EVERY_MS / 1000.0:
            share = min(1.0, passed_s / RATE_OVER_S)
            self._rate_hz += share * ((frames - self._frames) / passed_s - self._rate_hz)
            self._frames, self._looked_s = frames, now_s

    def _say_refusal(self, frame: Telemetry) -> None:
        colour = self._theme.warn if frame.refusal else self._theme.faint
        text = tr("Refused last: {why}", why=frame.refusal) if frame.refusal else tr("Nothing was refused.")
        self._refusal.setText(text)
        dress(self._refusal, f"color: {colour}; font-weight: {600 if frame.refusal else 400};")

    def _say_stop(self, stop: StopBudget | None) -> None:
        self._bar.show_stop(stop)
        if stop is None:
            self._stop_words.setText(tr("Stop budget: not known"))
            return
        room = "" if stop.clearance_mm is None else tr("; {room:.0f} mm of room", room=stop.clearance_mm)
        words = tr(
            "Released now, the arm goes on for {time:.0f} ms and at most {way:.0f} mm",
            time=10.0 * math.ceil(stop.total_ms / 10.0),
            way=stop.distance_mm,
        )
        close = stop.clearance_mm is not None and stop.distance_mm > 0.7 * stop.clearance_mm
        self._stop_words.setText(words + room)
        dress(self._stop_words, f"color: {self._theme.warn if close else self._theme.text};")

    def _words(self, frame: Telemetry) -> dict[str, str]:
        lease = frame.lease
        driver = tr(LEASES[lease.phase], holder=lease.holder or tr("somebody"))
        if lease.slot_left_s is not None:
            driver += tr("; slot ends in {left}", left=_minutes(lease.slot_left_s))
        if lease.waiting:
            driver += tr("; {count} waiting", count=lease.waiting)
        if lease.frozen:
            driver += tr("; frozen")
        if frame.source is None or frame.reported_s is None:
            report = tr("none")
        else:
            report = f"{tr(SOURCES[frame.source][0])}, " + tr("{age:.0f} ms old", age=1000.0 * frame.reported_s)
        timing = frame.timing
        picture = frame.picture_age_s
        return {
            "lease": driver,
            "report": report,
            "loop": tr(
                "{late:.1f} ms late at most, {work:.1f} ms of work, {missed} ticks missed",
                late=timing.late_ms,
                work=timing.work_ms,
                missed=timing.missed,
            ),
            "wire": tr("{share:.0f} % in use", share=100.0 * frame.wire_share),
            "speed": tr("{share:.0f} % of the rig's", share=100.0 * frame.speed_share),
            "picture": tr("no camera") if picture is None else age_text(picture),
            "link": tr(
                "{rate:.0f} a second, {dropped} dropped here", rate=self._rate_hz, dropped=self._session.link.dropped
            ),
        }


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"

"""The certificate, what is still missing, and the two presses by which a previewed motion is sent."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from hil.dashboard.drive_eyes import Eyes
from hil.dashboard.drive_hold import HoldButton
from hil.dashboard.preview_state import PreviewState
from hil.dashboard.send_state import SendState
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress, push

DIGITS = 12
"""Of a digest, as many as tell two apart."""

FULL = 1000


class SendPanel(QFrame):
    """Send arms; then the motion runs while the button, or the key R, is held down."""

    def __init__(self, sending: SendState, previewing: PreviewState, theme: Theme, panel: QWidget) -> None:
        super().__init__()
        self._sending, self._previewing, self._theme = sending, previewing, theme
        self._panel = panel
        self.certificate, self.missing, self.words = QLabel(), QLabel(), QLabel()
        for label in (self.certificate, self.missing, self.words):
            label.setWordWrap(True)
        self.missing.setAccessibleName(tr("What is missing before it can be sent"))
        self.claim = push(tr("Drive"), sending.claim, tr("Become the driver; nothing moves by it"))
        self.again = push(
            tr("Preview again from here"), previewing.again, tr("The same file, from where the arm is now")
        )
        self.arm = push(
            tr("Send"), self._send, tr("The service loads it and arms; nothing moves before the next press")
        )
        self.run = HoldButton(
            tr("Hold to run   [R]"), tr("It moves while this is held, by mouse or by the key R"), panel
        )
        self.run.taken.connect(sending.press)
        self.run.let_go.connect(sending.release)
        self.done = QProgressBar()
        self.done.setRange(0, FULL)
        self.done.setTextVisible(True)
        self._eyes = Eyes(sending, panel)
        row = QHBoxLayout()
        row.setSpacing(4)
        for button in (self.arm, self.run, self.claim, self.again):
            row.addWidget(button)
        row.addWidget(self.done, 1)
        row.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(3)
        for widget in (self.certificate, self.missing):
            column.addWidget(widget)
        column.addLayout(row)
        column.addWidget(self.words)
        sending.changed.connect(self.refresh)
        self.set_theme(theme)

    def _send(self) -> None:
        """Arm, and have the keys where R is heard."""
        self._sending.arm()
        self._panel.setFocus()

    def watch(self) -> None:
        """The panel is seen, perhaps in another window than before."""
        self._eyes.watch()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        dress(self.missing, f"color: {theme.warn};")
        self.refresh()

    def refresh(self) -> None:
        """Say how it is now."""
        sending, told = self._sending, self._previewing.previewed
        missing = sending.missing()
        ready = not missing and not sending.busy and not sending.running and not sending.armed
        self.missing.setText("\n".join(f"✕ {each}" for each in missing))
        self.missing.setVisible(bool(missing) and not sending.running)
        self.arm.setEnabled(ready)
        self.run.setEnabled(sending.armed or sending.held)
        self.claim.setVisible(any(each.startswith(tr("your turn")) for each in missing))
        self.again.setVisible(any(each.startswith(tr("the start pose")) for each in missing))
        self.done.setVisible(sending.running)
        self.done.setValue(round(FULL * (sending.progress or 0.0)))
        self.words.setText(self._words())
        self.words.setVisible(bool(self.words.text()))
        self.certificate.setVisible(told is not None and told.ok)
        if told is not None and told.ok:
            until = tr("no end") if told.until_epoch_s is None else _clock(told.until_epoch_s)
            self.certificate.setText(
                tr(
                    "Certificate {digest} · valid until {until} · for {who}",
                    digest=told.certificate_digest[:DIGITS],
                    until=until,
                    who=told.made_for or tr("you"),
                )
            )

    def _words(self) -> str:
        sending = self._sending
        if sending.busy:
            return tr("The service loads it...")
        if sending.armed and not sending.held:
            return sending.words or tr("Armed. Look at the arm, then hold the button: it moves while you hold it.")
        if sending.held:
            return tr("Let go, and the arm stops.")
        return sending.words


def _clock(epoch_s: float) -> str:
    return time.strftime("%H:%M", time.localtime(epoch_s))

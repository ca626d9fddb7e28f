"""What is missing before the arm moves, each with what to do; in a place that is as high with one as with five."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from hil.dashboard.drive_checks import Check, Remedy, checks
from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import Lines, Slot, dress, push
from hil.types import Mode

ROWS = 4


class Checklist(QWidget):
    """One sentence first; below it what is missing, or what is in order.

    Attributes:
        bad: what is missing.
    """

    def __init__(self, driving: DriveHand, theme: Theme) -> None:
        super().__init__()
        self._driving, self._theme = driving, theme
        self.bad: list[Check] = []
        self.headline, self.missing = Lines(2), Lines(ROWS)
        self.remedies = {
            Remedy.RESET: push(tr("Reset the stop"), driving.lease.reset, tr("Nothing moves by it")),
            Remedy.THAW: push(tr("Thaw"), driving.lease.thaw, tr("Nothing moves by it")),
        }
        self._remedy = Slot(*self.remedies.values())
        first = QHBoxLayout()
        first.addWidget(self.headline, 1)
        first.addWidget(self._remedy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(first)
        column.addWidget(self.missing)
        driving.changed.connect(self.refresh)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.refresh()

    def refresh(self) -> None:
        """Look at everything anew."""
        driving, theme = self._driving, self._theme
        found = checks(driving)
        bad = self.bad = [check for check in found if not check.ok and not driving.holding]
        self.headline.say((self._headline(bad),))
        dress(self.headline, f"color: {theme.warn if bad else theme.good}; font-weight: 700;")
        if bad:
            self.missing.say(
                [f'<span style="color:{theme.warn}">✕</span> <b>{each.name}:</b> {each.words}' for each in bad]
            )
        else:
            fine = " · ".join(f"{each.name}: {each.words}" for each in found if each.ok)
            self.missing.say((f'<span style="color:{theme.faint}">{fine}</span>',))
        remedies = {check.remedy for check in bad}
        if driving.mode in (Mode.FAULT, Mode.ESTOP):
            remedies.discard(Remedy.RESET)
        self._remedy.show_one(next((self.remedies[each] for each in self.remedies if each in remedies), None))

    def _headline(self, bad: list[Check]) -> str:
        press = self._driving.press
        if press is not None and not press.ended:
            return tr("▶ {name}: let go, and the arm stops", name=press.name)
        if bad:
            return tr("The arm does not move yet; missing: {what}", what=", ".join(check.name for check in bad))
        if press is not None:
            return tr("{name} has ended: let go", name=press.name)
        return tr("✓ Ready: hold a button or a key; the arm moves while you hold it")

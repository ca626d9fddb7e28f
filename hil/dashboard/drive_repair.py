"""What stands where the controls were while the arm cannot be driven: an unknown pose, or a fault."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.drive_hold import HoldButton
from hil.dashboard.session import Ghost
from hil.dashboard.texts import MODES, tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import push
from hil.service.rights import Action, may, who_may
from hil.types import Mode


class PoseWizard(QWidget):
    """Three steps: put the arm into its park pose, say that it is there, hold while joint after joint is driven."""

    def __init__(self, driving: DriveHand, theme: Theme, panel: QWidget) -> None:
        super().__init__()
        self._driving, self._theme = driving, theme
        self._words, self.table, self.progress = QLabel(), QLabel(), QLabel()
        for label in (self._words, self.table, self.progress):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.RichText)
        self.seen = QCheckBox(tr("The arm stands like the ghost in the scene, supply on, nobody within its reach."))
        self.seen.toggled.connect(self.refresh)
        self.energise = HoldButton(
            tr("Hold to energise, joint by joint   [E]"), tr("Drive the joints while held (key E)"), panel
        )
        self.energise.taken.connect(lambda: self.pressed(self.energise))
        self.energise.let_go.connect(lambda: driving.release(self.energise))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(8)
        for widget in (self._words, self.table, self.seen, self.energise, self.progress):
            column.addWidget(widget)
        driving.changed.connect(self.refresh)

    def pressed(self, source: object) -> None:
        """Begin, if everything is said."""
        missing = self._missing()
        if missing:
            self._driving.say(missing)
        else:
            self._driving.press_confirm(source)

    def _missing(self) -> str:
        driving, welcome = self._driving, self._driving.session.welcome
        if welcome is None or not may(welcome.role, Action.CONFIRM):
            return tr("only {who} may confirm a pose: ask", who=who_may(Action.CONFIRM))
        if not driving.drives:
            return tr("press Drive first")
        if not self.seen.isChecked():
            return tr("look at the arm, then tick that it stands like the ghost")
        return ""

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.refresh()

    def refresh(self) -> None:
        """Say how far it is."""
        driving = self._driving
        if not self.isVisible() or driving.session.arm is None:
            return
        energising = driving.mode is Mode.ENERGISING
        self._words.setText(self._explain())
        allowed = driving.session.welcome is not None and may(driving.session.welcome.role, Action.CONFIRM)
        self.table.setText(self._table())
        self.seen.setVisible(allowed and not energising)
        self.energise.setVisible(allowed)
        why = self._missing()
        self.progress.setText(
            tr("Keep holding: let go before the last joint, and the pose counts as unknown again.") if energising
            else tr("Still missing: {what}.", what=why) if why and allowed else ""
        )  # fmt: skip

    def _explain(self) -> str:
        title = tr("Nobody knows where the limp arm stands.")
        welcome = self._driving.session.welcome
        if welcome is None or not may(welcome.role, Action.CONFIRM):
            who = who_may(Action.CONFIRM)
            return f"<b>{title}</b><br>" + tr("Only {who} may confirm its pose, beside it: ask.", who=who)
        far = "" if welcome.on_site else " " + tr("From afar the lab takes this only with a picture under 1 s old.")
        first = tr("Its joints have no force, and a joint that is driven jumps to where it is told to be.")
        return f"<b>{title}</b> {first}<br>" + tr(
            "1. Put the arm by hand into its <b>park pose</b>: the ghost in the scene, and these "
            "numbers. Servo supply on.<br>"
            "2. Hands and faces clear; tick that it stands so.<br>"
            "3. Hold the button: one joint after the other is driven."
        ) + far  # fmt: skip

    def _table(self) -> str:
        """Park pose, joint by joint, with what is driven already."""
        arm, newest = self._driving.arm, self._driving.session.newest
        commanded = () if newest is None else newest.commanded
        cells = []
        for index, axis in enumerate(arm.axes):
            driven = index < len(commanded) and commanded[index] is not None
            sign, colour = ("✓", self._theme.good) if driven else ("○", self._theme.faint)
            state = tr("driven") if driven else tr("limp")
            cells.append(
                f"<tr><td>{axis.name}</td><td align=right>&nbsp; <b>{axis.park / axis.unit:z.1f}</b> "
                f"{axis.unit_name} &nbsp;</td><td style='color:{colour}'>{sign} {state}</td></tr>"
            )
        return f"<table cellspacing=3>{''.join(cells)}</table>"

    def show_ghost(self, on: bool) -> None:
        """The park pose in the scene, or what is commanded again."""
        session = self._driving.session
        if on and session.arm is not None:
            session.ghost = Ghost(tuple(axis.park for axis in session.arm.axes), tr("park pose, to be confirmed"))
        elif not on:
            session.ghost = None
            self.seen.setChecked(False)


class ResetPanel(QWidget):
    """Why the arm has a fault, and the way out of it."""

    def __init__(self, driving: DriveHand) -> None:
        super().__init__()
        self._driving = driving
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.reset = push(tr("Reset"), driving.lease.reset, tr("Leave the fault; nothing moves by it"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.addWidget(self.words)
        column.addWidget(self.reset, 0, Qt.AlignmentFlag.AlignLeft)
        driving.changed.connect(self.refresh)

    def refresh(self) -> None:
        """Say why."""
        driving, welcome = self._driving, self._driving.session.welcome
        if not self.isVisible() or driving.mode not in (Mode.FAULT, Mode.ESTOP):
            return
        word, meaning = map(tr, MODES[driving.mode])
        why = driving.trouble or tr("see the events for the reason")
        allowed = welcome is not None and may(welcome.role, Action.RESET)
        again = tr("nothing moves by that, and where it stands has to be confirmed anew")
        way = tr("Look at the arm. When the reason is gone, reset it: {again}.", again=again)
        if not allowed:
            way = tr("Only {who} may reset it: ask.", who=who_may(Action.RESET))
        self.words.setText(f"<b>{word}</b>: {meaning}<br>{tr('Reason: {why}', why=why)}<br>{way}")
        self.reset.setVisible(allowed)

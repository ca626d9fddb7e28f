"""What holds the arm: its servo supply, for how long, what each servo carries, and letting it go axis by axis."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from hil.dashboard.pace import Pace
from hil.dashboard.session import Session
from hil.dashboard.texts import SUPPLIES, tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress, push
from hil.errors import HilError
from hil.service.rights import Action, may, who_may
from hil.service.wire import Holding
from hil.types import WRITING, Mode, Supply

LOOK_EVERY_MS = 200
MINUTE_S = 60.0
_AMISS = frozenset({Supply.CUT, Supply.FORGOTTEN})


class PowerView(QScrollArea):
    """Looked at five times a second. Each axis is let go of by itself, after a new tick that somebody holds the arm."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.supply, self.held, self.loads, self.sinks, self.words = (QLabel() for _ in range(5))
        for label in (self.supply, self.held, self.loads, self.sinks, self.words):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.loads.setTextFormat(Qt.TextFormat.RichText)
        self.sinks.setTextFormat(Qt.TextFormat.RichText)
        self.beside = QCheckBox(tr("I stand beside the arm and hold what sinks."))
        self.beside.toggled.connect(self.refresh)
        self.let_go = push("", self._let_go, tr("Switch off the pulses of this axis alone; it goes limp"))
        self._asked = ""
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(6)
        for widget in (self.supply, self.held, self.loads, self.sinks, self.beside, self.let_go, self.words):
            column.addWidget(widget)
        column.addStretch(1)
        self.setWidget(inside)
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self, behind=False)
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.refresh()

    def refresh(self) -> None:
        """Say how it is now."""
        holding = self._session.holding
        known = holding is not None and not self._session.parted
        for widget in (self.held, self.loads, self.sinks, self.beside, self.let_go, self.words):
            widget.setVisible(known)
        if holding is None or not known:
            self.supply.setText(tr("Nothing is known of the arm yet."))
            dress(self.supply, f"color: {self._theme.text};")
            return
        self._say_supply(holding)
        self._say_held(holding)
        self.loads.setText(self._table(holding))
        self._say_release(holding)

    @property
    def _real(self) -> bool:
        """Whether there is anything that gets hot, or can be switched."""
        welcome = self._session.welcome
        return welcome is not None and welcome.real

    def _say_supply(self, holding: Holding) -> None:
        amiss = holding.supply in _AMISS and self._real
        state = tr(SUPPLIES[holding.supply]) if self._real else tr("this arm is simulated: it has no supply.")
        self.supply.setText(tr("Servo supply: {state}", state=state))
        colour = self._theme.warn if amiss else self._theme.text
        dress(self.supply, f"color: {colour}; font-weight: {600 if amiss else 400};")

    def _say_held(self, holding: Holding) -> None:
        if holding.held_s is None:
            text = tr("No pulses hold it, as far as its controller says.")
            if holding.supply is Supply.FELT:
                text = tr("Its controller measures, and its brakes hold it.")
            if holding.supply is Supply.CUT:
                text = tr("Whether anything holds it nobody knows: without servo supply it is limp.")
        elif holding.remind and self._real:
            minutes = f"{holding.held_s / MINUTE_S:.0f}"
            text = tr(
                "Held for {minutes} min: servos that hold get hot. Move it, park it, or let it go.", minutes=minutes
            )
        else:
            text = tr("Held by pulses for {minutes} min.", minutes=f"{holding.held_s / MINUTE_S:.0f}")
        self.held.setText(text)
        dress(self.held, f"color: {self._theme.warn if holding.remind and self._real else self._theme.text};")

    def _table(self, holding: Holding) -> str:
        """What the joints carry, as an estimate; those that carry too much for long in another colour, and said so."""
        if not holding.loads:
            return ""
        rows = []
        for load in holding.loads:
            share = "" if load.share is None else f"{100.0 * load.share:.0f} %"
            mark = f" ⚠ {tr('too much for long')}" if load.heavy else ""
            colour = self._theme.warn if load.heavy else self._theme.text
            rows.append(
                f"<tr style='color:{colour}'><td>{escape(load.axis)}</td>"
                f"<td align=right>&nbsp; {abs(load.torque):.2f} N m</td>"
                f"<td align=right>&nbsp; {share}</td><td>{mark}</td></tr>"
            )
        title = tr("Against gravity, and of the servo's stall torque ({basis}):", basis=holding.basis)
        return f"{escape(title)}<table cellspacing=2>{''.join(rows)}</table>"

    # -- letting go --------------------------------------------------------------------------------------

    def _say_release(self, holding: Holding) -> None:
        step = holding.next
        for widget in (self.sinks, self.beside, self.let_go):
            widget.setVisible(step is not None)
        if step is None:
            self.beside.setChecked(False)
            if self._asked:
                self._asked = ""
                limp = tr("It is limp. Where it is nobody knows now.")
                off = tr("At the end: servo supply off, then logic.") if self._real else ""
                self.words.setText(f"{limp} {off}".rstrip())
            return
        if self._asked and self._asked not in holding.driven:
            self._asked = ""
            self.beside.setChecked(False)
            self.words.setText("")
        order = " → ".join((step.axis, *step.after))
        title = tr("Let it go, axis by axis: {order}", order=order)
        self.sinks.setText(f"<b>{escape(title)}</b><br>{escape(step.text)}.")
        self.let_go.setText(tr("Let go of the {axis}", axis=step.axis))
        missing = self._missing()
        self.beside.setEnabled(not self._asked)
        self.let_go.setEnabled(not missing and not self._asked)
        if missing:
            self.words.setText(tr("Still missing: {what}.", what=missing))
        elif self.words.text().startswith(tr("Still missing: {what}.", what="")[:-1]):
            self.words.setText("")

    def _missing(self) -> str:
        welcome, lease, newest = self._session.welcome, self._session.lease, self._session.newest
        if welcome is None or not may(welcome.role, Action.CONFIRM):
            return tr("only {who} may let it go: ask", who=who_may(Action.CONFIRM))
        if not welcome.on_site:
            return tr("only somebody beside the arm lets an axis go")
        if lease is None or not lease.yours:
            return tr("press Drive first")
        if newest is not None and (newest.mode in WRITING or newest.mode is Mode.ARMED):
            return tr("stop the arm first")
        return "" if self.beside.isChecked() else tr("hold the arm, then tick that you do")

    def _let_go(self) -> None:
        """Ask for it; the tick counts for this axis alone."""
        holding = self._session.holding
        if holding is None or holding.next is None or self._missing() or self._asked:
            return
        self._asked = axis = holding.next.axis
        self.words.setText(tr("The {axis} is let go of ...", axis=axis))
        self._session.link.ask(lambda arm: arm.go_limp(axis), self._done)
        self.refresh()

    def _done(self, result: object) -> None:
        if isinstance(result, HilError):
            self._asked = ""
            self.beside.setChecked(False)
            self._session.failed.emit(str(result))
        self.refresh()

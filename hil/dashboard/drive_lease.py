"""Whose turn it is: asking for the arm, waiting for it, giving it back, and a teacher taking it over."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from hil.dashboard.drive_checks import minutes
from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.texts import LEASES, tr
from hil.dashboard.widgets import Lines, Slot, push
from hil.service.rights import Action, may
from hil.service.wire import LeasePhase

MORE_MINUTES = 15.0


class LeaseBar(QWidget):
    """Who drives, in words, and what can be done about it; only what can be done has a button.

    Signals:
        asking: the question before a take-over shall be seen, or no more.

    Attributes:
        question: that question; whoever has this bar has a place for it.
    """

    asking = Signal(bool)

    def __init__(self, driving: DriveHand) -> None:
        super().__init__()
        self._driving = driving
        self.words = Lines(2)
        self.words.setAccessibleName(tr("Whose turn it is"))
        lease = driving.lease
        self.drive = push(tr("Drive"), lease.claim, tr("Become the driver; nothing moves by it"))
        self.wait = push(tr("Wait for it"), lambda: lease.claim(wait=True), tr("Stand in the queue"))
        self.leave = push(tr("Wait no longer"), lease.leave_queue, tr("Leave the queue, and go on watching"))
        self.more = push(tr("More time"), lambda: lease.more_time(MORE_MINUTES), tr("If nobody waits for the arm"))
        self.back = push(tr("Give back"), lease.give_back, tr("The arm holds; park it before, if it shall be free"))
        self.over = push(tr("Take over..."), self._ask, tr("As a teacher: the driver is stopped and loses the arm"))
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.words, 1)
        # Each in a place of its own: nothing comes up where something else was pressed.
        self._first, self._last = Slot(self.drive, self.wait, self.leave), Slot(self.back, self.over)
        self._middle = Slot(self.more)
        for slot in (self._first, self._middle, self._last):
            row.addWidget(slot)
        self.question, self.reason, self.keep = QWidget(), QLineEdit(), QCheckBox(tr("their slot stays theirs"))
        self._question = QLabel()
        self._question.setWordWrap(True)
        self._lay_out_question()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        driving.changed.connect(self.refresh)
        self.refresh()

    def _lay_out_question(self) -> None:
        self.reason.setPlaceholderText(tr("reason, which they read"))
        self.reason.setMaxLength(120)
        self.keep.setChecked(True)
        self.yes = push(tr("Take the arm over"), self._take, tr("Their motion stops first"))
        self.no = push(tr("No"), lambda: self.asking.emit(False), tr("They go on driving"))
        row = QHBoxLayout()
        row.addWidget(self.keep)
        row.addStretch(1)
        row.addWidget(self.yes)
        row.addWidget(self.no)
        column = QVBoxLayout(self.question)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._question)
        column.addWidget(self.reason)
        column.addLayout(row)
        column.addStretch(1)

    def _ask(self) -> None:
        newest = self._driving.session.newest
        holder = "" if newest is None else newest.lease.holder
        text = tr("Take the arm from {holder}? It is stopped, their window only watches from then on.",
                  holder=holder or tr("its driver"))  # fmt: skip
        self._question.setText(text)
        self.asking.emit(True)
        self.reason.setFocus()

    def _take(self) -> None:
        self.asking.emit(False)
        self._driving.lease.take_over(self.reason.text().strip(), keep_booking=self.keep.isChecked())
        self.reason.clear()

    def refresh(self) -> None:
        """Say how it is now."""
        session, driving = self._driving.session, self._driving
        welcome, newest = session.welcome, session.newest
        here = welcome is not None and newest is not None and not session.parted
        lease = newest.lease if here and newest is not None else None
        role = welcome.role if here and welcome is not None else None
        place = 0 if session.lease is None else session.lease.place
        self.words.say((self._words(),))
        may_claim = role is not None and may(role, Action.CLAIM) and not driving.drives and not place
        free = lease is not None and lease.phase in (LeasePhase.FREE, LeasePhase.CLEARING)
        taken = lease is not None and lease.phase in (LeasePhase.HELD, LeasePhase.SUSPENDED)
        mine = taken and lease is not None and welcome is not None and lease.holder == welcome.name
        suspended = lease is not None and lease.phase is LeasePhase.SUSPENDED
        mine = mine and suspended
        takes = role is not None and may(role, Action.TAKE_OVER) and taken and not driving.drives
        first = self.leave if place else self.drive if free or mine else self.wait if taken else None
        self._first.show_one(first if first is self.leave or may_claim else None)
        more = driving.drives and lease is not None and lease.slot_left_s is not None
        self._middle.show_one(self.more if more else None)
        self._last.show_one(self.back if driving.drives else self.over if takes else None)
        if not takes:
            self.asking.emit(False)

    def _words(self) -> str:
        session, driving = self._driving.session, self._driving
        if session.parted or session.newest is None:
            return tr("no service")
        lease, news = session.newest.lease, session.lease
        if driving.drives:
            text = tr("<b>You drive</b>")
            if lease.slot_left_s is not None:
                text += tr("; {left} left", left=minutes(lease.slot_left_s))
        else:
            text = tr(LEASES[lease.phase], holder=lease.holder or tr("somebody"))
        if news is not None and news.place:
            return text + tr("; <b>you are number {place} in the queue</b>", place=news.place)
        return text + (tr("; {count} waiting", count=lease.waiting) if lease.waiting else "")

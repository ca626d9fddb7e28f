"""The Preview view: a task or program, what the service says of it, every check over time, and sending it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFontDatabase, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.export import fill_menu, is_table
from hil.dashboard.lanes_figure import draw_lanes
from hil.dashboard.pace import Pace
from hil.dashboard.preview_file import LANGUAGES, bundled, excerpt, row_of
from hil.dashboard.preview_lanes import Lanes
from hil.dashboard.preview_motion import rows_of
from hil.dashboard.preview_send import SendPanel
from hil.dashboard.preview_state import FASTEST, SLOWEST, PreviewState
from hil.dashboard.preview_table import FaultTable
from hil.dashboard.send_state import SendState
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress, push
from hil.service.wire import Previewed

LOOK_EVERY_MS = 100


class PreviewView(QWidget):
    """All of it."""

    KEYS = (
        ("Left, Right", "in the timeline: a sample back, a sample on; with Shift ten"),
        ("Home, End", "in the timeline: to its ends"),
        ("P, Shift+P", "play, play backwards, or pause"),
        ("R, held", "run the armed motion, as long as the key is down"),
    )

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self._folder = ""
        self.previewing = PreviewState(session)
        self.sending = SendState(session, self.previewing)
        self.verdict, self.reason, self.place, self.moment = QLabel(), QLabel(), QLabel(), QLabel()
        self.lanes, self.table = Lanes(theme), FaultTable(theme)
        self.send = SendPanel(self.sending, self.previewing, theme, self)
        self.setAcceptDrops(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._lay_out()
        self.previewing.changed.connect(self._show)
        for news in (self.previewing.changed, self.sending.changed):
            news.connect(session.calm.stir)
        self.previewing.moved.connect(self._show_moment)
        self.lanes.looked.connect(self._looked)
        self.lanes.stepped.connect(self.previewing.step)
        self.table.picked.connect(self._looked)
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self)
        self.set_theme(theme)

    # -- building ----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        for label in (self.verdict, self.reason, self.place):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.verdict.setAccessibleName(tr("Verdict"))
        self.place.setWordWrap(False)
        self.place.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.place.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 6, 4)
        column.setSpacing(4)
        column.addLayout(self._file_row())
        column.addWidget(self.verdict)
        column.addWidget(self.reason)
        column.addWidget(self.place)
        column.addWidget(self.lanes, 1)
        column.addWidget(self._transport())
        column.addWidget(self.moment)
        column.addWidget(self.table)
        column.addStretch(0)
        column.addWidget(self.send)

    def _file_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        self.file = push(tr("Open..."), self._ask, tr("A task (.toml) or a MELFA-BASIC program (.mb4)"))
        row.addWidget(self.file)
        self.bundled = push(tr("Examples"), tip=tr("Tasks and programs that are there already"))
        self.bundled.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: self._fill(menu))
        self.bundled.setMenu(menu)
        row.addWidget(self.bundled)
        self.again = push(
            tr("Preview again"), self.previewing.again, tr("The file as it is now, from where the arm is")
        )
        row.addWidget(self.again)
        row.addStretch(1)
        self.export = push(tr("Export"), tip=tr("The timeline as a picture or as numbers"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        written = QMenu(self)
        fill_menu(written, self._session, "preview", self.write, self)
        self.export.setMenu(written)
        row.addWidget(self.export)
        self.away = push(tr("Close"), self.previewing.close, tr("Nothing is previewed any more"))
        row.addWidget(self.away)
        return row

    def _transport(self) -> QWidget:
        """Play, backwards too, step, and how fast."""
        self.transport = QWidget()
        row = QHBoxLayout(self.transport)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(3)
        look = self.previewing
        self.back = push("◀", lambda: self._play(-1), tr("Play backwards (Shift+P)"))
        self.on = push("▶", lambda: self._play(1), tr("Play (P)"))
        for button, name in ((self.back, tr("Play backwards")), (self.on, tr("Play"))):
            button.setCheckable(True)
            button.setAccessibleName(name)
        row.addWidget(push("|◀", lambda: look.look(0.0), tr("To the start")))
        row.addWidget(push("-1", lambda: look.step(-1), tr("A sample back")))
        row.addWidget(self.back)
        row.addWidget(self.on)
        row.addWidget(push("+1", lambda: look.step(1), tr("A sample on")))
        row.addWidget(push("▶|", self._to_end, tr("To the end")))
        self.speed = QDoubleSpinBox()
        self.speed.setRange(SLOWEST, FASTEST)
        self.speed.setSingleStep(0.1)
        self.speed.setDecimals(1)
        self.speed.setValue(1.0)
        self.speed.setStepType(QDoubleSpinBox.StepType.AdaptiveDecimalStepType)
        self.speed.setSuffix(" x")
        self.speed.setToolTip(tr("Times as fast as the arm"))
        self.speed.setAccessibleName(tr("Times as fast as the arm"))
        self.speed.valueChanged.connect(look.set_speed)
        row.addWidget(self.speed)
        row.addStretch(1)
        self.moment.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return self.transport

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        before = ""
        for name, path in bundled().items():
            if before and path.suffix != before:
                menu.addSeparator()
            before = path.suffix
            menu.addAction(name).triggered.connect(lambda _=False, path=path: self.previewing.open(path))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.lanes.set_theme(theme)
        self.table.set_theme(theme)
        self.send.set_theme(theme)
        self._show()

    # -- what people do ----------------------------------------------------------------------------------

    def _ask(self) -> None:
        kinds = " ".join(f"*{suffix}" for suffix in LANGUAGES)
        chosen, _ = QFileDialog.getOpenFileName(
            self, tr("Open a task or program"), self._folder, tr("Tasks and programs") + f" ({kinds})"
        )
        if chosen:
            self._folder = str(Path(chosen).parent)
            self.previewing.open(Path(chosen))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """A file may be dropped."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        """The first file counts."""
        if self.sending.running:
            return
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.previewing.open(paths[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """P plays, R runs while it is down."""
        if event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier or event.isAutoRepeat():
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_P:
            self._play(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_R:
            self.sending.press()
        else:
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """R comes up."""
        if event.key() == Qt.Key.Key_R and not event.isAutoRepeat():
            self.sending.release()
        else:
            super().keyReleaseEvent(event)

    def _play(self, way: int) -> None:
        self.previewing.play(0 if self.previewing.playing == way else way)

    def _to_end(self) -> None:
        if self.previewing.motion is not None:
            self.previewing.look(self.previewing.motion.duration_s)

    def _looked(self, time_s: float) -> None:
        self.previewing.play(0)
        self.previewing.look(time_s)

    def write(self, path: Path) -> None:
        """The timeline as a figure, or as numbers for a name that ends so.

        Raises:
            OSError: the file cannot be written.
            HilError: its ending is not known, or matplotlib is not installed.
        """
        motion = self.previewing.motion
        if motion is None:
            raise OSError(None, tr("nothing is previewed"), str(path))
        if is_table(path):
            motion.write_csv(path)
            return
        draw_lanes(path, self._title(), motion)

    def _title(self) -> str:
        """Of a figure: arm, file and verdict."""
        arm, source, told = self._session.arm, self.previewing.source, self.previewing.previewed
        return tr(
            "preview of {arm}, {name}: {verdict}",
            arm="" if arm is None else arm.title,
            name="" if source is None else source.path.name,
            verdict=tr("PASSED") if told is not None and told.ok else tr("REFUSED"),
        )

    # -- what is shown -----------------------------------------------------------------------------------

    def _show(self) -> None:
        """What is open, and what became of it."""
        look = self.previewing
        motion, told = look.motion, look.previewed
        self._say_verdict()
        self.verdict.setToolTip("\n".join(() if told is None else told.notes))
        for label, text in zip((self.reason, self.place), self._reason(), strict=True):
            label.setText(text)
            label.setVisible(bool(text))
        self.lanes.show_motion(motion)
        rows = rows_of(motion, () if told is None else told.refusals)
        self.table.show_rows(rows, look.time_s)
        self.table.setVisible(bool(rows))
        for widget in (self.lanes, self.transport, self.moment):
            widget.setVisible(motion is not None)
        self._allow()
        self.export.setEnabled(motion is not None)
        self.send.setVisible(told is not None)
        self._show_moment()

    def _say_verdict(self) -> None:
        words, colour = self._verdict()
        self.verdict.setText(words)
        dress(self.verdict, f"color: {colour}; font-weight: 600;")

    def _allow(self) -> None:
        """A motion that runs is looked at until it is over."""
        runs, there = self.sending.running, self.previewing.source is not None
        for button in (self.file, self.bundled):
            button.setEnabled(not runs)
        for button in (self.again, self.away):
            button.setEnabled(there and not runs)

    def _verdict(self) -> tuple[str, str]:
        look, theme = self.previewing, self._theme
        name = "" if look.source is None else look.source.path.name
        told = look.previewed
        if look.trouble:
            return f"✕ {look.trouble}", theme.bad
        if look.asked:
            passed_s = self._session.now_s - look.asked_s
            return tr(
                "{name}: the service plans it and checks every sample, for {time:.0f} s so far ...",
                name=name, time=passed_s,
            ), theme.text  # fmt: skip
        if told is None:
            return tr(
                "Open a task or a program, pick an example, or drop a file here. Nothing moves by it."
            ), theme.faint
        if told.ok:
            return _passed(name, told), theme.good
        return f"✕ {name}: " + self._refused(told), theme.bad

    def _refused(self, told: Previewed) -> str:
        motion = self.previewing.motion
        if motion is not None and motion.complete and told.refusals:
            count = len(rows_of(motion, told.refusals))
            return tr("refused, {count} reasons; the list below says where, and what would be allowed", count=count)
        if motion is not None and motion.complete:
            return tr("refused")
        return tr("cannot be planned to its end") if motion is not None else tr("cannot be planned")

    def _reason(self) -> tuple[str, str]:
        """Why nothing, or not all of it, could be planned, and the lines of the file that it is about."""
        look = self.previewing
        told, motion = look.previewed, look.motion
        if look.source is None or told is None or told.ok or (motion is not None and motion.complete and told.refusals):
            return "", ""
        refusal = told.refusals[0] if told.refusals else None
        if refusal is None:
            words = place = " ".join(told.notes)
        else:
            words, place = f"{refusal.place}: {refusal.subject}: {refusal.limit}. {refusal.advice}", refusal.place
        row = row_of(look.source, place)
        return words, "" if row is None else excerpt(look.source, row)

    def _show_moment(self) -> None:
        look = self.previewing
        motion = look.motion
        self.lanes.look(look.time_s)
        self.back.setChecked(look.playing < 0)
        self.on.setChecked(look.playing > 0)
        if motion is None:
            self.moment.setText("")
            return
        stage = motion.stage_at(look.time_s)
        words = [] if stage is None else [stage.place, stage.label if stage.label != stage.place else ""]
        place = "".join(f" · {each}" for each in words if each)
        text = tr("{time:.2f} of {whole:.2f} s, sample {sample}", time=look.time_s, whole=motion.duration_s,
                  sample=motion.sample_at(look.time_s))  # fmt: skip
        self.moment.setText(text + place)
        self.moment.setToolTip(text + place)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Seen again, perhaps in another window."""
        super().showEvent(event)
        self.send.watch()

    def refresh(self) -> None:
        """Say how it is now; while the motion runs the timeline goes along with it."""
        progress, motion = self.sending.progress, self.previewing.motion
        if progress is not None and motion is not None:
            self.previewing.look(progress * motion.duration_s)
        if self.isVisible():
            if self.previewing.asked:
                self._say_verdict()
            self._allow()
            self.send.refresh()


def _passed(name: str, told: Previewed) -> str:
    return tr(
        "✓ {name} passes every check: {time:.1f} s, at most {share:.0f} % of the rig's speeds",
        name=name, time=told.duration_s, share=100.0 * told.peak_share,
    )  # fmt: skip

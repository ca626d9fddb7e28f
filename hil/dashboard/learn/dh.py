"""The DH table that is alive: typed, played motion by motion, read as matrices, saved as a robot."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hil.dashboard.learn.dh_bodies import DhBodies
from hil.dashboard.learn.dh_file import RobotKeeper, robot_word
from hil.dashboard.learn.dh_sheet import PROFILES, DhSheet
from hil.dashboard.learn.fields import checked, matrix_text
from hil.dashboard.learn.view import LessonView
from hil.dashboard.learn.work import Work
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.kernels.scalar import FloatArray
from hil.lessons.dh_table import COLUMNS, MOST_ROWS, Fault, Good, Row, motion_kept, new_row, read_table, table_of, typed
from hil.lessons.history import History
from hil.lessons.motions import JointMotion, fk_command, joint_task
from hil.lessons.picture import Arm, Frame, Lines, Picture, way_lines
from hil.lessons.sheet import Sheet
from hil.lessons.stl_body import StlBody
from hil.lessons.symbols import Symbols, symbols_between
from hil.lessons.timeline import Moment, Timeline
from hil.lessons.walks import Walk, between, screwed
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.robot import Robot

GHOST = 0.45
BETWEEN_S = 2.0
LONGEST_S = 60.0


class Table(NamedTuple):
    """A state of what is edited.

    Attributes:
        origin: whose table it was at first, or as which it was saved.
        rows: its texts.
        bodies: of links that have others than the table gives them.
    """

    origin: RobotModel
    rows: tuple[Row, ...]
    bodies: tuple[StlBody, ...] = ()


class DhView(LessonView):
    """Rows of the table, and the arm that they make."""

    history: History[Table]

    def __init__(self) -> None:
        super().__init__()
        self.sheet = self.worksheet = DhSheet()
        self.work = Work(self)
        self.bodies = DhBodies(self.sheet.bodies, self)
        self._keeper = RobotKeeper()
        self.symbols: Symbols | None = None
        self.faults: tuple[Fault, ...] = ()
        self._seconds = 3.0
        self._now_s = 0.0
        self._kept_as = ""
        self._before: dict[str, RobotModel] = {}
        """By the name of a saved robot: whose table it was before."""

        sheet = self.sheet
        sheet.table.typed.connect(self._typed)
        sheet.add.clicked.connect(self._add)
        sheet.away.clicked.connect(self._away)
        sheet.back.clicked.connect(self.undo)
        sheet.forth.clicked.connect(self.redo)
        for box in (sheet.play, sheet.row, sheet.first, sheet.last, sheet.profile):
            box.currentIndexChanged.connect(self._chosen)
        sheet.seconds.typed.connect(self._timed)
        sheet.as_symbols.clicked.connect(self._ask_symbols)
        sheet.lengths.toggled.connect(self._symbols_are_old)
        sheet.save.clicked.connect(self._save)
        sheet.unsave.clicked.connect(self._take_back)
        self.bodies.taken.connect(self._take_bodies)
        self.work.done.connect(self._symbols_came)
        self.work.failed.connect(sheet.symbols.show_text)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on. Its own table is where undo ends, unless it is the one that was saved here just now."""
        table = Table(model, table_of(model))
        if model.id == self._kept_as:
            now = self.history.now
            self.history.add(table._replace(rows=motion_kept(table.rows, now.rows), bodies=now.bodies))
        else:
            self.history = History(table)
            self.sheet.saved.setText("")
            self.sheet.unsave.hide()
        self.sheet.save_name.set_text("")
        self._read()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.sheet.set_theme(theme)

    # -- the table ---------------------------------------------------------------------------------------

    def _typed(self, row: int, column: int, text: str) -> None:
        self._take_rows(typed(self.history.now.rows, row, column, text))

    def _add(self) -> None:
        rows = self.history.now.rows
        if len(rows) >= MOST_ROWS:
            self.said.emit(tr("no more than {most} rows", most=MOST_ROWS))
            return
        self._take_rows((*rows, new_row(rows)))

    def _away(self) -> None:
        rows, row = self.history.now.rows, max(self.sheet.table.currentRow(), -1)
        if len(rows) <= 1:
            self.said.emit(tr("one row at least stays"))
            return
        row = row if 0 <= row < len(rows) else len(rows) - 1
        self._take_rows((*rows[:row], *rows[row + 1 :]))

    def _take_rows(self, rows: tuple[Row, ...]) -> None:
        """Other texts of the same origin."""
        self.history.add(self.history.now._replace(rows=rows))
        self._read()

    def _take_bodies(self, bodies: tuple[StlBody, ...]) -> None:
        self.history.add(self.history.now._replace(bodies=bodies))
        self._read()

    def retake(self) -> None:
        """What was typed, as it is after a step back or on."""
        self._read()

    def _read(self) -> None:
        """The robot of the table; with a wrong entry the last good one stays."""
        origin, rows, bodies = self.history.now
        good, self.faults = read_table(rows, origin)
        self.sheet.table.show_rows(rows, self.faults)
        self.sheet.trouble.setText("\n".join(fault.sentence for fault in self.faults))
        self.sheet.trouble.setVisible(bool(self.faults))
        if good is None:
            return
        another = not hasattr(self, "good") or good.model != self.good.model
        self.good: Good = good
        if another:
            self.robot = Robot(good.model)
            self.sheet.set_frames(self.robot.dof)
            self.robot_changed.emit(good.model)
        self.bodies.show(bodies)
        self._chosen()

    # -- what is played ----------------------------------------------------------------------------------

    def _timed(self) -> None:
        seconds = checked(self.sheet.seconds, 0.1, LONGEST_S)
        if seconds is not None:
            self._seconds = seconds
            self._chosen()

    def _chosen(self) -> None:
        """Make anew what is played."""
        sheet, good = self.sheet, self.good
        sheet.show_choices()
        sheet.table.light(None)
        self._symbols_are_old()
        dof = self.robot.dof
        self._walk: Walk | None = None
        self.motion: JointMotion | None = None
        if sheet.played == "base to tool":
            end = dof + (good.model.tool != _IDENTITY)
            self._walk = Walk(self.robot, good.start, 0, end)
        elif sheet.played == "one row":
            row = sheet.row.currentIndex()
            self._walk = Walk(self.robot, good.start, row, row + 1)
        elif sheet.played == "joint motion":
            profile = PROFILES[sheet.profile.currentIndex()]
            self.motion = JointMotion(self.robot, good.start, good.end, profile, self._seconds)  # type: ignore[arg-type]
        self._way = self._way_lines()
        self.changed.emit()

    def _way_lines(self) -> FloatArray:
        if self._walk is not None:
            return way_lines(self._walk.way())
        if self.motion is not None:
            return way_lines(self.motion.way())
        origins = self.robot.link_frames(self.good.start)[list(self._ends()), :3, 3]
        return way_lines(origins)

    def _ends(self) -> tuple[int, int]:
        """Frames between which the matrix leads."""
        played, dof = self.sheet.played, self.robot.dof
        if played == "one row":
            return self.sheet.row.currentIndex(), self.sheet.row.currentIndex() + 1
        if played == "frame to frame":
            return self.sheet.first.currentIndex(), self.sheet.last.currentIndex()
        return 0, dof + 1

    def timeline(self) -> Timeline:
        """Of the walk or of the motion."""
        if self._walk is not None:
            return self._walk.timeline
        if self.motion is not None:
            return self.motion.timeline
        return Timeline(BETWEEN_S, (Moment(0.0), Moment(BETWEEN_S)))

    def q_at(self, time_s: float) -> tuple[float, ...]:
        """Joint values that are drawn."""
        return self.good.start if self.motion is None else tuple(self.motion.at(time_s).tolist())

    def moving(self, time_s: float) -> FloatArray:
        """The frame that moves, in the world, (4, 4)."""
        if self._walk is not None:
            return self._walk.at(time_s).pose
        frames = self.robot.link_frames(self.q_at(time_s))
        if self.motion is not None:
            return np.array(frames[-1])
        start, end = self._ends()
        return screwed(frames[start], frames[end], time_s / BETWEEN_S)

    def picture(self, time_s: float) -> Picture:
        """The arm, seen through while a frame walks along it, with its frames."""
        model = self.good.model
        frames = self.robot.link_frames(self.q_at(time_s))
        parts = tuple(body.mesh for body in self.history.now.bodies if body.link <= self.robot.dof)
        arm = Arm(model, frames, opacity=1.0 if self.motion is not None else GHOST, parts=parts)
        axes = [Frame(frames[k], label) for k, label in enumerate(_numbers(frames[:-1, :3, 3]))]
        axes.append(Frame(self.moving(time_s), "xyz", scale=1.5))
        lines = (Lines(self._way, "trace", on_top=True),)
        return Picture((arm,), tuple(axes), lines, size_m=arm_length_m(model))

    def show_moment(self, time_s: float) -> None:
        """The running cell is lit, and the matrix so far stands below."""
        self._now_s = time_s
        name, matrix = self.matrix_at(time_s)
        cell = None
        if self._walk is not None and time_s > 0.0:
            part = self._walk.at(time_s).part
            cell = None if part.column == "tool" else (part.row, COLUMNS.index(part.column))
        self.sheet.table.light(cell)
        self.sheet.matrix.show_text(matrix_text(name, matrix))

    def matrix_at(self, time_s: float) -> tuple[str, FloatArray]:
        """The matrix that is shown, and what it is."""
        start, end = (_frame_name(number, self.robot.dof) for number in self._ends())
        if self._walk is not None:
            words = self._walk.timeline.words_at(time_s) if time_s > 0.0 else ""
            done = time_s >= self._walk.timeline.duration_s
            name = f"T {start} {end}" if done else tr("product so far, {words}", words=words or tr("before the first"))
            return name, self._walk.at(time_s).product
        if self.motion is not None:
            return tr("tool in the world"), self.robot.forward_kinematics(self.q_at(time_s))
        return f"T {start} {end}", between(self.robot, self.good.start, *self._ends())

    # -- symbols -----------------------------------------------------------------------------------------

    def _symbols_are_old(self) -> None:
        self.symbols = None
        self.work.stop()
        self.sheet.symbols.hide()

    def _ask_symbols(self) -> None:
        self._symbols_are_old()
        self.sheet.symbols.show_text(tr("at work ..."))
        self.sheet.symbols.show()
        self.work.start(symbols_between, self.good.model, *self._ends(), self.sheet.lengths.isChecked())

    def _symbols_came(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.sheet.symbols.set_lines(min(symbols.text.count("\n") + 1, 14))
        self.sheet.symbols.show_text(symbols.text)
        self.changed.emit()

    # -- what is taken along -----------------------------------------------------------------------------

    def _save(self) -> None:
        """The robot as a file of the user's own."""
        field = self.sheet.save_name
        name = field.text.strip()
        trouble = tr("the table has a wrong entry: mend it first") if self.faults else ""
        field.say(trouble or self._keeper.keep(self.good.model, name))
        if field.fault.text():
            return
        self._kept_as, self._before[name] = name, self.history.now.origin
        self.robot_kept.emit(name)
        self._kept_as, self._saved = "", name
        command = fk_command(name, self.good.model, self.good.start)
        self.sheet.saved.setText(tr("saved; try: {command}, or: hil learn {name}", command=command, name=name))
        self.sheet.unsave.show()

    def _take_back(self) -> None:
        """The file of the robot that was saved last is again as it was; what is typed stays, and its undo."""
        name = self._saved
        trouble = tr("the table has a wrong entry: mend it first") if self.faults else self._keeper.take_back(name)
        self.sheet.saved.setText(trouble or tr("{name} was taken back; the table is as it was", name=name))
        if trouble:
            return
        self.sheet.unsave.hide()
        before = self._before.pop(name)
        self.history.replace(lambda table: table._replace(origin=before) if table.origin.id == name else table)
        self.robot_gone.emit(name)
        self._read()

    def _named(self) -> str:
        """What a command calls the robot."""
        return robot_word(self.good.model)

    def command_text(self) -> str:
        """As `hil fk` is typed, for the joints that are drawn; between frames where that is another matrix."""
        ends, model = self._ends(), self.good.model
        whole = ends == (0, self.robot.dof + 1) and (self.motion is not None or model.base == _IDENTITY)
        return fk_command(self._named(), model, self.q_at(self._now_s), None if whole else ends)

    def entries(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        """The matrix as text or LaTeX, and the command that writes the equations."""
        matrix = partial(self._matrix_copy, False)
        found: list[tuple[str, Callable[[], str]]] = [
            (tr("Matrix as numbers"), matrix),
            (tr("Matrix as LaTeX"), partial(self._matrix_copy, True)),
        ]
        symbols = self.symbols
        if symbols is not None:
            found += [(tr("Symbols as text"), lambda: symbols.text), (tr("Symbols as LaTeX"), lambda: symbols.latex)]
        found += [
            (tr("Command for the STL of link {number}", number=body.link), partial(getattr, body, "command"))
            for body in self.history.now.bodies
        ]
        command = tr("Command for the equations")
        options = "--what link_transforms --to latex -o equations"
        return (*found, (command, lambda: f"hil derive {shlex.quote(self._named())} {options}"))

    def _matrix_copy(self, latex: bool) -> str:
        name, matrix = self.matrix_at(self._now_s)
        if not latex:
            return matrix_text(name, matrix) + "\n"
        rows = [" & ".join(f"{value:z.6g}" for value in row) for row in matrix]
        return "\\begin{bmatrix}\n" + " \\\\\n".join(rows) + "\n\\end{bmatrix}\n"

    def data(self) -> Sheet:
        """Every sample of a motion; of a walk, the product after every part."""
        if self.motion is not None:
            return self.motion.sheet()
        heads = tuple(f"t{row}{column}" for row in range(1, 5) for column in range(1, 5))
        if self._walk is None:
            return Sheet(
                ("from", "to", *heads), [[*map(float, self._ends()), *self.matrix_at(0.0)[1].ravel().tolist()]]
            )
        rows: list[list[Any]] = []
        for moment in self._walk.timeline.moments[1:]:
            rows.append([moment.words, *self._walk.at(moment.time_s).product.ravel().tolist()])
        return Sheet(("part", *heads), rows)

    def task_text(self) -> str:
        """The joint motion, for an arm that has this robot."""
        if self.motion is None or self.good.model is not self.history.now.origin:
            return ""
        return joint_task(self.good.model, tr("Joint motion from a lesson"), self.good.start, self.good.end)

    def close(self) -> None:
        """End what works."""
        self.work.stop()
        self.bodies.work.stop()


_IDENTITY = tuple(tuple(float(row == column) for column in range(4)) for row in range(4))


def _frame_name(number: int, dof: int) -> str:
    return tr("tool") if number > dof else str(number)


def _numbers(origins: FloatArray) -> list[str]:
    """Numbers of frames; one in the place of another is written beside its number."""
    labels: list[str] = []
    for number, origin in enumerate(origins):
        before = [labels[k] for k in range(number) if np.allclose(origins[k], origin, atol=1e-9)]
        labels.append(" " * (len(before[-1]) + 1) + str(number) if before else str(number))
    return labels

"""The list of positions beside a program: typed, taught, gone to, compared, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from PySide6.QtCore import QObject, Signal

from hil.dashboard.learn.program_sheet import ProgramSheet
from hil.dashboard.texts import tr
from hil.errors import HilError
from hil.kernels.scalar import FloatArray
from hil.kinematics.poses import pose_to_xyzabc, xyzabc_to_pose
from hil.kinematics.results import IkResult
from hil.lessons.history import History
from hil.lessons.motions import xyzabc
from hil.lessons.program_text import Merged, Place, PlaceList, places_text, sorted_out, twice
from hil.units import MM

Reach = Callable[[FloatArray], IkResult]
"""Inverse kinematics from where the arm of the scene stands."""


class Places(QObject):
    """The positions, and the buttons below their table.

    Signals:
        changed: they are others.
        gone_to: joint values with which the arm of the scene stands at one.

    Args:
        sheet: with table and buttons.
        tool: pose of the tool in the scene.
        reach: joint values for a pose.
    """

    changed = Signal()
    gone_to = Signal(object)

    def __init__(self, sheet: ProgramSheet, tool: Callable[[], FloatArray], reach: Reach) -> None:
        super().__init__()
        self._sheet, self._tool, self._reach = sheet, tool, reach
        self._history: History[tuple[Place, ...]] = History(())
        self._rest: tuple[str, ...] = ()
        self._faulty = False
        sheet.place_typed.connect(self._typed)
        sheet.away.clicked.connect(self._away)
        sheet.sort.clicked.connect(self._twice)
        sheet.back.clicked.connect(self._back)
        sheet.forth.clicked.connect(self._forth)

    @property
    def now(self) -> tuple[Place, ...]:
        """As they are typed."""
        return self._history.now

    def begin(self, found: PlaceList) -> None:
        """Those of another file; undo ends here."""
        self._history, self._rest = History(found.places), found.rest
        self._sheet.show_places(self.now)

    def set(self, places: Sequence[Place]) -> None:
        """Others; undo brings those before back."""
        self._history.add(tuple(places))
        self._show()

    def text(self) -> str:
        """Of their file.

        Raises:
            CommandError: a name or a number is none.
        """
        return places_text(self.now, self._rest)

    def points_m(self) -> FloatArray:
        """Where those are that can be read, shape (N, 3)."""
        found = [[float(text) * MM for text in place.numbers[:3]] for place in self.now if _is_read(place)]
        return np.array(found).reshape(-1, 3)

    def say_fault(self, words: str) -> None:
        """What is wrong with the list, below the table; nothing takes that back, and leaves what else was said."""
        if words or self._faulty:
            self.say(words)
        self._faulty = bool(words)

    def say(self, words: str) -> None:
        """Below the table."""
        self._sheet.trouble.setText(words)

    def _back(self) -> None:
        if self._history.back():
            self._show()

    def _forth(self) -> None:
        if self._history.forth():
            self._show()

    def _show(self) -> None:
        self._sheet.show_places(self.now)
        self.changed.emit()

    def _typed(self, row: int, column: int, text: str) -> None:
        place = self.now[row]
        if column == 0:
            changed = msgspec.structs.replace(place, name=text.strip())
        else:
            numbers = (*place.numbers[: column - 1], text.strip(), *place.numbers[column:])
            changed = msgspec.structs.replace(place, numbers=numbers)
        self.set((*self.now[:row], changed, *self.now[row + 1 :]))

    def sorted_out(self, text: str) -> Merged | None:
        """Of positions that are the same place one stays; what a program has to say then. None where there are none."""
        found = sorted_out(text, [place for place in self.now if _is_read(place)])
        words = [tr("{gone} is now {name}", gone=gone, name=name) for gone, name in found.gone]
        words += [
            tr("{one} and {other} both stay: the program gives one of them another value", one=one, other=other)
            for one, other in found.kept
        ]
        gone = {name for name, _ in found.gone}
        if gone:
            self.set([place for place in self.now if place.name not in gone])
        self.say("; ".join(words) or tr("no two positions are the same place"))
        return found if gone else None

    def teach(self) -> None:
        """Where the tool of the scene is."""
        taken = {place.name.upper() for place in self.now}
        name = next(f"P{number}" for number in range(1, len(taken) + 2) if f"P{number}" not in taken)
        numbers = tuple(f"{value:.2f}" for value in xyzabc(pose_to_xyzabc(self._tool())))
        self.set((*self.now, Place(name, numbers)))

    def _away(self) -> None:
        row = self._sheet.places.currentRow()
        if 0 <= row < len(self.now):
            self.set((*self.now[:row], *self.now[row + 1 :]))

    def _twice(self) -> None:
        pairs = twice([place for place in self.now if _is_read(place)])
        words = ", ".join(f"{one} = {other}" for one, other in pairs)
        self.say(words or tr("no two positions are the same place"))

    def go(self) -> None:
        """The arm of the scene stands there, as near its present posture as it can."""
        row = self._sheet.places.currentRow()
        if not (0 <= row < len(self.now) and _is_read(self.now[row])):
            return
        found = self._reach(xyzabc_to_pose([float(text) for text in self.now[row].numbers]))
        self.say("" if found.best is not None else f"{self.now[row].name}: {found.reason}")
        if found.best is not None:
            self.gone_to.emit(found.best.q)


def _is_read(place: Place) -> bool:
    try:
        places_text([place])
        [float(text) for text in place.numbers]
    except (HilError, ValueError):
        return False
    return True

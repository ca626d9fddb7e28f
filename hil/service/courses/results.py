"""What was handed in to one course and what came of it, in SQLite; whoever wants to hear of a new result is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from hil.labs.grade_records import Mark, Marked
from hil.service.courses.course import Counts, Exercise
from hil.service.people_file import PeopleFile
from hil.types import Record

FILE = "results.sqlite"
_VERSION = 1

_SCHEMA = f"""
CREATE TABLE results (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    exercise TEXT NOT NULL,
    student TEXT NOT NULL,
    t_s REAL NOT NULL,
    source TEXT NOT NULL,
    arm TEXT NOT NULL,
    total REAL NOT NULL,
    most REAL NOT NULL,
    marked BLOB NOT NULL,
    picture BLOB NOT NULL,
    files BLOB NOT NULL
);
CREATE INDEX results_of_student ON results (student, exercise);
CREATE TABLE members (student TEXT PRIMARY KEY, since_s REAL NOT NULL);
PRAGMA user_version = {_VERSION};
"""

_COUNTED: Mapping[Counts, str] = {
    "best": "AS one WHERE number = (SELECT number FROM results AS each WHERE each.student = one.student "
    "AND each.exercise = one.exercise ORDER BY total DESC, number LIMIT 1) AND exercise = ?",
    "last": "AS one WHERE number = (SELECT MAX(number) FROM results AS each WHERE each.student = one.student "
    "AND each.exercise = one.exercise) AND exercise = ?",
}
"""Chosen by the database: nobody's heartbeat waits until all hand-ins of a class were read."""

Source = Literal["files", "arm"]


class Result(Record, frozen=True):
    """What came of one thing that a student handed in.

    Attributes:
        number: of the course's hand-ins, from 1; given by `Results.add`.
        exercise: its name in the course.
        t_epoch_s: when it was handed in, seconds since 1970.
        source: files, or a run on an arm.
        arm: which one; empty for files.
        most: marks that could be had.
        marks, refusal, notes: as `hil grade` has them.
        has_picture: there is one of the first case that fails.
    """

    number: int
    exercise: str
    student: str
    t_epoch_s: float
    source: Source
    most: float
    marks: tuple[Mark, ...]
    arm: str = ""
    refusal: str = ""
    notes: tuple[str, ...] = ()
    has_picture: bool = False

    @property
    def total(self) -> float:
        """Marks, rounded as they are reported."""
        return round(sum(mark.marks for mark in self.marks), 2)


Observer = Callable[[Result], None]


class _Row(Record, frozen=True):
    digest: str
    marks: tuple[Mark, ...]
    refusal: str
    notes: tuple[str, ...]


class Results:
    """Results of one course, and students that are in it beside those of its file. In one thread; reads no clock.

    Args:
        path: the file, made if it is not there, or `IN_MEMORY`.

    Raises:
        ConfigError: the file cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self._observers: list[Observer] = []
        # A mark that somebody was told is there after a power failure, too.
        self._file = PeopleFile(
            path,
            _SCHEMA,
            _VERSION,
            lasting=True,
            allowed="a file of results that can be written to",
            advice="If it is damaged, move it away: a new one is made",
        )

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def watch(self, observer: Observer) -> None:
        """Have every new result told, once it is kept, in this thread. An observer must neither wait nor raise."""
        self._observers.append(observer)

    # -- people ----------------------------------------------------------------------------------------------

    def enrol(self, student: str, now_epoch_s: float) -> None:
        """Somebody is in the course from now on, beside those of its file; again changes nothing."""
        with self._file.change() as base:
            base.execute("INSERT OR IGNORE INTO members VALUES (?, ?)", (student, now_epoch_s))

    def enrolled(self) -> tuple[str, ...]:
        """Who came in by `enrol`, in that order."""
        return tuple(name for (name,) in self._file.rows("SELECT student FROM members ORDER BY since_s, student"))

    def forget(self, student: str) -> int:
        """Delete all that is known of somebody; gives how many hand-ins."""
        with self._file.change() as base:
            base.execute("DELETE FROM members WHERE student = ?", (student,))
            return base.execute("DELETE FROM results WHERE student = ?", (student,)).rowcount

    # -- results ---------------------------------------------------------------------------------------------

    def add(
        self,
        exercise: Exercise,
        marked: Marked,
        *,
        t_epoch_s: float,
        arm: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """Keep what came of a hand-in, and tell those who watch.

        Args:
            exercise: of the course.
            marked: whose, and what came of it. One with a fault of the marker is nobody's result.
            t_epoch_s: when it was handed in, seconds since 1970.
            arm: on which the run was driven; empty where files were handed in.
            files: what was handed in.

        Raises:
            ConfigError: it cannot be kept.
        """
        assert not marked.fault
        row = _Row(digest=marked.digest, marks=marked.marks, refusal=marked.refusal, notes=marked.notes)
        values = (
            exercise.name,
            marked.student,
            t_epoch_s,
            "arm" if arm else "files",
            arm,
            marked.total,
            exercise.asked.marks,
            msgspec.json.encode(row),
            marked.picture,
            msgspec.msgpack.encode(dict(files or {})),
        )
        with self._file.change() as base:
            kept = base.execute(f"INSERT INTO results VALUES (NULL, {', '.join('?' * len(values))})", values)
        result = self.get(kept.lastrowid or 0)
        assert result is not None
        for observer in self._observers:
            observer(result)
        return result

    def get(self, number: int) -> Result | None:
        """One of them."""
        found = self._results("WHERE number = ?", number)
        return found[0] if found else None

    def of(self, student: str, exercise: str | None = None) -> tuple[Result, ...]:
        """All of one student, oldest first; of one exercise, if it is named."""
        if exercise is None:
            return self._results("WHERE student = ?", student)
        return self._results("WHERE student = ? AND exercise = ?", student, exercise)

    def counted(self, exercise: Exercise) -> dict[str, Result]:
        """The result that counts of each student who handed something in, by their names."""
        return {result.student: result for result in self._results(_COUNTED[exercise.counts], exercise.name)}

    def counted_of(self, student: str, exercise: Exercise) -> Result | None:
        """The one that counts of one student."""
        every = self.of(student, exercise.name)
        if not every or exercise.counts == "last":
            return every[-1] if every else None
        return max(every, key=lambda result: (result.total, -result.number))

    def marked(self, number: int) -> Marked | None:
        """The record of which tables for learning systems are made; without its picture."""
        result = self.get(number)
        if result is None:
            return None
        ((data,),) = self._file.rows("SELECT marked FROM results WHERE number = ?", number)
        row = msgspec.json.decode(data, type=_Row)
        return Marked(student=result.student, digest=row.digest, marks=row.marks, refusal=row.refusal, notes=row.notes)

    def picture(self, number: int) -> bytes:
        """A PNG; empty if there is none."""
        found = self._file.rows("SELECT picture FROM results WHERE number = ?", number)
        return bytes(found[0][0]) if found else b""

    def files(self, number: int) -> dict[str, bytes]:
        """What was handed in; empty for a run on an arm."""
        found = self._file.rows("SELECT files FROM results WHERE number = ?", number)
        return msgspec.msgpack.decode(found[0][0], type=dict[str, bytes]) if found else {}

    # -- inside ----------------------------------------------------------------------------------------------

    def _results(self, which: str, *values: object) -> tuple[Result, ...]:
        columns = "number, exercise, student, t_s, source, arm, most, marked, length(picture)"
        return tuple(map(_result, self._file.rows(f"SELECT {columns} FROM results {which} ORDER BY number", *values)))


def _result(row: Sequence[Any]) -> Result:
    number, exercise, student, t_s, source, arm, most, marked, picture_bytes = row
    kept = msgspec.json.decode(marked, type=_Row)
    return Result(
        number=number,
        exercise=exercise,
        student=student,
        t_epoch_s=t_s,
        source=source,
        most=most,
        marks=kept.marks,
        arm=arm,
        refusal=kept.refusal,
        notes=kept.notes,
        has_picture=picture_bytes > 0,
    )

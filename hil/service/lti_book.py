"""Who comes from a learning system, under which name, and the marks that it is still to be told; in SQLite.

A mark is written down before anything is sent, and crossed out after the system has said that it has it. What is sent
twice, after a crash between the two, carries the same time: a system takes it for the one that it has.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from hil.errors import CommandError
from hil.service.people_file import PeopleFile
from hil.types import Record

_VERSION = 1

_SCHEMA = f"""
CREATE TABLE people (
    name TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    subject TEXT NOT NULL,
    seen_s REAL NOT NULL
);
CREATE TABLE places (
    name TEXT NOT NULL REFERENCES people ON DELETE CASCADE,
    exercise TEXT NOT NULL,
    link TEXT NOT NULL,
    service BLOB NOT NULL,
    PRIMARY KEY (name, exercise)
);
CREATE TABLE marks (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL REFERENCES people ON DELETE CASCADE,
    exercise TEXT NOT NULL,
    points REAL NOT NULL,
    most REAL NOT NULL,
    stamp_s INTEGER NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    words TEXT NOT NULL DEFAULT '',
    UNIQUE (name, exercise, stamp_s)
);
PRAGMA user_version = {_VERSION};
"""


_NONE_WAITS = "name NOT IN (SELECT name FROM marks JOIN places USING (name, exercise) WHERE state = 'waiting')"


class MarkState(Enum):
    """How far a mark is."""

    WAITING = "waiting"
    SENT = "sent"
    OLDER = "older"
    """A newer one of the same person and exercise has taken its place before it was sent."""
    REFUSED = "refused"
    """The system does not want it; it is tried anew when that person opens the activity again."""


class Mark(Record, frozen=True):
    """What an exercise was worth; the newest one of a person and an exercise counts.

    Attributes:
        id: of the result; the same result may be told again.
        student: name of the person here.
        exercise: of which course, as `COURSE/EXERCISE`.
        points: given.
        most: that there are.
        marked_s: when, seconds since 1970.

    Raises:
        CommandError: the points are no share of the most.
    """

    id: str
    student: str
    exercise: str
    points: float
    most: float
    marked_s: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.marked_s) and 0.0 <= self.points <= self.most < math.inf and self.most > 0.0):
            allowed = "0 to the most that there are, above 0, at a time"
            raise CommandError(f"mark: {self.points!r} of {self.most!r} given; allowed: {allowed}")


class Errand(Record, frozen=True):
    """One mark on its way.

    Attributes:
        stamp_s: the time that it carries, seconds since 1970: whole ones, since some systems keep no parts, and another
            for each mark of a person and an exercise.
        tries: how often it was sent without a clear answer.
        service: where it goes, as the system said it.
    """

    id: str
    name: str
    platform: str
    subject: str
    exercise: str
    link: str
    points: float
    most: float
    stamp_s: int
    tries: int
    service: dict[str, Any]


class MarkLine(Record, frozen=True):
    """One mark, for whoever looks at the list."""

    name: str
    subject: str
    exercise: str
    points: float
    most: float
    stamp_s: int
    state: MarkState
    words: str


def person_name(platform: str, issuer: str, subject: str) -> str:
    """What somebody is called here: always the same, told from all others, and no name that people know.

    Args:
        platform: the short name of the learning system.
        issuer: what that system calls itself.
        subject: what it calls the person.
    """
    digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()
    return f"{platform}-{digest[:16]}"


class LtiBook:
    """The file. Every call takes the time; nothing here reads a clock. Threads may share it.

    Args:
        path: made for its owner alone, if it is not there.

    Raises:
        ConfigError: it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        # A mark is given once: after a power failure it has to be there.
        self._file = PeopleFile(
            path, _SCHEMA, _VERSION, lasting=True, allowed="a file that can be written to", shared=True
        )

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # -- who comes -------------------------------------------------------------------------------------------

    def came(self, name: str, platform: str, subject: str, now_s: float) -> None:
        """Somebody came from a course page."""
        with self._file.change() as base:
            base.execute(
                "INSERT INTO people VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET seen_s = excluded.seen_s",
                (name, platform, subject, now_s),
            )

    def place(self, name: str, exercise: str, link: str, service: dict[str, Any]) -> None:
        """Where the marks of this person for an exercise go from now on; those that were refused are tried anew."""
        with self._file.change() as base:
            base.execute(
                "INSERT INTO places VALUES (?, ?, ?, ?) ON CONFLICT (name, exercise) "
                "DO UPDATE SET link = excluded.link, service = excluded.service",
                (name, exercise, link, msgspec.json.encode(service)),
            )
            base.execute(
                "UPDATE marks SET state = 'waiting', words = '' WHERE name = ? AND exercise = ? AND state = 'refused' "
                "AND stamp_s = (SELECT max(stamp_s) FROM marks WHERE name = ? AND exercise = ?)",
                (name, exercise, name, exercise),
            )

    def knows(self, name: str) -> bool:
        """Whether this person comes from a learning system."""
        return bool(self._file.rows("SELECT 1 FROM people WHERE name = ?", name))

    # -- marks -----------------------------------------------------------------------------------------------

    def add(self, mark: Mark) -> bool:
        """Write a mark down; gives whether it is news. Of people who come by other ways nothing is kept."""
        with self._file.change() as base:
            if not self.knows(mark.student) or self._file.rows("SELECT 1 FROM marks WHERE id = ?", mark.id):
                return False
            of_both = (mark.student, mark.exercise)
            ((newest_s,),) = self._file.rows(
                "SELECT coalesce(max(stamp_s), 0) FROM marks WHERE name = ? AND exercise = ?", *of_both
            )
            # Two within one second, or a clock that was set back, must not look like one and its past.
            stamp_s = max(math.floor(mark.marked_s), newest_s + 1)
            base.execute(
                "UPDATE marks SET state = 'older' WHERE name = ? AND exercise = ? AND state IN ('waiting', 'refused')",
                of_both,
            )
            base.execute(
                "INSERT INTO marks (id, name, exercise, points, most, stamp_s, state) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (mark.id, *of_both, mark.points, mark.most, stamp_s, MarkState.WAITING.value),
            )
        return True

    def errands(self, most: int) -> tuple[Errand, ...]:
        """Marks that wait, of people whose activity takes marks: first those that were tried least, then the oldest."""
        rows = self._file.rows(
            "SELECT marks.id, marks.name, platform, subject, exercise, link, points, most, stamp_s, tries, service "
            "FROM marks JOIN people USING (name) JOIN places USING (name, exercise) "
            "WHERE state = 'waiting' ORDER BY tries, stamp_s, marks.id LIMIT ?",
            most,
        )
        fields = Errand.__struct_fields__[:-1]
        return tuple(
            Errand(**dict(zip(fields, row[:-1], strict=True)), service=msgspec.json.decode(row[-1])) for row in rows
        )

    def trying(self, mark_id: str) -> None:
        """It is sent now: whether it arrived may never be known."""
        with self._file.change() as base:
            base.execute("UPDATE marks SET tries = tries + 1 WHERE id = ?", (mark_id,))

    def note(self, mark_id: str, state: MarkState, words: str = "") -> None:
        """How it went; one that a newer mark has replaced meanwhile stays so."""
        with self._file.change() as base:
            base.execute(
                "UPDATE marks SET state = ?, words = ? WHERE id = ? AND (state != 'older' OR ? = 'sent')",
                (state.value, words[:300], mark_id, state.value),
            )

    def lines(self) -> tuple[MarkLine, ...]:
        """All marks, the newest last."""
        rows = self._file.rows(
            "SELECT name, subject, exercise, points, most, stamp_s, state, "
            "CASE WHEN state = 'waiting' AND service IS NULL THEN 'the activity takes no marks' ELSE words END "
            "FROM marks JOIN people USING (name) LEFT JOIN places USING (name, exercise) ORDER BY stamp_s, marks.id"
        )
        return tuple(
            MarkLine(
                name=name, subject=subject, exercise=exercise, points=points, most=most, stamp_s=stamp_s,
                state=MarkState(state), words=words,
            )
            for name, subject, exercise, points, most, stamp_s, state, words in rows
        )  # fmt: skip

    # -- what is kept about people ---------------------------------------------------------------------------

    def forget_before(self, epoch_s: float) -> int:
        """Delete people who were not here since then, with their marks, but not while one waits; gives how many."""
        with self._file.change() as base:
            return base.execute(f"DELETE FROM people WHERE seen_s < ? AND {_NONE_WAITS}", (epoch_s,)).rowcount

    def forget_user(self, name: str) -> int:
        """Delete everything about one person, marks that wait included; gives how many people."""
        with self._file.change() as base:
            return base.execute("DELETE FROM people WHERE name = ?", (name,)).rowcount

    def forget_others(self, names: Collection[str]) -> int:
        """Delete all people but these, and but those of whom a mark waits; gives how many."""
        with self._file.change() as base:
            gone = [
                name for (name,) in self._file.rows(f"SELECT name FROM people WHERE {_NONE_WAITS}") if name not in names
            ]
            base.executemany("DELETE FROM people WHERE name = ?", [(name,) for name in gone])
            return len(gone)

"""What is said over HTTP about courses; docs/protocol.md lists the paths."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hil.service.wire import MAX_UPLOAD_BYTES, Name
from hil.types import Record

MOST_FILES = 100
FileName = Annotated[str, Meta(min_length=1, max_length=255)]


class HandInWish(Record, frozen=True, kw_only=True):
    """Something that is handed in: files, or the newest run of the asker on an arm.

    Attributes:
        files: their bytes (base64 in JSON) by their names.
        arm: where the run was; None for files.
    """

    v: Literal[1] = 1
    files: Annotated[dict[FileName, bytes], Meta(max_length=MOST_FILES)] = msgspec.field(default_factory=dict)
    arm: Name | None = None


class TableWish(Record, frozen=True, kw_only=True):
    """A table of marks.

    Attributes:
        kind: a column for each predicate (``csv``), or what a learning system takes.
        roster: Moodle's grading worksheet or Canvas's gradebook, to be filled in; empty for none.
    """

    v: Literal[1] = 1
    kind: Literal["csv", "moodle", "canvas"]
    roster: Annotated[str, Meta(max_length=MAX_UPLOAD_BYTES)] = ""


class AskedRow(Record, frozen=True):
    """One predicate or answer: what it is called, what it is worth, and what is asked, if it is a question."""

    name: str
    marks: float
    ask: str = ""


class ResultBrief(Record, frozen=True, kw_only=True):
    """One hand-in, in a line.

    Attributes:
        source: ``files`` or ``arm``.
        refusal: why it was not marked; empty if it was.
        counts: it is the one that counts.
    """

    number: int
    exercise: str
    student: str
    t_epoch_s: float
    source: str
    total: float
    most: float
    arm: str = ""
    refusal: str = ""
    counts: bool = False


class MarkRow(Record, frozen=True, kw_only=True):
    """One predicate or answer, marked: as `hil grade` has it.

    Attributes:
        case: number of the first case that fails, from 1; 0 if all hold.
        sample, time_s, tool_mm: the first that fails there.
    """

    name: str
    marks: float
    most: float
    words: str
    held: int
    cases: int
    case: int = 0
    sample: int | None = None
    time_s: float | None = None
    tool_mm: tuple[float, float, float] | None = None


class ResultFull(Record, frozen=True, kw_only=True):
    """One hand-in with all that was found."""

    brief: ResultBrief
    marks: tuple[MarkRow, ...]
    notes: tuple[str, ...] = ()
    picture: bool = False
    v: Literal[1] = 1


class ExerciseBrief(Record, frozen=True, kw_only=True):
    """An exercise, as somebody sees it who may hand something in.

    Attributes:
        files: names, of which one has to be handed in.
        rows: what counts.
        arms: those whose runs count.
        opens_epoch_s, closes_epoch_s: None for always.
        why_closed: why nothing can be handed in now; empty if it can.
        tries, used: how often one may hand in, and has.
        numbers: this person's own, of every case.
        counted: the marks that count so far; None for none.
    """

    name: str
    title: str
    aim: str
    most: float
    kind: str
    files: tuple[str, ...]
    rows: tuple[AskedRow, ...]
    arms: tuple[str, ...]
    opens_epoch_s: float | None
    closes_epoch_s: float | None
    why_closed: str
    tries: int
    counts: str
    used: int = 0
    numbers: tuple[dict[str, float], ...] = ()
    counted: float | None = None


class CourseBrief(Record, frozen=True, kw_only=True):
    """A course, and as what the asker is in it.

    Attributes:
        role: ``student`` or ``teacher``.
    """

    id: str
    title: str
    role: str
    exercises: tuple[ExerciseBrief, ...]


class CourseList(Record, frozen=True, kw_only=True):
    """The courses that somebody is in."""

    courses: tuple[CourseBrief, ...]
    v: Literal[1] = 1


class ResultList(Record, frozen=True, kw_only=True):
    """Hand-ins of one person to one exercise, oldest first."""

    results: tuple[ResultBrief, ...]
    v: Literal[1] = 1


class ClassRow(Record, frozen=True):
    """One student: the result that counts of each exercise, in their order; None where nothing was handed in."""

    student: str
    results: tuple[ResultBrief | None, ...]


class ClassList(Record, frozen=True, kw_only=True):
    """A class, for its teacher."""

    exercises: tuple[str, ...]
    students: tuple[ClassRow, ...]
    v: Literal[1] = 1


class Table(Record, frozen=True, kw_only=True):
    """A table for a file, and what whoever reads it should know."""

    name: str
    text: str
    told: tuple[str, ...] = ()
    v: Literal[1] = 1

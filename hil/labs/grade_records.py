"""What is marked and what comes of it: records that cross between the marker, its servers and other computers."""

from __future__ import annotations

import hashlib

import msgspec

from hil.labs.exercise import Exercise
from hil.types import Record


class Submission(Record, frozen=True):
    """What one student has handed in, as it was read at the door.

    Attributes:
        student: name of the folder or file, as the course's own system gave it.
        files: text and tables by their names; nothing else is read.
        refusal: why it is not marked at all; empty if it is.
        notes: what was not looked at, and why.
    """

    student: str
    files: dict[str, bytes] = msgspec.field(default_factory=dict)
    refusal: str = ""
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        total = hashlib.sha256(f"{self.refusal}\n".encode())
        for name in sorted(self.files):
            total.update(f"{name}\n{len(self.files[name])}\n".encode() + self.files[name])
        return total.hexdigest()


class Mark(Record, frozen=True):
    """What one predicate, or one answer, was worth.

    Attributes:
        marks, most: had, and to be had.
        held: in how many of `cases`.
        words: of the first case that fails, else of the first.
        case: number of that case, from 1; 0 if all hold.
        sample: the first that fails there; None if none is concerned.
        time_s, tool_mm: of that sample.
    """

    name: str
    marks: float
    most: float
    held: int
    cases: int
    words: str
    case: int = 0
    sample: int | None = None
    time_s: float | None = None
    tool_mm: tuple[float, float, float] | None = None


class Marked(Record, frozen=True):
    """One submission, marked.

    Attributes:
        digest: of what was handed in.
        marks: one for each predicate and answer; all of them none where it was refused.
        refusal: why it was not marked; empty if it was.
        notes: for the student and the teacher.
        picture: a PNG of the first case that fails; empty if there is none.
        fault: it was the marker that failed, and not the student: this is not kept, and not the last word.
    """

    student: str
    digest: str
    marks: tuple[Mark, ...]
    refusal: str = ""
    notes: tuple[str, ...] = ()
    picture: bytes = b""
    fault: bool = False

    @property
    def total(self) -> float:
        """Marks, rounded as they are reported."""
        return round(sum(mark.marks for mark in self.marks), 2)


class Setup(Record, frozen=True):
    """What is the same for all submissions.

    Attributes:
        seed: of the hidden cases; None for the exercise's own.
        pictures: whether they are drawn.
    """

    exercise: Exercise
    seed: int | None = None
    pictures: bool = True


MOST_LETTERS = 4000
"""Of a refusal: what is quoted in it may be all that was handed in."""


def printable(text: str) -> str:
    """Text without what no terminal, table or file of UTF-8 takes; lines stay lines."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def refused(exercise: Exercise, submission: Submission, refusal: str) -> Marked:
    """Nothing but the refusal, as much of it as anybody reads."""
    if len(refusal) > MOST_LETTERS:
        refusal = f"{refusal[:MOST_LETTERS]} ... and {len(refusal) - MOST_LETTERS} letters more"
    rows = (*exercise.predicates, *exercise.answers)
    none = tuple(
        Mark(name=row.name, marks=0.0, most=row.marks, held=0, cases=exercise.variants.count, words="not marked")
        for row in rows
    )
    return Marked(
        student=submission.student,
        digest=submission.digest,
        marks=none,
        refusal=printable(refusal),
        notes=submission.notes,
    )

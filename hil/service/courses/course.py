"""A course: a folder of a lab with `course.toml`: title, people, exercises, dates. docs/courses.md has all keys."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hil.errors import CommandError, ConfigError
from hil.findings import Findings
from hil.labs.exercise import Exercise as Asked
from hil.labs.exercise import list_exercises, load_exercise
from hil.labs.grade_run import prepared
from hil.model.files import parse_toml
from hil.runtime.wiring import load_rig
from hil.service.grants import check_user
from hil.service.rosters import read_roster
from hil.service.settings import COURSES
from hil.tables import closest
from hil.types import Record

FILE = "course.toml"
MOST_FILE_BYTES = 1_000_000
MOST_EXERCISES = 100
DRIVEN = ("task", "program")
"""Kinds of what is handed in that an arm can run."""

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,39}$")]
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Tries = Annotated[int, Meta(ge=1, le=1000)]
Counts = Literal["best", "last"]

TRIES = 20


class _Row(Record, frozen=True):
    name: Text
    arms: tuple[Text, ...] | None = None
    opens: Text | None = None
    closes: Text | None = None
    tries: Tries | None = None
    counts: Counts | None = None
    seed: int | None = None


class _Table(Record, frozen=True):
    title: Text
    roster: Text | None = None
    students: tuple[str, ...] = ()
    teachers: tuple[str, ...] = ()
    arms: tuple[Text, ...] = ()
    opens: Text | None = None
    closes: Text | None = None
    tries: Tries = TRIES
    counts: Counts = "best"
    exercise: list[_Row] = msgspec.field(default_factory=list)


class Exercise(Record, frozen=True):
    """One exercise of a course.

    Attributes:
        name: in the course, as in its page and commands.
        asked: what is to be done, and what counts how much.
        arms: those whose runs count as handed in; empty if only files do.
        opens_s, closes_s: from and until when something can be handed in, seconds since 1970; None for always.
        tries: how often one student may hand in.
        counts: which of several does.
        seed: of the hidden numbers; None for the exercise's own.
    """

    name: str
    asked: Asked
    arms: tuple[str, ...] = ()
    opens_s: float | None = None
    closes_s: float | None = None
    tries: int = TRIES
    counts: Counts = "best"
    seed: int | None = None

    def why_closed(self, now_epoch_s: float) -> str:
        """Why nothing can be handed in at that time, in words; empty if it can."""
        if self.opens_s is not None and now_epoch_s < self.opens_s:
            return f"{self.name} opens at {_clock(self.opens_s)}"
        if self.closes_s is not None and now_epoch_s >= self.closes_s:
            return f"{self.name} has closed at {_clock(self.closes_s)}"
        return ""


class Course(Record, frozen=True):
    """A course as its file has it.

    Attributes:
        id: name of its folder.
        students: names as their tokens have them.
        teachers: those who see the class and its marks, of all with the role; empty for every one of them.
    """

    id: str
    title: str
    students: tuple[str, ...]
    exercises: tuple[Exercise, ...]
    teachers: tuple[str, ...] = ()

    def taught_by(self, teacher: str) -> bool:
        """Whether somebody with a teacher's role sees its class."""
        return not self.teachers or teacher in self.teachers

    def exercise(self, name: str) -> Exercise:
        """One of them.

        Raises:
            CommandError: there is none of that name.
        """
        for each in self.exercises:
            if each.name == name:
                return each
        known = [each.name for each in self.exercises]
        meant = closest(name, known)
        advice = f". Did you mean {meant!r}?" if meant else ""
        allowed = ", ".join(known)
        raise CommandError(f"exercise {name!r} given; {self.id} has: {allowed}{advice}", value=name, allowed=allowed)


def load_course(folder: Path, arms: Mapping[str, str]) -> Course:
    """Read a course.

    Args:
        folder: where `course.toml` is.
        arms: the lab's, each with the name of its robot.

    Raises:
        ConfigError: something in it is wrong; all faults of the file at once.
    """
    path = folder / FILE
    table = parse_toml(_read(path), str(path))
    return course_from_table(table, folder, arms)


def course_from_table(table: Mapping[str, Any], folder: Path, arms: Mapping[str, str]) -> Course:
    """Turn a parsed `course.toml` into a course; arguments and errors as for `load_course`."""
    file = str(folder / FILE)
    findings = Findings(file, table)
    findings.not_finite(table)
    top = findings.read(table, _Table)
    known = [row.name for row in top.exercise]
    if not top.exercise or len(known) > MOST_EXERCISES:
        findings.say("exercise", len(known) or None, f"1 to {MOST_EXERCISES} [[exercise]] tables")
    exercises = []
    if findings.sound("exercise", "arms", "opens", "closes", "tries", "counts"):
        found = [_exercise(row, k, top, folder, arms, findings) for k, row in enumerate(top.exercise)]
        exercises = [each for each in found if each is not None]
        names = [each.name for each in exercises]
        for k, each in enumerate(exercises):
            if each.name in names[:k]:
                findings.say(f"exercise.{k}.name", each.name, "a name that no other one has")
    students = _students(top, folder, arms, findings)
    for k, name in enumerate(top.teachers):
        _check_name(name, f"teachers.{k}", findings)
    findings.stop()
    return Course(id=folder.name, title=top.title, students=students, exercises=tuple(exercises), teachers=top.teachers)


def _students(top: _Table, folder: Path, arms: Mapping[str, str], findings: Findings) -> tuple[str, ...]:
    found: list[str] = []
    for k, name in enumerate(top.students):
        _check_name(name, f"students.{k}", findings)
        found.append(name)
    if top.roster is not None:
        if _leads_out(top.roster):
            findings.say("roster", top.roster, "the name of a file in the course's own folder")
        else:
            path = folder / top.roster
            rows = findings.gather(lambda: read_roster(_read(path), str(path), list(arms)))
            found += [row.user for row in rows or () if row.role is None or row.role.value in ("drive", "watch")]
    return tuple(dict.fromkeys(found))


def _check_name(name: str, key: str, findings: Findings) -> None:
    try:
        check_user(name)
    except CommandError as error:
        findings.say(key, name, error.allowed)


def _exercise(
    row: _Row, number: int, top: _Table, folder: Path, arms: Mapping[str, str], findings: Findings
) -> Exercise | None:
    prefix = f"exercise.{number}"
    asked = findings.gather(lambda: _asked(row.name, folder, f"{prefix}.name"))
    opens_s = _moment(row.opens or top.opens, f"{prefix}.opens" if row.opens else "opens", findings, end=False)
    closes_s = _moment(row.closes or top.closes, f"{prefix}.closes" if row.closes else "closes", findings, end=True)
    if opens_s is not None and closes_s is not None and closes_s <= opens_s:
        findings.say(f"{prefix}.closes", row.closes or top.closes, "a moment after it opens")
    if asked is None:
        return None
    driven = _driven(row, prefix, asked, top, arms, findings)
    return Exercise(
        name=asked.id,
        asked=asked,
        arms=driven,
        opens_s=opens_s,
        closes_s=closes_s,
        tries=top.tries if row.tries is None else row.tries,
        counts=row.counts or top.counts,
        seed=row.seed,
    )


def _driven(
    row: _Row, prefix: str, asked: Asked, top: _Table, arms: Mapping[str, str], findings: Findings
) -> tuple[str, ...]:
    """The arms whose runs count: those of the exercise, or as many of the course's as can do it."""
    wanted, key = (top.arms, "arms") if row.arms is None else (row.arms, f"{prefix}.arms")
    for arm in wanted:
        if arm not in arms:
            findings.say(key, arm, f"arms of the lab: {', '.join(arms)}")
    why = why_not_driven(asked)
    if not why and wanted:
        assert asked.rig is not None
        robot = load_rig(asked.rig, calibrated=False).robot.id
        able = tuple(arm for arm in wanted if arms.get(arm) == robot)
        why = "" if able == tuple(wanted) else f"{asked.id} is for arms that are a {robot}"
    else:
        able = ()
    if row.arms and why:
        findings.say(key, row.arms, f"none of that kind: {why}")
    return able


def why_not_driven(asked: Asked) -> str:
    """Why a run of an arm cannot stand for what is handed in; empty if it can."""
    if asked.hand_in.kind not in DRIVEN:
        return f"{asked.id} hands in a file of kind {asked.hand_in.kind}, which no arm runs"
    if asked.rig_changes:
        return f"{asked.id} changes its rig, and no arm of the lab is so"
    if any(getattr(each, "hand", None) is not None for each in asked.predicates):
        return f"{asked.id} asks for hand 1 of a program, which stands in no journal"
    return ""


def _asked(name: str, folder: Path, key: str) -> Asked:
    """A bundled exercise, or one whose file lies in the course's folder."""
    if name.removesuffix(".toml") in list_exercises() and not (folder / name).is_file():
        return _ready(load_exercise(name.removesuffix(".toml")))
    path = folder / name
    if _leads_out(name) or not path.is_file():
        names = ", ".join(list_exercises())
        raise ConfigError(str(folder / FILE), key, name, f"a TOML file in the course's own folder, or one of: {names}")
    return _ready(load_exercise(path))


def _ready(asked: Asked) -> Asked:
    """The exercise, once all that it names was found and can do what it asks: no student learns of its faults."""
    prepared(asked)
    return asked


def _leads_out(name: str) -> bool:
    return Path(name).name != name or name in ("", ".", "..")


def _moment(text: str | None, key: str, findings: Findings, *, end: bool) -> float | None:
    """Seconds since 1970; a day alone means its beginning, or its end."""
    if text is None:
        return None
    try:
        given = datetime.datetime.fromisoformat(text.strip())
        if end and len(text.strip()) == len("2026-01-31"):
            given += datetime.timedelta(days=1)
        return given.timestamp()
    except (ValueError, OverflowError, OSError):
        findings.say(key, text, "a time of this computer, as 2026-01-31 or '2026-01-31 14:30'")
        return None


def _clock(epoch_s: float) -> str:
    return f"{datetime.datetime.fromtimestamp(epoch_s).astimezone():%Y-%m-%d %H:%M %Z}"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
    if len(data) > MOST_FILE_BYTES:
        raise ConfigError(str(path), "file", "more", f"at most {MOST_FILE_BYTES} bytes")
    return data


def list_courses(lab: Path) -> tuple[Path, ...]:
    """Folders of the courses of a lab's folder."""
    return tuple(sorted(path.parent for path in (lab / COURSES).glob(f"*/{FILE}")))


def check_id(name: str) -> None:
    """Refuse what cannot be a course's name.

    Raises:
        CommandError: such a name.
    """
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        allowed = "1 to 40 letters, digits and hyphens"
        raise CommandError(f"course {name!r} given; allowed: {allowed}", value=name, allowed=allowed) from None

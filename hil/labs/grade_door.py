"""What has been handed in, read at the door: small plain files of known kinds, and nothing that leads elsewhere."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hil.errors import ConfigError
from hil.labs.exercise import FUNCTION_FILE, Exercise
from hil.labs.grade_records import Submission, printable

READ = (".toml", ".py", ".mb4", ".mb5", ".prg", ".pos", ".csv", ".txt")
"""Endings of files that are read."""

JOURNALS = (".mcap",)

JOURNAL = "{} was not looked at: no journal that is handed in counts, everything is run again"

MOST_FILE_BYTES = 1_000_000
MOST_BYTES = 4_000_000
MOST_FILES = 40
MOST_ENTRIES = 1000
"""Of one folder, with what is not read: each is looked at, and told."""

MOST_STUDENTS = 10_000
MOST_LETTERS = 120
"""Of a name; more of it is not shown."""

_MOODLE = re.compile(r"^(?P<name>.+)_(?P<number>\d+)_assignsubmission_(file|onlinetext)_?$")
_CANVAS = re.compile(r"^(?P<name>[^_]+)_(LATE_)?(?P<number>\d+)_\d+_(?P<file>.+?)(?:-\d+)?(?P<ending>\.[A-Za-z0-9]+)$")
_NAME = re.compile(r"^[\w][\w. -]{0,79}$")


def read_submissions(folder: Path, exercise: Exercise) -> list[Submission]:
    """Read everything that was handed in.

    Args:
        folder: holds a folder for each student, as Moodle gives them too; or files that begin with a student's name, as
            Canvas gives them; or it is the only submission itself.
        exercise: says which file is looked for.

    Raises:
        ConfigError: there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise ConfigError("submissions", "folder", str(folder), "a folder with a folder for each student")
    wanted = wanted_files(exercise)
    if any((folder / name).is_file() for name in wanted):
        own = folder.resolve()
        return [_of_folders(own.name, own.parent, [own.name])]
    entries = sorted(name for name in os.listdir(folder) if not name.startswith(".") or _MOODLE.match(name))
    folders = [name for name in entries if stat.S_ISDIR(os.lstat(folder / name).st_mode)]
    links = [name for name in entries if (folder / name).is_symlink() and (folder / name).is_dir()]
    # All three: nobody's is left out without a word because something else lies beside it.
    each = [*_by_participant(folder, folders), *map(_of_link, links), *_flat(folder, entries)]
    found = _told_apart(each)
    if not found or len(found) > MOST_STUDENTS:
        raise ConfigError(
            "submissions",
            "folder",
            str(folder),
            f"1 to {MOST_STUDENTS} submissions: a folder for each student with {' or '.join(wanted)} in it",
        )
    return found


def wanted_files(exercise: Exercise) -> tuple[str, ...]:
    """Names of the files of which one has to be there."""
    hand_in = exercise.hand_in
    return (hand_in.name, FUNCTION_FILE) if hand_in.kind == "task" and hand_in.function else (hand_in.name,)


def moodle_name(folder: str) -> str:
    """The student's name in the name of a folder that Moodle made; any other name as it is."""
    found = _MOODLE.match(folder)
    return found["name"] if found else folder


def moodle_number(folder: str) -> str:
    """The participant's number in the name of such a folder; empty if there is none."""
    found = _MOODLE.match(folder)
    return found["number"] if found else ""


def _by_participant(folder: Path, names: Sequence[str]) -> Iterator[Submission]:
    """A submission for each folder; Moodle makes two for one student: of files, and of a text typed there."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        found = _MOODLE.match(name)
        groups.setdefault((found["name"], found["number"]) if found else (name,), []).append(name)
    for group in groups.values():
        yield _of_folders(group[0], folder, group)


def _told_apart(found: Sequence[Submission]) -> list[Submission]:
    """Each under a name of its own: what made two of them different may be what cannot be shown."""
    taken: set[str] = set()
    apart = []
    for each in found:
        name, count = each.student, 1
        while name in taken:
            count += 1
            name = f"{each.student} ({count})"
        taken.add(name)
        apart.append(msgspec.structs.replace(each, student=name))
    return apart


def _of_link(name: str) -> Submission:
    return Submission(student=told(name), refusal="it is a link to another folder; allowed: the folder itself")


def _flat(folder: Path, entries: Sequence[str]) -> Iterator[Submission]:
    """Files side by side, as Canvas gives them: the student's name, two numbers, and the file's own name."""
    by_student: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for entry in entries:
        found = _CANVAS.match(entry)
        if found and not (folder / entry).is_dir():
            own = f"{found['file']}{found['ending']}"
            by_student.setdefault((found["name"], found["number"]), []).append((entry, own))
    names = [name for name, _ in by_student]
    for (name, number), files in sorted(by_student.items()):
        student = name if names.count(name) == 1 else f"{name}_{number}"
        yield _submission(student, folder, [entry for entry, _ in files], [own for _, own in files])


def told(name: str) -> str:
    """A name as it is shown and written: without what no text, terminal or file of UTF-8 takes."""
    return printable(name[:MOST_LETTERS].replace("\n", "\N{REPLACEMENT CHARACTER}"))


def _of_folders(student: str, folder: Path, folders: Sequence[str]) -> Submission:
    entries: list[str] = []
    own_names: list[str] = []
    for each in folders:
        try:
            names = sorted(os.listdir(folder / each))
        except OSError as error:
            return Submission(student=told(student), refusal=f"the folder cannot be read: {error.strerror}")
        if len(names) > MOST_ENTRIES:
            return Submission(
                student=told(student), refusal=f"the folder holds {len(names)} files; allowed: at most {MOST_ENTRIES}"
            )
        names = [name for name in names if name not in own_names]
        entries += [os.path.join(each, name) for name in names]
        own_names += names
    return _submission(student, folder, entries, own_names)


def _submission(student: str, folder: Path, entries: Sequence[str], own_names: Sequence[str]) -> Submission:
    """Read one; anything odd is a refusal of this one alone."""
    student = told(student)
    files: dict[str, bytes] = {}
    notes: list[str] = []
    total = 0
    for entry, own_name in zip(entries, own_names or entries, strict=True):
        name = told(own_name)
        if name.startswith("."):
            continue
        ending = Path(name).suffix.lower()
        if ending in JOURNALS:
            notes.append(JOURNAL.format(name))
            continue
        try:
            found = os.lstat(folder / entry)
        except OSError as error:
            return Submission(student=student, refusal=f"{name} cannot be read: {error.strerror}")
        refusal = _odd(name, found)
        if refusal:
            return Submission(student=student, refusal=refusal, notes=tuple(notes))
        if ending not in READ or not _NAME.match(name):
            notes.append(f"{name[:80]!r} was not looked at; read are {' '.join(READ)}")
            continue
        total += found.st_size
        if len(files) >= MOST_FILES or total > MOST_BYTES:
            refusal = f"more than {MOST_FILES} files or {MOST_BYTES} bytes are handed in; allowed: fewer"
            return Submission(student=student, refusal=refusal, notes=tuple(notes))
        try:
            files[name] = _plain_file(folder / entry)
        except OSError as error:
            return Submission(student=student, refusal=f"{name} cannot be read: {error.strerror}", notes=tuple(notes))
    return Submission(student=student, files=files, notes=tuple(notes))


def submission_of(student: str, files: Mapping[str, bytes]) -> Submission:
    """What came otherwise than in a folder, under the same rules.

    Args:
        student: whose it is.
        files: by their names.
    """
    kept: dict[str, bytes] = {}
    notes: list[str] = []

    def refused(words: str) -> Submission:
        return Submission(student=student, refusal=words, notes=tuple(notes))

    for given, data in files.items():
        name = told(given)
        ending = Path(name).suffix.lower()
        if ending in JOURNALS:
            notes.append(JOURNAL.format(name))
        elif ending not in READ or not _NAME.match(name):
            notes.append(f"{name[:80]!r} was not looked at; read are {' '.join(READ)}")
        elif len(data) > MOST_FILE_BYTES:
            return refused(f"{name} holds {len(data)} bytes; allowed: {MOST_FILE_BYTES}")
        else:
            kept[name] = data
        if len(kept) > MOST_FILES or sum(map(len, kept.values())) > MOST_BYTES:
            return refused(f"more than {MOST_FILES} files or {MOST_BYTES} bytes are handed in; allowed: fewer")
    return Submission(student=student, files=kept, notes=tuple(notes))


def _odd(name: str, found: os.stat_result) -> str:
    """Why this cannot be a file that a student hands in; empty if it can."""
    if stat.S_ISDIR(found.st_mode):
        return ""
    if not stat.S_ISREG(found.st_mode):
        kind = "a link to another file" if stat.S_ISLNK(found.st_mode) else "no plain file"
        return f"{name} is {kind}; allowed: the file itself"
    if found.st_size > MOST_FILE_BYTES:
        return f"{name} holds {found.st_size} bytes; allowed: {MOST_FILE_BYTES}"
    return ""


def _plain_file(path: Path) -> bytes:
    """Its bytes; what was put in its place since it was looked at is not followed, nor waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(path, flags)
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(0, "it is no plain file any more")
        data = file.read(MOST_FILE_BYTES + 1)
    if len(data) > MOST_FILE_BYTES:
        raise OSError(0, "it has grown meanwhile")
    return data

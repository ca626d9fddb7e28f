"""The folder of one marking: what was marked so far, so that it can go on where it was broken off."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

import msgspec

from hil.errors import CommandError, ConfigError
from hil.labs.exercise import Exercise
from hil.labs.grade_records import Marked, Submission
from hil.types import Record
from hil.version import software_version

DEFINITION = "marking.json"
STUDENTS = "students"

MOST_NAME_BYTES = 120
"""Of a student's name in the name of a file."""

_TOLD_APART = re.compile(r"-[a-z2-7]{6}$")
"""How names end that `file_name` has told apart: nobody's own name takes the place of such a one."""


class Definition(Record, frozen=True):
    """What decides on marks beside what was handed in."""

    exercise: str
    digest: str
    seed: int | None
    version: str
    files: str = ""


class _Kept(Record, frozen=True):
    marked: Marked


class Store:
    """One folder of one marking; it holds names and marks, and is for its owner alone."""

    def __init__(
        self, folder: Path, exercise: Exercise, seed: int | None, *, files: str = "", again: bool = False
    ) -> None:
        """Open it.

        Args:
            folder: made if it is not there.
            exercise: what is marked.
            seed: of the hidden cases.
            files: SHA-256 of the rig, robots and task that the exercise names.
            again: forget what another marking left there.

        Raises:
            CommandError: another marking is there.
            ConfigError: the folder cannot be used.
        """
        self.folder = folder
        definition = Definition(
            exercise=exercise.id, digest=exercise.digest, seed=seed, version=software_version(), files=files
        )
        text = msgspec.json.format(msgspec.json.encode(definition)).decode()
        file = folder / DEFINITION
        for place in (folder, folder / STUDENTS):
            if place.is_symlink():
                raise ConfigError(str(place), "folder", "a link to another place", "the folder itself")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / STUDENTS).mkdir(exist_ok=True, mode=0o700)
            if file.exists() and not again and file.read_text(encoding="utf-8") != text:
                raise CommandError(
                    f"{folder} holds another marking: another exercise, seed or version, or the exercise was changed; "
                    "allowed: another folder with --into, or --again, which marks everything anew",
                    value=str(folder),
                    allowed="another folder, or --again",
                )
            if again:
                for old in (folder / STUDENTS).glob("*.json"):
                    old.unlink()
            write_private(file, text.encode())
        except OSError as error:
            raise ConfigError(str(folder), "folder", error.strerror, "a folder that can be written to") from None

    def kept(self, submission: Submission) -> Marked | None:
        """What was marked before, of exactly these files; None if it is still to be marked."""
        try:
            data = self._file(submission.student).read_bytes()
            marked = msgspec.json.decode(data, type=_Kept).marked
        except (OSError, msgspec.DecodeError, ValueError):
            return None
        return marked if marked.student == submission.student and marked.digest == submission.digest else None

    def keep(self, marked: Marked) -> None:
        """Write one; it appears whole or not at all."""
        write_private(self._file(marked.student), msgspec.json.encode(_Kept(marked=marked)))

    def report_file(self, student: str, ending: str) -> Path:
        """Where a student's report or picture goes."""
        return self.folder / STUDENTS / f"{file_name(student)}{ending}"

    def _file(self, student: str) -> Path:
        return self.report_file(student, ".json")


def write_private(file: Path, data: bytes) -> None:
    """Write a file that only its owner can read; it appears whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(part, flags, 0o600)
    with os.fdopen(number, "wb") as stream:
        stream.write(data)
    os.replace(part, file)


def file_name(student: str) -> str:
    """A name for files: what a file system takes, and told apart where two names would look alike."""
    # Folding may make a letter longer, and a file system counts bytes.
    folded = re.sub(r"[^\w.-]+", "-", student).strip("-.").casefold().encode(errors="replace")
    plain = folded[:MOST_NAME_BYTES].decode(errors="ignore")
    if plain == student and not _TOLD_APART.search(plain):
        return plain
    told = base64.b32encode(hashlib.sha256(student.encode(errors="replace")).digest())[:6].decode().lower()
    return f"{plain or 'student'}-{told}"

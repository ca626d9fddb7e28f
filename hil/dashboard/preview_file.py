"""Tasks and programs as files: read for the service, which alone knows whether they are any good."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

from hil.dashboard.texts import tr
from hil.errors import CommandError
from hil.model.files import folders
from hil.service.wire import MAX_UPLOAD_BYTES

LANGUAGES: dict[str, Literal["task", "melfa"]] = {".toml": "task", ".mb4": "melfa"}
POINTS = (".pos", ".POS")
MOST_NAME = 64
MOST_ROWS = 6
"""Of a step that is shown."""


class Source(NamedTuple):
    """A file that may be previewed.

    Attributes:
        name: as the service calls it.
        points: of a program, its list of positions.
    """

    path: Path
    name: str
    language: Literal["task", "melfa"]
    text: str
    points: str = ""


def read_source(path: Path) -> Source:
    """Read a task, or a program with the points beside it.

    Raises:
        CommandError: it is neither, or cannot be read.
    """
    language = LANGUAGES.get(path.suffix.lower())
    if language is None:
        raise CommandError(
            tr("{file} given; allowed: tasks (.toml) and MELFA-BASIC programs (.mb4)", file=path.name or str(path))
        )
    beside = next((path.with_suffix(suffix) for suffix in POINTS if path.with_suffix(suffix).is_file()), None)
    points = _text(beside) if language == "melfa" and beside is not None else ""
    return Source(path, _name(path), language, _text(path), points)


def bundled() -> dict[str, Path]:
    """Files that are there without a search, by what to call them: tasks first, then programs; the user's own first."""
    found: dict[str, Path] = {}
    for kind, suffix in (("tasks", ".toml"), ("programs", ".mb4")):
        for folder in folders(kind):
            for path in sorted(folder.glob(f"*{suffix}")):
                found.setdefault(path.name, path)
    return found


def _name(path: Path) -> str:
    """The file's name, as far as a name may have its characters."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", path.name).lstrip("._-")
    return plain[-MOST_NAME:].lstrip("._-") or "file"


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_UPLOAD_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandError(tr("{file} cannot be read: {reason}", file=path.name, reason=reason)) from None
    if len(data) > MAX_UPLOAD_BYTES:
        raise CommandError(tr("{file} is larger than {most} bytes", file=path.name, most=MAX_UPLOAD_BYTES))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Comments of old programs; every byte means something in this one.
        return data.decode("latin-1")


_ROW = (re.compile(r":(\d+):\d+\b"), re.compile(r"\bline (\d+)\b"))
_STEP = re.compile(r"\bstep (\d+)\b")
_STEP_BEGINS = re.compile(r"^\s*\[\[\s*step\s*\]\]")


def row_of(source: Source, words: str) -> int | None:
    """The line of the file that a message or a place means, from 1; None if it means none."""
    rows = source.text.splitlines()
    if source.language == "melfa" and (number := re.match(r"line (\d+)", words)):
        own = [row for row, text in enumerate(rows, start=1) if text.split(maxsplit=1)[:1] == [number[1]]]
        return own[0] if own else None
    for pattern in _ROW:
        if (found := pattern.search(words)) and 1 <= int(found[1]) <= len(rows):
            return int(found[1])
    step = _STEP.search(words)
    begins = [row for row, text in enumerate(rows, start=1) if _STEP_BEGINS.match(text)]
    return begins[int(step[1]) - 1] if step and 1 <= int(step[1]) <= len(begins) else None


def excerpt(source: Source, row: int) -> str:
    """Some lines of the file, with a mark at one; a step from its beginning to its end."""
    rows = source.text.splitlines()
    step = bool(_STEP_BEGINS.match(rows[row - 1]))
    first = row if step else max(row - 1, 1)
    last = min(row + (MOST_ROWS - 1 if step else 1), len(rows))
    shown = []
    for each in range(first, last + 1):
        if step and each > row and not rows[each - 1].strip():
            break
        shown.append(f"{'▶' if each == row else ' '}{each:5d}  {rows[each - 1]}")
    return "\n".join(shown)

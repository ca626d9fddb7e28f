"""A new course in a lab's folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from hil.errors import ConfigError
from hil.labs.exercise import list_exercises
from hil.service.courses.course import FILE, Course, check_id, load_course
from hil.service.settings import COURSES
from hil.tables import toml_value
from hil.types import Record

ROSTER = "class.csv"


class CourseWish(Record, frozen=True):
    """What is wanted; `docs/courses.md` says what each is.

    Attributes:
        exercises: names of bundled ones, or files, which are copied.
        roster: a file, which is copied; None for none.
        seeds: for each exercise; nobody but the teacher knows them.
    """

    id: str
    title: str
    exercises: tuple[str, ...]
    seeds: tuple[int, ...]
    students: tuple[str, ...] = ()
    teachers: tuple[str, ...] = ()
    roster: str | None = None
    arms: tuple[str, ...] = ()
    opens: str | None = None
    closes: str | None = None


def make_course(lab: Path, wish: CourseWish, arms: Mapping[str, str]) -> tuple[Path, Course]:
    """Write the course's folder, and read it as the service will; what is wrong leaves nothing behind.

    Args:
        lab: the lab's folder.
        wish: what is wanted.
        arms: the lab's, each with the name of its robot.

    Raises:
        CommandError: the name is none.
        ConfigError: something in it is wrong, or there is such a course.
    """
    check_id(wish.id)
    folder = lab / COURSES / wish.id
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise ConfigError(
            str(folder), "folder", error.strerror or str(error), "a new course in a folder that can be written to"
        ) from None
    try:
        names = [_taken_along(name, folder) for name in wish.exercises]
        if wish.roster is not None:
            _copy(Path(wish.roster), folder / ROSTER)
        (folder / FILE).write_text(_text(wish, names), encoding="utf-8")
        return folder, load_course(folder, arms)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _taken_along(name: str, folder: Path) -> str:
    """A bundled exercise stays where it is; a file goes with the course, so that it is the same tomorrow."""
    if name in list_exercises():
        return name
    path = Path(name)
    _copy(path, folder / path.name)
    return path.name


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        names = ", ".join(list_exercises())
        allowed = "a file that can be read" if target.name == ROSTER else f"an exercise's file, or one of: {names}"
        raise ConfigError("hil course new", str(source), error.strerror or str(error), allowed) from None


def _text(wish: CourseWish, names: Sequence[str]) -> str:
    lines = [
        "# A course of this lab; docs/courses.md explains every key. A running server takes changes up by itself.",
        f"title = {toml_value(wish.title)}",
    ]
    if wish.roster is not None:
        lines += [f"roster = {toml_value(ROSTER)}"]
    lists = (("students", wish.students), ("teachers", wish.teachers), ("arms", wish.arms))
    lines += [f"{key} = {toml_value(list(value))}" for key, value in lists if value]
    dates = (("opens", wish.opens), ("closes", wish.closes))
    lines += [f"{key} = {toml_value(value)}" for key, value in dates if value is not None]
    for name, seed in zip(names, wish.seeds, strict=True):
        lines += ["", "[[exercise]]", f"name = {toml_value(name)}", f"seed = {seed}  # keep it to yourself"]
    return "\n".join([*lines, ""])

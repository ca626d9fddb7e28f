"""The courses that a lab has open: each with its file and its results; a file that was changed counts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hil.errors import HilError
from hil.service.courses import results
from hil.service.courses.course import FILE, Course, list_courses, load_course
from hil.service.courses.results import Results

_Stamp = tuple[tuple[str, int, int], ...]


class OpenCourse:
    """One course of a running lab.

    Args:
        folder: of the course.
        arms: the lab's, each with the name of its robot.
        say: told where a changed file is wrong; the one of before counts on.

    Attributes:
        course: as its file has it now.
        results: of it.

    Raises:
        ConfigError: file or results cannot be used.
    """

    def __init__(self, folder: Path, arms: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._folder, self._arms, self._say = folder, dict(arms), say
        self._stamp = _stamp(folder)
        self.course: Course = load_course(folder, self._arms)
        self.results = Results(folder / results.FILE)

    def has(self, student: str) -> bool:
        """Whether somebody is in it, by the file or by `Results.enrol`."""
        return student in self.course.students or student in self.results.enrolled()

    def students(self) -> tuple[str, ...]:
        """All who are in it."""
        return tuple(dict.fromkeys((*self.course.students, *self.results.enrolled())))

    def refresh(self) -> None:
        """Read the file anew, if it or another one in its folder was changed."""
        if (stamp := _stamp(self._folder)) == self._stamp:
            return
        self._stamp = stamp
        try:
            self.course = load_course(self._folder, self._arms)
        except HilError as error:
            self._say(f"{self._folder / FILE} was changed, and is wrong; what it said before counts on: {error}")


class Courses:
    """All courses of a lab, by their names."""

    def __init__(self, every: Mapping[str, OpenCourse] | None = None) -> None:
        self._every = dict(every or {})

    def __iter__(self) -> Iterator[OpenCourse]:
        return iter(self._every.values())

    def __len__(self) -> int:
        return len(self._every)

    def get(self, name: str) -> OpenCourse | None:
        """The course of that name."""
        return self._every.get(name)

    def refresh(self) -> None:
        """Read anew what was changed. Takes its time, and touches no results: fit for a thread of its own."""
        for each in self._every.values():
            each.refresh()

    def of(self, student: str) -> list[OpenCourse]:
        """Those that somebody is in."""
        return [each for each in self if each.has(student)]

    def close(self) -> None:
        """Let go of all files."""
        for each in self._every.values():
            each.results.close()


def open_courses(lab: Path, arms: Mapping[str, str], say: Callable[[str], None]) -> Courses:
    """The courses of a lab's folder.

    Args:
        lab: that folder.
        arms: each with the name of its robot.
        say: tells whoever runs the server what is wrong later.

    Raises:
        ConfigError: a course's file or results cannot be used.
    """
    return Courses({folder.name: OpenCourse(folder, arms, say) for folder in list_courses(lab)})


def _stamp(folder: Path) -> _Stamp:
    """What tells a changed folder; results change it not."""
    try:
        files = [path for path in folder.iterdir() if path.suffix in (".toml", ".csv")]
        return tuple(sorted((path.name, (seen := path.stat()).st_mtime_ns, seen.st_size) for path in files))
    except OSError:
        return ()

"""From results of a lab's courses to marks for learning systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hil.service.courses.books import Courses, OpenCourse
from hil.service.courses.results import Result
from hil.service.lti_book import LtiBook, Mark


class ResultMarks:
    """Has each new result that counts written down as a mark.

    Args:
        courses: of the lab; asked in the thread that they belong to.
        book: where marks go.
        write: carries out what may wait for a disk, elsewhere.
    """

    def __init__(self, courses: Courses, book: LtiBook, write: Callable[[Callable[[], object]], object]) -> None:
        self._courses, self._book, self._write = courses, book, write
        for course in courses:
            course.results.watch(lambda result, course=course: self._came(course, result))  # type: ignore[misc]

    def catch_up(self, student: str | None = None) -> None:
        """Write down what was not: what came just before the server died, or before the person opened the activity.

        Args:
            student: of this person alone; None for everybody.
        """
        marks = tuple(self._all(student))
        if marks:
            self._write(lambda: [self._book.add(mark) for mark in marks])

    def _all(self, student: str | None) -> Iterator[Mark]:
        for course in self._courses:
            for exercise in course.course.exercises:
                if student is None:
                    yield from (_mark(course, result) for result in course.results.counted(exercise).values())
                elif (result := course.results.counted_of(student, exercise)) is not None:
                    yield _mark(course, result)

    def _came(self, course: OpenCourse, result: Result) -> None:
        exercise = next((each for each in course.course.exercises if each.name == result.exercise), None)
        if exercise is None:
            return
        mark = _mark(course, course.results.counted_of(result.student, exercise) or result)
        self._write(lambda: self._book.add(mark))


def place_of(course: str, exercise: str) -> str:
    """What an exercise is called where marks are kept."""
    return f"{course}/{exercise}"


def _mark(course: OpenCourse, result: Result) -> Mark:
    name = course.course.id
    return Mark(
        # The number alone begins anew with a new file of results.
        id=f"{name}/{result.number}/{result.t_epoch_s:.3f}",
        student=result.student,
        exercise=place_of(name, result.exercise),
        points=min(result.total, result.most),
        most=result.most,
        marked_s=result.t_epoch_s,
    )

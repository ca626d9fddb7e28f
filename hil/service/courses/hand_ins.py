"""Takes what students hand in: one of a person at a time, people in turn, marked in processes behind all others."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from hil.errors import HilError, InterlockError
from hil.labs.exercise import Exercise as Asked
from hil.labs.grade_crew import Server
from hil.labs.grade_door import submission_of
from hil.labs.grade_records import Marked, Setup, Submission
from hil.service.courses.books import OpenCourse
from hil.service.courses.course import Exercise
from hil.service.courses.driven import DrivenJob, DrivenVerdict, mark_apart
from hil.service.courses.results import Result
from hil.service.preview_desk import Turns

IDLE_S = 300.0
"""A marking process that nobody needs for so long is ended."""

AGAIN = "Hand it in again, and tell the teacher if it comes back"

T = TypeVar("T")


class Marker(Protocol):
    """Marks files; blocks until it is done."""

    def mark(self, submission: Submission) -> Marked:
        """One submission."""
        ...

    def close(self) -> None:
        """End, with what is being marked."""
        ...


class Evidence(Protocol):
    """What a lab knows of a run."""

    async def job(self, asked: Asked, seed: int | None, student: str, arm: str, who: str) -> DrivenJob:
        """What to look for, once the lab has signed for all that its arm has done up to now."""
        ...


def _server(setup: Setup) -> Marker:
    return Server(setup, behind=True)


class HandIns:
    """The hand-ins of a lab's courses. In one event loop.

    Args:
        evidence: of runs.
        say: tells whoever runs the server what is wrong.
        make_marker: of an exercise.
        mark_run: of a run.
    """

    def __init__(
        self,
        evidence: Evidence,
        say: Callable[[str], None],
        *,
        make_marker: Callable[[Setup], Marker] = _server,
        mark_run: Callable[[DrivenJob], DrivenVerdict] = mark_apart,
    ) -> None:
        self._evidence, self._say = evidence, say
        self._make_marker, self._mark_run = make_marker, mark_run
        self._turns = Turns(1, "hand-ins")
        self._busy: set[str] = set()
        self._marker: tuple[Setup, Marker] | None = None
        self._tasks: set[asyncio.Task[Result]] = set()
        self._idle: asyncio.TimerHandle | None = None
        # One thread: one thing is marked at a time, so that the arms have the computer.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="marking")

    async def files(
        self, course: OpenCourse, exercise: Exercise, student: str, files: Mapping[str, bytes], now_epoch_s: float
    ) -> Result:
        """Mark files, and keep what came of it.

        Raises:
            InterlockError: not now: it is closed, all tries are used, another one is being marked, or marking failed.
        """
        submission = submission_of(student, files)

        async def mark() -> Marked:
            return await self._in_thread(lambda: self._marker_of(exercise).mark(submission))

        return await self._take(course, exercise, student, now_epoch_s, mark, files=submission.files)

    async def run(
        self, course: OpenCourse, exercise: Exercise, student: str, who: str, arm: str, now_epoch_s: float
    ) -> Result:
        """Mark the newest run of somebody on an arm.

        Args:
            course: which one.
            exercise: of it.
            student: for whom it counts.
            who: id of the token that drove.
            arm: where.
            now_epoch_s: seconds since 1970.

        Raises:
            InterlockError: as for files, or there is no such run, or its journal is not the one that was signed.
        """
        if arm not in exercise.arms:
            allowed = ", ".join(exercise.arms) or "none: its files are handed in"
            raise InterlockError(f"a run on {arm} does not count for {exercise.name}; arms whose runs do: {allowed}")

        async def mark() -> Marked:
            job = await self._evidence.job(exercise.asked, exercise.seed, student, arm, who)
            verdict = await self._in_thread(lambda: self._mark_run(job))
            if verdict.forged:
                self._say(f"{course.course.id}, {exercise.name}: a run on {arm} is not marked: {verdict.words}")
                raise InterlockError(
                    "the record of this run is not the one that the lab has signed, and nothing is marked; tell the "
                    f"teacher: {verdict.words}"
                )
            if verdict.marked is None:
                raise InterlockError(verdict.words)
            return verdict.marked

        return await self._take(course, exercise, student, now_epoch_s, mark, arm=arm)

    async def _take(
        self,
        course: OpenCourse,
        exercise: Exercise,
        student: str,
        now_epoch_s: float,
        mark: Callable[[], Awaitable[Marked]],
        *,
        arm: str = "",
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        self._check(course, exercise, student, now_epoch_s)

        async def work() -> Result:
            try:
                marked = await self._marked(student, mark)
            finally:
                self._busy.discard(student)
            return course.results.add(exercise, marked, t_epoch_s=now_epoch_s, arm=arm, files=files)

        self._busy.add(student)
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._over)
        # Whoever asked may be gone before it is done: what was handed in in time is marked all the same.
        return await asyncio.shield(task)

    def _check(self, course: OpenCourse, exercise: Exercise, student: str, now_epoch_s: float) -> None:
        """What is handed in at the last moment waits for its turn afterwards: the moment of asking counts."""
        if not course.has(student):
            raise InterlockError(f"{student} is not in {course.course.id}; tell the teacher")
        if why := exercise.why_closed(now_epoch_s):
            raise InterlockError(why)
        if student in self._busy:
            raise InterlockError("what you handed in before is still being marked; hand this in afterwards")
        used = len(course.results.of(student, exercise.name))
        if used >= exercise.tries:
            raise InterlockError(f"you have handed in {exercise.name} {used} times; allowed: {exercise.tries}")

    async def _marked(self, student: str, mark: Callable[[], Awaitable[Marked]]) -> Marked:
        place = await self._turns.take(student)
        try:
            marked = await mark()
        except InterlockError:
            raise
        except HilError as error:
            self._say(f"marking has failed: {error}")
            raise InterlockError(f"it could not be marked. {AGAIN}") from None
        finally:
            self._turns.give(student, place)
        if marked.fault:
            raise InterlockError(f"{marked.refusal}. {AGAIN}")
        return marked

    def _over(self, task: asyncio.Task[Result]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # of which nobody hears who is gone
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._rest)

    def _rest(self) -> None:
        if not self._busy:
            self._thread.submit(self._drop)

    async def close(self) -> None:
        """Give up what is being marked, and end its process."""
        if self._idle is not None:
            self._idle.cancel()
        for task in self._tasks:
            task.cancel()
        if self._marker is not None:
            self._marker[1].close()  # what waits for it in the thread ends with it
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown(wait=False, cancel_futures=True)

    # -- in the thread -----------------------------------------------------------------------------------

    def _marker_of(self, exercise: Exercise) -> Marker:
        """One process, which has read the exercise's rig; another exercise has another one in its place."""
        setup = Setup(exercise=exercise.asked, seed=exercise.seed, pictures=_draws())
        if self._marker is None or self._marker[0] != setup:
            self._drop()
            self._marker = setup, self._make_marker(setup)
        return self._marker[1]

    def _drop(self) -> None:
        marker, self._marker = self._marker, None
        if marker is not None:
            marker[1].close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _draws() -> bool:
    """Whether pictures can be drawn; matplotlib itself is loaded by who draws."""
    return importlib.util.find_spec("matplotlib") is not None

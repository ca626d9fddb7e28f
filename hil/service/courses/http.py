"""Courses over HTTP: what there is to do, handing in, one's own results; the class and its tables for its teacher."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec
from aiohttp import web

from hil.labs import grade_files
from hil.labs.exercise_cases import cases_of
from hil.labs.grade_door import wanted_files
from hil.labs.grade_records import Marked
from hil.service import wire
from hil.service.audit import Deed
from hil.service.courses.books import Courses, OpenCourse
from hil.service.courses.course import Exercise
from hil.service.courses.hand_ins import HandIns
from hil.service.courses.messages import (
    AskedRow,
    ClassList,
    ClassRow,
    CourseBrief,
    CourseList,
    ExerciseBrief,
    HandInWish,
    MarkRow,
    ResultBrief,
    ResultFull,
    ResultList,
    Table,
    TableWish,
)
from hil.service.courses.results import Result
from hil.service.doors import Visitor
from hil.service.refused_request import RefusedRequestError
from hil.service.rights import Action, may
from hil.service.wire import ROOT, Code

STUDENT, TEACHER = "student", "teacher"
NO_COURSE = "there is no such course for you"
NO_RESULT = "there is no such result for you"


class CourseDesk:
    """Answers what people ask about courses.

    Args:
        courses: of the lab.
        hand_ins: takes what is handed in.
        visitor: lets somebody in who may do something.
        note: writes into the audit.
    """

    def __init__(
        self,
        courses: Courses,
        hand_ins: HandIns,
        visitor: Callable[[web.Request, Action], Visitor],
        note: Callable[[Deed], None],
    ) -> None:
        self._courses, self._hand_ins, self._visitor, self._note_deed = courses, hand_ins, visitor, note

    def add_to(self, routes: web.UrlDispatcher) -> None:
        """Answer here."""
        course = f"{ROOT}/courses/{{course}}"
        routes.add_get(f"{ROOT}/courses", self.every)
        routes.add_get(f"{course}/class", self.students)
        routes.add_get(f"{course}/results/{{number:[0-9]{{1,15}}}}", self.result)
        routes.add_get(f"{course}/results/{{number:[0-9]{{1,15}}}}/picture", self.picture)
        routes.add_get(f"{course}/exercises/{{exercise}}/results", self.results)
        routes.add_post(f"{course}/exercises/{{exercise}}/hand-ins", self.hand_in)
        routes.add_post(f"{course}/exercises/{{exercise}}/tables", self.table)

    # -- students ----------------------------------------------------------------------------------------

    async def every(self, request: web.Request) -> web.StreamResponse:
        """The courses that the asker is in, and what there is to do."""
        visitor = self._visitor(request, Action.WATCH)
        await self._refresh()
        now_s = time.time()
        found = [_course(each, role, visitor.user, now_s) for each in self._courses if (role := _role(each, visitor))]
        return _json(CourseList(courses=tuple(found)))

    async def hand_in(self, request: web.Request) -> web.StreamResponse:
        """Mark what is handed in; the answer comes when it is done, and is kept also if nobody waits for it."""
        visitor = self._visitor(request, Action.WATCH)
        now_s = time.time()
        wish = wire.decode_body(await request.read(), HandInWish, wire.MAX_UPLOAD_BYTES)
        await self._refresh()
        course, exercise = self._named(request, visitor)
        if bool(wish.files) == (wish.arm is not None):
            raise RefusedRequestError(Code.MALFORMED, "hand in either files, or the arm on which you ran it")
        if wish.arm is None:
            work = self._hand_ins.files(course, exercise, visitor.user, wish.files, now_s)
        else:
            if not visitor.grant.covers(wish.arm):
                raise RefusedRequestError(Code.ARM, "there is no arm of that name for you")
            work = self._hand_ins.run(course, exercise, visitor.user, visitor.who, wish.arm, now_s)
        result = await work
        self._note(visitor, "hand in", course, exercise.name, wish.arm or "")
        return _json(_full(result, counts=_counts(course, exercise, result)))

    async def results(self, request: web.Request) -> web.StreamResponse:
        """The asker's own results of one exercise; with `?student=` somebody's, for the teacher."""
        visitor = self._visitor(request, Action.WATCH)
        course, exercise = self._named(request, visitor)
        student = request.query.get("student", visitor.user)
        if student != visitor.user:
            self._for_teachers(course, visitor)
        counted = course.results.counted_of(student, exercise)
        found = [
            _brief(each, counts=counted is not None and each.number == counted.number)
            for each in course.results.of(student, exercise.name)
        ]
        return _json(ResultList(results=tuple(found)))

    async def result(self, request: web.Request) -> web.StreamResponse:
        """One result, with every mark and what was found."""
        course, result = self._own(request)
        exercise = next((each for each in course.course.exercises if each.name == result.exercise), None)
        return _json(_full(result, counts=exercise is not None and _counts(course, exercise, result)))

    async def picture(self, request: web.Request) -> web.StreamResponse:
        """The picture of a result's first case that fails."""
        course, result = self._own(request)
        if not result.has_picture:
            raise RefusedRequestError(Code.ARM, "there is no picture of that result")
        return web.Response(body=course.results.picture(result.number), content_type="image/png")

    # -- teachers ----------------------------------------------------------------------------------------

    async def students(self, request: web.Request) -> web.StreamResponse:
        """The class, and of everybody the result that counts of each exercise."""
        visitor = self._visitor(request, Action.MARK)
        await self._refresh()
        course = self._course(request, visitor)
        self._for_teachers(course, visitor)
        self._note(visitor, "read marks", course)
        exercises = course.course.exercises
        counted = [course.results.counted(each) for each in exercises]
        names = dict.fromkeys((*course.students(), *(name for each in counted for name in each)))
        rows = tuple(
            ClassRow(
                student=name,
                results=tuple(_brief(each[name], counts=True) if name in each else None for each in counted),
            )
            for name in sorted(names, key=str.casefold)
        )
        return _json(ClassList(exercises=tuple(each.name for each in exercises), students=rows))

    async def table(self, request: web.Request) -> web.StreamResponse:
        """Marks of one exercise as a table, by the same words as `hil grade` writes them."""
        visitor = self._visitor(request, Action.MARK)
        wish = wire.decode_body(await request.read(), TableWish, wire.MAX_UPLOAD_BYTES)
        course, exercise = self._named(request, visitor)
        self._for_teachers(course, visitor)
        self._note(visitor, "read marks", course, exercise.name)
        found = (course.results.marked(result.number) for result in course.results.counted(exercise).values())
        every: list[Marked] = [each for each in found if each is not None]
        told: list[str] = []
        roster = wish.roster or None
        if wish.kind == "csv":
            name, text = grade_files.MARKS, grade_files.marks_csv(exercise.asked, every)
        elif wish.kind == "moodle":
            name, text = grade_files.MOODLE, grade_files.moodle_csv(exercise.asked, every, roster, told.append)
        else:
            name, text = grade_files.CANVAS, grade_files.canvas_csv(exercise.asked, every, roster, told.append)
        return _json(Table(name=f"{course.course.id}-{exercise.name}-{name}", text=text, told=tuple(told)))

    # -- who ---------------------------------------------------------------------------------------------

    async def _refresh(self) -> None:
        """A file that was changed is read aside: no heartbeat waits for it."""
        await asyncio.get_running_loop().run_in_executor(None, self._courses.refresh)

    def _course(self, request: web.Request, visitor: Visitor) -> OpenCourse:
        """The course that is asked for; of one that somebody is not in nothing is told."""
        course = self._courses.get(request.match_info["course"])
        if course is None or not _role(course, visitor):
            raise RefusedRequestError(Code.ARM, NO_COURSE)
        return course

    def _named(self, request: web.Request, visitor: Visitor) -> tuple[OpenCourse, Exercise]:
        course = self._course(request, visitor)
        return course, course.course.exercise(request.match_info["exercise"])

    def _own(self, request: web.Request) -> tuple[OpenCourse, Result]:
        """A result that the asker may see. Somebody else's is as if there were none."""
        visitor = self._visitor(request, Action.WATCH)
        course = self._course(request, visitor)
        result = course.results.get(int(request.match_info["number"]))
        if result is None or not (result.student == visitor.user or _teaches(course, visitor)):
            raise RefusedRequestError(Code.ARM, NO_RESULT)
        return course, result

    def _for_teachers(self, course: OpenCourse, visitor: Visitor) -> None:
        if not _teaches(course, visitor):
            raise RefusedRequestError(Code.ROLE, "marks of others are for the teacher of the course")

    def _note(self, visitor: Visitor, what: str, course: OpenCourse, exercise: str = "", arm: str = "") -> None:
        """The audit has what was done, and no name or mark."""
        self._note_deed(
            Deed(
                who=visitor.who,
                role=visitor.grant.role.value,
                what=what,
                verdict="done",
                arm=arm,
                origin=visitor.origin,
                detail=f"{course.course.id} {exercise}".strip(),
            )
        )


def _teaches(course: OpenCourse, visitor: Visitor) -> bool:
    return may(visitor.grant.role, Action.MARK) and course.course.taught_by(visitor.user)


def _role(course: OpenCourse, visitor: Visitor) -> str:
    """As what somebody is in a course; empty for not at all."""
    if _teaches(course, visitor):
        return TEACHER
    return STUDENT if course.has(visitor.user) else ""


def _course(course: OpenCourse, role: str, user: str, now_s: float) -> CourseBrief:
    return CourseBrief(
        id=course.course.id,
        title=course.course.title,
        role=role,
        exercises=tuple(_exercise(course, each, user, now_s) for each in course.course.exercises),
    )


def _exercise(course: OpenCourse, exercise: Exercise, user: str, now_s: float) -> ExerciseBrief:
    asked = exercise.asked
    counted = course.results.counted_of(user, exercise)
    rows = (*asked.predicates, *asked.answers)
    return ExerciseBrief(
        name=exercise.name,
        title=asked.title,
        aim=asked.aim.strip(),
        most=asked.marks,
        kind=asked.hand_in.kind,
        files=wanted_files(asked),
        rows=tuple(AskedRow(name=row.name, marks=row.marks, ask=getattr(row, "ask", "")) for row in rows),
        arms=exercise.arms,
        opens_epoch_s=exercise.opens_s,
        closes_epoch_s=exercise.closes_s,
        why_closed=exercise.why_closed(now_s),
        tries=exercise.tries,
        counts=exercise.counts,
        used=len(course.results.of(user, exercise.name)),
        # Those of all alike are hidden; a student's own numbers are what the exercise is about.
        numbers=tuple(cases_of(asked, exercise.seed, user)) if asked.variants.each else (),
        counted=None if counted is None else counted.total,
    )


def _counts(course: OpenCourse, exercise: Exercise, result: Result) -> bool:
    counted = course.results.counted_of(result.student, exercise)
    return counted is not None and counted.number == result.number


def _brief(result: Result, *, counts: bool) -> ResultBrief:
    return ResultBrief(
        number=result.number,
        exercise=result.exercise,
        student=result.student,
        t_epoch_s=result.t_epoch_s,
        source=result.source,
        total=result.total,
        most=result.most,
        arm=result.arm,
        refusal=result.refusal,
        counts=counts,
    )


def _full(result: Result, *, counts: bool) -> ResultFull:
    return ResultFull(
        brief=_brief(result, counts=counts),
        marks=tuple(MarkRow(**msgspec.structs.asdict(mark)) for mark in result.marks),
        notes=result.notes,
        picture=result.has_picture,
    )


def _json(message: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(message), content_type="application/json")

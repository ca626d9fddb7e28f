"""Courses over HTTP: a student sees and hands in their own, a teacher sees the class, a stranger learns nothing."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, web
from course_folders import COURSE, EXERCISE, PNG, TASK, PlainMarker, one_mark, write_course
from lab_server import TOKEN_KEY, run, said, served
from tokens_of_people import grant, token

from hil.labs.exercise import Exercise as Asked
from hil.service import wire
from hil.service.app import _answers, _Reception
from hil.service.audit import Deed
from hil.service.audit_query import query, verify
from hil.service.callers import Callers
from hil.service.courses.books import Courses, open_courses
from hil.service.courses.driven import DrivenJob, DrivenVerdict
from hil.service.courses.hand_ins import HandIns
from hil.service.courses.http import CourseDesk
from hil.service.doors import Door
from hil.service.keys import PublicKey
from hil.service.revocation import HEADING, Revocations
from hil.service.rights import Role
from hil.service.settings import Settings
from hil.service.tokens import TokenChecker

HAND_INS = "/v1/courses/robotics/exercises/turn-it/hand-ins"
TESS = {"role": Role.TEACH}

ENDLESS = b"def task():\n    while True:\n        pass\n"


class Class:
    """A lab with a course; everybody asks with a token of their own."""

    def __init__(
        self, url: str, session: ClientSession, courses: Courses, marker: PlainMarker, deeds: list[Deed]
    ) -> None:
        self.url, self.session, self.marker, self.deeds = url, session, marker, deeds
        found = courses.get("robotics")
        assert found is not None
        self.course = found

    async def ask(
        self, who: str, path: str, body: Any = None, role: Role = Role.DRIVE, **changes: Any
    ) -> tuple[int, Any]:
        """Status and answer."""
        headers = {"Authorization": f"Bearer {token(who, role, **changes)}"}
        method = self.session.get if body is None else self.session.post
        options = {} if body is None else {"data": BytesIO(msgspec.json.encode(body))}
        async with method(f"{self.url}{path}", headers=headers, **options) as response:
            if response.content_type == "image/png":
                return response.status, await response.read()
            answer = await response.json()
            answer.pop("now_s", None)
            return response.status, answer

    async def hand_in(self, who: str, text: bytes = b"xx", **files: bytes) -> tuple[int, Any]:
        """A task."""
        given = {"task.toml": text, **files}
        plain = {name: base64.b64encode(data).decode() for name, data in given.items()}
        return await self.ask(who, HAND_INS, {"v": 1, "files": plain})


@contextlib.asynccontextmanager
async def class_of(folder: Path, text: str = COURSE, **made: Any) -> AsyncIterator[Class]:
    """The doors and the courses of a lab, whose arms nobody needs here."""
    marker, deeds = PlainMarker(), list[Deed]()
    write_course(folder, text)
    (folder / "revoked.txt").write_text(HEADING)
    courses = open_courses(folder, {"arm-1": "lynx6", "arm-2": "lynx6"}, said.append)
    door = Door(TokenChecker([TOKEN_KEY.public], Revocations(folder / "revoked.txt")))
    lab = SimpleNamespace(door=door, token_epoch_s=time.time, note=deeds.append, settings=Settings())
    hand_ins = HandIns(Told(), said.append, **{"make_marker": marker.of} | made)
    app = web.Application(client_max_size=2 * wire.MAX_UPLOAD_BYTES, middlewares=[_answers(said.append)])
    CourseDesk(courses, hand_ins, _Reception(lab, Callers(), False).visitor, deeds.append).add_to(app.router)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with ClientSession() as session:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield Class(url, session, courses, marker, deeds)
    finally:
        await hand_ins.close()
        await runner.cleanup()
        courses.close()


class Told:
    """A lab that has signed for everything."""

    async def job(self, asked: Asked, seed: int | None, student: str, arm: str, who: str) -> DrivenJob:
        return DrivenJob(audit="", audit_key=b"", journals="", arm=arm, who=who, asked=asked, seed=seed,
                         student=student, now_epoch_s=0.0)  # fmt: skip


def test_a_student_sees_what_there_is_to_do_hands_in_and_reads_the_marks(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            status, found = await people.ask("Ana", "/v1/courses")
            course = found["courses"][0]
            turn, closed = course["exercises"]
            assert (status, course["id"], course["role"]) == (200, "robotics", "student")
            assert (turn["files"], turn["arms"], turn["most"], turn["tries"]) == (["task.toml"], ["arm-1"], 2.0, 3)
            assert "has closed at" in closed["why_closed"] and closed["numbers"]
            status, given = await people.hand_in("Ana", b"x")
            assert (status, given["brief"]["total"], given["brief"]["counts"]) == (200, 1.0, True)
            assert given["marks"][0]["words"] == "20 s" and given["marks"][0]["sample"] == 7
            status, again = await people.ask("Ana", "/v1/courses/robotics/results/1")
            assert (status, again) == (200, given)
            assert await people.ask("Ana", "/v1/courses/robotics/results/1/picture") == (200, PNG)
            _, listed = await people.ask("Ana", "/v1/courses/robotics/exercises/turn-it/results")
            assert [each["total"] for each in listed["results"]] == [1.0]
            _, found = await people.ask("Ana", "/v1/courses")
            assert (found["courses"][0]["exercises"][0]["used"], found["courses"][0]["exercises"][0]["counted"]) == (
                1,
                1.0,
            )

    run(test)


def test_somebody_elses_result_is_as_if_there_were_none(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            await people.hand_in("Ana")
            none = await people.ask("Ben", "/v1/courses/robotics/results/99")
            for path in ("results/1", "results/1/picture"):
                assert await people.ask("Ben", f"/v1/courses/robotics/{path}") == none
            assert none[0] == 404 and none[1]["reason"] == "there is no such result for you"
            status, answer = await people.ask("Ben", "/v1/courses/robotics/exercises/turn-it/results?student=Ana")
            assert (status, answer["code"]) == (403, "role")
            assert await people.ask("Ben", "/v1/courses/robotics/exercises/turn-it/results") == (
                200, {"results": [], "v": 1})  # fmt: skip

    run(test)


@pytest.mark.parametrize("who", [("Cleo", Role.DRIVE), ("Cleo", Role.WATCH), ("Cleo", Role.MAINTAIN)])
def test_who_is_not_in_a_course_learns_nothing_of_it(tmp_path: Path, who: tuple[str, Role]) -> None:
    name, role = who

    async def test() -> None:
        async with class_of(tmp_path) as people:
            assert (await people.ask(name, "/v1/courses", role=role))[1]["courses"] == []
            none = await people.ask(name, "/v1/courses/another/exercises/turn-it/results", role=role)
            for path in ("exercises/turn-it/results", "exercises/none/results", "results/1"):
                assert await people.ask(name, f"/v1/courses/robotics/{path}", role=role) == none
            assert await people.ask(name, HAND_INS, {"v": 1, "files": {"task.toml": ""}}, role=role) == none
            assert none[0] == 404
            assert (await people.ask(name, "/v1/courses/robotics/class", role=role))[0] == 403

    run(test)


@pytest.mark.parametrize(
    ("role", "status"), [(Role.WATCH, 403), (Role.DRIVE, 403), (Role.MAINTAIN, 403), (Role.TEACH, 200)]
)
def test_the_class_and_its_tables_are_for_teachers(tmp_path: Path, role: Role, status: int) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            assert (await people.ask("Ana", "/v1/courses/robotics/class", role=role))[0] == status
            tables = "/v1/courses/robotics/exercises/turn-it/tables"
            assert (await people.ask("Ana", tables, {"v": 1, "kind": "csv"}, role=role))[0] == status

    run(test)


def test_a_teacher_who_is_not_named_does_not_teach_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path, f'teachers = ["Tess"]\n{COURSE}') as people:
            assert (await people.ask("Tess", "/v1/courses/robotics/class", **TESS))[0] == 200
            assert (await people.ask("Theo", "/v1/courses/robotics/class", **TESS))[0] == 404

    run(test)


def test_a_teacher_sees_what_counts_of_everybody_and_takes_it_along(tmp_path: Path) -> None:
    roster = "Identifier,Full name,Grade\nParticipant 1,Ana,\nParticipant 2,Ben,\n"

    async def test() -> None:
        async with class_of(tmp_path) as people:
            for text in (b"xx", b"x"):
                await people.hand_in("Ana", text)
            _, found = await people.ask("Tess", "/v1/courses/robotics/class", **TESS)
            assert found["exercises"] == ["turn-it", "where-is-the-tool"]
            ana, ben = found["students"]
            assert (ana["student"], ana["results"][0]["total"], ana["results"][1]) == ("Ana", 2.0, None)
            assert (ben["student"], ben["results"]) == ("Ben", [None, None])
            assert (await people.ask("Tess", "/v1/courses/robotics/results/2", **TESS))[1]["brief"]["total"] == 1.0
            tables = "/v1/courses/robotics/exercises/turn-it/tables"
            _, csv = await people.ask("Tess", tables, {"v": 1, "kind": "csv"}, **TESS)
            assert csv["name"] == "robotics-turn-it-marks.csv"
            assert csv["text"].splitlines()[1] == "Ana,2,2,2,"
            _, moodle = await people.ask("Tess", tables, {"v": 1, "kind": "moodle", "roster": roster}, **TESS)
            assert moodle["text"].splitlines()[1].startswith("Participant 1,Ana,2,")
            status, wrong = await people.ask("Tess", tables, {"v": 1, "kind": "moodle", "roster": "a,b\n"}, **TESS)
            assert status == 400 and "a grading worksheet of Moodle" in wrong["reason"]

    run(test)


def test_what_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            status, answer = await people.hand_in("Ana", b"x" * 800_000)
            assert (status, answer["type"]) == (400, "refused") and "1048576" in answer["reason"]
            status, answer = await people.hand_in("Ana", b"x" * 3_000_000)
            assert (status, answer["code"]) == (413, "size")
            many = {f"{k}.txt": b"" for k in range(60)}
            status, given = await people.hand_in("Ana", b"xx", **many)
            assert (status, given["brief"]["total"]) == (200, 0.0)
            assert "more than 40 files" in given["brief"]["refusal"]
            assert people.marker.seen[-1].files == {}

    run(test)


def test_a_journal_that_is_handed_in_is_not_looked_at(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            await people.hand_in("Ana", b"xx", **{"run.mcap": b"forged"})
            seen = people.marker.seen[0]
            assert set(seen.files) == {"task.toml"}
            assert "no journal that is handed in counts" in seen.notes[0]

    run(test)


def test_only_so_many_tries_count_and_none_after_the_end(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            assert [(await people.hand_in("Ana"))[0] for _ in range(3)] == [200] * 3
            status, answer = await people.hand_in("Ana")
            assert status == 503 and answer["reason"] == "you have handed in turn-it 3 times; allowed: 3"
            assert (await people.hand_in("Ben"))[0] == 200
            other = "/v1/courses/robotics/exercises/where-is-the-tool/hand-ins"
            status, answer = await people.ask("Ben", other, {"v": 1, "files": {"answers.toml": "eA=="}})
            assert status == 503 and "has closed at" in answer["reason"]

    run(test)


def test_one_person_has_one_thing_marked_at_a_time(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            people.marker.free.clear()
            first = asyncio.create_task(people.hand_in("Ana"))
            await asyncio.get_running_loop().run_in_executor(None, people.marker.begun.wait, 20.0)
            status, answer = await people.hand_in("Ana")
            assert status == 503 and "is still being marked" in answer["reason"]
            # Another one waits for the turn, and the server answers meanwhile.
            second = asyncio.create_task(people.hand_in("Ben"))
            assert (await people.ask("Ben", "/v1/courses"))[0] == 200
            people.marker.free.set()
            assert [(await each)[0] for each in (first, second)] == [200, 200]

    run(test)


def test_what_was_handed_in_is_marked_though_its_student_has_left(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            people.marker.free.clear()
            asked = asyncio.create_task(people.hand_in("Ana"))
            await asyncio.get_running_loop().run_in_executor(None, people.marker.begun.wait, 20.0)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
            people.marker.free.set()
            while not people.course.results.of("Ana"):
                await asyncio.sleep(0.01)
            assert people.course.results.of("Ana")[0].total == 2.0

    run(test)


def test_a_fault_of_the_marker_is_nobodys_result(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            people.marker.says = lambda marked: msgspec.structs.replace(marked, fault=True, refusal="it was too busy")
            status, answer = await people.hand_in("Ana")
            assert status == 503 and answer["reason"].startswith("it was too busy. Hand it in again")
            assert people.course.results.of("Ana") == ()

    run(test)


def test_a_run_is_marked_for_who_drove_it_on_an_arm_that_counts(tmp_path: Path) -> None:
    asked: list[DrivenJob] = []

    async def test() -> None:
        async with class_of(tmp_path, mark_run=lambda job: asked.append(job) or one_mark(job)) as people:
            status, given = await people.ask("Ana", HAND_INS, {"v": 1, "arm": "arm-1"})
            assert (status, given["brief"]["source"], given["brief"]["arm"]) == (200, "arm", "arm-1")
            assert (asked[0].arm, asked[0].student, asked[0].who) == ("arm-1", "Ana", grant("Ana").token_id)
            status, answer = await people.ask("Ana", HAND_INS, {"v": 1, "arm": "arm-2"})
            assert status == 404 and answer["reason"] == "there is no arm of that name for you"
            status, answer = await people.ask("Ana", HAND_INS, {"v": 1, "arm": "arm-1", "files": {"task.toml": ""}})
            assert status == 400 and "either files, or the arm" in answer["reason"]
            status, answer = await people.ask("Ben", HAND_INS, {"v": 1, "arm": "arm-2"}, arms=("*",))
            assert status == 503 and "arms whose runs do: arm-1" in answer["reason"]

    run(test)


def test_a_run_that_is_not_there_costs_no_try(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path, mark_run=lambda _: DrivenVerdict(words="you have started no motion")) as people:
            status, answer = await people.ask("Ana", HAND_INS, {"v": 1, "arm": "arm-1"})
            assert (status, answer["reason"]) == (503, "you have started no motion")
            assert people.course.results.of("Ana") == ()

    run(test)


def test_the_audit_says_that_something_was_handed_in_and_neither_name_nor_mark(tmp_path: Path) -> None:
    async def test() -> None:
        async with class_of(tmp_path) as people:
            await people.hand_in("Ana")
            (deed,) = people.deeds
            assert (deed.what, deed.verdict, deed.detail) == ("hand in", "done", "robotics turn-it")
            assert deed.who == grant("Ana").token_id

    run(test)


def test_a_forged_journal_is_told_to_the_owner_and_marked_for_nobody(tmp_path: Path) -> None:
    forged = DrivenVerdict(words="x.mcap: record 3 is not the one that the lab signed", forged=True)

    async def test() -> None:
        async with class_of(tmp_path, mark_run=lambda _: forged) as people:
            said.clear()
            status, answer = await people.ask("Ana", HAND_INS, {"v": 1, "arm": "arm-1"})
            assert status == 503 and "nothing is marked" in answer["reason"]
            assert any("robotics, turn-it: a run on arm-1 is not marked" in words for words in said)
            assert people.course.results.of("Ana") == ()

    run(test)


@pytest.mark.processes
def test_a_running_lab_signs_for_its_arm_and_has_the_hand_in_marked_apart(tmp_path: Path) -> None:
    """All of it once, with the process that marks and everything that stands before it."""

    async def test() -> None:
        either = EXERCISE.replace("seconds = 5", 'function = "task"\nseconds = 3')
        (write_course(tmp_path) / "turn-it.toml").write_text(either)
        async with served(tmp_path, keyed=True) as lab:
            assert lab.lab.courses is not None
            people = Class(lab.url, lab.session, lab.lab.courses, PlainMarker(), [])
            status, given = await people.hand_in("Ana", TASK)
            assert (status, given["brief"]["total"], given["brief"]["refusal"]) == (200, 2.0, "")
            endless = {"solution.py": base64.b64encode(ENDLESS).decode()}
            status, given = await people.ask("Ana", HAND_INS, {"v": 1, "files": endless})
            # A busy computer is nobody's fault, and is told so; what never ends has no marks in any case.
            words = given["brief"]["refusal"] if status == 200 else given["reason"]
            assert "it did not come to an end" in words or "Hand it in again" in words, words
            assert [each.total for each in people.course.results.of("Ana")][1:] in ([], [0.0])
            assert list(query(lab.lab.audit_folder, what="hand in"))
            await lab.lab.vouch("arm-1")
            key = PublicKey.from_pem(lab.lab.audit_pem, "key")
            assert verify(lab.lab.audit_folder, key).text.startswith("whole") and "not yet signed" not in (
                verify(lab.lab.audit_folder, key).text
            )

    run(test, within_s=110.0)


def test_a_lab_without_courses_has_none(tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path, keyed=True) as lab:
            assert await lab.get("/v1/courses", headers={"Authorization": f"Bearer {token('Ana')}"}) == (
                200, {"v": 1, "courses": []})  # fmt: skip

    run(test)

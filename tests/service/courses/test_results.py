"""Results of a course: kept, told, counted as the course wants it, and forgotten whole."""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.errors import ConfigError
from hil.labs.exercise import load_exercise
from hil.labs.grade_records import Mark, Marked
from hil.service.courses.course import Exercise
from hil.service.courses.results import Result, Results
from hil.service.people_file import IN_MEMORY

PICK = Exercise(name="pick-and-place", asked=load_exercise("pick-and-place"))
NOW_S = 1_800_000_000.0


def marked(student: str, marks: float, picture: bytes = b"") -> Marked:
    row = Mark(name="grip it", marks=marks, most=2.0, held=0, cases=1, words="3 mm off", sample=17)
    return Marked(student=student, digest="d", marks=(row,), picture=picture)


@pytest.fixture
def results() -> Iterator[Results]:
    with contextlib.closing(Results(IN_MEMORY)) as made:
        yield made


def test_what_was_handed_in_is_there_with_its_marks_picture_and_files(results: Results) -> None:
    given = results.add(PICK, marked("Ana", 1.5, b"png"), t_epoch_s=NOW_S, files={"task.toml": b"x"})
    assert (given.number, given.total, given.most, given.has_picture) == (1, 1.5, PICK.asked.marks, True)
    assert results.of("Ana") == (given,) and results.get(1) == given
    assert (results.picture(1), results.files(1)) == (b"png", {"task.toml": b"x"})
    assert results.marked(1) == marked("Ana", 1.5)


def test_of_a_student_are_their_own_alone(results: Results) -> None:
    for name in ("Ana", "Ben", "Ana"):
        results.add(PICK, marked(name, 1.0), t_epoch_s=NOW_S)
    assert [each.number for each in results.of("Ana")] == [1, 3]
    assert results.of("Ana", "another") == ()


@pytest.mark.parametrize(("counts", "total"), [("best", 2.0), ("last", 0.5)])
def test_the_one_counts_that_the_course_says(results: Results, counts: str, total: float) -> None:
    exercise = Exercise(name=PICK.name, asked=PICK.asked, counts=counts)
    for marks in (1.0, 2.0, 0.5):
        results.add(exercise, marked("Ana", marks), t_epoch_s=NOW_S)
    assert results.counted(exercise)["Ana"].total == total


def test_who_watches_hears_of_a_result_that_is_kept(results: Results) -> None:
    heard: list[tuple[Result, object]] = []
    results.watch(lambda result: heard.append((result, results.get(result.number))))
    given = results.add(PICK, marked("Ana", 1.0), t_epoch_s=NOW_S, arm="left")
    assert heard == [(given, given)]
    assert (given.source, given.arm) == ("arm", "left")


def test_a_person_is_forgotten_whole(results: Results) -> None:
    results.enrol("Ana", NOW_S)
    results.enrol("Ana", NOW_S + 1.0)
    results.enrol("Ben", NOW_S)
    results.add(PICK, marked("Ana", 1.0), t_epoch_s=NOW_S)
    results.add(PICK, marked("Ben", 1.0), t_epoch_s=NOW_S)
    assert results.forget("Ana") == 1
    assert (results.enrolled(), results.of("Ana"), len(results.of("Ben"))) == (("Ben",), (), 1)


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are others there")
def test_results_are_for_their_owner_alone_and_there_the_next_time(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    with contextlib.closing(Results(file)) as first:
        first.add(PICK, marked("Ana", 1.0), t_epoch_s=NOW_S)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with contextlib.closing(Results(file)) as again:
        assert again.of("Ana")[0].t_epoch_s == NOW_S


def test_another_file_is_no_file_of_results(tmp_path: Path) -> None:
    (tmp_path / "results.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(ConfigError, match="move it away"):
        Results(tmp_path / "results.sqlite")

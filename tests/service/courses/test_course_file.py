"""A course's file: what it says counts, what is wrong is told at once, and nothing leads out of its folder."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from hil.errors import CommandError, ConfigError, ConfigErrors
from hil.service.courses.books import open_courses
from hil.service.courses.course import Course, check_id, load_course

ARMS = {"left": "lynx6", "mitsubishi": "rv2aj"}
TWO = """
title = "Robotics"
students = ["Ana", "Ben"]
arms = ["left"]
closes = "2026-12-14"

[[exercise]]
name = "pick-and-place"

[[exercise]]
name = "where-is-the-tool"
tries = 3
counts = "last"
seed = 7
"""


def read(folder: Path, text: str = TWO) -> Course:
    made = folder / "robotics"
    made.mkdir(exist_ok=True)
    (made / "course.toml").write_text(text)
    return load_course(made, ARMS)


def test_what_the_file_says_counts(tmp_path: Path) -> None:
    course = read(tmp_path)
    first, second = course.exercises
    assert (course.id, course.students) == ("robotics", ("Ana", "Ben"))
    assert (first.tries, first.counts, first.seed, first.arms) == (20, "best", None, ("left",))
    # No arm runs answers: what is said of all exercises holds where it can.
    assert (second.tries, second.counts, second.seed, second.arms) == (3, "last", 7, ())


def test_a_day_alone_closes_at_its_end(tmp_path: Path) -> None:
    exercise = read(tmp_path).exercise("pick-and-place")
    end_s = datetime.datetime(2026, 12, 15).timestamp()
    assert exercise.closes_s == end_s
    assert exercise.why_closed(end_s - 1.0) == ""
    assert "has closed at 2026-12-15 00:00" in exercise.why_closed(end_s)


def test_before_it_opens_nothing_is_handed_in(tmp_path: Path) -> None:
    exercise = read(tmp_path, TWO.replace('closes = "2026-12-14"', 'opens = "2026-12-14 08:00"')).exercises[0]
    begin_s = datetime.datetime(2026, 12, 14, 8).timestamp()
    assert "opens at 2026-12-14 08:00" in exercise.why_closed(begin_s - 1.0)
    assert exercise.why_closed(begin_s) == ""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"pick-and-place"', '"pick-and-plaice"', "one of: melfa-pick-and-place"),
        ('"pick-and-place"', '"../robotics/course.toml"', "in the course's own folder"),
        ('"pick-and-place"', '"where-is-the-tool"', "a name that no other one has"),
        ('students = ["Ana", "Ben"]', 'students = ["Ana", " "]', "no blanks around"),
        ('students = ["Ana", "Ben"]', 'roster = "../../class.csv"', "in the course's own folder"),
        ('arms = ["left"]', 'arms = ["lefd"]', "arms of the lab: left, mitsubishi"),
        ("seed = 7", 'seed = 7\narms = ["left"]', "of kind answers, which no arm runs"),
        ("tries = 3", "tries = 0", "tries"),
        ('closes = "2026-12-14"', 'closes = "Monday"', "as 2026-01-31"),
        ('closes = "2026-12-14"', 'closes = "2026-12-14"\nopens = "2027-01-01"', "a moment after it opens"),
        ("[[exercise]]", "[[exercises]]", "exercise"),
    ],
)  # fmt: skip
def test_a_fault_of_the_file_is_told(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises((ConfigError, ConfigErrors)) as told:
        read(tmp_path, TWO.replace(old, new))
    assert words in str(told.value)


def test_an_arm_of_another_kind_cannot_stand_for_it(tmp_path: Path) -> None:
    own = TWO.replace('name = "pick-and-place"', 'name = "pick-and-place"\narms = ["mitsubishi"]')
    with pytest.raises(ConfigError, match="for arms that are a lynx6"):
        read(tmp_path, own)


def test_a_class_is_read_from_the_table_that_tokens_are_made_of(tmp_path: Path) -> None:
    (tmp_path / "robotics").mkdir()
    (tmp_path / "robotics" / "class.csv").write_text("name;arm;role\nAna;left;\nTess;*;teach\n")
    assert read(tmp_path, TWO.replace('students = ["Ana", "Ben"]', 'roster = "class.csv"')).students == ("Ana",)


def test_an_exercise_that_is_not_there_is_named_with_its_likely_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Did you mean 'pick-and-place'"):
        read(tmp_path).exercise("pick-and-plaice")


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "x" * 41])
def test_a_course_is_named_by_letters_digits_and_hyphens(name: str) -> None:
    with pytest.raises(CommandError, match="1 to 40 letters"):
        check_id(name)


def test_a_changed_file_counts_at_once_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "courses").mkdir()
    read(tmp_path / "courses")
    file = tmp_path / "courses" / "robotics" / "course.toml"
    courses = open_courses(tmp_path, ARMS, said.append)
    try:
        file.write_text(TWO.replace('"Ben"', '"Ben", "Cleo"'))
        courses.refresh()
        assert [each.course.id for each in courses.of("Cleo")] == ["robotics"]
        file.write_text("title = 3")
        courses.refresh()
        assert courses.of("Cleo") and "what it said before counts on" in said[0]
    finally:
        courses.close()

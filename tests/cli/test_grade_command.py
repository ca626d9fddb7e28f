"""hil grade: what is printed and written, that it goes on where it was broken off, and with which code it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Terminal

from hil.labs import grade_crew
from hil.labs.grade_records import Setup, refused
from hil.labs.grade_run import mark, prepared

TASK = (Path(__file__).parents[2] / "configs" / "tasks" / "pick-and-place.toml").read_text()


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    for student, text in (
        ("ana", TASK),
        ("ben", "title = 3\n"),
        ("cy", TASK.replace("opening_mm = 12", "opening_mm = 20")),
    ):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "task.toml").write_text(text)
    return Terminal(tmp_path, monkeypatch, capsys)


class Here:
    """Marks in this process, and remembers whom; breaks off after so many."""

    words = "this process"

    def __init__(self, setup: Setup, folder: Path, most: int = 99) -> None:
        self.setup, self.folder, self.most, self.seen = setup, folder, most, []

    def run(self, submissions):
        for number, submission in enumerate(submissions):
            if number == self.most:
                raise KeyboardInterrupt
            self.seen.append(submission.student)
            place = self.folder / f"{submission.student}-{len(list(self.folder.iterdir()))}"
            place.mkdir()
            yield mark(self.setup.exercise, prepared(self.setup.exercise), self.setup.seed, submission, place)


@pytest.fixture
def crews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, most = [], [99]
    (tmp_path / "scratch").mkdir()

    def crew_of(setup, *, cluster, cores):
        made.append(Here(setup, tmp_path / "scratch", most[0]))
        return made[-1]

    monkeypatch.setattr(grade_crew, "crew_of", crew_of)
    return made, most


def test_a_class_is_marked_once_and_each_has_a_report(terminal: Terminal, crews) -> None:
    made, most = crews
    most[0] = 2
    broken_off = terminal.run("grade", "pick-and-place", "class", "--no-pictures", "--like", "1")
    assert broken_off.code == 130
    assert "2 of 3 are marked and kept in marks-pick-and-place: the same command goes on from there" in broken_off.err
    most[0] = 99
    told = terminal.run("grade", "pick-and-place", "class", "--no-pictures", "--csv", "--junit", "j.xml")
    assert told.code == 0 and made[-1].seen == ["cy"]
    assert "ana" in told.out and "all right" in told.out and "title" in told.out
    folder = terminal.folder / "marks-pick-and-place"
    rows = (folder / "marks.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["19", "0", "11"]
    assert {path.name for path in folder.iterdir()} == {
        "marking.json", "students", "marks.csv", "moodle.csv", "canvas.csv", "likeness.csv"
    }  # fmt: skip
    assert "20.0 mm open" in (folder / "students" / "cy.md").read_text()
    assert (terminal.folder / "j.xml").read_bytes().startswith(b"<?xml")
    count = len(made)
    again = terminal.run("grade", "pick-and-place", "class", "--no-pictures", "--json", "--require", "50")
    assert len(made) == count and again.code == 1
    students = json.loads(again.out)["students"]
    assert [(one["student"], one["total"], one["of"]) for one in students] == [
        ("ana", 19, 19),
        ("ben", 0, 19),
        ("cy", 11, 19),
    ]
    assert (
        terminal.run("grade", "pick-and-place", "class/ana", "--into", "own", "--no-pictures", "--require", "100").code
        == 0
    )


def test_a_fault_of_the_marker_is_no_mark_and_is_not_kept(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty:
        words = "faulty"

        def __init__(self, setup):
            self.setup = setup

        def run(self, submissions):
            import msgspec

            for submission in submissions:
                yield msgspec.structs.replace(refused(self.setup.exercise, submission, "a fault"), fault=True)

    monkeypatch.setattr(grade_crew, "crew_of", lambda setup, **_: Faulty(setup))
    told = terminal.run("grade", "pick-and-place", "class", "--no-pictures")
    assert told.code == 1 and "by a fault of the marker" in told.err
    assert list((terminal.folder / "marks-pick-and-place" / "students").glob("*.json")) == []


def test_another_marking_in_the_same_folder_is_refused(terminal: Terminal, crews) -> None:
    assert terminal.run("grade", "where-is-the-tool", "class", "--into", "m").code == 0
    told = terminal.run("grade", "where-is-the-tool", "class", "--into", "m", "--seed", "3")
    assert told.code == 1 and "--again" in told.err


def test_an_exercise_and_a_students_numbers_are_shown(terminal: Terminal) -> None:
    told = terminal.run("grade", "where-is-the-tool", "--sheet", "ana", "--seed", "5")
    assert "hand in answers.toml" in told.out and "ana, case 1: base =" in told.out
    assert told.out != terminal.run("grade", "where-is-the-tool", "--sheet", "ana", "--seed", "6").out
    sheets = json.loads(terminal.run("grade", "where-is-the-tool", "--sheet", "ana", "--json").out)["sheets"]
    assert set(sheets["ana"][0]) == {"base", "shoulder", "elbow", "wrist"}


@pytest.mark.parametrize(
    "line, words",
    [
        ("grade pick-and-plaec class", "Did you mean 'pick-and-place'"),
        ("grade pick-and-place nowhere", "a folder with a folder for each student"),
        ("grade pick-and-place class --roster nowhere.csv", "--roster nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_marked(terminal: Terminal, line: str, words: str) -> None:
    told = terminal.run(*line.split())
    assert told.code == 1 and words in told.err


def test_results_are_never_kept_among_what_was_handed_in(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(terminal.folder / "class")
    told = terminal.run("grade", "pick-and-place", ".")
    assert told.code == 1 and "--into" in told.err and not (terminal.folder / "class" / "marks-pick-and-place").exists()
    told = terminal.run("grade", "pick-and-place", "ana", "--into", "ana/own")
    assert told.code == 1 and "outside" in told.err


def test_what_lies_among_the_submissions_takes_no_bundled_files_place(
    terminal: Terminal, crews, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = terminal.folder / "class" / "ana"
    for name in ("pick-and-place", "lynx6", "configs/rigs/lynx6.toml", "configs/robots/lynx6.toml"):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_text("title = 1\n")
    monkeypatch.chdir(theirs)
    told = terminal.run("grade", "pick-and-place", ".", "--into", "../../m", "--no-pictures", "--require", "100")
    assert told.code == 0, told.err
    assert (terminal.folder / "m" / "marks.csv").is_file() and Path.cwd() == theirs


def test_a_students_name_is_no_markup(terminal: Terminal, crews) -> None:
    (terminal.folder / "class" / "[red]dee").mkdir()
    told = terminal.run("grade", "where-is-the-tool", "class", "--no-pictures")
    assert told.code == 0 and "[red]dee" in told.out

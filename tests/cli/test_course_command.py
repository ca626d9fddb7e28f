"""hil course: a teacher makes a course, a student hands in, and each reads what is theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser_stand import LabThread, lab_thread
from command_line import Terminal
from course_folders import PNG, PlainMarker, one_mark, write_course
from tokens_of_people import token

from hil.service.connection import logins_dir
from hil.service.courses import hand_ins
from hil.service.courses.results import FILE, Results
from hil.service.join import Join, save_login
from hil.service.rights import Role


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


@pytest.fixture
def lab(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabThread]:
    """One with a course, whose marker takes no time."""
    made, marker = hand_ins.HandIns, PlainMarker()

    def plain(evidence: hand_ins.Evidence, say: Callable[[str], None]) -> hand_ins.HandIns:
        return made(evidence, say, make_marker=marker.of, mark_run=one_mark)

    monkeypatch.setattr(hand_ins, "HandIns", plain)
    (tmp_path / "served").mkdir()
    write_course(tmp_path / "served")
    with lab_thread(tmp_path / "served", keyed=True) as found:
        yield found


def log_in(lab: LabThread, who: str, role: Role = Role.DRIVE) -> None:
    join = Join(lab="arms", url=lab.served.url, certificate_sha256="", token=token(who, role))
    save_login(logins_dir(), join)


@pytest.mark.wall_clock
def test_a_student_hands_in_and_a_teacher_takes_the_marks_along(terminal: Terminal, lab: LabThread) -> None:
    log_in(lab, "Ana")
    (terminal.folder / "mine.toml").write_text("x")
    assert "turn-it.toml" not in terminal.run("course", "show").out
    shown = terminal.run("course", "show", "turn-it").out
    assert "robotics/turn-it: Turn it, 2 marks" in shown and "hil course hand-in turn-it --arm arm-1" in shown
    told = terminal.run("course", "hand-in", "turn-it", "mine.toml", "--picture", "p.png")
    assert told.code == 0 and "mine.toml is handed in as task.toml" in told.err
    assert "turn-it, number 1: 1 of 2 marks" in told.out and "20 s (sample 7, 0.14 s)" in told.out
    assert (terminal.folder / "p.png").read_bytes() == PNG
    run = terminal.run("course", "hand-in", "robotics/turn-it", "--arm", "arm-1", "--json")
    assert json.loads(run.out)["brief"]["source"] == "arm"
    assert "run on arm-1" in terminal.run("course", "results", "turn-it").out
    assert terminal.run("course", "hand-in", "turn-it").code == 2
    wrong = terminal.run("course", "hand-in", "turn-out", "mine.toml")
    assert wrong.code == 1 and "robotics/turn-it, robotics/where-is-the-tool" in wrong.err
    assert "you teach no course here" in terminal.run("course", "marks").err
    log_in(lab, "Ben")
    hidden = terminal.run("course", "results", "turn-it", "--number", "1")
    assert (hidden.code, hidden.err.strip()) == (1, "there is no such result for you")
    log_in(lab, "Tess", Role.TEACH)
    assert "1 of 2" in terminal.run("course", "marks").out
    assert "1 of 2" in terminal.run("course", "results", "turn-it", "--student", "Ana").out
    assert terminal.run("course", "marks", "--as", "csv", "--exercise", "turn-it", "-o", "m.csv").out == "m.csv\n"
    assert (terminal.folder / "m.csv").read_text("utf-8-sig").splitlines()[1].startswith("Ana,1,2,")


def test_a_course_is_made_whole_or_not_at_all(terminal: Terminal) -> None:
    terminal.run("serve", "init", "lab", "--arm", "left=lynx6")
    (terminal.folder / "class.csv").write_text("name,role\nAna,\nTess,teach\n")
    options = ("--exercise", "where-is-the-tool", "--lab", "lab")
    made = terminal.run("course", "new", "robotics", "--roster", "class.csv", *options)
    assert "1 students, 1 exercises" in made.out, made.text
    text = (terminal.folder / "lab/courses/robotics/course.toml").read_text()
    assert 'roster = "class.csv"' in text and "seed = " in text and "teachers" not in text
    again = terminal.run("course", "new", "robotics", *options)
    assert again.code == 1 and "a new course" in again.err
    wrong = terminal.run("course", "new", "other", "--arm", "right", *options)
    assert wrong.code == 1 and "arms of the lab: left" in wrong.err
    assert not (terminal.folder / "lab/courses/other").exists()


def test_who_is_forgotten_leaves_no_result(terminal: Terminal) -> None:
    from course_folders import exercise

    from hil.labs.grade_records import Marked

    terminal.run("serve", "init", "lab", "--arm", "left=lynx6")
    folder = write_course(terminal.folder / "lab")
    results = Results(folder / FILE)
    results.add(exercise(folder), Marked(student="Ana", digest="d", marks=()), t_epoch_s=1.0)
    told = terminal.run("token", "forget", "Ana", "--lab", "lab")
    assert told.out == "0 tokens and 0 slots are forgotten, and 1 results\n"
    assert results.of("Ana") == ()
    results.close()

"""What is read of a submission, and what is refused before anything is done with it."""

import os
from pathlib import Path

import pytest

from hil.errors import ConfigError
from hil.labs.exercise import load_exercise
from hil.labs.grade_door import moodle_name, read_submissions

EXERCISE = load_exercise("pick-and-place")


@pytest.fixture
def one(tmp_path):
    folder = tmp_path / "ana"
    folder.mkdir()
    (folder / "task.toml").write_text('title = "mine"\n')
    return folder


def read(folder):
    return read_submissions(folder, EXERCISE)


def test_a_folder_for_each_student(tmp_path, one):
    (tmp_path / "ben").mkdir()
    (tmp_path / "roster.csv").write_text("no student\n")
    ana, ben = read(tmp_path)
    assert (ana.student, ana.files) == ("ana", {"task.toml": b'title = "mine"\n'})
    assert (ben.student, ben.files, ben.refusal) == ("ben", {}, "")


def test_one_students_own_folder(one):
    (ana,) = read(one)
    assert ana.student == "ana" and list(ana.files) == ["task.toml"]


def test_names_of_moodle_and_canvas(tmp_path):
    assert moodle_name("Ana López_4711_assignsubmission_file_") == "Ana López"
    assert moodle_name("Ana López_4711_assignsubmission_file") == "Ana López"
    assert moodle_name("ana") == "ana"
    for name in ("lopezana_4711_815_task.toml", "doejane_LATE_4712_816_task-2.toml", "notes.txt"):
        (tmp_path / name).write_text("x = 1\n")
    jane, ana = read(tmp_path)
    assert (jane.student, list(jane.files)) == ("doejane", ["task.toml"])
    assert (ana.student, list(ana.files)) == ("lopezana", ["task.toml"])


def test_a_journal_is_never_read(one):
    (one / "run.mcap").write_bytes(b"all is well")
    (ana,) = read(one)
    assert list(ana.files) == ["task.toml"]
    assert "no journal that is handed in counts" in ana.notes[0]


def test_other_files_are_noted_and_not_read(one):
    (one / "picture.png").write_bytes(b"png")
    (one / ".git").mkdir()
    (one / "more").mkdir()
    (ana,) = read(one)
    assert list(ana.files) == ["task.toml"] and len(ana.notes) == 2


@pytest.mark.parametrize("size, refused", [(1_000_000, False), (1_000_001, True), (100_000_000, True)])
def test_a_large_file_is_refused_unread(one, size, refused):
    with (one / "task.toml").open("wb") as file:
        file.truncate(size)
    (ana,) = read(one)
    assert bool(ana.refusal) is refused
    assert not refused or (f"{size} bytes" in ana.refusal and ana.files == {})


def test_many_files_are_refused(one):
    for k in range(40):
        (one / f"points-{k}.csv").write_text("1,2,3\n")
    assert "more than 40 files" in read(one)[0].refusal


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_what_is_no_plain_file_is_refused_and_not_waited_for(tmp_path, one):
    (one / "task.toml").unlink()
    os.mkfifo(one / "task.toml")
    assert "no plain file" in read(tmp_path)[0].refusal


def test_a_link_is_not_followed(tmp_path, one):
    secret = tmp_path / "solution.toml"
    secret.write_text("right = 1\n")
    (one / "points.csv").symlink_to(secret)
    (ana,) = read(tmp_path)
    assert ana.files == {} and "a link to another file" in ana.refusal


def test_what_was_handed_in_has_a_digest(one):
    before = read(one)[0].digest
    assert before == read(one)[0].digest
    (one / "task.toml").write_text('title = "other"\n')
    assert before != read(one)[0].digest


def test_a_folder_without_submissions_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"task\.toml or solution\.py"):
        read(tmp_path)
    with pytest.raises(ConfigError, match="a folder with a folder for each student"):
        read(Path("nowhere"))


def test_a_name_that_is_no_text_or_a_folder_that_cannot_be_read_is_not_the_end(tmp_path, one, monkeypatch):
    for name in (b"ben\xff", b"ben\xfe", b"cy\x1b[2J"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    names = os.listdir

    def listed(folder):
        if Path(folder).name == "ana":
            raise PermissionError(13, "Permission denied")
        return names(folder)

    monkeypatch.setattr(os, "listdir", listed)
    found = {each.student: each for each in read(tmp_path)}
    assert set(found) == {"ana", "ben\ufffd", "ben\ufffd (2)", "cy\ufffd[2J"}
    assert found["ana"].refusal == "the folder cannot be read: Permission denied"


def test_two_folders_of_one_participant_are_one_submission(tmp_path):
    for kind, file in (("file", "task.toml"), ("onlinetext", "onlinetext.html")):
        (tmp_path / f"Ana_12_assignsubmission_{kind}_").mkdir()
        (tmp_path / f"Ana_12_assignsubmission_{kind}_" / file).write_text("x = 1\n")
    (ana,) = read(tmp_path)
    assert list(ana.files) == ["task.toml"] and ana.student == "Ana_12_assignsubmission_file_"


def test_two_of_one_name_at_canvas_are_two(tmp_path):
    for name in ("doejane_1_2_task.toml", "doejane_3_4_task.toml"):
        (tmp_path / name).write_text("x = 1\n")
    assert [each.student for each in read(tmp_path)] == ["doejane_1", "doejane_3"]


def test_a_folder_with_more_than_anybody_hands_in_is_refused_unread(one):
    for k in range(1001):
        (one / f"f{k}.xyz").touch()
    (ana,) = read(one.parent)
    assert ana.refusal == "the folder holds 1002 files; allowed: at most 1000" and ana.notes == ()


def test_a_linked_folder_is_told_and_not_followed(tmp_path, one):
    (tmp_path / "ben").symlink_to(one)
    ana, ben = read(tmp_path)
    assert (ana.refusal, ben.student, ben.files) == ("", "ben", {})
    assert ben.refusal == "it is a link to another folder; allowed: the folder itself"


def test_nobody_is_hidden_by_the_name_that_moodle_has_of_them(tmp_path):
    (tmp_path / ".ben_7_assignsubmission_file").mkdir()
    (tmp_path / ".git").mkdir()
    assert [each.student for each in read(tmp_path)] == [".ben_7_assignsubmission_file"]


def test_a_folder_beside_files_of_canvas_costs_nobody_a_submission(tmp_path):
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "lopezana_4711_815_task.toml").write_text("x = 1\n")
    assert [each.student for each in read(tmp_path)] == ["__MACOSX", "lopezana"]

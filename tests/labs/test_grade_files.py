"""What a marking writes: tables that Moodle, Canvas and JUnit read, reports, and how alike submissions are."""

import csv
import io
import stat
from xml.etree import ElementTree

import msgspec
import pytest

from hil.errors import CommandError, ConfigError
from hil.labs.exercise import exercise_from_table
from hil.labs.grade_files import canvas_csv, junit_xml, marks_csv, moodle_csv, report
from hil.labs.grade_likeness import _runs, alike
from hil.labs.grade_records import Mark, Marked, Submission, refused
from hil.labs.grade_store import Store, file_name, write_private

ROWS = [{"do": "refusals", "name": "none"}, {"do": "time", "name": "soon", "at_most_s": 5, "marks": 3}]
EXERCISE = exercise_from_table(
    {"title": "Short", "rig": "lynx6", "hand_in": {"kind": "task"}, "predicate": ROWS}, "short", "short.toml"
)


def marked(student, soon=3.0, refusal="", digest="d"):
    held = int(soon == 3.0)
    late = Mark(
        name="soon", marks=soon, most=3.0, held=held, cases=1, words="it took | 6 s", case=1 - held, sample=None
    )
    first = Mark(name="none", marks=1.0, most=1.0, held=1, cases=1, words="nothing was refused")
    return Marked(student=student, digest=digest, marks=(first, late), refusal=refusal)


EVERY = [marked("Ana López_4711_assignsubmission_file_"), marked("Ben", soon=0.0), marked("=cmd()", soon=0.0)]


def table(text):
    return list(csv.reader(io.StringIO(text)))


def test_the_table_has_a_column_for_each_predicate():
    rows = table(marks_csv(EXERCISE, EVERY))
    assert rows[0] == ["student", "marks", "of", "none", "soon", "refused"]
    assert rows[2] == ["Ben", "1", "4", "1", "0", ""]


def test_no_name_is_a_formula_for_a_spreadsheet():
    assert table(marks_csv(EXERCISE, EVERY))[3][0] == "'=cmd()"


def test_moodles_worksheet_is_filled_in_and_nothing_else_of_it_is_changed():
    worksheet = (
        "\ufeffIdentifier,Full name,Status,Grade,Maximum Grade\r\nParticipant 4711,Ana López,Submitted,-,4.00\r\n"
    )
    worksheet += "Participant 4712,Cy,No submission,-,4.00\r\n"
    rows = table(moodle_csv(EXERCISE, EVERY, worksheet))
    assert rows[0] == ["Identifier", "Full name", "Status", "Grade", "Maximum Grade", "Feedback comments"]
    assert rows[1] == ["Participant 4711", "Ana López", "Submitted", "4", "4.00", "all right"]
    assert rows[2][:4] == ["Participant 4712", "Cy", "No submission", "-"]


def test_without_a_worksheet_moodle_gets_names_and_marks():
    rows = table(moodle_csv(EXERCISE, EVERY, None))
    assert rows[1][:3] == ["Ana López", "4", "4"]
    assert rows[2] == ["Ben", "1", "4", "soon: it took | 6 s"]


def test_canvas_gets_its_students_with_their_numbers():
    gradebook = 'Student,ID,SIS User ID,SIS Login ID,Section\nPoints Possible,,,,\n"Doe, Jane",12,s12,jdoe,A\n'
    rows = table(canvas_csv(EXERCISE, [marked("doejane")], gradebook))
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Short"],
        ["    Points Possible", "", "", "", "", "4"],
        ["Doe, Jane", "12", "s12", "jdoe", "A", "4"],
    ]


@pytest.mark.parametrize("write", [moodle_csv, canvas_csv])
def test_another_table_as_roster_is_refused(write):
    with pytest.raises(CommandError, match="--roster: columns a, b given"):
        write(EXERCISE, EVERY, "a,b\n1,2\n")


def test_junit_has_a_suite_for_each_student_and_words_for_each_failure():
    odd = marked("Cy", soon=0.0, refusal="it gave \x00\x1b[2J")
    top = ElementTree.fromstring(junit_xml(EXERCISE, [*EVERY, odd]))
    assert [suite.get("failures") for suite in top] == ["0", "1", "1", "1"]
    assert top[1].find("testcase/failure").get("message") == "it took | 6 s"
    assert top[1].find("testcase[@name='soon']").get("classname") == "short"


def test_a_report_says_what_was_found():
    text = report(EXERCISE, None, EVERY[1], with_picture=True)
    assert "# Short: 1 of 4 marks" in text
    assert "| soon | 0 of 3 | it took / 6 s |" in text
    assert "![the tool's way](ben-amgxky.png)" in text
    assert "It was not marked" in report(EXERCISE, None, marked("Ben", refusal="why"), with_picture=False)


# -- what is kept ------------------------------------------------------------------------------------------


def submission(student="ana", text=b"x = 1"):
    return Submission(student=student, files={"task.toml": text})


def test_what_was_marked_is_kept_for_exactly_these_files(tmp_path):
    store = Store(tmp_path / "marks", EXERCISE, 1)
    done = marked("ana", digest=submission().digest)
    store.keep(done)
    again = Store(tmp_path / "marks", EXERCISE, 1)
    assert again.kept(submission()) == done
    assert again.kept(submission(text=b"x = 2")) is None
    assert again.kept(submission("ben")) is None


def test_another_seed_or_exercise_is_another_marking(tmp_path):
    store = Store(tmp_path / "marks", EXERCISE, 1)
    store.keep(marked("ana", digest=submission().digest))
    with pytest.raises(CommandError, match="holds another marking"):
        Store(tmp_path / "marks", EXERCISE, 2)
    assert Store(tmp_path / "marks", EXERCISE, 2, again=True).kept(submission()) is None


def test_a_damaged_file_is_marked_again(tmp_path):
    store = Store(tmp_path / "marks", EXERCISE, 1)
    store.keep(marked("ana", digest=submission().digest))
    store.report_file("ana", ".json").write_bytes(b"{")
    assert store.kept(submission()) is None


def test_marks_are_for_their_owner_alone(tmp_path):
    store = Store(tmp_path / "marks", EXERCISE, 1)
    store.keep(marked("ana"))
    if stat.S_IMODE((tmp_path / "marks").stat().st_mode) != 0o777:  # where files have no owners
        assert stat.S_IMODE((tmp_path / "marks").stat().st_mode) == 0o700
        assert stat.S_IMODE(store.report_file("ana", ".json").stat().st_mode) == 0o600


def test_names_become_names_of_files_and_stay_apart():
    assert file_name("ana-1") == "ana-1"
    assert "/" not in file_name("../../etc/passwd") and not file_name("../x").startswith(".")
    assert file_name("a b") != file_name("a-b") != file_name("a/b")


# -- likeness ----------------------------------------------------------------------------------------------

LONG = "\n".join(f"def step_{k}(a, b):\n    return a * {k} + b\n" for k in range(20))


def python(student, text):
    return Submission(student=student, files={"solution.py": text.encode()})


@pytest.mark.parametrize("letter", ["\U00020000", "\N{GREEK SMALL LETTER IOTA WITH DIALYTIKA AND TONOS}"])
def test_a_long_name_of_letters_of_many_bytes_is_a_name_that_a_file_system_takes(letter):
    assert len(f"{file_name(letter * 60)}.json.part".encode()) < 255


def test_nobody_can_be_named_as_the_file_of_somebody_else():
    assert file_name(file_name("Ana")) != file_name("Ana")


def test_of_a_refusal_that_quotes_all_that_was_handed_in_as_much_is_kept_as_anybody_reads():
    words = refused(EXERCISE, Submission(student="ana"), "x" * 1_000_000).refusal
    assert len(words) < 4100 and words.endswith("... and 996000 letters more")


def test_other_names_and_remarks_make_no_other_submission():
    renamed = LONG.replace("step", "part").replace("a *", "first *").replace("(a,", "(first,") + "# mine\n"
    (found,) = alike([python("ana", LONG), python("ben", renamed)], 0.8)
    assert (found.first, found.second, found.share, found.same) == ("ana", "ben", 1.0, False)


def test_another_solution_is_not_alike():
    other = "\n".join(f"value = [{k}, '{k}'] if table['{k}'] else {{{k}: None}}\n" for k in range(20))
    assert alike([python("ana", LONG), python("ben", other)], 0.2) == []


def test_what_most_have_is_the_exercises_and_counts_for_nobody():
    own = [
        "\n".join(f"x{k} = {k} {sign} {seed * k + 1} ; y = [{k}]" for k in range(30))
        for seed, sign in enumerate("+-*/%|&^@", 1)
    ]
    every = [python(f"s{k}", LONG + text) for k, text in enumerate(own)]
    found = alike([*every, python("thief", LONG + own[0])], 0.8)
    assert [(each.first, each.second) for each in found] == [("s0", "thief")]


def test_the_same_bytes_are_the_same_however_short():
    (found,) = alike([python("ana", "x = 1"), python("ben", "x = 1")], 0.8)
    assert found.same and found.share == 1.0


def test_two_of_one_name_are_told_apart_by_number_or_left_empty():
    told = []
    two = [marked("Ana_12_assignsubmission_file_"), marked("Ana_13_assignsubmission_file_", soon=0.0)]
    rows = table(moodle_csv(EXERCISE, two, "Identifier,Full name,Grade\nParticipant 13,Ana,-\nParticipant 12,Ana,-\n"))
    assert [row[2] for row in rows[1:]] == ["1", "4"]
    rows = table(moodle_csv(EXERCISE, two, "Full name,Grade\nAna,-\n", told.append))
    assert rows[1][1] == "-" and "fill it in by hand" in told[0]
    gradebook = 'Student,ID\n"Doe, Jane",3\n"Doe, Jane",1\n'
    rows = table(canvas_csv(EXERCISE, [marked("doejane_1"), marked("doejane_3", soon=0.0)], gradebook, told.append))
    assert [row[-1] for row in rows[2:]] == ["1", "4"] and len(told) == 1


@pytest.mark.parametrize("name", ["\uff1dcmd()", "a;=cmd()", "a\t@cmd", "a\n+cmd()", "\t=cmd()", " =cmd()"])
def test_no_part_of_a_cell_is_a_formula(name):
    cell = table(marks_csv(EXERCISE, [marked(name)]))[1][0]
    assert "'" in cell and cell != name


def test_words_of_students_are_no_markdown_no_markup_and_no_control():
    each = marked("a\x1bb", refusal="")
    each = msgspec.structs.replace(each, notes=("[x](http://y) <b>",))
    assert "\\[x\\](http://y) \\<b\\>" in report(EXERCISE, None, each, with_picture=False)
    assert b"\x1b" not in junit_xml(EXERCISE, [each])
    assert file_name("Ana") != file_name("ana") and file_name("Ana") == file_name("Ana").casefold()


def test_likeness_of_what_was_made_to_be_large_looks_at_its_beginning_only():
    files = {"solution.py": b"x = 1\n" * 150_000, "notes.txt": b"word " * 200_000}
    (found,) = alike(
        [Submission(student="a", files=files), Submission(student="b", files={**files, "n.csv": b"1"})], 0.0
    )
    assert found.share == 0.0
    text = " ".join(f"{k}" for k in range(100_000)).encode()
    assert 0 < len(_runs(Submission(student="a", files={"solution.py": text}))) <= 20_000
    assert 0 < len(_runs(Submission(student="a", files={f"f{k}.py": text for k in range(40)}))) <= 20_000


def test_what_leads_elsewhere_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "marks.csv.part").symlink_to(victim)
    write_private(tmp_path / "marks.csv", b"1")
    assert victim.read_text() == "mine" and (tmp_path / "marks.csv").read_bytes() == b"1"
    (tmp_path / "m").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "m" / "students").symlink_to(tmp_path / "there")
    with pytest.raises(ConfigError, match="a link to another place"):
        Store(tmp_path / "m", EXERCISE, None)


def test_a_changed_rig_is_another_marking(tmp_path):
    Store(tmp_path / "m", EXERCISE, None, files="a")
    with pytest.raises(CommandError, match="another marking"):
        Store(tmp_path / "m", EXERCISE, None, files="b")

"""Submissions, marked in this process: what each kind of hand-in gets, and what it cannot get by."""

import math
from pathlib import Path

import numpy as np
import pytest

from hil.labs.exercise import exercise_from_table, load_exercise
from hil.labs.exercise_cases import cases_of
from hil.labs.grade_records import Submission
from hil.labs.grade_run import digest_of_files, expected, mark, mark_with_runs, prepared
from hil.labs.judge import same_robot
from hil.labs.predicates import SameRobot
from hil.labs.sandbox import locks_in
from hil.model.reader import load_robot
from hil.robot import Robot

ROOT = Path(__file__).parents[2]
TASK = (ROOT / "configs/tasks/pick-and-place.toml").read_bytes()
PROGRAM = {f"program.{end}": (ROOT / f"configs/programs/pick-and-place.{end}").read_bytes() for end in ("mb4", "pos")}
SHORT = b'title = "short"\nstart = "home"\n[[step]]\ndo = "move"\nby_deg = { base = 20 }\n'

needs_lock = pytest.mark.skipif(not locks_in(), reason="processes are locked in on Linux only")


def exercise(kind="task", rig="lynx6", **more):
    rows = [{"do": "refusals", "name": "none refused"}, {"do": "time", "name": "soon", "at_most_s": 5, "marks": 3}]
    table = {
        "title": "Short",
        "rig": rig,
        "hand_in": {"kind": kind, **more.pop("hand_in", {})},
        "predicate": rows,
        **more,
    }
    return exercise_from_table(table, "short", "short.toml")


def marked(of, files, tmp_path, seed=None, student="ana"):
    folder = tmp_path / f"{student}-{seed}"
    folder.mkdir()
    return mark(of, prepared(of), seed, Submission(student=student, files=files), folder)


def test_the_bundled_task_has_full_marks_and_the_same_every_time(tmp_path):
    of = load_exercise("pick-and-place")
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    submission = Submission(student="ana", files={"task.toml": TASK})
    (first, (run, case)), (second, _) = (
        mark_with_runs(of, prepared(of), None, submission, folder) for folder in folders
    )
    assert first == second
    assert first.total == of.marks == 19.0 and first.refusal == ""
    assert case == 0 and run.time_s[-1] == pytest.approx(21.78, abs=0.05) and run.wire_bytes > 50_000


def test_a_task_that_does_nothing_has_the_marks_for_not_being_refused(tmp_path):
    found = marked(
        load_exercise("pick-and-place"), {"task.toml": b'title = "w"\n[[step]]\ndo = "wait"\nseconds = 1\n'}, tmp_path
    )
    assert {each.name: each.marks for each in found.marks if each.marks} == {"nothing is refused": 2.0}


def test_the_bundled_program_for_one_part_has_full_marks(tmp_path):
    of = load_exercise("melfa-pick-and-place")
    program = PROGRAM["program.mb4"].replace(b"TO 3", b"TO 1")
    found = marked(of, {**PROGRAM, "program.mb4": program}, tmp_path)
    assert found.refusal == "" and [each.name for each in found.marks if not each.held] == []
    assert found.total == of.marks == 10.0


def test_a_program_that_never_ends_is_refused_in_words(tmp_path):
    of = exercise("program", "rv2aj")
    found = marked(of, {"program.mb4": b"10 DLY 0.1\n20 GOTO 10\n"}, tmp_path)
    assert found.total == 0.0
    assert str(tmp_path) not in found.marks[0].words
    assert "P-01" in found.marks[0].words


def test_a_program_that_never_rests_is_refused_too(tmp_path):
    found = marked(exercise("program", "rv2aj"), {"program.mb4": b"10 M1=M1+1\n20 GOTO 10\n"}, tmp_path)
    assert found.total == 0.0


def test_what_takes_much_too_long_is_not_run(tmp_path):
    task = SHORT + b'[[step]]\ndo = "wait"\nseconds = 60\n'
    found = marked(exercise(), {"task.toml": task}, tmp_path)
    assert "run are at most 40 s" in found.marks[1].words and found.marks[1].marks == 0.0


@pytest.mark.parametrize(
    "files, words",
    [
        ({}, "task.toml is missing; handed in: nothing"),
        ({"program.mb4": b"10 END"}, "handed in: program.mb4"),
        ({"task.toml": b"\xff\xfe"}, "task.toml"),
        ({"task.toml": b"title = 3\n[[step]]\n"}, "title"),
        ({"task.toml": SHORT + b'[[step]]\ndo = "points"\nfile = "/etc/passwd"\n'}, "step 2.file: '/etc/passwd'"),
        ({"task.toml": SHORT + b'[[step]]\ndo = "points"\nfile = "../ben/points.csv"\n'}, "handed in beside it"),
        ({"task.toml": SHORT + b'[[step]]\ndo = "curve"\nfile = "/dev/zero"\n'}, "handed in beside it"),
        ({"task.toml": b"a = " + b"[" * 5000}, ""),
    ],
    ids=["nothing", "another", "bytes", "slips", "outside", "beside", "endless", "deep"],
)
def test_what_cannot_be_marked_gets_its_refusal_and_nothing_else(files, words, tmp_path):
    found = marked(exercise(), files, tmp_path)
    assert words in found.refusal and found.refusal
    assert found.total == 0.0 and all(each.words == "not marked" for each in found.marks)
    assert str(tmp_path) not in found.refusal


def test_a_points_file_that_is_handed_in_beside_is_read(tmp_path):
    task = SHORT + b'[[step]]\ndo = "points"\nfile = "way.pos"\n'
    points = b"DEF JNT J1=(10,90,-75,-55,0)\n"
    found = marked(exercise(), {"task.toml": task, "way.pos": points}, tmp_path)
    assert "handed in beside" not in found.refusal


def test_a_rig_is_changed_in_the_keys_that_the_exercise_gives_and_runs_its_task(tmp_path):
    of = exercise("rig", hand_in={"task": "wave"})
    assert marked(of, {"rig.toml": b"[tool]\nspeed_mm_s = 200\n"}, tmp_path, 1).refusal == ""
    found = marked(of, {"rig.toml": b'[controller]\nport = "/dev/ttyUSB0"\n'}, tmp_path, 2)
    assert "only these keys: title, tool" in found.refusal


def test_a_robot_is_held_against_another_one(tmp_path):
    rows = [{"do": "same_robot", "name": "same", "robot": "lynx6", "marks": 4}]
    of = exercise_from_table({"title": "DH", "hand_in": {"kind": "robot"}, "predicate": rows}, "dh", "dh.toml")
    right = (ROOT / "configs/robots/lynx6.toml").read_bytes()
    assert marked(of, {"robot.toml": right}, tmp_path, 1).total == 4.0
    longer = right.replace(b"120", b"121")
    assert longer != right
    found = marked(of, {"robot.toml": longer}, tmp_path, 2)
    assert found.total == 0.0
    # Whoever has the exercise does not know the poses: they come from the seed that the teacher keeps.
    assert marked(of, {"robot.toml": longer}, tmp_path, 3).marks[0].words != found.marks[0].words


def test_answers_are_right_within_their_tolerance(tmp_path):
    of = load_exercise("where-is-the-tool")
    (case,) = cases_of(of, 5, "ana")
    angles = [math.radians(case[name]) for name in ("base", "shoulder", "elbow", "wrist")]
    pose = Robot(load_robot("lynx6")).forward_kinematics([*angles, 0.0])
    pitch_deg = math.degrees(math.asin(pose[2, 2]))
    x, y, z = (1000.0 * pose[:3, 3]).tolist()
    assert expected(of.answers[3], case) == pytest.approx(pitch_deg)
    text = f"x_mm = {x + 0.49}\ny_mm = {y + 0.51}\nz_mm = {z}\n"
    found = marked(of, {"answers.toml": text.encode()}, tmp_path, 5)
    assert [each.marks for each in found.marks] == [2.0, 0.0, 2.0, 0.0]
    assert "off by 0.51" in found.marks[1].words and "base =" in found.marks[1].words
    assert found.marks[3].words.startswith("no answer pitch_deg")
    other = marked(of, {"answers.toml": text.encode()}, tmp_path, 5, "ben")
    assert other.total < found.total


@pytest.mark.parametrize("value", ["true", '"12"', "nan", "[1]", "inf"])
def test_an_answer_that_is_no_number_is_wrong_and_no_more(value, tmp_path):
    of = load_exercise("where-is-the-tool")
    assert marked(of, {"answers.toml": f"x_mm = {value}\n".encode()}, tmp_path).total == 0.0


@needs_lock
def test_marks_of_a_function_are_shared_among_hidden_cases(tmp_path):
    answer = {"name": "y", "value": "2*x", "tolerance": 0.0, "marks": 8}
    draw = {"x": {"lower": 0, "upper": 100}}
    of = exercise_from_table(
        {"title": "f", "hand_in": {"kind": "function", "function": "f"}, "answer": [answer],
         "variants": {"count": 4, "draw": draw}}, "f", "f.toml"
    )  # fmt: skip
    cases = cases_of(of, 3, "")
    limit = sorted(case["x"] for case in cases)[1]
    source = f"def f(x):\n    return {{'y': 2 * x if x <= {limit} else 0}}\n".encode()
    (found,) = marked(of, {"solution.py": source}, tmp_path, 3).marks
    assert (found.marks, found.held, found.cases) == (4.0, 2, 4)
    assert f"x = {cases[found.case - 1]['x']:g}" in found.words


@needs_lock
def test_a_function_may_give_the_task_but_no_file(tmp_path):
    of = exercise(hand_in={"function": "task"})
    good = (
        b"def task():\n    return {'title': 't', 'start': 'home', 'step': [{'do': 'move', 'by_deg': {'base': 20}}]}\n"
    )
    assert marked(of, {"solution.py": good}, tmp_path, 1).total == 4.0
    bad = b"def task():\n    return {'title': 't', 'step': [{'do': 'points', 'file': '/etc/passwd'}]}\n"
    assert "names no file" in marked(of, {"solution.py": bad}, tmp_path, 2).refusal


@needs_lock
def test_the_inverse_kinematics_of_the_package_reach_every_hidden_point(tmp_path):
    of = load_exercise("reach-any-point")
    robot = Robot(load_robot("lynx6"))
    table = {}
    for case in cases_of(of, 2, ""):
        point = (case["x"] / 1e3, case["y"] / 1e3, case["z"] / 1e3)
        found = robot.inverse_kinematics_target(point).solutions[0]
        table[(case["x"], case["y"], case["z"])] = [math.degrees(angle) for angle in found.q]
    source = f"TABLE = {table!r}\n\ndef joints(x, y, z):\n    return {{'joints_deg': TABLE[(x, y, z)]}}\n".encode()
    assert marked(of, {"solution.py": source}, tmp_path, 2).total == 10.0


def test_files_that_an_exercise_names_lie_beside_it_and_not_where_somebody_stands(tmp_path, monkeypatch):
    for folder, text in (("teacher", (ROOT / "configs/rigs/lynx6.toml").read_text()), ("student", "title = 3\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.toml").write_text(text)
    (tmp_path / "teacher" / "first.toml").write_text(
        'title = "t"\nrig = "own.toml"\nhand_in = { kind = "task" }\n[[predicate]]\ndo = "refusals"\nname = "none"\n'
    )
    of = load_exercise(tmp_path / "teacher" / "first.toml")
    monkeypatch.chdir(tmp_path / "student")
    assert prepared(of).id == "own"
    assert Path(prepared(of).file).parent == tmp_path / "teacher"


def test_a_curve_that_is_handed_in_comes_before_one_where_somebody_stands(tmp_path, monkeypatch):
    (tmp_path / "stand").mkdir()
    (tmp_path / "stand" / "mine.toml").write_text("stranger = 1\n")
    monkeypatch.chdir(tmp_path / "stand")
    task = b'title = "c"\nstart = "home"\n[[step]]\ndo = "curve"\nfile = "mine.toml"\n'
    found = marked(exercise(), {"task.toml": task, "mine.toml": b"handed_in = 1\n"}, tmp_path)
    assert "handed_in" in found.refusal and "stranger" not in found.refusal


def test_what_a_task_or_robot_of_the_exercise_says_is_part_of_the_marking(tmp_path, monkeypatch):
    (tmp_path / "own.toml").write_bytes((ROOT / "configs/robots/lynx6.toml").read_bytes())
    (tmp_path / "e.toml").write_text(
        'title = "t"\nhand_in = { kind = "robot" }\n'
        '[[predicate]]\ndo = "same_robot"\nname = "same"\nrobot = "own.toml"\n'
    )
    of = load_exercise(tmp_path / "e.toml")
    before = digest_of_files(of, prepared(of))
    assert digest_of_files(of, prepared(of)) == before
    (tmp_path / "own.toml").write_bytes((ROOT / "configs/robots/lynx6.toml").read_bytes() + b"# changed\n")
    assert digest_of_files(of, prepared(of)) != before


def test_a_robot_whose_tool_is_nowhere_is_not_the_same():
    robot = Robot(load_robot("lynx6"))

    class Nowhere:
        def forward_kinematics(self, poses):
            return np.full((len(poses), 4, 4), np.nan)

    predicate = SameRobot(name="same", robot="lynx6")
    judged = same_robot(predicate, Nowhere(), robot, np.zeros((2, robot.dof)))
    assert not judged.held and judged.sample == 0

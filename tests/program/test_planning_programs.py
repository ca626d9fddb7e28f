"""Whole programs as motions: what the checker says of them, what they assume, what a certificate binds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from corpus_files import corpus
from program_rigs import rig, with_gripper

import hil
from hil.errors import ConfigError
from hil.model.files import bundled_dir
from hil.program import programs
from hil.program.lint import lint
from hil.program.points import parse_points
from hil.program.program_plan import plan_program
from hil.program.programs import InputChange, Inputs, TextArrives, find_program, load_library, load_program
from hil.program.rv2aj import Rv2aj
from hil.program.structure import parse_program
from hil.program.trace import first_difference, from_csv, to_csv
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.safety.checker import check_motion

RIG = rig()
ROBOT = Robot(RIG.robot)
BUNDLED = sorted((bundled_dir() / "programs").glob("*.mb4"))
ASSUMED = {
    "interrupt": Inputs(changes=(InputChange(time_s=2, signal=8, value=1), InputChange(time_s=4, signal=10, value=1))),
    "talk": Inputs(
        texts=(
            TextArrives(time_s=1, number=1, text="1,(250,50,300,0,180,0)(6,0)"),
            TextArrives(time_s=2, number=1, text="1,(950,50,300,0,180,0)(6,0)"),
            TextArrives(time_s=4, number=1, text="0,(0,0,0,0,0,0)(6,0)"),
        )
    ),
}
POINTS = "\nP1=(250,0,300,0,180,0)(6,0)\nP2=(250,120,300,0,180,0)(6,0)\n"


@pytest.mark.parametrize("wanted", [each for each in corpus() if each.run == "ended"], ids=lambda each: each.name)
def test_every_program_that_ends_is_a_motion_that_the_checker_passes(wanted: object) -> None:
    plan = plan_program(RIG, parse_program(wanted.text), wanted.inputs)  # type: ignore[attr-defined]
    assert check_motion(RIG, ROBOT, plan.motion).refusals == ()
    assert plan.ended
    assert len(plan.trace) == len(plan.motion)


@pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.stem)
def test_every_bundled_program_is_strict_clean_and_passes_on_the_bundled_rig(file: Path) -> None:
    program = load_program(file, programs.Dialect.STRICT)
    assert [each for each in lint(program) if each.severity != "note"] == []
    slow = hil.load_rig("rv2aj")
    plan = plan_program(slow, program, ASSUMED.get(file.stem))
    assert check_motion(slow, Robot(slow.robot), plan.motion).refusals == ()


def test_there_are_five_programs_to_learn_from() -> None:
    assert len(BUNDLED) >= 5
    assert {file.stem for file in BUNDLED} <= set(programs.list_programs())


def test_marks_name_lines_and_the_first_one_binds_text_and_inputs() -> None:
    program = parse_program("10 WAIT M_IN(1)=1\n20 MOV P1\n30 MOV P2\n40 END" + POINTS)
    inputs = Inputs(changes=(InputChange(time_s=0.2, signal=1, value=1),))
    plan = plan_program(RIG, program, inputs)
    assert plan.motion.marks[0].label == f"program {plan.digest}"
    assert [mark.label for mark in plan.motion.marks[1:4]] == [
        "line 10: WAIT M_IN(1)=1",
        "line 20: MOV P1",
        "line 30: MOV P2",
    ]
    later = msgspec.structs.replace(inputs.changes[0], time_s=0.2000001)
    other = plan_program(RIG, program, Inputs(changes=(later,)))
    assert other.digest != plan.digest
    assert other.motion.digest != plan.motion.digest
    same = plan_program(RIG, parse_program(program.text + "'comment"), inputs)
    assert same.digest != plan.digest
    assert plan_program(RIG, program, inputs).motion.digest == plan.motion.digest


def test_inputs_that_decided_something_are_expected_and_those_that_were_only_waited_on_are_not() -> None:
    text = "10 WAIT M_IN(1)=1\n20 MOV P1\n30 IF M_IN(2)=0 THEN M1=1\n40 END"
    inputs = Inputs(changes=(InputChange(time_s=0.2, signal=1, value=1),))
    plan = plan_program(RIG, parse_program(text + POINTS), inputs)
    assert [(each.signal, each.value) for each in plan.expected] == [(1, 1), (2, 0)]
    assert plan.expected[0].first == plan.expected[0].last == 11
    moment = plan.expected[1].first
    assert plan.differing(moment, {1: 1, 2: 0}) == ()
    assert [each.signal for each in plan.differing(moment, {2: 1})] == [2]
    assert plan.differing(5, {}) == ()


def test_an_interrupt_is_expected_not_to_come_for_as_long_as_it_is_watched() -> None:
    text = "10 DEF ACT 1,M_IN(9)=1 GOSUB *I\n20 ACT 1=1\n30 MOV P1\n40 ACT 1=0\n50 END\n60 *I\n70 RETURN 0"
    plan = plan_program(RIG, parse_program(text + POINTS))
    watched = plan.expected[0]
    assert (watched.signal, watched.value) == (9, 0)
    assert watched.last - watched.first > 20
    assert plan.differing(watched.first + 5, {9: 1}) == (watched,)


def test_a_wait_that_nothing_assumed_ends_is_refused_and_so_is_a_program_without_end() -> None:
    with pytest.raises(RefusedError, match="line 10: WAIT"):
        plan_program(RIG, parse_program("10 WAIT M_IN(1)=1\n20 END"))
    endless = parse_program("10 *L\n20 MOV P1\n30 MOV P2\n40 GOTO *L" + POINTS)
    with pytest.raises(RefusedError, match="ends within 5 s"):
        plan_program(RIG, endless, most_s=5.0)
    plan = plan_program(RIG, endless, most_s=5.0, cut=True)
    assert not plan.ended
    assert check_motion(RIG, ROBOT, plan.motion).refusals == ()


def test_a_hand_is_the_gripper_of_a_rig_that_has_one() -> None:
    both = with_gripper(RIG)
    plan = plan_program(both, parse_program("10 HCLOSE 1\n20 DLY 1\n30 MOV P1\n40 HOPEN 1\n50 END" + POINTS))
    column = plan.motion.samples[:, 5]
    assert column[0] == pytest.approx(0.06)
    assert column.min() == pytest.approx(0.0)
    assert column[-1] == pytest.approx(0.06)
    differences = np.abs(np.diff(column)) / both.period_s
    assert differences.max() <= 0.1 + 1e-9


def test_other_arms_do_not_run_programs() -> None:
    with pytest.raises(ConfigError, match="RV-2AJ"):
        plan_program(hil.load_rig("lynx6"), parse_program("10 END"))


def test_a_trace_comes_back_from_its_table_and_differences_are_named() -> None:
    plan = plan_program(RIG, parse_program("10 MOV P1\n20 M_OUT(3)=1\n30 MOV P2\n40 END" + POINTS))
    rows = from_csv(to_csv(plan.trace, Rv2aj()))
    assert first_difference(plan.trace, rows, 1e-3) == ""
    bent = [*rows[:50], msgspec.structs.replace(rows[50], joints_deg=(9.0, *rows[50].joints_deg[1:])), *rows[51:]]
    assert "sample 50" in first_difference(plan.trace, bent, 0.01)
    assert "samples" in first_difference(plan.trace, rows[:-1], 0.01)


def test_files_are_found_with_their_points_and_the_programs_that_they_call(tmp_path: Path) -> None:
    (tmp_path / "main.prg").write_bytes(b'10 CALLP "sub",P1\r\n20 END\r\n' + "'ü\r\n".encode("cp1252"))
    (tmp_path / "main.POS").write_text("DEF POS P1=(250,0,300,0,180,0)(6,0)\n'x\n")
    (tmp_path / "SUB.mb4").write_text("10 FPRM P5\n20 MOV P5\n30 END\n")
    program = load_program(tmp_path / "main")
    assert program.points
    library = load_library(program)
    assert set(library) == {"SUB"}
    assert plan_program(RIG, program, library=library).ended


def test_files_that_are_no_programs_are_refused_in_words(tmp_path: Path) -> None:
    binary = tmp_path / "b.mb4"
    binary.write_bytes(b"ROBPRG\0\0")
    with pytest.raises(ConfigError, match="binary"):
        load_program(binary)
    with pytest.raises(ConfigError, match="palletise"):
        find_program("paletise")


def test_lists_of_points_keep_their_numbers_and_untaught_flags() -> None:
    text = "DEF POS P1=(-11.06,-228.23,333.95,201.45,180.14,0.00)(6,0)\nP2(3)=(1,2,3,4,5,6,7,8)(,)\nJ1=(1,2,3,0,5,6)\n"
    points = parse_points(text)
    from hil.program.points import format_points

    assert parse_points(format_points(points.items())) == points
    assert parse_points(format_points(points.items(), define=False)) == points

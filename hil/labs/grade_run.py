"""One submission from its files to its marks: everything is run again here, on the fake and the virtual clock.

Runs in a process of its own (`grade_server.py`), for what was handed in may be made to be expensive.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hil.errors import CommandError, ConfigError, HilError
from hil.kernels.scalar import FloatArray
from hil.labs.exercise import FUNCTION_FILE, Answer, Exercise, with_its_files
from hil.labs.exercise_cases import Case, cases_of
from hil.labs.exercise_values import all_worked_out, worked_out
from hil.labs.grade_records import Mark, Marked, Submission, printable, refused
from hil.labs.judge import Judged, Run, judge, same_robot
from hil.labs.predicates import Energy, SameRobot, Time, at_case
from hil.labs.sandbox import NoSandboxError, SandboxError, call_function
from hil.model.files import find, list_names, merged, parse_toml
from hil.model.reader import load_robot
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import Task, load_task, task_from_table
from hil.program.errors import ProgramError
from hil.program.programs import load_library, load_program, plan_program
from hil.program.signals import HAND_OUTPUTS
from hil.program.trace import TraceRow
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.runtime.preview import rehearsed
from hil.runtime.wiring import load_rig
from hil.types import JointCommand, TickRecord
from hil.units import DEG, MM

LONGEST_S = 600.0
"""Of a motion, where the exercise does not limit its time."""

BESIDE_S = 30.0
TIMES_LONGER = 2.0
"""Where it does: so much longer is still run, to say how long it took."""

HALF_TURN = 180.0 * DEG
"""Each way, for a joint without a limit."""

_NAMES_FILE = ("file", "inherit", "robot", "calibration", "mesh", "folder")
"""Keys under which a table may name another file."""


class NotMarkedError(HilError):
    """What was handed in cannot be marked; in words for the student."""


def prepared(exercise: Exercise) -> Rig | None:
    """The exercise's rig, without anybody's calibration: marks are the same on every computer.

    Raises:
        ConfigError: rig, robots or task are not there, or cannot do what is asked of them.
    """
    exercise = with_its_files(exercise)
    rig = None if exercise.rig is None else load_rig(exercise.rig, exercise.rig_changes or None, calibrated=False)
    hand_in = exercise.hand_in
    if hand_in.task is not None:
        load_task(find("tasks", hand_in.task, file=exercise.file, key="hand_in.task"))
    names = [
        (f"predicate.{k}.robot", row.robot) for k, row in enumerate(exercise.predicates) if isinstance(row, SameRobot)
    ]
    for k, answer in enumerate(exercise.answers):
        names += [(f"answer.{k}.robot", answer.robot)] if answer.robot else []
        names += [(f"answer.{k}.tool.robot", answer.tool.robot)] if answer.tool else []
    for key, name in names:
        load_robot(name, file=exercise.file, key=key)
    for k, row in enumerate(exercise.predicates):
        if isinstance(row, Energy) and rig is not None:
            try:
                zero = np.zeros(rig.robot.dof)
                Robot(rig.robot).inverse_dynamics(zero, zero, zero)
            except HilError as error:
                raise ConfigError(
                    exercise.file, f"predicate.{k}.do", "energy", "another predicate", str(error)
                ) from None
    return rig


def digest_of_files(exercise: Exercise, rig: Rig | None) -> str:
    """SHA-256 of what the rig, the robots and the task say that the exercise names; `rig` as `prepared` gave it."""
    exercise = with_its_files(exercise)
    total = hashlib.sha256((rig.digest if rig is not None else "").encode())
    named = [("tasks", exercise.hand_in.task)]
    named += [("robots", row.robot) for row in exercise.predicates if isinstance(row, SameRobot)]
    for answer in exercise.answers:
        named += [("robots", answer.robot), ("robots", answer.tool.robot if answer.tool else None)]
    for kind, name in named:
        if name is not None:
            total.update(hashlib.sha256(find(kind, name, file=exercise.file).read_bytes()).digest())
    return total.hexdigest()


@dataclass(frozen=True)
class _Tried:
    """One case: what was found of each predicate or answer, and the run, if there was one."""

    judged: list[Judged]
    run: Run | None = None


def mark(exercise: Exercise, rig: Rig | None, seed: int | None, submission: Submission, folder: Path) -> Marked:
    """Mark one submission.

    Args:
        exercise: what was to be done.
        rig: what `prepared` gave.
        seed: of the hidden cases; None for the exercise's own.
        submission: what was handed in.
        folder: an empty one for this submission alone.
    """
    marked, _ = mark_with_runs(exercise, rig, seed, submission, folder)
    return marked


def mark_with_runs(
    exercise: Exercise, rig: Rig | None, seed: int | None, submission: Submission, folder: Path
) -> tuple[Marked, tuple[Run | None, int]]:
    """The same, and the run that a picture shows, with its case: the first that fails, else the first."""
    exercise = with_its_files(exercise)
    if submission.refusal:
        return refused(exercise, submission, submission.refusal), (None, 0)
    cases = cases_of(exercise, seed, submission.student)
    try:
        _write(submission, folder)
        tried = _tried(exercise, rig, exercise.seed if seed is None else seed, submission, cases, folder)
    except NoSandboxError as error:
        return msgspec.structs.replace(refused(exercise, submission, str(error)), fault=True), (None, 0)
    except (HilError, ProgramError, RecursionError) as error:
        words = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        return refused(exercise, submission, _without(folder, words)), (None, 0)
    rows = (*exercise.predicates, *exercise.answers)
    marks = tuple(_mark_of(row.name, row.marks, [each.judged[k] for each in tried]) for k, row in enumerate(rows))
    failing = [number for number, each in enumerate(tried) if not all(one.held for one in each.judged)]
    shown = failing[0] if failing else 0
    marks = tuple(msgspec.structs.replace(each, words=_without(folder, each.words)) for each in marks)
    marked = Marked(student=submission.student, digest=submission.digest, marks=marks, notes=submission.notes)
    return marked, (tried[shown].run, shown)


def _without(folder: Path, words: str) -> str:
    """Words as they are the same every time, wherever it is marked."""
    return words.replace(f"{folder}/", "").replace(str(folder), "")


def mark_run(
    exercise: Exercise, seed: int | None, student: str, run: Run, digest: str, notes: Sequence[str] = ()
) -> tuple[Marked, int]:
    """Mark a run that took place elsewhere, by the same predicates; and the case that a picture shows, from 0.

    Args:
        exercise: what was to be done.
        seed: of the hidden cases; None for the exercise's own.
        student: whose run it was.
        run: what the arm did.
        digest: of its motion.
        notes: for the student and the teacher.
    """
    cases = cases_of(exercise, seed, student)
    tried = [judge(run, tuple(at_case(each, case) for each in exercise.predicates)) for case in cases]
    rows = exercise.predicates
    marks = tuple(_mark_of(row.name, row.marks, [judged[k] for judged in tried]) for k, row in enumerate(rows))
    failing = [number for number, judged in enumerate(tried) if not all(one.held for one in judged)]
    marked = Marked(student=student, digest=digest, marks=marks, notes=tuple(map(printable, notes)))
    return marked, failing[0] if failing else 0


def _mark_of(name: str, most: float, found: Sequence[Judged]) -> Mark:
    held = sum(each.held for each in found)
    case = next((number for number, each in enumerate(found, start=1) if not each.held), 0)
    shown = found[case - 1] if case else found[0]
    return Mark(
        name=name,
        marks=most * held / len(found),
        most=most,
        held=held,
        cases=len(found),
        words=printable(shown.words),
        case=case,
        sample=shown.sample if case else None,
        time_s=shown.time_s if case else None,
        tool_mm=shown.tool_mm if case else None,
    )


def _write(submission: Submission, folder: Path) -> None:
    for name, data in submission.files.items():
        (folder / name).write_bytes(data)


def _tried(
    exercise: Exercise, rig: Rig | None, seed: int, submission: Submission, cases: Sequence[Case], folder: Path
) -> list[_Tried]:
    """Every case in turn; what does not depend on the case is done once."""
    hand_in = exercise.hand_in
    if hand_in.kind in ("answers", "function"):
        return _answered(exercise, submission, cases, folder)
    if hand_in.kind == "robot":
        return _robots(exercise, seed, submission, folder)
    assert rig is not None
    predicates = [tuple(at_case(each, case) for each in exercise.predicates) for case in cases]
    longest_s = _longest_s(exercise)
    if hand_in.kind == "task" and hand_in.name not in submission.files and FUNCTION_FILE in submission.files:
        tables = _called(exercise, submission, cases, folder)
        runs = [_of_task(rig, _task_of(table, FUNCTION_FILE), longest_s) for table in tables]
    else:
        runs = [_handed_in(exercise, rig, submission, folder, longest_s)] * len(cases)
    return [_Tried(judge(run, wanted), run) for run, wanted in zip(runs, predicates, strict=True)]


def _longest_s(exercise: Exercise) -> float:
    limits = [each.at_most_s for each in exercise.predicates if isinstance(each, Time)]
    return min(LONGEST_S, TIMES_LONGER * min(limits) + BESIDE_S) if limits else LONGEST_S


# -- tasks, programs, rigs ---------------------------------------------------------------------------------


def _handed_in(exercise: Exercise, rig: Rig, submission: Submission, folder: Path, longest_s: float) -> Run:
    name = exercise.hand_in.name
    data = _file(submission, name)
    if exercise.hand_in.kind == "program":
        return _of_program(rig, folder / name, longest_s)
    table = _table(data, name, submission.files)
    if exercise.hand_in.kind == "rig":
        return _of_rig(exercise, table, longest_s)
    return _of_task(rig, task_from_table(table, name, folder), longest_s)


def _file(submission: Submission, name: str) -> bytes:
    data = submission.files.get(name)
    if data is None:
        there = ", ".join(sorted(submission.files)) or "nothing that is read"
        raise NotMarkedError(f"{name} is missing; handed in: {there}")
    return data


def _table(data: bytes, name: str, beside: Iterable[str] = ()) -> dict[str, Any]:
    """A table that names no file but those beside it and the bundled ones."""
    table = parse_toml(data, name)
    for key, value in _named_files(table):
        if isinstance(value, str) and value not in (*beside, *list_names("curves"), *list_names("robots")):
            raise ConfigError(name, key, value, "the name of a file that is handed in beside it, or of a bundled one")
    return table


def _named_files(tree: object, key: str = "") -> Iterable[tuple[str, object]]:
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            dotted = f"{key}.{name}" if key else str(name)
            if name in _NAMES_FILE and not isinstance(value, Mapping | list):
                yield dotted, value
            yield from _named_files(value, dotted)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            # Steps are called as those who read tasks call them.
            yield from _named_files(value, f"{key} {index + 1}" if key.endswith("step") else f"{key}.{index}")


def _task_of(table: object, name: str) -> Task:
    """The task that a function gave; it can name no file."""
    if not isinstance(table, dict):
        raise NotMarkedError(f"{name}: the function gives no table; allowed: title and step, as in a task file")
    try:
        return task_from_table(table, name)
    except RecursionError:
        raise NotMarkedError(f"{name}: what the function gives is nested too deep") from None


def _of_task(rig: Rig, task: Task, longest_s: float) -> Run:
    robot = Robot(rig.robot)
    try:
        motion = plan_task(rig, robot, task)
    except RefusedError as error:
        return _not_run(rig, robot, error.refusals)
    return _run(rig, robot, motion, longest_s)


def _of_rig(exercise: Exercise, table: Mapping[str, Any], longest_s: float) -> Run:
    hand_in = exercise.hand_in
    for key in table:
        if key not in hand_in.keys:
            raise ConfigError(hand_in.name, key, table[key], f"only these keys: {', '.join(hand_in.keys)}")
    assert exercise.rig is not None and hand_in.task is not None
    rig = load_rig(exercise.rig, merged(exercise.rig_changes, table), calibrated=False)
    return _of_task(rig, load_task(find("tasks", hand_in.task, file=exercise.file)), longest_s)


def _of_program(rig: Rig, path: Path, longest_s: float) -> Run:
    program = load_program(path)
    robot = Robot(rig.robot)
    start = rig.park[: rig.robot.dof]
    try:
        plan = plan_program(rig, program, start=start, library=load_library(program), most_s=longest_s)
    except RefusedError as error:
        return _not_run(rig, robot, error.refusals)
    return _run(rig, robot, plan.motion, longest_s, plan.trace)


def _not_run(rig: Rig, robot: Robot, refusals: Sequence[Refusal], words: str = "") -> Run:
    none, no_tool = np.zeros((0, rig.robot.dof)), np.zeros((0, 3))
    return Run(
        rig, robot, np.zeros(0), none, no_tool, None, None, np.zeros((0, len(rig.axes))), 0, tuple(refusals), words
    )


def _run(rig: Rig, robot: Robot, motion: Motion, longest_s: float, trace: Sequence[TraceRow] = ()) -> Run:
    if motion.duration_s > longest_s:
        return _not_run(rig, robot, (), f"it would take {motion.duration_s:.0f} s; run are at most {longest_s:.0f} s")
    report, records = rehearsed(rig, motion, now_epoch_s=0.0)
    if report.refusals and not any(record.sample is not None for record in records):
        return _not_run(rig, robot, report.refusals)
    return run_of_records(rig, robot, records, report.refusals, trace)


def run_of_records(
    rig: Rig,
    robot: Robot,
    records: Sequence[TickRecord],
    refusals: Sequence[Refusal] = (),
    trace: Sequence[TraceRow] = (),
) -> Run:
    """What predicates see of a journal's ticks, from the first sample on.

    Args:
        rig: of the journal.
        robot: its arm.
        records: its ticks.
        refusals: of the preview before.
        trace: of the program that was played, one row for each sample.
    """
    first = next((k for k, record in enumerate(records) if record.sample is not None), len(records))
    ticks = records[first:]
    if not ticks:
        return _not_run(rig, robot, refusals, "no sample was sent")
    axes = np.array([record.simulated.positions for record in ticks], dtype=float)
    joints: FloatArray = np.ascontiguousarray(axes[:, : rig.robot.dof])
    gripper = rig.gripper
    return Run(
        rig=rig,
        robot=robot,
        time_s=np.array([record.t_s for record in ticks]) - ticks[0].t_s,
        joints=joints,
        tool_mm=robot.forward_kinematics(joints)[:, :3, 3] / MM,
        opening_mm=None if gripper is None else axes[:, gripper] / MM,
        hand_closed=_hand(ticks, trace) if trace else None,
        sent=np.array([record.sent.positions for record in ticks if isinstance(record.sent, JointCommand)]),
        wire_bytes=sum(len(record.written) for record in ticks),
        refusals=tuple(refusals),
    )


def _hand(ticks: Sequence[TickRecord], trace: Sequence[TraceRow]) -> Any:
    closed, last = [], 0
    for record in ticks:
        last = last if record.sample is None else min(record.sample, len(trace) - 1)
        closed.append(HAND_OUTPUTS not in trace[last].outputs)
    return np.array(closed)


# -- robots, answers ---------------------------------------------------------------------------------------


def _robots(exercise: Exercise, seed: int, submission: Submission, folder: Path) -> list[_Tried]:
    name = exercise.hand_in.name
    _table(_file(submission, name), name)
    handed_in = Robot(load_robot(folder / name))
    root = f"{seed}/{exercise.id}"
    wanted = [each for each in exercise.predicates if isinstance(each, SameRobot)]
    return [_Tried([_same_robot(root, each, handed_in) for each in wanted])]


def _same_robot(root: str, predicate: SameRobot, handed_in: Robot) -> Judged:
    wanted = Robot(load_robot(predicate.robot))
    if handed_in.dof != wanted.dof:
        return Judged(held=False, words=f"it has {handed_in.dof} joints; allowed: {wanted.dof}")
    chance = random.Random(f"{root}/{predicate.name}")
    ranges = [(-HALF_TURN if joint.lower is None else joint.lower, HALF_TURN if joint.upper is None else joint.upper)
              for joint in wanted.model.joints]  # fmt: skip
    poses = [[chance.uniform(lower, upper) for lower, upper in ranges] for _ in range(predicate.poses)]
    return same_robot(predicate, handed_in, wanted, np.array(poses))


def _called(exercise: Exercise, submission: Submission, cases: Sequence[Case], folder: Path) -> list[Any]:
    """What the function of a submission gives for each case."""
    hand_in = exercise.hand_in
    name = FUNCTION_FILE if hand_in.kind == "task" else hand_in.name
    empty = folder / "empty"
    empty.mkdir()
    try:
        return call_function(
            _file(submission, name),
            hand_in.function or "",
            cases,
            empty,
            seconds=hand_in.seconds / 2.0,
            memory_mb=hand_in.memory_mb // 2,
        )
    except SandboxError as error:
        raise NotMarkedError(f"{name}: {error}") from None


def _answered(exercise: Exercise, submission: Submission, cases: Sequence[Case], folder: Path) -> list[_Tried]:
    name = exercise.hand_in.name
    given: list[Any]
    if exercise.hand_in.kind == "answers":
        given = [parse_toml(_file(submission, name), name)] * len(cases)
    else:
        given = _called(exercise, submission, cases, folder)
    for each in given:
        if not isinstance(each, dict):
            raise NotMarkedError(f"{name}: the function gives no table of answers; allowed: names and numbers")
    robots = {answer.robot: Robot(load_robot(answer.robot)) for answer in exercise.answers if answer.robot}
    return [
        _Tried([_answer(answer, table.get(answer.name), case, robots) for answer in exercise.answers])
        for table, case in zip(given, cases, strict=True)
    ]


def _answer(answer: Answer, given: object, case: Case, robots: Mapping[str, Robot]) -> Judged:
    with_numbers = f" (with {', '.join(f'{name} = {value:g}' for name, value in case.items())})" if case else ""
    if given is None:
        return Judged(held=False, words=f"no answer {answer.name}{with_numbers}")
    if answer.point_mm is not None:
        return _joints(answer, given, case, robots[answer.robot or ""], with_numbers)
    if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > 1e300:
        return Judged(held=False, words=f"{str(given)[:60]!r} is no number{with_numbers}")
    off = abs(float(given) - expected(answer, case))
    held = off <= answer.tolerance
    verdict = "right" if held else f"off by {off:.4g}; allowed: {answer.tolerance:g}"
    return Judged(held=held, words=f"{given:g} is {verdict}{with_numbers}")


def expected(answer: Answer, case: Case) -> float:
    """The number that is right.

    Raises:
        HilError: there is none for this case.
    """
    if answer.tool is None:
        assert answer.value is not None
        return worked_out(answer.value, case)
    angles = [value * DEG for value in all_worked_out(answer.tool.joints_deg, case)]
    point = Robot(load_robot(answer.tool.robot)).forward_kinematics(angles)[:3, 3] / MM
    return float(point["xyz".index(answer.tool.take[0])])


def _joints(answer: Answer, given: object, case: Case, robot: Robot, with_numbers: str) -> Judged:
    assert answer.point_mm is not None
    try:
        angles = np.array(given, dtype=float) * DEG
        if angles.shape != (robot.dof,):
            raise ValueError
        point = robot.forward_kinematics(angles)[:3, 3] / MM
    except (ValueError, TypeError, OverflowError, CommandError):
        words = f"{str(given)[:60]!r} given; allowed: a list of {robot.dof} numbers, in degrees"
        return Judged(held=False, words=f"{words}{with_numbers}")
    off = float(np.linalg.norm(point - np.array(all_worked_out(answer.point_mm, case))))
    words = f"the tool is then {off:.4g} mm away; allowed: {answer.tolerance:g} mm{with_numbers}"
    held = off <= answer.tolerance
    x, y, z = point.tolist()
    return Judged(held=held, words=words, tool_mm=None if held else (x, y, z))


def check_cases(exercise: Exercise, seed: int | None) -> None:
    """Work out every formula once, so that a fault of the exercise is not told to its students.

    Raises:
        ConfigError: a formula has no value for a case.
    """
    exercise = with_its_files(exercise)
    for case in cases_of(exercise, seed, ""):
        try:
            for predicate in exercise.predicates:
                at_case(predicate, case)
            for answer in exercise.answers:
                if answer.point_mm is None:
                    expected(answer, case)
                else:
                    all_worked_out(answer.point_mm, case)
        except HilError as error:
            raise ConfigError(
                exercise.file, "variants", dict(case), "numbers for which all formulas have a value", str(error)
            ) from None

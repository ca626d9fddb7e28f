"""Exercise files: what is handed in, on which rig it runs, and what has to hold; docs/grading.md explains every key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hil.errors import CommandError, ConfigError, HilError
from hil.findings import Findings
from hil.formula.formula import read_formula
from hil.labs.exercise_values import Value
from hil.labs.predicates import KINDS, Predicate, Reach, SameRobot, lacking, named_before, numbers_of
from hil.model.files import parse_toml
from hil.tables import closest
from hil.types import Record

MOST_BYTES = 200_000
MOST_CASES = 50
MOST_ROWS = 100
BUNDLED = Path(__file__).parent / "exercises"

Kind = Literal["task", "program", "robot", "rig", "answers", "function"]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,39}$")]
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
Positive = Annotated[float, Meta(gt=0, le=1e9)]

FILES: Mapping[Kind, str] = {
    "task": "task.toml",
    "program": "program.mb4",
    "robot": "robot.toml",
    "rig": "rig.toml",
    "answers": "answers.toml",
    "function": "solution.py",
}
"""What is looked for in a submission, if the exercise names nothing else."""

JUDGED_BY_ANSWERS = ("answers", "function")


class HandIn(Record, frozen=True):
    """What students hand in.

    Attributes:
        kind: of the file.
        file: its name; None for the usual one of its kind.
        function: name of a Python function. Of kind ``function`` it gives the answers; of kind ``task`` a file
            `FUNCTION_FILE` with it may be handed in instead, and gives the task.
        task: of kind ``rig``: what runs on the rig that was changed.
        keys: of kind ``rig``: the only keys that may be changed.
        seconds: of processor time for everything that one submission needs.
        memory_mb: the most that it may take.
    """

    kind: Kind
    file: FileName | None = None
    function: Name | None = None
    task: str | None = None
    keys: tuple[str, ...] = ("title", "tool", "joints", "gripper", "fences", "park_source")
    seconds: Annotated[float, Meta(ge=1, le=600)] = 20.0
    memory_mb: Annotated[int, Meta(ge=256, le=16_384)] = 2048

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file or FILES[self.kind]


FUNCTION_FILE = "solution.py"


Drawn = Annotated[float, Meta(ge=-1e9, le=1e9)]


class Draw(Record, frozen=True):
    """A number that is drawn: evenly between two, rounded to a step."""

    lower: Drawn
    upper: Drawn
    step: Annotated[float, Meta(ge=1e-9, le=1e9)] = 1.0


class Variants(Record, frozen=True):
    """Hidden cases.

    Attributes:
        count: how often everything is tried, each time with other numbers.
        each: draw them for each student anew.
        draw: numbers by their names, which stand in formulas of the exercise.
    """

    count: Annotated[int, Meta(ge=1, le=MOST_CASES)] = 1
    each: bool = False
    draw: dict[Name, Draw] = msgspec.field(default_factory=dict)


class ToolAt(Record, frozen=True):
    """A number of the tool's pose, for an answer that a robot's own equations know.

    Attributes:
        joints_deg: one for each turning joint, in their order; numbers or formulas.
        take: which number.
    """

    robot: str
    joints_deg: tuple[Value, ...]
    take: Literal["x_mm", "y_mm", "z_mm"]


class Answer(Record, frozen=True):
    """One answer.

    Attributes:
        name: under which it stands in the file, or in what the function gives.
        value: the right number, or a formula of the drawn ones.
        tool: or the number of a pose that is right.
        robot, point_mm: or any joints, in degrees, with which this robot's tool is there.
        tolerance: how far off it may be, in its own unit; millimetres for `point_mm`.
    """

    name: Name
    tolerance: Annotated[float, Meta(ge=0)]
    ask: str = ""
    marks: Positive = 1.0
    value: Value | None = None
    tool: ToolAt | None = None
    robot: str | None = None
    point_mm: tuple[Value, Value, Value] | None = None


class _Table(Record, frozen=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    hand_in: HandIn
    rig: str | None = None
    rig_changes: dict[str, Any] = msgspec.field(default_factory=dict)
    aim: str = ""
    seed: int = 0
    variants: Variants = Variants()
    predicate: list[Any] = msgspec.field(default_factory=list)
    answer: list[Answer] = msgspec.field(default_factory=list)


class Exercise(Record, frozen=True):
    """An exercise as its file has it; every fault of the file has been told.

    Attributes:
        id: the file's name.
        rig: on which it runs; None where nothing runs.
        rig_changes: what is laid over that rig, as a rig that inherits from it would say it.
        seed: of the hidden cases, unless whoever marks gives another one.
        predicates: what has to hold of each run.
        answers: what has to come out.
        file: where it was read from, for messages.
    """

    id: str
    title: str
    hand_in: HandIn
    rig: str | None
    rig_changes: dict[str, Any]
    aim: str
    seed: int
    variants: Variants
    predicates: tuple[Predicate, ...]
    answers: tuple[Answer, ...]
    file: str = ""

    @property
    def marks(self) -> float:
        """The most that can be had."""
        return sum(each.marks for each in (*self.predicates, *self.answers))

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides on marks; where the file lies does not."""
        plain = msgspec.structs.replace(self, file="")
        return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()


def list_exercises() -> list[str]:
    """Names of the bundled ones."""
    return sorted(path.stem for path in BUNDLED.glob("*.toml"))


def load_exercise(name_or_path: str | Path) -> Exercise:
    """Read an exercise.

    Args:
        name_or_path: a file, or the name of a bundled one.

    Raises:
        ConfigError: there is none, or something in it is wrong; all faults at once.
    """
    path = Path(name_or_path)
    # A file in the folder that somebody stands in takes no bundled exercise's place by its bare name.
    bare = not path.suffix and len(path.parts) == 1 and str(name_or_path) in list_exercises()
    if bare or not path.is_file():
        path = BUNDLED / f"{str(name_or_path).removesuffix('.toml')}.toml"
    if not path.is_file():
        names = list_exercises()
        meant = closest(str(name_or_path), names)
        raise ConfigError(
            f"exercise {str(name_or_path)!r}",
            "name",
            str(name_or_path),
            f"the path of a TOML file, or one of: {', '.join(names)}",
            f"Did you mean {meant!r}?" if meant else "",
        )
    path = path.absolute()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror, "a readable exercise file") from None
    if len(data) > MOST_BYTES:
        raise ConfigError(str(path), "file", f"{len(data)} bytes", f"at most {MOST_BYTES} bytes")
    return exercise_from_table(parse_toml(data, str(path)), path.stem, str(path))


def with_its_files(exercise: Exercise) -> Exercise:
    """The exercise with the path in place of each name of a file that lies beside the exercise's own."""
    own = Path(exercise.file)
    if not own.is_absolute():
        return exercise

    def found(name: str | None) -> str | None:
        beside = own.parent / (name or own.name)
        return str(beside) if beside != own and beside.is_file() else name

    replace = msgspec.structs.replace
    return replace(
        exercise,
        rig=found(exercise.rig),
        hand_in=replace(exercise.hand_in, task=found(exercise.hand_in.task)),
        predicates=tuple(
            replace(each, robot=found(each.robot)) if isinstance(each, SameRobot) else each
            for each in exercise.predicates
        ),
        answers=tuple(
            replace(each, robot=found(each.robot), tool=each.tool and replace(each.tool, robot=found(each.tool.robot)))
            for each in exercise.answers
        ),
    )


def exercise_from_table(table: Mapping[str, Any], name: str, file: str) -> Exercise:
    """Turn a parsed exercise file into an exercise.

    Raises:
        ConfigError: a key or value is wrong; all faults at once. Predicates are counted from 0, as lists are.
    """
    findings = Findings(file, table)
    head = {**table, "predicate": []}
    findings.not_finite(table)
    top = findings.read(head, _Table)
    predicates = tuple(_predicates(table.get("predicate", []), findings))
    exercise = Exercise(
        id=name,
        title=top.title,
        hand_in=top.hand_in,
        rig=top.rig,
        rig_changes=top.rig_changes,
        aim=top.aim,
        seed=top.seed,
        variants=top.variants,
        predicates=predicates,
        answers=tuple(top.answer),
        file=file,
    )
    if findings.sound("hand_in", "variants", "answer", "predicate"):
        _check(exercise, findings)
    findings.stop()
    return exercise


def _predicates(raw: object, findings: Findings) -> Iterator[Predicate]:
    if not isinstance(raw, list) or len(raw) > MOST_ROWS or not all(isinstance(row, dict) for row in raw):
        advice = "A predicate begins with [[predicate]], in two brackets"
        findings.say("predicate", raw, f"at most {MOST_ROWS} [[predicate]] tables", advice)
        return
    for number, row in enumerate(raw):
        do = row.get("do")
        if not isinstance(do, str) or do not in KINDS:
            findings.say(f"predicate.{number}.do", do, " or ".join(f'"{kind}"' for kind in KINDS))
            continue
        # The word has chosen the record, which has no field for it.
        fields = {key: value for key, value in row.items() if key != "do"}
        yield findings.read(fields, KINDS[do], f"predicate.{number}")


def _check(exercise: Exercise, findings: Findings) -> None:
    """What no single key shows."""
    hand_in = exercise.hand_in
    for name, draw in exercise.variants.draw.items():
        if not draw.lower < draw.upper:
            findings.say(f"variants.draw.{name}.upper", draw.upper, f"more than lower, {draw.lower:g}")
    by_answers = hand_in.kind in JUDGED_BY_ANSWERS
    if by_answers and not exercise.answers:
        findings.say("answer", None, f"one or more [[answer]] tables, for a hand-in of kind {hand_in.kind}")
    if not by_answers and not exercise.predicates:
        findings.say("predicate", None, f"one or more [[predicate]] tables, for a hand-in of kind {hand_in.kind}")
    if by_answers and exercise.predicates:
        findings.say("predicate", "tables", f"none: nothing runs where a hand-in is of kind {hand_in.kind}")
    if not by_answers and exercise.answers:
        findings.say("answer", "tables", f"none, where a hand-in is of kind {hand_in.kind}")
    if hand_in.kind == "function" and hand_in.function is None:
        findings.say("hand_in.function", None, "the name of the Python function")
    if hand_in.function is not None and hand_in.kind not in ("function", "task"):
        findings.say("hand_in.function", hand_in.function, f"no such key for kind {hand_in.kind}")
    if hand_in.kind == "rig" and hand_in.task is None:
        findings.say("hand_in.task", None, "the task that runs on the rig that is handed in")
    if hand_in.kind in ("task", "program", "rig") and exercise.rig is None:
        findings.say("rig", None, f"the rig on which a {hand_in.kind} runs")
    only_robots = all(isinstance(each, SameRobot) for each in exercise.predicates)
    if hand_in.kind == "robot" and not only_robots:
        findings.say("predicate", "others", 'only do = "same_robot": a robot alone does not move')
    _check_names(exercise, findings)
    _check_formulas(exercise, findings)
    for number, answer in enumerate(exercise.answers):
        _check_answer(answer, f"answer.{number}", findings)


def _check_answer(answer: Answer, prefix: str, findings: Findings) -> None:
    given = [key for key in ("value", "tool", "point_mm") if getattr(answer, key) is not None]
    if len(given) != 1:
        findings.say(f"{prefix}.value", given or None, "one of value, tool, point_mm")
    if (answer.point_mm is None) != (answer.robot is None):
        findings.say(f"{prefix}.robot", answer.robot, "together with point_mm: whose joints the answer gives")


def _check_names(exercise: Exercise, findings: Findings) -> None:
    known: list[str] = []
    places: list[str] = []
    for number, predicate in enumerate(exercise.predicates):
        prefix = f"predicate.{number}"
        for key, allowed in lacking(predicate):
            findings.say(f"{prefix}.{key}", getattr(predicate, key), allowed)
        if isinstance(predicate, SameRobot) and exercise.hand_in.kind != "robot":
            findings.say(f"{prefix}.do", "same_robot", 'no such predicate, unless hand_in.kind = "robot"')
        every = places if isinstance(predicate, Reach) else _places(exercise)
        for key, name in named_before(predicate):
            if name not in every:
                meant = closest(name, every)
                advice = f"Did you mean {meant!r}?" if meant else ""
                allowed = "the name of a reach before it" if every is places else 'the name of a do = "reach"'
                findings.say(f"{prefix}.{key}", name, allowed, advice)
        if isinstance(predicate, Reach):
            places.append(predicate.name)
    for kind, rows in (("predicate", exercise.predicates), ("answer", exercise.answers)):
        for number, row in enumerate(rows):
            if row.name in known:
                findings.say(f"{kind}.{number}.name", row.name, "a name that no other one has")
            known.append(row.name)


def _places(exercise: Exercise) -> list[str]:
    return [each.name for each in exercise.predicates if isinstance(each, Reach)]


def _check_formulas(exercise: Exercise, findings: Findings) -> None:
    draws = list(exercise.variants.draw)
    for key, value in _values(exercise):
        if not isinstance(value, str):
            continue
        try:
            read_formula(value, draws, what=key)
        except (HilError, CommandError) as error:
            findings.say(key, value, "a number, or a formula of what is drawn", str(error))


def _values(exercise: Exercise) -> Iterator[tuple[str, object]]:
    """Key and value of all that may be a formula."""
    for number, predicate in enumerate(exercise.predicates):
        for key, value in numbers_of(predicate):
            yield f"predicate.{number}.{key}", value
    for number, answer in enumerate(exercise.answers):
        yield f"answer.{number}.value", answer.value
        for index, value in enumerate(answer.point_mm or ()):
            yield f"answer.{number}.point_mm.{index}", value
        for index, value in enumerate(answer.tool.joints_deg if answer.tool else ()):
            yield f"answer.{number}.tool.joints_deg.{index}", value

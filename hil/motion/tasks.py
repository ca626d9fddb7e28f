"""Task files: what an arm has to do, step by step, in millimetres and degrees; see docs/tasks.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from hil.errors import ConfigError
from hil.findings import Findings
from hil.kinematics.poses import Convention
from hil.model.files import parse_toml
from hil.tables import closest
from hil.types import Record

MAX_STEPS = 1000
MAX_FILE_BYTES = 1_000_000

Angle = Annotated[float, Meta(ge=-3600, le=3600)]
Distance = Annotated[float, Meta(ge=-100_000, le=100_000)]
Xyz = tuple[Distance, Distance, Distance]
Abc = tuple[Angle, Angle, Angle]
Percent = Annotated[float, Meta(ge=1, le=100)]
Opening = Annotated[float, Meta(ge=0, le=1000)]
Label = Annotated[str, Meta(max_length=80)]


class Start(Record, frozen=True):
    """A start pose by name of joint; what is not named is as parked."""

    joints_deg: dict[str, Angle] | None = None
    joints_mm: dict[str, Distance] | None = None
    opening_mm: Opening | None = None


class Move(Record, frozen=True):
    """All joints at once, by the shortest way in joint space; the tool's path is curved."""

    do: Literal["move"]
    to: Literal["home", "park"] | None = None
    joints_deg: dict[str, Angle] | None = None
    joints_mm: dict[str, Distance] | None = None
    by_deg: dict[str, Angle] | None = None
    by_mm: dict[str, Distance] | None = None
    to_mm: Xyz | None = None
    pitch_deg: Angle | None = None
    roll_deg: Angle | None = None
    elbow: Literal["up", "down"] | None = None
    abc_deg: Abc | None = None
    convention: Convention | None = None
    speed_percent: Percent = 100.0
    label: Label = ""


class LineStep(Record, frozen=True):
    """The tool point on a straight line."""

    do: Literal["line"]
    to_mm: Xyz | None = None
    by_mm: Xyz | None = None
    pitch_deg: Angle | None = None
    roll_deg: Angle | None = None
    abc_deg: Abc | None = None
    convention: Convention | None = None
    turn: Literal["short", "long"] | None = None
    speed_mm_s: Annotated[float, Meta(ge=0.1, le=10_000)] | None = None
    tolerance_mm: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    speed_percent: Percent = 100.0
    label: Label = ""


class Wait(Record, frozen=True):
    """Stand still."""

    do: Literal["wait"]
    seconds: Annotated[float, Meta(gt=0, le=3600)]
    label: Label = ""


class Gripper(Record, frozen=True):
    """Open or close the gripper."""

    do: Literal["gripper"]
    opening_mm: Opening
    speed_percent: Percent = 100.0
    label: Label = ""


Step = Move | LineStep | Wait | Gripper

STEP_KINDS: dict[str, type[Step]] = {"move": Move, "line": LineStep, "wait": Wait, "gripper": Gripper}
"""Tables of a step by its `do`."""


class Task(Record, frozen=True):
    """A task file as it stands: in millimetres and degrees, since a name's unit is only known with a rig.

    Attributes:
        start: where the arm is at rest before the first step.
        rig: the only rig that the task is for; None for any.
        file: where it was read from, for messages.
    """

    title: str
    steps: tuple[Step, ...]
    start: Literal["park", "home"] | Start = "park"
    rig: str | None = None
    file: str = ""


class TaskTable(Record, frozen=True):
    """A task file as TOML gives it; its steps are read one by one, by their `do`."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]
    step: list[Any]
    start: Literal["park", "home"] | Start = "park"
    rig: str | None = None


def load_task(path: str | Path) -> Task:
    """Read a task file.

    Raises:
        ConfigError: it cannot be read, or a key or value in it is wrong; steps are counted from 1.
    """
    file = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(file, "file", reason, "a readable task file") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(file, "file", f"more than {MAX_FILE_BYTES} bytes", "a task file below that size")
    return task_from_table(parse_toml(data, file), file)


def task_from_table(table: Mapping[str, Any], file: str) -> Task:
    """Turn a parsed task file into a task.

    Args:
        table: what tomllib gave.
        file: name for messages.

    Raises:
        ConfigError: a key or value is wrong; steps are counted from 1.
    """
    findings = Findings(file)
    head = {**table, "step": []}
    findings.not_finite(head)
    top = findings.read(head, TaskTable)
    steps = () if _meant_steps(table) else _steps(table.get("step"), findings)
    findings.stop()
    return Task(title=top.title, steps=steps, start=top.start, rig=top.rig, file=file)


def _meant_steps(table: Mapping[str, Any]) -> bool:
    """Whether the steps stand under a name that is told to be a slip of the pen."""
    names = TaskTable.__struct_fields__
    return "step" not in table and any(closest(key, names) == "step" for key in table if key not in names)


def _steps(raw: object, findings: Findings) -> tuple[Step, ...]:
    if not isinstance(raw, list) or not all(isinstance(step, dict) for step in raw):
        advice = (
            "A step begins with [[step]], in two brackets" if raw is not None else "Write [[step]] before each step"
        )
        findings.say("step", raw, "one or more [[step]] tables", advice)
        return ()
    if not 1 <= len(raw) <= MAX_STEPS:
        findings.say("step", len(raw), f"1 to {MAX_STEPS} [[step]] tables")
        return ()
    steps = [_step(step, f"step {number}", findings) for number, step in enumerate(raw, start=1)]
    return tuple(step for step in steps if step is not None)


def _step(raw: Mapping[str, Any], prefix: str, findings: Findings) -> Step | None:
    do = raw.get("do")
    findings.not_finite(raw, prefix)
    if not isinstance(do, str) or do not in STEP_KINDS:
        findings.say(f"{prefix}.do", do, " or ".join(f'"{kind}"' for kind in STEP_KINDS))
        return None
    step = findings.read(raw, STEP_KINDS[do], prefix)
    if isinstance(step, Move):
        _check_goal(step, _move_goals(step), prefix, findings)
        if findings.sound(f"{prefix}.to_mm"):
            _only_with(step, ("pitch_deg", "roll_deg", "elbow", "abc_deg", "convention"), "to_mm", prefix, findings)
    if isinstance(step, LineStep):
        goals = [name for name in ("to_mm", "by_mm") if getattr(step, name) is not None]
        _check_goal(step, goals, prefix, findings)
        if step.turn is not None and step.roll_deg is None and step.abc_deg is None:
            findings.say(f"{prefix}.turn", step.turn, "only together with roll_deg or abc_deg")
    if isinstance(step, Move | LineStep):
        _check_orientation(step, prefix, findings)
    return step


def _move_goals(step: Move) -> list[str]:
    """The ways in which the goal is given; joints in degrees and in millimetres go together."""
    groups = (("to",), ("joints_deg", "joints_mm"), ("by_deg", "by_mm"), ("to_mm",))
    found = [[name for name in group if getattr(step, name) is not None] for group in groups]
    return [names[0] for names in found if names]


def _check_goal(step: Move | LineStep, goals: list[str], prefix: str, findings: Findings) -> None:
    names = "to, joints_deg, by_deg, to_mm" if isinstance(step, Move) else "to_mm, by_mm"
    if not goals and findings.sound(*(f"{prefix}.{name}" for name in names.split(", "))):
        findings.say(f"{prefix}.{names.split(', ')[-1]}", None, f"one of {names}")
    if len(goals) > 1:
        value, advice = getattr(step, goals[1]), f"Leave out {goals[0]} or {goals[1]}, or make two steps of it"
        findings.say(f"{prefix}.{goals[1]}", value, f"one of {names}; {goals[0]} is given too", advice)


def _only_with(step: Move, names: tuple[str, ...], other: str, prefix: str, findings: Findings) -> None:
    for name in names:
        if getattr(step, name) is not None and getattr(step, other) is None:
            findings.say(f"{prefix}.{name}", getattr(step, name), f"only together with {other}")


def _check_orientation(step: Move | LineStep, prefix: str, findings: Findings) -> None:
    if (step.abc_deg is None) != (step.convention is None):
        key = "convention" if step.convention is None else "abc_deg"
        allowed = "one of " + ", ".join(c.value for c in Convention) if key == "convention" else "three angles"
        findings.say(f"{prefix}.{key}", None, f"{allowed}; abc_deg and convention go together")
    if step.abc_deg is not None:
        for name in ("pitch_deg", "roll_deg"):
            if getattr(step, name) is not None:
                findings.say(f"{prefix}.{name}", getattr(step, name), "no such key beside abc_deg, which says it all")

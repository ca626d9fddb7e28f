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
from hil.motion.path_steps import (
    PATH_KINDS,
    Abc,
    Angle,
    ArcStep,
    Blend,
    BlendAngle,
    CurveStep,
    Distance,
    Label,
    Percent,
    PointsStep,
    ReplayStep,
    SolutionStep,
    SplineStep,
    Xyz,
    check_full_orientation,
    check_path_step,
    check_points_step,
    check_solution_step,
)
from hil.motion.step_files import CurveOfFile, Replay, curve_of, points_of, replay_of
from hil.paths.classical import Profile
from hil.tables import closest
from hil.types import Record

MAX_STEPS = 1000
MAX_TIMES = 1000
MOST_UNROLLED = 10_000
"""Steps that a task has at most once its repeats and cycles are counted out."""
DEEPEST = 3
MAX_FILE_BYTES = 1_000_000

Seconds = Annotated[float, Meta(gt=0, le=3600)]
Opening = Annotated[float, Meta(ge=0, le=1000)]


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
    profile: Profile | None = None
    seconds: Seconds | None = None
    blend_seconds: Seconds | None = None
    blend_mm: Blend | None = None
    blend_deg: BlendAngle | None = None
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
    blend_mm: Blend | None = None
    speed_percent: Percent = 100.0
    label: Label = ""


class Wait(Record, frozen=True):
    """Stand still."""

    do: Literal["wait"]
    seconds: Seconds
    label: Label = ""


class Gripper(Record, frozen=True):
    """Open or close the gripper."""

    do: Literal["gripper"]
    opening_mm: Opening
    speed_percent: Percent = 100.0
    label: Label = ""


class RepeatStep(Record, frozen=True):
    """Other steps, several times, as a file gives them."""

    do: Literal["repeat"]
    times: Annotated[int, Meta(ge=1, le=MAX_TIMES)]
    step: list[Any]
    label: Label = ""


class Repeat(Record, frozen=True, kw_only=True):
    """The same with its steps read."""

    times: int
    steps: tuple[Step, ...]
    label: str = ""


Step = (
    Move | LineStep | ArcStep | SplineStep | CurveOfFile | PointsStep | SolutionStep | Replay | Repeat | Wait | Gripper
)

STEP_KINDS: dict[str, type[Any]] = {
    "move": Move,
    "line": LineStep,
    **PATH_KINDS,
    "repeat": RepeatStep,
    "wait": Wait,
    "gripper": Gripper,
}
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
    return task_from_table(parse_toml(data, file), file, Path(path).parent)


def task_from_table(table: Mapping[str, Any], file: str, folder: Path | None = None) -> Task:
    """Turn a parsed task file into a task.

    Args:
        table: what tomllib gave.
        file: name for messages.
        folder: where files lie that its steps name; without it no step may name one.

    Raises:
        ConfigError: a key or value is wrong; steps are counted from 1.
    """
    findings = Findings(file)
    head = {**table, "step": []}
    findings.not_finite(head)
    top = findings.read(head, TaskTable)
    steps = () if _meant_steps(table) else _Reader(findings, folder).steps(table.get("step"))
    findings.stop()
    return Task(title=top.title, steps=steps, start=top.start, rig=top.rig, file=file)


def _meant_steps(table: Mapping[str, Any]) -> bool:
    """Whether the steps stand under a name that is told to be a slip of the pen."""
    names = TaskTable.__struct_fields__
    return "step" not in table and any(closest(key, names) == "step" for key in table if key not in names)


class _Reader:
    """Reads steps one by one, by their `do`."""

    def __init__(self, findings: Findings, folder: Path | None) -> None:
        self._findings, self._folder = findings, folder
        self._unrolled = 0

    def steps(self, raw: object, within: str = "", times: int = 1, depth: int = 1) -> tuple[Step, ...]:
        """All of a list; `within` names the step that it belongs to."""
        if not isinstance(raw, list) or not all(isinstance(step, dict) for step in raw):
            advice = (
                "A step begins with [[step]], in two brackets" if raw is not None else "Write [[step]] before each step"
            )
            self._findings.say(f"{within}step", raw, "one or more [[step]] tables", advice)
            return ()
        if not 1 <= len(raw) <= MAX_STEPS:
            self._findings.say(f"{within}step", len(raw), f"1 to {MAX_STEPS} [[step]] tables")
            return ()
        found = [self._step(step, f"{within}step {number}", times, depth) for number, step in enumerate(raw, start=1)]
        return tuple(step for step in found if step is not None)

    def _step(self, raw: Mapping[str, Any], prefix: str, times: int, depth: int) -> Step | None:
        do, findings = raw.get("do"), self._findings
        if do != "repeat":
            findings.not_finite(raw, prefix)
        if not isinstance(do, str) or do not in STEP_KINDS:
            findings.say(f"{prefix}.do", do, " or ".join(f'"{kind}"' for kind in STEP_KINDS))
            return None
        step = findings.read(raw, STEP_KINDS[do], prefix)
        if isinstance(step, RepeatStep):
            return self._repeat(step, prefix, times, depth)
        checked = self._checked(step, prefix)
        cycles = checked.cycles * _points_in(checked) if isinstance(checked, PointsStep) else 1
        self._count(prefix, times * cycles)
        return checked

    def _repeat(self, step: RepeatStep, prefix: str, times: int, depth: int) -> Step | None:
        if depth > DEEPEST:
            self._findings.say(f"{prefix}.do", "repeat", f"repeats within each other at most {DEEPEST} deep")
            return None
        whole = self._findings.sound(f"{prefix}.times")
        inner = self.steps(step.step, f"{prefix}.", times * (step.times if whole else 1), depth + 1)
        return Repeat(times=step.times if whole else 1, steps=inner, label=step.label)

    def _count(self, prefix: str, times: int) -> None:
        before, self._unrolled = self._unrolled, self._unrolled + times
        if self._unrolled > MOST_UNROLLED >= before:
            advice = "Repeat less often, or make two tasks of it"
            self._findings.say(prefix, f"more than {MOST_UNROLLED} steps", f"at most {MOST_UNROLLED}", advice)

    def _checked(self, step: Any, prefix: str) -> Step | None:
        findings = self._findings
        match step:
            case Move():
                _check_goal(step, _move_goals(step), prefix, findings)
                if findings.sound(f"{prefix}.to_mm"):
                    needs = ("pitch_deg", "roll_deg", "elbow", "abc_deg", "convention")
                    _only_with(step, needs, "to_mm", prefix, findings)
                check_full_orientation(step, prefix, findings)
                _check_profile(step, prefix, findings)
            case LineStep():
                goals = [name for name in ("to_mm", "by_mm") if getattr(step, name) is not None]
                _check_goal(step, goals, prefix, findings)
                if step.turn is not None and step.roll_deg is None and step.abc_deg is None:
                    findings.say(f"{prefix}.turn", step.turn, "only together with roll_deg or abc_deg")
                check_full_orientation(step, prefix, findings)
            case ArcStep() | SplineStep():
                check_path_step(step, prefix, findings)
            case CurveStep():
                check_path_step(step, prefix, findings)
                sound = findings.sound(f"{prefix}.file", f"{prefix}.curve")
                return curve_of(step, self._folder, prefix, findings) if sound else None
            case PointsStep():
                check_points_step(step, prefix, findings)
                sound = findings.sound(f"{prefix}.file")
                return points_of(step, self._folder, prefix, findings) if sound else None
            case SolutionStep():
                check_solution_step(step, prefix, findings)
            case ReplayStep():
                sound = findings.sound(f"{prefix}.file")
                return replay_of(step, self._folder, prefix, findings) if sound else None
        found: Step = step
        return found


def _points_in(step: PointsStep) -> int:
    lists = (step.to_mm, step.poses, step.joints_deg)
    return max(len(points) for points in (*lists, [None]) if points is not None)


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


def _check_profile(step: Move, prefix: str, findings: Findings) -> None:
    for name in ("seconds", "blend_seconds"):
        if getattr(step, name) is not None and step.profile is None and findings.sound(f"{prefix}.profile"):
            findings.say(f"{prefix}.{name}", getattr(step, name), "only together with profile")
    blended = step.profile in ("trapezoid", "blended")
    if step.blend_seconds is not None and step.profile is not None and not blended:
        findings.say(f"{prefix}.blend_seconds", step.blend_seconds, f"no such key: a {step.profile} has no blends")
    elif step.blend_seconds is not None and step.seconds is not None and 2.0 * step.blend_seconds > step.seconds:
        allowed = f"at most {0.5 * step.seconds:g}: both blends together are no longer than seconds"
        findings.say(f"{prefix}.blend_seconds", step.blend_seconds, allowed)


def _only_with(step: Move, names: tuple[str, ...], other: str, prefix: str, findings: Findings) -> None:
    for name in names:
        if getattr(step, name) is not None and getattr(step, other) is None:
            findings.say(f"{prefix}.{name}", getattr(step, name), f"only together with {other}")

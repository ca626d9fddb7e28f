"""Steps of a task that lead the tool along a path, as a file gives them; see docs/tasks.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta

from hil.findings import Findings
from hil.kinematics.poses import Convention
from hil.types import Record

Angle = Annotated[float, Meta(ge=-3600, le=3600)]
Distance = Annotated[float, Meta(ge=-100_000, le=100_000)]
Xyz = tuple[Distance, Distance, Distance]
Abc = tuple[Angle, Angle, Angle]
Pose = tuple[Distance, Distance, Distance, Distance, Distance, Distance]
"""X, Y, Z in millimetres and A, B, C in degrees; an editor reads lists of one type only."""
Percent = Annotated[float, Meta(ge=1, le=100)]
Speed = Annotated[float, Meta(ge=0.1, le=10_000)]
Tolerance = Annotated[float, Meta(ge=0.01, le=100)]
Label = Annotated[str, Meta(max_length=80)]
Policy = Literal["keep", "ground", "along", "normal"]
Singularity = Literal["refuse", "slow", "leave", "change"]
Blend = Annotated[float, Meta(ge=0.1, le=1000)]
BlendAngle = Annotated[float, Meta(ge=0.1, le=180)]

MAX_POINTS = 1000
MAX_CYCLES = 1000


class PathKeys(Record, frozen=True, kw_only=True):
    """What every step along a path may say beside its geometry."""

    orientation: Policy | None = None
    orientation_tolerance_deg: Annotated[float, Meta(ge=0, le=180)] = 1.0
    pitch_deg: Angle | None = None
    roll_deg: Angle | None = None
    abc_deg: Abc | None = None
    convention: Convention | None = None
    speed_mm_s: Speed | None = None
    tolerance_mm: Tolerance = 1.0
    singularity: Singularity = "refuse"
    blend_mm: Blend | None = None
    speed_percent: Percent = 100.0
    label: Label = ""


class ArcStep(PathKeys, frozen=True, kw_only=True):
    """The tool point on a part of a circle, or all round it."""

    do: Literal["arc"]
    through_mm: Xyz | None = None
    to_mm: Xyz | None = None
    whole_circle: bool = False
    centre_mm: Xyz | None = None
    angle_deg: Angle | None = None
    axis: tuple[float, float, float] | None = None


class SplineStep(PathKeys, frozen=True, kw_only=True):
    """The tool point on a smooth curve through points, from where it is."""

    do: Literal["spline"]
    through_mm: Annotated[list[Xyz], Meta(min_length=1, max_length=MAX_POINTS)]
    closed: bool = False


class CurveStep(PathKeys, frozen=True, kw_only=True):
    """The tool point on a curve of formulas, or on a word; the arm goes to its start by a joint move."""

    do: Literal["curve"]
    file: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    curve: dict[str, Any] | None = None
    index: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    backwards: bool = False


class PointsStep(Record, frozen=True, kw_only=True):
    """Taught points one after the other, any number of times."""

    do: Literal["points"]
    file: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    to_mm: Annotated[list[Xyz], Meta(min_length=1, max_length=MAX_POINTS)] | None = None
    joints_deg: Annotated[list[dict[str, Angle]], Meta(min_length=1, max_length=MAX_POINTS)] | None = None
    poses: Annotated[list[Pose], Meta(min_length=1, max_length=MAX_POINTS)] | None = None
    convention: Convention | None = None
    names: Annotated[tuple[str, ...], Meta(max_length=MAX_POINTS)] = ()
    cycles: Annotated[int, Meta(ge=1, le=MAX_CYCLES)] = 1
    by: Literal["joints", "line"] = "joints"
    pitch_deg: Angle | None = None
    roll_deg: Angle | None = None
    speed_mm_s: Speed | None = None
    blend_mm: Blend | None = None
    blend_deg: BlendAngle | None = None
    speed_percent: Percent = 100.0
    label: Label = ""


class SolutionStep(Record, frozen=True, kw_only=True):
    """Another posture with the tool at the same place; on the way it leaves it."""

    do: Literal["solution"]
    posture: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    number: Annotated[int, Meta(ge=1, le=64)] | None = None
    speed_percent: Percent = 100.0
    label: Label = ""


class ReplayStep(Record, frozen=True, kw_only=True):
    """A recorded motion, sample for sample or slower, forwards or backwards."""

    do: Literal["replay"]
    file: Annotated[str, Meta(min_length=1, max_length=1000)]
    backwards: bool = False
    speed_percent: Percent = 100.0
    label: Label = ""


PathStep = ArcStep | SplineStep

PATH_KINDS: dict[str, type[Any]] = {
    "arc": ArcStep,
    "spline": SplineStep,
    "curve": CurveStep,
    "points": PointsStep,
    "solution": SolutionStep,
    "replay": ReplayStep,
}
"""Tables of these steps by their `do`."""


def check_points_step(step: PointsStep, prefix: str, findings: Findings) -> None:
    """One way to give the points, and no point twice in a row."""
    ways = ("file", "to_mm", "joints_deg", "poses")
    given = [name for name in ways if getattr(step, name) is not None]
    words = ", ".join(ways)
    if not given and findings.sound(*(f"{prefix}.{name}" for name in ways)):
        findings.say(f"{prefix}.to_mm", None, f"one of {words}")
        return
    if len(given) > 1:
        advice = f"Leave out {given[0]} or {given[1]}, or make two steps of it"
        findings.say(f"{prefix}.{given[1]}", "a list", f"one of {words}; {given[0]} is given too", advice)
        return
    if (step.poses is None) != (step.convention is None):
        key, allowed = ("convention", "one of " + ", ".join(c.value for c in Convention))
        findings.say(f"{prefix}.{key}", None, f"{allowed}; poses and convention go together")
    if step.by == "line" and step.joints_deg is not None:
        findings.say(f"{prefix}.by", step.by, '"joints": points given by joints have no line between them')
    for name in ("pitch_deg", "roll_deg"):
        if getattr(step, name) is not None and step.to_mm is None:
            findings.say(f"{prefix}.{name}", getattr(step, name), "only together with to_mm")
    refuse_same_points(step, prefix, findings)


def refuse_same_points(step: PointsStep, prefix: str, findings: Findings) -> None:
    """A point twice in a row is a slip: the arm would stand still where a way is meant."""
    points: list[Any] = next((p for p in (step.to_mm, step.poses, step.joints_deg) if p is not None), [])
    again = points[1:] + (points[:1] if step.cycles > 1 and len(points) > 1 else [])
    key = next((name for name in ("to_mm", "poses", "joints_deg") if getattr(step, name) is not None), "to_mm")
    _refuse_again(points, again, step.names, f"{prefix}.{key}", findings)


def _refuse_again(
    points: Sequence[Any], again: Sequence[Any], names: Sequence[str], key: str, findings: Findings
) -> None:
    """Tell the first point that follows itself."""
    for k, (one, other) in enumerate(zip(points, again, strict=False), start=1):
        if one == other:
            pair = (k, k % len(points) + 1)
            first, second = (names[n - 1] if len(names) >= n else f"point {n}" for n in pair)
            value = list(other.values()) if isinstance(other, dict) else list(other)
            allowed = f"points that differ: {first} and {second}, which follow each other, are one"
            findings.say(key, value, allowed, "Leave one of them out, or put a wait between two steps")
            return


def check_solution_step(step: SolutionStep, prefix: str, findings: Findings) -> None:
    """One way to name the posture."""
    if step.posture is None and step.number is None and findings.sound(f"{prefix}.posture", f"{prefix}.number"):
        findings.say(f"{prefix}.posture", None, "posture or number, as hil ik ... --all lists them")
    if step.posture is not None and step.number is not None:
        findings.say(f"{prefix}.number", step.number, "no such key beside posture, which says it all")


def check_path_step(step: PathStep | CurveStep, prefix: str, findings: Findings) -> None:
    """What cannot be told from one key alone."""
    if isinstance(step, ArcStep):
        _check_arc(step, prefix, findings)
    if isinstance(step, SplineStep):
        _refuse_again(step.through_mm, step.through_mm[1:], (), f"{prefix}.through_mm", findings)
    if isinstance(step, CurveStep):
        if step.file is None and step.curve is None and findings.sound(f"{prefix}.file", f"{prefix}.curve"):
            findings.say(f"{prefix}.file", None, "a curve file, or the table curve with what would stand in it")
        if step.file is not None and step.curve is not None:
            findings.say(f"{prefix}.curve", "a table", "no such table beside file: leave out one of them")
    _check_hand(step, prefix, findings)


def _check_arc(step: ArcStep, prefix: str, findings: Findings) -> None:
    points, about = ("through_mm", "to_mm"), ("centre_mm", "angle_deg")
    given = [name for name in (*points, *about) if getattr(step, name) is not None]
    ways = "through_mm and to_mm, or centre_mm and angle_deg"
    if any(name in given for name in points) and any(name in given for name in about):
        first, other = (next(name for name in names if name in given) for names in (points, about))
        advice = f"Leave out {first} or {other}: an arc goes through points, or about a centre"
        findings.say(f"{prefix}.{other}", getattr(step, other), f"{ways}; {first} is given too", advice)
        return
    pair = about if any(name in given for name in about) else points
    for name in pair:
        if name not in given and findings.sound(f"{prefix}.{name}"):
            findings.say(f"{prefix}.{name}", None, ways)
    if step.angle_deg == 0.0:
        findings.say(f"{prefix}.angle_deg", step.angle_deg, "an angle other than 0; a minus goes the other way round")
    for name in ("axis",) if pair == points else ("whole_circle",):
        if getattr(step, name):
            findings.say(
                f"{prefix}.{name}", getattr(step, name), f"only together with {(about, points)[pair == about][0]}"
            )
    if step.axis is not None and not any(step.axis):
        findings.say(f"{prefix}.axis", step.axis, "three numbers that are not all 0; [0, 0, 1] is upwards")


class Turned(Protocol):
    """A step that says how the tool is turned at its end."""

    @property
    def abc_deg(self) -> tuple[float, float, float] | None: ...  # noqa: D102

    @property
    def convention(self) -> Convention | None: ...  # noqa: D102

    @property
    def pitch_deg(self) -> float | None: ...  # noqa: D102

    @property
    def roll_deg(self) -> float | None: ...  # noqa: D102


def check_full_orientation(step: Turned, prefix: str, findings: Findings) -> None:
    """Three angles have a convention, and leave nothing else to say of the orientation."""
    if (step.abc_deg is None) != (step.convention is None):
        key = "convention" if step.convention is None else "abc_deg"
        allowed = "one of " + ", ".join(c.value for c in Convention) if key == "convention" else "three angles"
        findings.say(f"{prefix}.{key}", None, f"{allowed}; abc_deg and convention go together")
    if step.abc_deg is not None:
        for name in ("pitch_deg", "roll_deg"):
            if getattr(step, name) is not None:
                findings.say(f"{prefix}.{name}", getattr(step, name), "no such key beside abc_deg, which says it all")


def _check_hand(step: PathKeys, prefix: str, findings: Findings) -> None:
    """One way to turn the hand at a time."""
    check_full_orientation(step, prefix, findings)
    if step.orientation is None:
        return
    for name in ("pitch_deg", "roll_deg", "abc_deg"):
        if getattr(step, name) is not None:
            findings.say(
                f"{prefix}.{name}",
                getattr(step, name),
                "no such key beside orientation",
                f"Leave out {name}, or orientation: one says how the hand ends, the other what it follows all along",
            )

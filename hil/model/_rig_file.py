"""A rig's TOML file: its keys with their bounds, its cross-checks, its units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from hil.errors import ConfigError
from hil.findings import Findings
from hil.link import CeilingSettings, ControllerSettings
from hil.model._robot_file import NotNegative, Positive, Row3, Text, named
from hil.model.pad import PadTable, pad_of
from hil.model.rig import Axis, AxisKind, Box, Capsule, Fences, Rig
from hil.model.robot import Joint, JointType, RobotModel
from hil.model.servo import SlidingServoTable, TurningServoTable, servo_of
from hil.tables import closest
from hil.types import Record
from hil.units import DEG, MM

AxisSpec = tuple[str, str]
"""An axis as a controller's settings need it: its name and its `AxisKind` value."""

ControllerBuilder = Callable[[Mapping[str, Any], tuple[AxisSpec, ...], str], ControllerSettings]

WIRE_SHARE = 0.7
"""Share of a period that the worst line may take: 30 % stay spare."""

TOLERANCE = 1e-9

PARK_SOURCES = r"^(estimate|computed|measured by .+, \d{4}-\d{2}-\d{2})$"


class TimingTable(Record, frozen=True):
    period_ms: Annotated[int, Meta(ge=2, le=200)]
    look_ahead_ms: Annotated[int, Meta(ge=2, le=20_000)]
    energise_dwell_ms: Annotated[int, Meta(ge=0, le=10_000)]
    owner_silent_ms: Annotated[int, Meta(ge=250, le=5000)] = 1000


class ToolTable(Record, frozen=True):
    speed_mm_s: Annotated[float, Meta(gt=0, le=2000)]


class RevoluteAxisTable(Record, frozen=True):
    name: Text
    lower_deg: float
    upper_deg: float
    soft_margin_deg: Positive
    speed_deg_s: Positive
    acceleration_deg_s2: Positive
    jerk_deg_s3: Positive
    home_deg: float
    park_deg: float
    divergence_deg: Positive
    servo_lag_ms: Positive
    servo_speed_deg_s: Positive
    stall_torque_n_m: Positive | None = None
    servo: TurningServoTable | None = None


class LinearAxisTable(Record, frozen=True):
    name: Text
    lower_mm: float
    upper_mm: float
    soft_margin_mm: Positive
    speed_mm_s: Positive
    acceleration_mm_s2: Positive
    jerk_mm_s3: Positive
    home_mm: float
    park_mm: float
    divergence_mm: Positive
    servo_lag_ms: Positive
    servo_speed_mm_s: Positive
    servo: SlidingServoTable | None = None


class ShapeTable(Record, frozen=True):
    name: Text
    link: Annotated[int, Meta(ge=0)]
    start_mm: Row3
    end_mm: Row3
    radius_mm: Positive


class BoxTable(Record, frozen=True):
    name: Text
    lower_mm: Row3
    upper_mm: Row3


class FencesTable(Record, frozen=True):
    table_height_mm: float
    clearance_mm: NotNegative
    stands_on_table: tuple[str, ...]
    neighbours: tuple[tuple[str, str], ...]
    keep_in: BoxTable | None = None
    keep_out: tuple[BoxTable, ...] = ()


class RigTable(Record, frozen=True):
    title: Text
    robot: Text
    timing: TimingTable
    tool: ToolTable
    joints: tuple[dict[str, Any], ...]
    energise_order: tuple[str, ...]
    shapes: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    fences: FencesTable
    controller: dict[str, Any]
    gripper: dict[str, Any] | None = None
    adapter_serial: Text | None = None
    calibration: Text | None = None
    park_source: Annotated[str, Meta(pattern=PARK_SOURCES)] | None = None
    pad: PadTable | None = None


class _Place(NamedTuple):
    """Where an axis stands in the file, and its unit there."""

    key: str
    unit: str
    factor: float

    def shown(self, value: float) -> str:
        return f"{round(value / self.factor, 6):g}"


_Placed = tuple[Axis, _Place]


def rig_from_table(
    table: Mapping[str, Any],
    rig_id: str,
    file: str,
    find_robot: Callable[[str], RobotModel],
    controllers: Mapping[str, ControllerBuilder],
) -> Rig:
    """Check one rig's table and turn it into metres, radians and seconds.

    Raises:
        ConfigError: names file, key, value and what is allowed; `ConfigErrors` if there are several faults.
    """
    findings = Findings(file, table)
    findings.not_finite(table)
    given = findings.read(table, RigTable)
    robot = findings.gather(lambda: find_robot(given.robot)) if findings.sound("robot") else None
    _check_timing(given.timing, findings)
    joints = () if robot is None else tuple(_axes(given.joints, robot, findings))
    pairs = (*joints, *_gripper(given.gripper, robot, findings))
    specs = _specs(given, robot, pairs, findings)
    order = _energise_order(given.energise_order, specs, findings)
    shapes = _shapes(given.shapes, robot, findings)
    fences = _fences(given.fences, shapes, len(given.shapes), findings)
    controller = _controller(given.controller, specs, controllers, findings)
    if controller is not None and specs is not None:
        _check_reach_of_controller(pairs, controller, findings)
        _check_pace(pairs, given.timing, controller, findings)
        _check_wire(given, controller, findings)
    pad = pad_of(given.pad if findings.sound("pad") else None, [axis.name for axis, _ in pairs], findings)
    findings.stop()
    assert robot is not None
    assert controller is not None
    return Rig(
        id=rig_id,
        title=given.title,
        robot=robot,
        axes=tuple(axis for axis, _ in pairs),
        period_s=given.timing.period_ms / 1000,
        look_ahead_s=given.timing.look_ahead_ms / 1000,
        energise_order=order,
        energise_dwell_s=given.timing.energise_dwell_ms / 1000,
        tool_speed_m_s=given.tool.speed_mm_s * MM,
        shapes=shapes,
        fences=fences,
        controller=controller,
        adapter_serial=given.adapter_serial,
        park_source=given.park_source or "",
        file=file,
        owner_silent_s=given.timing.owner_silent_ms / 1000,
        pad=pad,
    )


def _check_timing(timing: TimingTable, findings: Findings) -> None:
    period, ahead = timing.period_ms, timing.look_ahead_ms
    if findings.sound("timing.period_ms", "timing.look_ahead_ms") and (ahead < period or ahead % period):
        nearest = max(period, round(ahead / period) * period)
        findings.say(
            "timing.look_ahead_ms",
            ahead,
            f"a whole multiple of period_ms = {period}",
            f"The nearest is {nearest}; two to three periods stream smoothly at 20 ms",
        )


def _axes(rows: tuple[dict[str, Any], ...], robot: RobotModel, findings: Findings) -> Iterator[_Placed]:
    """An axis for each joint that has a row."""
    if not findings.right("joints"):
        return
    fit = _check_joint_names(rows, robot, findings)
    if not fit and {named(index, row) for index, row in enumerate(rows)} < {joint.name for joint in robot.joints}:
        return  # Who gives a few rows of the parent's list takes them for changes: what they lack is no other fault.
    joints = {joint.name: joint for joint in robot.joints}
    for index, row in enumerate(rows):
        joint = joints.pop(named(index, row), None)
        if joint is None or not findings.right(f"joints.{index}"):
            continue
        key = f"joints.{joint.name}"
        axis, place = _revolute(row, key, findings) if joint.type is JointType.REVOLUTE else _linear(row, key, findings)
        if fit:
            _check_against_robot(axis, joint, place, robot, findings)
        _check_axis(axis, place, findings)
        yield axis, place


def _gripper(row: Mapping[str, Any] | None, robot: RobotModel | None, findings: Findings) -> Iterator[_Placed]:
    if row is None or not findings.right("gripper"):
        return
    axis, place = _linear(row, "gripper", findings, AxisKind.GRIPPER)
    if robot is not None and any(axis.name == joint.name for joint in robot.joints):
        findings.say("gripper.name", axis.name, "a name that no joint has")
    _check_axis(axis, place, findings)
    yield axis, place


def _check_joint_names(rows: tuple[dict[str, Any], ...], robot: RobotModel, findings: Findings) -> bool:
    """Whether the rows are the robot's joints."""
    expected = [joint.name for joint in robot.joints]
    names = [named(index, row) for index, row in enumerate(rows)]
    if names == expected:
        return True
    allowed = f"the {len(expected)} joints of robot {robot.id!r}, in chain order: {', '.join(expected)}"
    advice = "Each [[joints]] table has the name of one of them"
    missing = [name for name in expected if name not in names]
    if set(names) < set(expected):
        advice = f"{', '.join(missing)} missing: a list is never inherited in part, so give all of it"
    findings.say("joints", names, allowed, advice)
    return False


def _specs(
    given: RigTable, robot: RobotModel | None, pairs: Sequence[_Placed], findings: Findings
) -> tuple[AxisSpec, ...] | None:
    """The axes as all other keys have to name them; None where that cannot be told."""
    if robot is None:
        return None
    count = robot.dof + (given.gripper is not None)
    told = findings.right("joints") and findings.sound("gripper.name")
    return tuple((axis.name, axis.kind.value) for axis, _ in pairs) if told and count == len(pairs) else None


def _revolute(row: Mapping[str, Any], key: str, findings: Findings) -> _Placed:
    table = findings.read(row, RevoluteAxisTable, key)
    axis = Axis(
        name=table.name,
        kind=AxisKind.REVOLUTE,
        lower=table.lower_deg * DEG,
        upper=table.upper_deg * DEG,
        soft_margin=table.soft_margin_deg * DEG,
        speed=table.speed_deg_s * DEG,
        acceleration=table.acceleration_deg_s2 * DEG,
        jerk=table.jerk_deg_s3 * DEG,
        home=table.home_deg * DEG,
        park=table.park_deg * DEG,
        divergence=table.divergence_deg * DEG,
        servo_lag_s=table.servo_lag_ms / 1000,
        servo_speed=table.servo_speed_deg_s * DEG,
        stall_torque_n_m=table.stall_torque_n_m,
        servo=servo_of(table.servo, table.servo_lag_ms, key, findings),
    )
    return axis, _Place(key, "deg", DEG)


def _linear(row: Mapping[str, Any], key: str, findings: Findings, kind: AxisKind = AxisKind.PRISMATIC) -> _Placed:
    table = findings.read(row, LinearAxisTable, key)
    axis = Axis(
        name=table.name,
        kind=kind,
        lower=table.lower_mm * MM,
        upper=table.upper_mm * MM,
        soft_margin=table.soft_margin_mm * MM,
        speed=table.speed_mm_s * MM,
        acceleration=table.acceleration_mm_s2 * MM,
        jerk=table.jerk_mm_s3 * MM,
        home=table.home_mm * MM,
        park=table.park_mm * MM,
        divergence=table.divergence_mm * MM,
        servo_lag_s=table.servo_lag_ms / 1000,
        servo_speed=table.servo_speed_mm_s * MM,
        servo=servo_of(table.servo, table.servo_lag_ms, key, findings),
    )
    return axis, _Place(key, "mm", MM)


def _check_axis(axis: Axis, place: _Place, findings: Findings) -> None:
    key, unit = place.key, place.unit
    if findings.sound(f"{key}.lower_{unit}", f"{key}.upper_{unit}"):
        _check_range(axis, place, findings)
    if axis.speed > axis.servo_speed:
        allowed = f"at most servo_speed_{unit}_s = {place.shown(axis.servo_speed)}"
        advice = "A servo that is asked for more than it can do falls behind unseen"
        findings.say(f"{key}.speed_{unit}_s", axis.speed / place.factor, allowed, advice)


def _check_range(axis: Axis, place: _Place, findings: Findings) -> None:
    key, unit = place.key, place.unit
    if axis.lower >= axis.upper:
        findings.say(f"{key}.lower_{unit}", axis.lower / place.factor, f"less than {place.shown(axis.upper)}")
        return
    low, high = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
    if low >= high:
        allowed = f"less than {place.shown((axis.upper - axis.lower) / 2)} {unit}, half the range"
        findings.say(f"{key}.soft_margin_{unit}", axis.soft_margin / place.factor, allowed)
        return
    for name, value in (("home", axis.home), ("park", axis.park)):
        if value <= low + TOLERANCE or value >= high - TOLERANCE:
            findings.say(
                f"{key}.{name}_{unit}",
                round(value / place.factor, 9),
                f"between {place.shown(low)} and {place.shown(high)} {unit}, not touching them",
                f"The limits are {place.shown(axis.lower)} to {place.shown(axis.upper)} {unit}, "
                f"with a soft margin of {place.shown(axis.soft_margin)} {unit} inside",
            )


def _check_against_robot(axis: Axis, joint: Joint, place: _Place, robot: RobotModel, findings: Findings) -> None:
    unit, low, high = place.unit, joint.lower, joint.upper
    if low is not None and high is not None:
        allowed = f"{place.shown(low)} to {place.shown(high)} {unit}, the limits of robot {robot.id!r}"
        for name, value in (("lower", axis.lower), ("upper", axis.upper)):
            if value < low - TOLERANCE or value > high + TOLERANCE:
                findings.say(f"{place.key}.{name}_{unit}", round(value / place.factor, 9), allowed)
    if joint.max_speed is not None and axis.speed > joint.max_speed + TOLERANCE:
        allowed = f"at most {place.shown(joint.max_speed)} {unit}/s, the joint speed of robot {robot.id!r}"
        findings.say(f"{place.key}.speed_{unit}_s", axis.speed / place.factor, allowed)


def _energise_order(names: tuple[str, ...], specs: tuple[AxisSpec, ...] | None, findings: Findings) -> tuple[int, ...]:
    if specs is None or not findings.sound("energise_order"):
        return ()
    known = [name for name, _ in specs]
    if _check_known(names, known, "energise_order", findings):
        if sorted(names) != sorted(known):
            findings.say("energise_order", list(names), f"every axis once: {', '.join(known)}")
        return tuple(known.index(name) for name in names)
    return ()


def _check_known(names: Iterable[str], known: list[str], key: str, findings: Findings) -> bool:
    """Whether all names are known; those that are not are told, each once."""
    faults = []
    for name in dict.fromkeys(names):
        if name not in known:
            meant = closest(name, known)
            hint = f"Did you mean {meant!r}?" if meant else ""
            faults.append(ConfigError(findings.file, key, name, f"one of {', '.join(known)}", hint))
    findings.add(*faults)
    return not faults


def _shapes(rows: tuple[dict[str, Any], ...], robot: RobotModel | None, findings: Findings) -> tuple[Capsule, ...]:
    shapes: list[Capsule] = []
    for index, row in enumerate(rows):
        if not findings.right(f"shapes.{index}"):
            continue
        key = f"shapes.{named(index, row)}"
        table = findings.read(row, ShapeTable, key)
        if robot is not None and table.link > robot.dof:
            allowed = f"0 (base) to {robot.dof} (last link of robot {robot.id!r})"
            findings.say(f"{key}.link", table.link, allowed)
        if any(table.name == shape.name for shape in shapes):
            findings.say(f"shapes.{index}.name", table.name, "a name that no other shape has")
        shapes.append(
            Capsule(
                name=table.name,
                link=table.link,
                start_m=_metres(table.start_mm),
                end_m=_metres(table.end_mm),
                radius_m=table.radius_mm * MM,
            )
        )
    return tuple(shapes)


def _fences(given: FencesTable, shapes: tuple[Capsule, ...], count: int, findings: Findings) -> Fences:
    """Checked against the names of the shapes, if all `count` of them could be read."""
    known = [shape.name for shape in shapes]
    if len(shapes) == count > 0 and all(known) and len(set(known)) == len(known):
        if findings.sound("fences.stands_on_table"):
            _check_known(given.stands_on_table, known, "fences.stands_on_table", findings)
        if findings.sound("fences.neighbours"):
            _check_neighbours(given.neighbours, known, findings)
    return Fences(
        table_height_m=given.table_height_mm * MM,
        stands_on_table=given.stands_on_table,
        keep_out=tuple(
            _box(box, f"fences.keep_out.{box.name or index}", findings) for index, box in enumerate(given.keep_out)
        ),
        keep_in=None if given.keep_in is None else _box(given.keep_in, "fences.keep_in", findings),
        clearance_m=given.clearance_mm * MM,
        neighbours=given.neighbours,
    )


def _check_neighbours(pairs: tuple[tuple[str, str], ...], known: list[str], findings: Findings) -> None:
    if _check_known([name for pair in pairs for name in pair], known, "fences.neighbours", findings):
        alike = (list(pair) for pair in pairs if pair[0] == pair[1])
        findings.add(*(ConfigError(findings.file, "fences.neighbours", pair, "two different shapes") for pair in alike))


def _box(table: BoxTable, key: str, findings: Findings) -> Box:
    if any(low >= high for low, high in zip(table.lower_mm, table.upper_mm, strict=True)):
        allowed = f"less than upper_mm = {list(table.upper_mm)} in x, y and z"
        findings.say(f"{key}.lower_mm", list(table.lower_mm), allowed)
    return Box(name=table.name, lower_m=_metres(table.lower_mm), upper_m=_metres(table.upper_mm))


def _metres(point_mm: Row3) -> Row3:
    return (point_mm[0] * MM, point_mm[1] * MM, point_mm[2] * MM)


def _controller(
    table: Mapping[str, Any],
    specs: tuple[AxisSpec, ...] | None,
    controllers: Mapping[str, ControllerBuilder],
    findings: Findings,
) -> ControllerSettings | None:
    kind = table.get("kind")
    if not findings.sound("controller.kind"):
        return None
    if not isinstance(kind, str) or kind not in controllers:
        findings.say("controller.kind", kind, " or ".join(repr(name) for name in sorted(controllers)))
        return None
    if specs is None:
        return None
    return findings.gather(lambda: controllers[kind](table, specs, findings.file))


def _check_reach_of_controller(pairs: Sequence[_Placed], controller: ControllerSettings, findings: Findings) -> None:
    lows, highs = controller.bounds()
    for (axis, place), low, high in zip(pairs, lows, highs, strict=True):
        allowed = f"{place.shown(float(low))} to {place.shown(float(high))} {place.unit}"
        for name, value in (("lower", axis.lower), ("upper", axis.upper)):
            if value < low - TOLERANCE or value > high + TOLERANCE:
                findings.say(
                    f"{place.key}.{name}_{place.unit}",
                    round(value / place.factor, 9),
                    f"{allowed}, what the [controller] table lets through",
                    f"Narrow the limit of {axis.name}, or widen that table, pulses after calibrating",
                )


def _check_pace(
    pairs: Sequence[_Placed], timing: TimingTable, controller: ControllerSettings, findings: Findings
) -> None:
    """A controller that takes few targets keeps up only with slow motion, and arrives late."""
    pace = controller.pace
    if pace is None:
        _check_ceiling(pairs, controller, findings)
        return
    for (axis, place), most in zip(pairs, pace.keeps_up, strict=True):
        if axis.speed > most + TOLERANCE:
            findings.say(
                f"{place.key}.speed_{place.unit}_s",
                round(axis.speed / place.factor, 9),
                f"at most {place.shown(math.floor(most / place.factor * 100) / 100 * place.factor)}, what the "
                "controller keeps up with",
                "It goes from one target to the next at its own speed and then takes the next one; lower the speed, or "
                "look at the [controller] table",
            )
    look_ahead_s = timing.look_ahead_ms / 1000
    if look_ahead_s < 2.0 * pace.send_period_s:
        findings.say(
            "timing.look_ahead_ms",
            round(look_ahead_s * 1000),
            f"at least {round(2000.0 * pace.send_period_s)}, two of controller.send_period_ms",
            "A target waits for up to one such period until it is sent, and takes one to be reached",
        )


def _check_ceiling(pairs: Sequence[_Placed], controller: ControllerSettings, findings: Findings) -> None:
    """One that takes each tick's target does not hold it to the speeds of its own table: the rig has to."""
    if not isinstance(controller, CeilingSettings):
        return
    for (axis, place), most in zip(pairs, controller.ceiling.tolist(), strict=True):
        if axis.speed > most + TOLERANCE:
            findings.say(
                f"{place.key}.speed_{place.unit}_s",
                round(axis.speed / place.factor, 9),
                f"at most {place.shown(math.floor(most / place.factor * 100) / 100 * place.factor)}, by override and "
                "joint speeds of the [controller] table",
                "Lower the speed, or raise controller.override_percent once a first motion was watched",
            )


def _check_wire(given: RigTable, controller: ControllerSettings, findings: Findings) -> None:
    """A line that does not drain in time makes the arm lag behind and a stop wait in the queue (E-16)."""
    pace = controller.pace
    key, period_ms = "timing.period_ms", given.timing.period_ms
    if pace is not None:
        key, period_ms = "controller.send_period_ms", round(pace.send_period_s * 1000)
    line_ms = controller.line_time_s() * 1000
    free_ms = WIRE_SHARE * period_ms
    if not findings.sound(key) or line_ms <= free_ms:
        return
    baud = given.controller.get("baud")
    at = f" at {baud} baud" if baud is not None else ""
    needed_ms = math.ceil(line_ms / WIRE_SHARE)
    findings.say(
        key,
        period_ms,
        f"at least {needed_ms}{at}",
        f"The longest move plus the longest query take {line_ms:.1f} ms{at}; a period of {period_ms} ms "
        f"with 30 % spare leaves {free_ms:.1f} ms. Raise controller.baud (here and on the board), "
        f"or {key.partition('.')[2]} together with look_ahead_ms",
    )

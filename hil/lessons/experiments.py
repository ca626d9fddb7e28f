"""An experiment in the words of options: what hil simulate and hil tune are told, and lessons by fields, read once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hil.control.checks import checked
from hil.control.experiment import (
    LONGEST_S,
    Disturbance,
    Experiment,
    Integrator,
    Kind,
    Reference,
    Speeds,
    read_experiment,
)
from hil.control.joint_values import joint_units
from hil.errors import CommandError, HilError
from hil.kernels.closed_loop import Law
from hil.kinematics.poses import xyzabc_to_pose
from hil.lessons.faults import FieldError, FieldErrors
from hil.model.mass_estimate import with_estimate
from hil.model.robot import Joint, JointType, RobotModel
from hil.robot import Robot
from hil.units import DEG, MM

Follow = Callable[[Path, Robot], Reference]


def experiment_of(
    arm: Robot, robot: str, settings: Path | None, given: dict[str, Any], follow: Follow | None = None
) -> Experiment:
    """The experiment that the options describe.

    Args:
        arm: the robot.
        robot: its name as typed.
        settings: file to begin with.
        given: the options by their names; None where not given.
        follow: reads the motion of a file; None where no file can be followed.

    Raises:
        CommandError, ConfigError: something that is not allowed.
    """
    base = Experiment(robot=robot) if settings is None else read_experiment(settings)
    model = arm.model
    changes: dict[str, Any] = {"robot": robot}
    plain = {"bandwidth": "bandwidth_hz", "rate": "rate_hz", "seed": "seed", "settle": "settle_s",
             "friction": "friction", "stops": "stops", "payload": "payload_kg",
             "payload_known": "payload_known", "estimate_masses": "estimate_masses"}  # fmt: skip
    changes |= {key: given[name] for name, key in plain.items() if given.get(name) is not None}
    milliseconds = {"delay": "delay_s", "step": "step_s"}
    changes |= {key: given[name] * 1e-3 for name, key in milliseconds.items() if given.get(name) is not None}
    for name in ("kp", "kd", "ki", "resolution", "noise", "torque_limit", "viscous", "dry", "armature"):
        if given.get(name) is not None:
            changes[name] = _numbers(f"--{name.replace('_', '-')}", given[name])
    if given.get("factor") is not None:
        changes["factors"] = tuple(part.strip() for part in given["factor"].split(";"))
    if given.get("law") is not None:
        changes["law"] = _one_of("--law", given["law"], Law)
    if given.get("speeds") is not None:
        changes["speeds"] = _one_of("--speeds", given["speeds"], Speeds)
    if given.get("integrator") is not None:
        changes["integrator"] = _one_of("--integrator", given["integrator"], Integrator)
    if given.get("disturb"):
        changes["disturbances"] = tuple(_disturbance(text) for text in given["disturb"])
    if given.get("gravity") is not None:
        changes["gravity_m_s2"] = _three("--gravity", given["gravity"])
    reference: dict[str, Any] = {}
    if given.get("reference") is not None:
        reference["kind"] = _one_of("--reference", given["reference"], Kind)
    for name, key in (("duration", "duration_s"), ("blend", "blend_s")):
        if given.get(name) is not None:
            reference[key] = given[name]
    for name in ("cruise", "start_speed", "end_speed"):
        if given.get(name) is not None:
            reference[name] = _numbers(f"--{name.replace('_', '-')}", given[name])
    start = _place(arm, "--from", given.get("start"), given.get("from_pose"), base.reference.start)
    if start is not None:
        reference["start"] = start
    begin = reference.get("start", base.reference.start) or _home(model)
    end = _place(arm, "--to", given.get("to"), given.get("to_pose"), begin)
    if end is not None:
        reference["end"] = end
    if not (end or base.reference.end) and "kind" not in reference and (start or not model.home):
        reference.setdefault("kind", base.reference.kind)
    if given.get("follow") is not None and follow is not None:
        changes["reference"] = _followed(given["follow"], arm, reference, end, follow)
        return msgspec.structs.replace(base, **changes)
    changes["reference"] = msgspec.structs.replace(base.reference, **reference)
    return msgspec.structs.replace(base, **changes)


def _followed(
    file: Path, arm: Robot, reference: dict[str, Any], end: tuple[float, ...] | None, follow: Follow
) -> Reference:
    """The motion of a file, which has its own start, end and duration."""
    if end is not None or any(key not in ("kind",) for key in reference):
        allowed = "--follow alone: the file has its own start, end and duration"
        raise CommandError(f"--follow with other options of the reference; allowed: {allowed}", value=str(file))
    return follow(file, arm)


def arm_for(arm: Robot, experiment: Experiment) -> Robot:
    """The arm with the masses that the experiment asks for."""
    if not experiment.estimate_masses:
        return arm
    return Robot(with_estimate(arm.model))


def _home(model: RobotModel) -> tuple[float, ...]:
    if model.home is None:
        return ()
    return tuple(value / unit for value, unit in zip(model.home, joint_units(model), strict=True))


def _place(
    arm: Robot, option: str, joints: str | None, pose: str | None, otherwise: Sequence[float]
) -> tuple[float, ...] | None:
    """Joint values from either option, in degrees and millimetres."""
    if joints is not None and pose is not None:
        raise CommandError(f"{option} and {option}-pose given; allowed: one of them", value=joints)
    if pose is not None:
        return _of_pose(arm, f"{option}-pose", pose, otherwise)
    if joints is None:
        return None
    if "=" not in joints:
        return _numbers(option, joints)
    names = [joint.name for joint in arm.model.joints]
    values = list(otherwise or _home(arm.model) or [0.0] * len(names))
    if len(values) == 1:
        values *= len(names)
    for part in joints.split(","):
        name, _, number = part.partition("=")
        if name.strip() not in names:
            allowed = ", ".join(names)
            raise CommandError(f"{arm.name} has no joint {name.strip()!r}; allowed: {allowed}", axis=name, value=name)
        (values[names.index(name.strip())],) = _numbers(option, number)[:1]
    return tuple(values)


def _of_pose(arm: Robot, option: str, text: str, near: Sequence[float]) -> tuple[float, ...]:
    numbers = _numbers(option, text)
    units = joint_units(arm.model)
    if len(numbers) == 6:
        seed = [value * unit for value, unit in zip(near, units, strict=True)] if len(near) == arm.dof else None
        result = arm.inverse_kinematics(xyzabc_to_pose(numbers), seed)
    elif len(numbers) == 3:
        result = arm.inverse_kinematics_target([value * MM for value in numbers])
    else:
        raise CommandError(f"{option}: {len(numbers)} numbers given; allowed: X,Y,Z or X,Y,Z,A,B,C", value=text)
    usable = [solution for solution in result.solutions if solution.within_limits]
    if not usable:
        raise CommandError(f"{option}: {arm.name}: {result.reason}", value=text)
    return tuple(value / unit for value, unit in zip(usable[0].q, units, strict=True))


def _numbers(option: str, text: str) -> tuple[float, ...]:
    found = []
    for part in text.replace(",", " ").split():
        try:
            found.append(float(part))
        except ValueError:
            allowed = "numbers with commas between, and a point before their decimals"
            raise CommandError(f"{option}: {part!r} is no number; allowed: {allowed}", value=part) from None
    if not found:
        raise CommandError(f"{option}: nothing given; allowed: numbers with commas between", value=text)
    return tuple(found)


def _three(option: str, text: str) -> tuple[float, float, float]:
    numbers = _numbers(option, text)
    if len(numbers) != 3:
        raise CommandError(f"{option} {text} given; allowed: three numbers with commas between", value=text)
    x, y, z = numbers
    return x, y, z


def _one_of(option: str, text: str, kinds: Any) -> Any:
    try:
        return kinds(text)
    except ValueError:
        allowed = ", ".join(kind.value for kind in kinds)
        raise CommandError(f"{option} {text} given; allowed: {allowed}", value=text, allowed=allowed) from None


def _disturbance(text: str) -> Disturbance:
    joint, *rest = text.split(":")
    try:
        torque, begin, end = [*map(float, rest), *(0.0, LONGEST_S)[max(len(rest) - 1, 0) :]]
    except ValueError:
        allowed = "JOINT:NM[:FROM[:UNTIL]], for example J2:20:0.5:0.6"
        raise CommandError(f"--disturb {text} given; allowed: {allowed}", value=text, allowed=allowed) from None
    return Disturbance(joint=joint, torque=torque, from_s=begin, until_s=end)


# -- fields ----------------------------------------------------------------------------------------------

NUMBERS = {
    "duration": "--duration",
    "settle": "--settle",
    "rate": "--rate",
    "bandwidth": "--bandwidth",
    "payload": "--payload",
    "delay": "--delay",
}
"""Fields that hold one number, with their options."""

TEXTS = {
    "to": "--to",
    "start": "--from",
    "reference": "--reference",
    "law": "--law",
    "kp": "--kp",
    "kd": "--kd",
    "ki": "--ki",
    "torque_limit": "--torque-limit",
    "noise": "--noise",
    "resolution": "--resolution",
    "gravity": "--gravity",
}
"""Fields that are read as the options are."""

SEVERAL = {"disturb": "--disturb"}
"""Fields whose parts between blanks are options of their own."""

_OPTION = re.compile(r"(?P<option>--[a-z-]+):? (?P<words>.*)", re.DOTALL)

FIRST_TURN_DEG = 25.0


def given_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """The options that fields stand for; an empty field is no option.

    Raises:
        FieldErrors: a field that holds a number holds none.
    """
    given: dict[str, Any] = {}
    faults = []
    for key, text in fields.items():
        text = text.strip()
        if not text:
            continue
        if key in NUMBERS:
            try:
                given[key] = float(text)
            except ValueError:
                faults.append(FieldError(key, f"{text!r} given; allowed: a number, with a point before its decimals"))
        elif key in SEVERAL:
            given[key] = text.split()
        elif key in TEXTS:
            given[key] = text
    if faults:
        raise FieldErrors(tuple(faults))
    return given


def experiment_of_fields(arm: Robot, robot: str, fields: Mapping[str, str], *, estimate: bool) -> Experiment:
    """The experiment of fields, if a run of it has a meaning; quick.

    Raises:
        FieldErrors: a field that can be named.
        CommandError: it has none.
    """
    given = given_of(fields)
    if estimate:
        given["estimate_masses"] = True
    try:
        experiment = experiment_of(arm, robot, None, given)
    except CommandError as error:
        raise _in_its_field(error) from None
    return checked(experiment, arm_for(arm, experiment).model)


def _in_its_field(error: CommandError) -> HilError:
    """What is said of an option, as it is said of the field that stands for it."""
    options = {option: key for key, option in (NUMBERS | TEXTS | SEVERAL).items()}
    found = _OPTION.match(str(error))
    if found is None or found["option"] not in options:
        return error
    return FieldErrors((FieldError(options[found["option"]], found["words"]),))


def options_of(fields: Mapping[str, str], *, estimate: bool) -> list[str]:
    """The same as words of a command."""
    words: list[str] = []
    for key, text in fields.items():
        text = text.strip()
        if not text:
            continue
        if key in SEVERAL:
            words += [word for part in text.split() for word in (SEVERAL[key], part)]
        elif option := (NUMBERS | TEXTS).get(key):
            words.append(f"{option}={text}")  # a negative number is no option
    return [*words, "--estimate-masses"] if estimate else words


def first_fields(model: RobotModel) -> dict[str, str]:
    """A motion to begin with, for any arm: one joint turns a little, or slides by 5 cm."""
    at = min(1, model.dof - 1)
    joint = model.joints[at]
    units = joint_units(model)
    homes = model.home or [_inside(each, 0.0) for each in model.joints]
    by = FIRST_TURN_DEG * DEG if joint.type is JointType.REVOLUTE else 0.05
    there = _inside(joint, homes[at] + by)
    if abs(there - homes[at]) < 0.5 * by:
        there = _inside(joint, homes[at] - by)
    fields = {"to": f"{joint.name}={there / units[at]:.6g}", "duration": "1"}
    if model.home is None:
        fields["start"] = ",".join(f"{home / unit:.6g}" for home, unit in zip(homes, units, strict=True))
    return fields


def _inside(joint: Joint, value: float) -> float:
    low = value if joint.lower is None else max(value, joint.lower)
    return low if joint.upper is None else min(low, joint.upper)

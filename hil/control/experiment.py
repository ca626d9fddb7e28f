"""One experiment on a controlled arm as people write it: everything that decides the numbers of a run."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NoReturn

import msgspec

from hil.errors import CommandError, ConfigError
from hil.kernels.closed_loop import Law
from hil.model.robot import JointType, LinkInertia, RobotModel
from hil.types import Record
from hil.units import DEG, MM

LONGEST_S = 3600.0
MOST_TICKS = 2_000_000
MOST_STEPS = 20_000_000

OF_JOINTS = ("kp", "kd", "ki", "resolution", "noise", "viscous", "dry", "armature", "torque_limit", "mass_factor")
"""What has a number for every joint, 0 or more."""


class Kind(Enum):
    """How a reference goes from its start to its end."""

    CUBIC = "cubic"
    BLENDED = "blended"
    QUINTIC = "quintic"
    TRAPEZOID = "trapezoid"
    JERK_LIMITED = "jerk-limited"
    HOLD = "hold"
    RECORDED = "recorded"


class Speeds(Enum):
    """Where the controller's speeds come from."""

    EXACT = "exact"
    DIFFERENCE = "difference"


class Integrator(Enum):
    """How the arm's equations are followed."""

    STEPS = "steps"
    MIDPOINT = "midpoint"
    ADAPTIVE = "adaptive"


class Reference(Record, frozen=True):
    """Where the joints should be. Positions and speeds in degrees (millimetres where prismatic).

    Attributes:
        kind: shape of the motion.
        start, end: of every joint; an empty start is the arm's home.
        duration_s: of the motion.
        blend_s: of each blend, for `BLENDED`, `TRAPEZOID` and `JERK_LIMITED`; None for a quarter of the motion.
        cruise: speed between blends of `BLENDED`; empty for the one at which the acceleration has no jump.
        start_speed, end_speed: of `CUBIC` and `QUINTIC`; empty for rest.
        samples: of `RECORDED`, evenly spaced over the duration, the first and the last included.
    """

    kind: Kind = Kind.CUBIC
    start: tuple[float, ...] = ()
    end: tuple[float, ...] = ()
    duration_s: float = 1.0
    blend_s: float | None = None
    cruise: tuple[float, ...] = ()
    start_speed: tuple[float, ...] = ()
    end_speed: tuple[float, ...] = ()
    samples: tuple[tuple[float, ...], ...] = ()


class Disturbance(Record, frozen=True):
    """A torque from outside on one joint for some time, N m (N where prismatic)."""

    joint: str
    torque: float
    from_s: float = 0.0
    until_s: float = LONGEST_S


class Bounds(Record, frozen=True):
    """A run beyond one of these is unstable, whatever it does afterwards: it costs infinity.

    Attributes:
        error: of a joint, degrees (mm where prismatic).
        speed: degrees per second (mm/s).
        torque: that the controller asks for, before any limit, N m (N).
    """

    error: float = 60.0
    speed: float = 3000.0
    torque: float = 1e5


class Experiment(Record, frozen=True):
    """A robot, a reference, a controller and what disturbs them. One number for several joints counts for all.

    Attributes:
        robot: name or file.
        law: of the controller.
        kp, kd, ki: gains, N m/rad and so on (N/m where prismatic), or 1/s2 and so on for the laws that scale
            accelerations; an empty kp and kd are worked out from `bandwidth_hz`.
        bandwidth_hz: natural frequency of each joint alone, with critical damping, where no gains are given.
        factors: f of the scaled PD, a number or formula for each joint.
        rate_hz: of the controller.
        integrator: fixed steps, plain or by the midpoint rule, or adaptive Runge-Kutta for single runs without stops.
        step_s: longest of the fixed steps; a whole number of them goes into a tick.
        tolerance: of adaptive integration.
        delay_s: from measuring to the torque's arrival.
        resolution: of the encoders, degrees (mm); 0 for exact ones.
        noise: standard deviation of measured positions, degrees (mm).
        seed: of the noise.
        speeds: that the controller sees.
        torque_limit: of the motors, N m (N); empty for none.
        estimate_masses: from the links' shapes, where no source gives any.
        friction: viscous and dry friction of the arm's file.
        viscous, dry: on the joint's side, instead of the file's: N m s/rad and N m; empty for the file's.
        armature: inertia of motors on the joint's side beyond the file's, kg m2.
        stops: the joints' limits take all speed.
        mass_factor: of each link, in the arm that is controlled; the controller's model has the file's masses.
        payload_kg: at the tool point.
        payload_known: the controller's own model has it too.
        gravity_m_s2: acceleration of free fall in the world.
        settle_s: how long the run goes on after the reference has ended.
        disturbances: torques from outside.
        bounds: beyond which a run is unstable.
        reference: where the joints should be.
    """

    robot: str
    reference: Reference = Reference()
    law: Law = Law.PD_GRAVITY
    kp: tuple[float, ...] = ()
    kd: tuple[float, ...] = ()
    ki: tuple[float, ...] = (0.0,)
    bandwidth_hz: float = 5.0
    factors: tuple[str, ...] = ()
    rate_hz: float = 1000.0
    integrator: Integrator = Integrator.STEPS
    step_s: float = 1e-3
    tolerance: float = 1e-9
    delay_s: float = 0.0
    resolution: tuple[float, ...] = (0.0,)
    noise: tuple[float, ...] = (0.0,)
    seed: int = 1
    speeds: Speeds = Speeds.EXACT
    torque_limit: tuple[float, ...] = ()
    estimate_masses: bool = False
    friction: bool = True
    viscous: tuple[float, ...] = ()
    dry: tuple[float, ...] = ()
    armature: tuple[float, ...] = (0.0,)
    stops: bool = True
    mass_factor: tuple[float, ...] = (1.0,)
    payload_kg: float = 0.0
    payload_known: bool = False
    gravity_m_s2: tuple[float, float, float] = (0.0, 0.0, -9.81)
    settle_s: float = 0.0
    disturbances: tuple[Disturbance, ...] = ()
    bounds: Bounds = Bounds()


def free_fall(experiment: Experiment, *, plain_steps: bool = False) -> Experiment:
    """The arm let go at the start of the reference: no controller, no bounds.

    Args:
        experiment: its arm, start and duration count.
        plain_steps: keep fixed steps as a controlled run has them; else they go by the midpoint rule, since nothing is
            there to take away the energy that plain steps bring in.
    """
    stepped = experiment.integrator is Integrator.STEPS and not plain_steps
    reference = Reference(kind=Kind.HOLD, start=experiment.reference.start, duration_s=experiment.reference.duration_s)
    return msgspec.structs.replace(
        experiment,
        reference=reference,
        integrator=Integrator.MIDPOINT if stepped else experiment.integrator,
        law=Law.PD,
        kp=(0.0,),
        kd=(0.0,),
        ki=(0.0,),
        factors=(),
        delay_s=0.0,
        bounds=Bounds(error=1e9, speed=1e9, torque=1e9),
    )


def joint_units(model: RobotModel) -> list[float]:
    """Radians or metres per degree or millimetre of each joint."""
    return [DEG if joint.type is JointType.REVOLUTE else MM for joint in model.joints]


def joint_words(model: RobotModel) -> list[str]:
    """``deg`` or ``mm`` for each joint."""
    return ["deg" if joint.type is JointType.REVOLUTE else "mm" for joint in model.joints]


def estimated(model: RobotModel) -> bool:
    """The arm's masses are an estimate: every output says so."""
    return model.inertia is not None and model.inertia_status.upper().startswith("ESTIMATE")


def for_each_joint(model: RobotModel, name: str, given: Sequence[float], otherwise: float = 0.0) -> list[float]:
    """`given` for every joint: one number counts for all, none is `otherwise`.

    Raises:
        CommandError: another count.
    """
    n = model.dof
    if not given:
        return [otherwise] * n
    if len(given) == 1:
        return [float(given[0])] * n
    if len(given) != n:
        names = ", ".join(joint.name for joint in model.joints)
        _refuse(f"{model.id}: {name}: {len(given)} numbers given", tuple(given), f"one for all joints, or {n}: {names}")
    return [float(value) for value in given]


def checked(experiment: Experiment, model: RobotModel) -> Experiment:
    """`experiment`, if a run of it has a meaning.

    Raises:
        CommandError: it has not; the message says what to give.
    """
    e = experiment
    _require_masses(model)
    _above("the controller's rate", e.rate_hz, "Hz, for example 1000", most=1e6)
    _above("the longest step", e.step_s, "s, for example 0.001", most=1.0)
    _above("tolerance", e.tolerance, "for example 1e-9", most=1e-2)
    for name, value in (("delay", e.delay_s), ("settling time", e.settle_s)):
        if not 0.0 <= value <= LONGEST_S:  # NaN is refused by this too.
            _refuse(f"{name}: {value:g} s given", value, f"0 to {LONGEST_S:g} s")
    _above("the bandwidth", e.bandwidth_hz, "Hz, for example 5")
    for name in OF_JOINTS:
        for joint, value in zip(model.joints, for_each_joint(model, name, getattr(e, name)), strict=True):
            if not (math.isfinite(value) and value >= 0.0):
                _refuse(f"{model.id}: {name} of {joint.name}: {value!r} given", value, "a finite number of 0 or more")
    if bool(e.kp) != bool(e.kd):
        _refuse("kp without kd, or kd without kp", None, "both, or neither: then both follow from bandwidth_hz")
    if not (math.isfinite(e.payload_kg) and e.payload_kg >= 0.0):
        _refuse(f"payload: {e.payload_kg!r} kg given", e.payload_kg, "a mass of 0 kg or more")
    if not all(map(math.isfinite, e.gravity_m_s2)):
        _refuse(f"gravity: {e.gravity_m_s2!r} given", e.gravity_m_s2, "three finite numbers, m/s2")
    for name in ("error", "speed", "torque"):
        value = getattr(e.bounds, name)
        if not value > 0.0:
            _refuse(f"bound on {name}: {value!r} given", value, "a number above 0")
    _check_disturbances(e, model)
    _check_reference(e.reference, model)
    ticks = (e.reference.duration_s + e.settle_s) * e.rate_hz
    steps = ticks * max(1.0, 1.0 / (e.rate_hz * e.step_s))
    if ticks > MOST_TICKS or steps > MOST_STEPS:
        _refuse(f"{ticks:.3g} ticks and {steps:.3g} steps", steps, f"{MOST_TICKS:g} ticks and {MOST_STEPS:g} steps")
    if bool(e.factors) != (e.law is Law.SCALED_PD):
        _refuse(
            f"law {e.law.value} with factors {e.factors!r}", e.factors, "factors for the law scaled-pd, and only there"
        )
    return e


def loaded(model: RobotModel, experiment: Experiment) -> RobotModel:
    """The arm that is controlled: with its factors of masses, and a payload as a point of its last link."""
    assert model.inertia is not None
    factors = for_each_joint(model, "mass_factor", experiment.mass_factor, 1.0)
    links = [_heavier(link, factor) for link, factor in zip(model.inertia, factors, strict=True)]
    if experiment.payload_kg:
        links[-1] = _joined(links[-1], experiment.payload_kg, [row[3] for row in model.tool[:3]])
    return msgspec.structs.replace(model, inertia=tuple(links))


def _heavier(link: LinkInertia, factor: float) -> LinkInertia:
    if factor == 1.0:
        return link
    tensor = link.inertia_kg_m2
    if tensor is not None:
        (a, b, c), (d, e, f), (g, h, i) = (tuple(factor * value for value in row) for row in tensor)
        tensor = ((a, b, c), (d, e, f), (g, h, i))
    return msgspec.structs.replace(link, mass_kg=factor * link.mass_kg, inertia_kg_m2=tensor)


def _joined(link: LinkInertia, mass: float, place: Sequence[float]) -> LinkInertia:
    """A link and a point mass as one body."""
    import numpy as np

    total = link.mass_kg + mass
    com = (link.mass_kg * np.array(link.com_m) + mass * np.array(place)) / total
    tensor = np.array(link.inertia_kg_m2 or np.zeros((3, 3)))
    for each, at in ((link.mass_kg, np.array(link.com_m)), (mass, np.array(place))):
        arm = at - com
        tensor = tensor + each * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    x, y, z = com.tolist()
    rows = tuple((a, b, c) for a, b, c in tensor.tolist())
    return msgspec.structs.replace(link, mass_kg=total, com_m=(x, y, z), inertia_kg_m2=rows)


def read_experiment(path: Path) -> Experiment:
    """An experiment from a .json file, as `experiment_text` writes it, or from a .toml with the same keys.

    Raises:
        ConfigError: no such file, no such key, or a value that cannot stand there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "file", None, "a file of settings that can be read", str(error)) from None
    try:
        if path.suffix == ".json":
            return msgspec.json.decode(text, type=Experiment)
        return msgspec.convert(tomllib.loads(text), Experiment)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        advice = _meant(message)
        raise ConfigError(str(path), where.strip("`$.") or "settings", message, "see docs/control.md", advice) from None
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(str(path), "file", str(error), "a file of settings as hil simulate writes them") from None


def experiment_text(experiment: Experiment) -> str:
    """JSON that `read_experiment` reads back as the same experiment."""
    return msgspec.json.format(msgspec.json.encode(experiment)).decode() + "\n"


def _meant(message: str) -> str:
    """The key that was probably meant."""
    key = message.rpartition("`")[0].rpartition("`")[2]
    known = [*Experiment.__struct_fields__, *Reference.__struct_fields__, *Bounds.__struct_fields__]
    near = difflib.get_close_matches(key, known, 1) if "unknown field" in message else []
    return f"Did you mean {near[0]}?" if near else ""


def _require_masses(model: RobotModel) -> None:
    if model.inertia is None:
        _refuse(
            f"{model.id}: no source gives masses for this arm, so nothing is known of how it moves",
            None,
            "an arm with masses (hil robots shows which), --estimate-masses, or a robot file of your own with a "
            "[joints.inertia] table for every joint",
        )
    for joint, link in zip(model.joints, model.inertia, strict=True):
        if not (math.isfinite(link.mass_kg) and link.mass_kg >= 0.0):
            _refuse(f"{model.id}: mass of {joint.name}: {link.mass_kg!r} kg", link.mass_kg, "a mass of 0 kg or more")


def _check_disturbances(e: Experiment, model: RobotModel) -> None:
    names = [joint.name for joint in model.joints]
    for each in e.disturbances:
        if each.joint not in names:
            _refuse(f"{model.id} has no joint {each.joint!r}", each.joint, ", ".join(names))
        if not math.isfinite(each.torque) or not 0.0 <= each.from_s < each.until_s:
            given = f"{each.joint}: {each.torque:g} from {each.from_s:g} to {each.until_s:g} s"
            _refuse(f"disturbance {given}", given, "a finite torque, and a start before its end")


def _check_reference(r: Reference, model: RobotModel) -> None:
    _above("the reference's duration", r.duration_s, "s, for example 1", most=LONGEST_S)
    if r.kind is not Kind.HOLD and not r.end:
        names = ", ".join(joint.name for joint in model.joints)
        _refuse(f"{model.id}: where should it go?", None, f"an end for every joint: {names}; or the kind hold")
    if not r.start and model.home is None:
        _refuse(f"{model.id} has no home in its file", None, "a start for every joint")
    for name in ("start", "end", "cruise", "start_speed", "end_speed"):
        for joint, value in zip(model.joints, for_each_joint(model, name, getattr(r, name)), strict=True):
            if not math.isfinite(value):
                _refuse(f"{model.id}: {name} of {joint.name}: {value!r} given", value, "a finite number")
    if (r.kind is Kind.RECORDED) != (len(r.samples) > 1):
        _refuse(
            f"{len(r.samples)} samples of the kind {r.kind.value}", None, "two samples or more, of the kind recorded"
        )
    if not all(len(row) == model.dof and all(map(math.isfinite, row)) for row in r.samples):
        _refuse(f"{model.id}: a sample is not {model.dof} finite numbers", None, f"{model.dof} finite numbers each")
    if r.blend_s is not None and not 0.0 < r.blend_s <= 0.5 * r.duration_s:
        _refuse(
            f"two blends of {r.blend_s:g} s do not fit into a motion of {r.duration_s:g} s",
            r.blend_s,
            f"a blend above 0 and up to half of the motion: {0.5 * r.duration_s:g} s",
        )
    _check_start(r, model)


def _check_start(r: Reference, model: RobotModel) -> None:
    """A start beyond a limit would be beyond a stop."""
    from hil.control.references import start_of

    for joint, unit, value in zip(model.joints, joint_units(model), start_of(r, model), strict=True):
        low, high = joint.lower, joint.upper
        if (low is not None and value < low - 1e-9) or (high is not None and value > high + 1e-9):
            ends = [("open" if end is None else f"{end / unit:g}") for end in (low, high)]
            _refuse(f"{model.id}: start of {joint.name}: {value / unit:g} given", value, " to ".join(ends))


def _above(name: str, value: float, unit: str, most: float = math.inf) -> None:
    if not 0.0 < value <= most or not math.isfinite(value):
        upper = "" if math.isinf(most) else f" and up to {most:g}"
        _refuse(f"{name}: {value!r} given", value, f"a number above 0{upper}, in {unit}")


def _refuse(what: str, value: object, allowed: str) -> NoReturn:
    raise CommandError(f"{what}; allowed: {allowed}", value=value, allowed=allowed)

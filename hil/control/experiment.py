"""One experiment on a controlled arm as people write it: everything that decides the numbers of a run."""

from __future__ import annotations

import difflib
import tomllib
from enum import Enum
from pathlib import Path

import msgspec

from hil.errors import ConfigError
from hil.kernels.closed_loop import Law
from hil.types import Record

LONGEST_S = 3600.0


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

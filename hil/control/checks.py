"""Whether a run of an experiment has a meaning, and what to give where it has none."""

from __future__ import annotations

import math

from hil.control.experiment import LONGEST_S, Experiment, Kind, Reference
from hil.control.joint_values import for_each_joint, joint_units, refuse
from hil.control.references import start_of
from hil.kernels.closed_loop import Law
from hil.model.robot import RobotModel

MOST_TICKS = 2_000_000
MOST_STEPS = 20_000_000

OF_JOINTS = ("kp", "kd", "ki", "resolution", "noise", "viscous", "dry", "armature", "torque_limit", "mass_factor")
"""What has a number for every joint, 0 or more."""


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
            refuse(f"{name}: {value:g} s given", value, f"0 to {LONGEST_S:g} s")
    _above("the bandwidth", e.bandwidth_hz, "Hz, for example 5")
    for name in OF_JOINTS:
        for joint, value in zip(model.joints, for_each_joint(model, name, getattr(e, name)), strict=True):
            if not (math.isfinite(value) and value >= 0.0):
                refuse(f"{model.id}: {name} of {joint.name}: {value!r} given", value, "a finite number of 0 or more")
    if bool(e.kp) != bool(e.kd):
        refuse("kp without kd, or kd without kp", None, "both, or neither: then both follow from bandwidth_hz")
    if not (math.isfinite(e.payload_kg) and e.payload_kg >= 0.0):
        refuse(f"payload: {e.payload_kg!r} kg given", e.payload_kg, "a mass of 0 kg or more")
    if not all(map(math.isfinite, e.gravity_m_s2)):
        refuse(f"gravity: {e.gravity_m_s2!r} given", e.gravity_m_s2, "three finite numbers, m/s2")
    for name in ("error", "speed", "torque"):
        value = getattr(e.bounds, name)
        if not value > 0.0:
            refuse(f"bound on {name}: {value!r} given", value, "a number above 0")
    _check_disturbances(e, model)
    _check_reference(e.reference, model)
    ticks = (e.reference.duration_s + e.settle_s) * e.rate_hz
    steps = ticks * max(1.0, 1.0 / (e.rate_hz * e.step_s))
    if ticks > MOST_TICKS or steps > MOST_STEPS:
        refuse(f"{ticks:.3g} ticks and {steps:.3g} steps", steps, f"{MOST_TICKS:g} ticks and {MOST_STEPS:g} steps")
    if bool(e.factors) != (e.law is Law.SCALED_PD):
        refuse(
            f"law {e.law.value} with factors {e.factors!r}", e.factors, "factors for the law scaled-pd, and only there"
        )
    return e


def _require_masses(model: RobotModel) -> None:
    if model.inertia is None:
        refuse(
            f"{model.id}: no source gives masses for this arm, so nothing is known of how it moves",
            None,
            "an arm with masses (hil robots shows which), --estimate-masses, or a robot file of your own with a "
            "[joints.inertia] table for every joint",
        )
    for joint, link in zip(model.joints, model.inertia, strict=True):
        if not (math.isfinite(link.mass_kg) and link.mass_kg >= 0.0):
            refuse(f"{model.id}: mass of {joint.name}: {link.mass_kg!r} kg", link.mass_kg, "a mass of 0 kg or more")


def _check_disturbances(e: Experiment, model: RobotModel) -> None:
    names = [joint.name for joint in model.joints]
    for each in e.disturbances:
        if each.joint not in names:
            refuse(f"{model.id} has no joint {each.joint!r}", each.joint, ", ".join(names))
        if not math.isfinite(each.torque) or not 0.0 <= each.from_s < each.until_s:
            given = f"{each.joint}: {each.torque:g} from {each.from_s:g} to {each.until_s:g} s"
            refuse(f"disturbance {given}", given, "a finite torque, and a start before its end")


def _check_reference(r: Reference, model: RobotModel) -> None:
    _above("the reference's duration", r.duration_s, "s, for example 1", most=LONGEST_S)
    if r.kind is not Kind.HOLD and not r.end:
        names = ", ".join(joint.name for joint in model.joints)
        refuse(f"{model.id}: where should it go?", None, f"an end for every joint: {names}; or the kind hold")
    if not r.start and model.home is None:
        refuse(f"{model.id} has no home in its file", None, "a start for every joint")
    for name in ("start", "end", "cruise", "start_speed", "end_speed"):
        for joint, value in zip(model.joints, for_each_joint(model, name, getattr(r, name)), strict=True):
            if not math.isfinite(value):
                refuse(f"{model.id}: {name} of {joint.name}: {value!r} given", value, "a finite number")
    if (r.kind is Kind.RECORDED) != (len(r.samples) > 1):
        refuse(
            f"{len(r.samples)} samples of the kind {r.kind.value}", None, "two samples or more, of the kind recorded"
        )
    if not all(len(row) == model.dof and all(map(math.isfinite, row)) for row in r.samples):
        refuse(f"{model.id}: a sample is not {model.dof} finite numbers", None, f"{model.dof} finite numbers each")
    if r.blend_s is not None and not 0.0 < r.blend_s <= 0.5 * r.duration_s:
        refuse(
            f"two blends of {r.blend_s:g} s do not fit into a motion of {r.duration_s:g} s",
            r.blend_s,
            f"a blend above 0 and up to half of the motion: {0.5 * r.duration_s:g} s",
        )
    _check_start(r, model)


def _check_start(r: Reference, model: RobotModel) -> None:
    """A start beyond a limit would be beyond a stop."""
    for joint, unit, value in zip(model.joints, joint_units(model), start_of(r, model), strict=True):
        low, high = joint.lower, joint.upper
        if (low is not None and value < low - 1e-9) or (high is not None and value > high + 1e-9):
            ends = [("open" if end is None else f"{end / unit:g}") for end in (low, high)]
            refuse(f"{model.id}: start of {joint.name}: {value / unit:g} given", value, " to ".join(ends))


def _above(name: str, value: float, unit: str, most: float = math.inf) -> None:
    if not 0.0 < value <= most or not math.isfinite(value):
        upper = "" if math.isinf(most) else f" and up to {most:g}"
        refuse(f"{name}: {value!r} given", value, f"a number above 0{upper}, in {unit}")

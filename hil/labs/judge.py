"""Whether predicates hold of a run, judged over what the arm really did, sample by sample.

The arm is the simulated one, servo lag included; what counts as sent is what the controller saw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.labs.exercise_values import Xyz
from hil.labs.predicates import (
    Away,
    Bytes,
    End,
    Energy,
    Keep,
    Order,
    Predicate,
    Reach,
    Refusals,
    SameRobot,
    Smooth,
    Time,
)
from hil.model.rig import AxisKind, Rig
from hil.refusal import Refusal
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

Flags = npt.NDArray[np.bool_]

ROUNDING_S = 1e-9
"""Times are sums of periods."""

STRIDE_S = 0.2
"""Between the samples whose third difference is the jerk: far enough for the wire's steps to be small against it."""


@dataclass(frozen=True)
class Run:
    """One run on the virtual clock, as predicates see it. N samples, from the first that was sent to the last.

    Attributes:
        time_s: since the first sample, shape (N,).
        joints: of the simulated arm, shape (N, n_joints), radians or metres.
        tool_mm: of the simulated arm, shape (N, 3).
        opening_mm: of the gripper, shape (N,); None without one.
        hand_closed: what a program has done with hand 1, shape (N,); None where no program ran.
        sent: what the controller saw, shape (M, n_axes).
        wire_bytes: how many went to the controller meanwhile.
        refusals: why it was not run; N is then 0.
        broken_off: how it ended before its end; empty if it did not.
    """

    rig: Rig
    robot: Robot
    time_s: FloatArray
    joints: FloatArray
    tool_mm: FloatArray
    opening_mm: FloatArray | None
    hand_closed: Flags | None
    sent: FloatArray
    wire_bytes: int
    refusals: tuple[Refusal, ...] = ()
    broken_off: str = ""


class Judged(Record, frozen=True):
    """Whether one predicate held.

    Attributes:
        words: what was found, for the student.
        sample: the first that fails; None if none does, or none is concerned.
        time_s, tool_mm: of that sample.
    """

    held: bool
    words: str
    sample: int | None = None
    time_s: float | None = None
    tool_mm: tuple[float, float, float] | None = None


Reached = dict[str, int]
"""Samples at which predicates of kind ``reach`` were reached, by their names."""


def judge(run: Run, predicates: tuple[Predicate, ...]) -> list[Judged]:
    """Judge a run by predicates whose numbers have been worked out."""
    reached: Reached = {}
    judged = {}
    # Places first: what is between two of them may stand before them in the file.
    for index, predicate in enumerate(predicates):
        if isinstance(predicate, Reach):
            judged[index] = _reach(run, predicate, reached)
    for index, predicate in enumerate(predicates):
        if index not in judged:
            judged[index] = _judge(run, predicate, reached)
    return [judged[index] for index in range(len(predicates))]


def _judge(run: Run, predicate: Predicate, reached: Reached) -> Judged:
    if isinstance(predicate, Refusals):
        count = len(run.refusals)
        said = _refused(run) if count else "nothing was refused"
        return Judged(held=count <= predicate.at_most, words=said, sample=_first_refused(run))
    if run.refusals or not len(run.time_s):
        return _not_run(run)
    once: str | None = getattr(predicate, "once", None)
    if once is not None and once not in reached:
        return Judged(held=False, words=f"{once!r} was not reached")
    match predicate:
        case Order():
            return _order(predicate, reached)
        case Keep():
            return _keep(run, predicate, reached)
        case Away():
            return _away(run, predicate, reached)
        case End():
            return _end(run, predicate)
        case Time():
            return _at_most("it took", round(float(run.time_s[-1]), 9), predicate.at_most_s, "s")
        case Smooth():
            return _smooth(run, predicate)
        case Energy():
            return _energy(run, predicate)
        case Bytes():
            return _at_most("it sent", run.wire_bytes, predicate.at_most, "bytes")
    raise CommandError(f"{type(predicate).__name__} is not judged over a run", value=predicate.name)


def _refused(run: Run) -> str:
    if not run.refusals:
        return ""
    first = run.refusals[0]
    place = f" at {first.place}" if first.place else ""
    more = f", and {len(run.refusals) - 1} more" if len(run.refusals) > 1 else ""
    return f"{first.check} refused{place}: {first.subject}, {first.limit}; allowed: {first.nearest_allowed}{more}"


def _not_run(run: Run) -> Judged:
    # All of it is said once, where refusals are judged; here it stands in every row.
    why = f"{run.refusals[0].check} refused it" if run.refusals else run.broken_off
    return Judged(held=False, words=f"it was not run: {why}", sample=_first_refused(run))


def _first_refused(run: Run) -> int | None:
    return run.refusals[0].sample if run.refusals else None


def _at(run: Run, sample: int, held: bool, words: str) -> Judged:
    x, y, z = run.tool_mm[sample].tolist()
    return Judged(held=held, words=words, sample=sample, time_s=float(run.time_s[sample]), tool_mm=(x, y, z))


def _at_most(what: str, found: float, most: float, unit: str) -> Judged:
    return Judged(held=found <= most, words=f"{what} {found:.6g} {unit}; allowed: at most {most:g} {unit}")


def _reach(run: Run, predicate: Reach, reached: Reached) -> Judged:
    if run.refusals or not len(run.time_s):
        return _not_run(run)
    first = 0
    if predicate.after is not None:
        if predicate.after not in reached:
            return Judged(held=False, words=f"{predicate.after!r} comes before it, and was not reached")
        first = reached[predicate.after]
    inside, far_mm = _place(run, predicate)
    hand = _hand(run, predicate)
    both = np.flatnonzero((inside & hand)[first:])
    if both.size:
        sample = first + int(both[0])
        reached[predicate.name] = sample
        if predicate.by_s is not None and run.time_s[sample] > predicate.by_s + ROUNDING_S:
            words = f"reached at {run.time_s[sample]:.2f} s; allowed: by {predicate.by_s:g} s"
            return _at(run, sample, False, words)
        return Judged(held=True, words=f"reached at {run.time_s[sample]:.2f} s")
    there = np.flatnonzero(inside[first:])
    if there.size:
        sample = first + int(there[np.argmin(_off_hand(run, predicate)[first + there])])
        return _at(
            run, sample, False, f"it is there at {run.time_s[sample]:.2f} s, but {_of_hand(run, predicate, sample)}"
        )
    sample = first + int(np.argmin(far_mm[first:]))
    return _at(run, sample, False, f"never there: {_nearest(predicate, far_mm[sample], run.time_s[sample])}")


def _nearest(predicate: Reach, far: float, at_s: float) -> str:
    if predicate.pose is not None:
        return f"at its nearest a joint is {far:.1f} deg off, at {at_s:.2f} s; allowed: {predicate.within_deg:g} deg"
    allowed = f"{predicate.within_mm:g} mm" if predicate.point_mm is not None else "inside the box"
    return f"at its nearest the tool is {far:.1f} mm away, at {at_s:.2f} s; allowed: {allowed}"


def _place(run: Run, predicate: Reach) -> tuple[Flags, FloatArray]:
    """Where it is at the place, and how far away it is: millimetres, or degrees for a pose."""
    if predicate.pose is not None:
        far = _off_deg(run, predicate.pose)
        return far <= predicate.within_deg, far
    if predicate.point_mm is not None:
        far = _far_mm(run, predicate.point_mm)
        return far <= predicate.within_mm, far
    if predicate.lower_mm is not None and predicate.upper_mm is not None:
        far = _far_of_box_mm(run, predicate.lower_mm, predicate.upper_mm)
        return far <= 0.0, far
    return np.full(len(run.time_s), True), np.zeros(len(run.time_s))


def _far_mm(run: Run, point: Xyz) -> FloatArray:
    far: FloatArray = np.linalg.norm(run.tool_mm - np.array(point, dtype=float), axis=1)
    return far


def _far_of_box_mm(run: Run, lower: Xyz, upper: Xyz) -> FloatArray:
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    outside = np.maximum(np.maximum(low - run.tool_mm, run.tool_mm - high), 0.0)
    far: FloatArray = np.linalg.norm(outside, axis=1)
    return far


def _off_deg(run: Run, pose: str) -> FloatArray:
    """How far the worst turning joint is off a pose of the rig, per sample."""
    goal = run.rig.home if pose == "home" else run.rig.park
    turning = [k for k, axis in enumerate(run.rig.axes[: run.joints.shape[1]]) if axis.kind is AxisKind.REVOLUTE]
    off: FloatArray = np.abs(run.joints[:, turning] - np.array(goal)[turning]).max(axis=1) / DEG
    return off


def _hand(run: Run, predicate: Reach | Keep) -> Flags:
    """Where gripper and hand are as they should."""
    fits = np.full(len(run.time_s), True)
    if predicate.opening_mm is not None:
        low, high = predicate.opening_mm
        fits &= False if run.opening_mm is None else (run.opening_mm >= low) & (run.opening_mm <= high)
    if predicate.hand is not None:
        fits &= False if run.hand_closed is None else run.hand_closed == (predicate.hand == "closed")
    return fits


def _off_hand(run: Run, predicate: Reach) -> FloatArray:
    """How far the gripper is from what is allowed, per sample, in millimetres."""
    if predicate.opening_mm is None or run.opening_mm is None:
        return np.zeros(len(run.time_s))
    low, high = predicate.opening_mm
    off: FloatArray = np.maximum(np.maximum(low - run.opening_mm, run.opening_mm - high), 0.0)
    return off


def _of_hand(run: Run, predicate: Reach | Keep, sample: int) -> str:
    if predicate.opening_mm is not None:
        low, high = predicate.opening_mm
        if run.opening_mm is None:
            return "this rig has no gripper"
        found = float(run.opening_mm[sample])
        if not low <= found <= high:
            return f"the gripper is {found:.1f} mm open; allowed: {low:g} to {high:g} mm"
    if run.hand_closed is None:
        return "no program has moved the hand"
    return f"the hand is {'closed' if run.hand_closed[sample] else 'open'}; allowed: {predicate.hand}"


def _order(predicate: Order, reached: Reached) -> Judged:
    missing = [name for name in predicate.of if name not in reached]
    if missing:
        return Judged(held=False, words=f"{missing[0]!r} was not reached")
    for before, after in zip(predicate.of, predicate.of[1:], strict=False):
        if reached[before] >= reached[after]:
            return Judged(held=False, words=f"{after!r} was reached before {before!r}", sample=reached[after])
    return Judged(held=True, words=f"in order: {', '.join(predicate.of)}")


class _Stretch(NamedTuple):
    first: int
    last: int
    words: str


def _between(run: Run, predicate: Keep | Away, reached: Reached) -> _Stretch:
    """Samples from `since` to `until`, both included, and in words why there are none."""
    for name in (predicate.since, predicate.until):
        if name is not None and name not in reached:
            return _Stretch(0, 0, f"{name!r} was not reached")
    first = 0 if predicate.since is None else reached[predicate.since]
    last = len(run.time_s) - 1 if predicate.until is None else reached[predicate.until]
    words = f"{predicate.until!r} was reached before {predicate.since!r}" if last < first else ""
    return _Stretch(first, last, words)


def _keep(run: Run, predicate: Keep, reached: Reached) -> Judged:
    stretch = _between(run, predicate, reached)
    if stretch.words:
        return Judged(held=False, words=stretch.words)
    rows = slice(stretch.first, stretch.last + 1)
    hand = _hand(run, predicate)
    far = np.zeros(len(run.time_s))
    if predicate.lower_mm is not None and predicate.upper_mm is not None:
        far = _far_of_box_mm(run, predicate.lower_mm, predicate.upper_mm)
    wrong = np.flatnonzero(~(hand & (far <= 0.0))[rows])
    if not wrong.size:
        return Judged(held=True, words="so all along")
    sample = stretch.first + int(wrong[0])
    why = f"the tool is {far[sample]:.1f} mm outside the box" if far[sample] > 0.0 else _of_hand(run, predicate, sample)
    return _at(run, sample, False, f"at {run.time_s[sample]:.2f} s {why}")


def _away(run: Run, predicate: Away, reached: Reached) -> Judged:
    stretch = _between(run, predicate, reached)
    if stretch.words:
        return Judged(held=False, words=stretch.words)
    if predicate.point_mm is not None:
        far = _far_mm(run, predicate.point_mm)
    else:
        assert predicate.lower_mm is not None and predicate.upper_mm is not None
        far = _far_of_box_mm(run, predicate.lower_mm, predicate.upper_mm)
    part = far[stretch.first : stretch.last + 1]
    nearest = stretch.first + int(np.argmin(part))
    near = np.flatnonzero(part < predicate.at_least_mm)
    found = f"at its nearest {far[nearest]:.1f} mm, at {run.time_s[nearest]:.2f} s"
    words = f"{found}; allowed: at least {predicate.at_least_mm:g} mm"
    if not near.size:
        return Judged(held=True, words=words)
    return _at(run, stretch.first + int(near[0]), False, words)


def _end(run: Run, predicate: End) -> Judged:
    off = float(_off_deg(run, predicate.at)[-1])
    words = f"a joint ends {off:.2f} deg off {predicate.at}; allowed: {predicate.within_deg:g} deg"
    if run.broken_off:
        return _at(run, len(run.time_s) - 1, False, f"it ended early: {run.broken_off}")
    return (
        Judged(held=True, words=words) if off <= predicate.within_deg else _at(run, len(run.time_s) - 1, False, words)
    )


def _smooth(run: Run, predicate: Smooth) -> Judged:
    """Third difference over `STRIDE_S` against the limits; what half a step of the wire adds is not the student's."""
    rig = run.rig
    stride = max(1, round(STRIDE_S / rig.period_s))
    if len(run.sent) <= 3 * stride:
        return Judged(held=True, words="too short to jerk")
    third = (
        run.sent[3 * stride :]
        - 3 * run.sent[2 * stride : -stride]
        + 3 * run.sent[stride : -2 * stride]
        - run.sent[: -3 * stride]
    )
    # The four positions count 1, 3, 3 and 1 times, each off by at most half a step.
    floor = 4.0 * np.array(rig.controller.quantum())
    above = np.maximum(np.abs(third) - floor, 0.0) / (stride * rig.period_s) ** 3
    shares = above / np.array([axis.jerk for axis in rig.axes])
    sample, worst = np.unravel_index(int(np.argmax(shares)), shares.shape)
    share = float(shares[sample, worst])
    axis = rig.axes[int(worst)]
    words = f"{axis.name} jerks with {share:.0%} of its limit; allowed: {predicate.at_most_share:.0%}"
    if share <= predicate.at_most_share:
        return Judged(held=True, words=words)
    wrong = np.flatnonzero((shares > predicate.at_most_share).any(axis=1))
    return _at(run, min(int(wrong[0]), len(run.time_s) - 1), False, words)


def _energy(run: Run, predicate: Energy) -> Judged:
    period_s = run.rig.period_s
    if len(run.time_s) < 3:
        return _at_most("it took", 0.0, predicate.at_most_j, "J")
    speed = np.gradient(run.joints, period_s, axis=0)
    torque = run.robot.inverse_dynamics(run.joints, speed, np.gradient(speed, period_s, axis=0))
    work_j = float(np.abs(torque * speed).sum() * period_s)
    return (
        _at_most("it took", work_j, predicate.at_most_j, "J")
        if math.isfinite(work_j)
        else Judged(held=False, words="its energy is not a finite number")
    )


def same_robot(predicate: SameRobot, handed_in: Robot, wanted: Robot, poses: FloatArray) -> Judged:
    """Judge a robot by the places of its tool.

    Args:
        predicate: how near.
        handed_in: with as many joints as `poses` has columns.
        wanted: with as many.
        poses: shape (N, n).
    """
    off = handed_in.forward_kinematics(poses)[:, :3, 3] - wanted.forward_kinematics(poses)[:, :3, 3]
    far = np.linalg.norm(off, axis=1) / MM
    worst = int(np.argmax(far))
    words = f"in one pose the tool is {far[worst]:.3g} mm off; allowed: {predicate.within_mm:g} mm"
    if far[worst] <= predicate.within_mm:
        return Judged(held=True, words=words)
    angles = ", ".join(f"{value / DEG:.0f}" for value in poses[worst])
    return Judged(
        held=False,
        words=f"{words}. The pose: {angles} deg",
        sample=int(np.flatnonzero(~(far <= predicate.within_mm))[0]),
    )

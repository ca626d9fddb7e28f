"""One pitch of the hand for the whole of a curve; where none reaches all of it, the nearest place at which one does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from hil.kinematics.along import Targets
from hil.link import FloatArray
from hil.motion.path_steps import CurveStep
from hil.motion.path_tasks import Here
from hil.motion.step_files import CurveOfFile
from hil.paths.curves import PlacedCurve, Placement
from hil.paths.path import Path
from hil.refusal import RefusedError
from hil.units import DEG, MM

PITCH_STEP_RAD = 5.0 * DEG
"""How finely a pitch is looked for that suits the whole curve."""

PROBES = 400
"""Places of the whole curve at which a pitch is tried."""

ROOM_RAD = 1.0 * DEG
"""A pitch is taken at first only if it leaves the joints this much room."""

COARSE_PROBES, COARSE_STEP_RAD = 40, 15.0 * DEG
"""The same while another place is looked for."""

LEAST_SCALE, HALVINGS = 0.05, 7
"""A curve that is made smaller than this is another curve."""

SHIFT_STEP_M, MOST_STEPS = 20.0 * MM, 8
"""How finely, and how often, a curve is shifted."""

WAYS = tuple((math.cos(k * math.pi / 4.0), math.sin(k * math.pi / 4.0)) for k in range(8))
"""Outwards from the base axis and upwards, in which it is shifted."""

OF_REACH = frozenset({"E-02", "E-07"})


class Found(NamedTuple):
    """A change of place after which one pitch does, by lengths and soft limits alone.

    Attributes:
        scale: about the origin, first.
        shift_m: then.
        pitch_rad: of the hand all along.
    """

    scale: float
    shift_m: FloatArray
    pitch_rad: float


def suiting_pitch(here: Here, step: CurveStep, pieces: Sequence[Path]) -> float | None:
    """The pitch nearest to the present one with which the arm reaches all of a curve; None if there is none."""
    points = _probes_m(pieces, PROBES)
    present = here.robot.tool_target(here.joints.tolist()).pitch_rad
    for room in (ROOM_RAD, 0.0):
        for pitch in _pitches(present, PITCH_STEP_RAD):
            if _reaches(here, step, points, pitch, room):
                return pitch
    return None


def with_nearest_place(error: RefusedError, here: Here, curve: CurveOfFile, pieces: Sequence[Path]) -> RefusedError:
    """A refusal for want of reach, with a smaller size and another place at which one pitch does.

    Any other refusal, and that of a hand that is not held at one pitch, as it is.
    """
    step = curve.step
    keeps = step.abc_deg is None and step.orientation in (None, "keep")
    if not (here.robot.has_pitch_and_roll and keeps and {each.check for each in error.refusals} <= OF_REACH):
        return error
    given = None if step.pitch_deg is None else step.pitch_deg * DEG
    search = _Search(here, step, pieces, given)
    first = curve.pieces[0]
    lies = first.placement if isinstance(first, PlacedCurve) else Placement()
    found = [each for each in (search.smaller(), search.elsewhere()) if each is not None]
    if given is None:
        whole = "No one pitch of the hand reaches all of the curve here."
    else:
        whole = "The hand cannot keep this pitch all along the curve here."
    places = "; or with ".join(_words(each, lies) for each in found)
    nearest = f" By reach alone it can with {places}." if found else " Nor at a twentieth of its size: move it."
    refusals = [msgspec.structs.replace(each, advice=whole + nearest) for each in error.refusals]
    return RefusedError(refusals, "the motion cannot be planned")


def _words(found: Found, lies: Placement) -> str:
    """What goes into the curve's own table: its scale and shift once this is done to it where it lies now."""
    scale = found.scale * lies.scale
    shift_mm = found.scale * np.array(lies.shift_mm) + found.shift_m / MM
    numbers = ", ".join(f"{value:z.1f}" for value in shift_mm.tolist())
    smaller = "" if found.scale == 1.0 else f"scale = {scale:.4g} and "
    return f"{smaller}shift_mm = [{numbers}] under [place] of the curve and pitch_deg = {found.pitch_rad / DEG:.4g}"


def _probes_m(pieces: Sequence[Path], most: int) -> FloatArray:
    """Places of the whole curve, shape (N, 3)."""
    lengths = [path.length_m for path in pieces]
    counts = [max(3, math.ceil(most * length / sum(lengths))) for length in lengths]
    return np.concatenate(
        [path.points_m(np.linspace(0.0, path.length_m, n)) for path, n in zip(pieces, counts, strict=True)]
    )


def _reaches(here: Here, step: CurveStep, points: FloatArray, pitch: float, room: float) -> bool:
    """Whether one posture keeps a pitch at all points, within soft limits and with some room."""
    robot, joints = here.robot, here.joints.tolist()
    roll = robot.tool_target(joints).roll_rad if step.roll_deg is None else step.roll_deg * DEG
    axes = here.rig.axes[: robot.dof]
    low = np.array([axis.lower + axis.soft_margin for axis in axes])
    high = np.array([axis.upper - axis.soft_margin for axis in axes])
    start = robot.inverse_kinematics_target(points[0].tolist(), pitch, roll, joints)
    seeds = [each.q for each in start.solutions if (np.array(each.q) >= low).all() and (each.q <= high).all()]
    targets = Targets(points, np.full(len(points), pitch), None if roll is None else np.full(len(points), roll))
    for seed in seeds:
        rows = robot.inverse_kinematics_along(targets, seed).rows
        if len(rows) == len(points) and (rows >= low + room).all() and (rows <= high - room).all():
            return True
    return False


def _pitches(present_rad: float, step_rad: float) -> Iterator[float]:
    yield present_rad
    for k in range(1, math.ceil(math.pi / step_rad)):
        yield math.remainder(present_rad + k * step_rad, 2.0 * math.pi)
        yield math.remainder(present_rad - k * step_rad, 2.0 * math.pi)


# -- another place -----------------------------------------------------------------------------------------


class _Search:
    """Looks for another place; first at a few points of the curve, then at many."""

    def __init__(self, here: Here, step: CurveStep, pieces: Sequence[Path], given: float | None) -> None:
        self._here, self._step = here, step
        self._few, self._many = _probes_m(pieces, COARSE_PROBES), _probes_m(pieces, PROBES)
        present = here.robot.tool_target(here.joints.tolist()).pitch_rad
        nearest = round(present / COARSE_STEP_RAD) * COARSE_STEP_RAD
        self._pitches = list(_pitches(nearest, COARSE_STEP_RAD)) if given is None else [given]

    def smaller(self) -> Found | None:
        """The largest scale about the middle of the curve."""
        middle = 0.5 * (self._many.min(axis=0) + self._many.max(axis=0))
        found = self._at(LEAST_SCALE, (1.0 - LEAST_SCALE) * middle)
        low, high = LEAST_SCALE, 1.0
        for _ in range(HALVINGS if found is not None else 0):
            scale = round(0.5 * (low + high), 3)
            tried = self._at(scale, (1.0 - scale) * middle)
            if tried is None:
                high = scale
            else:
                low, found = scale, tried
        return found

    def elsewhere(self) -> Found | None:
        """The shortest of some shifts in the vertical plane through the base axis and the middle of the curve."""
        outwards = self._few.mean(axis=0) * (1.0, 1.0, 0.0)
        size = float(np.linalg.norm(outwards))
        outwards = np.array([1.0, 0.0, 0.0]) if size < MM else outwards / size
        for far in np.arange(1, MOST_STEPS + 1) * SHIFT_STEP_M:
            for out, up in WAYS:
                found = self._at(1.0, far * (out * outwards + np.array([0.0, 0.0, up])))
                if found is not None:
                    return found
        return None

    def _at(self, scale: float, shift_m: FloatArray) -> Found | None:
        few, many = scale * self._few + shift_m, scale * self._many + shift_m
        if max(self._here.robot.reach_gap_m(point) for point in few.tolist()) > 0.0:
            return None
        for pitch in self._pitches:
            if all(_reaches(self._here, self._step, points, pitch, ROOM_RAD) for points in (few, many)):
                return Found(scale, shift_m, pitch)
        return None

"""A curve step: where the arm goes first, and the smooth pieces that follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from hil.errors import CommandError, HilError
from hil.kinematics.along import Targets
from hil.kinematics.poses import Convention, pose_to_xyzabc
from hil.link import FloatArray
from hil.motion.path_steps import CurveStep
from hil.motion.path_tasks import Here, wish_on
from hil.motion.path_wish import PathWish
from hil.motion.step_files import CurveOfFile
from hil.motion.tasks import Move
from hil.paths.curve import Curve
from hil.paths.orientation import PitchedAxis, ToolAxis
from hil.paths.path import LEAST_LENGTH_M, CurvePath, Path, Reversed
from hil.units import DEG, MM

PITCH_STEP_RAD = 5.0 * DEG
"""How finely a pitch is looked for that suits the whole curve."""

PROBES = 400
"""Places of the whole curve at which a pitch is tried."""

ROOM_RAD = 1.0 * DEG
"""A pitch is taken at first only if it leaves the joints this much room."""


def pieces_of(curve: CurveOfFile, here: Here) -> list[Path]:
    """The paths of a curve in the order in which they are gone.

    Raises:
        ConfigError: a piece has no length, or stands still.
    """
    found: list[Path] = []
    for piece in curve.pieces:
        if len(curve.pieces) > 1 and _is_a_point(piece):
            continue
        try:
            found.append(CurvePath(piece))
        except HilError as error:
            wrong = error if isinstance(error, CommandError) else CommandError(str(error))
            raise here.wrong("file" if curve.step.file else "curve", wrong, curve.title) from None
    return [Reversed(path) for path in reversed(found)] if curve.step.backwards else found


def _is_a_point(piece: Curve) -> bool:
    """What rounding has left between two strokes."""
    points = piece.points_m(np.linspace(*piece.domain, 5))
    return float(np.linalg.norm(points - points[0], axis=1).max()) < LEAST_LENGTH_M


def approach_of(here: Here, step: CurveStep, pieces: Sequence[Path]) -> Move:
    """The joint move to the start of a curve, the hand as the step wants it there."""
    first = pieces[0].points_m(np.zeros(1))[0]
    x, y, z = (first / MM).tolist()
    goal: dict[str, Any] = {
        "to_mm": (x, y, z),
        "label": "to the start of the curve",
        "speed_percent": step.speed_percent,
    }
    robot = here.robot
    if step.abc_deg is not None:
        goal |= {"abc_deg": step.abc_deg, "convention": step.convention}
    elif step.orientation not in (None, "keep"):
        goal |= _as_the_policy_begins(here, step, pieces[0], first)
    elif robot.has_pitch_and_roll:
        pitch = step.pitch_deg * DEG if step.pitch_deg is not None else _suiting_pitch(here, step, pieces)
        goal |= {"pitch_deg": None if pitch is None else pitch / DEG, "roll_deg": step.roll_deg}
    else:
        goal |= {"pitch_deg": step.pitch_deg, "roll_deg": step.roll_deg}
    return Move(do="move", **goal)


def wish_along(here: Here, step: CurveStep, path: Path) -> PathWish:
    """One piece, the hand as it was brought to the start or as its policy says."""
    kept = msgspec.structs.replace(step, pitch_deg=None, roll_deg=None, abc_deg=None, convention=None)
    return wish_on(here, path, kept if here.robot.has_pitch_and_roll or step.abc_deg else step, "curve")


def _as_the_policy_begins(here: Here, step: CurveStep, path: Path, first_m: FloatArray) -> dict[str, Any]:
    policy: Any = step.orientation
    if here.robot.has_pitch_and_roll:
        now = here.robot.tool_target(here.joints.tolist())
        hand = PitchedAxis(path, policy, here.robot.link_frames(here.joints)[0], now.roll_rad, now.pitch_rad)
        return {"pitch_deg": math.remainder(hand.start_pitch_rad, 2.0 * math.pi) / DEG, "roll_deg": step.roll_deg}
    pose = here.pose.copy()
    pose[:3, :3], pose[:3, 3] = ToolAxis(path, policy, pose[:3, :3]).start, first_m
    found = pose_to_xyzabc(pose)
    return {"abc_deg": (found.a_deg, found.b_deg, found.c_deg), "convention": Convention.RPY_XYZ_FIXED}


def _suiting_pitch(here: Here, step: CurveStep, pieces: Sequence[Path]) -> float | None:
    """The pitch nearest to the present one with which the arm reaches all of a curve; None if there is none."""
    robot, joints = here.robot, here.joints.tolist()
    now = robot.tool_target(joints)
    roll = now.roll_rad if step.roll_deg is None else step.roll_deg * DEG
    lengths = [path.length_m for path in pieces]
    counts = [max(3, math.ceil(PROBES * length / sum(lengths))) for length in lengths]
    points = np.concatenate(
        [path.points_m(np.linspace(0.0, path.length_m, n)) for path, n in zip(pieces, counts, strict=True)]
    )
    axes = here.rig.axes[: robot.dof]
    low = np.array([axis.lower + axis.soft_margin for axis in axes])
    high = np.array([axis.upper - axis.soft_margin for axis in axes])
    for room in (ROOM_RAD, 0.0):
        for pitch in _pitches(now.pitch_rad):
            start = robot.inverse_kinematics_target(points[0].tolist(), pitch, roll, joints)
            seeds = [each.q for each in start.solutions if (np.array(each.q) >= low).all() and (each.q <= high).all()]
            targets = Targets(points, np.full(len(points), pitch), None if roll is None else np.full(len(points), roll))
            for seed in seeds:
                rows = robot.inverse_kinematics_along(targets, seed).rows
                if len(rows) == len(points) and (rows >= low + room).all() and (rows <= high - room).all():
                    return pitch
    return None


def _pitches(present_rad: float) -> Iterator[float]:
    yield present_rad
    for k in range(1, math.ceil(math.pi / PITCH_STEP_RAD)):
        yield math.remainder(present_rad + k * PITCH_STEP_RAD, 2.0 * math.pi)
        yield math.remainder(present_rad - k * PITCH_STEP_RAD, 2.0 * math.pi)

"""A curve step: where the arm goes first, and the smooth pieces that follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from hil.errors import ConfigError, HilError
from hil.kinematics.poses import Convention, pose_to_xyzabc
from hil.link import FloatArray
from hil.motion.curve_pitch import suiting_pitch
from hil.motion.path_steps import CurveStep
from hil.motion.path_tasks import Here, wish_on
from hil.motion.path_wish import PathWish
from hil.motion.step_files import CurveOfFile
from hil.motion.tasks import Move
from hil.paths.curve import Curve
from hil.paths.orientation import PitchedAxis, ToolAxis
from hil.paths.path import LEAST_LENGTH_M, CurvePath, Path, Reversed
from hil.units import DEG, MM

WHOLE = "a curve that has a place and a direction all along"


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
            path = CurvePath(piece)
            path.points_m(np.array([0.0, path.length_m]))
            found.append(path)
        except HilError as error:
            key = f"{here.key}.{'file' if curve.step.file else 'curve'}"
            raise ConfigError(here.file, key, curve.step.file or curve.title, f"{WHOLE}: {error}") from None
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
        pitch = step.pitch_deg * DEG if step.pitch_deg is not None else suiting_pitch(here, step, pieces)
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

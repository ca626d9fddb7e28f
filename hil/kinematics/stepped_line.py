"""Straight lines by small steps of the inverse Jacobian, as the Virtual Robot Module for RoboAnalyzer goes them.

The paper ("Virtual Robot Simulation in RoboAnalyzer") moves by d(theta) = J^-1 [L d(phi); dp] (eqs. 1 and 2), N times,
without looking back: its Table II shows the errors, which fall as 1/N. The same steps with feedback stay on the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.chain import IDENTITY, Chain, Frame, append_row, compose, jacobian_columns, link_frames
from hil.kernels.scalar import FLOATS, FloatArray
from hil.kinematics.limits import wrap
from hil.kinematics.poses import (
    Convention,
    Matrix3,
    XyzAbc,
    angles_rz_ry_rx,
    pose_to_xyzabc,
    rotation_rz_ry_rx,
    rotation_vector,
    xyzabc_to_pose,
)
from hil.types import Record
from hil.units import DEG, MM

SINGULAR = 1e-9
"""Smallest singular value of the Jacobian, as a share of the largest, with which a step still means anything."""

HELD = 1e-10
"""Closed loop: what a via-point may lack, metres and radians."""

CORRECTIONS = 30

MOST_STEPS = 1_000_000
"""A minute or two; errors have fallen below a micrometre by then."""

MOST_CHANGE = 1e6
"""Of each part of a change, mm or degrees: beyond it steps leave the range of numbers."""


class SteppedLine(Record, frozen=True):
    """A line that was stepped.

    Attributes:
        q: N + 1 sets of joint coordinates, the start first; radians (metres where prismatic). Limits are not looked at.
        goal: start pose plus the whole change, in RPY_XYZ_FIXED, each angle in (-180, 180] deg.
        reached: where the last set stands.
        error_mm, error_deg: reached minus goal, per coordinate X Y Z and A B C (angles to the nearest turn).
    """

    q: tuple[tuple[float, ...], ...]
    goal: XyzAbc
    reached: XyzAbc
    error_mm: tuple[float, float, float]
    error_deg: tuple[float, float, float]


def step_line(
    chain: Chain,
    start: npt.ArrayLike,
    change: npt.ArrayLike,
    steps: int,
    *,
    closed_loop: bool = False,
    digits: int | None = None,
) -> SteppedLine:
    """Go straight in X Y Z and in A B C at once, by `steps` equal steps.

    Each step solves J d(theta) = [dp; L (dA, dB, dC)] with J (eq. 11) and L (eq. 12, see `turning_rates`) of where
    the steps so far have led. Open loop, nothing else is done: the error falls as 1/N. Closed loop, each via-point is
    also corrected by J^-1 times what it still lacks until it is met.

    Args:
        chain: the arm, six axes or more (with more, the shortest joint step is taken).
        start: joint coordinates, shape (n,).
        change: dX, dY, dZ in millimetres, dA, dB, dC in degrees; A B C are roll, pitch, yaw: Rz(C) Ry(B) Rx(A).
        steps: number of via-points N, the goal included; 1 to `MOST_STEPS`.
        closed_loop: correct the error at each via-point.
        digits: round every single link matrix (in millimetres) to so many decimals before use, in the steps and in
            the read-out, as the program did that printed the paper's Table II with 4. Open loop only.

    Raises:
        CommandError: fewer than six axes, a change that is not six finite numbers, no steps, negative digits or digits
            in a closed loop; or a step at which the arm is singular or which cannot be held.
    """
    q, amounts = _checked(chain, start, change, steps, closed_loop, digits)
    begun = np.array(_read_out(_frames(chain, q.tolist(), digits)[-1]))
    share = amounts / steps
    path = [tuple(q.tolist())]
    for k in range(1, steps + 1):
        frames = _frames(chain, q.tolist(), digits)
        _, b_rad, c_rad = _read_out(frames[-1])[3:]
        motion = np.concatenate([share[:3], turning_rates(b_rad, c_rad) @ share[3:]])
        q = q + _joint_step(chain, frames, motion, k, steps)
        if closed_loop:
            q = _held(chain, q, begun + k * share, k, steps)
        path.append(tuple(q.tolist()))
    return _result(path, begun + amounts, np.array(_read_out(_frames(chain, q.tolist(), digits)[-1])))


def step_line_to(
    chain: Chain,
    start: npt.ArrayLike,
    goal: XyzAbc,
    steps: int,
    *,
    closed_loop: bool = False,
    digits: int | None = None,
) -> SteppedLine:
    """The same line, given by where it ends.

    Args:
        chain: see `step_line`.
        start: see `step_line`.
        goal: pose in any convention; A, B and C each go the shorter way round.
        steps: see `step_line`.
        closed_loop: see `step_line`.
        digits: see `step_line`.

    Raises:
        CommandError: see `step_line`; or a goal that is no pose.
    """
    pose = xyzabc_to_pose(goal)
    if goal.convention is not Convention.RPY_XYZ_FIXED:
        goal = pose_to_xyzabc(pose)
    q, _ = _checked(chain, start, (0.0,) * 6, steps, closed_loop, digits)
    x, y, z, *angles = _read_out(_frames(chain, q.tolist(), digits)[-1])
    wanted = (goal.a_deg, goal.b_deg, goal.c_deg)
    turns = [math.remainder(a - b / DEG, 360.0) for a, b in zip(wanted, angles, strict=True)]
    change = (goal.x_mm - x / MM, goal.y_mm - y / MM, goal.z_mm - z / MM, *turns)
    return step_line(chain, q, change, steps, closed_loop=closed_loop, digits=digits)


def turning_rates(b_rad: float, c_rad: float) -> FloatArray:
    """L, shape (3, 3): angular velocity in the base frame from the rates of A, B and C at pitch B and yaw C.

    Eq. 12 of the paper, for the order (A, B, C) = (psi, theta, phi); its print has psi where phi belongs.
    """
    cb, sb, cc, sc = math.cos(b_rad), math.sin(b_rad), math.cos(c_rad), math.sin(c_rad)
    return np.array([[cc * cb, -sc, 0.0], [sc * cb, cc, 0.0], [-sb, 0.0, 1.0]])


def _checked(
    chain: Chain, start: npt.ArrayLike, change: npt.ArrayLike, steps: int, closed_loop: bool, digits: int | None
) -> tuple[FloatArray, FloatArray]:
    """The start, and the change in metres and radians."""
    if len(chain.rows) < 6:
        raise CommandError(
            f"a straight line in X Y Z A B C needs six axes, this arm has {len(chain.rows)}",
            value=len(chain.rows),
            allowed="six axes or more",
        )
    axes = len(chain.rows)
    q = _numbers(start, axes, f"the start has to be {axes} finite joint coordinates", f"{axes} finite numbers")
    by = _numbers(change, 6, "a change has to be six finite numbers dX dY dZ dA dB dC", "six finite numbers")
    if np.abs(by).max() > MOST_CHANGE:
        allowed = f"up to {MOST_CHANGE:g} mm and degrees"
        raise CommandError(f"a change of {np.abs(by).max():g}; allowed: {allowed}", value=by.tolist(), allowed=allowed)
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or not 1 <= steps <= MOST_STEPS:
        raise CommandError(
            f"a line needs a whole number of steps, at least one; {steps} was given; allowed: 1 to {MOST_STEPS}",
            value=steps,
            allowed=f"1 to {MOST_STEPS}",
        )
    if digits is not None and (digits < 0 or closed_loop):
        raise CommandError(
            "rounding shows what the open loop of the paper does: it takes digits of 0 or more, and no feedback",
            value=digits,
            allowed="0 or more, open loop",
        )
    return q, np.concatenate([by[:3] * MM, by[3:] * DEG])


def _numbers(given: npt.ArrayLike, count: int, wanted: str, allowed: str) -> FloatArray:
    """So many finite numbers, as a list, a tuple or an array of them."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        shown = given.tolist() if isinstance(given, np.ndarray) else given
        raise CommandError(f"{wanted}, {shown!r} was given", value=given, allowed=allowed)
    return values


def _frames(chain: Chain, q: Sequence[float], digits: int | None) -> list[Frame]:
    """Link frames, of link matrices as they are or rounded."""
    if digits is None:
        return link_frames(chain, q, FLOATS)
    frames = [chain.base]
    for row, value in zip(chain.rows, q, strict=True):
        link = append_row(IDENTITY, row, value, FLOATS)
        rounded = (*(round(v, digits) for v in link[:9]), *(round(v / MM, digits) * MM for v in link[9:]))
        frames.append(compose(frames[-1], rounded))
    frames.append(frames[-1] if chain.tool is None else compose(frames[-1], chain.tool))
    return frames


def _rotation(frame: Frame) -> Matrix3:
    """Rows of a frame's rotation."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2 = frame[:9]
    return ((x0, y0, z0), (x1, y1, z1), (x2, y2, z2))


def _read_out(frame: Frame) -> tuple[float, float, float, float, float, float]:
    """X Y Z in metres, A B C in radians."""
    c, b, a, _ = angles_rz_ry_rx(_rotation(frame))
    return frame[9], frame[10], frame[11], a, b, c


def _joint_step(chain: Chain, frames: Sequence[Frame], motion: FloatArray, step: int, steps: int) -> FloatArray:
    """J^-1 times a small motion (linear, then angular); exactly nothing for none."""
    if not motion.any():
        return np.zeros(len(chain.rows))
    jacobian: FloatArray = np.array(jacobian_columns(chain, frames)).T
    left, values, right = np.linalg.svd(jacobian, full_matrices=False)
    if values[-1] <= SINGULAR * values[0]:
        raise CommandError(
            f"step {step} of {steps}: the arm is singular there and cannot go every way; start elsewhere, or move "
            "joint by joint",
            value=step,
            allowed="a line clear of singular poses",
        )
    result: FloatArray = ((motion @ left) / values) @ right
    return result


def _held(chain: Chain, q: FloatArray, via: FloatArray, step: int, steps: int) -> FloatArray:
    """Corrected joint coordinates that meet a via-point (X Y Z in metres, A B C in radians)."""
    a_rad, b_rad, c_rad = via[3:].tolist()
    wanted = np.array(rotation_rz_ry_rx(c_rad, b_rad, a_rad))
    for _ in range(CORRECTIONS):
        frames = link_frames(chain, q.tolist(), FLOATS)
        turn = rotation_vector((wanted @ np.array(_rotation(frames[-1])).T).tolist())
        lacking = np.concatenate([via[:3] - np.array(frames[-1][9:]), np.array(turn)])
        if np.abs(lacking).max() <= HELD:
            return q
        q = q + _joint_step(chain, frames, lacking, step, steps)
    distance, angle = np.linalg.norm(lacking[:3]) / MM, np.linalg.norm(lacking[3:]) / DEG
    raise CommandError(
        f"step {step} of {steps}: {CORRECTIONS} corrections leave {distance:.3g} mm and {angle:.3g} deg; take more "
        "steps, or a line that stays within reach",
        value=step,
        allowed="a line within reach",
    )


def _result(path: Sequence[tuple[float, ...]], goal: FloatArray, reached: FloatArray) -> SteppedLine:
    dx, dy, dz, da, db, dc = (reached - goal).tolist()
    return SteppedLine(
        q=tuple(path),
        goal=_shown(goal),
        reached=_shown(reached),
        error_mm=(dx / MM, dy / MM, dz / MM),
        error_deg=(wrap(da) / DEG, wrap(db) / DEG, wrap(dc) / DEG),
    )


def _shown(values: FloatArray) -> XyzAbc:
    x, y, z, a, b, c = values.tolist()
    return XyzAbc(x_mm=x / MM, y_mm=y / MM, z_mm=z / MM, a_deg=wrap(a) / DEG, b_deg=wrap(b) / DEG, c_deg=wrap(c) / DEG)

"""Forward kinematics, link frames and geometric Jacobian of any DH chain, over any scalar.

A frame is a flat tuple of twelve scalars, column by column: x axis, y axis, z axis, origin. Appending a DH
row turns the columns in place, so no product with the zeros of a 4x4 matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.scalar import Functions, Scalar
from hil.model.robot import JointType, RobotModel
from hil.model.transforms import cos_sin

Frame: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Column: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

IDENTITY: Frame = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class Row(NamedTuple):
    """The constants of one DH row; `sign` and the offset of the moving part belong to q."""

    revolute: bool
    theta: float
    d: float
    a: float
    sign: float
    cos_theta: float
    sin_theta: float
    cos_alpha: float
    sin_alpha: float


class Chain(NamedTuple):
    """A robot's constants, worked out once. `tool` is None where it is the identity."""

    rows: tuple[Row, ...]
    base: Frame
    tool: Frame | None


def chain_of(model: RobotModel) -> Chain:
    """Constants of `model`."""
    rows = []
    for joint in model.joints:
        cos_theta, sin_theta = cos_sin(joint.theta_rad)
        cos_alpha, sin_alpha = cos_sin(joint.alpha_rad)
        rows.append(
            Row(
                revolute=joint.type is JointType.REVOLUTE,
                theta=joint.theta_rad,
                d=joint.d_m,
                a=joint.a_m,
                sign=float(joint.sign),
                cos_theta=cos_theta,
                sin_theta=sin_theta,
                cos_alpha=cos_alpha,
                sin_alpha=sin_alpha,
            )
        )
    tool = frame_of_rows(model.tool)
    return Chain(tuple(rows), frame_of_rows(model.base), None if tool == IDENTITY else tool)


def frame_of_rows(rows: Sequence[Sequence[float]]) -> Frame:
    """The frame of a 4x4 transform given as rows."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z) = rows[0], rows[1], rows[2]
    return (a, d, g, b, e, h, c, f, i, x, y, z)


def forward(chain: Chain, q: Iterable[Scalar], functions: Functions) -> Frame:
    """Tool frame in the world, for joint coordinates `q` (n scalars, radians or metres)."""
    frame = chain.base
    for row, value in zip(chain.rows, q, strict=True):
        frame = append_row(frame, row, value, functions)
    return frame if chain.tool is None else compose(frame, chain.tool)


def link_frames(chain: Chain, q: Iterable[Scalar], functions: Functions) -> list[Frame]:
    """N + 2 frames in the world: base, then DH frames 1 to n, then the tool."""
    frames = [chain.base]
    for row, value in zip(chain.rows, q, strict=True):
        frames.append(append_row(frames[-1], row, value, functions))
    frames.append(frames[-1] if chain.tool is None else compose(frames[-1], chain.tool))
    return frames


def forward_and_jacobian(chain: Chain, q: Iterable[Scalar], functions: Functions) -> tuple[Frame, list[Column]]:
    """Tool frame, and n Jacobian columns: linear, then angular velocity of the tool per unit of qd."""
    frames = link_frames(chain, q, functions)
    return frames[-1], jacobian_columns(chain, frames)


def jacobian_columns(chain: Chain, frames: Sequence[Frame]) -> list[Column]:
    """N Jacobian columns for link frames that are there already."""
    tip_x, tip_y, tip_z = frames[-1][9:]
    columns: list[Column] = []
    for row, frame in zip(chain.rows, frames, strict=False):
        # Joint i turns about, or slides along, the z axis of frame i - 1.
        axis_x, axis_y, axis_z = frame[6], frame[7], frame[8]
        if row.sign < 0:
            axis_x, axis_y, axis_z = -axis_x, -axis_y, -axis_z
        if row.revolute:
            arm_x, arm_y, arm_z = tip_x - frame[9], tip_y - frame[10], tip_z - frame[11]
            columns.append(
                (
                    axis_y * arm_z - axis_z * arm_y,
                    axis_z * arm_x - axis_x * arm_z,
                    axis_x * arm_y - axis_y * arm_x,
                    axis_x,
                    axis_y,
                    axis_z,
                )
            )
        else:
            columns.append((axis_x, axis_y, axis_z, 0.0, 0.0, 0.0))
    return columns


def append_row(frame: Frame, row: Row, q: Scalar, functions: Functions) -> Frame:
    """`frame` times Rz(theta) Tz(d) Tx(a) Rx(alpha), for the constants of `row` and the coordinate `q`."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2 = frame
    if row.revolute:
        angle = row.theta + row.sign * q
        c, s = functions.cos(angle), functions.sin(angle)
        x0, y0 = c * x0 + s * y0, c * y0 - s * x0
        x1, y1 = c * x1 + s * y1, c * y1 - s * x1
        x2, y2 = c * x2 + s * y2, c * y2 - s * x2
        if row.d != 0.0:
            p0, p1, p2 = p0 + row.d * z0, p1 + row.d * z1, p2 + row.d * z2
    else:
        c, s = row.cos_theta, row.sin_theta
        if s != 0.0 or c < 0.0:
            x0, y0 = c * x0 + s * y0, c * y0 - s * x0
            x1, y1 = c * x1 + s * y1, c * y1 - s * x1
            x2, y2 = c * x2 + s * y2, c * y2 - s * x2
        d = row.d + row.sign * q
        p0, p1, p2 = p0 + d * z0, p1 + d * z1, p2 + d * z2
    if row.a != 0.0:
        p0, p1, p2 = p0 + row.a * x0, p1 + row.a * x1, p2 + row.a * x2
    c, s = row.cos_alpha, row.sin_alpha
    if s == 0.0:
        if c < 0.0:
            y0, y1, y2, z0, z1, z2 = -y0, -y1, -y2, -z0, -z1, -z2
    elif c == 0.0:
        if s > 0.0:
            y0, y1, y2, z0, z1, z2 = z0, z1, z2, -y0, -y1, -y2
        else:
            y0, y1, y2, z0, z1, z2 = -z0, -z1, -z2, y0, y1, y2
    else:
        y0, z0 = c * y0 + s * z0, c * z0 - s * y0
        y1, z1 = c * y1 + s * z1, c * z1 - s * y1
        y2, z2 = c * y2 + s * z2, c * z2 - s * y2
    return (x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2)


def compose(left: Frame, right: Frame) -> Frame:
    """Product of two transforms."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2 = left
    a, d, g, b, e, h, c, f, i, u, v, w = right
    return (
        x0 * a + y0 * d + z0 * g,
        x1 * a + y1 * d + z1 * g,
        x2 * a + y2 * d + z2 * g,
        x0 * b + y0 * e + z0 * h,
        x1 * b + y1 * e + z1 * h,
        x2 * b + y2 * e + z2 * h,
        x0 * c + y0 * f + z0 * i,
        x1 * c + y1 * f + z1 * i,
        x2 * c + y2 * f + z2 * i,
        x0 * u + y0 * v + z0 * w + p0,
        x1 * u + y1 * v + z1 * w + p1,
        x2 * u + y2 * v + z2 * w + p2,
    )


def invert(frame: Frame) -> Frame:
    """Inverse of a rigid transform."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2 = frame
    return (
        x0,
        y0,
        z0,
        x1,
        y1,
        z1,
        x2,
        y2,
        z2,
        -(x0 * p0 + x1 * p1 + x2 * p2),
        -(y0 * p0 + y1 * p1 + y2 * p2),
        -(z0 * p0 + z1 * p1 + z2 * p2),
    )

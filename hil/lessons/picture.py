"""What a lesson draws at one moment: arms, frames, lines, points and clouds, with colours by their roles.

A colour is a role (`simulated`, `commanded`, `previewed`, `trace`, `accent`, `good`, `warn`, `bad`, `faint`, `text`), a
curve's (`curve 0` and on, which come round), an axis's (`axis 0` to `axis 2`), or ``#rrggbb``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hil.kernels.scalar import FloatArray
from hil.model.link_shapes import LinkMesh
from hil.model.robot import RobotModel


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm in one pose.

    Attributes:
        model: whose body it is; the same object as long as it is the same body.
        frames: base, links and tool in the world, shape (dof + 2, 4, 4).
        opacity: from 0, not seen, to 1, solid.
        parts: bodies of links that have others than the table gives them; the same objects for the same bodies.
    """

    model: RobotModel
    frames: FloatArray
    colour: str = "simulated"
    opacity: float = 1.0
    parts: tuple[LinkMesh, ...] = ()


@dataclass(frozen=True, eq=False)
class Frame:
    """Axes at a place.

    Attributes:
        pose: shape (4, 4), metres.
        label: digits that are written at the origin, or ``xyz`` for letters at the axes, or nothing.
        scale: of its axes; 1 is the usual length.
    """

    pose: FloatArray
    label: str = ""
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines of one colour: ends (S, 2, 3), metres."""

    ends: FloatArray
    colour: str = "accent"
    width: float = 2.0
    on_top: bool = False


@dataclass(frozen=True, eq=False)
class Points:
    """Dots: (N, 3), metres; a few, or a cloud of many.

    Attributes:
        places: shape (N, 3).
        colours: of all, or one a point as shares of red, green and blue, shape (N, 3).
        size_px: of a dot.
        even: every beginning of them is spread over all, so that a view draws a part while it is turned.
    """

    places: npt.NDArray[np.float32] | FloatArray
    colours: str | npt.NDArray[np.float32] = "accent"
    size_px: float = 4.0
    even: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """All that is seen at one moment.

    Attributes:
        size_m: about how large it is, for the camera, the floor's lines and the frames.
    """

    arms: tuple[Arm, ...] = ()
    frames: tuple[Frame, ...] = ()
    lines: tuple[Lines, ...] = ()
    points: tuple[Points, ...] = ()
    size_m: float = 0.5
    floor: bool = True


def way_lines(points_m: FloatArray) -> FloatArray:
    """A way through points (N, 3) as lines (N - 1, 2, 3)."""
    lines: FloatArray = np.stack([points_m[:-1], points_m[1:]], axis=1)
    return lines

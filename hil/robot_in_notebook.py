"""What a notebook shows of an arm: its table of DH values, and its links in the pose of its file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hil.figures import notebook
from hil.kernels.scalar import FloatArray
from hil.model.robot import JointType, RobotModel
from hil.units import DEG, MM

COLUMNS = ("joint", "", "d, mm", "theta, deg", "a, mm", "alpha, deg", "limits")


def robot_html(model: RobotModel, link_frames: Callable[[Sequence[float]], FloatArray]) -> str:
    """The page of an arm.

    Args:
        model: whose numbers are shown.
        link_frames: all frames of a configuration, as `Robot.link_frames` gives them.
    """
    home = model.home or (0.0,) * model.dof
    points_mm = link_frames(home)[:, :3, 3] / MM
    where = "home pose of its file" if model.home else "all joints at 0"
    rows = [
        [
            joint.name,
            joint.type.value,
            f"{joint.d_m / MM:g}",
            f"{joint.theta_rad / DEG:g}",
            f"{joint.a_m / MM:g}",
            f"{joint.alpha_rad / DEG:g}",
            _limits(joint.lower, joint.upper, DEG if joint.type is JointType.REVOLUTE else MM),
        ]
        for joint in model.joints
    ]
    return notebook.page(
        notebook.heading(f"{model.id}: {model.title}"),
        notebook.table(COLUMNS, rows),
        notebook.line(f"Source: {model.source}"),
        notebook.views(f"{model.id}, {where}", points_mm, links=True),
    )


def _limits(lower: float | None, upper: float | None, unit: float) -> str:
    if lower is None or upper is None or not (math.isfinite(lower) and math.isfinite(upper)):
        return "not given"
    return f"{lower / unit:g} .. {upper / unit:g}"

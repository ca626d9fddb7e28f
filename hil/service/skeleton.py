"""An arm's links for a display that draws it from the positions of its axes."""

from __future__ import annotations

import numpy as np

from hil.kernels.chain import frame_of_rows
from hil.model.finger_shapes import FINGERS_APART, finger
from hil.model.link_shapes import LinkMesh, arm_length_m, floor_m, link_meshes
from hil.model.rig import AxisKind, Rig
from hil.service.wire import LinkRow, Skeleton, SolidPart


def skeleton(arm: str, rig: Rig) -> Skeleton:
    """The links of a rig's robot.

    Args:
        arm: its name in the lab.
        rig: what it is.
    """
    model = rig.robot
    rows = tuple(
        LinkRow(
            revolute=joint.type.value == "revolute",
            theta=joint.theta_rad,
            d=joint.d_m,
            a=joint.a_m,
            alpha=joint.alpha_rad,
            sign=float(joint.sign),
        )
        for joint in model.joints
    )
    base, tool = frame_of_rows(model.base), frame_of_rows(model.tool)
    sliding_m = sum(max(abs(axis.lower), abs(axis.upper)) for axis, row in zip(rig.axes, rows, strict=False)
                    if not row.revolute)  # fmt: skip
    lengths_m = sum(abs(row.d) + abs(row.a) for row in rows) + sum(abs(value) for value in tool[9:])
    solids, size_m = [_solid(mesh) for mesh in link_meshes(model)], arm_length_m(model)
    if any(axis.kind is AxisKind.GRIPPER for axis in rig.axes):
        solids += [_solid(finger(model.dof + 1, size_m, side), side) for side in (1, -1)]
    return Skeleton(
        arm=arm,
        base=base,
        rows=rows,
        tool=tool,
        table_m=floor_m(rig.robot, rig.fences.table_height_m),
        reach_m=max(0.1, lengths_m + sliding_m),
        solids=tuple(solids),
        finger_apart_m=FINGERS_APART * size_m,
    )


def _solid(mesh: LinkMesh, side: int = 0) -> SolidPart:
    return SolidPart(
        link=mesh.link,
        vertices=np.asarray(mesh.vertices, dtype="<f4").tobytes(),
        faces=np.asarray(mesh.faces, dtype="<u2").tobytes(),
        side=side,
    )

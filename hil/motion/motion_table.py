"""A planned motion as a table, sample by sample: which step of the task is on, the joints, and where the tool is."""

from __future__ import annotations

import csv
import io

from hil.model.rig import AxisKind, Rig
from hil.motion.motion import Motion
from hil.robot import Robot
from hil.units import DEG, MM

TOOL = ("X", "Y", "Z")


def to_csv(rig: Rig, motion: Motion) -> str:
    """The samples of a task: seconds, degrees, millimetres.

    ``line`` is the number of the step that is on, from 1, and ``statement`` what it does; at the sample that two steps
    share it is the second one.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time_s", "line", "statement", *motion.axes, *TOOL])
    robot = Robot(rig.robot)
    # The gripper, if there is one, comes after the joints.
    tool_mm = robot.forward_kinematics(motion.samples[:, : len(rig.robot.joints)])[:, :3, 3] / MM
    units = [DEG if axis.kind is AxisKind.REVOLUTE else MM for axis in rig.axes]
    marks = iter(motion.marks)
    mark = next(marks, None)
    for k, (row, tool) in enumerate(zip(motion.samples, tool_mm, strict=True)):
        while mark is not None and k >= mark.last and (later := next(marks, None)) is not None:
            mark = later
        number, words = (0, "") if mark is None else (mark.step, " ".join(filter(None, (mark.kind, mark.label))))
        numbers = [value / unit for value, unit in zip(row.tolist(), units, strict=True)]
        values = [f"{value:z.4f}" for value in (*numbers, *tool.tolist())]
        writer.writerow([f"{k * motion.period_s:.4f}", number, words, *values])
    return text.getvalue()

"""EAIK: all inverse solutions of the PUMA 560 and of the RV-2AJ, one hot call and a batch on one thread."""

from __future__ import annotations

from importlib import metadata

import numpy as np
from _measure import job, per_call, tell, wall
from eaik.IK_DH import DhRobot

data = job()
seconds, worst = {}, {}
for arm in ("puma", "rv2aj"):
    table = data[f"{arm}_dh"]
    robot = DhRobot(table[:, 3], table[:, 2], table[:, 1])
    # EAIK counts from DH angles of zero: other coordinates of the same poses.
    poses = data[f"{arm}_poses"]
    found = robot.IK(poses[0])
    answers = np.array(found.Q)
    errors = [np.abs(robot.fwdKin(q) - poses[0]).max() for q in answers]
    worst[f"{arm} best answer"] = float(min(errors))
    seconds[f"ik_all_{arm}"] = per_call(lambda robot=robot, pose=poses[0]: robot.IK(pose))
    listed = list(poses)
    seconds[f"ik_batch_{arm}"] = wall(lambda robot=robot, listed=listed: robot.IK_batched(listed, 1))
tell(version=metadata.version("eaik"), worst=worst, seconds=seconds)

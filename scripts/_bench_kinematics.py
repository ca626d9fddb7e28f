"""Kinematics of the Lynx6 beside the plainest peer: a chain of 4x4 matrices in numpy, as in a textbook."""

from __future__ import annotations

from math import cos, sin

import numpy as np
from _bench_common import Effort, Numbers, interleaved, percentiles, repeated, show, verdict

from hil.robot import Robot, load_robot

BATCH = (1_000_000, 100_000, 1_000)
ROUNDS = (15, 5, 1)
BATCH_ROUNDS = (3, 3, 1)
CALLS = 500
SEED = 1


def run(effort: Effort) -> bool:
    """True if everything agrees with the peer and is no slower."""
    robot = load_robot("lynx6")
    q = np.random.default_rng(SEED).uniform(-1.5, 1.5, (effort.of(*BATCH), robot.dof))
    poses = robot.forward_kinematics(q[:CALLS])
    agree = verdict(
        bool(np.allclose(poses, _plain_many(robot, q[:CALLS]), atol=1e-12))
        and bool(np.allclose(poses[0], _plain(robot, q[0]), atol=1e-12)),
        "forward kinematics agrees with the peer to 1e-12",
    )
    one, pose = q[0], poses[0]
    branches = len(robot.inverse_kinematics_all(pose))
    single = interleaved(
        {
            "plain numpy: forward": repeated(lambda: _plain(robot, one), CALLS),
            "forward kinematics": repeated(lambda: robot.forward_kinematics(one), CALLS),
            "jacobian": repeated(lambda: robot.jacobian(one), CALLS),
            f"inverse, all {branches} branches": repeated(lambda: robot.inverse_kinematics_all(pose), CALLS),
            "inverse, sorted, limits judged": repeated(lambda: robot.inverse_kinematics(pose), CALLS),
        },
        effort.of(*ROUNDS),
    )
    single_ratio = _table("one call, us", {name: times / CALLS for name, times in single.items()}, 1e6)
    out = np.empty((len(q), 4, 4))
    batch = interleaved(
        {
            "plain numpy: forward": lambda: _plain_many(robot, q),
            "forward kinematics": lambda: robot.forward_kinematics(q, out),
        },
        effort.of(*BATCH_ROUNDS),
    )
    batch_ratio = _table(f"{len(q)} configurations, ms", batch, 1e3)
    faster = verdict(max(single_ratio, batch_ratio) <= 1.0, "forward kinematics is no slower than the peer")
    return agree and faster


def _table(title: str, times: dict[str, Numbers], scale: float) -> float:
    """Show the times beside the peer's; the ratio of forward kinematics to it."""
    peer = times["plain numpy: forward"]
    ratios = {name: float(np.median(each / peer)) for name, each in times.items()}
    rows = [[name, *percentiles(each, scale, 10, 50, 90), f"{ratios[name]:.3g}"] for name, each in times.items()]
    show(title, ["", "p10", "p50", "p90", "ratio to the peer"], rows)
    return ratios["forward kinematics"]


def _plain(robot: Robot, q: Numbers) -> Numbers:
    pose = np.array(robot.model.base)
    for joint, value in zip(robot.model.joints, q, strict=True):
        theta, alpha = joint.theta_rad + joint.sign * value, joint.alpha_rad
        c, s, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
        pose = pose @ np.array(
            [
                [c, -s * ca, s * sa, joint.a_m * c],
                [s, c * ca, -c * sa, joint.a_m * s],
                [0.0, sa, ca, joint.d_m],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    tool: Numbers = pose @ np.array(robot.model.tool)
    return tool


def _plain_many(robot: Robot, q: Numbers) -> Numbers:
    poses = np.broadcast_to(np.array(robot.model.base), (len(q), 4, 4))
    for joint, values in zip(robot.model.joints, q.T, strict=True):
        theta, alpha = joint.theta_rad + joint.sign * values, joint.alpha_rad
        c, s, ca, sa = np.cos(theta), np.sin(theta), cos(alpha), sin(alpha)
        row = np.zeros((len(q), 4, 4))
        row[:, 0, 0], row[:, 0, 1], row[:, 0, 2], row[:, 0, 3] = c, -s * ca, s * sa, joint.a_m * c
        row[:, 1, 0], row[:, 1, 1], row[:, 1, 2], row[:, 1, 3] = s, c * ca, -c * sa, joint.a_m * s
        row[:, 2, 1], row[:, 2, 2], row[:, 2, 3], row[:, 3, 3] = sa, ca, joint.d_m, 1.0
        poses = poses @ row
    tools: Numbers = poses @ np.array(robot.model.tool)
    return tools

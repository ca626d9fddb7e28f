"""This project in the peers' cases, compiled where the extra [fast] is installed and not switched off."""

from __future__ import annotations

import time

import numpy as np
from _measure import each, job, once, per_call, tell, wall

import hil
from hil.kernels.build import fast_available
from hil.kernels.chain import chain_of
from hil.kinematics.workspace.cloud import cloud
from hil.kinematics.workspace.sweeps import Sweep

data = job()
fast = fast_available()
puma = hil.load_robot("puma560")
start = time.thread_time()
puma.forward_kinematics(data["puma_q"])
seconds = {"first_call": time.thread_time() - start}
robots = {"puma": puma} | {name: hil.load_robot(name) for name in ("rv2aj", "panda", "ur5")}
if fast:
    for robot in robots.values():
        robot.compile()
q, qd, qdd, tau = (data[name] for name in ("puma_q", "puma_qd", "puma_qdd", "puma_tau"))
pose, columns, six = np.empty((4, 4)), np.empty((6, 6)), np.empty(6)
many = data["puma_many"]
poses, jacobians = np.empty((len(many), 4, 4)), np.empty((len(many), 6, 6))

# Batches on one thread: one slice of a size that gets one.
rows = [slice(i, i + 100_000) for i in range(0, len(many), 100_000)]
seconds |= {
    "fk_new": per_call(lambda: puma.forward_kinematics(q)),
    "fk_out": per_call(lambda: puma.forward_kinematics(q, pose)),
    "jacobian_out": per_call(lambda: puma.jacobian(q, columns)),
    "fk_many": once(lambda: [puma.forward_kinematics(many[r], poses[r]) for r in rows]),
    "jacobian_many": once(lambda: [puma.jacobian(many[r], jacobians[r]) for r in rows]),
    "inverse_dynamics": per_call(lambda: puma.inverse_dynamics(q, qd, qdd, six)),
    "mass_matrix": per_call(lambda: puma.mass_matrix(q, columns)),
    "forward_dynamics": per_call(lambda: puma.forward_dynamics(q, qd, tau, six)),
}
worst = {
    "forward": float(np.abs(puma.forward_kinematics(q) - data["puma_pose"]).max()),
    "inverse dynamics": float(np.abs(puma.inverse_dynamics(q, qd, qdd) - tau).max()),
}
for arm in ("puma", "rv2aj"):
    robot, wanted = robots[arm], data[f"{arm}_poses"]
    seconds[f"ik_all_{arm}"] = per_call(lambda robot=robot, one=wanted[0]: robot.inverse_kinematics_all(one))
    # As many threads as EAIK gets: slices too small for a second one.
    parts = [wanted[i : i + 5_000] for i in range(0, len(wanted), 5_000)]
    seconds[f"ik_batch_{arm}"] = wall(lambda robot=robot, parts=parts: [robot.inverse_kinematics_all(p) for p in parts])
if fast:
    for name, robot in {"puma560": puma, "panda": robots["panda"], "ur5": robots["ur5"]}.items():
        wanted, seeds = data[f"{name}_numeric_poses"], data[f"{name}_numeric_seeds"]
        answers = [robot.inverse_kinematics_numeric(wanted[i], seeds[i], tolerance=1e-6) for i in range(len(wanted))]
        found = [answer.solutions[0].error < 1e-6 if answer.solutions else False for answer in answers]
        worst[f"{name} share right to 1e-6"] = float(np.mean(found))
        seconds[f"ik_numeric_{name}"] = each(
            lambda i, robot=robot, wanted=wanted, seeds=seeds: robot.inverse_kinematics_numeric(
                wanted[i], seeds[i], tolerance=1e-6
            ),
            len(wanted),
        )

four = hil.load_robot("lynx6-4axis")
sweeps = [
    Sweep(joint.name, True, low, high, (high - low) / (count - 1))
    for joint, (low, high, count) in zip(four.model.joints, data["four_grid"], strict=True)
]
chain = chain_of(four.model)


def through_the_cloud() -> int:
    """Every point, touched: the bounds of each block."""
    reached = 0
    for block in cloud(chain, sweeps).blocks():
        block.max(axis=0)
        reached += len(block)
    return reached


seconds["cloud"] = wall(through_the_cloud)
worst["cloud points"] = float(through_the_cloud())
tell(version=hil.__version__, worst=worst, seconds=seconds)

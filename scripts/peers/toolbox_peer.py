"""Robotics Toolbox for Python: batches, numeric inverse kinematics, and the cloud of a four-joint arm."""

from __future__ import annotations

import itertools

import numpy as np
import roboticstoolbox as rtb
from _measure import each, job, once, tell

data = job()


def chain_of(table: np.ndarray) -> rtb.ETS:
    """The elementary transforms of a standard DH table."""
    links = [rtb.RevoluteDH(d=d, a=a, alpha=alpha, offset=theta) for theta, d, a, alpha in table]
    return rtb.DHRobot(links).ets()


puma = chain_of(data["puma_dh"])
compiled = puma.compile()
many = data["puma_many"]
few = many[:20_000]
seconds = {
    "fk_many": once(lambda: compiled.eval(many), 1),
    "jacobian_many": once(lambda: [puma.jacob0(row) for row in few], 1) * len(many) / len(few),
}
worst = {
    "forward": float(np.abs(np.array(compiled.eval(data["puma_q"])) - data["puma_pose"]).max()),
    "jacobian": float(np.abs(puma.jacob0(data["puma_q"]) - data["puma_jacobian"]).max()),
}
for arm in ("puma560", "panda", "ur5"):
    chain = chain_of(data[f"{arm}_numeric_dh"])
    poses, seeds = data[f"{arm}_numeric_poses"], data[f"{arm}_numeric_seeds"]
    answers = [chain.ik_LM(poses[i], q0=seeds[i], tol=5e-14, joint_limits=False) for i in range(len(poses))]
    reached = np.array([np.array(chain.eval(answer[0])) for answer in answers])
    right = np.abs(reached - poses).max(axis=(1, 2)) < 1e-6
    worst[f"{arm} share right to 1e-6"] = float(right.mean())
    seconds[f"ik_numeric_{arm}"] = each(
        lambda i, chain=chain, poses=poses, seeds=seeds: chain.ik_LM(
            poses[i], q0=seeds[i], tol=5e-14, joint_limits=False
        ),
        len(poses),
    )
# The cloud is worked out for a part of the grid and scaled to all of it: the whole takes minutes.
four = chain_of(data["four_dh"]).compile()
axes = [np.linspace(low, high, int(count)) for low, high, count in data["four_grid"]]
part = np.array(list(itertools.islice(itertools.product(*axes), 400_000)))
seconds["cloud"] = once(lambda: four.eval(part), 1) * float(np.prod(data["four_grid"][:, 2])) / len(part)
tell(version=rtb.__version__, worst=worst, seconds=seconds)

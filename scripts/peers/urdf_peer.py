"""Pinocchio on URDF files: per line of the job, the tip, the weights and the mass matrix at each configuration.

A line in is one file; a line out, of the same number, is what came of it. Needs pinocchio and numpy alone.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pinocchio as pin

GRAVITY = np.array([0.0, 0.0, -9.81])


def worked_out(job: dict[str, Any]) -> dict[str, Any]:
    """All configurations of one file."""
    model = pin.buildModelFromUrdf(job["file"])
    model.gravity.linear = GRAVITY
    state = model.createData()
    joints = [model.joints[model.getJointId(name)] for name in job["joints"]]
    tip, columns = model.getFrameId(job["tip"], pin.FrameType.BODY), [joint.idx_v for joint in joints]
    results: dict[str, Any] = {"poses": [], "weights": [], "masses": []}
    for values in job["q"]:
        q = pin.neutral(model)
        for joint, value in zip(joints, values, strict=True):
            # A joint without end is kept as a point on the circle.
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (math.cos(value), math.sin(value))
        pin.framesForwardKinematics(model, state, q)
        results["poses"].append(state.oMf[tip].homogeneous.tolist())
        results["weights"].append(pin.computeGeneralizedGravity(model, state, q)[columns].tolist())
        half = np.triu(pin.crba(model, state, q))
        whole = half + np.triu(half, 1).T
        results["masses"].append(whole[np.ix_(columns, columns)].tolist())
    return results


print(json.dumps({"version": pin.__version__}), flush=True)
for line in sys.stdin:
    try:
        print(json.dumps(worked_out(json.loads(line))), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)

"""Other postures of an arm with the tool where it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.link import FloatArray
from hil.motion.path_steps import SolutionStep
from hil.motion.path_tasks import Here
from hil.motion.refusals import POSTURE, beyond_soft_limits, refused
from hil.motion.whole_turns import within_a_turn
from hil.refusal import Refusal


def posture_at(here: Here, step: SolutionStep) -> FloatArray:
    """Joints of the solution that a step names, the tool's pose being the present one.

    Solutions are those of `hil ik ROBOT ... --all`, in its order.

    Raises:
        RefusedError: there is no such posture here, or it is beyond a soft limit.
    """
    robot, now = here.robot, here.joints
    solutions = robot.inverse_kinematics(here.pose).solutions
    if step.number is not None:
        chosen = solutions[step.number - 1 : step.number]
    else:
        chosen = tuple(each for each in solutions if each.branch == step.posture)
    if not chosen:
        raise refused([_no_such(step, [each.branch for each in solutions])], here.spot)
    axes = here.rig.axes[: robot.dof]
    candidates = [q for each in chosen for q in (list(each.q), within_a_turn(axes, each.q))]
    inside = [q for q in candidates if not beyond_soft_limits(axes, q, "", start=now.tolist())]
    if not inside:
        raise refused(beyond_soft_limits(axes, candidates[-1], "in that posture", POSTURE), here.spot)
    nearest: FloatArray = min((np.array(q) for q in inside), key=lambda q: float(np.abs(q - now).max()))
    return nearest


def _no_such(step: SolutionStep, branches: Sequence[str]) -> Refusal:
    asked = f"posture {step.posture!r}" if step.number is None else f"solution {step.number}"
    found = "; ".join(f"{k} {branch}".strip() for k, branch in enumerate(branches, start=1))
    return Refusal(
        check="E-07",
        subject="tool",
        limit=f"reach: {asked} does not exist with the tool here",
        margin=-1.0,
        unit="pose",
        nearest_allowed=found or "no other posture",
        advice="Take one of them, or move the tool first.",
    )

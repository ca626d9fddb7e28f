"""All inverse solutions of every arm with a closed form: random and hard poses, none missing, all exact.

Hard are poses whose configuration makes the Jacobian lose rank by turning one joint (straight elbows, wrist over the
shoulder, wrist axes in line), and configurations at limits and at whole quarter turns.
"""

from __future__ import annotations

import numpy as np
from _bench_common import Effort, Numbers, show, verdict

import hil
from hil.kinematics.certified import AllSolutions
from hil.robot import Robot

RANDOM, HARD = 10_000, 2_000
SHARE = (1, 10, 500)
ONE_OF_EACH_FAMILY = ("lynx6", "puma560")
"""The arms of a run for once: compiling all takes minutes."""
EXACT = 1e-9
NEAR_RAD = 1e-3
"""At a singular pose the answer may be an equal one; elsewhere the generating configuration has to be among them."""
REGULAR = 1e-4
SEED = 7


def run(effort: Effort) -> bool:
    """True if no pose of any arm stayed without its solutions."""
    rows, met = [], True
    every = hil.list_robots()
    for name in effort.of(every, every, ONE_OF_EACH_FAMILY):
        robot = hil.load_robot(name)
        if not robot.has_closed_form:
            continue
        if effort is not Effort.ONCE:
            robot.compile("inverse_kinematics", "forward_kinematics")
        share = effort.of(*SHARE)
        rng = np.random.default_rng(SEED)
        random = _within(robot, rng, RANDOM // share)
        hard = _hard(robot, rng, HARD // share)
        results = [_judged(robot, q) for q in (random, hard)]
        met = met and all(none == 0 and lost == 0 and worst <= EXACT for none, lost, worst in results)
        rows.append([name, str(len(robot.branches)), *(text for r in results for text in _texts(*r))])
    head = ["", "branches", "random: none", "own lost", "worst", "hard: none", "own lost", "worst"]
    show(f"{RANDOM} random and {HARD} hard poses", head, rows)
    return verdict(met, "every pose has its solutions, all within 1e-9 m and 1e-9 rad")


def _judged(robot: Robot, q: Numbers) -> tuple[int, int, float]:
    """Poses without any answer, regular poses whose own configuration is not among them, worst error of any answer."""
    poses = robot.forward_kinematics(q)
    found = robot.inverse_kinematics_all(poses)
    assert isinstance(found, AllSolutions)  # of many poses
    reached = robot.forward_kinematics(found.q.reshape(-1, robot.dof)).reshape(*found.valid.shape, 4, 4)
    off = np.abs(reached - poses[:, None]).max(axis=(2, 3))
    worst = float(off[found.valid].max(initial=0.0))
    away = found.q - q[:, None]
    turning = np.array([joint.type.value == "revolute" for joint in robot.model.joints])
    away = np.where(turning, np.remainder(away + np.pi, 2 * np.pi) - np.pi, away)
    own = (np.abs(away).max(axis=2) < NEAR_RAD) & found.valid
    regular = _least_singular(robot, q) > REGULAR
    return int((~found.valid.any(axis=1)).sum()), int((~own.any(axis=1) & regular).sum()), worst


def _within(robot: Robot, rng: np.random.Generator, count: int) -> Numbers:
    lower = np.array([-np.pi if j.lower is None else j.lower for j in robot.model.joints])
    upper = np.array([np.pi if j.upper is None else j.upper for j in robot.model.joints])
    return rng.uniform(lower, upper, (count, robot.dof))


def _hard(robot: Robot, rng: np.random.Generator, count: int) -> Numbers:
    """A third made singular by each of several joints, a third by two in turn, a third at limits and quarter turns."""
    q = _within(robot, rng, count)
    third = count // 3
    joints = np.arange(1, robot.dof)
    for first, last in ((0, third), (third, 2 * third)):
        for number in joints:
            rows = np.arange(first, last)[np.arange(last - first) % len(joints) == number - 1]
            q[rows] = _made_singular(robot, q[rows], int(number))
    rows = np.arange(third, 2 * third)
    for number in joints:
        some = rows[rng.permutation(len(rows))[: len(rows) // len(joints)]]
        q[some] = _made_singular(robot, q[some], int(number))
    special = np.arange(2 * third, count)
    for j, joint in enumerate(robot.model.joints):
        values = [0.0, joint.lower or 0.0, joint.upper or 0.0]
        if joint.type.value == "revolute":
            values += [np.pi / 2, -np.pi / 2]
        chosen = rng.random(len(special)) < 0.6
        q[special[chosen], j] = rng.choice(values, int(chosen.sum()))
    return q


def _made_singular(robot: Robot, q: Numbers, joint: int) -> Numbers:
    """Each row with one joint moved to where the Jacobian is nearest to losing rank."""
    if not len(q):
        return q
    width = 0.5 * (np.pi if robot.model.joints[joint].type.value == "revolute" else 0.2)
    centre = q[:, joint].copy()
    for _ in range(40):
        grid = centre[:, None] + width * np.linspace(-1.0, 1.0, 9)
        tries = np.repeat(q[:, None], 9, axis=1)
        tries[:, :, joint] = grid
        least = _least_singular(robot, tries.reshape(-1, robot.dof)).reshape(len(q), 9)
        centre[:] = grid[np.arange(len(q)), least.argmin(axis=1)]
        width *= 0.4
    result = q.copy()
    result[:, joint] = centre
    return result


def _least_singular(robot: Robot, q: Numbers) -> Numbers:
    """Smallest singular value that the arm's own freedom leaves: of min(6, n)."""
    return np.asarray(np.linalg.svd(robot.jacobian(q), compute_uv=False)[:, -1], np.float64)


def _texts(none: int, lost: int, worst: float) -> tuple[str, str, str]:
    return str(none), str(lost), f"{worst:.1e}"

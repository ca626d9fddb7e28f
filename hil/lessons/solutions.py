"""Every inverse solution side by side, and the two iterations of a textbook step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.kernels.chain import chain_of, forward, forward_and_jacobian, frame_of_rows
from hil.kernels.scalar import FLOATS, FloatArray
from hil.kinematics.limits import range_of, violation
from hil.kinematics.numeric import DLS_ITERATIONS, dls_trail, nearest_within, point_task, pose_task, transpose_trail
from hil.kinematics.results import IkResult, IkSolution
from hil.lessons.motions import joint_task
from hil.lessons.sheet import Sheet
from hil.lessons.targets import Goal
from hil.lessons.timeline import Moment, Timeline
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.model.specification import unit_of
from hil.robot import Robot
from hil.tables import toml_value
from hil.units import DEG, MM

STEP_S = 0.25
"""Between two iterations, as they are played."""

SINGULAR = 1e-6
"""A singular value of the Jacobian below this, radians and arm's lengths, counts as none."""

MOST_TRANSPOSED = 1000
"""Steps of the transpose that are kept; with a gain of one number it may take thousands."""


def beyond(model: RobotModel, q: Sequence[float]) -> str:
    """Which joints are beyond their limits, and by how much; empty if none."""
    found = []
    for joint, value in zip(model.joints, q, strict=True):
        excess = violation(float(value), range_of(joint))
        if excess > 0.0:
            unit, name = unit_of(joint)
            found.append(f"{joint.name} by {excess / unit:.2f} {name}")
    return ", ".join(found)


def verdict(robot: Robot, result: IkResult) -> str:
    """What is said of a target: how many ways there are, which are singular, or how far it is out of reach."""
    if not result.solutions:
        return f"{robot.name}: {result.reason}"
    inside = sum(solution.within_limits for solution in result.solutions)
    words = [f"{inside} of {len(result.solutions)} solutions within the limits"]
    if not result.ok:
        words[0] += f": {result.reason}"
    singular = [str(k) for k, each in enumerate(result.solutions, start=1) if is_singular(robot, each.q)]
    if singular:
        words.append(f"Singular: {', '.join(singular)}; there the tool cannot move in every way that it elsewhere can")
    notes = sorted({each.note for each in result.solutions if each.note})
    return ". ".join([*words, *(f"{note[0].upper()}{note[1:]}" for note in notes)])


def is_singular(robot: Robot, q: Sequence[float]) -> bool:
    """Whether the tool can move in fewer ways there than the arm can elsewhere: the Jacobian has lost rank."""
    usual = np.random.default_rng(0).uniform(0.2, 1.2, robot.dof)
    return _rank(robot, q) < _rank(robot, usual.tolist())


def _rank(robot: Robot, q: Sequence[float]) -> int:
    """Of the Jacobian, lengths in units of the arm's own."""
    jacobian = robot.jacobian(q).copy()
    jacobian[:3] /= arm_length_m(robot.model)
    return int(np.linalg.matrix_rank(jacobian, tol=SINGULAR))


class Nearest(NamedTuple):
    """Where an arm comes nearest to a target that it cannot reach.

    Attributes:
        q: joint values, none of them beyond its limits.
        distance_mm: from there to the target.
        turn_deg: what the tool then has to turn; 0 where no orientation was asked for.
    """

    q: tuple[float, ...]
    distance_mm: float
    turn_deg: float


def nearest_to(robot: Robot, goal: Goal, starts: Sequence[Sequence[float]]) -> Nearest:
    """The nearest that is found from these starts; a roll that was asked for is left open."""
    chain = chain_of(robot.model)
    pose, pitch = goal.pose, goal.pitch_deg
    if pose is not None:
        task = pose_task(frame_of_rows(np.asarray(pose).tolist()))
    else:
        task = point_task(goal.point_m, None if pitch is None else pitch * DEG)
    ranges = [range_of(joint) for joint in robot.model.joints]
    found = []
    for start in starts:
        q = nearest_within(chain, ranges, task, start)
        left = task.lacking(*forward_and_jacobian(chain, q, FLOATS))
        found.append(Nearest(tuple(q), left.distance_m / MM, left.turn_rad / DEG))
    size_mm = arm_length_m(robot.model) / MM
    return min(found, key=lambda each: each.distance_mm / size_mm + each.turn_deg * DEG)


def solution_rows(model: RobotModel, result: IkResult) -> list[list[str]]:
    """A row for each solution: joint values as `hil ik --all` prints them, limits, branch."""
    units = [unit_of(joint)[0] for joint in model.joints]
    return [
        [
            *(f"{value / unit:z.2f}" for value, unit in zip(solution.q, units, strict=True)),
            "inside" if solution.within_limits else f"beyond: {beyond(model, solution.q)}",
            solution.branch,
        ]
        for solution in result.solutions
    ]


def solution_sheet(model: RobotModel, result: IkResult) -> Sheet:
    """The same in full, for a file."""
    units = [unit_of(joint) for joint in model.joints]
    heads = [f"{joint.name}_{unit[1]}" for joint, unit in zip(model.joints, units, strict=True)]
    rows: list[list[float | str]] = []
    for number, each in enumerate(result.solutions, start=1):
        values = [value / unit[0] for value, unit in zip(each.q, units, strict=True)]
        limits = "inside" if each.within_limits else "beyond"
        rows.append([str(number), *values, each.branch, limits, each.error, each.note])
    return Sheet(("solution", *heads, "branch", "limits", "error", "note"), rows)


def between_task(model: RobotModel, result: IkResult, goal: Goal, pair: tuple[int, int]) -> str:
    """A task that goes to one solution and on to another one, which stays at the same pose where one was asked for."""
    one, other = (result.solutions[number] for number in pair)
    title = f"Solution {pair[0] + 1} to solution {pair[1] + 1}"
    if goal.pose is None or not _is_only(result, other):
        return joint_task(model, title, one.q, other.q)
    step = f'\n[[step]]\ndo = "solution"\nposture = {toml_value(other.branch)}\n'
    return joint_task(model, title, one.q) + step


def _is_only(result: IkResult, solution: IkSolution) -> bool:
    """Whether its branch names it."""
    return bool(solution.branch) and [each.branch for each in result.solutions].count(solution.branch) == 1


class Trail(NamedTuple):
    """An iteration step by step.

    Attributes:
        q: joint values after each step, the start first, shape (K + 1, n).
        error_mm: how far the tool's point then is from the target, shape (K + 1,).
        error_deg: how far it has to turn.
        done: whether the target was reached.
    """

    q: FloatArray
    error_mm: FloatArray
    error_deg: FloatArray
    done: bool

    @property
    def timeline(self) -> Timeline:
        """A moment for each step."""
        moments = []
        for k, (distance, turn) in enumerate(zip(self.error_mm.tolist(), self.error_deg.tolist(), strict=True)):
            moments.append(Moment(k * STEP_S, f"step {k}: {distance:.4g} mm and {turn:.4g} deg are left"))
        return Timeline((len(self.q) - 1) * STEP_S, tuple(moments))

    def at(self, time_s: float) -> int:
        """The step that is shown at a moment."""
        return min(max(int(time_s / STEP_S + 1e-9), 0), len(self.q) - 1)

    def sheet(self, model: RobotModel) -> Sheet:
        """Every step."""
        units = [unit_of(joint) for joint in model.joints]
        heads = [f"{joint.name}_{unit[1]}" for joint, unit in zip(model.joints, units, strict=True)]
        rows = [
            [float(k), float(mm), float(deg), *(float(v) / unit[0] for v, unit in zip(q, units, strict=True))]
            for k, (q, mm, deg) in enumerate(zip(self.q, self.error_mm, self.error_deg, strict=True))
        ]
        return Sheet(("step", "error_mm", "error_deg", *heads), rows)


def iterated(model: RobotModel, pose: FloatArray, start: Sequence[float], method: str, gain: float) -> Trail:
    """An iteration from a start, step by step, as `Robot.inverse_kinematics_numeric` takes them.

    Args:
        model: the arm.
        pose: wanted, (4, 4).
        start: joint values.
        method: ``dls`` or ``transpose``.
        gain: of the transpose, for metres and radians alike.
    """
    chain, wanted = chain_of(model), frame_of_rows(np.asarray(pose).tolist())
    task = pose_task(wanted)
    if method == "transpose":
        trail = transpose_trail(chain, wanted, start, gain=gain, iterations=MOST_TRANSPOSED)
        tolerance = 1e-6
    else:
        ranges = [range_of(joint) for joint in model.joints]
        trail = dls_trail(chain, ranges, task, start, iterations=DLS_ITERATIONS)
        tolerance = 1e-9
    left = [task.lacking(forward(chain, q, FLOATS), []) for q in trail]
    return Trail(
        np.array(trail),
        np.array([each.distance_m / MM for each in left]),
        np.array([each.turn_rad / DEG for each in left]),
        left[-1].largest <= 2.0 * tolerance,
    )

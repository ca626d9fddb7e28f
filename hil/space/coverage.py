"""Whether a rig's bodies are those of its arm: every link has to lie inside them, to a stated margin.

A body that is missing, too short, or another arm's lets the arm through where every check says that it is clear.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.findings import Findings
from hil.model.link_shapes import Stick, arm_length_m, link_sticks
from hil.model.rig import Axis, Capsule, Rig
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.space.geometry import FloatArray, segment_distance
from hil.units import MM

MARGIN_SHARE = 0.04
"""A link may come out of its bodies by this part of the arm's length: fingers and brackets are thinner than rods."""
POINTS = 33
POSES = 24


class Uncovered(NamedTuple):
    """A link of which a part lies outside all bodies.

    Attributes:
        joint: the joint that moves it.
        link: its number.
        by_m: how far outside its farthest point is.
        at_m: that point, in the frame of the link.
    """

    joint: str
    link: int
    by_m: float
    at_m: tuple[float, float, float]


def require_bodies(rig: Rig, foreign: frozenset[str]) -> None:
    """Make sure that a rig's bodies are those of its arm.

    Args:
        rig: any.
        foreign: names of bodies that it has unchanged from a rig of another robot.

    Raises:
        ConfigError: a link lies outside all bodies, or a body of another robot's rig reaches beyond the link;
            `ConfigErrors` if there are several of one sort.
    """
    margin_m, findings = margin_of(rig), Findings(rig.file or rig.id)
    findings.add(*(_uncovered_fault(link, margin_m, findings.file) for link in uncovered(rig)))
    # Bodies that are not this arm's leave links uncovered, too: those are told first, and alone.
    findings.stop()
    for shape in rig.shapes:
        if shape.name in foreign and (beyond_m := _beyond_m(rig, shape)) > margin_m:
            findings.say(
                f"shapes.{shape.name}",
                f"a body of another robot, {beyond_m / MM:.0f} mm beyond its link of {rig.robot.id!r}",
                f"a body of this arm, or one that fits it to {margin_m / MM:.0f} mm",
                f"Write [shapes.{shape.name}] with start_mm and end_mm of this arm, or all [[shapes]] anew",
            )
    findings.stop()


def _uncovered_fault(link: Uncovered, margin_m: float, file: str) -> ConfigError:
    where = ", ".join(f"{value / MM:z.0f}" for value in link.at_m)
    return ConfigError(
        file,
        "shapes",
        f"nothing around the link behind {link.joint} at ({where}) mm of frame {link.link}, "
        f"{link.by_m / MM:.0f} mm from the next body",
        f"bodies around every link, to {margin_m / MM:.0f} mm",
        f"Checks would let that part of the arm through everything: give it a [[shapes]] with link = {link.link}",
    )


def margin_of(rig: Rig) -> float:
    """By how much a link may come out of the bodies, metres."""
    return MARGIN_SHARE * arm_length_m(rig.robot)


def uncovered(rig: Rig) -> tuple[Uncovered, ...]:
    """Links that are not inside the bodies that they, or the links next to them, carry."""
    return _uncovered(rig.robot, rig.axes[: rig.robot.dof], rig.shapes, margin_of(rig))


# A rig is read again for every arm, run and answer, and its bodies are the same as before.
@lru_cache(maxsize=64)
def _uncovered(
    robot: RobotModel, joints: tuple[Axis, ...], shapes: tuple[Capsule, ...], margin_m: float
) -> tuple[Uncovered, ...]:
    low, high = np.array([(axis.lower, axis.upper) for axis in joints]).T
    drawn = np.random.default_rng(0).uniform(low, high, (POSES, robot.dof))
    frames = Robot(robot).link_frames(np.vstack([[axis.home for axis in joints], drawn]))
    found = []
    for number, joint in enumerate(robot.joints, 1):
        points = _points(link_sticks(robot, number))
        if not len(points):
            continue
        outside_m = _outside_m(shapes, number, points, frames)
        worst = int(outside_m.argmax())
        if outside_m[worst] > margin_m:
            x, y, z = (float(value) for value in points[worst])
            found.append(Uncovered(joint.name, number, float(outside_m[worst]), (x, y, z)))
    return tuple(found)


def _points(sticks: Sequence[Stick]) -> FloatArray:
    """Points along them, (P, 3)."""
    shares = np.linspace(0.0, 1.0, POINTS)[:, None]
    along = [stick.start_m + shares * (stick.end_m - stick.start_m) for stick in sticks]
    return np.concatenate(along) if along else np.zeros((0, 3))


def _outside_m(shapes: Sequence[Capsule], number: int, points: FloatArray, frames: FloatArray) -> FloatArray:
    """How far each point is outside all bodies of this link and its neighbours, at its worst over all poses, (P,)."""
    near = [shape for shape in shapes if abs(shape.link - number) <= 1]
    if not near:
        return np.full(len(points), np.inf)
    carried = frames[:, [shape.link for shape in near]]
    start, end = (
        np.einsum("nsij,sj->nsi", carried[..., :3, :3], np.array([getattr(shape, key) for shape in near]))
        + carried[..., :3, 3]
        for key in ("start_m", "end_m")
    )
    own = frames[:, number]
    world = np.einsum("nij,pj->npi", own[:, :3, :3], points) + own[:, None, :3, 3]
    place = np.broadcast_to(world[:, :, None], (*world.shape[:2], len(near), 3))
    apart = segment_distance(place, place, start[:, None], end[:, None]) - [shape.radius_m for shape in near]
    worst: FloatArray = apart.min(axis=2).max(axis=0)
    return worst


def _beyond_m(rig: Rig, shape: Capsule) -> float:
    """How far a body's ends are from its link and the links next to it, at home, its own radius taken off."""
    robot = rig.robot
    (frames,) = Robot(robot).link_frames(np.array([[axis.home for axis in rig.axes[: robot.dof]]]))
    ends = np.array([shape.start_m, shape.end_m]) @ frames[shape.link, :3, :3].T + frames[shape.link, :3, 3]
    around = []
    for number in range(max(shape.link - 1, 1), min(shape.link + 1, robot.dof) + 1):
        points = np.vstack([_points(link_sticks(robot, number)), np.zeros((1, 3))])
        around.append(points @ frames[number, :3, :3].T + frames[number, :3, 3])
    apart = np.linalg.norm(ends[:, None] - np.concatenate([*around, frames[:1, :3, 3]])[None], axis=2).min(axis=1)
    return float(apart.max()) - shape.radius_m

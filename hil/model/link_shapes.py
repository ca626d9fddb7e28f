"""A body for every robot, from its DH table alone: closed triangle meshes per link, where no other meshes are given.

Each link is the rods along d and a of its row, the housing of the joint that it carries, and at the tip a flange.
A rig's capsules, which are what collisions are checked with, can be had as meshes too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.model.rig import Capsule
from hil.model.robot import Joint, JointType, RobotModel
from hil.model.transforms import Matrix, inverse, joint_transform

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]

SIDES = 24
"""Sides of what is round."""

ROD, HOUSING, TIP = 0.045, 0.065, 0.5
"""Radius of rods and of joints, as a part of the arm's length at the base; at the tip that much thinner."""

SLIDE = 0.8
"""How much thinner the rod of a slide is, that goes through a housing."""

HOUSING_LENGTH = 2.4
"""Length of a joint's housing, in its radii."""

SHORTEST = 1e-3
"""Rods shorter than this part of the arm's length are inside a housing anyway."""

FREE_SLIDE = 0.5
"""Part of the arm's length that a slide without limits is drawn with."""


class Stick(NamedTuple):
    """A part of a link as a line between two points of its frame, metres."""

    start_m: Vector
    end_m: Vector


class LinkMesh(NamedTuple):
    """One link's body.

    Attributes:
        link: 0 for the base, i for the link that carries DH frame i.
        vertices: shape (V, 3), metres, in that frame (the base's: in the base frame, before the first row).
        faces: shape (F, 3), counter-clockwise seen from outside. Consists of closed bodies, which may overlap.
    """

    link: int
    vertices: FloatArray
    faces: IntArray


class _Body(NamedTuple):
    vertices: FloatArray
    faces: IntArray


def link_meshes(model: RobotModel) -> tuple[LinkMesh, ...]:
    """Bodies of the base and of every link, n + 1 of them."""
    size = arm_length_m(model)
    found = [LinkMesh(0, *_joined(_base(model, size)))]
    for index, joint in enumerate(model.joints, start=1):
        found.append(LinkMesh(index, *_joined(_link(model, index, joint, size))))
    return tuple(found)


def capsule_meshes(shapes: Iterable[Capsule]) -> tuple[LinkMesh, ...]:
    """The capsules of a rig, one mesh each, in the frame of its link."""
    return tuple(
        LinkMesh(shape.link, *_capsule(np.array(shape.start_m), np.array(shape.end_m), shape.radius_m))
        for shape in shapes
    )


def placed(meshes: Sequence[LinkMesh], frames: Sequence[Matrix]) -> tuple[FloatArray, IntArray]:
    """All links as one mesh in the world: vertices (V, 3), metres, and faces (F, 3).

    Args:
        meshes: as `link_meshes` gives them.
        frames: per link its frame in the world, (4, 4); of the base, then DH frames 1 to n.
    """
    bodies = [
        _Body(mesh.vertices @ frames[mesh.link][:3, :3].T + frames[mesh.link][:3, 3], mesh.faces) for mesh in meshes
    ]
    return _joined(bodies)


def arm_length_m(model: RobotModel) -> float:
    """Length of the arm, of which all thicknesses are parts; 1 m for one that has no lengths."""
    length = sum(math.hypot(joint.a_m, joint.d_m) + _stroke(joint) for joint in model.joints)
    return length + float(np.linalg.norm(np.array(model.tool)[:3, 3])) or 1.0


def floor_m(model: RobotModel, table_height_m: float) -> float:
    """Where a floor is drawn: at the table; at the base, if the table is below all that the arm can reach."""
    base_m = model.base[2][3]
    return base_m if table_height_m < base_m - arm_length_m(model) else table_height_m


def _stroke(joint: Joint) -> float:
    if joint.type is JointType.REVOLUTE or joint.lower is None or joint.upper is None:
        return 0.0
    return max(abs(joint.lower), abs(joint.upper))


def thickness(model: RobotModel, index: int) -> float:
    """1 at the base, `TIP` at the last link."""
    return 1.0 - (1.0 - TIP) * index / model.dof


def _base(model: RobotModel, size: float) -> list[_Body]:
    """A foot down to the world's floor where that is below, and the housing of the first joint."""
    radius = HOUSING * size
    base = np.array(model.base)
    floor = inverse(base)[:3, 2] * -base[2, 3]
    bodies = [_housing(model.joints[0], np.zeros(3), np.array([0.0, 0.0, 1.0]), radius)]
    if base[2, 3] > SHORTEST * size:
        bodies.append(_cylinder(floor, np.zeros(3), radius))
    return bodies


def _link(model: RobotModel, index: int, joint: Joint, size: float) -> list[_Body]:
    """In DH frame `index`: back along x by a, back along the joint's axis by d."""
    thick = thickness(model, index)
    rod, housing = ROD * size * thick, HOUSING * size * thick
    axis = inverse(joint_transform(joint, 0.0))[:3, 2]
    corner = np.array([-joint.a_m, 0.0, 0.0])
    bodies = [_rod(np.zeros(3), corner, rod, size), *_along_axis(joint, corner, axis, rod, size)]
    if index < model.dof:
        bodies.append(_housing(model.joints[index], np.zeros(3), np.array([0.0, 0.0, 1.0]), housing))
    else:
        bodies += _end(model, rod, size)
    return [body for body in bodies if body is not None]


def link_sticks(model: RobotModel, number: int) -> tuple[Stick, ...]:
    """The link that carries DH frame `number` as lines in that frame: along a, along d, and at the end to the tool.

    A slide counts as far as it can come out. What is shorter than `SHORTEST` of the arm is left out.
    """
    joint, size = model.joints[number - 1], arm_length_m(model)
    axis = inverse(joint_transform(joint, 0.0))[:3, 2]
    corner, origin = np.array([-joint.a_m, 0.0, 0.0]), np.zeros(3)
    sticks = [Stick(corner, origin), Stick(corner - _out_m(joint, size) * axis, corner)]
    if number == model.dof:
        sticks.append(Stick(origin, np.array(model.tool)[:3, 3]))
    return tuple(stick for stick in sticks if np.linalg.norm(stick.end_m - stick.start_m) >= SHORTEST * size)


def _out_m(joint: Joint, size: float) -> float:
    """D of a row; of a slide as far as it can come out."""
    if joint.type is JointType.REVOLUTE:
        return joint.d_m
    reach = _stroke(joint) or FREE_SLIDE * size
    return max((joint.d_m + joint.sign * q for q in (joint.lower or 0.0, joint.upper or reach)), key=abs)


def _along_axis(joint: Joint, corner: Vector, axis: Vector, rod: float, size: float) -> list[_Body | None]:
    """The rod along d; that of a slide is as long as it can come out, and slides through its housing."""
    thick = rod if joint.type is JointType.REVOLUTE else SLIDE * rod
    return [_rod(corner, corner - _out_m(joint, size) * axis, thick, size)]


def _end(model: RobotModel, rod: float, size: float) -> list[_Body | None]:
    tip = np.array(model.tool)[:3, 3]
    flange = 0.5 * rod * np.array([0.0, 0.0, 1.0])
    return [_cylinder(-flange, flange, 1.2 * rod), _rod(np.zeros(3), tip, 0.6 * rod, size)]


def _housing(joint: Joint, centre: Vector, axis: Vector, radius: float) -> _Body:
    """A drum about a joint that turns, a box about one that slides."""
    half = 0.5 * HOUSING_LENGTH * radius * axis
    sides = SIDES if joint.type is JointType.REVOLUTE else 4
    return _cylinder(centre - half, centre + half, radius, sides)


def _rod(start: Vector, end: Vector, radius: float, size: float) -> _Body | None:
    return None if np.linalg.norm(end - start) < SHORTEST * size else _cylinder(start, end, radius)


def _cylinder(start: Vector, end: Vector, radius: float, sides: int = SIDES) -> _Body:
    """A closed prism with `sides` sides; a box with four."""
    ring = _ring(start, end, radius, sides)
    return _closed([start + ring, end + ring], start, end)


def _capsule(start: Vector, end: Vector, radius: float) -> _Body:
    """A cylinder with half a ball at either end; a ball where both ends are one point."""
    ring = _ring(start, end, radius, SIDES)
    along = np.cross(ring[0], ring[SIDES // 4]) / radius
    steps = [math.pi / 2 * k / (SIDES // 4) for k in range(1, SIDES // 4 + 1)]
    down = [start + math.sin(angle) * ring - math.cos(angle) * along for angle in steps]
    up = [end + math.sin(angle) * ring + math.cos(angle) * along for angle in reversed(steps)]
    if np.allclose(start, end, atol=1e-12):
        up = up[1:]
    return _closed([*down, *up], start - along, end + along)


def _ring(start: Vector, end: Vector, radius: float, sides: int) -> FloatArray:
    """Points about the origin, counter-clockwise about the way from start to end, shape (sides, 3)."""
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    angles = 2 * math.pi * (np.arange(sides) + 0.5) / sides
    turned: FloatArray = radius * (np.outer(np.cos(angles), x) + np.outer(np.sin(angles), np.cross(z, x)))
    return turned


def _closed(rings: Sequence[FloatArray], first: Vector, last: Vector) -> _Body:
    """Rings one above the other, joined, and closed by fans about the two end points."""
    sides = len(rings[0])
    vertices = np.concatenate([*rings, first[None], last[None]])
    here = np.arange(sides)
    after = np.roll(here, -1)
    faces = []
    for level in range(len(rings) - 1):
        low, high = level * sides, (level + 1) * sides
        faces.append(np.stack([low + here, low + after, high + after], axis=1))
        faces.append(np.stack([low + here, high + after, high + here], axis=1))
    bottom, top, last_ring = len(vertices) - 2, len(vertices) - 1, (len(rings) - 1) * sides
    faces.append(np.stack([after, here, np.full(sides, bottom)], axis=1))
    faces.append(np.stack([last_ring + here, last_ring + after, np.full(sides, top)], axis=1))
    return _Body(vertices, np.concatenate(faces).astype(np.int64))


def _joined(bodies: Sequence[_Body]) -> tuple[FloatArray, IntArray]:
    offsets = np.cumsum([0, *(len(body.vertices) for body in bodies)])
    vertices = np.concatenate([body.vertices for body in bodies])
    faces = np.concatenate([body.faces + offset for body, offset in zip(bodies, offsets, strict=False)])
    return vertices, faces

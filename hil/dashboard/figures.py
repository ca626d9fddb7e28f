"""What the scene consists of, as numbers: bodies, outlines, frames with their letters, boxes, the tool's trace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.dashboard.arm import ShownArm
from hil.model.finger_shapes import FINGERS_APART, finger
from hil.model.link_shapes import LinkMesh, link_meshes
from hil.model.rig import Box

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FRAME_LENGTH = 0.09
"""Length of a frame's axes, as a part of the arm's size."""

LETTERS = {
    "x": ((-1, 1, 1, -1), (-1, -1, 1, 1)),
    "y": ((-1, 1, 0, 0), (1, 1, 0, 0), (0, 0, 0, -1)),
    "z": ((-1, 1, 1, 1), (1, 1, -1, -1), (-1, -1, 1, -1)),
}
"""Strokes of the axes' letters: two points each, in halves of a letter's height."""

_SEGMENTS = (
    (-1, 1, 1, 1),
    (1, 1, 1, 0),
    (1, 0, 1, -1),
    (-1, -1, 1, -1),
    (-1, 0, -1, -1),
    (-1, 1, -1, 0),
    (-1, 0, 1, 0),
)
_DIGITS = ("012345", "12", "01643", "01623", "5612", "05623", "054326", "012", "0123456", "012356")


class Body:
    """The arm's surface, link by link, with the edges that can become its outline.

    Args:
        arm: whose it is.
        parts: bodies of links that have others than their table gives them.
    """

    def __init__(self, arm: ShownArm, parts: Sequence[LinkMesh] = ()) -> None:
        given = {part.link: part for part in parts}
        meshes = tuple(given.get(mesh.link, mesh) for mesh in link_meshes(arm.model))
        self.size_m = _size_m(meshes, arm)
        self.tool = arm.model.dof + 1
        self.meshes: tuple[LinkMesh, ...] = meshes
        self.gripper = any(axis.gripper for axis in arm.axes)
        if self.gripper:
            self.meshes += (finger(self.tool, self.size_m, 1.0), finger(self.tool, self.size_m, -1.0))
        self.links = np.concatenate([np.full(len(mesh.vertices), mesh.link) for mesh in self.meshes])
        self.vertices = np.concatenate([mesh.vertices for mesh in self.meshes])
        offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in self.meshes)])
        self.faces: Ints = np.concatenate([m.faces + at for m, at in zip(self.meshes, offsets, strict=False)])

    @cached_property
    def _rim(self) -> tuple[Ints, Ints]:
        """What can become the outline, and the faces beside it; of a large body it takes a while."""
        return _edges(self.faces)

    def _apart(self, opening_m: float | None) -> float:
        """From the tool's axis to a finger."""
        return FINGERS_APART * self.size_m + 0.5 * (opening_m or 0.0)

    def frame_of(self, mesh: int, frames: Floats, opening_m: float | None) -> Floats:
        """Where one of `meshes` is, (4, 4)."""
        frame: Floats = frames[self.meshes[mesh].link]
        if self.meshes[mesh].link != self.tool:
            return frame
        moved = frame.copy()
        side = 1.0 if mesh == len(self.meshes) - 2 else -1.0
        moved[:3, 3] += side * self._apart(opening_m) * frame[:3, 1]
        return moved

    def placed(self, frames: Floats, opening_m: float | None) -> Floats:
        """All vertices in the world, shape (V, 3)."""
        where = frames[self.links]
        vertices: Floats = np.einsum("vij,vj->vi", where[:, :3, :3], self.vertices) + where[:, :3, 3]
        if self.gripper:
            count = len(self.meshes[-1].vertices)
            shift = self._apart(opening_m) * frames[self.tool, :3, 1]
            vertices[-2 * count : -count] += shift
            vertices[-count:] -= shift
        return vertices

    def outline(self, vertices: Floats, eye_m: Floats) -> Floats:
        """Edges between what the eye sees and what it does not, shape (S, 2, 3)."""
        normals = face_normals(vertices, self.faces)
        facing = np.einsum("fi,fi->f", normals, eye_m - vertices[self.faces[:, 0]]) > 0.0
        edges, sides = self._rim
        rim = facing[sides[:, 0]] != facing[sides[:, 1]]
        lines: Floats = vertices[edges[rim]]
        return lines


def face_normals(vertices: Floats, faces: Ints) -> Floats:
    """Of faces (F, 3), outwards, of unit length, shape (F, 3)."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    result: Floats = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    return result


def _size_m(meshes: tuple[LinkMesh, ...], arm: ShownArm) -> float:
    frames = arm.robot.link_frames([axis.home for axis in arm.axes[: arm.robot.dof]])
    points = frames[:, :3, 3]
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    return length or float(max(np.abs(mesh.vertices).max() for mesh in meshes))


def _edges(faces: Ints) -> tuple[Ints, Ints]:
    """Every edge of closed bodies once, (E, 2) vertices, and the two faces that meet in it, (E, 2)."""
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    owners = np.tile(np.arange(len(faces)), 3)
    ends.sort(axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, owners = ends[order], owners[order]
    pairs = np.flatnonzero((ends[1:] == ends[:-1]).all(axis=1))
    return ends[pairs], np.stack([owners[pairs], owners[pairs + 1]], axis=1)


_BOX_EDGES = np.array([[a, b] for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)])


def box_lines(box: Box) -> Floats:
    """The twelve edges of a box, shape (12, 2, 3)."""
    corners = np.array(list(itertools.product(*zip(box.lower_m, box.upper_m, strict=True))))
    lines: Floats = corners[_BOX_EDGES]
    return lines


def grid_lines(half_m: float, height_m: float, step_m: float) -> Floats:
    """A square of lines about the z axis, shape (L, 2, 3)."""
    count = max(1, round(half_m / step_m))
    at = step_m * np.arange(-count, count + 1)
    low, high = np.full_like(at, -count * step_m), np.full_like(at, count * step_m)
    z = np.full_like(at, height_m)
    along = np.stack([np.stack([at, low, z], -1), np.stack([at, high, z], -1)], 1)
    across = along[:, :, [1, 0, 2]]
    return np.concatenate([along, across])


def round_step_m(half_m: float) -> float:
    """A distance of the table's lines that people count in."""
    for step_m in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        if half_m / step_m <= 10.0:
            return step_m
    return 2.0


class Lines(NamedTuple):
    """Coloured lines: ends (S, 2, 3), metres, and colours (S,) as indices: 0, 1, 2 for x, y, z, 3 for writing."""

    ends: Floats
    colours: Ints


def frame_lines(frames: Floats, length_m: float, labels: list[str], axes: Floats) -> Lines:
    """Axes of frames with their letters, and a number at the origin.

    Args:
        frames: shape (n, 4, 4).
        length_m: of an axis.
        labels: what is written at each origin: digits and spaces, or nothing; with "xyz" the axes get letters.
        axes: of the camera, so that letters face it.
    """
    ends, colours = [], []
    for frame, label in zip(frames, labels, strict=True):
        origin = frame[:3, 3]
        for axis in range(3):
            tip = origin + length_m * frame[:3, axis]
            ends.append(np.stack([origin, tip])[None])
            colours.append(np.array([axis]))
            if label == "xyz":
                strokes = _strokes("xyz"[axis], tip + 0.25 * length_m * frame[:3, axis], 0.12 * length_m, axes)
                ends.append(strokes)
                colours.append(np.full(len(strokes), axis))
        if label.strip().isdigit():
            at = origin + 0.3 * length_m * (axes[0] + axes[1])
            for place, digit in enumerate(label):
                if digit == " ":
                    continue
                strokes = _strokes(digit, at + 0.36 * length_m * place * axes[0], 0.12 * length_m, axes)
                ends.append(strokes)
                colours.append(np.full(len(strokes), 3))
    return (
        Lines(np.concatenate(ends), np.concatenate(colours)) if ends else Lines(np.zeros((0, 2, 3)), np.zeros(0, int))
    )


def _strokes(letter: str, at: Floats, half_m: float, axes: Floats) -> Floats:
    drawn = LETTERS.get(letter) or tuple(_SEGMENTS[int(segment)] for segment in _DIGITS[int(letter)])
    flat = np.array(drawn, dtype=float).reshape(-1, 2, 2) * (0.7 * half_m, half_m)
    lines: Floats = at + flat @ axes[:2]
    return lines


def dashed(lines: Floats, dash_m: float) -> Floats:
    """Lines cut into dashes, and of shorter ones two of four, shape (D, 2, 3)."""
    lengths = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
    short = (lengths < dash_m) & (np.arange(len(lines)) % 4 > 1)
    lines, lengths = lines[~short], lengths[~short]
    if not len(lines):
        return lines
    counts = np.clip(np.ceil(lengths / (2.0 * dash_m)), 1, 64).astype(int)
    drawn = np.where(lengths < dash_m, 1.0, 0.6) / counts
    which = np.repeat(np.arange(len(lines)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    way = lines[which, 1] - lines[which, 0]
    start = lines[which, 0] + (place / counts[which])[:, None] * way
    cut: Floats = np.stack([start, start + drawn[which, None] * way], axis=1)
    return cut


class Trace:
    """Where the tool has been: the newest points of a way, at least `step_m` apart, in bounded memory."""

    def __init__(self, most: int = 3000, step_m: float = 5e-4) -> None:
        self._points = np.zeros((2 * most, 3))
        self._joined = np.zeros(2 * most, dtype=bool)
        self._most, self._step_m = most, step_m
        self.clear()

    def clear(self) -> None:
        """Forget the way; it goes on from here."""
        self._end, self._join = 0, False
        self.length_m = 0.0
        self.version = 0

    def lift(self) -> None:
        """The next point begins a new way: nothing is known of what lies between."""
        self._join = False

    def add(self, point_m: Floats) -> None:
        """The tool is there now."""
        if self._end and self._join:
            step = float(np.linalg.norm(point_m - self._points[self._end - 1]))
            if step < self._step_m:
                return
            self.length_m += step
        if self._end == len(self._points):
            self._points[: self._most] = self._points[self._most :]
            self._joined[: self._most] = self._joined[self._most :]
            self._end = self._most
        self._points[self._end] = point_m
        self._joined[self._end] = self._join
        self._end += 1
        self._join = True
        self.version += 1

    def lines(self) -> Floats:
        """The way as lines, shape (S, 2, 3)."""
        begin = max(self._end - self._most, 0)
        joined = np.flatnonzero(self._joined[begin + 1 : self._end]) + begin + 1
        lines: Floats = np.stack([self._points[joined - 1], self._points[joined]], axis=1)
        return lines

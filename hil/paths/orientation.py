"""How the tool is turned along a path, for arms that take any orientation and for those of a pitch and a roll."""

from __future__ import annotations

import math
from typing import Literal, Protocol

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.kinematics.along import Targets
from hil.paths.path import Path

Policy = Literal["ground", "along", "normal"]
"""The tool axis straight down, along the path, or onto the surface (against its normal)."""

TRANSPORT_STEPS = 720
"""How finely a tool is carried along a path, so that it turns about its own axis as little as can be."""

NEARLY_OPPOSITE = -1.0 + 1e-9


class Orientation(Protocol):
    """What is asked of the tool beside its place.

    Attributes:
        turn_rad: how far it turns on the whole path, about.
    """

    turn_rad: float

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points and orientations at lengths of a path."""
        ...


class EvenPitch:
    """Pitch and roll change evenly; None where the arm has no roll, or neither."""

    def __init__(
        self, pitch_rad: float | None, roll_rad: float | None, *, tilt_rad: float = 0.0, twist_rad: float = 0.0
    ) -> None:
        self._pitch_rad, self._roll_rad, self._tilt_rad, self._twist_rad = pitch_rad, roll_rad, tilt_rad, twist_rad
        self.turn_rad = max(abs(tilt_rad), abs(twist_rad))

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points, pitches and rolls."""
        part = at_m / path.length_m
        pitch = None if self._pitch_rad is None else self._pitch_rad + part * self._tilt_rad
        roll = None if self._roll_rad is None else self._roll_rad + part * self._twist_rad
        return Targets(path.points_m(at_m), pitch, roll)


class EvenTurn:
    """From one orientation (3, 3) about one axis at an even pace; no turn keeps it."""

    def __init__(self, start: FloatArray, turn: FloatArray) -> None:
        """`turn` is the axis times the angle, in the tool's frame, shape (3,)."""
        self._start, self._turn = start, turn
        self.turn_rad = float(np.linalg.norm(turn))

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points and orientations."""
        turned = self._start @ rotations((at_m / path.length_m)[:, None] * self._turn)
        return Targets(path.points_m(at_m), rotations=turned)


class ToolAxis:
    """The tool axis as a policy asks, for arms that take any orientation.

    The tool turns about its own axis as little as can be on the way.

    Args:
        path: along which.
        policy: what the tool axis, its z, follows.
        start: orientation before the path, (3, 3); the path begins with the nearest one that the policy allows.
    """

    def __init__(self, path: Path, policy: Policy, start: FloatArray) -> None:
        self._path, self._policy = path, policy
        grid = np.linspace(0.0, path.length_m, TRANSPORT_STEPS + 1)
        axes = wanted_axes(path, policy, grid)
        carried = np.empty((len(grid), 3, 3))
        before = start
        for k, axis in enumerate(axes):
            before = carried[k] = shortest_turn(before[:, 2], axis) @ before
        self._grid, self._carried = grid, carried
        self.turn_rad = float(np.arccos(np.clip((axes[1:] * axes[:-1]).sum(axis=1), -1.0, 1.0)).sum())

    @property
    def start(self) -> FloatArray:
        """Orientation with which the path begins, (3, 3)."""
        first: FloatArray = self._carried[0]
        return first

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points and orientations."""
        k = np.clip(np.searchsorted(self._grid, at_m, side="right") - 1, 0, len(self._grid) - 1)
        axes = wanted_axes(path, self._policy, at_m)
        turned = shortest_turns(self._carried[k][:, :, 2], axes) @ self._carried[k]
        return Targets(path.points_m(at_m), rotations=turned)


class PitchedAxis:
    """The same for arms that take a pitch and a roll: the tool axis as near as the arm's plane lets it come.

    Args:
        path: along which.
        policy: what the tool axis follows.
        base: pose of the arm's base in the world, (4, 4).
        roll_rad: kept on the way; None for an arm without a roll joint.
        pitch_rad: before the path; of turns that differ by whole ones that nearest to it is taken.
    """

    def __init__(self, path: Path, policy: Policy, base: FloatArray, roll_rad: float | None, pitch_rad: float) -> None:
        self._path, self._policy, self._base, self._roll_rad = path, policy, base, roll_rad
        pitches = self._pitches(np.linspace(0.0, path.length_m, TRANSPORT_STEPS + 1))
        self._whole_turns = 2.0 * math.pi * round((pitch_rad - float(pitches[0])) / (2.0 * math.pi))
        self.turn_rad = float(np.abs(np.diff(pitches)).sum())

    @property
    def start_pitch_rad(self) -> float:
        """Pitch with which the path begins."""
        return float(self._pitches(np.zeros(1))[0]) + self._whole_turns

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points, pitches and the roll."""
        roll = None if self._roll_rad is None else np.full(len(at_m), self._roll_rad)
        return Targets(path.points_m(at_m), self._pitches(at_m) + self._whole_turns, roll)

    def lacking_rad(self, at_m: FloatArray) -> FloatArray:
        """By how much the tool axis stays away from what the policy asks, at lengths, shape (N,)."""
        axes, out = self._seen(at_m)
        across: FloatArray = np.abs(axes[:, 1] * out[:, 0] - axes[:, 0] * out[:, 1])
        lacking: FloatArray = np.arcsin(np.clip(across, 0.0, 1.0))
        return lacking

    def _seen(self, at_m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The wanted axes in the base frame, and the direction from the base axis outwards to each point."""
        axes = wanted_axes(self._path, self._policy, at_m) @ self._base[:3, :3]
        points = (self._path.points_m(at_m) - self._base[:3, 3]) @ self._base[:3, :3]
        away = np.linalg.norm(points[:, :2], axis=1)[:, None]
        return axes, np.where(away > 1e-9, points[:, :2] / np.maximum(away, 1e-9), (1.0, 0.0))

    def _pitches(self, at_m: FloatArray) -> FloatArray:
        axes, out = self._seen(at_m)
        # Straight down is as far from the lower as from the upper half: it is always the same one.
        pitches: FloatArray = np.unwrap(np.arctan2(axes[:, 2], (axes[:, :2] * out).sum(axis=1)))
        return pitches


def wanted_axes(path: Path, policy: Policy, at_m: FloatArray) -> FloatArray:
    """Unit vectors that the tool axis shall have, in the world, shape (N, 3).

    Raises:
        ValueError: the path lies on no surface, and its normal is asked for.
    """
    if policy == "ground":
        return np.repeat(np.array([[0.0, 0.0, -1.0]]), len(at_m), axis=0)
    if policy == "along":
        return path.directions(at_m)
    normals = path.normals(at_m)
    if normals is None:
        raise ValueError("a path that lies on no surface has no normal")
    return -normals


def shortest_turn(one: FloatArray, other: FloatArray) -> FloatArray:
    """The smallest rotation that brings one unit vector to another, (3, 3)."""
    turn: FloatArray = shortest_turns(one[None, :], other[None, :])[0]
    return turn


def shortest_turns(one: FloatArray, other: FloatArray) -> FloatArray:
    """The same for many, shape (N, 3, 3) for (N, 3)."""
    axis = np.cross(one, other)
    cosine = (one * other).sum(axis=1)
    opposite = cosine <= NEARLY_OPPOSITE
    if opposite.any():
        # Half a turn, about any axis across: that which is farthest from the vector.
        unit = np.eye(3)[np.argmin(np.abs(one), axis=1)]
        across = np.cross(one, unit)
        across = across / np.linalg.norm(across, axis=1)[:, None]
        half = 2.0 * across[:, :, None] * across[:, None, :] - np.eye(3)
    skew = _skew(axis)
    turns = np.eye(3) + skew + (skew @ skew) / np.maximum(1.0 + cosine, 1e-12)[:, None, None]
    found: FloatArray = np.where(opposite[:, None, None], half, turns) if opposite.any() else turns
    return found


def rotations(vectors: FloatArray) -> FloatArray:
    """Rotation matrices of axes times angles (Rodrigues), shape (N, 3, 3) for (N, 3)."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    safe = np.maximum(angle, 1e-8)
    skew = _skew(vectors)
    sine = np.where(angle > 1e-8, np.sin(angle) / safe, 1.0)
    rest = np.where(angle > 1e-8, (1.0 - np.cos(angle)) / safe**2, 0.5)
    turned: FloatArray = np.eye(3) + sine * skew + rest * (skew @ skew)
    return turned


def _skew(vectors: FloatArray) -> FloatArray:
    """Cross-product matrices, shape (N, 3, 3)."""
    found = np.zeros((len(vectors), 3, 3))
    found[:, 0, 1], found[:, 0, 2] = -vectors[:, 2], vectors[:, 1]
    found[:, 1, 0], found[:, 1, 2] = vectors[:, 2], -vectors[:, 0]
    found[:, 2, 0], found[:, 2, 1] = -vectors[:, 1], vectors[:, 0]
    return found

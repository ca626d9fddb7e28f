"""A URDF worked out plainly from its XML, tip, weights and mass matrix: shares nothing with the reader and the kernels.

Every link with a mass counts, wherever it hangs; joints that are not asked for stand at 0.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
GRAVITY = np.array([0.0, 0.0, -9.81])


class Tree:
    """Links, joints and bodies of a URDF."""

    def __init__(self, text: str | bytes) -> None:
        root = ElementTree.fromstring(text)
        self.links = {link.attrib["name"]: link for link in root.findall("link")}
        whole = [joint for joint in root.findall("joint") if _attribute(joint, "parent", "link") in self.links]
        self.above = {_attribute(joint, "child", "link"): joint for joint in whole}

    def pose(self, link: str, q: Mapping[str, float]) -> Floats:
        """Frame of a link in the root's, (4, 4)."""
        joint = self.above.get(link)
        if joint is None:
            return np.eye(4)
        pose: Floats = self.pose(_attribute(joint, "parent", "link"), q) @ _origin(joint) @ _move(joint, q)
        return pose

    def dynamics(self, names: Sequence[str], q: Sequence[float]) -> tuple[Floats, Floats]:
        """Torques that hold the weights, (n,), and the mass matrix, (n, n), of some joints."""
        at = dict(zip(names, q, strict=True))
        torque, matrix = np.zeros(len(names)), np.zeros((len(names), len(names)))
        for link, element in self.links.items():
            inertial = element.find("inertial")
            if inertial is None:
                continue
            body = self.pose(link, at) @ _origin(inertial)
            mass = float(_attribute(inertial, "mass", "value"))
            tensor = body[:3, :3] @ _tensor(inertial) @ body[:3, :3].T
            linear, angular = self._jacobians(link, names, at, body[:3, 3])
            torque -= mass * linear.T @ GRAVITY
            matrix += mass * linear.T @ linear + angular.T @ tensor @ angular
        return torque, matrix

    def _jacobians(
        self, link: str, names: Sequence[str], q: Mapping[str, float], point: Floats
    ) -> tuple[Floats, Floats]:
        linear, angular = np.zeros((3, len(names))), np.zeros((3, len(names)))
        while link in self.above:
            joint = self.above[link]
            name = joint.attrib["name"]
            if name in names:
                frame, column = self.pose(link, q), list(names).index(name)
                axis = frame[:3, :3] @ _axis(joint)
                if joint.attrib["type"] == "prismatic":
                    linear[:, column] = axis
                else:
                    linear[:, column], angular[:, column] = np.cross(axis, point - frame[:3, 3]), axis
            link = _attribute(joint, "parent", "link")
        return linear, angular


def _attribute(element: Any, tag: str, key: str) -> str:
    return str(element.find(tag).attrib[key])


def _vector(words: str) -> Floats:
    return np.array([float(word) for word in words.split()])


def _axis(joint: Any) -> Floats:
    element = joint.find("axis")
    axis = np.array([1.0, 0.0, 0.0]) if element is None else _vector(element.attrib["xyz"])
    return np.asarray(axis / np.linalg.norm(axis))


def _move(joint: Any, q: Mapping[str, float]) -> Floats:
    value, pose = q.get(joint.attrib["name"], 0.0), np.eye(4)
    if value == 0.0:
        return pose
    if joint.attrib["type"] == "prismatic":
        pose[:3, 3] = _axis(joint) * value
    else:
        pose[:3, :3] = _turned(_axis(joint), value)
    return pose


def _turned(axis: Floats, angle: float) -> Floats:
    """By way of a unit quaternion."""
    w, (x, y, z) = math.cos(angle / 2), math.sin(angle / 2) * axis
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _origin(element: Any) -> Floats:
    """Roll about x, then pitch about y, then yaw about z, of the fixed axes."""
    pose, origin = np.eye(4), element.find("origin")
    if origin is None:
        return pose
    roll, pitch, yaw = _vector(origin.attrib.get("rpy", "0 0 0"))
    x, y, z = np.eye(3)
    pose[:3, :3] = _turned(z, yaw) @ _turned(y, pitch) @ _turned(x, roll)
    pose[:3, 3] = _vector(origin.attrib.get("xyz", "0 0 0"))
    return pose


def _tensor(inertial: Any) -> Floats:
    element = inertial.find("inertia")
    if element is None:
        return np.zeros((3, 3))
    xx, xy, xz, yy, yz, zz = (float(element.attrib.get(f"i{key}", 0)) for key in ("xx", "xy", "xz", "yy", "yz", "zz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

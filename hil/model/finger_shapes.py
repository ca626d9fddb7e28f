"""Two fingers for an arm that has a gripper, of which no file says how they look."""

from __future__ import annotations

import itertools

import numpy as np

from hil.model.link_shapes import IntArray, LinkMesh

FINGER = 0.012
"""Thickness of a drawn finger, as a part of the arm's size; it is `FINGER_LENGTH` times as long."""

FINGER_LENGTH = 6.0
FINGERS_APART = 0.022
"""Half of the room between drawn fingers that are closed: they stand clear of the rod that the hand is drawn as."""

BOX_FACES: IntArray = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
"""Of a box whose corners come in the order of `itertools.product`, outwards."""


def finger(tool: int, size_m: float, side: float) -> LinkMesh:
    """A rod along the tool's z axis that ends at its point; the gripper's opening is laid between the two.

    Args:
        tool: number of the tool's frame, the one behind the last link.
        size_m: of the arm.
        side: 1 or -1, along the tool's y axis.
    """
    half = 0.5 * FINGER * size_m
    corners = np.array(list(itertools.product((-half, half), (0.0, side * 2.0 * half), (0.0, -1.0))))
    corners[:, 2] *= 2.0 * half * FINGER_LENGTH
    return LinkMesh(tool, corners, BOX_FACES if side < 0.0 else BOX_FACES[:, ::-1])

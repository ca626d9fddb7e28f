"""What tests and pictures write as STL files: boxes, and ASCII."""

from __future__ import annotations

import numpy as np

QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
BOX_FACES = np.array([face for a, b, c, d in QUADS for face in ((a, b, c), (a, c, d))])
"""Triangles of a box whose corners come in the order of their coordinates."""


def ascii_text(corners: np.ndarray, name: str = "cube") -> str:
    """An STL of triangles, shape (F, 3, 3)."""
    lines = [f"solid {name}"]
    for triangle in corners:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x!r} {y!r} {z!r}" for x, y, z in triangle.tolist())]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, f"endsolid {name}"]) + "\n"

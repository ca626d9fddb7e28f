"""STL in (binary and ASCII, through trimesh) with units that are asked for, and binary STL out."""

from __future__ import annotations

import logging
import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hil.errors import ConfigError, MissingExtraError
from hil.types import Record
from hil.units import MM

Units = Literal["mm", "cm", "in", "m"]
METRES: dict[Units, float] = {"mm": MM, "cm": 0.01, "in": 0.0254, "m": 1.0}
"""What one of each is in metres."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LIKELY_MILLIMETRES = 2.0
"""A part longer than this number is guessed to be in millimetres, else in metres; its owner is asked all the same."""

_OWN_HEADER = b"units: metres"
"""What stands at the beginning of the files that are written here."""

_HEADER, _TRIANGLE = 84, 50
_BINARY = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


class StlFacts(Record, frozen=True):
    """What a mesh is.

    Attributes:
        units: those of the file.
        lower_m, upper_m: corners of its bounding box.
        degenerate: triangles without an area, which were left out.
        watertight: every edge belongs to two triangles.
    """

    file: str
    units: Units
    triangles: int
    degenerate: int
    lower_m: tuple[float, float, float]
    upper_m: tuple[float, float, float]
    watertight: bool

    @property
    def size_m(self) -> tuple[float, float, float]:
        """Length of the box along x, y, z."""
        x, y, z = (high - low for low, high in zip(self.lower_m, self.upper_m, strict=True))
        return (x, y, z)

    @property
    def lines(self) -> tuple[str, ...]:
        """In words: triangles, the box with its units, and where that is."""
        left_out = f", {self.degenerate} without an area left out" if self.degenerate else ""
        return (
            f"{self.triangles} triangles{left_out}; {'closed' if self.watertight else 'not closed'}",
            f"file in {self.units}; bounding box {' x '.join(f'{value / MM:.6g}' for value in self.size_m)} mm",
            f"from ({_millimetres(self.lower_m)}) to ({_millimetres(self.upper_m)}) mm",
        )


def _millimetres(values: tuple[float, float, float]) -> str:
    return ", ".join(f"{value / MM:.6g}" for value in values)


class Mesh:
    """Triangles in metres.

    Attributes:
        vertices: shape (V, 3).
        faces: shape (F, 3), indices of corners, counter-clockwise seen from outside.
        facts: what is known of the file.
    """

    __slots__ = ("faces", "facts", "vertices")

    def __init__(self, vertices: FloatArray, faces: IntArray, facts: StlFacts) -> None:
        self.vertices, self.faces, self.facts = vertices, faces, facts


def read_stl(path: Path, units: Units | None = None) -> Mesh:
    """Read one STL, of either kind; which kind its length tells, not its first word.

    Args:
        path: of the file.
        units: of its numbers; None if the file itself says that they are metres, as those that are written here do.

    Raises:
        StlUnitError: no units were said, and the file has none.
        ConfigError: it cannot be read, is cut off, empty, without any area, or holds a number that is not finite.
        MissingExtraError: trimesh is not installed.
    """
    file = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(file, "file", error.strerror or str(error), "a file that can be read") from None
    corners = _corners(data, file)
    _refuse_bad_numbers(corners, file)
    if units is None:
        if not data.startswith(_OWN_HEADER):
            raise _without_units(file, float(np.max(np.ptp(corners.reshape(-1, 3), axis=0))))
        units = "m"
    return _mesh(corners * METRES[units], file, units)


class StlUnitError(ConfigError):
    """An STL has no units, and nobody has said which are meant.

    Attributes:
        extent: the longest side of its box, as a number of the file.
        guess: the likelier units.
    """

    extent: float
    guess: Units


def _without_units(file: str, extent: float) -> StlUnitError:
    readings = ", ".join(f"{unit} ({extent * metres:.4g} m)" for unit, metres in METRES.items())
    guess: Units = "mm" if extent > LIKELY_MILLIMETRES else "m"
    error = StlUnitError(
        file,
        "units",
        f"no units for a part {extent:g} long",
        f"--stl-unit with one of {readings}",
        f"An STL has no units; guessed from its size: --stl-unit {guess}",
    )
    error.extent, error.guess = extent, guess
    return error


def write_stl(vertices: FloatArray, faces: IntArray) -> bytes:
    """A binary STL, in metres.

    Args:
        vertices: shape (V, 3), metres.
        faces: shape (F, 3).
    """
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    records = np.zeros(len(faces), dtype=_BINARY)
    records["normal"] = normals / np.where(lengths > 0.0, lengths, 1.0)
    records["corners"] = corners
    return _OWN_HEADER.ljust(80, b" ") + struct.pack("<I", len(faces)) + records.tobytes()


def _corners(data: bytes, file: str) -> FloatArray:
    """All triangles, shape (F, 3, 3), in the file's units."""
    announced = struct.unpack_from("<I", data, _HEADER - 4)[0] if len(data) >= _HEADER else -1
    binary = len(data) == _HEADER + _TRIANGLE * announced
    if not binary:
        _refuse_cut(data, announced, file)
    if binary and announced == 0:
        raise ConfigError(file, "triangles", 0, "one triangle or more", "The file is empty")
    trimesh = _trimesh()
    try:
        loaded = trimesh.load_mesh(trimesh.util.wrap_as_stream(data), file_type="stl", process=False)
        corners: FloatArray = np.asarray(loaded.vertices, dtype=np.float64)[np.asarray(loaded.faces)]
    except Exception as error:  # trimesh raises whatever its parser meets
        raise ConfigError(file, "triangles", f"{type(error).__name__}: {error}", "an STL, binary or ASCII") from None
    if len(corners) == 0:
        raise ConfigError(file, "triangles", 0, "one triangle or more", "The file is empty")
    return corners


def _refuse_cut(data: bytes, announced: int, file: str) -> None:
    """Not binary by its length: then it has to be a whole ASCII file."""
    words = data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:1000].lower()
    if words and data.rstrip()[-300:].lower().rfind(b"endsolid") >= 0:
        return
    if words:
        raise ConfigError(file, "end", "no endsolid", "a whole file", "It is cut off")
    if data.lstrip()[:5].lower() == b"solid" and b"endsolid" in data[-300:].lower():
        raise ConfigError(file, "triangles", 0, "one triangle or more", "The file is empty")
    room = max(0, len(data) - _HEADER) // _TRIANGLE
    if 0 <= room < announced:
        value, allowed = f"{announced} triangles announced, {room} there", "a whole file"
        raise ConfigError(file, "end", value, allowed, "It is cut off, or no STL")
    raise ConfigError(file, "length", len(data), "an STL, binary or ASCII", f"{announced} triangles are announced")


def _refuse_bad_numbers(corners: FloatArray, file: str) -> None:
    if not np.isfinite(corners).all():
        where = int(np.argwhere(~np.isfinite(corners))[0][0])
        value = next(float(x) for x in corners[where].ravel() if not np.isfinite(x))
        raise ConfigError(file, f"triangle {where + 1}", value, "finite numbers")


def _mesh(corners: FloatArray, file: str, units: Units) -> Mesh:
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    size = float(np.max(np.ptp(corners.reshape(-1, 3), axis=0)))
    solid = corners[areas > 1e-12 * size * size]
    if len(solid) == 0:
        raise ConfigError(file, "triangles", f"{len(corners)} without an area", "one that has one")
    vertices, index = np.unique(solid.reshape(-1, 3), axis=0, return_inverse=True)
    faces = np.asarray(index, dtype=np.int64).reshape(-1, 3)
    low, high = vertices.min(axis=0).tolist(), vertices.max(axis=0).tolist()
    facts = StlFacts(
        file=file,
        units=units,
        triangles=len(solid),
        degenerate=len(corners) - len(solid),
        lower_m=(low[0], low[1], low[2]),
        upper_m=(high[0], high[1], high[2]),
        watertight=is_watertight(faces),
    )
    return Mesh(vertices, faces, facts)


def is_watertight(faces: IntArray) -> bool:
    """Every edge is run through once either way.

    Args:
        faces: shape (F, 3); corners at one place share an index.
    """
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    # An edge as one number: rows take fifty times as long to sort.
    corners = np.int64(faces.max(initial=0) + 1)
    there, counts = np.unique(edges[:, 0] * corners + edges[:, 1], return_counts=True)
    back = np.unique(edges[:, 1] * corners + edges[:, 0])
    return bool(np.all(counts == 1)) and np.array_equal(there, back)


def _trimesh() -> Any:
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError("STL files", "mesh") from None
    # What it logs about a broken file, tracebacks included, is not for a user who has not asked for logs.
    logging.getLogger("trimesh").addHandler(logging.NullHandler())
    return trimesh

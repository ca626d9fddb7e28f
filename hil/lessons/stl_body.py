"""A body that somebody gives a link of a lesson's arm: an STL, placed by the DH frame of that link."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from hil.errors import ConfigError
from hil.model.link_shapes import LinkMesh
from hil.model.stl import Mesh, StlFacts, StlUnitError, Units, read_stl

MOST_TRIANGLES = 50_000
"""Of one body: it is drawn without a graphics card, too."""

MOST_BYTES = 50_000_000
_COARSER = "Write it with fewer triangles: every program that makes STL files can"


@dataclass(frozen=True, eq=False)
class StlBody:
    """One link's.

    Attributes:
        file: path of the STL.
        mesh: in the frame of its link; the base's in the base frame.
        facts: what is known of the file.
    """

    file: str
    mesh: LinkMesh
    facts: StlFacts

    @property
    def link(self) -> int:
        """0 for the base, i for the link that carries DH frame i."""
        return self.mesh.link

    @property
    def command(self) -> str:
        """What says the same of the file."""
        return f"hil import {shlex.quote(self.file)} --stl-unit {self.facts.units}"


def read_body(file: str, link: int, units: Units | None) -> StlBody:
    """Read a link's body.

    Args:
        file: path of an STL, binary or ASCII.
        link: 0 for the base, i for the link that carries DH frame i.
        units: of its numbers; None for what the file says, or its size lets guess.

    Raises:
        ConfigError: it cannot be read, or is too large to be drawn.
        MissingExtraError: trimesh is not installed.
    """
    path = Path(file)
    size_bytes = path.stat().st_size if path.is_file() else 0  # what is no file is refused where it is read
    if size_bytes > MOST_BYTES:
        raise ConfigError(file, "size", f"{size_bytes / 1e6:.0f} MB", f"at most {MOST_BYTES / 1e6:.0f} MB", _COARSER)
    mesh = _read(path, units)
    if mesh.facts.triangles > MOST_TRIANGLES:
        raise ConfigError(file, "triangles", mesh.facts.triangles, f"at most {MOST_TRIANGLES}", _COARSER)
    return StlBody(file, LinkMesh(link, mesh.vertices, mesh.faces), mesh.facts)


def _read(path: Path, units: Units | None) -> Mesh:
    try:
        return read_stl(path, units)
    except StlUnitError as error:
        return read_stl(path, error.guess)

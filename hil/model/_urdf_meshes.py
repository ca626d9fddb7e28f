"""Where the meshes of a model are: in its own folder. Nothing outside is looked at: no name can ask what is there."""

from __future__ import annotations

import os
from pathlib import Path

PLACES = ("urdf", "robots", "robot", "model", "models", "description", "xacro")
"""Names of folders that a URDF has to itself, beside that of its meshes."""

HIGHEST = 4
"""Folders above the URDF in which a package's own file is looked for."""


def model_folder(urdf: Path) -> Path:
    """The folder of a URDF and its meshes: that of its package, else that above a folder named urdf, else its own."""
    own = urdf.resolve().parent
    for folder in (own, *own.parents[:HIGHEST]):
        if (folder / "package.xml").is_file():
            return folder
    return own.parent if own.name.lower() in PLACES else own


def place_in(folder: Path, beside: Path, name: str) -> str:
    """The path of a mesh in the model's folder; empty if it is not there, whatever there may be elsewhere.

    Args:
        folder: of the model.
        beside: the folder that a plain name counts from.
        name: as the URDF has it: `package://NAME/...`, `file://...`, or a path.
    """
    if name.startswith("package://"):
        whole = name.removeprefix("package://")
        package, _, rest = whole.partition("/")
        places = [folder / rest] if package == folder.name else [folder / whole, folder / rest]
    else:
        plain = name.removeprefix("file://")
        places = [beside.resolve() / plain] if plain else []
    return str(next((place for place in places if _is_in(folder, place)), ""))


def _is_in(folder: Path, place: Path) -> bool:
    """Whether a file is in the folder: by its words first, so that nothing else is touched; then behind its links."""
    try:
        plain = Path(os.path.normpath(place))
        return plain.is_relative_to(folder) and plain.resolve().is_relative_to(folder) and plain.is_file()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a circle
        return False

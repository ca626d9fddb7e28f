"""Rigs for tests: bundled ones or a lab's own, with a few keys changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.model.rig import Rig
from hil.runtime import wiring


class RigFactory:
    """Makes rigs. A call with the same name and no changes returns the same rig again.

    Args:
        base: folder from which relative paths count, a test project's root.
    """

    def __init__(self, base: Path | None = None) -> None:
        self._base = base
        self._made: dict[str, Rig] = {}

    def __call__(self, name: str | Path = "lynx6", changes: Mapping[str, Any] | None = None, **tables: Any) -> Rig:
        """Read a rig by name or path and change keys of it.

        Args:
            name: a known rig's name, or the path of a rig file.
            changes: tables as a rig file would have them, in degrees and millimetres; a joint may be given by name,
                as in ``{"joints": {"base": {"speed_deg_s": 30}}}``.
            **tables: the same, as keywords: ``timing={"look_ahead_ms": 80}``.

        Raises:
            ConfigError: there is no such rig, or what comes out is wrong.
        """
        given = str(self._path(name))
        wanted = {**(changes or {}), **tables}
        if wanted:
            return wiring.load_rig(given, wanted)
        if given not in self._made:
            self._made[given] = wiring.load_rig(given)
        return self._made[given]

    def _path(self, name: str | Path) -> Path:
        if self._base is not None and (self._base / name).is_file():
            return self._base / name
        return Path(name)

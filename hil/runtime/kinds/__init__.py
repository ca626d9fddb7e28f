"""Kinds of controller, one file each; a kind is loaded when a rig names it, its emulation when a fake is made.

To add a kind: its file here with a `KIND`, and its name below.
"""

from __future__ import annotations

import importlib

from hil.model.rig import Rig
from hil.runtime.kinds.kind import Kind

NAMES = ("ssc32", "rv2aj", "simulated")


def kind_named(name: str) -> Kind:
    """A kind by the name that a rig gives it.

    Raises:
        KeyError: there is none of this name.
    """
    if name not in NAMES:
        raise KeyError(name)
    found: Kind = importlib.import_module(f"{__name__}.{name}").KIND
    return found


def kind_of(rig: Rig) -> Kind:
    """The kind of a rig's controller."""
    return kind_named(rig.controller.kind)

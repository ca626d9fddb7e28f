"""Public names that have moved: they answer where they were, and say where they are, until the next version."""

from __future__ import annotations

import warnings
from importlib import import_module

_MOVED = {
    ("hil.errors", "RefusedError"): "hil.refusal",
    ("hil.types", "Refusal"): "hil.refusal",
    ("hil.motion.planning", "plan"): "hil.motion.planner",
    ("hil.motion.planning", "plan_task"): "hil.motion.planner",
    ("hil.motion.planning", "plan_joint_move"): "hil.motion.planner",
}


def moved(module: str, name: str) -> object:
    """What a module's name stands for that is elsewhere now.

    Raises:
        AttributeError: there never was such a name.
    """
    place = _MOVED.get((module, name))
    if place is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{name} is in {place} now", DeprecationWarning, stacklevel=3)
    return getattr(import_module(place), name)

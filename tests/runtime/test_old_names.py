"""Names that have moved answer where they were, and say where they are."""

from __future__ import annotations

import importlib
import re

import pytest


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("hil.errors", "RefusedError", "hil.refusal"),
        ("hil.types", "Refusal", "hil.refusal"),
        ("hil.motion.planning", "plan", "hil.motion.planner"),
        ("hil.motion.planning", "plan_task", "hil.motion.planner"),
        ("hil.motion.planning", "plan_joint_move", "hil.motion.planner"),
    ],
)
def test_a_name_that_has_moved_is_the_same_thing(module: str, name: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{name} is in {re.escape(now)} now") as told:
        found = getattr(importlib.import_module(module), name)
    assert found is getattr(importlib.import_module(now), name)
    assert told[0].filename == __file__


@pytest.mark.parametrize("module", ["hil.errors", "hil.types", "hil.motion.planning"])
def test_a_name_that_never_was_is_no_name(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Refused'"):
        getattr(importlib.import_module(module), "Refused")  # noqa: B009

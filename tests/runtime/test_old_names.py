"""Names that have moved answer where they were, and say where they are."""

from __future__ import annotations

import importlib

import pytest

from hil import refusal


@pytest.mark.parametrize(("module", "name"), [("hil.errors", "RefusedError"), ("hil.types", "Refusal")])
def test_a_name_that_has_moved_is_the_same_thing(module: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{name} is in hil\.refusal now"):
        found = getattr(importlib.import_module(module), name)
    assert found is getattr(refusal, name)


@pytest.mark.parametrize("module", ["hil.errors", "hil.types"])
def test_a_name_that_never_was_is_no_name(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Refused'"):
        getattr(importlib.import_module(module), "Refused")  # noqa: B009

"""Lint and interpreter agree: what lint calls an error ends a run, and what ends a run lint has named."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from program_generator import bundled, judge, written

from hil.program.lint import lint
from hil.program.programs import find_program, read_for_lint


@pytest.mark.parametrize("seed", range(80))
def test_they_agree_on_programs_written_by_chance(seed: int) -> None:
    judge(written(str(seed)), random.Random(seed))


@pytest.mark.parametrize("path", bundled(), ids=lambda path: path.stem)
def test_they_agree_on_every_program_that_comes_along(path: Path) -> None:
    beside = path.with_suffix(".pos")
    text = path.read_text(encoding="utf-8")
    judge(f"{text}\n{beside.read_text(encoding='utf-8')}" if beside.exists() else text, random.Random(1))


@pytest.mark.parametrize("name", ["arcs", "interrupt", "palletise", "pick-and-place", "talk"])
def test_a_program_to_learn_from_has_nothing_worth_a_word(name: str) -> None:
    assert lint(*read_for_lint(find_program(name))) == ()

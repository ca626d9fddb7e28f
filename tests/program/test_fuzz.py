"""Whatever the text: a program, or errors with their place; and arms that stay inside their limits."""

from __future__ import annotations

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from program_fuzz import judge, mutated, seeds

from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.points import parse_points
from hil.program.structure import read_program
from hil.program.trace import from_csv

PROGRAMS = seeds()


@pytest.mark.parametrize("chance", range(60))
def test_mutated_programs_are_read_checked_and_run_without_surprises(chance: int) -> None:
    judge(mutated(random.Random(chance), PROGRAMS), ticks=80)


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_program_or_has_errors_with_a_place(text: str) -> None:
    for dialect in Dialect:
        _, errors = read_program(text, dialect=dialect)
        assert all(error.row >= 1 and error.column >= 1 and error.number >= 2000 for error in errors)


@given(st.text(alphabet="0123456789 ()+-*/^=<>,.\"'PMJC$#&_:\n*ABXYZ", max_size=120))
@settings(max_examples=80, deadline=None)
def test_any_jumble_of_the_languages_own_characters_is_read(text: str) -> None:
    judge(text, ticks=10, with_lint=False)


@pytest.mark.parametrize("code", ["(" * 120, "-" * 120 + "1", "NOT " * 30 + "1", "1" + "+1" * 60, "((1,2),3)" * 9])
def test_deep_and_long_expressions_end_in_an_error_or_a_value(code: str) -> None:
    judge(f"M1={code}")
    judge(f"MOV {code}")


@given(st.text(max_size=120))
@settings(max_examples=60, deadline=None)
def test_any_text_as_points_or_as_a_trace_is_read_or_refused(text: str) -> None:
    for reader in (parse_points, from_csv):
        try:
            reader(text)
        except ProgramError as error:
            assert error.number in (3110, 3120, 3860)

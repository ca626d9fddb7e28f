"""Every program of the corpus is read, refused or run as its own first lines say."""

from __future__ import annotations

import pytest
from corpus_files import Wanted, corpus

from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.interpreter import Interpreter, SlotState
from hil.program.motions import default_limits
from hil.program.rv2aj import Rv2aj
from hil.program.signals import AssumedSignals
from hil.program.structure import parse_program
from hil.units import DEG

HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]
PROGRAMS = corpus()


def verdict(text: str, dialect: Dialect) -> str:
    """``ok``, or number, row and column of the first error."""
    try:
        parse_program(text, dialect=dialect)
    except ProgramError as error:
        return f"{error.number} {error.row} {error.column}"
    return "ok"


@pytest.mark.parametrize("wanted", PROGRAMS, ids=lambda wanted: wanted.name)
def test_a_program_is_read_or_refused_with_number_line_and_column(wanted: Wanted) -> None:
    assert verdict(wanted.text, Dialect.STRICT) == wanted.strict
    assert verdict(wanted.text, Dialect.LOOSE) == wanted.loose
    if wanted.points is not None:
        assert len(parse_program(wanted.text).points) == wanted.points


@pytest.mark.parametrize("wanted", [each for each in PROGRAMS if each.run], ids=lambda wanted: wanted.name)
def test_a_program_runs_to_its_end_or_to_its_error(wanted: Wanted) -> None:
    machine = Interpreter(
        parse_program(wanted.text), Rv2aj(), AssumedSignals(wanted.inputs), default_limits(0.02), HOME
    )
    machine.run()
    for _ in range(3000):
        machine.tick()
        if machine.state is not SlotState.RUNNING:
            break
    if wanted.run == "ended":
        assert machine.error is None
        assert machine.state is SlotState.ENDED
    else:
        assert machine.error is not None
        assert f"{machine.error.number} {machine.error.row}" == wanted.run


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(PROGRAMS) >= 40

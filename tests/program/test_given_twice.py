"""A point that is given twice is an error wherever it is read; words that only V knows are known as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import ConfigError
from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.points import parse_points
from hil.program.programs import load_program, read_for_lint
from hil.program.structure import parse_program
from sim.cr1 import Cr1

ONE = "P1=(250,0,400,0,180,0)(6,0)\n"
TWO = "P1=(250,0,380,0,180,0)(6,0)\n"


def test_a_list_gives_a_point_once() -> None:
    with pytest.raises(ProgramError, match=r"mine.pos:2:1: L4350 .*point P1") as told:
        parse_points(ONE + TWO, "mine.pos")
    assert told.value.number == 4350
    assert len(parse_points(ONE + TWO.replace("P1", "P2"))) == 2


@pytest.mark.parametrize("read", [load_program, read_for_lint])
def test_the_list_beside_a_program_does_too(read: object, tmp_path: Path) -> None:
    (tmp_path / "twice.mb4").write_text("10 MOV P1\n20 END\n", encoding="utf-8")
    (tmp_path / "twice.pos").write_text(ONE + TWO, encoding="utf-8")
    with pytest.raises(ProgramError, match="L4350"):
        read(tmp_path / "twice.mb4")  # type: ignore[operator]


def test_a_program_that_the_fake_keeps_from_the_start_does_too() -> None:
    with pytest.raises(ConfigError, match="4350"):
        Cr1(programs={"TWICE": f"10 MOV P1\n20 END\n{ONE}{TWO}"})
    Cr1(programs={"ONCE": f"10 MOV P1\n20 END\n{ONE}"})
    Cr1(programs={"SAME": "10 MOV P1\n10 MOV P2\n20 END\n"})


@pytest.mark.parametrize("line", ["COLCHK ON", "COLCHK OFF", "COLCHK ON,NOERR"])
def test_colchk_is_known_for_v_and_no_statement_of_iv(line: str) -> None:
    parse_program(f"10 {line}\n20 END", dialect=Dialect.LOOSE)
    with pytest.raises(ProgramError, match="COLCHK is V") as told:
        parse_program(f"10 {line}\n20 END", dialect=Dialect.STRICT)
    assert told.value.number == 4220

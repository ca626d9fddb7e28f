"""Mathematica text: its syntax, and its values when its own rules are followed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hil
from hil.kernels.check_vectors import check_vectors
from hil.kernels.emit_mathematica import mathematica_files, mathematica_number, mathematica_text
from hil.kernels.export_options import Options
from hil.kernels.quantities import QUANTITIES, derive
from hil.kernels.routine import Argument, Routine, draft

PUMA = hil.load_robot("puma560").model

RULES: list[tuple[str, str]] = [
    (r"\[\[(\d+)\]\]", r"._\1"),  # parts are taken first, since lists lose their brackets
    (r"(\d)\*\^(-?\d+)", r"\1e\2"),
    (r"<\|", "record("),
    (r"\|>", ")"),
    (r'"(\w+)" -> ', ""),
    (r"\[", "("),
    (r"\]", ")"),
    (r"\{", "row("),
    (r"\}", ")"),
]


class List(tuple[Any, ...]):
    """A list whose parts are counted from one."""

    def __getattr__(self, part: str) -> Any:
        return self[int(part[1:]) - 1]


def row(*parts: Any) -> List:
    return List(parts)


def piecewise(cases: List, other: Any) -> Any:
    return next((value for value, holds in cases if holds), other)


SCOPE = {
    "Sin": math.sin,
    "Cos": math.cos,
    "Sqrt": math.sqrt,
    "Max": max,
    "ArcTan": lambda x, y: math.atan2(y, x),
    "Piecewise": piecewise,
    "row": row,
    "record": row,
}


def function(routine: Routine) -> Callable[..., Any]:
    """The function of the text, token for token."""
    text = mathematica_text(routine, PUMA.id)
    found = re.search(r"^\w+\[([^\]]*)\](?: /;[^\n]*)? := Module\[\n  \{([^}]*)\},\n(.*)\n\];$", text, re.M | re.S)
    assert found is not None
    patterns, names, statements = found.groups()
    arguments = [pattern.partition("_")[0] for pattern in patterns.split(", ")]
    *steps, value = (statement.strip() for statement in statements.split(";"))
    assert [step.partition(" = ")[0] for step in steps] == [name for name in re.split(r",\s+", names) if name]
    code = "\n".join([*(" ".join(step.split()) for step in steps), f"value = {' '.join(value.split())}"])
    for pattern, replacement in RULES:
        code = re.sub(pattern, replacement, code)

    def call(*given: Any) -> Any:
        scope = {**SCOPE, **dict(zip(arguments, given, strict=True))}
        exec(code, scope)
        return scope["value"]

    return call


def flat(value: Any) -> list[float]:
    return [number for part in value for number in flat(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_function_gives_the_numbers(name: str) -> None:
    routine = derive(PUMA, name)
    call = function(routine)
    for vector in check_vectors(PUMA, routine, Options(vectors=2), with_conditions=True):
        values = iter(vector.given)
        arguments = [
            List(next(values) for _ in range(a.length)) if a.length else next(values) for a in routine.arguments
        ]
        assert flat(call(*arguments)) == pytest.approx(vector.expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["forward_kinematics", "jacobian", "mass_matrix", "inverse_jacobian"])
def test_a_parser_of_the_language_takes_every_statement(name: str) -> None:
    parse = pytest.importorskip("sympy.parsing.mathematica").parse_mathematica
    text = re.sub(r'^\w+::usage = "[^"]*";$', "", mathematica_text(derive(PUMA, name), "puma560"), flags=re.M)
    text = re.sub(r"\*\^(-?\d+)", r"*10^(\1)", text)  # which this parser does not know
    for statement in re.findall(r"^  (t\d+ = [^;]*);$", text, re.M | re.S)[:40]:
        assert str(parse(" ".join(statement.split())).func) == "Set"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself_and_never_in_e_notation(value: float) -> None:
    text = mathematica_number(value)
    assert re.fullmatch(r"-?\d+(\.\d+(\*\^-?\d+)?)?", text)
    assert float(text.replace("*^", "e")) == value


def test_whole_numbers_are_exact_and_small_ones_are_not() -> None:
    assert mathematica_number(2.0) == "2"
    assert mathematica_number(1.5e-7) == "1.5*^-7"
    assert mathematica_number(1e-7) == "1.0*^-7"


def test_the_head_names_the_arm_and_refuses_lists_of_another_length() -> None:
    text = mathematica_text(derive(PUMA, "forward_kinematics"), PUMA.id)
    assert "ForwardKinematicsPuma560[q_List] /; Length[q] == 6 := Module[" in text


def test_names_have_no_underscore_and_steps_make_way_for_arguments() -> None:
    def body(t0, wanted_q, functions):
        return {"y": ((), (functions.sin(t0) + wanted_q,), "y"), "other_one": ((), (t0,), "z")}

    routine = draft("two_names", "Two.", [Argument("t0", 0, "a"), Argument("wanted_q", 0, 'with "quotes"')], body)
    text = mathematica_text(routine)
    assert "TwoNames[t0_, wantedQ_] := Module[" in text
    assert "stept0 = Sin[t0];" in text
    assert '<|"y" -> ' in text and '"otherOne" -> t0|>' in text
    assert r"with \"quotes\"" in text


@pytest.mark.parametrize("robot", ["puma560", "adept-cobra600", "stanford"])
def test_brackets_and_comments_of_the_files_are_balanced(robot: str) -> None:
    model = hil.load_robot(robot).model
    routines = [derive(model, name) for name in ("forward_kinematics", "jacobian", "link_frames")]
    files = mathematica_files(model, routines, Options())
    assert set(files) == {f"{robot.replace('-', '_')}.wl", "check.wl"}
    for text in files.values():
        assert text.count("(*") == text.count("*)") == 1
        code = re.sub(r'"[^"]*"', '""', text[text.index("*)") + 2 :])
        opened: list[str] = []
        for letter in code:
            if letter in "([{":
                opened.append({"(": ")", "[": "]", "{": "}"}[letter])
            elif letter in ")]}":
                assert opened.pop() == letter
        assert not opened

"""Text to formula: what is read, what is refused, and with which words at which place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError, HilError
from hil.formula.errors import FormulaError, caret_lines
from hil.formula.formula import Unit, Variable, read_formula
from hil.formula.reader import DEEPEST, LARGEST_EXPONENT, MOST_CHARACTERS, MOST_PARTS

U, V = 0.3, 0.7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("40*sin(u)*cos(v)", 40 * math.sin(U) * math.cos(V)),
        ("2 + 3*4^2/8 - 1", 7.0),
        ("-u^2", -(U**2)),
        ("2^-u", 2**-U),
        ("2^3^2", 512.0),
        ("u**2", U**2),
        ("-(-u)", U),
        ("8 / 4 / 2", 1.0),
        ("8 - 4 - 2", 2.0),
        (".5e1 + 1.", 6.0),
        ("tan(u) + atan(v) + atan2(u, v)", math.tan(U) + math.atan(V) + math.atan2(U, V)),
        ("asin(u) + acos(v)", math.asin(U) + math.acos(V)),
        ("sinh(u) + cosh(u) + tanh(u)", math.sinh(U) + math.cosh(U) + math.tanh(U)),
        ("sqrt(u) + exp(u) + log(v) + log10(1000)", math.sqrt(U) + math.exp(U) + math.log(V) + 3.0),
        ("abs(-3) + sign(-2) + sign(0) + sign(5)", 3.0),
        ("floor(-1.5) + ceil(1.5)", 0.0),
        ("hypot(3, 4)", 5.0),
        ("min(3, u, 2) + max(1, v, 4)", U + 4.0),
        ("cos(60*deg) + sin(pi/2)", 1.5),
        ("log(e)", 1.0),
        ("if(u < 1, 10, 20)", 10.0),
        ("if(u < 0, 1, u < 0.5, 2, 3)", 2.0),
        ("if(0 <= u <= 0.3, 1, 2)", 1.0),
        ("if(0.3 < u, 1, 2)", 2.0),
        ("if(u > 0.2 and not v > 1, 1, 2)", 1.0),
        ("if(u > 1 or (v > 0.5), 1, 2)", 1.0),
        ("if(u < 1, sqrt(1 - u), sqrt(u - 1))", math.sqrt(1 - U)),
        ("  u\n + v\t", U + V),
    ],
)
def test_a_formula_has_its_value(text: str, value: float) -> None:
    assert read_formula(text, ("u", "v")).value(u=U, v=V) == pytest.approx(value, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("40*sinn(u)*cos(v)", 4, "no function is called sinn"),
        ("40*sinn(u)", 4, "Did you mean sin?"),
        ("Sin(u)", 1, "Did you mean sin?"),
        ("ln(u)", 1, "Did you mean log?"),
        ("arctan(u)", 1, "Did you mean atan?"),
        ("2*PI", 3, "Did you mean pi?"),
        ("π*u", 1, "Did you mean pi?"),
        ("u²", 1, "Did you mean u^2?"),
        ("w + u", 1, "nothing is called w; allowed: u, v, pi, e, deg"),
        ("3,5*u", 2, "Write 3.5 for 3,5"),
        ("u*12,75", 5, "Write 12.75 for 12,75"),
        ("sin(3,5)", 6, "a comma stands between digits"),
        ("max(1,5, u)", 6, "A blank behind a comma parts two numbers"),
        ("if(u<0,5, 1, 2)", 7, "Write 0.5 for 0,5"),
        ("u, v", 2, "Commas part the arguments of a function"),
        ("2u", 2, "For a product write 2*u"),
        ("2 sin(u)", 3, "For a product write 2*sin(...)"),
        ("(u)(v)", 4, "For a product write *"),
        ("u(v)", 1, "For a product write u*(...)"),
        ("sin u", 5, "Write sin(...)"),
        ("sin", 1, "sin stands without brackets"),
        ("sin()", 1, "sin with no arguments; allowed: 1 argument"),
        ("atan2(u)", 1, "atan2 with 1 argument; allowed: 2 arguments"),
        ("max(u)", 1, "allowed: 2 or more arguments"),
        ("if(u < 1, u)", 1, "if(condition, value, otherwise)"),
        ("if(u, 1, 2)", 1, "a number is no condition"),
        ("u < 1", 3, "a condition is no number"),
        ("sin(u < 1)", 7, "a condition is no number"),
        ("if(u == 1, 1, 2)", 6, "equality holds for a sample by luck only"),
        ("if(0 < u > 1, 1, 2)", 10, "look in two directions"),
        ("u < 1 < 2 < 3", 11, "0 <= u < 1"),
        ("", 1, "there is no formula"),
        ("u +", 4, "the formula is not complete"),
        ("sin(u", 6, "Close a bracket"),
        ("((u", 4, "Close 2 brackets"),
        ("u)", 2, "never opened"),
        ("u*()", 4, "where a value is expected"),
        ("* u", 1, "where a value is expected"),
        ("1/0", 2, "1 divided by 0"),
        ("u + sqrt(-1)", 5, "sqrt of -1; allowed: 0 or more"),
        ("if(u < 1, 2, 1/(1 - 1))", 15, "1 divided by 0"),
        ("1e999", 1, "too large"),
        ("u^1000", 3, f"allowed: up to {LARGEST_EXPONENT:g}"),
        ("u.real", 2, "nothing else has a point"),
        ("u.__class__", 2, "nothing else has a point"),
        ("__import__('os')", 12, "No text stands in a formula"),
        ("eval(u)", 1, "no function is called eval"),
        ("u[0]", 2, "Brackets are round"),
        ("lambda: u", 7, "':' found"),
        ("u; v", 2, "arguments are parted by commas"),
        ("45°", 3, "30*deg"),
        ("u \N{MINUS SIGN} v", 3, "Write - for it"),
        ("y = u", 3, "Write the right side alone"),
    ],
)
def test_what_is_no_formula_is_refused_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(FormulaError) as caught:
        read_formula(text, ("u", "v"), what="x")
    error = caught.value
    assert words in error.sentence
    assert (error.text, error.column, error.what) == (text, column, "x")
    first, excerpt, caret = str(error).split("\n")
    assert first.startswith(f"x, column {column}: ")
    assert excerpt.rstrip("\t ") == f"    {text}".rstrip() and caret == " " * (4 + column - 1) + "^"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("u" + "+1" * (MOST_CHARACTERS // 2), f"allowed: {MOST_CHARACTERS} characters"),
        (f"max({','.join(['-----u'] * (MOST_PARTS // 5))})", f"more than {MOST_PARTS} parts"),
        ("u" + "+u" * DEEPEST, f"nested more than {DEEPEST} deep"),
        ("-" * 150 + "u", f"nested more than {DEEPEST} deep"),
        ("2^" * 150 + "u", f"nested more than {DEEPEST} deep"),
        ("sin(" * 150 + "u" + ")" * 150, f"nested more than {DEEPEST} deep"),
    ],
)
def test_a_formula_has_bounds(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words):
        read_formula(text, ("u",))


def test_brackets_alone_do_not_nest() -> None:
    assert read_formula("(" * 900 + "u" + ")" * 900, ("u",)).value(u=2.0) == 2.0


def test_a_sum_of_as_many_parts_as_allowed_is_read() -> None:
    text = "u" + "+u" * (DEEPEST - 1)
    assert read_formula(text, ("u",)).value(u=1.0) == DEEPEST


def test_an_angle_in_degrees_is_turned_and_other_units_are_not() -> None:
    formula = read_formula(
        "sin(a) + l", (Variable(name="a", unit=Unit.DEGREES), Variable(name="l", unit=Unit.CENTIMETRES))
    )
    assert formula.value(a=30.0, l=2.0) == pytest.approx(2.5)


def test_a_declared_name_hides_a_known_one() -> None:
    assert read_formula("e*pi", ("e",), {"pi": 3.0}).value(e=2.0) == 6.0


@pytest.mark.parametrize(
    ("variables", "constants", "words"),
    [
        (("sin",), {}, "is a word of every formula"),
        (("if",), {}, "is a word of every formula"),
        (("and",), {}, "is a word of every formula"),
        (("u v",), {}, "cannot be a name"),
        (("_u",), {}, "cannot be a name"),
        (("ü",), {}, "cannot be a name"),
        (("u", "u"), {}, "declared twice"),
        (("u",), {"u": 1.0}, "declared twice"),
        (("u",), {"k": math.nan}, "the constant k is nan"),
        (tuple(f"u{i}" for i in range(51)), {}, "51 names"),
    ],
)
def test_names_that_cannot_be_declared(variables, constants, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        read_formula("1", variables, constants)


def test_what_is_used_is_known_and_the_rest_need_not_be_given() -> None:
    formula = read_formula("2*u", ("u", "v"))
    assert formula.used == {"u"} and formula.value(u=2.0) == 4.0
    with pytest.raises(CommandError, match="u of '2\\*u' is None"):
        formula.value(v=1.0)
    with pytest.raises(CommandError, match="finite"):
        formula.value(u=math.inf)


def test_the_caret_of_a_long_formula_stands_below_its_place() -> None:
    text = "+".join(str(i) for i in range(100, 300))
    column = text.index("250") + 1
    excerpt, caret = caret_lines(text, column).split("\n")
    assert excerpt[caret.index("^") :].startswith("250") and len(excerpt) < 90


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("uv123.,+-*/^()<>= sincoqrtabef&'\"_[]{}²π\n"), max_size=40))
def test_any_text_is_a_formula_or_is_refused_in_words(text: str) -> None:
    try:
        read_formula(text, ("u", "v"))
    except FormulaError as error:
        assert 1 <= error.column <= len(text) + 1 and error.detail


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_text_of_any_letters_is_a_formula_or_is_refused_in_words(text: str) -> None:
    try:
        read_formula(text, ("u",)).value(u=0.5)
    except HilError as error:
        assert str(error)

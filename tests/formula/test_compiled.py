"""Many samples at once: the same values as one by one, exact slopes, and the place where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.formula.compiled import CompiledFormulas
from hil.formula.errors import FormulaError, OutsideDomainError
from hil.formula.formula import Unit, Variable, read_formula
from hil.kernels.compiled import CompiledRoutine
from hil.kernels.emit_numba import numba_source
from hil.kernels.scalar import ARRAYS, FLOATS

_NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 4))
_LEAVES = st.one_of(st.sampled_from(["u", "v"]), st.floats(0, 3).map(lambda x: repr(round(x, 3))))


def _texts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = st.sampled_from(["sin", "cos", "sqrt", "abs", "sign", "floor", "exp", "log", "atan", "asin", "tanh"])
    return st.one_of(
        st.builds("{}({})".format, one, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("({}^{})".format, inner, st.sampled_from(["2", "3", "-1", "0.5", "1.5", "(-2.5)"])),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("if({} {} {}, {}, {})".format, inner, st.sampled_from(["<", "<=", ">", ">="]), inner, inner, inner),
    )


@settings(max_examples=120, deadline=None)
@given(
    st.recursive(_LEAVES, _texts, max_leaves=8),
    st.lists(st.floats(-3, 3).map(lambda x: round(x, 4)), min_size=4, max_size=4),
)
def test_many_samples_give_what_one_gives_and_refuse_what_one_refuses(text: str, numbers: list[float]) -> None:
    columns = {"u": np.array(numbers[:2]), "v": np.array(numbers[2:])}
    try:
        formula = read_formula(text, ("u", "v"))
        compiled = CompiledFormulas([formula])
    except FormulaError:
        return
    with np.errstate(all="ignore"):
        as_arrays = np.broadcast_to(formula.over(columns, ARRAYS, strict=True), (2,))
    outside = None
    for sample in reversed(range(2)):
        try:
            one = formula.value_at({name: float(row[sample]) for name, row in columns.items()}, sample)
            assert one == pytest.approx(as_arrays[sample], rel=1e-9, abs=1e-9)
        except OutsideDomainError as error:
            outside = error
            assert not np.isfinite(as_arrays[sample])
    try:
        found = compiled.values(columns)[:, 0]
    except OutsideDomainError as error:
        assert outside is not None
        assert (error.sample, error.column, error.detail) == (outside.sample, outside.column, outside.detail)
    else:
        # The graph may have cancelled what has no value, as 0/u ; a jump may be met on its other side by a last digit.
        jumps = any(word in text for word in ("floor", "sign", "if"))
        defined = np.isfinite(as_arrays) & (np.array([not jumps] * 2) | np.isclose(found, as_arrays))
        assert found[defined] == pytest.approx(as_arrays[defined], rel=1e-9, abs=1e-9)


def test_slopes_are_exact_and_per_declared_unit() -> None:
    variables = (Variable(name="u", unit=Unit.DEGREES), Variable(name="v"))
    compiled = CompiledFormulas([read_formula("sin(u)*v", variables), read_formula("v^3", variables)])
    columns = {"u": np.array([0.0, 60.0]), "v": np.array([2.0, 4.0])}
    degree = math.pi / 180
    assert compiled.slopes(columns, "u") == pytest.approx(np.array([[2 * degree, 0], [2 * degree, 0]]))
    assert compiled.slopes(columns, "v") == pytest.approx(np.array([[0, 12], [math.sqrt(0.75), 48]]))


def test_a_choice_has_the_slope_of_its_side() -> None:
    compiled = CompiledFormulas([read_formula("if(u < 1, u^2, 2*u - 1)", ("u",))])
    assert compiled.slopes({"u": np.array([0.5, 1.0, 3.0])}, "u")[:, 0].tolist() == [1.0, 2.0, 2.0]


def test_the_first_sample_outside_the_domain_is_told_with_place_and_operation() -> None:
    variables = (Variable(name="u"), Variable(name="v", unit=Unit.DEGREES))
    compiled = CompiledFormulas(
        [read_formula("u", variables, what="x"), read_formula("sqrt(0.9 - u) + v", variables, what="y")]
    )
    with pytest.raises(OutsideDomainError) as caught:
        compiled.values({"u": np.array([0.0, 1.2, 2.0]), "v": np.array([0.0, 90.0, 180.0])})
    error = caught.value
    assert (error.sample, error.column, error.what, error.place) == (1, 1, "y", {"u": 1.2, "v": 90.0})
    first = str(error).split("\n")[0]
    assert first == "y, column 1: outside its domain at u = 1.2, v = 90 deg: sqrt of -0.3; allowed: 0 or more"


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("1/u", 0.0, "1 divided by 0"),
        ("u^0.5", -1.0, "-1 to the power 0.5"),
        ("u^(0-2)", 0.0, "0 to the power -2"),
        ("log(u)", 0.0, "log of 0; allowed: more than 0"),
        ("acos(u)", 1.5, "acos of 1.5; allowed: -1 to 1"),
        ("exp(u)", 1000.0, "exp of 1000"),
        ("sign(log(u))", -1.0, "log of -1"),
        ("if(sqrt(u) < 1, 2, 3)", -1.0, "sqrt of -1"),
        ("max(sqrt(u), 1)", -1.0, "sqrt of -1"),
        ("atan(1/u)", 0.0, "1 divided by 0"),
        ("1/(1/u)", 0.0, "1 divided by 0"),
        ("tanh(log(u))", 0.0, "log of 0"),
        ("if(exp(u) > 1, 1, 2)", 800.0, "exp of 800"),
        ("u*u", 1e200, "1e+200 * 1e+200"),
    ],
)
def test_no_value_hides(text: str, at: float, words: str) -> None:
    with pytest.raises(OutsideDomainError, match="outside its domain") as caught:
        CompiledFormulas([read_formula(text, ("u",))]).values({"u": np.array([at])})
    assert words in str(caught.value)


def test_a_side_that_is_not_taken_may_have_no_value() -> None:
    compiled = CompiledFormulas([read_formula("if(u < 0, 0, if(sqrt(u) < 2, 1, 1/u))", ("u",))])
    assert compiled.values({"u": np.array([-1.0, 0.0, 9.0])})[:, 0].tolist() == [0.0, 1.0, 1 / 9]


def test_a_slope_that_is_not_finite_is_told() -> None:
    compiled = CompiledFormulas([read_formula("sqrt(u)", ("u",))])
    assert compiled.values({"u": np.array([0.0])}) == 0.0
    with pytest.raises(OutsideDomainError, match="no finite slope along u") as caught:
        compiled.slopes({"u": np.array([1.0, 0.0])}, "u")
    assert caught.value.sample == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "no values for the variable u"),
        ({"u": np.array([0.0, math.nan])}, "u of sample 1 is nan"),
        ({"u": np.zeros((2, 2))}, r"\(2, 2\)"),
    ],
)
def test_bad_samples_are_refused(columns, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        CompiledFormulas([read_formula("u", ("u",))]).values(columns)


def test_a_formula_goes_over_any_scalar_and_to_numba() -> None:
    formula = read_formula("if(u < 1, tanh(u), floor(u)) + exp(-u)", ("u",))
    for u in (0.5, 2.5):
        wanted = (math.tanh(u) if u < 1 else math.floor(u)) + math.exp(-u)
        assert formula.over({"u": u}, FLOATS) == pytest.approx(wanted)
        assert formula.over({"u": np.array([u])}, ARRAYS)[0] == pytest.approx(wanted)
    source = numba_source(CompiledFormulas([formula]).routine())
    assert source.startswith("from math import exp, floor, tanh\n") and "np.floor(" in source


@pytest.mark.parametrize(("text", "column"), [("u/(u - u)", 2), ("1e200*u*1e200", 8), ("2 + sqrt(u - u - 1)", 5)])
def test_what_has_no_value_anywhere_is_found_when_the_graph_is_made(text: str, column: int) -> None:
    with pytest.raises(FormulaError, match="whatever the variables are") as caught:
        CompiledFormulas([read_formula(text, ("u",))])
    assert caught.value.column == column


@pytest.mark.parametrize("by", ["", "u"])
def test_machine_code_gives_the_same(by: str) -> None:
    pytest.importorskip("numba")
    text = "if(u < 1, tanh(u), floor(u)) + exp(-u)*log(u + 4) + sinh(u/3) - cosh(v)^1.5 + atan2(u, v)*max(u, v, 0.3)"
    compiled = CompiledFormulas([read_formula(text, ("u", "v"))])
    table = np.random.default_rng(3).uniform(-3.0, 3.0, (300, 2))
    columns = {"u": table[:, 0], "v": table[:, 1]}
    wanted = compiled.slopes(columns, by) if by else compiled.values(columns)
    found = np.empty_like(wanted)
    assert CompiledRoutine(compiled.routine(by)).many(table, found)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)

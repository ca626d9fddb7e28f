"""Derivatives on the graph against finite differences of the same formula."""

import math

import pytest
from formulas import FORMULAS, VALUES, on_floats, value_of
from hypothesis import assume, given, settings

from hil.kernels.differentiate import derivatives
from hil.kernels.emit_python import python_function
from hil.kernels.expression import Graph
from hil.kernels.routine import Argument, draft
from hil.kernels.scalar import FLOATS

STEP = 1e-5


def _rate(formula, given, place):
    def body(x, functions):
        value = functions.expression(value_of(formula, x, functions))
        return {"rate": ((), derivatives([value], x[place]), "rate")}

    return python_function(draft("rate", "A rate.", [Argument("x", len(given), "inputs")], body))(list(given))


@settings(max_examples=200, deadline=None)
@given(FORMULAS, VALUES)
def test_a_derivative_is_that_of_finite_differences(formula, values) -> None:
    value, seen = on_floats(formula, values)
    beside = [[*values[:1], values[1] + step, values[2]] for step in (-2 * STEP, -STEP, STEP, 2 * STEP)]
    margins = [on_floats(formula, point)[1].margin for point in beside]
    assume(seen.margin > 1e-2 and min(margins) > 1e-2 and seen.largest < 1e3)
    far_below, below, above, far_above = (on_floats(formula, point)[0] for point in beside)
    slopes = [(above - below) / (2 * STEP), (far_above - far_below) / (4 * STEP)]
    # Where two steps disagree there is a corner, or a bend too sharp for finite differences.
    assume(abs(slopes[0] - slopes[1]) < 1e-6 * max(1.0, abs(slopes[0])) and abs(value) < 1e3)
    one_sided = [(above - value) / STEP, (value - below) / STEP]
    assume(abs(one_sided[0] - one_sided[1]) < 1e-2 * max(1.0, abs(slopes[0])))
    assert _rate(formula, values, 1) == pytest.approx(slopes[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("write", "at", "slope"),
    [
        (lambda f, x: f.power(x, 3.0), -2.0, 12.0),
        (lambda f, x: f.power(x, 0.5), 4.0, 0.25),
        (lambda f, x: f.power(x, -2.0), 2.0, -0.25),
        (lambda f, x: f.power(x, 20.0), -1.0, -20.0),
        (lambda f, x: f.power(2.0, x), 3.0, 8.0 * math.log(2.0)),
        (lambda f, x: f.tanh(x), 0.5, 1.0 / math.cosh(0.5) ** 2),
        (lambda f, x: f.atan2(x, 1.0), 2.0, 0.2),
        (lambda f, x: f.maximum(x, -x), -3.0, -1.0),
        (lambda f, x: f.where(x - 1.0, x * x, x), 1.0, 2.0),
        (lambda f, x: f.floor(x), 2.5, 0.0),
    ],
)
def test_known_slopes(write, at: float, slope: float) -> None:
    def body(x, functions):
        return {"rate": ((), derivatives([write(functions, x)], x), "rate")}

    assert python_function(draft("rate", "A rate.", [Argument("x", 0, "input")], body))(at) == pytest.approx(slope)


@pytest.mark.parametrize("whole", range(-18, 19))
def test_a_whole_power_of_a_negative_number_is_its_product(whole: int) -> None:
    def body(x, functions):
        return {"y": ((), [functions.power(x, float(whole))], "power")}

    power = python_function(draft("power", "A power.", [Argument("x", 0, "input")], body))
    assert power(-1.25) == pytest.approx(FLOATS.power(-1.25, float(whole)), rel=1e-14)


def test_a_value_that_does_not_depend_on_the_input_has_the_rate_zero() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert derivatives([graph.sin(y) / (y + 2.0)], x) == (graph.constant(0.0),)

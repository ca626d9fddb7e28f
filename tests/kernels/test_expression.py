"""The expression graph: equal things are one node, constants are folded, and nothing changes its value."""

from __future__ import annotations

import math

import pytest
from formulas import FORMULAS, VALUES, on_floats, routine_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.kernels.emit_python import python_function
from hil.kernels.expression import Expression, Graph, Operation
from hil.kernels.routine import Argument, draft, live_nodes

NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)


@pytest.fixture
def graph() -> Graph:
    return Graph()


@settings(max_examples=300)
@given(FORMULAS, VALUES)
def test_a_formula_through_the_graph_equals_the_formula_on_floats(formula, values) -> None:
    expected, seen = on_floats(formula, values)
    assume(seen.margin > 1e-6 and seen.largest < 1e6)
    (found,) = python_function(routine_of([formula]))(values)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * seen.largest)


@settings(max_examples=100)
@given(FORMULAS)
def test_no_node_is_made_of_constants_alone_and_none_is_there_twice(formula) -> None:
    nodes = live_nodes(routine_of([formula]))
    for node in nodes:
        if node.operands:
            assert any(operand.operation is not Operation.CONSTANT for operand in node.operands)
    keys = [(node.operation, tuple(o.index for o in node.operands), node.value, node.name) for node in nodes]
    assert len(set(keys)) == len(keys)


@settings(max_examples=100)
@given(FORMULAS)
def test_operands_come_before_what_uses_them(formula) -> None:
    for node in live_nodes(routine_of([formula])):
        assert all(operand.index < node.index for operand in node.operands)


@settings(max_examples=50)
@given(FORMULAS)
def test_the_same_formula_again_adds_no_node(formula) -> None:
    once, twice = routine_of([formula]), routine_of([formula, formula])
    assert len(twice.graph.nodes) == len(once.graph.nodes)
    first, second = twice.results[0].values
    assert first is second


def test_nothing_is_left_of_what_does_nothing(graph: Graph) -> None:
    x = graph.input("x")
    for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1.0 * x, x / 1.0, graph.negate(-x), +x, graph.maximum(x, x)):
        assert same is x
    for zero in (x * 0.0, 0.0 * x, x - x, 0.0 / x):
        assert zero is graph.constant(0.0)
    assert (0.0 - x) is -x
    assert graph.where(x, x, x) is x


def test_the_order_of_sums_products_and_maxima_makes_no_difference(graph: Graph) -> None:
    x, y = graph.inputs("x", 2)
    assert (x + y) is (y + x)
    assert (x * y) is (y * x)
    assert graph.maximum(x, y) is graph.maximum(y, x)
    assert (2.0 * x) is (x * 2.0)


def test_signs_move_outwards_so_that_they_are_found_equal(graph: Graph) -> None:
    x, y = graph.inputs("x", 2)
    negative_product = -(x * y)
    assert (x * -y) is negative_product
    assert (-x * y) is negative_product
    assert (-x * -y) is (x * y)
    assert (-x / y) is -(x / y)
    assert (x / -y) is -(x / y)
    assert (x + -y) is (x - y)
    assert (-x + y) is (y - x)
    assert (x - -y) is (x + y)
    assert (-x - y) is -(x + y)
    assert -(x - y) is (y - x)
    assert (-2.0 * x) is -(2.0 * x)
    assert (x - -2.0) is (x + 2.0)


def test_constant_factors_are_gathered(graph: Graph) -> None:
    x = graph.input("x")
    assert (2.0 * (3.0 * x)) is (6.0 * x)
    assert (0.5 * (2.0 * x)) is x


@settings(max_examples=50)
@given(st.integers(-9, 9), st.booleans())
def test_whole_quarter_turns_leave_sines_and_cosines_without_a_constant(quarters: int, mirrored: bool) -> None:
    graph = Graph()
    x = graph.input("x")
    angle = quarters * (math.pi / 2)
    turned = angle - x if mirrored else x + angle
    for function in (graph.sin, graph.cos):
        node = function(turned)
        core = node.operands[0] if node.operation is Operation.NEGATE else node
        assert core in (graph.sin(x), graph.cos(x))
        for value in (-2.0, 0.3, 1.1):
            routine = draft("f", "F.", [Argument("x", 0, "angle")], _one(function.__name__, angle, mirrored))
            exact = getattr(math, function.__name__)(angle - value if mirrored else value + angle)
            assert python_function(routine)(value) == pytest.approx(exact, abs=1e-14)


def _one(name: str, angle: float, mirrored: bool):  # type: ignore[no-untyped-def]
    def body(x, functions):  # type: ignore[no-untyped-def]
        return {"y": ((), [getattr(functions, name)(angle - x if mirrored else x + angle)], "value")}

    return body


def test_sine_is_odd_and_cosine_is_even(graph: Graph) -> None:
    x, y = graph.inputs("x", 2)
    assert graph.sin(-x) is -graph.sin(x)
    assert graph.cos(-x) is graph.cos(x)
    assert graph.cos(x - y) is not graph.sin(x - y)


def test_sines_of_constant_quarter_turns_are_exact(graph: Graph) -> None:
    assert [graph.sin(k * math.pi / 2).value for k in range(5)] == [0.0, 1.0, 0.0, -1.0, 0.0]
    assert [graph.cos(k * math.pi / 2).value for k in range(5)] == [1.0, 0.0, -1.0, 0.0, 1.0]


@given(NUMBERS, NUMBERS)
def test_functions_of_constants_are_worked_out_at_once(a: float, b: float) -> None:
    graph = Graph()
    assert graph.expression(graph.atan2(a, b)).value == math.atan2(a + 0.0, b + 0.0)
    assert graph.maximum(a, b).value == max(a, b)
    assert graph.sqrt(abs(a)).value == math.sqrt(abs(a))
    assert graph.where(a, 1.0, 2.0).value == (1.0 if a >= 0.0 else 2.0)
    assert (graph.constant(a) + b).value == a + b


def test_minus_zero_is_zero(graph: Graph) -> None:
    assert graph.constant(-0.0) is graph.constant(0.0)
    assert math.copysign(1.0, Graph().constant(-0.0).value) == 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_constant_that_is_not_finite_is_refused(graph: Graph, value: float) -> None:
    with pytest.raises(CommandError, match="constant"):
        graph.input("x") + value


def test_division_by_the_constant_zero_is_refused(graph: Graph) -> None:
    with pytest.raises(CommandError, match="divides by the constant 0"):
        graph.input("x") / 0.0


def test_an_equation_cannot_branch_on_an_expression(graph: Graph) -> None:
    with pytest.raises(TypeError, match="where"):
        bool(graph.input("x"))


def test_an_input_is_the_same_node_each_time_and_nodes_say_what_they_are(graph: Graph) -> None:
    x, y = graph.inputs("x", 2)
    assert graph.input("x1") is y
    assert repr(x) == "x0"
    assert repr(graph.constant(2.5)) == "2.5"
    assert repr(x * y) == f"*(#{x.index}, #{y.index})"
    assert isinstance(2.0 - x, Expression) and isinstance(2.0 / x, Expression)

"""Routines: what is alive, what gets a name, how text keeps its meaning."""

from __future__ import annotations

import pytest
from formulas import FORMULAS, routine_of
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.expression import Operation
from hil.kernels.quantities import QUANTITIES, derive
from hil.kernels.routine import (
    LONGEST_INLINE,
    Argument,
    Printer,
    draft,
    lines,
    live_nodes,
    operation_counts,
    steps,
)
from hil.kernels.scalar import FLOATS
from hil.model.reader import load_robot


def test_a_draft_keeps_results_row_by_row_with_their_shapes_and_the_equations() -> None:
    def body(q, t, functions):  # type: ignore[no-untyped-def]
        return {"rows": ((2, 2), [q[0], 1.0, t, q[1]], "rows"), "sum": ((), [q[0] + t], "sum")}

    routine = draft("example", "Example.", [Argument("q", 2, "q"), Argument("t", 0, "t")], body)
    assert [result.shape for result in routine.results] == [(2, 2), ()]
    assert [repr(value) for value in routine.results[0].values] == ["q0", "1.0", "t", "q1"]
    assert routine.body([1.0, 2.0], 3.0, FLOATS)["sum"][1] == [4.0]
    assert routine.graph is routine.results[1].values[0].graph


def test_a_result_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="3 values for shape"):
        draft("wrong", "Wrong.", [], lambda functions: {"rows": ((2, 2), [1.0, 2.0, 3.0], "rows")})


def test_what_no_result_needs_is_not_done() -> None:
    def body(q, functions):  # type: ignore[no-untyped-def]
        functions.sin(q[0])
        return {"y": ((), [functions.cos(q[0])], "cosine")}

    routine = draft("cosine", "Cosine.", [Argument("q", 1, "q")], body)
    assert [node.operation for node in live_nodes(routine)] == [Operation.INPUT, Operation.COS]
    assert operation_counts(routine) == {Operation.COS: 1}


@settings(max_examples=100)
@given(st.lists(FORMULAS, min_size=1, max_size=4))
def test_what_is_used_twice_has_a_name_and_no_line_is_long(formulas) -> None:
    routine = routine_of(formulas)
    named = {step.node.index for step in steps(routine)}
    uses: dict[int, int] = {}
    nodes = live_nodes(routine)
    for used in [*(o for node in nodes for o in node.operands), *routine.results[0].values]:
        uses[used.index] = uses.get(used.index, 0) + 1
    for node in nodes:
        if node.operands and node.operation is not Operation.NEGATE and uses[node.index] > 1:
            assert node.index in named
    done: set[int] = set()
    for step in steps(routine):
        assert all(_inline_operations(operand, done) < LONGEST_INLINE for operand in step.node.operands)
        done.add(step.node.index)


def _inline_operations(node, done: set[int]) -> int:  # type: ignore[no-untyped-def]
    if node.index in done or not node.operands:
        return 0
    return 1 + sum(_inline_operations(operand, done) for operand in node.operands)


@settings(max_examples=50)
@given(FORMULAS)
def test_every_line_uses_only_names_given_before(formula) -> None:
    known = {*Printer.functions.values(), "if", "else", "x0", "x1", "x2"}
    for name, text in lines(routine_of([formula]), Printer({})):
        words = text.replace("(", " ").replace(")", " ").replace(",", " ").replace("-", " ").split()
        assert all(word in known for word in words if word[0].isalpha())
        known.add(name)


@pytest.mark.parametrize("name", [name for name in QUANTITIES if "inverse" not in name and "dynamics" not in name][:4])
def test_counts_are_those_of_the_nodes_that_do_something(name: str) -> None:
    routine = derive(load_robot("puma560"), name)
    assert sum(operation_counts(routine).values()) == sum(bool(node.operands) for node in live_nodes(routine))

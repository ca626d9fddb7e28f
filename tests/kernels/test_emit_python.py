"""Straight-line Python from routines."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.chain import chain_of, forward
from hil.kernels.emit_python import python_function, python_source
from hil.kernels.quantities import derive, frame_rows
from hil.kernels.routine import Argument, draft
from hil.kernels.scalar import FLOATS
from hil.model.files import list_names
from hil.model.reader import load_robot


@pytest.mark.parametrize("robot", list_names("robots"))
def test_forward_kinematics_of_every_robot_equals_the_equations_on_floats(robot: str) -> None:
    model = load_robot(robot)
    function, chain = python_function(derive(model, "forward_kinematics")), chain_of(model)

    @settings(max_examples=5)
    @given(st.lists(st.floats(-3.0, 3.0), min_size=model.dof, max_size=model.dof))
    def agrees(q: list[float]) -> None:
        found = [value for row in function(q) for value in row]
        assert found == pytest.approx(list(frame_rows(forward(chain, q, FLOATS))), abs=1e-12)

    agrees()


def test_results_are_numbers_rows_and_stacks_as_their_shapes_say() -> None:
    def body(q, t, functions):  # type: ignore[no-untyped-def]
        return {
            "number": ((), [t], "number"),
            "row": ((1,), [q[0]], "row"),
            "rows": ((1, 2), [1.0, q[0] * t], "rows"),
            "stack": ((2, 1, 1), [t, -t], "stack"),
        }

    routine = draft("shapes", "Shapes.", [Argument("q", 1, "q"), Argument("t", 0, "t")], body)
    assert python_function(routine)((3.0,), 2.0) == (2.0, (3.0,), ((1.0, 6.0),), (((2.0,),), ((-2.0,),)))


def test_the_source_is_one_function_without_branches_or_loops() -> None:
    tree = ast.parse(python_source(derive(load_robot("puma560"), "jacobian")))
    assert sum(isinstance(node, ast.FunctionDef) for node in tree.body) == 1
    assert not any(isinstance(node, ast.For | ast.While | ast.If) for node in ast.walk(tree))


def test_a_sum_of_thousands_of_terms_is_written_without_deep_nesting() -> None:
    def body(q, functions):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(4000):
            total = total + (i + 0.5) * q[i % 3]
        return {"total": ((), [total], "total")}

    function = python_function(draft("total", "Total.", [Argument("q", 3, "q")], body))
    assert function((1.0, 0.0, 0.0)) == sum(i + 0.5 for i in range(0, 4000, 3))

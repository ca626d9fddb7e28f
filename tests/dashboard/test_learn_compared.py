"""No view shows figures that no test has held against the command that it copies."""

from __future__ import annotations

import ast
from pathlib import Path

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402

from hil.dashboard.learn.views import VIEWS  # noqa: E402

COMPARED = {
    "dh": ("test_learn_dh", "test_the_matrix_beside_it_is_that_of_hil_fk"),
    "solutions": ("test_learn_solutions", "test_each_solution_is_an_arm_and_a_row_as_hil_ik_prints_it"),
    "workspace": ("test_learn_workspace", "test_a_volume_and_a_plane_are_those_of_the_command"),
    "curves": ("test_learn_curves", "test_a_curve_is_the_one_of_the_command"),
    "dynamics": ("test_learn_dynamics", "test_torques_of_a_motion_are_those_of_the_command"),
    "tuning": ("test_learn_dynamics", "test_a_search_is_the_one_of_the_command"),
    "programs": ("test_learn_programs", "test_a_run_is_that_of_the_command_that_is_copied"),
    "specification": ("test_learn_specification", "test_the_table_says_what_hil_robots_says"),
}
"""The test that runs the command which a view copies, and compares what it prints with what the view shows."""

RUNS_IT = {"printed", "run", "invoke", "told"}


def test_every_view_has_a_test_of_its_figures_against_its_command() -> None:
    assert set(COMPARED) == {kind.name for kind in VIEWS}


@pytest.mark.parametrize("name", COMPARED)
def test_that_test_copies_the_command_and_runs_it(name: str) -> None:
    file, function = COMPARED[name]
    tree = ast.parse((Path(__file__).parent / f"{file}.py").read_text("utf-8"))
    (test,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(test)
        if isinstance(node, ast.Call)
    }
    assert called & RUNS_IT, "it runs no command"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(test))

"""Simplified matrices: equal to the numbers, and of the form that a textbook prints."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError, MissingExtraError
from hil.kernels.documents import latex_files, text_files
from hil.kernels.export_options import Options
from hil.kernels.quantities import derive
from hil.kernels.readable import KINEMATICS, JointNames, coordinate_symbols, formula, matrices
from hil.kernels.scalar import FLOATS
from hil.model.robot import RobotModel

sympy = pytest.importorskip("sympy")

ARMS = ("puma560", "adept-cobra600", "stanford", "al5d", "lynx6", "ur5", "planar-3r", "panda", "rv2aj")
UNIT = st.floats(-1.0, 1.0)


def model_of(arm: str) -> RobotModel:
    return hil.load_robot(arm).model


@cache
def simplified(arm: str, quantity: str) -> Callable[..., Sequence[float]]:
    model = model_of(arm)
    entries = [entry for named in matrices(model, quantity) for entry in named.matrix]
    return sympy.lambdify(coordinate_symbols(model), entries, "math")


def straight(arm: str, quantity: str, q: Sequence[float]) -> list[float]:
    ((_, values, _),) = derive(model_of(arm), quantity).body(q, FLOATS).values()
    return list(values)


@pytest.mark.parametrize("quantity", KINEMATICS)
@pytest.mark.parametrize("arm", ARMS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_simplified_equals_straight_line(arm: str, quantity: str, data: Any) -> None:
    q = [math.pi * data.draw(UNIT) for _ in range(model_of(arm).dof)]
    found, expected = simplified(arm, quantity)(*q), straight(arm, quantity, q)
    # The tool's frame is shown only if it differs from the last link's.
    assert found == pytest.approx(expected[: len(found)], rel=0, abs=1e-12)
    assert len(expected) - len(found) in (0, 16 if quantity == "link_frames" else 0)


@pytest.mark.parametrize("quantity", ["gravity_torque", "mass_matrix"])
@settings(max_examples=5, deadline=None)
@given(q=st.lists(UNIT, min_size=6, max_size=6))
def test_dynamics_can_be_simplified_too(quantity: str, q: list[float]) -> None:
    found = simplified("puma560", quantity)(*q)
    assert found == pytest.approx(straight("puma560", quantity, q), rel=1e-12, abs=1e-12)


def test_symbols_of_lengths_stand_for_the_numbers_of_the_table() -> None:
    model = model_of("puma560")
    (symbolic,), (numeric,) = (matrices(model, "jacobian", symbolic_lengths=flag) for flag in (True, False))
    numbers = {"a_2": 0.4318, "a_3": 0.0203, "d_3": 0.15005, "d_4": 0.4318}
    assert {str(s) for s in symbolic.matrix.free_symbols} >= set(numbers)
    q = dict(zip(coordinate_symbols(model), (0.1, -0.4, 0.9, 1.3, -0.2, 0.7), strict=True))
    given_numbers = {sympy.Symbol(name, real=True): value for name, value in numbers.items()}
    difference = symbolic.matrix.subs(given_numbers).subs(q) - numeric.matrix.subs(q)
    assert max(abs(float(entry)) for entry in difference) < 1e-12


def test_sums_of_angles_are_single_sines_for_parallel_axes() -> None:
    text = formula(model_of("planar-3r"), "forward_kinematics", symbolic_lengths=True).text
    assert text == (
        "T = [ c123  -s123  0  a1*c1 + a2*c12 + a3*c123 ]\n"
        "    [ s123  c123   0  a1*s1 + a2*s12 + a3*s123 ]\n"
        "    [ 0     0      1  0                        ]\n"
        "    [ 0     0      0  1                        ]\n"
    )


def test_the_puma_is_written_as_in_textbooks() -> None:
    text = formula(model_of("puma560"), "forward_kinematics", symbolic_lengths=True).text
    assert "T[0,0] = c1*(c23*(c4*c5*c6 - s4*s6) - s23*s5*c6) - s1*(c4*s6 + s4*c5*c6)\n" in text
    assert "T[0,3] = c1*(a2*c2 + a3*c23 - d4*s23) + d3*s1\n" in text


def test_angles_with_offsets_and_opposite_signs_are_written_out() -> None:
    formula_ = formula(model_of("al5d"), "forward_kinematics")
    assert "cos(q2 - q3 + 0.0427)" in formula_.text
    assert r"s_{2-3+4}" in formula_.latex
    assert r"\cos(q_{2} - q_{3} + 0.0427)" in formula_.latex


def test_joints_may_be_called_theta_and_d() -> None:
    shown = formula(model_of("stanford"), "link_transforms", joints=JointNames.THETA)
    assert "d3" in shown.text
    symbols = coordinate_symbols(model_of("stanford"), JointNames.THETA)
    assert [str(s) for s in symbols] == ["theta_1", "theta_2", "d_3", "theta_4", "theta_5", "theta_6"]
    assert r"c_{1}" in shown.latex


def test_the_jacobian_is_shown_column_by_column() -> None:
    shown = formula(model_of("adept-cobra600"), "jacobian")
    assert shown.latex.count(r"\begin{bmatrix}") == 4
    assert "J_{4} &=" in shown.latex
    assert "J_4 = [" in shown.text


def test_a_notebook_gets_dollar_signs_and_a_terminal_text() -> None:
    shown = formula(model_of("puma560"), "inverse_dynamics")
    typeset = shown._repr_latex_()
    assert typeset.count("$$") == 2 * shown.latex.count(r"\begin{aligned}") > 2
    assert str(shown) == repr(shown) == shown.text
    assert "c1 = cos(q[0])" not in formula(model_of("puma560"), "forward_kinematics").text


def test_lengths_cannot_be_symbols_where_equations_ask_for_their_values() -> None:
    with pytest.raises(CommandError, match="mass_matrix cannot be symbols"):
        matrices(model_of("puma560"), "mass_matrix", symbolic_lengths=True)
    with pytest.raises(CommandError, match="no quantity"):
        formula(model_of("puma560"), "spin")


def test_without_the_extra_straight_lines_still_work_and_the_rest_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    model = model_of("puma560")
    with pytest.raises(MissingExtraError, match=r"pip install 'hil-arm-bridge\[symbolic\]'"):
        formula(model, "forward_kinematics")
    assert "c_{1} &= \\cos(q_{1})" in formula(model, "forward_kinematics", simplified=False).latex
    routines = [derive(model, "forward_kinematics")]
    for files in (latex_files(model, routines, Options()), text_files(model, routines, Options())):
        assert "hil-arm-bridge[symbolic]" in next(iter(files.values()))


def test_text_and_latex_files_hold_every_routine() -> None:
    model = model_of("planar-2r")
    routines = [derive(model, name) for name in ("link_transforms", "velocity")]
    text = text_files(model, routines, Options())["planar_2r.txt"]
    assert "A_1 = [ c1  -s1  0  c1 ]" in text
    assert "velocity: " in text

"""LaTeX: made of what every renderer knows, well formed, and equal to the equations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pytest

import hil
from hil.kernels import quantities
from hil.kernels.check_vectors import check_vectors
from hil.kernels.documents import latex_files
from hil.kernels.emit_latex import (
    WIDEST_LINE,
    displays,
    equation,
    equation_lines,
    escaped,
    join_lines,
    latex_number,
    symbol,
    width,
)
from hil.kernels.export_options import Options
from hil.kernels.quantities import QUANTITIES, derive
from hil.kernels.routine import Routine

PUMA = hil.load_robot("puma560").model

KNOWN = {
    *("begin", "end", "frac", "sqrt", "sin", "cos", "max", "operatorname", "mathrm", "text", "dot", "ddot"),
    *("tau", "theta", "cdot", "ge", "quad", "left", "right"),
}
"""Commands that amsmath, MathJax and KaTeX share."""

ENVIRONMENTS = {"bmatrix", "cases", "aligned", "align*"}


def assert_well_formed(text: str) -> None:
    assert text.isascii()
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= KNOWN
    opened: list[str] = []
    for way, name in re.findall(r"\\(begin|end)\{([^}]*)\}", text):
        assert name in ENVIRONMENTS
        if way == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    for left, right in ("{}", "()"):
        depth = 0
        for letter in text:
            depth += (letter == left) - (letter == right)
            assert depth >= 0
        assert depth == 0


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_quantity_is_well_formed(name: str) -> None:
    assert_well_formed(join_lines(equation_lines(derive(PUMA, name))))


def read(text: str) -> str:
    """A name or a right side as Python."""
    text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"e\1", text.replace(r"\,", "*").replace("\\\\\n", ""))
    text = text.replace(r"&\quad {} ", "")
    return re.sub(r"\\|[{}]", "", re.sub(r"\b([a-zA-Z])_\{(\d+)\}", r"\1_\2", text))


def run_latex(routine: Routine, given: tuple[float, ...]) -> Iterator[float]:
    """Values of a routine whose result is one matrix, from its LaTeX."""
    scope: dict[str, object] = {"sin": math.sin, "cos": math.cos}
    scope |= {f"q_{i}": value for i, value in enumerate(given, start=1)}
    parts = [line.partition(" &= ") for line in equation_lines(routine)]
    (matrix,) = (text for _, _, text in parts if r"\begin" in text)
    for name, _, text in parts:
        if text != matrix:
            exec(f"{read(name)} = {read(text)}", scope)
    for row in matrix.replace("\\begin{bmatrix}\n", "").replace("\n\\end{bmatrix}", "").split(" \\\\\n"):
        for entry in row.split(" & "):
            yield eval(read(entry), scope)


@pytest.mark.parametrize("name", ["forward_kinematics", "jacobian", "mass_matrix"])
def test_the_latex_read_as_python_gives_the_numbers(name: str) -> None:
    routine = derive(PUMA, name)
    for given, expected in check_vectors(PUMA, routine, Options(vectors=2)):
        assert list(run_latex(routine, given)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_matplotlib_takes_every_line_of_the_gravity_torque() -> None:
    mathtext = pytest.importorskip("matplotlib.mathtext").MathTextParser("path")
    for line in equation_lines(derive(PUMA, "gravity_torque")):
        mathtext.parse(f"${line.replace('&', '')}$")


def test_every_name_is_defined_before_it_is_used() -> None:
    defined: set[str] = set()
    for line in equation_lines(derive(PUMA, "forward_dynamics")):
        left, _, right = line.partition(" &= ")
        assert set(re.findall(r"\b[cst]_\{\d+\}", right)) <= defined
        defined.add(left)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("q3", "q_{3}"),
        ("q_3", "q_{3}"),
        ("qd1", r"\dot{q}_{1}"),
        ("theta_2", r"\theta_{2}"),
        ("c1_", "c_{1}"),
        ("t_s", "t"),
        ("blend_s", r"\mathrm{blend}"),
        ("wanted_q2", r"\mathrm{wanted\ q}_{2}"),
    ],
)
def test_names_become_letters_and_words(name: str, expected: str) -> None:
    assert symbol(name) == expected


def test_numbers_have_powers_of_ten_in_place_of_e() -> None:
    assert latex_number(1.5e-7) == r"1.5\cdot 10^{-7}"
    assert latex_number(0.1 + 0.2) == "0.3"


def test_a_long_sum_is_folded_at_its_signs_but_not_inside_braces() -> None:
    terms = [rf"\frac{{x + y}}{{t_{{{i}}}}}\,c_{{1}}" for i in range(60)]
    rows = equation("y", " - ".join(terms)).split(" \\\\\n")
    assert len(rows) > 3
    assert all(width(row) <= WIDEST_LINE for row in rows)
    assert all(row.startswith(r"&\quad {} - \frac") for row in rows[1:])
    assert_well_formed("\n".join(rows))


def test_long_lists_of_equations_are_shown_in_several_displays() -> None:
    blocks = displays(equation_lines(derive(PUMA, "inverse_dynamics")), "aligned")
    assert len(blocks) > 1
    for block in blocks:
        assert block.startswith("\\begin{aligned}\n")
        assert_well_formed(block)


def test_words_from_a_file_are_shown_as_they_are() -> None:
    assert escaped("50% of A_1 & {B}\\^~") == (
        r"50\% of A\_1 \& \{B\}\textbackslash{}\textasciicircum{}\textasciitilde{}"
    )


@pytest.mark.parametrize("robot", ["puma560", "adept-cobra600", "al5d", "panda"])
def test_the_document_of_an_arm_is_whole(robot: str) -> None:
    model = hil.load_robot(robot).model
    routines = [quantities.derive(model, name) for name in ("link_transforms", "jacobian", "velocity", "pd_step")]
    (text,) = latex_files(model, routines, Options()).values()
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert code.startswith("\\documentclass")
    assert code.endswith("\\end{document}\n")
    assert code.count(r"\subsection*") == len(routines)
    for block in re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", code, re.S):
        assert_well_formed(block)

"""Plain text: what a reader sees is what the equations say."""

from __future__ import annotations

import math
import re
from collections import defaultdict

import pytest

import hil
from hil.kernels.check_vectors import check_vectors
from hil.kernels.emit_text import matrix_text, plain_text
from hil.kernels.export_options import Options
from hil.kernels.quantities import QUANTITIES, derive
from hil.kernels.routine import Argument, Routine, draft

PUMA = hil.load_robot("puma560").model


def run_text(routine: Routine, given: tuple[float, ...]) -> list[float]:
    """Read the text's lines as Python."""
    values = iter(given)
    scope: dict[str, object] = {"sin": math.sin, "cos": math.cos, "atan2": math.atan2, "sqrt": math.sqrt, "max": max}
    for a in routine.arguments:
        scope[a.name] = [next(values) for _ in range(a.length)] if a.length else next(values)
    scope |= {f"result_{r.name}": defaultdict(float) for r in routine.results}
    code = re.sub(r"\n {8}", " ", plain_text(routine))
    lines = [line.strip() for line in code.splitlines() if line.startswith("    ")]
    for result in routine.results:
        lines = [re.sub(rf"^{result.name}(\[| =)", rf"result_{result.name}\1", line) for line in lines]
    exec("\n".join(lines), scope)
    found = []
    for result in routine.results:
        value = scope[f"result_{result.name}"]
        found += list(value.values()) if isinstance(value, dict) else [value]
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_text_read_as_python_gives_the_numbers(name: str) -> None:
    routine = derive(PUMA, name)
    for given, expected in check_vectors(PUMA, routine, Options(vectors=2), with_conditions=True):
        found = run_text(routine, given)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_entries_are_numbered_like_arrays_and_sines_like_joints() -> None:
    text = plain_text(derive(hil.load_robot("planar-2r").model, "forward_kinematics"))
    assert "    c1 = cos(q[0])\n    s1 = sin(q[0])\n" in text
    assert "    pose[0,3] = t1 + c1\n" in text or "    pose[0,3] = c1 + t1\n" in text
    assert "    pose[3,3] = 1\n" in text


def test_a_step_never_takes_the_name_of_an_argument() -> None:
    def body(q, c1, functions):
        return {"y": ((), (functions.cos(q[0]) * functions.cos(q[0]) + c1,), "y")}

    text = plain_text(draft("named", "Named.", [Argument("q", 1, "q"), Argument("c1", 0, "c1")], body))
    assert "c1_ = cos(q[0])" in text
    assert "y = c1_*c1_ + c1" in text or "y = c1 + c1_*c1_" in text


def test_a_matrix_stands_in_columns_and_a_wide_one_entry_by_entry() -> None:
    assert matrix_text("A", [["c1", "-s1"], ["s1", "0"]]) == "A = [ c1  -s1 ]\n    [ s1  0   ]"
    wide = matrix_text("A", [["x" * 70, "0"], ["0", "x" * 70]])
    assert wide.splitlines()[1] == "A[0,1] = 0"
    assert matrix_text("v", [["x" * 120], ["0"]]).splitlines()[-1] == "v[1] = 0"

"""What numpy blocks make of a routine equals its equations on arrays, at the blocks' edges too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.kernels.emit_numpy import BLOCK, InBlocks, numpy_text
from hil.kernels.quantities import QUANTITIES, derive
from hil.kernels.routine import Argument, draft
from hil.kernels.scalar import ARRAYS, FLOATS


@pytest.mark.parametrize("name", sorted(QUANTITIES))
def test_every_quantity_equals_its_equations(name: str) -> None:
    routine = derive(hil.load_robot("puma560").model, name)
    rng = np.random.default_rng(4)
    count = 37
    given_ = [rng.uniform(0.2, 1.2, (count, a.length) if a.length else count) for a in routine.arguments]
    found = InBlocks(routine).many(*given_)
    columns = [values.T for values in given_]
    expected = [value for _, values, _ in routine.body(*columns, ARRAYS).values() for value in values]
    for k, value in enumerate(expected):
        assert np.allclose(found[:, k], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_any_count_of_rows_is_worked_on(count: int) -> None:
    robot = hil.load_robot("adept-cobra600")
    q = np.random.default_rng(2).uniform(-1.0, 1.0, (count, 4))
    out = np.full((count, 4, 4), np.nan)
    InBlocks(derive(robot.model, "forward_kinematics")).many_into(out, q)
    for i in {0, BLOCK - 1, BLOCK, count - 1} & set(range(count)):
        assert np.allclose(out[i], robot.forward_kinematics(q[i]), rtol=0, atol=1e-15)


@settings(max_examples=60)
@given(st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=2), st.integers(0, 2**32 - 1))
def test_buffers_are_used_again_only_when_nobody_needs_them(ends: list[float], seed: int) -> None:
    def body(x, functions):
        choice = np.random.default_rng(seed)
        values = [x[0] + 1.5, x[1] - 0.5, x[0] * x[1]]
        for _ in range(30):
            a, b, c = (values[i] for i in choice.integers(0, len(values), 3))
            values.append(
                [a + b, a - b, a * 0.5 * b, -a, functions.where(a, b, c), functions.maximum(a, b), functions.sin(a)][
                    choice.integers(0, 7)
                ]
            )
        return {"y": ((6,), values[-6:], "a tangle")}

    routine = draft("tangle", "A tangle.", [Argument("x", 2, "numbers")], body)
    x = np.array([ends, ends[::-1], [0.3, -0.7]])
    expected = np.array([[float(v) for v in routine.body(list(row), FLOATS)["y"][1]] for row in x])
    assert np.allclose(InBlocks(routine).many(x), expected, rtol=1e-12, atol=1e-12)


def test_the_text_needs_few_buffers() -> None:
    assert numpy_text(derive(hil.load_robot("puma560").model, "forward_kinematics")).scratch < 20


@pytest.mark.parametrize("half_angles", [False, True])
def test_sine_and_cosine_are_those_of_the_library_for_any_angle(half_angles: bool) -> None:
    def body(x, functions):
        return {"both": ((3,), (functions.sin(x), functions.cos(x), functions.sin(2.0 * x)), "")}

    quarters = np.arange(-500, 500) * (np.pi / 2)
    x = np.concatenate(
        [
            np.random.default_rng(1).uniform(-10.0, 10.0, 5000),
            *(np.nextafter(quarters, way) for way in (-np.inf, 0.0, np.inf)),
            np.array([0.0, 5e-324, 1e-200, 1e9]),
        ]
    )
    namespace: dict[str, object] = {}
    text = numpy_text(draft("circular", "Both.", [Argument("x", 0, "rad")], body), half_angles=half_angles)
    exec(text.source, namespace)
    rows, scratch = np.empty((3, len(x))), np.empty((text.scratch, len(x)))
    namespace["block"]([x], list(rows), list(scratch))  # type: ignore[operator]
    assert np.max(np.abs(rows - (np.sin(x), np.cos(x), np.sin(2.0 * x)))) < 5e-16

"""What Numba makes of a routine equals the floats: one by one, in tiles, at their edges, on threads."""

from __future__ import annotations

import math
from collections.abc import Iterator

import chain_arrays as arrays
import numpy as np
import pytest
import sample_routine

import hil
from hil.errors import MissingExtraError
from hil.kernels import build, emit_numba
from hil.kernels.chain import chain_of
from hil.kernels.compiled import CompiledRoutine
from hil.kernels.emit_numba import CONDITION_FAILS, DECLINED, LARGEST_SUM, OK, STREAMED_BYTES, TILE, WRONG_SHAPE
from hil.kernels.quantities import derive
from hil.kernels.routine import Argument, draft
from hil.model.robot import RobotModel

pytestmark = pytest.mark.skipif(not build.fast_available(), reason="the extra [fast] is not installed")


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return hil.load_robot("adept-cobra600").model


@pytest.fixture(scope="module")
def forward(model: RobotModel) -> CompiledRoutine:
    return CompiledRoutine(derive(model, "forward_kinematics"))


def test_one_equals_the_floats(forward: CompiledRoutine, model: RobotModel) -> None:
    q, out = np.array([0.3, -0.7, 0.05, 2.0]), np.empty((4, 4))
    assert forward.one(q, out) == OK
    assert np.allclose(out, arrays.forward(chain_of(model), q.tolist()), rtol=0, atol=1e-15)


@pytest.mark.parametrize("count", [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_many_equals_one_for_any_count(forward: CompiledRoutine, model: RobotModel, count: int) -> None:
    q = np.random.default_rng(5).uniform(-4.0, 4.0, (count, 4))
    out = np.full((count, 4, 4), np.nan)
    assert forward.many(q, out)
    assert np.allclose(out, arrays.forward_many(chain_of(model), q), rtol=0, atol=2e-15)


def test_threads_give_the_same_bits(forward: CompiledRoutine) -> None:
    q = np.random.default_rng(6).uniform(-4.0, 4.0, (250_000, 4))
    alone, shared = np.empty((len(q), 4, 4)), np.empty((len(q), 4, 4))
    assert forward.many(q, alone, threads=1)
    assert forward.many(q, shared, threads=2)
    assert np.array_equal(alone, shared)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_nothing_is_written(forward: CompiledRoutine, bad: float) -> None:
    out = np.full((4, 4), 7.0)
    assert forward.one(np.array([0.0, bad, 0.0, 0.0]), out) == DECLINED
    assert np.all(out == 7.0)
    q = np.zeros((2 * TILE, 4))
    q[TILE + 3, 2] = bad
    assert not forward.many(q, np.empty((len(q), 4, 4)))


def test_wrong_shapes_are_refused(forward: CompiledRoutine) -> None:
    assert forward.one(np.zeros(3), np.empty((4, 4))) == WRONG_SHAPE
    assert forward.one(np.zeros(4), np.empty((4, 3))) == WRONG_SHAPE
    assert not forward.many(np.zeros((5, 4)), np.empty((4, 4, 4)))


@pytest.fixture(scope="module", params=[STREAMED_BYTES, 1], ids=["cached", "streamed"])
def several(request: pytest.FixtureRequest) -> Iterator[CompiledRoutine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit_numba, "STREAMED_BYTES", request.param)
        yield CompiledRoutine(sample_routine.several())


@pytest.mark.parametrize("start", [0.0, 7.0])
@pytest.mark.parametrize("count", [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5])
def test_many_writes_all_results_and_nothing_beside_them(several: CompiledRoutine, count: int, start: float) -> None:
    rng = np.random.default_rng(9)
    v, x = rng.uniform(1.0, 2.0, (count, 3)), rng.uniform(-3.0, 3.0, count)
    shapes = [(count,), (count, 2, 3), (count, 5)]
    held = [np.full(math.prod(shape) + 10, start) for shape in shapes]
    length, both, moved = (array[5:-5].reshape(shape) for array, shape in zip(held, shapes, strict=True))
    assert several.many(v, x, length, both, moved)
    assert all(np.all(array[:5] == start) and np.all(array[-5:] == start) for array in held)
    sample_routine.check_several(v, x, length, both, moved)


@pytest.mark.parametrize("row", [0, TILE + 3, 2 * TILE + 1])
def test_one_row_that_misses_a_condition_is_told(several: CompiledRoutine, row: int) -> None:
    v, x = np.ones((2 * TILE + 5, 3)), np.zeros(2 * TILE + 5)
    v[row, 0] = -1.0
    assert not several.many(v, x, np.ones(len(v)), np.ones((len(v), 2, 3)), np.ones((len(v), 5)))
    single = [np.full(1, 7.0), np.full((2, 3), 7.0), np.full(5, 7.0)]
    assert several.one(v[row], 0.0, *single) == CONDITION_FAILS
    assert all(np.all(result == 7.0) for result in single)


@pytest.fixture(scope="module")
def circular() -> CompiledRoutine:
    def body(x, functions):
        return {"both": ((2,), (functions.sin(x), functions.cos(x)), "sine and cosine")}

    return CompiledRoutine(draft("circular", "Sine and cosine.", [Argument("x", 0, "rad")], body))


def test_the_polynomial_sine_is_that_of_the_library(circular: CompiledRoutine) -> None:
    quarters = np.arange(-1000, 1000) * (np.pi / 2)
    x = np.concatenate(
        [
            np.random.default_rng(7).uniform(-10.0, 10.0, 50_000),
            np.nextafter(quarters, -np.inf),
            quarters,
            np.nextafter(quarters, np.inf),
            np.array([0.0, -0.0, 5e-324, -5e-324]),
        ]
    )
    both = np.empty((len(x), 2))
    assert circular.many(x, both)
    assert np.max(np.abs(both[:, 0] - np.sin(x))) < 5e-16
    assert np.max(np.abs(both[:, 1] - np.cos(x))) < 5e-16
    for angle in np.random.default_rng(8).uniform(-LARGEST_SUM, LARGEST_SUM, 2000):
        assert circular.one(angle, both[0]) == OK
        assert np.max(np.abs(both[0] - (np.sin(angle), np.cos(angle)))) < 5e-16


def test_angles_too_large_for_the_polynomial_are_declined(circular: CompiledRoutine) -> None:
    assert circular.one(1e12, np.empty(2)) == DECLINED
    assert not circular.many(np.full(TILE, 1e12), np.empty((TILE, 2)))


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fast_available", lambda: False)
    with pytest.raises(MissingExtraError, match=r"pip install 'hil-arm-bridge\[fast\]'"):
        build.build("never compiled before")

"""The text for Numba, run by Python alone: the same numbers, statuses and places as its machine code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from plain_numba import PlainModule, plain
from sample_routine import check_several, several

import hil
from hil.kernels import emit_numba
from hil.kernels.emit_numba import equations, is_vectorisable, numba_source, plain_angles
from hil.kernels.quantities import derive
from hil.kernels.routine import Argument, Routine, draft

COUNTS = [0, 1, 63, 64, 65, 197]
OK, DECLINED, WRONG_SHAPE, CONDITION_FAILS = 0, 1, 2, 3


def heading() -> Routine:
    """What only the standard library has, row by row."""

    def body(v: Any, functions: Any) -> dict[str, tuple[tuple[int, ...], tuple[Any, ...], str]]:
        return {"angle": ((), (functions.atan2(v[1], v[0]),), "rad")}

    return draft("heading", "An angle.", [Argument("v", 2, "m")], body)


@pytest.fixture(params=[8 << 20, 1], ids=["cached", "streamed"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlainModule]:
    monkeypatch.setattr(emit_numba, "STREAMED_BYTES", request.param)
    yield plain(numba_source(several()))


def places(count: int, start: float) -> list[np.ndarray]:
    return [np.full(shape, start) for shape in ((count,), (count, 2, 3), (count, 5))]


@pytest.mark.parametrize("start", [0.0, 7.0])
@pytest.mark.parametrize("count", COUNTS)
def test_many_gives_every_result_of_every_row(made: PlainModule, count: int, start: float) -> None:
    rng = np.random.default_rng(9)
    v, x = rng.uniform(1.0, 2.0, (count, 3)), rng.uniform(-3.0, 3.0, count)
    length, both, moved = places(count, start)
    assert made.many(v, x, length, both, moved) == OK
    check_several(v, x, length, both, moved)


def test_what_the_system_has_just_handed_out_and_what_is_small_is_not_streamed(
    made: PlainModule, request: pytest.FixtureRequest
) -> None:
    large = "streamed" in request.node.callspec.id
    for start, count, whole in ((0.0, 130, 0), (7.0, 130, 128), (7.0, 63, 0)):
        made.streamed.clear()
        assert made.many(np.ones((count, 3)), np.zeros(count), *places(count, start)) == OK
        assert len(made.streamed) == large * whole * (1 + 6 + 5)


def test_results_are_streamed_from_eight_mebibytes_on() -> None:
    # Twelve numbers of eight bytes a row.
    assert f"if count >= {math.ceil(8 * 2**20 / 96)}:" in numba_source(several())


@pytest.mark.parametrize("row", [0, 67, 129])
def test_a_row_that_misses_a_condition_or_is_not_finite_is_told(made: PlainModule, row: int) -> None:
    v, x = np.ones((130, 3)), np.zeros(130)
    v[row, 0] = -1.0
    assert made.many(v, x, *places(130, 1.0)) == CONDITION_FAILS
    v[row, 0] = np.nan
    assert made.many(v, x, *places(130, 1.0)) == DECLINED


def test_one_writes_everything_or_nothing(made: PlainModule) -> None:
    results = [np.full(1, 7.0), np.full((2, 3), 7.0), np.full(5, 7.0)]
    for v, x, status in (
        (np.array([-1e-9, 1.0, 1.0]), 0.0, CONDITION_FAILS),
        (np.array([1.0, np.inf, 1.0]), 0.0, DECLINED),
        (np.array([1.0, 1.0, 1.0]), 1e5, DECLINED),
        (np.ones(4), 0.0, WRONG_SHAPE),
    ):
        assert made.one(v, x, *results) == status
        assert all(np.all(result == 7.0) for result in results)
    assert made.one(np.array([3.0, 4.0, 12.0]), 0.5, *results) == OK
    assert results[0][0] == 13.0
    assert np.allclose(results[1], [[1.5, 2.0, 6.0], [math.sin(0.5), math.cos(0.5), 1.0]], rtol=0, atol=1e-15)
    assert results[2].tolist() == [3.5, 4.5, 12.5, 0.5, 0.0]
    assert made.one(np.array([99997.0, 1.0, 1.0]), 1.0, *results) == OK, "the sum of all sizes is 1e5"


@pytest.mark.parametrize("wrong", range(4))
def test_any_wrong_shape_is_refused(made: PlainModule, wrong: int) -> None:
    arrays = [np.ones((2, 3)), np.zeros(2), *places(2, 1.0)]
    arrays.pop(1)
    arrays[wrong] = arrays[wrong].T.copy() if wrong in (0, 2, 3) else np.ones(3)
    assert made.many(arrays[0], np.zeros(2), *arrays[1:]) == WRONG_SHAPE


def test_types_and_options_are_those_that_the_compiler_needs(made: PlainModule) -> None:
    line, table, cube = "float64[::1]", "float64[:, ::1]", "float64[:, :, ::1]"
    assert made.signatures["one"] == f"int64({line}, float64, {line}, {table}, {line})"
    assert made.signatures["many"] == f"int64({table}, {line}, {line}, {cube}, {table})"
    assert made.options["one"] == {"cache": True, "nogil": False, "error_model": "numpy"}
    assert made.options["many"] == {"cache": True, "nogil": True, "error_model": "numpy"}
    inner = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    assert made.options["tile"] == inner
    assert made.options["equations"] == inner | {"forceinline": True}


def test_rows_of_a_tile_are_seventy_two_places_apart() -> None:
    text = numba_source(several())
    assert "tile_in = np.empty(288)" in text  # four inputs
    assert "tile_out = np.empty(936)" in text  # twelve results and a condition
    assert "tile_in[72 + i] = v1" in text


def test_what_no_polynomial_has_goes_row_by_row() -> None:
    routine = heading()
    assert not is_vectorisable(routine) and is_vectorisable(several())
    module, angle = plain(numba_source(routine)), np.zeros(3)
    assert module.many(np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]), angle) == OK
    assert angle.tolist() == [0.0, math.pi / 2, -0.75 * math.pi]
    assert module.many(np.array([[1.0, 0.0], [np.nan, 2.0]]), np.zeros(2)) == DECLINED


@pytest.mark.parametrize("routine", [several, heading])
def test_one_alone_is_written_without_many(routine: Callable[[], Routine]) -> None:
    text = numba_source(routine(), many=False)
    assert "def one(" in text and "def many(" not in text and "def tile(" not in text


def test_what_formulas_of_people_need_is_imported() -> None:
    def body(x: Any, functions: Any) -> dict[str, tuple[tuple[int, ...], tuple[Any, ...], str]]:
        return {"y": ((), (functions.exp(x) + functions.floor(x),), "m")}

    routine = draft("grown", "A formula.", [Argument("x", 0, "m")], body)
    module, y = plain(numba_source(routine)), np.zeros(1)
    assert module.one(1.5, y) == OK
    assert y[0] == math.exp(1.5) + 1.0


def test_angles_whose_sines_the_caller_has_are_arguments() -> None:
    model = hil.load_robot("planar-2r").model
    routine = derive(model, "forward_kinematics")
    angles = plain_angles(routine)
    assert set(angles.values()) <= {"q0", "q1"} and angles
    text = equations(routine, "led", given=list(angles))
    module = plain("\n\n".join([emit_numba.HEAD, text, equations(routine)]))
    q = {"q0": 0.3, "q1": -1.1}
    turned = [f(eval(angle, {}, q)) for angle in angles for f in (math.sin, math.cos)]
    assert module.led(*q.values(), *turned) == pytest.approx(module.equations(*q.values()), abs=1e-15)
    assert text.count("sincos(") == equations(routine).count("sincos(") - len(angles)


def test_loose_sums_are_asked_for_only_where_they_are_wanted() -> None:
    loose = plain("\n\n".join([emit_numba.HEAD, equations(several(), loosely=True)]))
    assert loose.options["equations"]["fastmath"] == {"contract", "reassoc", "nsz"}
    contracted = plain(emit_numba.contracted_head())
    assert contracted.options["sincos"]["fastmath"] == {"contract"}

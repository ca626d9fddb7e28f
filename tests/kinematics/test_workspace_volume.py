"""Volume, voids and holes on a voxel grid, against closed forms, inverse kinematics, and SciPy's labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from scipy import ndimage

import hil
from hil.errors import CommandError
from hil.kernels.build import fast_available
from hil.kernels.chain import chain_of
from hil.kinematics.limits import Range, range_of
from hil.kinematics.workspace import voxels
from hil.kinematics.workspace.cloud import Bounds, Cloud, cloud
from hil.kinematics.workspace.components import parts_of
from hil.kinematics.workspace.reach_volume import OUTSIDE, REACHED, VOID, map_of, reach_map
from hil.kinematics.workspace.sweeps import moving_joints, sweeps_for_voxel
from hil.kinematics.workspace.voxels import Grid, grid_around, reached_by, reached_where

MASKS = arrays_of.arrays(np.bool_, arrays_of.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=7))


def dense_cloud(name: str, voxel_m: float, ranges: tuple[Range, ...] | None = None, most: int = 4_000_000) -> Cloud:
    model = hil.load_robot(name).model
    chain = chain_of(model)
    limits = ranges or tuple(range_of(joint) for joint in model.joints)
    moved = moving_joints(chain, limits)
    return cloud(chain, sweeps_for_voxel(chain, limits, voxel_m, moved=moved, most_points=most))


def grid_of(cells: np.ndarray) -> Grid:
    return Grid(corner_m=(0.0, 0.0, 0.0), voxel_m=0.01, shape=cells.shape)


def ball(size: int, inner: float, outer: float) -> np.ndarray:
    x, y, z = np.mgrid[:size, :size, :size] - (size - 1) / 2
    away = np.sqrt(x**2 + y**2 + z**2)
    return (away >= inner) & (away <= outer)


@settings(max_examples=60)
@given(MASKS, st.booleans())
def test_connected_parts_are_those_of_scipy(mask: np.ndarray, corners: bool) -> None:
    structure = ndimage.generate_binary_structure(3, 3 if corners else 1)
    expected, number = ndimage.label(mask, structure)
    parts = parts_of(mask, corners=corners)
    labels = parts.labels()
    assert parts.number == number
    assert ((labels > 0) == mask).all()
    assert len(np.unique(np.stack([labels[mask], expected[mask]]), axis=1).T) == number
    assert parts.sizes().tolist() == [int((labels == i).sum()) for i in range(1, number + 1)]
    low, high = parts.boxes()
    for i in range(number):
        where = np.argwhere(labels == i + 1)
        assert (low[i] == where.min(axis=0)).all() and (high[i] == where.max(axis=0)).all()


def test_the_area_of_a_planar_arm_s_annulus_is_within_one_percent_of_the_closed_form() -> None:
    lengths = (1.0, 1.0)
    full, bent = math.pi, 2.0
    ranges = (Range("a", True, -full, full), Range("b", True, 0.6, bent))
    reach = reach_map(dense_cloud("planar-2r", 0.01, ranges), 0.01)
    outer, inner = (
        math.sqrt(sum(v**2 for v in lengths) + 2 * math.prod(lengths) * math.cos(angle)) for angle in (0.6, bent)
    )
    assert reach.summary.area_m2 == pytest.approx(math.pi * (outer**2 - inner**2), rel=0.01)
    assert (reach.summary.volume_m3, reach.summary.pieces, reach.summary.holes) == (0.0, 1, 1)
    assert reach.summary.voids == ()


def test_a_hollow_ball_has_its_volume_and_one_void_and_a_ring_one_hole() -> None:
    hollow = map_of(grid_of(cells := ball(81, 15.0, 37.0)), cells).summary
    # The cells are those whose centres are inside, so each shows its own share: no rim to halve.
    assert hollow.touched_m3 == pytest.approx(4 / 3 * math.pi * (37**3 - 15**3) * 1e-6, rel=0.01)
    assert (hollow.pieces, len(hollow.voids), hollow.holes) == (1, 1, 0)
    x, y, z = np.mgrid[:61, :61, :21] - np.array([30, 30, 10]).reshape(3, 1, 1, 1)
    ring = (np.hypot(x, y) - 20) ** 2 + z**2 <= 49
    doughnut = map_of(grid_of(ring), ring).summary
    assert (doughnut.pieces, doughnut.voids, doughnut.holes) == (1, (), 1)


def test_gaps_narrower_than_two_voxels_are_neither_void_nor_hole() -> None:
    cells = ball(41, 0.0, 18.0)
    cells[20, 20, 20] = False
    cells[10, 20, :] = False
    summary = map_of(grid_of(cells), cells).summary
    assert (summary.pieces, summary.voids, summary.holes) == (1, (), 0)


def test_a_touched_sphere_is_estimated_without_the_half_of_its_rim() -> None:
    # A fine grid inside, and the surface itself, as a cloud has it where joints stand at their limits.
    steps = np.arange(-0.3, 0.3, 0.006)
    points = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    rim = np.random.default_rng(1).normal(size=(200_000, 3))
    rim *= 0.3 / np.linalg.norm(rim, axis=1, keepdims=True)
    points = np.concatenate([points[np.linalg.norm(points, axis=1) <= 0.3], rim])
    grid = grid_around(Bounds(lower_m=(-0.3,) * 3, upper_m=(0.3,) * 3), 0.02)
    cells = np.zeros(grid.shape, dtype=np.bool_)
    cells[tuple(((points - grid.corner_m) / grid.voxel_m).astype(int).T)] = True
    summary = map_of(grid, cells).summary
    assert summary.volume_m3 == pytest.approx(4 / 3 * math.pi * 0.3**3, rel=0.02)
    assert summary.touched_m3 > 1.04 * summary.volume_m3


def test_the_reach_of_the_lynx6_is_that_of_its_closed_form_void_included() -> None:
    robot = hil.load_robot("lynx6-4axis")
    reach = reach_map(dense_cloud("lynx6-4axis", 0.02), 0.02)
    cells = reach.cells == REACHED
    rng = np.random.default_rng(5)
    judged = 0
    for index in rng.integers(1, np.array(cells.shape) - 1, (400, 3)):
        around = cells[tuple(slice(i - 1, i + 2) for i in index)]
        if around.all() or not around.any():  # Where the rim runs through a voxel, its centre may be on either side.
            place = [float(reach.grid.centres_m(axis)[i]) for axis, i in enumerate(index)]
            assert robot.inverse_kinematics_target(place).ok == bool(around.all())
            judged += 1
    assert judged > 200
    (void,) = reach.summary.voids
    middle = [(a + b) / 2 for a, b in zip(void.lower_m, void.upper_m, strict=True)]
    index = ((np.array(middle) - reach.grid.corner_m) / reach.grid.voxel_m).astype(int)
    assert reach.cells[tuple(index)] == VOID
    assert not robot.inverse_kinematics_target(middle).ok


def test_the_puma_s_shoulder_offset_leaves_a_hole_along_its_first_axis() -> None:
    summary = reach_map(dense_cloud("puma560", 0.04), 0.04).summary
    assert (summary.pieces, summary.voids, summary.holes) == (1, (), 1)


@pytest.mark.parametrize("name", ["panda", "pa10-7", "ur5", "stanford", "adept-cobra600", "rv2aj"])
def test_redundant_and_other_arms_have_a_reach_in_one_piece(name: str) -> None:
    summary = reach_map(dense_cloud(name, 0.08, most=1_500_000), 0.08).summary
    assert summary.pieces == 1
    assert 0.0 < summary.volume_m3 < summary.touched_m3


@pytest.mark.skipif(not fast_available(), reason="Numba is not installed")
def test_compiled_and_plain_loops_mark_the_same_voxels(monkeypatch: pytest.MonkeyPatch) -> None:
    points = dense_cloud("puma560", 0.05, most=400_000)
    bounds = points.bounds()
    # Smaller than the cloud, so that points outside are met too.
    grid = grid_around(Bounds(lower_m=(-0.2, -0.3, bounds.lower_m[2]), upper_m=bounds.upper_m), 0.05)
    assert points.points > voxels.COMPILE_ABOVE
    compiled = reached_by(points, grid)
    monkeypatch.setattr(voxels, "fast_available", lambda: False)
    plain = reached_by(points, grid)
    assert compiled.any() and np.count_nonzero(compiled != plain) <= 1e-4 * np.count_nonzero(plain)


def test_a_predicate_marks_the_centres_that_satisfy_it() -> None:
    grid = grid_around(Bounds(lower_m=(-0.5, -0.5, 0.0), upper_m=(0.5, 0.5, 0.0)), 0.1)
    told: list[int] = []
    reached = reached_where(grid, lambda place: math.hypot(*place[:2]) <= 0.35 and abs(place[2]) < 0.05, told.append)
    assert told[-1] == math.prod(grid.shape)
    summary = map_of(grid, reached).summary
    assert summary.bounds.upper_m == pytest.approx((0.3, 0.3, 0.0), abs=1e-12)


def test_the_world_s_origin_is_a_voxel_s_centre_so_that_planes_fall_into_one_layer() -> None:
    grid = grid_around(Bounds(lower_m=(-0.3, -0.3, -1e-17), upper_m=(0.3, 0.3, 1e-17)), 0.07)
    assert grid.shape[2] == 3
    assert all(np.abs(grid.centres_m(axis)).min() < 1e-12 for axis in range(3))


def test_slices_show_what_is_reached_and_what_is_closed_in() -> None:
    cells = ball(21, 4.0, 9.0)
    reach = map_of(grid_of(cells), cells)
    layer = reach.slice(2, 0.105)
    assert (layer[0, 0], layer[10, 3], layer[10, 10]) == (OUTSIDE, REACHED, VOID)
    for axis, at_m in ((2, 0.5), (2, math.nan), (3, 0.1)):
        with pytest.raises(CommandError, match="allowed"):
            reach.slice(axis, at_m)


def test_nothing_reached_a_full_grid_and_bad_voxels_are_refused() -> None:
    empty = np.zeros((4, 4, 4), dtype=np.bool_)
    with pytest.raises(CommandError, match="nothing is within reach"):
        map_of(grid_of(empty), empty)
    with pytest.raises(CommandError, match="beyond the grid"):
        map_of(grid_of(~empty), ~empty)
    box = Bounds(lower_m=(0.0, 0.0, 0.0), upper_m=(1.0, 1.0, 1.0))
    for voxel_m in (0.0, -1.0, math.nan, 1e-4):
        with pytest.raises(CommandError, match="allowed"):
            grid_around(box, voxel_m)

"""Lessons as data: thin clouds, heat maps, fields of curves and experiments, work that tells of its progress."""

from __future__ import annotations

import shlex
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.control.experiment import Experiment
from hil.control.search import MEASURES, Axis, Found, Grid
from hil.dashboard.learn.steps import told_of
from hil.lessons.boxes import BoxAsk, box_need, dexterity
from hil.lessons.curves import curve_of, fields_of, moved_to, table_of, table_text, task_text
from hil.lessons.experiments import experiment_of_fields, first_fields, options_of
from hil.lessons.faults import FieldErrors
from hil.lessons.thinning import thinned
from hil.lessons.tuning import heat_map
from hil.lessons.workspaces import WorkspaceAsk, cloud_of, size_of
from hil.model.files import find, list_names, read_toml
from hil.model.reader import load_robot
from hil.robot import Robot


@pytest.fixture(scope="module")
def lynx6() -> Robot:
    return Robot(load_robot("lynx6"))


@given(most=st.integers(1, 9000))
@settings(max_examples=20)
def test_a_thin_cloud_has_so_many_points_and_all_of_them_are_the_clouds(most: int) -> None:
    """Evenly out of all blocks, none twice; the same every time."""
    arm = Robot(load_robot("lynx6-4axis"))
    tool, _ = cloud_of(arm, WorkspaceAsk(robot="lynx6-4axis", step_deg=30.0))
    thin = thinned("tool", tool, most)
    assert len(thin.points_m) == min(most, tool.points) and thin.total == tool.points
    whole = np.concatenate([block.copy() for block in tool.blocks()]).astype(np.float32)
    assert {tuple(point) for point in thin.points_m.tolist()} <= {tuple(point) for point in whole.tolist()}
    assert np.array_equal(thin.points_m, thinned("tool", tool, most).points_m)


def test_every_beginning_of_a_thin_cloud_is_spread_over_all(lynx6: Robot) -> None:
    """A tenth has nearly the box of the whole."""
    tool, _ = cloud_of(lynx6, WorkspaceAsk(robot="lynx6", step_deg=20.0))
    points = thinned("tool", tool, tool.points).points_m
    tenth = points[: len(points) // 10]
    assert np.allclose(np.ptp(tenth, axis=0), np.ptp(points, axis=0), rtol=0.1)
    assert np.allclose(tenth.mean(axis=0), points.mean(axis=0), atol=0.02)


def test_a_size_is_told_before_anything_is_worked_out(lynx6: Robot) -> None:
    """With a warning above twenty million points."""
    assert size_of(lynx6, WorkspaceAsk(robot="lynx6", step_deg=30.0)).warning == ""
    large = size_of(lynx6, WorkspaceAsk(robot="lynx6", step_deg=2.0))
    assert large.points > 20_000_000 and "20 000 000" in large.warning


def test_an_ask_is_typed_as_its_command() -> None:
    """Each part of it is an option."""
    ask = WorkspaceAsk(robot="r", step_deg=5.0, joints="1,2", ranges=("a:-1:2",), closed=False, voxel_mm=20.0)
    assert shlex.join(ask.command()) == ("hil workspace r --step 5 --voxel 20 --joints 1,2 --range a:-1:2 --half-open")
    box = BoxAsk(robot="r", corner_mm=(1, -2, 3), opposite_mm=(4, 5, 6), step_mm=7.0, pitch_deg=-8.0)
    assert shlex.join(box.command()) == "hil workspace r --box 1 -2 3 4 5 6 --box-step 7 --pitch -8"


def test_dexterity_counts_postures_within_limits(lynx6: Robot) -> None:
    """At each place; out of reach there are none."""
    near = box_need(lynx6, BoxAsk(robot="lynx6", corner_mm=(150, 0, 150), opposite_mm=(250, 0, 150), step_mm=50.0))
    ways = dexterity(near)
    assert sum(ways.places) == len(near.samples) == 3
    assert ways.places[0] == len(near.samples) - near.usable
    far = box_need(lynx6, BoxAsk(robot="lynx6", corner_mm=(900, 0, 0), opposite_mm=(900, 0, 0)))
    assert dexterity(far) == dexterity(far).__class__(most=0, mean=0.0, places=(1,))


def _found(costs: np.ndarray, shape: tuple[int, ...]) -> Found:
    names = ("kp", "kd", "ki")
    axes = tuple(Axis(name=names[k], values=tuple(map(float, range(1, n + 1)))) for k, n in enumerate(shape))
    table = np.full((costs.size, len(MEASURES)), np.nan)
    table[:, 0] = costs.ravel()
    return Found(Grid(experiment=Experiment(robot="r"), axes=axes), table)


def test_a_heat_map_has_the_best_over_the_axes_that_it_does_not_show() -> None:
    """And the number of the setting that this is; unstable is infinity, missing is not a number."""
    costs = np.arange(1.0, 25.0).reshape(2, 3, 4)[:, ::-1, ::-1].copy()
    costs[0, 0] = np.inf
    costs[1, 2] = np.nan
    costs[1, 1, 0] = np.nan
    drawn = heat_map(_found(costs, (2, 3, 4)), across=0, up=1)
    assert drawn.cost.shape == (3, 2)
    assert np.isinf(drawn.cost[0, 0]) and np.isnan(drawn.cost[2, 1]) and drawn.numbers[2, 1] == -1
    assert drawn.cost[1, 0] == costs[0, 1].min()
    assert drawn.cost[1, 1] == np.nanmin(costs[1, 1])
    for row in range(3):
        for column in range(2):
            number = drawn.numbers[row, column]
            if number >= 0:
                assert costs.ravel()[number] == drawn.cost[row, column]


def test_one_axis_alone_is_a_row() -> None:
    """Of all its values."""
    drawn = heat_map(_found(np.array([3.0, np.inf, 1.0]), (3,)), 0, 0)
    assert drawn.cost.tolist() == [[3.0, np.inf, 1.0]] and drawn.numbers.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("name", [n for n in list_names("curves") if "text" not in read_toml(find("curves", n))])
def test_a_curve_file_goes_through_the_fields_and_stays_the_same(name: str) -> None:
    """As a table, as a file, and in a task."""
    table = read_toml(find("curves", name))
    fields = fields_of(table)
    found, read = curve_of(fields)
    again = tomllib.loads(table_text(found, 1 if read.family else None))
    assert table_of(fields_of(again)) == found
    task = tomllib.loads(task_text(found, None, "a task"))
    assert task["step"][0]["curve"] == found


def test_a_curve_that_is_moved_has_its_middle_there() -> None:
    """By its shift alone."""
    fields = fields_of(read_toml(find("curves", "ellipse")))
    _, read = curve_of(fields)
    moved = moved_to(fields, read.points_m(), (0.1, 0.2, 0.3))
    assert np.allclose(curve_of(moved)[1].points_m().mean(axis=0), (0.1, 0.2, 0.3), atol=1e-4)
    assert {key for key in moved if moved[key] != fields[key]} == {"shift_mm"}


def test_every_fault_of_the_fields_is_told_at_once() -> None:
    """One for each field, with its column where it has one."""
    fields = {**fields_of(read_toml(find("curves", "ellipse"))), "x": "1 +* u", "y": "sinn(u)"}
    with pytest.raises(FieldErrors) as caught:
        curve_of(fields)
    columns = {fault.field: fault.column for fault in caught.value.faults}
    assert columns["x"] is not None and columns["y"] == 1


@pytest.mark.parametrize("name", ["lynx6", "puma560", "stanford", "crs-a255", "adept-cobra600", "ur5"])
def test_every_arm_has_a_motion_to_begin_with(name: str) -> None:
    """Within its limits, masses or not; and it is typed as options."""
    arm = Robot(load_robot(name))
    fields = first_fields(arm.model)
    estimate = arm.model.inertia is None
    experiment = experiment_of_fields(arm, name, fields, estimate=estimate)
    assert experiment.reference.end
    words = options_of({**fields, "disturb": "a:1 b:2"}, estimate=estimate)
    assert ("--estimate-masses" in words) == estimate
    assert words.count("--disturb") == 2


def test_work_in_steps_gives_its_result_and_its_error() -> None:
    """What it told is yielded; the last one always."""

    def good(told):  # type: ignore[no-untyped-def]
        for k in range(5):
            told(k + 1, 5)
        return "result"

    steps, seen = told_of(good), []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            assert end.value == "result"
            break
    assert seen[-1] == (5, 5)

    def bad(told):  # type: ignore[no-untyped-def]
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(told_of(bad))

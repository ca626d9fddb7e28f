"""The search: its grid, its optimum, what is kept, and who works on it."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from controlled_arms import PUMA, TWO, two

from hil.control import optimise as optimiser
from hil.control.crew import Processes
from hil.control.experiment import Bounds, Experiment, Kind, Reference
from hil.control.generations import Generations
from hil.control.loop import ClosedLoop
from hil.control.search import Found, Grid, axis_of, check_grid, pieces, with_values, work
from hil.control.store import Store
from hil.control.tuning import search
from hil.errors import CommandError, ConfigError
from hil.kernels.closed_loop import Law

SHORT = two(
    reference=Reference(start=(0.0, 0.0), end=(30.0, -20.0), duration_s=0.1),
    rate_hz=200.0,
    step_s=5e-3,
    bandwidth_hz=2.0,
)


def grid(*axes: str, base: Experiment = SHORT) -> Grid:
    return Grid(experiment=base, axes=tuple(axis_of(text, TWO) for text in axes))


def searched(where, which: Grid, crew=None, arm=TWO) -> Found:
    store = Store(where, which)
    search(store, arm, crew or Processes(which, arm, 1), compiled=False, told=lambda done: None, clock=lambda: 0.0)
    return store.found


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("kp=100:300:100", (100.0, 200.0, 300.0)),
        ("kv.J2=0.1:0.3:0.1", (0.1, 0.2, 0.3)),
        ("rate=100:800:x4", (100.0, 200.0, 400.0, 800.0)),
        ("ki=1,5", (1.0, 5.0)),
    ],
)
def test_an_axis_has_the_values_that_its_text_says(text, values):
    assert axis_of(text, TWO).values == pytest.approx(values)


@pytest.mark.parametrize(
    "text", ["kp", "kq=1", "kp=3:1:1", "kp=1:2:0", "kp=nan", "kp=-1", "kp.J9=1", "rate.J1=1", "kp=0:5:x3", "kp=a"]
)
def test_a_text_that_means_no_axis_is_refused_with_what_to_type(text):
    with pytest.raises(CommandError, match="allowed"):
        axis_of(text, TWO)


@pytest.mark.parametrize("kind", [Kind.CUBIC, Kind.BLENDED])
def test_the_optimum_is_that_of_single_runs_of_every_combination(tmp_path, kind):
    reference = msgspec.structs.replace(SHORT.reference, kind=kind)
    base = msgspec.structs.replace(SHORT, kp=(100.0,), kd=(10.0,), reference=reference)
    which = grid("kp.J1=20,80,500", "kd.J2=1,4,9", "rate=100,200", base=base)
    found = searched(tmp_path, which)
    costs = {}
    for kp, kd, rate in itertools.product((20.0, 80.0, 500.0), (1.0, 4.0, 9.0), (100.0, 200.0)):
        one = msgspec.structs.replace(base, kp=(kp, 100.0), kd=(10.0, kd), rate_hz=rate)
        run = ClosedLoop(TWO, one).trace(compiled=False)
        costs[kp, kd, rate] = float(np.abs(run.error).sum() / rate)
    assert found.done == which.count == 18
    assert found.costs == pytest.approx(list(costs.values()), rel=1e-9)
    assert tuple(found.values(found.best())[0]) == min(costs, key=costs.__getitem__)


@pytest.mark.parametrize("kind", [Kind.CUBIC, Kind.BLENDED])
def test_the_papers_arm_and_its_gains_and_rate_are_searched_as_every_single_run_has_it(tmp_path, kind):
    """The commands of docs/control.md, on the first 60 ms of such a motion."""
    base = Experiment(robot="puma560", reference=Reference(kind=kind, end=(3.0, 80.0, -80.0, 2.0, 3.0, 4.0),
                      duration_s=0.06), friction=False, stops=False)  # fmt: skip
    axes = tuple(axis_of(text, PUMA) for text in ("kp.J2=2000,8000", "kd.J2=200,400", "rate=250:1000:x2"))
    which = Grid(experiment=base, axes=axes)
    found = searched(tmp_path, which, arm=PUMA)
    costs = []
    for values in found.values(range(which.count)).tolist():
        run = ClosedLoop(PUMA, with_values(base, PUMA, axes, values)).trace(compiled=False)
        costs.append(float(np.abs(run.error).sum() / values[2]))
    assert found.done == which.count == 8
    assert found.costs == pytest.approx(costs, rel=1e-9)
    assert found.best()[0] == int(np.argmin(costs))


def test_without_a_rate_that_varies_the_cost_is_the_papers_sum(tmp_path):
    found = searched(tmp_path, grid("kp=20,80", base=msgspec.structs.replace(SHORT, kp=(1.0,), kd=(10.0,))))
    run = ClosedLoop(TWO, msgspec.structs.replace(SHORT, kp=(80.0,), kd=(10.0,))).trace(compiled=False)
    assert found.costs[1] == pytest.approx(float(np.abs(run.error).sum()), rel=1e-9)


def test_unstable_settings_cost_infinity_and_are_never_the_best(tmp_path):
    base = msgspec.structs.replace(SHORT, kp=(100.0,), kd=(10.0,), bounds=Bounds(torque=1e4))
    found = searched(tmp_path, grid("kd=10,1e6", base=base))
    assert found.costs[1] == math.inf
    assert found.unstable == 1
    assert found.best(5) == [0]
    assert found.pareto() == [0]


def test_settings_that_cost_the_same_are_told(tmp_path):
    found = searched(tmp_path, grid("torque-limit=1e5,1e6", base=SHORT))
    assert found.ties() == [0, 1]


@pytest.mark.parametrize("axis", ["viscous.J1=0.5", "dry=0.7", "armature.J2=0.2", "mass.J2=1.5", "payload=0.4",
                                  "delay=10", "bandwidth=3", "torque-limit.J1=20", "ki=4", "noise=0.1"])  # fmt: skip
def test_whatever_varies_counts_as_the_experiment_says(tmp_path, axis):
    base = msgspec.structs.replace(SHORT, law=Law.PID_GRAVITY, dry=(0.1,))
    found = searched(tmp_path, grid(axis, base=base))
    value = axis_of(axis, TWO)
    same = ClosedLoop(TWO, with_values(base, TWO, (value,), value.values)).trace(compiled=False)
    assert found.costs[0] == pytest.approx(float(same.scores.cost[0]), rel=1e-9)
    assert found.costs[0] != pytest.approx(float(ClosedLoop(TWO, base).trace(compiled=False).scores.cost[0]), rel=1e-9)


def test_the_front_is_what_no_other_beats_in_both():
    table = np.full((5, 7), 0.0)
    table[:, 0] = (3.0, 1.0, 2.0, 2.5, math.inf)
    table[:, 3] = (1.0, 9.0, 4.0, 5.0, 0.1)
    assert Found(grid("kp=1,2,3,4,5", base=SHORT), table).pareto() == [1, 2, 0]


def test_pieces_hold_every_setting_once_and_one_loop_each():
    which = grid("rate=100,200", "kp=1,2,3", "payload=0,1", base=SHORT)
    found = list(pieces(which, 2))
    assert sorted(n for piece in found for n in piece.settings) == list(range(12))
    for piece in found:
        assert len({tuple(row) for row in which.values(piece.settings)[:, (0, 2)]}) == 1


class Broken:
    """Does one piece, and is interrupted in the next."""

    words = "broken"

    def __init__(self, which: Grid) -> None:
        self.which, self.done = which, 0

    def run(self, waiting):
        for piece in waiting:
            if self.done == 1:
                raise KeyboardInterrupt
            self.done += 1
            yield piece, work(self.which, TWO, piece.settings, compiled=False)


def test_what_was_done_is_kept_and_not_done_again(tmp_path):
    which = grid("rate=100,200", "kp=20,80", base=msgspec.structs.replace(SHORT, kp=(1.0,), kd=(10.0,)))
    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path, which, Broken(which))
    assert Store(tmp_path, which).found.done == 2
    rest = Broken(which)
    found = searched(tmp_path, which, rest)
    assert (rest.done, found.done) == (1, 4)
    fresh = searched(tmp_path / "fresh", which)
    assert found.table == pytest.approx(fresh.table, nan_ok=True)


def test_another_search_is_not_mixed_with_what_is_kept(tmp_path):
    searched(tmp_path, grid("kp=20", base=msgspec.structs.replace(SHORT, kp=(1.0,), kd=(10.0,))))
    other = grid("kp=30", base=msgspec.structs.replace(SHORT, kp=(1.0,), kd=(10.0,)))
    with pytest.raises(CommandError, match="--again"):
        Store(tmp_path, other)
    assert Store(tmp_path, other, again=True).found.done == 0


def test_a_grid_is_refused_where_a_corner_of_it_has_no_meaning():
    with pytest.raises(CommandError, match="nothing varies"):
        check_grid(grid(base=SHORT), TWO)
    with pytest.raises(CommandError, match="rate"):
        check_grid(grid("rate=0,100", base=SHORT), TWO)
    with pytest.raises(CommandError, match="twice"):
        check_grid(grid("kp=1,2", "kp=3,4", base=SHORT), TWO)
    with pytest.raises(CommandError, match="settings"):
        check_grid(grid("kp=1:10000:1", "kd=1:10000:1", base=SHORT), TWO)


def test_the_optimiser_finds_what_a_fine_grid_finds(tmp_path):
    pytest.importorskip("scipy")
    base = two(
        reference=Reference(kind=Kind.HOLD, start=(0.0, 0.0), duration_s=0.1), law=Law.PD, kp=(1.0,), kd=(1.0,),
        rate_hz=200.0, step_s=5e-3,
    )  # fmt: skip
    which = grid("kp.J1=10:2000:x20", "kd.J1=1:60:x20", base=base)
    least = searched(tmp_path, which).costs.min()
    told = []
    found = optimiser.optimise(which, TWO, 300, 1, told.append)
    assert found.costs[found.best()[0]] <= least * 1.002
    assert len(found.table) <= 300 + 2 * optimiser.GENERATION_PER_AXIS
    assert told == sorted(told)
    again = optimiser.optimise(which, TWO, 300, 1, told.append)
    assert again.points.tolist() == found.points.tolist()


def test_an_evolution_that_was_broken_off_goes_on_and_ends_as_if_it_had_not_been(tmp_path):
    pytest.importorskip("scipy")
    which = grid("kp.J1=10:2000:x3", "kd.J1=1:60:x3")
    whole = optimiser.optimise(which, TWO, 100, 1, lambda done: None)

    def stop(done):
        if done >= 48:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimiser.optimise(which, TWO, 100, 1, stop, Generations(tmp_path, which, 1))
    kept, ran = Generations(tmp_path, which, 1), []
    assert kept.done == 48
    keep, kept.keep = kept.keep, lambda points, table: (ran.append(len(points)), keep(points, table))
    found = optimiser.optimise(which, TWO, 100, 1, lambda done: None, kept)
    assert found.points.tolist() == whole.points.tolist()
    assert found.costs.tolist() == whole.costs.tolist()
    assert sum(ran) == len(whole.points) - 48


def test_another_evolution_is_not_mixed_with_what_is_kept(tmp_path):
    pytest.importorskip("scipy")
    which = grid("kp.J1=10:2000:x3", "kd.J1=1:60:x3")
    optimiser.optimise(which, TWO, 50, 1, lambda done: None, Generations(tmp_path, which, 1))
    with pytest.raises(CommandError, match="holds another search; allowed: another folder, or --again"):
        Generations(tmp_path, which, 2)
    assert Generations(tmp_path, which, 2, again=True).done == 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_kept_search_that_was_cut_is_told_with_how_to_begin_anew(tmp_path, share):
    pytest.importorskip("scipy")
    which = grid("kp.J1=10:2000:x3", "kd.J1=1:60:x3")
    optimiser.optimise(which, TWO, 50, 1, lambda done: None, Generations(tmp_path, which, 1))
    searched(tmp_path, which)
    for name, open_again in (
        ("evolution.npz", lambda: Generations(tmp_path, which, 1)),
        ("found.npz", lambda: Store(tmp_path, which)),
    ):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: int(share * len(data))])
        with pytest.raises(ConfigError, match="--again begins anew"):
            open_again()

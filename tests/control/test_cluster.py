"""Workers of a cluster find the same numbers as this computer, and one that goes away loses nothing."""

import math

import msgspec
import pytest
from controlled_arms import PUMA, TWO, two

from hil.control.crew import Cluster, ClusterError, DaskWorkers, Processes, crew_of
from hil.control.experiment import Experiment, Kind, Reference
from hil.control.search import Grid, axis_of
from hil.control.store import Store
from hil.control.tuning import search

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.wall_clock, pytest.mark.filterwarnings("ignore")]
BASE = two(
    reference=Reference(start=(0.0, 0.0), end=(30.0, -20.0), duration_s=0.1), rate_hz=200.0, step_s=5e-3, kp=(1.0,),
    kd=(10.0,),
)  # fmt: skip
GRID = Grid(
    experiment=BASE, axes=tuple(axis_of(text, TWO) for text in ("rate=100:400:100", "kp=20,80,300", "payload=0,1"))
)


def local_cluster():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    )


@pytest.fixture
def address():
    with local_cluster() as cluster:
        yield cluster.scheduler_address


def searched(folder, crew):
    store = Store(folder, GRID)
    search(store, TWO, crew, compiled=False, told=lambda done: None, clock=lambda: 0.0)
    return store.found


def test_two_workers_find_the_same_numbers_as_one_computer(tmp_path, address):
    crew = crew_of(GRID, TWO, compiled=False, cluster=address)
    assert crew.words.startswith("2 workers")
    there = searched(tmp_path / "there", crew)
    here = searched(tmp_path / "here", Processes(GRID, TWO, 1))
    assert there.done == GRID.count == 24
    same = (there.table == here.table) | (there.table != there.table) & (here.table != here.table)
    assert same.all()
    assert there.best(3) == here.best(3)


def test_the_papers_search_of_gains_and_rate_is_the_same_by_two_workers(tmp_path, address):
    """The grid of docs/control.md, on the first 20 ms of such a motion."""
    reference = Reference(kind=Kind.BLENDED, end=(1.0, 80.0, -80.0, 1.0, 1.0, 1.0), duration_s=0.02)
    base = Experiment(robot="puma560", reference=reference, friction=False, stops=False)
    axes = tuple(axis_of(text, PUMA) for text in ("kp.J2=2000,8000", "kd.J2=200,400", "rate=250:1000:x2"))
    grid = Grid(experiment=base, axes=axes)
    found = []
    for where, crew in (("here", Processes(grid, PUMA, 1)), ("there", Cluster(grid, PUMA, address, compiled=False))):
        store = Store(tmp_path / where, grid)
        search(store, PUMA, crew, compiled=False, told=lambda done: None, clock=lambda: 0.0)
        found.append(store.found)
    here, there = found
    assert there.done == here.done == grid.count == 8
    assert there.costs.tolist() == here.costs.tolist()
    assert there.best() == here.best() and there.values(there.best())[0].tolist() == [8000.0, 400.0, 1000.0]


class Leaving:
    """A cluster whose scheduler is closed after two pieces."""

    words = "leaving"

    def __init__(self, cluster) -> None:
        self.inner, self.cluster = Cluster(GRID, TWO, cluster.scheduler_address, compiled=False), cluster

    def run(self, pieces):
        for number, done in enumerate(self.inner.run(pieces)):
            yield done
            if number == 1:
                self.cluster.close()


def test_what_was_done_before_a_cluster_went_away_is_kept(tmp_path):
    with local_cluster() as cluster, pytest.raises(ClusterError, match="went away"):
        searched(tmp_path, Leaving(cluster))
    kept = Store(tmp_path, GRID).found
    assert 0 < kept.done < GRID.count
    rest = searched(tmp_path, Processes(GRID, TWO, 1))
    assert rest.done == GRID.count
    assert not any(math.isnan(cost) for cost in rest.costs)


def test_an_address_where_nobody_answers_is_told_with_what_to_start(monkeypatch):
    monkeypatch.setattr(DaskWorkers, "CONNECT_S", 0.5)
    with pytest.raises(ClusterError, match="dask scheduler"):
        crew_of(GRID, TWO, compiled=False, cluster="tcp://127.0.0.1:9")


def test_a_fault_of_the_search_itself_is_not_blamed_on_the_cluster(address):
    broken = msgspec.structs.replace(GRID, experiment=msgspec.structs.replace(BASE, rate_hz=-1.0), axes=GRID.axes[1:2])
    crew = Cluster(broken, TWO, address, compiled=False)
    from hil.control.search import pieces
    from hil.errors import CommandError

    with pytest.raises(CommandError, match="rate"):
        list(crew.run(pieces(broken, 10)))

"""Who runs the pieces of a search: this computer's cores, or the workers of a Dask cluster. Same numbers from all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from hil.control.search import Grid, Piece, work
from hil.errors import HilError, MissingExtraError
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel

T = TypeVar("T")
Job = TypeVar("Job", bound="tuple[Any, ...]")


class ClusterError(HilError):
    """The cluster cannot be reached, or went away; what was done is kept."""


class Crew(Protocol):
    """Runs pieces and hands back what they found, in the order in which they are done."""

    def run(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, FloatArray]]:
        """Each piece with its table."""
        ...

    @property
    def words(self) -> str:
        """Who works, for people."""
        ...


class Threads:
    """Compiled loops on all cores: they need no interpreter."""

    def __init__(self, grid: Grid, model: RobotModel, threads: int) -> None:
        self._grid, self._model, self._threads = grid, model, threads

    @property
    def words(self) -> str:
        """Who works."""
        return f"{self._threads} cores, compiled"

    def run(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, FloatArray]]:
        """One piece at a time, its settings on all cores."""
        for piece in pieces:
            yield piece, work(self._grid, self._model, piece.settings, compiled=True, threads=self._threads)


class Processes:
    """Plain loops, a process per core."""

    def __init__(self, grid: Grid, model: RobotModel, processes: int) -> None:
        self._grid, self._model, self._processes = grid, model, processes

    @property
    def words(self) -> str:
        """Who works."""
        return f"{self._processes} cores, not compiled"

    def run(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, FloatArray]]:
        """As many pieces at a time as there are processes; in this one if there is only one."""
        waiting = list(pieces)
        if self._processes == 1 or len(waiting) == 1:
            for piece in waiting:
                yield piece, work(self._grid, self._model, piece.settings, compiled=False)
            return
        with ProcessPoolExecutor(self._processes, get_context("spawn")) as pool:
            try:
                jobs = [pool.submit(_work, self._grid, self._model, piece, False) for piece in waiting]
                for piece, job in zip(waiting, jobs, strict=True):
                    yield piece, job.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class DaskWorkers:
    """The workers of a Dask scheduler, whatever they are to do; they need this package in the same version."""

    TRIES = 3
    """A job whose worker died goes to another so often."""

    CONNECT_S = 10.0
    """Tried for so long."""

    def __init__(self, address: str) -> None:
        """Reach the scheduler.

        Raises:
            MissingExtraError: Dask is not installed.
            ClusterError: nobody answers, or the scheduler has no worker.
        """
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("--cluster", "cluster", "Without it, this computer's cores do the work") from None
        self._address = address
        try:
            self._client: Any = Client(address, timeout=self.CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(
                f"--cluster {address}: nobody answers there ({_short(error)}). Start one with: dask scheduler; then on "
                "each computer: dask worker ADDRESS"
            ) from None
        self.workers = len(self._client.scheduler_info()["workers"])
        if not self.workers:
            self._client.close()
            raise ClusterError(
                f"--cluster {address}: the scheduler has no workers. Start one with: dask worker {address}"
            )

    @property
    def words(self) -> str:
        """Who works."""
        return f"{self.workers} workers at {self._address}"

    def run(self, work: Callable[..., T], jobs: Iterable[Job]) -> Iterator[tuple[Job, T]]:
        """All jobs at once; the scheduler hands them out.

        Args:
            work: called there, with a job's parts as arguments; of a module that is installed there.
            jobs: what is to be done.

        Raises:
            ClusterError: it went away.
        """
        from distributed import as_completed

        try:
            waiting = {self._client.submit(work, *job, retries=self.TRIES, pure=False): job for job in jobs}
            with self._client.as_current():
                done = as_completed(waiting)
            for each in done:
                yield waiting[each], each.result()
        except HilError:
            raise
        except Exception as error:  # whatever a library of sockets, pickles and workers may say
            raise ClusterError(
                f"--cluster {self._address}: it went away in the middle ({_short(error)}). What was done is kept: the "
                "same command goes on from there, with or without --cluster"
            ) from None
        finally:
            self._client.close(timeout=2)


class Cluster:
    """Pieces for the workers of a Dask scheduler."""

    def __init__(self, grid: Grid, model: RobotModel, address: str, *, compiled: bool) -> None:
        """Reach the scheduler; errors as `DaskWorkers` has them."""
        self._grid, self._model, self._compiled = grid, model, compiled
        self._workers = DaskWorkers(address)

    @property
    def words(self) -> str:
        """Who works."""
        return self._workers.words

    def run(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, FloatArray]]:
        """All pieces at once; the scheduler hands them out.

        Raises:
            ClusterError: it went away.
        """
        jobs = ((self._grid, self._model, piece, self._compiled) for piece in pieces)
        for job, found in self._workers.run(_work, jobs):
            yield job[2], found


def crew_of(
    grid: Grid, model: RobotModel, *, compiled: bool, cluster: str | None = None, cores: int | None = None
) -> Crew:
    """Who works on `grid`."""
    if cluster is not None:
        return Cluster(grid, model, cluster, compiled=compiled)
    count = cores or os.cpu_count() or 1
    return Threads(grid, model, count) if compiled else Processes(grid, model, count)


def _work(grid: Grid, model: RobotModel, piece: Piece, compiled: bool) -> FloatArray:
    """In another process or on another computer."""
    return work(grid, model, piece.settings, compiled=compiled)


def _short(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]

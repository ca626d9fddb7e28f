"""Who marks: servers on this computer's cores, or the workers of a Dask cluster. Same marks from all."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Timer
from typing import Protocol

import msgspec

from hil.control.crew import DaskWorkers
from hil.errors import HilError
from hil.labs.grade_records import Marked, Setup, Submission, refused
from hil.labs.grade_server import BEHIND, FORKS, READY, allowed_s, receive, send
from hil.own_program import PYTHON

BATCH = 5
"""Submissions that go to another computer at once: a server's start is shared by them."""

STARTING_S = 120.0
"""For a server to import everything, on a crowded computer."""

MOST_DEATHS = 3
"""Of servers one after another: then it is no single submission that ends them."""


class Crew(Protocol):
    """Marks submissions, in whatever order they are done."""

    @property
    def words(self) -> str:
        """Who works, for people."""
        ...

    def run(self, submissions: Sequence[Submission]) -> Iterator[Marked]:
        """Each submission, marked."""
        ...


class Server:
    """One `grade_server` and the line to it. A new one takes its place if it ends."""

    def __init__(self, setup: Setup, *, behind: bool = False) -> None:
        """Nothing is started yet.

        Args:
            setup: what is the same for all submissions.
            behind: take what time others leave, as beside the loop of an arm.
        """
        self._setup, self._options = setup, (BEHIND,) if behind else ()
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0

    def mark(self, submission: Submission) -> Marked:
        """Mark one; it never takes longer than it may.

        Raises:
            HilError: the server cannot be started, or one after another has ended by itself.
        """
        if submission.refusal:
            return refused(self._setup.exercise, submission, submission.refusal)
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        # Where there is no fork the server itself is ended; elsewhere it ends its child long before.
        patience = Timer(allowed_s(self._setup) + STARTING_S, process.kill)
        patience.start()
        try:
            send(process.stdin, submission)
            marked = receive(process.stdout, Marked)
        except (OSError, ValueError):  # it has gone, or was closed meanwhile
            marked = None
        finally:
            patience.cancel()
        if marked is None or not FORKS:
            self.close()
        if marked is not None:
            self._deaths = 0
            return marked
        if not FORKS:
            return refused(self._setup.exercise, submission, "its marking came to no end")
        # A server that forks ends its child long before: then it is this computer that was too slow, or has ended it.
        self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            raise HilError(
                f"{MOST_DEATHS} marking processes have ended by themselves, one after another; what they said stands "
                "above. What was marked is kept"
            )
        none = refused(self._setup.exercise, submission, "it could not be marked: what marks it was ended meanwhile")
        return msgspec.structs.replace(none, fault=True)

    def close(self) -> None:
        """End it, and what it is marking."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _start(self) -> subprocess.Popen[bytes]:
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        process = subprocess.Popen(
            [*PYTHON, "-m", "hil.labs.grade_server", *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(_own_path())},
            start_new_session=True,  # Ctrl-C is for whoever has started it
        )
        assert process.stdin is not None and process.stdout is not None
        self._process = process  # before it is ready: whoever closes this meanwhile ends it
        patience = Timer(STARTING_S, process.kill)
        patience.start()
        try:
            send(process.stdin, self._setup)
            ready = receive(process.stdout, str)
        except (OSError, ValueError):
            ready = None
        finally:
            patience.cancel()
        if ready != READY:
            self.close()
            raise HilError("a marking process could not be started; what it said stands above")
        return process


def _own_path() -> list[str]:
    """Where modules come from; never the folder that somebody stands in, unless this package itself is there."""
    home = str(Path(__file__).resolve().parents[2])
    here = str(Path.cwd().resolve())
    every = [str(Path(path).resolve()) for path in sys.path if path]
    return [path for path in every if path != here or path == home]


class Cores:
    """A server for each core of this computer."""

    def __init__(self, setup: Setup, count: int) -> None:
        self._setup, self._count = setup, count

    @property
    def words(self) -> str:
        """Who works."""
        return f"{self._count} {'core' if self._count == 1 else 'cores'}"

    def run(self, submissions: Sequence[Submission]) -> Iterator[Marked]:
        """As many at a time as there are cores."""
        servers = [Server(self._setup) for _ in range(min(self._count, max(1, len(submissions))))]
        free: SimpleQueue[Server] = SimpleQueue()
        for server in servers:
            free.put(server)

        def one(submission: Submission) -> Marked:
            server = free.get()
            try:
                return server.mark(submission)
            finally:
                free.put(server)

        pool = ThreadPoolExecutor(len(servers))
        try:
            jobs = {pool.submit(one, submission) for submission in submissions}
            yield from _as_done(jobs)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for server in servers:
                server.close()
            pool.shutdown()


def _as_done(jobs: set[Future[Marked]]) -> Iterator[Marked]:
    # `as_completed` keeps every result until the last; these go as they come.
    while jobs:
        done, jobs = wait(jobs, return_when=FIRST_COMPLETED)
        for job in done:
            yield job.result()


class Cluster:
    """The workers of a Dask scheduler; they need this package in the same version."""

    def __init__(self, setup: Setup, address: str) -> None:
        """Reach the scheduler; errors as `hil.control.crew.DaskWorkers` has them."""
        self._setup = setup
        self._workers = DaskWorkers(address)

    @property
    def words(self) -> str:
        """Who works."""
        return self._workers.words

    def run(self, submissions: Sequence[Submission]) -> Iterator[Marked]:
        """Some at a time to each worker."""
        batches = [tuple(submissions[k : k + BATCH]) for k in range(0, len(submissions), BATCH)]
        for _, marked in self._workers.run(_mark_batch, ((self._setup, batch) for batch in batches)):
            yield from marked


def _mark_batch(setup: Setup, submissions: Iterable[Submission]) -> list[Marked]:
    """In a worker: by a server of its own, as on this computer."""
    server = Server(setup)
    try:
        return [server.mark(submission) for submission in submissions]
    finally:
        server.close()


def crew_of(setup: Setup, *, cluster: str | None, cores: int | None) -> Crew:
    """Who marks."""
    most = os.cpu_count() or 1
    return Cluster(setup, cluster) if cluster is not None else Cores(setup, min(cores or most, most))

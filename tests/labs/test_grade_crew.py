"""Real marking processes: what is too much is ended with all that it has started, and marks are the same everywhere."""

from pathlib import Path

import msgspec
import pytest

from hil.errors import HilError
from hil.labs.exercise import exercise_from_table
from hil.labs.grade_crew import Cluster, Cores, Server
from hil.labs.grade_records import Setup, Submission
from hil.labs.grade_server import READY
from hil.labs.sandbox import locks_in

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not locks_in(), reason="processes are locked in on Linux only"),
]

ANSWER = {"name": "y", "value": 4, "tolerance": 0.0}
EXERCISE = exercise_from_table(
    {"title": "f", "hand_in": {"kind": "function", "function": "f", "seconds": 2}, "answer": [ANSWER]}, "f", "f.toml"
)
SETUP = Setup(exercise=EXERCISE, pictures=False)


def given(student, text):
    return Submission(student=student, files={"solution.py": text.encode()})


CLASS = [
    given("right", "def f():\n    return {'y': 4}\n"),
    given("wrong", "def f():\n    return {'y': 5}\n"),
    given("loop", "def f():\n    while True:\n        pass\n"),
    given("fork", "import os\n\ndef f():\n    os.fork()\n"),
    given("large", f"LARGE = '{'x' * 900_000}'\n\ndef f():\n    return {{'y': 4}}\n"),
    Submission(student="refused", refusal="no plain file"),
]


def totals(every):
    return {marked.student: (marked.total, bool(marked.refusal)) for marked in every}


WANTED = {
    "right": (1.0, False),
    "wrong": (0.0, False),
    "loop": (0.0, True),
    "fork": (0.0, True),
    "large": (1.0, False),
    "refused": (0.0, True),
}


def test_hostile_ones_get_their_refusal_and_the_others_their_marks_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    crew = Cores(SETUP, 1)
    assert crew.words == "1 core"
    assert totals(crew.run(CLASS)) == WANTED
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.filterwarnings("ignore")
def test_workers_of_a_cluster_give_the_same_marks():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        crew = Cluster(SETUP, cluster.scheduler_address)
        assert crew.words.startswith("2 workers")
        assert totals(crew.run(CLASS)) == WANTED


def test_a_server_that_dies_is_no_mark_for_that_one_and_a_new_one_takes_the_next():
    server = Server(SETUP)
    try:
        server.mark(CLASS[0])
        server._process.kill()
        assert server.mark(CLASS[0]).fault
        assert server.mark(CLASS[0]).total == 1.0
    finally:
        server.close()


def test_servers_that_die_one_after_another_are_the_end(monkeypatch):
    monkeypatch.setattr("hil.labs.grade_crew.receive", lambda stream, kind: READY if kind is str else None)
    server = Server(SETUP)
    assert [server.mark(CLASS[0]).fault for _ in range(2)] == [True, True]
    with pytest.raises(HilError, match="3 marking processes have ended by themselves"):
        server.mark(CLASS[0])


def test_a_server_that_cannot_begin_is_the_end_at_once():
    nowhere = msgspec.structs.replace(EXERCISE, rig="no-such-rig")
    with pytest.raises(HilError, match="could not be started"):
        Server(Setup(exercise=nowhere, pictures=False)).mark(CLASS[0])


def test_a_module_that_a_student_hands_in_is_never_taken_for_ours(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("open('it-ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as `python -m hil` does
    server = Server(SETUP)
    try:
        assert server.mark(CLASS[0]).total == 1.0
    finally:
        server.close()
    assert not (tmp_path / "it-ran").exists()

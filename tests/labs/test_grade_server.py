"""What a marking server makes of what its child has said, and of how it ended."""

import errno
import io
import os

import pytest

from hil.labs import grade_server
from hil.labs.exercise import exercise_from_table
from hil.labs.grade_crew import crew_of
from hil.labs.grade_records import Mark, Marked, Setup, Submission
from hil.labs.grade_run import mark, prepared
from hil.labs.grade_server import FORKS, _answer, _mark, _mark_apart, receive, send
from hil.labs.sandbox import NoSandboxError

ROW = {"do": "time", "name": "soon", "at_most_s": 0.01}
TASK = exercise_from_table(
    {"title": "t", "rig": "lynx6", "hand_in": {"kind": "task"}, "predicate": [ROW]}, "t", "t.toml"
)
MOVE = b'title = "short"\nstart = "home"\n[[step]]\ndo = "move"\nby_deg = { base = 2 }\n'
SETUP = Setup(exercise=TASK, pictures=True)
ANA = Submission(student="ana", files={"task.toml": MOVE})


def test_marks_stand_whatever_becomes_of_the_picture(tmp_path, monkeypatch):
    def picture_of(*_):
        raise MemoryError

    monkeypatch.setattr(grade_server, "picture_of", picture_of)
    said = []
    marked = _mark(SETUP, prepared(TASK), ANA, tmp_path, said.append)
    assert said == [marked] and marked.refusal == "" and marked.marks[0].held == 0


def test_the_last_whole_record_counts():
    stream = io.BytesIO()
    marked = Marked(
        student="ana", digest=ANA.digest, marks=(Mark(name="soon", marks=1, most=1, held=1, cases=1, words="w"),)
    )
    send(stream, marked)
    assert _answer(SETUP, ANA, stream.getvalue() + b"\x10\x00\x00\x00half", -9, ours=True) == marked


def test_a_record_that_a_pipe_gives_in_parts_is_one_record():
    class Parts(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 3))

    stream = Parts()
    send(stream, ANA)
    stream.seek(0)
    assert receive(stream, Submission) == ANA and receive(stream, Submission) is None


def test_what_the_machine_ended_is_a_fault_and_what_was_slow_is_a_refusal():
    assert _answer(SETUP, ANA, b"", -9, ours=True).fault
    slow = _answer(SETUP, ANA, b"", -9, ours=False)
    assert slow.refusal and not slow.fault


def test_no_lock_is_no_refusal_of_the_student(tmp_path, monkeypatch):
    def call_function(*_, **__):
        raise NoSandboxError("no lock")

    monkeypatch.setattr("hil.labs.grade_run.call_function", call_function)
    of = exercise_from_table(
        {
            "title": "f",
            "hand_in": {"kind": "function", "function": "f"},
            "answer": [{"name": "y", "value": 4, "tolerance": 0.0}],
        },
        "f",
        "f.toml",
    )
    assert mark(of, None, None, Submission(student="a", files={"solution.py": b""}), tmp_path).fault


@pytest.mark.skipif(not FORKS, reason="elsewhere no process is forked")
def test_where_no_process_can_be_started_nobody_loses_marks(monkeypatch):
    def fork():
        raise OSError(errno.EAGAIN, "no more of them")

    monkeypatch.setattr(os, "fork", fork)
    marked = _mark_apart(SETUP, None, ANA, io.BytesIO())
    assert marked.fault and "no process can be started" in marked.refusal


def test_there_are_never_more_markers_than_cores():
    assert crew_of(SETUP, cluster=None, cores=10_000).words.split()[0] == str(os.cpu_count())

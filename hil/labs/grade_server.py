"""Marks submissions one after another, each in a process of its own that is forked from this one and has limits.

This process has imported everything and has read the rig, so that a submission costs its own run and no start. It runs
nothing that was handed in. Started as ``python -m hil.labs.grade_server`` by `grade_crew.py`; what passes between the
two are records with their length before them.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn, TypeVar

import msgspec

from hil.clock import monotonic_s
from hil.errors import HilError
from hil.labs.grade_picture import picture_of, warm_up
from hil.labs.grade_records import Marked, Setup, Submission, refused
from hil.labs.grade_run import mark_with_runs, prepared
from hil.model.rig import Rig
from hil.runtime.rtprio import go_after_others

T = TypeVar("T")

FORKS = sys.platform == "linux"
"""macOS has fork too, but its own libraries do not survive it."""
_LENGTH = struct.Struct("<I")
MOST_ANSWER_BYTES = 20_000_000
BEHIND = "--behind-others"
READY = "ready"
"""Said once everything has been imported and read: what ends a server from then on is one submission's."""

BESIDE_S = 20.0
"""Of the clock, beside twice the processor time that a submission may take: the computer has other work."""

LITTLE = 0.5
"""Of the processor time allowed: what was ended with less has not been slow by itself."""

SCRATCH_BYTES = 50_000_000
"""Of one file that a marking process may write."""


def send(stream: IO[bytes], record: object) -> None:
    """Write one record."""
    data = msgspec.msgpack.encode(record)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes], kind: type[T]) -> T | None:
    """Read one record; None at the end."""
    head = _read(stream, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _read(stream, length)
    return msgspec.msgpack.decode(data, type=kind) if len(data) == length else None


def _read(stream: IO[bytes], length: int) -> bytes:
    """So many bytes, or what there is before the end: a pipe without a buffer gives what it holds, and no more."""
    parts, missing = [], length
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def allowed_s(setup: Setup) -> float:
    """How long one submission may take by the clock, before its process is ended."""
    return 2.0 * setup.exercise.hand_in.seconds + BESIDE_S


def serve(*, behind: bool = False) -> None:
    """Take submissions until nobody sends any; `behind` others of this computer, where something has to be on time."""
    if behind:
        go_after_others()
    inside, outside = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    # Whoever prints, a library or a warning, does not talk in between.
    os.dup2(2, 1)
    setup = receive(inside, Setup)
    if setup is None:
        return
    rig = prepared(setup.exercise)
    if setup.pictures:
        warm_up()
    # What is there now stays: no child looks for garbage in it, nor makes a copy of it by doing so.
    gc.freeze()
    send(outside, READY)
    while (submission := receive(inside, Submission)) is not None:
        send(outside, _mark_apart(setup, rig, submission, inside) if FORKS else _mark_here(setup, rig, submission))


def _mark_here(setup: Setup, rig: Rig | None, submission: Submission) -> Marked:
    """In this process: whoever started it ends it if that takes too long."""
    with tempfile.TemporaryDirectory(prefix="hil-grade-", ignore_cleanup_errors=True) as folder:
        return _mark(setup, rig, submission, Path(folder))


def _mark(
    setup: Setup,
    rig: Rig | None,
    submission: Submission,
    folder: Path,
    say: Callable[[Marked], None] = lambda marked: None,
) -> Marked:
    """The marks, told by `say` before there is a picture: no picture costs anybody marks."""
    try:
        marked, (run, case) = mark_with_runs(setup.exercise, rig, setup.seed, submission, folder)
    except MemoryError:
        marked, run, case = refused(setup.exercise, submission, "it needs more memory than it may have"), None, 0
    say(marked)
    if not setup.pictures or run is None or all(mark.held == mark.cases for mark in marked.marks):
        return marked
    try:
        return msgspec.structs.replace(marked, picture=picture_of(setup, marked, run, case, folder))
    except Exception as error:
        sys.stderr.write(f"no picture for {marked.student}: {type(error).__name__}\n")
        return marked


def _mark_apart(setup: Setup, rig: Rig | None, submission: Submission, inside: IO[bytes]) -> Marked:
    """In a process of its own, which ends with all that it has started."""
    if sys.platform != "linux":
        raise OSError("only where the server forks")
    try:
        folder = Path(tempfile.mkdtemp(prefix="hil-grade-"))
    except OSError as error:
        return _not_here(setup, submission, f"{tempfile.gettempdir()}: {error.strerror}")
    hand_in_s = setup.exercise.hand_in.seconds
    try:
        reading, writing = os.pipe()
        try:
            number = os.fork()
        except OSError as error:
            os.close(reading)
            os.close(writing)
            return _not_here(setup, submission, f"no process can be started: {error.strerror}")
        if number == 0:
            os.close(reading)
            _in_the_child(writing, setup, lambda say: _mark(setup, rig, submission, folder, say))
        os.close(writing)
        said, ended, late = _listen(reading, inside, monotonic_s() + allowed_s(setup))
        code, used_s = _end(number)
        if ended:
            raise SystemExit(0)
        return _answer(
            setup, submission, said, code, ours=(late or code == -signal.SIGKILL) and used_s < LITTLE * hand_in_s
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_the_child(writing: int, setup: Setup, work: Callable[[Callable[[Marked], None]], Marked]) -> NoReturn:
    if sys.platform != "linux":
        raise OSError("only where the server forks")
    import resource

    code = 1
    try:
        os.setsid()
        hand_in = setup.exercise.hand_in
        most, seconds = hand_in.memory_mb << 20, int(hand_in.seconds) + 1
        for what, soft, hard in (
            (resource.RLIMIT_CPU, seconds, seconds + 1),
            (resource.RLIMIT_AS, most, most),
            (resource.RLIMIT_FSIZE, SCRATCH_BYTES, SCRATCH_BYTES),
            (resource.RLIMIT_CORE, 0, 0),
        ):
            resource.setrlimit(what, (soft, hard))
        with os.fdopen(writing, "wb") as stream:
            send(stream, work(lambda marked: send(stream, marked)))
        code = 0
    except BaseException as error:
        # A fault of ours, and not of the student's: whoever marks has to see it.
        sys.stderr.write(f"the marker has a fault: {type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(code)


def _listen(reading: int, inside: IO[bytes], until_s: float) -> tuple[bytes, bool, bool]:
    """What the child says; whether the owner has gone meanwhile; and whether the time is over."""
    said = b""
    try:
        doors: list[int] = [reading, inside.fileno()]
        while (left_s := until_s - monotonic_s()) > 0.0 and len(said) <= MOST_ANSWER_BYTES:
            ready, _, _ = select.select(doors, [], [], left_s)
            if doors[1] in ready:  # one submission at a time: what can be read is the end
                return b"", True, False
            if reading in ready:
                part = os.read(reading, 1 << 16)
                if not part:
                    return said, False, False
                said += part
        return said, False, len(said) <= MOST_ANSWER_BYTES
    finally:
        os.close(reading)


def _end(number: int) -> tuple[int, float]:
    """End the child and all that it has started, which is in its session; how it ended, and what it computed, in s."""
    if sys.platform != "linux":
        raise OSError("only where the server forks")
    deadline_s = monotonic_s() + 1.0
    while True:
        done, status, used = os.wait4(number, os.WNOHANG)
        if done or monotonic_s() > deadline_s:
            break
        _kill(number)
        time.sleep(0.001)
    _kill(number)
    if not done:
        _, status, used = os.wait4(number, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def _kill(number: int) -> None:
    if sys.platform != "linux":
        raise OSError("only where the server forks")
    # Gone already, or not yet a session of its own.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def _answer(setup: Setup, submission: Submission, said: bytes, code: int, *, ours: bool) -> Marked:
    seconds = setup.exercise.hand_in.seconds
    stream, marked = io.BytesIO(said), None
    try:
        while (each := receive(stream, Marked)) is not None:
            marked = each
    except (msgspec.DecodeError, HilError):
        pass
    if marked is not None:
        return marked
    if ours:
        return _not_here(setup, submission, "the computer was too busy, or had no memory left")
    if code == 1:
        return _not_here(setup, submission, "the marker has a fault, which is not the student's")
    memory = setup.exercise.hand_in.memory_mb
    words = f"its marking came to no end; allowed: {seconds:g} s of processor time and {memory} MB"
    return refused(setup.exercise, submission, words)


def _not_here(setup: Setup, submission: Submission, why: str) -> Marked:
    """What was not marked by no fault of the student's."""
    return msgspec.structs.replace(refused(setup.exercise, submission, f"it could not be marked: {why}"), fault=True)


if __name__ == "__main__":
    serve(behind=BEHIND in sys.argv[1:])

"""Runs a student's Python function in a process that can compute and nothing else; docs/decisions/0041 says how.

Nothing of a student's code runs in this process, and nothing that it gives is believed to be more than a value.
"""

from __future__ import annotations

import json
import os
import platform
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.clock import monotonic_s
from hil.errors import HilError
from hil.labs.sandbox_inside import CALLS, LOCKED

INSIDE = Path(__file__).with_name("sandbox_inside.py")
MOST_BYTES = 1_000_000
"""Of what a function may give, for all cases together."""

MOST_WORDS = 600
LITTLE = 0.5
"""Of the processor time allowed, as in `grade_server.py`."""

STARTING_S = 10.0
"""For the interpreter, beside the function's own time; a crowded computer takes so long."""


class SandboxError(HilError):
    """A student's function did not give anything that could be marked; in words for the student."""


class NoSandboxError(HilError):
    """This computer cannot lock a process in, so no function is run here."""


class _EndedError(Exception):
    """It was ended from outside, by the clock or by the system."""


def locks_in() -> bool:
    """Whether this kind of computer can; its kernel may still say no."""
    return sys.platform.startswith("linux") and platform.machine() in CALLS


def call_function(
    source: bytes, function: str, cases: Sequence[Mapping[str, float]], folder: Path, *, seconds: float, memory_mb: int
) -> list[Any]:
    """Call a function of a student's file once for each case.

    Args:
        source: the file.
        function: its name there.
        cases: what it is called with, by names.
        folder: an empty one, in which it starts.
        seconds: of processor time; twice as many may pass.
        memory_mb: the most that the process may take.

    Returns:
        What it gave, as JSON has it.

    Raises:
        SandboxError: it raised something, took too long, gave too much, or was ended.
        NoSandboxError: no process can be locked in here; the function was not run.
    """
    if not locks_in():
        raise NoSandboxError(
            f"a Python function is marked only where a process can be locked in: on Linux, {' or '.join(CALLS)}; this "
            f"is {sys.platform} on {platform.machine()}. Mark it on such a computer, or there with --cluster"
        )
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SandboxError(f"solution.py is no UTF-8 text: byte {error.start}") from None
    whole_seconds = max(1, round(seconds))
    job = {
        "source": text,
        "function": function,
        "cases": list(cases),
        "seconds": whole_seconds,
        "memory_mb": memory_mb,
    }
    said = _talk(json.dumps(job).encode(), folder, 2.0 * whole_seconds + STARTING_S, whole_seconds)
    return _read(said, len(cases))


def _talk(job: bytes, folder: Path, most_s: float, seconds: int) -> bytes:
    """Start it, hand over the job, and take what it says until it ends or has to be ended."""
    before_s = _computed_s()
    process = subprocess.Popen(
        # Not -I, which would overlook the seed of hashes: sets would have another order each time.
        [sys.executable, "-s", "-P", "-B", str(INSIDE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={"PATH": "", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        close_fds=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        try:
            process.stdin.write(job)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended; what it said, or its end, says why
        return _listen(process, process.stdout.fileno(), monotonic_s() + most_s, seconds)
    except _EndedError as error:
        process.kill()
        process.wait()
        # A function cannot sleep: what has computed little had no turn, or no memory left, on this computer.
        if _computed_s() - before_s < LITTLE * seconds:
            raise NoSandboxError(
                "a Python function had no turn: this computer is too busy, or has no memory left"
            ) from None
        raise SandboxError(str(error)) from None
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _computed_s() -> float:
    """Processor time of all processes that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _listen(process: subprocess.Popen[bytes], out: int, until_s: float, seconds: int) -> bytes:
    said = b""
    with selectors.DefaultSelector() as ready:
        ready.register(out, selectors.EVENT_READ)
        while True:
            left_s = until_s - monotonic_s()
            if left_s <= 0.0 or not ready.select(left_s):
                raise _EndedError(_no_end(seconds))
            part = os.read(out, 65_536)
            if not part:
                break
            said += part
            if len(said) > MOST_BYTES:
                raise SandboxError(f"it gives more than {MOST_BYTES} bytes")
    code = process.wait()
    if not said.strip(LOCKED):
        if -code == getattr(signal, "SIGKILL", 0):
            raise _EndedError(_no_end(seconds))
        raise SandboxError(_ended(code, seconds))
    return said


def _no_end(seconds: int) -> str:
    return f"it did not come to an end; allowed: {seconds} s"


def _ended(code: int, seconds: int) -> str:
    if -code == getattr(signal, "SIGXCPU", 0):
        return _no_end(seconds)
    return f"its process ended by itself ({code}), without giving anything; too much memory ends it so, too"


def _read(said: bytes, count: int) -> list[Any]:
    def refuse(constant: str) -> None:
        raise SandboxError(f"it gives {constant}; allowed: finite numbers")

    try:
        found = json.loads(said, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise SandboxError("what it gives is nothing that can be read") from None
    if not isinstance(found, dict):
        raise SandboxError("what it gives is nothing that can be read")
    # Behind the lock it is a student who says so.
    if "unlocked" in found and not said.startswith(LOCKED):
        raise NoSandboxError(
            f"a Python function is not run here, for its process could not be locked in: "
            f"{str(found['unlocked'])[:MOST_WORDS]}"
        )
    if "error" in found:
        raise SandboxError(str(found["error"])[:MOST_WORDS])
    results = found.get("results")
    if not isinstance(results, list) or len(results) != count:
        raise SandboxError("what it gives is nothing that can be read")
    try:
        json.dumps(results, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):  # half a letter, which no file, table or terminal takes
        raise SandboxError("what it gives holds text that is no Unicode") from None
    return results

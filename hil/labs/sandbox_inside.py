"""The other side of `sandbox.py`: a process that locks itself in, and only then runs a student's function.

It imports the standard library alone, and is started as a file. What a student may import stands in ``GIVEN``; all else
is refused by the kernel: a filter (seccomp) lets through the few calls that computing needs, and no file, socket,
process or signal is among them. What comes out is text on the first output, and nobody's word for anything but itself.
"""

from __future__ import annotations

import ast
import ctypes
import errno
import importlib
import json
import os
import platform
import random
import struct
import sys

# fmt: off
GIVEN = (
    "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools", "heapq",
    "itertools", "math", "numbers", "operator", "random", "re", "statistics", "string", "typing", "numpy",
)
"""Modules that a student's file may import."""

NOT_GIVEN = frozenset({"distutils", "f2py", "conftest", "tests", "__main__"})
"""Parts of NumPy that build and test it: some start programs as soon as they are imported, which is before the lock."""

LOCKED = b"\n"
"""Said once behind the lock, before anything of a student runs."""

WITH_NUMPY = ("numpy.linalg", "numpy.random", "numpy.polynomial", "numpy.fft")

_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2

# read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn sched_yield mremap
# madvise getpid exit gettimeofday getrusage times sigaltstack gettid sched_getaffinity clock_gettime clock_getres
# exit_group getrandom rseq membarrier set_robust_list; numbers of Linux's own tables. Who sleeps computes nothing.
CALLS = {
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 39, 60, 96, 98, 100, 131, 186, 204, 228, 229,
         231, 273, 318, 324, 334),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 124, 216, 233, 172, 93, 169, 165, 153, 132, 178,
         123, 113, 114, 94, 99, 278, 283, 293),
    ),
}
# fmt: on

FUTEX = {"x86_64": 202, "aarch64": 98}
"""Only to wake others: who waits for one sleeps as long as it likes."""

_AND, _FIRST_BITS, _WAKE = 0x54, 0x7F, 1
_SECOND_ARGUMENT = 24


def main() -> None:
    """Read what is to be done, lock, do it, write what came out."""
    job = json.loads(sys.stdin.buffer.read())
    _limit(job["seconds"], job["memory_mb"])
    out = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, out)
    os.closerange(out + 1, 256)
    try:
        code = _ready(job["source"])
        # What was still to be imported on the way is found here, and not behind the lock.
        _rehearse_words()
    except BaseException as error:
        _say(out, {"error": _words(error)})
        return
    try:
        _lock()
    except OSError as error:
        _say(out, {"unlocked": str(error)})
        return
    os.write(out, LOCKED)
    _say(out, _results(code, job["function"], job["cases"]))


def _limit(seconds: int, memory_mb: int) -> None:
    if sys.platform != "linux":
        raise OSError("`sandbox.py` starts this on Linux alone")
    import resource

    most = memory_mb << 20
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, most, most),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 256, 256),
    ):
        resource.setrlimit(what, (soft, hard))


def _ready(source: str):  # type: ignore[no-untyped-def]  # started as a file, without the project's types
    """The compiled file, with all modules loaded that it may import."""
    tree = ast.parse(source, "solution.py")
    wanted = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    wanted |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    for name in sorted(wanted):
        if name.partition(".")[0] in GIVEN and NOT_GIVEN.isdisjoint(name.split(".")):
            importlib.import_module(name)
    if "numpy" in sys.modules:
        for name in WITH_NUMPY:
            importlib.import_module(name)
        sys.modules["numpy"].random.seed(0)
    random.seed(0)
    return compile(tree, "solution.py", "exec")


def _rehearse_words() -> None:
    """Raise and catch what students raise: what that loads is loaded now."""
    try:
        raise ValueError("rehearsal")
    except ValueError as error:
        _words(error)
    json.dumps({"error": "\N{EN DASH}", "results": [1.0, None]})


def _lock() -> None:
    """From here on only the calls of `CALLS` are answered; all others are refused."""
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in CALLS or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"no filter for {sys.platform} on {machine}")
    architecture, calls = CALLS[machine]
    rows = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    rows += [
        (_EQUAL, 0, 5, FUTEX[machine]),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_AND, 0, 0, _FIRST_BITS),
        (_EQUAL, 1, 0, _WAKE),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    rows += [(_EQUAL, len(calls) - index, 0, number) for index, number in enumerate(calls)]
    rows += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    text = b"".join(struct.pack("HBBI", *row) for row in rows)
    program = ctypes.create_string_buffer(text, len(text))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    known = Program(len(rows), ctypes.addressof(program))
    library = ctypes.CDLL(None, use_errno=True)
    sys.path[:] = []
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel does not let a process give up its privileges")
    if library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(known), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel has no filter for calls (seccomp)")


def _results(code, function: str, cases: list) -> dict:  # type: ignore[no-untyped-def,type-arg]
    """What the function gives for each case."""
    names = {"__name__": "solution"}
    try:
        exec(code, names)
        called = names.get(function)
        if not callable(called):
            return {"error": f"there is no function {function}"}
        return {"results": [_plain(called(**case)) for case in cases]}
    except BaseException as error:
        return {"error": _words(error)}


def _plain(value, depth: int = 0):  # type: ignore[no-untyped-def]
    """Numbers, text, lists and tables, as JSON has them; NumPy's too."""
    if depth > 12:
        raise ValueError("what it gives is too deep")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth + 1) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), depth + 1)
    raise TypeError(f"it gives a {type(value).__name__}; allowed: numbers, text, lists and tables of them")


def _words(error: BaseException) -> str:
    """What went wrong, with the line of the student's file."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "solution.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {line}: " if line else ""
    try:
        said = str(error)[:300]
    except BaseException:
        said = ""
    if isinstance(error, ModuleNotFoundError):
        said = f"{said}; given are {', '.join(GIVEN)}"
    elif isinstance(error, OSError) and error.errno == errno.EPERM:
        said = "it asks the system for what is not given: files, network, other programs and sleep are not"
    elif isinstance(error, MemoryError):
        said = "it needs more memory than it may have"
    return f"{where}{type(error).__name__}: {said}"[:600]


def _say(out: int, found: dict) -> None:  # type: ignore[type-arg]
    try:
        text = json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError, MemoryError) as error:
        text = json.dumps({"error": f"what it gives cannot be written: {error}"[:300]})
    data = text.encode()
    while data:
        data = data[os.write(out, data) :]
    os._exit(0)


if __name__ == "__main__":
    main()

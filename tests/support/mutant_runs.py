"""Runs tests against changed sources: collected once, then one process forked for each change.

Which tests a change concerns is looked up: every test once says which functions it reaches. A change inside a function
takes the place of the function's code in the forked process. One outside of all functions, and one that no test
noticed, is tried in a fresh process that imports the changed source.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from mutations import Mutant

VIRTUAL = "not (processes or pty or wall_clock)"
SURVIVED, KILLED, NOT_HERE = 0, 1, 3
"""Exit codes of a forked process: the last if the change cannot be put in place there."""

SLACK_S, SLACK_TIMES = 10.0, 6.0
"""How much longer than before tests may take, before the change counts as noticed: it hangs."""

HANGS = "it hangs"

BUSY_TIMES = 5.0
"""How much slower than alone everything may be; only what waits for something that never comes is ended by this."""

_OF_PROCESSOR_TIME = b"2"
"""What was remembered by the clock, of a busy machine perhaps, is asked for anew."""

START_S = 30.0
"""What a fresh process may take more: it imports and collects."""

QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HIL_WITHOUT_FAST": "1"}
"""Of every process of a campaign. A compiler keeps what it has compiled, also that of a changed source."""


class Reach(NamedTuple):
    """One test: how long it takes of a processor, and the functions that it comes through, as `file:name`."""

    duration_s: float
    functions: frozenset[str]


class Verdict(NamedTuple):
    """What became of one change."""

    mutant: Mutant
    survived: bool
    how: str
    """Which test noticed it, or how many did not."""


class Settings(NamedTuple):
    """Of a campaign."""

    root: Path
    tests: tuple[str, ...]
    jobs: int
    budget_s: float
    """Tests of one change end after so long, reckoned by how long they took unchanged."""

    memory: Path | None
    """Where reach is kept from one campaign to the next."""

    parts: tuple[str, ...] = ("hil", "drivers", "sim")
    """Folders of the product."""


def campaign(
    settings: Settings, mutants: Sequence[Mutant], tell: Callable[[Verdict], None], say: Callable[[str], None]
) -> int:
    """Try every change; 0, or pytest's exit code if the tests could not be collected or fail unchanged."""
    os.environ.update(QUIET)
    running = _Running(settings, mutants, tell, say)
    with tempfile.TemporaryDirectory(prefix="hil-mutants-") as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        code = pytest.main([*_arguments(settings.root), *settings.tests], plugins=[running])
    return int(code)


def _arguments(root: Path) -> list[str]:
    plugins = [word for name in ("cacheprovider", "xdist") for word in ("-p", f"no:{name}")]
    return [
        "--rootdir",
        str(root),
        # The hook that rewrites asserts loads a plugin's whole package itself, and would not see that it was changed.
        "--assert=plain",
        "-qq",
        "--no-summary",
        "-m",
        VIRTUAL,
        *plugins,
        "-o",
        "timeout=0",
        "-W",
        "ignore::pytest.PytestConfigWarning",
    ]


class _Running:
    """The plugin that takes the place of pytest's own run of the tests."""

    def __init__(
        self,
        settings: Settings,
        mutants: Sequence[Mutant],
        tell: Callable[[Verdict], None],
        say: Callable[[str], None],
    ) -> None:
        self._settings, self._mutants, self._tell, self._say = settings, mutants, tell, say
        self._items: dict[str, pytest.Item] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("some tests could not be collected")
        self._items = {item.nodeid: item for item in session.items}
        reach = self._reach()
        functions = _functions(self._settings.root)
        named = {nodeid: _named(item) for nodeid, item in self._items.items()}
        todo = [(mutant, _concerned(mutant, reach, named, self._settings)) for mutant in self._mutants]

        def one(number: int, folder: Path) -> int:
            mutant, tests = todo[number]
            # Of the processor's time: a busy machine makes nothing hang.
            signal.setitimer(signal.ITIMER_PROF, _tests_s(tests, reach))
            code = self._in_a_fork(mutant, tests, functions, folder) if mutant.within else NOT_HERE
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            return code if code == KILLED else _fresh(mutant, tests, folder, self._settings.root)

        def begin(number: int) -> float | None:
            tests = todo[number][1]
            return _allowed_s(tests, reach) if tests else None

        for number, code, words in forked(len(todo), self._settings.jobs, one, begin):
            mutant, tests = todo[number]
            how = f"{len(tests)} tests come through and pass" if tests else "no test comes through here"
            self._tell(Verdict(mutant, code != KILLED, words if code == KILLED else how))
        return True

    def _reach(self) -> Mapping[str, Reach]:
        """What each test comes through; asked of the tests of files that are new or have changed."""
        memory = _Memory(self._settings)
        files: dict[str, list[str]] = defaultdict(list)
        for nodeid in self._items:
            files[nodeid.split("::", 1)[0]].append(nodeid)
        new = [name for name in files if not memory.knows(name, files[name])]
        if new:
            self._say(f"asking the tests of {len(new)} files what they come through")

        def ask(number: int, folder: Path) -> int:
            found = {nodeid: self._traced(nodeid) for nodeid in files[new[number]]}
            (folder / "reach.json").write_text(json.dumps(found), "utf-8")
            return SURVIVED

        failing: list[str] = []

        def keep(number: int, folder: Path) -> None:
            text = (folder / "reach.json").read_text("utf-8") if (folder / "reach.json").exists() else "{}"
            found = json.loads(text)
            failing.extend(nodeid for nodeid in files[new[number]] if not found.get(nodeid))
            memory.learn(new[number], {nodeid: entry for nodeid, entry in found.items() if entry})

        for _ in forked(len(new), self._settings.jobs, ask, lambda _: 3600.0, keep):
            pass
        memory.save()
        if failing:
            self._say("\n  ".join(["left out, since they fail in this way without any change:", *failing[:20]]))
        return memory.reach(self._items)

    def _traced(self, nodeid: str) -> tuple[float, list[str]] | None:
        """How long a test takes and the functions that it comes through; None if it fails."""
        seen: set[CodeType] = set()

        def note(frame: FrameType, event: str, argument: object) -> None:
            seen.add(frame.f_code)

        began_s = time.process_time()
        threading.settrace(note)
        sys.settrace(note)
        try:
            fine = self._passes(nodeid)
        finally:
            sys.settrace(None)
            threading.settrace(None)
        root = f"{self._settings.root}{os.sep}"
        names = {
            f"{Path(code.co_filename.removeprefix(root)).as_posix()}:{_outermost(code.co_qualname)}"
            for code in seen
            if code.co_filename.startswith(root)
        }
        return (time.process_time() - began_s, sorted(names)) if fine else None

    def _passes(self, nodeid: str, following: str | None = None) -> bool:
        item, behind = self._items[nodeid], None if following is None else self._items[following]
        reports = runtestprotocol(item, log=False, nextitem=behind)
        return not any(report.failed for report in reports)

    def _in_a_fork(
        self,
        mutant: Mutant,
        tests: Sequence[str],
        functions: Mapping[tuple[str, str], list[FunctionType]],
        folder: Path,
    ) -> int:
        if not _put_in_place(mutant, self._settings.root, functions):
            return NOT_HERE
        for nodeid, following in zip(tests, [*tests[1:], None], strict=True):
            if not self._passes(nodeid, following):
                (folder / "words").write_text(nodeid, "utf-8")
                return KILLED
        return SURVIVED


class _Memory:
    """What tests come through, kept in a file by what their own files say."""

    def __init__(self, settings: Settings) -> None:
        self._file, self._root = settings.memory, settings.root
        self._known: dict[str, dict[str, Any]] = {}
        if self._file is not None and self._file.exists():
            self._known = json.loads(self._file.read_text("utf-8"))

    def knows(self, name: str, nodeids: Iterable[str]) -> bool:
        return self._known.get(name, {}).get("text") == self._text(name)

    def learn(self, name: str, found: dict[str, Any]) -> None:
        self._known[name] = {"text": self._text(name), "tests": found}

    def save(self) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._known), "utf-8")

    def reach(self, wanted: Mapping[str, object]) -> dict[str, Reach]:
        return {
            nodeid: Reach(entry[0], frozenset(entry[1]))
            for known in self._known.values()
            for nodeid, entry in known["tests"].items()
            if nodeid in wanted
        }

    def _text(self, name: str) -> str:
        return hashlib.sha256(_OF_PROCESSOR_TIME + (self._root / name).read_bytes()).hexdigest()


def forked(
    count: int,
    jobs: int,
    work: Callable[[int, Path], int],
    begin: Callable[[int], float | None],
    done: Callable[[int, Path], None] | None = None,
) -> Iterator[tuple[int, int, str]]:
    """Do `work` of each number in a process of its own, some at a time; number, exit code and words as they end.

    `begin` says in this process how many seconds it may take; with None nothing is forked. Whatever does not end in
    its time, or ends by a signal, is KILLED.
    """
    waiting = list(range(count))[::-1]
    running: dict[int, tuple[int, float, Path]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop()
            allowed_s = begin(number)
            if allowed_s is None:
                yield number, NOT_HERE, ""
                continue
            folder = Path(tempfile.mkdtemp(prefix="hil-mutant-"))
            child = os.fork()
            if child == 0:
                _live(work, number, folder)
            running[child] = (number, time.monotonic() + allowed_s, folder)
        for child, (number, last_s, folder) in list(running.items()):
            code, words = _ended(child, last_s)
            if code is None:
                continue
            del running[child]
            if done is not None:
                done(number, folder)
            if (folder / "words").exists():
                words = (folder / "words").read_text("utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            yield number, code, words
        time.sleep(0.005)


def _ended(child: int, last_s: float) -> tuple[int | None, str]:
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
        _end_group(child)
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGPROF:
            return KILLED, HANGS
        return (code, "") if code in (SURVIVED, KILLED, NOT_HERE) else (KILLED, f"the process ended with {code}")
    if time.monotonic() > last_s:
        _end_group(child)
        os.waitpid(child, 0)
        return KILLED, HANGS
    return None, ""


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing is left of it


def _live(work: Callable[[int, Path], int], number: int, folder: Path) -> None:
    """The whole life of a forked process; it never returns."""
    code = KILLED
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        places = ("PYTEST_DEBUG_TEMPROOT", "XDG_CACHE_HOME", "HYPOTHESIS_STORAGE_DIRECTORY")
        os.environ |= dict.fromkeys(places, str(folder))
        code = work(number, folder)
    except BaseException as error:
        (folder / "words").write_text(repr(error), "utf-8")
    finally:
        os._exit(code)


def _outermost(qualname: str) -> str:
    return qualname.split(".<locals>", 1)[0]


def _concerned(
    mutant: Mutant, reach: Mapping[str, Reach], named: Mapping[str, frozenset[str]], settings: Settings
) -> list[str]:
    """The tests to be run: those that come through what is changed, in the budget.

    First those that name it themselves (outside of functions), namesakes and quick ones.
    """
    if mutant.within:
        reached = {f"{mutant.file}:{mutant.within}"}
    else:
        codes = _codes(settings.root, settings.parts)
        reached = _using(mutant.names, codes) or {name for name, _ in codes if name.startswith(f"{mutant.file}:")}
    stem, said = Path(mutant.file).stem.strip("_"), frozenset(mutant.names)
    ordered = sorted(
        (said.isdisjoint(named[nodeid]), stem not in nodeid.split("::", 1)[0], test.duration_s, nodeid)
        for nodeid, test in reach.items()
        if not reached.isdisjoint(test.functions) or not said.isdisjoint(named[nodeid])
    )
    chosen: list[str] = []
    left_s = settings.budget_s
    for _, _, duration_s, nodeid in ordered:
        if chosen and duration_s > left_s:
            continue
        chosen.append(nodeid)
        left_s -= duration_s
    return chosen


def _named(item: pytest.Item) -> frozenset[str]:
    """Every name that a test uses itself."""
    code: CodeType | None = getattr(getattr(item, "function", None), "__code__", None)
    return frozenset() if code is None else frozenset(name for each in (code, *_inside(code)) for name in each.co_names)


def _using(names: tuple[str, ...], codes: Sequence[tuple[str, CodeType]]) -> set[str]:
    """Functions in which one of these names is used; for the body of a class, which runs once, those of the class."""
    wanted, found, classes = set(names), set[str](), set[str]()
    for name, code in codes:
        if not wanted.isdisjoint((*code.co_names, *code.co_freevars)):
            (found if code.co_flags & inspect.CO_OPTIMIZED else classes).add(name)
    return found | {name for name, _ in codes if any(name.startswith(f"{each}.") for each in classes)}


@functools.cache
def _codes(root: Path, parts: tuple[str, ...]) -> tuple[tuple[str, CodeType], ...]:
    """Every function of the product by its outermost name, and its code."""
    files = [path for part in parts for path in sorted((root / part).rglob("*.py"))]
    return tuple(
        (f"{path.relative_to(root).as_posix()}:{_outermost(code.co_qualname)}", code)
        for path in files
        for code in _inside(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))
    )


def _inside(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inside(constant)


def _functions(root: Path) -> dict[tuple[str, str], list[FunctionType]]:
    """Every function of the project that this process has, by its file and name."""
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    prefix = f"{root}{os.sep}"
    # What was frozen is in no list of objects.
    gc.unfreeze()
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(prefix):
            code = thing.__code__
            found[Path(code.co_filename).relative_to(root).as_posix(), code.co_qualname].append(thing)
    # No collection in a forked process looks through all of it, and takes a copy of its pages.
    gc.freeze()
    return found


def _put_in_place(mutant: Mutant, root: Path, functions: Mapping[tuple[str, str], list[FunctionType]]) -> bool:
    """Give the functions of that name their changed code, in this process; False if it cannot be done here."""
    path = root / mutant.file
    changed = compile(mutant.applied(path.read_bytes()), str(path), "exec", dont_inherit=True)
    codes = {c.co_firstlineno: c for c in _inside(changed) if c.co_qualname == mutant.within}
    placed = False
    for function in functions.get((mutant.file, mutant.within), ()):
        new = codes.get(function.__code__.co_firstlineno)
        if new is None or new.co_freevars != function.__code__.co_freevars:
            return False
        placed = placed or new != function.__code__
        function.__code__ = new
    return placed


def _allowed_s(tests: Sequence[str], reach: Mapping[str, Reach]) -> float:
    """Of a change by the clock, in the forked process and once more in a fresh one, on a busy machine."""
    return BUSY_TIMES * (START_S + 2.0 * _tests_s(tests, reach))


def _tests_s(tests: Sequence[str], reach: Mapping[str, Reach]) -> float:
    return SLACK_S + SLACK_TIMES * sum(reach[nodeid].duration_s for nodeid in tests)


def _fresh(mutant: Mutant, tests: Sequence[str], folder: Path, root: Path) -> int:
    """The same tests in a process that imports the changed source."""
    job = folder / "job.json"
    job.write_text(json.dumps({"mutant": mutant, "tests": tests, "root": str(root)}), "utf-8")
    null = subprocess.DEVNULL
    command = [sys.executable, __file__, str(job)]
    code = subprocess.run(command, cwd=root, stdin=null, stdout=null, stderr=null, check=False).returncode
    if code == pytest.ExitCode.OK:
        return SURVIVED
    (folder / "words").write_text("a fresh process", "utf-8")
    return KILLED


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads one module with its change, and keeps no compiled file of it."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, source: bytes) -> None:
        self._name, self._path, self._source = name, path, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Changed(fullname, str(self._path), self._source)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def main(job: Path) -> int:
    """What a fresh process does: import the change, run the tests until one fails."""
    given = json.loads(job.read_text("utf-8"))
    mutant, root = Mutant(*given["mutant"]), Path(given["root"])
    path = root / mutant.file
    name = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    sys.meta_path.insert(0, _Finder(name, path, mutant.applied(path.read_bytes())))
    return int(pytest.main([*_arguments(root), "-x", *given["tests"]]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""A class of generated submissions of the pick and place, marked; each kind has to come out as it was meant.

Right ones, late ones, wrong orders, out of reach, and hostile ones: endless loops, forks, reads of files, network,
forged journals, links and 100 MB. Says how long it took; with --again-on-dask marks all once more with two workers of a
local Dask cluster, and compares.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

ROOT = Path(__file__).parent.parent
TASK = (ROOT / "configs" / "tasks" / "pick-and-place.toml").read_text(encoding="utf-8")

FORGED_BYTES = b"\x89MCAP0\r\n" + b"all is well " * 100
LARGE_BYTES = 100_000_000


class Kind(NamedTuple):
    """One kind of submission.

    Attributes:
        share: of a class, in hundredths.
        make: writes it into a folder.
        meant: what has to come of it: ``full``, ``part``, or words of its refusal.
    """

    share: int
    make: Callable[[Path, random.Random], None]
    meant: str


def _write(folder: Path, text: str, name: str = "task.toml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def _right(folder: Path, chance: random.Random) -> None:
    _write(folder, TASK.replace("seconds = 0.5", f"seconds = {chance.uniform(0.3, 0.7):.2f}"))


def _right_function(folder: Path, chance: random.Random) -> None:
    """The same as a Python function, which builds the table itself."""
    import tomllib

    table = tomllib.loads(TASK)
    waits = f"{chance.uniform(0.3, 0.7):.2f}"
    steps = ",\n        ".join(repr(step) for step in table["step"]).replace("'seconds': 0.5", f"'seconds': {waits}")
    text = f"def task():\n    steps = [\n        {steps},\n    ]\n    return {{'title': 'mine', 'step': steps}}\n"
    _write(folder, text, "solution.py")


def _late(folder: Path, chance: random.Random) -> None:
    _write(folder, TASK.replace("seconds = 0.5", f"seconds = {chance.uniform(12.0, 15.0):.2f}"))


def _wrong_order(folder: Path, chance: random.Random) -> None:
    swapped = TASK.replace("[170, 100, 90]", "[170, HERE, 90]").replace("[170, -100, 90]", "[170, 100, 90]")
    _write(
        folder, swapped.replace("HERE", "-100").replace("seconds = 0.5", f"seconds = {chance.uniform(0.3, 0.7):.2f}")
    )


def _dropped(folder: Path, chance: random.Random) -> None:
    opening = chance.randint(18, 24)
    _write(folder, TASK.replace("opening_mm = 12", f"opening_mm = {opening}"))


def _out_of_reach(folder: Path, chance: random.Random) -> None:
    _write(folder, TASK.replace("[170, 100, 90]", f"[{chance.randint(600, 900)}, 100, 90]"))


def _slip(folder: Path, chance: random.Random) -> None:
    _write(folder, TASK.replace("opening_mm = 12", f"opening_cm = {chance.uniform(1.1, 1.3):.2f}"))


def _code(text: str) -> Callable[[Path, random.Random], None]:
    return lambda folder, chance: _write(folder, text, "solution.py")


def _journal(folder: Path, chance: random.Random) -> None:
    (folder / "run.mcap").write_bytes(FORGED_BYTES)


def _large(folder: Path, chance: random.Random) -> None:
    with (folder / "task.toml").open("wb") as file:
        file.truncate(LARGE_BYTES)


def _link(folder: Path, chance: random.Random) -> None:
    (folder / "task.toml").symlink_to("/etc/passwd")


def _outside(folder: Path, chance: random.Random) -> None:
    _write(folder, TASK + '\n[[step]]\ndo = "points"\nfile = "/etc/passwd"\n')


KINDS: dict[str, Kind] = {
    "right": Kind(34, _right, "full"),
    "function": Kind(10, _right_function, "full"),
    "late": Kind(10, _late, "part"),
    "wrong-order": Kind(10, _wrong_order, "part"),
    "dropped": Kind(8, _dropped, "part"),
    "unreachable": Kind(8, _out_of_reach, "part"),
    "slip": Kind(4, _slip, "opening_mm"),
    "loop": Kind(1, _code("def task():\n    while True:\n        pass\n"), "did not come to an end"),
    "sleep": Kind(1, _code("import time\n\ndef task():\n    time.sleep(1e6)\n"), "not given"),
    "fork": Kind(2, _code("import os\n\ndef task():\n    while True:\n        os.fork()\n"), "not given"),
    "read": Kind(2, _code("def task():\n    return {'title': open('/etc/passwd').read()}\n"), "not given"),
    "network": Kind(
        2, _code("import socket\n\ndef task():\n    socket.create_connection(('192.0.2.1', 80))\n"), "socket"
    ),
    "kill": Kind(1, _code("import os\n\ndef task():\n    os.kill(os.getppid(), 9)\n"), "not given"),
    "memory": Kind(1, _code("def task():\n    return bytearray(10 ** 11)\n"), "memory"),
    "flood": Kind(1, _code("def task():\n    return 'x' * 10 ** 8\n"), "more than"),
    "journal": Kind(2, _journal, "missing"),
    "large": Kind(1, _large, "allowed: 1000000"),
    "link": Kind(1, _link, "a link"),
    "outside": Kind(1, _outside, "beside it"),
}


def make_class(folder: Path, count: int, seed: int) -> dict[str, str]:
    """Write a class; each student's kind by name. Every kind is there once the class is large enough."""
    chance = random.Random(seed)
    pool = [name for name, kind in KINDS.items() for _ in range(kind.share)]
    first = list(KINDS)[:count]
    chosen = [*first, *(chance.choice(pool) for _ in range(count - len(first)))]
    made = {}
    for number, name in enumerate(chosen, start=1):
        student = f"student-{number:03d}"
        (folder / student).mkdir(parents=True)
        KINDS[name].make(folder / student, chance)
        made[student] = name
    return made


class Student(msgspec.Struct):
    """As much of the marks as is held against what was meant."""

    student: str
    total: float
    of: float
    refusal: str


class Results(msgspec.Struct):
    """What the command prints with --json."""

    students: list[Student]


def main() -> int:
    """Make a class, mark it, and say what came out; 1 if something else did than was meant."""
    parser = argparse.ArgumentParser(prog="scripts/grade-class", description=__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-pictures", action="store_true")
    parser.add_argument("--again-on-dask", action="store_true", help="and once more with two Dask workers")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hil-class-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        made = make_class(place / "class", wanted.students, wanted.seed)
        more = ["--no-pictures"] if wanted.no_pictures else []
        began_s = time.monotonic()
        text, results = _grade(place, "marks", [*more, "--cores", str(wanted.cores)])
        took_s = time.monotonic() - began_s
        wrong = _judge(made, results)
        print(
            f"{len(made)} submissions in {took_s:.1f} s on {wanted.cores} cores; processor time {_processor_s():.1f} s"
        )
        if wanted.again_on_dask:
            wrong += _on_dask(place, more, text)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _processor_s() -> float:
    """Of all that was started and has ended; other work of the computer does not count."""
    times = os.times()
    return times.children_user + times.children_system


def _grade(place: Path, into: str, more: list[str]) -> tuple[bytes, Results]:
    command = [sys.executable, "-c", "from hil.cli.main import main; main()", "grade", "pick-and-place"]
    done = subprocess.run(
        [*command, str(place / "class"), "--into", str(place / into), "--csv", "--json", *more],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return (place / into / "marks.csv").read_bytes(), msgspec.json.decode(done.stdout, type=Results)


def _judge(made: dict[str, str], results: Results) -> list[str]:
    """What came out otherwise than was meant."""
    wrong, kinds = [], Counter(made.values())
    for one in results.students:
        kind = made[one.student]
        meant = KINDS[kind].meant
        if meant == "full":
            good = not one.refusal and one.total == one.of
        elif meant == "part":
            good = not one.refusal and one.total < one.of
        else:
            good = meant in one.refusal and one.total == 0.0
        if not good:
            wrong.append(f"{one.student} ({kind}): {one.total:g} of {one.of:g} marks, {one.refusal or 'not refused'}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return wrong


def _on_dask(place: Path, more: list[str], before: bytes) -> list[str]:
    """Mark all once more with two workers; empty if the marks are the same."""
    from distributed import LocalCluster  # type: ignore[attr-defined,unused-ignore]

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        after, _ = _grade(place, "marks-dask", [*more, "--cluster", cluster.scheduler_address])
    print("the same marks from two Dask workers" if after == before else "OTHER marks from two Dask workers")
    return [] if after == before else ["the marks of two Dask workers are others"]


if __name__ == "__main__":
    sys.exit(main())

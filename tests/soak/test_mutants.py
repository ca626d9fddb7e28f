"""Who changes the product on trial changes what he says, and nothing survives that a test notices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from accepted_mutants import FILE, PACKAGES, package_of, read
from mutations import Mutant, mutants_of

ROOT = Path(__file__).parents[2]


def changed(line: str) -> list[str]:
    """What a line of a function could become."""
    source = f"def work(a, b):\n    {line}\n".encode()
    return [mutant.lines(source)[1] for mutant in mutants_of("x.py", source)]


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("return a < b", ["return a <= b"]),
        ("return a >= b", ["return a > b"]),
        ("return a == b", ["return a != b"]),
        ("return a is not b", ["return a is b"]),
        ("return a not in b", ["return a in b"]),
        ("return a and not b", ["return a or not b", "return a and b"]),
        ("return (a) * (b)", ["return (a) / (b)"]),
        ("return -(a + b)", ["return (a + b)", "return -(a - b)"]),
        ("a += b", ["a -= b"]),
        ("return 3", ["return 4"]),
        ("return 0.5", ["return 0.75"]),
        ("return 0.0", ["return 1.0"]),
        ("return 1e-9", ["return 1e-06"]),
        ("return True", ["return False"]),
        ("stop(a)", ["pass"]),
        ("await stop(a)", ["pass"]),
        ('raise ValueError(f"{a + 1:.2f} is too much")', []),
        ('"""Words about 3 things."""', []),
        ("return zip(a, b, strict=True)", []),
        ("assert a is not None", []),
        ('return a + "x"', []),
    ],
)
def test_a_line_is_changed_in_one_place_at_a_time(line: str, changes: list[str]) -> None:
    assert [words.strip() for words in changed(line)] == changes


def test_an_entry_of_a_table_becomes_another_one_or_none() -> None:
    source = b"TABLE = {A.ONE: B.LEFT, A.TWO: B.RIGHT}\n"
    assert [mutant.lines(source)[1] for mutant in mutants_of("x.py", source)] == [
        "TABLE = {**{}, A.TWO: B.RIGHT}",
        "TABLE = {A.ONE: B.RIGHT, A.TWO: B.RIGHT}",
        "TABLE = {A.ONE: B.LEFT, **{}}",
        "TABLE = {A.ONE: B.LEFT, A.TWO: B.LEFT}",
    ]


def test_a_change_keeps_the_number_of_lines() -> None:
    source = b"def work(a):\n    stop(\n        a,\n    )\n    return a\n"
    removed = next(mutant for mutant in mutants_of("x.py", source) if mutant.kind == "removed call")
    assert removed.applied(source).count(b"\n") == source.count(b"\n")
    compile(removed.applied(source), "x.py", "exec")


def test_a_change_says_in_which_function_it_is() -> None:
    source = (
        b"LIMIT = 3\nclass Guard:\n    slack = 2\n    def judge(self):\n        def near():\n            return 1\n"
    )
    found = {mutant.line: (mutant.within, mutant.names) for mutant in mutants_of("x.py", source)}
    assert found == {1: ("", ("LIMIT",)), 3: ("", ("Guard", "slack")), 6: ("Guard.judge", ())}


PLANTED = '''"""A limit, and who asks for it."""
LIMIT = 5
SPARE = 7
READ_BY_A_TEST = 8
OF_A_CLASS = 9

class Fence:
    reach: int = OF_A_CLASS

    def holds(self, value):
        return value + 1 <= self.reach

def over(value):
    return value > LIMIT

def shifted(value):
    return value + 0

def asked_by_nobody(value):
    return value < 1

def waits(value):
    while value < 3:
        value += 1
    return value
'''

TESTS = """from planted.limits import READ_BY_A_TEST, Fence, over, shifted, waits

def test_a_number_is_as_the_manual_has_it():
    assert READ_BY_A_TEST == 8

def test_a_fence_holds():
    assert Fence().holds(8) and not Fence().holds(9)

def test_at_the_limit_is_not_over_it():
    assert not over(5) and over(6)

def test_nothing_is_shifted():
    assert shifted(2) == 2

def test_it_waits():
    assert waits(0) == 3
"""

OF_ALL = """import gc
import pytest

pytest.register_assert_rewrite("planted")

def pytest_collection_finish():
    gc.freeze()
"""
"""As this project has it: a package that is a plugin, too, is loaded by pytest's own hook, and no function is found."""

RUN = """
import json, sys
from pathlib import Path
import mutant_runs
from mutations import mutants_of
mutant_runs.SLACK_S = 2.0
root = Path.cwd()
path = root / "planted" / "limits.py"
mutants = mutants_of("planted/limits.py", path.read_bytes())
settings = mutant_runs.Settings(root, ("tests",), 2, 10.0, root / "reach.json", ("planted",))
found = []
code = mutant_runs.campaign(settings, mutants, lambda verdict: found.append(verdict), lambda words: None)
text = path.read_bytes()
Path("found.json").write_text(json.dumps([[v.mutant.lines(text)[1], v.survived, v.how] for v in found]))
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_what_a_test_notices_dies_and_the_rest_survives(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "planted" / "limits.py").write_text(PLANTED, "utf-8")
    (tmp_path / "tests" / "test_limits.py").write_text(TESTS, "utf-8")
    (tmp_path / "tests" / "conftest.py").write_text(OF_ALL, "utf-8")
    ways = [str(tmp_path), str(ROOT / "tests" / "support"), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(ways)}
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {line: (survived, how) for line, survived, how in json.loads((tmp_path / "found.json").read_text("utf-8"))}
    assert {line for line, (survived, _) in found.items() if survived} == {
        "SPARE = 8",
        "return value - 0",
        "return value <= 1",
        "return value < 2",
    }
    assert found["return value >= LIMIT"][1] == "tests/test_limits.py::test_at_the_limit_is_not_over_it"
    assert found["LIMIT = 6"][1] == "a fresh process"
    assert found["value -= 1"][1] == "it hangs"
    assert found["return value < 2"][1] == "no test comes through here"
    assert found["READ_BY_A_TEST = 9"][1] == found["OF_A_CLASS = 10"][1] == "a fresh process"
    assert len(found) == 16


def test_each_accepted_change_has_a_reason_and_is_still_there() -> None:
    book = read(ROOT / FILE)
    assert len(book.accepted) == book.at_most, f"{FILE}: at_most says how many there are; it only falls"
    there: dict[str, set[tuple[str, ...]]] = {}
    for entry in book.accepted:
        assert len(entry.reason.split()) > 4, f"{entry.key}: why?"
        assert package_of(entry.file) is not None
        if entry.file not in there:
            source = (ROOT / entry.file).read_bytes()
            there[entry.file] = {_key(mutant, source) for mutant in mutants_of(entry.file, source)}
        assert entry.key in there[entry.file], f"{entry.key}: the code has changed; is it still there?"


def _key(mutant: Mutant, source: bytes) -> tuple[str, ...]:
    return mutant.file, mutant.within, *mutant.lines(source)


def test_every_part_that_is_changed_and_asked_is_there() -> None:
    for package in PACKAGES:
        for path in (*package.paths, *package.tests):
            assert (ROOT / path).exists(), path

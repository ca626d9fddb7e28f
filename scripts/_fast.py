"""What whoever changes a line wants to know within a minute: format, lint, types, and the tests nearest to the change.

Tests on virtual time only: first those that import what was changed, then those of its folder. When the time is over,
the rest is skipped and counted. It is no check: scripts/check is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINUTE_S = 60.0
LEAST_S = 15.0
"""Tests get so long, however long the rest took: after a change of much, types take their time."""

END_S = 12.0
"""What the start and the end of the tests take beside them."""

ALWAYS = ("tests/safety/test_guard.py", "tests/runtime/test_bridge.py", "tests/soak/test_scripts.py")
ALSO = {"drivers": ("tests/contract", "tests/drivers"), "sim": ("tests/sim", "tests/contract")}
PYTHON = ("hil", "drivers", "sim", "tests", "scripts")


def main() -> int:
    """Look at what differs from a commit; 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(prog="scripts/fast", description=__doc__)
    parser.add_argument(
        "--since", default="HEAD", help="what to compare with: a commit or branch (HEAD: not committed)"
    )
    wanted = parser.parse_args()
    began_s = time.monotonic()
    changed = list(_changed(wanted.since))
    print(f"{len(changed)} files differ from {wanted.since}", flush=True)
    python = [name for name in changed if name.endswith(".py") and (ROOT / name).exists()]
    fine = not python or (_run("ruff", "format", "--check", *python) and _run("ruff", "check", *python))
    imports = subprocess.Popen([str(Path(sys.executable).with_name("lint-imports"))], cwd=ROOT, stdout=subprocess.PIPE)
    fine &= _run("mypy", "--implicit-reexport", "--cache-dir", ".mypy_cache/linux", *PYTHON[:4], *_scripts())
    said = imports.communicate()[0].decode()
    if imports.returncode:
        print(said)
    left_s = max(LEAST_S, MINUTE_S - END_S - (time.monotonic() - began_s))
    tests = list(dict.fromkeys(_near(changed)))
    print(
        f"{len(tests)} files of tests, for {left_s:.0f} s: {' '.join(tests[:6])}{' ...' * (len(tests) > 6)}", flush=True
    )
    virtual = "not (processes or pty or wall_clock)"
    fine &= _run("pytest", "--numprocesses=auto", "--maxschedchunk=2", "-m", virtual, f"--within={left_s}", *tests)
    print(f"{time.monotonic() - began_s:.0f} s; before it lands: scripts/check")
    return 0 if fine and imports.returncode == 0 else 1


def _changed(since: str) -> Iterator[str]:
    for command in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"git {' '.join(command)}: {done.stderr.strip()}; name a commit: --since main")
        yield from done.stdout.splitlines()


def _scripts() -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "scripts").glob("*.py"))]


def _run(module: str, *arguments: str) -> bool:
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT).returncode == 0


def _near(changed: Iterable[str]) -> Iterator[str]:
    """Changed tests, those that import what was changed, those of its folder, and some of every change."""
    folders: list[str] = []
    names: list[str] = []
    for name in changed:
        path = Path(name)
        if path.name.startswith("test_") and (ROOT / name).exists():
            yield name
        elif name.startswith("tests/support/"):
            names.append(path.stem)
        elif name.endswith(".py") and path.parts[0] in ("hil", "drivers", "sim"):
            names.append(".".join(path.with_suffix("").parts))
            folders += ALSO.get(path.parts[0], (f"tests/{path.parts[1]}",))
    if names:
        imported = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(map(re.escape, names))})\b", re.MULTILINE)
        for path in sorted((ROOT / "tests").rglob("test_*.py")):
            if imported.search(path.read_text("utf-8")):
                yield path.relative_to(ROOT).as_posix()
    for folder in folders:
        yield from (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).rglob("test_*.py")))
    yield from ALWAYS


if __name__ == "__main__":
    sys.exit(main())

"""The example project of docs/testing.md: its tests pass, its rig is proved, and the page shows what stands in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hil.testing.oracle import UnsafeBytes
from hil.testing.rigs import RigFactory

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "pick-test"
GUIDE = (DOCS / "testing.md").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of it outside the checkout, as a lab would have it."""
    return Path(
        shutil.copytree(EXAMPLE, tmp_path / "pick-test", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    )


@pytest.mark.processes
def test_its_tests_pass(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


@pytest.mark.processes
def test_its_rig_is_proved(project: Path) -> None:
    command = [sys.executable, "-c", "from hil.cli.main import main; main()"]
    arguments = ["check", "rigs/desk.toml", "--prove", "--seconds", "2"]
    done = subprocess.run([*command, *arguments], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "desk: nothing unsafe found" in done.stdout


def _blocks() -> list[tuple[str, str]]:
    """Language and text of the page's fenced blocks of code that stand in a file of the example."""
    return [(kind, text) for kind, text in re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.DOTALL)]


def test_the_page_shows_what_stands_in_the_example() -> None:
    files = [
        path.read_text(encoding="utf-8") for path in EXAMPLE.rglob("*.*") if path.is_file() and path.suffix != ".pyc"
    ]
    blocks = _blocks()
    assert {kind for kind, _ in blocks} == {"toml", "python", "yaml"}
    for _, text in blocks:
        assert any(text in each for each in files), text


def test_the_page_names_every_fixture_and_every_public_name() -> None:
    import hil.testing
    import hil.testing.plugin as plugin

    fixtures = re.findall(r"^def (\w+)\(", Path(plugin.__file__).read_text(encoding="utf-8"), re.MULTILINE)
    for name in set(fixtures) - {"pytest_addoption", "hil_made"}:
        assert f"`{name}`" in GUIDE, name
    for name in ("FakeSsc32", "Faults", "RigFactory", "UnsafeBytes", "VirtualArm", "WatchedBytes", "plan_and_stream"):
        assert name in GUIDE
        assert hasattr(hil.testing, name)


def test_the_page_quotes_the_oracle_rightly(hil_rig: RigFactory) -> None:
    oracle = UnsafeBytes(hil_rig(EXAMPLE / "rigs" / "desk.toml")).feed(b"#4P2112\r", 0.0)
    oracle.feed(b"#4P2345T50\r", 0.1)
    assert oracle.first is not None
    assert oracle.first.text in GUIDE

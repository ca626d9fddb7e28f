"""Kernels compiled in processes of their own, and taken from the cache afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hil import compile_apart as apart_module
from hil.compile_apart import compile_apart as apart
from hil.kernels import build
from hil.model import files

pytestmark = pytest.mark.skipif(not build.fast_available(), reason="the extra [fast] is not installed")


def adds(number: int) -> str:
    return f'from numba import njit\n\n\n@njit("int64(int64)", cache=True)\ndef one(x):\n    return x + {number}\n'


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache is, of here and of the processes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    return files.cache_dir() / "kernels"


def test_they_are_compiled_elsewhere_and_only_loaded_here(kept: Path) -> None:
    sources = [adds(number) for number in (100, 200, 300)]
    apart(sources, processes=2)
    assert len(list(kept.glob("kernel_*.py"))) == 3
    machine_code = sorted(kept.glob("__pycache__/*.nbc"))
    assert len(machine_code) == 3
    before = [file.stat().st_mtime_ns for file in machine_code]
    assert [build.build(source).one(1) for source in sources] == [101, 201, 301]
    assert [file.stat().st_mtime_ns for file in sorted(kept.glob("__pycache__/*.nbc"))] == before


def test_what_is_kept_or_alone_starts_no_process(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **_: started.append(given))
    apart([adds(400)] * 2)
    build.build(adds(400))
    apart([adds(400), adds(500)])
    assert not started


@pytest.mark.parametrize("python", ["", "/nowhere/python", sys.executable])
def test_without_processes_all_is_compiled_here(kept: Path, monkeypatch: pytest.MonkeyPatch, python: str) -> None:
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setattr(apart_module, "_CHILD", "raise SystemExit(1)")
    sources = [adds(600 + len(python)), adds(700 + len(python))]
    apart(sources, processes=2)
    assert [build.build(source).one(0) for source in sources] == [600 + len(python), 700 + len(python)]

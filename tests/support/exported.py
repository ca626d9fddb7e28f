"""Exported files on disk, and the compilers that check them; tests are skipped where there is no compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
needs_gpp = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def written(files: Mapping[str, str], folder: Path) -> Path:
    """Write `files` below `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def built(compiler: str, arguments: Sequence[str], sources: Sequence[Path], program: Path) -> Path:
    """Compile strictly; what the compiler says is the failure's text."""
    command = [compiler, *arguments, *STRICT, *map(str, sources), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[:4000]
    return program


def run(program: Path) -> tuple[int, str]:
    """Exit code and output of a check program."""
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def library(source: Path) -> ctypes.CDLL:
    """A C source as a library that Python can call."""
    place = source.with_suffix(".so")
    return ctypes.CDLL(str(built("gcc", ("-std=c99", "-shared", "-fPIC"), [source], place)))

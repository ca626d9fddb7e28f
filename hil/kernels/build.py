"""Compiling kernel sources with Numba, with a disk cache keyed by what the result depends on.

A source is the text of a module, emitted for one arm or shipped in `hil/kernels/loops/`. It is written to the
user's cache folder under a name made of its own digest and the versions of Python, Numba and numpy, and
imported from there; Numba keeps the machine code beside it. Nothing is written into the installed package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType

from hil.errors import MissingExtraError
from hil.model.files import cache_dir

WITHOUT_FAST = "HIL_WITHOUT_FAST"
"""Environment variable: anything but empty makes everything run as if Numba were not installed."""


@cache
def fast_available() -> bool:
    """True if the extra `[fast]` is installed (and not switched off by the environment)."""
    return not os.environ.get(WITHOUT_FAST) and importlib.util.find_spec("numba") is not None


def build(source: str) -> ModuleType:
    """The compiled module of a source text whose functions carry Numba's decorators (with ``cache=True``).

    Functions with explicit signatures are compiled at once or come from the cache; others at their first call.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    return _build(source)


def build_loops(name: str) -> ModuleType:
    """The compiled module of one file of `hil/kernels/loops/`.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    return _build(loops_source(name))


def loops_source(name: str) -> str:
    """The text of one file of `hil/kernels/loops/`."""
    return resources.files("hil.kernels.loops").joinpath(f"{name}.py").read_text(encoding="utf-8")


def is_kept(source: str) -> bool:
    """The cache has this source, compiled unless somebody broke that off."""
    return _kept_at(_digest(source)).exists()


@cache
def _build(source: str) -> ModuleType:
    if not fast_available():
        raise MissingExtraError("compiled kernels", "fast")
    digest = _digest(source)
    file = _kept_at(digest)
    if not file.exists():
        _write_whole(file, source)
    name = f"hil_kernel_{digest}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks the module up by name when it loads cached code.
    spec.loader.exec_module(module)
    return module


def _digest(source: str) -> str:
    return hashlib.sha256("\n".join((*_versions(), source)).encode()).hexdigest()[:32]


def _kept_at(digest: str) -> Path:
    return cache_dir() / "kernels" / f"kernel_{digest}.py"


@cache
def _versions() -> tuple[str, ...]:
    from importlib import metadata  # slow to import, and wanted only when something is compiled

    return (platform.python_version(), platform.machine(), metadata.version("numba"), metadata.version("numpy"))


def _write_whole(file: Path, text: str) -> None:
    """Another process may write or read the same file: it appears whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8") as part:
        part.write(text)
    os.replace(part.name, file)

"""Which parts are changed on trial, how much may go unnoticed there, and what was looked at and accepted."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

FILE = Path("tests") / "accepted-mutants.toml"


class Package(NamedTuple):
    """A part of the product that is changed on trial."""

    name: str
    paths: tuple[str, ...]
    tests: tuple[str, ...]
    """Where tests are that could notice it."""

    most: float
    """The share of changes that may survive, with a reason each."""


EMITTED = ("numpy", "numba", "python", "c", "cpp", "inverse", "text", "latex", "mathematica")

PACKAGES = (
    Package("safety", ("hil/safety",), ("tests/safety", "tests/property", "tests/runtime"), 0.05),
    Package(
        "drivers",
        ("drivers",),
        ("tests/drivers", "tests/contract", "tests/runtime", "tests/property", "tests/workbench/test_finding_ports.py"),
        0.05,
    ),
    Package("modes", ("hil/runtime/modes.py",), ("tests/runtime", "tests/service"), 0.05),
    Package("runtime", ("hil/runtime",), ("tests/runtime", "tests/contract", "tests/property", "tests/soak"), 0.05),
    Package("program", ("hil/program",), ("tests/program", "tests/runtime"), 0.1),
    Package("sharing", ("hil/service/gate.py", "hil/service/lease.py"), ("tests/service",), 0.1),
    Package("sim", ("sim",), ("tests/sim", "tests/drivers", "tests/contract", "tests/runtime"), 0.1),
    Package(
        "emitters",
        tuple(f"hil/kernels/emit_{name}.py" for name in EMITTED),
        ("tests/kernels",),
        0.1,
    ),
)


class Accepted(NamedTuple):
    """A change that no test notices, and that nobody has to: why, is said."""

    file: str
    within: str
    old: str
    new: str
    reason: str

    @property
    def key(self) -> tuple[str, ...]:
        """By what a change is known again when lines above it have moved."""
        return self.file, self.within, self.old, self.new


class Book(NamedTuple):
    """All accepted changes, and how many they may be. That number only falls."""

    at_most: int
    accepted: tuple[Accepted, ...]


def read(path: Path) -> Book:
    """The file of accepted changes."""
    data = tomllib.loads(path.read_text("utf-8"))
    return Book(data["at_most"], tuple(Accepted(**entry) for entry in data.get("accepted", ())))


def package_of(file: str) -> Package | None:
    """The part that a file belongs to; a file that is named for itself goes before its folder."""
    for package in PACKAGES:
        if file in package.paths:
            return package
    for package in PACKAGES:
        if any(file.startswith(f"{path}/") for path in package.paths):
            return package
    return None

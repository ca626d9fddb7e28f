"""Tests of arm programs against fakes: pytest fixtures, and the oracle of unsafe bytes. Nothing of the bridge needs it.

The names below are loaded when first used: pytest imports this package in every project that has it installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hil.testing.arms import Streamed, VirtualArm, plan_and_stream
    from hil.testing.fakes import FakeSsc32, MemoryFake, RunningFake
    from hil.testing.fault_scripts import Faults, fault_script
    from hil.testing.oracle import UnsafeByte, UnsafeBytes
    from hil.testing.rigs import RigFactory
    from hil.testing.watch import WatchedBytes

__all__ = [
    "FakeSsc32",
    "Faults",
    "MemoryFake",
    "RigFactory",
    "RunningFake",
    "Streamed",
    "UnsafeByte",
    "UnsafeBytes",
    "VirtualArm",
    "WatchedBytes",
    "fault_script",
    "plan_and_stream",
]

_HOMES = {
    "FakeSsc32": "fakes",
    "Faults": "fault_scripts",
    "MemoryFake": "fakes",
    "RigFactory": "rigs",
    "RunningFake": "fakes",
    "Streamed": "arms",
    "UnsafeByte": "oracle",
    "UnsafeBytes": "oracle",
    "VirtualArm": "arms",
    "WatchedBytes": "watch",
    "fault_script": "fault_scripts",
    "plan_and_stream": "arms",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"hil.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hil.testing' has no attribute {name!r}")

"""What the benches share: a long motion, a session on virtual time, interleaved timing, tables, verdicts."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from hil.model.files import cache_dir
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan
from hil.runtime import wiring
from hil.runtime.journal import SessionRecord
from hil.safety.certificate import Certificate
from hil.types import Arm, Confirm, Load, Mode, Request, Start, TickRecord

Numbers = npt.NDArray[np.float64]
T = TypeVar("T")


class Effort(Enum):
    """How long a bench goes on."""

    LONG = "long"
    QUICK = "quick"
    """For a look."""
    ONCE = "once"
    """Every line of it runs, on next to nothing: what it measures says nothing."""

    def of(self, long: T, quick: T, once: T) -> T:
        """Whichever is meant."""
        return {Effort.LONG: long, Effort.QUICK: quick, Effort.ONCE: once}[self]


_HEAD = 'title = "benchmark"\n[[step]]\ndo = "move"\nto = "home"\n'
_SWEEP = """
[[step]]
do = "move"
joints_deg = {{ base = {base}, shoulder = 100, elbow = -60, wrist = 20, wrist_rotate = 40 }}
[[step]]
do = "gripper"
opening_mm = {opening}
[[step]]
do = "move"
joints_deg = {{ base = 0, shoulder = 90, elbow = -80, wrist = 0, wrist_rotate = -40 }}
speed_percent = 60
"""
_RV2AJ_SWEEP = """
[[step]]
do = "move"
joints_deg = {{ J1 = {base}, J2 = 10, J3 = 80, J5 = 60, J6 = {base} }}
[[step]]
do = "move"
joints_deg = {{ J1 = 0, J2 = 0, J3 = 90, J5 = 40, J6 = 0 }}
"""


def long_motion(rig: Rig, seconds: float) -> Motion:
    """A motion of all axes of a Lynx6 or RV-2AJ that lasts at least `seconds`, from park, by way of a task file."""
    if rig.robot.id == "rv2aj":
        sweeps = [_RV2AJ_SWEEP.format(base=30), _RV2AJ_SWEEP.format(base=-30)]
    else:
        sweeps = [_SWEEP.format(base=60, opening=25), _SWEEP.format(base=-60, opening=10)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "benchmark.toml"

        def planned(rounds: int) -> Motion:
            file.write_text(_HEAD + "".join(sweeps) * rounds, encoding="utf-8")
            return plan(rig, file)

        one, two = planned(1).duration_s, planned(2).duration_s
        return planned(max(0, int(np.ceil(1.0 + (seconds - one) / (two - one)))))


def virtual_session(rig: Rig, motion: Motion, certificate: Certificate) -> tuple[SessionRecord, list[TickRecord]]:
    """Stream a motion from the park pose to the fake on virtual time; its ticks can be replayed with the session."""
    session = wiring.session_record(rig, url="memory", fake=True)
    arm = wiring.virtual_arm(rig, rig.park, energised=False, epoch_offset_s=certificate.made_epoch_s)
    start_s = arm.clock.now_s()
    session = msgspec.structs.replace(
        session, start_monotonic_s=start_s, start_epoch_s=certificate.made_epoch_s + start_s
    )
    load = Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())
    steps: list[tuple[tuple[Request, ...], Mode]] = [
        ((), Mode.UNKNOWN_POSE),
        ((Confirm(positions=rig.park, by="the bench"),), Mode.IDLE),
        ((load, Arm(digest=motion.digest)), Mode.ARMED),
        ((Start(digest=motion.digest),), Mode.IDLE),
    ]
    records: list[TickRecord] = []
    for requests, until in steps:
        mode = None
        while mode is not until:
            record = arm.bridge.tick(arm.clock.now_s(), requests)
            records.append(record)
            mode, requests = record.mode, ()
            if mode in (Mode.FAULT, Mode.HOLDING):
                raise SystemExit(f"bench: the virtual session ended early: {record.events}")
            arm.clock.sleep_until(arm.clock.now_s() + rig.period_s)
    return session, records


def interleaved(
    subjects: Mapping[str, Callable[[], object]],
    rounds: int,
    timer: Callable[[], float] = time.perf_counter,
) -> dict[str, Numbers]:
    """Time every subject once a round, so that a slow phase of the machine meets all of them; seconds per call."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for subject in subjects.values():
        subject()
    for _ in range(rounds):
        for name, subject in subjects.items():
            before = timer()
            subject()
            times[name].append(timer() - before)
    return {name: np.array(values) for name, values in times.items()}


def repeated(call: Callable[[], object], times: int) -> Callable[[], None]:
    """`times` calls as one, for calls too short to be timed alone."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def peer_python(name: str, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment of a peer's own, installed once."""
    folder = cache_dir() / "peers" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        print(f"installing {', '.join(packages)} into {folder} (first time only)")
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", *packages], check=True)
        done.touch()
    return python


def percentiles(seconds: Numbers, scale: float, *which: float) -> list[str]:
    """Chosen percentiles of `seconds`, times `scale`, as cells of a table."""
    return [f"{value * scale:.4g}" for value in np.percentile(seconds, which)]


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; first column to the left, all others to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(f"\n{title}")
    for row in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  " + "  ".join([row[0].ljust(widths[0]), *cells[1:]]))


def verdict(met: bool, words: str) -> bool:
    """Print one criterion's outcome and pass it on."""
    print(f"  {'PASS' if met else 'FAIL'}  {words}")
    return met

"""Makes the journals of `configs/journals/` again: moving arms on the fake whose drives and servos are known.

`python scripts/_measured_arms.py FOLDER`; without a folder into `configs/journals/`. Virtual time: the same motion
every time, in a few seconds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from hil.model.servo import HobbyServo
from hil.runtime.journal import EndKind, JournalWriter, pack
from hil.runtime.wiring import load_rig, session_record
from hil.testing.arms import VirtualArm
from hil.types import Request, TickRecord
from hil.units import DEG

SHIPPED = Path(__file__).parent.parent / "configs" / "journals"
DRIVE_LAG_S = 0.08

BASE = HobbyServo(frequency_rad_s=2.0 * math.pi * 4.0, damping=0.9, dead_band=1.0 * DEG)
CAMERA_NOISE_DEG, CAMERA_STEP_DEG = 0.05, 0.1
SWINGS_DEG = (40, -60, 20, *(10, -20, 20, -20, 10), *(6, -12, 12, -12, 12, -6), *(3, -6, 6, -6, 6, -6, 6, -3))
"""Long ways tell the dead band, short ones that are turned at once how quickly the servo takes up speed."""


def main(folder: Path = SHIPPED) -> None:
    """One joint of each such arm goes to and fro."""
    folder.mkdir(parents=True, exist_ok=True)
    _drives(folder)
    _hobby_servo(folder)


def _drives(folder: Path) -> None:
    arm = lagging_rv2aj()
    task = sway(folder, {"J1": 20})
    arm.run(task)
    journal = folder / "rv2aj-drives.mcap"
    journal.unlink(missing_ok=True)
    pack(journal_of(arm, journal))
    task.unlink()


def _hobby_servo(folder: Path) -> None:
    """Its board echoes: a camera looks on, whose table stands beside the journal."""
    arm, places = watched_lynx6()
    task = swings(folder)
    arm.run(task)
    journal = folder / "lynx6-servo.mcap"
    journal.unlink(missing_ok=True)
    pack(journal_of(arm, journal))
    noise = CAMERA_NOISE_DEG * np.random.default_rng(1).standard_normal(len(places))
    seen = np.round((np.array(places) + noise) / CAMERA_STEP_DEG) * CAMERA_STEP_DEG
    write_table(folder / "lynx6-servo.csv", arm.records, seen.tolist())
    task.unlink()


def watched_lynx6() -> tuple[VirtualArm, list[float]]:
    """A Lynx6 whose base is a hobby servo, and where that really is after each tick, in degrees: filled as it moves."""
    rig = load_rig("lynx6")
    base = msgspec.structs.replace(rig.axes[0], servo=BASE, servo_lag_s=0.08)
    arm, places = VirtualArm(msgspec.structs.replace(rig, axes=(base, *rig.axes[1:]))), list[float]()
    tick = arm.tick

    def watched(*requests: Request, after_s: float | None = None) -> TickRecord:
        record = tick(*requests, after_s=after_s)
        places.append(arm.servos[0] / DEG)
        return record

    arm.tick = watched  # type: ignore[method-assign]
    return arm, places


def write_table(path: Path, records: Sequence[TickRecord], places_deg: Sequence[float]) -> None:
    """What a camera saw of the base, for ``hil fit --measured``."""
    start_s = records[0].t_s
    rows = [f"{record.t_s - start_s:.4f},{place:.3f}" for record, place in zip(records, places_deg, strict=True)]
    path.write_text("\n".join(["time_s,base_deg", *rows]) + "\n", encoding="utf-8")


def swings(folder: Path) -> Path:
    """A task in which the base turns by `SWINGS_DEG`, one after the other."""
    lines = ['title = "Ever shorter and quicker"', 'start = "home"']
    for way in SWINGS_DEG:
        lines += ["[[step]]", 'do = "move"', f"by_deg = {{ base = {way} }}"]
    lines += ["[[step]]", 'do = "wait"', "seconds = 0.5"]
    path = folder / "swings.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def lagging_rv2aj() -> VirtualArm:
    """Led by packets; its drives lag by 80 ms where its rig takes them for 60."""
    drive = {"lag_s": DRIVE_LAG_S, "speed_rad_s": 3.14, "model": {"kind": "drive", "acceleration": 40.0}}
    return VirtualArm(load_rig("rv2aj-mxt"), choices={"arm": {"drives": [drive] * 5}})


def sway(folder: Path, ways: dict[str, float]) -> Path:
    """A task that goes to and fro, and waits; degrees by axis."""
    lines = ['title = "To and fro"', 'start = "home"']
    for share in (1.0, -1.5):
        moved = ", ".join(f"{name} = {share * way}" for name, way in ways.items())
        lines += ["[[step]]", 'do = "move"', f"by_deg = {{ {moved} }}"]
    lines += ["[[step]]", 'do = "wait"', "seconds = 0.5"]
    path = folder / "sway.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def journal_of(arm: VirtualArm, path: Path) -> Path:
    """The journal of all that it has done."""
    record = session_record(arm.rig, url="memory", fake=True)
    record = msgspec.structs.replace(record, start_monotonic_s=arm.records[0].t_s)
    with JournalWriter(path, record) as journal:
        for each in arm.records:
            journal.tick(each)
        journal.flush()
        journal.end(EndKind.CLOSED, "done", arm.records[-1].t_s)
    return path


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))

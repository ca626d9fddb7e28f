"""Makes the journal of `configs/journals/` again: an arm on the fake whose drives are known, measured while it moved.

`python scripts/_measured_arms.py FOLDER`; without a folder into `configs/journals/`. Virtual time: the same motion
every time, in a few seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from hil.runtime.journal import EndKind, JournalWriter, pack
from hil.runtime.wiring import load_rig, session_record
from hil.testing.arms import VirtualArm

SHIPPED = Path(__file__).parent.parent / "configs" / "journals"
DRIVE_LAG_S = 0.08


def main(folder: Path = SHIPPED) -> None:
    """One joint of such an arm goes to and fro."""
    folder.mkdir(parents=True, exist_ok=True)
    arm = lagging_rv2aj()
    task = sway(folder, {"J1": 20})
    arm.run(task)
    journal = folder / "rv2aj-drives.mcap"
    journal.unlink(missing_ok=True)
    pack(journal_of(arm, journal))
    task.unlink()


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

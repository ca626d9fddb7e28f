"""The same motion of the RV-2AJ on the virtual clock gives the same journal, to the last byte."""

from __future__ import annotations

from pathlib import Path

from virtual_session import session_in_memory

from hil.model.rig import Rig
from hil.program.program_plan import plan_program
from hil.program.structure import parse_program
from hil.runtime import wiring
from hil.runtime.journal import JournalWriter
from hil.runtime.preview import preview
from hil.runtime.replay import replay
from hil.types import Arm, Confirm, Disconnect, Load, Mode, Request, Start

EPOCH_S = 1.75e9
TEXT = "10 OVRD 100\n20 MOV J1\n30 MVS P1\n40 END\nJ1=(3,-15,105,0,78,2)\nP1=(120,0,455,0,170)(6,0)"


def written(rig: Rig, path: Path) -> bytes:
    """Plan, prove, connect, arm, stream and leave; the journal's bytes."""
    motion = plan_program(rig, parse_program(TEXT, name="P"), start=rig.park).motion
    report = preview(rig, motion, now_epoch_s=EPOCH_S)
    assert report.certificate is not None, report.refusals
    arm = wiring.virtual_arm(rig, rig.park, energised=True, epoch_offset_s=EPOCH_S)
    start_s = arm.clock.now_s()
    session = session_in_memory(rig, start_s, EPOCH_S)
    load = Load(motion=motion.to_bytes(), certificate=report.certificate.to_bytes())
    script: list[tuple[tuple[Request, ...], Mode]] = [
        ((), Mode.UNKNOWN_POSE),
        ((Confirm(positions=rig.park, by="a test"),), Mode.IDLE),
        ((load, Arm(digest=motion.digest)), Mode.ARMED),
        ((Start(digest=motion.digest),), Mode.IDLE),
        ((Disconnect(reason="the end"),), Mode.DISCONNECTED),
    ]
    with JournalWriter(path, session) as journal:
        for requests, until in script:
            for _ in range(6000):
                record = arm.bridge.tick(arm.clock.now_s(), requests)
                journal.tick(record)
                requests = ()
                arm.clock.sleep_until(arm.clock.now_s() + rig.period_s)
                if record.mode is until:
                    break
            else:
                raise AssertionError(f"{until} was not reached")
    return path.read_bytes()


def test_the_same_motion_on_the_virtual_clock_gives_the_same_journal(tmp_path: Path) -> None:
    rig = wiring.load_rig("rv2aj")
    one, other = (written(rig, tmp_path / f"{name}.mcap") for name in ("one", "other"))
    assert one == other
    verdict = replay(tmp_path / "one.mcap")
    assert verdict.same, verdict.first_difference

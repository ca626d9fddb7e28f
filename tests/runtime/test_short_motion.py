"""A motion of a few samples is over before its owner has looked: that is no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.motion.planner import plan_joint_move
from hil.runtime.host import Host
from hil.runtime.preview import preview
from hil.runtime.wiring import load_rig
from hil.types import Mode

pytestmark = [pytest.mark.processes, pytest.mark.wall_clock]


def test_a_motion_that_goes_nowhere_runs_to_its_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rig = load_rig("ur5")
    motion = plan_joint_move(rig, rig.park, rig.park)
    report = preview(rig, motion)
    assert report.certificate is not None
    with Host(rig, url=None, journal=tmp_path / "run.mcap", command="hil run") as host:
        host.connect(lambda reported: "the test")
        for _ in range(3):
            assert host.run(motion, report.certificate) is Mode.IDLE

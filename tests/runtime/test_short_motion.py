"""A motion that is over, or was stopped, before its owner has looked: it has begun all the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hil.motion.planner import plan_joint_move
from hil.runtime.host import Host
from hil.runtime.preview import preview
from hil.runtime.wiring import load_rig
from hil.types import Mode, Request, Start, Stop

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


def test_one_that_was_stopped_meanwhile_ends_as_if_somebody_had_seen_it_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rig = load_rig("ur5")
    motion = plan_joint_move(rig, rig.park, rig.home)
    report = preview(rig, motion)
    assert report.certificate is not None
    with Host(rig, url=None, journal=tmp_path / "run.mcap", command="hil run") as host:
        host.connect(lambda reported: "the test")
        send = host.send

        def send_and_look_away(*requests: Request) -> None:
            send(*requests)
            if any(isinstance(each, Start) for each in requests):
                send(Stop(reason="somebody else wants it so"))
                time.sleep(0.7)

        monkeypatch.setattr(host, "send", send_and_look_away)
        assert host.run(motion, report.certificate) is Mode.HOLDING
        assert any("somebody else wants it so" in event for event in host.events)

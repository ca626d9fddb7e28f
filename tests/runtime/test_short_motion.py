"""A motion that is over, or was stopped, before its owner has looked: it has begun all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hil.errors import InterlockError
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.runtime.host import Host
from hil.runtime.preview import preview
from hil.runtime.wiring import load_rig
from hil.safety.certificate import Certificate
from hil.types import Mode, Request, Start, Stop

pytestmark = [pytest.mark.processes, pytest.mark.wall_clock]

RIG = load_rig("ur5")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    """An arm that may be moved."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Host(RIG, url=None, journal=tmp_path / "run.mcap", command="hil run") as host:
        host.connect(lambda reported: "the test")
        yield host


def certified(to: Sequence[float]) -> tuple[Motion, Certificate]:
    """A move from the park pose."""
    motion = plan_joint_move(RIG, RIG.park, to)
    certificate = preview(RIG, motion).certificate
    assert certificate is not None
    return motion, certificate


def test_a_motion_that_goes_nowhere_runs_to_its_end(host: Host) -> None:
    nowhere = certified(RIG.park)
    for _ in range(3):
        assert host.run(*nowhere) is Mode.IDLE


def test_one_that_was_stopped_meanwhile_ends_as_if_somebody_had_seen_it_go(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = host.send

    def send_and_look_away(*requests: Request) -> None:
        send(*requests)
        if any(isinstance(each, Start) for each in requests):
            send(Stop(reason="somebody else wants it so"))
            time.sleep(0.7)

    monkeypatch.setattr(host, "send", send_and_look_away)
    assert host.run(*certified(RIG.home)) is Mode.HOLDING
    assert any("somebody else wants it so" in event for event in host.events)


def test_one_whose_start_is_refused_when_the_arm_is_idle_has_not_run(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = host.send

    def send_when_it_is_over(*requests: Request) -> None:
        send(*requests)
        if any(isinstance(each, Start) for each in requests):
            host.until(lambda: host.mode is Mode.STREAMING, 10.0)
            host.until(lambda: host.mode is Mode.IDLE, 10.0)
            host._start_taken = None
            send(*requests)

    monkeypatch.setattr(host, "send", send_when_it_is_over)
    with pytest.raises(InterlockError, match="refused: "):
        host.run(*certified(RIG.home))

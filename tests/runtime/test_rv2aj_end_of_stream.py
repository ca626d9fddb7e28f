"""A stream that just ends, on a controller that plans its own moves: it ends the one that it has, and gets no other."""

from __future__ import annotations

import re

import pytest

from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.testing.arms import VirtualArm
from hil.types import Disconnect, EndStream, Mode
from hil.units import DEG

TARGET = re.compile(rb"1;1;EXECJT=|1;1;HOTHILHOT|PRN ")
MOVER = re.compile(TARGET.pattern + rb"|1;1;EXECMOV|1;1;RUN|1;1;SRVON")


@pytest.fixture(params=["rv2aj", "rv2aj-hot", "rv2aj-line"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
def arm(name: str, request: pytest.FixtureRequest) -> VirtualArm:
    """At some moment between two targets of a long motion of its first joint."""
    rig = wiring.load_rig(name)
    arm = VirtualArm(rig)
    arm.begin(plan_joint_move(rig, rig.park, (60 * DEG, *rig.park[1:])))
    arm.wait(4.0 + request.param)
    assert arm.mode is Mode.STREAMING
    return arm


def left(arm: VirtualArm, since: int, what: re.Pattern[bytes]) -> list[bytes]:
    """Lines of that kind that left from so many ticks on."""
    written = b"".join(record.written for record in arm.records[since:])
    return [line for line in written.split(b"\r") if what.match(line)]


def travelled(arm: VirtualArm, seconds: float) -> float:
    """How far the first joint goes in the next seconds, rad, with nobody connected."""
    before = arm.servos[0]
    arm._arm.clock.sleep_until(arm.now_s + seconds)
    return abs(arm.servos[0] - before)


def test_no_target_leaves_after_the_end_of_the_stream_and_nothing_is_at_fault(arm: VirtualArm) -> None:
    arm.tick(EndStream(reason="test"))
    assert arm.mode is Mode.HOLDING
    since = len(arm.records)
    arm.wait(arm.rig.look_ahead_s)
    resting = arm.servos
    arm.wait(5.0)
    assert left(arm, since, MOVER) == []
    assert arm.servos == resting
    assert arm.mode is Mode.HOLDING


def test_leaving_in_the_same_tick_sends_nothing_more_and_the_arm_ends_the_move_it_has(arm: VirtualArm) -> None:
    since = len(arm.records)
    record = arm.tick(EndStream(reason="test"), Disconnect(reason="test"))
    assert record.mode is Mode.DISCONNECTED
    assert record.sent is None
    assert record.written.endswith(b"1;1;CNTLOFF\r1;1;CLOSE\r")
    # What was due left when the tick read the line, before it took its requests.
    assert len(left(arm, since, TARGET)) <= 1
    travelled(arm, arm.rig.look_ahead_s)
    assert travelled(arm, 10.0) == 0.0

"""A link with nothing behind it but a sweep of all joints: for tests, pictures and benchmarks of the window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hil.dashboard.arm import ShownArm
from hil.dashboard.link import Link
from hil.service.rights import Role
from hil.service.wire import (
    AxisInfo,
    LeaseBrief,
    LeasePhase,
    Rules,
    StopBudget,
    Telemetry,
    Timing,
    Welcome,
)
from hil.types import Mode, StateSource

LAG_S = 0.11
START_S = 1000.0
_TURN_S = 9.0


class PretendLink(Link):
    """Gives telemetry when told to, by its own clock.

    Attributes:
        stops: reasons of the stops that were sent.
        mode: in which the arm pretends to be; it moves while it is STREAMING.
        reachable: False for a service that is gone.
        changes: fields of the telemetry that are not as made up here.
    """

    def __init__(self, arm: ShownArm, *, period_s: float = 0.02, source: StateSource = StateSource.ECHOED) -> None:
        super().__init__()
        self.arm, self.period_s, self.source = arm, period_s, source
        self.stops: list[str] = []
        self.mode, self.reachable = Mode.STREAMING, True
        self.changes: dict[str, Any] = {}
        self.now_s = START_S
        self._moved_s = 0.0
        self._frame = 0

    def begin(self) -> None:
        """Let the window in."""
        self.joined.emit(welcome_of(self.arm, self.now_s, self.period_s), self.arm)

    def stop(self, reason: str, *, freeze: bool = False) -> bool:
        """Note it, and stop."""
        if not self.reachable:
            return False
        self.stops.append(reason)
        self.mode = Mode.ESTOP if freeze else Mode.HOLDING
        return True

    def lose(self, reason: str = "the channel was closed") -> None:
        """The service goes away."""
        self.reachable = False
        self.parted.emit(reason, False)

    def come_back(self) -> None:
        """It is there again."""
        self.reachable = True
        self.begin()

    def advance(self, seconds: float) -> None:
        """Time goes on, and telemetry comes."""
        for _ in range(max(1, round(seconds / self.period_s))):
            self.now_s += self.period_s
            self._moved_s += self.period_s if self.mode is Mode.STREAMING else 0.0
            if self.reachable:
                self.put(self._telemetry())

    def _telemetry(self) -> Telemetry:
        self._frame += 1
        commanded = self._pose(self._moved_s)
        simulated = self._pose(self._moved_s - LAG_S)
        moving = self.mode is Mode.STREAMING
        fields: dict[str, Any] = {
            "frame": self._frame,
            "now_s": self.now_s,
            "tick": self._frame,
            "t_s": self.now_s,
            "mode": self.mode,
            "commanded": commanded,
            "simulated": simulated,
            "reported": tuple(round(q, 3) for q in self._pose(self._moved_s - 1.3 * LAG_S)),
            "source": self.source,
            "reported_s": 0.02,
            "tool_m": tuple(self.arm.robot.link_frames(commanded[: self.arm.robot.dof])[-1, :3, 3].tolist()),
            "speed_share": 0.4,
            "wire_share": 0.31,
            "timing": Timing(late_ms=0.3 + 0.2 * math.sin(self.now_s), work_ms=1.1, missed=0),
            "stop": _stop(moving),
            "lease": LeaseBrief(phase=LeasePhase.HELD, epoch=7, holder="Ada", slot_left_s=742.0, waiting=1),
            "picture_age_s": 0.2,
            "progress": (self._moved_s / 60.0) % 1.0 if moving else None,
        }
        return Telemetry(**(fields | self.changes))

    def _pose(self, time_s: float) -> tuple[float, ...]:
        """A smooth sweep about the middle of every range."""
        pose = []
        for index, axis in enumerate(self.arm.axes):
            angle = 2.0 * math.pi * time_s / (_TURN_S + 1.7 * index) + 0.9 * index
            reach = 0.32 * (axis.upper - axis.lower)
            middle = min(max(axis.home, axis.lower + reach), axis.upper - reach)
            pose.append(middle + reach * math.sin(angle))
        return tuple(pose)


def welcome_of(arm: ShownArm, now_s: float, period_s: float) -> Welcome:
    """What a service says at first about this arm."""
    axes = tuple(
        AxisInfo(
            name=axis.name,
            kind="gripper" if axis.gripper else "revolute" if axis.unit_name == "deg" else "prismatic",
            lower=axis.lower,
            upper=axis.upper,
            speed=axis.speed,
            home=axis.home,
            park=axis.park,
        )
        for axis in arm.axes
    )
    return Welcome(
        speaks=1,
        server="pretended lab",
        now_s=now_s,
        now_epoch_s=1.8e9,
        arm=arm.model.id,
        title=arm.title,
        robot=arm.model.id,
        real=False,
        axes=axes,
        period_s=period_s,
        rules=Rules(
            beat_every_s=0.1,
            stop_after_s=0.25,
            suspend_after_s=2.0,
            hold_every_s=0.05,
            command_age_s=0.5,
            picture_age_s=2.0,
            picture_needed=False,
        ),
        role=Role.DRIVE,
        name="Ada",
        speed_share=0.5,
    )


def _stop(moving: bool) -> StopBudget:
    ramp = 240.0 if moving else 0.0
    parts = {"input_ms": 60.0, "loop_ms": 21.0, "queue_ms": 80.0, "wire_ms": 3.5, "ramp_ms": ramp, "servo_ms": 150.0}
    return StopBudget(
        **parts,
        total_ms=float(np.sum(list(parts.values()))),
        distance_mm=31.0 if moving else 0.0,
        clearance_mm=84.0,
        speed_share=0.6,
    )

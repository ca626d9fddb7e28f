"""The loop of an arm as a desk has it, without a lab and without a clock: it is in the mode that the test says."""

from __future__ import annotations

from pathlib import Path

import msgspec
from lab_server import resting_report

from hil.runtime.loop_process import LoopSlot
from hil.runtime.wiring import load_rig
from hil.service.arm_loop import ArmLoop
from hil.service.arm_worker import ArmSpec
from hil.service.live_arm import LiveArm
from hil.types import Mode, Request, Stop

RIG = load_rig("lynx6")
SPEC = ArmSpec(rig=RIG, url=None, journals=Path(), command="", address="", slot=LoopSlot())


class Worker:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.away, self.settled = "", True
        self.begun_s: float | None = None
        self.sent: list[Request] = []

    def start(self) -> None: ...

    def send(self, *requests: Request) -> None:
        self.sent += requests

    def beat(self) -> None: ...

    async def close(self, reason: str) -> None: ...


class Loop:
    """A loop with a worker, in a mode."""

    def __init__(self, mode: Mode) -> None:
        self.live, self.worker = LiveArm(RIG), Worker()
        self.loop = ArmLoop("arm-1", self.live)
        self.loop.process = self.worker
        self.is_in(mode)

    def is_in(self, mode: Mode) -> None:
        self.live.take(msgspec.structs.replace(resting_report(SPEC), mode=mode), 1.0)
        self.loop.reported(mode)

    @property
    def stopped(self) -> bool:
        return any(isinstance(request, Stop) for request in self.worker.sent)

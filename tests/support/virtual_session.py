"""A whole rig on virtual time, every part of it within a test's reach: bridge, driver, line, board, servos."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

import hil
from drivers.ssc32 import Ssc32Driver, Ssc32Settings
from hil.clock import VirtualClock
from hil.errors import LinkOverrun
from hil.link import BytePort
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.bridge import Bridge
from hil.runtime.certified_rows import wire_table
from hil.runtime.journal import SessionRecord, Wiring
from hil.runtime.tap import PortTap
from hil.safety.certificate import Certificate, issue
from hil.safety.checker import check_motion
from hil.safety.findings import Findings
from hil.safety.guard import Guard
from hil.types import Arm, Confirm, EmergencyStop, Load, Mode, Request, Start, Supply, TickRecord
from hil.units import DEG
from sim.arm import SimulatedArm
from sim.bench import BenchServo, ServoBench
from sim.faults import FaultScript, faults_from_table
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Ssc32Board

EPOCH_S = 1.8e9
"""Epoch seconds at virtual second 0."""
START_S = 0.1
SINKING = ("shoulder", "elbow", "wrist")
"""Joints of a Lynx6 that gravity turns."""


@functools.cache
def lynx6() -> Rig:
    """The bundled rig."""
    return wiring.load_rig("lynx6")


@functools.cache
def swing(degrees: float = 80.0, speed_percent: float = 100.0) -> Motion:
    """From park to another place of base, elbow and wrist: clear of everything, about two seconds long."""
    rig = lynx6()
    goal = list(rig.park)
    for name, share in (("base", 1.0), ("elbow", 0.5), ("wrist", 0.5)):
        goal[rig.index(name)] += share * degrees * DEG
    return plan_joint_move(rig, rig.park, goal, speed_percent=speed_percent)


def certified(rig: Rig, motion: Motion, now_epoch_s: float = EPOCH_S, **changes: Any) -> Certificate:
    """What a preview would issue."""
    findings = check_motion(rig, Robot(rig.robot), motion)
    assert not findings.refusals, findings.refusals[0].text
    changes.setdefault("table", wire_table(rig, motion))
    return issue(rig, motion, findings, now_epoch_s, version=hil.__version__, **changes)


def forged(rig: Rig, motion: Motion) -> Certificate:
    """A certificate for a motion that nobody checked."""
    return issue(rig, motion, Findings(refusals=(), margins=()), EPOCH_S, version=hil.__version__)


def load(motion: Motion, certificate: Certificate) -> Load:
    """The request that brings both to the bridge."""
    return Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())


def script(*faults: dict[str, Any], start_s: float = 0.0, seed: int = 1) -> FaultScript:
    """Faults as a file would give them."""
    table = {"title": "test", "fault": list(faults)}
    return FaultScript(faults_from_table(table, "faults.toml"), random.Random(seed), start_s)


def session_in_memory(rig: Rig, start_s: float, epoch_s: float = EPOCH_S, **settings: object) -> SessionRecord:
    """What the journal of a rig's session on a fake in memory begins with."""
    return SessionRecord(
        software_version=hil.__version__,
        wiring=Wiring.FAKE,
        port="memory",
        rig_id=rig.id,
        rig_digest=rig.digest,
        rig=msgspec.to_builtins(rig),
        settings={"controller_kind": rig.controller.kind, "line_signs": True, "calls_off": True, **settings},
        start_epoch_s=epoch_s + start_s,
        start_monotonic_s=start_s,
    )


class Tampered:
    """A port with somebody in between.

    Attributes:
        deaf: nothing is heard any more.
        lie: changes what is heard.
        refusals: so many moves from now on find the line full.
        movers: what the lines that move something contain.
        piece: at most so many bytes are handed over per read.
    """

    def __init__(self, port: BytePort) -> None:
        self._port = port
        self.deaf = False
        self.lie: Callable[[bytes], bytes] = lambda data: data
        self.refusals = 0
        self.movers: tuple[bytes, ...] = (b"#",)
        self.piece: int | None = None
        self._kept = b""

    def read(self, now_s: float) -> bytes:
        data = self._port.read(now_s)
        if self.deaf:
            return b""
        data = self._kept + self.lie(data)
        split = len(data) if self.piece is None else self.piece
        self._kept = data[split:]
        return data[:split]

    def write(self, data: bytes, now_s: float) -> None:
        if self.refusals > 0 and any(word in data for word in self.movers):
            self.refusals -= 1
            raise LinkOverrun("memory: the line is full", "memory")
        self._port.write(data, now_s)

    def set_baud(self, baud: int) -> None:
        self._port.set_baud(baud)

    def close(self) -> None:
        self._port.close()


class Session:
    """The bridge of one rig over its real driver and the fake board, ticked by hand.

    Args:
        rig: the resolved rig.
        true_pose: where the limp arm really is; the rig's park pose if not given.
        driven: True if the board drives the arm there already.
        faults: what goes wrong on the line.
        board_start_s: phase of the board's frames against the ticks.
        supply: what an earlier session has left behind of the servo supply.
        board: kind of board.

    Attributes:
        line: newest port as the driver has it, with somebody in between.
        records: every tick so far.
        pulses: (time, channel, pulse) of every change at the board's pins.
    """

    def __init__(
        self,
        rig: Rig | None = None,
        *,
        true_pose: Sequence[float] | None = None,
        driven: bool = False,
        faults: FaultScript | None = None,
        board_start_s: float = 0.0,
        supply: Supply = Supply.UNSAID,
        **board: Any,
    ) -> None:
        self.rig = rig = lynx6() if rig is None else rig
        settings = rig.controller
        assert isinstance(settings, Ssc32Settings)
        self.settings = msgspec.structs.replace(settings, port_url="memory")
        pose = rig.park if true_pose is None else tuple(true_pose)
        self.board = Ssc32Board(BoardSettings(**{"baud": settings.baud, **board}), start_s=board_start_s)
        self.pulses: list[tuple[float, int, float]] = []
        self.board.watch(lambda time_s, changes: self.pulses.extend((time_s, *change) for change in changes))
        self.bench = ServoBench(
            self.board,
            [
                BenchServo(
                    channel=wire.channel,
                    points=wire.points,
                    start=at,
                    lag_s=axis.servo_lag_s,
                    speed=axis.servo_speed,
                    rest=axis.park if axis.name in SINKING else None,
                )
                for axis, wire, at in zip(rig.axes, settings.axes, pose, strict=True)
            ],
        )
        if driven:
            self.drive(pose)
        self.cable_out = False
        self._faults = faults
        self.tap = PortTap(self._open_port)
        self.link = Ssc32Driver(self.settings, self.tap.open)
        self.shadow = SimulatedArm(
            rig.park, [axis.servo_lag_s for axis in rig.axes], [axis.servo_speed for axis in rig.axes]
        )
        self.clock = VirtualClock(START_S)
        self.shadow.open(START_S)
        self.bridge = Bridge(
            rig,
            self.link,
            self.shadow,
            Guard(rig, Robot(rig.robot)),
            self.tap,
            epoch_offset_s=EPOCH_S,
            version=hil.__version__,
            supply=supply,
        )
        self.records: list[TickRecord] = []

    # -- the world -----------------------------------------------------------------------------------------

    def _open_port(self) -> BytePort:
        self.port = MemoryPort(self.board, self.settings.baud, self._faults, self.bench)
        if self.cable_out:
            self.port.unplug(self.clock.now_s())
        self.line = Tampered(self.port)
        return self.line

    def drive(self, positions: Sequence[float]) -> None:
        """Another program has driven the arm there before this session."""
        line = "".join(
            f"#{axis.channel}P{self.settings.pulse_us(i, at)}"
            for i, (axis, at) in enumerate(zip(self.settings.axes, positions, strict=True))
        )
        self.board.receive(f"{line}\r".encode("ascii"), 0.0, self.board.byte_s)
        self.board.advance(0.09)

    def unplug(self) -> None:
        """Pull the cable; it stays out until `plug_in`."""
        self.cable_out = True
        self.port.unplug(self.clock.now_s())

    def plug_in(self) -> None:
        """Put the cable back; the next open finds it."""
        self.cable_out = False

    def pulse_us(self, axis: int) -> float:
        """What the board makes now on the channel of an axis."""
        self.board.advance(self.clock.now_s())
        return self.board.pulse_us(self.settings.axes[axis].channel)

    # -- the loop ------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        return self.bridge.mode

    @property
    def last(self) -> TickRecord:
        return self.records[-1]

    @property
    def events(self) -> list[str]:
        return [event for record in self.records for event in record.events]

    def tick(self, *requests: Request, after_s: float | None = None) -> TickRecord:
        """Wait a period (or `after_s`), then tick once."""
        if self.records or after_s is not None:
            wait_s = self.rig.period_s if after_s is None else after_s
            self.clock.sleep_until(self.clock.now_s() + wait_s)
        record = self.bridge.tick(self.clock.now_s(), requests)
        self.records.append(record)
        return record

    def run(self, duration_s: float, *requests: Request) -> TickRecord:
        """Tick for a while; the requests go with the first tick."""
        end_s = self.clock.now_s() + duration_s
        record = self.tick(*requests)
        while self.clock.now_s() < end_s - 1e-9:
            record = self.tick()
        return record

    def until(self, mode: Mode, *requests: Request, within_s: float = 12.0) -> TickRecord:
        """Tick until the mode is reached; the requests go with the first tick."""
        end_s = self.clock.now_s() + within_s
        record = self.tick(*requests)
        while record.mode is not mode:
            assert self.clock.now_s() < end_s, f"{mode} not reached, still {record.mode}: {self.events[-3:]}"
            record = self.tick()
        return record

    def confirm(self, positions: Sequence[float] | None = None) -> Confirm:
        return Confirm(positions=self.rig.park if positions is None else tuple(positions), by="the test")

    def vouch(self) -> Confirm:
        """The park pose is confirmed, and that the servo supply is on."""
        return Confirm(positions=self.rig.park, by="the test", supply_on=True)

    def to(self, mode: Mode, motion: Motion | None = None) -> Session:
        """Bring a fresh session into a mode, the usual way."""
        if mode is Mode.CONNECTING:
            self.tick()
            return self
        self.until(Mode.UNKNOWN_POSE)
        if mode is Mode.UNKNOWN_POSE:
            return self
        if mode is Mode.ENERGISING:
            self.until(mode, self.confirm())
            return self
        self.until(Mode.IDLE, self.confirm())
        if mode is Mode.IDLE:
            return self
        if mode is Mode.ESTOP:
            self.tick(EmergencyStop(reason="test"))
            return self
        motion = swing() if motion is None else motion
        self.tick(load(motion, certified(self.rig, motion)), Arm(digest=motion.digest))
        assert self.mode is Mode.ARMED, self.events[-1]
        if mode is Mode.ARMED:
            return self
        self.tick(Start(digest=motion.digest))
        assert self.mode is Mode.STREAMING, self.events[-1]
        if mode is Mode.STREAMING:
            self.run(0.7)
            assert self.mode is Mode.STREAMING, self.events[-1]
            return self
        raise AssertionError(f"no usual way to {mode}")

    def session_record(self) -> SessionRecord:
        """What the journal of this session begins with."""
        return session_in_memory(self.rig, START_S)

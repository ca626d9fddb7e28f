"""One life of an arm on virtual time: the product's own loop, a board, servos, a person, and everything going wrong.

All chance comes from one seed: the same seed and number of ticks give the same life, byte for byte.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
from soak_cr1 import LED, Cr1Judge, Cr1World
from soak_excuses import Excuse, Excused
from soak_follow import USUAL, SoakLeader
from soak_line import line_troubles
from soak_oracles import (
    ECHO_US,
    ArmJudge,
    FirstMoveJudge,
    NoticeJudge,
    RecordJudge,
    RigFacts,
    SampleJudge,
    Violation,
    WireJudge,
    driven_pose,
    read_rig,
)
from soak_promises import (
    SILENCES_S,
    AdoptJudge,
    ConfirmJudge,
    DeathJudge,
    LatchJudge,
    LimpJudge,
    StopJudge,
    SupplyJudge,
    judge_journal,
)
from virtual_session import session_in_memory

import hil
from hil.link import BytePort
from hil.model.files import find
from hil.model.rig import Axis, Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.attendance import Attendance
from hil.runtime.certified_rows import wire_table
from hil.runtime.journal import Completeness, JournalWriter, verify
from hil.runtime.mailbox import MailboxReader, MailboxWriter
from hil.runtime.pace import Watch, run_paced
from hil.runtime.recorder import DRAIN_S, Recorder
from hil.runtime.replay import replay
from hil.runtime.ring import RECORDER_SLOT, RingReader, RingWriter, default_folder
from hil.safety.certificate import Certificate, issue
from hil.safety.checker import check_motion
from hil.types import (
    WRITING,
    Arm,
    Confirm,
    Disconnect,
    EmergencyStop,
    EnergiseCommand,
    LetGo,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
    SupplyCut,
    TickRecord,
)
from sim.bench import BenchServo, ServoBench
from sim.faults import BYTE_KINDS, Direction, Fault, FaultFile, FaultKind, FaultScript
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, BoardState, Firmware, Ssc32Board

RIG = "lynx6"
SINKING = ("shoulder", "elbow", "wrist")
"""Joints of a Lynx6 that gravity turns."""
EPOCH_S = 1_750_000_000.0
FIRST_TICK_S = 0.1
AFTERMATH_S = 1.5
"""What a damaged time in a command, a freed joint or a returned servo supply can go on moving."""

NOTICE_S = {"unplugged": 0.05, "reset": 0.4, "hung": 0.4}
"""From trouble to the end of streaming, gaps of the loop not counted; docs/faults-and-kills.md says why."""


@dataclass
class Tally:
    """What a life was made of."""

    seed: int
    ticks: int = 0
    sessions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wire: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    excused: Counter[Excuse] = field(default_factory=Counter)
    allowed_s: float = 0.0
    violation: str = ""

    @property
    def judged(self) -> bool:
        """False for a life in which nothing has moved: no promise about motion was kept or broken in it."""
        return self.wire["samples"] > 0 or bool(self.violation)

    def peak(self, name: str, value: float) -> None:
        """Remember the largest value under this name."""
        self.worst[name] = max(self.worst.get(name, 0.0), value)


def live(seed: int, ticks: int, rig: str = RIG, led: float = USUAL) -> Tally:
    """Run one life of a rig, part of its motions led by targets; a broken guarantee is in `violation`, with tick."""
    life = _Life(seed, ticks, rig, led)
    try:
        with tempfile.TemporaryDirectory(prefix="hil-soak-", dir=default_folder()) as folder:
            life.run(Path(folder))
    except Violation as broken:
        life.tally.violation = f"seed {seed}, tick {life.tally.ticks}, {life.clock.now_s():.3f} s: {broken}"
    return life.tally


# -- time ------------------------------------------------------------------------------------------------


class UnevenClock:
    """Virtual time on a bad machine: every wake-up is late, some very late."""

    def __init__(self, rng: random.Random, tally: Tally, gap_chance: float) -> None:
        self._rng, self._tally, self._gap_chance = rng, tally, gap_chance
        self._now_s = FIRST_TICK_S
        self.gap_s = 0.0

    def now_s(self) -> float:
        """The present virtual second."""
        return self._now_s

    def sleep_until(self, deadline_s: float) -> None:
        """Wake up after the deadline: half a millisecond as a rule, some milliseconds or half a second at times."""
        rng = self._rng
        late_s = min(rng.expovariate(1.0 / 0.5e-3), 9e-3)
        if rng.random() < 0.02:
            late_s = rng.uniform(1e-3, 9e-3)
        self.gap_s = 0.0
        if rng.random() < self._gap_chance:
            self.gap_s = late_s = rng.uniform(0.03, 0.5) if rng.random() < 0.5 else rng.uniform(0.03, 0.12)
            self._tally.counts["gap of the loop"] += 1
        self._now_s = max(self._now_s + 1e-6, deadline_s + late_s)


# -- the world -------------------------------------------------------------------------------------------


def _troubles(rng: random.Random, duration_s: float) -> list[Fault]:
    """A schedule of everything that the fake can do wrong."""
    faults = line_troubles(rng, duration_s, 8.0)
    if rng.random() < 0.5:
        text = rng.choice(["#0P2400", "#1P700T", "QP", "#4P1500#3P", "VE"])
        faults.append(Fault(kind=FaultKind.STALE_TEXT, text=text))
    at_s = rng.uniform(1.0, 5.0)
    while at_s < duration_s:
        faults.append(_trouble(rng, at_s))
        at_s += rng.expovariate(1.0 / 3.0)
    return faults


def _trouble(rng: random.Random, at_s: float) -> Fault:
    kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind in BYTE_KINDS:
        late = kind is FaultKind.LATE
        return Fault(
            kind=kind,
            at_s=at_s,
            for_s=rng.uniform(0.05, 1.5),
            probability=rng.choice([0.002, 0.02, 0.2]) if late else rng.choice([0.005, 0.05, 0.5, 1.0]),
            direction=rng.choice([Direction.REPLIES, Direction.REPLIES, Direction.COMMANDS]),
            delay_ms=rng.choice([0.5, 5.0, 60.0]) if late else None,
        )
    return Fault(
        kind=kind,
        at_s=at_s,
        for_s=None if kind is FaultKind.RESET else rng.choice([rng.uniform(0.02, 0.5), rng.uniform(0.5, 2.5)]),
        channel=rng.randrange(6) if kind is FaultKind.STALL else None,
        channels_starting=rng.randint(2, 6) if kind is FaultKind.BROWN_OUT else None,
    )


_WEIGHTS = {
    FaultKind.LOST: 3,
    FaultKind.GARBLED: 3,
    FaultKind.DOUBLED: 2,
    FaultKind.LATE: 3,
    FaultKind.UNPLUG: 3,
    FaultKind.RESET: 3,
    FaultKind.BROWN_OUT: 2,
    FaultKind.STALL: 3,
    FaultKind.HUNG: 3,
    FaultKind.NO_POWER: 2,
    FaultKind.NO_SERVO_POWER: 2,
}
_FIRMWARES = (Firmware.V2, Firmware.V2, Firmware.V2, Firmware.U, Firmware.V1)


class World(Protocol):
    """What is at the other end of the line, and what befalls it.

    Attributes:
        rig, facts: of the arm.
        title: for the tally.
        notice_s: from each kind of trouble to the end of streaming, at most.
        spread: how far from home, in parts of the range, a person wants to go.
        same: how far two reports of an axis may be apart and still be one.
        each_leaves: a command that is sent is bytes in the same tick.
        end_time_s: from the end of the stream to the last moving pulse; None where that is not shorter than a stop.
    """

    rig: Rig
    facts: RigFacts
    title: str
    notice_s: Mapping[str, float]
    spread: float
    same: tuple[float, ...]
    each_leaves: bool
    end_time_s: float | None

    @property
    def hung(self) -> bool:
        """The controller's program stands still."""
        ...

    @property
    def falling(self) -> bool:
        """The arm is limp, and on its way down."""
        ...

    @property
    def without_supply(self) -> bool:
        """The servos have no power, and the controller does not feel it."""
        ...

    def open_port(self) -> BytePort: ...
    def advance(self, now_s: float) -> None: ...
    def positions(self, now_s: float) -> tuple[float, ...]: ...
    def excused(self, now_s: float) -> Excuse | None: ...
    def new_troubles(self, now_s: float) -> list[Fault]: ...
    def rebooted(self) -> bool: ...
    def free_by_hand(self, now_s: float) -> None: ...
    def wire_judge(self) -> WireJudge | Cr1Judge: ...
    def judge_first_move(self, record: TickRecord, axis: int, judge: FirstMoveJudge) -> None: ...
    def freezes(self) -> Callable[[bytes], bool] | None: ...


class _World:
    """Board, servos and cable of a Lynx6, and the list of what befalls them."""

    notice_s = NOTICE_S
    spread = 1.0
    each_leaves = True

    def __init__(self, rng: random.Random, ticks: int, tally: Tally) -> None:
        self.rig, self.facts = wiring.load_rig(RIG), read_rig(find("rigs", RIG))
        duration_s = ticks * self.rig.period_s * 1.3
        self.end_time_s: float | None = self.facts.end_time_s
        self.same = tuple(1.01 * ECHO_US * axis.unit_per_us for axis in self.facts.axes)
        self._tally, facts = tally, self.facts
        self.firmware = rng.choice(_FIRMWARES)
        self.title = f"lives with firmware {self.firmware.value}"
        self.board = Ssc32Board(BoardSettings(firmware=self.firmware, baud=115200))
        servos = [
            BenchServo(
                channel=a.channel,
                points=a.points,
                start=a.park,
                lag_s=a.lag_s,
                speed=a.servo_speed,
                rest=a.park if a.name in SINKING else None,
            )
            for a in facts.axes
        ]
        self.bench = ServoBench(self.board, servos)
        self.faults = _troubles(rng, duration_s)
        title = FaultFile(title="soak", fault=tuple(self.faults))
        self._script = FaultScript(title, random.Random(rng.random()))
        self._port: MemoryPort | None = None
        self._excused = Excused(_excuses(self.faults))
        self._boots = self.board.counts.boots
        self._begun: set[int] = set()

    def open_port(self) -> BytePort:
        """Plug in."""
        self._tally.counts["connects"] += 1
        self._port = MemoryPort(self.board, 115200, self._script, self.bench)
        return self._port

    def advance(self, now_s: float) -> None:
        """Let board, cable and faults live up to `now_s`, whether or not anybody has the port open."""
        if self._port is not None:
            self._port.line.poll(now_s)
        self.board.advance(now_s)

    def positions(self, now_s: float) -> tuple[float, ...]:
        """Where the servos are, in the order of the rig's axes."""
        return self.bench.positions(now_s)

    def excused(self, now_s: float) -> Excuse | None:
        """What no program can help and moves the arm now, or a while ago."""
        if self._port is not None and self._port.line.backlog(now_s) > 200:
            self._excused.extend(now_s + AFTERMATH_S, Excuse.LATE_LINE)
        if self._excused.at(now_s) and (self.board.moving or self.board._text):
            self._excused.extend(now_s + AFTERMATH_S, Excuse.HALF_A_LINE)
        if self.falling:
            self._excused.extend(now_s + AFTERMATH_S, Excuse.FALLING)
        return self._excused.at(now_s)

    def new_troubles(self, now_s: float) -> list[Fault]:
        """Faults that began since the last question."""
        new = [(i, f) for i, f in enumerate(self.faults) if i not in self._begun and f.at_s <= now_s]
        self._begun.update(i for i, _ in new)
        return [fault for _, fault in new]

    def rebooted(self) -> bool:
        """True if the board has started anew since the last question."""
        before, self._boots = self._boots, self.board.counts.boots
        return self._boots > before

    def free_by_hand(self, now_s: float) -> None:
        """A person cuts the power and puts the arm back into its park pose."""
        self.board.power_cycle(now_s)
        for axis in self.facts.axes:
            self.bench.stall(axis.channel, now_s, stalled=False)
            self.bench.place(axis.channel, axis.park, now_s)
        self._excused.extend(now_s + AFTERMATH_S, Excuse.BY_HAND)
        self._tally.counts["arm freed by hand"] += 1

    @property
    def falling(self) -> bool:
        """Some joint is on its way down."""
        return self.bench.falling

    @property
    def without_supply(self) -> bool:
        """The servo supply is off."""
        return not all(self.bench._supplied)

    @property
    def hung(self) -> bool:
        """The board's program stands still."""
        return self.board.state is BoardState.HUNG

    def wire_judge(self) -> WireJudge:
        """For one session."""
        return WireJudge(self.facts, old_firmware=self.firmware is Firmware.V1)

    def judge_first_move(self, record: TickRecord, axis: int, judge: FirstMoveJudge) -> None:
        """The line is on its way: board and servo are still as they were before it."""
        channel = self.facts.axes[axis].channel
        line = record.written.removesuffix(b"\r").rpartition(b"\r")[2]
        judge.judge(line, self.board.pulse_us(channel), self.bench.position(channel, record.t_s))

    def freezes(self) -> Callable[[bytes], bool] | None:
        """Every channel has to be named by a STOP."""
        stops = [b"STOP%d\r" % axis.channel for axis in self.facts.axes]
        return None if self.firmware is Firmware.V1 else lambda data: all(stop in data for stop in stops)


def _excuses(faults: list[Fault]) -> list[tuple[float, float, Excuse]]:
    """From when until when the arm may move although nobody asks it to."""
    spans = []
    for fault in faults:
        end_s = fault.end_s if math.isfinite(fault.end_s) else fault.at_s
        if fault.kind in BYTE_KINDS and fault.direction is Direction.COMMANDS:
            spans.append((fault.at_s - 0.1, end_s + AFTERMATH_S, Excuse.DAMAGED_COMMAND))
        elif fault.kind is FaultKind.STALL:
            spans.append((end_s, end_s + AFTERMATH_S, Excuse.FREED_JOINT))
        elif fault.kind is FaultKind.NO_SERVO_POWER:
            spans += [(at_s, at_s + AFTERMATH_S, Excuse.SERVO_SUPPLY) for at_s in (fault.at_s, end_s)]
    return spans


# -- the person ------------------------------------------------------------------------------------------


class _Person:
    """Owner and operator in one: confirms, plans, starts, stops, and asks for things at the wrong time."""

    def __init__(self, rng: random.Random, rig: Rig, world: World, tally: Tally, led: float) -> None:
        self._rng, self._rig, self._world, self._tally = rng, rig, world, tally
        self._leader = SoakLeader(random.Random(f"{tally.seed} led"), rig, tally.counts, led)
        self._robot = Robot(rig.robot)
        self.pose = list(rig.park)
        self._goals = _poses(rng, rig, self._robot, world.spread)
        self._mode = Mode.DISCONNECTED
        self._act_s = 0.0
        self._motion: Motion | None = None
        self._refusals = 0
        self._reported: tuple[float | None, ...] = (None,) * len(rig.axes)
        self._power = random.Random(f"{tally.seed} power")
        self._release = random.Random(f"{tally.seed} release")
        self._was_without = self._cut = False
        self._limp_next: list[str] = []
        self.puts = 0

    def see(self, record: TickRecord) -> None:
        """Look at what the loop has published."""
        driven_pose(record, self.pose)
        if record.reported is not None:
            self._reported = record.reported.positions
        if record.mode is not self._mode:
            self._mode = record.mode
            self._act_s = record.t_s + self._rng.choice([0.0, self._rng.uniform(0.0, 0.3), self._rng.uniform(0.3, 1.2)])

    def act(self, now_s: float) -> list[Request]:
        """What is asked for now."""
        rng = self._rng
        without, self._was_without = self._world.without_supply and not self._was_without, self._world.without_supply
        if without and self._power.random() < 0.6:
            self._cut = True
            self._tally.counts["servo supply said to be cut"] += 1
            return [SupplyCut(by="the person")]
        if rng.random() < 0.004:
            return [self._out_of_turn()]
        if self._mode is Mode.STREAMING and rng.random() < 0.003:
            return [Stop(reason="somebody said so")]
        if rng.random() < 0.0006:
            return [EmergencyStop(reason="somebody pressed it")]
        if self._leader.leads:
            return self._leader.act(self._mode, self.pose, now_s)
        if now_s < self._act_s:
            return []
        if self._limp_next:
            return [self._let_go_next(now_s)]
        match self._mode:
            case Mode.IDLE | Mode.HOLDING if self._release.random() < 0.02:
                self._tally.counts["arms let go of"] += 1
                self._limp_next = [axis.name for axis in reversed(self._rig.axes)]
                return [self._let_go_next(now_s)]
            case Mode.UNKNOWN_POSE:
                return self._confirm(now_s)
            case Mode.IDLE | Mode.HOLDING:
                return self._leader.begin() or self._load(now_s)
            case Mode.ARMED if self._motion is not None:
                self._act_s = now_s + 0.3
                return [Start(digest=self._motion.digest)]
            case Mode.FAULT | Mode.ESTOP:
                self._act_s = now_s + rng.uniform(0.1, 1.0)
                if self._cut and self._power.random() < 0.6:
                    # Logic off as well, and the arm put down; else it is tried without.
                    self._put_down(now_s)
                return [Reset(by="the person")]
        return []

    def _let_go_next(self, now_s: float) -> Request:
        """The axes one after the other; at times somebody leaves it at that."""
        self._act_s = now_s + self._release.uniform(0.1, 1.0)
        axis = self._limp_next.pop(0)
        if self._release.random() < 0.1:
            self._limp_next.clear()
        return LetGo(axis=axis, by="the person")

    def _put_down(self, now_s: float) -> None:
        self._world.free_by_hand(now_s)
        self.puts += 1

    def _confirm(self, now_s: float) -> list[Request]:
        """The arm as it stands, or, from somebody who looks at the screen only, as the board has it."""
        self._act_s = now_s + 0.5
        if self._world.falling:
            return []
        seen = self._world.positions(now_s)
        if self._rng.random() < 0.3:
            seen = tuple(s if r is None else r for s, r in zip(seen, self._reported, strict=True))
            self._tally.counts["poses confirmed from the echo"] += 1
        else:
            self._tally.counts["poses confirmed by looking"] += 1
        inside = all(axis.lower <= at <= axis.upper for axis, at in zip(self._rig.axes, seen, strict=True))
        if not inside:
            self._put_down(now_s)
            return []
        on = self._power.random() < 0.8
        self._cut &= not on
        return [Confirm(positions=seen, by="the person", supply_on=on)]

    def _load(self, now_s: float) -> list[Request]:
        """Plan from where the arm is held, have it certified, ask for arming."""
        self._act_s = now_s + 0.5
        goal = self._rng.choice(self._goals)
        planned = certified(self._rig, self._robot, tuple(self.pose), goal)
        if planned is None:
            self._tally.counts["plans refused"] += 1
            self._refusals += 1
            if self._refusals > 8:
                self._refusals = 0
                self._put_down(now_s)
            return []
        self._refusals = 0
        self._motion, certificate = planned
        load = Load(motion=self._motion.to_bytes(), certificate=certificate.to_bytes())
        return [load, Arm(digest=self._motion.digest)]

    def _out_of_turn(self) -> Request:
        rng, digest = self._rng, "0" * 64 if self._motion is None else self._motion.digest
        self._tally.counts["requests at the wrong time"] += 1
        bytes_of_none = Load(motion=rng.randbytes(40), certificate=b"{}")
        return rng.choice(
            [
                Confirm(positions=tuple(rng.uniform(-2.0, 2.0) for _ in self._rig.axes), by="a mistake")
                if self._mode is not Mode.UNKNOWN_POSE
                else Stop(reason="a mistake"),
                Confirm(positions=(0.0,), by="a mistake"),
                Reset(by="a mistake"),
                Arm(digest=digest),
                Arm(digest="f" * 64),
                Start(digest=digest),
                Start(digest="f" * 64),
                bytes_of_none,
                Stop(reason="a mistake"),
            ]
        )


def certified(
    rig: Rig, robot: Robot, start: tuple[float, ...], goal: tuple[float, ...]
) -> tuple[Motion, Certificate] | None:
    """A joint move with its certificate, or None if it is refused."""
    try:
        motion = plan_joint_move(rig, start, goal)
    except RefusedError:
        return None
    findings = check_motion(rig, robot, motion)
    if findings.refusals:
        return None
    # Half of them as before there were tables: sample by sample.
    table = wire_table(rig, motion) if int(motion.digest, 16) % 2 else None
    return motion, issue(rig, motion, findings, EPOCH_S, version=hil.__version__, table=table)


def _poses(rng: random.Random, rig: Rig, robot: Robot, spread: float) -> list[tuple[float, ...]]:
    """Park, home, and others that can be reached from home."""
    poses = [rig.park, rig.home]
    while len(poses) < 7:
        pose = tuple(rng.uniform(*_around(axis, spread)) for axis in rig.axes)
        if certified(rig, robot, rig.home, pose) is not None:
            poses.append(pose)
    return poses


def _around(axis: Axis, spread: float) -> tuple[float, float]:
    """Part of an axis' range around its home."""
    lower, upper = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
    if spread >= 1.0:
        return lower, upper
    half = 0.5 * spread * (upper - lower)
    return max(axis.home - half, lower), min(axis.home + half, upper)


# -- the life --------------------------------------------------------------------------------------------


class _Life:
    def __init__(self, seed: int, ticks: int, rig: str, led: float) -> None:
        self._rng = random.Random(seed)
        self._ticks = ticks
        self.tally = Tally(seed)
        self.clock = UnevenClock(random.Random(self._rng.random()), self.tally, self._rng.choice([0.0, 0.002, 0.01]))
        self._world: World = WORLDS[rig](self._rng, ticks, self.tally)
        self._rig, self._facts = self._world.rig, self._world.facts
        self._person = _Person(random.Random(self._rng.random()), self._rig, self._world, self.tally, led)
        self.tally.counts[self._world.title] += 1
        self._arm: ArmJudge | None = None
        self.supply_cut = False
        """As the owner remembers it from session to session."""

    def arm_judge(self) -> ArmJudge:
        """The arm's judge outlives sessions, as the arm does."""
        stop_time_s = self._facts.stop_time_s
        self._arm = self._arm or ArmJudge(self._facts, stop_time_s, self._world.end_time_s or stop_time_s)
        return self._arm

    def run(self, folder: Path) -> None:
        """Sessions one after the other, each with its journal, until the ticks are used up."""
        while self.tally.ticks < self._ticks:
            self.tally.sessions += 1
            _Session(self, folder / str(self.tally.sessions)).run()

    @property
    def over(self) -> bool:
        """True once only the last session has to end."""
        return self.tally.ticks >= self._ticks


WORLDS: Mapping[str, Callable[[random.Random, int, Tally], World]] = {
    RIG: _World,
    "rv2aj": lambda rng, ticks, tally: Cr1World(rng, ticks, tally.counts),
    "rv2aj-mxt": lambda rng, ticks, tally: Cr1World(rng, ticks, tally.counts, LED),
}


class _Session:
    """From connecting to the closed journal: everything that `hil run` starts, in one thread."""

    def __init__(self, life: _Life, folder: Path) -> None:
        folder.mkdir()
        self._life, self._folder, self._tally = life, folder, life.tally
        self._clock, self._world, self._person = life.clock, life._world, life._person
        rig, facts = life._rig, life._facts
        self._rng = random.Random(life._rng.random())
        self._fate = random.Random(f"{self._tally.seed} {self._tally.sessions}")
        now_s = self._clock.now_s()
        self._record = session_in_memory(rig, now_s, EPOCH_S, supply="cut" if life.supply_cut else "unsaid")
        self._bridge = wiring.replay_bridge(self._record, self._world.open_port)
        self._ring = RingWriter.create(folder / "ring", 4 << 20)
        self._journal = folder / "run.mcap"
        reader, writer = RingReader(folder / "ring", slot=RECORDER_SLOT), JournalWriter(self._journal, self._record)
        self._recorder = Recorder(reader, writer, alive=lambda pid: True)
        self._outbox = MailboxWriter.create(folder / "mailbox", 4 << 20)
        self._mailbox = MailboxReader(folder / "mailbox")
        self._opened = (self._mailbox, self._outbox, reader, writer)
        self._owner_dead = self._recorder_dead = False
        self._owner = Attendance(life._rig, self._mailbox.age_s, lambda: self._bridge.by_hand)
        self._watch = Watch(
            lambda: self._owner_dead,
            lambda: self._recorder_dead,
            self._owner.silent_s,
            lambda: self._ring.unkept * self._life._rig.period_s,
            lambda: self._ring.trouble,
            lambda: self._owner.allowed_s,
        )
        self._encode = msgspec.msgpack.Encoder().encode
        self._wire, self._samples = self._world.wire_judge(), SampleJudge(facts)
        self._records, self._first = RecordJudge(each_leaves=self._world.each_leaves), FirstMoveJudge(facts)
        self._arm = life.arm_judge()
        self._notice = NoticeJudge({**self._world.notice_s, **SILENCES_S})
        self._deaths, self._adopted = DeathJudge(), AdoptJudge(facts, self._world.same)
        self._supply, self._puts = SupplyJudge(facts, life.supply_cut), self._person.puts
        self._judges = (
            self._wire,
            self._samples,
            self._records,
            self._deaths,
            StopJudge(self._world.freezes()),
            LatchJudge(),
            self._supply,
            LimpJudge(),
            self._adopted,
            ConfirmJudge(facts, self._world.same),
            self._notice,
        )
        self._owner_away_s = self._recorder_away_s = self._last_drain_s = self._last_beat_s = -math.inf
        self._leaving = False
        self._mode, self._streaming_s = Mode.DISCONNECTED, -math.inf
        self._wire_bytes: list[int] = []
        self._drained = 0

    def run(self) -> None:
        """Tick until the loop lets go of the line, then look at what the journal says."""
        try:
            run_paced(self._bridge, self._clock, self._life._rig.period_s, self._take, self._publish)
            self._ring.close("the session ended")
            if not self._recorder_dead:
                self._recorder.step(self._clock.now_s())
        finally:
            self._ring.close("a guarantee was broken")
            for each in self._opened:
                each.close()
        self._note()
        self._judge_journal()

    def _take(self, now_s: float) -> tuple[Request, ...]:
        self._others_live(now_s)
        if now_s >= self._owner_away_s and not self._owner_dead:
            for request in self._requests(now_s):
                self._outbox.send(request)
        return (*self._mailbox.take(), *self._watch.requests(now_s))

    def _requests(self, now_s: float) -> list[Request]:
        tired = self._rng.random() < (0.02 if self._recorder_dead else 0.0004)
        if not self._leaving and (self._life.over or tired):
            self._leaving = True
            return [Disconnect(reason="the session ends")]
        return [] if self._leaving else self._person.act(now_s)

    def _others_live(self, now_s: float) -> None:
        """Owner and recorder are processes of their own, and can be held up as well."""
        rng = self._rng
        if rng.random() < 0.0002 and now_s > self._owner_away_s:
            self._owner_away_s = now_s + rng.uniform(0.1, 2.0)
            self._tally.counts["owner held up"] += 1
        if rng.random() < 0.0004 and now_s > self._recorder_away_s:
            self._recorder_away_s = now_s + rng.uniform(0.2, 2.5)
            self._tally.counts["recorder held up"] += 1
        moving = self._mode in WRITING
        if self._fate.random() < (0.0007 if moving else 0.0001) and not (self._owner_dead or self._recorder_dead):
            who = self._fate.choice(["owner", "recorder"])
            setattr(self, f"_{who}_dead", True)
            self._deaths.died(who)
            self._tally.counts[f"{who} killed"] += 1
            self._tally.counts["killed while something moves"] += moving
        if now_s >= self._owner_away_s and not self._owner_dead:
            self._outbox.beat(now_s)
            self._last_beat_s = now_s
        self._note_silence("owner silent", self._last_beat_s, now_s, self._owner_dead)
        if not self._recorder_dead and now_s >= self._recorder_away_s and now_s - self._last_drain_s >= DRAIN_S:
            self._last_drain_s, self._drained = now_s, len(self._wire_bytes)
            self._recorder.step(now_s)
        self._note_silence("recorder silent", self._last_drain_s, now_s, self._recorder_dead)

    def _note_silence(self, kind: str, last_s: float, now_s: float, dead: bool) -> None:
        """Who is silent is noticed in time, unless it is dead, which is noticed at once."""
        if dead or now_s - last_s <= 2 * DRAIN_S:
            self._notice.passed(kind)
        elif self._mode is Mode.STREAMING:
            self._notice.happened(kind, max(last_s, self._streaming_s))

    def _publish(self, record: TickRecord) -> None:
        self._ring.append(self._encode(record))
        self._owner.begin(record.t_s)
        self._world.advance(record.t_s)
        self._wire_bytes.append(len(record.written))
        self._tally.ticks += 1
        self._note_troubles(record)
        self._note_mode(record)
        for judge in self._judges:
            judge.judge(record)
        excuse = self._world.excused(record.t_s)
        if isinstance(record.sent, EnergiseCommand) and excuse is None:
            self._world.judge_first_move(record, record.sent.axis, self._first)
        positions = self._world.positions(record.t_s)
        self._arm.judge(record, positions, excuse)
        if self._person.puts > self._puts:
            self._puts = self._person.puts
            self._supply.put(positions)
        self._supply.judge_arm(record, positions, excuse)
        self._person.see(record)

    def _note_mode(self, record: TickRecord) -> None:
        if record.mode is not self._mode:
            self._tally.counts[f"to {record.mode.value}"] += 1
            if self._mode is Mode.STREAMING and record.mode is not Mode.IDLE:
                self._tally.counts["interrupted motions"] += 1
            self._mode = record.mode
            self._streaming_s = record.t_s
        self._tally.counts["refused requests"] += sum(event.startswith("refused: ") for event in record.events)

    def _note_troubles(self, record: TickRecord) -> None:
        now_s, streaming = record.t_s, self._mode is Mode.STREAMING
        for fault in self._world.new_troubles(now_s):
            name = fault.kind.value.replace("_", " ")
            if fault.kind in BYTE_KINDS and fault.kind is not FaultKind.ECHOED:
                name += f" bytes in {(fault.direction or Direction.REPLIES).value}"
            self._tally.counts[f"fault: {name}"] += 1
            self._tally.counts["faults while streaming"] += streaming
            if fault.kind is FaultKind.UNPLUG and streaming:
                self._notice.happened("unplugged", now_s)
        if not self._world.hung:
            self._notice.passed("hung")
        elif streaming:
            self._notice.happened("hung", now_s)
        if self._world.rebooted() and streaming:
            self._notice.happened("reset", now_s)

    def _note(self) -> None:
        tally = self._tally
        tally.wire.update(self._wire.counts)
        tally.counts["ticks in which the arm had to stand still"] += self._arm.judged
        tally.allowed_s = self._arm.allowed_s
        tally.peak("step between lines, of the limit", self._wire.worst_step)
        tally.peak("acceleration of samples, of the limit", self._samples.worst_acceleration)
        tally.peak("jerk of samples, of the limit", self._samples.worst_jerk)
        self._life.supply_cut = self._supply.cut
        tally.counts["vouched for the servo supply after a cut"] += self._supply.returned
        tally.peak("age of a report that was adopted, s", self._adopted.worst_age_s)
        tally.excused.update(self._notice.excused)
        tally.excused.update(self._wire.excused)
        tally.excused.update(self._arm.excused)
        self._arm.excused.clear()
        tally.peak("first move of an axis already driven, us", self._first.worst_driven_us)
        tally.peak("first move of a limp axis, in us", self._first.worst_limp)
        for kind, rest_s in self._arm.worst_rest_s.items():
            tally.peak(f"rest after streaming or energising -> {kind}, s", rest_s)
        for kind, notice_s in self._notice.worst_s.items():
            tally.peak(f"notice of {kind}, s", notice_s)

    def _judge_journal(self) -> None:
        judge_journal(self._journal, len(self._wire_bytes), complete=not self._recorder_dead, at_least=self._drained)
        verdict = verify(self._journal)
        expected = Completeness.UNFINISHED if self._recorder_dead else Completeness.COMPLETE
        if verdict.completeness is not expected or verdict.lost or verdict.ticks < self._drained:
            raise Violation(f"the journal of session {self._tally.sessions} is {verdict.text}")
        again = replay(self._journal)
        if not again.same or again.wire_bytes != sum(self._wire_bytes[: verdict.ticks]):
            raise Violation(f"session {self._tally.sessions} does not replay: {again.first_difference}")
        self._tally.counts["journals verified and replayed"] += 1
        self._tally.counts["journal bytes"] += self._journal.stat().st_size
        for file in self._folder.iterdir():
            file.unlink()


def lives(seed: int, ticks: int, each: int) -> list[tuple[int, int]]:
    """Seeds and lengths of the lives that make up a long run; the first one has the run's own seed."""
    rng = random.Random(seed)
    count = math.ceil(ticks / each)
    seeds = [seed, *(rng.randrange(1 << 32) for _ in range(count - 1))]
    return [(s, min(each, ticks - i * each)) for i, s in enumerate(seeds)]


def together(tallies: list[Tally]) -> Tally:
    """The sum of several lives, and the worst of each of their numbers."""
    total = Tally(tallies[0].seed)
    for tally in tallies:
        total.ticks += tally.ticks
        total.sessions += tally.sessions
        total.counts.update(tally.counts)
        total.wire.update(tally.wire)
        total.excused.update(tally.excused)
        total.allowed_s = max(total.allowed_s, tally.allowed_s)
        for name, value in tally.worst.items():
            total.peak(name, value)
    return total

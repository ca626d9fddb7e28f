"""The RV-2AJ's part of a long life: emulated CR1, what befalls it, and the judge of every byte that leaves for it."""

from __future__ import annotations

import math
import random
import re
import struct
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from soak_excuses import Excuse, Excused
from soak_line import line_troubles
from soak_oracles import STILL, AxisFacts, FirstMoveJudge, RigFacts, Violation

from hil.joined import JoinedPort, Splitter
from hil.link import BytePort
from hil.model.files import find
from hil.runtime import wiring
from hil.types import EndStream, Mode, Start, TickRecord
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings, Power
from sim.datagrams import MemoryDatagrams
from sim.faults import BYTE_KINDS, Direction, Fault, FaultFile, FaultKind, FaultScript
from sim.ports import MemoryPort
from sim.uart import EIGHT_E_TWO

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
LED = ("rv2aj-mxt",)
"""Led by packets, so with a judge of its own."""
CYCLE_S = 0.0071
LENGTH, MOVE, END = 196, 1, 255
BAUD = 9600
AFTERMATH_S = 4.0
"""A damaged request may begin a move of one chord; a controller that wakes up goes on with the one that it was in."""

NOTICE_S = {"unplugged": 0.05, "reset": 5.0, "hung": 5.0}
"""From trouble to the end of streaming: three replies that stay away, each with its time-out and the way back to it."""

SPREAD = 0.06
"""Poses near home, so that a life at a tenth of the speed holds more than one motion."""

_WEIGHTS = {
    FaultKind.LOST: 3,
    FaultKind.GARBLED: 3,
    FaultKind.DOUBLED: 2,
    FaultKind.LATE: 3,
    FaultKind.UNPLUG: 2,
    FaultKind.RESET: 2,
    FaultKind.HUNG: 2,
    FaultKind.NO_POWER: 1,
    FaultKind.KEY_TURNED: 2,
    FaultKind.TEACH_BOX: 1,
    FaultKind.EMERGENCY_STOP: 2,
    FaultKind.SERVO_ALARM: 2,
    FaultKind.RIGHT_TAKEN: 1,
}
_ALARMS = (4340, 2160, 130, 6600)


def _troubles(rng: random.Random, duration_s: float, *, led: bool) -> list[Fault]:
    faults: list[Fault] = []
    if rng.random() < 0.5:
        faults.append(Fault(kind=FaultKind.STALE_TEXT, text=rng.choice(["1;1;EXECMOV", "1;1;RUN", "PRN 1,2", "QoK"])))
    at_s = rng.uniform(4.0, 20.0)
    while at_s < duration_s:
        faults.append(_trouble(rng, at_s, led=led))
        at_s += rng.expovariate(1.0 / 15.0)
    return faults + line_troubles(rng, duration_s, 30.0)


def _trouble(rng: random.Random, at_s: float, *, led: bool) -> Fault:
    if led and rng.random() < 0.3:
        # The network's cable: a contact that fails for a packet or two, or somebody pulls it.
        return Fault(kind=FaultKind.NO_NETWORK, at_s=at_s, for_s=rng.choice([0.005, 0.02, 0.06, 1.0, 5.0]))
    kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    if kind in BYTE_KINDS:
        late = kind is FaultKind.LATE
        return Fault(
            kind=kind,
            at_s=at_s,
            for_s=rng.uniform(0.1, 4.0),
            probability=rng.choice([0.002, 0.02, 0.1]),
            direction=rng.choice([Direction.REPLIES, Direction.REPLIES, Direction.COMMANDS]),
            delay_ms=rng.choice([5.0, 60.0, 400.0]) if late else None,
        )
    return Fault(
        kind=kind,
        at_s=at_s,
        for_s=None if kind in (FaultKind.RESET, FaultKind.SERVO_ALARM) else rng.uniform(0.1, 4.0),
        number=rng.choice(_ALARMS) if kind is FaultKind.SERVO_ALARM else None,
    )


def read_facts(name: str) -> RigFacts:
    """The facts of a bundled RV-2AJ rig, its parents' under its own."""
    table = tomllib.loads(find("rigs", name).read_text(encoding="utf-8"))
    parent = tomllib.loads(find("rigs", table["inherit"]).read_text(encoding="utf-8")) if "inherit" in table else table
    timing = {**parent["timing"], **table.get("timing", {})}
    controller = {**parent["controller"], **table.get("controller", {})}
    axes = tuple(
        AxisFacts(
            name=joint["name"],
            channel=number,
            points=((0.0, 0.0), (1.0, 1.0)),
            lower_us=0,
            upper_us=1,
            lower=joint["lower_deg"] * DEG,
            upper=joint["upper_deg"] * DEG,
            speed=joint["speed_deg_s"] * DEG,
            acceleration=joint["acceleration_deg_s2"] * DEG,
            jerk=joint["jerk_deg_s3"] * DEG,
            park=joint["park_deg"] * DEG,
            lag_s=joint["servo_lag_ms"] / 1000.0,
            servo_speed=joint["servo_speed_deg_s"] * DEG,
            still=STILL * DEG,
        )
        for number, joint in enumerate(parent["joints"])
    )
    return RigFacts(
        axes=axes,
        period_s=timing["period_ms"] / 1000.0,
        look_ahead_s=timing["look_ahead_ms"] / 1000.0,
        dwell_s=timing["energise_dwell_ms"] / 1000.0,
        canary=0,
        # A target waits for its turn, and the controller gets up to speed once more.
        settle_after_s=1.5 * CYCLE_S
        if controller["way"] == "mxt"
        else (controller["send_period_ms"] + controller["ramp_ms"]) / 1000.0,
    )


class Cr1World:
    """Controller, arm and cable of an RV-2AJ, and the list of what befalls them."""

    notice_s = NOTICE_S
    spread = SPREAD
    each_leaves = False
    end_time_s = None

    def __init__(self, rng: random.Random, ticks: int, counts: Counter[str], names: Sequence[str] = RIGS) -> None:
        name = rng.choice(names)
        self._led = led = name in LED
        self.rig, self.facts = wiring.load_rig(name), read_facts(name)
        self.title = f"lives of {name}"
        self._counts = counts
        park = [axis.park / DEG for axis in self.facts.axes]
        self.cr1 = Cr1(Cr1Settings(baud=BAUD, ethernet=led), joints_deg=park, programs={"DEMO": "10 END"})
        self.faults = _troubles(rng, ticks * self.rig.period_s * 1.3, led=led)
        self._script = FaultScript(FaultFile(title="soak", fault=tuple(self.faults)), random.Random(rng.random()))
        self._port: MemoryPort | None = None
        self._excused = Excused(_excuses(self.faults))
        self.same = tuple(axis.still for axis in self.facts.axes)
        self._boots = self.cr1.counts.boots
        self._begun: set[int] = set()

    @property
    def hung(self) -> bool:
        """The controller's program stands still."""
        return self.cr1.power is Power.HUNG

    def open_port(self) -> BytePort:
        """Plug in."""
        self._counts["connects"] += 1
        self._port = MemoryPort(self.cr1, BAUD, self._script, framing=EIGHT_E_TWO)
        return JoinedPort(self._port, MemoryDatagrams(self.cr1, self.cr1.machine.ethernet)) if self._led else self._port

    def advance(self, now_s: float) -> None:
        """Let controller, cable and faults live up to `now_s`, whether or not anybody has the port open."""
        if self._port is not None:
            self._port.line.poll(now_s)
        self.cr1.advance(now_s)

    def positions(self, now_s: float) -> tuple[float, ...]:
        """Where the joints are."""
        self.cr1.advance(now_s)
        return tuple(angle * DEG for angle in self.cr1.joints)

    def excused(self, now_s: float) -> Excuse | None:
        """What no program can help and moves the arm now, or a while ago."""
        if self._excused.at(now_s) and self.cr1.in_motion:
            self._excused.extend(now_s + AFTERMATH_S, Excuse.HALF_A_LINE)
        return self._excused.at(now_s)

    def new_troubles(self, now_s: float) -> list[Fault]:
        """Faults that began since the last question."""
        new = [(i, f) for i, f in enumerate(self.faults) if i not in self._begun and f.at_s <= now_s]
        self._begun.update(i for i, _ in new)
        return [fault for _, fault in new]

    def rebooted(self) -> bool:
        """True if the controller has started anew since the last question."""
        before, self._boots = self._boots, self.cr1.counts.boots
        return self._boots > before

    def free_by_hand(self, now_s: float) -> None:
        """A person brings the arm back to its park pose with the teach box."""
        self.cr1.power_cycle(now_s)
        self.cr1.machine.arm.stand([axis.park / DEG for axis in self.facts.axes])
        self._excused.extend(now_s + AFTERMATH_S, Excuse.BY_HAND)
        self._counts["arm freed by hand"] += 1

    @property
    def falling(self) -> bool:
        """Brakes hold it."""
        return False

    @property
    def without_supply(self) -> bool:
        """Its controller knows by itself."""
        return False

    def wire_judge(self) -> Cr1Judge:
        """For one session."""
        return PacketJudge(self.facts) if self._led else Cr1Judge(self.facts)

    def judge_first_move(self, record: TickRecord, axis: int, judge: FirstMoveJudge) -> None:
        """Servos that come on move nothing: the arm's judge would see it."""

    def freezes(self) -> Callable[[bytes], bool]:
        """One request stops every task."""
        return lambda data: b"1;1;STOP\r" in data


def _excuses(faults: Sequence[Fault]) -> list[tuple[float, float, Excuse]]:
    spans = []
    for fault in faults:
        end_s = fault.end_s if math.isfinite(fault.end_s) else fault.at_s
        if fault.kind in BYTE_KINDS and fault.direction is Direction.COMMANDS:
            spans.append((fault.at_s - 0.1, end_s + AFTERMATH_S, Excuse.DAMAGED_COMMAND))
        elif fault.kind is FaultKind.HUNG:
            spans.append((fault.at_s, end_s + AFTERMATH_S, Excuse.HUNG_CONTROLLER))
    return spans


class Cr1Judge:
    """Every request that left: form, whether it may move anything now, where to, and how far at a time.

    Args:
        rig: the facts.
    """

    _REQUEST = re.compile(rb"1;\d+;([A-Z0-9]+)(.*)")
    _CONSTANT = re.compile(rb"\((-?[\d.]+),(-?[\d.]+),(-?[\d.]+),0\.00,(-?[\d.]+),(-?[\d.]+)\)")
    _LINE = re.compile(rb"PRN \d+,(-?[\d.]+),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+),([\d.]+),(-?[\d.]+)")
    _QUIET = re.compile(
        rb"OPEN=(?:HIL|NARCUSR|TOOLBOX)|CLOSE|CNTLON|CNTLOFF|SRVON|SRVOFF|STOP|SLOTINIT|RSTALRM|STATE|DSTATE|STPSIG|ERROR|JPOSF|PPOSF|"
        rb"VALM_MODE;M|EXECJT=J_CURR|PAR[A-Z0-9]+|OVRD=10|"
        rb"FCHECK(?:HILHOT|HILLINE|HILEXEC|HILMXT)|LOAD=(?:HILHOT|HILLINE|HILEXEC|HILMXT)|"
        rb"LISTITOP|NEW|ECLR|EDATA\d+ .+|SAVE|"
        rb"RUN(?:HILHOT|HILLINE|HILMXT);1|PRGUP|PRGLOAD=(?:DEMO|HILEXEC)|FDEL(?:HILHOT|HILLINE|HILEXEC|HILMXT)"
    )

    def __init__(self, rig: RigFacts) -> None:
        self._rig = rig
        self._last: tuple[float, ...] | None = None
        self._last_s = -math.inf
        self._mode = Mode.DISCONNECTED
        self._ended = False
        self.counts: Counter[str] = Counter()
        self.excused: Counter[Excuse] = Counter()
        self.worst_step = 0.0

    def judge(self, record: TickRecord) -> None:
        """Take one tick's bytes."""
        if any(isinstance(request, Start) for request in record.requests):
            self._last = None
        self.counts["bytes"] += len(record.written)
        if record.written and not record.failures:
            _hold(record.written.endswith(b"\r"), f"a request without an end left: {record.written!r}")
        for line in record.written.split(b"\r"):
            if line:
                self.counts["lines"] += 1
                self._judge_line(record, line)
        self._mode = record.mode
        self._ended |= any(isinstance(request, EndStream) for request in record.requests)

    def _judge_line(self, record: TickRecord, line: bytes) -> None:
        if line == b"1;1;EXECMOV JT":
            self._may_move(record, line)
        elif line.startswith((b"1;1;EXECJT=(", b"1;1;HOTHILHOT;JT=")):
            target = self._CONSTANT.fullmatch(line.partition(b"JT=")[2])
            _hold(target is not None, f"{line!r} is no joint target")
            self._judge_target(record, line, target)
        elif line.startswith(b"PRN"):
            target = self._LINE.fullmatch(line)
            _hold(target is not None, f"{line!r} is no target for the program that reads the line")
            assert target is not None
            numbers = [float(text) for text in target.groups()]
            _hold(abs(sum(numbers[:-1]) - numbers[-1]) < 0.006, f"{line!r}: its sum is wrong")
            _hold(1.0 <= numbers[-2] <= 100.0, f"{line!r}: its speed is wrong")
            self._judge_target(record, line, target)
        else:
            found = self._REQUEST.fullmatch(line)
            quiet = found is not None and self._QUIET.fullmatch(line.split(b";", 2)[2])
            _hold(bool(quiet), f"{line!r} is nothing that may be sent")

    def _may_move(self, record: TickRecord, line: bytes) -> None:
        # What is due leaves before the tick changes its mode.
        _hold(not self._ended, f"{line!r} left after the end of the stream")
        writing = (Mode.STREAMING, Mode.STOPPING)
        _hold(self._mode in writing or record.mode in writing, f"{line!r} left in mode {record.mode.value}")

    def _judge_target(self, record: TickRecord, line: bytes, found: re.Match[bytes] | None) -> None:
        assert found is not None
        self._may_move(record, line)
        target = tuple(float(text) * DEG for text in found.groups()[:5])
        gap_s = record.t_s - self._last_s + 3.0 * self._rig.period_s
        for place, axis in enumerate(self._rig.axes):
            inside = axis.lower - 1e-9 <= target[place] <= axis.upper + 1e-9
            _hold(inside, f"{line!r}: {axis.name} outside its joint limits")
            if self._last is not None:
                step = abs(target[place] - self._last[place]) - 0.0101 * DEG
                _hold(step <= axis.speed * gap_s, f"{line!r}: {axis.name} is asked for more than its speed")
                self.worst_step = max(self.worst_step, step / (axis.speed * gap_s))
        self._last, self._last_s = target, record.t_s
        self.counts["samples"] += 1


class PacketJudge(Cr1Judge):
    """The same where packets lead the arm: one a tick, each a step of one period from the last."""

    def __init__(self, rig: RigFacts) -> None:
        super().__init__(rig)
        self._splitter = Splitter()

    def judge(self, record: TickRecord) -> None:
        """Take one tick's requests and packets."""
        if record.mode in (Mode.CONNECTING, Mode.ENERGISING):
            self._last = None
        text, packets = self._splitter.split(record.written)
        led = 0
        for packet in packets:
            _hold(len(packet) == LENGTH, f"a packet of {len(packet)} bytes left")
            command, kind = struct.unpack_from("<2H", packet)
            _hold(command in (0, MOVE, END), f"a packet with command {command} left")
            if command == MOVE:
                led += 1
                _hold(kind == 2, f"a packet with data of type {kind} left")
                self._judge_packet(record, packet)
            self.counts["packets"] += 1
        _hold(led <= 1, f"{led} packets that lead the arm left in one tick")
        super().judge(msgspec.structs.replace(record, written=text))

    def _judge_packet(self, record: TickRecord, packet: bytes) -> None:
        self._may_move(record, b"a packet")
        numbers = struct.unpack_from("<8f", packet, 8)
        _hold(not (numbers[3] or numbers[6] or numbers[7]), "a packet moves joints that the arm lacks")
        target = numbers[0], numbers[1], numbers[2], numbers[4], numbers[5]
        for place, axis in enumerate(self._rig.axes):
            inside = axis.lower - 1e-6 <= target[place] <= axis.upper + 1e-6
            _hold(inside, f"a packet leads {axis.name} outside its joint limits")
            if self._last is not None:
                step, most = abs(target[place] - self._last[place]), axis.speed * self._rig.period_s + 0.0011 * DEG
                _hold(step <= most, f"a packet leads {axis.name} by {step / DEG:.3f} deg, more than its speed")
                self.worst_step = max(self.worst_step, step / most)
        self._last, self._last_s = target, record.t_s
        self.counts["samples"] += 1


def _hold(condition: bool, words: str) -> None:
    if not condition:
        raise Violation(words)

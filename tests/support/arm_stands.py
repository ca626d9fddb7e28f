"""Test stands: each holds one kind of `ArmLink` and whatever is behind it. A further controller is one more factory.

A stand tells the truth about the arm (where its set-points are) without asking the link, and can do to the line
what a laboratory does to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from virtual_session import Tampered, lynx6

from drivers.rv2aj import Rv2ajDriver, Rv2ajSettings
from drivers.simulated import SimulatedDriver, SimulatedSettings
from drivers.ssc32 import Ssc32Driver, Ssc32Settings
from hil.errors import HilError, LinkOverrun
from hil.joined import JoinedPort
from hil.link import ArmLink, BytePort
from hil.runtime import wiring
from hil.types import Command, EnergiseCommand, JointCommand, LinkPhase, LinkState, StateSource
from hil.units import DEG
from sim.arm import SimulatedArm
from sim.cr1 import Cr1, Cr1Settings
from sim.datagrams import MemoryDatagrams
from sim.faults import FaultScript
from sim.ports import MemoryPort
from sim.simulated_controller import SimulatedController
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board

TICK_S = 0.02
START_S = 0.1


class ArmStand:
    """One link, its clock, and the truth behind it.

    Attributes:
        link: the one under test.
        start: where the limp arm is; `elsewhere`: a pose some degrees away from it.
        outside: a pose with one axis outside what may be sent, or None where everything may.
        source: how the link says that it knows.
        resolution: per axis, how far what is written may be from what was asked for.
        coarseness: per axis, how far a report may be from the truth.
        settle_s: how long the set-points may go on moving after a stop.
        coasts: per axis, how far they may go on after a stop beside what they go in one frame; None for not at all.
        slowness: how many of a servo board's ticks this one takes to do the same.
        own_pace: it sends the newest target when it can and moves at its own speed, whatever is due when.
    """

    coasts: tuple[float, ...] | None = None
    slowness: int = 1
    own_pace: bool = False

    link: ArmLink
    start: tuple[float, ...]
    elsewhere: tuple[float, ...]
    outside: tuple[float, ...] | None
    source: StateSource
    resolution: tuple[float, ...]
    coarseness: tuple[float, ...]
    settle_s: float

    def __init__(self) -> None:
        self.now_s = START_S
        self.seq = 0
        self.reports: list[float] = []

    # -- what every stand can do -------------------------------------------------------------------------

    def tick(self, count: int = 1, *, period_s: float = TICK_S) -> LinkState:
        """Wait and read, so many times; more often on a slower kind, unless the period is a chosen one."""
        for _ in range(count * (self.slowness if period_s == TICK_S else 1)):
            self.now_s += period_s
            state = self.link.read(self.now_s)
            if state.joints is not None:
                self.reports.append(state.joints.t_s)
        return state

    def open(self) -> None:
        self.link.open(self.now_s)

    def connect(self) -> LinkState:
        """Open and wait until the link is ready."""
        self.open()
        return self.wait_for(lambda state: state.phase is LinkPhase.READY, 4.0)

    def wait_for(self, reached: Callable[[LinkState], bool], within_s: float) -> LinkState:
        """Tick until it is so."""
        end_s = self.now_s + within_s * self.slowness
        while self.now_s < end_s:
            if reached(state := self.tick()):
                return state
        raise AssertionError(f"not reached within {within_s} s: {state}")

    def energise(self, positions: Sequence[float] | None = None, axes: Sequence[int] | None = None) -> LinkState:
        """Drive the axes one by one, with a tick after each."""
        pose = self.start if positions is None else positions
        for axis in range(len(self.start)) if axes is None else axes:
            self.write(EnergiseCommand(seq=0, axis=axis, position=pose[axis]))
            self.tick()
        return self.tick(4)

    def ready(self) -> ArmStand:
        """Connected, every axis driven at the start pose."""
        self.connect()
        self.energise()
        return self

    def move(self, positions: Sequence[float], due_in_s: float = 0.06) -> Command:
        return self.write(JointCommand(seq=0, due_s=self.now_s + due_in_s, positions=tuple(positions)))

    def write(self, command: Command) -> Command:
        """Send a command with the next number."""
        self.seq += 1
        return self.link.write(msgspec.structs.replace(command, seq=self.seq), self.now_s)

    def stop(self) -> None:
        self.link.stop(self.now_s)

    def refusal(self, action: Callable[[], Any]) -> HilError:
        """The error that an action is refused with; nothing may have left for the arm."""
        before = self.sent_to_the_arm()
        try:
            action()
        except HilError as error:
            assert self.sent_to_the_arm() == before, "refused, and yet something was sent"
            return error
        raise AssertionError("not refused")

    # -- what each stand knows for itself ------------------------------------------------------------------

    def truth(self) -> tuple[float | None, ...]:
        """Where the set-points of the axes are now; None for a limp one."""
        raise NotImplementedError

    def sent_to_the_arm(self) -> object:
        """Something that changes whenever something that can move was sent."""
        raise NotImplementedError


class WiredStand(ArmStand):
    """A stand whose link has a byte line.

    Attributes:
        line: newest port, with somebody in between.
        distinct: a pose whose report names no axis like another, not even with one bit turned over.
        faults_from_s: when scripted faults begin: by then it stands at that pose.
        silence: what is said of a line on which nobody answers.
    """

    faults_from_s = 3.0
    silence = "Check the power first"

    def doubt(self, way_s: float) -> tuple[float, ...]:
        """Per axis, how wrong a report can be that lost a digit or a sign, this long after the one before it."""
        return (0.0,) * len(self.coarseness)

    line: Tampered
    distinct: tuple[float, ...]

    def unplug(self) -> None:
        """Pull the cable."""
        raise NotImplementedError

    def hang(self) -> None:
        """The controller's program stops."""
        raise NotImplementedError

    def truth_at(self, time_s: float) -> tuple[tuple[float, float], ...]:
        """Per axis, lowest and highest position that the set-point had about that time."""
        raise NotImplementedError


class SimulatedStand(ArmStand):
    """The simulated arm without any controller."""

    def __init__(self, frame_s: float) -> None:
        super().__init__()
        self.start, self.elsewhere, self.outside = (0.0, 0.5, 0.02), (0.1, 0.3, 0.03), None
        self.source, self.settle_s = StateSource.SIMULATED, frame_s
        self.resolution, self.coarseness = (0.0,) * 3, (1e-9,) * 3
        self.arm = self.link = SimulatedArm(self.start, [0.0] * 3, [1e9] * 3, frame_s)

    def truth(self) -> tuple[float | None, ...]:
        self.arm.read(self.now_s)
        return self.arm.setpoint

    def sent_to_the_arm(self) -> object:
        return self.arm._goal, self.arm._known


class Ssc32Stand(WiredStand):
    """The SSC-32 driver over the fake board in memory."""

    def __init__(self, firmware: Firmware, faults: FaultScript | None = None) -> None:
        super().__init__()
        rig = lynx6()
        assert isinstance(rig.controller, Ssc32Settings)
        self.settings = settings = msgspec.structs.replace(rig.controller, port_url="memory")
        self.start = rig.home
        self.elsewhere = tuple(value + 0.25 * (park - value) for value, park in zip(rig.home, rig.park, strict=True))
        self.outside = (rig.home[0], 3.2, *rig.home[2:])
        self.source, self.settle_s = StateSource.ECHOED, 0.02 + settings.line_time_s()
        self.resolution = tuple(0.5 * step for step in settings.quantum())
        self.coarseness = tuple(settings.report_quantum())
        self.distinct = tuple(settings.position(i, 10 * code) for i, code in enumerate(_CODES))
        self.board = Ssc32Board(BoardSettings(firmware=firmware, baud=rig.controller.baud))
        self._changes: list[tuple[float, int, float]] = []
        self.board.watch(lambda time_s, changes: self._changes.extend((time_s, *change) for change in changes))
        self._faults, self._gone = faults, False
        self.written = bytearray()
        self.link = Ssc32Driver(settings, self._open)

    def _open(self) -> BytePort:
        self._port = MemoryPort(self.board, self.settings.baud, self._faults)
        self.line = _Noting(self._port, self.written)
        return self.line

    def truth(self) -> tuple[float | None, ...]:
        self.board.advance(self.now_s)
        pulses = [self.board.pulse_us(axis.channel) for axis in self.settings.axes]
        return tuple(self._position(i, pulse) if pulse else None for i, pulse in enumerate(pulses))

    def truth_at(self, time_s: float) -> tuple[tuple[float, float], ...]:
        about = []
        for i, axis in enumerate(self.settings.axes):
            mine = [(t, pulse) for t, channel, pulse in self._changes if channel == axis.channel]
            near = [pulse for t, pulse in mine if abs(t - time_s) <= 0.03]
            before = [pulse for t, pulse in mine if t < time_s - 0.03][-1:]
            ends = [self._position(i, pulse) for pulse in before + near]
            about.append((min(ends), max(ends)))
        return tuple(about)

    def sent_to_the_arm(self) -> object:
        return bytes(self.written).count(b"#") - bytes(self.written).count(b"#%dP" % self.settings.canary_channel)

    def unplug(self) -> None:
        self._port.unplug(self.now_s)

    def hang(self) -> None:
        self.board.hang(self.now_s)

    def _position(self, axis: int, pulse_us: float) -> float:
        return float(self.settings.maps[axis].inverse(pulse_us))


class Rv2ajStand(WiredStand):
    """The RV-2AJ driver over the fake CR1 in memory."""

    faults_from_s = 40.0

    def __init__(self, way: str, faults: FaultScript | None = None) -> None:
        super().__init__()
        networked = {"mxt": "192.168.0.20:10000", "computer": "192.168.0.100"} if way == "mxt" else {}
        timing = {"timing": {"look_ahead_ms": 60}} if networked else {}
        rig = wiring.load_rig("rv2aj", {"controller": {"way": way, "send_period_ms": 1500, **networked}, **timing})
        assert isinstance(rig.controller, Rv2ajSettings)
        self.settings = settings = msgspec.structs.replace(rig.controller, port_url="memory")
        self.start, self.outside = rig.home, (rig.home[0], 2.2, *rig.home[2:])
        self.elsewhere = tuple(value + by * DEG for value, by in zip(rig.home, (5, -2, 3, -4, 6), strict=True))
        self.distinct = tuple(angle * DEG for angle in (-1.23, 4.56, 87.9, 81.02, 3.34))
        self.source, self.settle_s = StateSource.MEASURED, 1.0
        self.resolution = tuple(0.5 * step for step in settings.quantum())
        self.coarseness = tuple(settings.report_quantum())
        self.coasts = tuple(0.5 * speed for speed in settings.ceiling.tolist())
        self.slowness, self.own_pace = 28, True
        chosen = Cr1Settings(baud=settings.baud, ethernet=settings.networked)
        self.cr1 = Cr1(chosen, joints_deg=settings.degrees(self.start))
        self._changes = [(-1.0, self.start)]
        self.cr1.watch(lambda time_s, joints: self._changes.append((time_s, tuple(angle * DEG for angle in joints))))
        self._faults = faults
        self.written = bytearray()
        self.link = Rv2ajDriver(settings, self._open)

    def _open(self) -> BytePort:
        self._port = MemoryPort(self.cr1, self.settings.baud, self._faults)
        self.line = _Noting(self._port, self.written)
        self.line.movers = (b"EXEC", b"HOT", b"PRN")
        return self.line

    def energise(self, positions: Sequence[float] | None = None, axes: Sequence[int] | None = None) -> LinkState:
        """This arm stands where it stands: it is driven there, then moved to where it is wanted."""
        here = self.settings.quantise_pose([angle or 0.0 for angle in self.truth()])
        state = super().energise(here, axes)
        if axes is None:
            state = self.wait_for(lambda state: all(state.known), 1.0)
        if positions is not None and self.settings.quantise_pose(positions) != here:
            self.move(positions)
            state = self.tick(25)
        return state

    def truth(self) -> tuple[float | None, ...]:
        self.cr1.advance(self.now_s)
        return tuple(angle * DEG for angle in self.cr1.joints)

    def truth_at(self, time_s: float) -> tuple[tuple[float, float], ...]:
        near = [pose for t, pose in self._changes if abs(t - time_s) <= 0.1]
        before = [pose for t, pose in self._changes if t < time_s - 0.1][-1:]
        return tuple((min(column), max(column)) for column in zip(*before, *near, strict=True))

    def doubt(self, way_s: float) -> tuple[float, ...]:
        """Numbers come as text: one without its sign or a digit is believed where the arm can have got in that time."""
        return tuple(2.0 * 1.5 * speed * way_s + 0.1 * DEG for speed in self.settings.ceiling.tolist())

    def sent_to_the_arm(self) -> object:
        return [self.written.count(word) for word in (b"EXEC", b"RUN", b"HOT", b"PRN", b"SRVON")]

    def unplug(self) -> None:
        self._port.unplug(self.now_s)

    def hang(self) -> None:
        self.cr1.hang(self.now_s)


class Rv2ajPacketStand(Rv2ajStand):
    """The same led by packets: each move leaves at once, so one move is what the arm can do in a cycle."""

    def __init__(self) -> None:
        self.network: _Network | None = None
        super().__init__("mxt")
        by = (0.5, -0.2, 0.3, -0.4, 0.6)
        self.elsewhere = tuple(value + degrees * DEG for value, degrees in zip(self.start, by, strict=True))
        by = (0.11, -0.22, 0.33, -0.44, 0.55)
        self.distinct = tuple(value + degrees * DEG for value, degrees in zip(self.start, by, strict=True))

    def move(self, positions: Sequence[float], due_in_s: float = 0.06) -> Command:
        """Wait while the program is started anew, as the loop does."""
        for _ in range(100):
            try:
                return super().move(positions, due_in_s)
            except LinkOverrun:
                self.tick()
        raise AssertionError("the program does not start")

    def _open(self) -> BytePort:
        line = super()._open()
        self.line.movers = (b"SRVON", b"RUN")
        self.network = _Network(self.cr1, self.line)
        return JoinedPort(line, self.network)

    def sent_to_the_arm(self) -> object:
        return [self.written.count(b"SRVON"), self.written.count(b"RUN"), self.network.led if self.network else 0]


class _Network(MemoryDatagrams):
    """Beside a line; as deaf as that, and counts what leads the arm."""

    def __init__(self, cr1: Cr1, line: _Noting) -> None:
        super().__init__(cr1, cr1.machine.ethernet)
        self._line, self.led = line, 0

    def receive(self, now_s: float) -> list[bytes]:
        packets = super().receive(now_s)
        return [] if self._line.deaf else packets

    def send(self, packet: bytes, now_s: float) -> None:
        self.led += packet[0] == 1
        super().send(packet, now_s)


class SimulatedLineStand(WiredStand):
    """The driver of simulated arms over its controller in memory."""

    silence = "no simulated arm answers"

    def __init__(self, faults: FaultScript | None = None) -> None:
        super().__init__()
        names = ("swing", "lift", "slide")
        self.settings = SimulatedSettings(axes=names, port_url="memory")
        self.start, self.elsewhere, self.outside = (0.0, 0.5, 0.02), (0.1, 0.3, 0.03), None
        self.distinct = (0.123456, -0.987654, 0.040302)
        self.source, self.settle_s = StateSource.SIMULATED, self.settings.line_time_s()
        self.resolution, self.coarseness = (0.5e-6,) * 3, (0.6e-6,) * 3
        arm = SimulatedArm(self.start, [0.0] * 3, [1e9] * 3)
        self.controller = SimulatedController(arm, len(names))
        self._path: list[tuple[float, tuple[float, ...]]] = []
        self._faults = faults
        self.written = bytearray()
        self.link = SimulatedDriver(self.settings, self._open)

    def _open(self) -> BytePort:
        self._port = MemoryPort(self.controller, self.settings.baud, self._faults)
        self.line = _Noting(self._port, self.written)
        self.line.movers = (b"FIRST", b"MOVE")
        return self.line

    def tick(self, count: int = 1, *, period_s: float = TICK_S) -> LinkState:
        for _ in range(count):
            begin_s = self.now_s
            for step in range(1, 11):
                # What the arm did within a tick is noted before the link looks at its end.
                if self.link._line is not None and not self._port._gone:  # type: ignore[attr-defined]
                    at_s = begin_s + period_s * step / 10
                    self._path.append((at_s, self.controller.positions(at_s)))
            state = super().tick(period_s=period_s)
        return state

    def truth(self) -> tuple[float | None, ...]:
        return self.controller.setpoints(self.now_s)

    def truth_at(self, time_s: float) -> tuple[tuple[float, float], ...]:
        near = [pose for at_s, pose in self._path if abs(at_s - time_s) <= 0.03]
        return tuple((min(column), max(column)) for column in zip(*near, strict=True))

    def sent_to_the_arm(self) -> object:
        return [self.written.count(word) for word in (b"FIRST", b"MOVE")]

    def unplug(self) -> None:
        self._port.unplug(self.now_s)

    def hang(self) -> None:
        self.controller.hang(self.now_s)


class _Noting(Tampered):
    """Keeps what was written, over all connections."""

    def __init__(self, port: BytePort, written: bytearray) -> None:
        super().__init__(port)
        self._written = written

    def write(self, data: bytes, now_s: float) -> None:
        super().write(data, now_s)
        self._written += data


_CODES = (0b10000111, 0b10011001, 0b10101010, 0b10110100, 0b11001100, 0b11010010)
"""Tens of microseconds: 1350, 1530, 1700, 1800, 2040, 2100; any two differ in two bits or more."""

STANDS: dict[str, Callable[[], ArmStand]] = {
    "simulated": lambda: SimulatedStand(0.0),
    "simulated in frames": lambda: SimulatedStand(0.02),
    "ssc32 1.x": lambda: Ssc32Stand(Firmware.V1),
    "ssc32 2.x": lambda: Ssc32Stand(Firmware.V2),
    "ssc32u": lambda: Ssc32Stand(Firmware.U),
    "rv2aj segments": lambda: Rv2ajStand("segments"),
    "rv2aj hot": lambda: Rv2ajStand("hot"),
    "rv2aj line": lambda: Rv2ajStand("line"),
    "rv2aj mxt": lambda: Rv2ajPacketStand(),
    "simulated behind a line": lambda: SimulatedLineStand(),
}
WIRED_STANDS: dict[str, Callable[[FaultScript | None], WiredStand]] = {
    "ssc32 1.x": lambda faults: Ssc32Stand(Firmware.V1, faults),
    "ssc32 2.x": lambda faults: Ssc32Stand(Firmware.V2, faults),
    "ssc32u": lambda faults: Ssc32Stand(Firmware.U, faults),
    "rv2aj segments": lambda faults: Rv2ajStand("segments", faults),
    "rv2aj line": lambda faults: Rv2ajStand("line", faults),
    "simulated": lambda faults: SimulatedLineStand(faults),
}

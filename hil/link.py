"""The two lines that the house is built along: `ArmLink` to anything that moves, `BytePort` to anything with a wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hil.types import Command, ControllerIdentity, JointCommand, LinkState, Record
from hil.wire_table import WireTable

FloatArray = npt.NDArray[np.float64]


class SerialAdapter(Record, frozen=True):
    """One serial port as the system lists it. A text is empty where the system does not say.

    Attributes:
        device: what to open, ``/dev/ttyUSB0`` or ``COM3``.
        usb_id: vendor and product, ``0403:6001``; empty for a port that is not on USB.
        usb_place: bus and hub sockets that lead to it, ``1-1.2``: stays the same until it is plugged in elsewhere.
        wireless: True for Bluetooth, where merely opening it can take half a minute.
        links: other names of the same port that survive a restart, ``/dev/serial/by-id/...``.
    """

    device: str
    description: str = ""
    maker: str = ""
    serial_number: str = ""
    usb_id: str = ""
    usb_place: str = ""
    wireless: bool = False
    links: tuple[str, ...] = ()


class Answer(Record, frozen=True):
    """Who answers on a line.

    Attributes:
        kind: the kind of controller.
        identity: what it calls itself.
        baud: at which speed; None where the line has none, as on TCP.
    """

    kind: str
    identity: str
    baud: int | None


class Condition(Record, frozen=True):
    """One thing about a controller that a person at the bench wants to know.

    Attributes:
        name: what it is about, ``key``.
        text: how it stands, ``AUTO``.
        good: False for what has to be changed before the arm can move.
        remedy: how; empty if nothing has to be.
    """

    name: str
    text: str
    good: bool = True
    remedy: str = ""


class SavedFile(Record, frozen=True):
    """One file of a controller's own, as text."""

    name: str
    text: str


class StoredProgram(Record, frozen=True):
    """A program as a controller keeps it: numbered lines, then positions, each one line of text."""

    name: str
    lines: tuple[str, ...]
    points: tuple[str, ...] = ()


class ProgramJob(Record, frozen=True):
    """A program to run on a controller.

    Attributes:
        programs: the one to run, and those that it calls.
        start: joints from which it was proved, rad.
        stepping: pause before every line.
        breaks: numbers of lines to pause before.
        texts: lines of text for it, each after so many seconds.
        text_lines: numbers of the lines that wait for text; empty to send whenever it is due.
        pressed: inputs of an emulated controller: after so many seconds, from this number, sixteen bits. Never for a
            real one, whose inputs are wires.
    """

    programs: tuple[StoredProgram, ...]
    start: tuple[float, ...]
    stepping: bool = False
    breaks: tuple[int, ...] = ()
    texts: tuple[tuple[float, str], ...] = ()
    text_lines: tuple[int, ...] = ()
    pressed: tuple[tuple[float, int, int], ...] = ()


class ProgramLook(Record, frozen=True):
    """What was seen of a running program: time since its start, line, joints in rad, outputs that are on."""

    t_s: float
    line: int
    positions: tuple[float, ...]
    outputs: tuple[int, ...]


class ProgramEnd(Record, frozen=True):
    """How a run ended: why not at the program's end, or empty; how long it lasted; how often it was looked at."""

    reason: str
    lasted_s: float
    looks: int


class ProgramWatcher(Protocol):
    """Who follows a program that runs on a controller."""

    def compared(self, program: StoredProgram, lines: Sequence[str], points: Sequence[str]) -> str:
        """Where what was read back differs, in words that refuse the run; empty if nowhere."""
        ...

    def looked(self, look: ProgramLook) -> str:
        """Take a look; a reason to stop the arm now, or empty."""
        ...

    def paused(self, line: int) -> bool:
        """It stands before this line, or after a HLT: True to go on. May take its time."""
        ...

    def printed(self, text: str) -> None:
        """The program has sent a line of text."""
        ...

    def said(self, text: str) -> None:
        """Words for the user."""
        ...


class Pace(Record, frozen=True):
    """How a controller moves that takes fewer targets than the loop has ticks: straight in joint space, one by one.

    Its driver sends the newest target when the next is due. So the arm cuts what lies between, by chords.

    Attributes:
        send_period_s: usual time from one target to the next.
        longest_s: the most; the driver holds up the motion rather than skip more of it.
        speeds: per axis, how fast the controller moves along a chord at most, rad/s or m/s.
        keeps_up: per axis, the highest speed of a motion that it can follow on the whole.
        chord_s: time that it gives every chord; 0 if it goes as fast as `speeds` lets it, and then waits.
    """

    send_period_s: float
    longest_s: float
    speeds: tuple[float, ...]
    keeps_up: tuple[float, ...]
    chord_s: float = 0.0


class AxisBounds(Record, frozen=True):
    """Limits of one axis, rad or m: where it may be sent, and how far from one sample to the next."""

    lower: float
    upper: float
    step: float


class MotionBounds(Record, frozen=True):
    """What a rig allows of a streamed motion, for whoever reads back what leaves.

    Attributes:
        axes: one per axis, in the order of `rig.axes`.
        period_s: time from one sample to the next.
        look_ahead_s: how long before it is due each sample is sent.
    """

    axes: tuple[AxisBounds, ...]
    period_s: float
    look_ahead_s: float


class ArmLink(Protocol):
    """An arm: simulated, or behind a driver. Nothing above ever asks which.

    All methods return at once; whatever takes time goes on in later `read` calls.
    """

    def open(self, now_s: float) -> None:
        """Begin to connect. Sends nothing that can move the arm.

        Raises:
            LinkOpening: the port is still being opened; nothing was sent. To be called again until it is there.
            HilError: the port cannot be opened, or may not.
        """
        ...

    def read(self, now_s: float) -> LinkState:
        """Drain the line and return the newest known state; also moves a pending handshake or query along.

        Raises:
            CommandError: what was to leave may not; it did not.
            LinkError: the line failed, or the handshake ended in one of its diagnoses.
            ControllerError: the controller answered nonsense, or forgot what it was told (a reset).
        """
        ...

    def write(self, command: Command, now_s: float) -> Command:
        """Send one command and return it as the controller will really see it.

        Raises:
            CommandError: outside what may be sent; nothing was sent.
            LinkOverrun: the line has not drained; nothing was sent.
            LinkError: the line failed.
        """
        ...

    def stop(self, now_s: float) -> None:
        """Freeze every axis where the controller has it and keep it powered. Safe in any state; twice is fine."""
        ...

    def close(self) -> None:
        """Let go of the line. The arm stays as it is."""
        ...


@runtime_checkable
class BoundedLink(Protocol):
    """An `ArmLink` that reads back what it has made, just before it leaves, and holds it against the rig's limits."""

    def bound(self, bounds: MotionBounds) -> None:
        """From now on nothing leaves that breaks these; before it, only what breaks the controller's own."""
        ...


@runtime_checkable
class TableLink(BoundedLink, Protocol):
    """One that sends a certified motion by the table that was certified with it, and reads every row back."""

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Take the table of the motion that is loaded, and its samples, (N, n) in rad or m, to hold the rows against.

        Sends nothing. Counts until the next one, through every `open`.
        """
        ...

    def begin_rows(self) -> None:
        """The motion begins: the next row is its first."""
        ...

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """As `write`, for the command that is the sample of this number.

        Raises:
            CommandError: besides, the row is not what this sample stands for, or has not its turn; nothing was sent.
            LinkOverrun, LinkError: as `write`.
        """
        ...


@runtime_checkable
class TabledSettings(Protocol):
    """`ControllerSettings` of a kind of controller whose link is a `TableLink`."""

    def wire_table(self, samples: FloatArray, look_ahead_s: float) -> WireTable:
        """What the wire carries for each sample of a motion, (N, n) in rad or m.

        Raises:
            CommandError: a sample is outside what the wire may carry.
        """
        ...


@runtime_checkable
class NetworkedSettings(Protocol):
    """`ControllerSettings` of a controller that may be led by packets beside its line."""

    @property
    def datagram_url(self) -> str:
        """``udp://HOST:PORT``; empty if nothing goes by packets."""
        ...


@runtime_checkable
class CeilingSettings(Protocol):
    """`ControllerSettings` with joint speeds that a rig may not exceed, although the controller would follow."""

    @property
    def ceiling(self) -> FloatArray:
        """Per axis, rad/s or m/s, shape (n,)."""
        ...


@runtime_checkable
class InputLink(Protocol):
    """An `ArmLink` whose controller has input signals, and shows them in `LinkState.inputs` when asked to."""

    def watch_inputs(self, signals: Sequence[int]) -> None:
        """From now on read these, none for no longer."""
        ...


@runtime_checkable
class WaitingLink(Protocol):
    """An `ArmLink` that keeps the newest command until its controller can take it."""

    def throw_away(self) -> None:
        """Forget a command that has not left yet; the arm ends what it was given before."""
        ...


@runtime_checkable
class SwitchingLink(Protocol):
    """An `ArmLink` whose controller takes its time for first moves: it switches servos on for them."""

    def call_off(self) -> bool:
        """What first moves have asked for and is not done yet is not to be done; `ArmLink.stop` comes after it.

        Returns:
            Whether there was anything.
        """
        ...


@runtime_checkable
class ReleasingLink(Protocol):
    """An `ArmLink` to an arm that is held by pulses, which can be switched off axis by axis."""

    def let_go(self, axis: int, now_s: float) -> bool:
        """Switch the pulses of one axis off: its servo lets go, and what it holds sinks. It counts as unknown then.

        Returns:
            Whether the reports to come show that it was done.

        Raises:
            CommandError: no such axis; nothing was sent.
            ControllerError, LinkError: as for `ArmLink.write`.
        """
        ...


@runtime_checkable
class PartingLink(Protocol):
    """An `ArmLink` whose controller has to be told things at the end of a session, and answers them."""

    def part(self, now_s: float) -> bool:
        """Begin to say goodbye, or go on with it between two `read` calls; True once nothing is left to be said.

        From the first call on nothing that moves is sent. `close` may come at any time, and does in haste what is left.
        """
        ...


@runtime_checkable
class ExpectingLink(Protocol):
    """A link that refuses another controller before it is READY, and before it sends anything that drives an output.

    Whom it has met once it expects from then on, through every `open`.
    """

    def expect(self, controller: ControllerIdentity | None, remedy: str) -> None:
        """Say who was here in an earlier session, and what a person can do about another one."""
        ...


class ServoChannel(Record, frozen=True):
    """One output of a controller as a rig describes it.

    Attributes:
        axis: name of the axis that it drives.
        channel: number of the output.
        points: calibration, (position in rad or m, pulse in us), positions rising.
        lower_us, upper_us: pulse limits.
    """

    axis: str
    channel: int
    points: tuple[tuple[float, float], ...]
    lower_us: int
    upper_us: int


class ChannelLink(Protocol):
    """Single outputs of a controller, in microseconds: for calibrating an arm of which nothing else is known yet.

    As with `ArmLink`, every method returns at once. Positions in `LinkState.joints` are pulses in us, one per channel,
    None where the controller drives nothing.
    """

    def open(self, now_s: float) -> None:
        """Begin to connect. Sends nothing that can move the arm."""
        ...

    def read(self, now_s: float) -> LinkState:
        """As `ArmLink.read`; `known` says which channels were driven by this link."""
        ...

    def drive(self, channel: int, pulse_us: int, now_s: float) -> None:
        """The first move of a channel: plain, alone, to just this pulse, at whatever speed the servo has.

        Raises:
            CommandError: this link drives it already, or it is not one of its channels; nothing was sent.
            ControllerError, LinkError: as for `ArmLink.write`.
        """
        ...

    def step(self, channel: int, pulse_us: int, now_s: float) -> float:
        """Move one channel that this link drives by a small step, slowly.

        Returns:
            When the pulse will have got there, seconds.

        Raises:
            CommandError: the step is too long, the channel is not driven yet or still moves; nothing was sent.
            ControllerError, LinkError: as for `ArmLink.write`.
        """
        ...

    def release(self, channel: int, now_s: float) -> None:
        """Switch the pulses of one channel off: its servo lets go, and what it holds sinks.

        Raises:
            CommandError: not one of its channels; nothing was sent.
            ControllerError, LinkError: as for `ArmLink.write`.
        """
        ...

    def stop(self, now_s: float) -> None:
        """Freeze every channel where the controller has it and keep it powered. Never raises; twice is fine."""
        ...

    def close(self) -> None:
        """Let go of the line. The arm stays as it is."""
        ...


class BytePort(Protocol):
    """A byte line that never blocks. A real port ignores `now_s`; an in-memory one lives by it."""

    def read(self, now_s: float) -> bytes:
        """Everything that has arrived, possibly nothing.

        Raises:
            LinkClosed: the port is gone.
        """
        ...

    def write(self, data: bytes, now_s: float) -> None:
        """Hand over all of `data` in one piece.

        Raises:
            LinkOverrun: the line did not take all of it at once.
            LinkClosed: the port is gone.
        """
        ...

    def set_baud(self, baud: int) -> None:
        """Change the line's speed."""
        ...

    def close(self) -> None:
        """Let go of the port; twice is fine."""
        ...


class DatagramPort(Protocol):
    """Packets to one partner on a network and back, whole or not at all; never blocks. A real one ignores `now_s`."""

    def receive(self, now_s: float) -> list[bytes]:
        """Every packet that has arrived.

        Raises:
            LinkClosed: the network is gone.
        """
        ...

    def send(self, packet: bytes, now_s: float) -> None:
        """Send one; whether it arrives is not told.

        Raises:
            LinkOverrun: it was not taken now.
            LinkClosed: the network is gone.
        """
        ...

    def close(self) -> None:
        """Let go of it; twice is fine."""
        ...


@runtime_checkable
class ControllerSettings(Protocol):
    """What a rig's ``[controller]`` table became: all that the rest of the house asks of a kind of controller.

    Implemented by each driver's own settings record. Arrays hold one column per axis, in the order of `rig.axes`.
    """

    kind: ClassVar[str]

    @property
    def port_url(self) -> str:
        """Pyserial URL or device path of the real port."""
        ...

    @property
    def baud(self) -> int:
        """Speed of the line, bits a second."""
        ...

    @property
    def framing(self) -> str:
        """Data bits, parity and stop bits of the line, ``8N1``."""
        ...

    @property
    def settle_s(self) -> float:
        """Longest time for which the controller goes on moving by itself after its last line (one board frame)."""
        ...

    @property
    def report_period_s(self) -> float:
        """How often a fresh report usually comes while the line is well and everything else is asked, too."""
        ...

    @property
    def pace(self) -> Pace | None:
        """How a controller goes that cannot take every tick's target; None for one that can."""
        ...

    def quantise(self, positions: FloatArray) -> FloatArray:
        """Positions as the controller will see them, shape (n,) or (N, n)."""
        ...

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        """The same for one pose in plain floats, the same to the last bit; for the loop. Finite numbers only."""
        ...

    def quantum(self) -> FloatArray:
        """Per axis, the largest change of position that one step of the wire's resolution makes, shape (n,)."""
        ...

    def report_quantum(self) -> FloatArray:
        """Per axis, how coarse a reported position is, shape (n,); an SSC-32 answers in steps of 10 us."""
        ...

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest position per axis that the wire may carry, shape (n,) each."""
        ...

    def line_time_s(self) -> float:
        """Time that the longest move plus the longest query take on the wire."""
        ...

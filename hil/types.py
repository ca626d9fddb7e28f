"""The vocabulary: frozen records and enums that cross module, process and file boundaries.

Positions are given per *axis*: the joints in chain order, in radians (metres where prismatic), then the gripper,
in metres of opening, if the rig has one. The order is that of `rig.axes` everywhere.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import ClassVar

import msgspec

from hil.errors import CommandError, LineCause
from hil.old_names import moved


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: immutable, keyword-only, and strict about unknown fields when read back."""


class StateSource(Enum):
    """How a position is known. An SSC-32 can only echo the pulse it generates."""

    MEASURED = "measured"
    ECHOED = "echoed"
    SIMULATED = "simulated"

    @property
    def of_arm(self) -> bool:
        """It says where the arm is; an echo says only where it was sent."""
        return self is not StateSource.ECHOED


class Supply(Enum):
    """What is held of the servo supply. Only people know of it, but for a controller that measures.

    UNSAID: nobody has said anything of it. ON: whoever confirmed the pose says that it is on. CUT: somebody has said
    that it was cut, and nothing that is echoed counts. FORGOTTEN: it was cut, and the controller has forgotten its
    pulses since. FELT: the controller measures, and knows by itself.
    """

    UNSAID = "unsaid"
    ON = "on"
    CUT = "cut"
    FORGOTTEN = "forgotten"
    FELT = "felt"


class Mode(Enum):
    """What the bridge is doing with the arm."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    UNKNOWN_POSE = "unknown_pose"
    ENERGISING = "energising"
    IDLE = "idle"
    ARMED = "armed"
    STREAMING = "streaming"
    STOPPING = "stopping"
    HOLDING = "holding"
    FAULT = "fault"
    ESTOP = "estop"


WRITING = frozenset({Mode.ENERGISING, Mode.STREAMING, Mode.STOPPING})
"""The modes in which bytes that move the arm may leave."""


class JointCommand(Record, frozen=True, tag="joints"):
    """Where every axis has to be, and when.

    Raises:
        CommandError: a position or time is not finite, or there is no position at all.
    """

    seq: int
    due_s: float
    positions: tuple[float, ...]

    def __post_init__(self) -> None:
        positions = self.positions
        # One that is not finite makes the sum so; a sum that overflows by itself is looked at more closely.
        if positions and isfinite(sum(positions, self.due_s)):
            return
        if not positions:
            raise CommandError("a joint command needs at least one position", value=positions)
        for index, value in enumerate(positions):
            if not isfinite(value):
                raise CommandError(
                    f"axis {index}: position {value!r} is not a finite number",
                    axis=str(index),
                    value=value,
                    allowed="a finite number",
                )
        if not isfinite(self.due_s):
            raise CommandError(f"due time {self.due_s!r} is not a finite number", value=self.due_s)


class EnergiseCommand(Record, frozen=True, tag="energise"):
    """Drive one axis for the first time, at the place where the arm is confirmed to be; never timed, never grouped."""

    seq: int
    axis: int
    position: float

    def __post_init__(self) -> None:
        if not isfinite(self.position):
            raise CommandError(
                f"axis {self.axis}: position {self.position!r} is not a finite number",
                axis=str(self.axis),
                value=self.position,
                allowed="a finite number",
            )


Command = JointCommand | EnergiseCommand


class JointState(Record, frozen=True):
    """Where the axes are and how that is known; None for an axis of which nothing is known."""

    t_s: float
    positions: tuple[float | None, ...]
    source: StateSource


class LinkPhase(Enum):
    """How far a link has come."""

    CLOSED = "closed"
    OPENING = "opening"
    READY = "ready"


class InputState(Record, frozen=True):
    """Input signals of a controller, as they were read last.

    Attributes:
        t_s: when the oldest of them was read.
        values: number and 0 or 1 of every input that was asked for.
    """

    t_s: float
    values: tuple[tuple[int, int], ...]


class LineAccount(Record, frozen=True):
    """What a driver has counted on its line since it was opened. It counts; `hil.runtime.line_health` judges.

    Attributes:
        believed_s: when the question behind the newest believed report reached the controller; None before the first.
        overdue_s: when the answer was due that is waited for now; None while none is late.
        questions: sent so far.
        late: answers that came after they were due.
        lost: questions that were given up without an answer.
        noise_bytes: bytes that answered nothing.
        wrong_echoes: reports that showed a command not taken as it was sent.
        doubtful_s: when the question behind the first report reached the controller that did not fit what was sent,
            while no other report has settled what that means; None otherwise.
        delayed_s: by how much the newest report showed the controller behind what was sent.
    """

    believed_s: float | None = None
    overdue_s: float | None = None
    questions: int = 0
    late: int = 0
    lost: int = 0
    noise_bytes: int = 0
    wrong_echoes: int = 0
    doubtful_s: float | None = None
    delayed_s: float = 0.0


class ControllerIdentity(Record, frozen=True):
    """What a controller says of itself. What it did not say, or could not be read, is absent: unknown, not different.

    Attributes:
        facts: (what, value) pairs, in words for a person; `NAME` among them, so that whoever knows more of a controller
            and whoever knows its name alone have something to compare.
    """

    NAME: ClassVar[str] = "what it calls itself"

    facts: tuple[tuple[str, str], ...]

    @classmethod
    def named(cls, name: str) -> ControllerIdentity:
        """One that is known by what it calls itself, and by nothing else."""
        return cls(facts=((cls.NAME, name),))

    def changes(self, now: ControllerIdentity) -> tuple[str, ...]:
        """What both know and say differently, in words."""
        said = dict(now.facts)
        return tuple(
            f"{what} was {value!r}, is {said[what]!r}"
            for what, value in self.facts
            if what in said and said[what] != value
        )

    def completed(self, older: ControllerIdentity) -> ControllerIdentity:
        """These facts, and behind them those of an older meeting that are not known this time."""
        known = {what for what, _ in self.facts}
        return ControllerIdentity(facts=(*self.facts, *(fact for fact in older.facts if fact[0] not in known)))


class LinkState(Record, frozen=True):
    """What a link knows after draining its line.

    Attributes:
        phase: READY once the controller has been identified.
        joints: newest report, or None if nothing was reported yet.
        known: per axis, True while the controller drives it at a place that we commanded.
        notices: texts for the user that are new since the last read.
        identity: what the controller calls itself, empty before READY.
        inputs: the inputs that were asked for; None before they were read.
        line: the account of its line.
        controller: what the controller says of itself; None before READY, and from a driver that knows only `identity`.
        drives_unseen: it has not restarted since an earlier connection, and cannot tell which axes it drives from then.
        tells: its reports show which axes it drives; where not, None of an axis that we have not driven means nothing.
        sign: what the way in which bytes come shows of the line, beside what is counted; None for nothing odd.
    """

    phase: LinkPhase
    joints: JointState | None
    known: tuple[bool, ...]
    notices: tuple[str, ...] = ()
    identity: str = ""
    inputs: InputState | None = None
    line: LineAccount = LineAccount()
    controller: ControllerIdentity | None = None
    drives_unseen: bool = False
    tells: bool = True
    sign: LineCause | None = None


class Margin(Record, frozen=True):
    """The tightest place of one check over a whole motion; the same fields as a refusal, but passed."""

    check: str
    subject: str
    limit: str
    margin: float
    unit: str
    sample: int | None = None
    time_s: float | None = None


class LimitHit(Record, frozen=True):
    """One limit that bit on a live command."""

    check: str
    axis: str
    requested: float
    allowed: float


class Confirm(Record, frozen=True, tag="confirm"):
    """Somebody vouches for where the limp arm is: a person, or the wiring for a fake that it placed itself.

    Attributes:
        supply_on: it is said, too, that the servo supply is on, and was not cut since the controller drives the arm.
    """

    positions: tuple[float, ...]
    by: str
    supply_on: bool = False


class SupplyCut(Record, frozen=True, tag="supply_cut"):
    """Somebody says that the servo supply was cut, or may have been. A stop: accepted from anyone, in any mode."""

    by: str


class LetGo(Record, frozen=True, tag="let_go"):
    """Switch the pulses of one axis off: it goes limp and sinks. Only by who stands beside the arm and holds it.

    Attributes:
        axis: its name.
        by: who says so.
    """

    axis: str
    by: str


class Load(Record, frozen=True, tag="load"):
    """A motion and the certificate that covers it, both as their encoded bytes."""

    motion: bytes
    certificate: bytes


class Arm(Record, frozen=True, tag="arm"):
    """Ask for ARMED, for the loaded motion."""

    digest: str


class Start(Record, frozen=True, tag="start"):
    """Begin streaming the armed motion."""

    digest: str


class Stop(Record, frozen=True, tag="stop"):
    """Slow down within limits and hold. Accepted from anyone, in any mode."""

    reason: str


class EmergencyStop(Record, frozen=True, tag="estop"):
    """Freeze the controller now and latch. A software stop: it is not an emergency stop in the sense of a standard."""

    reason: str


class Reset(Record, frozen=True, tag="reset"):
    """Leave FAULT or ESTOP; leads to UNKNOWN_POSE for an arm without feedback."""

    by: str


class Disconnect(Record, frozen=True, tag="disconnect"):
    """Hold, close the line and end the loop."""

    reason: str


class EndStream(Record, frozen=True, tag="end_stream"):
    """Send nothing that moves from now on, in this whole session: a process that answers for the motion is dead."""

    reason: str


class JogFrame(Enum):
    """In which frame directions of the tool are meant."""

    WORLD = "world"
    TOOL = "tool"


class AxisJog(Record, frozen=True, tag="axes"):
    """Single axes: by how much in a step (rad or m), how fast while held (rad/s or m/s); one number per axis.

    Raises:
        CommandError: a number is not finite.
    """

    amounts: tuple[float, ...]

    def __post_init__(self) -> None:
        _refuse_non_finite("axis jog", self.amounts)


class ToolJog(Record, frozen=True, tag="tool"):
    """The tool point along a straight line, the tool turning about it; a step, or per second while held.

    Attributes:
        linear: along x, y, z of the frame, m or m/s.
        pitch, roll: of the tool, rad or rad/s; for arms that cannot take any orientation.
        turn: rotation vector about x, y, z of the frame, rad or rad/s; for arms that can.

    Raises:
        CommandError: a number is not finite.
    """

    frame: JogFrame
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pitch: float = 0.0
    roll: float = 0.0
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _refuse_non_finite("tool jog", (*self.linear, self.pitch, self.roll, *self.turn))


class ArmJog(Record, frozen=True, tag="arm_jog"):
    """Ask for ARMED without a motion: for jogging, at a part of the rig's speeds, above 0 to 1."""

    speed_share: float


class JogHold(Record, frozen=True, tag="jog_hold"):
    """Go on like this for now. Has to be renewed: without, it counts as released after 100 ms.

    Attributes:
        seq: rises with every hold and release of a sender; what is not newer than the newest is dropped.
        issued_s: reading of the loop's clock when the hold was last known to be true.
    """

    seq: int
    issued_s: float
    move: AxisJog | ToolJog

    def __post_init__(self) -> None:
        _refuse_non_finite("jog hold", (self.issued_s,))


class JogRelease(Record, frozen=True, tag="jog_release"):
    """Let go: slow down within limits and hold."""

    seq: int


class JogStep(Record, frozen=True, tag="jog_step"):
    """One increment, from rest to rest."""

    move: AxisJog | ToolJog


class AxisGoal(Record, frozen=True, tag="axes"):
    """Where every axis shall be, in rad or m.

    Raises:
        CommandError: a number is not finite.
    """

    positions: tuple[float, ...]

    def __post_init__(self) -> None:
        _refuse_non_finite("goal of axes", self.positions)


class ToolGoal(Record, frozen=True, tag="tool"):
    """Where the tool shall be, in the world. What is left out stays as it is.

    Attributes:
        position_m: of the tool point.
        pitch, roll: of the tool, rad; for arms that cannot take any orientation.
        turn: its orientation as a rotation vector, rad; for arms that can.
        opening_m: of the gripper.

    Raises:
        CommandError: a number is not finite.
    """

    position_m: tuple[float, float, float]
    pitch: float | None = None
    roll: float | None = None
    turn: tuple[float, float, float] | None = None
    opening_m: float | None = None

    def __post_init__(self) -> None:
        given = (self.pitch, self.roll, *(self.turn or ()), self.opening_m)
        _refuse_non_finite("goal of the tool", (*self.position_m, *(value for value in given if value is not None)))


class FollowTarget(Record, frozen=True, tag="follow_target"):
    """Where every axis shall be: one of many, 10 to 100 a second. Without a newer one it counts for 200 ms.

    Attributes:
        seq: rises with every target, hold and release of a sender; what is not newer than the newest is dropped.
        issued_s: reading of the loop's clock for which the target is meant; later than that of the target before.
        positions: of every axis, in rad or m.
        speed_share: part of the rig's speeds at which it is led there; never more than it is armed for.

    Raises:
        CommandError: a number is not finite.
    """

    seq: int
    issued_s: float
    positions: tuple[float, ...]
    speed_share: float = 1.0

    def __post_init__(self) -> None:
        _refuse_non_finite("target to follow", (*self.positions, self.issued_s, self.speed_share))


def _refuse_non_finite(what: str, values: tuple[float, ...]) -> None:
    if not all(map(isfinite, values)):
        raise CommandError(f"{what}: {values} given; allowed: finite numbers", value=values, allowed="finite numbers")


Request = (
    Confirm
    | SupplyCut
    | LetGo
    | Load
    | Arm
    | Start
    | Stop
    | EmergencyStop
    | Reset
    | Disconnect
    | EndStream
    | ArmJog
    | JogHold
    | JogRelease
    | JogStep
    | FollowTarget
)


class LineFailure(Record, frozen=True):
    """A call on the byte port that failed, so that a replay can let it fail again.

    Attributes:
        call: ``open``, ``read`` or ``write``.
        kind: class name of the error.
        message: its text.
    """

    call: str
    kind: str
    message: str


class TickRecord(Record, frozen=True, tag="tick"):
    """Everything that happened in one tick; telemetry shows parts of it, the journal keeps all of it.

    Attributes:
        tick: running number from 0, without gaps.
        t_s: the tick's one clock reading.
        late_s: how late the tick began against its deadline.
        work_s: how long the tick before took from its clock reading to its end; not part of a replay's comparison.
        missed: deadlines missed so far.
        mode: mode at the end of the tick.
        sample: index of the motion sample that this tick asked for, or None.
        wanted: what the source asked for.
        sent: what the controller will really see, or None if nothing was written to it.
        simulated: the shadow's state at the beginning of the tick.
        setpoint: the positions that the shadow's own interpolation had reached at the beginning of the tick.
        reported: newest state from the link, at the beginning of the tick.
        received: raw bytes read from the line in this tick.
        written: raw bytes written to the line in this tick.
        failures: calls on the port that failed in this tick.
        requests: requests taken in this tick.
        hits: limits that bit.
        events: words for the user: transitions, refusals, notices, faults.
        controller: who answers, in the tick in which it was taken for the right one; else None.
        line: the account of the line at the end of a tick in which something went wrong on it, or the mode changed.
        supply: what is held of the servo supply, in a tick in which that changed; else None.
        released: index of the axis whose pulses were switched off in this tick; else None.
    """

    tick: int
    t_s: float
    late_s: float
    work_s: float
    missed: int
    mode: Mode
    sample: int | None
    wanted: Command | None
    sent: Command | None
    simulated: JointState
    setpoint: tuple[float, ...]
    reported: JointState | None
    received: bytes
    written: bytes
    failures: tuple[LineFailure, ...] = ()
    requests: tuple[Request, ...] = ()
    hits: tuple[LimitHit, ...] = ()
    events: tuple[str, ...] = ()
    controller: ControllerIdentity | None = None
    line: LineAccount | None = None
    supply: Supply | None = None
    released: int | None = None


def __getattr__(name: str) -> object:
    return moved(__name__, name)

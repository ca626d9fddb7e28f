"""What server and clients say to each other: every message a typed record, as JSON, one message a frame.

Numbers are SI: radians, metres, seconds. Times called `..._s` are readings of the server's monotonic clock, which
clients learn from what the server sends; `..._epoch_s` are seconds since 1970-01-01 UTC. What clients send is read
strictly: unknown fields, control characters, sizes beyond the bounds are refused. The one exception is a stop, which
counts however it is dressed. What the server sends is read leniently, so that a newer server may say more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from hil.errors import CommandError
from hil.refusal import Refusal
from hil.service.rights import Role
from hil.types import AxisGoal, AxisJog, Mode, Record, StateSource, Supply, ToolGoal, ToolJog

FIRST = 1
"""Version of the protocol in which most messages have their form; who speaks it only goes on as ever."""

VERSION = 2
"""The newest. Raised by any change that somebody who speaks the version before could not live with."""

SPOKEN = (FIRST, VERSION)
"""Versions that this software can speak, newest last."""

MAX_FRAME_BYTES = 16 << 10
"""Largest frame that a client may send on the channel."""

MAX_UPLOAD_BYTES = 1 << 20
"""Largest body that a client may send over HTTP."""

MAX_ANSWER_BYTES = 16 << 20
"""Largest message that a client reads; a pulled rig with its meshes and a preview of an hour fit."""

MAX_AXES = 16
MAX_TOKEN_CHARACTERS = 4096
MAX_RATE_HZ = 50.0

ROOT = "/v1"
"""Every path begins with it, behind whatever prefix a proxy adds."""

PICTURE_HEADER = "Picture-Taken-S"
"""HTTP header of a camera's picture: when the server received it, by the clock of `now_s`."""

NAME_HEADER = "Display-Name"
"""HTTP header, percent-encoded: who asks, where there is no token; the same as `name` of a hello."""

_PLAIN = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*\Z"
_MAX_WORDS = 200
_MOST_AMOUNT = 100.0

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
"""Of an arm, a file, a booking."""

Text = Annotated[str, msgspec.Meta(max_length=_MAX_WORDS, pattern=_PLAIN)]
"""A line for people, without control characters, which could take a terminal over."""

Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Share = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
Seconds = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
Position = Annotated[float, msgspec.Meta(ge=-_MOST_AMOUNT, le=_MOST_AMOUNT)]
Positions = Annotated[tuple[Position, ...], msgspec.Meta(min_length=1, max_length=MAX_AXES)]


# -- from clients ----------------------------------------------------------------------------------------------------


class FromClient(Record, frozen=True, kw_only=True, tag_field="type"):
    """Base of what clients send on a channel.

    Attributes:
        v: version of the protocol in which the message has its form; of a hello always 1.
        seq: rises with every message of a channel, from 1; answers name it. A stop may leave it out.
    """

    v: Literal[1, 2] = 1
    seq: Count = 0


class Hello(FromClient, frozen=True, kw_only=True, tag="hello"):
    """The first message of a channel; its form is the same in all versions.

    Attributes:
        speaks: versions of the protocol that the client can speak.
        arm: which arm the channel is about.
        token: who the client is and what it may do; or the key of its start for a server on loopback.
        name: display name where there is no token; a token brings its own.
        client: name and version of the client's software, for the log.
        on_site: the person stands beside the arm. Believed only if the server's settings or the token allow it.
    """

    speaks: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1, max_length=16)]
    arm: Name
    token: Annotated[str, msgspec.Meta(max_length=MAX_TOKEN_CHARACTERS, pattern=r"^[\x21-\x7e]*\Z")] = ""
    name: Text = ""
    client: Text = ""
    on_site: bool = False

    def __repr__(self) -> str:
        """Without the token, since whatever has a representation ends in a log."""
        return f"Hello(arm={self.arm!r}, client={self.client!r}, token={'given' if self.token else 'none'})"


class Watch(FromClient, frozen=True, kw_only=True, tag="watch"):
    """How often telemetry is wanted; 0 for not at all."""

    rate_hz: Annotated[float, msgspec.Meta(ge=0.0, le=MAX_RATE_HZ)]


class Stop(FromClient, frozen=True, kw_only=True, tag="stop"):
    """Slow down within limits and hold. From anyone, at any time; from anyone but the driver it latches."""

    reason: Text = ""


class EmergencyStop(FromClient, frozen=True, kw_only=True, tag="emergency_stop"):
    """Freeze the controller now and latch. A software stop: not an emergency stop in the sense of a standard."""

    reason: Text = ""


class SupplyCut(FromClient, frozen=True, kw_only=True, tag="supply_cut"):
    """Somebody says that the servo supply was cut, or may have been: a stop, from anyone, at any time.

    The pulses are frozen and nothing that moves is sent before the controller has forgotten its pulses and somebody
    beside the arm has vouched anew. It latches.
    """

    reason: Text = ""


class Claim(FromClient, frozen=True, kw_only=True, tag="claim"):
    """Ask for the lease, or for one's own suspended lease back; the motion does not come back with it.

    Attributes:
        wait: stand in the queue if the arm is taken.
    """

    wait: bool = False


class LeaveQueue(FromClient, frozen=True, kw_only=True, tag="leave_queue"):
    """Wait no longer, in the queue or for an arm that comes up; changes nothing for who does not wait."""


class Beat(FromClient, frozen=True, kw_only=True, tag="beat"):
    """The driver's sign of life, 5 to 10 times a second; renews the lease, and says whether the dead-man is held.

    Attributes:
        held: a person holds the dead-man right now; released, out of focus, hidden or unplugged all count as False.
            After a grant, a loss or a freeze it counts only once a beat has said False.
        issued_s: as for a `Command`.
        changed_s: same clock: when a person last changed something at the input: pressed, moved, pressed another key.
            Left out, or null, where the client does not know: then the press counts, and what is asked for.
        reported_s: same clock: when the input last said anything by itself, as a key that repeats or a pad that is
            sampled. Left out, or null, for one that says nothing while it is held still.
    """

    arm: Name
    epoch: Count
    held: bool
    issued_s: Seconds
    # Not sent where they are not set: a server of before would refuse a beat that has them.
    changed_s: Seconds | msgspec.UnsetType | None = msgspec.UNSET
    reported_s: Seconds | msgspec.UnsetType | None = msgspec.UNSET


class Renew(FromClient, frozen=True, kw_only=True, tag="renew"):
    """Ask for more time; granted by `minutes` or less, if nobody waits and nothing is booked."""

    arm: Name
    epoch: Count
    minutes: Annotated[float, msgspec.Meta(gt=0.0, le=240.0)]


class Release(FromClient, frozen=True, kw_only=True, tag="release"):
    """Give the lease back. The arm holds."""

    arm: Name
    epoch: Count


class TakeOver(FromClient, frozen=True, kw_only=True, tag="take_over"):
    """A teacher becomes the driver: the arm holds, then the lease changes, and the former driver's channel is cut.

    Attributes:
        keep_booking: the former driver's slot stays, so that they may come back; else it ends as well.
    """

    reason: Text = ""
    keep_booking: bool = False


class Freeze(FromClient, frozen=True, kw_only=True, tag="freeze"):
    """Hold the arm, and refuse motion until it is thawed.

    Attributes:
        everywhere: all arms of the server.
    """

    everywhere: bool = False
    reason: Text = ""


class Thaw(FromClient, frozen=True, kw_only=True, tag="thaw"):
    """Allow motion again. Nothing moves by it.

    Attributes:
        everywhere: all arms of the server.
    """

    everywhere: bool = False


class Tell(FromClient, frozen=True, kw_only=True, tag="tell"):
    """Words for everybody at the arm, under the name of who says them; nothing is done by it. Of version 2."""

    v: Literal[1, 2] = 2
    text: Annotated[Text, msgspec.Meta(min_length=1)]


class Command(FromClient, frozen=True, kw_only=True):
    """Base of whatever may move the arm or lead to it; each one is checked anew.

    Attributes:
        arm: which one is meant.
        epoch: of the lease under which this is asked. One from before a change of driver is refused.
        issued_s: the server's clock as the client reckons it: `now_s` of the newest message received and the time
            since. Late by the way here, never early, so old commands show. One from the future counts as of now.
        picture_s: when the picture was taken that the person looked at, as its header says; None without one.
    """

    arm: Name
    epoch: Count
    issued_s: Seconds
    picture_s: Seconds | None = None


class Reset(Command, frozen=True, kw_only=True, tag="reset"):
    """Leave FAULT, ESTOP or a latched stop. An arm without feedback is in UNKNOWN_POSE then."""


class Confirm(Command, frozen=True, kw_only=True, tag="confirm"):
    """Vouch for where the limp arm is; its axes are then driven one by one.

    Attributes:
        positions: per axis, rad or m; None for the park pose.
        supply_on: it is said, too, that the servo supply is on and was not cut; only by who is beside the arm.
    """

    positions: Positions | None = None
    supply_on: bool = False


class GoLimp(Command, frozen=True, kw_only=True, tag="go_limp"):
    """Let one axis go, so that it sinks; only by somebody beside the arm who was told what will sink, and holds it.

    Attributes:
        axis: its name; it has to be the one that the newest `Holding` calls the next.
    """

    axis: Text


class ArmJog(Command, frozen=True, kw_only=True, tag="arm_jog"):
    """Ask for ARMED, for jogging at a part of the rig's speeds; the token and the picture may make it less."""

    speed_share: Share


class JogHold(Command, frozen=True, kw_only=True, tag="jog_hold"):
    """Move like this while it is held; to be repeated every 50 ms or so.

    Attributes:
        move: rates, rad/s or m/s.
    """

    move: AxisJog | ToolJog


class JogRelease(Command, frozen=True, kw_only=True, tag="jog_release"):
    """Let go: slow down and hold."""


class JogStep(Command, frozen=True, kw_only=True, tag="jog_step"):
    """One increment, from rest to rest; refused once it is old.

    Attributes:
        move: amounts, rad or m.
    """

    move: AxisJog | ToolJog


class FollowTarget(Command, frozen=True, kw_only=True, tag="follow_target"):
    """Where the arm shall be now, 10 to 60 times a second while the dead-man is held. Since version 2.

    Attributes:
        target: rad and m.
    """

    v: Literal[2] = 2
    target: AxisGoal | ToolGoal


class ArmMotion(Command, frozen=True, kw_only=True, tag="arm_motion"):
    """Ask for ARMED, for a motion that was previewed on this server for the same person.

    Attributes:
        digest: of the motion, as `Previewed` gave it.
    """

    digest: Digest


class Start(Command, frozen=True, kw_only=True, tag="start"):
    """Begin the armed motion; it goes on while the dead-man is held.

    Attributes:
        digest: of the motion.
    """

    digest: Digest


class Go(Command, frozen=True, kw_only=True, tag="go"):
    """Plan, preview and make a move to a named pose, while the dead-man is held."""

    to: Literal["home", "park"]
    speed_share: Share


class Gripper(Command, frozen=True, kw_only=True, tag="gripper"):
    """Plan, preview and make a move of the gripper alone, while the dead-man is held.

    Attributes:
        opening_m: between the jaws.
    """

    opening_m: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    speed_share: Share


class SelfTest(Command, frozen=True, kw_only=True, tag="self_test"):
    """Plan, preview and make the arm's self-test, each axis a little way and back, while the dead-man is held."""

    speed_share: Share


AnyStop = Stop | EmergencyStop | SupplyCut
"""From anyone, at any time, and never refused."""

Led = JogHold | JogStep | FollowTarget
"""What leads the arm by hand; a token's box holds for each."""

Planned = Go | Gripper | SelfTest
"""What the server plans itself, from where the arm stands."""

ClientMessage = (
    Hello
    | Watch
    | Stop
    | EmergencyStop
    | SupplyCut
    | Claim
    | LeaveQueue
    | Beat
    | Renew
    | Release
    | TakeOver
    | Freeze
    | Thaw
    | Tell
    | Reset
    | Confirm
    | GoLimp
    | ArmJog
    | JogHold
    | JogRelease
    | JogStep
    | FollowTarget
    | ArmMotion
    | Start
    | Go
    | Gripper
    | SelfTest
)

CLIENT_MESSAGES: tuple[type[FromClient], ...] = get_args(ClientMessage)


# -- from the server -------------------------------------------------------------------------------------------------


class FromServer(Record, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=False):
    """Base of what the server sends; readers pass over fields that they do not know."""

    v: int = 1


class Part(Record, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """Base of records inside what the server sends."""


class AxisInfo(Part, frozen=True, kw_only=True):
    """One axis of the arm, in the order of all positions.

    Attributes:
        kind: ``revolute`` (rad), ``prismatic`` (m) or ``gripper`` (m of opening).
        lower, upper: soft limits.
        speed: at a speed share of 1.
    """

    name: str
    kind: str
    lower: float
    upper: float
    speed: float
    home: float
    park: float


class Rules(Part, frozen=True, kw_only=True):
    """What this server asks of a driver; the client keeps to it without guessing.

    Attributes:
        unchanged_s: a dead-man at which nothing has changed for so long has to be pressed anew. None of a server that
            does not ask for it, and refuses beats with `changed_s` or `reported_s`.
        planned_unchanged_s: the same for a planned motion.
    """

    beat_every_s: float
    stop_after_s: float
    suspend_after_s: float
    hold_every_s: float
    command_age_s: float
    picture_age_s: float
    picture_needed: bool
    max_frame_bytes: int = MAX_FRAME_BYTES
    unchanged_s: float | None = None
    planned_unchanged_s: float | None = None


class Welcome(FromServer, frozen=True, kw_only=True, tag="welcome"):
    """The answer to a hello that was accepted.

    Attributes:
        speaks: the version that is spoken from here on.
        real: False for a fake controller; displays say FAKE or REAL.
        name: the person's display name; may be empty.
        speed_share: part of the rig's speeds that the token allows.
        on_site: whether the server believes that the person stands beside the arm.
        until_epoch_s: when the token ends; None without a token.
        camera: whether there are pictures.
    """

    speaks: int
    server: str
    now_s: float
    now_epoch_s: float
    arm: str
    title: str
    robot: str
    real: bool
    axes: tuple[AxisInfo, ...]
    period_s: float
    rules: Rules
    role: Role
    name: str
    speed_share: float
    on_site: bool = False
    until_epoch_s: float | None = None
    camera: bool = False


class Code(Enum):
    """Why something was refused, for programs; people read the reason."""

    MALFORMED = "malformed"
    VERSION = "version"
    TOKEN = "token"
    ROLE = "role"
    ARM = "arm"
    LEASE = "lease"
    EPOCH = "epoch"
    REPLAY = "replay"
    TOO_OLD = "too_old"
    DEADMAN = "deadman"
    FROZEN = "frozen"
    LATCHED = "latched"
    SPEED = "speed"
    BOX = "box"
    PICTURE = "picture"
    MODE = "mode"
    PREVIEW = "preview"
    BUSY = "busy"
    RATE = "rate"
    SIZE = "size"
    UNAVAILABLE = "unavailable"


class Accepted(FromServer, frozen=True, kw_only=True, tag="accepted"):
    """A request was passed on.

    Attributes:
        to: `seq` of the request.
        speed_share: for motion, the part of the rig's speeds that it was granted.
    """

    to: int
    now_s: float
    speed_share: float | None = None
    text: str = ""


class Refused(FromServer, frozen=True, kw_only=True, tag="refused"):
    """A request was not passed on; nothing moved by it.

    Attributes:
        to: `seq` of the request; 0 if it could not be read.
        reason: one line: what was given, what is allowed, what to do next.
        missing: what has to be true first, one thing each.
        findings: of a preview or a jog, in detail.
    """

    to: int
    now_s: float
    code: Code
    reason: str
    missing: tuple[str, ...] = ()
    findings: tuple[Refusal, ...] = ()


class BeatSeen(FromServer, frozen=True, kw_only=True, tag="beat_seen"):
    """The answer to a beat; the time between the two is the way there and back.

    Attributes:
        held: the dead-man counts as held.
    """

    to: int
    now_s: float
    held: bool


class LeasePhase(Enum):
    """Who may drive."""

    FREE = "free"
    HELD = "held"
    SUSPENDED = "suspended"
    CHANGING = "changing"
    CLEARING = "clearing"


class LeaseBrief(Part, frozen=True, kw_only=True):
    """The lease as everybody sees it.

    Attributes:
        holder: display name; empty if there is none, or it is kept private.
        slot_left_s: until the slot ends; None where nothing ends it.
        waiting: how many stand in the queue.
        frozen: a teacher has frozen the arm.
        latched: who stopped the arm, in words; empty if no stop is latched.
        kept_s: how long a suspended lease still waits for its holder; None for one that is not suspended.
    """

    phase: LeasePhase
    epoch: int
    holder: str = ""
    slot_left_s: float | None = None
    waiting: int = 0
    frozen: bool = False
    latched: str = ""
    kept_s: float | None = None


class LeaseNews(FromServer, frozen=True, kw_only=True, tag="lease"):
    """The lease as it concerns the receiver; sent when that changes.

    Attributes:
        yours: the receiver is the driver; `epoch` goes into every command from now on.
        place: in the queue, from 1; 0 for not in it.
        must_park: the receiver drives an arm that was left somewhere; nothing but parking it is let through.
    """

    now_s: float
    lease: LeaseBrief
    yours: bool
    place: int = 0
    reason: str = ""
    must_park: bool = False


class NoticeKind(Enum):
    """What a notice is about."""

    SLOT_ENDS = "slot_ends"
    SLOT_OVER = "slot_over"
    TOKEN_ENDS = "token_ends"
    HEARTBEAT_LOST = "heartbeat_lost"
    DEADMAN_RELEASED = "deadman_released"
    HOLD_ENDS = "hold_ends"
    PRESS_AGAIN = "press_again"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    TAKEN_OVER = "taken_over"
    FROZEN = "frozen"
    THAWED = "thawed"
    STOPPED = "stopped"
    PICTURE_STALE = "picture_stale"
    PICTURE_BACK = "picture_back"
    PARKING = "parking"
    SELF_TEST = "self_test"
    MESSAGE = "message"
    LOOP = "loop"
    ARM_LOST = "arm_lost"
    SERVER_ENDS = "server_ends"


class Notice(FromServer, frozen=True, kw_only=True, tag="notice"):
    """Something that people should know.

    Attributes:
        left_s: of a slot, token or hold, until it ends.
    """

    now_s: float
    kind: NoticeKind
    text: str
    left_s: float | None = None


class AxisLoad(Part, frozen=True, kw_only=True):
    """What one joint carries against gravity while the arm stands: an estimate.

    Attributes:
        torque: N m; N of a sliding joint. The sign is that of the joint.
        share: of what its servo can hold at all; None where the rig does not say which servo that is.
        heavy: so much that the servo gets hot if it lasts.
    """

    axis: str
    torque: float
    share: float | None = None
    heavy: bool = False


class NextLimp(Part, frozen=True, kw_only=True):
    """The axis that may be let go of now.

    Attributes:
        text: what sinks by it, and where the hands belong.
        after: those that come after it, what carries most last.
    """

    axis: str
    text: str
    after: tuple[str, ...] = ()


class Holding(FromServer, frozen=True, kw_only=True, tag="holding"):
    """What holds the arm, and what it carries; sent on joining, and when that changes.

    Attributes:
        supply: what is held of the servo supply, which only people know; see `hil.types.Supply`.
        driven: names of the axes that the controller says it drives. After a cut of the supply that means nothing.
        held_s: how long it has only held; None for one that pulses do not hold, or of which nobody knows.
        remind: it has held so long that its servos get hot.
        loads: an estimate, of the joints that are driven, gripper empty; empty where nothing is known of it.
        basis: what the estimate comes from, in words.
        next: which axis may be let go of now; None if none is driven, and for an arm that measures.
    """

    now_s: float
    supply: Supply
    driven: tuple[str, ...] = ()
    held_s: float | None = None
    remind: bool = False
    loads: tuple[AxisLoad, ...] = ()
    basis: str = ""
    next: NextLimp | None = None


class Bye(FromServer, frozen=True, kw_only=True, tag="bye"):
    """The last message before the server closes the channel."""

    now_s: float
    code: Code
    reason: str


class Timing(Part, frozen=True, kw_only=True):
    """How the loop keeps its time, over the last second.

    Attributes:
        late_ms, work_ms: largest lateness and work of a tick.
        missed: ticks missed since the start.
    """

    late_ms: float
    work_ms: float
    missed: int


class StopBudget(Part, frozen=True, kw_only=True):
    """How long, and how far, the arm goes on after its driver lets go, now; see `stop_budget`.

    Attributes:
        input_ms: age of what the driver says, heartbeat included.
        loop_ms: until the loop takes it.
        queue_ms: motion already given to the controller, its look-ahead.
        wire_ms: bytes on their way.
        ramp_ms: slowing down within limits.
        servo_ms: lag of the servos behind the controller.
        total_ms: all of them.
        distance_mm: way of the tool point in that time.
        clearance_mm: to the nearest thing that the arm may not touch; None if not known.
        speed_share: part of the rig's speeds at which the way stays inside the clearance, pictures considered.
    """

    input_ms: float
    loop_ms: float
    queue_ms: float
    wire_ms: float
    ramp_ms: float
    servo_ms: float
    total_ms: float
    distance_mm: float
    clearance_mm: float | None
    speed_share: float


class Lamp(Enum):
    """How an arm is, in one word, the same on every screen; what counts most is said.

    Screens add what they alone know: that what they show is old, and whether it is their own user who drives.
    """

    AWAY = "away"
    STARTING = "starting"
    UNKNOWN = "unknown"
    READY = "ready"
    ARMED = "armed"
    MOVING = "moving"
    ALARM = "alarm"
    FROZEN = "frozen"
    LATCHED = "latched"
    FAULT = "fault"
    ESTOP = "estop"


class Presence(FromServer, frozen=True, kw_only=True, tag="presence"):
    """Why there is nothing to see of an arm; of version 2, sent on joining and when it changes.

    Attributes:
        words: why it is not there, or what its start waits for; empty for one that is there.
        starting_s: for how long it has been coming up by itself; None for one that does not.
    """

    v: int = VERSION
    now_s: float
    words: str
    starting_s: float | None = None


class FirstTelemetry(FromServer, frozen=True, kw_only=True, tag="telemetry"):
    """The arm as it is; the same for all who watch. Who is slow misses some, as `frame` shows.

    So it goes to clients of version 1; it is read as a `Telemetry`.

    Attributes:
        frame: running number of the arm's telemetry; gaps are what was dropped.
        now_s: when this was sent.
        t_s: the newest tick's time, same clock.
        commanded: per axis what was sent last, as the controller sees it; None for nothing yet.
        simulated: the shadow.
        reported: by the controller; None for an axis of which nothing is known.
        source: how `reported` is known; None without a report.
        reported_s: age of the report.
        tool_m: tool point of the commanded pose, base frame; None while not known.
        speed_share: part of the rig's speeds now allowed to the driver.
        wire_share: part of the line's capacity in use over the last second.
        picture_age_s: of the newest picture; None without a camera.
        progress: part of the running motion that is done; None for no motion.
        refusal: the last one, in words.
    """

    frame: int
    now_s: float
    tick: int
    t_s: float
    mode: Mode
    commanded: tuple[float | None, ...]
    simulated: tuple[float | None, ...]
    reported: tuple[float | None, ...]
    source: StateSource | None
    reported_s: float | None
    tool_m: tuple[float, float, float] | None
    speed_share: float
    wire_share: float
    timing: Timing
    stop: StopBudget | None
    lease: LeaseBrief
    picture_age_s: float | None = None
    progress: float | None = None
    refusal: str = ""


class Telemetry(FirstTelemetry, frozen=True, kw_only=True, tag="telemetry"):
    """The same with the difference between what was commanded and what is reported: version 2.

    Attributes:
        errors: per axis how far the report is outside of where the axis was sent in the time that a report may be old
            (rad, m): at rest, reported less commanded; a lag within that time is none. None where one of them is not
            known. Empty of a server that does not say.
        bands: per axis the error that raises the alarm (rad, m).
        used: per axis the part of the band that the error uses; beyond 1 it counts for the alarm.
        alarm: that command and report have parted, in words, for as long as that counts; empty if not.
        lamp: the arm in one word; None of a server that does not say.
        starting_s: for how long the arm has been coming up by itself; None for one that does not.
        rest: per axis where it would come to rest (rad, m) if everything were let go of now; empty while it stands.
    """

    v: int = VERSION
    errors: tuple[float | None, ...] = ()
    bands: tuple[float, ...] = ()
    used: tuple[float | None, ...] = ()
    alarm: str = ""
    lamp: Lamp | None = None
    starting_s: float | None = None
    rest: tuple[float, ...] = ()


ServerMessage = Welcome | Accepted | Refused | BeatSeen | LeaseNews | Notice | Holding | Presence | Bye | Telemetry

SERVER_MESSAGES: tuple[type[FromServer], ...] = get_args(ServerMessage)


# -- bodies over HTTP: from clients ----------------------------------------------------------------------------------


class BookingWish(Record, frozen=True, kw_only=True):
    """A slot that somebody asks for.

    Attributes:
        begin_epoch_s: when; None for the next free one.
    """

    v: Literal[1] = 1
    arm: Name
    begin_epoch_s: Seconds | None
    minutes: Annotated[float, msgspec.Meta(ge=1.0, le=240.0)]


class Upload(Record, frozen=True, kw_only=True):
    """A task or program to be previewed for an arm; never executed but as what it says it is.

    Attributes:
        language: ``task`` (TOML) or ``melfa`` (MELFA-BASIC IV).
        text: the file.
        points: positions of a MELFA program, as their file.
        start: pose in which the motion begins, per axis; None for where the arm stands.
    """

    v: Literal[1] = 1
    arm: Name
    language: Literal["task", "melfa"]
    name: Name
    text: Annotated[str, msgspec.Meta(max_length=MAX_UPLOAD_BYTES)]
    points: Annotated[str, msgspec.Meta(max_length=MAX_UPLOAD_BYTES)] = ""
    start: Positions | None = None


# -- bodies over HTTP: from the server -------------------------------------------------------------------------------


class SelfTestBrief(Part, frozen=True, kw_only=True):
    """The newest self-test of an arm.

    Attributes:
        due: the lab wants one each day, and the newest is older, or failed, or there was none.
        at_epoch_s: when it ended; None if there was none.
        failure: why it failed; empty if it passed.
        how: how the positions were known that were looked at.
    """

    due: bool = False
    at_epoch_s: float | None = None
    failure: str = ""
    how: str = ""


class ArmSummary(Part, frozen=True, kw_only=True):
    """One arm of a lab.

    Attributes:
        bookable: False with the reason in `why_not`.
        watchers: how many channels are open.
        self_test: the newest one; None where there was none, and none is asked for.
        lamp: it in one word; None of a server that does not say.
        away: why it is not there; empty for one that is.
        starting_s: for how long it has been coming up by itself; None for one that does not.
    """

    arm: str
    title: str
    robot: str
    real: bool
    mode: Mode
    lease: LeaseBrief
    bookable: bool
    why_not: str = ""
    camera: bool = False
    watchers: int = 0
    self_test: SelfTestBrief | None = None
    lamp: Lamp | None = None
    away: str = ""
    starting_s: float | None = None


class Lab(FromServer, frozen=True, kw_only=True, tag="lab"):
    """All arms that the asker may see."""

    server: str
    now_s: float
    now_epoch_s: float
    arms: tuple[ArmSummary, ...]


class Booking(Part, frozen=True, kw_only=True):
    """A slot.

    Attributes:
        name: display name of who booked it; empty if kept private.
        yours: the asker booked it.
    """

    id: str
    arm: str
    begin_epoch_s: float
    end_epoch_s: float
    name: str = ""
    yours: bool = False


class Bookings(FromServer, frozen=True, kw_only=True, tag="bookings"):
    """Slots of an arm that are not over, in order; after a wish that was granted, the new one among them."""

    arm: str
    bookable: bool
    bookings: tuple[Booking, ...]
    why_not: str = ""
    granted: str = ""
    self_test: SelfTestBrief | None = None


class Previewed(FromServer, frozen=True, kw_only=True, tag="previewed"):
    """What became of an upload.

    Attributes:
        digest: of the motion, for `ArmMotion` and `Start`; empty if it was refused.
        certificate: its bytes (base64 in JSON); only its holder may run it.
        certificate_digest: tells certificates apart, for people.
        until_epoch_s: when the certificate ends; None without one.
        made_for: display name of its holder.
        start: where the motion begins, per axis; empty where nothing was planned.
        start_within: how far each axis may stand from there when the motion starts.
        peak_share: largest part of the rig's speeds that the motion uses.
        notes: warnings and tight places, in words.
        timeline: name under which its holder gets the `Timeline`; empty where nothing was planned.
    """

    arm: str
    ok: bool
    refusals: tuple[Refusal, ...] = ()
    digest: str = ""
    certificate: bytes = b""
    certificate_digest: str = ""
    until_epoch_s: float | None = None
    made_for: str = ""
    start: tuple[float, ...] = ()
    start_within: tuple[float, ...] = ()
    duration_s: float = 0.0
    peak_share: float = 0.0
    notes: tuple[str, ...] = ()
    timeline: str = ""


class Lane(Part, frozen=True, kw_only=True):
    """What is left of one group of limits over a motion.

    Attributes:
        check: requirement id.
        name: of the group.
        unit: of the margins.
        subjects: joints or bodies that the limits are of.
        margins: the smallest one at every sample of the timeline, negative where a limit is not kept; None where
            nothing was judged.
        which: index of the subject that it is of.
    """

    check: str
    name: str
    unit: str
    subjects: tuple[str, ...]
    margins: tuple[float | None, ...]
    which: tuple[int, ...]


class Failure(Part, frozen=True, kw_only=True):
    """Samples one after the other at which one limit of one subject is not kept.

    Attributes:
        first, last: samples of the motion.
        worst: sample of the smallest margin; all three are in the timeline.
        margin: there; of `unit`.
        place: where in the file.
    """

    check: str
    subject: str
    limit: str
    unit: str
    nearest_allowed: str
    first: int
    last: int
    worst: int
    margin: float
    place: str = ""


class Stage(Part, frozen=True, kw_only=True):
    """Samples that belong to one place of the file."""

    first: int
    last: int
    place: str
    label: str = ""


class Timeline(FromServer, frozen=True, kw_only=True, tag="timeline"):
    """A previewed motion, sample by sample; of a long one some: the ends, all extremes, and as many as fit.

    Samples that fail are all there, unless there are more of them than fit.

    Attributes:
        name: as in `Previewed.timeline`.
        period_s: time between two samples of the motion.
        complete: False for a motion that could not be planned to its end.
        samples: numbers of the samples that are here, rising; a sample's time is its number times the period.
        positions: of every axis at each of them, rad or m.
        stages: places of the file, in order.
    """

    arm: str
    name: str
    period_s: float
    complete: bool
    samples: tuple[int, ...]
    positions: tuple[tuple[float, ...], ...]
    lanes: tuple[Lane, ...] = ()
    failures: tuple[Failure, ...] = ()
    stages: tuple[Stage, ...] = ()


class RigFile(Part, frozen=True, kw_only=True):
    """One file of a pulled rig, its name below the folder of its kind, for example ``rigs/lynx6.toml``."""

    name: str
    text: str


class PulledRig(FromServer, frozen=True, kw_only=True, tag="pulled_rig"):
    """An arm's rig, so that previews elsewhere match it."""

    arm: str
    digest: str
    files: tuple[RigFile, ...]


class LinkRow(Part, frozen=True, kw_only=True):
    """One joint and the link behind it: turn about z by theta, go d along it, then a along x, turn about x by alpha.

    Attributes:
        revolute: theta moves, else d; by `sign` times the axis's position.
    """

    revolute: bool
    theta: float
    d: float
    a: float
    alpha: float
    sign: float


class SolidPart(Part, frozen=True, kw_only=True):
    """A body that rides on a link, as triangles.

    Attributes:
        link: 0 for the base, i for the link behind row i, one more for the tool.
        vertices: x, y, z of each as 32-bit floats, little endian, metres, in the link's frame (base64 in JSON).
        faces: three vertices each as 16-bit numbers, little endian, counter-clockwise seen from outside (base64).
        side: of a finger 1 or -1: it is moved along the tool's y axis by that times half the opening and
            `Skeleton.finger_apart_m`; 0 for what is no finger.
    """

    link: int
    vertices: bytes
    faces: bytes
    side: int = 0


class Skeleton(FromServer, frozen=True, kw_only=True, tag="skeleton"):
    """All that a display needs to draw an arm from the positions of its axes; rad and m.

    Attributes:
        base: frame of the arm's base in the world: x, y, z axis and origin, one after the other.
        rows: one for each joint, in the order of the axes.
        tool: frame of the tool behind the last one.
        table_m: height of the table.
        reach_m: how far from its base the arm comes, at most.
        solids: its bodies; empty of a server that has none to give.
        finger_apart_m: from the tool's axis to a finger of a closed gripper.
    """

    arm: str
    base: tuple[float, ...]
    rows: tuple[LinkRow, ...]
    tool: tuple[float, ...]
    table_m: float
    reach_m: float
    solids: tuple[SolidPart, ...] = ()
    finger_apart_m: float = 0.0


# -- bytes -----------------------------------------------------------------------------------------------------------

R = TypeVar("R")

_from_client: msgspec.json.Decoder[Any] = msgspec.json.Decoder(ClientMessage)
_from_server: msgspec.json.Decoder[Any] = msgspec.json.Decoder(ServerMessage)
_encoder = msgspec.json.Encoder()


class _AnyStop(msgspec.Struct):
    """The least that has to be there for a stop to be known as one."""

    type: Literal["stop", "emergency_stop", "supply_cut"]


_stop = msgspec.json.Decoder(_AnyStop)

_STOP_IN_PIECES = re.compile(rb'"type"\s*:\s*"(stop|emergency_stop|supply_cut)"')
"""A stop in bytes that are not JSON at all: cut short, or with a number such as `Infinity` beside it."""


def encode(message: FromClient | FromServer | Record) -> bytes:
    """A message as JSON."""
    return _encoder.encode(message)


def encode_telemetry(message: Telemetry, speaks: int) -> bytes:
    """Telemetry as JSON, in the form that a channel of that version knows."""
    if speaks > FIRST:
        return _encoder.encode(message)
    told = {name: getattr(message, name) for name in FirstTelemetry.__struct_fields__ if name != "v"}
    return _encoder.encode(FirstTelemetry(**told))


def decode_client(data: bytes | str) -> ClientMessage:
    """Read what a client sent on its channel. A stop with anything wrong about it is still a stop.

    Raises:
        CommandError: it is too long or not a message; the text says where and quotes no value.
    """
    raw = _bytes(data)
    _refuse_long(raw, MAX_FRAME_BYTES)
    try:
        return _strict(raw)
    except CommandError:
        stop = _as_stop(raw)
        if stop is None:
            raise
        return stop


def decode_server(data: bytes | str) -> ServerMessage:
    """Read what the server sent on a channel.

    Raises:
        CommandError: it is too long or not a message.
    """
    raw = _bytes(data)
    _refuse_long(raw, MAX_ANSWER_BYTES)
    message: ServerMessage = _decoded(_from_server, raw)
    return message


def decode_body(data: bytes, kind: type[R], limit_bytes: int = MAX_ANSWER_BYTES) -> R:
    """Read a body that came over HTTP.

    Args:
        data: the body.
        kind: what it has to be.
        limit_bytes: what is longer is refused unread; `MAX_UPLOAD_BYTES` for what clients send.

    Raises:
        CommandError: it is too long or not of that kind.
    """
    _refuse_long(data, limit_bytes)
    body: R = _decoded(msgspec.json.Decoder(kind), data)
    return body


def agree(theirs: Iterable[int]) -> int | None:
    """The newest version that both sides speak; None if there is none."""
    return max(set(SPOKEN).intersection(theirs), default=None)


def _strict(raw: bytes) -> ClientMessage:
    message: ClientMessage = _decoded(_from_client, raw)
    if isinstance(message, JogHold | JogStep):
        _refuse_far(message.move)
    if isinstance(message, FollowTarget):
        _refuse_far_goal(message.target)
    return message


def _decoded(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CommandError(f"message refused: {_without_values(error)}") from None


def _as_stop(raw: bytes) -> AnyStop | None:
    try:
        kind: str = _stop.decode(raw).type
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        found = None if _is_json(raw) else _STOP_IN_PIECES.search(raw)
        if found is None:
            return None
        kind = found[1].decode()
    kinds: dict[str, type[AnyStop]] = {"emergency_stop": EmergencyStop, "supply_cut": SupplyCut}
    return kinds.get(kind, Stop)(reason=_UNREADABLE)


def _is_json(raw: bytes) -> bool:
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


_UNREADABLE = "its reason could not be read"


def _refuse_far(move: AxisJog | ToolJog) -> None:
    """Amounts that no arm has, and more of them than any arm has axes."""
    amounts = move.amounts if isinstance(move, AxisJog) else (*move.linear, move.pitch, move.roll, *move.turn)
    if not amounts or len(amounts) > MAX_AXES or any(abs(amount) > _MOST_AMOUNT for amount in amounts):
        raise CommandError(
            f"message refused: a jog takes 1 to {MAX_AXES} amounts, each of at most {_MOST_AMOUNT:g} rad or m",
            allowed=f"1 to {MAX_AXES} amounts up to {_MOST_AMOUNT:g}",
        )


def _refuse_far_goal(goal: AxisGoal | ToolGoal) -> None:
    """The same for a target."""
    if isinstance(goal, AxisGoal):
        values: tuple[float, ...] = goal.positions
    else:
        given = (goal.pitch, goal.roll, *(goal.turn or ()), goal.opening_m)
        values = (*goal.position_m, *(value for value in given if value is not None))
    if not values or len(values) > MAX_AXES or any(abs(value) > _MOST_AMOUNT for value in values):
        raise CommandError(
            f"message refused: a target has 1 to {MAX_AXES} numbers, each of at most {_MOST_AMOUNT:g} rad or m",
            allowed=f"1 to {MAX_AXES} numbers up to {_MOST_AMOUNT:g}",
        )


def _refuse_long(raw: bytes, limit_bytes: int) -> None:
    if len(raw) > limit_bytes:
        raise CommandError(
            f"message refused: {len(raw)} bytes given; allowed: {limit_bytes}",
            value=len(raw),
            allowed=f"up to {limit_bytes} bytes",
        )


def _bytes(data: bytes | str) -> bytes:
    # Lone surrogates cannot be encoded; what becomes of them is refused by the reader.
    return data.encode("utf-8", "replace") if isinstance(data, str) else data


def _without_values(error: Exception) -> str:
    """Where a message is wrong, fit for a log: what strangers write does not get there."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    words = str(error)
    where = words[words.rfind(" - at `") :] if " - at `" in words else ""
    what = words.removesuffix(where).split("'")[0].strip()
    line = f"{what or type(error).__name__}{where}"
    return "".join(character for character in line if character.isprintable())[:_MAX_WORDS]

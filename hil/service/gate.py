"""The last look at a message before it may do anything: who, with which token, under which epoch, how old, how fast.

Nothing is remembered from one message to the next but the sequence numbers: what was allowed a moment ago is judged
anew. Stopping is never refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hil.errors import ConfigError
from hil.service import wire
from hil.service.grants import Grant, Point, WorkBox
from hil.service.lease import Lease
from hil.service.lease_facts import Party
from hil.service.rights import Action, Role, may, who_may
from hil.service.stop_budget import LEAST_BY_AGE, share_by_age
from hil.service.wire import ClientMessage, Code
from hil.types import WRITING, Mode, Record
from hil.units import MM

ACTIONS: Mapping[type[wire.FromClient], Action] = MappingProxyType(
    {
        wire.Hello: Action.WATCH,
        wire.Watch: Action.WATCH,
        wire.Stop: Action.STOP,
        wire.EmergencyStop: Action.STOP,
        wire.SupplyCut: Action.STOP,
        wire.Claim: Action.CLAIM,
        wire.LeaveQueue: Action.CLAIM,
        wire.Beat: Action.CLAIM,
        wire.Renew: Action.CLAIM,
        wire.Release: Action.CLAIM,
        wire.TakeOver: Action.TAKE_OVER,
        wire.Freeze: Action.FREEZE,
        wire.Thaw: Action.FREEZE,
        wire.Tell: Action.TELL,
        wire.Reset: Action.RESET,
        wire.Confirm: Action.CONFIRM,
        wire.GoLimp: Action.CONFIRM,
        wire.ArmJog: Action.JOG,
        wire.JogHold: Action.JOG,
        wire.JogRelease: Action.JOG,
        wire.JogStep: Action.JOG,
        wire.FollowTarget: Action.JOG,
        wire.Gripper: Action.JOG,
        wire.ArmMotion: Action.RUN,
        wire.Start: Action.RUN,
        wire.Go: Action.RUN,
        wire.SelfTest: Action.RUN,
    }
)
"""What each message is an attempt at."""

HELD = (wire.JogHold, wire.FollowTarget, wire.Start, wire.Go, wire.Gripper, wire.SelfTest, wire.Confirm)
"""Motion that goes on only while the dead-man is held. A step does not: it ends by itself, and with the heartbeat."""

RATES: Mapping[Role, tuple[float, float]] = MappingProxyType(
    {
        Role.WATCH: (5.0, 20.0),
        Role.DRIVE: (80.0, 160.0),
        Role.TEACH: (80.0, 160.0),
        Role.MAINTAIN: (80.0, 160.0),
    }
)
"""Messages a second in the long run, and at once. Stops are not counted."""

SLACK = 1e-9
ARMED_SLACK = 1.25
"""A step may be armed for so much more than is allowed now: what is allowed changes a little with each message's age
and with what the stop budget measures, and the loop makes no step whose stop is not safe."""

BOX_SLACK_M = 1e-6

_NOT_DRIVABLE = {
    Mode.DISCONNECTED: "there is no connection to the arm",
    Mode.CONNECTING: "the arm is being connected",
    Mode.UNKNOWN_POSE: "where the arm stands is not known; a teacher or maintainer has to confirm it",
    Mode.FAULT: "the arm has a fault; a teacher or maintainer has to reset it",
    Mode.ESTOP: "an emergency stop is latched; a teacher or maintainer has to reset it",
}


class GateSettings(Record, frozen=True):
    """The lab's choices.

    Attributes:
        hold_age_s: oldest hold of a jog that counts; speed shrinks before.
        step_age_s: oldest step, arming or start that counts.
        picture_needed: who is not on site drives only by a picture.
        picture_full_s: age up to which a picture is good for full speed.
        picture_last_s: age from which on it is good for none.
        care_picture_s: oldest picture by which a fault is reset, or a pose confirmed, from afar.

    Raises:
        ConfigError: a number is outside its range.
    """

    hold_age_s: float = 0.5
    step_age_s: float = 1.0
    picture_needed: bool = False
    picture_full_s: float = 0.5
    picture_last_s: float = 2.0
    care_picture_s: float = 1.0

    def __post_init__(self) -> None:
        bounds = {
            "hold_age_s": (0.2, 1.0),
            "step_age_s": (0.2, 5.0),
            "picture_full_s": (0.1, 2.0),
            "picture_last_s": (0.2, 10.0),
            "care_picture_s": (0.1, 1.0),
        }
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigError("settings", f"gate.{name}", value, f"{least:g} to {most:g} seconds")
        if self.picture_last_s <= self.picture_full_s:
            allowed = f"more than picture_full_s, {self.picture_full_s:g}"
            raise ConfigError("settings", "gate.picture_last_s", self.picture_last_s, allowed)


class MotionFacts(Record, frozen=True):
    """A previewed motion.

    Attributes:
        user: for whom it was previewed.
        peak_share: largest part of the rig's speeds that it uses.
        box: of a token, inside which the tool point was found to stay all the way; None for none.
    """

    user: str
    peak_share: float
    box: WorkBox | None = None


class Facts(Record, frozen=True):
    """What is so while a message is judged.

    Attributes:
        now_s: the server's monotonic clock, when the message came in.
        now_epoch_s: seconds since 1970-01-01 UTC.
        mode: of the loop.
        revoked: the token is on the list of revoked ones.
        picture_s: when the newest picture was received; None without a camera.
        budget_share: part of the rig's speeds that the stop budget allows.
        armed_share: at which the loop is armed for jogging; None for not at all.
        tool_m: tool point now; None for not known.
        goal_m: where a jog would bring it, its stop included; None for not known.
        motion: that the message names, if there is such a one.
    """

    now_s: float
    now_epoch_s: float
    mode: Mode
    revoked: bool = False
    picture_s: float | None = None
    budget_share: float = 1.0
    armed_share: float | None = None
    tool_m: Point | None = None
    goal_m: Point | None = None
    motion: MotionFacts | None = None


class GateVerdict(Record, frozen=True):
    """What becomes of a message.

    Attributes:
        code: why not; None if it is allowed.
        reason: the same in one line: what was given, what is allowed, what to do next.
        missing: what has to be true first.
        speed_share: for motion, the largest part of the rig's speeds at which it may go.
    """

    code: Code | None = None
    reason: str = ""
    missing: tuple[str, ...] = ()
    speed_share: float = 1.0

    @property
    def allowed(self) -> bool:
        """Whether the message may do what it says."""
        return self.code is None


class _DeniedError(Exception):
    """A check that was not passed."""

    def __init__(self, code: Code, reason: str, *missing: str) -> None:
        self.verdict = GateVerdict(code=code, reason=reason, missing=missing, speed_share=0.0)
        super().__init__(reason)


class Gate:
    """Judges what clients send for one arm.

    Args:
        lease: of that arm.
        settings: the lab's choices.
    """

    def __init__(self, lease: Lease, settings: GateSettings) -> None:
        self._lease, self._arm, self._settings = lease, lease.arm, settings
        self._newest: dict[int, int] = {}
        self._allowances: dict[int, Allowance] = {}

    def judge(self, message: ClientMessage, party: Party, grant: Grant, facts: Facts) -> GateVerdict:
        """Whether a message may do what it says, now. Its number is used up, whatever becomes of it."""
        newest = self.use_up(party.channel, message.seq)
        if isinstance(message, wire.AnyStop):
            return GateVerdict()
        try:
            if isinstance(message, wire.JogRelease | wire.Release):
                # Both only end motion: no token, age or number is needed for that.
                self._check_lease(message, party)
                return GateVerdict(speed_share=0.0)
            self._check_rate(party, facts)
            self._check_token(grant, facts)
            self._check_role(message, party, grant)
            _check_new(message, newest)
            if isinstance(message, wire.Command | wire.Beat | wire.Renew):
                self._check_lease(message, party)
            if not isinstance(message, wire.Command):
                return GateVerdict()
            if isinstance(message, wire.Reset):
                self._age(message, facts)
                self._check_care(message, party, grant, facts)
                return GateVerdict()
            if isinstance(message, wire.GoLimp):
                self._check_beside(message, party, facts)
                return GateVerdict()
            return GateVerdict(speed_share=self._motion(message, party, grant, facts))
        except _DeniedError as no:
            return no.verdict

    def judge_planned(self, motion: MotionFacts, grant: Grant, speed_share: float) -> GateVerdict:
        """Whether a motion that the server itself has planned for a message may go.

        Args:
            motion: what was planned.
            grant: of who asked.
            speed_share: that the message was granted.
        """
        try:
            self._check_planned(motion, grant, speed_share)
        except _DeniedError as no:
            return no.verdict
        return GateVerdict(speed_share=speed_share)

    def use_up(self, channel: int, seq: int) -> int:
        """A number has come on a channel, and counts as used; gives the highest of those before it."""
        newest = self._newest.get(channel, 0)
        self._newest[channel] = max(newest, seq)
        return newest

    def forget(self, channel: int) -> None:
        """A channel is gone; its number never comes again."""
        self._newest.pop(channel, None)
        self._allowances.pop(channel, None)

    # -- who -------------------------------------------------------------------------------------------------

    def _check_rate(self, party: Party, facts: Facts) -> None:
        allowance = self._allowances.setdefault(party.channel, Allowance(*RATES[party.role]))
        if not allowance.take(facts.now_s):
            raise _DeniedError(
                Code.RATE, f"too many messages; allowed: {RATES[party.role][0]:g} a second for {party.role.value}"
            )

    def _check_token(self, grant: Grant, facts: Facts) -> None:
        if facts.revoked:
            raise _DeniedError(Code.TOKEN, "the token was revoked; ask for a new one", "a valid token")
        if not grant.in_window(facts.now_epoch_s):
            early = facts.now_epoch_s < grant.not_before_s
            words = "does not count yet" if early else "has ended; ask for a new one"
            raise _DeniedError(Code.TOKEN, f"the token {words}", "a valid token")
        if not grant.covers(self._arm):
            raise _DeniedError(Code.ARM, "the token is for another arm", "a token for this arm")

    def _check_role(self, message: ClientMessage, party: Party, grant: Grant) -> None:
        action = ACTIONS[type(message)]
        if may(grant.role, action) or (isinstance(message, wire.Reset) and self._only_latched(party, grant)):
            return
        raise _DeniedError(
            Code.ROLE, f"{action.value} needs the role {who_may(action)}; the token says {grant.role.value}", "role"
        )

    def _only_latched(self, party: Party, grant: Grant) -> bool:
        """A latched stop, unlike a fault, is reset by any driver who stands beside the arm."""
        return party.on_site and may(grant.role, Action.CLAIM)

    def _check_lease(
        self, message: wire.Command | wire.Beat | wire.Renew | wire.Release | wire.JogRelease, party: Party
    ) -> None:
        lease = self._lease
        if message.arm != self._arm:
            raise _DeniedError(Code.ARM, f"this channel is for {self._arm}; open one for each arm", "the right arm")
        if not isinstance(message, wire.Reset) and not lease.is_driver(party.channel):
            raise _DeniedError(Code.LEASE, "you do not drive this arm; claim it first", "lease")
        if message.epoch != lease.epoch:
            raise _DeniedError(
                Code.EPOCH, f"epoch {message.epoch} given; allowed: {lease.epoch}. Look at the arm again", "epoch"
            )

    # -- whether ---------------------------------------------------------------------------------------------

    def _motion(self, message: wire.Command, party: Party, grant: Grant, facts: Facts) -> float:
        """All the rest that motion needs; gives the part of the rig's speeds at which it may go."""
        lease, now_s = self._lease, facts.now_s
        if lease.frozen:
            raise _DeniedError(Code.FROZEN, f"the arm is frozen by {lease.frozen}; wait until it is thawed", "thaw")
        if lease.latched:
            raise _DeniedError(
                Code.LATCHED,
                f"a stop is latched ({lease.latched}); a teacher, or a driver beside the arm, has to reset it",
                "reset",
            )
        if not lease.alive(now_s):
            raise _DeniedError(Code.DEADMAN, "nothing was heard from you in time; send beats", "heartbeat")
        # A line as slow as that carries no dead-man either; it is the line that is to be named.
        age_s = self._age(message, facts)
        if isinstance(message, HELD) and not lease.held(now_s):
            raise _DeniedError(Code.DEADMAN, "hold the dead-man; if you do, let it go once", "dead-man")
        if isinstance(message, wire.Confirm):
            self._check_care(message, party, grant, facts)
            return 1.0
        if facts.mode in _NOT_DRIVABLE:
            raise _DeniedError(Code.MODE, _NOT_DRIVABLE[facts.mode], "mode")
        if lease.must_park and not (isinstance(message, wire.Go) and message.to == "park"):
            raise _DeniedError(Code.MODE, "the arm was left somewhere: park it first", "parking")
        share = self._share(message, party, grant, facts, age_s)
        self._check_way(message, party, grant, facts, share)
        return share

    def _check_care(self, message: wire.Command, party: Party, grant: Grant, facts: Facts) -> None:
        """A fault is reset, and a pose confirmed, only by who sees the arm; a latched stop needs no look."""
        if isinstance(message, wire.Reset) and facts.mode not in (Mode.FAULT, Mode.ESTOP):
            return
        if not may(grant.role, Action.RESET):
            raise _DeniedError(
                Code.ROLE,
                f"a fault is reset by the role {who_may(Action.RESET)}; the token says {grant.role.value}",
                "role",
            )
        if isinstance(message, wire.Confirm) and message.supply_on and not party.on_site:
            raise _DeniedError(
                Code.ROLE, "no picture shows the servo supply: that it is on says somebody beside the arm", "on site"
            )
        most_s = self._settings.care_picture_s
        age_s = _picture_age_s(message, facts)
        if party.on_site or (age_s is not None and age_s < most_s):
            return
        given = "none" if age_s is None else f"{age_s:.1f} s old"
        raise _DeniedError(
            Code.PICTURE, f"picture {given}; from afar it has to be under {most_s:g} s old: look at the arm", "picture"
        )

    def _check_beside(self, message: wire.GoLimp, party: Party, facts: Facts) -> None:
        """An axis is let go of only by who stands beside the arm and holds it; a latched stop does not hinder that."""
        if not party.on_site:
            raise _DeniedError(
                Code.ROLE, "what sinks has to be held: only somebody beside the arm lets an axis go", "on site"
            )
        if self._lease.frozen:
            raise _DeniedError(
                Code.FROZEN, f"the arm is frozen by {self._lease.frozen}; wait until it is thawed", "thaw"
            )
        if not self._lease.alive(facts.now_s):
            raise _DeniedError(Code.DEADMAN, "nothing was heard from you in time; send beats", "heartbeat")
        self._age(message, facts)
        if facts.mode is Mode.ARMED or facts.mode in WRITING:
            raise _DeniedError(Code.MODE, f"the arm is {facts.mode.value}: stop it before an axis is let go of", "rest")

    def _share(self, message: wire.Command, party: Party, grant: Grant, facts: Facts, age_s: float) -> float:
        """Token, age, picture and stop budget, the least of them."""
        settings = self._settings
        share = min(grant.speed_share, self._picture_share(message, party, facts))
        if not isinstance(message, wire.ArmMotion | wire.Start):
            share = min(share, max(share_by_age(age_s, last_s=settings.hold_age_s), LEAST_BY_AGE))
        if isinstance(message, wire.Led | wire.ArmJog):
            # What is planned, or previewed, stops on its path, which was looked at as a whole.
            share = min(share, facts.budget_share)
        if isinstance(message, wire.ArmJog | wire.Planned):
            share = min(share, message.speed_share)
        return share

    def _age(self, message: wire.Command, facts: Facts) -> float:
        settings = self._settings
        most_s = settings.hold_age_s if isinstance(message, wire.JogHold | wire.FollowTarget) else settings.step_age_s
        age_s = max(0.0, facts.now_s - message.issued_s)
        if not age_s <= most_s:
            raise _DeniedError(
                Code.TOO_OLD, f"asked for {age_s:.2f} s ago; allowed: {most_s:g} s. Look, then ask again", "a fast line"
            )
        return age_s

    def _picture_share(self, message: wire.Command, party: Party, facts: Facts) -> float:
        age_s = _picture_age_s(message, facts)
        if party.on_site or (age_s is None and not self._settings.picture_needed):
            return 1.0
        if age_s is None:
            raise _DeniedError(Code.PICTURE, "no picture; here one drives only by one", "picture")
        share = share_by_age(age_s, self._settings.picture_full_s, self._settings.picture_last_s)
        if share <= 0.0:
            raise _DeniedError(
                Code.PICTURE, f"picture {age_s:.1f} s old; allowed: {self._settings.picture_last_s:g} s", "picture"
            )
        return share

    def _check_way(self, message: wire.Command, party: Party, grant: Grant, facts: Facts, share: float) -> None:
        """How fast, and where to, as far as that is known now."""
        if (
            isinstance(message, wire.JogStep)
            and facts.armed_share is not None
            and facts.armed_share > ARMED_SLACK * share
        ):
            given, allowed = 100.0 * facts.armed_share, 100.0 * share
            raise _DeniedError(
                Code.SPEED, f"armed at {given:.0f} % speed; allowed now: {allowed:.0f} %. Stop, arm anew", "arming"
            )
        if isinstance(message, wire.Led) and grant.box is not None:
            _check_box(grant.box, facts.tool_m, facts.goal_m)
        if isinstance(message, wire.ArmMotion | wire.Start):
            motion = facts.motion
            if motion is None or motion.user != party.user:
                raise _DeniedError(
                    Code.PREVIEW, f"motion {message.digest[:12]} was not previewed for you here; upload it", "preview"
                )
            self._check_planned(motion, grant, share)

    def _check_planned(self, motion: MotionFacts, grant: Grant, share: float) -> None:
        if not motion.peak_share <= share + SLACK:
            given, allowed = 100.0 * motion.peak_share, 100.0 * share
            raise _DeniedError(
                Code.SPEED,
                f"the motion uses {given:.0f} % of the speeds; allowed now: {allowed:.0f} %",
                "a slower plan",
            )
        if grant.box not in (None, motion.box):
            raise _DeniedError(
                Code.BOX, "the motion was not previewed against the box of the token; preview it again", "preview"
            )


def _check_new(message: ClientMessage, newest: int) -> None:
    if message.seq <= newest:
        raise _DeniedError(Code.REPLAY, f"message {message.seq} comes after {newest}; allowed: {newest + 1} and above")


class Allowance:
    """So many messages a second, and so many at once.

    Args:
        rate_hz: in the long run.
        burst: at once, after a pause.
    """

    def __init__(self, rate_hz: float, burst: float) -> None:
        self._rate_hz, self._burst = rate_hz, burst
        self._left, self._at_s = burst, -math.inf

    def take(self, now_s: float) -> bool:
        """Whether one more is allowed now; if so, it counts."""
        gained = max(0.0, now_s - self._at_s) * self._rate_hz
        self._left, self._at_s = min(self._burst, self._left + gained), max(now_s, self._at_s)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def outside_m(box: WorkBox, point: Sequence[float]) -> float:
    """Distance from a point to a box; 0 inside, infinite for what is not finite."""
    gaps = [
        max(low - value, value - high, 0.0) for low, value, high in zip(box.lower_m, point, box.upper_m, strict=True)
    ]
    return math.hypot(*gaps) if all(map(math.isfinite, point)) else math.inf


def _check_box(box: WorkBox, here: Point | None, goal: Point | None) -> None:
    """The goal is inside, or, for a tool that is outside already, no further out than before."""
    if goal is None:
        raise _DeniedError(Code.BOX, "where the tool would go is not known; ask a teacher", "known pose")
    now_m = math.inf if here is None else outside_m(box, here)
    then_m = outside_m(box, goal)
    if then_m <= BOX_SLACK_M or (BOX_SLACK_M < now_m < math.inf and then_m <= now_m):
        return
    raise _DeniedError(
        Code.BOX, f"the tool would be {then_m / MM:.1f} mm outside the box of the token; stay inside", "another way"
    )


def _picture_age_s(message: wire.Command, facts: Facts) -> float | None:
    """Age of the picture that the message answers; no client has seen one newer than the newest there is."""
    if message.picture_s is None or facts.picture_s is None:
        return None
    return max(0.0, facts.now_s - min(message.picture_s, facts.picture_s))

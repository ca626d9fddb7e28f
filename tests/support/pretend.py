"""A link with nothing behind it but a sweep of all joints, and an arm to be driven: for tests, pictures, benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np

from hil.dashboard.arm import ShownArm
from hil.dashboard.link import FarArm, Link
from hil.errors import HilError, InterlockError, LinkClosed
from hil.service import wire
from hil.service.client import HELD_S
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.lab_request import RefusedByLabError
from hil.service.rights import Role
from hil.service.wire import (
    AxisInfo,
    Code,
    FromClient,
    Holding,
    LeaseBrief,
    LeaseNews,
    LeasePhase,
    NextLimp,
    Rules,
    StopBudget,
    Telemetry,
    Timeline,
    Timing,
    Welcome,
)
from hil.types import AxisJog, Mode, StateSource, ToolJog

LAG_S = 0.11
START_S = 1000.0
NOW_EPOCH_S = 1.8e9
_TURN_S = 9.0

_GRIP_S = 0.25
"""A dead-man that was not said to be held for longer is let go."""

Previewer = Callable[[str, str, str, str, tuple[float, ...]], tuple[wire.Previewed, Timeline | None]]
"""From text, name, language, points and start pose."""

READY = (Mode.IDLE, Mode.HOLDING)
T = TypeVar("T")


class PretendLink(Link):
    """Gives telemetry when told to, by its own clock.

    Attributes:
        stops: reasons of the stops that were sent.
        mode: in which the arm pretends to be; it moves while it is STREAMING.
        reachable: False for a service that is gone.
        changes: fields of the telemetry that are not as made up here.
        place: where the arm was jogged to, per axis; None while it sweeps.
        lease: as everybody sees it; `lease_is` changes it and tells the window.
        asked: names of the requests that moved something or were to.
        grips: how often the dead-man was said to be held.
        sign: what was said last to show the hand.
        joint_time_s: for which each joint is driven alone, after a pose was confirmed.
        previewer: makes the answer to an upload, and its timeline; None for a service that knows nothing of it.
        armed: the motion that the arm waits for.
        real: whether it pretends to be one that can get hot.
    """

    def __init__(self, arm: ShownArm, *, period_s: float = 0.02, source: StateSource = StateSource.ECHOED) -> None:
        super().__init__()
        self.arm, self.period_s, self.source = arm, period_s, source
        self.stops: list[str] = []
        self.mode, self.reachable = Mode.STREAMING, True
        self.changes: dict[str, Any] = {}
        self.now_s = START_S
        self.place: list[float] | None = None
        self.role, self.on_site, self.picture_needed = Role.DRIVE, True, False
        self.real = False
        self.lease = LeaseBrief(phase=LeasePhase.HELD, epoch=7, holder="Ada", slot_left_s=742.0, waiting=1)
        self.yours = False
        self.queued = 0
        self.asked: list[str] = []
        self.grips, self.sign = 0, NO_SIGN
        self.joint_time_s = 0.4
        self.previewer: Previewer | None = None
        self.armed: Timeline | None = None
        self._begun_s: float | None = None
        self._gripped_s = -math.inf
        self.holding: Holding | None = None
        self.hand = PretendArm(self)
        self._work: list[tuple[Coroutine[Any, Any, Any], Callable[[Any], None]]] = []
        self._moved_s = 0.0
        self._frame = 0

    def begin(self) -> None:
        """Let the window in."""
        welcome = welcome_of(self.arm, self.now_s, self.period_s)
        rules = msgspec.structs.replace(welcome.rules, picture_needed=self.picture_needed)
        told = msgspec.structs.replace(welcome, role=self.role, on_site=self.on_site, rules=rules, real=self.real)
        self.joined.emit(told, self.arm)

    def holding_is(self, holding: Holding) -> None:
        """From now on this holds it; the window is told."""
        self.holding = holding
        self.heard.emit(holding)

    def supply_cut(self, reason: str) -> bool:
        """Note it, and stop."""
        if not self.reachable:
            return False
        self.stops.append(f"supply cut: {reason}")
        self.mode = Mode.FAULT
        return True

    def stop(self, reason: str, *, freeze: bool = False) -> bool:
        """Note it, and stop."""
        if not self.reachable:
            return False
        self.stops.append(reason)
        self.mode = Mode.ESTOP if freeze else Mode.HOLDING
        return True

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]], then: Callable[[T | HilError], None]) -> None:
        """Begin with it; it goes on as time does."""
        self._work.append((what(self.hand), then))

    def hold(self, sign: Sign = NO_SIGN) -> None:
        """Count it."""
        self.grips += 1
        self._gripped_s, self.sign = self.now_s, sign

    def start(self) -> None:
        """The motion that it is armed for goes on while the dead-man is held."""
        self.mode, self._begun_s = Mode.STREAMING, self.now_s

    def _follow(self) -> None:
        """One step of that motion."""
        motion = self.armed
        if self._begun_s is None or motion is None:
            return
        if self.mode is Mode.STREAMING and self.now_s - self._gripped_s > _GRIP_S:
            self.mode = Mode.HOLDING
        sample = (self.now_s - self._begun_s) / motion.period_s
        if self.mode is Mode.STREAMING and sample >= motion.samples[-1]:
            self.mode = Mode.IDLE
        if self.mode is not Mode.STREAMING:
            self._begun_s = None
            self.changes.pop("progress", None)
            if self.mode is not Mode.IDLE:
                return
        columns = zip(*motion.positions, strict=True)
        self.place = [float(np.interp(sample, motion.samples, column)) for column in columns]
        if self.mode is Mode.STREAMING:
            self.changes["progress"] = sample / motion.samples[-1]

    def lease_is(
        self,
        phase: LeasePhase,
        *,
        yours: bool = False,
        place: int = 0,
        reason: str = "",
        must_park: bool = False,
        **brief: Any,
    ) -> None:
        """The lease changes, and the window hears of it."""
        self.lease = msgspec.structs.replace(self.lease, phase=phase, epoch=self.lease.epoch + 1, **brief)
        self.yours, self.queued = yours, place
        news = LeaseNews(
            now_s=self.now_s, lease=self.lease, yours=yours, place=place, reason=reason, must_park=must_park
        )
        self.heard.emit(news)

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
            self._follow()
            self._go_on()
            if self.reachable:
                self.put(self._telemetry())

    def _go_on(self) -> None:
        """Everything that was asked for comes one step further."""
        work, self._work = self._work, []
        for doing, then in work:
            try:
                doing.send(None)
            except StopIteration as end:
                then(end.value)
            except HilError as error:
                then(error)
            else:
                self._work.append((doing, then))

    def standing(self) -> list[float]:
        """Where the arm is, to be moved from there on."""
        if self.place is None:
            self.place = list(self._pose(self._moved_s))
        return self.place

    def close(self) -> None:
        """Leave what was asked for undone."""
        for doing, _ in self._work:
            doing.close()
        self._work.clear()

    def _telemetry(self) -> Telemetry:
        self._frame += 1
        commanded, simulated, reported = (
            self._pose(self._moved_s - lag_s) if self.place is None else tuple(self.place)
            for lag_s in (0.0, LAG_S, 1.3 * LAG_S)
        )
        moving = self.mode is Mode.STREAMING
        fields: dict[str, Any] = {
            "frame": self._frame,
            "now_s": self.now_s,
            "tick": self._frame,
            "t_s": self.now_s,
            "mode": self.mode,
            "commanded": commanded,
            "simulated": simulated,
            "reported": tuple(round(q, 3) for q in reported),
            "source": self.source,
            "reported_s": 0.02,
            "tool_m": tuple(self.arm.robot.link_frames(commanded[: self.arm.robot.dof])[-1, :3, 3].tolist()),
            "speed_share": 0.4,
            "wire_share": 0.31,
            "timing": Timing(late_ms=0.3 + 0.2 * math.sin(self.now_s), work_ms=1.1, missed=0),
            "stop": _stop(moving),
            "lease": self.lease,
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


class _Moment:
    """Waited for, it lets time go on."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class PretendArm:
    """Does at once what a lab would do, by the link's clock; as `hil.dashboard.link.FarArm`."""

    def __init__(self, link: PretendLink) -> None:
        self._link = link
        self._timeline: Timeline | None = None

    @property
    def mode(self) -> Mode:
        """As the link pretends."""
        return self._link.mode if self._link.reachable else Mode.DISCONNECTED

    @property
    def drives(self) -> bool:
        """Whether the lease is the window's."""
        return self._link.reachable and self._link.yours

    @property
    def mark(self) -> int:
        """Nothing is said here."""
        return 0

    def hold(self, for_s: float = HELD_S, sign: Sign = NO_SIGN) -> None:
        """Count it."""
        self._link.hold(sign)

    def let_go(self) -> None:
        """Nothing remembers it here."""

    async def until(self, reached: Callable[[], bool], within_s: float) -> bool:
        """Wait for it."""
        end_s = self._link.now_s + within_s
        while not reached():
            if self._link.now_s > end_s:
                return False
            await _Moment()
        return True

    async def claim(self, *, wait: bool = False, within_s: float = 5.0) -> None:
        """Granted where nobody drives."""
        link = self._link
        if link.lease.phase is LeasePhase.FREE:
            link.lease_is(LeasePhase.HELD, yours=True, holder="Ada", slot_left_s=1800.0, reason="Ada drives")
        elif wait:
            link.lease_is(link.lease.phase, place=link.lease.waiting + 1, waiting=link.lease.waiting + 1)
            await self.until(lambda: self.drives or not link.queued, within_s)
        else:
            self._refuse(Code.LEASE, f"{link.lease.holder} drives it; wait for your turn")

    async def leave_queue(self) -> None:
        """One less who waits."""
        link = self._link
        link.lease_is(link.lease.phase, waiting=link.lease.waiting - 1, reason="Ada waits no longer")

    async def release(self) -> None:
        """Nobody drives."""
        self._link.lease_is(LeasePhase.FREE, holder="", slot_left_s=None, reason="Ada has given the arm back")

    async def take_over(self, reason: str = "", *, keep_booking: bool = False) -> None:
        """Granted to whoever asks."""
        self._link.asked.append(f"take over: {reason}, {'keep' if keep_booking else 'end'} the booking")
        self._link.lease_is(LeasePhase.HELD, yours=True, holder="Ada")

    async def free(self) -> None:
        """At once."""

    async def jog(
        self,
        move: Callable[[], AxisJog | ToolJog],
        pressed: Callable[[], bool],
        speed_share: float,
        *,
        sign: Callable[[], Sign] | None = None,
    ) -> None:
        """Single axes move at these rates; the tool is pretended to."""
        link = self._link
        self._need_lease()
        link.asked.append(f"jog at {100.0 * speed_share:.0f} %")
        place = link.standing()
        link.mode = Mode.STREAMING
        while pressed() and self.drives and link.mode is Mode.STREAMING:
            wanted = move()
            link.asked.append(repr(wanted))
            if isinstance(wanted, AxisJog):
                self._shift(place, wanted, link.period_s)
            await _Moment()
        if link.mode is Mode.STREAMING:
            link.mode = Mode.HOLDING

    def _shift(self, place: list[float], move: AxisJog, part: float) -> None:
        for index, (axis, amount) in enumerate(zip(self._link.arm.axes, move.amounts, strict=True)):
            place[index] = min(max(place[index] + part * amount, axis.lower), axis.upper)

    async def step(self, move: AxisJog | ToolJog, speed_share: float) -> None:
        """At once."""
        self._need_lease()
        self._link.asked.append(repr(move))
        if isinstance(move, AxisJog):
            self._shift(self._link.standing(), move, 1.0)
        self._link.mode = Mode.IDLE

    async def go(self, to: str, speed_share: float) -> None:
        """The arm is there a second later."""
        link = self._link
        self._need_lease()
        link.asked.append(f"go {to}")
        place = link.standing()
        link.mode = Mode.STREAMING
        if await self.until(lambda: link.mode is not Mode.STREAMING, 1.0):
            return
        place[:] = [getattr(axis, to) for axis in link.arm.axes]
        link.mode = Mode.IDLE

    async def confirm(self, *, supply_on: bool) -> None:
        """Joint after joint is driven."""
        link = self._link
        self._need_lease()
        link.asked.append("confirm, supply on" if supply_on else "confirm")
        link.mode, link.place = Mode.ENERGISING, [axis.park for axis in link.arm.axes]
        for count in range(len(link.arm.axes) + 1):
            known = link.place[:count] + [None] * (len(link.arm.axes) - count)
            link.changes["commanded"] = tuple(known)
            if await self.until(lambda: link.mode is not Mode.ENERGISING, link.joint_time_s):
                return
        del link.changes["commanded"]
        link.mode = Mode.IDLE

    async def go_limp(self, axis: str) -> str:
        """It is limp a moment later, and the next one may be."""
        link = self._link
        self._need_lease()
        link.asked.append(f"let go of {axis}")
        await _Moment()
        holding = link.holding
        if holding is None or holding.next is None or holding.next.axis != axis:
            self._refuse(Code.MODE, f"{axis!r} is not the next")
        left = holding.next.after
        following = NextLimp(axis=left[0], text=f"The {left[0]} is let go of", after=left[1:]) if left else None
        driven = tuple(name for name in holding.driven if name != axis)
        link.mode = Mode.UNKNOWN_POSE
        link.holding_is(msgspec.structs.replace(holding, driven=driven, next=following))
        return f"the {axis} is limp"

    async def preview(
        self, text: str, *, name: str, language: str, points: str, start: tuple[float, ...] | None
    ) -> wire.Previewed:
        """By the link's previewer, from where the arm stands."""
        link = self._link
        link.asked.append(f"preview {name}")
        if not link.reachable:
            raise LinkClosed("not connected", port="pretended")
        if link.previewer is None:
            self._refuse(Code.UNAVAILABLE, "nothing can be previewed here")
        told, self._timeline = link.previewer(text, name, language, points, start or tuple(link.standing()))
        await _Moment()
        return told

    async def timeline(self, name: str) -> Timeline:
        """Of what was previewed last."""
        if self._timeline is None or self._timeline.name != name:
            self._refuse(Code.ARM, "nothing of that name was previewed for you lately; preview it again")
        return self._timeline

    async def arm_motion(self, digest: str) -> None:
        """At once."""
        self._need_lease()
        self._link.asked.append("ArmMotion")
        self._link.mode, self._link.armed = Mode.ARMED, await self.timeline(digest)

    async def grip(self) -> None:
        """At once."""

    async def settled(self, mark: int, within_s: float) -> Mode:
        """Once the arm stands."""
        await self.until(lambda: self.mode not in (Mode.STREAMING, Mode.STOPPING, Mode.ENERGISING), within_s)
        return self.mode

    async def tell(self, kind: type[FromClient], **fields: Any) -> None:
        """Note it."""
        self._link.asked.append(kind.__name__)

    async def request(self, kind: type[FromClient], **fields: Any) -> wire.Accepted:
        """Note it; a reset leads to an unknown pose."""
        self._link.asked.append(kind.__name__)
        if kind is wire.Reset:
            self._link.lease_is(self._link.lease.phase, yours=self._link.yours, latched="")
            if self._link.mode in (Mode.FAULT, Mode.ESTOP):
                self._link.mode = Mode.UNKNOWN_POSE
        if kind is wire.Start:
            self._link.start()
        return wire.Accepted(to=0, now_s=self._link.now_s)

    def _need_lease(self) -> None:
        if not self._link.reachable:
            raise LinkClosed("not connected", port="pretended")
        if not self.drives:
            self._refuse(Code.LEASE, "you do not drive this arm; claim it first")
        if self._link.mode not in (*READY, Mode.UNKNOWN_POSE):
            raise InterlockError(f"arming needs the mode idle or holding; it is {self._link.mode.value}", ["mode"])

    def _refuse(self, code: Code, reason: str) -> NoReturn:
        raise RefusedByLabError(wire.Refused(to=0, now_s=self._link.now_s, code=code, reason=reason))


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
        now_epoch_s=NOW_EPOCH_S,
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

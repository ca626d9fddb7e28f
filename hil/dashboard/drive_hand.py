"""Driving without widgets: what is held down, what it asks of the arm, and that it ends when the hand goes away.

Something is held only while a key or a button is really down. The window says so anew every few hundredths of a second;
where it cannot, because it hangs or has lost its focus, the arm stops by itself. Nothing that has ended begins anew
without being let go of first.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from PySide6.QtCore import QObject, Signal

from hil.dashboard.arm import ShownArm
from hil.dashboard.dead_man import ENDS_HOLDS, Grip
from hil.dashboard.link import FarArm
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.errors import HilError, InterlockError
from hil.service import wire
from hil.service.client import COMING_S
from hil.service.wire import LeasePhase, NoticeKind
from hil.types import AxisJog, JogFrame, Mode, ToolJog
from hil.units import DEG, MM

SPEEDS = (0.05, 0.10, 0.25, 0.50, 1.0)
SIZES = (0.1, 0.5, 2.0, 10.0)
"""Increments, in degrees and in millimetres."""

REST_S = 5.0
STEP_S = 60.0
PLANNED_S = 300.0
QUEUE_S = 8 * 3600.0

NEAR = 0.05
"""Degrees or millimetres from its target at which an axis counts as there."""

SETTLE_S = 0.45
"""Time in which an axis that is near its target would reach it at its present speed: it slows down as it comes near."""

TOOL_SPEED_M_S, TURN_SPEED_RAD_S = 0.25, 60.0 * DEG
"""Where the rig is not known; what is too fast for it the service brings down."""

READY = frozenset({Mode.IDLE, Mode.HOLDING, Mode.ARMED})

T = TypeVar("T")
Move = AxisJog | ToolJog


class Direction(Enum):
    """Ways of the tool: along an axis of the frame, or turning."""

    X = "X"
    Y = "Y"
    Z = "Z"
    PITCH = "pitch"
    ROLL = "roll"
    A = "A"
    B = "B"
    C = "C"

    @property
    def turns(self) -> bool:
        """Whether it is a turn."""
        return self not in LINES


LINES = (Direction.X, Direction.Y, Direction.Z)


class Turn(NamedTuple):
    """A turn on the pad.

    Attributes:
        why_not: why this arm cannot; empty if it can.
    """

    direction: Direction
    why_not: str = ""


def turns_of(arm: ShownArm) -> tuple[Turn, ...]:
    """The turns that an arm's tool has, and why it lacks the rest."""
    robot = arm.robot
    if robot.dof >= 6:
        return tuple(Turn(direction) for direction in (Direction.A, Direction.B, Direction.C))
    sideways = tr("only by joint 1, {name}", name=arm.axes[0].name)
    if not robot.has_pitch_and_roll:
        why_not = tr("with {count} joints the tool cannot turn by itself: use single joints", count=robot.dof)
        return tuple(Turn(direction, why_not) for direction in (Direction.A, Direction.B, Direction.C))
    has_roll = robot.tool_target([axis.home for axis in arm.axes[: robot.dof]]).roll_rad is not None
    no_roll = "" if has_roll else tr("this arm has no roll joint")
    return Turn(Direction.PITCH), Turn(Direction.ROLL, no_roll), Turn(Direction.C, sideways)


@dataclass
class Press:
    """One thing that is held down, or an increment that runs.

    Attributes:
        name: what it does, for people.
        grip: None for an increment, which ends by itself.
        ended: nothing comes of it any more; it only has to be let go of.
    """

    name: str
    source: object
    grip: Grip | None
    ended: bool = False


class DriveHand(QObject):
    """What views of driving share.

    Signals:
        changed: settings, or what is held.
        said: something to read beside the controls.

    Attributes:
        speed_share: part of the rig's speeds that is asked for.
        increment: of one press, in degrees and millimetres; None to move while it is held.
        frame: of the tool's directions.
        axis: the selected one.
        targets: where a slider was dragged to, per axis.
        press: what is held now.
        words: what was said last.
        trouble: why the loop has failed, in its own words.
    """

    changed = Signal()
    said = Signal(str)

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self.session = session
        self.speed_share = SPEEDS[2]
        self.increment: float | None = None
        self.frame = JogFrame.WORLD
        self.axis = 0
        self.targets: dict[int, float] = {}
        self.press: Press | None = None
        self.words = ""
        self.trouble = ""
        self._was_ours = False
        session.stopping.connect(lambda: self.drop(tr("stopped")))
        session.heard.connect(self._hear)
        session.arm_changed.connect(self._forget)
        session.linked.connect(self._look_at_link)

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def arm(self) -> ShownArm:
        """The one that is shown; views ask only once there is one."""
        assert self.session.arm is not None
        return self.session.arm

    @property
    def drives(self) -> bool:
        """Whether the lease is ours."""
        return self.session.lease is not None and self.session.lease.yours

    @property
    def must_park(self) -> bool:
        """Whether the service wants the arm parked before anything else."""
        return self.session.lease is not None and self.session.lease.must_park

    @property
    def mode(self) -> Mode:
        """As last heard."""
        newest = self.session.newest
        return Mode.DISCONNECTED if newest is None or not self.session.live else newest.mode

    @property
    def holding(self) -> bool:
        """Whether something is held that still counts."""
        return self.press is not None and not self.press.ended

    def say(self, text: str) -> None:
        """Something to read beside the controls."""
        self.words = text
        self.said.emit(text)

    # -- settings ----------------------------------------------------------------------------------------

    def set_speed(self, share: float) -> None:
        """Part of the rig's speeds from the next press on."""
        self.speed_share = share
        self.changed.emit()

    def faster(self, steps: int) -> None:
        """The next speed up or down."""
        at = SPEEDS.index(self.speed_share) + steps
        self.set_speed(SPEEDS[min(max(at, 0), len(SPEEDS) - 1)])

    def set_increment(self, size: float | None) -> None:
        """Size of one press from now on; None to move while it is held."""
        self.increment = size
        self.changed.emit()

    def set_frame(self, frame: JogFrame) -> None:
        """In which the tool's directions are meant."""
        self.frame = frame
        self.changed.emit()

    def select(self, axis: int) -> None:
        """The axis that plus and minus move."""
        if 0 <= axis < len(self.arm.axes):
            self.axis = axis
            self.changed.emit()

    def aim(self, axis: int, position: float) -> None:
        """Where an axis shall go while it is held; nothing moves by it.

        Raises:
            InterlockError: it is outside of the soft limits.
        """
        shown = self.arm.axes[axis]
        lower, upper, given = (value / shown.unit for value in (shown.lower, shown.upper, position))
        if not shown.lower - 1e-9 <= position <= shown.upper + 1e-9:
            raise InterlockError(
                tr(
                    "{axis}: {given:.1f} {unit} given; allowed: {lower:.1f} to {upper:.1f} {unit}, its soft limits",
                    axis=shown.name, given=given, unit=shown.unit_name, lower=lower, upper=upper,
                )
            )  # fmt: skip
        self.targets[axis] = position
        self.changed.emit()

    # -- pressing ----------------------------------------------------------------------------------------

    def press_axis(self, source: object, axis: int, sign: int) -> None:
        """A button or key of one axis goes down."""
        self.select(axis)
        shown = self.arm.axes[axis]
        name = f"{shown.name} {'+' if sign > 0 else '-'}"
        if self.increment is not None:
            self._step(source, name, self._only(axis, sign * self.increment * shown.unit))
        else:
            move = self._only(axis, sign * shown.speed * self.speed_share)
            self._jog(source, name, lambda: move)

    def press_target(self, source: object, axis: int) -> None:
        """The arm goes towards an axis's target while it is held."""
        self.select(axis)
        if axis not in self.targets:
            self.say(tr("{axis} has no target: drag its mark, or type one", axis=self.arm.axes[axis].name))
            return
        share = self.speed_share
        self._jog(source, self.arm.axes[axis].name, lambda: self._only(axis, self._rate_towards(axis, share)))

    def press_tool(self, source: object, direction: Direction, sign: int) -> None:
        """A button or key of the pad goes down."""
        turn = next((turn for turn in turns_of(self.arm) if turn.direction is direction), None)
        if direction.turns and (turn is None or turn.why_not):
            self.say(
                tr("{name} is not possible: {why}", name=direction.value, why="" if turn is None else turn.why_not)
            )
            return
        name = f"{direction.value} {'+' if sign > 0 else '-'}"
        if self.increment is not None:
            size = self.increment * (DEG if direction.turns else MM)
            self._step(source, name, self._along(direction, sign * size))
        else:
            move = self._along(direction, sign * self.speed_share * self._tool_speed(direction))
            self._jog(source, name, lambda: move)

    def press_go(self, source: object, to: str) -> None:
        """The planned move to `home` or `park` goes on while it is held."""
        share = self.speed_share

        async def go(arm: FarArm, grip: Grip) -> None:
            await arm.go(to, share)

        self._planned(source, tr("to {pose}", pose=to), go)

    def press_confirm(self, source: object) -> None:
        """Vouch that the limp arm is in its park pose, and have it driven while it is held.

        Whoever is beside the arm vouches for its servo supply, too.
        """
        beside = self.session.welcome is not None and self.session.welcome.on_site

        async def confirm(arm: FarArm, grip: Grip) -> None:
            await arm.confirm(supply_on=beside)

        self._planned(source, tr("energising"), confirm, from_rest=False)

    def release(self, source: object) -> None:
        """What this one had pressed is let go of."""
        press = self.press
        if press is not None and press.source == source and press.grip is not None:
            self._let_go(press)
            self.press = None
            self.changed.emit()

    def drop(self, why: str) -> None:
        """The hand, or the eye, is gone: nothing is held any more, and an increment ends, too."""
        press = self.press
        if press is None:
            return
        if press.grip is None:
            self.session.link.ask(lambda arm: arm.tell(wire.JogRelease), lambda result: None)
        self._let_go(press)
        self.press = None
        self.say(tr("let go: {why}", why=why))
        self.changed.emit()

    # -- lease -------------------------------------------------------------------------------------------

    def claim(self, *, wait: bool = False) -> None:
        """Ask for the lease; with `wait` stand in the queue."""
        within_s = QUEUE_S if wait else COMING_S
        self._ask(lambda arm: arm.claim(wait=wait, within_s=within_s))

    def leave_queue(self) -> None:
        """Wait no longer."""
        self._ask(lambda arm: arm.leave_queue())

    def give_back(self) -> None:
        """Nobody drives; the arm holds."""
        self.drop(tr("the lease is given back"))
        self._ask(lambda arm: arm.release())

    def take_over(self, reason: str, *, keep_booking: bool) -> None:
        """As a teacher, take the arm from its driver."""
        self._ask(lambda arm: arm.take_over(reason, keep_booking=keep_booking))

    def more_time(self, minutes: float) -> None:
        """Ask for a longer slot."""
        self._ask(lambda arm: arm.request(wire.Renew, minutes=minutes))

    def reset(self) -> None:
        """Leave a fault, or a latched stop."""
        self._ask(lambda arm: arm.request(wire.Reset))

    def thaw(self) -> None:
        """Allow motion again on a frozen arm."""
        self._ask(lambda arm: arm.request(wire.Thaw))

    # -- how it is done ----------------------------------------------------------------------------------

    def _begin(self, source: object, name: str, *, held: bool) -> Press | None:
        """A new press; None while another one counts."""
        if self.press is not None:
            if not self.press.ended or self.press.source != source:
                self.say(tr("one at a time: {name} is not over yet", name=self.press.name))
            return None
        self.press = Press(name, source, self.session.dead_man.take_hold(self._end) if held else None)
        self.say("")
        self.changed.emit()
        return self.press

    def _let_go(self, press: Press) -> None:
        press.ended = True
        if press.grip is not None:
            self.session.dead_man.let_go(press.grip)

    def _jog(self, source: object, name: str, move: Callable[[], Move]) -> None:
        share = self.speed_share

        async def jog(arm: FarArm, grip: Grip) -> None:
            began = False

            def goes_on() -> bool:
                nonlocal began
                began = began or arm.mode is Mode.STREAMING
                return grip.held and (not began or arm.mode is Mode.STREAMING)

            await arm.jog(move, goes_on, share, sign=lambda: grip.sign)

        self._hold(source, name, jog)

    def _planned(
        self,
        source: object,
        name: str,
        act: Callable[[FarArm, Grip], Coroutine[Any, Any, None]],
        *,
        from_rest: bool = True,
    ) -> None:
        async def do(arm: FarArm, grip: Grip) -> None:
            mark = arm.mark
            await act(arm, grip)
            await arm.settled(mark, PLANNED_S)

        self._hold(source, name, do, from_rest=from_rest)

    def _hold(
        self,
        source: object,
        name: str,
        act: Callable[[FarArm, Grip], Coroutine[Any, Any, None]],
        *,
        from_rest: bool = True,
    ) -> None:
        press = self._begin(source, name, held=True)
        if press is None or press.grip is None:
            return
        grip = press.grip

        async def do(arm: FarArm) -> None:
            await arm.free()
            if from_rest:
                await arm.until(lambda: arm.mode in READY or not grip.held, REST_S)
            if not grip.held:
                return
            try:
                await act(arm, grip)
            except InterlockError:
                # Whoever lets go while it begins has not been refused anything.
                if grip.held:
                    raise

        self.session.link.ask(do, lambda result: self._over(press, result))

    def _step(self, source: object, name: str, move: Move) -> None:
        press, share = self._begin(source, name, held=False), self.speed_share
        if press is None:
            return

        async def do(arm: FarArm) -> None:
            await arm.free()
            await arm.until(lambda: arm.mode in READY, REST_S)
            mark = arm.mark
            await arm.step(move, share)
            await arm.settled(mark, STEP_S)

        self.session.link.ask(do, lambda result: self._over(press, result))

    def _over(self, press: Press, result: object) -> None:
        """The arm is done with a press, or has refused it."""
        if press.grip is None:
            if self.press is press:
                self.press = None
        elif not press.ended:
            lapsed = not press.grip.held
            self._let_go(press)
            if lapsed:
                self.say(tr("the window was busy, the arm has stopped: let go and press again"))
        self._complain(result)
        self.changed.emit()

    def _ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]]) -> None:
        self.session.link.ask(what, self._complain)
        self.changed.emit()

    def _complain(self, result: object) -> None:
        if isinstance(result, HilError):
            self.say(str(result))
            self.changed.emit()

    # -- moves -------------------------------------------------------------------------------------------

    def _only(self, axis: int, amount: float) -> AxisJog:
        return AxisJog(amounts=tuple(amount if i == axis else 0.0 for i in range(len(self.arm.axes))))

    def _rate_towards(self, axis: int, share: float) -> float:
        """As fast as allowed, slower near the target, nothing at it."""
        newest, shown, target = self.session.newest, self.arm.axes[axis], self.targets.get(axis)
        here = None if newest is None or axis >= len(newest.commanded) else newest.commanded[axis]
        if here is None or target is None or not self.session.live:
            return 0.0
        way = target - here
        if abs(way) < NEAR * shown.unit:
            return 0.0
        most = share * shown.speed
        return min(max(way / SETTLE_S, -most), most)

    def _along(self, direction: Direction, amount: float) -> ToolJog:
        x, y, z = (amount if direction is each else 0.0 for each in LINES)
        a, b, c = (amount if direction is each else 0.0 for each in (Direction.A, Direction.B, Direction.C))
        return ToolJog(
            frame=self.frame,
            linear=(x, y, z),
            pitch=amount if direction is Direction.PITCH else 0.0,
            roll=amount if direction is Direction.ROLL else 0.0,
            turn=(a, b, c),
        )

    def _tool_speed(self, direction: Direction) -> float:
        rig = self.arm.rig
        if not direction.turns:
            return TOOL_SPEED_M_S if rig is None else rig.tool_speed_m_s
        turning = [axis.speed for axis in self.arm.axes if not axis.gripper]
        return min(turning, default=TURN_SPEED_RAD_S)

    # -- what is heard -----------------------------------------------------------------------------------

    def _hear(self, message: object) -> None:
        if isinstance(message, wire.LeaseNews):
            self._lease_news(message)
        elif isinstance(message, wire.Notice):
            self._notice(message)

    def _lease_news(self, news: wire.LeaseNews) -> None:
        if news.yours and not self._was_ours:
            self.say(tr("it is your turn: you drive"))
        elif self._was_ours and not news.yours:
            self.drop(tr("the lease is no longer yours"))
            why = news.reason or news.lease.phase.value
            if news.lease.phase not in (LeasePhase.FREE, LeasePhase.CLEARING) or "given" not in why:
                self.session.failed.emit(tr("You no longer drive: {why}", why=why))
            self.say(tr("you no longer drive: {why}", why=why))
        self._was_ours = news.yours
        self.changed.emit()

    def _notice(self, notice: wire.Notice) -> None:
        text = notice.text
        if notice.kind is NoticeKind.LOOP:
            change, _, why = text.partition(": ")
            if change.endswith(("-> fault", "-> estop")):
                self.trouble = why
                self._end(why)
            elif self.holding and change == "streaming -> stopping" and "released" not in why:
                self.say(why)
            elif text.startswith("refused: "):
                self._end(text.removeprefix("refused: "))
            elif text.startswith(("[", "the jog ")):
                self.say(text)
            return
        if notice.kind in TOLD_LOUDLY:
            self.session.failed.emit(text)
            self.say(text)
        if notice.kind in ENDS_HOLDS:
            self._end(text)

    def _end(self, why: str) -> None:
        """Nothing more comes of what is held; it has to be let go of and pressed again."""
        if self.press is not None and self.press.grip is not None:
            self._let_go(self.press)
        self.say(why)
        self.changed.emit()

    def _look_at_link(self) -> None:
        if self.session.parted:
            self._was_ours = False
            self.drop(tr("there is no service"))
        self.changed.emit()

    def _forget(self) -> None:
        self.targets.clear()
        self.axis = 0
        self.changed.emit()


TOLD_LOUDLY = frozenset(
    {
        NoticeKind.SLOT_ENDS,
        NoticeKind.SLOT_OVER,
        NoticeKind.TOKEN_ENDS,
        NoticeKind.TAKEN_OVER,
        NoticeKind.FROZEN,
        NoticeKind.SUSPENDED,
        NoticeKind.SERVER_ENDS,
        NoticeKind.HOLD_ENDS,
    }
)
"""What a driver has to see, whatever they look at."""

"""Driving without widgets: what is held down, what it asks of the arm, and that it ends when the hand goes away.

Something is held only while a key or a button is really down. The window says so anew every few hundredths of a second;
where it cannot, because it hangs or has lost its focus, the arm stops by itself. Nothing that has ended begins anew
without being let go of first.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from hil.dashboard.arm import ShownArm
from hil.dashboard.dead_man import ENDS_HOLDS, Grip
from hil.dashboard.drive_moves import Direction, Move, along, only, rate_towards, tool_speed, turns_of
from hil.dashboard.drive_scripts import Act, jog, planned, step, while_held
from hil.dashboard.driver_lease import DriverLease
from hil.dashboard.link import FarArm
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.errors import HilError, InterlockError
from hil.service import wire
from hil.service.wire import NoticeKind
from hil.types import JogFrame, Mode
from hil.units import DEG, MM

SPEEDS = (0.05, 0.10, 0.25, 0.50, 1.0)
SIZES = (0.1, 0.5, 2.0, 10.0)
"""Increments, in degrees and in millimetres."""

T = TypeVar("T")


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
        dropped: presses that came while another one counted.
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
        self.dropped = 0
        self.words = ""
        self.trouble = ""
        self.lease = DriverLease(session, self)
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
        return self.lease.ours

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
            self._step(source, name, only(self.arm, axis, sign * self.increment * shown.unit))
        else:
            move = only(self.arm, axis, sign * shown.speed * self.speed_share)
            self._hold(source, name, jog(lambda: move, self.speed_share))

    def press_target(self, source: object, axis: int) -> None:
        """The arm goes towards an axis's target while it is held."""
        self.select(axis)
        if axis not in self.targets:
            self.say(tr("{axis} has no target: drag its mark, or type one", axis=self.arm.axes[axis].name))
            return
        share = self.speed_share
        towards = jog(lambda: only(self.arm, axis, self._rate_towards(axis, share)), share)
        self._hold(source, self.arm.axes[axis].name, towards)

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
            self._step(source, name, along(self.frame, direction, sign * size))
        else:
            move = along(self.frame, direction, sign * self.speed_share * tool_speed(self.arm, direction))
            self._hold(source, name, jog(lambda: move, self.speed_share))

    def press_go(self, source: object, to: str) -> None:
        """The planned move to `home` or `park` goes on while it is held."""
        share = self.speed_share
        self._hold(source, tr("to {pose}", pose=to), planned(lambda arm: arm.go(to, share)))

    def press_confirm(self, source: object) -> None:
        """Vouch that the limp arm is in its park pose, and have it driven while it is held.

        Whoever is beside the arm vouches for its servo supply, too.
        """
        beside = self.session.welcome is not None and self.session.welcome.on_site
        confirm = planned(lambda arm: arm.confirm(supply_on=beside))
        self._hold(source, tr("energising"), confirm, from_rest=False)

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
            # One that was asked for and has not begun yet is called off by a stop alone.
            self.session.link.ask(lambda arm: arm.tell(wire.Stop, reason=why), lambda result: None)
        self._let_go(press)
        self.press = None
        self.say(tr("let go: {why}", why=why))
        self.changed.emit()

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]]) -> None:
        """Have something done, and say what is refused."""
        self.session.link.ask(what, self._complain)
        self.changed.emit()

    # -- how it is done ----------------------------------------------------------------------------------

    def _begin(self, source: object, name: str, *, held: bool) -> Press | None:
        """A new press; None while another one counts."""
        if self.press is not None:
            if not self.press.ended or self.press.source != source:
                self._drop_press(name, self.press)
            return None
        self.press = Press(name, source, self.session.dead_man.take_hold(self._end) if held else None)
        self.dropped = 0
        self.say("")
        self.changed.emit()
        return self.press

    def _drop_press(self, name: str, running: Press) -> None:
        """A press while another one counts is not carried out, and that is said, also if it comes again and again."""
        self.dropped += 1
        words = tr("one at a time: {running} is not over yet, {name} was dropped", running=running.name, name=name)
        self.say(words if self.dropped == 1 else tr("{words} ({count} presses)", words=words, count=self.dropped))

    def _let_go(self, press: Press) -> None:
        press.ended = True
        if press.grip is not None:
            self.session.dead_man.let_go(press.grip)

    def _hold(self, source: object, name: str, act: Act, *, from_rest: bool = True) -> None:
        press = self._begin(source, name, held=True)
        if press is None or (grip := press.grip) is None:
            return

        async def do(arm: FarArm) -> bool:
            return await while_held(arm, grip, act, from_rest=from_rest)

        self.session.link.ask(do, lambda result: self._over(press, result))

    def _step(self, source: object, name: str, move: Move) -> None:
        press, share = self._begin(source, name, held=False), self.speed_share
        if press is not None:
            self.session.link.ask(
                lambda arm: step(arm, move, share, lambda: not press.ended), lambda result: self._over(press, result)
            )

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
        if result is False and not self.words:
            self.say(tr("{name}: let go before it began, nothing moved; hold it a little longer", name=press.name))
        self._complain(result)
        self.changed.emit()

    def _complain(self, result: object) -> None:
        if isinstance(result, HilError):
            self.say(str(result))
            self.changed.emit()

    def _rate_towards(self, axis: int, share: float) -> float:
        newest, target = self.session.newest, self.targets.get(axis)
        here = None if newest is None or axis >= len(newest.commanded) else newest.commanded[axis]
        if here is None or target is None or not self.session.live:
            return 0.0
        return rate_towards(self.arm, axis, here, target, share)

    # -- what is heard -----------------------------------------------------------------------------------

    def _hear(self, message: object) -> None:
        if isinstance(message, wire.LeaseNews):
            self.lease.hear(message)
            self.changed.emit()
        elif isinstance(message, wire.Notice):
            self._notice(message)

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
            self.lease.lost()
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

"""What holds one arm of a lab, what that carries, how long it has, and which axis may be let go of next."""

from __future__ import annotations

from hil.errors import CommandError
from hil.model.rig import Rig
from hil.runtime.hold_reminder import REMIND_S
from hil.service.arm_channel import ArmReport
from hil.service.wire import AxisLoad, Holding, NextLimp
from hil.space.gravity_load import GravityLoad, Load
from hil.space.letting_go import next_release
from hil.types import WRITING, Mode, StateSource, Supply

EVERY_S = 0.25
"""More often nobody looks whether there is anything new."""
MINUTE_S = 60.0
GOES_S = 1.5
"""Within this time an axis that was let go of has to be seen limp, or that it is not."""
_LEAST = 0.01
"""Loads that differ by less, in N m or shares, are no news."""
_NOT_NOW = frozenset({*WRITING, Mode.ARMED, Mode.CONNECTING, Mode.DISCONNECTED})


class ArmHolding:
    """Follows the reports of one arm's worker. Of an arm that measures there is little to say: its brakes hold it.

    Args:
        rig: the resolved rig.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._load: GravityLoad | None = None
        self._basis = ""
        self._looked_s = float("-inf")
        self._told: object = None
        self.forget()

    def forget(self) -> None:
        """The worker is gone; the next one may have another arm behind it."""
        self._report: ArmReport | None = None
        self._where = list(self._rig.park)
        self._since_s: float | None = None
        self._commanded: tuple[float | None, ...] = ()
        self._going: tuple[str, float] | None = None

    def take(self, report: ArmReport) -> None:
        """A report came."""
        self._report = report
        at = report.reported
        if at is not None and None not in at:
            # Of what has sunk nobody knows where it is: what it carried is reckoned from where it was held.
            self._where = [position for position in at if position is not None]
        moved = report.mode in WRITING or report.commanded != self._commanded
        self._commanded = report.commanded
        if not self.driven or self.supply in (Supply.CUT, Supply.FORGOTTEN):
            self._since_s = None
        elif moved or self._since_s is None:
            self._since_s = report.t_s

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def supply(self) -> Supply:
        """What is held of the servo supply."""
        return Supply.UNSAID if self._report is None else self._report.supply

    @property
    def driven(self) -> tuple[str, ...]:
        """Axes that pulses hold, as the controller says."""
        report = self._report
        if report is None or report.reported is None or report.source is not StateSource.ECHOED:
            return ()
        pairs = zip(self._rig.axes, report.reported, strict=True)
        return tuple(axis.name for axis, position in pairs if position is not None)

    @property
    def held_s(self) -> float | None:
        """How long they have only been held."""
        if self._since_s is None or self._report is None:
            return None
        return self._report.t_s - self._since_s

    def message(self, now_s: float) -> Holding:
        """All of it, for everybody at the arm."""
        loads, held_s = self._loads(), self.held_s
        return Holding(
            now_s=now_s,
            supply=self.supply,
            driven=self.driven,
            held_s=held_s,
            remind=held_s is not None and held_s >= REMIND_S,
            loads=tuple(
                AxisLoad(axis=load.axis, torque=load.torque_n_m, share=load.share, heavy=load.heavy) for load in loads
            ),
            basis=self._basis if loads else "",
            next=self.next,
        )

    def news(self, now_s: float) -> Holding | None:
        """The same, if something of it is new; not of an arm that moves."""
        if now_s - self._looked_s < EVERY_S or self._report is None or self._report.mode in WRITING:
            return None
        self._looked_s = now_s
        message = self.message(now_s)
        minutes = None if message.held_s is None else int(message.held_s / MINUTE_S)
        carried = tuple(round(load.torque / _LEAST) for load in message.loads)
        what = (message.supply, message.driven, minutes, carried, message.next)
        if what == self._told:
            return None
        self._told = what
        return message

    @property
    def next(self) -> NextLimp | None:
        """The axis that may be let go of now."""
        driven = self.driven
        if not driven:
            return None
        found = next_release(self._rig, self._gravity(), self._where, driven)
        if found is None:
            return None
        text = found.text
        if self.supply is Supply.CUT:
            text = f"The servo supply was cut: the {found.axis} hangs limp already, and its pulse is switched off"
        return NextLimp(axis=found.axis, text=text, after=found.after)

    # -- letting go --------------------------------------------------------------------------------------

    def begin(self, axis: str, mode: Mode, now_s: float) -> str:
        """Somebody wants to let this axis go.

        Returns:
            Words for the answer.

        Raises:
            CommandError: not now, another one comes first, or whether the one before is limp is not known yet.
        """
        if mode in _NOT_NOW:
            raise CommandError(f"an axis is let go of while nothing moves or is armed; it is {mode.value}: stop first")
        first = self.next
        if first is None:
            raise CommandError(
                "its controller says of no axis that pulses hold it: there is nothing to let go of here",
                axis=axis,
            )
        if self._going is not None and self._going[0] in self.driven and now_s - self._going[1] < GOES_S:
            raise CommandError(f"one axis at a time: whether the {self._going[0]} is limp is not known yet")
        if axis != first.axis:
            raise CommandError(
                f"{axis!r} given; allowed: {first.axis}, for what carries most is let go of last", axis=axis
            )
        self._going = axis, now_s
        return first.text

    def _gravity(self) -> GravityLoad:
        if self._load is None:
            self._load = GravityLoad(self._rig)
            self._basis = self._load.basis
        return self._load

    def _loads(self) -> tuple[Load, ...]:
        """Of the joints that are driven; what hangs on limp ones is not known."""
        driven = self.driven
        if not driven or self.supply in (Supply.CUT, Supply.FORGOTTEN):
            return ()
        return tuple(load for load in self._gravity().loads(self._where) if load.axis in driven)

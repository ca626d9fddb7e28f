"""One line on what holds an arm: its servo supply, for how long, and what the servos carry, as an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hil.model.rig import Rig
    from hil.service.wire import Holding
    from hil.types import Supply, TickRecord

MINUTE_S = 60.0


def power_line(supply: Supply, held_s: float | None, carried: str) -> str:
    """The line; empty for an arm that measures, whose brakes hold it.

    Args:
        supply: what is held of it.
        held_s: how long pulses have only held it; None where they do not, or nobody knows.
        carried: what that takes of the servos, in words.
    """
    from hil.types import Supply

    words = {
        Supply.UNSAID: "servo supply: nobody has said",
        Supply.ON: "servo supply: said to be on",
        Supply.CUT: "servo supply: CUT, somebody said; nothing that is echoed counts",
        Supply.FORGOTTEN: "servo supply: was cut; the board has forgotten its pulses, and who confirms says it is on",
    }
    if supply is Supply.FELT:
        return ""
    held = "" if held_s is None else f"; held for {held_s / MINUTE_S:.0f} min"
    return f"{words[supply]}{held}{carried and '; '}{carried}"


def far_power_line(holding: Holding | None) -> str:
    """The same of an arm far away."""
    if holding is None or (holding.held_s is None and not holding.loads and holding.supply.value in ("unsaid", "felt")):
        return ""
    return power_line(holding.supply, holding.held_s, _carried(holding))


def _carried(holding: Holding) -> str:
    from hil.space.gravity_load import SHOWN_N_M, Load, carried_words

    loads = [Load(axis=load.axis, torque_n_m=load.torque, share=load.share) for load in holding.loads]
    return carried_words(loads, holding.basis) if any(abs(load.torque_n_m) >= SHOWN_N_M for load in loads) else ""


class Power:
    """Follows the ticks of an arm that is here.

    Args:
        rig: the resolved rig.
    """

    def __init__(self, rig: Rig) -> None:
        from hil.runtime.hold_reminder import HoldingWatch
        from hil.space.gravity_load import GravityLoad
        from hil.types import Supply

        self._watch, self._load = HoldingWatch(rig), GravityLoad(rig)
        self._supply = Supply.UNSAID
        self._measures = False
        self._setpoint: tuple[float, ...] = rig.park

    def take(self, record: TickRecord) -> None:
        """A tick has come."""
        self._watch.take(record)
        if record.supply is not None:
            self._supply = record.supply
        self._measures = record.reported is not None and record.reported.source.of_arm
        self._setpoint = record.setpoint

    def line(self) -> str:
        """What there is to say now."""
        held_s = self._watch.held_s
        carried = "" if held_s is None else self._load.words(self._setpoint)
        return "" if self._measures else power_line(self._supply, held_s, carried)

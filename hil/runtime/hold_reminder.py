"""Reminds of an arm that is held by its pulses for long: after a session, or in one, its servos get hot."""

from __future__ import annotations

from hil.model.rig import Rig
from hil.space.gravity_load import GravityLoad
from hil.types import Supply, TickRecord

REMIND_S = 600.0
REMINDER = "the arm has held still for"
"""So the words begin."""


class HoldingWatch:
    """Follows the ticks of one arm that cannot feel, and says so every ten minutes in which it only held.

    Args:
        rig: the resolved rig.
        address: of the lab that owns the arm; empty where a person's own program does.
    """

    def __init__(self, rig: Rig, address: str = "") -> None:
        self._rig = rig
        own = f"after the session let it go with `hil release {rig.id}`"
        self._way = f"let it go with `hil release {address.rstrip('/')}/{rig.id}`" if address else own
        self._since_s: float | None = None
        self._now_s = 0.0
        self._told = 0
        self._cut = False
        self._load: GravityLoad | None = None

    @property
    def held_s(self) -> float | None:
        """How long it has only been held, by the newest tick; None where no pulses hold it, or nobody knows."""
        return None if self._since_s is None else self._now_s - self._since_s

    def take(self, tick: TickRecord) -> str:
        """One more tick; words for the user, mostly empty."""
        self._now_s = tick.t_s
        self._follow(tick)
        if self._since_s is None:
            return ""
        whole = int((tick.t_s - self._since_s) / REMIND_S)
        if whole <= self._told:
            return ""
        self._told = whole
        self._load = self._load or GravityLoad(self._rig)
        return (
            f"{REMINDER} {whole * REMIND_S / 60.0:.0f} min, and servos that hold get hot: move it, park it, or "
            f"{self._way}; {self._load.words(tick.setpoint)}"
        )

    def _follow(self, tick: TickRecord) -> None:
        """Since when it holds; a controller that is silent goes on holding."""
        report = tick.reported
        if tick.supply is not None:
            self._cut = tick.supply in (Supply.CUT, Supply.FORGOTTEN)
        if tick.sent is not None or self._cut:
            self._since_s, self._told = None if self._cut else tick.t_s, 0
        elif report is not None and report.source.of_arm:
            self._since_s = None
        elif report is not None:
            driven = any(position is not None for position in report.positions)
            self._since_s = (tick.t_s if self._since_s is None else self._since_s) if driven else None

"""The guided first move: axis after axis is driven where it was confirmed to be, until the controller drives all."""

from __future__ import annotations

from collections.abc import Sequence

from hil.model.rig import Rig
from hil.runtime.brake import Brake
from hil.runtime.connection import Connection
from hil.runtime.divergence import DivergenceMonitor
from hil.runtime.driven import DrivenWait
from hil.runtime.intent import Intent
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.outlet import Outlet, TickOutput
from hil.runtime.sources import EnergiseSource
from hil.runtime.trail import Trail
from hil.safety.guard import Guard
from hil.types import EnergiseCommand


class FirstMoves:
    """Drives the axes one by one where they were confirmed to be, until the controller drives all of them.

    Args:
        rig: the resolved rig.
        guard: the live checks.
        connection: what the controller drives, and whether its line may be used.
        divergence: begins anew where the pose does.
        log: mode and words.
        intent: holds the first moves.
        trail: begins where the pose is known.
        brake: for a controller that does not do it.
        outlet: to the arm.
    """

    def __init__(
        self,
        rig: Rig,
        guard: Guard,
        connection: Connection,
        divergence: DivergenceMonitor,
        log: ModeLog,
        intent: Intent,
        trail: Trail,
        brake: Brake,
        outlet: Outlet,
    ) -> None:
        self._rig, self._guard, self._connection, self._divergence = rig, guard, connection, divergence
        self._log, self._intent, self._trail, self._brake, self._outlet = log, intent, trail, brake, outlet
        self._driven = DrivenWait([axis.name for axis in rig.axes])

    def begin(self, pose: Sequence[float], by: str) -> None:
        """The pose was confirmed, and nothing speaks against it."""
        inside = self._guard.inside(pose)
        self._intent.first_moves = EnergiseSource(inside, self._rig.energise_order, self._rig.energise_dwell_s)
        self._driven.begin()
        self._log.follow(Event.CONFIRMED, f"pose confirmed by {by}; driving the axes one by one")

    def write(self, tick: TickOutput) -> None:
        """Drive the axis that is due, if its line may be used."""
        source = self._intent.first_moves
        assert source is not None
        if source.finished(tick.now_s):
            if self._all_driven(tick.now_s):
                self._guard.reset(source.positions)
                self._trail.stand(source.positions)
                self._divergence.reset()
                self._log.follow(Event.ENERGISED, "all axes are driven; the pose is known")
            return
        axis = source.due(tick.now_s)
        if axis is None or not self._connection.health.may_move:
            return
        tick.wanted = EnergiseCommand(seq=self._outlet.next_seq(), axis=axis, position=source.positions[axis])
        if self._outlet.send(tick, tick.wanted) is not None:
            source.advance(tick.now_s)

    def _all_driven(self, now_s: float) -> bool:
        """Whether the controller has done what the first moves asked for: until then the pose is not known."""
        known = self._connection.state.known
        if words := self._driven.words(known, now_s):
            self._log.say(words)
        if not all(known) and self._driven.over(now_s):
            self._brake.stop(now_s, f"the controller does not drive {self._driven.missing(known)}; confirm again")
        return all(known)

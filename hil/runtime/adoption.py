"""A pose is confirmed by a person and adopted once fresh reports agree: from UNKNOWN_POSE to the first moves."""

from __future__ import annotations

from hil.errors import CommandError, InterlockError
from hil.model.rig import Rig
from hil.motion.refusals import say, say_range
from hil.runtime.connection import Connection
from hil.runtime.divergence import REPLY_AGE_S
from hil.runtime.farewell import SessionEnd
from hil.runtime.first_moves import FirstMoves
from hil.runtime.intent import Intent
from hil.runtime.mode_log import ModeLog
from hil.runtime.remedies import bring_to_park
from hil.runtime.supply import ServoSupply
from hil.runtime.trail import Trail
from hil.types import Confirm, JointState, Mode, StateSource

REPLY_AGE_PERIODS = 5
REPLY_AGE_REPORTS = 1
"""A controller may take its time to answer: a whole round of an RV-2AJ's questions, half a second, is still fresh."""
CONFIRM_S = 1.0


class Adoption:
    """Brings together a person's word for the pose and the controller's reports, which that word waits for.

    Args:
        rig: the resolved rig.
        connection: what the controller reports.
        supply: what is held of the servo supply.
        first_moves: what follows.
        log: mode and words.
        intent: holds the pose that waits.
        trail: when the arm was still.
        end: of the session.
    """

    def __init__(
        self,
        rig: Rig,
        connection: Connection,
        supply: ServoSupply,
        first_moves: FirstMoves,
        log: ModeLog,
        intent: Intent,
        trail: Trail,
        end: SessionEnd,
    ) -> None:
        self._rig, self._connection, self._supply, self._first_moves = rig, connection, supply, first_moves
        self._log, self._intent, self._trail, self._end = log, intent, trail, end
        self._fresh_s = max(
            REPLY_AGE_S, REPLY_AGE_PERIODS * rig.period_s, REPLY_AGE_REPORTS * rig.controller.report_period_s
        )
        self._until_s = 0.0

    def confirm(self, request: Confirm, now_s: float) -> None:
        """Take a person's word for where the arm stands.

        Raises:
            InterlockError: not in this mode, not any more in this session, or nothing is said of a supply that was cut.
            CommandError: the pose does not fit the rig.
        """
        self._end.refuse()
        self._log.need(Mode.UNKNOWN_POSE, "confirm a pose")
        axes = self._rig.axes
        if len(request.positions) != len(axes):
            raise CommandError(
                f"confirmed pose: {len(request.positions)} positions given; allowed: {len(axes)}, one per axis",
                value=request.positions,
                allowed=str(len(axes)),
            )
        for axis, confirmed in zip(axes, request.positions, strict=True):
            if not axis.lower <= confirmed <= axis.upper:
                raise CommandError(
                    f"{axis.name}: confirmed position {say(axis, confirmed)} given; allowed: {say_range(axis)}",
                    axis=axis.name,
                    value=confirmed,
                )
        self._supply.check(request.supply_on)
        self._intent.confirmed, self._until_s = request, now_s + CONFIRM_S

    def adopt(self, now_s: float) -> None:
        """Begin to drive the axes at the confirmed pose, once fresh reports agree which are driven already.

        Raises:
            InterlockError: there are no such reports; it counts as not confirmed.
            CommandError: the controller has an axis where none may be; the same.
        """
        request, report = self._intent.confirmed, self._connection.reports.agreed
        assert request is not None
        # What was reported before the pulses last changed, or long ago, may be where the arm is no more.
        if report is None or report.t_s < max(self._trail.still_s, now_s - self._fresh_s):
            if now_s < self._until_s:
                return
            self._intent.confirmed = None
            raise InterlockError(
                f"the controller has not said twice alike within {CONFIRM_S:g} s which axes it drives, and where "
                f"({self._connection.health.words(now_s)}); then confirm again",
                ["a fresh report"],
            )
        self._intent.confirmed = None
        self._first_moves.begin(self._pose(request, report), request.by)
        self._supply.vouched(request.supply_on)

    def _pose(self, request: Confirm, report: JointState) -> list[float]:
        pose = []
        for axis, confirmed, reported, step in zip(
            self._rig.axes, request.positions, report.positions, self._connection.reports.step, strict=True
        ):
            # A controller that already drives the axis elsewhere keeps it there: adopting its pulse moves nothing.
            if reported is None or abs(reported - confirmed) <= step:
                pose.append(confirmed)
            elif axis.lower - step <= reported <= axis.upper + step:
                pose.append(min(max(reported, axis.lower), axis.upper))
            else:
                verb = "measures" if report.source is StateSource.MEASURED else "drives"
                raise CommandError(
                    f"{axis.name}: the controller {verb} it at {say(axis, reported)}; allowed: {say_range(axis)}. "
                    f"{bring_to_park(report)}",
                    axis=axis.name,
                    value=reported,
                )
        return pose

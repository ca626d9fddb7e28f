"""Whether an arm may be armed and moved: its pose is known, its controller answers, and what it is armed for."""

from __future__ import annotations

from hil.errors import InterlockError
from hil.model.rig import Rig
from hil.runtime.connection import Connection
from hil.runtime.divergence import stands_elsewhere
from hil.runtime.farewell import SessionEnd
from hil.runtime.line_health import Level
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.trail import Trail
from hil.types import Mode

ARM_LAPSE_S = 30.0


class Readiness:
    """Arms the rig, for a motion or for a hand, and lets that lapse.

    Args:
        rig: the resolved rig.
        connection: what the controller reports.
        log: mode and words.
        trail: where the arm is taken to stand.
        end: of the session.

    Attributes:
        jog_share: part of the rig's speeds that a jog may have; None if the rig is armed for a motion, or was never.
    """

    def __init__(self, rig: Rig, connection: Connection, log: ModeLog, trail: Trail, end: SessionEnd) -> None:
        self._rig, self._connection, self._log, self._trail, self._end = rig, connection, log, trail, end
        self._at_s = 0.0
        self.jog_share: float | None = None

    @property
    def for_jog(self) -> bool:
        """It is armed for a hand on a key."""
        return self._log.mode is Mode.ARMED and self.jog_share is not None

    def may_arm(self, again: bool = False) -> None:
        """Make sure that this is a time to arm; with `again` it may be armed already.

        Raises:
            InterlockError: it is not.
        """
        self._end.refuse()
        if self._log.mode not in (Mode.IDLE, Mode.HOLDING) and not again:
            raise InterlockError(f"arming needs the mode idle or holding; it is {self._log.mode.value}", ["mode"])

    def arm(self, now_s: float, words: str, jog_share: float | None = None) -> None:
        """Nothing speaks against it any more: a start may come."""
        self._at_s, self.jog_share = now_s, jog_share
        self._log.follow(Event.ARM, words)

    def lapse(self, now_s: float) -> None:
        """Who arms and then does not start is armed no more after a while."""
        if self._log.mode is Mode.ARMED and now_s - self._at_s > ARM_LAPSE_S:
            self._log.follow(Event.LAPSE, f"armed for {ARM_LAPSE_S:.0f} s without a start: no longer armed")

    def check(self, now_s: float) -> None:
        """Make sure that the pose is known and the controller answers.

        Raises:
            InterlockError: an axis is not driven, stands elsewhere, or the newest report is too old.
        """
        state, health = self._connection.state, self._connection.health
        if not all(state.known):
            names = [axis.name for axis, known in zip(self._rig.axes, state.known, strict=True) if not known]
            raise InterlockError(
                f"the controller does not drive {', '.join(names)} yet; try again in a moment", ["known pose"]
            )
        if elsewhere := stands_elsewhere(self._rig, self._trail.here, state.joints):
            raise InterlockError(elsewhere, ["known pose"])
        age_s, allowed_s = health.age_s(now_s), health.hold_s
        if age_s > allowed_s or health.level >= Level.HOLD:
            raise InterlockError(
                f"the newest report of the controller that can be believed is {age_s:.2f} s old; allowed: "
                f"{allowed_s:.2f} s. {health.words(now_s)}",
                ["answers"],
            )

"""A hand that leads: arms the rig for it, begins a jog or follows targets, goes on while that lasts, lets it end."""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import CommandError, InterlockError
from hil.model.rig import Rig
from hil.runtime.brake import Brake
from hil.runtime.follow_source import FollowSource, Led
from hil.runtime.intent import Intent
from hil.runtime.jog_source import JogSource
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.readiness import Readiness
from hil.runtime.sources import Positions
from hil.runtime.trail import Trail
from hil.safety.guard import Guard
from hil.types import FollowTarget, JogHold, JogStep, Mode


class HandJog:
    """What a hand asks for: hold by hold, step by step, target by target.

    Args:
        rig: the resolved rig.
        guard: the live checks.
        readiness: of the arm.
        log: mode and words.
        intent: gets the jog as its source.
        trail: where the arm stands.
        brake: for a jog that is released.
    """

    def __init__(
        self, rig: Rig, guard: Guard, readiness: Readiness, log: ModeLog, intent: Intent, trail: Trail, brake: Brake
    ) -> None:
        self._rig, self._guard, self._readiness = rig, guard, readiness
        self._log, self._intent, self._trail, self._brake = log, intent, trail, brake
        self._seq = 0

    @property
    def has_the_arm(self) -> bool:
        """The arm is armed for jogging, or jogs."""
        return self._readiness.for_jog or isinstance(self._intent.source, Led)

    def arm(self, share: float, now_s: float) -> None:
        """Arm the rig for jogs with a share of its speeds.

        Raises:
            InterlockError: something is not as it has to be; see `Readiness`.
            CommandError: the share is outside its range.
        """
        self._readiness.may_arm(again=self._readiness.for_jog)
        if not 0.0 < share <= 1.0:
            raise CommandError(f"speed share {share!r} of a jog; allowed: above 0 to 1", value=share)
        self._readiness.check(now_s)
        self._readiness.arm(now_s, f"armed for jogging at {100.0 * share:g} % speed", share)

    def hold(self, request: JogHold, now_s: float) -> None:
        """Begin what is held, or go on with it; one that was overtaken counts for nothing.

        Raises:
            HilError: the arm is not ready for it, or it is refused; see `JogSource`.
        """
        if request.seq <= self._seq:
            return
        self._seq = request.seq
        source = self._intent.source
        if self._log.mode is Mode.STREAMING and isinstance(source, JogSource):
            source.hold(request, now_s)
        else:
            self._jog(now_s, lambda jog: jog.hold(request, now_s))

    def follow(self, request: FollowTarget, now_s: float) -> None:
        """Begin to follow targets, or go on to this one; one that was overtaken counts for nothing.

        Raises:
            HilError: the arm is not ready for it, or it is refused; see `FollowSource`.
        """
        if request.seq <= self._seq:
            return
        self._seq = request.seq
        source = self._intent.source
        if self._log.mode is Mode.STREAMING and isinstance(source, FollowSource):
            source.take(request, now_s)
            return
        share, here = self._may_begin(now_s)
        following = FollowSource(self._rig, self._guard.robot, self._guard.body, here, share)
        following.begin(request, now_s)
        self._begin(following, here, share, now_s, "following targets")

    def step(self, request: JogStep, now_s: float) -> None:
        """Begin one increment; errors as for `hold`."""
        self._jog(now_s, lambda jog: jog.step(request))

    def release(self, seq: int, now_s: float) -> None:
        """The hand has let go; holds from before it come too late."""
        self._seq = max(self._seq, seq)
        source = self._intent.source
        if isinstance(source, Led):
            self._brake.stop(now_s, "the jog was released" if isinstance(source, JogSource) else "the targets end")

    def _jog(self, now_s: float, ask: Callable[[JogSource], None]) -> None:
        share, here = self._may_begin(now_s)
        # Robot and body not anew: that takes long, and what is left of old ones nobody collects while the loop moves.
        source = JogSource(self._rig, self._guard.robot, self._guard.body, here, share)
        ask(source)
        self._begin(source, here, share, now_s, "jogging")

    def _may_begin(self, now_s: float) -> tuple[float, Positions]:
        """The share of the speeds for which the rig is armed, and where it stands."""
        if self._log.mode is Mode.STREAMING and isinstance(self._intent.source, Led):
            raise InterlockError("the jog before is still running; nothing is queued", ["rest"])
        self._log.need(Mode.ARMED, "jog")
        share = self._readiness.jog_share
        if share is None:
            raise InterlockError("the rig is armed for a motion, not for jogging; stop, then arm for it", ["arming"])
        self._readiness.check(now_s)
        return share, self._trail.here

    def _begin(self, source: Led, here: Positions, share: float, now_s: float, what: str) -> None:
        self._trail.begin(here, now_s)
        self._guard.reset(here, share)
        self._intent.source = source
        self._log.follow(Event.START, f"{what} at {100.0 * share:g} % speed")

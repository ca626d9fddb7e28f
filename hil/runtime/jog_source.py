"""Jogging as a source for the loop: what is held, for how long it counts, and what the arm could come too near to."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import InterlockError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.jog import JogMotion
from hil.motion.jog_room import JogRoom
from hil.robot import Robot
from hil.runtime.sources import Positions
from hil.space.body import LiveBody
from hil.types import JogHold, JogStep

HOLD_S = 0.1
"""A hold that is not renewed for longer than this counts as released."""


class JogSource:
    """One jog, from the pose in which the arm rests.

    Args:
        rig: the resolved rig.
        robot: its arm.
        body: what its arm could come too near to.
        start: where every axis rests.
        speed_share: part of the rig's speeds that is allowed.

    Raises:
        CommandError: the speed share is outside its range.
    """

    def __init__(self, rig: Rig, robot: Robot, body: LiveBody, start: Sequence[float], speed_share: float) -> None:
        self._jogging = JogMotion(rig, robot, start, speed_share, JogRoom(rig, body))
        self._held_until_s: float | None = None

    def hold(self, request: JogHold, now_s: float) -> None:
        """Go on as requested, for as long as the request counts.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: it is too old, or a step is running.
        """
        # A sender whose clock is ahead must not make its hold last longer.
        until_s = min(request.issued_s, now_s) + HOLD_S
        if until_s < now_s:
            age_ms = (now_s - request.issued_s) * 1e3
            raise InterlockError(f"the hold is {age_ms:.0f} ms old; allowed: {HOLD_S * 1e3:.0f} ms", ["a fresh hold"])
        self._jogging.hold(request.move)
        self._held_until_s = until_s

    @property
    def silence(self) -> str:
        """What it means that it is silent, in words."""
        return f"the jog's hold was not renewed for {HOLD_S * 1e3:.0f} ms"

    def turn(self) -> None:
        """A tick has come; what is held does not change by that."""

    def step(self, request: JogStep) -> None:
        """Begin one increment.

        Raises:
            CommandError: it does not fit the rig.
            RefusedError: something is in its way, or it is too large.
        """
        self._jogging.step(request.move)

    def silent(self, now_s: float) -> bool:
        """True once what was held has not been renewed in time."""
        return self._held_until_s is not None and now_s > self._held_until_s

    @property
    def wanted(self) -> Positions:
        """The sample to send now."""
        return self._jogging.sample

    @property
    def at_end(self) -> bool:
        """True once a step is over."""
        return self._jogging.done

    @property
    def stop(self) -> FloatArray:
        """The stop from the sample sent last, as it was looked at, shape (K, n); K is 0 where nothing moves."""
        return self._jogging.stop

    @property
    def resting(self) -> bool:
        """True while there is nothing to send, for the arm stands where it shall."""
        return self._jogging.resting

    def advance(self) -> None:
        """The wanted sample was sent."""
        self._jogging.advance()

    def take_words(self) -> tuple[str, ...]:
        """What the user should know since the last call."""
        return self._jogging.take_words()

"""Following as a source for the loop: which targets count, and for how long."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import InterlockError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.follow import FollowMotion
from hil.motion.jog_room import JogRoom
from hil.robot import Robot
from hil.runtime.jog_source import JogSource
from hil.runtime.sources import Positions
from hil.space.body import LiveBody
from hil.types import FollowTarget

COUNTS_S = 0.2
"""A target counts for so long, and who sends no other in that time has let go: at 10 Hz one may be lost."""

MOST_LOOK_AHEAD_S = 0.25
"""Where a controller is given motion for longer, an arm would follow that much later, and go on for as long."""


class FollowSource:
    """One motion led by targets, from the pose in which the arm rests.

    Args:
        rig: the resolved rig.
        robot: its arm.
        body: what its arm could come too near to.
        start: where every axis rests.
        speed_share: part of the rig's speeds that is allowed.

    Raises:
        CommandError: the speed share is outside its range.
        InterlockError: this kind of controller is given its motion too long before; see `refuse_slow_controller`.
    """

    at_end = False
    """Nobody knows which target is the last."""

    def __init__(self, rig: Rig, robot: Robot, body: LiveBody, start: Sequence[float], speed_share: float) -> None:
        refuse_slow_controller(rig)
        self._following = FollowMotion(rig, robot, start, speed_share, JogRoom(rig, body))
        self._counts_until_s = float("-inf")
        self._said: set[tuple[str, ...]] = set()
        self._words: list[str] = []

    def begin(self, request: FollowTarget, now_s: float) -> None:
        """Take the first target.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: it is too old, or too far from where the arm stands.
        """
        # A sender whose clock is ahead must not make its target count for longer.
        issued_s = min(request.issued_s, now_s)
        if now_s - issued_s > COUNTS_S:
            age_ms = (now_s - issued_s) * 1e3
            raise InterlockError(
                f"a target is {age_ms:.0f} ms old; allowed: {COUNTS_S * 1e3:.0f} ms", ["a fresh target"]
            )
        self._following.aim(issued_s, request.positions, request.speed_share)
        self._counts_until_s = issued_s + COUNTS_S

    def take(self, request: FollowTarget, now_s: float) -> None:
        """Take a further one. What is wrong with one is said once of each kind: they come many times a second.

        Raises:
            CommandError: it does not fit the rig.
        """
        try:
            self.begin(request, now_s)
        except InterlockError as error:
            if error.missing not in self._said:
                self._said.add(error.missing)
                self._words.append(f"not followed: {error}")

    def silent(self, now_s: float) -> bool:
        """True once no target has come in that counts now."""
        return now_s > self._counts_until_s

    @property
    def silence(self) -> str:
        """What it means that it is silent, in words."""
        return f"no target to follow has come for {COUNTS_S * 1e3:.0f} ms"

    def turn(self) -> None:
        """A tick has come; to be called once in each, before the sample is asked for."""
        self._following.turn()

    @property
    def wanted(self) -> Positions:
        """The sample to send now."""
        return self._following.sample

    @property
    def stop(self) -> FloatArray:
        """The stop from the sample sent last, as it was looked at, shape (K, n); K is 0 where nothing moves."""
        return self._following.stop

    @property
    def resting(self) -> bool:
        """True while there is nothing to send, for the arm stands where it shall."""
        return self._following.resting

    def advance(self) -> None:
        """The wanted sample was sent."""
        self._following.advance()

    def take_words(self) -> tuple[str, ...]:
        """What the user should know since the last call."""
        words, self._words = (*self._words, *self._following.take_words()), []
        return words


Led = JogSource | FollowSource
"""What a hand leads: it is asked for its next sample in each tick, and keeps the stop from the last."""


def refuse_slow_controller(rig: Rig) -> None:
    """Refuse to follow where the arm would come seconds later.

    Raises:
        InterlockError: it would.
    """
    if rig.look_ahead_s > MOST_LOOK_AHEAD_S:
        raise InterlockError(
            f"{rig.id} does not follow targets: its controller is given motion {rig.look_ahead_s:g} s ahead, so the "
            f"arm would come that much later and go on for as long; allowed: {MOST_LOOK_AHEAD_S:g} s. Jog it by steps "
            "(hil jog), or write a task",
            ["a controller that takes motion as it comes"],
        )

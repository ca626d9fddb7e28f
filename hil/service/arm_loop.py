"""One arm's loop as the service has it: what it is asked through its worker, and what of that may still move it."""

from __future__ import annotations

from hil.errors import InterlockError
from hil.service.arms import ServedArm as Worker
from hil.service.live_arm import LiveArm
from hil.types import (
    WRITING,
    ArmJog,
    AxisJog,
    Confirm,
    EmergencyStop,
    FollowTarget,
    JogHold,
    JogRelease,
    JogStep,
    Mode,
    Request,
    Start,
    Stop,
    SupplyCut,
    ToolJog,
)

_MOVING = (Confirm, FollowTarget, JogHold, JogStep, Start)
LATER_S = 1e-4
"""A target is meant for so much later than the one before, whatever a client's clock says."""


class ArmLoop:
    """The loop of one arm.

    Attributes:
        process: the arm's worker; None until the lab has made it.
        armed_share: part of the rig's speeds at which it is armed for jogging; None for not at all.
        called_off: what has stopped the arm since a move was last asked for, in words; empty for nothing.

    Args:
        arm: its name.
        live: what its reports say.
    """

    def __init__(self, arm: str, live: LiveArm) -> None:
        self.process: Worker | None = None
        self.armed_share: float | None = None
        self.called_off = ""
        self._arm, self._live = arm, live
        self._jog_seq = 0
        self._target_s = float("-inf")
        self._set_going = False

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def away(self) -> str:
        """Why there is no loop at the moment; empty while there is one."""
        return "not started yet" if self.process is None else self.process.away

    @property
    def begun_s(self) -> float | None:
        """When its start began, monotonic; None for none."""
        return None if self.process is None else self.process.begun_s

    @property
    def mode(self) -> Mode:
        """Mode of the loop; DISCONNECTED where there is none."""
        report = self._live.report
        return Mode.DISCONNECTED if self.away or report is None else report.mode

    @property
    def settled(self) -> bool:
        """Whether the loop has taken all that was ever sent to it, as the newest report says."""
        return self.process is None or self.process.settled

    # -- what it is asked --------------------------------------------------------------------------------

    def send(self, *requests: Request) -> None:
        """Hand requests to the loop, in this order.

        Raises:
            InterlockError: there is none, or it does not take them; nothing was sent.
        """
        if self.process is None:
            raise InterlockError(f"{self._arm} is not there", ["the arm"])
        self.process.send(*requests)
        self._set_going = self._set_going or any(isinstance(request, _MOVING) for request in requests)

    def arm_jog(self, share: float) -> None:
        """Arm it for jogging at this part of the rig's speeds; raises as `send`."""
        self.send(ArmJog(speed_share=share))
        self.armed_share = share

    def hold_jog(self, move: AxisJog | ToolJog, now_s: float) -> None:
        """Go on like this; raises as `send`."""
        self.send(JogHold(seq=self._next_jog(), issued_s=now_s, move=move))

    def follow(self, positions: tuple[float, ...], issued_s: float, share: float) -> None:
        """Go on to these positions, that were meant for then; raises as `send`."""
        self._target_s = max(issued_s, self._target_s + LATER_S)
        seq = self._next_jog()
        self.send(FollowTarget(seq=seq, issued_s=self._target_s, positions=positions, speed_share=share))

    def release_jog(self) -> None:
        """The jog was let go of; raises as `send`."""
        self.called_off = "the jog was let go of"
        self.send(JogRelease(seq=self._next_jog()))

    def _next_jog(self) -> int:
        self._jog_seq += 1
        return self._jog_seq

    def halt(self, request: Stop | EmergencyStop | SupplyCut) -> None:
        """Stop the arm; where there is none, there is nothing to stop."""
        self.armed_share = None
        words = "the servo supply was cut" if isinstance(request, SupplyCut) else request.reason
        self.called_off = words or "stopped"
        if self.process is not None and not self.process.away:
            self.process.send(request)

    def let_go(self, reason: str) -> None:
        """The dead-man was released: stop what moves, or is about to. What stands may stay armed."""
        self.called_off = reason
        # One that comes in after the motion must not disarm the next. A pose that was confirmed, and that the loop
        # has still to see for itself, leads to motion though nothing moves yet.
        if self.mode in WRITING or self.mode is Mode.UNKNOWN_POSE or self._set_going:
            self.halt(Stop(reason=reason))

    # -- what is heard of it -----------------------------------------------------------------------------

    def reported(self, mode: Mode) -> None:
        """A report came; what it says is from before anything that the loop has still to take."""
        if not self.settled:
            return
        self._set_going = self._set_going and mode in WRITING
        if mode not in (Mode.ARMED, Mode.STREAMING):
            self.armed_share = None

    def lost(self, words: str) -> None:
        """The worker is gone, and its loop with it."""
        self.armed_share, self.called_off = None, words

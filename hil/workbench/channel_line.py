"""Waits for single channels to do what they were told: connects, drives, and goes in small steps."""

from __future__ import annotations

from collections.abc import Callable

from hil.clock import Clock
from hil.errors import ControllerError, InterlockError, LinkTimeout
from hil.link import ChannelLink
from hil.runtime.line_health import explained
from hil.types import ControllerIdentity, LinkPhase, LinkState

POLL_S = 0.01
CONNECT_S = 8.0
REPORT_S = 2.0
DRIVE_S = 0.8
"""A servo needs so long for the whole of its travel."""
SETTLE_S = 0.25
RELEASE_S = 0.5
SUSPENDED_S = 1.0
"""Whoever stood still for so long, and was not waiting for a person, does not go on by itself."""
STEP_US = 20
"""The driver allows a little more, so that a rounded report cannot make a step too long."""


class ChannelLine:
    """A `hil.workbench.calibration.ServoLine` over a `ChannelLink`; every call returns when the arm has come to rest.

    Attributes:
        tells: whether the board's answers show what it drives; from `connect` on.
        identity, controller: what the board calls itself, and all that it says of itself; from `connect` on.

    Args:
        link: closed as yet.
        channels: those of the link, in its order.
        clock: what to wait by.
        moved: called after each move, however short.
    """

    def __init__(
        self,
        link: ChannelLink,
        channels: tuple[int, ...],
        clock: Clock,
        moved: Callable[[], None] | None = None,
    ) -> None:
        self._link, self._channels, self._clock = link, channels, clock
        self._moved = moved or (lambda: None)
        self._pulses: dict[int, int] = {}
        self._looked_s = clock.now_s()
        self.notices: list[str] = []
        self.tells = True
        self.identity = ""
        self.controller: ControllerIdentity | None = None

    def attended(self) -> None:
        """Somebody has just answered: what follows is wanted now, however long ago the last look was."""
        self._looked_s = self._clock.now_s()

    def connect(self) -> None:
        """Wait for the board.

        Raises:
            LinkError, ControllerError: nobody answers, or somebody else does.
        """
        self._link.open(self._clock.now_s())
        self.attended()
        deadline_s = self._clock.now_s() + CONNECT_S
        while (state := self._look()).phase is not LinkPhase.READY:
            if self._clock.now_s() > deadline_s:
                raise LinkTimeout("the board did not become ready in time")
        self.identity, self.controller, self.tells = state.identity, state.controller, state.tells

    def report(self) -> dict[int, int | None]:
        """Which pulse each channel gets, asked now.

        Raises:
            LinkTimeout: no answer came.
            ControllerError: the board has restarted.
        """
        asked_s = self._clock.now_s()
        while True:
            joints = self._look().joints
            if joints is not None and joints.t_s > asked_s:
                pulses = (None if pulse is None else round(pulse) for pulse in joints.positions)
                return dict(zip(self._channels, pulses, strict=True))
            if self._clock.now_s() > asked_s + REPORT_S:
                raise LinkTimeout("the board does not answer any more; nothing was sent")

    def drive(self, channel: int, pulse_us: int) -> None:
        """The first move of a channel."""
        self.report()
        self._link.drive(channel, pulse_us, self._clock.now_s())
        self._pulses[channel] = pulse_us
        self._wait(self._clock.now_s() + DRIVE_S)
        self._moved()

    def move(self, channel: int, pulse_us: int) -> None:
        """Bring a channel there in small steps.

        Raises:
            InterlockError: the board says something else than was sent, or this program stood still since it was asked.
        """
        reported = self.report()[channel]
        here_us = self._pulses[channel]
        if reported is None or abs(reported - here_us) > STEP_US:
            raise InterlockError(
                f"channel {channel}: the board says {reported} us where {here_us} us were sent: does another program "
                "move the arm? Nothing was sent",
                ["a pose that is known"],
            )
        while here_us != pulse_us:
            here_us += max(-STEP_US, min(STEP_US, pulse_us - here_us))
            arrives_s = self._link.step(channel, here_us, self._clock.now_s())
            self._pulses[channel] = here_us
            self._wait(arrives_s)
        self._wait(self._clock.now_s() + SETTLE_S)
        self._moved()

    def release(self, channel: int) -> None:
        """Switch a channel's pulses off, and see that they are.

        Raises:
            InterlockError: the board goes on making them.
        """
        self.report()
        self._link.release(channel, self._clock.now_s())
        self._pulses.pop(channel, None)
        until_s = self._clock.now_s() + RELEASE_S
        while (pulse_us := self.report()[channel]) is not None:
            if self._clock.now_s() > until_s:
                raise InterlockError(
                    f"channel {channel} was switched off, and the board goes on with a pulse of {pulse_us} us: its "
                    "firmware does not know that. Support the arm, then switch off servo supply and logic",
                    ["a board that lets go"],
                )
        self._moved()

    def stop(self) -> None:
        """Freeze whatever moves; the board goes on holding the arm."""
        self._link.stop(self._clock.now_s())

    def close(self) -> None:
        """Let go of the line."""
        self._link.close()

    def _wait(self, until_s: float) -> None:
        """Until then, and until nothing is overdue: the next step must not reach a board that has restarted."""
        state = self._look()
        while self._clock.now_s() < until_s or state.line.overdue_s is not None or state.line.doubtful_s is not None:
            if self._clock.now_s() > until_s + REPORT_S:
                raise LinkTimeout("the board does not answer any more; nothing more was sent")
            state = self._look()

    def _look(self) -> LinkState:
        self._clock.sleep_until(self._clock.now_s() + POLL_S)
        now_s, before_s = self._clock.now_s(), self._looked_s
        self._looked_s = now_s
        if now_s - before_s > SUSPENDED_S:
            raise InterlockError(
                f"this program was suspended for {now_s - before_s:.1f} s in the middle of a move (Ctrl-Z, or a "
                "machine that stood still): the arm holds where it is, nothing more is sent, what was measured is "
                "kept; give the same command again",
                ["somebody who looks on"],
            )
        try:
            state = self._link.read(now_s)
        except ControllerError as error:
            raise ControllerError(explained(error), error.raw) from None
        self.notices += state.notices
        return state

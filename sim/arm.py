"""The simulated arm: a link like any other, interpolates as a board does, follows as servos do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.errors import CommandError, LinkClosed
from hil.model.servo import ServoModel
from hil.types import Command, EnergiseCommand, JointState, LinkPhase, LinkState, StateSource
from sim.servo_group import Loads, ServoGroup

IDENTITY = "simulated arm"


class SimulatedArm:
    """An `ArmLink` to an arm that exists only here: radians, or metres where prismatic.

    Args:
        start: true position of each axis at the beginning.
        lags_s: time constant of each servo.
        speeds: top speed of each servo, rad/s or m/s.
        frame_s: the set-point moves once per frame, as a board's does; 0 for one that moves continuously.
        energised: True if the servos hold their start position already; otherwise each axis is limp until it is
            energised, which it follows at once and at full speed.
        models: how each servo follows, None for its lag; None for all.
        loads: what the axes have to hold; None for nothing.

    Raises:
        ValueError: lengths differ, or a number is out of range.
    """

    def __init__(
        self,
        start: Sequence[float],
        lags_s: Sequence[float],
        speeds: Sequence[float],
        frame_s: float = 0.0,
        *,
        energised: bool = False,
        models: Sequence[ServoModel | None] | None = None,
        loads: Loads | None = None,
    ) -> None:
        if not start or not (len(start) == len(lags_s) == len(speeds)):
            raise ValueError("start, lags_s and speeds need one entry per axis, and at least one axis")
        if not (math.isfinite(frame_s) and frame_s >= 0.0):
            raise ValueError(f"frame period {frame_s!r}: 0 or more seconds allowed")
        self._servos = ServoGroup(start, lags_s, speeds, models, loads)
        for axis in range(len(start)):
            self._servos.power(axis, energised)
        self._known = [energised] * len(start)
        self._frame_s = frame_s
        self._opened = False
        self._now_s = self._origin_s = 0.0
        self._setpoint = self._goal = self._from = tuple(start)
        self._begin_s = self._end_s = 0.0

    @property
    def setpoint(self) -> tuple[float, ...]:
        """What the interpolation had reached at the last `read`, `write` or `stop`; one position per axis."""
        return self._setpoint

    def open(self, now_s: float) -> None:
        """Ready at once; frames count from here."""
        self._opened = True
        self._now_s = self._origin_s = self._begin_s = self._end_s = now_s
        self._servos.time_s = now_s

    def place(self, positions: Sequence[float]) -> None:
        """Put the limp arm somewhere, as a person's hand would; its first command is a jump again.

        Raises:
            CommandError: wrong number of positions.
        """
        self._require_length(len(positions))
        self._setpoint = self._goal = self._from = tuple(positions)
        self._end_s = self._begin_s
        self._known = [False] * len(self._known)
        self._servos.place(self._setpoint)
        for axis in range(len(positions)):
            self._servos.power(axis, False)

    def stall(self, axis: int, stalled: bool = True) -> None:
        """Block an axis mechanically, or free it."""
        self._servos.stall(axis, stalled)

    def read(self, now_s: float) -> LinkState:
        """Where the servos are; SIMULATED, since no real servo tells."""
        if not self._opened:
            return LinkState(phase=LinkPhase.CLOSED, joints=None, known=(False,) * len(self._known))
        return LinkState(
            phase=LinkPhase.READY,
            joints=self.look(now_s),
            known=tuple(self._known),
            identity=IDENTITY,
        )

    def look(self, now_s: float) -> JointState:
        """Where the servos are, and nothing else of `read`; open or not."""
        self._advance(now_s)
        return JointState(t_s=now_s, positions=self._servos.positions, source=StateSource.SIMULATED)

    def write(self, command: Command, now_s: float) -> Command:
        """Take a command as it is: to the target in a straight line until its due time.

        Raises:
            CommandError: wrong number of positions, no such axis, or an axis was not energised.
            LinkClosed: not open.
        """
        if not self._opened:
            raise LinkClosed("the simulated arm is not open", IDENTITY)
        if now_s > self._now_s:
            self._advance(now_s)
        if isinstance(command, EnergiseCommand):
            self._energise(command)
            return command
        if len(command.positions) != len(self._known):
            self._require_length(len(command.positions))
        if not all(self._known):
            limp = ", ".join(str(axis) for axis, known in enumerate(self._known) if not known)
            raise CommandError(f"not energised: axes {limp}; a timed move would jump there at full speed", axis=limp)
        self._from, self._goal = self._setpoint, command.positions
        self._begin_s, self._end_s = self._now_s, max(command.due_s, self._now_s)
        if self._end_s == self._begin_s and self._frame_s == 0.0:
            self._set(self._goal)
        return command

    def stop(self, now_s: float) -> None:
        """Freeze the set-point where it is; the servos settle there."""
        self._advance(now_s)
        self._from = self._goal = self._setpoint
        self._end_s = self._begin_s

    def close(self) -> None:
        """Let go; the arm stays as it is, and nothing of it counts as known any more."""
        self._opened = False
        self._known = [False] * len(self._known)

    def _require_length(self, given: int) -> None:
        if given != len(self._known):
            raise CommandError(
                f"{given} positions given; this arm has {len(self._known)} axes",
                value=given,
                allowed=f"{len(self._known)} positions",
            )

    def _energise(self, command: EnergiseCommand) -> None:
        if not 0 <= command.axis < len(self._known):
            raise CommandError(
                f"axis {command.axis}: no such axis; this arm has {len(self._known)}",
                axis=str(command.axis),
                value=command.axis,
                allowed=f"0 to {len(self._known) - 1}",
            )
        driven = (self._from, self._goal, self._setpoint, self._servos.targets)
        self._from, self._goal, self._setpoint, self._servos.targets = [
            (*each[: command.axis], command.position, *each[command.axis + 1 :]) for each in driven
        ]
        self._servos.power(command.axis, True)
        self._known[command.axis] = True

    def _advance(self, now_s: float) -> None:
        if now_s <= self._now_s:
            return
        before_s, self._now_s = self._now_s, now_s
        if self._frame_s > 0.0:
            self._advance_frames(before_s, now_s)
            return
        arrival_s = self._end_s if self._end_s < now_s else now_s
        if arrival_s > before_s:
            share = (arrival_s - self._begin_s) / (self._end_s - self._begin_s)
            reached = self._goal
            if share < 1.0:
                ways = zip(self._from, reached, strict=True)
                reached = tuple([start + (goal - start) * share for start, goal in ways])
            self._servos.ramp(reached, arrival_s)
            self._setpoint = reached
        if arrival_s < now_s:
            self._servos.advance(now_s)

    def _advance_frames(self, before_s: float, now_s: float) -> None:
        first = math.floor((self._begin_s - self._origin_s) / self._frame_s + 1e-9)
        frame = math.floor((before_s - self._origin_s) / self._frame_s + 1e-9)
        last = math.floor((now_s - self._origin_s) / self._frame_s + 1e-9)
        length_s = self._end_s - self._begin_s
        while frame < last and self._setpoint != self._goal:
            frame += 1
            done_s = (frame - first) * self._frame_s
            share = 1.0 if done_s >= length_s - 1e-9 else done_s / length_s
            self._servos.advance(self._origin_s + frame * self._frame_s)
            self._set(
                self._goal
                if share >= 1.0
                else tuple([a + (b - a) * share for a, b in zip(self._from, self._goal, strict=True)])
            )
        self._servos.advance(now_s)

    def _set(self, positions: tuple[float, ...]) -> None:
        self._setpoint = self._servos.targets = positions

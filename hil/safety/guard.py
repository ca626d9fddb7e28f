"""The last look at a live command: the checker's limits, one sample at a time, within a tick's budget.

What the pose at which it was reset does not keep may get no worse (see `hil.space.no_worse`), by what has passed since.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.errors import CommandError
from hil.model.rig import Axis, Rig
from hil.robot import Robot
from hil.safety.findings import ABSOLUTE_SLACK, DISTANCE_SLACK_M, RELATIVE_SLACK
from hil.space.body import LiveBody
from hil.space.no_worse import NO_FLOORS, SLACK, Floors, NoWorse
from hil.types import JointCommand, LimitHit, Record

_Positions = tuple[float, ...]
_History = tuple[_Positions, _Positions, _Positions]
"""The last three positions that passed, newest first."""

FLOOR_SLACK = 2.0 * SLACK
"""More than whoever made the motion allows itself, so that rounding of doubles never stops one that was checked."""


class _Limits(NamedTuple):
    """One axis, allowances added: bounds, rounding error, and first to third difference of its positions.

    Beyond `far_lower` and `far_upper` no rounding could bring a position inside; `travel` is `step` without allowance.
    """

    lower: float
    upper: float
    far_lower: float
    far_upper: float
    rounding: float
    step: float
    bend: float
    twist: float
    travel: float


class GuardVerdict(Record, frozen=True):
    """What the guard found: without hits the command may be sent as it is, with hits not at all."""

    command: JointCommand
    hits: tuple[LimitHit, ...] = ()

    @property
    def words(self) -> str:
        """What was hit, for a person."""
        return ", ".join(
            f"{hit.axis} [{hit.check}] {hit.requested:.4g}, allowed {hit.allowed:.4g}" for hit in self.hits
        )


class Guard:
    """Holds what has passed so far and judges the next command against it; never changes a command.

    One command a period is assumed: rates are differences of successive commands over the rig's period.
    Position, speed and clearances are judged as the controller will see them, after its rounding.
    Acceleration and jerk are judged on the positions as given, since rounding alone would break them; the
    rounding itself is bounded by half a step of the wire. What lies between two samples is the checker's.

    Args:
        rig: limits, shapes, fences and controller.
        robot: the rig's robot; has to fit the rig's axes.

    Attributes:
        robot: as given.
        body: what the arm could come too near to.
    """

    def __init__(self, rig: Rig, robot: Robot) -> None:
        period = rig.period_s
        low, high = rig.controller.bounds()
        quantum = rig.controller.quantum()
        self.robot = robot
        self._dof = robot.dof
        self._names = tuple(axis.name for axis in rig.axes)
        self._controller = rig.controller
        self._period_s = period
        self._quanta = tuple(quantum.tolist())
        self._limits = self._full = tuple(
            _limits(axis, float(low[i]), float(high[i]), float(quantum[i]), period) for i, axis in enumerate(rig.axes)
        )
        self.body = LiveBody(rig)
        self._no_worse = NoWorse(rig, self.body, FLOOR_SLACK)
        self._clearance_m = rig.fences.clearance_m
        self._passed: _History | None = None
        self._sent: tuple[float, ...] = ()
        self._due_s = -math.inf
        self._floors = NO_FLOORS
        self._undo: tuple[_History, _Positions, float, Floors] | None = None

    def reset(self, positions: Sequence[float], speed_share: float = 1.0) -> None:
        """Start afresh, at rest at `positions` (every axis, radians or metres).

        Args:
            positions: where the arm is.
            speed_share: part of the rig's speeds that is allowed from now on, above 0 to 1.

        Raises:
            CommandError: wrong number of positions, or one that is not finite.
        """
        self._limits = self._full
        if speed_share != 1.0:
            self._limits = tuple(
                limits._replace(step=limits.step - (1.0 - speed_share) * limits.travel) for limits in self._full
            )
        here = tuple(float(value) for value in positions)
        self._refuse_malformed(here)
        self._passed = (here, here, here)
        self._sent = self._quantise(here)
        self._due_s = -math.inf
        self._floors = self._no_worse.standing(here)
        self._undo = None

    def inside(self, positions: Sequence[float]) -> _Positions:
        """Positions next to these (every axis, rad or m) that the controller's rounding leaves inside the hard limits.

        An arm that was confirmed right at a limit is driven one step of the wire inside of it, or it could never move.
        """
        there = self._quantise(tuple(positions))
        return tuple(
            here + (step if sent < limits.lower else -step if sent > limits.upper else 0.0)
            for here, sent, step, limits in zip(positions, there, self._quanta, self._full, strict=True)
        )

    def worse(self, present: Sequence[float], wanted: Sequence[float]) -> tuple[LimitHit, ...]:
        """What an arm that rests at `present` would break, or make worse, at `wanted`: clearances and soft limits.

        For the start of a motion, which was checked as if the arm stood there. Compared is what the controller makes of
        both: whoever plans from what it was sent plans from where the arm is.
        """
        present, wanted = self._quantise(tuple(present)), self._quantise(tuple(wanted))
        floors = self._no_worse.standing(present)
        begins = self._no_worse.standing(wanted)
        hits = [self._too_near(i, left_m, 0.0) for i, left_m in begins.body.items() if i not in floors.body]
        for beyond, known, bounds in (
            (begins.lower, floors.lower, self._no_worse.soft_lower),
            (begins.upper, floors.upper, self._no_worse.soft_upper),
        ):
            hits += [_hit("E-02", self._names[i], at, bounds[i]) for i, at in beyond.items() if i not in known]
        return (*hits, *self._floor_hits(floors, wanted))

    def check(self, wanted: JointCommand) -> GuardVerdict:
        """Judge the next command; without hits it counts as sent, with hits it leaves no trace.

        Raises:
            CommandError: wrong number of positions, one that is not finite, or no `reset` before.
        """
        positions = wanted.positions
        self._refuse_malformed(positions)
        if self._passed is None:
            raise CommandError("the guard does not know where the arm is; reset it at a known pose first")
        hits = self._far_hits(positions)
        if hits:
            return GuardVerdict(command=wanted, hits=tuple(hits))
        sent = self._quantise(positions)
        hits = self._axis_hits(positions, sent, self._passed)
        if wanted.due_s <= self._due_s:
            hits.append(LimitHit(check="E-04", axis="time", requested=wanted.due_s, allowed=self._due_s))
        if not hits and sent != self._sent:
            hits = self._body_hits(sent)
        if not hits and self._floors:
            hits = self._floor_hits(self._floors, positions)
        if not hits:
            self._undo = (self._passed, self._sent, self._due_s, self._floors)
            self._passed = (positions, self._passed[0], self._passed[1])
            self._sent, self._due_s = sent, wanted.due_s
            if self._floors:
                self._floors = self._no_worse.raised(self._floors, positions)
        return GuardVerdict(command=wanted, hits=tuple(hits))

    @property
    def lenient(self) -> bool:
        """Where it was reset something is not kept, which may get no worse: every command has to be looked at."""
        return bool(self._floors)

    def catch_up(self, sent: Sequence[_Positions], due_s: float) -> None:
        """Stand as if these samples had been looked at one by one: they were proved, and have left.

        Args:
            sent: the last three, oldest first, in rad or m.
            due_s: when the last of them is due.

        Raises:
            CommandError: the guard was reset where every command has to be looked at.
        """
        if self._floors:
            raise CommandError("a certified motion begins at a pose that keeps every limit")
        oldest, older, last = sent
        self._passed, self._sent, self._due_s = (last, older, oldest), self._quantise(last), due_s
        self._undo = None

    def retract(self) -> None:
        """Forget the command that passed last, because it could not be sent; nothing to forget is fine."""
        if self._undo is not None:
            self._passed, self._sent, self._due_s, self._floors = self._undo
            self._undo = None

    def rehearse(self, positions: Sequence[float]) -> None:
        """Do the work of `check` without verdict or trace, so that the real call finds it in the caches."""
        here = tuple(positions)
        if self._passed is None or self._far_hits(here):
            return
        sent = self._quantise(here)
        self._axis_hits(here, sent, self._passed)
        self._body_hits(sent)

    def _far_hits(self, positions: tuple[float, ...]) -> list[LimitHit]:
        """Positions that no rounding could bring inside; they might not even have a pulse."""
        return [
            _hit("E-02", name, here, limits.lower if here < limits.lower else limits.upper)
            for name, limits, here in zip(self._names, self._limits, positions, strict=True)
            if not limits.far_lower <= here <= limits.far_upper
        ]

    def _axis_hits(self, positions: tuple[float, ...], sent: tuple[float, ...], passed: _History) -> list[LimitHit]:
        hits: list[LimitHit] = []
        period = self._period_s
        for name, limits, here, there, before, last, older, oldest in zip(
            self._names, self._limits, positions, sent, self._sent, *passed, strict=True
        ):
            lower, upper, _, _, rounding, step, bend, twist, _ = limits
            if not lower <= there <= upper:
                hits.append(_hit("E-02", name, there, lower if there < lower else upper))
            if abs(there - here) > rounding:
                hits.append(_hit("E-02", name, here, there))
            if abs(there - before) > step:
                hits.append(_rate("E-03 speed", name, (there - before) / period, step / period))
            bent = here - 2.0 * last + older
            if abs(bent) > bend:
                hits.append(_rate("E-03 acceleration", name, bent / period**2, bend / period**2))
            twisted = here - 3.0 * (last - older) - oldest
            if abs(twisted) > twist:
                hits.append(_rate("E-03 jerk", name, twisted / period**3, twist / period**3))
        return hits

    def _body_hits(self, sent: tuple[float, ...]) -> list[LimitHit]:
        found = self.body.violations(sent[: self._dof], DISTANCE_SLACK_M)
        return [self._too_near(index, left_m, 0.0) for index, left_m in found if index not in self._floors.body]

    def _floor_hits(self, floors: Floors, positions: tuple[float, ...]) -> list[LimitHit]:
        return [
            _hit("E-02", self._names[index], value, floor) if of_axis else self._too_near(index, value, floor)
            for index, of_axis, value, floor in self._no_worse.worse(floors, positions)
        ]

    def _too_near(self, index: int, left_m: float, least_m: float) -> LimitHit:
        found = self.body.constraints[index]
        return _hit(found.check, found.subject, left_m + self._clearance_m, least_m + self._clearance_m)

    def _quantise(self, positions: tuple[float, ...]) -> tuple[float, ...]:
        return self._controller.quantise_pose(positions)

    def _refuse_malformed(self, positions: tuple[float, ...]) -> None:
        if len(positions) != len(self._names):
            raise CommandError(
                f"{len(positions)} positions given; this rig has the axes {', '.join(self._names)}",
                value=positions,
                allowed=f"{len(self._names)} positions",
            )
        if all(map(math.isfinite, positions)):
            return
        for name, value in zip(self._names, positions, strict=True):
            if not math.isfinite(value):
                raise CommandError(
                    f"{name}: position {value!r} is not a finite number",
                    axis=name,
                    value=value,
                    allowed="a finite number",
                )


def _limits(axis: Axis, low: float, high: float, quantum: float, period_s: float) -> _Limits:
    """Limits of an axis whose pulses reach from `low` to `high` in steps of `quantum`."""
    lower, upper = max(axis.lower, low) - ABSOLUTE_SLACK, min(axis.upper, high) + ABSOLUTE_SLACK
    rounding = 0.5 * quantum + ABSOLUTE_SLACK
    return _Limits(
        lower=lower,
        upper=upper,
        far_lower=lower - rounding,
        far_upper=upper + rounding,
        rounding=rounding,
        step=axis.speed * period_s + quantum + ABSOLUTE_SLACK,
        bend=axis.acceleration * period_s**2 * (1.0 + RELATIVE_SLACK) + ABSOLUTE_SLACK,
        twist=axis.jerk * period_s**3 * (1.0 + RELATIVE_SLACK) + ABSOLUTE_SLACK,
        travel=axis.speed * period_s,
    )


def _hit(check: str, axis: str, requested: float, allowed: float) -> LimitHit:
    return LimitHit(check=check, axis=axis, requested=requested, allowed=allowed)


def _rate(check: str, axis: str, requested: float, allowed: float) -> LimitHit:
    return _hit(check, axis, requested, math.copysign(allowed, requested))

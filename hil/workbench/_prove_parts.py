"""Trials of single parts: the rig's numbers, the driver alone, the guard alone, each joint by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from hil.errors import CommandError, HilError, LinkOverrun
from hil.runtime import wiring
from hil.safety.guard import Guard
from hil.testing.facts import ROUNDING, AxisFacts
from hil.testing.oracle import UnsafeBytes
from hil.types import Command, EnergiseCommand, JointCommand, LinkPhase
from hil.workbench._proof import FoundError, Search

CONNECT_S = 4.0
SLACK = 1.0 + 1e-5
_TARGET = re.compile(rb"#(\d+)P(\d+)")


# -- the rig's numbers -----------------------------------------------------------------------------------


def numbers(search: Search) -> None:
    """Pulse limits against joint limits, both ways; stated directions against points; look-ahead against period."""
    rig = search.rig
    for index, axis in enumerate(search.axes):
        for complaint in (_beyond_joint(axis), _beyond_pulses(axis), _backwards(axis), _beyond_robot(search, index)):
            search.tried += 1
            if complaint:
                raise FoundError(complaint)
        beyond = max(axis.points[0][0] - axis.limits[0], axis.limits[1] - axis.points[-1][0])
        if beyond > ROUNDING:
            search.notes.append(
                f"{axis.name}: its limits reach {axis.say(beyond)} beyond the outermost calibrated point; nobody has "
                "measured there"
            )
    if silent := [axis.name for axis in search.axes if axis.direction is None]:
        search.notes.append(
            f"the rig does not say which way {', '.join(silent)} run, so points that run backwards cannot be found: "
            'move each a little, watch it, and write direction = "rising" or "falling" in its [controller.axis] table'
        )
    search.tried += 1
    ratio = rig.look_ahead_s / rig.period_s
    if ratio < 1.0 - 1e-6 or abs(ratio - round(ratio)) > 1e-6:
        raise FoundError(
            f"timing.look_ahead_ms: {rig.look_ahead_s * 1e3:g} with a period of {rig.period_s * 1e3:g} ms: each "
            "command would be due before the next one can be there, and the servos would jump from sample to sample at "
            f"full speed. Allowed: a whole multiple of the period, from {rig.period_s * 1e3:g} on; two to three "
            "periods at 20 ms"
        )


def _beyond_joint(axis: AxisFacts) -> str:
    low_us, high_us = math.floor(axis.joint_us[0] + 1e-6), math.ceil(axis.joint_us[1] - 1e-6)
    for key, pulse_us, best_us, beyond in (
        ("lower_us", axis.wire_us[0], low_us, axis.wire_us[0] < low_us),
        ("upper_us", axis.wire_us[1], high_us, axis.wire_us[1] > high_us),
    ):
        if beyond:
            here = axis.position(pulse_us)
            limit = min(axis.limits, key=lambda value: abs(value - here))
            return (
                f"controller.axis.{axis.name}.{key} = {pulse_us} is beyond the joint's limit: it is {axis.say(here)}, "
                f"and {axis.name} may go to {axis.say(limit)}. The driver would let that pulse out if all before it "
                f"failed. Write {key} = {best_us}"
            )
    return ""


def _beyond_pulses(axis: AxisFacts) -> str:
    for pulse_us, limit in zip(axis.joint_us, sorted(axis.limits, key=axis.pulse_us), strict=True):
        if not axis.wire_us[0] - 1e-6 <= pulse_us <= axis.wire_us[1] + 1e-6:
            return (
                f"{axis.name}: its limit of {axis.say(limit)} needs a pulse of {pulse_us:.0f} us, outside its pulse "
                f"limits of {axis.wire_us[0]}..{axis.wire_us[1]} us. Narrow the joint's limit, or widen the pulses "
                "after calibrating"
            )
    return ""


def _backwards(axis: AxisFacts) -> str:
    rising = all(b[1] > a[1] for a, b in pairwise(axis.points))
    falling = all(b[1] < a[1] for a, b in pairwise(axis.points))
    if not rising and not falling:
        return f"{axis.name}: its calibration does not run one way: {axis.points}"
    runs = "rising" if rising else "falling"
    if axis.direction not in (None, runs):
        return (
            f'controller.axis.{axis.name}.direction = "{axis.direction}", and its points run the other way: '
            f"+1 {axis.unit} would turn it by -1 {axis.unit}. One of the two is wrong: see with one small move which "
            "way it turns"
        )
    return ""


def _beyond_robot(search: Search, index: int) -> str:
    if index >= len(search.rig.robot.joints):
        return ""
    joint, axis = search.rig.robot.joints[index], search.axes[index]
    if joint.lower is None or joint.upper is None:
        return ""
    if joint.lower - ROUNDING <= axis.limits[0] and axis.limits[1] <= joint.upper + ROUNDING:
        return ""
    return (
        f"{axis.name}: its limits, {axis.say(axis.limits[0])} to {axis.say(axis.limits[1])}, are wider than those of "
        f"the robot, {axis.say(joint.lower)} to {axis.say(joint.upper)}"
    )


# -- the driver alone ------------------------------------------------------------------------------------


class _Stand:
    """The rig's driver over its fake, with nobody before it."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._arm = wiring.virtual_link(search.rig, search.rig.home)
        self.link, self._clock = self._arm.link, self._arm.clock
        self._oracle = UnsafeBytes(search.rig, rounding_us=1.0, limits_only=True)
        self._seq = 0
        self.link.open(self.now_s)
        end_s = self.now_s + CONNECT_S
        while self.link.read(self.now_s).phase is not LinkPhase.READY:
            if self.now_s > end_s:
                raise FoundError("the driver does not come to terms with the fake controller")
            self.wait(search.rig.period_s)

    @property
    def now_s(self) -> float:
        return self._clock.now_s()

    def wait(self, seconds: float) -> None:
        """Let time pass, the line being read every period."""
        end_s = self.now_s + seconds
        while self.now_s < end_s - 1e-9:
            self._clock.sleep_until(min(self.now_s + self._search.rig.period_s, end_s))
            self.link.read(self.now_s)

    def energise(self) -> None:
        """Drive every axis at home."""
        for index, home in enumerate(self._search.rig.home):
            self.send(EnergiseCommand(seq=0, axis=index, position=home))
            self.wait(self._search.rig.period_s)

    def servos(self) -> tuple[float, ...]:
        return self._arm.fake.servos(self.now_s)

    def move(self, positions: tuple[float, ...], due_in_s: float) -> bool:
        """True if it was sent."""
        return self.send(JointCommand(seq=0, due_s=self.now_s + due_in_s, positions=positions))

    def send(self, command: Command) -> bool:
        """Send one command, refused or not, and judge the bytes by themselves and against what was asked for."""
        self._seq += 1
        numbered: Command
        if isinstance(command, EnergiseCommand):
            numbered = EnergiseCommand(seq=self._seq, axis=command.axis, position=command.position)
        else:
            numbered = JointCommand(seq=self._seq, due_s=command.due_s, positions=command.positions)
        self._arm.tap.take()
        try:
            self.link.write(numbered, self.now_s)
            sent = True
        except (CommandError, LinkOverrun):
            sent = False
        _, written, _ = self._arm.tap.take()
        self._search.tried += 1
        if first := self._oracle.feed(written, self.now_s).first:
            raise FoundError(f"the driver alone lets this out: {first.words} ({first.line.decode('latin-1')})")
        if sent != (b"#" in written):
            raise FoundError(f"the driver says {'sent' if sent else 'refused'}, and its bytes are {written!r}")
        if sent:
            self._compare(numbered, written)
        return sent

    def _compare(self, command: Command, written: bytes) -> None:
        pulses = {int(channel): int(pulse) for channel, pulse in _TARGET.findall(written)}
        axes = self._search.axes
        if isinstance(command, EnergiseCommand):
            wanted = [(axes[command.axis], command.position)]
        else:
            wanted = list(zip(axes, command.positions, strict=True))
        for axis, position in wanted:
            pulse_us = pulses[axis.channel]
            if abs(axis.position(pulse_us) - position) > 0.5 * axis.per_us + ROUNDING:
                raise FoundError(
                    f"{axis.name}: {axis.say(position)} was asked for and {pulse_us} us was sent, which is "
                    f"{axis.say(axis.position(pulse_us))} by the points of the rig"
                )


def driver_alone(search: Search) -> None:
    """Positions at and beyond every limit and every calibrated point, straight to the driver."""
    stand, rig = _Stand(search), search.rig
    if stand.move(rig.home, rig.look_ahead_s):
        raise FoundError(
            "the driver sends a timed move to servos that were never driven: they would jump at full speed"
        )
    stand.energise()
    for index in range(len(rig.axes)):
        for position in search.edges(index):
            stand.wait(rig.period_s)
            stand.move(search.pose(index, position), rig.look_ahead_s)
            stand.wait(rig.period_s)
            stand.send(EnergiseCommand(seq=0, axis=index, position=position))
        _not_finite(search, index)


def _not_finite(search: Search, index: int) -> None:
    for value in (math.nan, math.inf, -math.inf):
        search.tried += 1
        try:
            JointCommand(seq=1, due_s=1.0, positions=search.pose(index, value))
        except CommandError:
            continue
        raise FoundError(f"{search.axes[index].name}: a position that is not a number was taken")


def random_driver(search: Search) -> None:
    """Random poses straight to the driver, some inside, some with axes far outside."""
    stand = _Stand(search)
    stand.energise()
    for _ in range(60):
        stand.wait(search.rig.period_s)
        stand.move(tuple(_anywhere(search, index) for index in range(len(search.rig.axes))), search.rig.look_ahead_s)


def _anywhere(search: Search, index: int) -> float:
    if search.rng.random() < 0.8:
        return search.inside(index)
    low, high = search.axes[index].limits
    return search.rng.uniform(2 * low - high, 2 * high - low)


# -- each joint ------------------------------------------------------------------------------------------


def each_joint(search: Search) -> None:
    """A small and a large move of each joint, up and down: the fake arm's joint moves so far, that way, alone."""
    stand, rig = _Stand(search), search.rig
    stand.energise()
    stand.wait(1.0)
    for index, (axis, limits) in enumerate(zip(search.axes, rig.axes, strict=True)):
        up, down = limits.upper - limits.soft_margin - limits.home, limits.lower + limits.soft_margin - limits.home
        for way in (4 * axis.per_us, -4 * axis.per_us, 0.1 * up, 0.1 * down, up, down):
            before = stand.servos()
            settle_s = 12 * limits.servo_lag_s + 3 * rig.controller.settle_s
            for goal in (limits.home + way, limits.home):
                move_s = max(2 * abs(way) / limits.speed, rig.look_ahead_s)
                if not stand.move(search.pose(index, goal), move_s):
                    raise FoundError(f"{axis.name}: the driver refuses {axis.say(goal)}, inside the soft limits")
                stand.wait(move_s + settle_s)
                if goal != limits.home:
                    _went(search, index, way, before, stand.servos())


def _went(search: Search, index: int, way: float, before: tuple[float, ...], after: tuple[float, ...]) -> None:
    for i, (axis, old, new) in enumerate(zip(search.axes, before, after, strict=True)):
        wanted = way if i == index else 0.0
        if abs(new - old - wanted) > 2 * axis.per_us + 1e-3 * abs(wanted):
            moved, asked = search.axes[index], f"{'+' if way > 0 else ''}{search.axes[index].say(way)}"
            raise FoundError(
                f"{moved.name} was asked to move by {asked}, and the fake arm's {axis.name} moved by "
                f"{axis.say(new - old)}"
            )


# -- the guard alone -------------------------------------------------------------------------------------


def guard_alone(search: Search) -> None:
    """Every limit, stepped across from just inside."""
    guard, rig = Guard(search.rig, search.robot), search.rig
    for index, axis in enumerate(search.axes):
        for position in search.edges(index):
            for near in axis.limits:
                start = search.pose(index, near)
                _walk(search, guard, start, [search.pose(index, position)])
        for wrong in (rig.home[:-1], (*rig.home, 0.0), search.pose(index, 0.0)[:1]):
            search.tried += 1
            guard.reset(rig.home)
            try:
                guard.check(JointCommand(seq=1, due_s=1.0, positions=wrong))
            except CommandError:
                continue
            raise FoundError(f"the guard takes {len(wrong)} positions for {len(rig.axes)} axes")


def random_guard(search: Search) -> None:
    """Random walks that mostly keep the limits and sometimes do not."""
    rng, rig = search.rng, search.rig
    guard = Guard(rig, search.robot)
    for _ in range(30):
        start = tuple(search.inside(index) for index in range(len(rig.axes)))
        index, period = rng.randrange(len(rig.axes)), rig.period_s
        axis = rig.axes[index]
        jerk = axis.jerk * rng.choice((0.5, 0.99, 1.0, 1.01, 2.0, 10.0)) * rng.choice((1, -1))
        position, speed, acceleration, way = start[index], 0.0, 0.0, []
        for step in range(rng.randrange(2, 40)):
            acceleration += jerk * period * (1 if step % 10 < 5 else -1)
            speed += acceleration * period
            position += speed * period * (1.0 if rng.random() < 0.98 else rng.choice((2.0, -1.0, 40.0)))
            way.append(tuple(position if i == index else at for i, at in enumerate(start)))
        _walk(search, guard, start, way)


def _walk(search: Search, guard: Guard, start: tuple[float, ...], way: list[tuple[float, ...]]) -> None:
    """Offer positions one a period; whatever passes has to keep every limit by our own arithmetic."""
    guard.reset(start)
    passed = [start] * 3
    for number, positions in enumerate(way, 1):
        search.tried += 1
        try:
            verdict = guard.check(JointCommand(seq=number, due_s=number * search.rig.period_s, positions=positions))
        except HilError as error:
            raise FoundError(f"the guard failed on finite positions: {error}") from None
        if verdict.hits:
            continue
        for index, axis in enumerate(search.axes):
            wrong = breaks(search, index, axis, [each[index] for each in passed], positions[index])
            if wrong:
                raise FoundError(f"the guard lets this through: {wrong}")
        passed = [positions, *passed[:2]]


def breaks(search: Search, index: int, axis: AxisFacts, passed: Sequence[float], here: float) -> str:
    """Which limit a position breaks after those that passed, newest first; empty if none."""
    limits, period = search.rig.axes[index], search.rig.period_s
    sent, before = (axis.position(round(axis.pulse_us(value))) for value in (here, passed[0]))
    if not limits.lower - ROUNDING <= sent <= limits.upper + ROUNDING:
        return f"{axis.name} at {axis.say(sent)}, limits {axis.say(limits.lower)} to {axis.say(limits.upper)}"
    steps = (
        ("speed", "/s", abs(sent - before) - axis.per_us, limits.speed, period),
        ("acceleration", "/s2", abs(here - 2 * passed[0] + passed[1]), limits.acceleration, period**2),
        ("jerk", "/s3", abs(here - 3 * (passed[0] - passed[1]) - passed[2]), limits.jerk, period**3),
    )
    for what, suffix, step, allowed, scale in steps:
        if step > allowed * scale * SLACK + ROUNDING:
            return (
                f"{axis.name} from {axis.say(passed[0])} to {axis.say(here)} in one period, {what} "
                f"{axis.say(step / scale)}{suffix}, allowed {axis.say(allowed)}{suffix}"
            )
    return ""

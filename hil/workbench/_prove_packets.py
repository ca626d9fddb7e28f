"""Trials of single parts for an arm that is led by packets: the rig's numbers, the driver alone, each joint alone."""

from __future__ import annotations

import struct

from hil.errors import CommandError, LinkOverrun
from hil.joined import Splitter
from hil.link import BoundedLink
from hil.runtime import wiring
from hil.safety.bounds import motion_bounds
from hil.testing.facts import ROUNDING
from hil.testing.packet_oracle import PLACES
from hil.types import EnergiseCommand, JointCommand, LinkPhase, LinkState
from hil.units import DEG
from hil.workbench._proof import FoundError, Search

CONNECT_S, DRIVEN_S = 6.0, 12.0
SMALL = 60
"""Ticks of a move of one joint."""


def numbers(search: Search) -> None:
    """Limits against the controller's and the robot's, speeds against its override, look-ahead against the period."""
    rig = search.rig
    for index, axis in enumerate(search.axes):
        search.tried += 3
        low, high = (axis.position(number) for number in axis.wire_us)
        if axis.limits[0] < low - ROUNDING or axis.limits[1] > high + ROUNDING:
            raise FoundError(
                f"{axis.name}: its limits, {axis.say(axis.limits[0])} to {axis.say(axis.limits[1])}, are wider than "
                f"those of the controller, {axis.say(low)} to {axis.say(high)}"
            )
        if axis.speed > axis.top_speed + ROUNDING:
            raise FoundError(
                f"{axis.name}: {axis.say(axis.speed)}/s, and the controller's table allows {axis.say(axis.top_speed)}/s"
            )
        joint = rig.robot.joints[index]
        if joint.lower is not None and joint.upper is not None:
            inside = joint.lower - ROUNDING <= axis.limits[0] and axis.limits[1] <= joint.upper + ROUNDING
            if not inside:
                raise FoundError(f"{axis.name}: its limits are wider than those of the robot")
    search.tried += 1
    ratio = rig.look_ahead_s / rig.period_s
    if ratio < 1.0 - 1e-6 or abs(ratio - round(ratio)) > 1e-6:
        raise FoundError(f"timing.look_ahead_ms: {rig.look_ahead_s * 1e3:g}; allowed: a whole multiple of the period")


class _Stand:
    """The rig's driver over its fake, bound to the rig's limits as in a session, with nobody before it."""

    def __init__(self, search: Search, start: tuple[float, ...]) -> None:
        self._search, self._start = search, start
        self._arm = wiring.virtual_link(search.rig, start)
        self.link, self._clock, self._seq = self._arm.link, self._arm.clock, 0
        if isinstance(self.link, BoundedLink):
            self.link.bound(motion_bounds(search.rig))
        self.link.open(self.now_s)
        self._until(lambda state: state.phase is LinkPhase.READY, CONNECT_S)
        self.last = self._start

    @property
    def now_s(self) -> float:
        return self._clock.now_s()

    def _until(self, met: object, within_s: float) -> None:
        assert callable(met)
        end_s = self.now_s + within_s
        while not met(self.wait(self._search.rig.period_s)):
            if self.now_s > end_s:
                raise FoundError("the driver does not come to terms with the fake controller")

    def wait(self, seconds: float) -> LinkState:
        """Let time pass, the line being read every period."""
        end_s, period_s = self.now_s + seconds, self._search.rig.period_s
        while True:
            self._clock.sleep_until(self.now_s + period_s)
            state = self.link.read(self.now_s)
            if self.now_s >= end_s - 1e-9:
                return state

    def energise(self) -> None:
        """Drive every axis where it stands."""
        for index, place in enumerate(self._start):
            self._seq += 1
            self.link.write(EnergiseCommand(seq=self._seq, axis=index, position=place), self.now_s)
        self._until(lambda state: all(state.known), DRIVEN_S)

    def servos(self) -> tuple[float, ...]:
        return self._arm.fake.servos(self.now_s)

    def move(self, positions: tuple[float, ...]) -> bool:
        """Send one command, and judge what left by the rig's numbers; True if it was sent."""
        self._seq += 1
        command = JointCommand(seq=self._seq, due_s=self.now_s + self._search.rig.look_ahead_s, positions=positions)
        self._arm.tap.take()
        try:
            self.link.write(command, self.now_s)
            sent = True
        except (CommandError, LinkOverrun):
            sent = False
        _, written, _ = self._arm.tap.take()
        self._search.tried += 1
        _, found = Splitter().split(written)
        led = [packet for packet in found if struct.unpack_from("<H", packet)[0] == 1]
        if len(led) != sent:
            raise FoundError(f"the driver says {'sent' if sent else 'refused'}, and {len(led)} packets lead the arm")
        for packet in led:
            self._judge(packet, positions)
        return sent

    def _judge(self, packet: bytes, asked: tuple[float, ...]) -> None:
        told = struct.unpack_from("<8f", packet, 8)
        period_s = self._search.rig.period_s
        for axis, place, wanted, last in zip(self._search.axes, PLACES, asked, self.last, strict=True):
            at = told[place]
            if abs(at - wanted) > 0.5 * axis.per_us + ROUNDING:
                raise FoundError(f"{axis.name}: {axis.say(wanted)} was asked for and {axis.say(at)} was sent")
            if not axis.limits[0] - axis.per_us <= at <= axis.limits[1] + axis.per_us:
                raise FoundError(f"the driver alone lets this out: {axis.name} at {axis.say(at)}")
            if abs(at - last) > axis.speed * period_s + 0.1 * DEG + 2 * axis.per_us:
                raise FoundError(f"the driver alone lets this out: {axis.name} from {axis.say(last)} to {axis.say(at)}")
        self.last = tuple(told[place] for place in PLACES)


def driver_alone(search: Search) -> None:
    """Positions at and beyond every limit, straight to the driver of an arm that stands at that limit."""
    for index, axis in enumerate(search.axes):
        for limit, sign in zip(axis.limits, (1.0, -1.0), strict=True):
            stand = _Stand(search, search.pose(index, limit + sign * 3 * axis.per_us))
            if stand.move(search.pose(index, limit + sign * 3 * axis.per_us)):
                raise FoundError("the driver leads an arm whose axes were never driven")
            stand.energise()
            for position in search.edges(index):
                stand.wait(search.rig.period_s)
                stand.move(search.pose(index, position))


def random_driver(search: Search) -> None:
    """Random steps straight to the driver, most of them longer than it may send."""
    start = tuple(search.inside(index) for index in range(len(search.axes)))
    stand = _Stand(search, start)
    stand.energise()
    for _ in range(60):
        stand.wait(search.rig.period_s)
        scale = search.rng.choice((0.3, 1.0, 1.2, 5.0, 1e3))
        most = [axis.speed * search.rig.period_s * scale for axis in search.axes]
        stand.move(tuple(at + search.rng.uniform(-by, by) for at, by in zip(stand.last, most, strict=True)))


def each_joint(search: Search) -> None:
    """Each joint is led up and down again, a part of its speed a tick: the fake arm's joint goes so far, alone."""
    stand, rig = _Stand(search, tuple(search.rig.home)), search.rig
    stand.energise()
    for index, axis in enumerate(search.axes):
        room_up = axis.limits[1] - rig.home[index]
        way = 1.0 if room_up > SMALL * axis.speed * rig.period_s else -1.0
        step = 0.5 * way * axis.speed * rig.period_s
        before = stand.servos()
        for count in (*range(1, SMALL + 1), *range(SMALL - 1, -1, -1)):
            if not stand.move(search.pose(index, rig.home[index] + count * step)):
                raise FoundError(f"{axis.name}: the driver refuses a step of half its speed")
            stand.wait(rig.period_s)
            if count == SMALL:
                stand.wait(rig.controller.settle_s + rig.period_s)
                _went(search, index, SMALL * step, before, stand.servos())


def _went(search: Search, index: int, way: float, before: tuple[float, ...], after: tuple[float, ...]) -> None:
    for i, (axis, old, new) in enumerate(zip(search.axes, before, after, strict=True)):
        wanted = way if i == index else 0.0
        if abs(new - old - wanted) > 2 * axis.per_us:
            raise FoundError(
                f"{search.axes[index].name} was asked to move by {search.axes[index].say(way)}, and the fake arm's "
                f"{axis.name} moved by {axis.say(new - old)}"
            )

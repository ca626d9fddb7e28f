"""What a rig says of its SSC-32: line, channels, and the map between positions and pulses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np

from drivers._command_checks import rows_of
from drivers._ssc32_codec import PULSE_US, encode_move, query_pulses
from drivers._ssc32_table import wire_table
from hil.errors import CommandError
from hil.findings import Findings
from hil.link import FloatArray
from hil.piecewise import PiecewiseLinear
from hil.types import Record
from hil.units import DEG, MM
from hil.wire_table import WireTable

FRAME_S = 0.020
"""The board moves its pulses once per frame."""
QUERY_PERIOD_S, QUERY_SHARE = 0.03, 0.3
"""Least time between two questions for the pulses, every second tick of a rig with one tick per frame; and how much of
the wire's time they take at most."""
REPLY_DELAY_S = 600e-6
REPLY_PACING_S = 70e-6
BITS_PER_BYTE = 10

Channel = Annotated[int, msgspec.Meta(ge=0, le=31)]
PulseUs = Annotated[int, msgspec.Meta(ge=PULSE_US[0], le=PULSE_US[1])]
Direction = Literal["rising", "falling"]


class Ssc32Axis(Record, frozen=True):
    """One servo.

    Attributes:
        revolute: True where positions are radians, False where they are metres of opening.
        points: calibration, (position in rad or m, pulse in us), positions rising.
        lower_us, upper_us: no pulse outside these is ever sent to this channel.
        direction: "rising" if somebody saw the joint's position rise with the pulse, "falling" if it falls, None if
            nobody says.
    """

    name: str
    channel: int
    revolute: bool
    points: tuple[tuple[float, float], ...]
    lower_us: int
    upper_us: int
    direction: Direction | None = None

    def show(self, position: float) -> str:
        """A position in the user's units."""
        return f"{position / DEG:.2f} deg" if self.revolute else f"{position / MM:.2f} mm"


class Ssc32Settings(Record, frozen=True, dict=True):
    """An SSC-32 or SSC-32U and its servos, in the order of `rig.axes`; a `hil.link.ControllerSettings`.

    Attributes:
        canary_channel: a channel without a servo that is set once at connect; when it reads 0 the board has
            restarted.
        reply_timeout_s: how late a reply may be on a slow line before it is asked for again, and how often then.
    """

    kind: ClassVar[str] = "ssc32"

    port_url: str
    baud: int
    axes: tuple[Ssc32Axis, ...]
    canary_channel: int | None = None
    reply_timeout_s: float = 0.1

    @cached_property
    def maps(self) -> tuple[PiecewiseLinear, ...]:
        """Per axis, position in rad or m to pulse in us."""
        return tuple(PiecewiseLinear(*zip(*axis.points, strict=True)) for axis in self.axes)

    @cached_property
    def channels(self) -> tuple[int, ...]:
        """Channels in the order of a pulse query: the axes', then the canary."""
        spare = () if self.canary_channel is None else (self.canary_channel,)
        return (*(axis.channel for axis in self.axes), *spare)

    @property
    def settle_s(self) -> float:
        """One board frame: a line takes effect at the next one."""
        return FRAME_S

    @cached_property
    def report_period_s(self) -> float:
        """The pulses are asked for this often, and every answer is a report."""
        return max(QUERY_PERIOD_S, self.wire_s(len(query_pulses(self.channels).line)) / QUERY_SHARE)

    @property
    def framing(self) -> str:
        """The board's line is the same everywhere."""
        return "8N1"

    @property
    def pace(self) -> None:
        """The board takes the target of every tick."""
        return None

    def pulse_us(self, axis: int, position: float) -> int:
        """The whole pulse nearest to a position, ties to even; never clamped.

        Raises:
            CommandError: not finite, or outside the pulse limits of that axis.
        """
        what = self.axes[axis]
        exact_us = self.maps[axis](position)
        try:
            pulse_us = round(exact_us)
        except (ValueError, OverflowError):
            pulse_us = -1
        if what.lower_us <= pulse_us <= what.upper_us:
            return pulse_us
        ends = sorted(self.maps[axis].inverse(pulse) for pulse in (what.lower_us, what.upper_us))
        allowed = f"{what.lower_us}..{what.upper_us} us ({what.show(ends[0])} to {what.show(ends[1])})"
        raise CommandError(
            f"{what.name}: {what.show(position)} needs a pulse of {exact_us:.1f} us; allowed: {allowed}",
            axis=what.name,
            value=position,
            allowed=allowed,
        )

    def pulses_us(self, positions: Sequence[float]) -> list[int]:
        """`pulse_us` for one pose, for the loop.

        Raises:
            CommandError: as `pulse_us`.
        """
        pulses = []
        for index, (position, pulse, (lower_us, upper_us)) in enumerate(
            zip(positions, self.maps, self._limits_us, strict=True)
        ):
            try:
                pulse_us = round(pulse(position))
            except (ValueError, OverflowError):
                pulse_us = -1
            pulses.append(pulse_us if lower_us <= pulse_us <= upper_us else self.pulse_us(index, position))
        return pulses

    @cached_property
    def _limits_us(self) -> tuple[tuple[int, int], ...]:
        return tuple((axis.lower_us, axis.upper_us) for axis in self.axes)

    def position(self, axis: int, pulse_us: int) -> float:
        """The position that a pulse stands for, in rad or m."""
        return self.maps[axis].inverse(pulse_us)

    def quantise(self, positions: FloatArray) -> FloatArray:
        """Positions as whole microseconds make them, shape (n,) or (N, n); limits are not looked at.

        Raises:
            CommandError: a position is not finite, or the last dimension is not the number of axes.
        """
        wanted = rows_of(positions, len(self.axes))
        if wanted.ndim == 1:
            return np.array(self.quantise_pose(wanted.tolist()))
        columns = [pulse.inverse_array(np.rint(pulse.array(wanted[..., i]))) for i, pulse in enumerate(self.maps)]
        return np.stack(columns, axis=-1)

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        """`quantise` for one pose of finite numbers, in plain floats."""
        pairs = zip(self.maps, positions, strict=True)
        return tuple([pulse.inverse(round(pulse(position))) for pulse, position in pairs])

    def wire_table(self, samples: FloatArray, look_ahead_s: float) -> WireTable:
        """The group move of each sample of a motion.

        Raises:
            CommandError: a sample needs a pulse outside its axis' limits.
        """
        channels = tuple(axis.channel for axis in self.axes)
        return wire_table(channels, self.maps, self._limits_us, samples, look_ahead_s)

    def quantum(self) -> FloatArray:
        """Per axis, the largest change of position that one microsecond makes, shape (n,)."""
        return np.array(
            [
                max(1.0 / abs(pulse.slope(position)) for position, _ in axis.points)
                for pulse, axis in zip(self.maps, self.axes, strict=True)
            ]
        )

    def report_quantum(self) -> FloatArray:
        """Per axis, what the 10 us of a QP answer amount to, shape (n,)."""
        return 10.0 * self.quantum()

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Positions at the pulse limits, lowest and highest per axis, shape (n,) each."""
        ends = np.array(
            [
                sorted((pulse.inverse(axis.lower_us), pulse.inverse(axis.upper_us)))
                for pulse, axis in zip(self.maps, self.axes, strict=True)
            ]
        )
        return ends[:, 0], ends[:, 1]

    def line_time_s(self) -> float:
        """Longest move, longest query and its reply on the wire, with the board's default reply delays."""
        move = encode_move({axis.channel: axis.upper_us for axis in self.axes}, 65535)
        query = query_pulses(self.channels)
        return self.wire_s(len(move) + len(query.line)) + self.reply_s(len(self.channels))

    def wire_s(self, count: int) -> float:
        """Time that `count` bytes take at the rig's baud rate."""
        return count * BITS_PER_BYTE / self.baud

    def reply_s(self, count: int) -> float:
        """Time from the end of a query to the end of a reply of `count` bytes."""
        return REPLY_DELAY_S + self.wire_s(count) + max(count - 1, 0) * REPLY_PACING_S


class AxisTable(Record, frozen=True):
    """One ``[controller.axis.NAME]``: the points are in degrees or in millimetres, as the axis is."""

    channel: Channel
    lower_us: PulseUs
    upper_us: PulseUs
    points_deg_us: tuple[tuple[float, float], ...] | None = None
    points_mm_us: tuple[tuple[float, float], ...] | None = None
    direction: Direction | None = None


class ControllerTable(Record, frozen=True):
    """The ``[controller]`` table as it stands in a rig."""

    port: Annotated[str, msgspec.Meta(min_length=1)]
    baud: Annotated[int, msgspec.Meta(ge=1, le=4_000_000)]
    axis: dict[str, AxisTable]
    kind: Literal["ssc32"] = "ssc32"
    canary_channel: Channel | None = None
    reply_timeout_ms: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 100.0


def settings_from_table(table: Mapping[str, Any], axes: tuple[tuple[str, str], ...], file: str) -> Ssc32Settings:
    """Check a rig's ``[controller]`` table and turn it into settings.

    Args:
        table: what tomllib gave.
        axes: name and kind of every axis of the rig, in order; "revolute" axes are calibrated in degrees, all
            others in millimetres.
        file: name for messages.

    Raises:
        ConfigError: a key is unknown, missing, or its value cannot be.
    """
    findings = Findings(file, {"controller": table})
    findings.not_finite(table, "controller")
    raw = findings.read(table, ControllerTable, "controller")
    built = _axes(raw.axis, axes, findings) if findings.right("controller.axis") else {}
    users = {axis.channel: name for name, axis in reversed(built.items())}
    if raw.canary_channel in users:
        taken = f"a spare channel without a servo; {users[raw.canary_channel]} has this one"
        findings.say("controller.canary_channel", raw.canary_channel, taken)
    findings.stop()
    return Ssc32Settings(
        port_url=raw.port,
        baud=raw.baud,
        axes=tuple(built.values()),
        canary_channel=raw.canary_channel,
        reply_timeout_s=raw.reply_timeout_ms / 1000.0,
    )


def _axes(
    tables: Mapping[str, AxisTable], axes: tuple[tuple[str, str], ...], findings: Findings
) -> dict[str, Ssc32Axis]:
    """By name, the axes that have a table."""
    names = [name for name, _ in axes]
    for name in tables:
        if name not in names:
            findings.say(f"controller.axis.{name}", name, f"an axis of the rig: {', '.join(names)}")
    users: dict[int, str] = {}
    built = {}
    for name, kind in axes:
        key = f"controller.axis.{name}"
        if name not in tables:
            findings.say(key, None, "this table is required: every axis needs a channel and its points")
            continue
        axis = _axis(tables[name], name, kind == "revolute", key, findings)
        if axis.channel in users:
            taken = f"a channel that no other axis uses; {users[axis.channel]} has this one"
            findings.say(f"{key}.channel", axis.channel, taken)
        users.setdefault(axis.channel, name)
        built[name] = axis
    return built


def _axis(raw: AxisTable, name: str, revolute: bool, key: str, findings: Findings) -> Ssc32Axis:
    right, wrong = ("points_deg_us", "points_mm_us") if revolute else ("points_mm_us", "points_deg_us")
    points, other = getattr(raw, right), getattr(raw, wrong)
    if other is not None:
        findings.say(f"{key}.{wrong}", other, f"{right}: this axis is calibrated in that unit")
    elif points is None:
        findings.say(f"{key}.{right}", None, "this key is required: two or more [position, pulse] points")
    if raw.lower_us >= raw.upper_us:
        findings.say(f"{key}.upper_us", raw.upper_us, f"more than lower_us = {raw.lower_us}")
    unit = DEG if revolute else MM
    scaled = tuple((position * unit, pulse_us) for position, pulse_us in points or ())
    if points is not None and findings.sound(f"{key}.{right}"):
        _check_points(raw, right, points, scaled, key, findings)
    return Ssc32Axis(
        name=name,
        channel=raw.channel,
        revolute=revolute,
        points=scaled,
        lower_us=raw.lower_us,
        upper_us=raw.upper_us,
        direction=raw.direction,
    )


def _check_points(
    raw: AxisTable,
    right: str,
    points: tuple[tuple[float, float], ...],
    scaled: tuple[tuple[float, float], ...],
    key: str,
    findings: Findings,
) -> None:
    """Pulses that a board knows, and a line that runs one way: the way that somebody saw."""
    for index, (_, pulse_us) in enumerate(points):
        if not PULSE_US[0] <= pulse_us <= PULSE_US[1]:
            allowed = f"a pulse of {PULSE_US[0]}..{PULSE_US[1]} us"
            findings.say(f"{key}.{right}.{index}", list(points[index]), allowed)
    if not findings.sound(f"{key}.{right}"):
        return
    try:
        PiecewiseLinear([x for x, _ in scaled], [y for _, y in scaled])
    except ValueError as error:
        given = [list(point) for point in points]
        findings.say(f"{key}.{right}", given, f"positions rising, pulses strictly monotone: {error}")
        return
    runs: Direction = "rising" if points[-1][1] > points[0][1] else "falling"
    if findings.sound(f"{key}.direction") and raw.direction not in (None, runs):
        findings.say(
            f"{key}.direction",
            raw.direction,
            f'"{runs}", as the pulses of {right} run',
            "One of the two is wrong, and a joint that runs backwards drives into its stop: see with one small move "
            "which way this one turns",
        )

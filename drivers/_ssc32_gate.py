"""The last gate before an SSC-32's port: reads finished bytes back by the manual and trusts nothing before it.

It shares no code with whoever makes the bytes: own patterns, own arithmetic between positions and pulses, own memory of
where every channel was sent. What it does not know does not leave.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray, MotionBounds

HALF_STEP_US = 0.5 + 1e-6
"""How far the nearest whole pulse can be from a position's exact one, and what rounding of doubles adds."""
SLACK_US = 1e-3
LONGEST_MS = 65535

_PLAIN = re.compile(rb"[\r\x1b\x20-\x7e]+")
_ASKS = re.compile(rb"(?:~~)?\x1b|VER|Q|SS|(?:QP\d{1,2})+|R\d{1,3}")
_STOP = re.compile(rb"STOP(\d{1,2})")
_MOVE = re.compile(rb"((?:#\d{1,2}P\d{1,5})+)(?:T(\d{1,5}))?")
_TARGET = re.compile(rb"#(\d+)P(\d+)")
_RELEASE = re.compile(rb"#(\d{1,2})P0\r")


class Wire(NamedTuple):
    """One axis' channel: number, pulse limits in us, and calibration, (position in rad or m, pulse in us), rising."""

    name: str
    channel: int
    lower_us: int
    upper_us: int
    points: tuple[tuple[float, float], ...]

    def exact_us(self, positions: FloatArray) -> FloatArray:
        """The pulses that positions stand for, before any rounding; straight on beyond the outer points."""
        places, pulses = np.array(self.points, dtype=np.float64).T
        found: FloatArray = np.interp(positions, places, pulses)
        for at, end, slope in (
            (positions < places[0], 0, (pulses[1] - pulses[0]) / (places[1] - places[0])),
            (positions > places[-1], -1, (pulses[-1] - pulses[-2]) / (places[-1] - places[-2])),
        ):
            found = np.where(at, pulses[end] + (positions - places[end]) * slope, found)
        return found

    def steepness(self) -> tuple[float, float]:
        """The least and the most pulses in us that one rad or m makes."""
        slopes = [
            abs((b_us - a_us) / (b - a)) for (a, a_us), (b, b_us) in zip(self.points, self.points[1:], strict=False)
        ]
        return min(slopes), max(slopes)


class _Span(NamedTuple):
    """Where a channel may be sent, and how far from one group move to the next, us."""

    low_us: int
    high_us: int
    step_us: int


class Gate:
    """Looks at each line as it stands before it leaves.

    Until `bound` it knows the pulse limits alone; after that also the arm's own limits, the largest step from one group
    move to the next, and how long a group move has to take.

    Args:
        wires: the axes' channels.
    """

    def __init__(self, wires: Sequence[Wire]) -> None:
        self._wires = tuple(wires)
        self._spans = {wire.channel: (wire.lower_us, wire.upper_us) for wire in self._wires}
        self._channels = tuple(wire.channel for wire in self._wires)
        self._bounds: tuple[_Span, ...] | None = None
        self._times_ms = (1, LONGEST_MS)
        self._last: tuple[int | None, ...] = (None,) * len(self._wires)
        self._found: tuple[int | None, ...] = self._last
        group = b"".join(rb"#%dP([1-9]\d{2,3})" % channel for channel in self._channels)
        self._group = re.compile(group + rb"T([1-9]\d{0,4})\r")
        self._sample, self._whole = Struct(f"<{len(self._wires)}d"), Struct(f"<{len(self._wires)}i")
        self._certified = self._nearest = self._follows = b""
        self._lines: list[bytes] = []
        self._rows = 0
        self._row = self._row_found = -1
        self._last_row: tuple[int, ...] | None = None

    def bound(self, bounds: MotionBounds) -> None:
        """From now on hold every move against the arm's limits, too."""
        spans = []
        for wire, axis in zip(self._wires, bounds.axes, strict=True):
            least, most = wire.steepness()
            ends_us = sorted(wire.exact_us(np.array([axis.lower, axis.upper])).tolist())
            low_us = max(wire.lower_us, math.ceil(ends_us[0] - SLACK_US))
            high_us = min(wire.upper_us, math.floor(ends_us[1] + SLACK_US))
            # One step of the wire on top, as wide as it is where the calibration is flattest.
            spans.append(_Span(low_us, high_us, math.floor(most * (axis.step + 1.0 / least) + SLACK_US)))
            self._spans[wire.channel] = (low_us, high_us)
        self._bounds = tuple(spans)
        look_ahead_ms = 1000.0 * bounds.look_ahead_s
        self._times_ms = (
            min(max(math.ceil(look_ahead_ms - HALF_STEP_US), 1), LONGEST_MS),
            min(max(math.floor(look_ahead_ms + HALF_STEP_US), 1), LONGEST_MS),
        )
        self._expect()

    def limit(self, channel: int, limits_us: tuple[int, int] | None) -> None:
        """From now on let only these pulses out to a channel; None: none at all."""
        if limits_us is None:
            self._spans.pop(channel, None)
        else:
            self._spans[channel] = limits_us

    def certify(self, samples: FloatArray) -> None:
        """Take the samples of a certified motion, (N, n) in rad or m: `check_row` holds its lines against them."""
        exact_us = np.stack([wire.exact_us(samples[:, i]) for i, wire in enumerate(self._wires)], axis=1)
        self._certified = exact_us.astype("<f8").tobytes()
        self._nearest = np.floor(exact_us + 0.5).astype("<i4").tobytes()
        self._rows = len(samples)
        self._expect()
        self.begin()

    def begin(self) -> None:
        """The certified motion begins, at its first sample."""
        self._row, self._last_row = -1, None

    def _expect(self) -> None:
        """Write down how each sample's line has to look, and which may follow the one before it.

        1 in `_follows` is a sample whose nearest pulses keep all limits, and the step from those of the sample before.
        """
        if self._bounds is None or not self._rows:
            self._follows, self._lines = b"", []
            return
        nearest = np.frombuffer(self._nearest, "<i4").astype(np.int64).reshape(self._rows, len(self._wires))
        low_us, high_us, step_us = np.array(self._bounds, dtype=np.int64).T
        kept = ((low_us <= nearest) & (nearest <= high_us)).all(axis=1)
        kept[1:] &= (np.abs(np.diff(nearest, axis=0)) <= step_us).all(axis=1)
        kept[0] = False
        self._follows = kept.astype(np.uint8).tobytes()
        whole = "".join([f"#{channel}P%d" for channel in self._channels]) + f"T{self._times_ms[0]}\r"
        self._lines = [(whole % tuple(pulses_us)).encode("ascii") for pulses_us in nearest.tolist()]

    # -- whatever leaves -----------------------------------------------------------------------------------

    def check(self, data: bytes) -> None:
        """Look at one or more whole lines.

        Raises:
            CommandError: anything that is no known line, or a pulse where none may be sent; nothing may leave. Among
                them 0, which is no pulse, and leaves by `check_release` alone.
        """
        self._found, self._row_found = self._last, self._row
        if not _PLAIN.fullmatch(data):
            raise CommandError(f"{data!r} holds bytes that are not plain text", value=data)
        *lines, rest = data.split(b"\r")
        if rest:
            raise CommandError(
                f"{data!r} does not end with CR; the board would put the next line behind it", value=data
            )
        for line in lines:
            if stopped := _STOP.fullmatch(line):
                # Where on its way it stops nobody knows: it has to be driven anew before it goes in a group.
                self._note({int(stopped[1]): None})
            elif not _ASKS.fullmatch(line):
                self._check_move(line)

    def left(self) -> None:
        """What was looked at last has left."""
        self._last, self._row = self._found, self._row_found

    def check_release(self, data: bytes) -> None:
        """Look at a release: the finished bytes are one line, of one axis' channel, and no more.

        Raises:
            CommandError: they are anything else.
        """
        match = _RELEASE.fullmatch(data)
        if match is None or int(match[1]) not in self._channels:
            allowed = ", ".join(f"#{channel}P0 and CR" for channel in sorted(self._channels))
            raise CommandError(f"{data!r} given as a release; allowed: {allowed}", value=data, allowed=allowed)
        self._found, self._row_found = self._last, self._row
        self._note({int(match[1]): None})

    def _check_move(self, line: bytes) -> None:
        match = _MOVE.fullmatch(line)
        if match is None:
            raise CommandError(f"{line!r} is no line that may leave for this board", value=line)
        targets = [(int(channel), int(pulse_us)) for channel, pulse_us in _TARGET.findall(match[1])]
        for channel, pulse_us in targets:
            self._check_pulse(channel, pulse_us)
        pulses_us = dict(targets)
        if len(pulses_us) < len(targets):
            raise CommandError(f"{line!r} names a channel twice", value=line)
        if match[2] is not None:
            self._check_group(line, pulses_us, int(match[2]))
        self._note(pulses_us)

    def _note(self, pulses_us: Mapping[int, int | None]) -> None:
        """Where these channels were sent once this has left; None where nobody knows."""
        self._found = tuple(
            [pulses_us.get(channel, before) for channel, before in zip(self._channels, self._found, strict=True)]
        )

    def _check_pulse(self, channel: int, pulse_us: int) -> None:
        if not pulse_us:
            raise CommandError(
                f"channel {channel}: pulse 0 would let the servo go; only a release does, in a line of its own",
                value=pulse_us,
                allowed="a pulse",
            )
        limits = self._spans.get(channel)
        if limits is None or not limits[0] <= pulse_us <= limits[1]:
            allowed = "this channel is not used" if limits is None else f"{limits[0]}..{limits[1]} us"
            raise CommandError(
                f"channel {channel}: pulse {pulse_us} us; allowed: {allowed}", value=pulse_us, allowed=allowed
            )

    def _check_group(self, line: bytes, pulses_us: Mapping[int, int], time_ms: int) -> None:
        least_ms, most_ms = self._times_ms
        if not least_ms <= time_ms <= most_ms:
            raise CommandError(
                f"{line!r}: a group move of {time_ms} ms; allowed: {least_ms}..{most_ms} ms", value=time_ms
            )
        if self._bounds is None:
            return
        self._check_whole(line, pulses_us)
        for wire, span, last_us in zip(self._wires, self._bounds, self._last, strict=True):
            if last_us is None:
                raise CommandError(
                    f"{wire.name}: a group move, and channel {wire.channel} was not driven before; it would jump",
                    axis=wire.name,
                )
            if abs(pulses_us[wire.channel] - last_us) > span.step_us:
                raise self._too_far(wire, pulses_us[wire.channel], last_us, span.step_us)

    def _check_whole(self, line: bytes, channels: Collection[int]) -> None:
        if set(channels) != set(self._channels):
            allowed = ", ".join(map(str, self._channels))
            raise CommandError(f"{line!r}: a group move of all axes names the channels {allowed}", value=line)

    @staticmethod
    def _too_far(wire: Wire, pulse_us: int, last_us: int, step_us: int) -> CommandError:
        return CommandError(
            f"{wire.name}: from a pulse of {last_us} to {pulse_us} us in one step; allowed: {step_us} us",
            axis=wire.name,
            value=pulse_us,
            allowed=f"{last_us - step_us}..{last_us + step_us} us",
        )

    # -- a certified motion --------------------------------------------------------------------------------

    def check_row(self, line: bytes, index: int) -> Sequence[int]:
        """Look at the line of one sample of the certified motion; gives the pulses that stand in it, per axis.

        Raises:
            CommandError: it is not the group move that this sample stands for, or not this sample's turn; nothing may
                leave.
        """
        if (
            index == self._row + 1
            and self._last is self._last_row
            and 0 < index < len(self._follows)
            and self._follows[index]
            and line == self._lines[index]
        ):
            # To the byte what this gate would write itself, behind a line of which that was so, too.
            own: tuple[int, ...] = self._whole.unpack_from(self._nearest, index * self._whole.size)
            self._found, self._row_found, self._last_row = own, index, own
            return own
        match, bounds = self._group.fullmatch(line), self._bounds
        if match is None or bounds is None:
            raise CommandError(f"sample {index}: {line!r} is no group move of all axes", value=line)
        if not (self._row <= index <= self._row + 1 and 0 <= index < self._rows):
            allowed = f"sample {self._row + 1}"
            raise CommandError(f"sample {index} of the motion; its turn has {allowed}", value=index, allowed=allowed)
        numbers = tuple(map(int, match.groups()))
        found, time_ms, last, (least_ms, most_ms) = numbers[:-1], numbers[-1], self._last, self._times_ms
        if not least_ms <= time_ms <= most_ms:
            raise self._wrong_row(line, index, found)
        for pulse_us, last_us, (low_us, high_us, step_us) in zip(found, last, bounds, strict=True):
            if last_us is None or not (low_us <= pulse_us <= high_us and -step_us <= pulse_us - last_us <= step_us):
                raise self._wrong_row(line, index, found)
        nearest = found == self._whole.unpack_from(self._nearest, index * self._whole.size)
        if not nearest:
            # Half way between two pulses either will do.
            exact_us = self._sample.unpack_from(self._certified, index * self._sample.size)
            if any(abs(pulse_us - exact) > HALF_STEP_US for pulse_us, exact in zip(found, exact_us, strict=True)):
                raise self._wrong_row(line, index, found)
        self._found, self._row_found, self._last_row = found, index, found if nearest else None
        return found

    def _wrong_row(self, line: bytes, index: int, pulses_us: Sequence[int]) -> CommandError:
        """What is wrong with a sample's line: as with any other, or that it is not this sample's."""
        try:
            self._check_move(line.removesuffix(b"\r"))
        except CommandError as error:
            return error
        exact_us = self._sample.unpack_from(self._certified, index * self._sample.size)
        wire, pulse_us, exact = max(
            zip(self._wires, pulses_us, exact_us, strict=True), key=lambda each: abs(each[1] - each[2])
        )
        return CommandError(
            f"{wire.name}, sample {index}: a pulse of {pulse_us} us, and the certified one is {exact:.1f} us",
            axis=wire.name,
            value=pulse_us,
            allowed=f"{exact:.1f} us, rounded",
        )

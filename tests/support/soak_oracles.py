"""Judges of a long run: they read the rig's file and the bytes themselves and trust neither driver nor guard.

Angles in radians, lengths in metres, widths in microseconds.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from soak_excuses import Excuse

from hil.types import (
    WRITING,
    Confirm,
    EndStream,
    EnergiseCommand,
    FollowTarget,
    JointCommand,
    LetGo,
    Mode,
    Start,
    TickRecord,
)

STILL = 0.1
"""Degrees or millimetres: what counts as standing still."""
SETTLE_LAGS = 5.0
"""Servo lags after which less than one per cent of the way behind the pulse is left."""
ECHO_US = 10.0
"""A board tells its pulses in steps of this."""
FRAME_S = 0.02
"""In which an SSC-32 looks at its lines and changes its pulses."""
LINE_S = 48 * 10 / 115200
"""The longest move of a Lynx6 on its line."""
GAP_S = 0.03
"""Ticks further apart than this: the loop was held up."""
ANSWER_S = 0.1
"""A report on a line that is well is never older: asked for every 50 ms, and told a tick or two later."""


class Violation(AssertionError):  # noqa: N818 - it is what the judges say, not a fault of theirs
    """A guarantee was broken."""


@dataclass(frozen=True)
class AxisFacts:
    """One axis as its rig's file has it."""

    name: str
    channel: int
    points: tuple[tuple[float, float], ...]
    lower_us: int
    upper_us: int
    lower: float
    upper: float
    speed: float
    acceleration: float
    jerk: float
    park: float
    lag_s: float
    servo_speed: float
    still: float

    def position(self, pulse_us: float) -> float:
        """Straight from point to point, and on beyond the last ones."""
        points = sorted(self.points, key=lambda point: point[1])
        for (x0, u0), (x1, u1) in pairwise(points):
            if pulse_us <= u1 or (x1, u1) == points[-1]:
                return x0 + (x1 - x0) * (pulse_us - u0) / (u1 - u0)
        raise AssertionError("a calibration has two points or more")

    @property
    def unit_per_us(self) -> float:
        """The most that one microsecond can be, anywhere on this axis."""
        return max(abs((x1 - x0) / (u1 - u0)) for (x0, u0), (x1, u1) in pairwise(self.points))

    @property
    def ramp_s(self) -> float:
        """The longest stop of this axis: at full speed and still speeding up, as hard as it may."""
        return self.speed / self.acceleration + 2.5 * self.acceleration / self.jerk


@dataclass(frozen=True)
class RigFacts:
    """A rig's file, read with nothing of the product.

    Attributes:
        settle_after_s: from when a command is due until the controller's last change for it.
    """

    axes: tuple[AxisFacts, ...]
    period_s: float
    look_ahead_s: float
    dwell_s: float
    canary: int
    settle_after_s: float = FRAME_S

    @property
    def settle_s(self) -> float:
        """Time in which the servos arrive once the pulses stand still."""
        return SETTLE_LAGS * max(axis.lag_s for axis in self.axes)

    @property
    def stop_time_s(self) -> float:
        """From a stop to the last moving pulse: longest ramp on the grid of ticks, look-ahead, and what is left."""
        ramp_s = math.ceil(max(axis.ramp_s for axis in self.axes) / self.period_s - 1e-9) * self.period_s
        return ramp_s + self.look_ahead_s + self.settle_after_s

    @property
    def end_time_s(self) -> float:
        """From the end of the stream to a Lynx6's last moving pulse: look-ahead, one board frame, the line's time."""
        return self.look_ahead_s + FRAME_S + LINE_S


def read_rig(path: Path) -> RigFacts:
    """The facts of a rig file that inherits from no other."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    wires = table["controller"]["axis"]
    axes = [_axis(joint, wires[joint["name"]], "deg", math.pi / 180.0) for joint in table["joints"]]
    axes.append(_axis(table["gripper"], wires[table["gripper"]["name"]], "mm", 1e-3))
    timing = table["timing"]
    return RigFacts(
        axes=tuple(axes),
        period_s=timing["period_ms"] / 1000.0,
        look_ahead_s=timing["look_ahead_ms"] / 1000.0,
        dwell_s=timing["energise_dwell_ms"] / 1000.0,
        canary=table["controller"]["canary_channel"],
    )


def _axis(table: dict[str, Any], wire: dict[str, Any], unit: str, scale: float) -> AxisFacts:
    return AxisFacts(
        name=table["name"],
        channel=wire["channel"],
        points=tuple((x * scale, float(us)) for x, us in wire[f"points_{unit}_us"]),
        lower_us=wire["lower_us"],
        upper_us=wire["upper_us"],
        lower=table[f"lower_{unit}"] * scale,
        upper=table[f"upper_{unit}"] * scale,
        speed=table[f"speed_{unit}_s"] * scale,
        acceleration=table[f"acceleration_{unit}_s2"] * scale,
        jerk=table[f"jerk_{unit}_s3"] * scale,
        park=table[f"park_{unit}"] * scale,
        lag_s=table["servo_lag_ms"] / 1000.0,
        servo_speed=table[f"servo_speed_{unit}_s"] * scale,
        still=STILL * scale,
    )


class WireJudge:
    """Every byte that left, line by line: form, channels, widths, steps, and whether anything may move now.

    Args:
        rig: the facts.
        old_firmware: the board has no STOP, so a freeze is a plain move of several channels.
    """

    _MOVE = re.compile(rb"((?:#\d{1,2}P\d{3,4})+)(?:T(\d{1,5}))?")
    _TARGET = re.compile(rb"#(\d+)P(\d+)")
    _LET_GO = re.compile(rb"#(\d{1,2})P0")
    _QUESTION = re.compile(rb"|(?:~~)?\x1b|VER|R[04]|R(?:3[2-9]|[4-8]\d|9[0-5])|SS|((?:QP\d{1,2})+)|STOP(\d{1,2})")

    def __init__(self, rig: RigFacts, *, old_firmware: bool) -> None:
        self._rig, self._old_firmware = rig, old_firmware
        self._by_channel = {axis.channel: axis for axis in rig.axes}
        self._asked = b"".join(b"QP%d" % c for c in (*self._by_channel, rig.canary))
        spare = max(set(range(32)) - {*self._by_channel, rig.canary})
        self._asked_at_first = self._asked + b"QP%d" % spare
        self._last_us: dict[int, int] = {}
        self._before_us: dict[int, int] = {}
        self._energised_s = -math.inf
        self.counts: Counter[str] = Counter()
        self.excused: Counter[Excuse] = Counter()
        self.worst_step = 0.0

    def judge(self, record: TickRecord) -> None:
        """Take one tick's bytes."""
        data = record.written
        if any(isinstance(request, Confirm) for request in record.requests):
            self._energised_s = -math.inf
        self.counts["bytes"] += len(data)
        if not data:
            return
        _hold(data.endswith(b"\r"), f"a line without an end left: {data!r}")
        moves = 0
        for line in data[:-1].split(b"\r"):
            self.counts["lines"] += 1
            if move := self._MOVE.fullmatch(line):
                moves += not self._mark(line)
                self._judge_move(record, line, move)
            elif let_go := self._LET_GO.fullmatch(line):
                self._judge_let_go(record, line, int(let_go[1]))
            else:
                self._judge_question(line)
        _hold(moves <= 1, f"{moves} moves in one tick: {data!r}")

    def _mark(self, line: bytes) -> bool:
        return line in [b"#%dP%d" % (self._rig.canary, width_us) for width_us in (750, 1250, 1750, 2250)]

    def _judge_let_go(self, record: TickRecord, line: bytes, channel: int) -> None:
        asked = [request.axis for request in record.requests if isinstance(request, LetGo)]
        named = channel in self._by_channel and self._by_channel[channel].name in asked
        _hold(named and record.mode not in WRITING, f"{line!r} lets an axis go that nobody asked for")
        self.counts["axes let go of"] += 1

    def _judge_question(self, line: bytes) -> None:
        match = self._QUESTION.fullmatch(line)
        _hold(match is not None, f"{line!r} is nothing that may be sent")
        assert match is not None
        asked = (None, self._asked, self._asked_at_first)
        _hold(match[1] in asked, f"{line!r} asks other channels than {self._asked!r}")
        _hold(match[2] is None or int(match[2]) in self._by_channel, f"{line!r} stops a channel without an axis")

    def _judge_move(self, record: TickRecord, line: bytes, move: re.Match[bytes]) -> None:
        if self._mark(line):
            _hold(record.mode not in WRITING, "the canary was set while the arm is in motion")
            return
        pulses = {int(channel): int(pulse) for channel, pulse in self._TARGET.findall(move[1])}
        for channel, pulse_us in pulses.items():
            axis = self._by_channel.get(channel)
            _hold(axis is not None, f"{line!r} moves channel {channel}, which has no axis")
            assert axis is not None
            _hold(axis.lower_us <= pulse_us <= axis.upper_us, f"{line!r}: {axis.name} outside its pulse limits")
            inside = axis.lower - axis.unit_per_us <= axis.position(pulse_us) <= axis.upper + axis.unit_per_us
            _hold(inside, f"{line!r}: {axis.name} outside its joint limits")
        if record.mode is Mode.ENERGISING:
            self._judge_first_move(record, line, pulses, timed=move[2] is not None)
        elif record.mode in (Mode.STREAMING, Mode.STOPPING):
            self._judge_sample(line, pulses, move[2])
        else:
            self._judge_freeze(record, line, pulses, timed=move[2] is not None)
        self._before_us, self._last_us = self._last_us, {**self._last_us, **pulses}

    def _judge_first_move(self, record: TickRecord, line: bytes, pulses: dict[int, int], *, timed: bool) -> None:
        _hold(len(pulses) == 1 and not timed, f"{line!r}: a first move is one channel and never timed")
        pause_s = record.t_s - self._energised_s
        _hold(pause_s >= self._rig.dwell_s - 1e-9, f"{line!r} came {pause_s:.3f} s after the one before it")
        self._energised_s = record.t_s
        self.counts["first moves"] += 1

    def _judge_sample(self, line: bytes, pulses: dict[int, int], time_ms: bytes | None) -> None:
        _hold(list(pulses) == list(self._by_channel), f"{line!r} is no sample of every axis in its order")
        _hold(time_ms is not None, f"{line!r} has no time")
        assert time_ms is not None
        _hold(int(time_ms) == round(self._rig.look_ahead_s * 1000.0), f"{line!r} has another time than the look-ahead")
        for channel, pulse_us in pulses.items():
            axis = self._by_channel[channel]
            step = abs(axis.position(pulse_us) - axis.position(self._last_us[channel]))
            allowed = axis.speed * self._rig.period_s + axis.unit_per_us
            _hold(step <= allowed + 1e-12, f"{line!r}: {axis.name} steps {step:.5f}, allowed {allowed:.5f}")
            self.worst_step = max(self.worst_step, step / allowed)
        self.counts["samples"] += 1

    def _judge_freeze(self, record: TickRecord, line: bytes, pulses: dict[int, int], *, timed: bool) -> None:
        """Firmware 1.x: to where the channel has to be by now, between the two newest lines."""
        ends = record.mode in (Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED)
        _hold(self._old_firmware and ends and not timed, f"{line!r} left in mode {record.mode.value}")
        for channel, pulse_us in pulses.items():
            axis = self._by_channel[channel]
            reach_us = 1.0 + axis.speed * self._rig.look_ahead_s / axis.unit_per_us * 2.0
            _hold(abs(pulse_us - self._last_us[channel]) <= reach_us, f"{line!r} moves {axis.name} instead of freezing")
        self.counts["freezes by a plain move"] += 1
        self.excused[Excuse.OLD_FIRMWARE] += 1


def _owes_an_answer(record: TickRecord) -> bool:
    """By the age of the newest report, or by the account that stands in each record with which the mode changes."""
    waits = record.line is not None and (record.line.overdue_s is not None or record.line.doubtful_s is not None)
    return waits or record.reported is None or record.t_s - record.reported.t_s > ANSWER_S


class SampleJudge:
    """Samples before rounding: speed, acceleration and jerk of what followed one another, and that they end at rest.

    A stop that was cut sends no sample that is too hard: it sends none. So a motion that ended, and not because
    somebody is dead or the arm had come to rest by itself, counts as standing still from its last sample on. A ramp
    may come to rest by itself, too, where nothing is sent because the board owes an answer.
    """

    def __init__(self, rig: RigFacts) -> None:
        self._rig = rig
        self._passed: list[tuple[float, ...]] = []
        self._mode, self._sent_s = Mode.DISCONNECTED, -math.inf
        self._ended = self._starts = False
        self.worst_acceleration = self.worst_jerk = 0.0

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        # The first sample may leave some ticks after its motion was started.
        self._starts |= any(isinstance(request, Start) for request in record.requests)
        led = any(isinstance(request, FollowTarget) for request in record.requests)
        begins = led and record.mode is Mode.STREAMING and self._mode is not Mode.STREAMING
        if begins or (self._starts and record.sample == 0):
            self._passed, self._starts = [], False
        self._ended |= any(isinstance(request, EndStream) for request in record.requests)
        if record.sent is not None and isinstance(record.wanted, JointCommand):
            self._take(record.wanted.positions, "a sample")
            self._sent_s = record.t_s
        moved = self._mode in (Mode.STREAMING, Mode.STOPPING)
        rested = record.t_s - self._sent_s >= self._rig.look_ahead_s - 1e-9 and (
            self._mode is Mode.STREAMING or _owes_an_answer(record)
        )
        if moved and record.mode in (Mode.HOLDING, Mode.IDLE) and self._passed and not (self._ended or rested):
            self._take(self._passed[-1], "the end of a motion")
        self._mode = record.mode

    def _take(self, here: tuple[float, ...], what: str) -> None:
        passed = ([here] * 3 if not self._passed else [self._passed[0]] * 3 + self._passed)[-3:]
        period = self._rig.period_s
        for axis, oldest, older, last, now in zip(self._rig.axes, *passed, here, strict=True):
            _hold(abs(now - last) <= axis.speed * period * (1 + 1e-6) + 1e-12, f"{axis.name}: {what} too fast")
            bend = abs(now - 2.0 * last + older) / (axis.acceleration * period**2)
            self.worst_acceleration = max(self.worst_acceleration, bend)
            _hold(bend <= 1.0 + 1e-5, f"{axis.name}: {what} at {bend:.4f} of the acceleration that is allowed")
            twist = abs(now - 3.0 * last + 3.0 * older - oldest) / (axis.jerk * period**3)
            self.worst_jerk = max(self.worst_jerk, twist)
            _hold(twist <= 1.0 + 1e-4, f"{axis.name}: {what} at {twist:.4f} of the jerk that is allowed")
        self._passed = [*self._passed, here][-3:]


class RecordJudge:
    """What every record has to say for itself: numbers without holes, and no motion that nobody asked for.

    Args:
        each_leaves: every command that is sent is bytes in the same tick; not where the driver keeps the newest.
    """

    def __init__(self, *, each_leaves: bool) -> None:
        self._each_leaves = each_leaves
        self._next, self._mode, self._t_s = 0, Mode.DISCONNECTED, -math.inf
        self._confirmed_s = -math.inf
        self._ended = False

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        _hold(record.tick == self._next, f"tick {record.tick} follows tick {self._next - 1}")
        _hold(record.t_s > self._t_s, "time stood still between two ticks")
        _hold(not record.hits, f"the guard refused a sample of a certified motion or of its stop: {record.hits}")
        before, after = self._mode, record.mode
        kinds = {type(request) for request in record.requests}
        self._ended |= EndStream in kinds
        may = not self._ended or (record.sent is None and after not in WRITING | {Mode.ARMED})
        _hold(may, f"{after.value}, and somebody who answers for the motion is dead")
        if Confirm in kinds:
            self._confirmed_s = record.t_s
        if after is Mode.ENERGISING and before is not after:
            _hold(before is Mode.UNKNOWN_POSE or Mode.UNKNOWN_POSE.value in _passed_by(record), "driven too early")
            since_s = record.t_s - self._confirmed_s
            _hold(since_s <= 1.0, f"axes are driven, and nobody has confirmed a pose for {since_s:.3f} s")
        if after is Mode.STREAMING and before is not after:
            _hold(bool(kinds & {Start, FollowTarget}), "a motion began that nobody has started")
        _hold(record.sent is None or after in WRITING, f"something was sent in mode {after.value}")
        bytes_left = record.sent is None or record.written != b"" or not self._each_leaves
        _hold(bytes_left, "the record says sent, and no byte left")
        self._next, self._mode, self._t_s = record.tick + 1, after, record.t_s


def _passed_by(record: TickRecord) -> str:
    return " ".join(event.partition(":")[0] for event in record.events)


class ArmJudge:
    """The servos themselves: still once the stop time and their own settling are over, and until the next motion.

    Args:
        rig: the facts.
        stop_time_s: from a stop to the last moving pulse, by the rig's numbers.
        end_time_s: the same from the end of the stream, after which nothing more is sent.
    """

    def __init__(self, rig: RigFacts, stop_time_s: float, end_time_s: float) -> None:
        self._rig, self._stop_time_s, self._end_time_s = rig, stop_time_s, end_time_s
        self._moving = False
        self._began_s = self._deadline_s = -math.inf
        self._way: list[tuple[float, tuple[float, ...]]] = []
        self._anchor: tuple[float, ...] | None = None
        self._last_s = -math.inf
        self._why = ""
        self.worst_rest_s: dict[str, float] = {}
        self.judged = 0
        self.excused: Counter[Excuse] = Counter()

    @property
    def allowed_s(self) -> float:
        """From a stop to an arm at rest."""
        return self._stop_time_s + self._rig.settle_s

    def judge(self, record: TickRecord, positions: Sequence[float], excuse: Excuse | None = None) -> None:
        """Take one tick and where the servos are, and what outside the product may move them."""
        now_s, here = record.t_s, tuple(positions)
        gap_s = max(now_s - self._last_s - self._rig.period_s, 0.0) if math.isfinite(self._last_s) else 0.0
        self._last_s = now_s
        if record.mode in (Mode.STREAMING, Mode.ENERGISING):
            self._moving, self._way, self._anchor = True, [], None
            return
        if self._moving:
            self._moving = False
            self._began_s, self._deadline_s, self._why = now_s, now_s + self.allowed_s, record.mode.value
        ended_s = now_s + self._end_time_s + self._rig.settle_s
        if any(isinstance(request, EndStream) for request in record.requests) and ended_s < self._deadline_s:
            self._why, self._began_s, self._deadline_s = "the end of the stream", now_s, ended_s
        if record.mode is Mode.STOPPING and gap_s > GAP_S:
            self.excused[Excuse.HELD_UP] += 1
        if record.mode is Mode.STOPPING:
            self._deadline_s += gap_s  # a ramp goes on by samples sent: held up, it is late, and never jumps
        if excuse is not None:
            self.excused[excuse] += 1
            self._way, self._anchor = [], None
            self._deadline_s = max(self._deadline_s, now_s)
            self._why = ""
            return
        if now_s <= self._deadline_s:
            self._way.append((now_s, here))
            return
        _hold(record.mode is not Mode.STOPPING, f"still stopping {now_s - self._began_s:.3f} s after the stop")
        if self._anchor is None:
            self._anchor = here
            self._note_rest(here)
        self.judged += 1
        for axis, there, now in zip(self._rig.axes, self._anchor, here, strict=True):
            _hold(
                abs(there - now) <= axis.still,
                f"{axis.name} moved by {abs(there - now):.5f} in mode {record.mode.value}, "
                f"{now_s - self._began_s:.3f} s after it should have begun to stop "
                f"(allowed {self._deadline_s - self._began_s:.3f} s)",
            )

    def _note_rest(self, rest: tuple[float, ...]) -> None:
        if not self._why:
            return
        away = [t_s for t_s, there in self._way if not self._at(there, rest)]
        rest_s = (away[-1] - self._began_s + self._rig.period_s) if away else 0.0
        self.worst_rest_s[self._why] = max(self.worst_rest_s.get(self._why, 0.0), rest_s)

    def _at(self, there: tuple[float, ...], rest: tuple[float, ...]) -> bool:
        return all(abs(a - b) <= axis.still for axis, a, b in zip(self._rig.axes, there, rest, strict=True))


class NoticeJudge:
    """Streaming ends soon after something that cannot be mended has happened.

    Args:
        bounds_s: longest time from each kind of trouble to the end of streaming.
    """

    def __init__(self, bounds_s: dict[str, float]) -> None:
        self._bounds_s = bounds_s
        self._open: dict[str, float] = {}
        self._last_s = -math.inf
        self.worst_s: dict[str, float] = {}
        self.excused: Counter[Excuse] = Counter()

    def happened(self, kind: str, at_s: float) -> None:
        """Something went wrong while the arm was streaming."""
        self._open.setdefault(kind, at_s)

    def passed(self, kind: str) -> None:
        """It is over and need not be noticed any more."""
        if self._open.pop(kind, None) is not None:
            self.excused[Excuse.WENT_ON] += 1

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        gap_s = max(record.t_s - self._last_s - GAP_S, 0.0) if math.isfinite(self._last_s) else 0.0
        self._last_s = record.t_s
        for kind, at_s in list(self._open.items()):
            # A loop that was held up could not notice anything.
            self.excused[Excuse.HELD_UP] += gap_s > 0.0
            self._open[kind] = at_s = at_s + min(gap_s, record.t_s - at_s)
            since_s, bound_s = record.t_s - at_s, self._bounds_s[kind]
            _hold(since_s <= bound_s, f"{kind}: still streaming {since_s:.3f} s later, allowed {bound_s:.3f} s")
            if record.mode is not Mode.STREAMING:
                self.worst_s[kind] = max(self.worst_s.get(kind, 0.0), since_s)
                del self._open[kind]


class FirstMoveJudge:
    """What an axis does when it is driven for the first time: nothing, as far as anybody can know."""

    def __init__(self, rig: RigFacts) -> None:
        self._by_channel = {axis.channel: axis for axis in rig.axes}
        self.worst_driven_us = 0.0
        self.worst_limp = 0.0

    def judge(self, line: bytes, now_us: float, shaft: float) -> None:
        """Take a first move.

        Args:
            line: as it left.
            now_us: what the board generated on that channel until then, 0 for nothing.
            shaft: where the servo is.
        """
        channel, pulse_us = (int(text) for text in re.findall(rb"\d+", line))
        axis = self._by_channel[channel]
        if now_us:
            self.worst_driven_us = max(self.worst_driven_us, abs(pulse_us - now_us))
            _hold(abs(pulse_us - now_us) <= 2.2 * ECHO_US, f"{axis.name} was held at {now_us:.0f} us and got {line!r}")
        else:
            jump = abs(axis.position(pulse_us) - shaft)
            self.worst_limp = max(self.worst_limp, jump / axis.unit_per_us)
            # The board may have restarted after its echo was adopted: the shaft is where the echo was, to its step.
            bound = 1.3 * ECHO_US * axis.unit_per_us
            _hold(jump <= bound, f"{axis.name} was limp at {shaft:.4f} and got {line!r}")


def driven_pose(record: TickRecord, pose: list[float]) -> None:
    """Keep `pose` up to date: the newest unrounded position that was sent to each axis."""
    if record.sent is None:
        return
    if isinstance(record.wanted, JointCommand):
        pose[:] = record.wanted.positions
    elif isinstance(record.wanted, EnergiseCommand):
        pose[record.wanted.axis] = record.wanted.position


def _hold(condition: bool, words: str) -> None:
    if not condition:
        raise Violation(words)

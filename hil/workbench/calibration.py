"""Calibrating an arm of which nothing is known yet: a procedure of questions to a person and small moves of one servo.

Pure: it yields questions and actions, and is sent answers and reports. See docs/calibrate.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from hil.errors import HilError, InterlockError
from hil.model._calibration_file import PULSE_US, AxisCalibration, Direction
from hil.piecewise import PiecewiseLinear
from hil.types import Record
from hil.workbench._calibration_numbers import calibrated, doubt, inside, lacking, residuals, summary
from hil.workbench._calibration_plan import MIDDLE_US, AxisPlan, Plan, Progress, middle_pose, plan_calibration

__all__ = [
    "MIDDLE_US",
    "AxisPlan",
    "CalibrationStoppedError",
    "Drive",
    "Keep",
    "ServoLine",
    "Move",
    "Plan",
    "Progress",
    "Question",
    "Report",
    "Step",
    "Steps",
    "Tell",
    "ask",
    "calibrate",
    "calibrated",
    "carry_out",
    "centre",
    "middle_pose",
    "plan_calibration",
    "residuals",
]

WIGGLE_US = 40
WINDOW_US = 100
"""How far a servo goes beyond the pulses that are known to be good, some 10 degrees, until somebody has looked."""
ECHO_US = 10
"""A board tells its pulses in steps of this, rounded down."""

T = TypeVar("T")


# -- questions and actions -------------------------------------------------------------------------------


class Question(Record, frozen=True):
    """Something that a person has to answer; ``stop`` is always an answer.

    Attributes:
        kind: what is asked.
        text: the question.
        answers: what may be answered, in words.
        axis, channel: what it is about, if anything.
        reference: position at which a measurement is wanted.
    """

    kind: Literal["place", "horn", "which", "direction", "measure", "same arm", "release"]
    text: str
    answers: str
    axis: str = ""
    channel: int | None = None
    reference: float | None = None


class Report(Record, frozen=True):
    """Find out which pulse each channel gets now; the answer is a table of channel and pulse, None where limp."""


class Drive(Record, frozen=True):
    """The first move of a channel."""

    channel: int
    pulse_us: int


class Move(Record, frozen=True):
    """Bring a driven channel to a pulse, in small slow steps."""

    channel: int
    pulse_us: int


class Release(Record, frozen=True):
    """Switch the pulses of one channel off: its servo lets go."""

    channel: int


class Tell(Record, frozen=True):
    """Say something."""

    text: str


class Keep(Record, frozen=True):
    """Keep what is known so far."""

    progress: Progress


Step = Question | Report | Drive | Move | Release | Tell | Keep
Steps = Generator[Step, Any, T]


class CalibrationStoppedError(HilError):
    """Somebody said stop: the arm holds, and what was measured is kept."""


class ServoLine(Protocol):
    """What carries out the actions."""

    def attended(self) -> None:
        """A person has just answered."""
        ...

    def report(self) -> dict[int, int | None]:
        """Which pulse each channel gets, None where limp."""
        ...

    def drive(self, channel: int, pulse_us: int) -> None:
        """The first move of a channel."""
        ...

    def move(self, channel: int, pulse_us: int) -> None:
        """Bring a channel there in small steps; returns when it has got there."""
        ...

    def release(self, channel: int) -> None:
        """Switch a channel's pulses off; returns when the controller says so."""
        ...


def carry_out(
    steps: Steps[T],
    operator: Callable[[Question], str],
    line: ServoLine,
    tell: Callable[[str], None],
    keep: Callable[[Progress], None] = lambda progress: None,
) -> T:
    """Carry a procedure out to its end.

    Raises:
        CalibrationStoppedError: the operator said stop.
        HilError: the line or the controller failed, or the procedure cannot go on.
    """
    answer: object = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = None
        if isinstance(step, Question):
            answer = operator(step)
            line.attended()
        elif isinstance(step, Report):
            answer = line.report()
        elif isinstance(step, Drive):
            line.drive(step.channel, step.pulse_us)
        elif isinstance(step, Move):
            line.move(step.channel, step.pulse_us)
        elif isinstance(step, Release):
            line.release(step.channel)
        elif isinstance(step, Tell):
            tell(step.text)
        else:
            keep(step.progress)


def ask(question: Question, allowed: Sequence[str]) -> Steps[str]:
    """Ask until the answer is one of those allowed; an empty answer is the first of them.

    Raises:
        CalibrationStoppedError: it was stop.
    """
    while True:
        answer = yield from listen(question)
        answer = answer or allowed[0]
        if answer in allowed:
            return answer
        yield Tell(text=f"{answer!r}: allowed: {question.answers}")


def listen(question: Question) -> Steps[str]:
    """One answer, trimmed, in small letters.

    Raises:
        CalibrationStoppedError: it was stop.
    """
    given = yield question
    answer = str(given).strip().lower()
    if answer == "stop":
        raise CalibrationStoppedError(
            "stopped: the arm holds where it is, and what was measured is kept; the same command goes on from there"
        )
    return answer


# -- the procedure ---------------------------------------------------------------------------------------


def centre(plan: Plan) -> Steps[None]:
    """Send the middle pulse to one channel after the other, each with its horn off."""
    report: dict[int, int | None] = yield Report()
    by_channel = {axis.channel: axis for axis in plan.axes}
    for channel in plan.channels:
        axis = by_channel.get(channel)
        name = f" (by the rig's file: {axis.name})" if axis else ""
        question = Question(
            kind="horn",
            text=f"Channel {channel}{name}: take the horn off its servo, so that the joint hangs free",
            answers="Enter or off (it is off), skip, stop",
            channel=channel,
        )
        if (yield from ask(question, ("off", "skip"))) == "skip":
            continue
        reported = report[channel]
        yield Drive(channel=channel, pulse_us=reported or MIDDLE_US)
        if reported:
            yield Move(channel=channel, pulse_us=MIDDLE_US)
        where = f"; it should come near {axis.say(axis.first_at)}" if axis else ""
        yield Tell(
            text=f"channel {channel} is at {MIDDLE_US} us. Put the horn on with the joint about in the middle of its "
            f"travel{where}. One tooth off is fine: that is measured next. Leave the power on"
        )


def calibrate(plan: Plan, progress: Progress, only: str | None = None) -> Steps[dict[str, AxisCalibration]]:
    """Find channels, directions and points of every axis, or of one.

    Args:
        plan: what to do.
        progress: what is known already, from a draft or from the calibration in force.
        only: name of the one axis to redo; its channel has to be known.

    Returns:
        What was measured, by axis.
    """
    return (yield from _Procedure(plan, progress).run(only))


class _Procedure:
    def __init__(self, plan: Plan, progress: Progress) -> None:
        self._plan, self._progress = plan, progress
        self._pulses: dict[int, int] = {}
        self._good: dict[int, tuple[int, int]] = {}

    def run(self, only: str | None) -> Steps[dict[str, AxisCalibration]]:
        wanted = [axis for axis in self._plan.axes if only in (None, axis.name)]
        yield from self._drive(self._plan.channels if only is None else (self._progress.channels[only],))
        if any(axis.name not in self._progress.channels for axis in wanted):
            yield from self._name_channels()
        for axis in wanted:
            if axis.name not in self._progress.done:
                yield from self._measure_axis(axis)
        return {axis.name: calibrated(axis, self._progress) for axis in wanted}

    # -- first moves -------------------------------------------------------------------------------------

    def _drive(self, channels: Sequence[int]) -> Steps[None]:
        """Drive each channel where the board has it, else where a person has brought its joint."""
        report: dict[int, int | None] = yield Report()
        known = {channel: name for name, channel in self._progress.channels.items()}
        by_file = {axis.channel: axis for axis in self._plan.axes}
        for channel in channels:
            reported = report[channel]
            if reported:
                held = self._progress.held.get(channel)
                pulse_us = held if held is not None and 0 <= held - reported < ECHO_US else reported
                yield Tell(text=f"channel {channel} is driven already and keeps its pulse, {pulse_us} us")
            else:
                axis = self._plan.axis(known[channel]) if channel in known else by_file.get(channel)
                first = yield from self._place(channel, axis, sure=channel in known)
                if first is None:
                    continue
                pulse_us = first
            yield Drive(channel=channel, pulse_us=pulse_us)
            self._good[channel] = (pulse_us, pulse_us)
            yield from self._keep_pulse(channel, pulse_us)

    def _place(self, channel: int, axis: AxisPlan | None, *, sure: bool) -> Steps[int | None]:
        first_us = MIDDLE_US if axis is None else axis.first_us
        where = "to the middle of its travel"
        if axis is not None:
            at = self._position(axis, first_us) if sure and self._points(axis) else axis.first_at
            where = f"to {axis.say(at)}" if sure else f"{where}, about {axis.say(at)}"
        name = "" if axis is None else f", {axis.name}" if sure else f" (by the rig's file: {axis.name})"
        middle = "" if first_us == MIDDLE_US else "middle (begin at 1500 us), "
        question = Question(
            kind="place",
            text=f"Channel {channel}{name} is limp. Bring its joint by hand {where}, and hold what would fall. It gets "
            f"its first pulse, {first_us} us, and goes there at full speed: keep the supply's switch within reach",
            answers=f"Enter or go, {middle}skip (no servo there), stop",
            axis=axis.name if axis is not None and sure else "",
            channel=channel,
        )
        answer = yield from ask(question, ("go", "skip", "middle"))
        return None if answer == "skip" else MIDDLE_US if answer == "middle" else first_us

    # -- channels and directions -------------------------------------------------------------------------

    def _name_channels(self) -> Steps[None]:
        """Move one channel after the other a little; the person names what moved."""
        named = {channel: name for name, channel in self._progress.channels.items() if channel in self._pulses}
        pending = [channel for channel in self._pulses if channel not in named]
        names = [axis.name for axis in self._plan.axes]
        while pending:
            channel = pending.pop(0)
            answer = yield from self._which(channel, names)
            rival = next((other for other, name in named.items() if name == answer), None)
            if rival is not None:
                del named[rival]
                yield Tell(text=f"{answer} was named for channel {rival} as well: look at both once more")
                pending = [rival, channel, *pending]
            elif answer != "none":
                named[channel] = answer
            channels = {name: number for number, name in named.items()}
            yield from self._keep(msgspec.structs.replace(self._progress, channels=channels))
        if missing := [name for name in names if name not in named.values()]:
            raise InterlockError(
                f"no channel moves {', '.join(missing)}: is the servo plugged in, and powered? Channels tried: "
                f"{', '.join(map(str, self._pulses))}; name others with --channels",
                missing,
            )

    def _which(self, channel: int, names: Sequence[str]) -> Steps[str]:
        while True:
            yield from self._wiggle(channel)
            question = Question(
                kind="which",
                text=f"Channel {channel} has moved a little and back. What moved?",
                answers=f"{', '.join(names)}, none, again, stop",
                channel=channel,
            )
            answer = yield from ask(question, ("again", "none", *names))
            if answer != "again":
                return answer

    def _wiggle(self, channel: int) -> Steps[None]:
        here_us = self._pulses[channel]
        yield from self._go(channel, inside(here_us + _wiggle_us(here_us)))
        yield from self._go(channel, here_us)

    def _see_direction(self, axis: AxisPlan) -> Steps[Direction]:
        channel = self._progress.channels[axis.name]
        here_us = self._pulses[channel]
        by_us = _wiggle_us(here_us)
        while True:
            yield from self._go(channel, here_us + by_us)
            question = Question(
                kind="direction",
                text=f"{axis.name} has moved a little. + if so: {axis.positive}. - if it went the other way",
                answers="+, -, again, stop",
                axis=axis.name,
                channel=channel,
            )
            answer = yield from ask(question, ("again", "+", "-"))
            self._looked(channel)
            yield from self._go(channel, here_us)
            if answer != "again":
                return "rising" if (answer == "+") == (by_us > 0) else "falling"

    # -- points ------------------------------------------------------------------------------------------

    def _measure_axis(self, axis: AxisPlan) -> Steps[None]:
        channel = self._progress.channels[axis.name]
        start_us = self._pulses[channel]
        if axis.name not in self._progress.directions:
            yield from self._set_direction(axis, (yield from self._see_direction(axis)))
        yield from self._measure_points(axis, channel)
        found = calibrated(axis, self._progress)
        yield Tell(text=summary(axis, found))
        yield from self._go(channel, start_us)
        done = (*self._progress.done, axis.name)
        yield from self._keep(msgspec.structs.replace(self._progress, done=done))

    def _set_direction(self, axis: AxisPlan, direction: Direction) -> Steps[None]:
        directions = {**self._progress.directions, axis.name: direction}
        yield from self._keep(msgspec.structs.replace(self._progress, directions=directions))

    def _measure_points(self, axis: AxisPlan, channel: int) -> Steps[None]:
        """First where the axis stands, then at each reference that can be reached."""
        if not self._points(axis):
            yield from self._measure_at(axis, channel, None)
        start = self._points(axis)[0][0]
        up = [reference for reference in axis.references if reference >= start]
        down = [reference for reference in reversed(axis.references) if reference < start]
        open_ = [at for at in (*up, *down) if not self._measured_near(axis, at)]
        while True:
            for reference in open_:
                if (yield from self._measure_at(axis, channel, reference)) == "done":
                    break
            words = lacking(axis, self._points(axis))
            if not words:
                return
            yield Tell(text=words)
            open_ = [axis.references[0], axis.references[-1]]

    def _measured_near(self, axis: AxisPlan, reference: float) -> bool:
        return any(abs(position - reference) < 0.02 * axis.span for position, _ in self._points(axis))

    def _measure_at(self, axis: AxisPlan, channel: int, reference: float | None) -> Steps[str]:
        """Bring the axis to a reference as the person says, and take what is measured there."""
        while True:
            answer = yield from listen(self._question(axis, channel, reference))
            self._looked(channel)
            if answer in ("skip", "done") and reference is not None:
                return answer
            if answer == "undo" and self._points(axis):
                yield from self._keep_points(axis, self._points(axis)[:-1])
                yield Tell(text="the last point is forgotten")
            elif answer == "direction":
                yield from self._set_direction(axis, (yield from self._see_direction(axis)))
            elif answer.startswith("="):
                if (yield from self._take(axis, channel, answer[1:])):
                    return "measured"
            elif answer in ("", "go") and reference is not None:
                yield from self._approach(axis, channel, reference)
            elif (by := _jog(answer)) is not None:
                by_us = by * axis.us_per_unit * (1.0 if self._progress.directions[axis.name] == "rising" else -1.0)
                yield from self._go_within_window(channel, self._pulses[channel] + round(by_us))
            else:
                yield Tell(text=f"{answer!r}: allowed: {self._question(axis, channel, reference).answers}")

    def _question(self, axis: AxisPlan, channel: int, reference: float | None) -> Question:
        pulse_us, points = self._pulses[channel], self._points(axis)
        if reference is None:
            text = f"{axis.name} stands at {pulse_us} us. Where is that? Measure it and type it after =, in {axis.unit}"
            answers = f"= {axis.unit} (measured), + or - (move by 1 {axis.unit}), +N or -N, direction, stop"
        else:
            about = self._position(axis, pulse_us)
            text = f"{axis.name} at {pulse_us} us, about {axis.say(about)}; next to measure: near {axis.say(reference)}"
            answers = f"Enter or go, = {axis.unit} (measured), +N or -N, skip, undo, direction, done, stop"
        return Question(
            kind="measure",
            text=f"{text} ({len(points)} measured)",
            answers=answers,
            axis=axis.name,
            channel=channel,
            reference=reference,
        )

    def _take(self, axis: AxisPlan, channel: int, text: str) -> Steps[bool]:
        """Add a measured point, if it can be."""
        try:
            position = float(text.strip().replace(",", "."))
        except ValueError:
            position = math.nan
        pulse_us = self._pulses[channel]
        others = tuple(point for point in self._points(axis) if abs(point[1] - pulse_us) > ECHO_US)
        words = doubt(axis, others, (position, pulse_us), self._progress.directions[axis.name])
        if words:
            yield Tell(text=words)
            return False
        yield from self._keep_points(axis, (*others, (position, pulse_us)))
        yield Tell(text=f"{axis.name}: {axis.say(position)} is {pulse_us} us")
        return True

    def _approach(self, axis: AxisPlan, channel: int, reference: float) -> Steps[None]:
        goal_us = inside(round(self._pulse(axis, reference)))
        if goal_us == self._pulses[channel]:
            yield Tell(text=f"{axis.name} is there, by what was measured so far: type = and what you measure, or skip")
            return
        yield from self._go_within_window(channel, goal_us)

    # -- moving ------------------------------------------------------------------------------------------

    def _go_within_window(self, channel: int, pulse_us: int) -> Steps[None]:
        low_us, high_us = self._good[channel]
        yield from self._go(channel, inside(min(max(pulse_us, low_us - WINDOW_US), high_us + WINDOW_US)))

    def _go(self, channel: int, pulse_us: int) -> Steps[None]:
        if pulse_us != self._pulses[channel]:
            yield Move(channel=channel, pulse_us=pulse_us)
            yield from self._keep_pulse(channel, pulse_us)

    def _looked(self, channel: int) -> None:
        """Whoever answers has looked: the present pulse is known to be good."""
        low_us, high_us = self._good[channel]
        self._good[channel] = (min(low_us, self._pulses[channel]), max(high_us, self._pulses[channel]))

    # -- what is known -----------------------------------------------------------------------------------

    def _points(self, axis: AxisPlan) -> tuple[tuple[float, int], ...]:
        """In the order in which they were measured."""
        return self._progress.points.get(axis.name, ())

    def _pulse(self, axis: AxisPlan, position: float) -> float:
        points = sorted(self._points(axis))
        if len(points) > 1:
            return PiecewiseLinear(*zip(*points, strict=True))(position)
        slope_us = axis.us_per_unit * (1.0 if self._progress.directions[axis.name] == "rising" else -1.0)
        return points[0][1] + (position - points[0][0]) * slope_us

    def _position(self, axis: AxisPlan, pulse_us: int) -> float:
        points = sorted(self._points(axis))
        if len(points) > 1:
            return PiecewiseLinear(*zip(*points, strict=True)).inverse(pulse_us)
        slope_us = axis.us_per_unit * (1.0 if self._progress.directions[axis.name] == "rising" else -1.0)
        return points[0][0] + (pulse_us - points[0][1]) / slope_us

    def _keep_points(self, axis: AxisPlan, points: tuple[tuple[float, int], ...]) -> Steps[None]:
        every = {**self._progress.points, axis.name: points}
        yield from self._keep(msgspec.structs.replace(self._progress, points=every))

    def _keep_pulse(self, channel: int, pulse_us: int) -> Steps[None]:
        self._pulses[channel] = pulse_us
        held = {**self._progress.held, channel: pulse_us}
        yield from self._keep(msgspec.structs.replace(self._progress, held=held))

    def _keep(self, progress: Progress) -> Steps[None]:
        self._progress = progress
        yield Keep(progress=progress)


def _wiggle_us(here_us: int) -> int:
    return WIGGLE_US if here_us + WIGGLE_US <= PULSE_US[1] else -WIGGLE_US


def _jog(answer: str) -> float | None:
    """``+``, ``-``, ``+2.5``: a small move in the unit of the axis; None if it is none."""
    if not answer or answer[0] not in "+-":
        return None
    try:
        size = float(answer[1:].replace(",", ".") or 1.0)
    except ValueError:
        return None
    return (size if answer[0] == "+" else -size) if math.isfinite(size) and size >= 0.0 else None

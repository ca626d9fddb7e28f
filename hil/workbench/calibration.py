"""Calibrating an arm of which nothing is known yet: a procedure of questions to a person and small moves of one servo.

Pure: it yields questions and actions, and is sent answers and reports. See docs/calibrate.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hil.errors import InterlockError
from hil.model._calibration_file import AxisCalibration, Direction
from hil.workbench._calibration_answers import ALLOWED_AT_POINT, UNDO, Act, name_and_sign, parse_answer
from hil.workbench._calibration_numbers import (
    calibrated,
    doubt,
    inside,
    lacking,
    position_at,
    pulse_at,
    residuals,
    summary,
)
from hil.workbench._calibration_past import Known, Past, what_is_gone
from hil.workbench._calibration_plan import MIDDLE_US, AxisPlan, Plan, Progress, middle_pose, plan_calibration
from hil.workbench._calibration_servos import Servos, wiggle_us
from hil.workbench._servo_steps import (
    CalibrationStoppedError,
    Drive,
    Glance,
    Keep,
    Move,
    Question,
    Release,
    Report,
    ServoLine,
    Step,
    Steps,
    Tell,
    ask,
    carry_out,
    listen,
)

__all__ = [
    "MIDDLE_US",
    "AxisPlan",
    "CalibrationStoppedError",
    "Drive",
    "Glance",
    "Keep",
    "Move",
    "Plan",
    "Progress",
    "Question",
    "Release",
    "Report",
    "ServoLine",
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

UNSURE_STEPS = 2
"""So many in one answer at most while an axis has one point: a second one shows how far a step really goes."""
ECHO_US = 10
"""A board tells its pulses in steps of this, rounded down."""


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
    return (yield from _Procedure(plan, progress, only).run())


class _TakenBackError(Exception):
    """The person takes the last answer back: what follows from it is unwound to `_Procedure.run`."""


class _Procedure:
    """Goes on from what is known, whatever that is: so an answer is taken back by forgetting what it told."""

    def __init__(self, plan: Plan, progress: Progress, only: str | None) -> None:
        self._plan, self._progress, self._only = plan, progress, only
        self._wanted = [axis for axis in plan.axes if only in (None, axis.name)]
        self._held = progress.held
        self._servos = Servos(self._keep)
        self._starts_us: dict[int, int] = {}
        self._unused: frozenset[int] = frozenset()
        self._passed: dict[str, frozenset[float]] = {}
        self._past = Past()
        self._told_signs = False

    def run(self) -> Steps[dict[str, AxisCalibration]]:
        while True:
            try:
                yield from self._go_on()
                return {axis.name: calibrated(axis, self._progress) for axis in self._wanted}
            except _TakenBackError:
                yield from self._take_back()

    def _go_on(self) -> Steps[None]:
        yield from self._drive(self._plan.channels if self._only is None else (self._progress.channels[self._only],))
        if any(axis.name not in self._progress.channels for axis in self._wanted):
            yield from self._name_channels()
        for axis in self._wanted:
            if axis.name not in self._progress.done:
                yield from self._measure_axis(axis)

    def _called(self, axis: AxisPlan) -> str:
        """The axis, and how many there are."""
        if len(self._wanted) == 1:
            return axis.name
        return f"joint {self._wanted.index(axis) + 1} of {len(self._wanted)}, {axis.name}"

    # -- answers -----------------------------------------------------------------------------------------

    def _hear(self, question: Question) -> Steps[str]:
        """One answer; what was known before it is remembered."""
        answer = yield from listen(question)
        if answer in UNDO:
            raise _TakenBackError
        self._past.remember(self._known())
        return answer

    def _ask(self, question: Question, allowed: Sequence[str]) -> Steps[str]:
        answer = yield from ask(question, (*allowed, *UNDO))
        if answer in UNDO:
            raise _TakenBackError
        self._past.remember(self._known())
        return answer

    def _known(self) -> Known:
        progress = msgspec.structs.replace(self._progress, held={})
        return Known(progress=progress, unused=self._unused, passed=self._passed)

    def _take_back(self) -> Steps[None]:
        """Forget what the last answer told; nothing moves by that."""
        now = self._known()
        known = self._past.before(now) or self._one_point_less(now)
        if known is None:
            yield Tell(text="there is nothing to take back: a servo that was driven keeps its pulse")
            return
        self._unused, self._passed = known.unused, known.passed
        yield from self._keep(known.progress)
        yield Tell(text=f"taken back: {what_is_gone(known, now, self._plan)}. Nothing has moved")

    def _one_point_less(self, now: Known) -> Known | None:
        """Of what was answered before a break, the points of the axis in hand can still be taken back."""
        open_ = [axis for axis in self._wanted if axis.name not in self._progress.done and self._points(axis)]
        if not open_:
            return None
        name = open_[0].name
        points = {**self._progress.points, name: self._progress.points[name][:-1]}
        passed = {axis: references for axis, references in self._passed.items() if axis != name}
        return Known(progress=msgspec.structs.replace(now.progress, points=points), unused=self._unused, passed=passed)

    # -- first moves -------------------------------------------------------------------------------------

    def _drive(self, channels: Sequence[int]) -> Steps[None]:
        """Drive each channel where the board has it, else where a person has brought its joint."""
        limp = [channel for channel in channels if channel not in self._servos.pulses and channel not in self._unused]
        if not limp:
            return
        report: dict[int, int | None] = yield Report()
        known = {channel: name for name, channel in self._progress.channels.items()}
        by_file = {axis.channel: axis for axis in self._plan.axes}
        for channel in limp:
            reported = report[channel]
            if reported:
                held = self._progress.held.get(channel)
                pulse_us = held if held is not None and 0 <= held - reported < ECHO_US else reported
                yield Tell(text=f"channel {channel} is driven already and keeps its pulse, {pulse_us} us")
            else:
                axis = self._plan.axis(known[channel]) if channel in known else by_file.get(channel)
                first = yield from self._place(channel, axis, sure=channel in known)
                if first is None:
                    self._unused |= {channel}
                    continue
                pulse_us = first
            yield Drive(channel=channel, pulse_us=pulse_us)
            self._servos.driven(channel, pulse_us)
            yield from self._keep()

    def _place(self, channel: int, axis: AxisPlan | None, *, sure: bool) -> Steps[int | None]:
        first_us = MIDDLE_US if axis is None else axis.first_us
        where = "to the middle of its travel"
        if axis is not None:
            points, direction = self._points(axis), self._progress.directions.get(axis.name)
            at = position_at(axis, points, direction, first_us) if sure and points and direction else axis.first_at
            where = f"to {axis.say(at)}" if sure else f"{where}, about {axis.say(at)}"
        name = "" if axis is None else f", {axis.name}" if sure else f" (by the rig's file: {axis.name})"
        middle = "" if first_us == MIDDLE_US else "middle (begin at 1500 us), "
        question = Question(
            kind="place",
            text=f"Channel {channel}{name} is limp. Bring its joint by hand {where}, and hold what would fall. It gets "
            f"its first pulse, {first_us} us, and goes there at full speed: keep the supply's switch within reach",
            answers=f"Enter or go, {middle}skip (no servo there), undo, stop",
            axis=axis.name if axis is not None and sure else "",
            channel=channel,
        )
        answer = yield from self._ask(question, ("go", "skip", "middle"))
        return None if answer == "skip" else MIDDLE_US if answer == "middle" else first_us

    # -- channels and directions -------------------------------------------------------------------------

    def _name_channels(self) -> Steps[None]:
        """Move one channel after the other a little; the person names what moved."""
        yield from self._tell_signs()
        while (channel := self._unnamed()) is not None:
            name, sign = yield from self._which(channel)
            if name == "none":
                self._unused |= {channel}
                continue
            rival = self._progress.channels.get(name)
            channels = {**self._progress.channels, name: channel}
            directions = {**self._progress.directions}
            directions.pop(name, None)
            if rival is not None:
                del channels[name]
                yield Tell(text=f"{name} was named for channel {rival} as well: look at both once more")
            elif sign:
                directions[name] = _direction(sign, wiggle_us(self._servos.pulses[channel]))
            yield from self._keep(msgspec.structs.replace(self._progress, channels=channels, directions=directions))
        if missing := [axis.name for axis in self._plan.axes if axis.name not in self._progress.channels]:
            raise InterlockError(
                f"no channel moves {', '.join(missing)}: is the servo plugged in, and powered? Channels tried: "
                f"{', '.join(map(str, self._servos.pulses))}; name others with --channels",
                missing,
            )

    def _tell_signs(self) -> Steps[None]:
        if not self._told_signs:
            self._told_signs = True
            signs = "\n".join(f"  {axis.name} +: {axis.positive}" for axis in self._plan.axes)
            yield Tell(
                text="Each channel moves a little and back now. Say what moved; with its sign, if you saw which way it "
                f"went first:\n{signs}"
            )

    def _unnamed(self) -> int | None:
        """The next channel of which nobody knows what it moves; None for none."""
        named = self._progress.channels.values()
        return next((each for each in self._servos.pulses if each not in named and each not in self._unused), None)

    def _which(self, channel: int) -> Steps[tuple[str, str]]:
        names = [axis.name for axis in self._plan.axes]
        signed = [f"{name}{sign}" for name in names for sign in ("+", "-", " +", " -")]
        number = f" ({list(self._servos.pulses).index(channel) + 1} of {len(self._servos.pulses)})"
        while True:
            yield from self._servos.wiggle(channel)
            question = Question(
                kind="which",
                text=f"Channel {channel}{number} has moved a little and back. What moved?",
                answers=f"{', '.join(names)}, with + or - after it or without; none, again, undo, stop",
                channel=channel,
            )
            answer = yield from self._ask(question, ("again", "none", *names, *signed))
            if answer != "again":
                return name_and_sign(answer)

    def _see_direction(self, axis: AxisPlan) -> Steps[None]:
        channel = self._progress.channels[axis.name]
        here_us = self._servos.pulses[channel]
        by_us = wiggle_us(here_us)
        answer = "again"
        while answer == "again":
            yield from self._servos.go(channel, here_us + by_us)
            question = Question(
                kind="direction",
                text=f"{self._called(axis)}: it has moved a little. + if so: {axis.positive}. - if it went the "
                "other way",
                answers="+, -, again, undo, stop",
                axis=axis.name,
                channel=channel,
            )
            try:
                answer = yield from self._ask(question, ("again", "+", "-"))
                self._servos.looked(channel)
            except _TakenBackError:
                yield from self._servos.go(channel, here_us)
                raise
            yield from self._servos.go(channel, here_us)
        directions = {**self._progress.directions, axis.name: _direction(answer, by_us)}
        yield from self._keep(msgspec.structs.replace(self._progress, directions=directions))

    # -- points ------------------------------------------------------------------------------------------

    def _measure_axis(self, axis: AxisPlan) -> Steps[None]:
        channel = self._progress.channels[axis.name]
        start_us = self._starts_us.setdefault(channel, self._servos.pulses[channel])
        if axis.name not in self._progress.directions:
            yield from self._see_direction(axis)
        yield from self._measure_points(axis, channel)
        found = calibrated(axis, self._progress)
        yield Tell(text=summary(axis, found))
        yield from self._servos.go(channel, start_us)
        done = (*self._progress.done, axis.name)
        yield from self._keep(msgspec.structs.replace(self._progress, done=done))

    def _measure_points(self, axis: AxisPlan, channel: int) -> Steps[None]:
        """First where the axis stands, then at each reference that can be reached."""
        while True:
            if not self._points(axis):
                yield from self._measure_at(axis, channel, None)
            elif (reference := self._open_reference(axis)) is not None:
                yield from self._measure_at(axis, channel, reference)
            elif words := lacking(axis, self._points(axis)):
                yield Tell(text=words)
                self._passed = {**self._passed, axis.name: frozenset(axis.references[1:-1])}
            else:
                return

    def _open_reference(self, axis: AxisPlan) -> float | None:
        """The next to be measured at: upwards from the first point, then downwards; None for none."""
        start, passed = self._points(axis)[0][0], self._passed_by(axis)
        up = [reference for reference in axis.references if reference >= start]
        down = [reference for reference in reversed(axis.references) if reference < start]
        return next((reference for reference in (*up, *down) if reference not in passed), None)

    def _passed_by(self, axis: AxisPlan) -> frozenset[float]:
        near = frozenset(
            at for at in axis.references if any(axis.is_near(point, at) for point, _ in self._points(axis))
        )
        return self._passed.get(axis.name, near)

    def _measure_at(self, axis: AxisPlan, channel: int, reference: float | None) -> Steps[None]:
        """Do what the person says until this reference is dealt with, and all else that the same answer says."""
        question = self._question(axis, channel, reference)
        answer = yield from self._hear(question)
        self._servos.looked(channel)
        acts = parse_answer(answer)
        if acts is None:
            yield Tell(text=f"{answer!r}: allowed: {question.answers}")
            return
        for act in acts:
            if not (yield from self._act(axis, channel, act)):
                return

    def _act(self, axis: AxisPlan, channel: int, act: Act) -> Steps[bool]:
        """One part of an answer; False if the rest of it is not to be done."""
        reference = self._open_reference(axis) if self._points(axis) else None
        if act.what == "measured":
            return (yield from self._take(axis, channel, act.number, reference))
        if act.what == "direction":
            yield from self._see_direction(axis)
        elif act.what == "by":
            rising = self._progress.directions[axis.name] == "rising"
            by_us = act.number * axis.us_per_unit * (1.0 if rising else -1.0)
            yield from self._servos.go_within(channel, self._servos.pulses[channel] + round(by_us), 1)
        elif reference is None:
            if not self._points(axis):
                yield Tell(text="first of all: where does it stand?")
            return False
        elif act.what == "go":
            yield from self._approach(axis, channel, reference, round(act.number))
        elif act.what == "skip":
            self._passed = {**self._passed, axis.name: self._passed_by(axis) | {reference}}
        else:
            self._passed = {**self._passed, axis.name: frozenset(axis.references)}
        return True

    def _question(self, axis: AxisPlan, channel: int, reference: float | None) -> Question:
        pulse_us, points = self._servos.pulses[channel], self._points(axis)
        steps = 0
        if reference is None:
            text = (
                f"{self._called(axis)}: it stands at {pulse_us} us. Where is that? Measure it and type it after =, in "
                f"{axis.unit}"
            )
        else:
            steps = self._servos.steps_to(channel, self._goal_us(axis, reference))
            away = "it is there" if steps == 0 else f"{steps} step{'s' * (steps > 1)} away"
            about = axis.say(position_at(axis, points, self._progress.directions[axis.name], pulse_us))
            text = (
                f"{self._called(axis)}: at {pulse_us} us, about {about}; next to measure: near {axis.say(reference)}, "
                f"{away}"
            )
        return Question(
            kind="measure",
            text=f"{text} ({len(points)} measured)",
            answers=ALLOWED_AT_POINT.format(unit=axis.unit),
            axis=axis.name,
            channel=channel,
            reference=reference,
            steps=steps,
        )

    def _take(self, axis: AxisPlan, channel: int, position: float, reference: float | None) -> Steps[bool]:
        """Add a measured point, if it can be."""
        pulse_us = self._servos.pulses[channel]
        others = tuple(point for point in self._points(axis) if abs(point[1] - pulse_us) > ECHO_US)
        words = doubt(axis, others, (position, pulse_us), self._progress.directions[axis.name])
        if words:
            yield Tell(text=words)
            return False
        corrected = len(others) < len(self._points(axis))
        if reference is not None and (not corrected or self._goal_us(axis, reference) == pulse_us):
            self._passed = {**self._passed, axis.name: self._passed_by(axis) | {reference}}
        points = {**self._progress.points, axis.name: (*others, (position, pulse_us))}
        yield from self._keep(msgspec.structs.replace(self._progress, points=points))
        yield Tell(text=f"{axis.name}: {axis.say(position)} is {pulse_us} us{', not as before' if corrected else ''}")
        return True

    def _approach(self, axis: AxisPlan, channel: int, reference: float, steps: int) -> Steps[None]:
        goal_us = self._goal_us(axis, reference)
        needed = self._servos.steps_to(channel, goal_us)
        if not needed:
            yield Tell(text=f"{axis.name} is there, by what was measured so far: type = and what you measure, or skip")
            return
        if len(self._points(axis)) < 2 and min(steps, needed) > UNSURE_STEPS:
            steps = UNSURE_STEPS
            yield Tell(text=f"{UNSURE_STEPS} steps first: how far they really go, nobody has measured yet. Look at it")
        yield from self._servos.go_within(channel, goal_us, steps)

    def _goal_us(self, axis: AxisPlan, reference: float) -> int:
        return inside(round(pulse_at(axis, self._points(axis), self._progress.directions[axis.name], reference)))

    # -- what is known -----------------------------------------------------------------------------------

    def _points(self, axis: AxisPlan) -> tuple[tuple[float, int], ...]:
        """In the order in which they were measured."""
        return self._progress.points.get(axis.name, ())

    def _keep(self, progress: Progress | None = None) -> Steps[None]:
        """Keep what is known now, and where the servos are."""
        self._progress = msgspec.structs.replace(progress or self._progress, held={**self._held, **self._servos.pulses})
        yield Keep(progress=self._progress)


def _direction(sign: str, by_us: int) -> Direction:
    """Which way an axis goes with its pulse, if it went this way by so much of one."""
    return "rising" if (sign == "+") == (by_us > 0) else "falling"

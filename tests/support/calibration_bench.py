"""A fake arm that is not what its rig says, and an operator who sees only what people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from drivers._ssc32_channels import Ssc32Channels
from drivers.ssc32 import Ssc32Axis, Ssc32Settings
from hil.clock import VirtualClock
from hil.model._calibration_file import AxisCalibration
from hil.model.rig import AxisKind, Rig
from hil.piecewise import PiecewiseLinear
from hil.units import DEG, MM
from hil.workbench.calibration import MIDDLE_US, Progress, Question, Steps, carry_out
from hil.workbench.channel_line import ChannelLine
from sim.bench import BenchServo, ServoBench
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Ssc32Board

START_S = 0.2
STEPS = 9
"""More steps than there are from one reference to the next: it halts there by itself."""


def true_arm(
    rig: Rig,
    *,
    reversed_: Sequence[str] = (),
    swapped: Sequence[tuple[str, str]] = (),
    off_us: Mapping[str, float] | None = None,
) -> Rig:
    """The rig with the calibration that the arm on the table really has."""
    settings = rig.controller
    assert isinstance(settings, Ssc32Settings)
    channels = {axis.name: axis.channel for axis in settings.axes}
    for one, other in swapped:
        channels[one], channels[other] = channels[other], channels[one]

    def really(axis: Ssc32Axis) -> Ssc32Axis:
        sign = -1.0 if axis.name in reversed_ else 1.0
        off = (off_us or {}).get(axis.name, 0.0)
        points = tuple((at, MIDDLE_US + sign * (us - MIDDLE_US) + off) for at, us in axis.points)
        return msgspec.structs.replace(axis, channel=channels[axis.name], points=points, direction=None)

    return msgspec.structs.replace(
        rig, controller=msgspec.structs.replace(settings, axes=tuple(really(axis) for axis in settings.axes))
    )


def worst_error(rig: Rig, true: Rig, name: str, found: AxisCalibration) -> float:
    """How far the axis really is from where the calibration has it, at worst, within the limits."""
    axis = rig.axes[rig.index(name)]
    unit = DEG if axis.kind.value == "revolute" else MM
    assert isinstance(true.controller, Ssc32Settings)
    truth = true.controller.maps[rig.index(name)]
    pulses = PiecewiseLinear(*zip(*found.points, strict=True))
    low = axis.lower / unit if found.lower is None else found.lower
    high = axis.upper / unit if found.upper is None else found.upper
    wanted = [low + (high - low) * share / 200 for share in range(201)]
    return max(abs(truth.inverse(pulses(position)) / unit - position) for position in wanted)


class Table:
    """The arm on its table, its board, and the line to it, on virtual time.

    Args:
        rig: what the program believes.
        true: the same with the arm's own calibration, see `true_arm`.
        by_hand: how far beside the middle every joint is brought by hand, degrees or millimetres.
        mounted: False while the horns are off.
        board: what else is to be said of the board.

    Attributes:
        moved: per command that left, how far each axis has moved since the one before, degrees or millimetres.
        targets: (channel, pulse, whether timed) of every move that left.
    """

    def __init__(self, rig: Rig, true: Rig, *, by_hand: float = 0.0, mounted: bool = True, **board: Any) -> None:
        self.rig, self.true = rig, true
        settings = true.controller
        assert isinstance(settings, Ssc32Settings)
        self.settings = settings
        self.board = Ssc32Board(BoardSettings(baud=settings.baud, **board), start_s=0.0)
        self._by_hand = by_hand
        self._bench: ServoBench | None = None
        self.clock = VirtualClock(0.0)
        if mounted:
            self.mount()
        self.clock.sleep_until(START_S)
        self.moved: list[tuple[float, ...]] = []
        self.targets: list[tuple[int, int, bool]] = []
        self._last: tuple[float, ...] | None = None
        self.channels = tuple(axis.channel for axis in settings.axes)
        self.line = self.connect()

    def mount(self) -> None:
        """Put the horns on, every joint where its servo stands in the middle, or a little beside."""
        self._bench = ServoBench(
            self.board,
            [
                BenchServo(
                    channel=wire.channel,
                    points=wire.points,
                    start=PiecewiseLinear(*zip(*wire.points, strict=True)).inverse(MIDDLE_US)
                    + self._by_hand * (DEG if axis.kind is AxisKind.REVOLUTE else MM),
                    lag_s=axis.servo_lag_s,
                    speed=axis.servo_speed,
                )
                for axis, wire in zip(self.rig.axes, self.settings.axes, strict=True)
            ],
            start_s=self.clock.now_s(),
        )

    def connect(self) -> ChannelLine:
        """A fresh connection to the same board."""
        table = self

        class Watched(Ssc32Channels):
            def drive(self, channel: int, pulse_us: int, now_s: float) -> None:
                super().drive(channel, pulse_us, now_s)
                table._note(channel, pulse_us, timed=False)

            def step(self, channel: int, pulse_us: int, now_s: float) -> float:
                until_s = super().step(channel, pulse_us, now_s)
                table._note(channel, pulse_us, timed=True)
                return until_s

        settings = self.rig.controller
        assert isinstance(settings, Ssc32Settings)
        link = Watched(settings, self.channels, lambda: MemoryPort(self.board, settings.baud))
        line = ChannelLine(link, self.channels, self.clock)
        line.connect()
        return line

    def _note(self, channel: int, pulse_us: int, *, timed: bool) -> None:
        self.targets.append((channel, pulse_us, timed))
        if self._bench is None:
            return
        now = self.positions()
        if self._last is not None:
            self.moved.append(tuple(abs(a - b) for a, b in zip(now, self._last, strict=True)))
        self._last = now

    def positions(self) -> tuple[float, ...]:
        """Where joints and gripper really are, degrees and millimetres, in the order of the rig's axes."""
        assert self._bench is not None
        self.board.advance(self.clock.now_s())
        found = self._bench.positions(self.clock.now_s())
        return tuple(
            position / (DEG if axis.kind is AxisKind.REVOLUTE else MM)
            for position, axis in zip(found, self.rig.axes, strict=True)
        )

    @property
    def first_jumps(self) -> tuple[float, ...]:
        """How far each servo jumped when it was driven for the first time, rad or m."""
        assert self._bench is not None
        return tuple(move.jump for move in self._bench.first_moves)

    def seen(self) -> dict[str, float]:
        """The same as a person sees it: to half a degree or half a millimetre."""
        return {
            axis.name: round(2.0 * position) / 2.0
            for axis, position in zip(self.rig.axes, self.positions(), strict=True)
        }


class Operator:
    """Answers as somebody would who looks at the arm before and after each move.

    Args:
        table: what is looked at.
        before: called with each question; an answer that it gives goes first.
        brief: says in one answer what it measured and how many steps to go on by, and trusts the program to be near
            enough; else it goes step by step, and to the half degree.

    Attributes:
        asked: every question so far, with its answer.
    """

    def __init__(
        self, table: Table, before: Callable[[Question], str | None] = lambda question: None, *, brief: bool = False
    ) -> None:
        self._table, self._before, self._brief = table, before, brief
        self.asked: list[tuple[Question, str]] = []
        self.told: list[str] = []
        self._watched: dict[str, list[float]] = {}
        self._tried: Any = None
        self._nudged: set[tuple[Any, ...]] = set()

    def __call__(self, question: Question) -> str:
        answer = self._before(question)
        if answer is None:
            answer = getattr(self, f"_{question.kind.replace(' ', '_')}")(question)
        self.asked.append((question, answer))
        if answer == "direction":
            self._tried = None
            self._nudged.clear()
        return answer

    def watch(self) -> None:
        """Look at the arm while it moves."""
        for name, position in self._table.seen().items():
            self._watched.setdefault(name, []).append(position)

    def _horn(self, question: Question) -> str:
        return "off"

    def _place(self, question: Question) -> str:
        return "go"

    def _which(self, question: Question) -> str:
        moved = {name: max(seen) - min(seen) for name, seen in self._watched.items()}
        self._watched.clear()
        most = max(moved, key=lambda name: moved[name])
        return most if moved[most] > 0.25 else "none"

    def _in_brief(self, question: Question, here: float) -> str:
        if question.steps == 0:
            return f"= {here} go {STEPS}"
        if question.text == self._tried:
            return f"= {here}"
        self._tried = question.text
        return f"go {STEPS}"

    def _direction(self, question: Question) -> str:
        seen = self._watched[question.axis]
        self._watched.clear()
        return "+" if seen[-1] > seen[-2] else "-"

    def _measure(self, question: Question) -> str:
        here = self._table.seen()[question.axis]
        if self._brief:
            return self._in_brief(question, here)
        if question.reference is None or abs(here - question.reference) <= 0.5:
            return f"= {here}"
        state = (question.axis, question.reference, here)
        if state != self._tried:
            self._tried = state
            return "go"
        # That far by what was measured so far; the rest by eye, and where nothing moves any more, that is the end.
        nudge = (question.axis, question.reference, here, "nudged")
        if nudge in self._nudged:
            return f"= {here}"
        self._nudged.add(nudge)
        return f"{question.reference - here:+g}"

    def _same_arm(self, question: Question) -> str:
        moved = {name: max(seen) - min(seen) for name, seen in self._watched.items()}
        return "yes" if max(moved, key=lambda name: moved[name]) == question.axis else "no"


class Looking:
    """The line, with somebody who looks before and after each move."""

    def __init__(self, line: ChannelLine, operator: Operator) -> None:
        self._line, self._operator = line, operator

    def attended(self) -> None:
        self._line.attended()

    def report(self) -> dict[int, int | None]:
        return self._line.report()

    def drive(self, channel: int, pulse_us: int) -> None:
        self._line.drive(channel, pulse_us)
        self._operator.watch()

    def move(self, channel: int, pulse_us: int) -> None:
        self._operator.watch()
        self._line.move(channel, pulse_us)
        self._operator.watch()


def go_through(
    steps: Steps[Any], table: Table, operator: Operator, keep: Callable[[Progress], None] = lambda progress: None
) -> Any:
    """Carry a procedure out at a table with an operator."""

    def tell(text: str) -> None:
        operator.told.append(text)

    return carry_out(steps, operator, Looking(table.line, operator) if table._bench else table.line, tell, keep)

"""Procedures that ask a person and move one servo at a time: what they yield, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, Protocol, TypeVar

from hil.errors import HilError
from hil.types import Record
from hil.workbench._calibration_plan import Progress

T = TypeVar("T")


class Question(Record, frozen=True):
    """Something that a person has to answer; ``stop`` is always an answer.

    Attributes:
        kind: what is asked.
        text: the question.
        answers: what may be answered, in words.
        axis, channel: what it is about, if anything.
        reference: position at which a measurement is wanted.
        steps: how many it takes to get there; 0 for none.
    """

    kind: Literal["place", "horn", "which", "direction", "measure", "same arm", "release"]
    text: str
    answers: str
    axis: str = ""
    channel: int | None = None
    reference: float | None = None
    steps: int = 0


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


class Glance(Record, frozen=True):
    """See whether the person wants the arm to wait; the answer is True or False."""


class Tell(Record, frozen=True):
    """Say something."""

    text: str


class Keep(Record, frozen=True):
    """Keep what is known so far."""

    progress: Progress


Step = Question | Report | Drive | Move | Release | Glance | Tell | Keep
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
    halted: Callable[[], bool] = lambda: False,
) -> T:
    """Carry a procedure out to its end.

    Args:
        steps: the procedure.
        operator: answers questions.
        line: moves servos.
        tell: says something to the operator.
        keep: keeps what is known so far.
        halted: whether the operator has asked for a halt since it was last called.

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
        elif isinstance(step, Glance):
            answer = halted()
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

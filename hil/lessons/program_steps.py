"""A run statement by statement: where one may stop, which line is next, and what every variable is at that moment."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping
from pathlib import Path
from sys import intern
from typing import NamedTuple

from hil.errors import CommandError
from hil.lessons.program_text import AXES, Trace, read_trace
from hil.lessons.timeline import NEAR_S, Moment, Timeline
from hil.units import DEG

APART_S = 1e-6
"""Between two statements that take no time, so that one can stop before each; far below a period."""

_SYSTEM = re.compile(r"(?:\w+:)?[A-Z]_(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\s*(\d+)\b")
_STEP = re.compile(r"\s*\[\[\s*step\s*\]\]")


class Step(NamedTuple):
    """A statement, about to be done.

    Attributes:
        shown_s: its moment in the time line.
        program: that it is of; empty for a task.
        line: by its number, or by its line of the text; the number of the step for a task.
        statement: as it was written.
    """

    shown_s: float
    program: str
    line: int
    statement: str


class Variable(NamedTuple):
    """What a variable is now.

    Attributes:
        kind: position, joint set, number or string.
        changed: by the statement before this moment, or on the way.
    """

    name: str
    kind: str
    value: str
    changed: bool = False


class Changes(NamedTuple):
    """Of one variable: when, and what it then was."""

    times_s: list[float]
    values: list[tuple[str, str]]


class Steps(NamedTuple):
    """All of a run.

    Attributes:
        steps: in their order; two of them have never the same moment.
        changes: by the variable's name.
    """

    steps: tuple[Step, ...]
    changes: Mapping[str, Changes]

    def at(self, time_s: float) -> int:
        """Index of the statement that is on, or is next where the arm stands."""
        times = [step.shown_s for step in self.steps]
        return max(bisect_right(times, time_s + NEAR_S) - 1, 0)

    def timeline(self, end_s: float) -> Timeline:
        """A moment before every statement, and the end."""
        moments = [Moment(step.shown_s, f"line {step.line}: {step.statement}") for step in self.steps]
        if not moments or moments[0].time_s > 0.0:
            moments.insert(0, Moment(0.0))
        end_s = max(end_s, moments[-1].time_s + APART_S)
        return Timeline(end_s, (*moments, Moment(end_s, "the end")), ahead=True)

    def variables(self, time_s: float) -> list[Variable]:
        """Every variable that has a value: those of the program, then those of the system, by name."""
        at = self.at(time_s)
        since_s = self.steps[at - 1].shown_s if at > 0 else -1.0
        found = []
        for name, (times_s, values) in self.changes.items():
            k = bisect_right(times_s, time_s + NEAR_S) - 1
            if k >= 0 and values[k][1]:
                found.append(Variable(name, *values[k], changed=times_s[k] > since_s + NEAR_S and times_s[k] > 0.0))
        return sorted(found, key=lambda each: (bool(_SYSTEM.match(each.name)), each.name))


class Run(NamedTuple):
    """A run with all that is shown of it.

    Attributes:
        trace: sample by sample.
        steps: statement by statement.
        rows: of the text, by the numbers of its lines or steps.
        units: of the joints, by their names; empty where variables tell where they are.
    """

    trace: Trace
    steps: Steps
    rows: Mapping[int, int]
    units: Mapping[str, float]

    @property
    def timeline(self) -> Timeline:
        """A moment before every statement."""
        return self.steps.timeline(float(self.trace.times_s[-1]))

    def row(self, time_s: float) -> int:
        """Of the text, of what is on; 0 while another program than the one of the text runs."""
        return self._row(self.steps.steps[self.steps.at(time_s)])

    def _row(self, step: Step) -> int:
        return self.rows.get(step.line, 0) if step.program == self.steps.steps[0].program else 0

    def pause_at(self, before_s: float, after_s: float, breaks: Collection[int]) -> float | None:
        """Where playing pauses between two moments: a statement in a row with a break point is about to be done."""
        return next(
            (
                step.shown_s
                for step in self.steps.steps
                if before_s + NEAR_S < step.shown_s <= after_s and self._row(step) in breaks
            ),
            None,
        )

    def variables(self, time_s: float) -> list[Variable]:
        """Of the program; of a task, which has none, where its joints and its tool are."""
        if not self.units:
            return self.steps.variables(time_s)
        at = self.trace.at(time_s)
        values = zip(self.units, self.units.values(), self.trace.q[at].tolist(), strict=True)
        joints = [
            Variable(name, "deg" if unit == DEG else "mm", f"{value / unit:z.2f}") for name, unit, value in values
        ]
        tool = zip(AXES, self.trace.tool_mm[at].tolist(), strict=False)
        return [*joints, *(Variable(axis, "mm", f"{value:z.2f}") for axis, value in tool)]

    def end_of(self, row: int) -> float | None:
        """When the step that the text has at a row, or begins above it, is done for the first time; None if never."""
        begun = max((each for each in self.rows.values() if each <= row), default=0)
        for k, step in enumerate(self.steps.steps):
            if self._row(step) == begun:
                after = self.steps.steps[k + 1 :]
                return after[0].shown_s if after else float(self.trace.times_s[-1])
        return None


def read_steps(text: str) -> Steps:
    """What ``hil program --variables`` wrote.

    Raises:
        CommandError: it is something else.
    """
    steps: list[Step] = []
    changes: dict[str, Changes] = {}
    number, shown_s = 0, 0.0
    try:
        for row in csv.DictReader(io.StringIO(text, newline="")):
            time_s = float(row["time_s"])
            if int(row["step"]) != number:
                number = int(row["step"])
                shown_s = max(time_s, steps[-1].shown_s + APART_S) if steps else time_s
                steps.append(Step(shown_s, row["program"], int(row["line"]), row["statement"]))
            if row["variable"]:
                times_s, values = changes.setdefault(row["variable"], Changes([], []))
                times_s.append(max(time_s, shown_s + APART_S) if number else 0.0)
                # The same texts come again and again, and a run goes from one process to another.
                values.append((intern(row["kind"]), intern(row["value"])))
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise CommandError(f"no list of statements: {error}") from None
    if not steps:
        raise CommandError("the run has no statement")
    return Steps(tuple(steps), changes)


def read_run(trace_file: Path, steps_file: Path | None, text: str, language: str, units: Mapping[str, float]) -> Run:
    """A run from its files; some tens of milliseconds for each minute of it, which no window has.

    Args:
        trace_file: sample by sample.
        steps_file: statement by statement; None for a task, which has no such file.
        text: that was run.
        language: of it, melfa or task.
        units: of the joints of a task's arm, by their names.

    Raises:
        CommandError: a file is something else, or cannot be read.
    """
    try:
        trace = read_trace(trace_file.read_text(encoding="utf-8"), None if steps_file else units)
        steps = read_steps(steps_file.read_text(encoding="utf-8")) if steps_file else steps_of(trace)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror or error}") from None
    return Run(trace, steps, rows_of(text, language), {} if steps_file else units)


def steps_of(trace: Trace) -> Steps:
    """The steps of a task, which has no variables."""
    return Steps(
        tuple(Step(float(trace.times_s[k]), "", trace.lines[k], trace.statements[k]) for k in trace.begins()), {}
    )


def rows_of(text: str, language: str) -> dict[int, int]:
    """Rows of a text, from 1, by the numbers of its lines, or of its steps; a program without numbers has its rows."""
    rows = text.splitlines()
    if language == "task":
        begins = [row for row, line in enumerate(rows, start=1) if _STEP.match(line)]
        return dict(enumerate(begins, start=1))
    numbered = {int(found[1]): row for row, line in enumerate(rows, start=1) if (found := _NUMBER.match(line))}
    return numbered or {row: row for row in range(1, len(rows) + 1)}

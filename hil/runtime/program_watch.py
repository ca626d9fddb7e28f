"""Follows a program that runs on its controller by itself: along the way that was proved, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hil.link import ProgramJob, ProgramLook, StoredProgram
from hil.program.arm import ProgramArm
from hil.program.program_plan import ProgramPlan
from hil.program.programs import Inputs, Program
from hil.program.signals import InputChange
from hil.program.stored import difference, line_numbers, stored
from hil.program.trace import POSE, TraceRow
from hil.types import Start, TickRecord
from hil.units import DEG

OFF_WAY_DEG = 5.0
"""A joint farther than that from every place of the proved way is elsewhere: corners that CNT rounds are nearer."""

WORD_BITS = 16


class WayWatch:
    """A `hil.link.ProgramWatcher` that stops the arm where it leaves the proved way, and keeps a trace.

    Args:
        plan: what was proved.
        program: its text.
        arm: for poses.
        say: takes words for the user.
        go_on: asked in pauses with the line's number here and its text; may take its time.
    """

    def __init__(
        self,
        plan: ProgramPlan,
        program: Program,
        arm: ProgramArm,
        *,
        say: Callable[[str], None],
        go_on: Callable[[int, str], bool],
    ) -> None:
        self._program, self._arm, self._say, self._go_on = program, arm, say, go_on
        self._way = np.array([row.joints_deg for row in plan.trace])
        self._numbers = line_numbers(program)
        self._texts = {line.number or line.row: line.text for line in program.lines}
        self.trace: list[TraceRow] = []
        self.farthest_deg = 0.0

    def compared(self, program: StoredProgram, lines: Sequence[str], points: Sequence[str]) -> str:
        """As the protocol says."""
        return difference(program, lines, points)

    def looked(self, look: ProgramLook) -> str:
        """Keep the look, and judge it."""
        line = self._numbers.get(look.line, look.line)
        joints = np.array(look.positions) / DEG
        self.trace.append(
            TraceRow(
                time_s=look.t_s,
                line=line,
                statement=self._texts.get(line, ""),
                joints_deg=tuple(joints.tolist()),
                pose=self._arm.position(look.positions).members[: len(POSE)],
                outputs=look.outputs,
            )
        )
        away_deg = float(np.abs(self._way - joints).max(axis=1).min())
        self.farthest_deg = max(self.farthest_deg, away_deg)
        if away_deg <= OFF_WAY_DEG:
            return ""
        return (
            f"in line {line} the arm is {away_deg:.1f} deg from every place of the proved way: an input or an "
            "interrupt came differently; preview it with the inputs as they are"
        )

    def paused(self, line: int) -> bool:
        """Ask."""
        here = self._numbers.get(line, line)
        return self._go_on(here, self._texts.get(here, ""))

    def printed(self, text: str) -> None:
        """Show it."""
        self._say(f"program: {text}")

    def said(self, text: str) -> None:
        """Show it."""
        self._say(text)


def rows_from_records(
    records: Sequence[TickRecord], plan: ProgramPlan, arm: ProgramArm, firsts: Sequence[int]
) -> list[TraceRow]:
    """The trace of a run on the bridge: a row for each report of the controller while motion was sent.

    Args:
        records: of the whole session.
        plan: what was sent.
        arm: for poses.
        firsts: first sample of each part that was sent, in order.
    """
    rows: list[TraceRow] = []
    part, sample, began_s, newest_s = -1, -1, 0.0, -1.0
    for record in records:
        if any(isinstance(request, Start) for request in record.requests):
            part += 1
            began_s = began_s or record.t_s
        if record.sample is not None:
            sample = firsts[min(part, len(firsts) - 1)] + record.sample
        report = record.reported
        if sample < 0 or report is None or report.t_s <= max(newest_s, began_s):
            continue
        newest_s = report.t_s
        positions = [value or 0.0 for value in report.positions[: len(arm.slots)]]
        at = plan.trace[min(sample, len(plan.trace) - 1)]
        rows.append(
            TraceRow(
                time_s=report.t_s - began_s,
                line=at.line,
                statement=at.statement,
                joints_deg=tuple(value / DEG for value in positions),
                pose=arm.position(positions).members[: len(POSE)],
                outputs=(),
            )
        )
    return rows


def job_of(
    plan: ProgramPlan,
    program: Program,
    library: Sequence[Program],
    inputs: Inputs,
    *,
    stepping: bool,
    breaks: Sequence[int],
    press: bool,
) -> ProgramJob:
    """What a controller is asked to do.

    Args:
        plan: from where it was proved.
        program: to run.
        library: programs that it calls.
        inputs: what it was proved with.
        stepping: pause before every line.
        breaks: lines to pause before, as they are called here.
        press: switch the inputs of an emulated controller.
    """
    there = {here: number for number, here in line_numbers(program).items()}
    waiting = [number for number, here in line_numbers(program).items() if _waits_for_text(program, here)]
    return ProgramJob(
        programs=tuple(stored(each) for each in (program, *library)),
        start=tuple(plan.motion.start[: len(plan.trace[0].joints_deg)]),
        stepping=stepping,
        breaks=tuple(there.get(line, line) for line in breaks),
        texts=tuple((text.time_s, text.text) for text in inputs.texts),
        text_lines=tuple(waiting),
        pressed=_words(inputs.changes) if press else (),
    )


def _waits_for_text(program: Program, here: int) -> bool:
    return any((line.number or line.row) == here and line.text.upper().startswith("INPUT") for line in program.lines)


def _words(changes: Sequence[InputChange]) -> tuple[tuple[float, int, int], ...]:
    """Changes of single bits as sixteen bits at a time, which is how a controller takes them."""
    state: dict[int, int] = {}
    words: list[tuple[float, int, int]] = []
    for change in sorted(changes, key=lambda each: each.time_s):
        touched = set()
        for bit in range(change.width):
            signal = change.signal + bit
            first = signal - signal % WORD_BITS
            mask = 1 << signal % WORD_BITS
            before = state.get(first, 0)
            state[first] = before | mask if change.value >> bit & 1 else before & ~mask
            touched.add(first)
        words.extend((change.time_s, first, state[first]) for first in sorted(touched))
    return tuple(words)

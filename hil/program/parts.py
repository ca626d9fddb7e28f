"""A planned program in parts, from one rest to another: for steps and breakpoints."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeVar

import msgspec

from hil.motion.motion import ExpectedInput, Mark, Motion
from hil.program.program_plan import ProgramPlan


class Part(NamedTuple):
    """One part.

    Attributes:
        motion: its samples, marks and inputs.
        first: its first sample in the whole plan.
        line: which comes first in it.
        statement: as it was written.
    """

    motion: Motion
    first: int
    line: int
    statement: str


def parts_of(plan: ProgramPlan, breaks: Collection[int] | None) -> list[Part]:
    """Cut a plan before certain lines, or before every line that takes time.

    Where a move runs into such a line without a rest, the cut is at the next rest.

    Args:
        plan: the whole.
        breaks: lines, as their traces name them; None for every one.
    """
    samples = plan.motion.samples
    cuts = [0]
    for k in range(2, len(plan.trace)):
        line = plan.trace[k].line
        if line == plan.trace[k - 1].line or not (breaks is None or line in breaks):
            continue
        cut = next((at for at in range(k - 1, len(plan.resting)) if plan.resting[at]), len(samples) - 1)
        if cuts[-1] < cut < len(samples) - 1:
            cuts.append(cut)
    ends = [*cuts[1:], len(samples) - 1]
    return [_part(plan, first, last) for first, last in zip(cuts, ends, strict=True)]


def _part(plan: ProgramPlan, first: int, last: int) -> Part:
    whole = plan.motion
    row = plan.trace[min(first + 1, len(plan.trace) - 1)]
    marks = [whole.marks[0]]
    for mark in whole.marks[1:]:
        if mark.first <= last and mark.last >= first:
            marks.append(_shifted(mark, first, last))
    expected = [_shifted(each, first, last) for each in whole.expected if each.first <= last and each.last >= first]
    motion = Motion(whole.axes, whole.period_s, whole.samples[first : last + 1], marks, expected)
    return Part(motion, first, row.line, row.statement)


Stretch = TypeVar("Stretch", Mark, ExpectedInput)


def _shifted(stretch: Stretch, first: int, last: int) -> Stretch:
    begin, end = max(stretch.first, first) - first, min(stretch.last, last) - first
    return msgspec.structs.replace(stretch, first=begin, last=end)

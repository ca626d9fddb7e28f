"""Runs of a program with one choice of inputs after the other: each error that they meet has a run that shows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hil.program import nodes, system
from hil.program.arm import ProgramArm
from hil.program.dry_run import Met, Run, dry_run
from hil.program.flow import walk
from hil.program.motions import Limits
from hil.program.settings import Settings
from hil.program.structure import Program

MOST_RUNS, MOST_TICKS = 12, 12_000
"""Runs with other inputs than 0, and ticks of all runs together."""

ALL_TOGETHER = 3
"""Up to so many inputs every combination is tried."""


class Choice(NamedTuple):
    """Inputs of a run at its start: those that are 1, and lines on which text comes."""

    ones: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()


class Shown(NamedTuple):
    """An error, and whether it comes although nobody presses anything but what the program waits for."""

    met: Met
    plain: bool


class Trials(NamedTuple):
    """What all runs met; `first` is the one with inputs at 0."""

    first: Run
    shown: tuple[Shown, ...]


def trials(
    program: Program,
    arm: ProgramArm,
    limits: Limits,
    start: Sequence[float],
    settings: Settings,
    library: Mapping[str, Program],
) -> Trials:
    """Run with inputs at 0, then with others that the program asks for; the first run that meets an error shows it."""
    first = dry_run(program, arm, limits, start, settings, library)
    shown = {(met.error.row, met.error.number): Shown(met, True) for met in first.errors}
    asked, ticks = set(first.asked), first.ticks
    tried = {Choice()}
    texts = first.listened
    for _ in range(MOST_RUNS):
        choice = next((each for each in _choices(program, frozenset(asked), texts) if each not in tried), None)
        if choice is None or ticks > MOST_TICKS:
            break
        tried.add(choice)
        run = dry_run(program, arm, limits, start, settings, library, choice.ones, choice.texts)
        asked, texts, ticks = asked | run.asked, texts | run.listened, ticks + run.ticks
        for met in run.errors:
            shown.setdefault((met.error.row, met.error.number), Shown(met, False))
    return Trials(first, tuple(shown.values()))


def _choices(program: Program, asked: frozenset[int], texts: frozenset[int]) -> Iterator[Choice]:
    """What to try of the inputs that are known so far; those that tell most come first."""
    every = sorted(asked)
    if every or texts:
        yield Choice(asked, texts)
    if len(every) <= ALL_TOGETHER:
        for count in range(len(every) + 1):
            for ones in itertools.combinations(every, count):
                yield Choice(frozenset(ones))
    for value in _compared(program):
        yield Choice(value & asked)
    for signal in every:
        yield Choice(frozenset({signal}))


def _compared(program: Program) -> Iterator[frozenset[int]]:
    """Bytes and words of inputs at the numbers that the program compares something with."""
    parts = [part for line in program.lines if line.statement for part in walk(line.statement)]
    firsts = [
        part.arguments[0].value
        for part in parts
        if isinstance(part, nodes.Index) and part.name in WIDE and isinstance(part.arguments[0], nodes.Number)
    ]
    compared = [part.value for part in parts if isinstance(part, nodes.Case)]
    compared += [part.right for part in parts if isinstance(part, nodes.Binary)]
    values = {each.value for each in compared if isinstance(each, nodes.Number) and isinstance(each.value, int)}
    for value in sorted(each for each in values if 0 < each <= LARGEST_WORD):
        bits = [bit for bit in range(value.bit_length()) if value >> bit & 1]
        yield frozenset(int(first) + bit for first in firsts for bit in bits)


WIDE = frozenset(name for name, (way, width) in system.SIGNALS.items() if way == "IN" and width > 1)
LARGEST_WORD = 0xFFFF

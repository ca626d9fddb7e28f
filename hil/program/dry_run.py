"""Motion of a program without an arm: what one run meets, and what its lines meet in every order that they allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.flow import has_word, set_names, walk, way_of
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.motions import Limits
from hil.program.moves import plan
from hil.program.settings import Settings
from hil.program.signals import AssumedSignals
from hil.program.structure import Program
from hil.program.variables import plain_name

MOST_TICKS = 6000
MOST_ERRORS = 20
"""Where a dry run stops."""

MOST_PLACES, MOST_PLANS = 6, 600
"""Places from which one line is tried, and moves that are planned altogether."""

HOW_MOTION_FAILS = frozenset(
    {2600, 2601, 2602, 2603, 2800, 2801, 2802, 2803, 2810, *range(2131, 2139), *range(2161, 2169)}
)
"""Errors of a way; whatever else a trial meets only means that the lines alone do not tell."""

CLOSE_RAD = 1e-6


def dry_run(
    program: Program,
    arm: ProgramArm,
    limits: Limits,
    start: Sequence[float],
    settings: Settings,
    library: Mapping[str, Program],
) -> tuple[list[tuple[ProgramError, bool]], list[str]]:
    """Run once with inputs at 0 and every WAIT met at once, going on after errors of motion.

    Returns:
        The errors, each with True if it is certain, and False if the move would only be slower; and words of the
        interpreter that are worth a warning.
    """
    trial = msgspec.structs.replace(settings, pass_waits=True, refuse_overspeed=True)
    lenient = msgspec.structs.replace(trial, refuse_overspeed=False)
    machine = Interpreter(program, arm, AssumedSignals(), limits, start, settings=trial, library=library)
    errors: list[tuple[ProgramError, bool]] = []
    machine.run()
    failed_at = -1
    for _ in range(MOST_TICKS):
        if machine.state is not SlotState.RUNNING:
            break
        machine.tick()
        if machine.line_index != failed_at:
            machine.settings = trial
        error = machine.error
        if error is None:
            continue
        racing = 2131 <= error.number <= 2138 and machine.line_index != failed_at
        if machine.line_index == failed_at:
            errors.pop()
        errors.append((error, not racing))
        if len(errors) >= MOST_ERRORS or error.number not in HOW_MOTION_FAILS:
            break
        failed_at = machine.line_index
        machine.reset_error()
        if racing:
            machine.settings = lenient
        else:
            machine.frame.pc = machine.line_index + 1
        machine.run()
    once: dict[tuple[int, int], tuple[ProgramError, bool]] = {}
    for error, certain in errors:
        known = once.get((error.row, error.number))
        once[(error.row, error.number)] = (error, certain or (known is not None and known[1]))
    notices = [notice for notice in machine.notices if "pallet" in notice]
    return list(once.values()), notices


def lines_between(program: Program, arm: ProgramArm, limits: Limits, start: Sequence[float]) -> list[ProgramError]:
    """Errors of moves between taught places, in whatever order the lines allow.

    Nothing is said of targets that the program works out, of interrupts, nor of programs that change TOOL or BASE.
    """
    if has_word(program, "TOOL", "BASE", "FPRM") or not program.lines:
        return []
    return _Between(program, arm, limits, start).errors()


class _Between:
    def __init__(self, program: Program, arm: ProgramArm, limits: Limits, start: Sequence[float]) -> None:
        self._program = program
        self._machine = Interpreter(program, arm, AssumedSignals(), limits, start)
        self._assigned = set_names(program)
        self._taught = {plain_name(name) for name, _ in program.points}
        self._before: dict[int, list[FloatArray]] = {0: [np.array(start)]}
        self._found: dict[tuple[int, int], ProgramError] = {}
        self._plans = 0

    def errors(self) -> list[ProgramError]:
        """Follow places through the lines until nothing new comes."""
        waiting = [0]
        callers: dict[int, set[int]] = {}
        while waiting and self._plans < MOST_PLANS:
            index = waiting.pop(0)
            if index >= len(self._program.lines):
                continue
            way = way_of(self._program, index)
            for entry in way.calls:
                callers.setdefault(entry, set()).add(index + 1)
            after = self._after(index)
            onward = set(way.after) if not way.calls else set(way.calls)
            if way.returns:
                onward |= set().union(*callers.values()) if callers else set()
            waiting.extend(target for target in sorted(onward) if self._add(target, after) and target not in waiting)
        return sorted(self._found.values(), key=lambda error: (error.row, error.number))

    def _add(self, index: int, places: list[FloatArray]) -> bool:
        """Remember places before a line; True if one of them is new."""
        known = self._before.setdefault(index, [])
        fresh = False
        for place in places:
            if len(known) < MOST_PLACES and not any(np.abs(place - other).max() < CLOSE_RAD for other in known):
                known.append(place)
                fresh = True
        return fresh

    def _after(self, index: int) -> list[FloatArray]:
        line = self._program.lines[index]
        moves = [node for node in walk(line.statement) if isinstance(node, nodes.Move)] if line.statement else []
        if not moves:
            return self._before[index]
        move = moves[0]
        if len(moves) > 1 or not self._tells(move):
            return []
        ends: list[FloatArray] = [] if isinstance(line.statement, nodes.Move) else list(self._before[index])
        self._machine.line_index = index
        for place in self._before[index]:
            self._plans += 1
            try:
                ends.append(plan(self._machine, move, place)[-1])
            except ProgramError as error:
                if error.number in HOW_MOTION_FAILS:
                    self._found.setdefault((index, error.number), error.at(line.place(move.at), self._program.file))
        return ends

    def _tells(self, move: nodes.Move) -> bool:
        """True if the line alone says where the move goes: from no variable that the program sets."""
        for node in walk(move):
            if isinstance(node, nodes.PalletPoint):
                return False
            if isinstance(node, nodes.Name | nodes.Index):
                name = plain_name(node.name)
                if name in self._assigned or name not in self._taught:
                    return False
        return True

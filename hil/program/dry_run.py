"""Motion of a program without an arm: what one run meets, and what its lines meet in every order that they allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.arm import ProgramArm
from hil.program.circles import Circles
from hil.program.errors import ProgramError
from hil.program.flow import has_word, set_names, walk, way_of
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.motions import Limits
from hil.program.moves import plan
from hil.program.outside import Outside
from hil.program.settings import Settings
from hil.program.signals import AssumedSignals, Inputs
from hil.program.structure import Program
from hil.program.trial_signals import TrialSignals
from hil.program.variables import plain_name

MOST_TICKS = 6000
MOST_ERRORS = 20
MOST_CYCLES = 2
"""Where a dry run stops; a long DLY counts as one tick."""

RACING = range(2131, 2139)
"""Errors of moves that are possible, only not so fast."""

MOST_PLACES, MOST_PLANS = 6, 600
"""Places from which one line is tried, and moves that are planned altogether."""

HOW_MOTION_FAILS = frozenset(
    {2600, 2601, 2602, 2603, 2800, 2801, 2802, 2803, 2810, *range(2131, 2139), *range(2161, 2169)}
)
"""Errors of a way; whatever else a trial meets only means that the lines alone do not tell."""

CLOSE_RAD = 1e-6


class Met(NamedTuple):
    """An error that a run met.

    Attributes:
        error: with its place in the program that was run, also where a called program has it.
        inputs: with these a run meets it; lines of errors before it are left out there.
        certain: False if the move would only be slower, or if a WAIT before it was taken to be met unseen.
        again: met when the program ran for the second time, from where it had ended.
    """

    error: ProgramError
    inputs: Inputs
    certain: bool = True
    again: bool = False


class Run(NamedTuple):
    """What one run met.

    Attributes:
        errors: in order, each place and number once.
        asked: input signals that the program asked for.
        listened: numbers of lines of which it asked whether text has come.
        hangs: index of a WAIT that nothing ends, or None.
        cut: it was given up before its end, so that what comes later was not looked at.
        notices: words of the interpreter.
        ticks: that it took; a long DLY counts as one.
    """

    errors: tuple[Met, ...]
    asked: frozenset[int]
    listened: frozenset[int]
    hangs: int | None
    cut: bool
    notices: tuple[str, ...]
    ticks: int


def dry_run(
    program: Program,
    arm: ProgramArm,
    limits: Limits,
    start: Sequence[float],
    settings: Settings,
    library: Mapping[str, Program],
    ones: frozenset[int] = frozenset(),
    texts: frozenset[int] = frozenset(),
) -> Run:
    """Run twice, the second time from where the first ended, and go on after errors of motion and after HLT.

    Inputs change where the program waits for them, or goes round in circles without.

    Args:
        program: what to run.
        arm: the mechanism.
        limits: how fast its joints may go, and the period.
        start: joints before it, radians.
        settings: what the language leaves open.
        library: programs that it calls.
        ones: inputs that are 1 at the start.
        texts: numbers of lines on which a line of text comes as soon as they are open.
    """
    return _DryRun(program, arm, limits, start, settings, library, ones, texts).run()


class _DryRun:
    def __init__(
        self,
        program: Program,
        arm: ProgramArm,
        limits: Limits,
        start: Sequence[float],
        settings: Settings,
        library: Mapping[str, Program],
        ones: frozenset[int],
        texts: frozenset[int],
    ) -> None:
        self._program, self._signals, self._texts = program, TrialSignals(ones), set(texts)
        self._trial = msgspec.structs.replace(settings, refuse_overspeed=True)
        self._lenient = msgspec.structs.replace(self._trial, refuse_overspeed=False)
        self._machine = Interpreter(program, arm, self._signals, limits, start, settings=self._trial, library=library)
        self._circles = Circles(self._machine, self._signals)
        self._outside = Outside(self._machine, self._signals)
        self._errors: list[Met] = []
        self._slower: tuple[int, int] | None = None
        self._skipped_ticks = 0

    def run(self) -> Run:
        machine = self._machine
        machine.run(repeat=True)
        done = closed = False
        while not done and not closed and machine.cycles < MOST_CYCLES and self._ticks < MOST_TICKS:
            machine.tick()
            if machine.error is not None:
                done = not self._go_on()
                continue
            self._pass_time()
            if self._slower is not None and (machine.motion is not None or self._here() != self._slower):
                machine.settings, self._slower = self._trial, None
            if machine.state is not SlotState.RUNNING:
                machine.run(repeat=True)
            self._bring_texts()
            closed = not self._outside.answered() and self._circles.closed()
        return Run(
            errors=self._once(),
            asked=frozenset(self._signals.asked),
            listened=frozenset(self._signals.listened),
            hangs=machine.line_index if closed and machine.blocked and len(machine.frames) == 1 else None,
            cut=not done and not closed and machine.cycles < MOST_CYCLES,
            notices=tuple(machine.notices),
            ticks=self._ticks,
        )

    @property
    def _ticks(self) -> int:
        return self._machine.ticks - self._skipped_ticks

    def _here(self) -> tuple[int, int]:
        return len(self._machine.frames), self._machine.line_index

    def _pass_time(self) -> None:
        """A long DLY takes no ticks, unless something is watched meanwhile."""
        machine = self._machine
        if machine.dwell > 1 and machine.motion is None and not machine.frame.interrupts and not machine.frame.lines:
            self._skipped_ticks += machine.dwell - 1
            machine.ticks += machine.dwell - 1
            machine.dwell = 1

    def _bring_texts(self) -> None:
        for number in sorted(self._texts):
            if self._signals.connected(number):
                self._texts.discard(number)
                self._signals.bring(number, self._outside.text_for(number), self._machine.now_s)

    def _go_on(self) -> bool:
        """Keep the error; True if the run can go on behind it, or again with a slower move."""
        machine, error = self._machine, self._machine.error
        assert error is not None
        here = self._here()
        still = here == self._slower
        racing = error.number in RACING and not still
        if still:
            self._errors.pop()
        certain = not racing and not self._outside.guessed
        self._errors.append(Met(self._placed(error), self._signals.chosen, certain, machine.cycles > 0))
        if len(self._errors) >= MOST_ERRORS or error.number not in HOW_MOTION_FAILS:
            return False
        self._slower = here if racing else None
        machine.settings = self._lenient if racing else self._trial
        machine.reset_error()
        if not racing:
            machine.frame.pc = machine.line_index + 1
        machine.run(repeat=True)
        return True

    def _placed(self, error: ProgramError) -> ProgramError:
        """An error in a called program stands where that one is called."""
        machine = self._machine
        if len(machine.frames) == 1:
            return error
        line = self._program.lines[max(machine.frames[0].pc - 1, 0)]
        inner = machine.line
        detail = f"in {machine.frame.program.name}, line {inner.number or inner.row}" if inner else ""
        detail += f": {error.detail}" if error.detail else ""
        place = line.place(line.statement.at if line.statement else 1)
        return ProgramError(error.number, detail, allowed=error.allowed, place=place, file=self._program.file)

    def _once(self) -> tuple[Met, ...]:
        found: dict[tuple[int, int], Met] = {}
        for met in self._errors:
            key = met.error.row, met.error.number
            if key not in found or (met.certain, not met.again) > (found[key].certain, not found[key].again):
                found[key] = met
        return tuple(found.values())


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

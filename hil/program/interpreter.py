"""Runs a program on the tick: each call of `tick` is one period, and leaves the joints where they shall be at its end.

Nothing here knows a clock. Given the same program, points, start, signals and settings, every run is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.program import nodes, system
from hil.program.blends import resumed, stopped
from hil.program.builder import Dialect
from hil.program.errors import Place, ProgramError
from hil.program.frames import Halt, Interrupt, Modal, MotionState, Paused, Return, SlotState
from hil.program.machine import Machine
from hil.program.motions import joint_move
from hil.program.moves import blend_next
from hil.program.statements import END_OF_TEXT, execute
from hil.program.structure import parse_program
from hil.program.syntax import ProgramLine, parse_statement, upper_outside_strings
from hil.program.values import Value

MASTER = 0
NO_INTERRUPT = 99


class Interpreter(Machine):
    """A slot that runs: started, stepped, stopped and read from outside, moved on by `tick`."""

    # -- from outside --------------------------------------------------------------------------------------------------

    def run(self, *, repeat: bool = False) -> None:
        """Start at the top, or go on after a pause or an error that was reset.

        Args:
            repeat: after END begin again, as the controller does in repeat mode.

        Raises:
            ProgramError: an error stands.
        """
        self._refuse_error()
        self._repeat, self._stepping = repeat, False
        if self.state in (SlotState.READY, SlotState.ENDED):
            self.reset()
        self._go()

    def step(self) -> None:
        """Do one statement, with its move if it has one, and pause.

        Raises:
            ProgramError: an error stands.
        """
        self._refuse_error()
        if self.state in (SlotState.READY, SlotState.ENDED):
            self.reset()
        self._stepping, self._stepped = True, False
        self._go()

    def stop(self) -> None:
        """Slow down on the way, and pause."""
        if self.state is not SlotState.RUNNING:
            return
        if self.motion is not None and self._halt is None:
            self._begin_halt("pause")
        elif self._halt is not None:
            self._halt.then = "pause" if self._halt.then == "skip" else self._halt.then
        else:
            self.state = SlotState.PAUSED

    def reset(self) -> None:
        """Back to the top, everything unset, defaults again; the arm stays where it is, TOOL and BASE are kept."""
        self.frames = [self._frame(self.program)]
        self.modal, self.master_on, self.skipped = Modal(), True, 0
        self.unread.clear()
        self.error = None
        self._clear_activity()
        self.state = SlotState.READY

    def reset_error(self) -> None:
        """Let a failed program go on at the line where it failed."""
        if self.state is SlotState.FAILED:
            self.error, self.state = None, SlotState.PAUSED

    def direct(self, text: str) -> None:
        """Run one statement on the program's variables, as EXEC does; the program itself has to stand still.

        Raises:
            ProgramError: it is no statement, an error stands, or something is running.
        """
        self._refuse_error()
        if self.state is SlotState.RUNNING:
            raise ProgramError(5640, text)
        one = parse_program(text, name=self.program.name, dialect=Dialect.LOOSE)
        self.frames.append(self.frames[0].beside(one))
        self._direct, self._stepping = len(self.frames), False
        self._state_before = self.state
        self.state = SlotState.RUNNING

    def drop_direct(self) -> None:
        """The single statement is over, wherever it stands."""
        if self._direct:
            del self.frames[self._direct - 1 :]
            self._direct, self.state = 0, self._state_before
        self.motion = self._halt = self._paused = self._pending = None
        self.dwell, self.blocked = 0, False

    @property
    def direct_runs(self) -> bool:
        """What is being done now is a single statement."""
        return bool(self._direct)

    def assign(self, text: str) -> None:
        """``P1=(..)``: write a variable from outside, also while the program runs.

        Raises:
            ProgramError: it is no assignment, or the variable cannot hold the value.
        """
        statement = parse_statement(upper_outside_strings(text), Dialect.LOOSE)
        if not isinstance(statement, nodes.Assign):
            raise ProgramError(4220, text, allowed="variable=value")
        self.do(statement)

    def read(self, text: str) -> Value:
        """The value of a variable or expression.

        Raises:
            ProgramError: it is none, or has no value.
        """
        statement = parse_statement(f"C$={upper_outside_strings(text)}", Dialect.LOOSE)
        assert isinstance(statement, nodes.Assign)
        return self.evaluator.value(statement.value)

    def place_arm(self, row: Sequence[float]) -> None:
        """The arm was moved by something else, a jog; on RUN a stopped move first goes back to where it stopped."""
        self.row = np.array(row, dtype=np.float64)

    def do(self, statement: nodes.Statement) -> None:
        """Do one statement now."""
        execute(self, statement)

    def system(self, name: str, arguments: Sequence[Value]) -> Value:
        """A system variable."""
        return system.read(self, name, arguments)

    def port(self, definition: nodes.DefIo) -> Value:
        """Signals under a name."""
        return system.read_port(self, definition)

    # -- one tick ------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """One period. Errors end the program and stand in `error`; nothing is raised."""
        self.signals.advance(self.now_s)
        self._due()
        before = self.row
        try:
            if self._halt is not None:
                self._halting()
            elif self.state is SlotState.RUNNING:
                self._running()
        except ProgramError as error:
            self._fail(error)
        self.ticks += 1
        self._moved = self.row is not before

    def _due(self) -> None:
        for pulse in [pulse for pulse in self._pulses if pulse[0] <= self.ticks]:
            self._pulses.remove(pulse)
            for k, signal in enumerate(pulse[1]):
                self.signals.write_bit(signal, pulse[2] >> k & 1)
        if self._servo_due is not None and self._servo_due <= self.ticks:
            self.servo_on, self._servo_due = True, None

    def _running(self) -> None:
        self._watch()
        if self._halt is not None:
            self._halting()
            return
        budget = self.settings.statements_per_tick
        while self.state is SlotState.RUNNING:
            if self.motion is not None:
                self._moving(budget)
                return
            if self.dwell > 0:
                self.dwell -= 1
                return
            if self._stepping and self._stepped:
                self.state = SlotState.PAUSED
                return
            self._enter_pending()
            if budget == 0 or not self._statement():
                return
            budget -= 1

    def _moving(self, budget: int) -> None:
        motion = self.motion
        assert motion is not None
        if motion.release is not None and motion.index >= motion.release and not self._stepping:
            blend_next(self, motion, budget)
        motion.index += 1
        self.row = motion.rows[motion.index]
        if motion.over:
            self.motion, self.skipped = None, 0
            if self.modal.fine and not self.modal.blend:
                self.wait(self.settings.fine_settle_s)
            self.wait(self.settings.rest_s)

    def _statement(self) -> bool:
        """Do the next statement; False if it has to be looked at again in the next tick."""
        frame = self.frame
        lines = frame.program.lines
        if frame.pc >= len(lines):
            self.do(END_OF_TEXT)
            return True
        line = lines[frame.pc]
        if self._at_breakpoint(line):
            self.state = SlotState.PAUSED
            return False
        self._resumed_here = False
        again = self.blocked and self.line_index == frame.pc
        self.line_index, frame.pc = frame.pc, frame.pc + 1
        if line.statement is None:
            return True
        self.blocked = False
        if self.before_statement is not None and not again:
            self.before_statement()
        self.do(line.statement)
        if self.blocked:
            frame.pc = self.line_index
            return False
        self._stepped = True
        return True

    def _at_breakpoint(self, line: ProgramLine) -> bool:
        if self._resumed_here or self._direct:
            return False
        return (line.number if line.number is not None else line.row) in self.breakpoints

    # -- interrupts ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Look at interrupts and at what waits beside the move."""
        self.watching = True
        try:
            self._look_around()
        finally:
            self.watching = False

    def _look_around(self) -> None:
        interrupt = self._fired()
        if interrupt is not None:
            if interrupt.mode == "L":
                self._pending = interrupt
            elif self.motion is not None:
                self._begin_halt("interrupt", interrupt)
                return
            else:
                self._jump_to(interrupt, None)
        if self.motion is not None:
            self._watch_beside(self.motion)

    def _fired(self) -> Interrupt | None:
        """The most urgent interrupt whose condition has just come true."""
        if self._direct:
            return None  # where it would jump to is not in the single statement
        frame = self.frame
        level = next((back.interrupt for back in reversed(frame.returns) if back.interrupt is not None), NO_INTERRUPT)
        found = None
        for interrupt in (*frame.lines.values(), *sorted(frame.interrupts.values(), key=lambda each: each.number)):
            if not interrupt.enabled or not self.master_on or interrupt.number >= level:
                continue
            met = (
                self.signals.waiting(-interrupt.number)
                if interrupt.condition is None
                else self.evaluator.true(interrupt.condition)
            )
            if met and not interrupt.met and found is None:
                found = interrupt
                interrupt.met = True
            elif not met:
                interrupt.met = False
        return found

    def _enter_pending(self) -> None:
        if self._pending is not None:
            interrupt, self._pending = self._pending, None
            self._jump_to(interrupt, None)

    def _jump_to(self, interrupt: Interrupt, motion: MotionState | None) -> None:
        frame = self.frame
        if interrupt.jump.word == "GOTO":
            self.dwell = 0
            self.enter(interrupt.jump, None)
            return
        waiting = self.blocked and frame.pc == self.line_index
        back = Return(
            onward=frame.pc,
            skip=frame.pc + 1 if waiting else frame.pc,
            interrupt=interrupt.number,
            again=None if motion is None else motion.line,
            dwell=self.dwell,
        )
        self.dwell, self.blocked = 0, False
        self.enter(interrupt.jump, back)

    def _watch_beside(self, motion: MotionState) -> None:
        for beside in list(motion.beside):
            if not self.evaluator.true(beside.condition):
                continue
            motion.beside.remove(beside)
            if isinstance(beside.action, nodes.Assign):
                self.do(beside.action)
            else:
                self._begin_halt("skip" if beside.action.word == "SKIP" else "pause")
                return

    # -- stops ---------------------------------------------------------------------------------------------------------

    def _begin_halt(self, then: str, interrupt: Interrupt | None = None) -> None:
        motion = self.motion
        assert motion is not None
        rows, cursor = stopped(self.limits, motion.rows, motion.index)
        self._halt = Halt(rows, cursor, motion, then, interrupt)
        self.motion = None

    def _halting(self) -> None:
        halt = self._halt
        assert halt is not None
        if halt.index < len(halt.rows):
            self.row = halt.rows[halt.index]
            halt.index += 1
        if halt.index < len(halt.rows):
            return
        self._halt = None
        if halt.then == "interrupt":
            assert halt.interrupt is not None
            self._jump_to(halt.interrupt, halt.motion)
        elif halt.then == "skip":
            self.skipped = 1
        else:
            unfinished = halt.cursor < len(halt.motion.rows) - 1
            self._paused = Paused(halt.motion, halt.cursor, self.row) if unfinished else None
            self.state = SlotState.PAUSED if halt.then == "pause" else self.state

    def _go(self) -> None:
        if self.state is SlotState.RUNNING:
            return
        self.state, self._resumed_here = SlotState.RUNNING, self.state is not SlotState.READY
        paused, self._paused = self._paused, None
        if paused is None or self._halt is not None:
            return
        rows = resumed(self.limits, paused.motion.rows, paused.cursor)
        back = joint_move(self.arm, self.limits, self.row, paused.row, self.pace(joint=True))
        motion = paused.motion
        motion.rows, motion.index, motion.begins = np.concatenate([back, rows[1:]]), 0, 0
        motion.release = None
        self._stepped = True
        self.begin(motion)

    def _fail(self, error: ProgramError) -> None:
        """The program stops; a move under way is brought to rest on its way."""
        line = self.line
        place = line.place(line.statement.at if line.statement else 1) if line else Place(row=1)
        self.error = error.at(place, self.frame.program.file or self.frame.program.name)
        if self.error.letter == "C":
            self.cautions.append(self.error)
            self.note(str(self.error))
            self.error = None
            return
        # RUN after the error goes on with the line that failed.
        if self.motion is not None:
            self._begin_halt("fail")
        elif self.frame.program.lines:
            self.frame.pc = self.line_index
        self.state = SlotState.FAILED
        if self._direct:
            del self.frames[self._direct - 1 :]
            self._direct = 0

    def _refuse_error(self) -> None:
        if self.error is not None:
            raise ProgramError(5600, self.error.code)

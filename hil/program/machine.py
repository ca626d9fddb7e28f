"""What a program runs on: variables, the arm, moves under way, and the small verbs that statements are made of.

It does nothing by itself; `hil.program.interpreter` moves it on, tick by tick.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.arm import ProgramArm, joint_set
from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.evaluate import Evaluator
from hil.program.frames import Frame, Halt, Interrupt, Modal, MotionState, Paused, Return, SlotState
from hil.program.motions import Limits, Pace
from hil.program.pallets import Pallet
from hil.program.settings import Settings
from hil.program.signals import Signals
from hil.program.structure import Program
from hil.program.syntax import ProgramLine
from hil.program.values import ZERO_POSITION, Joints, Position, Value
from hil.program.variables import Store

LAST_OUTPUTS = 4
"""Pulses that may run at a time."""


class Machine(ABC):
    """One slot of the controller: everything that a statement can see or change.

    Attributes:
        state: what the slot is doing.
        row: joints at the end of the last tick, radians, shape (n,).
        error: why it failed, or None.
        notices: words for the user, in order; whoever reads them may clear them.
        cautions: errors that let the program go on, in order; whoever reads them clears them.
        breakpoints: program lines, by their number or, without numbers, by the line of the text.
        servo_on: moves need it; SERVO ON sets it after a while.
        timers_ms: M_TIMER as it would read at time 0.
        blocked: the statement being done waits, and is looked at again in the next tick.
        watching: conditions of interrupts and WTHIF are being looked at.
        before_statement: called before every statement; one that waits is one statement however often it is looked at.

    Args:
        program: what to run.
        arm: the mechanism.
        signals: inputs, outputs and lines.
        limits: how fast the joints may go, and the period.
        start: joints before the first tick, radians.
        settings: what the language leaves open.
        library: programs that CALLP may name.
    """

    def __init__(
        self,
        program: Program,
        arm: ProgramArm,
        signals: Signals,
        limits: Limits,
        start: Sequence[float],
        *,
        settings: Settings | None = None,
        library: Mapping[str, Program] | None = None,
    ) -> None:
        self.program, self.arm, self.signals, self.limits = program, arm, signals, limits
        self.settings = settings or Settings()
        self.library = dict(library or {})
        self.row: FloatArray = np.array(start, dtype=np.float64)
        self.shared: dict[str, Value] = {}
        self.modal = Modal()
        self.tool = self.base = ZERO_POSITION
        self.state = self._state_before = SlotState.READY
        self.error: ProgramError | None = None
        self.notices: list[str] = []
        self.cautions: list[ProgramError] = []
        self.breakpoints: set[int] = set()
        self.before_statement: Callable[[], None] | None = None
        self.servo_on = True
        self.master_on = True
        self.skipped = 0
        self.ticks = 0
        self.cycles = 0
        self.timers_ms: dict[int, float] = {}
        self.unread: dict[int, list[str]] = {}
        self.column: dict[int, int] = {}
        self.frames: list[Frame] = [self._frame(program)]
        self._repeat = False
        self._direct = 0
        self._random = random.Random(self.settings.random_seed)
        self._clear_activity()

    def _clear_activity(self) -> None:
        self.motion: MotionState | None = None
        self.line_index = 0
        self.dwell = 0
        self.blocked = self.watching = False
        self._halt: Halt | None = None
        self._paused: Paused | None = None
        self._pending: Interrupt | None = None
        self._pulses: list[tuple[int, Sequence[int], int, int]] = []
        self._servo_due: int | None = None
        self._stepping = self._stepped = self._resumed_here = self._moved = False

    def _frame(self, program: Program) -> Frame:
        return Frame(program, self.variables_of(program))

    def variables_of(self, program: Program) -> Store:
        """The variables of a program as it starts: its points as taught, everything else unset."""
        return Store(program.points, self.shared, loose=program.dialect is Dialect.LOOSE)

    @property
    def frame(self) -> Frame:
        """The program that is running now."""
        return self.frames[-1]

    @property
    def now_s(self) -> float:
        """Time at the beginning of this tick."""
        return self.ticks * self.limits.period_s

    @property
    def moving(self) -> bool:
        """True if the last tick was part of a move or of a stop."""
        return self._moved

    @property
    def stopping(self) -> bool:
        """True while a move is brought to rest."""
        return self._halt is not None

    @property
    def timed(self) -> bool:
        """True while a pulse or the servo is still to come by itself."""
        return bool(self._pulses) or self._servo_due is not None

    @property
    def unfinished(self) -> bool:
        """True while a pause holds up a move that a start would first go on with."""
        return self._paused is not None

    @property
    def line(self) -> ProgramLine | None:
        """The line being done; None in an empty program."""
        lines = self.frame.program.lines
        return lines[min(self.line_index, len(lines) - 1)] if lines else None

    @property
    def shown_line(self) -> ProgramLine | None:
        """The line of the move under way, else the one being done: what a display shows."""
        moving = self._halt.motion if self._halt else self.motion
        return self.line if moving is None else self.frame.program.lines[moving.line]

    @property
    def position(self) -> Position:
        """Where the tool is."""
        return self.arm.position(self.row.tolist())

    @property
    def joints(self) -> Joints:
        """Joint angles in the language's eight places."""
        return joint_set(self.arm, self.row.tolist())

    @property
    def evaluator(self) -> Evaluator:
        """Works out expressions in the running program."""
        return Evaluator(self)

    @property
    def degrees(self) -> bool:
        """Unit of a component's angle."""
        return self.settings.degrees_in_components

    @property
    def store(self) -> Store:
        """Variables of the running program."""
        return self.frame.store

    @property
    def functions(self) -> Mapping[str, nodes.DefFunction]:
        """Functions that the running program defined."""
        return self.frame.functions

    @property
    def ports(self) -> Mapping[str, nodes.DefIo]:
        """Names that the running program gave to signals."""
        return self.frame.ports

    @property
    def pallets(self) -> Mapping[int, Pallet]:
        """Pallets of the running program."""
        return self.frame.pallets

    def random(self) -> float:
        """The next random number."""
        return self._random.random()

    @abstractmethod
    def system(self, name: str, arguments: Sequence[Value]) -> Value:
        """A system variable."""

    @abstractmethod
    def port(self, definition: nodes.DefIo) -> Value:
        """Signals under a name."""

    @abstractmethod
    def do(self, statement: nodes.Statement) -> None:
        """Do one statement now."""

    def pace(self, *, joint: bool) -> Pace:
        """What OVRD, JOVRD, SPD and ACCEL leave of the limits."""
        modal = self.modal
        share = self.settings.panel_override / 100.0 * modal.override / 100.0
        acceleration = 1.0 if modal.load_dependent else min(modal.acceleration, modal.deceleration) / 100.0
        return Pace(share * (modal.joint_override / 100.0 if joint else 1.0), acceleration, modal.speed_mm_s)

    def wait(self, seconds: float) -> None:
        """Hold for so many whole ticks."""
        self.dwell = max(self.dwell, int(np.ceil(seconds / self.limits.period_s - 1e-9)))

    def begin(self, motion: MotionState) -> None:
        """Start a move; one without travel is over at once."""
        if len(motion.rows) > 1:
            self.motion = motion

    def pulse(self, bits: Sequence[int], before: int, after_s: float, width: int) -> None:
        """Put output bits back after a time."""
        if len(self._pulses) >= LAST_OUTPUTS:
            raise ProgramError(3110, "a fifth pulse at a time", allowed=f"{LAST_OUTPUTS}")
        due = self.ticks + max(1, round(after_s / self.limits.period_s))
        self._pulses.append((due, tuple(bits), before, width))

    def servo(self, on: bool) -> None:
        """SERVO ON takes its time; SERVO OFF does not."""
        if on and not self.servo_on:
            self._servo_due = self.ticks + max(1, round(self.settings.servo_on_s / self.limits.period_s))
        elif not on:
            self.servo_on, self._servo_due = False, None

    def enter(self, jump: nodes.Jump, back: Return | None) -> None:
        """Jump, for GOSUB with a way back."""
        if back is not None:
            if len(self.frame.returns) >= self.settings.stack_depth:
                raise ProgramError(3100, f"{len(self.frame.returns)} routines within each other")
            self.frame.returns.append(back)
        self.frame.pc = self.frame.program.index_of(jump.target)

    def call(self, frame: Frame) -> None:
        """CALLP: another program on top."""
        self.frames.append(frame)

    def leave(self) -> None:
        """END, or the end of the text."""
        if len(self.frames) == self._direct:
            self.frames.pop()
            self._direct, self.state = 0, self._state_before
        elif len(self.frames) > 1:
            self.frames.pop()
        elif self._repeat:
            self.cycles += 1
            self.frames, self.modal = [self._frame(self.program)], Modal()
        else:
            self.cycles += 1
            self.modal, self.state = Modal(), SlotState.ENDED

    def pause(self) -> None:
        """HLT."""
        self.state = SlotState.PAUSED

    def note(self, text: str) -> None:
        """Words for the user, with the line."""
        line = self.line
        row = f"line {line.number or line.row}: " if line else ""
        if f"{row}{text}" not in self.notices[-50:]:
            self.notices.append(f"{row}{text}")

"""MELFA-BASIC IV in the CR1: joins the interpreter to slots, signals, the line and the arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.frames import Frame, Modal, SlotState
from hil.program.settings import Settings
from hil.program.structure import Program, parse_program, parts_of
from hil.program.syntax import parse_statement, read_lines, upper_outside_strings
from hil.program.values import Position, Value, format_number
from sim.cr1.arm import Cr1Arm
from sim.cr1.ethernet import Ethernet
from sim.cr1.interpreter import SlotInterpreter
from sim.cr1.requests import Cause, RefusedRequest
from sim.cr1.settings import Cr1Settings
from sim.cr1.signals import Comm, Signals, SlotSignals
from sim.cr1.state import Servo
from sim.cr1.store import Program as StoredProgram
from sim.cr1.store import Store
from sim.cr1.tasks import Slot, Task

LONGEST_STOP = 2000
"""Cycles after which whatever slows down has stopped for certain."""

LASTING_WORDS = frozenset({"DLY", "WAIT", "MXT"})


class World(Protocol):
    """What of the controller a program sees and changes."""

    settings: Cr1Settings
    language_settings: Settings
    override: int
    arm: Cr1Arm
    servo: Servo
    signals: Signals
    comm: Comm
    ethernet: Ethernet
    store: Store

    def set_frames(self, tool: Position, base: Position) -> None:
        """TOOL and BASE."""
        ...

    @property
    def ticks(self) -> int:
        """Control cycles since the start, also those in which nothing moved."""
        ...

    def switch_servo(self, on: bool) -> None:
        """See `sim.cr1.interpreter.Doing`."""
        ...

    def begin_pulse(self, bits: Sequence[int], before: int, after_s: float) -> None:
        """See `sim.cr1.interpreter.Doing`."""
        ...

    def caution(self, number: int, slot: int, line: int) -> None:
        """An error stands that lets the program go on."""
        ...


@contextmanager
def refusing(cause: Cause = Cause.STATEMENT) -> Iterator[None]:
    """Errors of the language are refusals of the request that brought the statement."""
    try:
        yield
    except ProgramError as error:
        raise RefusedRequest(error.number, cause=cause, detail=str(error)) from None


class MelfaBasic:
    """The language, with the variables that all slots share."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.dialect = Dialect.STRICT if world.settings.strict else Dialect.LOOSE
        self.variables: dict[str, Value] = {}
        self._parsed: dict[tuple[str, str], Program] = {}
        self._desks: dict[int, SlotDesk] = {}

    def check(self, text: str) -> None:
        """Read one line of a program, with its number, or one variable.

        Raises:
            RefusedRequest: something in it is wrong, with its column.
        """
        errors = read_lines(text, self.dialect).errors
        if errors:
            raise RefusedRequest(errors[0].number, str(max(errors[0].column, 1)), cause=Cause.EDIT)

    def load(self, name: str, program: StoredProgram, slot: int) -> SlotProgram:
        """Make a program ready to run from its first line.

        Raises:
            ProgramError: something in it is wrong.
        """
        return SlotProgram(self._world, self.machine(self._parse(name, program), slot), slot)

    def machine(self, program: Program, slot: int) -> SlotInterpreter:
        """An interpreter in a slot."""
        world = self._world
        signals = SlotSignals(world.signals, world.comm, world.ethernet, slot)
        machine = SlotInterpreter(program, world.arm, signals, world, self._library())
        machine.settings = _settings(world)
        machine.shared = self.variables
        machine.reset()
        return machine

    def _parse(self, name: str, program: StoredProgram) -> Program:
        key = (name, program.text)
        if key not in self._parsed:
            self._parsed[key] = parse_program(program.text, name=name, dialect=self.dialect)
        return self._parsed[key]

    def _library(self) -> dict[str, Program]:
        """What CALLP may name: those that are wrong are not there."""
        found = {}
        for name, program in self._world.store.programs.items():
            try:
                found[name] = self._parse(name, program)
            except ProgramError:
                continue
        return found

    def prepare(self) -> None:
        """Read every program in the memory, for the first who runs one."""
        self._library()

    def desk(self, slot: Slot) -> SlotDesk:
        """Where a slot's single statements are executed."""
        number = slot.number
        if number not in self._desks:
            self._desks[number] = SlotDesk(
                self._world, self.machine(parse_program("", name="", dialect=self.dialect), number), slot
            )
        desk = self._desks[number]
        desk.machine.library = self._library()
        return desk

    def reset_desk(self, number: int) -> None:
        """What a slot's single statements have set for all moves goes back to its default."""
        if number in self._desks:
            self._desks[number].reset()

    def read(self, name: str) -> str | None:
        """A global variable."""
        return show(self.variables[name]) if name in self.variables else None

    def names(self, kind: str) -> list[str]:
        """Global variables of a class that are set."""
        return sorted(name for name in self.variables if name.startswith(kind))


def show(value: Value) -> str:
    """As VAL prints it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int | float):
        text = format_number(value)
        return text if text.startswith("-") else f"+{text}"
    return str(value)


class _Machine:
    """An interpreter whose world is the controller."""

    def __init__(self, world: World, machine: SlotInterpreter, number: int) -> None:
        self._world, self._number = world, number
        self.machine = machine
        self._reported: ProgramError | None = None
        self._still = True
        self._seen = world.ticks

    # Variables.

    def read(self, name: str) -> str | None:
        """A variable as VAL prints it; None where it is not set."""
        self._take_world()
        try:
            return show(self.machine.read(name))
        except ProgramError:
            return None

    def write(self, name: str, value: str) -> None:
        """Set one from its written value."""
        self.machine.assign(f"{name}={value}")

    def names(self, kind: str) -> list[str]:
        """Those of a class that are set."""
        found = []
        for (name, index), _ in self.machine.store.names():
            if name.startswith(kind):
                found.append(f"{name}({','.join(map(str, index))})" if index else name)
        return found

    # The world before and after a cycle.

    def keep_time(self) -> None:
        """Control cycles in which it did nothing count too: timers go on."""
        missed = max(self._world.ticks - self._seen - 1, 0)
        self.machine.ticks += missed
        self._seen += missed

    def _take_world(self) -> None:
        world, machine = self._world, self.machine
        self.keep_time()
        machine.servo_on = world.servo.on
        machine.arm, machine.tool, machine.base = world.arm.kinematics, world.arm.tool, world.arm.base
        machine.settings = _settings(world)
        if machine.motion is None:
            machine.place_arm(world.arm.row.tolist())

    def _give_world(self) -> None:
        """What the cycle changed; the arm's way last, since that may be refused."""
        world, machine = self._world, self.machine
        if machine.arm is not world.arm.kinematics:
            world.set_frames(machine.tool, machine.base)
        for caution in machine.cautions:
            line = 0 if caution.place is None else caution.place.number or caution.place.row
            world.caution(caution.number, self._number, line)
        machine.cautions.clear()

    def _tick(self) -> None:
        """One cycle."""
        self._take_world()
        before = self.machine.row
        self.machine.tick()
        self._seen = self._world.ticks
        self._give_world()
        self._still = np.array_equal(before, self.machine.row)

    def _report(self) -> None:
        """Raise a new error."""
        error = self.machine.error
        if error is not None and error is not self._reported:
            self._reported = error
            raise error

    @property
    def goal(self) -> FloatArray | None:
        """Where the move under way will end."""
        motion = self.machine.motion
        return None if motion is None else motion.rows[-1]

    @property
    def still(self) -> bool:
        """The arm does not move by it, whatever else it does."""
        return self._still

    @property
    def at_rest(self) -> bool:
        """It moves nothing just now."""
        return self._still and self.machine.state is not SlotState.RUNNING

    def hold(self) -> None:
        """Slow down on the way, and pause."""
        self.machine.stop()

    def freeze(self) -> None:
        """Stand still at once: what is left of slowing down happens to nobody's arm."""
        machine = self.machine
        machine.stop()
        for _ in range(LONGEST_STOP):
            before = machine.row
            machine.tick()
            if machine.state is not SlotState.RUNNING and machine.row is before:
                break
        machine.place_arm(self._world.arm.row.tolist())
        self._still = True
        self._reported = machine.error


class SlotProgram(_Machine):
    """A program in a slot."""

    @property
    def line(self) -> int:
        """Number of the line that it is at."""
        machine = self.machine
        line, lines = machine.line, machine.frame.program.lines
        if (
            machine.state is SlotState.PAUSED
            and not (machine.motion or machine.unfinished)
            and machine.frame.pc < len(lines)
        ):
            # Between two lines it shows the one that a start would begin with.
            line = lines[machine.frame.pc]
        return 0 if line is None else line.number or line.row

    @property
    def ended(self) -> bool:
        """END was reached, and no other cycle follows."""
        return self.machine.state is SlotState.ENDED

    @property
    def paused(self) -> bool:
        """It waits to be started again, by HLT or after a step."""
        return self.machine.state is SlotState.PAUSED

    @property
    def cycles(self) -> int:
        """How often END was reached."""
        return self.machine.cycles

    def step(self) -> None:
        """Do one control cycle."""
        self._tick()
        if not self._still:
            self._world.arm.drive(self.machine.row)
        self._report()

    def go_on(self, *, repeat: bool = False, single: bool = False) -> None:
        """Start, or go on where it was; a stopped move first goes back to where it stopped."""
        self.machine.reset_error()
        self._reported = None
        if self.machine.state is not SlotState.RUNNING:
            self._take_world()
        if single:
            self.machine.step()
        else:
            self.machine.run(repeat=repeat)

    def go_to(self, line: int) -> None:
        """Go on at another line.

        Raises:
            ProgramError: there is none.
        """
        machine = self.machine
        if line not in machine.program.numbers:
            raise ProgramError(4230, str(line))
        machine.reset_error()
        machine.frame.pc = machine.line_index = machine.program.numbers[line]
        machine.state = SlotState.PAUSED


class _Ground(NamedTuple):
    """What single statements see and change: a frame with variables and definitions, speeds, timers."""

    frame: Frame
    modal: Modal
    timers_ms: dict[int, float]


def _lasts(statement: nodes.Statement) -> bool:
    """It moves the arm, or waits."""
    if isinstance(statement, nodes.Word):
        return statement.word in LASTING_WORDS
    return isinstance(statement, nodes.Move | nodes.Input | nodes.Call)


@contextmanager
def _unset_as_undefined() -> Iterator[None]:
    """A single statement knows no line above it that might have set a variable."""
    try:
        yield
    except ProgramError as error:
        raise ProgramError(4340, error.detail) if error.number == 3700 else error from None


class SlotDesk(_Machine):
    """Where a slot's single statements are executed; they see the variables of the program that is loaded there."""

    def __init__(self, world: World, machine: SlotInterpreter, slot: Slot) -> None:
        super().__init__(world, machine, slot.number)
        self._slot = slot
        self._own = _Ground(machine.frames[0], machine.modal, machine.timers_ms)
        self._pending = False

    line = 0

    def read(self, name: str) -> str | None:
        """A variable as VAL prints it; None where it is not set."""
        self._stand_on_the_program()
        return super().read(name)

    def write(self, name: str, value: str) -> None:
        """Set one from its written value."""
        self._stand_on_the_program()
        super().write(name, value)

    def names(self, kind: str) -> list[str]:
        """Those of a class that are set."""
        self._stand_on_the_program()
        return super().names(kind)

    @property
    def ended(self) -> bool:
        """The statement is done."""
        return self.machine.state is not SlotState.RUNNING and not self._pending

    @property
    def at_rest(self) -> bool:
        """It moves nothing just now."""
        return super().at_rest and not self._pending

    def takes_time(self, text: str) -> bool:
        """True for a statement that moves or waits.

        Raises:
            ProgramError: it is wrong.
        """
        return any(_lasts(part) for part in parts_of(parse_statement(upper_outside_strings(text), Dialect.LOOSE)))

    def execute(self, text: str) -> Task | None:
        """Do a statement at once, or begin it; the way that its first cycle makes belongs to the next cycle.

        Raises:
            ProgramError: it is wrong, or cannot be done.
        """
        machine = self.machine
        self._stand_on_the_program()
        self._take_world()
        statement = parse_statement(upper_outside_strings(text), Dialect.LOOSE)
        if isinstance(statement, nodes.Assign) and statement.pulse_s is None:
            with _unset_as_undefined():
                machine.assign(text)
            return None
        machine.direct(text)
        self._tick()
        self._pending = not self._still
        error = machine.error
        if error is not None:
            machine.reset_error()
            self._pending = False
            with _unset_as_undefined():
                raise error
        if not self.ended:
            return self
        machine.drop_direct()
        if isinstance(statement, nodes.Word) and statement.word == "END":
            self.reset()
        return None

    def _stand_on_the_program(self) -> None:
        """Variables, definitions, speeds and timers are those of the program in the slot, if one is there."""
        machine, task = self.machine, self._slot.task
        if isinstance(task, SlotProgram):
            ground = _Ground(task.machine.frames[0], task.machine.modal, task.machine.timers_ms)
        else:
            ground = self._own
        if machine.state is not SlotState.RUNNING:
            machine.frames[:], machine.state = [ground.frame], SlotState.READY
        machine.modal, machine.timers_ms = ground.modal, ground.timers_ms

    def reset(self) -> None:
        """Speeds as after END, and no line open."""
        self._own = self._own._replace(modal=Modal())
        self._world.comm.close(self._number)

    def keep_time(self) -> None:
        """By the clock of the program in the slot, else by the controller's."""
        task = self._slot.task
        if isinstance(task, SlotProgram):
            task.keep_time()
        self.machine.ticks = task.machine.ticks if isinstance(task, SlotProgram) else self._world.ticks

    def step(self) -> None:
        """Do one control cycle."""
        if self._pending:
            self._pending = False
        else:
            self._tick()
        if not self._still:
            self._world.arm.drive(self.machine.row)
        self._report()

    def drop(self) -> None:
        """The statement will not be gone on with."""
        self.freeze()
        self._pending = False
        self.machine.drop_direct()
        self.machine.reset_error()

    def go_on(self) -> None:
        """A single statement that was stopped is dropped."""


def _settings(world: World) -> Settings:
    return msgspec.structs.replace(world.language_settings, panel_override=world.override)

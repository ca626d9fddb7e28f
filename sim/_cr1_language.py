"""MELFA-BASIC IV in the CR1: joins the interpreter to slots, signals, the line and the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hil.program import nodes
from hil.program.building import Dialect
from hil.program.errors import ProgramError
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.settings import Settings
from hil.program.structure import Program, parse_program
from hil.program.syntax import parse_statement, read_lines, upper_outside_strings
from hil.program.values import Value, format_number
from sim import _cr1_store
from sim._cr1_signals import SlotSignals
from sim._cr1_tasks import Task

if TYPE_CHECKING:
    from sim.cr1 import Cr1

LONGEST_STOP = 2000
"""Cycles after which whatever slows down has stopped for certain."""

LASTING_WORDS = frozenset({"DLY", "WAIT", "HLT"})


class MelfaBasic:
    """The language, with the variables that all slots share."""

    def __init__(self, cr1: Cr1) -> None:
        self._cr1 = cr1
        self.dialect = Dialect.STRICT if cr1.settings.strict else Dialect.LOOSE
        self.variables: dict[str, Value] = {}
        self._parsed: dict[tuple[str, str], Program] = {}

    def check(self, text: str) -> None:
        """Read one line of a program, with its number, or one variable.

        Raises:
            ProgramError: with its place.
        """
        errors = read_lines(text, self.dialect).errors
        if errors:
            raise errors[0]

    def load(self, name: str, program: _cr1_store.Program, slot: int) -> SlotProgram:
        """Make a program ready to run from its first line.

        Raises:
            ProgramError: something in it is wrong.
        """
        return SlotProgram(self._cr1, self.machine(self._parse(name, program), slot))

    def machine(self, program: Program, slot: int) -> Interpreter:
        """An interpreter in a slot."""
        cr1 = self._cr1
        signals = SlotSignals(cr1.signals, cr1.comm, slot)
        machine = Interpreter(
            program,
            cr1.arm.kinematics,
            signals,
            cr1.arm.limits,
            cr1.arm.row.tolist(),
            settings=_settings(cr1),
            library=self._library(),
        )
        machine.shared = self.variables
        machine.reset()
        return machine

    def _parse(self, name: str, program: _cr1_store.Program) -> Program:
        key = (name, program.text)
        if key not in self._parsed:
            self._parsed[key] = parse_program(program.text, name=name, dialect=self.dialect)
        return self._parsed[key]

    def _library(self) -> dict[str, Program]:
        """What CALLP may name: those that are wrong are not there."""
        found = {}
        for name, program in self._cr1.store.programs.items():
            try:
                found[name] = self._parse(name, program)
            except ProgramError:
                continue
        return found

    def desk(self, slot: int) -> SlotDesk:
        """A place for single statements."""
        return SlotDesk(self._cr1, self.machine(_EMPTY, slot), slot)

    def read(self, name: str) -> str | None:
        """A global variable."""
        return show(self.variables[name]) if name in self.variables else None

    def names(self, kind: str) -> list[str]:
        """Global variables of a class that are set."""
        return sorted(name for name in self.variables if name.startswith(kind))


_EMPTY = parse_program("", name="")


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

    def __init__(self, cr1: Cr1, machine: Interpreter) -> None:
        self._cr1 = cr1
        self.machine = machine
        self._reported: ProgramError | None = None
        self._still = True

    # Variables.

    def read(self, name: str) -> str | None:
        """A variable as VAL prints it; None where it is not set."""
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

    def _take_world(self) -> None:
        cr1, machine = self._cr1, self.machine
        machine.servo_on = cr1.servo.on
        machine.arm, machine.tool, machine.base = cr1.arm.kinematics, cr1.arm.tool, cr1.arm.base
        machine.settings = _settings(cr1)
        if machine.motion is None:
            machine.place_arm(cr1.arm.row.tolist())

    def _give_world(self) -> None:
        """What the cycle changed; the arm's way last, since that may be refused."""
        cr1, machine = self._cr1, self.machine
        if machine.arm is not cr1.arm.kinematics:
            cr1.set_frames(machine.tool, machine.base)
        if machine.servo_on != cr1.servo.on:
            cr1.switch_servo(machine.servo_on)

    def _tick(self) -> None:
        """One cycle."""
        self._take_world()
        before = self.machine.row
        self.machine.tick()
        self._give_world()
        self._still = np.array_equal(before, self.machine.row)

    def _report(self) -> None:
        """Raise a new error."""
        error = self.machine.error
        if error is not None and error is not self._reported:
            self._reported = error
            raise error

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
        machine.place_arm(self._cr1.arm.row.tolist())
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
            self._cr1.arm.drive(self.machine.row)
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


class SlotDesk(_Machine):
    """Where a slot's single statements are executed; they see the variables of the program that is loaded there."""

    def __init__(self, cr1: Cr1, machine: Interpreter, slot: int) -> None:
        super().__init__(cr1, machine)
        self._slot = slot
        self._own = machine.frames[0].store
        self._pending = False

    line = 0

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
        statement = parse_statement(upper_outside_strings(text), Dialect.LOOSE)
        if isinstance(statement, nodes.Word):
            return statement.word in LASTING_WORDS
        return isinstance(statement, nodes.Move | nodes.Input)

    def execute(self, text: str) -> Task | None:
        """Do a statement at once, or begin it; the way that its first cycle makes belongs to the next cycle.

        Raises:
            ProgramError: it is wrong, or cannot be done.
        """
        machine, task = self.machine, self._cr1.slots[self._slot].task
        frame, loaded = machine.frames[0], task.machine.frames[0] if isinstance(task, SlotProgram) else None
        frame.store = self._own if loaded is None else loaded.store
        if loaded is not None:
            frame.pallets, frame.functions, frame.ports = loaded.pallets, loaded.functions, loaded.ports
        self._take_world()
        statement = parse_statement(upper_outside_strings(text), Dialect.LOOSE)
        if isinstance(statement, nodes.Assign) and statement.pulse_s is None:
            machine.assign(text)
            return None
        machine.direct(text)
        self._tick()
        self._pending = not self._still
        error = machine.error
        if error is not None:
            machine.reset_error()
            self._pending = False
            raise ProgramError(4340, error.detail) if error.number == 3700 else error
        return None if self.ended else self

    def step(self) -> None:
        """Do one control cycle."""
        if self._pending:
            self._pending = False
        else:
            self._tick()
        if not self._still:
            self._cr1.arm.drive(self.machine.row)
        self._report()

    def drop(self) -> None:
        """The statement will not be gone on with."""
        self.freeze()
        self._pending = False
        if len(self.machine.frames) > 1:
            self.machine.leave()
        self.machine.reset_error()

    def go_on(self) -> None:
        """A single statement that was stopped is dropped."""


def _settings(cr1: Cr1) -> Settings:
    return msgspec.structs.replace(cr1.language_settings, panel_override=cr1.override)

"""What requests do to programs in slots: select, start, step, set the line, edit."""

from __future__ import annotations

from collections.abc import Mapping

from sim.cr1.language import SlotDesk, refusing
from sim.cr1.machine import Machine
from sim.cr1.requests import Cause, RefusedRequest
from sim.cr1.store import EditBuffer, Program, check_name
from sim.cr1.tasks import Mode, ProgramTask, Slot, SlotState


def shown_name(machine: Machine, slot: Slot) -> str:
    """The program in a slot, with its extension."""
    return f"{slot.name}.{machine.settings.extension}" if slot.name else ""


def line_of(machine: Machine, slot: Slot) -> int:
    """Where a slot's program is; its first line if it was not started."""
    if slot.task is not None:
        return slot.task.line
    return next(iter(lines_of(machine, slot)), 0)


def lines_of(machine: Machine, slot: Slot) -> Mapping[int, str]:
    """Text by line number."""
    if slot.number == machine.edit_slot:
        return machine.edit.program.lines
    program = machine.store.programs.get(slot.name)
    return program.lines if program else {}


def select(machine: Machine, slot: Slot, name: str) -> None:
    """Put a program into a slot."""
    machine.store.find(name)
    if slot.number == machine.edit_slot or slot.state is SlotState.PAUSED:
        raise RefusedRequest(5120)
    if slot.state is SlotState.RUNNING:
        raise RefusedRequest(5640)
    slot.name, slot.task = name, None


def task_of(machine: Machine, slot: Slot) -> ProgramTask:
    """The slot's program, ready to run.

    Raises:
        RefusedRequest: there is none, or something in it is wrong.
    """
    if slot.task is None:
        edited = slot.number == machine.edit_slot
        program = machine.edit.program if edited else machine.store.find(slot.name)
        with refusing():
            slot.task = machine.language.load(slot.name or machine.edit.name, program, slot.number)
    return slot.task


def start(machine: Machine, slot: Slot, name: str, mode: Mode | None) -> None:
    """What RUN does."""
    machine.require_startable()
    bare = check_name(name) if name else slot.name
    if not bare:
        raise RefusedRequest(5100)
    if slot.state is SlotState.RUNNING or machine.direct is not None:
        raise RefusedRequest(5640)
    if slot.state is SlotState.PAUSED and bare != slot.name:
        raise RefusedRequest(5110)
    if machine.edit.name == bare:
        raise RefusedRequest(4170)
    if bare != slot.name:
        select(machine, slot, bare)
    slot.mode = slot.mode if mode is None else mode
    _go(machine, slot)


def _go(machine: Machine, slot: Slot, *, single: bool = False) -> None:
    task = task_of(machine, slot)
    machine.wake()
    with refusing():
        task.go_on(repeat=slot.mode is Mode.REPEAT, single=single)
    if slot.state is SlotState.IDLE:
        slot.started_s = machine.now_s
    slot.state, slot.cycle_stop = SlotState.RUNNING, False


def end_cycles(machine: Machine) -> None:
    """What CSTOP does: every program ends with its present cycle."""
    for slot in machine.slots.values():
        if slot.state is SlotState.RUNNING and slot.task is not None:
            slot.cycle_stop = True
            slot.task.go_on(repeat=False)


def go_to_line(machine: Machine, slot: Slot, line: int) -> None:
    """What LINENO= does."""
    if slot.state is SlotState.RUNNING:
        raise RefusedRequest(5640)
    if not slot.name and slot.number != machine.edit_slot:
        raise RefusedRequest(5100)
    with refusing(Cause.REQUEST):
        task_of(machine, slot).go_to(line)


# -- the edit slot ---------------------------------------------------------------------------------------


def open_edit(machine: Machine, name: str, program: Program) -> None:
    """What LOAD= does; an edit that was going on is thrown away."""
    machine.edit = EditBuffer(name, program)
    forget_edited_task(machine)


def close_edit(machine: Machine) -> None:
    """What SAVE and NEW do."""
    machine.edit = EditBuffer()
    forget_edited_task(machine)


def forget_edited_task(machine: Machine) -> None:
    """The program in the edit slot has changed: stepping begins anew."""
    machine.reset_slot(machine.slots[machine.edit_slot])


def step_edited(machine: Machine, *, single: bool) -> None:
    """What STEP1 and STEPR do."""
    machine.require_startable()
    if not machine.edit.is_open:
        raise RefusedRequest(5100)
    slot = machine.slots[machine.edit_slot]
    if slot.state is SlotState.RUNNING or machine.direct is not None:
        raise RefusedRequest(5640)
    slot.mode = Mode.CYCLE
    _go(machine, slot, single=single)


def write_variable(variables: ProgramTask | SlotDesk, name: str, value: str) -> None:
    """What HOT and VAL= do.

    Raises:
        RefusedRequest: the value does not fit.
    """
    with refusing(Cause.REQUEST):
        variables.write(name, value)

"""What requests make the arm do by themselves, without a program: single statements, moves and jogs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.program.errors import ProgramError
from hil.program.motions import Pace, joint_move
from hil.units import DEG
from sim.cr1.jog import Jog
from sim.cr1.language import refusing
from sim.cr1.machine import Machine
from sim.cr1.requests import Cause, RefusedRequest
from sim.cr1.tasks import JointMove, SlotState


def execute(machine: Machine, number: int, text: str) -> None:
    """What EXEC does."""
    machine.require_startable()
    slot = machine.slot(number)
    if machine.settings.exec_wants_program and not slot.name:
        raise RefusedRequest(5100)
    desk = machine.language.desk(slot)
    with refusing():
        lasting = desk.takes_time(text)
    if slot.state is SlotState.RUNNING or (lasting and machine.in_motion):
        raise RefusedRequest(5640)
    machine.wake()
    with refusing():
        task = desk.execute(text)
    if task is not None:
        machine.direct = task


def move_joints(machine: Machine, goal_deg: Sequence[float]) -> None:
    """A move that a command makes by itself; five joints."""
    machine.require_startable()
    if machine.in_motion:
        raise RefusedRequest(5640)
    if not machine.servo.on:
        raise RefusedRequest(2000, cause=Cause.STATEMENT)
    machine.wake()
    arm = machine.arm
    rows = joint_move(arm.kinematics, arm.limits, arm.row, np.array(goal_deg) * DEG, Pace(machine.override / 100.0))
    machine.direct = JointMove(arm, rows, machine.cycle_s / arm.model.acceleration_s)


def jog(machine: Machine, wanted: Jog) -> None:
    """Jog on, for as long as it is asked for again and again."""
    machine.require_startable()
    if not machine.servo.on:
        raise RefusedRequest(2000, cause=Cause.STATEMENT)
    if machine.direct is not None or machine.a_program_runs:
        raise RefusedRequest(2030)
    machine.wake()
    try:
        possible = machine.jogger.ask(wanted, machine.now_s, machine.override / 100.0)
    except ProgramError as error:
        raise RefusedRequest(error.number, cause=Cause.STATEMENT) from None
    if not possible:
        raise RefusedRequest(2030)

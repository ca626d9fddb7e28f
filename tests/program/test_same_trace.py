"""One trace format: a program leaves the same trace on the simulated arm and behind the emulated CR1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from program_rigs import HOME, rig

from hil.program.motions import limits_of
from hil.program.programs import (
    InputChange,
    Inputs,
    Program,
    TextArrives,
    load_library,
    load_program,
    plan_program,
)
from hil.program.stored import stored_lines, stored_name, stored_points
from hil.program.trace import TraceRow, first_difference
from hil.types import Record
from hil.units import DEG
from sim.cr1 import Cr1, SlotState
from sim.cr1.language import SlotProgram
from sim.uart import EIGHT_E_TWO

FILES = sorted((Path(__file__).parents[2] / "configs" / "programs").glob("*.mb4"))
WIRE_DEG = 0.00501
"""Half of the last digit of a joint reply."""

TALK = tuple(
    TextArrives(time_s=at_s, number=1, text=text)
    for at_s, text in (
        (0.5, "1,(250,50,300,0,180,0)(6,0)"),
        (1.0, "1,(900,0,300,0,180,0)(6,0)"),
        (4.0, "0,(0,0,0,0,0,0)"),
    )
)
ASSUMED = {
    "interrupt": Inputs(changes=(InputChange(time_s=2, signal=8, value=1), InputChange(time_s=4, signal=10, value=1))),
    "talk": Inputs(texts=TALK),
}


class Shown(Record, frozen=True):
    """What a CR1 shows on its line after a cycle, and the row that its arm really has."""

    row: TraceRow
    exact: tuple[float, ...]


def on_the_fake(program: Program, library: dict[str, Program], inputs: Inputs) -> list[Shown]:
    """Run a program behind an emulated controller whose joints are planned as those of the rig."""
    texts = {
        stored_name(each): "\n".join((*stored_lines(each), *stored_points(each)))
        for each in (program, *library.values())
    }
    limits = limits_of(rig())
    cr1 = Cr1(programs=texts, joints_deg=HOME, limits=limits)
    ask = asking(cr1)
    for request in ("CNTLON", "SRVON"):
        assert ask(request) == "QoK"
    cr1.advance(cr1.now_s + 1.0)
    cr1.receive(f"1;1;RUN{stored_name(program)};1\r".encode(), cr1.now_s, cr1.byte_s, EIGHT_E_TWO)
    while cr1.machine.slots[1].task is None:
        cr1.advance(cr1.now_s + 0.001)
    task = cr1.machine.slots[1].task
    assert isinstance(task, SlotProgram)
    machine = task.machine
    assert machine.ticks == 0
    changes, lines = list(inputs.changes), list(inputs.texts)
    shown = [look(cr1, machine, 0.0)]
    while cr1.machine.slots[1].state is SlotState.RUNNING:
        now_s = machine.ticks * limits.period_s + 1e-9
        for change in [change for change in changes if change.time_s <= now_s]:
            changes.remove(change)
            cr1.machine.signals.write(change.signal, change.width, change.value, outputs=False)
        for line in [line for line in lines if line.time_s <= now_s]:
            lines.remove(line)
            cr1.machine.comm.bring(line.text)
        done = machine.ticks
        while machine.ticks == done:
            cr1.transmit(cr1.next_due_s(frames=True))
        shown.append(look(cr1, machine, machine.ticks * limits.period_s))
    assert cr1.machine.alarms.standing is None
    return shown


def asking(cr1: Cr1) -> Callable[[str], str]:
    """A client on a line that is as fast as it has to be."""

    def ask(command: str) -> str:
        cr1.receive(f"1;1;{command}\r".encode(), cr1.now_s, cr1.byte_s, EIGHT_E_TWO)
        return b"".join(data for _, data in cr1.transmit(cr1.now_s + 0.5)).decode().strip()

    return ask


def look(cr1: Cr1, machine: object, time_s: float) -> Shown:
    """The row of a trace with the two decimals of a joint reply."""
    line = machine.shown_line  # type: ignore[attr-defined]
    row = TraceRow(
        time_s=time_s,
        line=0 if line is None else line.number or line.row,
        statement="" if line is None else line.text,
        joints_deg=tuple(round(angle, 2) for angle in cr1.joints),
        pose=machine.position.members[:5],  # type: ignore[attr-defined]
        outputs=tuple(n for n in (*range(64), *range(900, 908)) if cr1.machine.signals.read(n, 1, outputs=True)),
    )
    return Shown(row=row, exact=cr1.joints)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_program_leaves_the_same_trace_on_simulator_and_fake(file: Path) -> None:
    program = load_program(file)
    library, inputs = load_library(program), ASSUMED.get(file.stem, Inputs())
    plan = plan_program(rig(), program, inputs, start=np.array(HOME) * DEG, library=library)
    assert plan.ended
    shown = on_the_fake(program, library, inputs)
    assert first_difference(plan.trace, [each.row for each in shown], WIRE_DEG) == ""
    exact = np.array([each.exact for each in shown])
    np.testing.assert_allclose(exact, np.array([row.joints_deg for row in plan.trace]), atol=1e-9)

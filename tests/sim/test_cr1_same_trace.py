"""A program moves the arm behind the emulated CR1 exactly as the interpreter alone says."""

from __future__ import annotations

import numpy as np
import pytest
from cr1_terminal import Cr1Terminal

from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.rv2aj import Rv2aj
from hil.program.signals import AssumedSignals
from hil.program.structure import parse_program
from hil.units import DEG

POINTS = "\nP1=(260,-60,440,0,150)(6,0)\nP2=(260,60,440,0,150)(6,0)\nP3=(240,0,470,0,140)(6,0)\nJ1=(30,10,80,0,60,20)\n"
PROGRAMS = {
    "joints": "10 MOV J1\n20 OVRD 40\n30 MOV P1\n40 END",
    "lines": "10 MOV P1\n20 SPD 80\n30 MVS P2\n40 DLY 0.25\n50 MVS P2,-30\n60 END",
    "arcs": "10 MOV P1\n20 MVR P1,P3,P2\n30 MVC P2,P3,P1\n40 END",
    "blended": "10 CNT 1\n20 MOV P1\n30 MVS P2\n40 MVS P3\n50 CNT 0\n60 MOV J1\n70 END",
    "counted": "10 FOR M1=1 TO 3\n20 MOV P1\n30 MVS P2\n40 HCLOSE 1\n50 DLY 0.1\n60 NEXT M1\n70 END",
}


def alone(text: str, cr1) -> np.ndarray:
    """Joints after every tick in which they changed, degrees, shape (N, 5)."""
    program = parse_program(text, dialect=cr1.machine.language.dialect)
    machine = Interpreter(program, Rv2aj(), AssumedSignals(), cr1.machine.arm.limits, cr1.machine.arm.row.tolist())
    machine.run()
    rows = []
    while machine.state is SlotState.RUNNING:
        before = machine.row
        machine.tick()
        if not np.array_equal(before, machine.row):
            rows.append(machine.row)
    assert machine.error is None
    return np.array(rows) / DEG


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fake_moves_as_the_interpreter_does_sample_by_sample(name):
    text = PROGRAMS[name] + POINTS
    terminal = Cr1Terminal({"A": text}).ready()
    expected = alone(text, terminal.cr1)
    terminal.do("RUNA;1")
    terminal.settle()
    found = np.array([joints for _, joints in terminal.trace])
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_what_joint_replies_show_is_that_trace_within_the_wires_rounding():
    text = PROGRAMS["lines"] + POINTS
    terminal = Cr1Terminal({"A": text}, baud=38400).ready()
    terminal.ask("RUNA;1", wait_s=0.05)
    while terminal.cr1.in_motion:
        terminal.type("1;1;JPOSF\r")
        sent = terminal.cr1.transmit(terminal.now_s + 0.1)
        terminal.now_s += 0.1
        fields = b"".join(data for _, data in sent).decode().removeprefix("QoK").split(";")
        shown = [float(fields[place]) for place in (1, 3, 5, 9, 11)]
        asked_s = sent[0][0] - terminal.cr1.byte_s
        before = [joints for time_s, joints in terminal.trace if time_s <= asked_s + 1e-9]
        assert shown == pytest.approx(before[-1] if before else shown, abs=0.00501)

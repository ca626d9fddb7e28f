"""A planned program in parts: each from rest to rest, together the whole."""

from __future__ import annotations

import numpy as np
import pytest
from program_rigs import HOME, rig

from hil.program.parts import parts_of
from hil.program.program_plan import ProgramPlan, plan_program
from hil.program.signals import InputChange, Inputs
from hil.program.structure import parse_program
from hil.units import DEG

POINTS = "\nJ1=(10,5,85,0,80,0)\nJ2=(-10,5,85,0,80,0)\nJ3=(0,0,90,0,90,0)"
PLAIN = "10 MOV J1\n20 OVRD 50\n30 MOV J2\n40 DLY 0.5\n50 WAIT M_IN(8)=1\n60 MOV J3\n70 END" + POINTS
BLENDED = "10 CNT 1\n20 MOV J1\n30 MOV J2\n40 CNT 0\n50 MOV J3\n60 END" + POINTS
PRESSED = Inputs(changes=(InputChange(time_s=0.0, signal=8, value=1),))


def planned(text: str) -> ProgramPlan:
    return plan_program(rig(), parse_program(text, name="P"), PRESSED, start=np.array(HOME) * DEG)


@pytest.mark.parametrize("text", [PLAIN, BLENDED])
@pytest.mark.parametrize("breaks", [None, (30,), (30, 50), ()])
def test_parts_are_the_whole_and_each_begins_and_ends_at_rest(text: str, breaks: tuple[int, ...] | None) -> None:
    plan = planned(text)
    parts = parts_of(plan, breaks)
    whole = np.concatenate([parts[0].motion.samples, *(part.motion.samples[1:] for part in parts[1:])])
    np.testing.assert_array_equal(whole, plan.motion.samples)
    slowest_deg_s = 8.0  # the first step of a run from rest
    for part in parts:
        ends = np.diff(np.concatenate([part.motion.samples[:2], part.motion.samples[-2:]]), axis=0)[[0, 2]]
        assert np.abs(ends).max() <= slowest_deg_s * DEG * plan.motion.period_s


def test_every_line_that_takes_time_begins_a_part() -> None:
    assert [part.line for part in parts_of(planned(PLAIN), None)][:3] == [10, 30, 40]


def test_a_break_comes_before_its_line_or_at_the_next_rest() -> None:
    first, second = parts_of(planned(PLAIN), (30,))
    assert (first.line, second.line, second.statement) == (10, 30, "MOV J2")
    blended = parts_of(planned(BLENDED), (30,))
    assert [part.motion.start for part in blended[1:]] == [pytest.approx(np.array((-10, 5, 85, 80, 0)) * DEG)]


def test_no_breaks_leave_it_whole_and_marks_and_inputs_go_with_their_samples() -> None:
    plan = planned(PLAIN)
    (whole,) = parts_of(plan, ())
    assert whole.motion.digest == plan.motion.digest
    parts = parts_of(plan, (60,))
    assert all(part.motion.marks[0].label == plan.motion.marks[0].label for part in parts)
    assert sum(len(part.motion.expected) for part in parts) >= len(plan.expected) > 0
    shifted = [(part.first + each.first, each.signal) for part in parts for each in part.motion.expected]
    assert {(each.first, each.signal) for each in plan.expected} <= set(shifted)

"""Small numbers of the interpreter that only one program can tell from their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from test_interpreter import PERIOD_S, machine_of, run

from hil.program.frames import SlotState
from hil.program.signals import InputChange, Inputs


def test_an_interrupts_own_condition_does_not_interrupt_its_routine_again() -> None:
    """While a routine runs, only interrupts of a lower number may come: its own number is none."""
    text = (
        "5 M1=0\n10 DEF ACT 3,M_IN(9)=1 GOSUB *I\n20 ACT 3=1\n30 DLY 1\n40 END\n"
        "100 *I\n110 M1=M1+1\n120 DLY 0.3\n130 RETURN 0\n"
    )
    twice = Inputs(
        changes=(
            InputChange(time_s=0.1, signal=9, value=1),
            InputChange(time_s=0.2, signal=9, value=0),
            InputChange(time_s=0.25, signal=9, value=1),
        )
    )
    machine = machine_of(text, twice)
    machine.run()
    while machine.frame.returns == []:
        machine.tick()
    depths = []
    while machine.frame.returns:
        depths.append(len(machine.frame.returns))
        machine.tick()
    assert set(depths) == {1}


@pytest.mark.parametrize(("back", "waited"), [("RETURN 0", True), ("RETURN 1", False)])
def test_return_1_leaves_the_wait_that_was_interrupted_and_return_0_does_not(back: str, waited: bool) -> None:
    text = (
        f"5 M1=0\n10 DEF ACT 1,M_IN(9)=1 GOSUB *I\n20 ACT 1=1\n30 WAIT M_IN(8)=1\n40 M1=1\n50 END\n100 *I\n110 {back}\n"
    )
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=0.2, signal=9, value=1),)))
    machine.run()
    for _ in range(round(0.5 / PERIOD_S)):
        machine.tick()
    assert (machine.state is SlotState.RUNNING) is waited
    assert machine.read("M1") == (0 if waited else 1)


def test_goto_of_an_interrupt_leaves_the_rest_of_a_delay_behind() -> None:
    text = "10 DEF ACT 1,M_IN(9)=1 GOTO *I\n20 ACT 1=1\n30 DLY 5\n40 END\n100 *I\n110 M_OUT(1)=1\n120 END\n"
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=0.2, signal=9, value=1),)))
    assert len(run(machine)) * PERIOD_S < 0.3
    assert machine.signals.output_bit(1) == 1


def test_a_move_that_was_paused_ends_alone_before_the_next_one_sets_in() -> None:
    """After a pause nothing is laid over the end of the move: the corner is not cut from an old place in it."""
    machine = machine_of("10 MOV P1\n20 CNT 1,10\n30 SPD 60\n40 MVS P2\n50 MVS P3\n60 END")
    machine.run()
    while machine.line is None or machine.line.number != 40:
        machine.tick()
    for _ in range(5):
        machine.tick()
    machine.stop()
    while machine.stopping:
        machine.tick()
    points = machine.arm.members(np.array([joints for _, joints in run(machine)]))[:, :3]
    assert np.linalg.norm(points - np.array([250, 120, 300]), axis=1).min() < 1e-6


@pytest.mark.parametrize(("word", "wanted"), [("HOPEN 1", (1, 0)), ("HCLOSE 1", (0, 1)), ("HOPEN 2", (1, 0))])
def test_a_hand_has_two_outputs_and_one_of_them_is_on(word: str, wanted: tuple[int, int]) -> None:
    machine = machine_of(f"10 {word}\n20 END")
    run(machine)
    first = 900 + 2 * (int(word[-1]) - 1)
    assert (machine.signals.output_bit(first), machine.signals.output_bit(first + 1)) == wanted


def test_one_distance_of_cnt_counts_for_both_sides_of_the_corner() -> None:
    def corner(word: str) -> np.ndarray:
        steps = run(machine_of(f"10 MOV P1\n20 {word}\n30 SPD 30\n40 MVS P2\n50 SPD 300\n60 MVS P3\n70 END"))
        return np.array([joints for _, joints in steps])

    both, same, other = corner("CNT 1,20"), corner("CNT 1,20,20"), corner("CNT 1,20,2")
    assert both.shape == same.shape and (both == same).all()
    assert other.shape != both.shape or (other != both).any()

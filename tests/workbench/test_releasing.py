"""An arm is let go of axis by axis, each at a person's word, what carries most last."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calibration_bench import Table, true_arm

from hil.errors import InterlockError
from hil.model.rig import Rig
from hil.runtime.channel_wiring import channels_of
from hil.runtime.wiring import load_rig
from hil.workbench.calibration import CalibrationStoppedError, Question, carry_out
from hil.workbench.channel_line import ChannelLine
from hil.workbench.release_steps import release
from sim.ssc32 import Untouched

RIG = load_rig("lynx6")
ORDER = ["gripper", "wrist_rotate", "base", "wrist", "elbow", "shoulder"]
"""In the park pose; of the two that carry nothing the outer one first."""


class Person:
    """Says go to everything, unless told otherwise."""

    def __init__(self, answers: Callable[[Question, int], str] = lambda question, number: "go") -> None:
        self._answers = answers
        self.asked: list[Question] = []
        self.told: list[str] = []

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        return self._answers(question, len(self.asked))


def held(rig: Rig = RIG, **board: object) -> Table:
    """The arm in its park pose, as a session has left it."""
    table = Table(rig, true_arm(rig), **board)
    targets = zip(channels_of(rig), rig.park, strict=True)
    line = "".join(f"#{each.channel}P{round(rig.controller.pulse_us(i, at))}" for i, (each, at) in enumerate(targets))  # type: ignore[attr-defined]
    table.board.receive(f"{line}\r".encode("ascii"), table.clock.now_s(), table.board.byte_s)
    table.clock.sleep_until(table.clock.now_s() + 1.0)
    table.line = table.connect()
    return table


def let_go(table: Table, person: Person, line: ChannelLine | None = None) -> tuple[str, ...]:
    line = line or table.line
    return carry_out(release(RIG, channels_of(RIG), tells=line.tells), person, line, person.told.append)


def driven(table: Table) -> list[str]:
    table.board.advance(table.clock.now_s())
    return [each.axis for each in channels_of(RIG) if table.board.pulse_us(each.channel)]


def test_every_axis_goes_limp_in_the_order_of_what_it_carries() -> None:
    table, person = held(), Person()
    assert sorted(driven(table)) == sorted(ORDER)
    assert list(let_go(table, person)) == ORDER
    assert driven(table) == []
    assert [question.axis for question in person.asked] == ORDER
    assert "let go of in this order, what carries most last" in person.told[0]


def test_before_each_it_is_said_what_sinks() -> None:
    person = Person()
    let_go(held(), person)
    texts = {question.axis: question.text for question in person.asked}
    assert "what it holds falls" in texts["gripper"]
    assert "it sinks, and with it elbow, wrist, wrist_rotate, gripper" in texts["shoulder"]
    assert "shoulder 0.3" in texts["shoulder"] and "Hold the arm now" in texts["shoulder"]
    assert "hardly sinks" in texts["base"]


@pytest.mark.parametrize("number", range(1, 7))
def test_at_stop_all_that_was_not_let_go_of_is_held(number: int) -> None:
    table = held()
    with pytest.raises(CalibrationStoppedError):
        let_go(table, Person(lambda question, asked: "stop" if asked == number else "go"))
    assert sorted(driven(table)) == sorted(ORDER[number - 1 :])


def test_a_bare_enter_lets_go_of_nothing() -> None:
    table = held()
    seen: list[int] = []

    def answer(question: Question, asked: int) -> str:
        seen.append(len(driven(table)))
        return "" if asked % 2 else "go"

    let_go(table, Person(answer))
    assert seen == [6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]


def test_a_limp_arm_has_nothing_to_let_go_of() -> None:
    table, person = Table(RIG, true_arm(RIG)), Person()
    assert let_go(table, person) == () and person.asked == []
    assert "limp already" in person.told[0]


def test_a_board_that_goes_on_is_found_out() -> None:
    """One report says that pulse 0 did not let a servo go on some firmware."""
    table = held()

    class Deaf(ChannelLine):
        def report(self) -> dict[int, int | None]:
            return dict.fromkeys(super().report(), 1500)

    link = table.line._link
    line = Deaf(link, table.channels, table.clock)
    with pytest.raises(InterlockError, match="its firmware does not know that"):
        let_go(table, Person(), line)


def test_after_it_the_arm_is_to_be_confirmed_anew() -> None:
    table = held()
    let_go(table, Person())
    assert set(table.connect().report().values()) == {None}


@pytest.mark.parametrize("answer", [Untouched.MIDDLE, Untouched.GARBAGE])
def test_a_board_whose_answers_show_nothing_is_not_called_limp_but_let_go_of(answer: Untouched) -> None:
    table, person = held(untouched=answer), Person()
    assert list(let_go(table, person)) == ORDER
    assert driven(table) == []
    assert "does not show whether it drives" in person.told[0]
    assert person.told[-1] == "the shoulder was switched off; the board does not show it: feel whether it is limp"

"""The time by which tokens are judged goes on, whatever this computer's clock is set to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hil.service.token_clock import TOLD_S, TokenClock

STEPS = st.lists(st.tuples(st.floats(0.0, 1e5), st.floats(-1e6, 1e6)), max_size=30)


class Computer:
    """A clock that may be set, and one that only passes."""

    def __init__(self) -> None:
        self.passed_s, self.set_by_s = 0.0, 1.7e9
        self.said: list[str] = []
        self.tokens = TokenClock(lambda: self.passed_s + self.set_by_s, lambda: self.passed_s, self.said.append)


@given(STEPS)
def test_it_is_never_behind_the_computer_nor_behind_the_time_that_has_passed(steps: list[tuple[float, float]]) -> None:
    computer = Computer()
    before_s = computer.tokens.now_s()
    for passes_s, set_by_s in steps:
        computer.passed_s += passes_s
        computer.set_by_s += set_by_s
        now_s = computer.tokens.now_s()
        assert now_s >= before_s + passes_s - 1e-3
        assert now_s >= computer.passed_s + computer.set_by_s
        assert now_s <= max(before_s + passes_s, computer.passed_s + computer.set_by_s) + 1e-3
        before_s = now_s


def test_set_back_by_an_hour_it_goes_on_and_says_so_once() -> None:
    computer = Computer()
    computer.passed_s, computer.set_by_s = 10.0, 1.7e9 - 3600.0
    assert computer.tokens.now_s() == 1.7e9 + 10.0
    computer.passed_s = 20.0
    assert computer.tokens.now_s() == 1.7e9 + 20.0
    assert len(computer.said) == 1
    assert "set back by 3600 s" in computer.said[0] and "start the server anew" in computer.said[0]


def test_what_a_time_server_corrects_is_not_worth_a_word() -> None:
    computer = Computer()
    computer.set_by_s -= TOLD_S
    computer.tokens.now_s()
    assert (TOLD_S, computer.said) == (60.0, [])


def test_set_forward_it_follows() -> None:
    computer = Computer()
    computer.set_by_s += 5e8
    assert computer.tokens.now_s() == 2.2e9
    assert computer.said == []

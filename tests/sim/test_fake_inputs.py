"""Inputs and reserved registers of the fake board, as a profile or a command line sets them."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, stdev
from typing import Any

import pytest

from hil.errors import ConfigError
from sim.profiles import choices_of
from sim.ssc32 import BoardSettings, Firmware, Reserved

Make = Callable[..., Any]


def board_settings(*changes: str, profile: str | None = None) -> BoardSettings:
    return choices_of("ssc32", profile, changes).over(BoardSettings())


def readings(t: Any, name: str, count: int) -> list[int]:
    """Voltages as bytes; the first one after something else is not valid."""
    t.ask(f"V{name}\r")
    return [t.ask(f"V{name}\r", 0.01)[0] for _ in range(count)]


def test_a_client_that_wants_that_build_is_told_its_name(terminal: Make) -> None:
    board = board_settings(profile="ssc32-gp")
    t = terminal(board.firmware, version=board.version)
    assert t.ask("VER\r") == b"SSC32-V2.04GP\r"
    assert t.ask("QPL0\r") == b"\xff\x00\x00\x00"


def test_voltages_are_those_of_the_command_line(terminal: Make) -> None:
    board = board_settings("inputs_v.A=2.0", "inputs_v.B=3.5")
    t = terminal(inputs_v=board.inputs_v)
    assert [readings(t, name, 1)[0] for name in "ABC"] == [102, 179, 255]


def test_an_input_that_no_board_has_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="inputs_v: 'K' given; allowed: names of inputs, A to H"):
        board_settings("inputs_v.K=1")
    with pytest.raises(ConfigError, match="inputs_v"):
        board_settings("inputs_v.A=5.5")


def test_noise_is_as_wide_as_it_is_set_and_the_same_for_the_same_seed(terminal: Make) -> None:
    found = [readings(terminal(inputs_v={"A": 2.5}, noise_v=0.1, input_seed=seed), "A", 200) for seed in (3, 3, 4)]
    assert found[0] == found[1] != found[2]
    assert mean(found[0]) == pytest.approx(2.5 * 256 / 5, abs=2)
    assert stdev(found[0]) == pytest.approx(0.1 * 256 / 5, rel=0.2)


def test_levels_are_low_where_it_is_said(terminal: Make) -> None:
    t = terminal(Firmware.U, inputs_low=("A", "F"))
    assert t.ask("A B C D E F\r") == b"011110"


def test_flips_count_when_they_last_and_are_latched_by_seed(terminal: Make) -> None:
    def levels(flips_hz: float, seed: int, name: str = "A") -> bytes:
        t = terminal(flips_hz=flips_hz, input_seed=seed)
        return b"".join(t.ask(f"{name}\r", 0.02) for _ in range(100))

    assert levels(0.0, 1) == b"1" * 100
    assert levels(10.0, 1) == levels(10.0, 1) != levels(10.0, 2)
    assert {*levels(10.0, 1)} == {*b"01"}
    # Of changes every half a millisecond next to none lasts the 15 ms that it takes.
    assert levels(1000.0, 1) == b"1" * 100
    assert levels(10.0, 1, "A") != levels(10.0, 1, "B")
    t = terminal(flips_hz=10.0)
    t.wait(3.0)
    assert t.ask("AL\r") == b"0"


@pytest.mark.parametrize(
    ("reserved", "answer"), [(Reserved.ZERO, b"0\r"), (Reserved.ERASED, b"65535\r"), (Reserved.SILENT, b"")]
)
def test_a_register_that_the_firmware_does_not_name(terminal: Make, reserved: Reserved, answer: bytes) -> None:
    old, new = terminal(reserved=reserved), terminal(Firmware.U, reserved=reserved)
    assert old.ask("R4\r") == old.ask("R17\r") == new.ask("R17\r") == answer
    assert new.ask("R4\r") == b"11520\r"
    assert old.ask("R1\r") == b"600\r"
    assert old.ask("R33\r") == b"0\r"

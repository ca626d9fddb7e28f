"""hil fake: what is typed is what kind of controller is made."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import Terminal

from sim.cr1 import Cr1Settings, Face, Key
from sim.ssc32 import BoardSettings, Firmware, FirstMove, Untouched
from sim.uart import FRAMINGS


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


@pytest.fixture
def made(monkeypatch) -> list[Any]:
    """Options of every fake that would have been run."""
    options: list[Any] = []
    for name, file in (("ssc32", "ssc32_fake"), ("cr1", "rv2aj_fake")):
        monkeypatch.setattr(f"hil.runtime.kinds.{file}.run_fake_{name}", lambda given, ready: options.append(given))
    return options


def test_without_options_it_is_what_it_always_was(terminal: Terminal, made: list[Any]) -> None:
    terminal.run("fake", "ssc32", "--link", "arm")
    terminal.run("fake", "cr1", "--link", "arm")
    assert (made[0].board, made[1].settings) == (BoardSettings(), Cr1Settings())


def test_a_profile_then_short_options_then_further_choices(terminal: Terminal, made: list[Any]) -> None:
    more = ("--set", "untouched=middle", "--set", "registers.0=8", "--set", "baud=38400")
    terminal.run("fake", "ssc32", "--link", "arm", "--profile", "ssc32u", "--baud", "115200", *more)
    board = made[0].board
    assert (board.firmware, board.first_move, board.untouched) == (Firmware.U, FirstMove.ONCE, Untouched.MIDDLE)
    assert (board.baud, board.registers) == (38400, ((0, 8),))
    terminal.run("fake", "ssc32", "--link", "arm", "--profile", "ssc32u", "--firmware", "1.x")
    assert made[1].board.firmware is Firmware.V1


def test_the_same_for_a_cr1(terminal: Terminal, made: list[Any]) -> None:
    short = ("--framing", "8N1", "--six-axes", "--error-digits", "4", "--procedure", "2")
    terminal.run("fake", "cr1", "--link", "arm", "--profile", "cr1-picky", *short, "--set", "key=auto_op")
    settings = made[0].settings
    assert (settings.clients, settings.must_open, settings.axes) == (("NARCUSR",), True, "3F;3F")
    assert (settings.framing, settings.face, settings.error_digits) == (FRAMINGS["8N1"], Face.SIX, 4)
    assert (settings.procedure.value, settings.key) == (2, Key.AUTO_OP)
    assert not settings.any_end
    terminal.run("fake", "cr1", "--tcp", "0", "--set", "end_code=none")
    assert made[1].settings.any_end


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("ssc32", "--profile", "cr1"), "Try `hil fake cr1 --profile cr1`"),
        (("ssc32", "--profile", "ssc32uu"), "Did you mean 'ssc32u'?"),
        (("cr1", "--set", "keys=teach"), "Did you mean key?"),
        (("cr1", "--link", "arm", "--set", "end_code=none"), "Only --tcp goes without"),
    ],
)
def test_what_cannot_be_had_is_said(terminal: Terminal, made: list[Any], given: tuple[str, ...], words: str) -> None:
    outcome = terminal.run("fake", *given)
    assert outcome.code == 1 and words in outcome.err
    assert not made


def test_the_list_shows_profiles_and_choices(terminal: Terminal) -> None:
    outcome = terminal.run("fake", "--list")
    assert outcome.code == 0
    assert "  ssc32u       ssc32  SSC-32U from the factory, 9600 baud" in outcome.out
    assert "  untouched = zero | middle | garbage\n" in outcome.out

"""Whatever comes over the line, the emulated SSC-32 lives on; `scripts/fuzz-ssc32` does the same for long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ssc32_fuzz import Fuzzer

from sim.ssc32 import Beyond, BoardSettings, Mixed, Ssc32Board
from sim.ssc32.settings import LARGEST_US


def answers(board: Ssc32Board, *lines: bytes) -> list[bytes]:
    """What a board answers to each line within a second."""
    found = []
    for second, line in enumerate(lines):
        board.receive(line, float(second), board.byte_s)
        found.append(b"".join(data for _, data in board.transmit(second + 1.0)))
    return found


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_no_order_of_lines_bytes_and_hands_breaks_it(seed: int) -> None:
    Fuzzer(seed).run(100)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_bytes_at_the_same_times_give_the_same_bytes(seed: int) -> None:
    lives = [Fuzzer(seed), Fuzzer(seed)]
    for life in lives:
        life.run(100)
    assert lives[0].heard == lives[1].heard
    assert lives[0].board.pulses_us() == lives[1].board.pulses_us()


@pytest.mark.parametrize("line", [b"#0 SSCAT\r", b"VER SSCAT\r", b"#0P1500 SSCAT\r", b"T100SSCAT\r"])
def test_a_startup_word_in_the_middle_of_a_line_is_no_line(line: bytes) -> None:
    board = Ssc32Board(BoardSettings(mixed=Mixed.ALL))
    assert answers(board, line, b"SS\r")[1] == b'""\r'
    assert board.counts.parse_errors == 1


@pytest.mark.parametrize(("width", "shown"), [(b"65535", 65535), (b"65536", LARGEST_US), (b"9" * 20, LARGEST_US)])
def test_a_width_that_goes_through_fits_into_sixteen_bits(width: bytes, shown: int) -> None:
    board = Ssc32Board(BoardSettings(beyond=Beyond.THROUGH))
    answers(board, b"#3P" + width + b"\r")
    assert board.pulse_us(3) == shown
    assert LARGEST_US == 65535

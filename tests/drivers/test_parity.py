"""Broken bytes as a terminal marks them: each becomes one that is no answer, and every good byte passes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers._parity import BROKEN, ParityMarks
from drivers._rv2aj_codec import decode, decode_joints, decode_status
from hil.errors import ControllerError

LINE = st.lists(st.tuples(st.integers(0, 255), st.booleans()), max_size=40)


def marked(line: list[tuple[int, bool]]) -> bytes:
    """What a terminal hands over for bytes of which some are broken."""
    return b"".join(
        b"\xff\x00" + bytes([value]) if broken else b"\xff\xff" if value == 0xFF else bytes([value])
        for value, broken in line
    )


@given(line=LINE, cuts=st.lists(st.integers(0, 120), max_size=8))
def test_good_bytes_pass_and_broken_ones_are_told_however_the_reads_are_cut(
    line: list[tuple[int, bool]], cuts: list[int]
) -> None:
    data, marks = marked(line), ParityMarks()
    ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    read = b"".join(marks.take(data[a:b]) for a, b in pairwise(ends))
    assert read == b"".join(BROKEN if broken else bytes([value]) for value, broken in line)


def test_a_broken_byte_is_never_an_off_channel() -> None:
    assert BROKEN == b"\x01"
    assert ParityMarks().take(b"\xff\x00\x00") == b"\x01"


@pytest.mark.parametrize("at", range(len("QoKA0100;1;0")))
def test_no_answer_of_a_cr1_survives_a_broken_byte(at: int) -> None:
    text = "QoKA0100;1;0"
    with pytest.raises(ControllerError):
        decode_status(decode(text[:at] + BROKEN.decode() + text[at + 1 :]).data)


@pytest.mark.parametrize("text", ["QoK\x01", "QoKRV-2AJ\x01", "QeR6020\x010000", "Q\x01K"])
def test_a_reply_with_a_broken_byte_is_none_whatever_it_answers(text: str) -> None:
    with pytest.raises(ControllerError, match="is no reply"):
        decode(text)
    with pytest.raises(ControllerError):
        decode_joints(text)

"""Our own program, against a fake board on TCP: the same bytes as on the desk, in real time."""

from __future__ import annotations

import pytest
from grip import close_gripper

from hil.model.rig import Rig
from hil.testing import FakeSsc32, UnsafeBytes, WatchedBytes


def test_the_gripper_closes(fake_ssc32: FakeSsc32, unsafe_bytes: WatchedBytes) -> None:
    board = fake_ssc32.on_tcp()
    close_gripper(board.url)
    assert board.setpoints[-1] == pytest.approx(0.004, abs=0.0001)
    assert board.setpoints[:-1] == (None,) * 5, "the joints were left alone"
    assert not unsafe_bytes


def test_closed_in_50_ms_it_would_be_called_unsafe(lab_rig: Rig) -> None:
    judge = UnsafeBytes(lab_rig)
    judge.feed(b"#4P2112\r", now_s=0.0).feed(b"#4P2345T50\r", now_s=0.1)
    assert judge.first is not None
    assert "gripper moves by 6.00 mm in 50 ms" in judge.first.text

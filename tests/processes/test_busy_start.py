"""Commands that move an arm come up beside programs that never rest; `scripts/busy-start` does it with more of them."""

from __future__ import annotations

import sys

import pytest
from busy_start import busy, play

pytestmark = [
    pytest.mark.processes,
    pytest.mark.alone,
    pytest.mark.pty,
    pytest.mark.skipif(sys.platform == "win32", reason="its signals are POSIX"),
]


@pytest.mark.parametrize("command", ["run", "serve"])
def test_a_command_comes_up_beside_busy_programs(command: str) -> None:
    with busy(4):
        assert play(command).wrong == ""

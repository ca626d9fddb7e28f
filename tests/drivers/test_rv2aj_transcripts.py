"""Golden exchanges with a CR1: the driver's bytes, pinned one by one, and the published pose of a real arm."""

from __future__ import annotations

from pathlib import Path

import pytest
from rv2aj_script import TICK_S, settings
from test_ssc32_transcripts import TranscriptPort, steps

from drivers.rv2aj import Rv2ajDriver
from hil.errors import HilError
from hil.types import EnergiseCommand, LinkPhase
from hil.units import DEG

FILES = sorted((Path(__file__).parents[1] / "transcripts").glob("rv2aj-*.txt"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_driver_sends_what_the_transcript_says_byte_for_byte(file: Path) -> None:
    port = TranscriptPort()
    driver = Rv2ajDriver(settings(), lambda: port)
    now_s, phase = 100.0, LinkPhase.CLOSED
    for action, exchanges, words in steps(file.read_text()):
        port.script += exchanges
        told = ""
        if action[0] == "connect":
            driver.open(now_s)
        elif action[0] == "energise":
            position = float(action[2]) * DEG
            driver.write(EnergiseCommand(seq=1, axis=int(action[1]), position=position), now_s)
        else:
            driver.close()
        for _ in range(300):
            if not port.script and not words and (action[0] != "connect" or phase is LinkPhase.READY):
                break
            try:
                state = driver.read(now_s := now_s + TICK_S)
            except HilError as error:
                told = str(error)
                break
            phase = state.phase
            if phase is LinkPhase.READY and state.joints is not None:
                golden = [0.0, 21.19 * DEG, 72.78 * DEG, 86.03 * DEG, 0.0]
                assert state.joints.positions == pytest.approx(golden, abs=1e-12)
        assert port.script == []
        assert [word for word in words if word not in told] == []


def test_there_are_transcripts() -> None:
    assert len(FILES) >= 2

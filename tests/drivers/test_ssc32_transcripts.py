"""Golden exchanges: the driver's bytes, pinned one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from ssc32_script import TICK_S, settings

from drivers.ssc32 import Ssc32Driver
from hil.errors import HilError
from hil.types import EnergiseCommand, JointCommand, LinkPhase
from hil.units import DEG, MM

FOLDER = Path(__file__).parents[1] / "transcripts"
FILES = sorted(FOLDER.glob("ssc32-*.txt"))
UNITS = (DEG, DEG, MM)


class TranscriptPort:
    """Takes exactly the bytes that stand next in the transcript, and answers what follows them."""

    def __init__(self) -> None:
        self.script: list[tuple[str, bytes]] = []
        self._coming: list[tuple[float, bytes]] = []

    def read(self, now_s: float) -> bytes:
        data = b"".join(piece for at_s, piece in self._coming if at_s <= now_s)
        self._coming = [(at_s, piece) for at_s, piece in self._coming if at_s > now_s]
        return data

    def write(self, data: bytes, now_s: float) -> None:
        assert self.script, f"unexpected {data!r}"
        assert ("> ", data) == self.script.pop(0)
        while self.script and self.script[0][0] == "< ":
            self._coming.append((now_s + 0.002, self.script.pop(0)[1]))

    def set_baud(self, baud: int) -> None: ...

    def close(self) -> None: ...


def unescape(text: str) -> bytes:
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def steps(text):
    """The file as (action, exchanges, error word) per ``@`` line."""
    found = []
    for line in text.splitlines():
        if line.startswith("@ "):
            found.append((line[2:].split(), [], []))
        elif line[:2] in ("> ", "< "):
            found[-1][1].append((line[:2], unescape(line[2:])))
        elif line.startswith("! "):
            found[-1][2].append(line[2:])
    return found


def act(driver, action, seq, now_s):
    match action:
        case ["connect"]:
            driver.open(now_s)
        case ["energise", axis, value]:
            index = int(axis)
            driver.write(EnergiseCommand(seq=seq, axis=index, position=float(value) * UNITS[index]), now_s)
        case ["move", due_ms, *values]:
            positions = tuple(float(value) * unit for value, unit in zip(values, UNITS, strict=True))
            driver.write(JointCommand(seq=seq, due_s=now_s + float(due_ms) / 1000, positions=positions), now_s)
        case ["stop"]:
            driver.stop(now_s)
        case ["close"]:
            driver.close()
        case _:
            raise AssertionError(f"no such action: {action}")


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_driver_sends_what_the_transcript_says_byte_for_byte(file):
    port = TranscriptPort()
    changes = {"canary_channel": None} if file.stem.endswith("-no-canary") else {}
    driver = Ssc32Driver(settings(**changes), lambda: port)
    now_s = 100.0
    for seq, (action, exchanges, words) in enumerate(steps(file.read_text())):
        port.script += exchanges
        error, phase = None, None
        if action[0] == "move":
            # A query that falls due stands before the move, as in a tick: read, then write.
            driver.read(now_s := now_s + TICK_S)
        act(driver, action, seq, now_s)
        for _ in range(150):
            if not port.script and not words and (action[0] != "connect" or phase is LinkPhase.READY):
                break
            try:
                phase = driver.read(now_s := now_s + TICK_S).phase
            except HilError as caught:
                error = caught
                break
        assert port.script == []
        assert [word for word in words if word not in str(error)] == []


def test_there_are_transcripts():
    assert len(FILES) >= 4

"""A terminal to an emulated board on virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sim.ssc32 import BoardSettings, Firmware, Ssc32Board

BYTE_S = 10 / 115200


class Terminal:
    """Types lines, waits, looks at the pins; its clock only moves when it waits."""

    def __init__(self, board: Ssc32Board) -> None:
        self.board = board
        self.now_s = 0.0
        self.frames: list[tuple[float, tuple[tuple[int, float], ...]]] = []
        board.watch(lambda time_s, changes: self.frames.append((time_s, tuple(changes))))

    def type(self, text: str | bytes) -> None:
        data = text.encode("latin-1") if isinstance(text, str) else text
        self.board.receive(data, self.now_s, self.board.byte_s)
        self.now_s += len(data) * self.board.byte_s

    def wait(self, duration_s: float) -> bytes:
        self.now_s += duration_s
        return b"".join(data for _, data in self.board.transmit(self.now_s))

    def ask(self, text: str | bytes, wait_s: float = 0.1) -> bytes:
        self.type(text)
        return self.wait(wait_s)

    def pulse(self, channel: int) -> float:
        self.board.advance(self.now_s)
        return self.board.pulse_us(channel)

    def widths(self, channel: int) -> list[float]:
        """Every width that the pin has shown so far, one per frame in which it changed."""
        return [pulse for _, changes in self.frames for number, pulse in changes if number == channel]


@pytest.fixture
def terminal() -> Callable[..., Terminal]:
    def make(
        firmware: Firmware = Firmware.V2,
        *,
        registers: dict[int, int] | None = None,
        startup: str = "",
        **choices: object,
    ) -> Terminal:
        choices.setdefault("baud", 115200)
        stored = tuple((registers or {}).items())
        settings = BoardSettings(firmware=firmware, registers=stored, startup=startup, **choices)  # type: ignore[arg-type]
        return Terminal(Ssc32Board(settings))

    return make

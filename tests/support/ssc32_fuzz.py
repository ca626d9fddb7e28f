"""Random bytes and requests against the emulated SSC-32, and what has to hold whatever they are."""

from __future__ import annotations

import random
from collections.abc import Callable

from sim.ssc32 import (
    CHANNELS,
    FRAME_S,
    Beyond,
    BoardSettings,
    BoardState,
    EarlyMove,
    Firmware,
    FirstMove,
    Fractions,
    Mixed,
    Rounding,
    Ssc32Board,
    Untouched,
)
from sim.ssc32.settings import HIGHEST_US, LARGEST_US, LOWEST_US
from sim.uart import FRAMINGS

LINES = (
    "#0P1500", "#1P500S800", "#2 P2500 T1000", "#0P900#1P2100T400", "#31P1500", "#32P1500", "#3P499", "#3P2501", "#3P0",
    "#4P65535", "#4P-20", "#4P1500.5", "#0P1500,5T100", "#5S100", "#6P1600S65535T65535", "#7PO100", "#7PO-100",
    "#7PO101", "#8L", "#8H", "#1:255", "#0:300", "STOP 0", "STOP", "STOP31", "Q", "QP0", "QP31", "QP32", "QP0QP1QP2",
    "VER", "VA",
    "VH", "VA VB", "A", "AL", "D", "EL", "A B C D", "R0", "R1", "R0=255", "R4=9600", "R255", "R32=100", "RDFLT", "SS",
    "SSCAT #0P1500", 'SSCAT "#1P1600 <cr> #2P1000"', "SSDEL 3", "SSDEL 9999", "SSDEL -1", "XQ", "XS 50", "XSTOP",
    "LH1000", "PL 0 SQ 1 SM 100 IX 0", "QPL 0", "EER 0", "EEW 1,2", "GOBOOT", "g0000", "T1000", "#", "P1500", "", " ",
    "#0P1500 VER", "HELLO", "#0P1500P1600", "#0 P1500 Q QP0", "#0p1500t500", "#-1P1500", "#99999999999999999999P1",
    "#0P99999999999999999999", "#0P1500T99999999999", "QP", "VER VER VER",
)  # fmt: skip
QUIET_S = 2.0
OFFSET_AND_GRID_US = 108.0
"""The largest pulse offset and the coarsest step of a pulse."""


class BrokenError(AssertionError):
    """Something that has to hold did not."""


class Fuzzer:
    """One life of a board.

    Args:
        seed: of everything random; the same seed does the same.
    """

    def __init__(self, seed: int) -> None:
        self._rng = rng = random.Random(seed)
        firmware = rng.choice(list(Firmware))
        self.board = Ssc32Board(
            BoardSettings(
                firmware=firmware,
                version=rng.choice([None, None, "SSC32-V2.04GP"]) if firmware is Firmware.V2 else None,
                baud=rng.choice([9600, 38400, 115200]),
                first_move=rng.choice(list(FirstMove)),
                fractions=rng.choice(list(Fractions)),
                mixed=rng.choice(list(Mixed)),
                resolution_us=rng.choice([0.0, 1.0, 8.0]),
                untouched=rng.choice(list(Untouched)),
                early=rng.choice(list(EarlyMove)),
                rounding=rng.choice(list(Rounding)),
                beyond=rng.choice(list(Beyond)),
                offsets_add=rng.random() < 0.3,
                zero_releases=rng.random() < 0.5,
                bare_stop=rng.random() < 0.5,
                escape_drops=rng.random() < 0.8,
                brown_out_channels=rng.choice([None, None, 6]),
                greeting=rng.choice(["", "", "SSC32\r"]),
                q_newest=rng.random() < 0.5,
            )
        )
        self.now_s = 0.0
        self.heard = bytearray()
        self._last_end_s = 0.0

    def run(self, steps: int) -> None:
        """So many random things, then the question whether it is still alive."""
        for _ in range(steps):
            self._step()
        self._end()

    def _step(self) -> None:
        rng, board = self._rng, self.board
        draw = rng.random()
        if draw < 0.80:
            self._say(self._line())
        elif draw < 0.86:
            self._say(rng.randbytes(rng.choice([1, 3, 40, 300])) + rng.choice([b"\r", b"", b"\n", b"\r\n", b"\x1b"]))
        elif draw < 0.92:
            first = rng.choice([0x80 + rng.randrange(32), 0xA0, 0xA1, 0xFF])
            self._say(bytes((first, rng.randrange(256), rng.randrange(256))))
        elif draw < 0.95:
            text = rng.choice(LINES).encode() + b"\r"
            board.receive(
                text, self.now_s, board.byte_s * rng.choice([1.0, 1.1, 12.0]), rng.choice(list(FRAMINGS.values()))
            )
            self.now_s += len(text) * board.byte_s
        else:
            self._world()
        self._wait(rng.choice([0.0, 0.0, 0.001, 0.01, 0.03, 0.5]))

    def _line(self) -> bytes:
        rng = self._rng
        text = rng.choice(LINES)
        if rng.random() < 0.3:
            text = f"#{rng.randrange(34)}P{rng.randrange(300, 2800)}" + rng.choice(["", "T300", "S900", "T0", "S0"])
        data = bytearray(text.encode("latin-1"))
        if rng.random() < 0.2:
            place = rng.randrange(len(data) + 1)
            data[place:place] = bytes((rng.randrange(256),))
            if data and rng.random() < 0.5:
                del data[rng.randrange(len(data))]
        return bytes(data) + (b"\r" if rng.random() < 0.95 else b"")

    def _world(self) -> None:
        board, rng, now_s = self.board, self._rng, self.now_s
        acts: list[Callable[[], None]] = [
            lambda: board.power_cycle(now_s),
            lambda: board.cut(now_s),
            lambda: board.hang(now_s, rng.random() < 0.3),
            lambda: board.set_input(rng.choice("ABCD"), rng.random() < 0.5, now_s),
            lambda: board.set_voltage(rng.choice("ABCD"), rng.uniform(-1.0, 7.0)),
        ]
        rng.choice(acts)()

    def _say(self, data: bytes) -> None:
        self.board.receive(data, self.now_s, self.board.byte_s, self.board.framing)
        self.now_s += len(data) * self.board.byte_s

    def _wait(self, duration_s: float) -> bytes:
        self.now_s += duration_s
        replies = self.board.transmit(self.now_s)
        for end_s, data in replies:
            if len(data) != 1 or not self._last_end_s <= end_s <= self.now_s + 1e-9:
                raise BrokenError(f"a reply byte at {end_s} s after one at {self._last_end_s} s, now {self.now_s} s")
            self._last_end_s = end_s
        # A width sent beyond 3000 us goes through on some boards, and all those on the way to it.
        through = self.board.settings.beyond is Beyond.THROUGH
        for channel, pulse_us in enumerate(self.board.pulses_us()):
            inside = pulse_us == 0.0 or LOWEST_US <= pulse_us <= (
                LARGEST_US + OFFSET_AND_GRID_US if through else HIGHEST_US
            )
            if not inside:
                raise BrokenError(f"channel {channel} at {pulse_us} us")
        heard = b"".join(data for _, data in replies)
        self.heard += heard
        return heard

    def _end(self) -> None:
        """It still answers each question with what belongs to it and nothing else, and comes to rest."""
        board = self.board
        board.hang(self.now_s, False)
        self._wait(1.0)
        if board.state is BoardState.LOADER:
            self._say(b"\rg0000\r")
            self._wait(1.0)
        self._say(b"\x00\x00\r\r")
        # A new target without a time takes the place of whatever a channel was doing.
        for channel in range(CHANNELS):
            self._say(f"#{channel}P1400\r".encode())
            self._wait(FRAME_S)
        boots = board.counts.boots
        self._wait(QUIET_S)
        if board.counts.boots > boots:
            # First widths of all channels at once sag its supply again and again.
            return
        if board.state is not BoardState.RUNNING or board.moving:
            raise BrokenError(f"it is {board.state}, moving: {board.moving}")
        self._ask(b"VER", board.machine.version.encode() + b"\r")
        if board.settings.q_newest:
            self._ask(b"Q", b".")
        self._ask(b"#5P1500", b"")
        offset = board.machine.outputs.channels[5].offset
        if not offset:
            self._ask(b"QP5", b"\x96")

    def _ask(self, question: bytes, answer: bytes) -> None:
        self._say(question + b"\r")
        # A line whose speed was set to 60 baud takes longer than a pause for the answer alone.
        heard = self._wait(2.0 + 2.0 * len(answer) * self.board.byte_s)
        if heard != answer:
            raise BrokenError(f"{question!r} was answered by {heard!r}, not by {answer!r}")

"""A stand-in for a board: answers line by line on virtual time, written from the manual and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from drivers.ssc32 import Ssc32Driver, Ssc32Settings, settings_from_table
from hil.errors import LinkClosed, LinkOverrun
from hil.types import EnergiseCommand, JointCommand, LinkPhase, LinkState

TICK_S = 0.02
AXES = (("base", "revolute"), ("elbow", "revolute"), ("gripper", "gripper"))

Mangler = Callable[[bytes, bytes], list[tuple[float, bytes]]]


def table(**changes: Any) -> dict[str, Any]:
    """A controller table as TOML gives it; keyword arguments replace top-level keys, None drops one."""
    whole: dict[str, Any] = {
        "kind": "ssc32",
        "port": "/dev/ttyTEST",
        "baud": 115200,
        "canary_channel": 31,
        "axis": {
            "base": axis([[-90, 525], [0, 1460], [90, 2320]], 0, 525, 2320),
            "elbow": axis([[-90, 2340], [0, 1455], [90, 580]], 2, 580, 2340),
            "gripper": axis([[0, 1475], [19.05, 1760], [28.575, 2500]], 4, 1475, 2500, "points_mm_us"),
        },
    }
    whole.update(changes)
    return {key: value for key, value in whole.items() if value is not None}


def axis(points: Any, channel: int, lower: int, upper: int, key: str = "points_deg_us") -> dict[str, Any]:
    return {"channel": channel, key: points, "lower_us": lower, "upper_us": upper}


def settings(**changes: Any) -> Ssc32Settings:
    return settings_from_table(table(**changes), AXES, "rig.toml")


class BoardPort:
    """A `BytePort` with a small board behind it.

    Attributes:
        mangle: turns a line and its reply into pieces, each with an extra delay.
        sent: every write, with its time and the port's speed.
        lines: the lines that the board carried out.
        gone, room: unplugged; bytes that the port still takes.
    """

    def __init__(
        self,
        version: bytes = b"SSC32-V2.04GP \r",
        registers: dict[int, int] | None = None,
        startup: bytes = b"",
        baud: int = 115200,
        speed: int = 115200,
        left_over: bytes = b"",
    ) -> None:
        self.version, self.startup, self.baud, self.speed = version, startup, baud, speed
        self.registers = registers if registers is not None else {0: 0}
        self.widths: dict[int, int] = {}
        self._ways: dict[int, tuple[int, float, float]] = {}
        self.mangle: Mangler = lambda line, reply: [(0.0, reply)]
        self.sent: list[tuple[float, int, bytes]] = []
        self.lines: list[bytes] = []
        self.gone, self.closed = False, False
        self.room: int | None = None
        self.coming: list[tuple[float, bytes]] = []
        self._text = left_over

    def read(self, now_s: float) -> bytes:
        if self.gone or self.closed:
            raise LinkClosed("/dev/ttyTEST: the port is gone")
        data = b"".join(piece for at_s, piece in self.coming if at_s <= now_s)
        self.coming = [(at_s, piece) for at_s, piece in self.coming if at_s > now_s]
        return data

    def write(self, data: bytes, now_s: float) -> None:
        if self.gone or self.closed:
            raise LinkClosed("/dev/ttyTEST: the port is gone")
        self.sent.append((now_s, self.speed, data))
        taken = data if self.room is None else data[: self.room]
        if self.speed == self.baud:
            self._take(taken, now_s)
        if len(taken) < len(data):
            raise LinkOverrun("/dev/ttyTEST: stalled")

    def set_baud(self, baud: int) -> None:
        self.speed = baud

    def close(self) -> None:
        self.closed = True

    def restart(self) -> None:
        """A brown-out: everything forgotten, nothing said."""
        self.widths.clear()
        self._ways.clear()
        self._text = b""

    @property
    def bytes_sent(self) -> bytes:
        return b"".join(data for _, _, data in self.sent)

    def _take(self, data: bytes, now_s: float) -> None:
        for byte in data:
            if byte == 0x1B:
                self._text = b""
            elif byte == 0x0D:
                line, self._text = self._text, b""
                self._carry_out(line, now_s)
            else:
                self._text += bytes([byte])

    def _carry_out(self, line: bytes, now_s: float) -> None:
        if not line:
            return
        self.lines.append(line)
        timed = re.search(rb"T(\d+)$", line)
        for channel, width in ((int(a), int(b)) for a, b in re.findall(rb"#(\d+)P(\d+)", line)):
            way = (self._width(channel, now_s), now_s, now_s + int(timed[1]) / 1000.0) if timed else (0, 0.0, 0.0)
            self._ways[channel] = way
            self.widths[channel] = width
        reply = self._reply(line, now_s)
        if reply:
            at_s = now_s + 0.002
            for delay_s, piece in self.mangle(line, reply):
                at_s += delay_s
                self.coming.append((at_s, piece))

    def _width(self, channel: int, now_s: float) -> int:
        """The pulse that it makes by now, on its way from one width to the next."""
        width = self.widths.get(channel, 0)
        from_us, at_s, end_s = self._ways.get(channel, (0, 0.0, 0.0))
        share = 1.0 if now_s >= end_s else (now_s - at_s) / (end_s - at_s)
        return round(from_us + share * (width - from_us)) if from_us else width

    def _reply(self, line: bytes, now_s: float) -> bytes:
        if line == b"VER":
            return self.version
        if line.startswith(b"QP"):
            return bytes(self._width(int(n), now_s) // 10 for n in re.findall(rb"QP(\d+)", line))
        if self.version.startswith(b"SSC32-1"):
            return b""
        if line == b"SS":
            return b'"' + self.startup + b'"\r'
        if re.fullmatch(rb"R\d+", line):
            return b"%d\r" % self.registers.get(int(line[1:]), 0)
        return b""


class Bench:
    """A driver on a board port, and a clock that only `tick` moves."""

    def __init__(self, port: BoardPort | None = None, **changes: Any) -> None:
        self.port = port if port is not None else BoardPort()
        self.settings = settings(**changes)
        self.driver = Ssc32Driver(self.settings, lambda: self.port)
        self.now_s = 100.0
        self.notices: list[str] = []
        self.seq = 0

    def tick(self, count: int = 1) -> LinkState:
        for _ in range(count):
            self.now_s += TICK_S
            state = self.driver.read(self.now_s)
            self.notices += state.notices
        return state

    def connect(self, patience_s: float = 3.0) -> LinkState:
        self.driver.open(self.now_s)
        end_s = self.now_s + patience_s
        while self.now_s < end_s:
            state = self.tick()
            if state.phase is LinkPhase.READY:
                return state
        raise AssertionError("not connected in time")

    def energise(self, *positions: float) -> None:
        for index, position in enumerate(positions):
            self.seq += 1
            self.driver.write(EnergiseCommand(seq=self.seq, axis=index, position=position), self.now_s)
            self.tick()

    def move(self, *positions: float, due_in_s: float = 0.06) -> JointCommand:
        self.seq += 1
        wanted = JointCommand(seq=self.seq, due_s=self.now_s + due_in_s, positions=positions)
        sent = self.driver.write(wanted, self.now_s)
        assert isinstance(sent, JointCommand)
        return sent

    def ready(self) -> Bench:
        """Connected, all three axes energised at their middle, log emptied."""
        self.connect()
        self.energise(0.0, 0.0, 0.01)
        self.tick(5)
        self.port.sent.clear()
        self.port.lines.clear()
        return self

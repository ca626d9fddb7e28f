"""Reads what a cable has written down, and what is in it for an SSC-32 or a CR1; shares nothing with driver or fake.

Times are the machine's monotonic seconds, positions are as on the wire: microseconds, or degrees.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One line that ended with CR, without it; what stood before an ESC is dropped, as the controller does.

    Attributes:
        t_s: when its end passed.
    """

    t_s: float
    text: bytes


@dataclass(frozen=True)
class Move:
    """One line that moves something.

    Attributes:
        targets: by channel in us; or by joint, counted from 0, in degrees. Empty where the line carries none.
        time_ms: of a timed move of an SSC-32.
    """

    t_s: float
    text: bytes
    targets: dict[int, float]
    time_ms: int | None = None


_SSC32_MOVE = re.compile(rb"((?:#\d{1,2}P\d{3,4})+)(?:T(\d{1,5}))?")
_SSC32_TARGET = re.compile(rb"#(\d+)P(\d+)")
_CR1_JOINTS = re.compile(rb"1;1;(?:EXECJT=|HOTHILHOT;JT=)\(([-\d.]+),([-\d.]+),([-\d.]+),[-\d.]+,([-\d.]+),([-\d.]+)\)")
_CR1_PRINTED = re.compile(rb"PRN \d+,([-\d.]+),([-\d.]+),([-\d.]+),([-\d.]+),([-\d.]+),[\d.]+,[-\d.]+")
_CR1_GO = (b"1;1;EXECMOV", b"1;1;HOTHILHOT;JT=", b"PRN ")


class Record:
    """A cable's record.

    Attributes:
        left, reached: chunks of commands with their times, as they left the driver, as the controller got them.
        answered, heard: the same of the replies, as they left the controller, as the driver got them.
        events: what happened to the cable.
    """

    def __init__(self, path: Path) -> None:
        self.left: list[tuple[float, bytes]] = []
        self.reached: list[tuple[float, bytes]] = []
        self.answered: list[tuple[float, bytes]] = []
        self.heard: list[tuple[float, bytes]] = []
        self.events: list[tuple[float, str]] = []
        places = {
            ">": [self.left],
            ">>": [self.reached],
            "=>": [self.left, self.reached],
            "<": [self.answered],
            "<<": [self.heard],
            "<=": [self.answered, self.heard],
        }
        for line in path.read_bytes().splitlines():
            if not line.endswith(b"]"):
                continue  # cut by a kill
            mark, t_s, text = json.loads(line)
            if mark == "!":
                self.events.append((t_s, text))
            for place in places.get(mark, ()):
                place.append((t_s, bytes.fromhex(text)))

    def bytes_after(self, since_s: float) -> bytes:
        """What left the driver since then."""
        return b"".join(data for t_s, data in self.left if t_s > since_s)


def lines(chunks: list[tuple[float, bytes]]) -> list[Line]:
    """The lines that ended in these chunks."""
    found, text = [], b""
    for t_s, data in chunks:
        *whole, text = (text + data).split(b"\r")
        found += [Line(t_s, line.rpartition(b"\x1b")[2]) for line in whole]
    return [line for line in found if line.text]


def moves(chunks: list[tuple[float, bytes]], kind: str, canary: int | None = None) -> list[Move]:
    """The lines that move something, of an ``ssc32`` (but not its canary channel) or an ``rv2aj``."""
    found = (_ssc32(line) if kind == "ssc32" else _cr1(line) for line in lines(chunks))
    return [move for move in found if move is not None and list(move.targets) != [canary]]


def _ssc32(line: Line) -> Move | None:
    match = _SSC32_MOVE.fullmatch(line.text)
    if match is None:
        return None
    targets = {int(channel): float(us) for channel, us in _SSC32_TARGET.findall(match[1])}
    return Move(line.t_s, line.text, targets, int(match[2]) if match[2] else None)


def _cr1(line: Line) -> Move | None:
    joints = _CR1_JOINTS.fullmatch(line.text) or _CR1_PRINTED.fullmatch(line.text)
    if joints is None and not line.text.startswith(_CR1_GO):
        return None
    return Move(line.t_s, line.text, {} if joints is None else {i: float(x) for i, x in enumerate(joints.groups())})


def goes(move: Move) -> bool:
    """Whether this very line sets the arm going; an EXECJT only names a place."""
    return not move.text.startswith(b"1;1;EXECJT=")


@dataclass(frozen=True)
class Echo:
    """What an SSC-32 answered to one query of pulses.

    Attributes:
        asked_s: when the query reached the board.
        heard_s: when the driver had the whole answer.
        pulses_us: by channel, in the board's steps of 10 us.
    """

    asked_s: float
    heard_s: float
    pulses_us: dict[int, float]


_QUERY = re.compile(rb"(?:QP\d{1,2})+")


def echoes(record: Record) -> list[Echo]:
    """Queries of pulses with their whole answers, in order, where every byte of an answer has reached the driver.

    What was lost on the way makes the rest of one answer look like the next: so only answers count that came in a
    chunk of their own length, as a board that is asked every few ticks gives them.
    """
    asked = [line for line in lines(record.reached) if _QUERY.fullmatch(line.text)]
    found, place = [], 0
    for query, after in zip(asked, [*asked[1:], None], strict=True):
        channels = [int(number) for number in re.findall(rb"QP(\d+)", query.text)]
        data, heard_s = b"", query.t_s
        while place < len(record.heard) and (after is None or record.heard[place][0] < after.t_s):
            t_s, chunk = record.heard[place]
            place += 1
            if t_s >= query.t_s:
                data, heard_s = data + chunk, t_s
        if len(data) == len(channels):
            pulses = {channel: 10.0 * value for channel, value in zip(channels, data, strict=True)}
            found.append(Echo(query.t_s, heard_s, pulses))
    return found

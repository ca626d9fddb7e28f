"""The CR1's request and reply protocol as text and numbers: pure, without a clock or a line.

Written from the maker's description of ``<robot>;<slot>;<command>`` requests and ``QoK`` and ``QeR`` replies. Replies
are read as controllers in the field send them: letters in either case, four or nine digits of an error, CR, CR LF or
VT between parts, and ``****`` where an arm has no axis.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hil.errors import CommandError, ControllerError

JOINTS = ("J1", "J2", "J3", "J5", "J6")
"""The five axes of the arm; the fourth place of the maker's numbering stays empty everywhere."""
EMPTY_SLOT = 3
MOST_BYTES = 255
MOST_WAITING = 8192
VT = "\x0b"
ABSENT = "****"

_REPLY = re.compile(r"Q(?:(?P<ok>o)K|(?P<no>e)R)(?P<rest>[\x09\x0b\x20-\xff]*)\Z", re.IGNORECASE)
_ERROR = re.compile(r"(?P<number>\d{4})(?P<detail>\d*)(?P<where>(?:;\d+)*)\Z")
_PLACE = re.compile(r"J[1-8]\Z")
_NUMBER = re.compile(r"[+-]?\d{1,5}\.(?P<decimals>\d{1,4})\Z")
_STATUS = re.compile(r"(?P<run>[0-9A-F]{2})(?P<stop>[0-9A-F]{2})(?P<error>0|0\d{3}|[1-9]\d{0,3})\Z", re.IGNORECASE)
_TAIL = re.compile(r"(?P<override>\d{1,3});(?P<speed>\d+\.\d{1,4});(?P<plus>[0-9A-F]{2})(?P<minus>[0-9A-F]{2})"
                   r"[0-9A-F]{4}\Z", re.IGNORECASE)  # fmt: skip


class Reply(NamedTuple):
    """One reply.

    Attributes:
        accepted: ``QoK``, against ``QeR``.
        letter: its third letter as it was sent: a small one says that an alarm stands.
        error: four-digit number of a refusal, 0 for an accepted request.
        detail: what stands behind the four digits.
        data: the answer of an accepted request.
    """

    accepted: bool
    letter: str
    error: int
    detail: str
    data: str

    @property
    def alarm(self) -> bool:
        """True if the controller says, by a small third letter, that an alarm stands."""
        return self.letter.islower()


class Position(NamedTuple):
    """What JPOSF tells.

    Attributes:
        joints_deg: J1, J2, J3, J5, J6.
        override: percent.
        speed_mm_s: speed of the arm's end.
        at_limit: names of the joints that stand at a limit.
    """

    joints_deg: tuple[float, ...]
    override: int
    speed_mm_s: float
    at_limit: tuple[str, ...]


class Pose(NamedTuple):
    """What PPOSF tells: millimetres, degrees, and the two words of posture flags. A and B are not wrapped."""

    x: float
    y: float
    z: float
    a: float
    b: float
    flag1: int
    flag2: int


class Status(NamedTuple):
    """The status bits that STATE and DSTATE share, and the number of the standing alarm, 0 if there is none."""

    run: int
    stop: int
    error: int

    def _bit(self, word: int, bit: int) -> bool:
        return bool(word >> bit & 1)

    @property
    def teach(self) -> bool:
        """The key stands on TEACH."""
        return self._bit(self.run, 3)

    @property
    def servo(self) -> bool:
        """The servos are on."""
        return self._bit(self.run, 5)

    @property
    def running(self) -> bool:
        """A program runs."""
        return self._bit(self.run, 6)

    @property
    def enabled(self) -> bool:
        """Operation is enabled."""
        return self._bit(self.run, 7)

    @property
    def emergency_stop(self) -> bool:
        """An emergency stop is pressed."""
        return self._bit(self.stop, 0)

    @property
    def waiting(self) -> bool:
        """A program is paused."""
        return self._bit(self.stop, 2)


class State(NamedTuple):
    """What STATE tells of slot 1.

    Attributes:
        program: in the slot, empty if none.
        line: of the program.
        override: percent.
        status: the bits.
    """

    program: str
    line: int
    override: int
    status: Status


class Identity(NamedTuple):
    """What OPEN tells.

    Attributes:
        robot: name of the arm.
        controller: its own.
        version: of its software.
        extension: of program files.
        tasks: how many slots run programs; the one behind them edits.
        joint_axes: bit per joint, J1 lowest; controllers of one arm differ in it.
        date: of its software.
        texts: language of its own texts, ENG or JPN.
    """

    robot: str
    controller: str
    version: str
    extension: str
    tasks: int
    joint_axes: int
    date: str = ""
    texts: str = ""

    @property
    def text(self) -> str:
        """In words for people."""
        return f"{self.robot} on a {self.controller}, {self.version}"


class Stops(NamedTuple):
    """Names of the stop inputs and of the emergency stops that are active."""

    stops: tuple[str, ...]
    emergency: tuple[str, ...]


class ProgramEntry(NamedTuple):
    """One program of the directory."""

    name: str
    size: int
    lines: int


def program_stem(file: str) -> str:
    """The name by which requests call a program: STATE and the directory tell it with its ending."""
    return file.partition(".")[0]


def encode(command: str, slot: int = 1) -> bytes:
    """A request to the first robot.

    Raises:
        CommandError: it holds a byte that would end it early, or is too long.
    """
    text = f"1;{slot};{command}"
    if any(not (" " <= letter <= "~" or letter == VT) for letter in text) or len(text) >= MOST_BYTES:
        raise CommandError(
            f"request {text[:60]!r} of {len(text)} letters; allowed: printable ASCII, fewer than {MOST_BYTES}",
            value=text,
        )
    return f"{text}\r".encode("ascii")


def split(data: bytearray) -> list[str]:
    """Take the complete lines out of what has arrived; CR, LF or both end one, and empty ones do not count.

    Raises:
        ControllerError: no line end has come for far too long.
    """
    *whole, rest = re.split(rb"[\r\n]", bytes(data))
    if len(rest) > MOST_WAITING:
        raise ControllerError(f"{len(rest)} bytes without an end of line; is this a CR1?", rest[:60])
    data[:] = rest
    return [line.decode("latin-1") for line in whole if line]


def decode(line: str) -> Reply:
    """Read one reply.

    Raises:
        ControllerError: it is none.
    """
    found = _REPLY.match(line)
    if found is None:
        raise ControllerError(f"{line[:60]!r} is no reply of a CR1", line.encode("latin-1"))
    if found["ok"]:
        return Reply(True, line[2], 0, "", found["rest"])
    number = _ERROR.match(found["rest"])
    if number is None:
        raise ControllerError(f"{line[:60]!r} refuses without an error number", line.encode("latin-1"))
    return Reply(False, line[2], int(number["number"]), number["detail"] + number["where"], "")


def _wrong(what: str, data: str) -> ControllerError:
    return ControllerError(f"{data[:90]!r} is no answer to {what}", data.encode("latin-1"))


def _alike(values: Iterable[str]) -> bool:
    """They are numbers with as many decimals each."""
    found = [_NUMBER.match(value) for value in values]
    return len({None if each is None else len(each["decimals"]) for each in found}) == 1 and found[0] is not None


def decode_joints(data: str) -> Position:
    """Read the answer to JPOSF by the names of the joints: controllers show more places than the arm has axes.

    A place that the arm does not have may be starred, be left out, or hold a number.

    Raises:
        ControllerError: a joint is missing or twice there, the names do not rise, or the values are not numbers with as
            many decimals each (two on the arms that were seen): one digit lost on the way breaks that.
    """
    head, mark, tail = data.partition(";;")
    fields, flags = head.split(";"), tail.split(";", 1)
    pairs = list(zip(fields[::2], fields[1::2], strict=False))
    names = [name for name, _ in pairs]
    shown = {name: value for name, value in pairs if value != ABSENT}
    limits = _TAIL.match(flags[-1])
    if not mark or len(fields) % 2 or limits is None or not all(map(_PLACE.match, names)):
        raise _wrong("JPOSF", data)
    if names != sorted(set(names)) or not shown.keys() >= set(JOINTS) or not _alike(shown.values()):
        raise _wrong("JPOSF", data)
    touched = int(limits["plus"], 16) | int(limits["minus"], 16)
    return Position(
        joints_deg=tuple(float(shown[name]) for name in JOINTS),
        override=int(limits["override"]),
        speed_mm_s=float(limits["speed"]),
        at_limit=tuple(name for name in JOINTS if touched >> int(name[1]) - 1 & 1),
    )


def decode_pose(data: str) -> Pose:
    """Read the answer to PPOSF; axes beyond B do not count on this arm.

    Raises:
        ControllerError: X, Y, Z, A or B is missing or no number, or the flags are.
    """
    head, mark, tail = data.partition(";;")
    fields, flags = head.split(";"), tail.split(";", 1)
    named = dict(zip(fields[::2], fields[1::2], strict=False))
    words = flags[0].split(",")
    values = [named.get(name, "") for name in ("X", "Y", "Z", "A", "B")]
    if not mark or not _alike(values) or len(words) != 2 or not all(map(str.isdecimal, words)):
        raise _wrong("PPOSF", data)
    if len(flags) != 2 or _TAIL.match(flags[1]) is None:
        raise _wrong("PPOSF", data)
    x, y, z, a, b = map(float, values)
    return Pose(x, y, z, a, b, int(words[0]), int(words[1]))


def _status(text: str) -> Status | None:
    found = _STATUS.match(text)
    return None if found is None else Status(int(found["run"], 16), int(found["stop"], 16), int(found["error"]))


def decode_status(data: str) -> Status:
    """Read the answer to DSTATE.

    Raises:
        ControllerError: it is none.
    """
    fields = data.split(";")
    status = _status(fields[0])
    if status is None or len(fields) != 3 or not all(map(str.isdecimal, fields[1:])):
        raise _wrong("DSTATE", data)
    return status


def decode_state(data: str) -> State:
    """Read the answer to STATE.

    Raises:
        ControllerError: it is none.
    """
    fields = data.split(";")
    status = _status(fields[4]) if len(fields) == 19 else None
    if status is None or not all(field.isdecimal() for field in fields[1:3] if field):
        raise _wrong("STATE", data)
    return State(program=fields[0], line=int(fields[1] or 0), override=int(fields[2] or 0), status=status)


def decode_alarm(data: str) -> tuple[int, int] | None:
    """Read the answer to ERROR: number and level (1 high, 2 low, 3 caution), None if nothing stands.

    Raises:
        ControllerError: it is no such answer.
    """
    if not data:
        return None
    found = re.match(r"(\d{1,4})\d*;([123])\Z", data)
    if found is None:
        raise _wrong("ERROR", data)
    return int(found[1]), int(found[2])


def decode_identity(data: str) -> Identity:
    """Read the answer to OPEN.

    Raises:
        ControllerError: it is none.
    """
    fields = data.split(";")
    if len(fields) < 11 or "MELFA" not in fields or not re.fullmatch(r"[0-9A-Fa-f]+", fields[1]):
        raise _wrong("OPEN", data)
    numbers = [field for field in fields[11:] if field.isdecimal()]
    return Identity(
        robot=fields[6],
        controller=fields[7],
        version=fields[10],
        extension=fields[4],
        tasks=int(numbers[-1]) if numbers else 8,
        joint_axes=int(fields[1], 16),
        date=fields[9],
        texts=fields[11] if len(fields) > 11 else "",
    )


STOP_INPUTS = ("teach box", "computer", "input signal", "panel")
EMERGENCY_STOPS = ("outside circuit", "panel", "teach box")


def decode_stops(data: str) -> Stops:
    """Read the answer to STPSIG.

    Raises:
        ControllerError: it is none.
    """
    found = re.match(r"([0-9A-F]{1,4});([0-9A-F]{1,4})\Z", data, re.IGNORECASE)
    if found is None:
        raise _wrong("STPSIG", data)
    words = [int(word, 16) for word in found.groups()]
    names = [tuple(n for bit, n in enumerate(table) if word >> bit & 1)
             for word, table in zip(words, (STOP_INPUTS, EMERGENCY_STOPS), strict=True)]  # fmt: skip
    return Stops(*names)


def decode_inputs(data: str) -> int:
    """Read the answer to IN or OUT: sixteen signals, the first of them lowest.

    Raises:
        ControllerError: it is none.
    """
    if not re.fullmatch(r"[0-9A-F]{4}", data, re.IGNORECASE):
        raise _wrong("IN", data)
    return int(data, 16)


def decode_entry(data: str) -> ProgramEntry | None:
    """Read one answer to PDIR; None behind the last program.

    Raises:
        ControllerError: it is no such answer.
    """
    if not data:
        return None
    fields = data.split(";")
    if not fields[0] or len(fields) < 3 or not fields[1].isdecimal():
        raise _wrong("PDIR", data)
    counts = [int(field) for field in fields[4:] if field.isdecimal()]
    return ProgramEntry(name=fields[0], size=int(fields[1]), lines=counts[0] if counts else 0)


def joint_constant(joints_deg: Sequence[float]) -> str:
    """Five joints as the controller writes them, with a 0 in the empty fourth place.

    Raises:
        CommandError: not five finite numbers.
    """
    if len(joints_deg) != len(JOINTS) or not all(map(math.isfinite, joints_deg)):
        raise CommandError(
            f"{len(joints_deg)} joints given: {tuple(joints_deg)}; allowed: five finite numbers, "
            f"{', '.join(JOINTS)} (the fourth place of the six is always empty)",
            value=tuple(joints_deg),
        )
    values = list(joints_deg)
    values.insert(EMPTY_SLOT, 0.0)
    return f"({','.join(f'{value:.2f}' for value in values)})"

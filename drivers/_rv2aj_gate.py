"""The last gate before a CR1's port: reads finished requests back by the manual's grammar and trusts nothing before it.

It shares no code with whoever makes the bytes. A request that it does not know does not leave; one that names a target
is read into whole hundredths of a degree and held against the joints' range, the arm's own limits, the target before,
and the certified sample that it is said to be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray, MotionBounds

HALF_STEP = 0.5 + 1e-6
"""How far the nearest hundredth of a degree can be from the exact angle, and what rounding of doubles adds."""
SLACK = 1e-6
PLACES = (0, 1, 2, 4, 5)
"""Of the six joints of a constant: an arm without J4 leaves the fourth empty."""

_PLAIN = re.compile(rb"[\r\x0b\x20-\x7e]+")
_REQUEST = re.compile(rb"\d;\d{1,2};(.*)")
_KNOWN = re.compile(
    rb"OPEN=.*|CLOSE|CNTLON|CNTLOFF|SRVON|SRVOFF|STOP|SLOTINIT|RSTALRM|OVRD=\d{1,3}"
    rb"|STATE|DSTATE|ERROR|JPOSF|PPOSF|STPSIG|VAL\w+;\w+|PAR\w+|IN\d+|OUT\d+|INDMY|IN=\d+;[0-9A-F]{4}"
    rb"|FCHECK.+|FDEL.+|LOAD=.+|PRGLOAD=.+|PRGUP|PDIR(?:TOP|\d+)|LIST[IP](?:TOP|\+1)|ECLR|EDATA.+|SAVE|NEW"
    rb"|RUN(?:[\w-]+;1)?|STEP1|EXECJT=J_CURR"
)
_CONSTANT = re.compile(rb"(?:EXEC|HOTHILHOT;)JT=\(([-.,0-9]+)\)")
_MOVE = b"EXECMOV JT"
_TOLD = re.compile(rb"PRN \d{1,3},([-.,0-9]+)")
_HUNDREDTHS = re.compile(rb"(-?)(0|[1-9]\d{0,2})\.(\d\d)")
_TENTHS = re.compile(rb"(0|[1-9]\d{0,2})\.(\d)")


class Joint(NamedTuple):
    """A joint's name and range, degrees."""

    name: str
    lower_deg: float
    upper_deg: float


class Gate:
    """Looks at each request as it stands before it leaves.

    Args:
        joints: J1, J2, J3, J5, J6, with the range that the controller gives them; shown as given.
    """

    def __init__(self, joints: Sequence[Joint]) -> None:
        self.joints = self._joints = tuple(joints)
        self._spans = [
            (math.ceil(100.0 * joint.lower_deg - SLACK), math.floor(100.0 * joint.upper_deg + SLACK))
            for joint in self._joints
        ]
        self._steps: tuple[int, ...] | None = None
        self._last: tuple[int, ...] | None = None
        self._found: tuple[int, ...] | None = None
        self._named = False
        self._certified = memoryview(b"").cast("d")
        self._rows = 0
        self._row: int | None = None
        self._row_left = 0

    def bound(self, bounds: MotionBounds, longest_s: float) -> None:
        """From now on hold every target against the arm's limits, too.

        Args:
            bounds: of the arm.
            longest_s: the most of a motion that may lie between two targets.
        """
        samples = longest_s / bounds.period_s + 2.0
        for i, axis in enumerate(bounds.axes):
            low, high = self._spans[i]
            lower, upper = (math.ceil(_hundredths(axis.lower) - SLACK), math.floor(_hundredths(axis.upper) + SLACK))
            self._spans[i] = max(low, lower), min(high, upper)
        self._steps = tuple(math.ceil(_hundredths(axis.step) * samples) + 2 for axis in bounds.axes)

    def stands(self, joints_deg: Sequence[float]) -> None:
        """The arm rests there, and was sent nowhere since; the next target counts from here."""
        self._last = tuple(round(100.0 * degrees) for degrees in joints_deg)

    def certify(self, samples: FloatArray) -> None:
        """Take the samples of a certified motion, (N, 5) in rad: targets that are said to be of it are held to them."""
        self._certified = memoryview((100.0 * np.degrees(samples)).tobytes()).cast("d")
        self._rows = len(samples)
        self.begin()

    def begin(self) -> None:
        """The certified motion begins, at its first sample."""
        self._row_left, self._row = 0, None

    def expect(self, row: int | None) -> None:
        """The next target is this sample of the certified motion; None: it is of none."""
        self._row = row

    # -- what leaves ---------------------------------------------------------------------------------------

    def check(self, data: bytes) -> None:
        """Look at one or more whole requests.

        Raises:
            CommandError: a request that is not known, or a target that may not be sent; nothing may leave.
        """
        self._found = None
        *lines, rest = self._plain(data).split(b"\r")
        if rest:
            raise CommandError(f"{data!r} does not end with CR; the next request would be put behind it", value=data)
        for line in lines:
            self._check_line(line)

    def check_text(self, data: bytes) -> None:
        """Look at one line of text for a program of somebody else, which no one here can read.

        Raises:
            CommandError: it is no plain line, or a request.
        """
        self._found = None
        line = self._plain(data)
        if not line.startswith(b"PRN ") or line.find(b"\r") != len(line) - 1:
            raise CommandError(f"{data!r} given as a line of text; allowed: PRN, text and CR", value=data)

    def left(self) -> None:
        """What was looked at last has left."""
        if self._found is not None:
            self._last, self._found = self._found, None
            self._row_left = self._row_left if self._row is None else self._row

    def _plain(self, data: bytes) -> bytes:
        if not _PLAIN.fullmatch(data):
            raise CommandError(f"{data!r} holds bytes that are not plain text", value=data)
        return data

    def _check_line(self, line: bytes) -> None:
        told = _TOLD.fullmatch(line)
        if told is not None:
            self._check_told(line, told[1])
            return
        request = _REQUEST.fullmatch(line)
        command = b"" if request is None else request[1]
        constant = _CONSTANT.fullmatch(command)
        if constant is not None:
            self._check_constant(line, constant[1])
            self._named = True
        elif command == _MOVE:
            if not self._named:
                raise CommandError(f"{line!r} moves to a target that was not told before", value=line)
        elif not _KNOWN.fullmatch(command):
            raise CommandError(f"{line!r} is no request that may leave for this controller", value=line)

    def _check_constant(self, line: bytes, text: bytes) -> None:
        numbers = [_read(line, number) for number in text.split(b",")]
        if len(numbers) != len(PLACES) + 1 or numbers[3]:
            raise CommandError(f"{line!r}: a target has six places, the fourth of them 0.00", value=line)
        self._check_target([numbers[place] for place in PLACES])

    def _check_told(self, line: bytes, text: bytes) -> None:
        *numbers, percent, total = text.split(b",")
        tenths = _TENTHS.fullmatch(percent)
        target = [_read(line, number) for number in numbers]
        if tenths is None or len(target) != len(PLACES):
            raise CommandError(f"{line!r}: five joints, a speed and their sum are told", value=line)
        share = 10 * (10 * int(tenths[1]) + int(tenths[2]))
        if not 0 < share <= 10_000 or _read(line, total) != sum(target) + share:
            raise CommandError(f"{line!r}: a speed up to 100.0 and the sum of all numbers", value=line)
        self._check_target(target)

    def _check_target(self, target: Sequence[int]) -> None:
        for joint, at, (low, high) in zip(self._joints, target, self._spans, strict=True):
            if not low <= at <= high:
                raise self._refused(joint, at, f"{low / 100:.2f} to {high / 100:.2f} deg")
        if self._last is not None and self._steps is not None:
            for joint, at, last, step in zip(self._joints, target, self._last, self._steps, strict=True):
                if abs(at - last) > step:
                    raise self._refused(joint, at, f"{step / 100:.2f} deg from the target before, {last / 100:.2f} deg")
        if self._row is not None:
            self._check_row(target, self._row)
        self._found = tuple(target)

    def _check_row(self, target: Sequence[int], row: int) -> None:
        if not self._row_left <= row < self._rows:
            allowed = f"{self._row_left} to {self._rows - 1}"
            raise CommandError(f"sample {row} of the motion; allowed: {allowed}", value=row, allowed=allowed)
        exact = self._certified[row * len(target) : (row + 1) * len(target)]
        for joint, at, certified in zip(self._joints, target, exact, strict=True):
            if abs(at - certified) > HALF_STEP:
                raise self._refused(
                    joint, at, f"{certified / 100:.3f} deg, that of the certified sample {row}, rounded"
                )

    @staticmethod
    def _refused(joint: Joint, at: int, allowed: str) -> CommandError:
        return CommandError(
            f"{joint.name}: a target of {at / 100:.2f} deg; allowed: {allowed}",
            axis=joint.name,
            value=at / 100.0,
            allowed=allowed,
        )


def _read(line: bytes, number: bytes) -> int:
    """A number with two decimals, in hundredths."""
    match = _HUNDREDTHS.fullmatch(number)
    if match is None:
        raise CommandError(f"{line!r}: {number!r} is no number with two decimals", value=line)
    value = 100 * int(match[2]) + int(match[3])
    return -value if match[1] else value


def _hundredths(radians: float) -> float:
    return 100.0 * math.degrees(radians)

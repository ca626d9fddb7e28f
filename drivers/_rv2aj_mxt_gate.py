"""The last gate before a CR1's network: reads finished packets of MXT back and trusts nothing before it.

It shares no code with whoever makes them. Offsets are those of the maker's sample header. A joint is read back as
radians and held, in thousandths of a degree, against its range, the arm's own limits, the packet before, and the
certified sample that it is said to be.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray, MotionBounds

LENGTH = 196
COMMAND_AT, TYPE_AT, REPLY_AT, DATA_AT, SIGNALS_AT, MONITORS_AT = 0, 2, 4, 8, 48, (64, 108, 152)
DATA_LENGTH = 40
ASK, MOVE, END = 0, 1, 255
JOINTS = 2
JOINT_AT = (0, 4, 8, 16, 20)
"""Where J1, J2, J3, J5 and J6 stand in the data."""
EMPTY_AT = (12, 24, 28, 32, 36)
STEPS = 1000
"""In a degree."""
HALF_STEP = 0.5 + 1e-6
SINGLE = 0.05
"""How far off a whole step a number of single precision can be, in steps."""
SLACK = 1e-6


class Joint(NamedTuple):
    """A joint's name and range, degrees."""

    name: str
    lower_deg: float
    upper_deg: float


class MxtGate:
    """Looks at each packet as it stands before it leaves.

    Args:
        joints: J1, J2, J3, J5, J6, with the range that the controller gives them.
    """

    def __init__(self, joints: Sequence[Joint]) -> None:
        self._joints = tuple(joints)
        self._spans = [
            (math.ceil(STEPS * joint.lower_deg - SLACK), math.floor(STEPS * joint.upper_deg + SLACK))
            for joint in self._joints
        ]
        self._steps: tuple[int, ...] | None = None
        self._last: tuple[int, ...] | None = None
        self._found: tuple[int, ...] | None = None
        self._allowance = 0
        self._certified = memoryview(b"").cast("d")
        self._rows = 0
        self._row: int | None = None
        self._next = 0

    def bound(self, bounds: MotionBounds) -> None:
        """From now on hold every packet against the arm's limits, too: one sample from the packet before at most."""
        for i, axis in enumerate(bounds.axes):
            low, high = self._spans[i]
            lower = math.ceil(_steps(axis.lower) - SLACK)
            upper = math.floor(_steps(axis.upper) + SLACK)
            self._spans[i] = max(low, lower), min(high, upper)
        self._steps = tuple(math.ceil(_steps(axis.step)) + 1 for axis in bounds.axes)

    def stands(self, joints_deg: Sequence[float], within_deg: float) -> None:
        """The controller's own command stands there; the first packet counts from here, give or take `within_deg`."""
        self._last = tuple(round(STEPS * degrees) for degrees in joints_deg)
        self._allowance = math.ceil(STEPS * within_deg)

    def forget(self) -> None:
        """Nobody knows where its command stands: nothing may lead it anywhere."""
        self._last = None

    def certify(self, samples: FloatArray) -> None:
        """Take the samples of a certified motion, (N, 5) in rad: packets that are said to be of it are held to them."""
        self._certified = memoryview((STEPS * np.degrees(samples)).tobytes()).cast("d")
        self._rows = len(samples)
        self.begin()

    def begin(self) -> None:
        """The certified motion begins, at its first sample."""
        self._next, self._row = 0, None

    def expect(self, row: int | None) -> None:
        """The next packet is this sample of the certified motion; None: it is of none."""
        self._row = row

    # -- what leaves ---------------------------------------------------------------------------------------

    def check(self, packet: bytes) -> None:
        """Look at one packet.

        Raises:
            CommandError: it is none that may leave.
        """
        self._found = None
        if len(packet) != LENGTH:
            raise CommandError(f"a packet of {len(packet)} bytes; allowed: {LENGTH}", value=len(packet))
        command, kind = _word(packet, COMMAND_AT), _word(packet, TYPE_AT)
        if any(packet[SIGNALS_AT : SIGNALS_AT + 12]):
            raise CommandError("a packet that switches signals; none may leave here", value=packet.hex())
        if any(any(packet[at + 2 : at + 4 + DATA_LENGTH]) for at in MONITORS_AT) or any(packet[REPLY_AT + 2 : DATA_AT]):
            raise CommandError("a packet with something in places that stay empty", value=packet.hex())
        if command == MOVE and kind == JOINTS:
            self._check_target(self._read(packet))
        elif command not in (ASK, END) or kind != 0 or any(packet[DATA_AT : DATA_AT + DATA_LENGTH]):
            raise CommandError(
                f"a packet with command {command} and data of type {kind}; allowed: {ASK} or {END} without data, "
                f"{MOVE} with joints",
                value=command,
            )

    def left(self) -> None:
        """What was looked at last has left."""
        if self._found is None:
            return
        self._last, self._found, self._allowance = self._found, None, 0
        if self._row is not None:
            self._next = self._row + 1

    def _read(self, packet: bytes) -> tuple[int, ...]:
        """The joints in thousandths of a degree."""
        if any(any(packet[DATA_AT + at : DATA_AT + at + 4]) for at in EMPTY_AT):
            raise CommandError("a packet with something in the place of a joint that the arm lacks", value=packet.hex())
        target = []
        for joint, at in zip(self._joints, JOINT_AT, strict=True):
            (radians,) = struct.unpack_from("<f", packet, DATA_AT + at)
            exact = _steps(radians) if math.isfinite(radians) else math.inf
            if not abs(exact) < 1e9 or abs(exact - round(exact)) > SINGLE:
                raise CommandError(
                    f"{joint.name}: {radians!r} rad is no whole thousandth of a degree", axis=joint.name, value=radians
                )
            target.append(round(exact))
        return tuple(target)

    def _check_target(self, target: tuple[int, ...]) -> None:
        for joint, at, (low, high) in zip(self._joints, target, self._spans, strict=True):
            if not low <= at <= high:
                raise _refused(joint, at, f"{low / STEPS:.3f} to {high / STEPS:.3f} deg")
        if self._last is None:
            raise CommandError("a packet that leads the arm before it is known where the controller's command stands")
        if self._steps is not None:
            for joint, at, last, step in zip(self._joints, target, self._last, self._steps, strict=True):
                most = step + self._allowance
                if abs(at - last) > most:
                    raise _refused(joint, at, f"{most / STEPS:.3f} deg from the packet before, {last / STEPS:.3f} deg")
        if self._row is not None:
            self._check_row(target, self._row)
        self._found = target

    def _check_row(self, target: tuple[int, ...], row: int) -> None:
        if row != self._next or row >= self._rows:
            allowed = f"{self._next}, of {self._rows}"
            raise CommandError(f"sample {row} of the motion; allowed: {allowed}", value=row, allowed=allowed)
        exact = self._certified[row * len(target) : (row + 1) * len(target)]
        for joint, at, certified in zip(self._joints, target, exact, strict=True):
            if abs(at - certified) > HALF_STEP:
                raise _refused(joint, at, f"{certified / STEPS:.4f} deg, that of the certified sample {row}, rounded")


def _refused(joint: Joint, at: int, allowed: str) -> CommandError:
    return CommandError(
        f"{joint.name}: {at / STEPS:.3f} deg; allowed: {allowed}", axis=joint.name, value=at / STEPS, allowed=allowed
    )


def _word(packet: bytes, at: int) -> int:
    return int.from_bytes(packet[at : at + 2], "little")


def _steps(radians: float) -> float:
    return STEPS * math.degrees(radians)

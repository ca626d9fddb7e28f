"""What a variable can hold: numbers, strings, positions, joint sets; in mm and degrees, as programs write them.

Rounding follows the language: CINT rounds half away from zero, INT floors, FIX cuts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TypeAlias

from hil.program.errors import ProgramError
from hil.types import Record
from hil.units import DEG

AXES = ("X", "Y", "Z", "A", "B", "C", "L1", "L2")
ANGLES = frozenset("ABC")
JOINTS = tuple(f"J{n}" for n in range(1, 9))
FLAGS = ("FL1", "FL2")

SMALLEST_INTE, LARGEST_INTE = -32768, 32767
LONGEST_STRING = 127

LARGEST_FLAG = 2**32 - 1
"""Of a position's FL1 and FL2."""

MOST_DIMENSIONS, LARGEST_INDEX = 3, 999
"""Of an array."""

LARGEST_MEMBER = 1e9
"""Of a position or joint set, in mm or degrees."""


class Position(Record, frozen=True):
    """A place of the tool.

    Attributes:
        members: X, Y, Z in mm, A, B, C in degrees, L1, L2.
        fl1, fl2: posture and turns; None where never taught.
    """

    members: tuple[float, float, float, float, float, float, float, float]
    fl1: int | None = None
    fl2: int | None = None

    def __str__(self) -> str:
        flags = ",".join("" if flag is None else str(flag) for flag in (self.fl1, self.fl2))
        return f"({','.join(f'{value:+.2f}' for value in self.members[:6])})({flags})"


class Joints(Record, frozen=True):
    """Angles of all eight axes in degrees; an axis that the arm lacks stays 0."""

    degrees: tuple[float, float, float, float, float, float, float, float]

    def __str__(self) -> str:
        return f"({','.join(f'{value:+.2f}' for value in self.degrees[:6])})"


Scalar: TypeAlias = int | float
Value: TypeAlias = int | float | str | Position | Joints

ZERO_POSITION = Position(members=(0.0,) * 8)
ZERO_JOINTS = Joints(degrees=(0.0,) * 8)


def position(members: Sequence[float], fl1: int | None = None, fl2: int | None = None) -> Position:
    """A position whose last members may be left out.

    Raises:
        ProgramError: a number is not finite, or there are too many.
    """
    return Position(members=_eight(members), fl1=fl1, fl2=fl2)


def joints(degrees: Sequence[float]) -> Joints:
    """A joint set whose last members may be left out.

    Raises:
        ProgramError: a number is not finite, or there are too many.
    """
    return Joints(degrees=_eight(degrees))


def _eight(members: Sequence[float]) -> tuple[float, float, float, float, float, float, float, float]:
    if len(members) > 8:
        raise ProgramError(3120, f"{len(members)} members", allowed="up to 8")
    if any(abs(value) > LARGEST_MEMBER for value in members):
        raise ProgramError(3110, f"a member of {max(members, key=abs):g}", allowed=f"up to {LARGEST_MEMBER:g}")
    x, y, z, a, b, c, one, two = (checked(value) for value in (*members, *(0.0,) * (8 - len(members))))
    return float(x), float(y), float(z), float(a), float(b), float(c), float(one), float(two)


def checked(value: Scalar) -> Scalar:
    """The number itself.

    Raises:
        ProgramError: it is not finite, or an integer too large to calculate with.
    """
    if isinstance(value, int) and abs(value) > 10**15:
        value = float(value) if abs(value) < 10**300 else math.inf
    if not math.isfinite(value):
        raise ProgramError(3110, f"{value} is not a number that can be calculated with", allowed="a finite number")
    return value


def kind_of(value: Value) -> str:
    """``number``, ``string``, ``position`` or ``joint set``."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, Position):
        return "position"
    return "joint set" if isinstance(value, Joints) else "number"


def number(value: Value) -> Scalar:
    """A value that has to be a number.

    Raises:
        ProgramError: it is none.
    """
    if isinstance(value, int | float):
        return value
    raise ProgramError(3810, f"a {kind_of(value)}", allowed="a number")


def whole(value: Value, least: int, most: int, what: str) -> int:
    """A value that has to be a whole number in a range; rounded as CINT does.

    Raises:
        ProgramError: it is no number, or outside the range.
    """
    rounded = cint(number(value))
    if not least <= rounded <= most:
        raise ProgramError(3110, f"{what} {format_number(number(value))}", allowed=f"{least} to {most}")
    return rounded


def cint(value: Scalar) -> int:
    """Rounded, a half away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def single(value: Scalar) -> float:
    """As a single-precision number holds it.

    Raises:
        ProgramError: too large for one.
    """
    try:
        found: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise ProgramError(3110, f"{value:g} in a FLOAT", allowed="up to 3.4E+38") from None
    return found


def as_type(kind: str, value: Value) -> Value:
    """`value` as a variable of a type holds it.

    Args:
        kind: INTE, LONG, FLOAT, DOUBLE, CHAR, POS, JNT, or NUMBER for M names.
        value: what is assigned.

    Raises:
        ProgramError: it does not fit.
    """
    if kind == "CHAR" and isinstance(value, str):
        return value[:LONGEST_STRING]
    if (kind == "POS" and isinstance(value, Position)) or (kind == "JNT" and isinstance(value, Joints)):
        return value
    if kind in ("CHAR", "POS", "JNT"):
        names = {"CHAR": "string", "POS": "position", "JNT": "joint set"}
        raise ProgramError(3810, f"a {kind_of(value)} for a {names[kind]}", allowed=f"a {names[kind]}")
    plain = checked(number(value))
    if kind == "INTE":
        return whole(plain, SMALLEST_INTE, LARGEST_INTE, "an INTE of")
    if kind == "LONG":
        return whole(plain, -(2**31), 2**31 - 1, "a LONG of")
    return single(plain) if kind == "FLOAT" else plain


def component(value: Value, name: str, degrees: bool) -> Scalar:
    """A member of a position or joint set; angles in radians unless `degrees`.

    Raises:
        ProgramError: there is no such member, or a flag was never taught.
    """
    if isinstance(value, Position) and name in AXES:
        member = value.members[AXES.index(name)]
        return member * DEG if name in ANGLES and not degrees else member
    if isinstance(value, Position) and name in FLAGS:
        flag = value.fl1 if name == "FL1" else value.fl2
        if flag is None:
            raise ProgramError(3700, f"flag {name} was never taught")
        return flag
    if isinstance(value, Joints) and name in JOINTS:
        member = value.degrees[JOINTS.index(name)]
        return member if degrees else member * DEG
    raise _no_member(value, name)


def with_component(value: Value, name: str, new: Value, degrees: bool) -> Value:
    """The same with one member changed.

    Raises:
        ProgramError: there is no such member, or `new` is no finite number.
    """
    plain = checked(number(new))
    if isinstance(value, Position) and name in AXES:
        member = plain if degrees or name not in ANGLES else plain / DEG
        members = list(value.members)
        members[AXES.index(name)] = float(member)
        return position(members, value.fl1, value.fl2)
    if isinstance(value, Position) and name in FLAGS:
        flag = whole(plain, 0, LARGEST_FLAG, name)
        return Position(
            members=value.members,
            fl1=flag if name == "FL1" else value.fl1,
            fl2=flag if name == "FL2" else value.fl2,
        )
    if isinstance(value, Joints) and name in JOINTS:
        members = list(value.degrees)
        members[JOINTS.index(name)] = float(plain if degrees else plain / DEG)
        return joints(members)
    raise _no_member(value, name)


def _no_member(value: Value, name: str) -> ProgramError:
    allowed = {"position": "X Y Z A B C L1 L2 FL1 FL2", "joint set": "J1 to J8"}.get(kind_of(value), "no member")
    return ProgramError(3810, f".{name} of a {kind_of(value)}", allowed=allowed)


def format_number(value: Scalar) -> str:
    """As PRINT and STR$ write it: no more digits than a number has."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e7 else f"{value:.7G}"


def format_value(value: Value) -> str:
    """As PRINT writes it; positions as ``(130.5,-117.2,55.1,16.2,0.0,0.0)(1,0)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Position):
        return f"({','.join(_member(member) for member in value.members[:6])})({value.fl1 or 0},{value.fl2 or 0})"
    if isinstance(value, Joints):
        return f"({','.join(_member(member) for member in value.degrees)})"
    return format_number(value)


def _member(value: float) -> str:
    text = f"{value:.2f}"
    short = text[:-1] if text.endswith("0") else text
    return "0.0" if float(short) == 0.0 else short

"""The functions of the language. Trigonometry works in radians; positions carry degrees."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hil.paths.circle import circle_through
from hil.program.arm import ProgramArm, goal_row, joint_set, row_of
from hil.program.errors import ProgramError
from hil.program.values import (
    Joints,
    Position,
    Scalar,
    Value,
    checked,
    cint,
    format_value,
    kind_of,
    number,
    position,
    whole,
)
from hil.units import DEG


class Function(NamedTuple):
    """How many arguments it takes, and what it does with them."""

    least: int
    most: int
    apply: Callable[[Sequence[Value], ProgramArm], Value]


def call(name: str, arguments: Sequence[Value], arm: ProgramArm) -> Value:
    """The value of a function; RND is none of them, since it has a memory.

    Raises:
        ProgramError: wrong number or type of arguments, or no value.
    """
    function = FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        allowed = str(function.least) if function.least == function.most else f"{function.least} to {function.most}"
        raise ProgramError(3120, f"{name} with {len(arguments)} arguments", allowed=allowed)
    try:
        found = function.apply(arguments, arm)
    except (ValueError, OverflowError, ZeroDivisionError, struct.error):
        shown = ", ".join(format_value(argument) for argument in arguments)
        raise ProgramError(3110, f"{name}({shown})") from None
    return checked(found) if isinstance(found, int | float) else found


def _numeric(function: Callable[[float], float]) -> Function:
    return Function(1, 1, lambda values, arm: function(number(values[0])))


def text(value: Value) -> str:
    """A value that has to be a string."""
    if isinstance(value, str):
        return value
    raise ProgramError(3810, f"a {kind_of(value)}", allowed="a string")


def place(value: Value) -> Position:
    """A value that has to be a position."""
    if isinstance(value, Position):
        return value
    raise ProgramError(3810, f"a {kind_of(value)}", allowed="a position")


def _val(values: Sequence[Value], arm: ProgramArm) -> Value:
    """A number read from text, as far as it is one; ``&H`` and ``&B`` too."""
    word = text(values[0]).strip().upper()
    for prefix, base in (("&H", 16), ("&B", 2)):
        if word.startswith(prefix):
            return int(word[2:], base)
    return int(word) if word.lstrip("+-").isdigit() and word.isascii() else float(word)


def _left(values: Sequence[Value], arm: ProgramArm) -> Value:
    return text(values[0])[: whole(values[1], 0, 255, "a length of")]


def _right(values: Sequence[Value], arm: ProgramArm) -> Value:
    count = whole(values[1], 0, 255, "a length of")
    return text(values[0])[-count:] if count else ""


def _mid(values: Sequence[Value], arm: ProgramArm) -> Value:
    first, count = whole(values[1], 1, 255, "a place of"), whole(values[2], 0, 255, "a length of")
    return text(values[0])[first - 1 : first - 1 + count]


def _distance(values: Sequence[Value], arm: ProgramArm) -> Value:
    return math.dist(place(values[0]).members[:3], place(values[1]).members[:3])


def _inverse(values: Sequence[Value], arm: ProgramArm) -> Value:
    """The way back of an offset: X, Y, Z and turns C about Z, B about Y, A about X."""
    offset = place(values[0])
    x, y, z, a, b, c, *rest = offset.members
    turn = _rotation(a * DEG, b * DEG, c * DEG).T
    back = -(turn @ np.array([x, y, z]))
    angles = _angles(turn)
    return position([*back.tolist(), *angles, *rest], offset.fl1, offset.fl2)


def _rotation(a: float, b: float, c: float) -> np.ndarray:
    ca, sa, cb, sb, cc, sc = (f(v) for v in (a, b, c) for f in (math.cos, math.sin))
    return np.array(
        [
            [cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa],
            [sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa],
            [-sb, cb * sa, cb * ca],
        ]
    )


def _angles(turn: np.ndarray) -> list[float]:
    flat = math.hypot(turn[0, 0], turn[1, 0])
    b = math.atan2(-turn[2, 0], flat)
    if flat < 1e-9:
        return [math.atan2(-turn[1, 2], turn[1, 1]) / DEG, b / DEG, 0.0]
    return [math.atan2(turn[2, 1], turn[2, 2]) / DEG, b / DEG, math.atan2(turn[1, 0], turn[0, 0]) / DEG]


def _middle(values: Sequence[Value], arm: ProgramArm) -> Value:
    """POSMID(P1,P2,0,0): the point between."""
    first, last = place(values[0]), place(values[1])
    members = [(a + b) / 2.0 for a, b in zip(first.members, last.members, strict=True)]
    return position(members, first.fl1, first.fl2)


def _arc(values: Sequence[Value], arm: ProgramArm) -> Value:
    """CALARC(P1,P2,P3,radius,angle,length,centre): here the radius; the three results go to variables elsewhere."""
    circle = circle_through(*(np.array(place(value).members[:3]) for value in values[:3]))
    return -1 if circle is None else circle.radius


def _frame(values: Sequence[Value], arm: ProgramArm) -> Value:
    """FRAM(P1,P2,P3,P4): origin P1, X towards P2, the plane of X and Y holds P3; the origin is then moved to P4."""
    origin, x_point, plane, new = (np.array(place(value).members[:3]) for value in values)
    x = x_point - origin
    z = np.cross(x, plane - origin)
    if not x.any() or not np.linalg.norm(z) > 1e-9 * np.linalg.norm(x):
        raise ProgramError(3860, "points of a frame on one line")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    turn = np.column_stack([x, np.cross(z, x), z])
    return position([*new.tolist(), *_angles(turn)], place(values[0]).fl1, place(values[0]).fl2)


def _reachable(values: Sequence[Value], arm: ProgramArm) -> Value:
    """POSCQ: 1 if the arm can stand there."""
    try:
        if isinstance(values[0], Joints):
            row = row_of(arm, values[0])
            return int(bool((row >= arm.lower_rad).all() and (row <= arm.upper_rad).all()))
        goal_row(arm, place(values[0]), np.zeros(len(arm.slots)))
    except ProgramError as error:
        if error.number in (2602, 2802, 3860):
            return 0
        raise
    return 1


def _to_joints(values: Sequence[Value], arm: ProgramArm) -> Value:
    return joint_set(arm, goal_row(arm, place(values[0]), np.zeros(len(arm.slots)), 2800).tolist())


def _to_position(values: Sequence[Value], arm: ProgramArm) -> Value:
    if not isinstance(values[0], Joints):
        raise ProgramError(3810, f"a {kind_of(values[0])}", allowed="a joint set")
    return arm.position(row_of(arm, values[0]).tolist())


def _read_flag1(values: Sequence[Value], arm: ProgramArm) -> Value:
    """RDFL1(P,n): R or L, A or B, N or F."""
    flags, n = place(values[0]).fl1 or 0, whole(values[1], 0, 2, "flag")
    return ("LR", "BA", "FN")[n][flags >> (2 - n) & 1]


def _set_flag1(values: Sequence[Value], arm: ProgramArm) -> Value:
    """SETFL1(P,"RAN")."""
    point, word = place(values[0]), text(values[1]).upper()
    flags = point.fl1 or 0
    for letter in word:
        for k, pair in enumerate(("LR", "BA", "FN")):
            if letter in pair:
                bit = 4 >> k
                flags = flags | bit if pair.index(letter) else flags & ~bit
    if set(word) - set("LRBAFN"):
        raise ProgramError(3110, f'SETFL1 with "{word}"', allowed="letters R or L, A or B, N or F")
    return Position(members=point.members, fl1=flags, fl2=point.fl2)


def _read_flag2(values: Sequence[Value], arm: ProgramArm) -> Value:
    nibble = (place(values[0]).fl2 or 0) >> (4 * (whole(values[1], 1, 8, "axis") - 1)) & 0xF
    return nibble - 16 if nibble > 7 else nibble


def _set_flag2(values: Sequence[Value], arm: ProgramArm) -> Value:
    point, axis, turns = place(values[0]), whole(values[1], 1, 8, "axis"), whole(values[2], -8, 7, "turns")
    shift = 4 * (axis - 1)
    fl2 = (point.fl2 or 0) & ~(0xF << shift) | (turns & 0xF) << shift
    return Position(members=point.members, fl1=point.fl1, fl2=fl2)


def _zone(values: Sequence[Value], arm: ProgramArm) -> Value:
    """ZONE(P,corner,corner): 1 inside the box, its sides included; members of both corners that are 0 do not count."""
    point, low, high = (place(value).members[:6] for value in values)
    inside = all(min(a, b) <= v <= max(a, b) for v, a, b in zip(point, low, high, strict=True) if (a, b) != (0.0, 0.0))
    return int(inside)


def _binary(kind: str) -> Function:
    return Function(1, 1, lambda values, arm: struct.pack(f"<{kind}", number(values[0])).decode("latin-1"))


def _from_binary(kind: str) -> Function:
    def read(values: Sequence[Value], arm: ProgramArm) -> Value:
        found: Scalar = struct.unpack(f"<{kind}", text(values[0]).encode("latin-1"))[0]
        return found

    return Function(1, 1, read)


def _character(values: Sequence[Value], arm: ProgramArm) -> Value:
    return chr(whole(values[0], 0, 255, "character"))


def _mirror(values: Sequence[Value], arm: ProgramArm) -> Value:
    """All bits of the text in reverse order: "BJ" gives "RB"."""
    return "".join(chr(int(f"{ord(c) & 0xFF:08b}"[::-1], 2)) for c in reversed(text(values[0])))


def _position_of(values: Sequence[Value], arm: ProgramArm) -> Value:
    return text(values[0]).find(text(values[1])) + 1


def _bits(values: Sequence[Value], arm: ProgramArm) -> Value:
    return f"{whole(values[0], -32768, 65535, 'a value of') & 0xFFFF:b}"


def _hex(values: Sequence[Value], arm: ProgramArm) -> Value:
    """HEX$(n[,digits])."""
    word = f"{whole(values[0], -(2**31), 2**32 - 1, 'a value of') & 0xFFFFFFFF:X}"
    return word[-whole(values[1], 1, 8, "digits") :] if len(values) > 1 else word


def _checksum(values: Sequence[Value], arm: ProgramArm) -> Value:
    """CKSUM(text,first,last): sum of the characters, the lowest byte."""
    word, first, last = text(values[0]), whole(values[1], 1, 255, "a place of"), whole(values[2], 1, 255, "a place of")
    return sum(ord(c) for c in word[first - 1 : last]) & 0xFF


FUNCTIONS: dict[str, Function] = {
    "ABS": _numeric(abs),
    "ACOS": _numeric(math.acos),
    "ASIN": _numeric(math.asin),
    "ATN": _numeric(math.atan),
    "CINT": _numeric(cint),
    "COS": _numeric(math.cos),
    "DEG": _numeric(lambda value: value / DEG),
    "EXP": _numeric(math.exp),
    "FIX": _numeric(math.trunc),
    "INT": _numeric(math.floor),
    "LN": _numeric(math.log),
    "LOG": _numeric(math.log10),
    "RAD": _numeric(lambda value: value * DEG),
    "SGN": _numeric(lambda value: (value > 0) - (value < 0)),
    "SIN": _numeric(math.sin),
    "SQR": _numeric(math.sqrt),
    "TAN": _numeric(math.tan),
    "ATN2": Function(2, 2, lambda values, arm: math.atan2(number(values[0]), number(values[1]))),
    "MAX": Function(1, 16, lambda values, arm: max(number(value) for value in values)),
    "MIN": Function(1, 16, lambda values, arm: min(number(value) for value in values)),
    "ASC": Function(1, 1, lambda values, arm: ord(text(values[0])[0]) if values[0] else 0),
    "BIN$": Function(1, 1, _bits),
    "CHR$": Function(1, 1, _character),
    "CKSUM": Function(3, 3, _checksum),
    "CVD": _from_binary("d"),
    "CVI": _from_binary("h"),
    "CVS": _from_binary("f"),
    "HEX$": Function(1, 2, _hex),
    "LEFT$": Function(2, 2, _left),
    "STRLWR": Function(1, 1, lambda values, arm: text(values[0]).lower()),
    "STRUPR": Function(1, 1, lambda values, arm: text(values[0]).upper()),
    "LEN": Function(1, 1, lambda values, arm: len(text(values[0]))),
    "MID$": Function(3, 3, _mid),
    "MIRROR$": Function(1, 1, _mirror),
    "MKD$": _binary("d"),
    "MKI$": Function(
        1, 1, lambda values, arm: struct.pack("<h", whole(values[0], -32768, 32767, "a value of")).decode("latin-1")
    ),
    "MKS$": _binary("f"),
    "RIGHT$": Function(2, 2, _right),
    "STR$": Function(1, 1, lambda values, arm: format_value(values[0])),
    "STRPOS": Function(2, 2, _position_of),
    "VAL": Function(1, 1, _val),
    "CALARC": Function(3, 7, _arc),
    "DIST": Function(2, 2, _distance),
    "FRAM": Function(4, 4, _frame),
    "INV": Function(1, 1, _inverse),
    "JTOP": Function(1, 1, _to_position),
    "POSCQ": Function(1, 1, _reachable),
    "POSMID": Function(2, 4, _middle),
    "PTOJ": Function(1, 1, _to_joints),
    "RDFL1": Function(2, 2, _read_flag1),
    "RDFL2": Function(2, 2, _read_flag2),
    "SETFL1": Function(2, 2, _set_flag1),
    "SETFL2": Function(3, 3, _set_flag2),
    "ZONE": Function(3, 3, _zone),
}

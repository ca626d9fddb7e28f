"""Lines that lead an arm: one target each, in degrees and millimetres."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hil.errors import CommandError
from hil.kinematics.poses import rotation_vector, xyzabc_to_pose
from hil.model.rig import AxisKind, Rig
from hil.types import AxisGoal, ToolGoal
from hil.units import DEG, MM

MOST_CHARACTERS = 500
LARGEST = 1e6
"""Of a number, mm or degrees: what it would take to go there is said in words that somebody reads."""
STOPS = ("stop", "end", "q")
"""Any of these ends the targets: the arm stops and holds."""

ALLOWED = (
    "joints and a number for every axis, joints NAME=NUMBER ..., or tool X Y Z with pitch= roll= a= b= c= gripper="
)
_NUMBER = re.compile(r"#(\d{1,15})\Z")
_SCALES = {"pitch": DEG, "roll": DEG, "a": DEG, "b": DEG, "c": DEG, "gripper": MM}


@dataclass(frozen=True)
class TargetLine:
    """What a line says.

    Attributes:
        seq: its number; None if it has none.
        goal: where the arm shall be; None for the end.
    """

    seq: int | None
    goal: AxisGoal | ToolGoal | None


class TargetLines:
    """Reads them for one rig.

    Args:
        rig: names, kinds and order of the axes.
        start: where every axis stands, in rad or m: what a line leaves out is as in the line before.
    """

    def __init__(self, rig: Rig, start: Sequence[float]) -> None:
        self._rig = rig
        self._names = [axis.name for axis in rig.axes]
        self._units = [DEG if axis.kind is AxisKind.REVOLUTE else MM for axis in rig.axes]
        self._last = list(start)

    def read(self, line: str) -> TargetLine | None:
        """What a line means; None for an empty one.

        Raises:
            CommandError: it means nothing here.
        """
        if len(line) > MOST_CHARACTERS:
            raise CommandError(f"a line of {len(line)} characters; allowed: {MOST_CHARACTERS}", value=len(line))
        words = line.split()
        seq = None
        if words and (number := _NUMBER.match(words[0])):
            seq = int(number[1])
            del words[0]
        if not words:
            return None
        what, rest = words[0].lower(), words[1:]
        if what in STOPS and not rest:
            return TargetLine(seq, None)
        if what == "joints":
            return TargetLine(seq, self._joints(rest))
        if what == "tool":
            return TargetLine(seq, self._tool(rest))
        raise CommandError(f"{line.strip()[:60]!r} is no target; allowed: {ALLOWED}", value=line, allowed=ALLOWED)

    def _joints(self, words: list[str]) -> AxisGoal:
        if words and all("=" in word for word in words):
            positions = list(self._last)
            for name, text in _once(words):
                if name not in self._names:
                    allowed = ", ".join(self._names)
                    raise CommandError(f"there is no axis {name!r}; allowed: {allowed}", value=name, allowed=allowed)
                index = self._names.index(name)
                positions[index] = _number(name, text) * self._units[index]
        elif len(words) == len(self._names):
            named = zip(self._names, words, self._units, strict=True)
            positions = [_number(name, text) * unit for name, text, unit in named]
        else:
            raise CommandError(
                f"{len(words)} numbers given; this rig has the axes {', '.join(self._names)}",
                value=len(words),
                allowed=f"{len(self._names)} numbers",
            )
        self._last = positions
        return AxisGoal(positions=tuple(positions))

    def _tool(self, words: list[str]) -> ToolGoal:
        places = [word for word in words if "=" not in word]
        given = dict(_once(word for word in words[len(places) :] if "=" in word))
        if len(places) != 3 or words[:3] != places or not set(given) <= set(_SCALES):
            raise CommandError(f"tool {' '.join(words)[:60]!r}; allowed: {ALLOWED}", value=words, allowed=ALLOWED)
        x, y, z = (_number(name, text) * MM for name, text in zip("xyz", places, strict=True))
        values = {name: _number(name, text) for name, text in given.items()}
        turned = [values.get(name) for name in "abc"]
        turn = None
        if any(value is not None for value in turned):
            if None in turned:
                raise CommandError("of a b c all three have to be given, or none", value=given)
            a_deg, b_deg, c_deg = (float(value) for value in turned if value is not None)
            pose = xyzabc_to_pose((0.0, 0.0, 0.0, a_deg, b_deg, c_deg))
            turn = rotation_vector(pose[:3, :3].tolist())
        pitch, roll, opening = (
            None if name not in values else values[name] * _SCALES[name] for name in ("pitch", "roll", "gripper")
        )
        return ToolGoal(position_m=(x, y, z), pitch=pitch, roll=roll, turn=turn, opening_m=opening)


def _once(words: Iterable[str]) -> list[tuple[str, str]]:
    """Names and texts of words such as ``base=1``, each name once."""
    pairs = [(name, text) for name, _, text in (word.partition("=") for word in words)]
    names = [name for name, _ in pairs]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise CommandError(f"{twice[:20]} is given twice; allowed: once in a line", axis=twice, value=twice)
    return pairs


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CommandError(f"{name}: {text[:20]!r} given; allowed: a finite number", axis=name, value=text)
    if abs(value) > LARGEST:
        raise CommandError(f"{name}: {text[:20]!r} given; allowed: up to {LARGEST:g}", axis=name, value=text)
    return value

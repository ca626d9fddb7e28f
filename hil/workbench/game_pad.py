"""A hand on a game pad: what its sticks ask for, and when it counts as holding at all.

A pad says nothing of a hand: one that is frozen, unplugged or lies on its button looks like one that is held. So a
button has to be held, and pressed anew after each end; and where nothing at all has changed for 10 s, it counts no
more. Whoever reads the pad is another part (see `sdl_pad`), so that all of this is seen without one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from hil.model.pad import PadSettings, usual_ways
from hil.model.rig import Rig
from hil.service.hold_watch import PLANNED_UNCHANGED_S, UNCHANGED_S, HoldWatch, Sign
from hil.types import AxisJog, JogFrame, ToolJog
from hil.units import DEG

TURN_RAD_S = 60.0 * DEG
"""How fast a stick turns the tool at most; the rig's own limits hold besides."""

SILENT_S = 0.25
"""A pad that was not read for so long is no hand."""


@dataclass(frozen=True)
class PadReading:
    """What a pad says.

    Attributes:
        values: of sticks -1 to 1, of triggers 0 to 1, of buttons 0 or 1, by name.
    """

    values: Mapping[str, float]


class PadSource(Protocol):
    """Reads a pad."""

    def read(self) -> PadReading | None:
        """What it says now; None for no pad."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Ask(Enum):
    """What is asked of the arm."""

    NOTHING = "nothing"
    BEGIN = "begin"
    GO_ON = "go on"
    RELEASE = "release"


class PadMap:
    """What the sticks of one rig ask for.

    Args:
        rig: axes, limits, and what the pad does.

    Attributes:
        ways: what each stick and button moves.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig, self._pad = rig, rig.pad
        self.ways = rig.pad.ways or usual_ways([axis.name for axis in rig.axes], rig.pad.hold)
        self._index = {axis.name: i for i, axis in enumerate(rig.axes)}

    def move(self, reading: PadReading, share: float) -> AxisJog | ToolJog:
        """Rates, at this part of the rig's speeds. A direction of the tool goes before single axes."""
        amounts, tool = [0.0] * len(self._rig.axes), dict.fromkeys(("x", "y", "z", "pitch", "roll", "a", "b", "c"), 0.0)
        for way in self.ways:
            value = way.sign * pushed(reading.values.get(way.source, 0.0), self._pad.dead_zone)
            if way.goal in self._index:
                index = self._index[way.goal]
                amounts[index] += value * share * self._rig.axes[index].speed
            else:
                tool[way.goal.removeprefix("tool ")] += value
        if not any(tool.values()):
            return AxisJog(amounts=tuple(amounts))
        speed_m_s, turn_rad_s = share * self._rig.tool_speed_m_s, share * TURN_RAD_S
        x, y, z = (_bounded(tool[name]) * speed_m_s for name in "xyz")
        a, b, c = (_bounded(tool[name]) * turn_rad_s for name in "abc")
        pitch, roll = (_bounded(tool[name]) * turn_rad_s for name in ("pitch", "roll"))
        frame = JogFrame(self._pad.frame)
        return ToolJog(frame=frame, linear=(x, y, z), pitch=pitch, roll=roll, turn=(a, b, c))


class PadHand:
    """Whether a hand holds the pad.

    Args:
        settings: the rig's.
        unchanged_s: a pad at which nothing changes for so long while it is held counts no more.

    Attributes:
        words: why it counts no more, newest; empty before.
    """

    def __init__(self, settings: PadSettings, unchanged_s: float = UNCHANGED_S) -> None:
        self._settings = settings
        self._watch = HoldWatch(unchanged_s, PLANNED_UNCHANGED_S)
        self._held = False
        self._free = False
        self._values: Mapping[str, float] | None = None
        self._changed_s = self._read_s = -math.inf
        self.words = ""

    def look(self, reading: PadReading | None, now_s: float) -> Ask:
        """What follows from what the pad says now; to be asked 20 times a second or more."""
        silent, self._read_s = now_s - self._read_s > SILENT_S, now_s
        if (words := self._wrong(reading)) or reading is None:
            self._free, self._values = False, None
            return self._end(words)
        if reading.values != self._values:
            self._values, self._changed_s = dict(reading.values), now_s
        if not reading.values.get(self._settings.hold, 0.0) > 0.5:
            self._free = True
            return self._end("")
        if not self._held:
            return self._press(now_s)
        if silent:
            self._free = False
            return self._end("the pad was not read in time, as if this program had stood still: press again")
        self._watch.see(Sign(changed_s=self._changed_s), now_s)
        if words := self._watch.over(now_s):
            self._free = False
            return self._end(words)
        return Ask.GO_ON

    def drop(self) -> None:
        """The arm has ended it: the button has to be let go of first."""
        self._held = self._free = False

    def _wrong(self, reading: PadReading | None) -> str:
        if reading is None:
            return "the pad is gone: plug it in, then press again"
        if not all(map(math.isfinite, reading.values.values())):
            return "the pad sends what is no number: look at it, then press again"
        return ""

    def _press(self, now_s: float) -> Ask:
        if not self._free:
            return Ask.NOTHING
        self._held, self.words = True, ""
        self._watch.begin(now_s)
        return Ask.BEGIN

    def _end(self, words: str) -> Ask:
        if not self._held:
            return Ask.NOTHING
        self._held, self.words = False, words
        return Ask.RELEASE


def pushed(value: float, dead_zone: float) -> float:
    """How far a stick is pushed, -1 to 1: nothing within the dead zone, and from its edge on from nothing again."""
    away = (abs(value) - dead_zone) / (1.0 - dead_zone)
    return math.copysign(min(max(away, 0.0), 1.0), value) if away > 0.0 else 0.0


def _bounded(value: float) -> float:
    return min(max(value, -1.0), 1.0)

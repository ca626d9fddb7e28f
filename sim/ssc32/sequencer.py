"""The hexapod sequencer that every firmware has: twelve servos walk by themselves, two tripods in turn, until XSTOP.

Manual 2005, and 2017: six legs of a vertical and a horizontal servo; eight states, of which the last four are the first
four with the tripods exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sim.ssc32.outputs import Outputs, Servo
from sim.ssc32.settings import FRAME_S

STATES = 8
TENTHS = 10


class Side(Enum):
    """Of the body; each has heights, a stride and widths of its own."""

    RIGHT = "R"
    LEFT = "L"


@dataclass(frozen=True)
class Leg:
    """Two channels, a side, and whether it belongs to the tripod that stands first."""

    vertical: int
    side: Side
    first: bool

    @property
    def horizontal(self) -> int:
        """Its other channel."""
        return self.vertical + 1


LEGS = (
    Leg(0, Side.RIGHT, False),
    Leg(2, Side.RIGHT, True),
    Leg(4, Side.RIGHT, False),
    Leg(16, Side.LEFT, True),
    Leg(18, Side.LEFT, False),
    Leg(20, Side.LEFT, True),
)
"""Rear, centre and front of each side."""

LOW, MIDDLE, HIGH = "L", "M", "H"
FRONT, CENTRE, REAR = 1.0, 0.0, -1.0
"""Places along the stride, in halves of it from its centre."""

Aim = tuple[str, float]
_STATES: Sequence[tuple[Aim, Aim]] = (
    ((LOW, CENTRE), (HIGH, CENTRE)),
    ((LOW, REAR), (MIDDLE, FRONT)),
    ((LOW, REAR), (LOW, FRONT)),
    ((MIDDLE, REAR), (LOW, FRONT)),
)
"""Where a state takes the tripod that stands, and the other one."""
_STRIDES = 2
"""The first so many states move horizontally, each half a stride; the others only up or down."""

WIDTHS = (500, 2500)
RANGES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("LH", "LM", "LL", "RH", "RM", "RL", "LF", "LR", "RF", "RR"), WIDTHS),
    "VS": (0, 0xFFFF),
    "HT": (1, 0xFFFF),
    "XL": (-100, 100),
    "XR": (-100, 100),
    "XS": (0, 200),
}


class Sequencer:
    """Walks on the outputs of a board. It reads no clock.

    Args:
        outputs: that it moves.
        plays: it moves servos and counts; else its words are only kept, and XQ is always 0.

    Attributes:
        words: what has been set.
    """

    def __init__(self, outputs: Outputs, plays: bool) -> None:
        self._outputs, self._plays = outputs, plays
        self.words: dict[str, int] = {}
        self.forget()

    def forget(self) -> None:
        """The power goes."""
        self.words.clear()
        self._running = False
        self._state, self._done = 0, 0.0
        self._since_s = 0.0

    @property
    def due_s(self) -> float:
        """When the present state ends; infinity while it stands."""
        return self._since_s + self._left_s if self._running else math.inf

    def advance(self, now_s: float) -> None:
        """States that have ended by now are followed by the next; each begins when the one before ends."""
        while self.due_s <= now_s + 1e-12:
            self._since_s = self.due_s
            self._state, self._done = (self._state + 1) % STATES, 0.0
            self._aim()

    def set(self, word: str, value: int, now_s: float) -> bool:
        """One of its words; a change acts at once.

        Returns:
            Whether the value is one that the manual allows.
        """
        lower, upper = RANGES[word]
        if not lower <= value <= upper:
            return False
        self._pause(now_s)
        self.words[word] = value
        if word == "XS" and self._plays and not self._running and self._pace_ms:
            self._running, self._state, self._done = True, 0, 0.0
        if self._running:
            self._aim()
        return True

    def stop(self, now_s: float) -> None:
        """XSTOP: the servos stand where they are, and belong to everybody again."""
        self._pause(now_s)
        self.words.pop("XS", None)
        if self._running:
            self._running = False
            self._hold()

    def told(self, now_s: float) -> int:
        """What XQ answers: the state, and how many tenths of it are over."""
        self._pause(now_s)
        return self._state << 4 | min(int(self._done * TENTHS + 1e-9), TENTHS - 1) if self._running else 0

    # -- time --------------------------------------------------------------------------------------------

    @property
    def _pace_ms(self) -> int:
        """HT, without which nothing begins; the vertical speed has to be there too."""
        return self.words.get("HT", 0) if "VS" in self.words else 0

    @property
    def _lasts_s(self) -> float:
        """How long the whole of the present state takes, a frame at least; infinity at XS 0."""
        speed = self.words.get("XS", 0) / 100
        if not speed:
            return math.inf
        if self._state % 4 < _STRIDES:
            return max(self._pace_ms / 2000 / speed, FRAME_S)
        rises = [abs(self._height(leg, MIDDLE, 0) - self._height(leg, LOW, 0)) for leg in LEGS]
        return max(max(rises) / max(self.words["VS"], 1), FRAME_S)

    @property
    def _left_s(self) -> float:
        lasts_s = self._lasts_s
        return math.inf if lasts_s == math.inf else (1.0 - self._done) * lasts_s

    def _pause(self, now_s: float) -> None:
        """Note how much of the present state is over by now."""
        self.advance(now_s)
        lasts_s = self._lasts_s
        if self._running and 0.0 < lasts_s < math.inf:
            self._done = min(self._done + (now_s - self._since_s) / lasts_s, 1.0)
        self._since_s = now_s

    # -- servos ------------------------------------------------------------------------------------------

    def _height(self, leg: Leg, height: str, missing: int | None = None) -> int:
        found = self.words.get(leg.side.value + height, missing)
        return -1 if found is None else found

    def _width(self, leg: Leg, place: float) -> int:
        """The horizontal width at a place of the stride; -1 where it is not set."""
        front, rear = self.words.get(leg.side.value + "F"), self.words.get(leg.side.value + "R")
        if front is None or rear is None:
            return -1
        stride = self.words.get("X" + leg.side.value, 0) / 100
        return round((front + rear) / 2 + place * stride * (front - rear) / 2)

    def _aim(self) -> None:
        """Send all legs to where the present state takes them, to be there when it ends."""
        left_s = self._left_s
        if left_s == math.inf:
            self._hold()
            return
        standing, other = _STATES[self._state % 4]
        exchanged = self._state >= STATES // 2
        servos = []
        for leg in LEGS:
            height, place = standing if leg.first is not exchanged else other
            for channel, width in (
                (leg.vertical, self._height(leg, height)),
                (leg.horizontal, self._width(leg, place)),
            ):
                if width >= 0:
                    servos.append(Servo(channel, width))
        self._outputs.move(servos, round(left_s * 1000))

    def _hold(self) -> None:
        for leg in LEGS:
            for channel in (leg.vertical, leg.horizontal):
                self._outputs.stop(self._outputs.channels[channel])

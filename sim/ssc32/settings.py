"""What kind of SSC-32 this is, and how it decides what the manuals leave open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal

import msgspec

from hil.types import Record

CHANNELS = 32
FRAME_S = 0.02
LOWEST_US, HIGHEST_US = 500, 2500
CLIPPED_US = 3000
"""Widths up to this are clipped for sure; of one above it somebody reports that it was made."""

LARGEST_US = 0xFFFF
"""The largest width that sixteen bits hold: no pin makes a longer pulse."""


class Firmware(Enum):
    """Families of firmware: the original board with 1.x or 2.x, and the SSC-32U."""

    V1 = "1.x"
    V2 = "2.x"
    U = "u"


class FirstMove(Enum):
    """What S and T do in the first command of a channel."""

    JUMP = "jump"
    """Ignored for that channel, which takes the new width at once."""
    FROM_500 = "from_500"
    """The board takes 500 us as the start and moves from there (manual of firmware 1.06)."""
    ONCE = "once"
    """Ignored in the very first move of the whole board (manual of the SSC-32U); later channels start at 500 us."""


class EarlyMove(Enum):
    """What a timed move does that comes while the one before it is still going on."""

    REPLACE = "replace"
    """The channel goes on from where it is, at once."""
    STUTTER = "stutter"
    """It stands for a frame first, unless it has just done so."""


class Rounding(Enum):
    """How QP makes tens of microseconds of a width."""

    DOWN = "down"
    NEAREST = "nearest"

    def of(self, tens: float) -> int:
        """A whole number of them."""
        return math.floor(tens + 0.5) if self is Rounding.NEAREST else math.floor(tens)


class Beyond(Enum):
    """What a width outside 500 to 2500 us does."""

    CLIP = "clip"
    IGNORE = "ignore"
    """That servo is left out of the line."""
    THROUGH = "through"
    """Up to 3000 us it is clipped; above, the pin makes it as it was sent."""


class Fractions(Enum):
    """What a decimal fraction in P or S does."""

    DROP_SERVO = "drop_servo"
    """That servo is left out of the line."""
    DROP_SPEED = "drop_speed"
    """The whole part counts and S is forgotten: the joint runs at full speed."""


class Mixed(Enum):
    """What happens to the later types when one line mixes several."""

    FIRST_TYPE = "first_type"
    ALL = "all"


class Untouched(Enum):
    """What QP answers for a channel that nothing has driven since the board got its power."""

    ZERO = "zero"
    """0: it makes no pulse."""
    MIDDLE = "middle"
    """150, as if it made 1500 us."""
    GARBAGE = "garbage"
    """Any byte, another one each time."""


class Reserved(Enum):
    """What reading a register answers that this firmware does not name, such as R4 of a 2.x board."""

    ZERO = "zero"
    ERASED = "erased"
    """65535, as memory reads in which nothing was ever written."""
    SILENT = "silent"


Input = Literal["A", "B", "C", "D", "E", "F", "G", "H"]
"""Names of the input pins; a board but the SSC-32U has the first four."""

VERSIONS = {Firmware.V1: "SSC32-1.06XE", Firmware.V2: "SSC32-V2.03XE", Firmware.U: "SSC32-V2.50USB"}
BAUDS = {Firmware.V1: 115200, Firmware.V2: 115200, Firmware.U: 9600}


class BoardSettings(Record, frozen=True):
    """What kind of board this is, and how it decides what the manuals leave open.

    Attributes:
        version: answer to VER without its CR; None for the family's usual text.
        baud: None for 115200, or the SSC-32U's factory setting of 9600.
        resolution_us: step of the generated pulse, 0 for none.
        boot_s: time from power to the first byte that is understood.
        brown_out_channels: so many servos driven for the first time in one frame reset the board.
        registers: number and content of what the EEPROM holds otherwise than from the factory; 1.x has none.
        startup: the stored startup string; likewise.
        untouched: what QP answers for a channel that nothing has driven yet.
        early: what a timed move does that comes before the one before it has ended.
        rounding: how QP makes tens of microseconds of a width.
        shows_offset: QP answers a width with its pulse offset; None for the family's usual, which is 1.x alone.
        offsets_add: a repeated PO adds to the one before; else it takes its place.
        beyond: what a width outside 500 to 2500 us does.
        zero_releases: P0 ends the pulses of a channel; else it does nothing.
        bare_stop: STOP without a number stops all channels; else it does nothing.
        escape_drops: ESC drops the line that has begun; else it is ignored.
        lacks: words that this build does not know, though its family does.
        greeting: what it sends by itself once it has started up, CR and all; manuals tell of nothing.
        q_newest: Q tells of the newest move only; else of whichever ends last.
        reserved: what reading a register answers that the firmware does not name.
        sequencer: the hexapod sequencer plays; else its words are only kept, and XQ is always 0.
        inputs_v: voltages at the input pins; 5 V, by the pull-up, at one that is not named.
        noise_v: standard deviation of each reading of a voltage.
        inputs_low: pins whose level is low; the others idle high.
        flips_hz: how often a second the level of each pin changes by chance, faster than it counts or not; 0 for never.
        input_seed: of the chance of both.
    """

    firmware: Firmware = Firmware.V2
    version: str | None = None
    baud: Annotated[int, msgspec.Meta(ge=300)] | None = None
    first_move: FirstMove = FirstMove.JUMP
    fractions: Fractions = Fractions.DROP_SERVO
    mixed: Mixed = Mixed.FIRST_TYPE
    resolution_us: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    boot_s: Annotated[float, msgspec.Meta(ge=0.0)] = 0.1
    brown_out_channels: Annotated[int, msgspec.Meta(ge=1, le=32)] | None = None
    registers: tuple[tuple[int, int], ...] = ()
    startup: str = ""
    untouched: Untouched = Untouched.ZERO
    early: EarlyMove = EarlyMove.REPLACE
    rounding: Rounding = Rounding.DOWN
    shows_offset: bool | None = None
    offsets_add: bool = False
    beyond: Beyond = Beyond.CLIP
    zero_releases: bool = True
    bare_stop: bool = False
    escape_drops: bool = True
    lacks: tuple[str, ...] = ()
    greeting: str = ""
    q_newest: bool = True
    reserved: Reserved = Reserved.ZERO
    sequencer: bool = True
    inputs_v: Mapping[Input, Annotated[float, msgspec.Meta(ge=0.0, le=5.0)]] = {}
    noise_v: Annotated[float, msgspec.Meta(ge=0.0, le=5.0)] = 0.0
    inputs_low: tuple[Input, ...] = ()
    flips_hz: Annotated[float, msgspec.Meta(ge=0.0, le=1000.0)] = 0.0
    input_seed: int = 0

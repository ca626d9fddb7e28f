"""The emulated SSC-32: a machine under, power, clock and line above."""

from sim.ssc32.board import BoardState, Ssc32Board
from sim.ssc32.counts import Counts
from sim.ssc32.outputs import Level, Watcher
from sim.ssc32.settings import (
    CHANNELS,
    FRAME_S,
    Beyond,
    BoardSettings,
    EarlyMove,
    Firmware,
    FirstMove,
    Fractions,
    Mixed,
    Reserved,
    Rounding,
    Untouched,
)

__all__ = [
    "CHANNELS",
    "FRAME_S",
    "Beyond",
    "BoardSettings",
    "BoardState",
    "Counts",
    "EarlyMove",
    "Firmware",
    "FirstMove",
    "Fractions",
    "Level",
    "Mixed",
    "Reserved",
    "Rounding",
    "Ssc32Board",
    "Untouched",
    "Watcher",
]

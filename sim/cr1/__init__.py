"""The emulated CR1: a machine under, a line above, power and clock on top."""

from sim.cr1.controller import Cr1, Power
from sim.cr1.conversation import Counts
from sim.cr1.rehearsal import rehearse
from sim.cr1.requests import EndCode, Procedure
from sim.cr1.settings import Cr1Settings, Face, Series
from sim.cr1.state import AfterServoOff, FirstPosition, Key, ServoOff, Stop
from sim.cr1.tasks import Mode, SlotState

__all__ = [
    "AfterServoOff",
    "Counts",
    "Cr1",
    "Cr1Settings",
    "EndCode",
    "Face",
    "FirstPosition",
    "Key",
    "Mode",
    "Power",
    "Procedure",
    "Series",
    "ServoOff",
    "SlotState",
    "Stop",
    "rehearse",
]

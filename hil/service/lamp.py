"""One word for how an arm is, the same on every screen: what counts most is what is said."""

from __future__ import annotations

from hil.service.wire import Lamp, LeaseBrief
from hil.types import Mode

_BY_MODE = {
    Mode.DISCONNECTED: Lamp.AWAY,
    Mode.CONNECTING: Lamp.UNKNOWN,
    Mode.UNKNOWN_POSE: Lamp.UNKNOWN,
    Mode.ENERGISING: Lamp.MOVING,
    Mode.IDLE: Lamp.READY,
    Mode.ARMED: Lamp.ARMED,
    Mode.STREAMING: Lamp.MOVING,
    Mode.STOPPING: Lamp.MOVING,
    Mode.HOLDING: Lamp.READY,
    Mode.FAULT: Lamp.FAULT,
    Mode.ESTOP: Lamp.ESTOP,
}


def lamp(mode: Mode, lease: LeaseBrief, *, alarm: bool, starting: bool) -> Lamp:
    """The lamp of an arm.

    Args:
        mode: of its loop; DISCONNECTED where there is none.
        lease: says whether a stop is latched, or the arm frozen.
        alarm: command and report have parted.
        starting: it comes up by itself.
    """
    by_mode = _BY_MODE[mode]
    if by_mode in (Lamp.ESTOP, Lamp.FAULT):
        return by_mode
    if lease.latched:
        return Lamp.LATCHED
    if lease.frozen:
        return Lamp.FROZEN
    if starting:
        return Lamp.STARTING
    return Lamp.ALARM if alarm else by_mode

"""Which mode follows which event: the whole table, in one place. A pair that is not listed changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from hil.types import Mode


class Event(Enum):
    """What can happen to a session."""

    CONNECT = "connect"
    READY = "ready"
    CONFIRMED = "confirmed"
    ENERGISED = "energised"
    ARM = "arm"
    LAPSE = "lapse"
    START = "start"
    DONE = "done"
    STOP = "stop"
    STOPPED = "stopped"
    ABANDONED = "abandoned"
    LET_GO = "let_go"
    FAULT = "fault"
    ESTOP = "estop"
    RESET = "reset"
    RECONNECT = "reconnect"
    DISCONNECT = "disconnect"


_LISTED = {
    (Mode.DISCONNECTED, Event.CONNECT): Mode.CONNECTING,
    (Mode.CONNECTING, Event.READY): Mode.UNKNOWN_POSE,
    (Mode.UNKNOWN_POSE, Event.CONFIRMED): Mode.ENERGISING,
    (Mode.ENERGISING, Event.ENERGISED): Mode.IDLE,
    (Mode.ENERGISING, Event.STOP): Mode.UNKNOWN_POSE,
    (Mode.IDLE, Event.ARM): Mode.ARMED,
    (Mode.HOLDING, Event.ARM): Mode.ARMED,
    (Mode.ARMED, Event.LAPSE): Mode.IDLE,
    (Mode.ARMED, Event.STOP): Mode.HOLDING,
    (Mode.ARMED, Event.START): Mode.STREAMING,
    (Mode.STREAMING, Event.DONE): Mode.IDLE,
    (Mode.STREAMING, Event.STOP): Mode.STOPPING,
    (Mode.STOPPING, Event.STOPPED): Mode.HOLDING,
    (Mode.IDLE, Event.LET_GO): Mode.UNKNOWN_POSE,
    (Mode.HOLDING, Event.LET_GO): Mode.UNKNOWN_POSE,
    (Mode.FAULT, Event.RESET): Mode.UNKNOWN_POSE,
    (Mode.ESTOP, Event.RESET): Mode.UNKNOWN_POSE,
    (Mode.FAULT, Event.RECONNECT): Mode.CONNECTING,
    (Mode.ESTOP, Event.RECONNECT): Mode.CONNECTING,
}
# Who answered for the motion is dead: no ramp is sent any more, the controller ends what it was given.
_ABANDONED = {
    (Mode.ENERGISING, Event.ABANDONED): Mode.UNKNOWN_POSE,
    (Mode.ARMED, Event.ABANDONED): Mode.HOLDING,
    (Mode.STREAMING, Event.ABANDONED): Mode.HOLDING,
    (Mode.STOPPING, Event.ABANDONED): Mode.HOLDING,
}
_FAULTS: dict[tuple[Mode, Event], Mode] = {
    (mode, Event.FAULT): Mode.FAULT for mode in Mode if mode not in (Mode.ESTOP, Mode.DISCONNECTED)
}
_ESTOPS: dict[tuple[Mode, Event], Mode] = {
    (mode, Event.ESTOP): Mode.ESTOP for mode in Mode if mode is not Mode.DISCONNECTED
}
# A moving arm is stopped first: there is no way from ENERGISING, STREAMING or STOPPING straight to DISCONNECTED.
_LEAVING: dict[tuple[Mode, Event], Mode] = {
    (mode, Event.DISCONNECT): Mode.DISCONNECTED
    for mode in Mode
    if mode not in (Mode.ENERGISING, Mode.STREAMING, Mode.STOPPING)
}

TRANSITIONS: Mapping[tuple[Mode, Event], Mode] = MappingProxyType(
    {**_LISTED, **_ABANDONED, **_FAULTS, **_ESTOPS, **_LEAVING}
)


def follow(mode: Mode, event: Event) -> Mode:
    """The mode after `event`; the same mode if the pair is not listed."""
    return TRANSITIONS.get((mode, event), mode)

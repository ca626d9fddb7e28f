"""What adapters and second readers do to a line, on both kinds of controller, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from arm_stands import Rv2ajStand, Ssc32Stand, WiredStand
from line_noise import befall, streaming
from virtual_session import Session, script

from hil.errors import ControllerError, LineCause
from hil.runtime.line_health import SAYINGS, explained
from hil.types import LinkPhase, Mode
from sim.faults import FaultScript
from sim.ssc32 import Firmware

Case = tuple[str, Mapping[str, Any], LineCause | None]
CONNECTING: tuple[Case, ...] = (
    ("an adapter that echoes", {"kind": "echoed"}, LineCause.ECHO),
    ("a second reader takes half", {"kind": "shared", "every": 3}, LineCause.TORN),
    ("a byte every 30 ms", {"kind": "dribbled", "delay_ms": 30.0}, LineCause.TRICKLE),
    ("a byte every 5 ms", {"kind": "dribbled", "delay_ms": 5.0}, None),
    ("replies in pieces, 15 ms apart", {"kind": "dribbled", "probability": 0.1, "delay_ms": 15.0}, None),
    ("heaps, every 16 ms", {"kind": "merged", "delay_ms": 16.0}, None),
    ("heaps, every 100 ms", {"kind": "merged", "delay_ms": 100.0}, None),
)
"""In words, the fault, and the cause that has to be named; None where the line is only slow."""

AT_WORK: tuple[Case, ...] = (
    ("an echo begins", {"kind": "echoed"}, LineCause.ECHO),
    ("a second reader begins", {"kind": "shared", "probability": 0.05}, LineCause.TORN),
    ("a byte every 30 ms", {"kind": "dribbled", "delay_ms": 30.0}, LineCause.TRICKLE),
    ("a byte every 3 ms", {"kind": "dribbled", "delay_ms": 3.0}, None),
    ("heaps, every 16 ms", {"kind": "merged", "delay_ms": 16.0}, None),
)
CR1_AT_S = 60.0
"""When a fault at work begins: by then the stand is connected."""


class Told(NamedTuple):
    """What came of a fault.

    Attributes:
        cause: that was named; None for none.
        safe: nothing moved that was not to, and what was told says what to do.
    """

    cause: LineCause | None
    safe: bool


def _stand(kind: str, faults: FaultScript) -> WiredStand:
    return Ssc32Stand(Firmware.V2, faults) if kind == "ssc32" else Rv2ajStand("segments", faults)


def connecting(kind: str, fault: Mapping[str, Any], seed: int = 1) -> Told:
    """Connect on such a line."""
    stand = _stand(kind, script(dict(fault), seed=seed))
    cause, helps = None, True
    try:
        stand.connect()
    except ControllerError as error:
        cause = error.cause
        helps = cause is not None and explained(error).endswith(SAYINGS[cause].advice)
    return Told(cause, helps and stand.sent_to_the_arm() in (0, [0] * 5))


def at_work(kind: str, fault: Mapping[str, Any], seed: int = 1) -> Told:
    """The line becomes such a one: of an SSC-32 in the middle of a motion, of a CR1 while it is looked at."""
    return _in_a_motion(fault, seed) if kind == "ssc32" else _while_it_is_looked_at(fault, seed)


def _in_a_motion(fault: Mapping[str, Any], seed: int) -> Told:
    session = streaming(Session())
    befall(session, after_s=0.4, seed=seed, **fault)
    session.run(6.0)
    named = [
        cause
        for cause in (LineCause.ECHO, LineCause.TORN, LineCause.TRICKLE)
        if any(SAYINGS[cause].said in event and SAYINGS[cause].advice in event for event in session.events)
    ]
    session.board.advance(session.clock.now_s())
    stands = session.mode is (Mode.IDLE if not named else session.mode) and session.mode is not Mode.STREAMING
    return Told(named[0] if named else None, stands and not session.board.moving)


def _while_it_is_looked_at(fault: Mapping[str, Any], seed: int) -> Told:
    stand = Rv2ajStand("segments", script({**fault, "at_s": CR1_AT_S}, seed=seed))
    stand.connect()
    assert stand.now_s < CR1_AT_S
    before = stand.truth()
    signs: list[LineCause] = []
    try:
        while not signs and stand.now_s < CR1_AT_S + 20.0:
            state = stand.tick(period_s=0.02)
            signs += [state.sign] if state.sign is not None else []
            assert state.phase is LinkPhase.READY
    except ControllerError as error:
        signs += [error.cause] if error.cause is not None else []
    return Told(signs[-1] if signs else None, stand.truth() == before)

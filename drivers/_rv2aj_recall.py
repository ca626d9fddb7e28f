"""Servos of a CR1 that a stop found on their way on: switched off again, however late they come on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drivers._rv2aj_codec import Status
from drivers._rv2aj_line import Ask
from drivers._rv2aj_settings import PLAIN_REPLY
from drivers._rv2aj_talk import Talk, attempt

COME_ON_S = 2.0
"""Servos that are not on by then after SRVON do not come on any more: it takes 0.2 to 1.5 s."""
SRVOFF: Final = Ask("SRVOFF", length=PLAIN_REPLY)


def recall(clock_s: Callable[[], float], patience_s: float, look: Callable[[], Talk[Status]]) -> Talk[str]:
    """Have brakes hold the arm again. Moves nothing.

    While they come on the controller may not take it: it is said again whenever they are seen to be on.

    Args:
        clock_s: tells the time.
        patience_s: for how long servos that stay on are told so.
        look: asks how the controller is.

    Returns:
        What became of them, in words.
    """
    began_s, seen = clock_s(), False
    yield from attempt(SRVOFF)
    while True:
        on = (yield from look()).servo
        waited_s, seen = clock_s() - began_s, seen or on
        if not on and (seen or waited_s > COME_ON_S):
            return "the servos were on their way on when the stop came; they are off again"
        if on and waited_s > patience_s:
            return (
                "the servos were on their way on when the stop came; they do not go off again, and hold the arm: "
                "switch them off at the panel"
            )
        if on:
            yield from attempt(SRVOFF)

"""The end of a stop at a CR1: once the arm rests the slots are reset, or the next start would go on with its move."""

from __future__ import annotations

from typing import Final

from drivers._rv2aj_alarms import explain
from drivers._rv2aj_codec import decode_status
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_line import Ask
from drivers._rv2aj_looks import STATUS
from drivers._rv2aj_settings import PLAIN_REPLY
from drivers._rv2aj_talk import Talk, attempt, need
from hil.errors import ControllerError

HALT_S = 3.0

STOP: Final = Ask("STOP", length=PLAIN_REPLY, spaced=False)
"""One whose answer is waited for, unlike the line's own."""
_RESET: Final = Ask("SLOTINIT", length=PLAIN_REPLY)


def reset_slots(exchange: Exchange, name: str) -> Talk[None]:
    """Wait for rest, stop again what does not come to it, and leave nothing to go on with.

    Args:
        exchange: on which it is said.
        name: the port's name for messages.

    Raises:
        ControllerError: it does not come to rest.
    """
    began_s = exchange.now_s
    while True:
        status = decode_status((yield from need(STATUS)).data)
        reply, _ = yield from attempt(STOP if status.running else _RESET)
        if reply.accepted and not status.running:
            return
        if exchange.now_s - began_s > HALT_S:
            why = "" if reply.accepted else f" ({explain(reply.error).words})"
            raise ControllerError(f"{name}: the controller does not come to rest {HALT_S:g} s after STOP{why}")

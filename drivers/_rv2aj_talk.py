"""Conversations with a CR1 as generators: each yields what to ask and is sent what became of it.

None instead of a request means: nothing to say now, come back at the next look at the line.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from drivers._rv2aj_alarms import explain
from drivers._rv2aj_codec import Reply
from drivers._rv2aj_line import Ask, Heard
from hil.errors import ControllerError, LinkTimeout

T = TypeVar("T")
Talk = Generator[Ask | None, Heard | None, T]

ATTEMPTS = 3


class RequestRefusedError(ControllerError):
    """The controller refused a request; `number` holds its four digits."""

    def __init__(self, command: str, reply: Reply) -> None:
        self.number = reply.error
        words = explain(reply.error).words
        super().__init__(f"the controller refuses {command.split('=')[0][:20]}: {words}", str(reply.error).encode())


def attempt(ask: Ask) -> Talk[tuple[Reply, float]]:
    """Ask until there is a reply, a few times; for what may be asked twice.

    Returns:
        The reply, and when its request had arrived.

    Raises:
        LinkTimeout: there is none.
    """
    for _ in range(ATTEMPTS):
        heard = yield ask
        if heard is not None and heard.reply is not None:
            return heard.reply, heard.arrived_s
    raise LinkTimeout(f"no answer to {ask.command.split('=')[0][:20]} in {ATTEMPTS} attempts")


def need(ask: Ask) -> Talk[Reply]:
    """As `attempt`, and the reply has to be an acceptance.

    Raises:
        RequestRefusedError: it is none.
        LinkTimeout: there is none.
    """
    reply, _ = yield from attempt(ask)
    if not reply.accepted:
        raise RequestRefusedError(ask.command, reply)
    return reply

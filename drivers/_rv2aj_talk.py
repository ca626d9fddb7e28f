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

UNREAD_S = 5.0
"""For so long one question is asked again whose answers are lost while others are answered."""


class RequestRefusedError(ControllerError):
    """The controller refused a request; `number` holds its four digits."""

    def __init__(self, command: str, reply: Reply) -> None:
        self.number = reply.error
        words = explain(reply.error).words
        super().__init__(f"the controller refuses {command.split('=')[0][:20]}: {words}", str(reply.error).encode())


def attempt(ask: Ask) -> Talk[tuple[Reply, float]]:
    """Ask until there is a reply; for what may be asked twice.

    A reply is waited for as long as it may still come. Whoever holds the conversation ends it if nobody answers at all.

    Returns:
        The reply, and when its request had arrived.

    Raises:
        LinkTimeout: its replies are lost again and again, though the controller answers other questions.
    """
    first_s: float | None = None
    while True:
        heard = yield ask
        if heard is None:
            continue
        if heard.reply is not None:
            return heard.reply, heard.arrived_s
        first_s = heard.arrived_s if first_s is None else first_s
        if heard.arrived_s - first_s > UNREAD_S:
            raise LinkTimeout(
                f"no answer to {ask.command.split('=')[0][:20]} that can be read for {UNREAD_S:g} s, though the "
                "controller answers other questions: look at the cable, and whether the line is set the same at both "
                "ends"
            )


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

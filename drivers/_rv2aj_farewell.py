"""The end of a session with a CR1, request by request, each read and at its distance: nothing of ours stays behind."""

from __future__ import annotations

import contextlib

from drivers._rv2aj_converse import converse
from drivers._rv2aj_line import Ask, Cr1Line
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_settings import PLAIN_REPLY
from drivers._rv2aj_talk import Talk, attempt
from hil.clock import Clock
from hil.errors import HilError

CLOSE = "CLOSE"


def part(line: Cr1Line, ours: OurProgram, holds_right: bool) -> Talk[tuple[str, ...]]:
    """Take our program away, give the right back, close the session. The arm is at rest, or no program of ours runs.

    What is done is not done again by whoever lets go of the line: `ours` has nothing then, and `line` is not opened.

    Args:
        line: of the session.
        ours: what is there of ours.
        holds_right: the right to move the arm is ours.

    Returns:
        In words what was refused.
    """
    refused = yield from ours.take_away()
    if holds_right:
        yield from attempt(Ask("CNTLOFF", length=PLAIN_REPLY))
    yield from close_session(line)
    return (refused,) if refused else ()


def close_session(line: Cr1Line) -> Talk[None]:
    """Say that we go; a controller that does not answer that is not asked again."""
    yield Ask(CLOSE, length=PLAIN_REPLY)
    line.opened = False


def close_and_wait(line: Cr1Line, clock: Clock) -> None:
    """The same for who waits by a clock. Nobody who does not answer keeps us."""
    if line.opened:
        with contextlib.suppress(HilError):
            converse(line, clock, close_session(line), spaced=True)

"""Whole conversations with a CR1 apart from any session: ask, wait for the reply, go on, by a clock that is given."""

from __future__ import annotations

from drivers._rv2aj_hello import refuse_silence
from drivers._rv2aj_line import Cr1Line
from drivers._rv2aj_settings import SPACING_S
from drivers._rv2aj_talk import T, Talk
from hil.clock import Clock

POLL_S = 0.005


def converse(line: Cr1Line, clock: Clock, talking: Talk[T], *, spaced: bool = False) -> T:
    """Hold a conversation to its end.

    Args:
        line: open.
        clock: what to wait by.
        talking: what to say; None from it means: look at the line again in a moment.
        spaced: leave 100 ms after each reply, as is asked for while a program runs.

    Raises:
        LinkTimeout: nobody answers any more.
        ControllerError: something that is no CR1 answers.
    """
    heard = None
    while True:
        try:
            asked = talking.send(heard)
        except StopIteration as done:
            result: T = done.value
            return result
        heard = None
        if asked is None:
            _look(line, clock)
            continue
        while not line.idle or (spaced and asked.spaced and clock.now_s() < line.replied_s + SPACING_S):
            _look(line, clock)
        line.ask(asked, clock.now_s())
        while (heard := line.take(clock.now_s())) is None:
            refuse_silence(line, clock.now_s())
            clock.sleep_until(clock.now_s() + POLL_S)


def _look(line: Cr1Line, clock: Clock) -> None:
    """Let a moment pass."""
    clock.sleep_until(clock.now_s() + POLL_S)
    line.take(clock.now_s())
    refuse_silence(line, clock.now_s())

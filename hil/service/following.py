"""Following an arm of a lab from a program: targets told many times a second, for as long as the dead-man is held."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.clock import monotonic_s
from hil.errors import CommandError, InterlockError, LinkClosed
from hil.service import wire
from hil.service.client_channel import GRIP_S
from hil.service.client_dead_man import ClientDeadMan
from hil.service.hold_watch import Sign
from hil.service.program_hand import DeadMan, ProgramHand
from hil.types import AxisGoal, Mode, ToolGoal

if TYPE_CHECKING:
    from hil.service.client_channel import ClientChannel

SINCE = 2
"""Version of the protocol that has targets."""

RATES_HZ = (10.0, 60.0)

Goal = Callable[[], AxisGoal | ToolGoal | None]
"""Where the arm shall be now; None ends it."""

_MOVES = (Mode.IDLE, Mode.ARMED, Mode.STREAMING)


def refuse_rate(welcome: wire.Welcome, rate_hz: float) -> None:
    """Refuse a lab that knows no targets, and a rate that no loop takes.

    Raises:
        InterlockError: the lab is of before.
        CommandError: the rate is outside its range.
    """
    if welcome.speaks < SINCE:
        raise InterlockError(
            f"this lab speaks version {welcome.speaks} of the protocol, which has no targets to follow", ["a newer lab"]
        )
    if not (math.isfinite(rate_hz) and RATES_HZ[0] <= rate_hz <= RATES_HZ[1]):
        allowed = f"{RATES_HZ[0]:g} to {RATES_HZ[1]:g}"
        raise CommandError(f"{rate_hz!r} targets a second; allowed: {allowed}", value=rate_hz, allowed=allowed)


async def lead(
    arm: ClientChannel,
    dead_man: ClientDeadMan,
    goal: Goal,
    pressed: DeadMan,
    rate_hz: float,
    sign: Callable[[], Sign] | None,
) -> None:
    """Tell targets until there is none, or the dead-man is released; the arm is armed already.

    Raises:
        InterlockError: the dead-man does not count, the lease has changed, or the loop does not follow.
        LinkClosed: the connection was lost; the arm holds.
    """
    epoch, begun_s, mark = arm.epoch, monotonic_s(), arm.mark
    grip_s, due_s = begun_s + GRIP_S, begun_s
    hand = ProgramHand(pressed, begun_s)
    try:
        while arm.drives and arm.epoch == epoch:
            wanted = goal()
            if wanted is None or (shown := hand.look(monotonic_s(), wanted)) is None:
                break
            arm.hold(sign=shown if sign is None else sign())
            if arm.held:
                await arm.tell(wire.FollowTarget, target=wanted)
            elif dead_man.press_again or monotonic_s() > grip_s:
                raise dead_man.not_held()
            if words := _why_over(arm, mark):
                raise InterlockError(words)
            due_s = max(due_s + 1.0 / rate_hz, monotonic_s())
            await asyncio.sleep(due_s - monotonic_s())
        if not arm.connected:
            raise LinkClosed(f"{arm.url}: the connection was lost; the arm holds", port=arm.url)
        if arm.epoch != epoch or not arm.drives:
            raise InterlockError("the lease has changed meanwhile", ["lease"])
    finally:
        # The release ends it; a beat at once would make a stop of an end that was meant.
        dead_man.let_go()
        if arm.drives:
            with contextlib.suppress(LinkClosed):
                await arm.tell(wire.JogRelease)


def _why_over(arm: ClientChannel, mark: int) -> str:
    """What has ended it at the loop, in words; empty while it goes on."""
    news = arm.since(mark)
    refused = next((words for words in news if words.startswith("refused: ")), "")
    if refused or arm.mode in _MOVES:
        return refused.removeprefix("refused: ")
    return next((words for words in reversed(news) if "stop: " in words), "")

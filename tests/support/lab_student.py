"""A student as a process of its own: told over standard input, it jogs the base, or leads it, until trouble comes."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time

from hil.errors import HilError
from hil.service.client import AsyncArm
from hil.service.lab_request import Access
from hil.types import AxisGoal, AxisJog, Mode

SHARE = 0.5
TURN_RAD = 0.6
LED_RAD, LED_PERIOD_S, LED_S = 0.4, 6.0, 30.0
TROUBLE = ("nothing heard from the driver", "connection lost")


def say(words: str) -> None:
    """A line for whoever has started this."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


async def main() -> None:
    """Serve lines: first how to get in, then `jog` or `lead` for each time of driving."""
    about = json.loads(await asyncio.to_thread(sys.stdin.readline))
    access = Access(url=about["url"], token=about["token"], certificate_sha256=about["certificate_sha256"])
    arm = AsyncArm(access, about["arm"])
    await arm.open()
    say("here")
    while how := (await asyncio.to_thread(sys.stdin.readline)).strip():
        try:
            await sit_down(arm)
            await (lead if how == "lead" else jog)(arm)
        except HilError as error:
            say(f"ended: {type(error).__name__}: {error}")
        else:
            say("ended: it is over")


async def sit_down(arm: AsyncArm) -> None:
    """Become the driver."""
    if not arm.drives:
        await arm.claim(within_s=10.0)
    await arm.until(lambda: arm.telemetry is not None, 30.0)


async def lead(arm: AsyncArm) -> None:
    """Swing the base by targets, about where it stands, for as long as it is allowed."""
    assert arm.telemetry is not None
    start = tuple(0.0 if at is None else at for at in arm.telemetry.commanded)
    began_s, said = time.monotonic(), False

    def goal() -> AxisGoal | None:
        nonlocal said
        if not said and arm.mode is Mode.STREAMING:
            said = True
            say("driving")
        gone_s = time.monotonic() - began_s
        swing = LED_RAD * math.sin(2.0 * math.pi * gone_s / LED_PERIOD_S)
        return AxisGoal(positions=(start[0] + swing, *start[1:])) if gone_s < LED_S else None

    await arm.follow(goal, lambda: True, SHARE)


async def jog(arm: AsyncArm) -> None:
    """To and fro for as long as it is allowed."""
    assert arm.welcome is not None and arm.telemetry is not None
    axis = arm.welcome.axes[0]
    way = 1.0
    said = False

    def pressed() -> bool:
        nonlocal said
        assert arm.telemetry is not None
        if not said and arm.mode is Mode.STREAMING:
            said = True
            say("driving")
        at = arm.telemetry.commanded[0]
        return time.monotonic() < turn_s and at is not None and way * at < TURN_RAD

    while arm.drives:
        turn_s = time.monotonic() + 6.0
        mark, epoch = arm.mark, arm.epoch
        await arm.jog(AxisJog(amounts=(way * axis.speed * SHARE, 0.0, 0.0, 0.0, 0.0, 0.0)), pressed, SHARE)
        if arm.epoch != epoch or not arm.drives or pressed():
            return
        await arm.settled(mark, 10.0)
        await arm.free()
        if any(words in line for line in arm.since(mark) for words in TROUBLE):
            return  # it was stopped just where it would have turned; who then presses again would hide what comes of it
        way = -way


if __name__ == "__main__":
    asyncio.run(main())

"""What is asked of the arm for one press, step by step, in the thread that waits for answers; without widgets.

Each says at its end whether anything began: who lets go before that has not been refused anything, and is told so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hil.dashboard.dead_man import Grip
from hil.dashboard.drive_moves import Move
from hil.dashboard.link import FarArm
from hil.errors import InterlockError
from hil.types import Mode

REST_S = 5.0
"""An arm that is still stopping is waited for so long; what is let go of meanwhile is dropped."""

STEP_S = 60.0
PLANNED_S = 300.0
READY = frozenset({Mode.IDLE, Mode.HOLDING, Mode.ARMED})

Act = Callable[[FarArm, Grip], Awaitable[bool]]
"""Something that goes on while it is held; whether it began."""


def jog(move: Callable[[], Move], share: float) -> Act:
    """Rates, for as long as it is held."""

    async def act(arm: FarArm, grip: Grip) -> bool:
        began = False

        def goes_on() -> bool:
            nonlocal began
            began = began or arm.mode is Mode.STREAMING
            return grip.held and (not began or arm.mode is Mode.STREAMING)

        await arm.jog(move, goes_on, share, sign=lambda: grip.sign)
        return began or arm.mode in (Mode.STREAMING, Mode.STOPPING)

    return act


def planned(asked: Callable[[FarArm], Awaitable[None]]) -> Act:
    """A motion that the service plans, to its end."""

    async def act(arm: FarArm, grip: Grip) -> bool:
        mark = arm.mark
        await asked(arm)
        await arm.settled(mark, PLANNED_S)
        return True

    return act


async def while_held(arm: FarArm, grip: Grip, act: Act, *, from_rest: bool) -> bool:
    """Do it once the arm is ready, unless the hand is gone by then."""
    await arm.free()
    if from_rest:
        await arm.until(lambda: arm.mode in READY or not grip.held, REST_S)
    if not grip.held:
        return False
    try:
        return await act(arm, grip)
    except InterlockError:
        # Whoever lets go while it begins has not been refused anything.
        if grip.held:
            raise
        return False


async def step(arm: FarArm, move: Move, share: float, wanted: Callable[[], bool]) -> bool:
    """One increment, which ends by itself; none after a stop that came before it began."""
    await arm.free()
    await arm.until(lambda: arm.mode in READY or not wanted(), REST_S)
    if not wanted():
        return False
    mark = arm.mark
    await arm.step(move, share)
    await arm.settled(mark, STEP_S)
    return True

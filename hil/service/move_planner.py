"""Moves of one arm that the service plans itself: one at a time, and made only if nothing called it off meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hil.errors import HilError, InterlockError
from hil.service.arm_loop import ArmLoop
from hil.service.house import Workshop
from hil.service.live_arm import LiveArm
from hil.service.uploads import Job
from hil.service.uploads import UploadVerdict as Preview
from hil.types import Arm, Load, Mode, Request, Start, Stop


class MovePlanner:
    """Plans for one arm.

    Args:
        loop: makes the moves.
        live: what is known of the arm.
        workshop: previews them.
    """

    def __init__(self, loop: ArmLoop, live: LiveArm, workshop: Workshop) -> None:
        self._loop, self._live, self._workshop = loop, live, workshop
        self._task: asyncio.Task[None] | None = None

    @property
    def at_work(self) -> bool:
        """Whether a move is still being planned: the one who asked may be gone by now."""
        return self._task is not None and not self._task.done()

    def begin(self, job: Job, then: Callable[[Preview], None], failed: Callable[[HilError], None]) -> None:
        """Plan and preview a move; one that is still being planned is given up.

        Args:
            job: what to plan.
            then: is given what came of it.
            failed: is given why nothing came, or what `then` has raised.
        """
        if self._task is not None:
            self._task.cancel()
        self._loop.called_off = ""
        self._task = asyncio.get_running_loop().create_task(self._plan(job, then, failed))

    async def _plan(self, job: Job, then: Callable[[Preview], None], failed: Callable[[HilError], None]) -> None:
        try:
            then(await self._workshop.previews.preview(job))
        except HilError as error:
            failed(error)

    def check_wanted(self) -> None:
        """What was asked for before it was planned is not made if anything stopped the arm, or would, meanwhile.

        Raises:
            InterlockError: something did, or would.
        """
        why_not = self._loop.called_off or self._workshop.trouble
        if why_not:
            raise InterlockError(f"called off while it was planned: {why_not}; ask again", ["a new request"])

    def make(self, preview: Preview) -> None:
        """Load, arm and start; the loop refuses it if the arm does not stand where it begins.

        Raises:
            InterlockError: there is no loop, or it does not take it.
        """
        load = Load(motion=preview.motion, certificate=preview.certificate)
        requests: tuple[Request, ...] = (load, Arm(digest=preview.digest), Start(digest=preview.digest))
        if self._loop.mode is Mode.ARMED:
            requests = (Stop(reason="a previewed move takes over"), *requests)
        self._loop.send(*requests)
        self._live.loaded(preview)

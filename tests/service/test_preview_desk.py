"""Previews: one of each person at a time, people in turn; one that takes too much work is no end of the others."""

from __future__ import annotations

import asyncio
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import CommandError, InterlockError
from hil.runtime.wiring import load_rig
from hil.service.preview_desk import MOST_WAITING, MOST_WAITING_OF_ONE, PreviewDesk, Turns
from hil.service.uploads import Job

USERS = st.sampled_from(["Ada", "Ben", "Cy"])


class Queue:
    """People who wait for places, and who has one."""

    def __init__(self, places: int) -> None:
        self.turns = Turns(places)
        self.at_work: list[tuple[str, int]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def come(self, user: str) -> None:
        """Somebody wants a place."""
        self.tasks.append(asyncio.create_task(self._take(user)))
        await settle()

    async def _take(self, user: str) -> None:
        place = await self.turns.take(user)
        self.at_work.append((user, place))

    async def finish(self, index: int = 0) -> None:
        """Somebody is done."""
        user, place = self.at_work.pop(index)
        self.turns.give(user, place)
        await settle()

    async def close(self) -> None:
        """Everybody who still waits goes away."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def settle() -> None:
    """Let everything happen that can."""
    for _ in range(5):
        await asyncio.sleep(0)


@given(st.integers(1, 3), st.lists(st.one_of(USERS, st.integers(0, 2)), max_size=30))
def test_nobody_has_two_places_and_none_is_empty_while_somebody_waits_who_may_have_it(
    places: int, events: list[str | int]
) -> None:
    async def story() -> None:
        queue = Queue(places)
        came = done = 0
        waiting: dict[str, int] = {}
        for event in events:
            if isinstance(event, str):
                if waiting.get(event, 0) >= MOST_WAITING_OF_ONE:
                    continue
                came += 1
                await queue.come(event)
            elif event < len(queue.at_work):
                done += 1
                await queue.finish(event)
            users = [user for user, _ in queue.at_work]
            taken = [place for _, place in queue.at_work]
            waiting = {user: len(own) for user, own in queue.turns._waiting.items()}
            assert len(set(users)) == len(users)
            assert len(set(taken)) == len(taken) <= places
            assert len(taken) == places or set(waiting) <= set(users)
            assert came - done == len(users) + sum(waiting.values())
        await queue.close()

    asyncio.run(story())


def test_a_second_person_does_not_wait_for_all_that_the_first_has_sent() -> None:
    async def story() -> None:
        queue = Queue(1)
        for user in ("Ada", "Ada", "Ada", "Ben", "Cy", "Ben"):
            await queue.come(user)
        order = []
        while queue.at_work:
            order.append(queue.at_work[0][0])
            await queue.finish()
        assert order == ["Ada", "Ben", "Cy", "Ada", "Ben", "Ada"]
        await queue.close()

    asyncio.run(story())


def test_so_many_may_wait_of_one_person_and_in_all() -> None:
    async def story() -> None:
        assert (MOST_WAITING, MOST_WAITING_OF_ONE) == (32, 4)
        queue = Queue(1)
        for _ in range(1 + MOST_WAITING_OF_ONE):
            await queue.come("Ada")
        with pytest.raises(InterlockError, match="4 of your previews wait already; allowed: 4"):
            await queue.turns.take("Ada")
        for number in range(MOST_WAITING - MOST_WAITING_OF_ONE):
            await queue.come(f"user {number}")
        with pytest.raises(InterlockError, match="32 previews wait already; allowed: 32"):
            await queue.turns.take("Ben")
        await queue.close()

    asyncio.run(story())


def test_who_goes_away_while_waiting_or_just_as_it_is_his_turn_leaves_no_place_behind_that_nobody_has() -> None:
    async def story() -> None:
        queue = Queue(1)
        for user in ("Ada", "Ben", "Cy"):
            await queue.come(user)
        queue.tasks[1].cancel()
        await settle()
        place = queue.at_work.pop()
        queue.turns.give(*place)
        # Cy has been given the place, and does not know yet.
        queue.tasks[2].cancel()
        await settle()
        await queue.come("Dee")
        assert queue.at_work == [("Dee", 0)]
        await queue.close()

    asyncio.run(story())


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="work is not measured there")
def test_a_preview_that_takes_more_work_than_it_may_is_given_up_and_the_next_is_made() -> None:
    rig = load_rig("lynx6")

    async def story() -> None:
        desk = PreviewDesk({"left": rig}, cpu_s=3.0)
        try:
            move = Job(arm="left", language="move", start=rig.park, goal=rig.park)
            assert (await desk.preview(move)).ok
            there_and_back = "".join(
                f'[[step]]\ndo = "move"\nto = "{to}"\nspeed_percent = 5\n' for to in ("home", "park")
            )
            heavy = Job(
                arm="left", language="task", name="heavy", text=f'title = "t"\n{12 * there_and_back}', start=rig.park
            )
            with pytest.raises(CommandError, match=r"the preview of heavy took more than 3 s of work; allowed: less"):
                await desk.preview(heavy)
            assert (await desk.preview(move)).ok
        finally:
            desk.close()

    asyncio.run(story())

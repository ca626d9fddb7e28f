"""A move that the server still plans: whatever stops the arm meanwhile calls it off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lab_server import LatePreviews, Person, Served, kinds, run, served

from hil.errors import JournalError
from hil.service.audit import Deed
from hil.types import Mode

pytestmark = pytest.mark.wall_clock

Act = Callable[[Served, Person], Awaitable[Any]]


async def _stop(lab: Served, person: Person) -> None:
    assert (await person.ask("stop", reason="not that way"))["type"] == "accepted"


async def _let_go_and_press_anew(lab: Served, person: Person) -> None:
    await person.hold()


async def _release_the_jog(lab: Served, person: Person) -> None:
    assert (await person.order("jog_release"))["type"] == "accepted"


async def _lose_the_audit(lab: Served, person: Person) -> None:
    def full(*given: Any) -> None:
        raise JournalError("no space left")

    lab.lab._audit.note = full
    lab.lab.note(Deed(who="", what="a test", verdict="done"))


async def _be_silent_for_a_moment(lab: Served, person: Person) -> None:
    person.fall_silent()
    await person.until(lambda: any(notice["kind"] == "heartbeat_lost" for notice in person.notices))
    await person.hold()


@pytest.mark.parametrize(
    "act",
    [_stop, _let_go_and_press_anew, _release_the_jog, _be_silent_for_a_moment, _lose_the_audit],
    ids=lambda act: act.__name__.strip("_"),
)
@pytest.mark.parametrize(
    "asked", [{"kind": "go", "to": "home"}, {"kind": "self_test"}], ids=lambda asked: asked["kind"]
)
def test_what_stops_the_arm_while_a_move_is_planned_calls_it_off(
    asked: dict[str, str], act: Act, tmp_path: Path
) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            lab.lab.previews = late = LatePreviews(lab.lab.previews)  # type: ignore[assignment]
            person, worker = await lab.join(), lab.workers["arm-1"]
            await person.drive()
            number = await _ask(person, **asked)
            await late.asked.wait()
            await act(lab, person)
            late.given.set()
            await person.until(lambda: number in person.answers)
            assert person.answers[number]["type"] == "refused"
            assert "called off" in person.answers[number]["reason"]
            assert "Start" not in kinds(worker.sent)

    run(story)


def test_what_was_called_off_may_be_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            lab.lab.previews = late = LatePreviews(lab.lab.previews)  # type: ignore[assignment]
            person = await lab.join()
            await person.drive()
            number = await _ask(person, "go", to="home")
            await late.asked.wait()
            await person.ask("stop")
            late.given.set()
            await person.until(lambda: number in person.answers)
            assert (await person.order("go", to="home", speed_share=0.5))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)

    run(story)


async def _ask(person: Person, kind: str, **fields: str) -> int:
    """Ask for a planned move, and wait for no answer."""
    given = {"arm": "arm-1", "epoch": person.lease["epoch"], "issued_s": person.now_s(), "speed_share": 0.5}
    return await person.send(kind, **given, **fields)

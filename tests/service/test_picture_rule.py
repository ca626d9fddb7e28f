"""The rule of the picture: who drives from afar by a camera that hangs is stopped, and told; nobody else is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lab_server import PATIENCE_S, PATIENT, LatePreviews, Person, Served, VirtualWorker, kinds, run, served
from tokens_of_people import token

from hil.service.camera import Camera, Picture
from hil.service.settings import PictureSettings, Settings
from hil.types import Mode, Stop

pytestmark = pytest.mark.wall_clock

SETTINGS = Settings(lease=PATIENT.lease, pictures=PictureSettings(needed=True, oldest_s=1.0))
TOO_OLD = "the camera's picture is too old"
LONG_AGO_S = 60.0


class SetCamera(Camera):
    """A camera whose pictures are as old as the test says.

    Attributes:
        hangs: its newest picture is from long ago.
    """

    def __init__(self) -> None:
        self.hangs = False
        super().__init__(_Flow())

    @property
    def newest(self) -> Picture | None:
        """What it shows now."""
        return Picture(data=b"x", content_type="image/png", taken_s=time.monotonic() - LONG_AGO_S * self.hangs)

    @newest.setter
    def newest(self, picture: Picture | None) -> None:
        """What is fetched does not count here."""

    def want(self) -> None:
        """Nothing has to be fetched."""


class _Flow:
    """Pictures, each another than the one before, until the camera hangs."""

    def __init__(self) -> None:
        self.hangs = False

    async def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        """One after the other."""
        for number in range(1_000_000):
            while self.hangs:
                await asyncio.sleep(0.01)
            yield str(number).encode(), "image/png"
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def _by_pictures(folder: Path, camera: Camera) -> AsyncIterator[tuple[Served, VirtualWorker]]:
    """A lab in which one drives from afar only by pictures; its arm has this camera."""
    async with served(folder, keyed=True, settings=SETTINGS) as lab:
        await lab.ready()
        desk = lab.lab.desks["arm-1"]
        desk.camera = camera
        yield lab, lab.workers["arm-1"]


async def _driver(lab: Served, *, on_site: bool = False) -> Person:
    person = await lab.join(token=token("Dee", on_site=on_site), on_site=on_site)
    assert person.welcome is not None
    assert person.welcome["on_site"] is on_site
    await person.drive()
    return person


def _go(person: Person) -> dict[str, Any]:
    return {"to": "home", "speed_share": 0.2, "picture_s": person.now_s()}


def _told(person: Person, kind: str) -> int:
    return sum(notice["kind"] == kind for notice in person.notices)


def _stops(worker: VirtualWorker) -> int:
    return sum(isinstance(request, Stop) and request.reason == TOO_OLD for request in worker.sent)


async def _looks(worker: VirtualWorker, times: int = 10) -> None:
    """The server looks at the arm so many times more."""
    seen = worker.beats
    async with asyncio.timeout(PATIENCE_S):
        while worker.beats < seen + times:
            await asyncio.sleep(0.01)


def test_a_driver_from_afar_is_stopped_once_when_the_camera_hangs_and_told_when_it_is_back(tmp_path: Path) -> None:
    async def story() -> None:
        camera = SetCamera()
        async with _by_pictures(tmp_path, camera) as (lab, worker):
            person = await _driver(lab)
            assert (await person.order("go", **_go(person)))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            await _looks(worker)
            assert (_stops(worker), _told(person, "picture_stale")) == (0, 0)
            camera.hangs = True
            await person.until(lambda: _told(person, "picture_stale") > 0)
            await lab.reach(Mode.HOLDING)
            await _looks(worker)
            assert (_stops(worker), _told(person, "picture_stale")) == (1, 1)
            assert (await person.order("go", **_go(person)))["code"] == "picture"
            assert _told(person, "picture_back") == 0
            camera.hangs = False
            await person.until(lambda: _told(person, "picture_back") > 0)
            await _looks(worker)
            assert (_stops(worker), _told(person, "picture_back")) == (1, 1)
            # What was stopped does not go on by itself; whoever asks anew may.
            assert kinds(worker.sent).count("Start") == 1
            assert lab.lab.desks["arm-1"].loop.mode is Mode.HOLDING
            assert (await person.order("go", **_go(person)))["type"] == "accepted"
            # A second time counts as the first did.
            camera.hangs = True
            await person.until(lambda: _told(person, "picture_stale") > 1)
            assert _stops(worker) == 2

    run(story)


def test_a_driver_beside_the_arm_needs_no_picture(tmp_path: Path) -> None:
    async def story() -> None:
        camera = SetCamera()
        async with _by_pictures(tmp_path, camera) as (lab, worker):
            person = await _driver(lab, on_site=True)
            camera.hangs = True
            assert (await person.order("go", **_go(person)))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            await _looks(worker)
            await lab.reach(Mode.IDLE)
            assert (_stops(worker), _told(person, "picture_stale")) == (0, 0)

    run(story)


def test_where_no_picture_is_needed_a_camera_that_hangs_stops_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            camera, worker = SetCamera(), lab.workers["arm-1"]
            lab.lab.desks["arm-1"].camera = camera
            person = await _driver(lab)
            assert (await person.order("go", to="home", speed_share=0.2))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            camera.hangs = True
            await _looks(worker)
            assert (_stops(worker), _told(person, "picture_stale")) == (0, 0)

    run(story)


def test_a_move_that_is_still_planned_when_the_camera_hangs_is_called_off(tmp_path: Path) -> None:
    async def story() -> None:
        camera = SetCamera()
        async with _by_pictures(tmp_path, camera) as (lab, worker):
            lab.lab.previews = late = LatePreviews(lab.lab.previews)  # type: ignore[assignment]
            person = await _driver(lab)
            asked = asyncio.create_task(person.order("go", **_go(person)))
            await late.asked.wait()
            camera.hangs = True
            await person.until(lambda: _told(person, "picture_stale") > 0)
            # Even if it is back before the plan is there: the person has not seen what was in between.
            camera.hangs = False
            await person.until(lambda: _told(person, "picture_back") > 0)
            late.given.set()
            answer = await asked
            assert answer["type"] == "refused"
            assert f"called off while it was planned: {TOO_OLD}" in answer["reason"]
            await _looks(worker)
            assert "Start" not in kinds(worker.sent)
            assert (await person.order("go", **_go(person)))["type"] == "accepted"

    run(story)


def test_a_camera_that_really_hangs_says_so_by_the_age_of_its_last_picture(tmp_path: Path) -> None:
    async def story() -> None:
        flow = _Flow()
        camera = Camera(flow)
        async with _by_pictures(tmp_path, camera) as (lab, worker):
            assert await camera.after(float("-inf"), PATIENCE_S) is not None
            person = await _driver(lab)
            before = _stops(worker)
            assert (await person.order("go", **_go(person)))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            flow.hangs = True
            stopped_from = _told(person, "picture_stale")
            await person.until(lambda: _told(person, "picture_stale") > stopped_from)
            assert _stops(worker) == before + 1
            await lab.reach(Mode.HOLDING)
            flow.hangs = False
            back = _told(person, "picture_back")
            await person.until(lambda: _told(person, "picture_back") > back)

    run(story)

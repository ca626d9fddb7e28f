"""A lab of virtual arms with a course, known to a learning system on another port."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession, DummyCookieJar, web
from lab_server import PATIENT, TOKEN_KEY, Served, VirtualWorker, made_lab
from lti_platform import Platform, rsa_key

from hil.service.app import application
from hil.service.arm_worker import ArmSpec
from hil.service.callers import Callers
from hil.service.courses.books import OpenCourse, open_courses
from hil.service.demo import demo_arms
from hil.service.doors import Door
from hil.service.keys import SigningKey
from hil.service.lti_book import LtiBook
from hil.service.lti_keys import ToolKey
from hil.service.lti_settings import LtiSettings, PlatformSettings
from hil.service.lti_site import LtiSite
from hil.service.revocation import HEADING, Revocations
from hil.service.tokens import TokenChecker

SESSIONS = SigningKey(b"s" * 32)
COURSE = """title = "Mechatronics"
students = ["Ana"]
[[exercise]]
name = "pick-and-place"
[[exercise]]
name = "where-is-the-tool"
"""


class Site(Served):
    """A lab that a learning system knows."""

    book: LtiBook
    course: OpenCourse
    platform: Platform


@contextlib.asynccontextmanager
async def connected(
    folder: Path, platform: Platform, *, arms: int = 1, only: tuple[str, ...] = (), **changes: Any
) -> AsyncIterator[Site]:
    """The lab's server; the next one in the same folder goes on where it ended."""
    (folder / "rigs").mkdir(exist_ok=True)
    (folder / "courses" / "mech").mkdir(parents=True, exist_ok=True)
    (folder / "courses" / "mech" / "course.toml").write_text(COURSE)
    if not (folder / "revoked.txt").exists():
        (folder / "revoked.txt").write_text(HEADING)
    plans = demo_arms(arms, "lynx6", folder / "rigs")
    keys = [TOKEN_KEY.public, SESSIONS.public]
    workers: dict[str, VirtualWorker] = {}

    def make(spec: ArmSpec, **options: Any) -> VirtualWorker:
        return workers.setdefault(spec.rig.id, VirtualWorker(spec, **options))

    door = Door(TokenChecker(keys, Revocations(folder / "revoked.txt")))
    lti = LtiSettings(
        platforms={"moodle": msgspec.convert(platform.settings | changes | {"arms": only}, PlatformSettings)}
    )
    lab = made_lab(folder, plans, make_arm=make, settings=msgspec.structs.replace(PATIENT, lti=lti), door=door)
    lab.courses = open_courses(folder, {plan.arm: plan.rig.robot.id for plan in plans}, lab.say)
    # The address has to be known before anybody listens there.
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as place:
        port = place.getsockname()[1]
    url = platform.tool = f"http://127.0.0.1:{port}"
    book = LtiBook(folder / "lti.sqlite")
    pages = LtiSite(
        lab, lti, public_url=url, key=ToolKey(rsa_key(9)), session_key=SESSIONS, book=book,
        issued=folder / "issued.jsonl",
    )  # fmt: skip
    runner = web.AppRunner(application(lab, Callers(), trust_proxy=False, course_pages=pages), shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with ClientSession(cookie_jar=DummyCookieJar()) as session:
        site = Site(lab, url, session, workers)
        site.book, site.platform = book, platform
        found = lab.courses.get("mech")
        assert found is not None
        site.course = found
        try:
            yield site
        finally:
            await site.empty()
            await runner.cleanup()

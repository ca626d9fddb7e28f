"""From a click on a course page to the arm's page as that person, and from a result to the gradebook.

The lab's whole server, on virtual arms; the learning system is lti1p3platform on another port; the browser is played.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra [lti]")
pytest.importorskip("lti1p3platform", reason="needs the extra [lti] and the other side, lti1p3platform")

from lab_server import run
from lti_lab import Site, connected
from lti_platform import Platform

from hil.labs.grade_records import Mark, Marked
from hil.service.audit_query import query
from hil.service.bookings import Condition
from hil.service.courses.books import open_courses
from hil.service.grants import peek
from hil.service.issued import issued
from hil.service.lti_book import MarkState, person_name
from hil.service.revocation import revoke_all
from hil.service.rights import Role

pytestmark = pytest.mark.wall_clock


@pytest.fixture(scope="module")
def serving() -> Iterator[Platform]:
    platform = Platform()
    yield platform
    platform.close()


@pytest.fixture
def platform(serving: Platform) -> Platform:
    serving.forget()
    serving.custom, serving.target = {}, ""
    return serving


class Browser:
    """Goes from page to page as a browser does; cookies of the lab alone."""

    def __init__(self, site: Site) -> None:
        self.site, self.cookies = site, dict[str, str]()
        self.headers: dict[str, str] = {}

    async def ask(self, method: str, url: str, **options: Any) -> tuple[int, Any, str]:
        headers = dict(self.headers)
        if url.startswith(self.site.url) and self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        async with self.site.session.request(
            method, url, headers=headers, allow_redirects=False, **options
        ) as response:
            for name, cookie in response.cookies.items():
                self.cookies[name] = cookie.value
                self.flags = cookie
            return response.status, response.headers, await response.text()

    async def click(self, user: str) -> dict[str, str]:
        """Open the activity, as far as to the form that the system sends to the lab."""
        _, headers, _ = await self.ask("GET", f"{self.site.platform.url}/course?user={user}")
        status, headers, text = await self.ask("GET", headers["Location"])
        assert status == 302, text
        _, _, form = await self.ask("GET", headers["Location"])
        fields = re.findall(r'name="(\w+)" value="([^"]*)"', form)
        (self.action,) = re.findall(r'action="([^"]*)"', form)
        return dict(fields)

    async def launch(self, user: str) -> tuple[str, str]:
        """The whole way; gives token and page."""
        status, _, text = await self.send(await self.click(user))
        assert status == 200, text
        (token,), (page,) = re.findall(r'data-token="([^"]*)"', text), re.findall(r'data-page="([^"]*)"', text)
        return unescape(token), unescape(page)

    async def send(self, form: dict[str, str]) -> tuple[int, Any, str]:
        headers = self.headers
        self.headers = headers | {"Origin": self.site.platform.url}
        try:
            return await self.ask("POST", self.action, data=form)
        finally:
            self.headers = headers


def marked(student: str, marks: float) -> Marked:
    row = Mark(name="grip it", marks=marks, most=marks, held=1, cases=1, words="held")
    return Marked(student=student, digest="d", marks=(row,))


async def until(reached: Any) -> None:
    async with asyncio.timeout(20.0):
        while not reached():
            await asyncio.sleep(0.02)


def test_from_the_course_page_to_the_arm_and_back_to_the_gradebook(tmp_path: Path, platform: Platform) -> None:
    platform.custom = {"course": "mech", "exercise": "pick-and-place"}

    async def story() -> None:
        async with connected(tmp_path, platform, arms=2, speed_percent=30) as site:
            await site.ready()
            name = person_name("moodle", platform.url, "3")
            site.lab.set_condition("arm-2", Condition.READY, "")
            site.lab.bookings.book("arm-2", name, None, 30.0, time.time())
            token, page = await Browser(site).launch("3")
            assert page == "../#arm-2", "the one that is booked"

            granted = peek(token)
            assert granted is not None
            assert (granted.user, granted.role, granted.speed_share) == (name, Role.DRIVE, 0.3)
            assert granted.expires_s - granted.issued_s == 3 * 3600
            person = await site.join("arm-2", token=token)
            assert person.welcome is not None and person.welcome["role"] == "drive"
            await person.drive()
            assert (await person.ask("take_over", reason="", keep_booking=False))["code"] == "role"

            assert site.course.has(name)
            exercise = site.course.course.exercise("pick-and-place")
            site.course.results.add(exercise, marked(name, 1.5), t_epoch_s=time.time())
            await until(lambda: platform.marks())
            assert platform.marks() == {"3": (1.5, exercise.asked.marks)}
            await until(lambda: [line.state for line in site.book.lines()] == [MarkState.SENT])
            site.course.results.add(exercise, marked(name, 0.5), t_epoch_s=time.time())
            site.course.results.add(exercise, marked("Ana", 2.0), t_epoch_s=time.time())
            await asyncio.sleep(0.1)
            assert platform.marks() == {"3": (1.5, exercise.asked.marks)}, "the best counts"

    run(story)


def test_a_result_just_before_the_server_died_is_told_by_the_next_one(tmp_path: Path, platform: Platform) -> None:
    platform.custom = {"course": "mech", "exercise": "pick-and-place"}

    async def story() -> None:
        name = person_name("moodle", platform.url, "3")
        async with connected(tmp_path, platform) as site:
            await Browser(site).launch("3")
            exercise = site.course.course.exercise("pick-and-place")
            platform.trouble = lambda when: 503
        courses = open_courses(tmp_path, {"arm-1": "lynx6"}, lambda _: None)
        course = courses.get("mech")
        assert course is not None
        course.results.add(exercise, marked(name, 2.0), t_epoch_s=time.time())  # nobody is told of it
        courses.close()
        platform.trouble = lambda when: None
        async with connected(tmp_path, platform):
            await until(lambda: platform.marks())
            assert platform.marks() == {"3": (2.0, exercise.asked.marks)}

    run(story)


def test_what_a_visit_is_worth_ends_can_be_revoked_and_lets_one_book_the_next_visit(
    tmp_path: Path, platform: Platform
) -> None:
    async def story() -> None:
        async with connected(tmp_path, platform, hours=0.25) as site:
            token, _ = await Browser(site).launch("3")
            (granted,) = issued(tmp_path / "issued.jsonl")
            assert granted == peek(token)
            assert (granted.role, granted.speed_share, granted.expires_s - granted.issued_s) == (Role.DRIVE, 0.5, 900)
            assert site.course.students() == ("Ana",), "an activity that names no course enrols nobody"
            await Browser(site).launch("9")
            teacher = issued(tmp_path / "issued.jsonl")[1]
            assert (teacher.role, teacher.speed_share) == (Role.TEACH, 1.0)
            await site.ready()
            headers = {"Authorization": f"Bearer {token}"}
            wish = {"arm": "arm-1", "begin_epoch_s": time.time() + 7200.0, "minutes": 30.0, "v": 1}
            async with site.session.post(f"{site.url}/v1/bookings", json=wish, headers=headers) as response:
                assert response.status == 200, await response.text()
            revoke_all(tmp_path / "revoked.txt", int(time.time()) + 1, "")
            assert (await site.get("/v1/lab", headers=headers))[0] == 401
        deeds = [entry.data for entry in query(tmp_path / "audit", what="launch")]
        assert [(deed.who, deed.verdict, deed.role, deed.detail) for deed in deeds] == [
            (granted.token_id, "done", "drive", "moodle"),
            (teacher.token_id, "done", "teach", "moodle"),
        ]

    run(story)


# -- the browser's side ------------------------------------------------------------------------------------------


def test_the_cookie_is_for_this_host_and_browser_alone_and_once_and_the_token_stands_in_no_address(
    tmp_path: Path, platform: Platform
) -> None:
    async def story() -> None:
        async with connected(tmp_path, platform) as site:
            browser = Browser(site)
            form = await browser.click("3")
            (name,) = kept = dict(browser.cookies)
            flags = browser.flags
            assert name.startswith("__Host-lti-")
            assert (flags["secure"], flags["httponly"], flags["samesite"], flags["path"]) == (True, True, "None", "/")
            assert flags["domain"] == ""
            status, headers, text = await browser.send(form)
            assert (status, browser.cookies[name]) == (200, ""), "it is used up"
            assert "Location" not in headers
            assert headers["Cache-Control"] == "no-store"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert '<script type="module" src="../page/launched.js">' in text
            async with site.session.get(f"{site.url}/page/launched.js") as script:
                assert script.status == 200

            # Sent again, and from another browser.
            browser.cookies = kept
            status, _, text = await browser.send(form)
            assert status == 403 and "data-token" not in text and "go back to it" in text
            # An attacker's own launch, ended in somebody else's browser, would make that person the attacker here.
            attacker = Browser(site)
            form = await attacker.click("4")
            victim = Browser(site)
            victim.action = attacker.action
            await victim.click("3")
            assert (await victim.send(form))[0] == 403
            assert len(issued(tmp_path / "issued.jsonl")) == 1

    run(story)


ELSEWHERE: tuple[tuple[dict[str, str], str], ...] = (
    ({"arm": "arm-1"}, "There is no arm"),
    ({"arm": "arm-9"}, "There is no arm"),
    ({"arm": "//evil.example"}, "There is no arm"),
    ({"course": "mech", "exercise": "no such one"}, "does not have"),
    ({"course": "../../etc", "exercise": "x"}, "does not have"),
    ({"exercise": "<script>"}, "does not have"),
)


def test_a_launch_leads_to_places_of_this_lab_alone_and_to_arms_that_the_system_gets(
    tmp_path: Path, platform: Platform
) -> None:
    async def story() -> None:
        async with connected(tmp_path, platform, arms=2, only=("arm-2",)) as site:
            for custom, words in ELSEWHERE:
                platform.custom = custom
                browser = Browser(site)
                status, _, text = await browser.send(await browser.click("3"))
                assert (status, words in text, "<script>" in text) == (403, True, False), custom
            assert not (tmp_path / "issued.jsonl").exists()
            platform.custom = {}
            token, page = await Browser(site).launch("3")
            assert page == "../#arm-2"
            _, lab = await site.get("/v1/lab", headers={"Authorization": f"Bearer {token}"})
            assert [each["arm"] for each in lab["arms"]] == ["arm-2"]

    run(story)


def test_inside_another_page_there_is_a_link_and_nothing_else(tmp_path: Path, platform: Platform) -> None:
    async def story() -> None:
        async with connected(tmp_path, platform) as site:
            browser = Browser(site)
            browser.headers = {"Sec-Fetch-Dest": "iframe"}
            _, headers, _ = await browser.ask("GET", f"{platform.url}/course?user=3")
            status, headers, text = await browser.ask("GET", headers["Location"])
            assert status == 200
            assert headers["Content-Security-Policy"] == f"default-src 'none'; frame-ancestors {platform.url}"
            (link,) = re.findall(r'href="(login\?[^"]*)" target="_blank" rel="noopener"', text)
            assert browser.cookies == {}
            browser.headers = {"Sec-Fetch-Dest": "document"}
            status, headers, _ = await browser.ask("GET", f"{site.url}/lti/{unescape(link)}")
            assert status == 302 and headers["Location"].startswith(f"{platform.url}/auth?")
            browser.headers = {"Sec-Fetch-Dest": "iframe"}
            status, _, _ = await browser.ask("GET", f"{site.url}/lti/login?iss=https://evil.example&login_hint=3")
            assert status == 403

    run(story)


def test_the_door_of_course_pages_takes_no_flood_and_no_other_form(tmp_path: Path, platform: Platform) -> None:
    async def story() -> None:
        async with connected(tmp_path, platform) as site:
            url = f"{site.url}/lti/launch"
            browser = Browser(site)
            assert (await browser.ask("POST", url, data={"id_token": "x" * 70_000}))[0] == 400
            assert (await browser.ask("POST", url, json={"id_token": "x"}))[0] == 400
            assert (await browser.ask("POST", url, data={str(n): "" for n in range(60)}))[0] == 400
            assert (await browser.ask("POST", url, data={"state": "\r\nSet-Cookie: a=b", "id_token": "x"}))[0] == 403
            assert browser.cookies == {}
            _, found = await site.get("/lti/keys")
            (key,) = found["keys"]
            assert set(key) == {"kty", "n", "e", "kid", "alg", "use"}, "nothing of the private one"
            assert (key["alg"], key["use"]) == ("RS256", "sig")

    run(story)

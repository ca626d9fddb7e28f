"""A lab as a tool of learning systems: a click on a course page opens an arm's page, and marks go back.

What a system says about a person ends here: the rest of the lab sees a token, as of anybody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from aiohttp import web

from hil.clock import monotonic_s
from hil.errors import HilError
from hil.service import lti_pages
from hil.service.audit import Deed
from hil.service.courses.books import Courses
from hil.service.grants import EVERY_ARM, Grant
from hil.service.issued import remember
from hil.service.keys import SigningKey
from hil.service.lti_book import LtiBook, person_name
from hil.service.lti_connect import KEYS, LAUNCH, LOGIN
from hil.service.lti_keys import ToolKey
from hil.service.lti_launch import WITHIN_S, Launch, LaunchError, Launches, cookie_name
from hil.service.lti_marks import MarkPost
from hil.service.lti_results import ResultMarks, place_of
from hil.service.lti_settings import LtiSettings, PlatformSettings
from hil.service.rights import Role
from hil.service.running_lab import DAY_S, RunningLab
from hil.service.settings import Lab
from hil.service.tokens import issue
from hil.service.visitor_address import visitor_address

MOST_BYTES = 65_536
SEND_EVERY_S = 5.0
TIDY_EVERY_S = 3600.0
_SAY_EVERY_S = 5.0
_HOUR_S = 3600.0
_FRAMES = frozenset({"iframe", "frame", "embed", "object"})
_FORM = "application/x-www-form-urlencoded"


class _Opened(NamedTuple):
    page: str
    exercise: str
    grant: Grant


class LtiSite:
    """Answers browsers that come from course pages, and sends marks, while the lab runs.

    Args:
        lab: what is behind it.
        lti: settings.
        public_url: where browsers find the lab.
        key: by which the systems know it.
        session_key: signs what people get; the lab's door takes it.
        book: who came, and marks.
        issued: the list of tokens.
    """

    def __init__(
        self,
        lab: RunningLab,
        lti: LtiSettings,
        *,
        public_url: str,
        key: ToolKey,
        session_key: SigningKey,
        book: LtiBook,
        issued: Path,
    ) -> None:
        self._lab, self._platforms, self._key, self._session_key = lab, lti.platforms, key, session_key
        self._book, self._issued, self._courses = book, issued, lab.courses or Courses()
        launch_url = f"{public_url.rstrip('/')}{LAUNCH}"
        self._launches = Launches(lti.platforms, key, launch_url, wall_clock=time.time, clock=monotonic_s)
        self._post = MarkPost(book, lti.platforms, self._launches.config)
        # Systems may be slow: whoever waits for one takes no place of those who preview or load a page.
        self._asking = ThreadPoolExecutor(4, "lti-launch")
        self._sending = ThreadPoolExecutor(1, "lti-marks")
        self._news = asyncio.Event()
        self._marks = ResultMarks(self._courses, book, self._write)
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._said_s = float("-inf")
        self._trust_proxy = lab.settings.listen.behind_tls_proxy

    def add_to(self, app: web.Application) -> None:
        """Register the addresses."""
        app.router.add_get(LOGIN, self.login)
        app.router.add_post(LOGIN, self.login)
        app.router.add_post(LAUNCH, self.launch)
        app.router.add_get(KEYS, self.keys)
        app.on_startup.append(self._start)
        app.on_shutdown.append(lambda _: self.close())

    # -- browsers ------------------------------------------------------------------------------------------------

    async def keys(self, request: web.Request) -> web.StreamResponse:
        """The lab's public key."""
        return web.json_response(self._key.key_set)

    async def login(self, request: web.Request) -> web.StreamResponse:
        """Somebody clicked on a course page: ask the learning system who it is."""
        fields = await _fields(request)
        try:
            if request.headers.get("Sec-Fetch-Dest") in _FRAMES:
                return self._elsewhere(fields)
            begun = self._launches.begin(fields)
        except LaunchError as error:
            return self._refused(request, error, "")
        answer = web.Response(status=302, headers={"Location": begun.url})
        # The system's page sends the browser back by a form, with which only such a cookie goes.
        answer.set_cookie(
            cookie_name(begun.state),
            begun.state,
            max_age=int(WITHIN_S),
            path="/",
            secure=True,
            httponly=True,
            samesite="None",
        )
        return answer

    def _elsewhere(self, fields: Mapping[str, str]) -> web.Response:
        issuer = fields.get("iss", "")
        known = [each for each in self._platforms.values() if each.issuer == issuer]
        if not known:
            raise LaunchError("this lab does not know the learning system that sent you; tell your teacher", "issuer")
        policy = lti_pages.framed_by([issuer, *(each.login_url for each in known)])
        headers = {"Content-Security-Policy": policy}
        return web.Response(text=lti_pages.open_elsewhere(fields), content_type="text/html", headers=headers)

    async def launch(self, request: web.Request) -> web.StreamResponse:
        """The learning system has said who it is: open the arm's page."""
        fields = await _fields(request)
        state = fields.get("state", "")
        cookies = dict(request.cookies)
        loop = asyncio.get_running_loop()
        try:
            launch = await loop.run_in_executor(self._asking, self._launches.end, fields, cookies)
            opened = await self._admit(launch)
        except LaunchError as error:
            return self._refused(request, error, state)
        except HilError as error:
            self._lab.say(f"a launch cannot be carried out: {error}")
            return self._refused(request, LaunchError("the lab has a fault; tell its owner", "fault"), state)
        grant = opened.grant
        self._note(request, "done", who=grant.token_id, role=grant.role.value, detail=launch.platform)
        answer = web.Response(
            text=lti_pages.go_on(issue(grant, self._session_key), opened.page, opened.exercise),
            content_type="text/html",
        )
        _drop_cookie(answer, state)
        return answer

    def _refused(self, request: web.Request, error: LaunchError, state: str) -> web.Response:
        self._note(request, "refused")
        now_s = monotonic_s()
        if now_s - self._said_s > _SAY_EVERY_S:
            # Whoever connects a system needs to know why; strangers cannot fill the screen with it.
            self._said_s = now_s
            self._lab.say(f"a launch from a course page was refused: {_shown(error.why)}")
        answer = web.Response(text=lti_pages.why_not(str(error)), status=403, content_type="text/html")
        _drop_cookie(answer, state)
        return answer

    def _note(self, request: web.Request, verdict: str, *, who: str = "", role: str = "", detail: str = "") -> None:
        origin = visitor_address(request, self._trust_proxy)
        self._lab.note(Deed(who=who, role=role, what="launch", verdict=verdict, origin=origin, detail=detail))

    # -- people ------------------------------------------------------------------------------------------------

    async def _admit(self, launch: Launch) -> _Opened:
        """Somebody is known now: what they get, which is for places of this lab alone."""
        platform = self._platforms[launch.platform]
        name = person_name(launch.platform, platform.issuer, launch.subject)
        wishes = {**launch.target, **launch.custom}
        arms = platform.arms or tuple(self._lab.desks)
        arm = wishes.get("arm") or self._booked(name, arms)
        if arm not in arms:
            raise LaunchError(f"there is no arm {arm[:64]!r} for you; there are: {', '.join(arms)}", "arm")
        place = self._place(wishes.get("course", ""), wishes.get("exercise", ""))
        grant = _grant(name, launch.role, platform, int(self._lab.token_epoch_s()))
        service = _checked(launch.marks, platform)
        enrols = place is not None and launch.role is Role.DRIVE
        if place is not None and enrols and (course := self._courses.get(place[0])) is not None:
            course.results.enrol(name, time.time())

        def keep() -> None:
            # First the list: a token that nobody could revoke by name must not exist.
            remember(self._issued, [grant])
            self._book.came(name, launch.platform, launch.subject, time.time())
            if place is not None and enrols and service is not None:
                self._book.place(name, place_of(*place), launch.link, service)

        await asyncio.get_running_loop().run_in_executor(self._sending, keep)
        self._marks.catch_up(name)
        self._news.set()
        exercise = "" if place is None else place_of(*place)
        return _Opened(page=f"../#{quote(arm, safe='')}", exercise=exercise, grant=grant)

    def _booked(self, name: str, arms: tuple[str, ...]) -> str:
        """The arm that this person has now or next; one of those that there are if none."""
        now_s = time.time()
        slots = [slot for arm in arms for slot in self._lab.bookings.slots(arm, now_s) if slot.user == name]
        return min(slots, key=lambda slot: slot.begin_s).arm if slots else arms[0]

    def _place(self, course: str, exercise: str) -> tuple[str, str] | None:
        """The exercise that an activity is for; None if it is for none."""
        if not course and not exercise:
            return None
        found = self._courses.get(course)
        known = () if found is None else tuple(each.name for each in found.course.exercises)
        if exercise not in known:
            words = (
                f"the activity names course {course[:40]!r}, exercise {exercise[:40]!r}, which this lab does not have"
            )
            raise LaunchError(words, "exercise")
        return course, exercise

    # -- marks -------------------------------------------------------------------------------------------------

    def _write(self, work: Callable[[], object]) -> None:
        """What waits for a disk, aside; marks are sent after it. What is too late now is not at the next start."""
        if not self._closed:
            asyncio.get_running_loop().run_in_executor(self._sending, work).add_done_callback(self._written)

    def _written(self, done: asyncio.Future[object]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._lab.say(f"a mark is not written down; it is made up for at the next start: {error}")
        self._news.set()

    async def _start(self, _: web.Application) -> None:
        self._marks.catch_up()
        self._task = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        loop, tidied_s = asyncio.get_running_loop(), float("-inf")
        while True:
            self._news.clear()
            try:
                await loop.run_in_executor(self._sending, self._post.send)
                if monotonic_s() - tidied_s > TIDY_EVERY_S:
                    tidied_s = monotonic_s()
                    oldest_s = time.time() - self._lab.settings.audit.retention_days * DAY_S
                    await loop.run_in_executor(self._sending, self._book.forget_before, oldest_s)
            except Exception as error:
                # Marks can wait; the arms go on.
                self._lab.say(f"marks are not sent now: {type(error).__name__}: {error}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SEND_EVERY_S):
                    await self._news.wait()

    async def close(self) -> None:
        """End; marks that wait are in the book."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for pool in (self._asking, self._sending):
            await asyncio.get_running_loop().run_in_executor(
                None, functools.partial(pool.shutdown, cancel_futures=True)
            )
        self._book.close()


def open_lti(lab: Lab, running: RunningLab) -> LtiSite:
    """The site of a lab whose settings name learning systems.

    Raises:
        ConfigError: a key or the book cannot be used.
    """
    lti = lab.settings.lti
    return LtiSite(
        running,
        lti,
        public_url=lab.settings.listen.public_url,
        key=ToolKey.load(lab.path(lti.key)),
        session_key=SigningKey.load(lab.path(lti.session_key)),
        book=LtiBook(lab.path(lti.book)),
        issued=lab.issued,
    )


def _grant(name: str, role: Role, platform: PlatformSettings, now_s: int) -> Grant:
    return Grant(
        token_id=secrets.token_hex(8),
        user=name,
        arms=platform.arms or (EVERY_ARM,),
        role=role,
        speed_share=1.0 if role is Role.TEACH else platform.speed_percent / 100.0,
        box=None,
        issued_s=now_s,
        not_before_s=now_s,
        expires_s=now_s + int(platform.hours * _HOUR_S),
        renewed=True,
    )


def _checked(service: Mapping[str, object] | None, platform: PlatformSettings) -> dict[str, object] | None:
    """Where marks may go: nowhere that others could listen, unless the system itself is of this computer."""
    if service is None:
        return None
    urls = [service.get(key) for key in ("lineitem", "lineitems") if service.get(key) is not None]
    plain = platform.token_url.startswith("http://")
    allowed = ("https://", "http://") if plain else ("https://",)
    if not urls or not all(isinstance(url, str) and url.startswith(allowed) for url in urls):
        return None
    scopes = service.get("scope")
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        return None
    return {key: service[key] for key in ("scope", "lineitem", "lineitems") if service.get(key) is not None}


async def _fields(request: web.Request) -> dict[str, str]:
    """What a browser sent, by form or in the address."""
    if request.method != "POST":
        return dict(request.query)
    if request.content_type != _FORM or (request.content_length or MOST_BYTES + 1) > MOST_BYTES:
        raise web.HTTPBadRequest(reason=f"a form of at most {MOST_BYTES} bytes is wanted")
    try:
        return dict(parse_qsl((await request.read()).decode(), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise web.HTTPBadRequest(reason="this form cannot be read") from None


def _drop_cookie(answer: web.Response, state: str) -> None:
    if cookie_name(state):
        answer.set_cookie(cookie_name(state), "", max_age=0, path="/", secure=True, httponly=True, samesite="None")


def _shown(words: str) -> str:
    return "".join(character for character in words if character.isprintable())[:300]

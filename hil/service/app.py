"""The server's HTTP: state, channel, calendar, previews, rigs, pictures, journals and audit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.service import channel as channels
from hil.service import page_files, wire
from hil.service.audit import Deed, Entry
from hil.service.audit_query import query
from hil.service.bookings import BookingError
from hil.service.callers import Callers
from hil.service.desk import ArmDesk
from hil.service.doors import TooManyRefusedError, Visitor
from hil.service.journal_access import readable
from hil.service.page_files import PageFiles
from hil.service.places import Place, Places
from hil.service.refused_request import RefusedRequestError
from hil.service.rig_copy import pulled
from hil.service.rights import Action, may, who_may
from hil.service.running_lab import RunningLab
from hil.service.settings import is_loopback
from hil.service.skeleton import skeleton
from hil.service.tokens import TokenError
from hil.service.uploads import Job, told
from hil.service.visitor_address import last_said, visitor_address
from hil.service.wire import PICTURE_HEADER, ROOT, Code

PAGE = page_files.FOLDER
JSON = "application/json"
PICTURE_WAIT_S = 3.0
MOST_ENTRIES = 1000
_BOUNDARY = "picture"
_MINUTE_S = 60.0

R = TypeVar("R")

_STATUS = {
    Code.TOKEN: 401,
    Code.ROLE: 403,
    Code.ARM: 404,
    Code.MALFORMED: 400,
    Code.SIZE: 413,
    Code.RATE: 429,
    Code.UNAVAILABLE: 503,
}
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
}


class Site(Protocol):
    """More that a server answers."""

    def add_to(self, app: web.Application) -> None:
        """Register its addresses."""
        ...


def application(
    lab: RunningLab, callers: Callers, *, trust_proxy: bool, course_pages: Site | None = None
) -> web.Application:
    """Everything that the server answers.

    Args:
        lab: what is behind it; started and closed with the application.
        callers: learns who has shown who it is.
        trust_proxy: the network address of visitors is what the proxy in front says.
        course_pages: what answers to those of learning systems; None for nothing.
    """
    app = web.Application(client_max_size=2 * wire.MAX_UPLOAD_BYTES, middlewares=[_answers(lab.say)])
    desk = _Reception(lab, callers, trust_proxy)
    app.router.add_get(f"{ROOT}/lab", desk.arms)
    app.router.add_get(f"{ROOT}/channel", desk.channel)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/state", desk.state)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/rig", desk.rig)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/skeleton", desk.skeleton)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/picture", desk.picture)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/pictures", desk.pictures)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/bookings", desk.bookings)
    app.router.add_get(f"{ROOT}/arms/{{arm}}/timelines/{{name}}", desk.timeline)
    app.router.add_post(f"{ROOT}/bookings", desk.book)
    app.router.add_delete(f"{ROOT}/bookings/{{id}}", desk.cancel)
    app.router.add_post(f"{ROOT}/previews", desk.preview)
    app.router.add_get(f"{ROOT}/journals", desk.journals)
    app.router.add_get(f"{ROOT}/journals/{{name}}", desk.journal)
    app.router.add_get(f"{ROOT}/audit", desk.audit)
    _add_courses(app, lab, desk)
    if PAGE.is_dir():
        pages = PageFiles(PAGE)
        app.router.add_get("/", pages.always("index.html"))
        app.router.add_get("/wall", pages.always("wall.html"))
        app.router.add_get("/page/{name:.+}", pages.named)
        app.router.add_get(r"/{arm:[\w-]+}", _page_of_arm)
    app.on_startup.append(lambda _: lab.start())
    if course_pages is not None:
        course_pages.add_to(app)
    app.on_shutdown.append(lambda _: lab.close("the server ends"))
    return app


def _add_courses(app: web.Application, lab: RunningLab, desk: _Reception) -> None:
    """Courses, with all that marking needs, where there are any."""
    if lab.courses is None:
        app.router.add_get(f"{ROOT}/courses", desk.no_courses)
        return
    from hil.service.courses.evidence import SignedRuns
    from hil.service.courses.hand_ins import HandIns
    from hil.service.courses.http import CourseDesk

    hand_ins = HandIns(SignedRuns(lab), lab.say)
    CourseDesk(lab.courses, hand_ins, desk.visitor, lab.note).add_to(app.router)
    app.on_shutdown.append(lambda _: hand_ins.close())


async def _page_of_arm(request: web.Request) -> web.StreamResponse:
    """An arm's address, as commands print and take it, typed into a browser; of a stranger too, whatever there is."""
    return web.Response(status=302, headers={"Location": f"./#{quote(request.match_info['arm'], safe='')}"})


def quiet_logger() -> logging.Logger:
    """For aiohttp: what strangers send that is no HTTP is answered, and worth no line, let alone a traceback."""
    logger = logging.getLogger("hil.service.http")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _answers(say: Callable[[str], None]) -> Middleware:
    """Every refusal as a message, every answer with headers that keep browsers careful."""

    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await _answer(request, handler, say)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return answer


async def _answer(request: web.Request, handler: Handler, say: Callable[[str], None]) -> web.StreamResponse:
    try:
        return await handler(request)
    except TooManyRefusedError as error:
        return _refusal(Code.RATE, str(error))
    except TokenError as error:
        response = _refusal(Code.TOKEN, str(error))
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    except RefusedRequestError as error:
        return _refusal(error.code, str(error))
    except InterlockError as error:
        return _refusal(Code.UNAVAILABLE, str(error))
    except (CommandError, BookingError) as error:
        return _refusal(Code.MALFORMED, str(error))
    except HilError as error:
        return _refusal(Code.UNAVAILABLE, str(error))
    except web.HTTPRequestEntityTooLarge:
        return _refusal(Code.SIZE, f"the body is too long; allowed: {wire.MAX_UPLOAD_BYTES} bytes")
    except web.HTTPException as error:
        return _refusal(Code.MALFORMED, f"{error.reason}", error.status)
    except ConnectionError:
        return _refusal(Code.UNAVAILABLE, "whoever asked is gone")
    except Exception as error:
        # Whoever runs the server learns of it; whoever asked learns nothing of the inside.
        say(f"fault in the server itself: {type(error).__name__}: {error}; {request.method} {_kind(request)}")
        return _refusal(Code.UNAVAILABLE, "a fault in the server; tell the lab's owner", 500)


def _kind(request: web.Request) -> str:
    """Which of our paths was asked, without what a stranger put into it."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "a path that is not known"


def _refusal(code: Code, reason: str, status: int | None = None) -> web.Response:
    body = wire.encode(wire.Refused(to=0, now_s=monotonic_s(), code=code, reason=reason))
    return web.Response(body=body, status=status or _STATUS.get(code, 409), content_type=JSON)


def _json(message: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(message), content_type=JSON)


class _Reception:
    """Answers requests."""

    def __init__(self, lab: RunningLab, callers: Callers, trust_proxy: bool) -> None:
        self._lab, self._callers, self._trust_proxy = lab, callers, trust_proxy
        self._places = Places()
        self._reading = asyncio.Lock()

    # -- who ---------------------------------------------------------------------------------------------

    def _origin(self, request: web.Request) -> str:
        return visitor_address(request, self._trust_proxy)

    def _check_host(self, request: web.Request) -> None:
        """Refuse what a page of another server in somebody's browser sends, be it of another port of this computer."""
        if not self._lab.door.keyed and not is_loopback(_name(request.host)):
            raise RefusedRequestError(Code.ROLE, "this server answers to its loopback address alone")
        origin = request.headers.get("Origin")
        if origin is not None and _place(origin) not in self._own_places(request):
            advice = (
                ". Have the proxy pass on Host with its port, or set listen.public_url" if self._trust_proxy else ""
            )
            raise RefusedRequestError(Code.ROLE, f"pages of other servers may not come here{advice}")

    def _own_places(self, request: web.Request) -> set[str]:
        """Where this server's own pages come from, as a browser says it."""
        if not self._trust_proxy:
            return {_place(f"{request.scheme}://{request.host}")}
        scheme = last_said(request, "X-Forwarded-Proto") or "https"
        hosts = (request.host, last_said(request, "X-Forwarded-Host"))
        public = self._lab.settings.listen.public_url
        return {_place(f"{scheme}://{host}") for host in hosts if host} | ({_place(public)} if public else set())

    def _admit(self, request: web.Request, token: str, name: str, on_site: bool) -> Visitor:
        try:
            visitor = self._lab.door.admit(
                token,
                name=name,
                says_on_site=on_site,
                origin=self._origin(request),
                now_s=monotonic_s(),
                now_epoch_s=self._lab.token_epoch_s(),
            )
        except TokenError as error:
            who = "" if error.grant is None else error.grant.token_id
            self._lab.note(Deed(who=who, what="log in", verdict="refused", origin=self._origin(request),
                                detail=error.flaw.value))  # fmt: skip
            raise
        self._callers.forget(request.protocol)
        return visitor

    def visitor(self, request: web.Request, action: Action) -> Visitor:
        """Who asks over HTTP, if that person may."""
        self._check_host(request)
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        name = unquote(request.headers.get(wire.NAME_HEADER, ""))
        visitor = self._admit(request, token.strip() if kind.lower() == "bearer" else "", name, False)
        if not may(visitor.grant.role, action):
            raise RefusedRequestError(
                Code.ROLE, f"{action.value} needs the role {who_may(action)}; yours is {visitor.grant.role.value}"
            )
        return visitor

    def _desk(self, request: web.Request, action: Action) -> tuple[ArmDesk, Visitor]:
        visitor = self.visitor(request, action)
        return self._at(request.match_info["arm"], visitor), visitor

    def _at(self, arm: str, visitor: Visitor) -> ArmDesk:
        try:
            return self._lab.desk(arm, visitor)
        except InterlockError as error:
            raise RefusedRequestError(Code.ARM, str(error)) from None

    # -- state -------------------------------------------------------------------------------------------

    async def arms(self, request: web.Request) -> web.StreamResponse:
        """All arms that the asker may see."""
        return _json(self._lab.list_arms(self.visitor(request, Action.WATCH)))

    async def state(self, request: web.Request) -> web.StreamResponse:
        """The newest telemetry of an arm."""
        desk, _ = self._desk(request, Action.WATCH)
        if desk.live.report is None:
            raise InterlockError(f"{desk.arm} is not there yet")
        return _json(desk.telemetry(monotonic_s()))

    async def rig(self, request: web.Request) -> web.StreamResponse:
        """The files of an arm's rig."""
        desk, _ = self._desk(request, Action.PULL)
        return _json(await _in_thread(lambda: pulled(desk.arm, desk.rig)))

    async def skeleton(self, request: web.Request) -> web.StreamResponse:
        """An arm's links, for a display that draws it."""
        desk, _ = self._desk(request, Action.WATCH)
        return _json(skeleton(desk.arm, desk.rig))

    async def channel(self, request: web.Request) -> web.StreamResponse:
        """A WebSocket for one arm."""
        self._check_host(request)
        place = self._places.take(self._origin(request), lambda: _break_off(request))
        try:
            return await channels.serve(
                request,
                lambda hello: self._admit(request, hello.token, hello.name, hello.on_site),
                lambda hello, visitor: self._placed(place, hello.arm, visitor),
            )
        finally:
            self._places.leave(place)

    def _placed(self, place: Place, arm: str, visitor: Visitor) -> ArmDesk:
        """The arm's desk, if there is a place for the visitor: always, as a rule, for who drives or may step in."""
        desk = self._lab.desk(arm, visitor)
        driver = desk.lease.driver
        drives = driver is not None and driver.user == visitor.user
        self._places.keep(place, visitor.user, drives or may(visitor.grant.role, Action.FREEZE))
        return desk

    # -- pictures ----------------------------------------------------------------------------------------

    async def picture(self, request: web.Request) -> web.StreamResponse:
        """The newest picture; with `?after=SECONDS` one that is newer than that."""
        desk, _ = self._desk(request, Action.WATCH)
        if desk.camera is None:
            raise RefusedRequestError(Code.ARM, f"{desk.arm} has no camera")
        try:
            after_s = float(request.query.get("after", "-inf"))
        except ValueError:
            raise CommandError("after: a number of seconds") from None
        # One from before somebody began to look is no picture of now.
        after_s = max(after_s, monotonic_s() - PICTURE_WAIT_S)
        found = await desk.camera.after(after_s, PICTURE_WAIT_S)
        if found is None:
            raise InterlockError(desk.camera.trouble or "no picture came in time", ["a picture"])
        headers = {PICTURE_HEADER: repr(found.taken_s)}
        return web.Response(body=found.data, content_type=found.content_type, headers=headers)

    async def pictures(self, request: web.Request) -> web.StreamResponse:
        """All pictures, as an endless answer (multipart/x-mixed-replace); who is slow misses some."""
        desk, visitor = self._desk(request, Action.WATCH)
        if desk.camera is None:
            raise RefusedRequestError(Code.ARM, f"{desk.arm} has no camera")
        kind = f"multipart/x-mixed-replace; boundary={_BOUNDARY}"
        response = web.StreamResponse(headers={"Content-Type": kind, **_HEADERS})
        await response.prepare(request)
        taken_s = float("-inf")
        with contextlib.suppress(ConnectionError):
            while self._lab.still_counts(visitor):
                found = await desk.camera.after(taken_s, PICTURE_WAIT_S)
                if found is None:
                    break
                taken_s = found.taken_s
                head = (
                    f"--{_BOUNDARY}\r\nContent-Type: {found.content_type}\r\nContent-Length: {len(found.data)}\r\n"
                    f"{PICTURE_HEADER}: {taken_s!r}\r\n\r\n"
                )
                await response.write(head.encode("ascii") + found.data + b"\r\n")
        return response

    # -- calendar ----------------------------------------------------------------------------------------

    async def bookings(self, request: web.Request) -> web.StreamResponse:
        """The slots of an arm."""
        desk, visitor = self._desk(request, Action.WATCH)
        return _json(self._calendar(desk.arm, visitor))

    async def book(self, request: web.Request) -> web.StreamResponse:
        """Book a slot."""
        visitor = self.visitor(request, Action.BOOK)
        wish = await _body(request, wire.BookingWish)
        desk = self._at(wish.arm, visitor)
        waiting = desk.lease.brief(monotonic_s()).waiting
        left_s = _left_to_others(desk, visitor)
        slot = self._lab.bookings.book(
            desk.arm,
            visitor.user,
            wish.begin_epoch_s,
            wish.minutes,
            time.time(),
            allowed_until_s=math.inf if visitor.grant.renewed else float(visitor.grant.expires_s),
            driven_until_s=None if left_s is None else time.time() + left_s,
            queue_min=waiting * self._lab.settings.lease.slot_s / _MINUTE_S,
        )
        self._lab.calendar_changed()
        self._note(visitor, "book", desk.arm)
        return _json(self._calendar(desk.arm, visitor, granted=str(slot.id)))

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        """Cancel a slot: one's own, or anybody's for who may take over."""
        visitor = self.visitor(request, Action.BOOK)
        number = request.match_info["id"]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise CommandError("a slot is named by a number")
        by = None if may(visitor.grant.role, Action.FREEZE) else visitor.user
        slot = self._lab.bookings.cancel(int(number), time.time(), by=by, covers=visitor.grant.covers)
        self._lab.calendar_changed()
        self._note(visitor, "cancel booking", slot.arm)
        return _json(self._calendar(slot.arm, visitor))

    def _calendar(self, arm: str, visitor: Visitor, granted: str = "") -> wire.Bookings:
        books, why_not, now_s = self._lab.bookings, self._lab.bookings.why_not(arm), time.time()
        sees_names = may(visitor.grant.role, Action.AUDIT)
        slots = tuple(
            wire.Booking(
                id=str(slot.id),
                arm=arm,
                begin_epoch_s=slot.begin_s,
                end_epoch_s=slot.end_s,
                name=slot.user if sees_names or slot.user == visitor.user else "",
                yours=slot.user == visitor.user,
            )
            for slot in books.slots(arm, now_s)
        )
        return wire.Bookings(
            arm=arm,
            bookable=not why_not,
            bookings=slots,
            why_not=why_not,
            granted=granted,
            self_test=self._lab.self_tests.brief(arm, now_s),
        )

    # -- previews ----------------------------------------------------------------------------------------

    async def preview(self, request: web.Request) -> web.StreamResponse:
        """Plan and preview what somebody sends; it is kept for that person to run."""
        visitor = self.visitor(request, Action.UPLOAD)
        upload = await _body(request, wire.Upload)
        desk = self._at(upload.arm, visitor)
        start = upload.start or desk.live.pose
        if start is None:
            raise InterlockError("where the arm stands is not known; give a start pose", ["known pose"])
        job = Job(
            arm=desk.arm,
            language=upload.language,
            name=upload.name,
            text=upload.text,
            points=upload.points,
            start=start,
            box=visitor.grant.box,
            most_share=visitor.grant.speed_share,
            timeline=True,
            asked_by=visitor.user,
        )
        verdict = await self._lab.uploads.preview(job)
        desk.shelf.keep(visitor.user, verdict)
        self._note(visitor, "upload", desk.arm, "done" if verdict.ok else "refused")
        return _json(told(desk.arm, verdict, visitor.name))

    async def timeline(self, request: web.Request) -> web.StreamResponse:
        """What was previewed lately, over time; for whoever had it previewed."""
        desk, visitor = self._desk(request, Action.UPLOAD)
        found = desk.shelf.timeline(visitor.user, request.match_info["name"])
        if found is None:
            raise RefusedRequestError(Code.ARM, "nothing of that name was previewed for you lately; preview it again")
        return web.Response(body=found, content_type=JSON)

    async def no_courses(self, request: web.Request) -> web.StreamResponse:
        """A lab without any."""
        self.visitor(request, Action.WATCH)
        return web.Response(body=msgspec.json.encode({"v": wire.FIRST, "courses": []}), content_type=JSON)

    # -- what was ----------------------------------------------------------------------------------------

    async def journals(self, request: web.Request) -> web.StreamResponse:
        """Names of the journals of motion: of the arms that somebody sees to, or of what was driven with this token."""
        visitor = self.visitor(request, Action.CLAIM)
        names = await self._journal_names(visitor)
        return web.Response(body=msgspec.json.encode({"v": wire.FIRST, "journals": names}), content_type=JSON)

    async def journal(self, request: web.Request) -> web.StreamResponse:
        """One journal."""
        visitor = self.visitor(request, Action.CLAIM)
        name = request.match_info["name"]
        if name not in await self._journal_names(visitor):
            raise RefusedRequestError(Code.ARM, "there is no such journal")
        self._note(visitor, "read journal", "", detail=name)
        return web.FileResponse(self._lab.journals / name, headers={"Content-Type": "application/octet-stream"})

    async def audit(self, request: web.Request) -> web.StreamResponse:
        """Who did what: `?who= what= arm= verdict=` narrow it down; the newest thousand."""
        visitor = self.visitor(request, Action.AUDIT)
        async with self._reading:  # one at a time: it goes through all that is kept
            found = await _in_thread(lambda: self._deeds(visitor, request.query))
        self._note(visitor, "read audit", request.query.get("arm", ""))
        return web.Response(body=msgspec.json.encode({"v": wire.FIRST, "entries": found}), content_type=JSON)

    async def _journal_names(self, visitor: Visitor) -> list[str]:
        lab = self._lab
        rigs = {arm: desk.rig.id for arm, desk in lab.desks.items()}
        driver = None if may(visitor.grant.role, Action.AUDIT) else visitor.who
        async with self._reading:  # as for the audit
            return await _in_thread(
                lambda: readable(lab.journals, lab.audit_folder, rigs, visitor.grant.covers, driver)
            )

    def _deeds(self, visitor: Visitor, asked: Mapping[str, str]) -> list[Entry]:
        """What fits, of the arms that the token is for and of what concerns no arm."""
        found = query(
            self._lab.audit_folder,
            who=[asked["who"]] if "who" in asked else None,
            arm=asked.get("arm"),
            what=asked.get("what"),
            verdict=asked.get("verdict"),
        )
        return list(deque((entry for entry in found if _may_read(visitor, entry)), maxlen=MOST_ENTRIES))

    def _note(self, visitor: Visitor, what: str, arm: str, verdict: str = "done", detail: str = "") -> None:
        self._lab.note(
            Deed(
                who=visitor.who,
                role=visitor.grant.role.value,
                what=what,
                verdict=verdict,
                arm=arm,
                origin=visitor.origin,
                detail=detail,
            )
        )


def _may_read(visitor: Visitor, entry: Entry) -> bool:
    arm = entry.data.arm if isinstance(entry.data, Deed) else ""
    return not arm or visitor.grant.covers(arm)


def _left_to_others(desk: ArmDesk, visitor: Visitor) -> float | None:
    """For how long somebody else will have the arm, seconds; None if nobody has, or for no end in sight."""
    driver, end_s = desk.lease.driver, desk.lease.slot_end_s
    # Those who see to an arm have no slot but one that is in the calendar: only their token ends, some day.
    if driver is None or driver.user == visitor.user or end_s is None or may(driver.role, Action.CONFIRM):
        return None
    return end_s - monotonic_s()


def _name(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _place(url: str) -> str:
    """Scheme, host and port of an address, in one spelling; of what is none, nothing that a server could have."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.scheme and parts.hostname else ""


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _body(request: web.Request, kind: type[R]) -> R:
    data = await request.read()
    return wire.decode_body(data, kind, wire.MAX_UPLOAD_BYTES)


async def _in_thread(work: Callable[[], R]) -> R:
    return await asyncio.get_running_loop().run_in_executor(None, work)

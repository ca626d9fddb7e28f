"""LTI 1.3 launches: pylti1p3next does the protocol; here stands what it leaves to who uses it, and what it leaves out.

Left to us: where state and nonce are kept, so that each counts once and in the browser that it was made for. Left out:
the audience when there are several, the age of a message, keys that a system has changed.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hil.errors import HilError, MissingExtraError
from hil.service.lti_keys import ToolKey
from hil.service.lti_line import KEYS_S, PublicKeys, line_to_platforms
from hil.service.lti_settings import PlatformSettings
from hil.service.rights import Role
from hil.types import Record

try:
    from pylti1p3.cookie import CookieService
    from pylti1p3.exception import LtiException, LtiKeyException, OIDCException, ToolConfException
    from pylti1p3.message_launch import MessageLaunch
    from pylti1p3.oidc_login import OIDCLogin
    from pylti1p3.redirect import Redirect
    from pylti1p3.request import Request
    from pylti1p3.session import SessionService
    from pylti1p3.tool_config.dict import ToolConfDict
except ImportError:
    raise MissingExtraError("course pages of a learning system", "lti", needs="needs") from None

WITHIN_S = 300.0
"""From the click on the course page to the launch."""

MOST_OPEN = 2000
"""Launches that have begun and not ended; beyond it the oldest is forgotten. A class that starts at once is 300."""

OLDEST_S, SKEW_S = 600.0, 60.0
"""How old a message may be, and how far in the future, by a clock that goes wrong."""

_STATE = re.compile(r"state-[0-9a-f-]{36}")
_CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
_AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
_LONGEST_SUB = 255


class LaunchError(HilError):
    """A launch is refused. The text is fit for whoever tried.

    Attributes:
        why: for the audit.
    """

    def __init__(self, message: str, why: str) -> None:
        self.why = why
        super().__init__(message)


class Begun(Record, frozen=True):
    """Where to send the browser, and what it has to bring back.

    Attributes:
        url: of the learning system.
        state: name and value of the cookie.
    """

    url: str
    state: str


class Launch(Record, frozen=True):
    """What a learning system says about somebody who comes.

    Attributes:
        platform: its short name here.
        subject: what it calls the person; a number, as a rule.
        role: what that person may do here.
        course: id of the course, or empty.
        link: id of the activity in the course.
        custom: what the teacher wrote into the activity's settings.
        target: query of the address that the activity names.
        marks: where marks go, as the system gave it; None if it takes none.
    """

    platform: str
    subject: str
    role: Role
    course: str
    link: str
    custom: dict[str, str]
    target: dict[str, str]
    marks: dict[str, Any] | None


class _OpenLaunches:
    """Launches that have begun: each state once, with its nonce."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, state: str, nonce: str) -> None:
        with self._lock:
            self._open[state] = (nonce, self._clock() + WITHIN_S)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)

    def end(self, state: str, nonce: str) -> bool:
        """Whether they belong together and neither was used before; from now on they were."""
        with self._lock:
            kept, until_s = self._open.pop(state, ("", 0.0))
        return bool(kept) and self._clock() < until_s and hmac.compare_digest(kept.encode(), nonce.encode())


class _Asked(Request):
    """What a browser sent, for the library."""

    session: dict[str, Any] = {}  # noqa: RUF012 - the library wants one, and nothing is put into it

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    def is_secure(self) -> bool:
        return True

    def get_param(self, key: str) -> str:
        return self._fields.get(key, "")


class _Cookies(CookieService):
    """The one cookie: its name is the state, and so is its value."""

    def __init__(self, sent: Mapping[str, str]) -> None:
        self._sent = sent
        self.made = ""

    def get_cookie(self, name: str) -> str | None:
        return self._sent.get(cookie_name(name))

    def set_cookie(self, name: str, value: str | int, exp: int | None = 3600) -> None:
        self.made = str(value)


class _OnceOnly(SessionService):
    """State and nonce belong together and count once; nothing about a person is kept."""

    def __init__(self, asked: _Asked, cookies: _Cookies, launches: _OpenLaunches) -> None:
        super().__init__(asked)
        self._asked, self._cookies, self._launches = asked, cookies, launches

    def save_nonce(self, nonce: str) -> None:
        self._launches.begin(self._cookies.made, nonce)

    def check_nonce(self, nonce: str) -> bool:
        return isinstance(nonce, str) and self._launches.end(self._asked.get_param("state"), nonce)

    def check_state_is_valid(self, state: str, id_token_hash: str) -> bool:
        return False  # the cookie alone says that it is the same browser

    def set_state_valid(self, state: str, id_token_hash: str) -> None:
        """Nothing: it was used."""

    def save_launch_data(self, key: str, jwt_body: Mapping[str, Any]) -> None:
        """Nothing: the page gets a token of its own."""


class _Address(Redirect[str]):
    def __init__(self, url: str) -> None:
        self._url = url

    def do_redirect(self) -> str:
        return self._url

    def do_js_redirect(self) -> str:
        return self._url

    def set_redirect_url(self, location: str) -> None:
        self._url = location

    def get_redirect_url(self) -> str:
        return self._url


class _Login(OIDCLogin[_Asked, ToolConfDict, _OnceOnly, _Cookies, str]):
    def get_redirect(self, url: str) -> Redirect[str]:
        return _Address(url)


class _Message(MessageLaunch[_Asked, ToolConfDict, _OnceOnly, _Cookies]):
    keys: PublicKeys

    def _get_request_param(self, key: str) -> str:
        return self._request.get_param(key)

    def get_public_key(self) -> tuple[str, str]:
        """The key that the message names; one that is not known may be new."""
        try:
            return super().get_public_key()
        except (LtiKeyException, KeyError, TypeError):
            registration = self._registration
            assert registration is not None
            if not self.keys.may_renew(registration.get_key_set_url() or ""):
                raise
            registration.set_key_set(None)
            return super().get_public_key()


def cookie_name(state: str) -> str:
    """Where a browser keeps a state: given back over TLS and to this very host alone; empty for what is no state.

    One of sixteen names, so that some tabs may open at once, and nobody can fill a browser with cookies of this lab.
    """
    return f"__Host-lti-{state[-1]}" if _STATE.fullmatch(state) else ""


class Launches:
    """Begins and ends launches.

    Args:
        platforms: learning systems, by their short names.
        key: of this lab.
        launch_url: where a launch ends; the systems know it.
        wall_clock: seconds since 1970.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        platforms: Mapping[str, PlatformSettings],
        key: ToolKey,
        launch_url: str,
        *,
        wall_clock: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self._platforms, self._launch_url, self._wall_clock = dict(platforms), launch_url, wall_clock
        self.config = tool_config(platforms, key)
        self._open = _OpenLaunches(clock)
        self._keys = PublicKeys(clock)
        self._line = line_to_platforms()
        # A system that has trouble says so in JSON as well, which must not be taken for its keys.
        self._line.hooks["response"].append(lambda answer, **_: answer.raise_for_status())

    def begin(self, fields: Mapping[str, str]) -> Begun:
        """Somebody clicked on a course page, or was made to: nothing happens but that the system is asked who it is.

        Raises:
            LaunchError: it is no system that the settings name.
        """
        asked = _Asked(fields)
        cookies = _Cookies({})
        login = _Login(
            asked, self.config, session_service=_OnceOnly(asked, cookies, self._open), cookie_service=cookies
        )
        try:
            # Never where the request says: only ever to the address that the settings have.
            url = login.redirect(self._launch_url)
        except (LtiException, OIDCException, ToolConfException) as error:
            words = "this lab does not know the learning system that sent you; tell your teacher"
            raise LaunchError(words, str(error)) from None
        return Begun(url=url, state=cookies.made)

    def end(self, fields: Mapping[str, str], cookies: Mapping[str, str]) -> Launch:
        """The system has said who it is.

        Raises:
            LaunchError: it cannot be believed.
        """
        asked, brought = _Asked(fields), _Cookies(cookies)
        message = _Message(
            asked,
            self.config,
            session_service=_OnceOnly(asked, brought, self._open),
            cookie_service=brought,
            requests_session=self._line,
        )
        message.keys = self._keys
        message.set_public_key_caching(self._keys, int(KEYS_S))
        # How old it may be is looked at below, since clocks differ; the audience, since the library looks at one alone.
        message.set_jwt_verify_options(
            {"verify_aud": False, "verify_iat": False, "require": ["exp", "iat", "iss", "aud", "sub", "nonce"]}
        )
        try:
            message.validate()
            return self._read(message)
        except LaunchError:
            raise
        except Exception as error:
            # What a stranger sends goes deep into the library: whatever it stumbles over is no launch.
            words = "the course page could not be opened: go back to it and open the activity anew"
            raise LaunchError(words, f"{type(error).__name__}: {error}") from None

    def _read(self, message: _Message) -> Launch:
        body: Mapping[str, Any] = message.get_launch_data()
        name, platform = self._platform(body)
        self._check_age(body)
        if not message.is_resource_launch():
            raise LaunchError("this lab opens from an activity of a course alone", "no resource link")
        course = str(body.get(f"{_CLAIM}context", {}).get("id", ""))
        if platform.courses and course not in platform.courses:
            raise LaunchError("this course may not use the lab; ask its owner", f"course {course[:80]!r}")
        subject = body["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUB:
            raise LaunchError("the learning system did not say who you are", "sub")
        marks = body.get(_AGS)
        return Launch(
            platform=name,
            subject=subject,
            role=_role(message, platform),
            course=course,
            link=str(body[f"{_CLAIM}resource_link"]["id"]),
            custom=_texts(body.get(f"{_CLAIM}custom")),
            target=self._target(body.get(f"{_CLAIM}target_link_uri")),
            marks=dict(marks) if isinstance(marks, Mapping) else None,
        )

    def _platform(self, body: Mapping[str, Any]) -> tuple[str, PlatformSettings]:
        """Which system it is; where a message is for several, the one whom it was given to has to be this lab."""
        audience = body["aud"]
        audiences = audience if isinstance(audience, list) else [audience]
        for name, platform in self._platforms.items():
            if platform.issuer == body["iss"] and platform.client_id in audiences:
                given_to = body.get("azp", platform.client_id if len(audiences) == 1 else None)
                if given_to != platform.client_id:
                    break
                return name, platform
        raise LaunchError("this message was meant for somebody else", "audience")

    def _check_age(self, body: Mapping[str, Any]) -> None:
        age_s = self._wall_clock() - float(body["iat"])
        if not -SKEW_S <= age_s <= OLDEST_S:
            words = "this message is too old, or a clock is wrong: go back to the course page and open it anew"
            raise LaunchError(words, f"age {age_s:.0f} s")

    def _target(self, uri: object) -> dict[str, str]:
        """What the activity's address asks for; of another address, nothing is done at all."""
        if uri is None:
            return {}
        mine, given = urlsplit(self._launch_url), urlsplit(str(uri))
        if (given.scheme, given.netloc, given.path) != (mine.scheme, mine.netloc, mine.path):
            words = f"the activity names another address than this lab's; its teacher sets it to {self._launch_url}"
            raise LaunchError(words, f"target {str(uri)[:120]!r}")
        return {key: values[-1] for key, values in parse_qs(given.query).items()}


def tool_config(platforms: Mapping[str, PlatformSettings], key: ToolKey) -> ToolConfDict:
    """The settings as the library wants them."""
    table: dict[str, Any] = {}
    for platform in platforms.values():
        table.setdefault(platform.issuer, []).append(
            {
                "client_id": platform.client_id,
                "auth_login_url": platform.login_url,
                "auth_token_url": platform.token_url,
                "auth_audience": platform.audience,
                "key_set_url": platform.keys_url,
                "deployment_ids": list(platform.deployments),
            }
        )
    config = ToolConfDict(table)
    for platform in platforms.values():
        config.set_private_key(platform.issuer, key.private_pem, client_id=platform.client_id)
        config.set_public_key(platform.issuer, key.public_pem, client_id=platform.client_id)
    return config


def _role(message: _Message, platform: PlatformSettings) -> Role:
    """What somebody may do: who is a student of the course is one here, whatever else; in doubt, less."""
    if message.check_student_access():
        return Role.DRIVE
    if message.check_teacher_access():
        return Role(platform.instructors)
    return Role.DRIVE if message.check_teaching_assistant_access() else Role.WATCH


def _texts(table: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in table.items()} if isinstance(table, Mapping) else {}

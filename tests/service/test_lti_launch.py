"""A launch from a course page is believed only if the learning system said it, to this lab, just now, to this browser.

The other side is lti1p3platform on a local port; what attackers sign themselves is made with PyJWT.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra [lti]")
pytest.importorskip("lti1p3platform", reason="needs the extra [lti] and the other side, lti1p3platform")

import jwt
import msgspec
from lti_platform import CLIENT, COURSE, INSTRUCTOR, LEARNER, LINK, Platform, public_pem, rsa_key

from hil.service.lti_keys import ToolKey
from hil.service.lti_launch import MOST_OPEN, OLDEST_S, SKEW_S, WITHIN_S, Launch, LaunchError, Launches, cookie_name
from hil.service.lti_line import KEYS_S, RENEW_S
from hil.service.lti_settings import PlatformSettings
from hil.service.rights import Role

pytestmark = pytest.mark.wall_clock

LAB = "https://lab.example.org:8742"
ROLES = "https://purl.imsglobal.org/spec/lti/claim/roles"
DEPLOYMENT_ID = "https://purl.imsglobal.org/spec/lti/claim/deployment_id"
TARGET = "https://purl.imsglobal.org/spec/lti/claim/target_link_uri"
INSTITUTION = "http://purl.imsglobal.org/vocab/lis/v2/institution/person"


@pytest.fixture(scope="module")
def serving() -> Iterator[Platform]:
    platform = Platform()
    platform.tool = LAB
    yield platform
    platform.close()


class Lab:
    """The lab's side, and the one browser."""

    def __init__(self, platform: Platform, **changes: Any) -> None:
        self.platform = platform
        self.now_s = 1000.0
        self.settings = msgspec.convert(platform.settings | changes, PlatformSettings)
        self.launches = Launches(
            {"moodle": self.settings}, ToolKey(rsa_key(9)), f"{LAB}/lti/launch",
            wall_clock=time.time, clock=lambda: self.now_s,
        )  # fmt: skip
        self.cookies: dict[str, str] = {}

    def click(self, user: str = "3", **changes: str) -> dict[str, str]:
        """The course page sends the browser to the lab, and the lab to the system; gives what that is asked."""
        begun = self.launches.begin(dict(parse_qsl(urlsplit(self.platform.click(user)).query)) | changes)
        self.cookies[cookie_name(begun.state)] = begun.state
        return dict(parse_qsl(urlsplit(begun.url).query))

    def click_twice(self, *, alike: bool = False) -> tuple[dict[str, str], dict[str, str]]:
        """In two tabs at once; of sixteen pairs one has cookies of one name."""
        first = second = self.click()
        while second is first or (cookie_name(first["state"]) == cookie_name(second["state"])) is not alike:
            second = self.click()
        return first, second

    def end(self, asked: dict[str, str], id_token: str | None = None, **cookies: str) -> Launch:
        token = self.platform.answer(asked)["id_token"] if id_token is None else id_token
        return self.launches.end({"state": asked["state"], "id_token": token}, cookies or self.cookies)

    def refuses(self, asked: dict[str, str], id_token: str | None = None, **cookies: str) -> str:
        with pytest.raises(LaunchError) as refused:
            self.end(asked, id_token, **cookies)
        return refused.value.why

    def changed(self, asked: dict[str, str], **claims: Any) -> str:
        """The system's own message with other claims, signed by the system; None takes one out."""
        told = self.platform.claims_of(asked) | claims
        return self.platform.sign({key: value for key, value in told.items() if value is not None})


@pytest.fixture
def lab(serving: Platform) -> Lab:
    serving.custom, serving.target, serving.key, serving.keys_asked = {}, "", 0, 0
    serving.people["5"] = [LEARNER]
    return Lab(serving)


def test_a_student_comes_in_as_what_the_system_says_and_nothing_else_is_kept(lab: Lab) -> None:
    lab.platform.custom = {"arm": "left"}
    lab.platform.target = "?exercise=pick"
    launch = lab.end(lab.click())
    assert launch == Launch(
        platform="moodle", subject="3", role=Role.DRIVE, course=COURSE, link=LINK,
        custom={"arm": "left"}, target={"exercise": "pick"}, marks=launch.marks,
    )  # fmt: skip
    assert launch.marks is not None and launch.marks["lineitems"] == f"{lab.platform.url}/ags/lineitems"


def test_the_browser_is_sent_to_the_settings_address_alone_and_back_to_the_labs_alone(lab: Lab) -> None:
    begun = lab.launches.begin(
        {"iss": lab.platform.url, "login_hint": "3", "client_id": CLIENT, "target_link_uri": "https://evil.example/x"}
    )
    assert begun.url.startswith(f"{lab.platform.url}/auth?")
    assert dict(parse_qsl(urlsplit(begun.url).query))["redirect_uri"] == f"{LAB}/lti/launch"


@pytest.mark.parametrize(
    "changes",
    [{"iss": "https://evil.example"}, {"client_id": "another"}, {"iss": ""}, {"login_hint": ""}],
    ids=lambda changes: next(iter(changes)),
)
def test_nobody_is_sent_anywhere_for_a_system_that_is_not_known(lab: Lab, changes: dict[str, str]) -> None:
    with pytest.raises(LaunchError):
        lab.click(**changes)


# -- replays and other browsers ------------------------------------------------------------------------------------


def test_a_launch_counts_once(lab: Lab) -> None:
    asked = lab.click()
    token = lab.platform.answer(asked)["id_token"]
    lab.end(asked, token)
    assert "Nonce" in lab.refuses(asked, token)


def test_a_nonce_of_another_launch_does_not_count(lab: Lab) -> None:
    first, second = lab.click_twice()
    assert "Nonce" in lab.refuses(second, lab.platform.answer(first)["id_token"])
    assert "Nonce" in lab.refuses(second), "the launch that was tampered with is over"


def test_a_message_with_a_nonce_of_its_own_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    assert "Nonce" in lab.refuses(asked, lab.changed(asked, nonce="mine"))


def test_another_browser_cannot_be_made_to_end_somebodys_launch(lab: Lab) -> None:
    asked = lab.click()
    assert "State" in lab.refuses(asked, **{cookie_name(asked["state"]): ""})
    other = lab.click()
    assert "State" in lab.refuses(asked, **{cookie_name(asked["state"]): other["state"]})


def test_of_two_tabs_whose_cookies_have_one_name_the_later_opens(lab: Lab) -> None:
    first, second = lab.click_twice(alike=True)
    assert "State" in lab.refuses(first)
    lab.end(second)


def test_after_a_while_a_launch_that_was_begun_is_over(lab: Lab) -> None:
    asked, other = lab.click_twice()
    lab.now_s += WITHIN_S - 1.0
    lab.end(asked)
    lab.now_s += 2.0
    assert "Nonce" in lab.refuses(other)


def test_who_begins_launches_without_end_pushes_out_the_oldest_and_fills_nothing(lab: Lab) -> None:
    oldest = lab.click()
    for _ in range(MOST_OPEN):
        lab.launches.begin({"iss": lab.platform.url, "login_hint": "3", "client_id": CLIENT})
    assert "Nonce" in lab.refuses(oldest)


# -- signatures ------------------------------------------------------------------------------------------------------


def test_a_message_without_a_signature_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    claims = lab.platform.claims_of(asked)
    head, body = ({"alg": "none", "typ": "JWT", "kid": _kid(lab)}, claims)
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (head, body))
    assert "LtiKeyException" in lab.refuses(asked, f"{text}.")


def test_the_public_key_is_no_shared_secret(lab: Lab) -> None:
    asked = lab.click()
    claims = lab.platform.claims_of(asked)
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": _kid(lab)}).encode()).rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    # By hand: PyJWT would not sign with a public key.
    mac = hmac.digest(public_pem().encode(), head + b"." + body, hashlib.sha256)
    token = b".".join([head, body, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()
    assert "LtiKeyException" in lab.refuses(asked, token)


def test_a_message_that_somebody_else_signed_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    forged = jwt.encode(lab.platform.claims_of(asked), rsa_key(5), algorithm="RS256", headers={"kid": _kid(lab)})
    assert "Signature" in lab.refuses(asked, forged)


def test_a_student_who_changes_the_message_to_a_teachers_does_not_come_in(lab: Lab) -> None:
    asked = lab.click()
    head, _, signature = lab.platform.answer(asked)["id_token"].split(".")
    claims = lab.platform.claims_of(asked) | {ROLES: [INSTRUCTOR]}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    assert "Signature" in lab.refuses(asked, f"{head}.{body}.{signature}")


def test_keys_are_kept_and_asked_for_anew_when_the_system_has_changed_its_own(lab: Lab) -> None:
    for _ in range(3):
        lab.end(lab.click())
    assert lab.platform.keys_asked == 1
    lab.platform.key = 1
    lab.end(lab.click())
    assert lab.platform.keys_asked == 2
    lab.now_s += KEYS_S + 1.0
    lab.end(lab.click())
    assert lab.platform.keys_asked == 3


def test_who_names_keys_that_do_not_exist_cannot_make_the_lab_ask_without_end(lab: Lab) -> None:
    lab.end(lab.click())
    before = lab.platform.keys_asked
    for _ in range(5):
        asked = lab.click()
        forged = jwt.encode(lab.platform.claims_of(asked), rsa_key(5), algorithm="RS256", headers={"kid": "none"})
        assert "LtiKeyException" in lab.refuses(asked, forged)
    assert lab.platform.keys_asked == before + 1
    lab.now_s += RENEW_S + 1.0
    lab.end(lab.click())


# -- whom, when, where -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("audience", "given_to"),
    [
        ("another", None),
        (["another", CLIENT], None),
        ([CLIENT, "another"], None),
        ([CLIENT, "another"], "another"),
        (CLIENT, "another"),
        ([], None),
    ],
    ids=str,
)
def test_a_message_for_somebody_else_does_not_count(lab: Lab, audience: Any, given_to: str | None) -> None:
    asked = lab.click()
    lab.refuses(asked, lab.changed(asked, aud=audience, azp=given_to))


def test_one_for_several_counts_if_it_was_given_to_this_lab(lab: Lab) -> None:
    asked = lab.click()
    assert lab.end(asked, lab.changed(asked, aud=[CLIENT, "another"], azp=CLIENT)).subject == "3"


@pytest.mark.parametrize("claim", ["exp", "iat", "sub", "nonce", "aud", "iss", ROLES, DEPLOYMENT_ID])
def test_what_has_to_be_said_has_to_be_said(lab: Lab, claim: str) -> None:
    asked = lab.click()
    lab.refuses(asked, lab.changed(asked, **{claim: None}))


def test_another_deployment_of_the_same_system_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    assert "deployment" in lab.refuses(asked, lab.changed(asked, **{DEPLOYMENT_ID: "2"}))


def test_another_issuer_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    lab.refuses(asked, lab.changed(asked, iss="https://evil.example"))


def test_a_message_that_has_ended_does_not_count(lab: Lab) -> None:
    asked = lab.click()
    assert "expired" in lab.refuses(asked, lab.changed(asked, exp=int(time.time()) - 1))


@pytest.mark.parametrize(
    ("age_s", "counts"),
    [(OLDEST_S - 5, True), (OLDEST_S + 5, False), (-SKEW_S + 5, True), (-SKEW_S - 5, False)],
)
def test_clocks_may_differ_a_little_and_a_message_may_not_be_old(lab: Lab, age_s: float, counts: bool) -> None:
    asked = lab.click()
    token = lab.changed(asked, iat=int(time.time() - age_s))
    if counts:
        lab.end(asked, token)
    else:
        assert lab.refuses(asked, token).startswith("age")


def test_only_courses_that_the_settings_name_may_use_the_lab(serving: Platform) -> None:
    lab = Lab(serving, courses=(COURSE,))
    assert lab.end(lab.click()).course == COURSE
    lab = Lab(serving, courses=("43",))
    assert COURSE in lab.refuses(lab.click())


@pytest.mark.parametrize("uri", ["https://evil.example/lti/launch", f"{LAB}/elsewhere", "javascript:alert(1)"])
def test_an_activity_that_names_another_address_opens_nothing(lab: Lab, uri: str) -> None:
    asked = lab.click()
    assert "target" in lab.refuses(asked, lab.changed(asked, **{TARGET: uri}))


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "e30.e30.", "e30.W10.", "W10.W10.W10", "e30.WzFd."])
def test_rubbish_is_no_launch_and_no_fault(lab: Lab, text: str) -> None:
    lab.refuses(lab.click(), text)


# -- roles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        ([LEARNER], Role.DRIVE),
        ([INSTRUCTOR], Role.TEACH),
        ([LEARNER, INSTRUCTOR], Role.DRIVE),
        ([LEARNER, f"{INSTITUTION}#Instructor", f"{INSTITUTION}#Administrator"], Role.DRIVE),
        ([f"{INSTITUTION}#Instructor"], Role.WATCH),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"], Role.DRIVE),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Mentor"], Role.WATCH),
        ([], Role.WATCH),
    ],
    ids=str,
)
def test_a_role_in_the_course_says_what_one_may_do_and_in_doubt_it_is_less(
    lab: Lab, roles: list[str], role: Role
) -> None:
    lab.platform.people["5"] = roles
    assert lab.end(lab.click("5")).role is role


def test_an_owner_may_want_teachers_of_courses_to_do_less(serving: Platform) -> None:
    lab = Lab(serving, instructors="drive")
    assert lab.end(lab.click("9")).role is Role.DRIVE


def test_what_an_activity_says_of_itself_gives_nobody_a_role(lab: Lab) -> None:
    lab.platform.custom = {"role": "teach", "roles": INSTRUCTOR}
    lab.platform.target = f"?{urlencode({'role': 'teach'})}"
    assert lab.end(lab.click()).role is Role.DRIVE


def _kid(lab: Lab) -> str:
    return str(lab.platform.conf.get_jwks()["keys"][0]["kid"])

"""The `[lti]` table of a lab's settings: which learning systems may open its pages and are told marks."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from hil.errors import ConfigError
from hil.types import Record

Told = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[ -~]+\Z")]
"""What a learning system calls itself, a client, a deployment, a course."""

Url = Annotated[str, Meta(pattern=r"^https?://[!-~]{1,500}\Z")]
PlatformName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,31}\Z")]
"""Stands before the names of the people of that system."""

ArmName = Annotated[str, Meta(min_length=1, max_length=64)]


class PlatformSettings(Record, frozen=True):
    """One learning system, as it shows itself to tools that are added to it.

    Attributes:
        issuer: who says who a person is.
        client_id: what it calls this lab.
        deployments: where in it the lab may be used; it names at least one.
        login_url: where a browser shows who it is.
        token_url: where the lab gets leave to send marks.
        keys_url: where its public keys stand.
        audience: whom to name when asking for that leave; none: `token_url`.
        courses: ids of the courses that may use the lab; none: all of them.
        arms: which arms its people get; none: all of the lab.
        instructors: what a teacher of a course may do here.
        speed_percent: of the rig's speeds, for students.
        hours: how long a person may stay after opening the page.
    """

    issuer: Told
    client_id: Told
    deployments: Annotated[tuple[Told, ...], Meta(min_length=1)]
    login_url: Url
    token_url: Url
    keys_url: Url
    audience: Told | None = None
    courses: tuple[Told, ...] = ()
    arms: tuple[ArmName, ...] = ()
    instructors: Literal["watch", "drive", "teach"] = "teach"
    speed_percent: Annotated[float, Meta(ge=1, le=100)] = 50.0
    hours: Annotated[float, Meta(ge=0.25, le=12)] = 3.0


class LtiSettings(Record, frozen=True):
    """All of `[lti]`.

    Attributes:
        key: file of the key by which learning systems know the lab.
        session_key: file of the key that signs what a person gets who comes from a course page.
        book: file with who came, and with the marks that wait.
        platforms: by a short name each.
    """

    key: Told = "keys/lti.key"
    session_key: Told = "keys/lti-sessions.key"
    book: Told = "lti.sqlite"
    platforms: dict[PlatformName, PlatformSettings] = msgspec.field(default_factory=dict)


def check_lti(lti: LtiSettings, *, public_url: str, keyed: bool, arms: tuple[str, ...], file: str) -> None:
    """Refuse what could be overheard, or cannot be told apart.

    Args:
        lti: the table.
        public_url: where browsers find the lab.
        keyed: the lab asks for tokens.
        arms: of the lab.
        file: that it stands in.

    Raises:
        ConfigError: key, value and what is allowed.
    """
    if not lti.platforms:
        return
    if not keyed:
        advice = "`hil serve init DIR` makes a lab that has them"
        raise ConfigError(file, "access.token_keys", None, "keys, where [lti] names a learning system", advice)
    _check_url(file, "listen.public_url", public_url or None)
    seen: dict[tuple[str, str], str] = {}
    for name, platform in lti.platforms.items():
        key = f"lti.platforms.{name}"
        for field in ("login_url", "token_url", "keys_url"):
            _check_url(file, f"{key}.{field}", getattr(platform, field))
        unknown = sorted(set(platform.arms) - set(arms))
        if unknown:
            raise ConfigError(file, f"{key}.arms", ", ".join(unknown), f"arms of this lab: {', '.join(arms)}")
        same = seen.setdefault((platform.issuer, platform.client_id), name)
        if same != name:
            allowed = f"one table for each issuer and client; {same} has these"
            raise ConfigError(file, f"{key}.client_id", platform.client_id, allowed)


def _check_url(file: str, key: str, url: str | None) -> None:
    parts = urlsplit(url or "")
    try:
        here = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        here = False
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and here)):
        raise ConfigError(file, key, url, "an address that begins with https://, or one of this computer alone")

"""Connecting a learning system: the lab's keys, what to type into the system, and the system's table in `lab.toml`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hil.errors import ConfigError
from hil.model.files import parse_toml
from hil.service.keys import SigningKey
from hil.service.lti_keys import ToolKey
from hil.service.lti_settings import PlatformName, PlatformSettings
from hil.service.settings import FILE, Lab, read_settings
from hil.tables import toml_keys
from hil.types import Record

LOGIN, LAUNCH, KEYS = "/lti/login", "/lti/launch", "/lti/keys"


class SystemAddresses(Record, frozen=True):
    """How one kind of learning system is reached."""

    issuer: str
    login_url: str
    token_url: str
    keys_url: str


class ToolAddresses(Record, frozen=True):
    """What a learning system wants to know of this lab.

    Attributes:
        launch: also called tool URL, target link URI, redirection URI.
        login: also called login initiation URL.
        keys: also called public keyset URL, JWKS.
    """

    launch: str
    login: str
    keys: str


def moodle(address: str) -> SystemAddresses:
    """A Moodle: all of it follows from where it is.

    Args:
        address: of its front page, as `https://moodle.example.org`.
    """
    site = address.rstrip("/")
    return SystemAddresses(
        issuer=site,
        login_url=f"{site}/mod/lti/auth.php",
        token_url=f"{site}/mod/lti/token.php",
        keys_url=f"{site}/mod/lti/certs.php",
    )


def canvas(address: str = "") -> SystemAddresses:
    """A Canvas: all that Instructure runs have one issuer and one door.

    Args:
        address: of a Canvas of one's own; empty for one of Instructure's.
    """
    door = address.rstrip("/") or "https://sso.canvaslms.com"
    return SystemAddresses(
        issuer="https://canvas.instructure.com",
        login_url=f"{door}/api/lti/authorize_redirect",
        token_url=f"{door}/login/oauth2/token",
        keys_url=f"{door}/api/lti/security/jwks",
    )


def tool_addresses(lab: Lab) -> ToolAddresses:
    """What to type into the system.

    Raises:
        ConfigError: the lab does not say where browsers find it.
    """
    url = lab.settings.listen.public_url.rstrip("/")
    if not url:
        allowed = "the address by which browsers find the lab"
        raise ConfigError(str(lab.folder / FILE), "listen.public_url", None, allowed)
    return ToolAddresses(launch=url + LAUNCH, login=url + LOGIN, keys=url + KEYS)


def make_keys(lab: Lab) -> tuple[ToolKey, tuple[Path, ...]]:
    """The lab's key for learning systems, and files that were made: those that are there stay.

    Raises:
        ConfigError: a file cannot be used or written.
    """
    lti = lab.settings.lti
    made = []
    key, session_key = lab.path(lti.key), lab.path(lti.session_key)
    if not session_key.exists():
        SigningKey(secrets.token_bytes(32)).save(session_key)
        made.append(session_key)
    if key.exists():
        return ToolKey.load(key), tuple(made)
    return ToolKey.make(key), (key, *made)


def add_platform(lab: Lab, name: str, table: Mapping[str, object]) -> PlatformSettings:
    """Write a learning system into `lab.toml`; what stands there stays as it is.

    Args:
        lab: its settings file has to be that of its folder.
        name: short name of the system.
        table: keys of `PlatformSettings`; those that are None are left out.

    Raises:
        ConfigError: it is there already, or something in it is wrong; nothing is written then.
    """
    path = lab.folder / FILE
    if name in lab.settings.lti.platforms:
        raise ConfigError(
            str(path), f"lti.platforms.{name}", name, "a name that is not there yet; edit that table instead"
        )
    try:
        msgspec.convert(name, PlatformName)
    except msgspec.ValidationError:
        raise ConfigError("hil lti connect", "NAME", name, "up to 32 small letters, digits and hyphens") from None
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
    lines = ["", f"[lti.platforms.{name}]  # docs/lti.md", *toml_keys(table), ""]
    whole = text.rstrip("\n") + "\n" + "\n".join(lines)
    settings = read_settings(parse_toml(whole.encode(), str(path)), str(path))
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text(whole, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be written to") from None
    return settings.lti.platforms[name]

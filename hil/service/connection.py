"""From an address that somebody types to the lab, the arm and the login behind it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from hil.errors import CommandError, ConfigError
from hil.model.files import user_dir
from hil.service.join import find_login, logins
from hil.service.lab_request import Access, ask, is_loopback
from hil.service.wire import ROOT, Lab, decode_body


def logins_dir() -> Path:
    """Where this user's logins are kept."""
    return user_dir() / "logins"


def reach(url: str, token: str | None = None) -> tuple[Access, str]:
    """How to reach what an address names.

    Args:
        url: of a lab, with or without an arm's name behind it: ``http://127.0.0.1:8742/arm-1``. Without ``https://``
            in front, that is meant, but on this computer ``http://``.
        token: instead of that of the login for this address, or of the key of this user's own server there.

    Returns:
        The lab, and the arm's name, which is empty if the address has none.

    Raises:
        ConfigError: the address is none, or the login cannot be read.
    """
    login, arm = find_login(logins_dir(), url)
    if login is not None:
        given = login.token if token is None else token
        return Access(url=login.url, token=given, certificate_sha256=login.certificate_sha256), arm
    scheme, _, rest = url.rpartition("://")
    place, _, behind = rest.rstrip("/").partition("/")
    prefix, _, arm = behind.rpartition("/")
    host = place.rpartition(":")[0] or place
    here = is_loopback(host.strip("[]"))
    scheme = scheme or ("http" if here else "https")
    base = f"{scheme}://{place}/{prefix}" if prefix else f"{scheme}://{place}"
    return Access(url=base, token=token or "", own_server=token is None and here and scheme == "http"), arm


def only_login(command: str) -> str:
    """Address of the one lab that this user is logged in to.

    Args:
        command: for the message.

    Raises:
        ConfigError: there is none, or there are several.
    """
    known = [join.url for join in logins(logins_dir())]
    if len(known) != 1:
        given = ", ".join(known) or None
        raise ConfigError(command, "URL", given, "a lab's address, or one login", "`hil login FILE` makes one")
    return known[0]


def reach_arm(url: str, token: str | None = None) -> tuple[Access, str]:
    """The same for an address that has to mean one arm; a lab with a single one need not be told which.

    Raises:
        ConfigError: the address is none.
        CommandError: the lab has several arms, or none for the asker.
        LinkError: it cannot be reached.
    """
    access, arm = reach(url, token)
    if arm:
        return access, arm
    names = [each.arm for each in list_arms(access).arms]
    if len(names) != 1:
        shown = ", ".join(f"{access.url}/{quote(name)}" for name in names) or "none for you"
        raise CommandError(f"{access.url}: which arm? There are: {shown}", value=url, allowed=shown)
    return access, names[0]


def list_arms(access: Access) -> Lab:
    """All arms of a lab that the asker may see.

    Raises:
        LinkError: it cannot be reached.
        RefusedByLabError: it says no.
    """
    return decode_body(ask(access, "GET", f"{ROOT}/lab"), Lab)


def arm_path(arm: str, what: str) -> str:
    """The path of something of an arm, below the lab's address."""
    return f"{ROOT}/arms/{quote(arm, safe='')}/{what}"

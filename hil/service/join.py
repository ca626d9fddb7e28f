"""Join files: address, certificate's fingerprint and token in one file, for `hil login`; and where logins are kept.

The fingerprint makes a self-signed certificate as good as any: a client talks to that one certificate alone.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import tomllib
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from hil.errors import ConfigError
from hil.service.secret_files import read_secret, write_secret
from hil.service.wire import Text
from hil.tables import convert, toml_value
from hil.types import Record

SUFFIX = ".hil-join"
_MOST_BYTES = 16_384


class Join(Record, frozen=True):
    """All that somebody needs to reach a lab. Shows no token when printed.

    Attributes:
        lab: the lab's name.
        url: where it answers.
        certificate_sha256: fingerprint of its certificate, 64 hexadecimal digits; empty where an authority vouches.
        token: the token.
    """

    lab: Annotated[Text, Meta(min_length=1)]
    url: Annotated[str, Meta(pattern=r"^https?://[!-~]{1,300}$")]
    certificate_sha256: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
    token: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,4096}$")]

    def __repr__(self) -> str:
        return f"Join(lab={self.lab!r}, url={self.url!r})"


def fingerprint(certificate_pem: str) -> str:
    """SHA-256 of a certificate as it goes over the line, 64 hexadecimal digits.

    Raises:
        ValueError: it is no PEM certificate.
    """
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate_pem)).hexdigest()


def join_text(join: Join) -> str:
    """A join file's text."""
    keys = ("lab", "url", "certificate_sha256", "token")
    lines = [f"{key} = {toml_value(getattr(join, key))}" for key in keys]
    return "\n".join(["# A key to a lab: keep it like a password. `hil login FILE` takes it.", *lines, ""])


def write_join(path: Path, join: Join) -> None:
    """Write a new join file that only its owner can read.

    Raises:
        ConfigError: there is one already, or the place cannot be written to.
    """
    write_secret(path, join_text(join).encode())


def read_join(path: Path, data: bytes) -> Join:
    """Read a join file; who else could read it is not asked, since it came from elsewhere.

    Args:
        path: for messages.
        data: what is in it.

    Raises:
        ConfigError: it is none.
    """
    if len(data) > _MOST_BYTES:
        raise ConfigError(str(path), "file", f"{len(data)} bytes", "a join file, as `hil token new` writes it")
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except ValueError:
        # What stands there may be a secret, so it is not quoted.
        raise ConfigError(str(path), "file", "something else", "a join file, as `hil token new` writes it") from None
    return _convert(table, path)


def _convert(table: dict[str, object], path: Path) -> Join:
    try:
        return convert(table, Join, file=str(path))
    except ConfigError as error:
        if error.key == "token":
            raise ConfigError(str(path), "token", "something else", "a token, as `hil token new` writes it") from None
        raise


def save_login(folder: Path, join: Join) -> Path:
    """Keep a login, in place of one for the same address; gives its file.

    Args:
        folder: where logins are kept; made if it is not there.
        join: what to keep.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    path = folder / f"{_name(join.url)}.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        write_join(fresh, join)
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a folder that can be written to") from None
    return path


def find_login(folder: Path, url: str) -> tuple[Join | None, str]:
    """The login for an address, which may have an arm's id behind it: ``https://lab.example.org:8742/left``.

    Returns:
        The login, or None if there is none, and the arm's id, or nothing.

    Raises:
        ConfigError: it is no address; or others may read the login, or it is damaged.
    """
    base, _, arm = url.rstrip("/").rpartition("/")
    for lab, rest in ((url, ""), (base, arm)):
        path = folder / f"{_name(lab)}.toml"
        if lab.rstrip(":/") and path.is_file():
            return read_join(path, read_secret(path)), rest
    return None, ""


def logins(folder: Path) -> list[Join]:
    """Every login that is kept.

    Raises:
        ConfigError: others may read one, or it is damaged.
    """
    return [read_join(path, read_secret(path)) for path in sorted(folder.glob("*.toml"))]


def _name(url: str) -> str:
    """One name for one lab, however its address was typed."""
    try:
        parts = urlsplit(url if "//" in url else f"https://{url}")
        port = parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        raise ConfigError("login", "url", url, "an address as https://lab.example.org:8742") from None
    plain = f"{parts.scheme}-{parts.hostname}-{port}{parts.path.rstrip('/')}"
    return re.sub(r"[^a-z0-9.-]", "_", plain.lower())

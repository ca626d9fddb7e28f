"""The list of tokens that were made, without the tokens: whose an id is, to revoke it and to read the audit by name."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hil.errors import ConfigError
from hil.service.grants import Grant
from hil.service.secret_files import read_secret, write_secret

_DECODER = msgspec.json.Decoder(Grant)


def remember(path: Path, grants: list[Grant]) -> None:
    """Add tokens to the list; it is made if it is not there.

    Raises:
        ConfigError: it cannot be written to, or others may read it.
    """
    if not path.exists():
        write_secret(path, b"")
    read_secret(path)
    lines = b"".join(msgspec.json.encode(grant) + b"\n" for grant in grants)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        with os.fdopen(handle, "ab") as file:
            file.write(lines)
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be written to") from None


def issued(path: Path) -> list[Grant]:
    """All tokens of the list, oldest first; none if there is no list.

    Raises:
        ConfigError: it cannot be read, others may read it, or a line is something else.
    """
    if not path.exists():
        return []
    grants = []
    for number, line in enumerate(read_secret(path).splitlines(), start=1):
        try:
            grants.append(_DECODER.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ConfigError(
                str(path), f"line {number}", line.decode("utf-8", "replace"), "a token's record"
            ) from None
    return grants


def forget(path: Path, *, user: str | None = None, ended_before_s: float = float("-inf")) -> int:
    """Take people out of the list; their ids stand in the audit then without a name. Gives how many tokens.

    Args:
        path: the list.
        user: whose tokens; None for nobody's by name.
        ended_before_s: all tokens that counted no more by then, seconds since 1970.

    Raises:
        ConfigError: it cannot be read or written to.
    """
    everything = issued(path)
    kept = [grant for grant in everything if grant.user != user and grant.expires_s >= ended_before_s]
    if len(kept) < len(everything):
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        write_secret(fresh, b"".join(msgspec.json.encode(grant) + b"\n" for grant in kept))
        fresh.replace(path)
    return len(everything) - len(kept)

"""The key of a server without a lab's keys: made anew at each start, in a file that only its user can read.

Loopback keeps other computers out. Other users of this one, and pages in this user's browser that come from anywhere
else, can reach it too: they do not have the key. Commands of the same user find it by the server's port.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import state_dir
from hil.service.secret_files import read_secret, write_secret


class LocalKey:
    """What this server wants to hear.

    Args:
        text: some 40 random characters, fit for an address.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "LocalKey()"

    def is_same(self, given: str) -> bool:
        """Whether this is it; takes as long for a wrong one."""
        return hmac.compare_digest(self.text.encode(), given.encode())

    def keep(self, port: int) -> None:
        """Put it where this user's commands look for it, in place of that of an earlier start.

        Raises:
            ConfigError: it cannot be written.
        """
        path = _file_of(port)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.unlink(missing_ok=True)
        except OSError as error:
            allowed = "a folder that can be written to"
            raise ConfigError(str(path), "file", error.strerror or str(error), allowed) from None
        write_secret(path, self.text.encode())

    def drop(self, port: int) -> None:
        """Take it away again, but not that of a later start: nobody answers to this one any more."""
        path = _file_of(port)
        if path.is_file() and self.is_same(path.read_text("ascii", "replace")):
            path.unlink()


def local_key(port: int) -> str:
    """The key of this user's server at a port; empty if there is none.

    Raises:
        ConfigError: others could have read it.
    """
    path = _file_of(port)
    return read_secret(path).decode("ascii", "replace") if path.is_file() else ""


def _file_of(port: int) -> Path:
    return state_dir() / "keys" / f"port-{port}.key"

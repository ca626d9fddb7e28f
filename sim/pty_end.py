"""The pseudo-terminal that a fake controller serves on: raw, under a name that stays, for one client after another."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import termios
import time
import tty
from pathlib import Path

from hil.errors import ConfigError

assert sys.platform != "win32"

CLIENTLESS_S = 0.002
"""How often a pseudo-terminal that nobody has open is looked at: waiting on one returns at once."""


class PtyEnd:
    """A pseudo-terminal under a name that stays."""

    def __init__(self, link: str | None, baud: int) -> None:
        self._link = None if link is None else Path(link)
        self._start_baud = baud
        self._master = -1
        self._name = ""
        self._clientless = True

    @property
    def url(self) -> str:
        """The path to open."""
        return self._name if self._link is None else str(self._link)

    def open(self) -> None:
        """Make the terminal, and put the link at its name.

        Raises:
            ConfigError: the link's place is taken or cannot be written.
        """
        if self._link is not None and self._link.exists() and not self._link.is_symlink():
            raise ConfigError("fake options", "link", str(self._link), "a path that is free, or an old link")
        self._master, slave = os.openpty()
        self._name = os.ttyname(slave)
        self._set_modes(slave)
        os.close(slave)
        os.set_blocking(self._master, False)
        self._clientless = True
        if self._link is not None:
            fresh = self._link.with_name(f".{self._link.name}.{os.getpid()}")
            try:
                fresh.symlink_to(self._name)
                fresh.replace(self._link)
            except OSError as error:
                raise ConfigError("fake options", "link", str(self._link), f"a writable place ({error})") from None

    def wait(self, timeout_s: float) -> None:
        """Return when there may be something to read, at the latest after `timeout_s`."""
        if self._clientless:
            time.sleep(min(timeout_s, CLIENTLESS_S))
        else:
            select.select([self._master], [], [], timeout_s)

    def read(self) -> bytes:
        """What the client has sent; nothing without a client."""
        try:
            data = os.read(self._master, 65536)
        except BlockingIOError:
            data = b""
        except OSError:
            if not self._clientless:
                self._forget_client()
            return b""
        self._clientless = False
        return data

    def write(self, data: bytes) -> None:
        """Send to the client, if there is one."""
        if not self._clientless:
            with contextlib.suppress(OSError):
                os.write(self._master, data)

    @property
    def baud(self) -> int | None:
        """The speed that the client has set."""
        return _speeds().get(termios.tcgetattr(self._master)[5])

    def close(self) -> None:
        """Take the terminal and its link away; twice is fine."""
        if self._master < 0:
            return
        os.close(self._master)
        self._master = -1
        if self._link is not None and self._link.is_symlink() and os.readlink(self._link) == self._name:
            self._link.unlink()

    def _set_modes(self, slave: int) -> None:
        tty.setraw(slave)
        modes = termios.tcgetattr(slave)
        modes[4] = modes[5] = getattr(termios, f"B{self._start_baud}", modes[5])
        modes[2] &= ~termios.CSTOPB
        termios.tcsetattr(slave, termios.TCSANOW, modes)

    def _forget_client(self) -> None:
        """A real port forgets exclusive use and unread replies at its last close; this one has to be told."""
        self._clientless = True
        try:
            slave = os.open(self._name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            os.close(self._master)
            self.open()
            return
        # A client that asks for parity again, and finds all else set, would be told that its settings are invalid.
        self._set_modes(slave)
        fcntl.ioctl(slave, termios.TIOCNXCL)
        termios.tcflush(slave, termios.TCIFLUSH)
        os.close(slave)


def _speeds() -> dict[int, int]:
    names = [name for name in dir(termios) if name[0] == "B" and name[1:].isdigit() and name != "B0"]
    return {getattr(termios, name): int(name[1:]) for name in names}

"""Which programs have which devices open, as far as this system shows it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from hil.errors import LinkClosed
from hil.link import BytePort
from hil.types import Record


class Holder(Record, frozen=True):
    """A program that has a port open."""

    pid: int
    name: str

    @property
    def text(self) -> str:
        """Words for a person."""
        return f"{self.name} (process {self.pid})"


class OpenPorts(Record, frozen=True):
    """Which programs have which devices open.

    Attributes:
        holders: by device.
        complete: False where some programs, most often those of other users, could not be looked at.
    """

    holders: dict[str, tuple[Holder, ...]]
    complete: bool

    def of(self, device: str) -> tuple[Holder, ...]:
        """Who has this device open, named by itself or by a link to it."""
        return self.holders.get(device) or self.holders.get(os.path.realpath(device), ())


def open_ports(proc: Path = Path("/proc")) -> OpenPorts:
    """Look through the running programs for open devices; where there is no ``/proc``, none can be seen."""
    found: dict[str, list[Holder]] = {}
    pids = [path for path in proc.iterdir() if path.name.isdigit()] if os.path.isdir(proc) else []
    complete = bool(pids)
    for process in pids:
        try:
            descriptors = list((process / "fd").iterdir())
        except FileNotFoundError:
            continue
        except OSError:
            complete = False
            continue
        for device in {_target(descriptor) for descriptor in descriptors}:
            if device.startswith("/dev/"):
                found.setdefault(device, []).append(Holder(pid=int(process.name), name=_name(process)))
    return OpenPorts(holders={device: tuple(who) for device, who in found.items()}, complete=complete)


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except OSError:
        return ""


def _name(process: Path) -> str:
    with contextlib.suppress(OSError):
        return (process / "comm").read_text(errors="replace").strip()
    return "a program"


def others_at(url: str) -> tuple[Holder, ...]:
    """The programs beside this one that have the device of a port open."""
    if not url.startswith("/"):
        return ()
    return tuple(holder for holder in open_ports().of(url) if holder.pid != os.getpid())


def refuse_shared(port: BytePort, url: str) -> BytePort:
    """A port that was just opened, for ourselves alone.

    The lock that is taken at opening keeps out only who comes later, and nobody who is the system's administrator.

    Raises:
        LinkClosed: another program has it open, and would take away what is meant for us; the port is closed again.
    """
    if others := others_at(url):
        port.close()
        who, pids = ", ".join(other.text for other in others), " ".join(str(other.pid) for other in others)
        raise LinkClosed(
            f"{url}: another program reads this port too, and takes answers away: {who}. Close it, or end it with "
            f"'kill {pids}', then connect again",
            url,
        )
    return port

"""One owner for each rig: a lock that the system frees when its owner dies, and a note on who that is."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote

import msgspec
from filelock import FileLock, Timeout

from hil.errors import InterlockError
from hil.types import Record


class Owner(Record, frozen=True):
    """Who has a rig.

    Attributes:
        command: what was typed.
        since_epoch_s: seconds since 1970.
        address: where the owner can be talked to, or empty.
    """

    pid: int
    host: str
    command: str
    since_epoch_s: float
    address: str = ""

    @property
    def text(self) -> str:
        """Words for whoever finds the rig taken."""
        since = datetime.datetime.fromtimestamp(self.since_epoch_s).astimezone()
        address = f", which answers at {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host} ({self.command}) since {since:%Y-%m-%d %H:%M:%S}{address}"


class RigLock:
    """Makes this process the only owner of a rig while it is entered.

    Args:
        state_dir: folder for locks; made if it does not exist.
        rig_id: the rig.
        command: what was typed, for whoever finds the rig taken.
        address: where this owner can be talked to, or empty.
        now_epoch_s: seconds since 1970; the system's time if None.
    """

    def __init__(
        self,
        state_dir: Path,
        rig_id: str,
        *,
        command: str,
        address: str = "",
        now_epoch_s: float | None = None,
    ) -> None:
        folder, name = Path(state_dir) / "locks", quote(rig_id, safe="")
        self._rig_id = rig_id
        self._lock_path, self._note_path = folder / f"{name}.lock", folder / f"{name}.owner.json"
        self._lock = FileLock(self._lock_path)
        self._owner = Owner(
            pid=os.getpid(),
            host=platform.node(),
            command=command,
            since_epoch_s=time.time() if now_epoch_s is None else now_epoch_s,
            address=address,
        )

    def acquire(self) -> None:
        """Take the rig, or say who has it.

        Raises:
            InterlockError: another process has it, or the folder for locks cannot be used.
        """
        try:
            self._note_path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise InterlockError(self._taken(), missing=("the rig is free",)) from None
        except OSError as error:
            raise InterlockError(
                f"rig {self._rig_id}: cannot be locked: {self._lock_path}: {error.strerror}. Make that folder writable",
                missing=("a lock on the rig",),
            ) from None
        self._write_note()

    def _taken(self) -> str:
        owner = self.owner()
        if owner is None:
            return f"rig {self._rig_id} has another owner, not yet known. Try again in a moment"
        advice = f"Talk to it at {owner.address}, or end it" if owner.address else "Wait until it has ended, or end it"
        return f"rig {self._rig_id} has another owner: {owner.text}. {advice}, and try again"

    def owner(self) -> Owner | None:
        """What the present or last owner wrote about itself; None if there is no such note."""
        try:
            return msgspec.json.decode(self._note_path.read_bytes(), type=Owner)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write_note(self) -> None:
        # The note is for people and the lock alone decides: failing to write it is no reason not to run.
        with contextlib.suppress(OSError):
            half_written = self._note_path.with_suffix(".new")
            half_written.write_bytes(msgspec.json.encode(self._owner))
            half_written.replace(self._note_path)

    def release(self) -> None:
        """Let go of the rig; twice is fine."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                self._note_path.unlink()
            self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

"""Who has which arm, in a file: a server that was killed gives the lease to its holder, as after a lost line.

Written with every change and each second, by replacing; never waited for the disk, so that a power failure may lose
the newest seconds of it. The time that a lease waits goes on while there is no server, by the clock that everybody
has: set back, it makes nothing longer than it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec import Meta

from hil.service.keepsake import Keepsake
from hil.types import Record

_Epoch = Annotated[float, Meta(ge=0.0, le=1e12)]
_VERSION = 1


class _File(Record, frozen=True):
    """All arms of a lab.

    Attributes:
        seen_epoch_s: when this was so, seconds since 1970-01-01 UTC.
    """

    v: int
    seen_epoch_s: _Epoch
    arms: dict[str, Keepsake]


class KeptLeases:
    """The leases of a lab's arms, over its restarts.

    Args:
        path: JSON file; None to forget them at the end. One that is damaged counts as none: every arm is free then.
        expected: the lab has served before, so that a missing file is worth a word.
        now_epoch_s: seconds since 1970-01-01 UTC.
        say: tells whoever runs the server what is wrong.
    """

    def __init__(self, path: Path | None, *, expected: bool, now_epoch_s: float, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say
        self._failed = False
        self._written: object = None
        self.found: Mapping[str, Keepsake] = MappingProxyType({})
        """What is left of what was kept, by arm."""
        if path is None:
            return
        if path.exists():
            self.found = MappingProxyType(self._read(path, now_epoch_s))
        elif expected:
            say(f"{path} is not there: whoever had an arm has no claim to it, and every arm is free")

    def _read(self, path: Path, now_epoch_s: float) -> dict[str, Keepsake]:
        try:
            file = msgspec.json.decode(path.read_bytes(), type=_File)
            if file.v != _VERSION:
                raise ValueError(f"version {file.v} given; allowed: {_VERSION}")
        except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
            self._say(
                f"{path} cannot be read ({error}): whoever had an arm has no claim to it, and every arm is free; "
                "no freeze and no latched stop of before counts. Look at the arms"
            )
            return {}
        # Of a clock that was set back nobody knows how long there was no server: none of it counts as gone by.
        gone_s = max(0.0, now_epoch_s - file.seen_epoch_s)
        return {arm: kept.later(gone_s) for arm, kept in file.arms.items()}

    def keep(self, arms: Mapping[str, Keepsake], now_epoch_s: float, *, aged: bool = False) -> None:
        """This is so now. What cannot be written is told once; the server goes on without.

        Args:
            arms: all of the lab.
            now_epoch_s: seconds since 1970-01-01 UTC.
            aged: write also what has only grown older, which is what somebody has; else nobody who keeps asking for
                something keeps the disk busy.
        """
        timeless = {arm: (kept.epoch, kept.frozen, kept.latched, _whose(kept)) for arm, kept in arms.items()}
        held = any(kept.holder is not None for kept in arms.values())
        if self._path is None or (timeless == self._written and not (aged and held)):
            return
        part = self._path.with_suffix(".part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            data = msgspec.json.encode(_File(v=_VERSION, seen_epoch_s=now_epoch_s, arms=dict(arms)))
            part.write_bytes(msgspec.json.format(data))
            os.replace(part, self._path)
        except OSError as error:
            if not self._failed:
                self._say(f"{self._path} cannot be written ({error}): after a restart whoever asks first gets an arm")
            self._failed = True
        else:
            self._failed, self._written = False, timeless


def _whose(kept: Keepsake) -> tuple[str, bool]:
    return ("", False) if kept.holder is None else (kept.holder.user, kept.holder.must_park)

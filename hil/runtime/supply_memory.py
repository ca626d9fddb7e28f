"""Remembers from session to session that a rig's servo supply was said to be cut, and hears it from other terminals."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from hil.errors import ConfigError, InterlockError
from hil.model._supply_file import forget_supply, read_supply, supply_file, write_supply
from hil.runtime.supply import still_driven
from hil.types import Supply

LOOK_S = 0.25


class SupplyMemory:
    """Of one rig, for its owner. A fake begins anew with each session; what is said meanwhile counts for it, too.

    Args:
        rig_id: whose supply.
        url: its real port; None for a fake.

    Attributes:
        was: what the session begins with.

    Raises:
        ConfigError: the note cannot be read.
    """

    def __init__(self, rig_id: str, url: str | None) -> None:
        self._rig_id, self._real = rig_id, url is not None
        self.was = self._state = Supply.CUT if self._real and read_supply(rig_id) is not None else Supply.UNSAID
        self._stamp = self._look()
        self._looked_s = float("-inf")

    @property
    def doubtful(self) -> bool:
        """It was cut, and the loop has not seen yet whether the controller has forgotten its pulses."""
        return self._state is Supply.CUT

    def news(self, now_s: float) -> str:
        """Who has said since the last look, at another terminal, that it was cut; empty for nobody."""
        if now_s - self._looked_s < LOOK_S:
            return ""
        self._looked_s = now_s
        stamp, before = self._look(), self._stamp
        self._stamp = stamp
        if stamp in (None, before):
            return ""
        try:
            note = read_supply(self._rig_id)
        except ConfigError:
            return "somebody"  # in a note that cannot be read
        return "" if note is None else note.by

    def take(self, supply: Supply) -> str:
        """The loop holds something else of it now; words if that cannot be remembered, else empty."""
        self._state = supply
        if not self._real:
            return ""
        try:
            if supply is Supply.CUT and self._look() is None:
                date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
                write_supply(self._rig_id, "somebody in the last session", date)
            elif supply in (Supply.ON, Supply.FELT):
                forget_supply(self._rig_id)
        except ConfigError as error:
            return f"what was said of the servo supply of {self._rig_id} cannot be remembered: {error}"
        finally:
            self._stamp = self._look()
        return ""

    def _look(self) -> tuple[int, int] | None:
        """What tells one note from the next; None without one."""
        try:
            found = supply_file(self._rig_id).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino


def refuse_if_cut(rig_id: str, driven: Sequence[str]) -> None:
    """For what talks to single channels, without a session.

    Args:
        rig_id: whose supply.
        driven: names of what the controller drives already.

    Raises:
        InterlockError: the supply was said to be cut, and the controller has not forgotten its pulses since.
        ConfigError: the note cannot be read.
    """
    if driven and read_supply(rig_id) is not None:
        raise InterlockError(still_driven(driven), ["servo supply"])

"""The pictures by which somebody drives from afar: when they become too old for it, and when they are fresh again."""

from __future__ import annotations

from hil.service.gate import GateSettings
from hil.service.lease_facts import Party
from hil.service.wire import NoticeKind


class PictureWatch:
    """Follows the age of one arm's newest picture, and says each change once.

    Args:
        settings: whether a picture is needed, and how old it may be.
    """

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self._stale = False

    def forget(self) -> None:
        """Nobody drives by it."""
        self._stale = False

    def look(self, driver: Party | None, age_s: float | None, *, at_stake: bool) -> NoticeKind | None:
        """What there is to say now, if anything.

        Args:
            driver: who drives.
            age_s: of the newest picture; None for none.
            at_stake: whether the arm moves, or could at once.
        """
        if driver is None or driver.on_site or not self._settings.picture_needed:
            return None
        stale = age_s is None or age_s > self._settings.picture_last_s
        if stale is self._stale or (stale and not at_stake):
            return None
        self._stale = stale
        return NoticeKind.PICTURE_STALE if stale else NoticeKind.PICTURE_BACK

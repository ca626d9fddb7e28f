"""Until when somebody may drive: the end of the slot, or of the token before it, announced in time."""

from __future__ import annotations

from collections.abc import Sequence

from hil.service.lease_facts import Effects, Tell
from hil.service.wire import NoticeKind


class DrivingTime:
    """One driver's time.

    Args:
        warnings_s: how long before its end the end is announced.

    Attributes:
        slot_s: when the slot ends; None for no end in sight.
        token_s: when the token ends; None for no end.
    """

    def __init__(self, warnings_s: Sequence[float]) -> None:
        self._warnings_s = warnings_s
        self._warned: set[float] = set()
        self.slot_s: float | None = None
        self.token_s: float | None = None

    def give(self, slot_s: float | None, token_s: float | None) -> None:
        """A new end; nothing of it was announced yet."""
        self.slot_s, self.token_s = slot_s, token_s
        self._warned.clear()

    @property
    def end_s(self) -> float | None:
        """When it ends, one way or the other; None for no end in sight."""
        return earliest(self.slot_s, self.token_s)

    @property
    def by_token(self) -> bool:
        """The token ends first."""
        return self.token_s is not None and self.end_s == self.token_s

    def left_s(self, now_s: float) -> float | None:
        """What is left of it; None for no end in sight."""
        return None if self.end_s is None else max(0.0, self.end_s - now_s)

    def over(self, now_s: float) -> bool:
        """It has ended."""
        return self.end_s is not None and now_s >= self.end_s

    def announce(self, channel: int, now_s: float) -> Effects:
        """Tell the driver of the end; of several warnings due at once, one is enough."""
        if self.end_s is None:
            return ()
        left_s = self.end_s - now_s
        due = {warning for warning in self._warnings_s if left_s <= warning} - self._warned
        if not due:
            return ()
        self._warned |= due
        what, kind = ("token", NoticeKind.TOKEN_ENDS) if self.by_token else ("slot", NoticeKind.SLOT_ENDS)
        text = f"the {what} ends in {left_s:.0f} s; the arm will hold then: park it before"
        return (Tell(channel=channel, kind=kind, text=text, left_s=left_s),)


def earliest(*times_s: float | None) -> float | None:
    """The first of these; None where none of them comes."""
    return min((time_s for time_s in times_s if time_s is not None), default=None)

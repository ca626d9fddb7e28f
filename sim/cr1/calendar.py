"""The controller's date and time, which the log and the list of programs show."""

from __future__ import annotations

from datetime import datetime, timedelta

from sim.cr1.requests import RefusedRequest

FIRST_DAY = datetime(2004, 1, 1)
_FORM = "%y-%m-%d%H:%M:%S"


class Calendar:
    """Date and time by the emulation's clock.

    Args:
        start_s: when the emulation began.
        day: the date at that time, in days from `FIRST_DAY`.
    """

    def __init__(self, start_s: float, day: int) -> None:
        self._start_s = start_s
        self._offset_s = day * 86400.0

    def text(self, time_s: float) -> str:
        """yy-mm-dd and hh:mm:ss, glued."""
        return f"{FIRST_DAY + timedelta(seconds=self._offset_s + time_s - self._start_s):{_FORM}}"

    def set(self, text: str, now_s: float) -> None:
        """Make it yy-mm-ddhh:mm:ss now.

        Raises:
            RefusedRequest: L3110, this is no date.
        """
        try:
            moment = datetime.strptime(text, _FORM)
        except ValueError:
            raise RefusedRequest(3110) from None
        self._offset_s = (moment - FIRST_DAY).total_seconds() - (now_s - self._start_s)

"""Moments and lengths of time as people type them."""

from __future__ import annotations

import datetime
import math
import re

from hil.errors import ConfigError

_CLOCK = re.compile(r"(tomorrow\s+)?(\d{1,2}):(\d{2})")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(min|m|h|d|w)")
_SECONDS = {"min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment(text: str, now_epoch_s: float, what: str, *, end: bool = False) -> float:
    """Seconds since 1970 for `14:30` (today), `tomorrow 14:30`, `2026-01-31`, `2026-01-31 14:30`, also with a zone.

    Args:
        text: as it was typed; the time of this computer's zone where it names none.
        now_epoch_s: seconds since 1970.
        what: the option, for messages.
        end: a day alone means its end.

    Raises:
        ConfigError: it is none.
    """
    today = datetime.datetime.fromtimestamp(now_epoch_s)
    try:
        if match := _CLOCK.fullmatch(text.strip()):
            day = today + datetime.timedelta(days=1) if match[1] else today
            return day.replace(hour=int(match[2]), minute=int(match[3]), second=0, microsecond=0).timestamp()
        given = datetime.datetime.fromisoformat(text.strip())
        if end and len(text.strip()) == len("2026-01-31"):
            given += datetime.timedelta(days=1)
        return given.timestamp()
    except (ValueError, OverflowError, OSError):
        allowed = "a time as 14:30, 'tomorrow 14:30', 2026-01-31 or '2026-01-31 14:30'"
        raise ConfigError("command line", what, text, allowed) from None


def length_s(text: str, what: str) -> float:
    """Seconds for `90m`, `3h`, `2d`, `12w`.

    Raises:
        ConfigError: it is no length of time.
    """
    match = _LENGTH.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0.0 < seconds < math.inf:
        raise ConfigError("command line", what, text, "a length of time as 90m, 3h, 2d or 12w")
    return seconds

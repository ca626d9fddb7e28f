"""What whoever runs the server is told: a line that comes again and again is said once a minute, with how often."""

from __future__ import annotations

import re
from collections.abc import Callable

EVERY_S = 60.0
MOST_KINDS = 500
"""Beyond them nothing is held back: there is more to be said than to be merged."""

_PASSING = re.compile(r"0x[0-9a-f]+|fd=\d+")
"""Where in memory something stands, and the number of a socket, tell nobody anything."""


class MergedLines:
    """Call it with a line.

    Args:
        say: where lines go.
        now_s: gives the monotonic time.
    """

    def __init__(self, say: Callable[[str], None], now_s: Callable[[], float]) -> None:
        self._say, self._now_s = say, now_s
        self._said_s: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def __call__(self, words: str) -> None:
        """Say a line, or count it: one of its kind was said less than a minute ago."""
        self.tidy()
        kind = _PASSING.sub("", words)
        if kind in self._said_s:
            self._held_back[kind] = self._held_back.get(kind, 0) + 1
            return
        if len(self._said_s) < MOST_KINDS:
            self._said_s[kind] = self._now_s()
        self._say(words)

    def tidy(self) -> None:
        """Say what was held back for a minute; to be called now and then."""
        now_s = self._now_s()
        for kind, said_s in list(self._said_s.items()):
            if now_s - said_s < EVERY_S:
                break
            del self._said_s[kind]
            if count := self._held_back.pop(kind, 0):
                self._said_s[kind] = now_s
                self._say(f"{kind} ({count} times in {now_s - said_s:.0f} s)")

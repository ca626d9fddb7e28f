"""The time of day by which tokens are judged: a clock that is set back makes no old token count anew."""

from __future__ import annotations

from collections.abc import Callable

TOLD_S = 60.0
"""Set back by more than this is worth a word; what a time server corrects is not."""


class TokenClock:
    """Goes on as the time that has passed says, where this computer's clock is behind that.

    Args:
        epoch_s: gives this computer's time of day, seconds since 1970.
        monotonic_s: gives a time that never goes back.
        say: tells whoever runs the server.
    """

    def __init__(
        self, epoch_s: Callable[[], float], monotonic_s: Callable[[], float], say: Callable[[str], None]
    ) -> None:
        self._epoch_s, self._monotonic_s, self._say = epoch_s, monotonic_s, say
        self._read = (epoch_s(), monotonic_s())
        self._told = False

    def now_s(self) -> float:
        """Seconds since 1970, never less than what was said before and the time since."""
        shown_s, passed_s = self._epoch_s(), self._monotonic_s()
        due_s = self._read[0] + passed_s - self._read[1]
        if due_s - shown_s > TOLD_S and not self._told:
            self._told = True
            self._say(
                f"this computer's clock was set back by {due_s - shown_s:.0f} s: tokens are judged by the time before. "
                "If it was wrong before, start the server anew"
            )
        self._read = max(shown_s, due_s), passed_s
        return self._read[0]

"""The end of a session: no more motion from its first sign on, and a controller that may have to be told things."""

from __future__ import annotations

from hil.errors import InterlockError
from hil.link import ArmLink, PartingLink

LONGEST_S = 1.5


class SessionEnd:
    """Whether a session has come to its end, for everything that moves.

    Attributes:
        asked: somebody has asked for the end.
        abandoned: why the stream was ended for good; empty as long as it was not.
    """

    def __init__(self) -> None:
        self.asked = False
        self.abandoned = ""

    def refuse(self) -> None:
        """Nothing leads to the first move or to ARMED once the stream has been ended, or the session ends.

        Raises:
            InterlockError: so it is.
        """
        if why := self.abandoned or ("it ends" if self.asked else ""):
            raise InterlockError(f"no more motion in this session: {why}. Start again", ["a new session"])


class Farewell:
    """Lets a link say goodbye, once it may leave: tick by tick, for a while, then no more."""

    def __init__(self) -> None:
        self._since_s: float | None = None

    @property
    def begun(self) -> bool:
        """True from the first word on."""
        return self._since_s is not None

    def over(self, link: ArmLink, now_s: float) -> bool:
        """True once the link may be closed: it has said all, or `LONGEST_S` have passed."""
        if not isinstance(link, PartingLink):
            return True
        self._since_s = now_s if self._since_s is None else self._since_s
        return link.part(now_s) or now_s - self._since_s >= LONGEST_S

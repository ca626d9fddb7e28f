"""The end of a session with a controller that has to be told things: tick by tick, for a while, then no more."""

from __future__ import annotations

from hil.link import ArmLink, PartingLink

LONGEST_S = 1.5


class Parting:
    """Lets a link say goodbye, once it may leave."""

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

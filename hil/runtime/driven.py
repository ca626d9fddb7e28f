"""Waits until a controller that answers slowly drives what it was told to: a CR1 may need 15 s."""

from __future__ import annotations

from collections.abc import Sequence

SLOW_S = 1.0
"""After this a person wants to know what is waited for."""
DRIVEN_S = 45.0
"""Nobody is kept waiting for longer."""


class DrivenWait:
    """From the last first move until the controller drives every axis.

    Args:
        names: of the axes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._since_s: float | None = None
        self._told = False

    def begin(self) -> None:
        """The axes are driven anew."""
        self._since_s, self._told = None, False

    def over(self, now_s: float) -> bool:
        """It has taken too long."""
        return self._since_s is not None and now_s - self._since_s > DRIVEN_S

    def words(self, known: Sequence[bool], now_s: float) -> str:
        """What is new to say of it, mostly empty.

        Args:
            known: per axis, whether the controller drives it.
            now_s: time of the tick; the last first move has left.
        """
        if self._since_s is None:
            self._since_s = now_s
        waited_s = now_s - self._since_s
        if all(known):
            return f"ready after {waited_s:.1f} s" if self._told else ""
        if self._told or waited_s <= SLOW_S:
            return ""
        self._told = True
        missing = self.missing(known)
        return f"the controller answers slowly and does not drive {missing} yet: wait, {DRIVEN_S:.0f} s at most"

    def missing(self, known: Sequence[bool]) -> str:
        """Names of the axes that it does not drive."""
        return ", ".join(name for name, driven in zip(self._names, known, strict=True) if not driven)

"""Coming up: what an arm does by itself after its worker began, and the pose that the wiring vouches for meanwhile."""

from __future__ import annotations

from hil.types import Mode

AGAIN_S = 2.0
"""Longer than a loop takes to say that it cannot use a confirmation."""

MOST_TRIES = 5
"""Confirmations in a row that led nowhere: after them somebody has to look."""

_COMING = frozenset({Mode.CONNECTING, Mode.UNKNOWN_POSE, Mode.ENERGISING})


class ComingUp:
    """Follows one arm from the beginning of its worker until it can be driven, or somebody has to see to it.

    A fake that its worker has just made stands in the park pose, and the wiring says so: again after every hold that
    broke off the driving of its axes, for as long as it has never been anything but limp or on its way up.

    Args:
        placed: the worker makes the fake, and puts it into its park pose.
    """

    def __init__(self, placed: bool) -> None:
        self._placed = placed
        self._mode: Mode | None = None
        self._new = True
        self._lost = False
        self._tries, self._vouched_s = 0, float("-inf")

    def begun(self, mode: Mode) -> None:
        """The loop has this mode now."""
        self._mode, self._lost = mode, False
        if mode is Mode.ENERGISING:
            self._tries = 0
        # What has been driven, or had trouble, may stand anywhere.
        self._new = self._new and mode in _COMING

    def lost(self) -> None:
        """The worker is gone; the next one makes a fake of its own."""
        self._mode, self._lost, self._new = None, True, True
        self._tries, self._vouched_s = 0, float("-inf")

    def taken_over(self) -> None:
        """Somebody sees to it, and lets its axes go: it may lie anywhere from now on."""
        self._new = False

    @property
    def _vouches(self) -> bool:
        return self._placed and self._new and self._tries < MOST_TRIES

    @property
    def under_way(self) -> bool:
        """Whether the arm needs nothing but a moment."""
        if self._mode is None:
            return not self._lost
        return self._mode is Mode.CONNECTING or (self._vouches and self._mode in _COMING)

    def due(self, now_s: float) -> bool:
        """Whether the pose has to be confirmed now; if so, it counts as done."""
        if self._mode is not Mode.UNKNOWN_POSE or not self._vouches or now_s - self._vouched_s < AGAIN_S:
            return False
        self._tries, self._vouched_s = self._tries + 1, now_s
        return True

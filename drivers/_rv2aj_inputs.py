"""Input signals of a CR1: which are watched, and what was read of them last, sixteen at a time."""

from __future__ import annotations

from collections.abc import Sequence

from hil.types import InputState

INPUT_PERIOD_S = 0.75
INPUT_BITS = 16


class Inputs:
    """Those that somebody depends on; none at first."""

    def __init__(self) -> None:
        self._watched: tuple[int, ...] = ()
        self._words: dict[int, tuple[float, int]] = {}
        self._asked_s: dict[int, float] = {}

    def watch(self, signals: Sequence[int]) -> None:
        """Read these from now on, and no others."""
        self._watched = tuple(sorted(signals))
        self.forget()

    def forget(self) -> None:
        """What was read counts no more; what is watched stays."""
        self._words, self._asked_s = {}, {}

    def block_due(self, now_s: float) -> int | None:
        """The sixteen, named by the first, that were not asked for for longest, if it is time."""
        blocks = {_block(signal) for signal in self._watched}
        asked_s, block = min(((self._asked_s.get(b, float("-inf")), b) for b in blocks), default=(now_s, 0))
        return block if now_s - asked_s >= INPUT_PERIOD_S else None

    def asked(self, block: int, now_s: float) -> None:
        """Sixteen were asked for, whether or not they answered."""
        self._asked_s[block] = now_s

    def note(self, block: int, word: int, at_s: float) -> None:
        """Sixteen were read."""
        self._words[block] = (at_s, word)

    def state(self) -> InputState | None:
        """What was read of those that are watched; None until all of them were."""
        if not self._watched or any(_block(signal) not in self._words for signal in self._watched):
            return None
        values = tuple([(n, self._words[_block(n)][1] >> n % INPUT_BITS & 1) for n in self._watched])
        return InputState(t_s=min(at_s for at_s, _ in self._words.values()), values=values)


def _block(signal: int) -> int:
    return signal - signal % INPUT_BITS

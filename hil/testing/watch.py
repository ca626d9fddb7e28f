"""The oracle over everything that one test has made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from hil.model.rig import Rig
from hil.testing.oracle import UnsafeByte, UnsafeBytes
from hil.types import TickRecord


class Judged(Protocol):
    """Something whose bytes can be judged: a virtual arm, a fake board."""

    def judged(self) -> UnsafeBytes:
        """The oracle's findings so far."""
        ...


class Made:
    """What the fixtures have made for one test, and who watches it."""

    def __init__(self) -> None:
        self._made: list[Judged] = []
        self._by_itself: list[Judged] = []
        self._watched: WatchedBytes | None = None

    def note(self, one: Judged, *, by_itself: bool = False) -> None:
        """One more; with `by_itself` it is judged at the end whether or not somebody watches."""
        self._made.append(one)
        if by_itself:
            self._by_itself.append(one)

    def watch(self, rig: Rig) -> WatchedBytes:
        """Judge it all, to the end."""
        self._watched = WatchedBytes(rig, self._made)
        return self._watched

    def check(self) -> None:
        """Fail if something unsafe has left: for what is judged by itself, and where somebody watches for all.

        Raises:
            AssertionError: it has.
        """
        if self._watched is not None:
            self._watched.check()
        for one in self._made:
            if one in self._by_itself:
                one.judged().check()


class WatchedBytes:
    """Judges every byte that left for a fake of this test, and whatever else the test hands over.

    True when something unsafe has left: ``assert not unsafe_bytes``. The fixture checks at the end of the test by
    itself.

    Args:
        rig: whose limits count for bytes that the test hands over.
        made: everything that the test has made and will make.
    """

    def __init__(self, rig: Rig, made: Iterable[Judged]) -> None:
        self._made, self._own = made, UnsafeBytes(rig)

    def feed(self, data: bytes, now_s: float) -> WatchedBytes:
        """Judge bytes that some program sent at `now_s`, in any pieces."""
        self._own.feed(data, now_s)
        return self

    def take(self, records: Iterable[TickRecord]) -> WatchedBytes:
        """Judge ticks of a bridge, for instance of a journal, in order."""
        self._own.take(records)
        return self

    @property
    def findings(self) -> tuple[UnsafeByte, ...]:
        """Everything that should never have left."""
        return tuple(finding for oracle in self._oracles() for finding in oracle.findings)

    @property
    def first(self) -> UnsafeByte | None:
        """The first of them, or None."""
        return next(iter(self.findings), None)

    @property
    def seen(self) -> int:
        """How many bytes were judged."""
        return sum(oracle.seen for oracle in self._oracles())

    def check(self) -> None:
        """Fail with the first unsafe byte in words.

        Raises:
            AssertionError: there is one.
        """
        for oracle in self._oracles():
            oracle.check()

    def _oracles(self) -> list[UnsafeBytes]:
        return [self._own, *(each.judged() for each in self._made)]

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return f"<{self.seen} bytes judged; {'nothing unsafe' if self.first is None else self.first.text}>"

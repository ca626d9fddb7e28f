"""Ports that take their time to open, Bluetooth half a minute: beside the ticks, and in the same tick at every replay.

The driver's port is asked for again in each tick until it is there. Every "not yet" is a failure of that call, which
the journal keeps as it keeps all others: so a replay gets the port in the tick in which the session got it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from hil.clock import monotonic_s
from hil.errors import LinkOpening, LinkTimeout
from hil.link import ArmLink, BytePort

LONGEST_S = 45.0
FORGOTTEN_S = 1.0
"""A port that nobody has asked for in this time is let go of: what it has heard since is old."""
TELL_S = 1.0
_STACK_BYTES = 1 << 20
"""The usual 8 MB would hold up the tick for as many milliseconds, for the loop's memory is locked."""


def in_a_thread(work: Callable[[], None]) -> None:
    """Do something beside the ticks. No end of the program waits for it."""
    before = threading.stack_size(_STACK_BYTES)
    try:
        threading.Thread(target=work, name="hil-opening", daemon=True).start()
    finally:
        threading.stack_size(before)


class OpenedAside:
    """A way to open a port that never waits: until the port is there it raises LinkOpening, and has to be asked again.

    Args:
        name: of the port, for people.
        open_port: opens it, however long that takes.
        clock: seconds, monotonic.
        aside: does something while the caller goes on.
    """

    def __init__(
        self,
        name: str,
        open_port: Callable[[], BytePort],
        clock: Callable[[], float] = monotonic_s,
        aside: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        self._name, self._open_port, self._clock, self._aside = name, open_port, clock, aside
        self._attempt: _Attempt | None = None
        self._began_s = self._asked_s = float("-inf")

    def __call__(self) -> BytePort:
        """The port, once it is open.

        Raises:
            LinkOpening: not yet; ask again within `FORGOTTEN_S`.
            LinkTimeout: it has not opened within `LONGEST_S`.
            HilError: it cannot be opened, or may not.
        """
        now_s = self._clock()
        if self._attempt is not None and now_s - self._asked_s > FORGOTTEN_S:
            self._give_up()
        self._asked_s = now_s
        if self._attempt is None:
            self._attempt, self._began_s = _Attempt(self._open_port), now_s
            self._aside(self._attempt.run)
        if self._attempt.done:
            attempt, self._attempt = self._attempt, None
            return attempt.result()
        if now_s - self._began_s > LONGEST_S:
            self._give_up()
            raise LinkTimeout(
                f"{self._name}: the port has not opened within {LONGEST_S:g} s. If it is wireless, look whether the "
                "other side has power and is paired; else plug the adapter in again",
                self._name,
            )
        raise LinkOpening(
            f"{self._name}: the port is still being opened; over Bluetooth that can take half a minute", self._name
        )

    def _give_up(self) -> None:
        assert self._attempt is not None
        self._attempt.give_up()
        self._attempt = None


class _Attempt:
    """One call that opens a port, and what came of it. A port that nobody wants any more is closed again."""

    def __init__(self, open_port: Callable[[], BytePort]) -> None:
        self._open_port = open_port
        self._lock = threading.Lock()
        self._port: BytePort | None = None
        self._error: Exception | None = None
        self._unwanted = False

    def run(self) -> None:
        """Open, in whatever thread."""
        port, error = None, None
        try:
            port = self._open_port()
        except Exception as raised:
            error = raised
        with self._lock:
            self._port, self._error = port, error
            unwanted = self._unwanted
        if unwanted and port is not None:
            port.close()

    @property
    def done(self) -> bool:
        """Whether it has come to an end."""
        with self._lock:
            return self._port is not None or self._error is not None

    def result(self) -> BytePort:
        """The port, or what was raised in its stead."""
        with self._lock:
            if self._error is not None:
                raise self._error
            assert self._port is not None
            return self._port

    def give_up(self) -> None:
        """Nobody wants it any more."""
        with self._lock:
            self._unwanted, port = True, self._port
        if port is not None:
            port.close()


class SlowPort:
    """What a bridge knows of a link that is still being opened.

    Attributes:
        pending: it has to be asked again.
    """

    def __init__(self) -> None:
        self.pending = self._told = False
        self._since_s = float("-inf")

    def attempt(self, link: ArmLink, now_s: float) -> str:
        """Open the link, or go on with that; words for people if it takes long, once.

        Raises:
            HilError: it cannot be opened.
        """
        if not self.pending:
            self._since_s, self._told = now_s, False
        self.pending = False
        try:
            link.open(now_s)
        except LinkOpening as error:
            self.pending = True
            if not self._told and now_s - self._since_s >= TELL_S:
                self._told = True
                return str(error)
        return ""

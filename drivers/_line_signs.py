"""How the bytes of a line come, whatever they mean: as our own that come back, one by one, or with some missing.

Each has a cause that looking at the words of an answer does not show: an adapter that echoes, one that passes bytes on
singly, another program that reads the same port.
"""

from __future__ import annotations

from collections import deque

from hil.errors import ControllerError, LineCause

KEPT_BYTES = 256
KEPT_LINES = 8
SHORTEST = 4
"""What is sent and shorter than this can come by chance."""
ECHOES = 3
"""So often a line has to come back before it is no chance, once a controller has answered as it should."""
LOOKS, FEW_BYTES, APART_S, SPAN_S = 6, 2, 0.3, 0.6
"""So many looks in a row that bring so few bytes each, no further apart, for so long: they come one by one. Noise does
so too, but between its bytes whole answers come sooner than that.
"""
SLOW_S, SLOW_BYTES = 8e-3, 5.0
"""Each takes so long then, and so many times its own length."""
TORN, RECENT_S, RECENT_BYTES = 3, 3.0, 6000
"""So many answers with bytes missing are no chance within such a time, and the time of so many bytes: on a slow line
answers are fewer."""


class LineSigns:
    """Nothing yet; whoever owns the line tells what leaves, what comes, and which answers were torn.

    Args:
        byte_s: how long a byte takes on the line.

    Attributes:
        tail: the newest bytes that came.
    """

    def __init__(self, byte_s: float) -> None:
        self.byte_s = byte_s
        self._lines: deque[bytes] = deque(maxlen=KEPT_LINES)
        self.tail = b""
        self._echoes = 0
        self._run = self._run_bytes = 0
        self._since_s = self._last_s = float("-inf")
        self._torn_s: deque[float] = deque(maxlen=TORN)

    def sent(self, data: bytes) -> None:
        """A line has left."""
        if len(data) >= SHORTEST:
            self._lines.append(data)

    def heard(self, data: bytes, now_s: float) -> None:
        """Bytes have come, at one look."""
        self.tail = (self.tail + data)[-KEPT_BYTES:]
        if len(data) <= FEW_BYTES and now_s - self._last_s <= APART_S:
            self._run += 1
            self._run_bytes += len(data)
        else:
            self._run = self._run_bytes = 0
            self._since_s = now_s
        self._last_s = now_s

    def tear(self, now_s: float) -> None:
        """An answer has come of which some bytes are missing."""
        self._torn_s.append(now_s)

    def echoed(self) -> int:
        """How many lines have come back by now; asked for only where something came that answers nothing."""
        for line in tuple(self._lines):
            place = self.tail.find(line)
            if place >= 0:
                self._echoes += 1
                self.tail = self.tail[place + len(line) :]
                self._lines.remove(line)
        return self._echoes

    def refuse_echo(self, name: str, least: int = ECHOES) -> None:
        """Make sure that the line does not give back what it is sent.

        Raises:
            ControllerError: it does, `least` times by now; with its cause.
        """
        if self.echoed() >= least:
            raise ControllerError(f"{name}: {LineCause.ECHO.value}", self.tail, cause=LineCause.ECHO)

    def sign(self, now_s: float) -> LineCause | None:
        """What the line looks like now; None for nothing odd."""
        if self._trickles(now_s):
            return LineCause.TRICKLE
        if self._run >= LOOKS:
            # What is missing may still be on its way.
            return None
        recent_s = RECENT_S + RECENT_BYTES * self.byte_s
        torn = len(self._torn_s) == TORN and now_s - self._torn_s[0] <= recent_s
        return LineCause.TORN if torn else None

    def _trickles(self, now_s: float) -> bool:
        if self._run < LOOKS or self._last_s - self._since_s < SPAN_S or now_s - self._last_s > RECENT_S:
            return False
        each_s = (self._last_s - self._since_s) / self._run_bytes
        return each_s >= max(SLOW_S, SLOW_BYTES * self.byte_s)

"""Requests from the owner's process to the loop, and the owner's sign of life: a ring in the other direction.

Unlike telemetry nothing is ever overwritten: what does not fit is refused to the sender, and a last part of
the room is kept for whatever stops the arm.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from hil.errors import CommandError, HilError, InterlockError
from hil.runtime.ring import RingReader, RingWriter, record_bytes
from hil.types import Confirm, Disconnect, EmergencyStop, FollowTarget, Request, Stop, SupplyCut

CAPACITY_BYTES = 16 << 20
"""An hour of seven axes at 50 Hz is 10 MB."""

RESERVED_BYTES = 64 << 10
"""Kept free for requests that stop the arm."""

_SLOT = 0
_STOPPING = (Stop, EmergencyStop, SupplyCut, Disconnect)
_MOST_LETTERS = 200
"""Of what is said of a request that cannot be read: what is wrong with it may be of any length."""

_MORE_LOOKS = 15
"""Into a box that is full of targets, in one tick."""


class MailboxWriter:
    """The owner's end. Use `create`."""

    def __init__(self, ring: RingWriter) -> None:
        self._ring = ring
        self._encoder = msgspec.msgpack.Encoder()

    @classmethod
    def create(cls, path: Path, capacity_bytes: int = CAPACITY_BYTES) -> MailboxWriter:
        """Make the mailbox's file; the loop opens it with `MailboxReader`.

        Raises:
            OSError: the file cannot be made.
        """
        return cls(RingWriter.create(path, max(capacity_bytes, 2 * RESERVED_BYTES)))

    def send(self, request: Request) -> None:
        """Put a request into the box; returns at once.

        Raises:
            CommandError: it holds a number that is not finite, or can never fit.
            InterlockError: the box is full because the loop takes nothing out; nothing was sent.
        """
        _refuse_non_finite(request)
        payload = self._encoder.encode(request)
        size = record_bytes(len(payload))
        kept = 0 if isinstance(request, _STOPPING) else RESERVED_BYTES
        largest = self._ring.capacity_bytes - kept
        name = type(request).__name__.lower()
        if size > largest:
            raise CommandError(
                f"{name}: {len(payload)} bytes given; allowed: {largest}. Split the motion into shorter ones",
                value=len(payload),
                allowed=f"up to {largest} bytes",
            )
        if size > self._ring.free_bytes(_SLOT) - kept:
            raise InterlockError(
                f"{name}: not sent, the loop has not taken the requests before it. "
                "Wait until it has, or ask for its state",
                missing=("room in the mailbox",),
            )
        self._ring.append(payload)

    def beat(self, now_s: float) -> None:
        """Say that the owner is there."""
        self._ring.beat(now_s)

    def close(self) -> None:
        """Let go of the file."""
        self._ring.close()


class MailboxReader:
    """The loop's end; nothing that lies in the box makes it raise.

    What cannot be read may have been a stop: the arm stops for it, and says why.

    Args:
        path: the box that the owner made.

    Raises:
        OSError: the file cannot be opened.
        JournalError: it is not a mailbox.
    """

    def __init__(self, path: Path) -> None:
        self._ring = RingReader(path, slot=_SLOT)
        self._decoder = msgspec.msgpack.Decoder(Request)

    def take(self, limit: int = 8) -> tuple[Request, ...]:
        """Up to `limit` requests in the order in which they were sent.

        More where some of them are targets to follow, which come many times a second: what stops the arm does not
        stand in line behind them.
        """
        payloads = self._ring.read(limit)
        if not payloads:
            return ()
        requests = [self._decode(payload) for payload in payloads]
        for _ in range(_MORE_LOOKS):
            if len(payloads) < limit or not any(isinstance(request, FollowTarget) for request in requests):
                break
            payloads = self._ring.read(limit)
            requests += [self._decode(payload) for payload in payloads]
        self._ring.publish_cursor()
        return tuple(requests)

    def _decode(self, payload: bytes) -> Request:
        try:
            request: Request = self._decoder.decode(payload)
            _refuse_non_finite(request)
        except (msgspec.DecodeError, HilError, UnicodeDecodeError) as error:
            return Stop(reason=f"a request of {len(payload)} bytes to the loop cannot be read: {error}"[:_MOST_LETTERS])
        return request

    def age_s(self, now_s: float) -> float:
        """Seconds since the owner's last sign of life; infinite if there never was one."""
        beat_s = self._ring.heartbeat_s
        return math.inf if math.isnan(beat_s) else max(0.0, now_s - beat_s)

    @property
    def closed(self) -> bool:
        """True once the owner has closed the box on purpose."""
        return self._ring.closed

    def close(self) -> None:
        """Let go of the file."""
        self._ring.close()


def _refuse_non_finite(request: Request) -> None:
    if isinstance(request, Confirm) and not all(math.isfinite(value) for value in request.positions):
        raise CommandError(
            f"confirmed pose: {request.positions} given; allowed: finite numbers",
            value=request.positions,
            allowed="finite numbers",
        )

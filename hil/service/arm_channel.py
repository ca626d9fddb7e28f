"""The channel between the server and the worker that owns an arm: length-prefixed records on a local socket."""

from __future__ import annotations

import contextlib
import socket
import struct

import msgspec

from hil.errors import LinkClosed, LinkError
from hil.types import LimitHit, Mode, Record, Request, StateSource, Supply

LARGEST_BYTES = 40 << 20
"""A motion of an hour and its certificate fit."""

_LENGTH = struct.Struct("!I")
_READ_BYTES = 1 << 18


class Ask(Record, frozen=True, tag="ask"):
    """Requests for the loop, in this order."""

    requests: tuple[Request, ...]


class Beat(Record, frozen=True, tag="beat"):
    """The server is there, and its one thread of work goes round."""


class Leave(Record, frozen=True, tag="leave"):
    """Stop, hold, let go of the arm and end."""

    reason: str


class ArmReport(Record, frozen=True, tag="report"):
    """What became of the arm since the report before.

    Attributes:
        tick: number of the newest tick; the positions below are those of that tick.
        t_s: its clock reading.
        sent_s: the worker's clock when it wrote this.
        mode: at the end of that tick.
        sample: of the motion that runs, or None.
        commanded: what was sent last to each axis since the arm was connected; None for an axis never driven.
        setpoint, simulated: of the shadow.
        reported: newest report of the controller, with how it is known.
        wire_s: age of that report; None without one.
        taken: how many of the server's requests the loop has taken, since the worker began; those that the mailbox
            refused are among them.
        ticks: since the report before.
        written_bytes: to the line, among them.
        late_s, work_s: the worst among them.
        missed: deadlines missed since the loop began.
        hits: limits that bit since the report before, one for each check and axis.
        events: words since the report before.
        supply: what is held of the servo supply.
        errors: by axis, how far the report is outside of where it was sent meanwhile; None where it is not known.
        alarm: words of the divergence alarm, for as long as it counts; else empty.
    """

    tick: int
    t_s: float
    sent_s: float
    mode: Mode
    sample: int | None
    commanded: tuple[float | None, ...]
    setpoint: tuple[float, ...]
    simulated: tuple[float | None, ...]
    reported: tuple[float | None, ...] | None
    source: StateSource | None
    wire_s: float | None
    taken: int
    ticks: int
    written_bytes: int
    late_s: float
    work_s: float
    missed: int
    hits: tuple[LimitHit, ...] = ()
    events: tuple[str, ...] = ()
    supply: Supply = Supply.UNSAID
    errors: tuple[float | None, ...] = ()
    alarm: str = ""


class Starting(Record, frozen=True, tag="starting"):
    """The worker is there, and its loop has not ticked yet.

    Attributes:
        words: how far it is; empty where there is nothing to tell.
    """

    words: str = ""


class Ended(Record, frozen=True, tag="ended"):
    """The worker gives the arm up.

    Attributes:
        again: whether another try may help without anybody mending something.
    """

    words: str
    again: bool


ToWorker = Ask | Beat | Leave
ToServer = ArmReport | Starting | Ended

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(ToWorker).decode
decode_to_server = msgspec.msgpack.Decoder(ToServer).decode


def frame(message: ToWorker | ToServer) -> bytes:
    """A record as it goes over the channel."""
    payload = encode(message)
    return _LENGTH.pack(len(payload)) + payload


class Frames:
    """Puts records together again from the pieces in which they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that are whole now.

        Raises:
            LinkError: a length that no record has.
        """
        self._buffer += data
        whole: list[bytes] = []
        at = 0
        while len(self._buffer) - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, at)
            if length > LARGEST_BYTES:
                raise LinkError(f"a record of {length} bytes between server and worker; allowed: {LARGEST_BYTES}")
            end = at + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            whole.append(bytes(self._buffer[at + _LENGTH.size : end]))
            at = end
        del self._buffer[:at]
        return whole


class WorkerEnd:
    """The worker's end. Neither reading nor writing ever waits: a server that stands still must not hold the arm up.

    Args:
        end: one end of a connected pair of stream sockets.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket, self._frames, self._unsent = end, Frames(), bytearray()
        end.setblocking(False)

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def receive(self) -> list[ToWorker]:
        """What has come in.

        Raises:
            LinkClosed: the server is gone.
        """
        messages: list[ToWorker] = []
        while True:
            try:
                data = self._socket.recv(_READ_BYTES)
            except BlockingIOError:
                return messages
            except OSError as error:
                raise LinkClosed(f"the server is gone: {error.strerror}") from None
            if not data:
                if messages:
                    return messages  # what was asked for before the end counts; the end is seen at the next call
                raise LinkClosed("the server is gone")
            messages.extend(decode_to_worker(payload) for payload in self._frames.feed(data))

    @property
    def clear(self) -> bool:
        """True while the server takes what it is sent; reports wait until it does, and are joined into one."""
        self._flush()
        return not self._unsent

    def send(self, message: ToServer) -> None:
        """Send, or keep for later what does not go out now."""
        self._unsent += frame(message)
        self._flush()

    def _flush(self) -> None:
        # A server that is gone is noticed by whoever reads.
        with contextlib.suppress(OSError):
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]

    def close(self) -> None:
        """Let go of the socket, after a last try to send."""
        self._flush()
        self._socket.close()

"""A fake controller in a process of its own: on a pseudo-terminal or on TCP, on the machine's clock."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from hil.clock import monotonic_s
from hil.errors import ConfigError
from hil.types import Record
from sim.controllers import Controller, Plant
from sim.faults import Event, FaultKind, FaultScript, load_faults
from sim.ports import FakeLine, check_faults

if sys.platform != "win32":
    from sim.pty_end import PtyEnd

CHECK_S = 0.25
"""Longest nap between two looks at signals and at the parent."""

UNPLUGGED_S = 0.002
"""How often an unplugged line is looked at."""

Ready = Callable[[str], None]
Heard = Callable[[bytes, float], None]
"""Is told what a client sent, before any fault of the line, and when it came."""
Orders = Callable[[float], Sequence[Event]]
"""What is to go wrong now, or to be over: asked at every look, with the time."""
Beside = Callable[[float], None]
"""Does what else the controller has to do at every look, with the time: a network beside its line."""


class Recorder(Protocol):
    """Writes down what really moved.

    Attributes:
        due_s: when it has something to write by itself; infinity if it has not.
    """

    due_s: float

    def tick(self, now_s: float) -> None:
        """Write what happened up to `now_s`."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class TraceFile:
    """Appends JSON lines to a file, each written out at once.

    Raises:
        ConfigError: it cannot be written.
    """

    def __init__(self, path: str) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise ConfigError("fake options", "trace", path, f"a file that can be written ({error})") from None

    def write(self, line: dict[str, object]) -> None:
        """Append one line."""
        os.write(self._file, json.dumps(line).encode("ascii") + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Service(Record, frozen=True):
    """Where a fake serves, and what goes wrong.

    Attributes:
        link: where to put a symbolic link to the pseudo-terminal; None for none.
        tcp_port: serve on 127.0.0.1 at this port instead, 0 for any free one.
        socket: serve on a socket at this path instead, at the pace of a serial line.
        faults: path of a fault file.
        seed: of the faults' chance; None for the file's own.
        trace: path of a file that gets one JSON line per step in which something moved.
        serial_pace: over TCP too, bytes come and go no faster than on the serial line.
    """

    link: str | None = None
    tcp_port: int | None = None
    socket: str | None = None
    faults: str | None = None
    seed: int | None = None
    trace: str | None = None
    serial_pace: bool = False

    @property
    def network(self) -> bool:
        """The line is a network port: no pace, and each answer leaves in one piece."""
        return self.tcp_port is not None and not self.serial_pace


def serve_fake(
    board: Controller,
    service: Service,
    ready: Ready,
    start_s: float,
    *,
    bench: Plant | None = None,
    trace: Recorder | None = None,
    owned: Callable[[], bool] | None = None,
    orders: Orders = lambda now_s: (),
    beside: Beside = lambda now_s: None,
) -> None:
    """Serve a controller until it is told to end. Prints nothing.

    Args:
        board: what answers.
        service: where and with which faults.
        ready: called once with the URL or path to open, when clients may come.
        start_s: from when the faults' times count.
        bench: the arm behind it, of a controller that does not hold one itself.
        trace: the record of what moved.
        owned: asked several times a second whether to end, by somebody who has seen to signals; None for a fake that
            stands for itself and ends by Ctrl-C, SIGTERM or a closed terminal.
        orders: what its owner lets happen to it, of the kinds that a script may have, but for those of single bytes.
        beside: called at every look.

    Raises:
        ConfigError: a fault file is wrong or asks for what cannot happen here, the link's place is taken, the port is
            busy, or the system has no pseudo-terminals.
    """
    if service.network:
        board.join_network()
    script = None
    if service.faults is not None:
        faults = load_faults(service.faults)
        seed = faults.seed if service.seed is None else service.seed
        script = FaultScript(faults, random.Random(seed), start_s)
        try:
            check_faults(script, board, bench)
        except ValueError as error:
            raise ConfigError(service.faults, "fault", sorted(k.value for k in script.kinds), str(error)) from None
    signals = contextlib.nullcontext(owned) if owned is not None else _signals()
    with signals as stop:
        if service.tcp_port is not None:
            end: _End = _TcpEnd(service.tcp_port)
        elif service.socket is not None:
            end = _FileEnd(service.socket)
        else:
            end = _pty_end(board, service.link)
        _serve(board, end, ready, bench, script, trace, lambda data, now_s: None, stop, orders, beside)


def serve_pty(
    board: Controller,
    link: str | None,
    ready: Ready,
    *,
    bench: Plant | None = None,
    faults: FaultScript | None = None,
    trace: Recorder | None = None,
    heard: Heard = lambda data, now_s: None,
    stop: Callable[[], bool] = lambda: False,
    beside: Beside = lambda now_s: None,
) -> None:
    """Serve a controller on a raw pseudo-terminal until `stop()`; clients may come and go.

    Args:
        board: what answers.
        link: symbolic link to put at the terminal's present name; None to call `ready` with the name itself.
        ready: called once with the path to open.
        bench: the arm behind it.
        faults: what goes wrong.
        trace: the record of what moved.
        heard: is told what clients send.
        stop: asked several times a second.
        beside: called at every look.

    Raises:
        ConfigError: no pseudo-terminals here, or something other than a link stands at `link`.
    """
    _serve(board, _pty_end(board, link), ready, bench, faults, trace, heard, stop, beside=beside)


def _pty_end(board: Controller, link: str | None) -> _End:
    """A pseudo-terminal, where there are any."""
    if sys.platform != "win32":
        return PtyEnd(link, board.baud)
    raise ConfigError("fake options", "link", link, "TCP only", "This system has no pseudo-terminals.")


def serve_tcp(
    board: Controller,
    port: int,
    ready: Ready,
    *,
    bench: Plant | None = None,
    faults: FaultScript | None = None,
    trace: Recorder | None = None,
    heard: Heard = lambda data, now_s: None,
    stop: Callable[[], bool] = lambda: False,
    beside: Beside = lambda now_s: None,
) -> None:
    """Serve a controller on 127.0.0.1 to one client at a time, as a network port; otherwise as `serve_pty`.

    Raises:
        ConfigError: the port is taken, or a fault needs a serial line.
    """
    board.join_network()
    try:
        if faults is not None:
            check_faults(faults, board, bench)
    except ValueError as error:
        raise ConfigError("fake options", "faults", port, str(error)) from None
    _serve(board, _TcpEnd(port), ready, bench, faults, trace, heard, stop, beside=beside)


class _End(Protocol):
    """Where clients connect."""

    def open(self) -> None: ...

    @property
    def url(self) -> str: ...

    def wait(self, timeout_s: float) -> None:
        """Return when there may be something to read, at the latest after `timeout_s`."""
        ...

    def read(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    @property
    def baud(self) -> int | None:
        """What the client has set, None where there is no such thing."""
        ...

    def close(self) -> None: ...


class _SocketEnd(ABC):
    """A listening socket; a second client is turned away."""

    def __init__(self) -> None:
        self._listener: socket.socket | None = None
        self._client: socket.socket | None = None

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    def baud(self) -> int | None:
        return None

    @abstractmethod
    def _listen(self) -> socket.socket: ...

    def open(self) -> None:
        self._listener = self._listen()
        self._listener.setblocking(False)

    def wait(self, timeout_s: float) -> None:
        if self._listener is None:
            time.sleep(timeout_s)
            return
        sockets = [self._listener] if self._client is None else [self._listener, self._client]
        select.select(sockets, [], [], timeout_s)

    def read(self) -> bytes:
        self._accept()
        if self._client is None:
            return b""
        try:
            data = self._client.recv(65536)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._drop()
        return data

    def write(self, data: bytes) -> None:
        if self._client is not None and data:
            with contextlib.suppress(OSError):
                self._client.send(data)

    def close(self) -> None:
        self._drop()
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _accept(self) -> None:
        if self._listener is None or self._has_more_to_say():
            return
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        if self._client is not None:
            client.close()
            return
        client.setblocking(False)
        if client.family == socket.AF_INET:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = client

    def _has_more_to_say(self) -> bool:
        """The client of now has sent what was not read yet; one that has hung up without is dropped."""
        if self._client is None:
            return False
        try:
            waiting = self._client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            waiting = b""
        if not waiting:
            self._drop()
        return bool(waiting)

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class _TcpEnd(_SocketEnd):
    """One on TCP."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    @property
    def url(self) -> str:
        return f"socket://127.0.0.1:{self._port}"

    def _listen(self) -> socket.socket:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self._port))
            listener.listen(4)
        except (OSError, OverflowError) as error:
            listener.close()
            raise ConfigError("fake options", "tcp_port", self._port, f"a free port ({error})") from None
        self._port = listener.getsockname()[1]
        return listener


class _FileEnd(_SocketEnd):
    """One in a file, for whoever may enter its folder."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    @property
    def url(self) -> str:
        return f"unix://{self._path}"

    def _listen(self) -> socket.socket:
        if sys.platform == "win32":
            raise ConfigError("fake options", "socket", self._path, "TCP only", "Windows has no sockets in files.")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self._path)
            listener.listen(4)
        except OSError as error:
            listener.close()
            raise ConfigError("fake options", "socket", self._path, f"a path that is free ({error})") from None
        return listener

    def close(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        super().close()


def _serve(
    board: Controller,
    end: _End,
    ready: Ready,
    bench: Plant | None,
    faults: FaultScript | None,
    trace: Recorder | None,
    heard: Heard,
    stop: Callable[[], bool],
    orders: Orders = lambda now_s: (),
    beside: Beside = lambda now_s: None,
) -> None:
    line = FakeLine(board, board.baud, faults, bench)
    try:
        end.open()
        ready(end.url)
        _loop(line, end, faults, trace, heard, stop, orders, beside)
    finally:
        end.close()
        if trace is not None:
            trace.close()


def _loop(
    line: FakeLine,
    end: _End,
    faults: FaultScript | None,
    trace: Recorder | None,
    heard: Heard,
    stop: Callable[[], bool],
    orders: Orders,
    beside: Beside,
) -> None:
    plugged, pulled = True, False
    while not stop():
        now_s = monotonic_s()
        due_s = line.next_due_s(frames=trace is not None)
        if trace is not None:
            due_s = min(due_s, trace.due_s)
        nap_s = min(max(due_s - now_s, 0.0), CHECK_S)
        if plugged:
            end.wait(nap_s)
        else:
            time.sleep(min(nap_s, UNPLUGGED_S))
        now_s = monotonic_s()
        for event in orders(now_s):
            line.happen(event)
            pulled = event.begins if event.fault.kind is FaultKind.UNPLUG else pulled
        if (pulled or (faults is not None and faults.unplugged(now_s))) is plugged:
            plugged = not plugged
            if plugged:
                end.open()
            else:
                line.poll(now_s)
                end.close()
        data = end.read() if plugged else b""
        if data:
            heard(data, now_s)
            line.set_baud(end.baud or line.board.baud)
            line.send(data, now_s)
        replies = line.poll_parts(now_s)
        if plugged:
            # Byte by byte on a serial line, a network sends each answer as a whole.
            for reply in [b"".join(replies)] if line.byte_s else replies:
                end.write(reply)
        beside(now_s)
        if trace is not None:
            trace.tick(now_s)


_ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGBREAK")
ENDS = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
"""What ends a fake that stands for itself."""


@contextlib.contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """A question: has a signal come that ends this? One that is ignored already (`nohup`) stays ignored."""
    event = threading.Event()
    before = {number: handler for number in ENDS if (handler := signal.getsignal(number)) is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, lambda *_: event.set())
        yield event.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

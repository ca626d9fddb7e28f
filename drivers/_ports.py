"""Byte ports on real lines: serial adapters by device or pyserial URL, and plain TCP; none ever waits."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import serial
from serial.tools import list_ports

from drivers._parity import ParityMarks
from drivers._pending_writes import OverlappedWrite, PendingWrites
from hil.clock import Clock, RealClock
from hil.errors import LinkClosed, LinkOverrun
from hil.link import BytePort, SerialAdapter

# What pyserial raises when a port goes away; its SerialException is an OSError, a closed handle a TypeError.
_LINE_ERRORS: tuple[type[Exception], ...] = (OSError, ValueError, TypeError)

if sys.platform != "win32":
    import fcntl
    import grp
    import termios

    _LINE_ERRORS = (*_LINE_ERRORS, termios.error)

    def _iokit_speed(fd: int, baud: int) -> None:
        """As pyserial asks for it on macOS: by a call of the system's own for speeds that termios has no name for."""
        fcntl.ioctl(fd, 0x80045402, baud.to_bytes(4, sys.byteorder))

    _ODD_SPEED: Callable[[int, int], None] | None = _iokit_speed if sys.platform == "darwin" else None

_CHUNK = 4096
LEAVE_S, LEAVE_LOOK_S = 0.1, 0.005
"""How long after they should have left the last bytes are waited for, and how often is looked."""
LONGEST_LEAVE_S = 0.5
_BITS_A_BYTE = 12
_TCP_TIMEOUT_S = 2.0
_LAST_READS = 16
_UNIX = "unix://"
_LINK_FOLDERS = ("dev/serial/by-id", "dev/serial/by-path", "dev")
_WINDOWS_NAME = re.compile(r"(?:\\\\\.\\)?(com\d+)", re.IGNORECASE)


def open_serial(url: str, baud: int, framing: str = "8N1") -> BytePort:
    """Open a line for ourselves alone: no flow control, raw.

    DTR and RTS stay asserted, as every system leaves them at opening, and do not drop when the port is
    closed: some adapters feed their receiver from them, and an edge restarts boards that use it.

    Args:
        url: a device (``/dev/ttyUSB0``, ``COM10``), ``socket://host:port``, ``unix:///path`` for a socket in this
            computer's files, or any other pyserial URL.
        baud: bits per second; has no meaning on a socket.
        framing: data bits, parity and stop bits, ``8E2``; nor has this.

    Raises:
        LinkClosed: it cannot be opened; the text says why and what to do.
    """
    if url.startswith(("socket://", _UNIX)):
        return _SocketPort(url)
    name = port_name(url)
    try:
        line = serial.serial_for_url(name, do_not_open=True)
        line.baudrate = baud
        # All of it before opening: a pseudo-terminal takes a parity then, and refuses every later change of the line.
        line.bytesize, line.parity, line.stopbits = int(framing[0]), framing[1], int(framing[2])
        line.timeout = 0
        line.write_timeout = 0
        line.exclusive = True
        line.open()
    except _LINE_ERRORS as error:
        raise LinkClosed(_why_not(name, error), name) from None
    if type(line) is not serial.Serial:
        return _PyserialPort(line, name)
    if sys.platform != "win32":
        return _PosixPort(line, name)
    return _PyserialPort(line, name, _overlapped_writes(line))


def list_adapters(root: Path = Path("/")) -> tuple[SerialAdapter, ...]:
    """Every serial port that the system knows, USB adapters first; opens none.

    Args:
        root: where ``/dev`` and ``/sys`` are.
    """
    ports = [port for port in list_ports.comports() if _exists(port.device, root)]
    links = _links(root) if ports else {}
    adapters = [_adapter(port, links.get(os.path.realpath(port.device), ())) for port in ports]
    return tuple(sorted(adapters, key=lambda adapter: (not adapter.usb_id, _natural(adapter.device))))


def _exists(device: str, root: Path) -> bool:
    """Linux keeps names for built-in ports that the board does not have: their UART type is 0."""
    try:
        return (root / "sys/class/tty" / Path(device).name / "type").read_text().strip() != "0"
    except (OSError, ValueError):
        return True


def _links(root: Path) -> dict[str, tuple[str, ...]]:
    """By device, the links that lead to it."""
    found: dict[str, list[str]] = {}
    for folder in (root / name for name in _LINK_FOLDERS):
        if folder.is_dir():
            for link in sorted(folder.iterdir()):
                if link.is_symlink():
                    found.setdefault(os.path.realpath(link), []).append(str(link))
    return {device: tuple(links) for device, links in found.items()}


def _adapter(port: Any, links: tuple[str, ...]) -> SerialAdapter:
    hardware = f"{port.hwid or ''} {port.device}".lower()
    return SerialAdapter(
        device=port.device,
        description=port.description if port.description not in (None, "n/a", port.name) else "",
        maker=port.manufacturer or "",
        serial_number=port.serial_number or "",
        usb_id="" if port.vid is None else f"{port.vid:04x}:{port.pid:04x}",
        usb_place=port.location or "",
        wireless=any(word in hardware for word in ("bthenum", "bluetooth", "rfcomm")),
        links=links,
    )


def _natural(name: str) -> tuple[str, int]:
    """COM9 comes before COM10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or -1)


def port_name(url: str) -> str:
    r"""The plain form of a port's name: ``COM10`` for ``com10`` and ``\\.\COM10``; all else as given."""
    match = _WINDOWS_NAME.fullmatch(url)
    return match[1].upper() if match else url


class _Port(ABC):
    """A `BytePort` over something that raises OSError: what is the same for every kind of line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = self._lost = False

    def read(self, now_s: float) -> bytes:
        """Everything that has arrived."""
        self._check_open()
        try:
            return self._receive()
        except BlockingIOError:
            return b""
        except _LINE_ERRORS as error:
            raise self._gone(error) from None

    def write(self, data: bytes, now_s: float) -> None:
        """Hand over all of `data`, or fail."""
        self._check_open()
        try:
            count = self._transmit(data)
        except (BlockingIOError, serial.SerialTimeoutException):
            count = 0
        except _LINE_ERRORS as error:
            raise self._gone(error) from None
        if count < len(data):
            raise LinkOverrun(f"{self._name}: the line took {count} of {len(data)} bytes; it is stalled", self._name)

    def set_baud(self, baud: int) -> None:
        """Change the line's speed."""
        self._check_open()
        try:
            self._change_speed(baud)
        except _LINE_ERRORS as error:
            raise LinkClosed(f"{self._name}: cannot be set to {baud} baud: {error}", self._name) from None

    def close(self) -> None:
        """Let go, twice is fine; bytes already handed over still leave, which can take `LONGEST_LEAVE_S` at worst."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(*_LINE_ERRORS):
                self._release()

    def _check_open(self) -> None:
        if self._closed:
            raise LinkClosed(f"{self._name}: the port is closed", self._name)

    def _gone(self, why: Exception) -> LinkClosed:
        self._lost = True
        self.close()
        return LinkClosed(f"{self._name}: the port is gone ({why}); is it unplugged?", self._name)

    @abstractmethod
    def _receive(self) -> bytes: ...

    @abstractmethod
    def _transmit(self, data: bytes) -> int: ...

    @abstractmethod
    def _change_speed(self, baud: int) -> None: ...

    @abstractmethod
    def _release(self) -> None: ...


if sys.platform != "win32":

    class _PosixPort(_Port):
        """A tty read and written at its file descriptor, with one system call each."""

        def __init__(self, line: Any, name: str, odd_speed: Callable[[int, int], None] | None = _ODD_SPEED) -> None:
            super().__init__(name)
            self._line, self._fd, self._odd_speed = line, line.fd, odd_speed
            self._marks = ParityMarks()
            try:
                self._make_raw()
                # The lock that pyserial took stops only programs that ask for it; this one stops the others.
                fcntl.ioctl(self._fd, termios.TIOCEXCL)
            except _LINE_ERRORS as error:
                line.close()
                raise LinkClosed(_why_not(name, error), name) from None

        def _make_raw(self) -> None:
            attributes = termios.tcgetattr(self._fd)
            # A broken byte must neither pass for a good one nor become a 0, which would read as "this channel is off".
            attributes[0] = termios.IGNBRK | termios.INPCK | termios.PARMRK
            attributes[1] = 0
            attributes[2] &= ~termios.HUPCL
            attributes[3] = 0
            # With VMIN 0 "nothing yet" and "unplugged" would both read as no bytes.
            attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
            baud = int(self._line.baudrate)
            odd = self._odd_speed if not hasattr(termios, f"B{baud}") else None
            if odd is not None:
                # What was read back may be no speed that can be set here; the true one comes last, or this undoes it.
                attributes[4] = attributes[5] = termios.B38400
            termios.tcsetattr(self._fd, termios.TCSANOW, attributes)
            if odd is not None:
                odd(self._fd, baud)

        def _receive(self) -> bytes:
            data = os.read(self._fd, _CHUNK)
            if not data:
                raise OSError("hung up")
            return self._marks.take(data)

        def _transmit(self, data: bytes) -> int:
            return os.write(self._fd, data)

        def _change_speed(self, baud: int) -> None:
            self._line.baudrate = baud
            self._make_raw()

        def _release(self) -> None:
            try:
                fcntl.ioctl(self._fd, termios.TIOCNXCL)
            finally:
                self._line.close()


class _PyserialPort(_Port):
    """Any other pyserial port: Windows, and URL schemes of its own.

    Args:
        line: the open port.
        name: of it.
        writes: writes that are on their way, where the line itself does not tell; None for the line's own writing.
        clock: to wait by for the last bytes.
    """

    def __init__(self, line: Any, name: str, writes: PendingWrites | None = None, clock: Clock | None = None) -> None:
        super().__init__(name)
        self._line, self._writes, self._clock = line, writes, clock or RealClock()

    def _receive(self) -> bytes:
        return bytes(self._line.read(_CHUNK))

    def _transmit(self, data: bytes) -> int:
        if self._writes is not None:
            return self._writes.write(data)
        count = self._line.write(data)
        return len(data) if count is None else int(count)

    def _change_speed(self, baud: int) -> None:
        self._line.baudrate = baud

    def _release(self) -> None:
        try:
            if not self._lost:
                self._let_leave()
        finally:
            if self._writes is not None:
                self._writes.cancel()
            self._line.close()

    def _let_leave(self) -> None:
        """Closing cancels what has not left, and the last bytes may be a stop."""
        if not (waiting := self._waiting()):
            return
        usual_s = waiting * _BITS_A_BYTE / int(self._line.baudrate)
        deadline_s = self._clock.now_s() + min(LEAVE_S + usual_s, LONGEST_LEAVE_S)
        while self._waiting() and (now_s := self._clock.now_s()) < deadline_s:
            self._clock.sleep_until(min(now_s + LEAVE_LOOK_S, deadline_s))

    def _waiting(self) -> int:
        """Bytes that have not left, as far as anybody tells."""
        ours = 0 if self._writes is None else self._writes.waiting()
        return max(ours, int(getattr(self._line, "out_waiting", 0)))


class _SocketPort(_Port):
    """A controller behind a TCP port, a serial server say; or a fake in a process of its own."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        try:
            self._socket = _by_file(url.removeprefix(_UNIX)) if url.startswith(_UNIX) else _by_tcp(url)
        except (OSError, ValueError, OverflowError) as error:
            raise LinkClosed(f"{url}: nobody can be reached there ({error})", url) from None
        self._socket.setblocking(False)

    def _receive(self) -> bytes:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise OSError("closed by the other side")
        return data

    def _transmit(self, data: bytes) -> int:
        return self._socket.send(data)

    def _change_speed(self, baud: int) -> None:
        """The speed is the business of whoever owns the serial end."""

    def _release(self) -> None:
        try:
            if not self._lost:
                # Closed with bytes that nobody has read, a connection is reset, and what has not left is thrown away.
                self._socket.shutdown(socket.SHUT_WR)
                for _ in range(_LAST_READS):
                    if not self._socket.recv(_CHUNK):
                        break
        finally:
            self._socket.close()


def _by_tcp(url: str) -> socket.socket:
    parts = urlsplit(url)
    line = socket.create_connection((parts.hostname or "", parts.port or 0), _TCP_TIMEOUT_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def _by_file(path: str) -> socket.socket:
    if sys.platform == "win32":
        raise OSError("Windows has no sockets in files")
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(_TCP_TIMEOUT_S)
        line.connect(path)
    except OSError:
        line.close()
        raise
    return line


def _overlapped_writes(line: Any) -> PendingWrites:
    """Windows: writes with a record each, at the handle that pyserial has opened and shows nobody."""
    from serial import win32

    return PendingWrites(partial(OverlappedWrite, win32, line._port_handle))  # noqa: SLF001


def _why_not(name: str, error: Exception) -> str:
    """Why a port does not open, and what to do about it."""
    code, text = getattr(error, "errno", None), str(error)
    if code == errno.ENOENT or "FileNotFoundError" in text:
        found = ", ".join(adapter.device for adapter in list_adapters()) or "none"
        return f"{name}: there is no such port; plug the adapter in, or name another. Ports here: {found}{_lasting()}"
    if code == errno.EBUSY or "lock port" in text:
        return f"{name}: the port is in use by another program; close that first"
    if code in (errno.EACCES, errno.EPERM) or "PermissionError" in text:
        return _no_permission(name)
    return f"{name}: the port cannot be opened: {text}"


def _lasting() -> str:
    """How to name an adapter so that it is found again: the system numbers them anew each time they are plugged in."""
    links = [link for adapter in list_adapters() for link in adapter.links if "by-id" in link]
    if not links:
        return ""
    return f". An adapter that is plugged in again can get another number; {links[0]} stays its name"


def _no_permission(name: str) -> str:
    if sys.platform != "win32":
        try:
            group = grp.getgrgid(os.stat(name).st_gid).gr_name
        except (OSError, KeyError):
            group = "dialout"
        hint = "" if group == "dialout" else ", on most systems dialout"
        return (
            f"{name}: permission denied. Serial ports belong to a group (here {group}{hint}); join it with "
            f"'sudo usermod -a -G {'dialout' if group == 'root' else group} $USER', then log out and in again"
        )
    return f"{name}: access is denied; most often another program has the port open: close that first"

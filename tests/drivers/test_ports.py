"""Real lines, on pseudo-terminals and loopback TCP: exclusive, raw, never waiting, and clear when they fail."""

import contextlib
import errno
import os
import socket
import sys
from types import SimpleNamespace

import pytest

from drivers import _ports
from hil.errors import LinkClosed, LinkOverrun

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
EVERY_BYTE = bytes(range(256))


@pytest.fixture
def pty_pair():
    """The controller's end as a file descriptor and the name of ours."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    ends = [master, slave]
    yield ends, name
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def heard(port, count):
    """What the port reads until `count` bytes are there: a pseudo-terminal hands them over in its own time."""
    data = b""
    while len(data) < count:
        data += port.read(0.0)
    return data


def told(master, count):
    data = b""
    while len(data) < count:
        data += os.read(master, 1000)
    return data


def cook(slave):
    """Leave the terminal as a shell would: echo, line editing, CR and XON translation."""
    import termios

    attributes = termios.tcgetattr(slave)
    attributes[0] |= termios.ICRNL | termios.IXON | termios.ISTRIP | termios.INLCR
    attributes[1] |= termios.OPOST | termios.ONLCR
    attributes[3] |= termios.ECHO | termios.ICANON | termios.ISIG
    termios.tcsetattr(slave, termios.TCSANOW, attributes)


@pytest.mark.pty
@posix
def test_every_byte_passes_unchanged_both_ways_even_on_a_terminal_left_cooked(pty_pair):
    (master, slave), name = pty_pair
    cook(slave)
    port = _ports.open_serial(name, 115200)
    assert port.read(0.0) == b""
    port.write(EVERY_BYTE, 0.0)
    assert told(master, 256) == EVERY_BYTE
    os.write(master, EVERY_BYTE)
    assert heard(port, 256) == EVERY_BYTE
    assert port.read(0.0) == b""
    port.close()


@pytest.mark.pty
@posix
@pytest.mark.parametrize("baud", [2400, 9600, 115200, 250000, 123456])
def test_every_rate_can_be_set_and_the_line_stays_raw(pty_pair, baud):
    (master, _), name = pty_pair
    port = _ports.open_serial(name, 9600)
    port.set_baud(baud)
    assert port._line.baudrate == baud  # type: ignore[attr-defined]
    assert port.read(0.0) == b""
    os.write(master, b"\r\x00\x11\x13")
    assert heard(port, 4) == b"\r\x00\x11\x13"
    port.close()


@pytest.mark.pty
@posix
def test_closing_hangs_nothing_up(pty_pair):
    import termios

    (_, slave), name = pty_pair
    port = _ports.open_serial(name, 9600)
    assert not termios.tcgetattr(slave)[2] & termios.HUPCL
    port.close()


@pytest.mark.pty
@posix
def test_the_port_is_ours_alone_and_free_again_after_close(pty_pair):
    _, name = pty_pair
    port = _ports.open_serial(name, 9600)
    with pytest.raises(LinkClosed, match="in use by another program"):
        _ports.open_serial(name, 115200)
    port.close()
    _ports.open_serial(name, 9600).close()


@pytest.mark.pty
@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root passes every lock")
def test_a_program_that_asks_for_no_lock_is_kept_out_too(pty_pair):
    _, name = pty_pair
    port = _ports.open_serial(name, 9600)
    with pytest.raises(OSError, match="busy"):
        os.open(name, os.O_RDWR | os.O_NOCTTY)
    port.close()


@pytest.mark.pty
@posix
def test_a_hung_up_line_is_a_closed_link_at_read_and_at_write(pty_pair):
    ends, name = pty_pair
    for act in (lambda port: port.read(0.0), lambda port: port.write(b"VER\r", 0.0)):
        if os.path.exists(name):
            port = _ports.open_serial(name, 9600)
            os.close(ends[0])
        else:
            ends[0], other = os.openpty()
            name = os.ttyname(other)
            port = _ports.open_serial(name, 9600)
            os.close(other)
            os.close(ends[0])
        with pytest.raises(LinkClosed, match="the port is gone"):
            act(port)
        with pytest.raises(LinkClosed, match="closed"):
            act(port)
        port.close()


@pytest.mark.pty
@posix
def test_a_stalled_line_is_an_overrun_and_never_waits(pty_pair):
    _, name = pty_pair
    port = _ports.open_serial(name, 9600)
    with pytest.raises(LinkOverrun, match="stalled"):
        for _ in range(10_000):
            port.write(b"#0P1500T20\r", 0.0)
    port.close()


class Full(_ports._Port):
    """A line that takes nothing now."""

    def _receive(self):
        return b""

    def _transmit(self, data):
        raise BlockingIOError

    def _change_speed(self, baud):
        pass

    def _release(self):
        pass


def test_not_even_one_byte_is_lost_without_a_word():
    with pytest.raises(LinkOverrun, match="the line took 0 of 1 bytes"):
        Full("COM3").write(b"#", 0.0)


@pytest.mark.parametrize("error", [OSError(errno.EBUSY, "?"), OSError("Could not exclusively lock port COM3")])
def test_a_port_that_another_program_has_is_said_so_however_the_system_says_it(error):
    assert _ports._why_not("COM3", error) == "COM3: the port is in use by another program; close that first"


@posix
@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("dialout", "(here dialout); join it with 'sudo usermod -a -G dialout $USER'"),
        ("uucp", "(here uucp, on most systems dialout); join it with 'sudo usermod -a -G uucp $USER'"),
        ("root", "(here root, on most systems dialout); join it with 'sudo usermod -a -G dialout $USER'"),
    ],
)
def test_whoever_may_not_open_a_port_is_told_which_group_to_join(monkeypatch, tmp_path, group, said):
    monkeypatch.setattr(_ports.grp, "getgrgid", lambda _: SimpleNamespace(gr_name=group))
    assert said in _ports._no_permission(str(tmp_path))


def test_a_port_that_does_not_exist_is_named_with_what_there_is():
    with pytest.raises(LinkClosed, match=r"no such port.*Ports here: "):
        _ports.open_serial("/dev/ttyNONE7", 9600)


@pytest.mark.pty
@posix
def test_permission_denied_names_the_dialout_group(monkeypatch, pty_pair):
    _, name = pty_pair

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LinkClosed, match=r"permission denied.*dialout.*usermod -a -G"):
        _ports.open_serial(name, 9600)


@posix
def test_a_file_that_is_no_port_and_a_scheme_that_nobody_knows_are_refused_in_words(tmp_path):
    plain = tmp_path / "notes.txt"
    plain.write_text("")
    for url in (str(plain), "nonsense://x"):
        with pytest.raises(LinkClosed, match="cannot be opened"):
            _ports.open_serial(url, 9600)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("COM3", "COM3"),
        ("COM10", "COM10"),
        ("com12", "COM12"),
        ("\\\\.\\COM15", "COM15"),
        ("/dev/ttyUSB0", "/dev/ttyUSB0"),
        ("/dev/company", "/dev/company"),
        ("socket://arm:4001", "socket://arm:4001"),
    ],
)
def test_windows_names_are_taken_in_every_spelling_and_shown_plain(given, plain):
    assert _ports.port_name(given) == plain


KINDS = ["tcp", pytest.param("file", marks=posix)]


@pytest.fixture(params=KINDS)
def server(request, tmp_path):
    if request.param == "tcp":
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield listener
    else:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(tmp_path / "arm"))
            listener.listen()
            yield listener


def dial(listener):
    name = listener.getsockname()
    url = f"unix://{name}" if isinstance(name, str) else f"socket://127.0.0.1:{name[1]}"
    port = _ports.open_serial(url, 115200)
    other, _ = listener.accept()
    return port, other


def test_a_socket_carries_every_byte_and_has_no_rate(server):
    port, other = dial(server)
    with other:
        assert port.read(0.0) == b""
        port.set_baud(9600)
        port.write(EVERY_BYTE, 0.0)
        assert other.recv(256, socket.MSG_WAITALL) == EVERY_BYTE
        other.sendall(EVERY_BYTE)
        other.shutdown(socket.SHUT_WR)
        heard = b""
        with pytest.raises(LinkClosed, match="closed by the other side"):
            while True:
                heard += port.read(0.0)
        assert heard == EVERY_BYTE
    port.close()


def test_a_socket_that_takes_no_more_is_an_overrun(server):
    port, other = dial(server)
    with other, pytest.raises(LinkOverrun):
        for _ in range(10_000):
            port.write(b"x" * 65536, 0.0)
    port.close()


def test_a_socket_that_is_closed_unread_ends_and_is_not_reset(server):
    port, other = dial(server)
    with other:
        other.sendall(EVERY_BYTE)
        port._socket.setblocking(True)
        assert port._socket.recv(256, socket.MSG_PEEK | socket.MSG_WAITALL) == EVERY_BYTE
        port._socket.setblocking(False)
        port.write(b"STOP0\r", 0.0)
        port.close()
        assert other.recv(256, socket.MSG_WAITALL) == b"STOP0\r"
        assert other.recv(1) == b""


@pytest.mark.parametrize("url", ["socket://127.0.0.1:1", "socket://127.0.0.1:99999", "socket://", "unix:///no/arm"])
def test_nobody_at_an_address_is_said_in_words(url):
    with pytest.raises(LinkClosed, match="nobody can be reached"):
        _ports.open_serial(url, 9600)


@pytest.mark.pty
@posix
def test_other_pyserial_urls_work_through_the_same_door(pty_pair, capsys):
    ends, name = pty_pair
    port = _ports.open_serial(f"spy://{name}", 9600)
    assert port.read(0.0) == b""
    port.write(b"VER\r", 0.0)
    assert told(ends[0], 4) == b"VER\r"
    os.write(ends[0], EVERY_BYTE)
    assert heard(port, 256) == EVERY_BYTE
    port.set_baud(38400)
    os.close(ends[0])
    with pytest.raises(LinkClosed, match="gone"):
        port.read(0.0)
    port.close()
    port.close()
    assert "VER" in capsys.readouterr().err


@posix
def test_a_mac_is_asked_for_an_odd_speed_by_its_own_call(monkeypatch):
    asked = []
    monkeypatch.setattr(_ports.fcntl, "ioctl", lambda *arguments: asked.append(arguments))
    _ports._iokit_speed(7, 250_000)
    # IOSSIOSPEED of IOKit/serial/ioss.h: _IOW('T', 2, speed_t).
    assert asked == [(7, 0x80045402, (250_000).to_bytes(4, sys.byteorder))]

"""The fake in a process of its own: pseudo-terminal, TCP, signals, trace."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from hil.errors import ConfigError
from sim.bench import BenchServo
from sim.fake_ssc32 import FakeOptions, run_fake_ssc32
from sim.ssc32 import BoardSettings, Firmware

termios = pytest.importorskip("termios")
import tty  # noqa: E402

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PROGRAM = """
import signal, sys, msgspec
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored from birth where tests run in the background
from sim.fake_ssc32 import FakeOptions, run_fake_ssc32
options = msgspec.json.decode(sys.argv[1], type=FakeOptions)
run_fake_ssc32(options, lambda url: print(url, flush=True))
print("ended", flush=True)
"""


class Fake:
    def __init__(self, options: FakeOptions, program: str = PROGRAM) -> None:
        arguments = [sys.executable, "-c", program, msgspec.json.encode(options).decode()]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)

    def end(self, number: int = signal.SIGTERM) -> str:
        self.process.send_signal(number)
        return self.process.communicate(timeout=10)[0]


class Client:
    """What a program does that opens a serial port."""

    def __init__(self, path: str, baud: int = 115200) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd)
        modes = termios.tcgetattr(self.fd)
        modes[4] = modes[5] = getattr(termios, f"B{baud}")
        termios.tcsetattr(self.fd, termios.TCSANOW, modes)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def ask(self, data: bytes, count: int, wait_s: float = 5.0) -> bytes:
        os.write(self.fd, data)
        got, deadline_s = b"", time.monotonic() + wait_s
        while len(got) < count and select.select([self.fd], [], [], max(deadline_s - time.monotonic(), 0))[0]:
            piece = os.read(self.fd, 100)
            if not piece:
                raise OSError("the device is gone")
            got += piece
        return got


def reopened(path: str) -> Client:
    """A client of a device that comes back: its old name may stay for a moment, and lead to nothing."""
    deadline_s = time.monotonic() + 20
    while True:
        try:
            return Client(path)
        except (OSError, termios.error):
            if time.monotonic() > deadline_s:
                raise
            select.select([], [], [], 0.01)


def connected(url: str) -> socket.socket:
    """A client of a socket."""
    if url.startswith("socket://"):
        host, port = url.removeprefix("socket://").split(":")
        return socket.create_connection((host, int(port)), timeout=5)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(5)
    try:
        client.connect(url.removeprefix("unix://"))
    except OSError:
        client.close()
        raise
    return client


def ask_on_socket(url: str, data: bytes, count: int) -> tuple[socket.socket, bytes]:
    """A connected client and its answer; it is let in as soon as the one before it has hung up."""
    client = connected(url)
    got = b""
    client.sendall(data)
    while len(got) < count and (piece := client.recv(100)):
        got += piece
    return client, got


def read_trace(path: Path, enough) -> list[dict]:  # type: ignore[type-arg]
    """Frames of a trace file once `enough(frames)` says so."""
    deadline_s = time.monotonic() + 10
    frames: list[dict] = []  # type: ignore[type-arg]
    while time.monotonic() < deadline_s and not enough(frames):
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        frames = [json.loads(line) for line in lines]
        select.select([], [], [], 0.01)
    return frames


@pytest.mark.pty
def test_it_answers_on_a_pseudo_terminal_whose_clients_come_and_go(tmp_path):
    with Fake(FakeOptions(link=str(tmp_path / "arm"))) as fake:
        assert fake.url == str(tmp_path / "arm")
        with Client(fake.url) as client:
            assert client.ask(b"\x1b\rVER\r", 14) == b"SSC32-V2.03XE\r"
            assert client.ask(b"#0P1500\rQP0\r", 1) == b"\x96"
        for _ in range(3):
            with Client(fake.url) as client:
                assert client.ask(b"QP0QP1\r", 2) == b"\x96\x00"


@pytest.mark.pty
def test_it_ends_cleanly_on_what_ends_programs_and_takes_its_link_along(tmp_path):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        fake = Fake(FakeOptions(link=str(tmp_path / "arm")))
        assert (tmp_path / "arm").is_symlink()
        assert "ended" in fake.end(number)
        assert fake.process.returncode == 0
        assert not (tmp_path / "arm").is_symlink()


@pytest.mark.pty
def test_a_client_at_another_baud_rate_gets_no_sense_until_it_sets_it_right(tmp_path):
    board = BoardSettings(firmware=Firmware.U)
    with Fake(FakeOptions(link=str(tmp_path / "arm"), board=board)) as fake:
        with Client(fake.url, 115200) as client:
            assert b"SSC32" not in client.ask(b"VER\r", 14, 0.3)
        with Client(fake.url, 9600) as client:
            client.ask(b"\x1b\r\x1b\r\x1b\r", 1, 0.1)
            assert client.ask(b"VER\r", 15) == b"SSC32-V2.50USB\r"


@pytest.mark.pty
def test_it_paces_the_line_by_itself_since_a_pseudo_terminal_has_no_speed(tmp_path):
    options = FakeOptions(link=str(tmp_path / "arm"), board=BoardSettings(baud=2400))
    with Fake(options) as fake, Client(fake.url, 2400) as client:
        before_s = time.monotonic()
        assert client.ask(b" " * 118 + b"Q\r", 1) == b"."
        assert time.monotonic() - before_s >= 120 * 10 / 2400


@pytest.mark.parametrize("kind", ["tcp", "file"])
def test_it_answers_on_a_socket_to_one_client_at_a_time(tmp_path, kind):
    path = tmp_path / "arm"
    options = FakeOptions(tcp_port=0) if kind == "tcp" else FakeOptions(socket=str(path))
    with Fake(options) as fake:
        for _ in range(20):
            client, got = ask_on_socket(fake.url, b"VER\r", 14)
            with client:
                assert got == b"SSC32-V2.03XE\r"
                with connected(fake.url) as second:
                    assert second.recv(1) == b""
        assert "ended" in fake.end()
    assert not path.exists()


def test_a_pulled_cable_takes_a_socket_away_and_brings_it_back_under_its_name(tmp_path):
    faults = tmp_path / "faults.toml"
    faults.write_text('title = "t"\n[[fault]]\nkind = "unplug"\nat_s = 0.5\nfor_s = 0.5\n')
    with Fake(FakeOptions(socket=str(tmp_path / "arm"), faults=str(faults))) as fake:
        client, _ = ask_on_socket(fake.url, b"#0P1500\rQP0\r", 1)
        with client:
            assert client.recv(1) == b""
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            with contextlib.suppress(OSError):
                client, got = ask_on_socket(fake.url, b"QP0\r", 1)
                client.close()
                break
            select.select([], [], [], 0.01)
        assert got == b"\x96"


@pytest.mark.pty
def test_it_moves_on_and_writes_its_trace_after_the_client_has_died(tmp_path):
    trace = tmp_path / "trace"
    servo = BenchServo(channel=0, start=0.1, lag_s=0.05)
    options = FakeOptions(link=str(tmp_path / "arm"), trace=str(trace), servos=(servo,))
    with Fake(options) as fake:
        with Client(fake.url) as client:
            client.ask(b"#0P1500\r#1P1500\rQ\r", 1)
            os.write(client.fd, b"#0P1600T200\r")

        def settled(frames):
            return frames and frames[-1]["pulses_us"][0] == 1600 and abs(frames[-1]["positions"][0] - 0.157) < 1e-3

        frames = read_trace(trace, settled)
    assert settled(frames)
    assert frames[-1]["time_s"] <= time.monotonic()
    pulses = [frame["pulses_us"][0] for frame in frames]
    assert [p for p in dict.fromkeys(pulses) if p > 1500] == list(range(1510, 1601, 10))
    assert len(frames[0]["pulses_us"]) == len(frames[0]["positions"]) == 32


@pytest.mark.pty
def test_a_pulled_cable_takes_the_device_away_and_brings_it_back(tmp_path):
    faults = tmp_path / "faults.toml"
    faults.write_text('title = "t"\n[[fault]]\nkind = "unplug"\nat_s = 1.5\nfor_s = 1.0\n')
    with Fake(FakeOptions(link=str(tmp_path / "arm"), faults=str(faults))) as fake:
        with Client(fake.url) as client:
            assert client.ask(b"#0P1500\rQP0\r", 1) == b"\x96"
            deadline_s = time.monotonic() + 20
            with pytest.raises(OSError, match=r"Input/output|gone"):
                while time.monotonic() < deadline_s:
                    client.ask(b"Q\r", 1, 0.05)
        with reopened(fake.url) as client:
            # The cable may have been pulled between Q and CR: the board still has the Q, and ESC takes it away.
            assert client.ask(b"\x1b\rQP0\r", 1) == b"\x96"


@pytest.mark.pty
def test_half_a_line_from_before_a_pulled_cable_is_ended_by_what_comes_after_it(tmp_path):
    faults = tmp_path / "faults.toml"
    faults.write_text('title = "t"\n[[fault]]\nkind = "unplug"\nat_s = 1.5\nfor_s = 1.0\n')
    with Fake(FakeOptions(link=str(tmp_path / "arm"), faults=str(faults))) as fake:
        with Client(fake.url) as client:
            assert client.ask(b"#0P1500\rQP0\rQ", 1) == b"\x96"
            with pytest.raises(OSError, match=r"Input/output|gone"):
                client.ask(b"", 1, 20.0)
        with reopened(fake.url) as client:
            assert client.ask(b"QP0\r\x1b\rQP0\rQP0\r", 2) == b"\x96\x96", "QQP0 is nothing that it knows"


def test_a_file_in_the_place_of_the_link_is_left_alone(tmp_path):
    (tmp_path / "arm").write_text("mine")
    with pytest.raises(ConfigError, match="free, or an old link"):
        run_fake_ssc32(FakeOptions(link=str(tmp_path / "arm")), lambda url: None)
    assert (tmp_path / "arm").read_text() == "mine"


@pytest.mark.pty
def test_a_missing_folder_and_a_busy_port_are_named(tmp_path):
    with pytest.raises(ConfigError, match="a writable place"):
        run_fake_ssc32(FakeOptions(link=str(tmp_path / "no" / "arm")), lambda url: None)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="a free port"):
        run_fake_ssc32(FakeOptions(tcp_port=taken.getsockname()[1]), lambda url: None)
    with pytest.raises(ConfigError, match="a path that is free"):
        run_fake_ssc32(FakeOptions(socket=str(tmp_path / "no" / "arm")), lambda url: None)
    with pytest.raises(ConfigError, match="each once"):
        run_fake_ssc32(FakeOptions(servos=(BenchServo(channel=1), BenchServo(channel=1))), lambda url: None)


@pytest.mark.pty
def test_a_fake_that_is_to_ignore_a_closed_terminal_does(tmp_path):
    program = PROGRAM.replace("SIGINT, signal.default_int_handler", "SIGHUP, signal.SIG_IGN")
    with Fake(FakeOptions(link=str(tmp_path / "arm")), program) as fake:
        fake.process.send_signal(signal.SIGHUP)
        with Client(fake.url) as client:
            assert client.ask(b"QP0\r", 1) == b"\x00"

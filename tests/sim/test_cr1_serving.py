"""The fake CR1 in a process of its own: pseudo-terminal and TCP, options, trace."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from command_line import Terminal

from sim.cr1 import Cr1Settings, EndCode
from sim.fake_cr1 import Cr1Options

termios = pytest.importorskip("termios")

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, msgspec
from sim.fake_cr1 import Cr1Options, run_fake_cr1
options = msgspec.json.decode(sys.argv[1], type=Cr1Options)
run_fake_cr1(options, lambda url: print(url, flush=True))
print("ended", flush=True)
"""
WAIT_S = 10.0


class Fake:
    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip().split()[-1]

    @classmethod
    def of(cls, options: Cr1Options) -> Fake:
        return cls("-c", PROGRAM, msgspec.json.encode(options).decode())

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)

    def end(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=WAIT_S)[0]


class Client:
    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("socket://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT_S)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, data: bytes, end: bytes) -> bytes:
        self.socket.sendall(data)
        got = b""
        while not got.endswith(end):
            got += self.socket.recv(4096)
        return got


def test_over_tcp_a_request_with_any_end_code_is_answered():
    with Fake.of(Cr1Options(tcp_port=0, settings=Cr1Settings(any_end=True))) as fake, Client(fake.url) as client:
        for end in (b"\r", b"\r\n", b"\n", b""):
            assert client.ask(b"1;1;OVRD" + end, b"\r") == b"QoK100\r"
        assert client.ask(b"1;1;OVRD\r1;1;GC\r", b"601000000\r") == b"QoK100\rQeR601000000\r"


def test_over_tcp_answers_can_go_without_end_code():
    settings = Cr1Settings(any_end=True, end_code=EndCode.NONE)
    with Fake.of(Cr1Options(tcp_port=0, settings=settings)) as fake, Client(fake.url) as client:
        assert client.ask(b"1;1;OVRD", b"QoK100") == b"QoK100"


def test_what_moves_is_traced_a_line_a_cycle(tmp_path):
    trace = tmp_path / "trace"
    options = Cr1Options(
        tcp_port=0,
        settings=Cr1Settings(any_end=True, baud=115200, servo_on_s=0.05),
        programs={"A": "10 MOV J1\n20 END\nJ1=(10,0,90,0,90,0)"},
        trace=str(trace),
    )
    with Fake.of(options) as fake, Client(fake.url) as client:
        for command in (b"CNTLON", b"SRVON"):
            client.ask(b"1;1;" + command + b"\r", b"\r")
        deadline_s = time.monotonic() + WAIT_S
        while client.ask(b"1;1;DSTATE\r", b"\r") != b"QoKA0100;1;0\r" and time.monotonic() < deadline_s:
            pass
        assert client.ask(b"1;1;RUNA;1\r", b"\r") == b"QoK\r"
        while b"J1;10.00;" not in client.ask(b"1;1;JPOSF\r", b"\r") and time.monotonic() < deadline_s:
            pass
        assert fake.end().strip() == "ended"
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[-1]["joints_deg"][0] == pytest.approx(10, abs=0.005)  # JPOSF said 10.00
    assert all(0 < b["time_s"] - a["time_s"] < 0.0072 for a, b in pairwise(lines))


def open_with_parity(serial, link):
    """A pseudo-terminal takes parity once; the fake clears it as soon as it sees that its client has left."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            return serial.Serial(link, 9600, parity="E", stopbits=2, timeout=WAIT_S)
        except termios.error:
            assert time.monotonic() < deadline_s
            select.select([], [], [], 0.01)


@pytest.mark.pty
def test_the_command_serves_a_pseudo_terminal_that_a_port_with_parity_opens_again_and_again(tmp_path):
    serial = pytest.importorskip("serial")
    link = str(tmp_path / "cr1")
    with Fake("-c", "from hil.cli.main import main; main()", "fake", "cr1", "--link", link) as fake:
        assert fake.url == link
        for _ in range(3):
            with open_with_parity(serial, link) as port:
                port.write(b"1;1;OPEN=NARCUSR\r")
                assert port.read_until(b"\r").startswith(b"QoK1F;37;6,0;")
                port.write(b"1;1;DSTATE\r")
                assert port.read_until(b"\r") == b"QoK00100;1;0\r"


@pytest.mark.pty
def test_a_line_feed_alone_gets_no_answer_on_the_serial_face(tmp_path):
    import tty

    with Fake.of(Cr1Options(link=str(tmp_path / "cr1"))) as fake:
        end = os.open(fake.url, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(end)
        os.write(end, b"1;1;OVRD\n")
        assert select.select([end], [], [], 0.3)[0] == []
        os.close(end)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--procedure", "1"], "ENQ/ACK procedure of CPRC232=1 is not emulated"),
        (["--framing", "9N1"], "--framing"),
        (["--faults", "brown-out"], "cannot happen to this fake cr1"),
        (["--faults", "nowhere"], "nowhere"),
        (["--program", "/nowhere.mb4"], "nowhere.mb4"),
        (["--error-digits", "5"], "9, 4"),
        (["--faults", "cr1-wrong-line"], "--serial-pace"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(tmp_path, monkeypatch, capsys, arguments, text):
    outcome = Terminal(tmp_path, monkeypatch, capsys).run("fake", "cr1", "--tcp", "0", *arguments)
    assert outcome.code == 1
    assert text in outcome.err
    assert outcome.err.count("\n") == 1
